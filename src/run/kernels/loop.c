/*
 * loop.c - index spaces of launches.
 *
 * Invariant: an element's address in a region is data + sum of index[axis] * strides[axis], before and after each of
 * these functions, for the same set of elements in the same order.
 */
#include "run/kernels/loop.h"

void kiln__loop_init(struct kiln_loop *loop, size_t ndim, const int32_t *dims, struct kiln_region *regions,
                     size_t count)
{
    loop->ndim = ndim;
    loop->count = count;
    loop->regions = regions;
    for (size_t axis = 0; axis < ndim; axis++) loop->dims[axis] = dims[axis];
}

void kiln__region_from_array(struct kiln_region *region, const struct kiln_loop *loop, const struct kiln_array *array)
{
    size_t missing = loop->ndim - array->ndim;
    region->data = array->data;
    region->item = (int64_t)kiln__dtype_size(array->dtype);
    for (size_t axis = 0; axis < missing; axis++) region->strides[axis] = 0;
    for (size_t axis = 0; axis < array->ndim; axis++) {
        region->strides[missing + axis] = array->dims[axis] == 1 ? 0 : array->strides[axis] * region->item;
    }
}

static void move_axis(struct kiln_loop *loop, size_t to, size_t from)
{
    loop->dims[to] = loop->dims[from];
    for (size_t i = 0; i < loop->count; i++) loop->regions[i].strides[to] = loop->regions[i].strides[from];
}

void kiln__loop_remove_axis(struct kiln_loop *loop, size_t axis)
{
    loop->ndim--;
    for (; axis < loop->ndim; axis++) move_axis(loop, axis, axis + 1);
}

void kiln__loop_insert_axis(struct kiln_loop *loop, size_t axis, int64_t dim)
{
    for (size_t i = loop->ndim++; i > axis; i--) move_axis(loop, i, i - 1);
    loop->dims[axis] = dim;
}

static bool can_merge(const struct kiln_loop *loop, size_t outer, size_t inner)
{
    for (size_t i = 0; i < loop->count; i++) {
        const int64_t *strides = loop->regions[i].strides;
        if (strides[outer] != strides[inner] * loop->dims[inner]) return false;
    }
    return true;
}

void kiln__loop_collapse(struct kiln_loop *loop)
{
    size_t kept = 0;
    for (size_t axis = 0; axis < loop->ndim; axis++) {
        if (loop->dims[axis] == 1) continue;
        if (kept > 0 && can_merge(loop, kept - 1, axis)) {
            int64_t outer = loop->dims[kept - 1];
            move_axis(loop, kept - 1, axis);
            loop->dims[kept - 1] *= outer;
        } else {
            move_axis(loop, kept++, axis);
        }
    }
    loop->ndim = kept;
}

void kiln__loop_append_unit(struct kiln_loop *loop)
{
    loop->dims[loop->ndim] = 1;
    for (size_t i = 0; i < loop->count; i++) loop->regions[i].strides[loop->ndim] = loop->regions[i].item;
    loop->ndim++;
}

int64_t kiln__loop_size(const struct kiln_loop *loop)
{
    int64_t size = 1;
    for (size_t axis = 0; axis < loop->ndim; axis++) size *= loop->dims[axis];
    return size;
}
