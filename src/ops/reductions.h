/*
 * reductions.h - reductions over any axes, and functions computed from them: mean, variance, softmax, cumulative sums.
 *
 * `axes` may be negative, in any order; KILN_ALL_AXES as their count means all. Same contract as kiln__apply(): inputs
 * borrowed, *out is the caller's reference, untouched on failure. Error texts begin with "[name] ".
 */
#ifndef KILN_OPS_REDUCTIONS_H
#define KILN_OPS_REDUCTIONS_H

#include "ops/expression.h"

#define KILN_ALL_AXES SIZE_MAX

struct kiln_axes {
    const int *axes;
    size_t count;
    bool keepdims;
};

/* sum, prod, min, max, all, any. Over several axes: as over one that has all their elements, last axis fastest. */
kiln_status kiln__reduce(enum kiln_op op, struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out,
                         kiln_error *err);
/* 16-bit floats are averaged in float32 and rounded once; integers give float32. */
kiln_status kiln__mean(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err);
/* The sum of squared differences from the mean, divided by n - ddof, or by 0. */
kiln_status kiln__var(struct kiln_array *a, struct kiln_axes axes, int ddof, struct kiln_array **out, kiln_error *err);
kiln_status kiln__std(struct kiln_array *a, struct kiln_axes axes, int ddof, struct kiln_array **out, kiln_error *err);
kiln_status kiln__logsumexp(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err);
/* Computed in float32 at least; `precise` of the ABI changes nothing. */
kiln_status kiln__softmax(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err);
/* argmin, argmax: over one axis, or over all as if they were one. */
kiln_status kiln__argreduce_axis(enum kiln_op op, struct kiln_array *a, int axis, bool keepdims,
                                 struct kiln_array **out, kiln_error *err);
kiln_status kiln__argreduce(enum kiln_op op, struct kiln_array *a, bool keepdims, struct kiln_array **out,
                            kiln_error *err);
/* cumsum, cumprod, cummax, cummin. */
kiln_status kiln__cumulative(enum kiln_op op, struct kiln_array *a, int axis, bool reverse, bool inclusive,
                             struct kiln_array **out, kiln_error *err);

/* The cumulative log(exp(a[0]) + exp(a[1]) + ...), in float32 at least. */
kiln_status kiln__logcumsumexp(struct kiln_array *a, int axis, bool reverse, bool inclusive, struct kiln_array **out,
                               kiln_error *err);
/* The middle element in order, or the average of the two middle ones; NaN where there is one. Integers give float32. */
kiln_status kiln__median(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err);
/* How many elements `axes` have together, or 1 divided by it, as a 0-d array. */
kiln_status kiln__number_of_elements(struct kiln_array *a, struct kiln_axes axes, bool inverted, enum kiln_dtype dtype,
                                     struct kiln_array **out, kiln_error *err);

/* In formulas: over one axis, which stays with size 1; over the last axis; softmax over the last axis. */
struct kiln_array *kiln__e_reduce_axis(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a, int axis);
struct kiln_array *kiln__e_softmax_last(struct kiln_expression *e, struct kiln_array *a);

#endif
