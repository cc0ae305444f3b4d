/*
 * contractions.h - tensor contractions beyond matmul: outer, inner and Kronecker products, tensordot, trace.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure. Axes may be
 * negative. Contractions need floats, as matmul does.
 */
#ifndef KILN_OPS_CONTRACTIONS_H
#define KILN_OPS_CONTRACTIONS_H

#include "graph/node.h"

/* A row for each element of `a`, a column for each element of `b`. */
kiln_status kiln__outer(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err);
/* Summed over both last axes; with a 0-d array the plain product. */
kiln_status kiln__inner(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err);
/* The blocks a[i] * b, next to each other along each axis; the one of fewer dimensions gets axes in front. */
kiln_status kiln__kron(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err);

/* left[i] of one array and right[i] of the other are one axis, which is summed. */
struct kiln_axis_pairs {
    const int *left, *right;
    size_t left_count, right_count; /* must be equal */
};

/* The axes that are left: those of `a`, then those of `b`. */
kiln_status kiln__tensordot(struct kiln_array *a, struct kiln_array *b, struct kiln_axis_pairs pairs,
                            struct kiln_array **out, kiln_error *err);
/* The last `count` axes of `a` and the first ones of `b`. */
kiln_status kiln__tensordot_last(struct kiln_array *a, struct kiln_array *b, int count, struct kiln_array **out,
                                 kiln_error *err);

/* The sum of a diagonal, see kiln__diagonal(): its elements and the result are of dtype `dtype`. */
kiln_status kiln__diagonal_sum(struct kiln_array *a, int offset, int axis1, int axis2, enum kiln_dtype dtype,
                               struct kiln_array **out, kiln_error *err);

#endif
