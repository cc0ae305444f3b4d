/*
 * elementwise.h - element-wise functions made of several operations.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure.
 */
#ifndef KILN_OPS_ELEMENTWISE_H
#define KILN_OPS_ELEMENTWISE_H

#include "graph/node.h"

/* To `decimals` digits behind the point, or before it when negative; half to even. */
kiln_status kiln__round(struct kiln_array *a, int decimals, struct kiln_array **out, kiln_error *err);
/* Either bound may be NULL, not both. */
kiln_status kiln__clip(struct kiln_array *a, struct kiln_array *low, struct kiln_array *high, struct kiln_array **out,
                       kiln_error *err);
/* NULL for an infinity: the largest finite number of the dtype, with the sign of the infinity. */
kiln_status kiln__nan_to_num(struct kiln_array *a, float nan, const float *posinf, const float *neginf,
                             struct kiln_array **out, kiln_error *err);

/* out[0] = the quotient (floor_divide), out[1] = the rest: quotient * b + rest is a, up to rounding of floats. */
kiln_status kiln__divmod(struct kiln_array *a, struct kiln_array *b, struct kiln_array *out[2], kiln_error *err);

/* How close two numbers have to be: |a - b| <= absolute + relative * |b|; infinities of one sign are close. */
struct kiln_tolerance {
    double relative, absolute;
    bool equal_nan;
};

kiln_status kiln__isclose(struct kiln_array *a, struct kiln_array *b, struct kiln_tolerance tolerance,
                          struct kiln_array **out, kiln_error *err);
/* One bool: all are close. */
kiln_status kiln__allclose(struct kiln_array *a, struct kiln_array *b, struct kiln_tolerance tolerance,
                           struct kiln_array **out, kiln_error *err);
/* One bool: same shape, same values after promotion. */
kiln_status kiln__array_equal(struct kiln_array *a, struct kiln_array *b, bool equal_nan, struct kiln_array **out,
                              kiln_error *err);

#endif
