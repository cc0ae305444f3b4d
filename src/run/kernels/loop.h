/*
 * loop.h - the index space of a launch: axes, and where each operand lies along them.
 *
 * Collapsing drops axes of size one and merges neighbours that every region walks through as if they were one axis, so
 * that packed arrays become one axis, and a kernel's two loops cover as much as they can.
 */
#ifndef KILN_RUN_KERNELS_LOOP_H
#define KILN_RUN_KERNELS_LOOP_H

#include "array/array.h"

struct kiln_region {
    char *data;
    int64_t item;                       /* bytes of one element */
    int64_t strides[KILN_MAX_NDIM + 1]; /* in bytes, per axis of the loop; 0: broadcast along it */
};

struct kiln_loop {
    size_t ndim;
    int64_t dims[KILN_MAX_NDIM + 1];
    size_t count;
    struct kiln_region *regions; /* borrowed */
};

/* The loop over `dims`, all regions unset. */
void kiln__loop_init(struct kiln_loop *loop, size_t ndim, const int32_t *dims, struct kiln_region *regions,
                     size_t count);
/* A region that is `array`, broadcast from the right to the loop's axes. */
void kiln__region_from_array(struct kiln_region *region, const struct kiln_loop *loop, const struct kiln_array *array);
/* Takes one axis out of the loop. */
void kiln__loop_remove_axis(struct kiln_loop *loop, size_t axis);
/* One more axis of `dim`, before the axis that stands at `axis`; the caller sets its strides. */
void kiln__loop_insert_axis(struct kiln_loop *loop, size_t axis, int64_t dim);
/* Leaves 0 axes for a single element. */
void kiln__loop_collapse(struct kiln_loop *loop);
/* Appends an axis of size one, along which every region is packed. */
void kiln__loop_append_unit(struct kiln_loop *loop);
/* Elements of the index space; 0 when an axis is empty. */
int64_t kiln__loop_size(const struct kiln_loop *loop);

static inline bool kiln__region_is_packed(const struct kiln_region *region, size_t axis)
{
    return region->strides[axis] == region->item;
}

#endif
