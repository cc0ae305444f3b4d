/*
 * reuse.c - see reuse.h. Index maps are those that a launch uses (loop.h), so what is proved here is what will run.
 */
#include "run/reuse.h"

#include "run/kernels/loop.h"

/* Does nobody but its one holder see the bytes? */
static bool is_sole_owner(const struct kiln_array *array)
{
    return array->storage && atomic_load_explicit(&array->refs, memory_order_acquire) == 1 &&
           kiln__storage_is_exclusive(array->storage);
}

/* At every index both regions mean one address, and each index has its own. */
static bool is_same_map(const struct kiln_loop *loop, const struct kiln_region *a, const struct kiln_region *b)
{
    for (size_t axis = 0; axis < loop->ndim; axis++)
        if (loop->dims[axis] != 1 && (a->strides[axis] != b->strides[axis] || a->strides[axis] == 0)) return false;
    return a->item == b->item;
}

bool kiln__can_write_over(const struct kiln_array *operand, const struct kiln_array *out, const int32_t *dims,
                          size_t ndim)
{
    struct kiln_region regions[2];
    struct kiln_loop loop;
    if (operand->size != out->size || out->ndim != ndim || operand->ndim > ndim || !is_sole_owner(operand) ||
        operand->data != operand->storage->data)
        return false;
    kiln__loop_init(&loop, ndim, dims, regions, 2);
    kiln__region_from_array(&regions[0], &loop, out);
    kiln__region_from_array(&regions[1], &loop, operand);
    return is_same_map(&loop, &regions[0], &regions[1]);
}

/* Each axis steps over everything that the axes with smaller steps reach. */
static bool has_distinct_places(const struct kiln_array *array)
{
    int64_t steps[KILN_MAX_NDIM], reach = 0;
    size_t order[KILN_MAX_NDIM], count = 0;
    for (size_t axis = 0; axis < array->ndim; axis++) {
        size_t at = count;
        if (array->dims[axis] == 1) continue;
        steps[axis] = array->strides[axis] < 0 ? -array->strides[axis] : array->strides[axis];
        for (; at > 0 && steps[order[at - 1]] > steps[axis]; at--) order[at] = order[at - 1];
        order[at] = axis;
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        if (steps[order[i]] <= reach) return false;
        reach += steps[order[i]] * (array->dims[order[i]] - 1);
    }
    return true;
}

bool kiln__can_update(const struct kiln_array *array)
{
    return is_sole_owner(array) && has_distinct_places(array);
}
