/*
 * graph_support.h - for tests of the graph layer: arrays without bytes, and checks of what an operation gave.
 */
#ifndef KILN_TESTS_GRAPH_SUPPORT_H
#define KILN_TESTS_GRAPH_SUPPORT_H

#include "graph/tracing.h"
#include "ops/compose.h"
#include "support/check.h"

enum { END = -1000 }; /* ends a list of dims */

static inline size_t count_dims(const int *dims)
{
    size_t count = 0;
    while (dims[count] != END) count++;
    return count;
}

/* A shape without bytes: enough for everything that does not evaluate. */
static inline struct kiln_array *shaped_(enum kiln_dtype dtype, const int *dims)
{
    struct kiln_array *array = NULL;
    CHECK_STATUS(kiln__array_new(dtype, count_dims(dims), dims, &array, NULL), KILN_OK);
    return array;
}
#define shaped_(...)       CHECK_CALL(shaped_, __VA_ARGS__)
#define shaped(dtype, ...) shaped_(dtype, (const int[]){__VA_ARGS__})

static inline void check_array_(struct kiln_array *array, enum kiln_dtype dtype, const int *dims)
{
    char got[KILN_SHAPE_TEXT], expected[KILN_SHAPE_TEXT];
    kiln__shape_text(array->dims, array->ndim, got);
    kiln__shape_text(dims, count_dims(dims), expected);
    CHECK_STR(got, expected);
    CHECK_STR(kiln__dtypes[array->dtype].name, kiln__dtypes[dtype].name);
}
#define check_array_(...)              CHECK_CALL(check_array_, __VA_ARGS__)
#define check_array(array, dtype, ...) check_array_(array, dtype, (const int[]){__VA_ARGS__})

/* `call` fails with KILN_INVALID and exactly this text, and leaves `out` alone. Uses the names out and err. */
#define check_refused(call, expected)                                                                                  \
    do {                                                                                                               \
        out = NULL;                                                                                                    \
        CHECK_EQ(call, KILN_INVALID);                                                                                  \
        CHECK_STR(err.text, expected);                                                                                 \
        CHECK_NULL(out);                                                                                               \
    } while (0)

/* `call` gives `out` with this dtype and shape. */
#define check_made(call, dtype, ...)                                                                                   \
    do {                                                                                                               \
        out = NULL;                                                                                                    \
        CHECK_EQ(call, KILN_OK);                                                                                       \
        check_array(out, dtype, __VA_ARGS__);                                                                          \
        kiln__array_unref(out);                                                                                        \
    } while (0)

static inline struct kiln_node *node_of(struct kiln_array *array)
{
    return atomic_load(&array->node);
}

/* A trace without a function. Its end releases the tracers. */
static inline void begin_trace(uint64_t id)
{
    kiln__tracing.id = id;
}

static inline void end_trace(void)
{
    while (kiln__tracing.tracer_count) kiln__array_unref(kiln__tracing.tracers[--kiln__tracing.tracer_count]);
    free(kiln__tracing.tracers);
    kiln__tracing = (struct kiln_tracing){0};
}

#endif
