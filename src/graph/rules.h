/*
 * rules.h - what an operation accepts and what it gives: dtypes and shapes. Inside the graph layer; others call
 * kiln__apply() of node.h. The attributes of every operation are written down at its shape rule, in rules.c or
 * rules_index.c.
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
    bool as_they_are;            /* no input is cast, and `first` and `rest` mean nothing */
    enum kiln_dtype first, rest; /* what input 0 and the other inputs are cast to */
    enum kiln_dtype dtype;       /* of the result */
    size_t ndim;
    int dims[KILN_MAX_NDIM];
};

/* Checks everything: inputs, attributes, dtypes, shapes. Error texts begin with "[name] ". */
kiln_status kiln__rules_check(const struct kiln_call *call, struct kiln_result *out, kiln_error *err);

/* The lazy array for a call whose result is known, of inputs that need no casts; finds the trace it belongs to. */
kiln_status kiln__apply_result(const struct kiln_call *call, const struct kiln_result *result, struct kiln_array **out,
                               kiln_error *err);

/* For rules: KILN_INVALID, with "[name] " before the text. */
kiln_status kiln__refuse(const struct kiln_call *call, kiln_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
kiln_status kiln__expect_attrs(const struct kiln_call *call, size_t count, kiln_error *err);
/* Attribute `i` is an axis below `ndim`. */
kiln_status kiln__expect_axis(const struct kiln_call *call, size_t i, size_t ndim, kiln_error *err);
/* The shape of input `i`, for error texts. */
const char *kiln__input_text(const struct kiln_call *call, size_t i, char text[KILN_SHAPE_TEXT]);
void kiln__same_shape(const struct kiln_array *array, struct kiln_result *out);

/* The rules that ops.def names; rules_index.c has those of operations with index arrays and slices. */
typedef kiln_status kiln_op_rule(const struct kiln_call *call, struct kiln_result *out, kiln_error *err);
#define KILN_OPERATION(ID, name, arity, kind, dtypes, shape, ...)                                                      \
    kiln_op_rule kiln__dtype_##dtypes, kiln__shape_##shape;
#include "graph/ops.def"

#endif
