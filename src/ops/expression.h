/*
 * expression.h - formulas over arrays, written as nested calls.
 *
 *     struct kiln_expression e = {.err = err};
 *     struct kiln_array *x = kiln__e_binary(&e, KILN_OP_SUBTRACT, a, kiln__e_unary(&e, KILN_OP_ABS, b));
 *     return kiln__e_end(&e, kiln__e_unary(&e, KILN_OP_EXP, x), out);
 *
 * Each call gives a borrowed array that the expression holds until its end, or NULL after the first failure; NULL as an
 * input gives NULL. So a formula needs one check, at its end.
 */
#ifndef KILN_OPS_EXPRESSION_H
#define KILN_OPS_EXPRESSION_H

#include "ops/compose.h"

enum { KILN_EXPRESSION_MAX = 224 };

struct kiln_expression {
    kiln_error *err;
    kiln_status status;
    size_t count;
    struct kiln_array *held[KILN_EXPRESSION_MAX];
};

/* Takes over the reference to `array`, the result of a call with this status. */
struct kiln_array *kiln__e_hold(struct kiln_expression *e, kiln_status status, struct kiln_array *array);
/* *out = a reference to `result`, unless something failed; drops everything else. */
kiln_status kiln__e_end(struct kiln_expression *e, struct kiln_array *result, struct kiln_array **out);

/* Drops everything; the status of the formula. */
kiln_status kiln__e_drop(struct kiln_expression *e);

/* An operation on inputs none of which is NULL. */
struct kiln_array *kiln__e_apply(struct kiln_expression *e, enum kiln_op op, struct kiln_array *const *inputs,
                                 size_t count, const int64_t *attrs, size_t attr_count);
struct kiln_array *kiln__e_unary(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a);
struct kiln_array *kiln__e_binary(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a,
                                  struct kiln_array *b);
struct kiln_array *kiln__e_select(struct kiln_expression *e, struct kiln_array *condition, struct kiln_array *a,
                                  struct kiln_array *b);
struct kiln_array *kiln__e_astype(struct kiln_expression *e, struct kiln_array *a, enum kiln_dtype dtype);
/* real + imaginary * i, of float32 that are finite; a real part of -0 becomes 0. */
struct kiln_array *kiln__e_complex(struct kiln_expression *e, struct kiln_array *real, struct kiln_array *imaginary);
/* A number as a 0-d array. */
struct kiln_array *kiln__e_number(struct kiln_expression *e, double value, enum kiln_dtype dtype);
struct kiln_array *kiln__e_reshape(struct kiln_expression *e, struct kiln_array *a, const int *dims, size_t ndim);
struct kiln_array *kiln__e_broadcast(struct kiln_expression *e, struct kiln_array *a, const int *dims, size_t ndim);
/* The same of values that are written there: leading axes of size 1 that they have beyond `ndim` are dropped. */
struct kiln_array *kiln__e_values(struct kiln_expression *e, struct kiln_array *a, const int *dims, size_t ndim);
struct kiln_array *kiln__e_matmul(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b);
/* An array of these bytes, packed. */
struct kiln_array *kiln__e_data(struct kiln_expression *e, const void *data, enum kiln_dtype dtype, const int *dims,
                                size_t ndim);
struct kiln_array *kiln__e_concatenate(struct kiln_expression *e, struct kiln_array *const *arrays, size_t count,
                                       int axis);
/* `order` has an axis of `a` for each axis of the result. */
struct kiln_array *kiln__e_transpose(struct kiln_expression *e, struct kiln_array *a, const int64_t *order);
/* Elements first, first + step, ... below end of one axis; the others whole. */
struct kiln_array *kiln__e_cut(struct kiln_expression *e, struct kiln_array *a, int axis, int first, int end, int step);

#endif
