/*
 * row_regions.c - see row_regions.h.
 */
#include "run/kernels/row_regions.h"

/* An output with one element for each row may lack the last axis. */
static void output_region(struct kiln_region *region, const struct kiln_loop *loop, const struct kiln_array *array)
{
    if (array->ndim == loop->ndim) {
        kiln__region_from_array(region, loop, array);
        return;
    }
    region->data = array->data;
    region->item = (int64_t)kiln__dtype_size(array->dtype);
    for (size_t k = 0; k < array->ndim; k++) region->strides[k] = array->strides[k] * region->item;
    region->strides[loop->ndim - 1] = 0;
}

/* By shape: a row that repeats one element has as many elements as others, and so has what is made of it. */
static char row_layout(const struct kiln_region *region, const struct kiln_array *operand, const struct kiln_loop *loop)
{
    size_t axis = loop->ndim - 1;
    if (operand->ndim == 0 || operand->dims[operand->ndim - 1] != loop->dims[axis]) return KILN_LAYOUT_SCALAR;
    return kiln__region_is_packed(region, axis) ? KILN_LAYOUT_PACKED : KILN_LAYOUT_STRIDED;
}

void kiln__row_regions(const struct kiln_group *group, struct kiln_array *const *operands,
                       struct kiln_array *const *outputs, struct kiln_loop *loop, char *layouts)
{
    struct kiln_region *region = loop->regions;
    for (uint32_t i = 0; i < group->output_count; i++) output_region(region++, loop, outputs[i]);
    for (uint32_t i = 0; i < group->operand_count; i++, region++) {
        kiln__region_from_array(region, loop, operands[i]);
        layouts[i] = row_layout(region, operands[i], loop);
    }
    layouts[group->operand_count] = '\0';
}
