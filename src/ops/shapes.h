/*
 * shapes.h - other shapes and orders of the same elements, all made of the views and copies of ops.def.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure. Axes may be
 * negative. Error texts begin with "[name] ".
 */
#ifndef KILN_OPS_SHAPES_H
#define KILN_OPS_SHAPES_H

#include "graph/node.h"

/* Axes first to last become one; a 0-d array becomes 1-d. */
kiln_status kiln__flatten(struct kiln_array *a, int first, int last, struct kiln_array **out, kiln_error *err);
/* One axis becomes several; one of `dims` may be -1. */
kiln_status kiln__unflatten(struct kiln_array *a, int axis, const int *dims, size_t count, struct kiln_array **out,
                            kiln_error *err);
kiln_status kiln__squeeze_all(struct kiln_array *a, struct kiln_array **out, kiln_error *err);
kiln_status kiln__squeeze_axes(struct kiln_array *a, const int *axes, size_t count, struct kiln_array **out,
                               kiln_error *err);
/* `axes` are positions in the result. */
kiln_status kiln__expand_dims_axes(struct kiln_array *a, const int *axes, size_t count, struct kiln_array **out,
                                   kiln_error *err);
kiln_status kiln__swapaxes(struct kiln_array *a, int first, int second, struct kiln_array **out, kiln_error *err);
kiln_status kiln__moveaxis(struct kiln_array *a, int source, int destination, struct kiln_array **out, kiln_error *err);
/* At least `ndim` dimensions, 1 to 3. */
kiln_status kiln__atleast(struct kiln_array *a, size_t ndim, struct kiln_array **out, kiln_error *err);
/* Any view of the elements in row-major order that stays inside of them; strides and offset in elements. */
kiln_status kiln__as_strided(struct kiln_array *a, const int *dims, const int64_t *strides, size_t ndim, size_t offset,
                             struct kiln_array **out, kiln_error *err);
kiln_status kiln__diagonal(struct kiln_array *a, int offset, int axis1, int axis2, struct kiln_array **out,
                           kiln_error *err);

/* The same bytes as elements of another dtype; the last axis gets as many as they make. Of what becomes bool each byte
 * that is not 0 is true. */
kiln_status kiln__view(struct kiln_array *a, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err);

/* Each element `repeats` times in a row. */
kiln_status kiln__repeat(struct kiln_array *a, int repeats, int axis, struct kiln_array **out, kiln_error *err);
/* What leaves an axis at its end comes in at its start. */
kiln_status kiln__roll(struct kiln_array *a, int64_t shift, int axis, struct kiln_array **out, kiln_error *err);

/* low[i] elements before and high[i] after axis axes[i]; mode "constant" (`value`) or "edge" (the nearest element). */
struct kiln_padding {
    const int *axes, *low, *high;
    size_t count;
    const char *mode;
    struct kiln_array *value; /* NULL is fine with "edge" */
};

kiln_status kiln__pad(struct kiln_array *a, const struct kiln_padding *padding, struct kiln_array **out,
                      kiln_error *err);

/* Each array as it is, once `dependencies` are computed. */
kiln_status kiln__depends(struct kiln_array *const *arrays, size_t count, struct kiln_array *const *dependencies,
                          size_t dependency_count, struct kiln_array **out, kiln_error *err);

/* All elements of all arrays in one axis. */
kiln_status kiln__concatenate_flat(struct kiln_array *const *arrays, size_t count, struct kiln_array **out,
                                   kiln_error *err);

/* Several results: out[] has room for them and gets `count` references, or none. */
kiln_status kiln__broadcast_arrays(struct kiln_array *const *arrays, size_t count, struct kiln_array **out,
                                   kiln_error *err);
/* count - 1 positions cut the axis into `count` pieces, which may be empty. */
kiln_status kiln__split_at(struct kiln_array *a, const int *positions, size_t count, int axis, struct kiln_array **out,
                           kiln_error *err);
/* `count` equal pieces. */
kiln_status kiln__split(struct kiln_array *a, int count, int axis, struct kiln_array **out, kiln_error *err);
/* indexing: "xy" or "ij". */
kiln_status kiln__meshgrid(struct kiln_array *const *arrays, size_t count, bool sparse, const char *indexing,
                           struct kiln_array **out, kiln_error *err);

#endif
