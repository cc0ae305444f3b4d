/*
 * random.h - samples of distributions, computed from random words (kiln__random_bits): equal keys give equal samples on
 * every device.
 *
 * key may be NULL: the next one of the process-wide sequence. Same contract as kiln__apply().
 */
#ifndef KILN_OPS_RANDOM_H
#define KILN_OPS_RANDOM_H

#include "graph/node.h"

struct kiln_dims {
    const int *dims;
    size_t ndim;
};

/* width: 1, 2 or 4 bytes; uint8, uint16 or uint32. */
kiln_status kiln__random_words(struct kiln_dims shape, int width, struct kiln_array *key, struct kiln_array **out,
                               kiln_error *err);
/* count keys, (count, 2). */
kiln_status kiln__random_split(struct kiln_array *key, int count, struct kiln_array **out, kiln_error *err);
/* Key `index` of those, as a view. */
kiln_status kiln__random_split_part(struct kiln_array *keys, int index, struct kiln_array **out, kiln_error *err);
/* From low up to, but without, high; both broadcast to the shape. float32, float16 or bfloat16. */
kiln_status kiln__random_uniform(struct kiln_array *low, struct kiln_array *high, struct kiln_dims shape,
                                 enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                 kiln_error *err);
/* Any float, or complex64, whose parts have half of the variance. loc and scale may be NULL: 0 and 1; else they and the
 * shape broadcast to that of the result. */
kiln_status kiln__random_normal(struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *loc,
                                struct kiln_array *scale, struct kiln_array *key, struct kiln_array **out,
                                kiln_error *err);
/* loc and scale may be NULL: 0 and 1. */
kiln_status kiln__random_laplace(struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *loc,
                                 struct kiln_array *scale, struct kiln_array *key, struct kiln_array **out,
                                 kiln_error *err);
/* A normal distribution between the two bounds, which are broadcast to the shape. */
kiln_status kiln__random_truncated_normal(struct kiln_array *lower, struct kiln_array *upper, struct kiln_dims shape,
                                          enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                          kiln_error *err);
/* linalg/multivariate_normal.c: mean (..., n) and covariance (..., n, n), broadcast to `shape`, or to each other where
 * it is empty; samples are (shape..., n). float32. */
kiln_status kiln__random_multivariate_normal(struct kiln_array *mean, struct kiln_array *cov, struct kiln_dims shape,
                                             enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                             kiln_error *err);
kiln_status kiln__random_gumbel(struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *key,
                                struct kiln_array **out, kiln_error *err);
/* Integers from low up to, but without, high. */
kiln_status kiln__random_randint(struct kiln_array *low, struct kiln_array *high, struct kiln_dims shape,
                                 enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                 kiln_error *err);
/* One position along the axis for each of the others, with probabilities softmax(logits). */
kiln_status kiln__random_categorical(struct kiln_array *logits, int axis, struct kiln_array *key,
                                     struct kiln_array **out, kiln_error *err);
/* The result has `shape`, to which logits without the axis are broadcast. */
kiln_status kiln__random_categorical_shape(struct kiln_array *logits, int axis, struct kiln_dims shape,
                                           struct kiln_array *key, struct kiln_array **out, kiln_error *err);
/* `count` positions for each row, along a new last axis. */
kiln_status kiln__random_categorical_samples(struct kiln_array *logits, int axis, int count, struct kiln_array *key,
                                             struct kiln_array **out, kiln_error *err);
/* Rows along the axis, in a random order. */
kiln_status kiln__random_permutation(struct kiln_array *a, int axis, struct kiln_array *key, struct kiln_array **out,
                                     kiln_error *err);
/* 0 to count - 1 in a random order. */
kiln_status kiln__random_order(int count, struct kiln_array *key, struct kiln_array **out, kiln_error *err);

#endif
