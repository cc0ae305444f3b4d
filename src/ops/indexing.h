/*
 * indexing.h - reading and writing through index arrays and slices.
 *
 * Axes may be negative; so may index values, which are checked at evaluation. Same contract as kiln__apply(): inputs
 * borrowed, *out is the caller's reference, untouched on failure. Error texts begin with "[name] ".
 */
#ifndef KILN_OPS_INDEXING_H
#define KILN_OPS_INDEXING_H

#include "graph/node.h"

/* Elements of the flattened array. */
kiln_status kiln__take(struct kiln_array *a, struct kiln_array *indices, struct kiln_array **out, kiln_error *err);
kiln_status kiln__take_axis(struct kiln_array *a, struct kiln_array *indices, int axis, struct kiln_array **out,
                            kiln_error *err);
/* An index for each element; dims outside of the axis are broadcast. */
kiln_status kiln__take_along_axis(struct kiln_array *a, struct kiln_array *indices, int axis, struct kiln_array **out,
                                  kiln_error *err);
/* Indices are broadcast to the array outside of the axis, values to the indices, and cast to the array's dtype. */
kiln_status kiln__put_along_axis(enum kiln_merge_mode mode, struct kiln_array *a, struct kiln_array *indices,
                                 struct kiln_array *values, int axis, struct kiln_array **out, kiln_error *err);

struct kiln_index_list {
    struct kiln_array *const *indices; /* broadcast with each other */
    const int *axes;                   /* one for each */
    size_t count;
};

/* Slices of `slice_sizes`, one size per axis of `a`, at each position the indices name. */
kiln_status kiln__gather(struct kiln_array *a, struct kiln_index_list list, const int *slice_sizes, size_t size_count,
                         struct kiln_array **out, kiln_error *err);
kiln_status kiln__scatter(enum kiln_merge_mode mode, struct kiln_array *a, struct kiln_index_list list,
                          struct kiln_array *updates, struct kiln_array **out, kiln_error *err);

/* start, stop and strides as of kiln__slice(), one per axis; the update is broadcast, and cast to `a`'s dtype. */
kiln_status kiln__slice_update(enum kiln_merge_mode mode, struct kiln_array *a, struct kiln_array *update,
                               const int *start, const int *stop, const int *strides, struct kiln_array **out,
                               kiln_error *err);

/* Where `mask`, a bool for each element of the first axes of `a`, is true, the elements of `source` take the place of
 * those of `a`, in row-major order; one element takes them all. Too few elements are an error when it is evaluated. */
kiln_status kiln__masked_scatter(struct kiln_array *a, struct kiln_array *mask, struct kiln_array *source,
                                 struct kiln_array **out, kiln_error *err);

/* A slice of `slice_sizes`, one per axis of `a`, from where `start`, an array, says along `axes`: one start for each; 0
 * along the others. */
kiln_status kiln__slice_dynamic(struct kiln_array *a, struct kiln_array *start, const int *axes, size_t axis_count,
                                const int *slice_sizes, size_t size_count, struct kiln_array **out, kiln_error *err);
/*
 * The same slice of `a`, of the update's shape, is replaced. An update with fewer axes is broadcast along those in
 * front that it lacks, to one element where they have a start; and cast to `a`'s dtype.
 */
kiln_status kiln__slice_update_dynamic(struct kiln_array *a, struct kiln_array *update, struct kiln_array *start,
                                       const int *axes, size_t axis_count, struct kiln_array **out, kiln_error *err);

#endif
