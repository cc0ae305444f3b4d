/*
 * compose.h - operations made of other operations, and helpers that fill in attributes.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure.
 */
#ifndef KILN_OPS_COMPOSE_H
#define KILN_OPS_COMPOSE_H

#include "array/rng_state.h"
#include "graph/node.h"

kiln_status kiln__unary(enum kiln_op op, struct kiln_array *a, struct kiln_array **out, kiln_error *err);
kiln_status kiln__binary(enum kiln_op op, struct kiln_array *a, struct kiln_array *b, struct kiln_array **out,
                         kiln_error *err);
kiln_status kiln__astype(struct kiln_array *a, enum kiln_dtype dtype, struct kiln_array **out,
                         kiln_error *err); /* same dtype: the same array */
kiln_status kiln__reshape(struct kiln_array *a, const int *dims, size_t ndim, struct kiln_array **out,
                          kiln_error *err); /* one -1 allowed */
kiln_status kiln__reshape_like(struct kiln_array *a, struct kiln_array *like, struct kiln_array **out,
                               kiln_error *err); /* to the shape of `like` */
kiln_status kiln__broadcast_to(struct kiln_array *a, const int *dims, size_t ndim, struct kiln_array **out,
                               kiln_error *err);
kiln_status kiln__expand_dims(struct kiln_array *a, int axis, struct kiln_array **out, kiln_error *err);
kiln_status kiln__squeeze_axis(struct kiln_array *a, int axis, struct kiln_array **out, kiln_error *err);
kiln_status kiln__slice(struct kiln_array *a, const int *start, const int *stop, const int *strides, size_t count,
                        struct kiln_array **out, kiln_error *err);
kiln_status kiln__concatenate(struct kiln_array *const *arrays, size_t count, int axis, struct kiln_array **out,
                              kiln_error *err);
kiln_status kiln__stack(struct kiln_array *const *arrays, size_t count, int axis, struct kiln_array **out,
                        kiln_error *err);
kiln_status kiln__tile(struct kiln_array *a, const int *reps, size_t count, struct kiln_array **out, kiln_error *err);
kiln_status kiln__full(const int *dims, size_t ndim, enum kiln_dtype dtype, struct kiln_array *value,
                       struct kiln_array **out, kiln_error *err);
kiln_status kiln__zeros(const int *dims, size_t ndim, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err);
kiln_status kiln__sum_axis(struct kiln_array *a, int axis, bool keepdims, struct kiln_array **out, kiln_error *err);
kiln_status kiln__matmul(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err);
/* The key that `seed` stands for: uint32[2]. */
kiln_status kiln__random_key(uint64_t seed, struct kiln_array **out, kiln_error *err);
/* The next key of the process-wide sequence. */
kiln_status kiln__random_next_key(struct kiln_array **out, kiln_error *err);
/* key may be NULL: the next one. */
kiln_status kiln__random_bits(const int *dims, size_t ndim, struct kiln_array *key, struct kiln_array **out,
                              kiln_error *err);
kiln_status kiln__random_bernoulli(struct kiln_array *p, const int *dims, size_t ndim, struct kiln_array *key,
                                   struct kiln_array **out, kiln_error *err);

/* A negative axis counts from the end. KILN_INVALID names `name` and the axis. */
kiln_status kiln__plain_axis(const char *name, int axis, size_t ndim, int *out, kiln_error *err);

#endif
