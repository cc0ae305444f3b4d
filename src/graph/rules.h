/*
 * rules.h - what an operation accepts and what it gives: dtypes and shapes. Inside the graph room; others ask
 * kiln__infer() in node.h. The attributes of every operation are written down in rules.c, at its shape rule.
 */
#ifndef KILN_GRAPH_RULES_H
#define KILN_GRAPH_RULES_H

#include "graph/node.h"

/* An operation about to be applied. */
struct kiln_call {
    enum kiln_op op;
    struct kiln_array *const *inputs;
    size_t count;
    const int64_t *attrs;
    size_t attr_count;
};

struct kiln_result {
    enum kiln_dtype first, rest; /* what input 0 and the other inputs are cast to */
    enum kiln_dtype dtype;       /* of the result */
    size_t ndim;
    int dims[KILN_MAX_NDIM];
};

/* Checks everything: inputs, attributes, dtypes, shapes. Error texts begin with "[name] ". */
kiln_status kiln__rules_check(const struct kiln_call *call, struct kiln_result *out, kiln_error *err);

#endif
