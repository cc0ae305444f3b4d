/*
 * graph_export.h - the graph behind lazy arrays as lines of text, or in the language of Graphviz ("dot").
 *
 *     Inputs: A (float32, (2,3)), B (float32, ())
 *     divide A (float32, (2,3)), B (float32, ()) -> C (float32, (2,3))
 *     Outputs: C (float32, (2,3))
 *
 * Arrays have the names that a namer holds; one without a name gets the next of A, B, ..., Z, AA, ... when it is met,
 * and keeps it. Operations have the names of graph/ops.def. Equal graphs with equal names give equal text. Quotes,
 * backslashes and control characters of names are escaped.
 */
#ifndef KILN_RUN_GRAPH_EXPORT_H
#define KILN_RUN_GRAPH_EXPORT_H

#include "base/buffer.h"
#include "base/table.h"
#include "graph/node.h"

struct kiln_named_array {
    struct kiln_array *array; /* a reference, so that no other array gets its address */
    char *name;
};

/* A zeroed struct has no names. One owner; not for several threads at once. */
struct kiln_namer {
    struct kiln_named_array *entries;
    size_t count, cap;
    struct kiln_table table;
    uint64_t next; /* of the names that are given here */
};

void kiln__namer_release(struct kiln_namer *namer);
/* False: out of memory. */
bool kiln__namer_set(struct kiln_namer *namer, struct kiln_array *array, const char *name);
/* Gives it a name if it has none; NULL: out of memory. Valid until the next set. */
const char *kiln__namer_get(struct kiln_namer *namer, struct kiln_array *array);

/* Both append to `text`. Evaluations by other threads may go on: what is evaluated when the walk meets it is an input.
 */
kiln_status kiln__graph_lines(struct kiln_namer *namer, struct kiln_array *const *outputs, size_t count,
                              struct kiln_buffer *text, kiln_error *err);
kiln_status kiln__graph_dot(struct kiln_namer *namer, struct kiln_array *const *outputs, size_t count,
                            struct kiln_buffer *text, kiln_error *err);

#endif
