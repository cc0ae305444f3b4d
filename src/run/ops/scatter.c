/*
 * scatter.c - writing through indices and slices: scatter, put_along_axis, slice_update, slice_update_dynamic.
 *
 * The result starts as a copy of the first input, then updates are merged into it one after the other, so that a
 * position that is written twice has the last value, or all of them added in order. All index values are checked
 * before. Updates of slices write into their input's own storage where that can be (reuse.h): doing that again gives
 * the same bytes, so a child that was forked meanwhile may start over.
 */
#include <stdlib.h>

#include "cache/cache.h"
#include "run/kernels/dry_run.h"
#include "run/ops/axis.h"
#include "run/ops/indices.h"
#include "run/ops/merge.h"
#include "run/ops/operation.h"
#include "run/reuse.h"

kiln_status kiln__output_copy(const struct kiln_array *in, struct kiln_array *out, kiln_error *err)
{
    kiln_status status = kiln__output_alloc(out, err);
    if (status || in->size == 0) return status;
    if (!kiln__dry_run)
        kiln__add(&kiln_cache_default()->counts.bytes_copied, (uint64_t)in->size * kiln__dtype_size(in->dtype));
    return kiln__copy_packed(in, out->data, err);
}

/* ---- scatter ----------------------------------------------------------------------------------------------------- */

/* The axes of `updates` from `first` on are those of the block; the ones before it count positions. */
static void set_block(const struct kiln_array *out, const struct kiln_array *updates, size_t first,
                      struct kiln_loop *block, struct kiln_region *regions)
{
    int64_t item = (int64_t)kiln__dtype_size(out->dtype);
    kiln__loop_init(block, out->ndim, updates->dims + first, regions, 2);
    for (size_t i = 0; i < out->ndim; i++) {
        regions[0].strides[i] = out->strides[i] * item;
        regions[1].strides[i] = updates->strides[first + i] * item;
    }
    regions[0].item = regions[1].item = item;
    regions[0].data = out->data;
    regions[1].data = updates->data;
    kiln__loop_collapse(block);
}

static int64_t offset_of(const struct kiln_array *array, size_t ndim, int64_t position)
{
    int64_t offset = 0;
    for (size_t i = ndim; i-- > 0;) {
        offset += position % array->dims[i] * array->strides[i];
        position /= array->dims[i];
    }
    return offset * (int64_t)kiln__dtype_size(array->dtype);
}

static void merge_positions(const struct kiln_node *node, struct kiln_array *out, int64_t *const *values)
{
    const struct kiln_array *updates = node->inputs[1];
    size_t count = node->input_count - 2u, first = (size_t)(updates->ndim - out->ndim);
    int64_t positions = count ? node->inputs[2]->size : 1, item = (int64_t)kiln__dtype_size(out->dtype);
    kiln_merge *merge = kiln__merge((enum kiln_merge_mode)node->attrs[0], out->dtype);
    struct kiln_region regions[2];
    struct kiln_loop block;
    set_block(out, updates, first, &block, regions);
    for (int64_t position = 0; position < positions; position++) {
        int64_t to = 0;
        for (size_t i = 0; i < count; i++) to += values[i][position] * out->strides[node->attrs[1 + i]] * item;
        kiln__merge_block(&block, merge, to, offset_of(updates, first, position));
    }
}

/* Inputs: the array, updates, index arrays. Attributes: the mode, then an axis for each index array. */
kiln_status kiln__run_scatter(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *updates = node->inputs[1];
    size_t count = node->input_count - 2u, read = 0, first = (size_t)(updates->ndim - out->ndim);
    int64_t *values[KILN_MAX_NDIM];
    kiln_status status = KILN_OK;
    for (; status == KILN_OK && read < count; read += status == KILN_OK) {
        size_t axis = (size_t)node->attrs[1 + read];
        status = kiln__indices_read("scatter", node->inputs[2 + read], out->dims[axis], updates->dims[first + axis],
                                    &values[read], err);
    }
    if (status == KILN_OK) status = kiln__output_copy(node->inputs[0], out, err);
    if (status == KILN_OK && updates->size > 0) merge_positions(node, out, values);
    for (size_t i = 0; i < read; i++) free(values[i]);
    return status;
}

/* ---- put_along_axis ---------------------------------------------------------------------------------------------- */

struct along {
    const struct kiln_array *updates;
    struct kiln_array *out;
    const int64_t *values;              /* packed */
    struct kiln_axis to, from, indices; /* of the result, the updates, the packed indices */
    kiln_merge *merge;
};

static void merge_rows(void *ctx, int64_t first, int64_t end)
{
    const struct along *along = ctx;
    int64_t item = (int64_t)kiln__dtype_size(along->out->dtype);
    for (int64_t row = first; row < end; row++) {
        char *to = along->out->data + kiln__axis_offset(&along->to, row);
        const char *from = along->updates->data + kiln__axis_offset(&along->from, row);
        const int64_t *value = along->values + kiln__axis_offset(&along->indices, row) / item;
        for (int64_t i = 0; i < along->from.n; i++, from += along->from.stride, value += along->indices.stride / item)
            along->merge(to + *value * along->to.stride, item, from, item, 1);
    }
}

/* The axes of packed indices with the shape of `updates`, in bytes of the result's dtype. */
static void packed_axis(const struct kiln_array *updates, size_t axis, struct kiln_axis *out)
{
    int64_t stride = (int64_t)kiln__dtype_size(updates->dtype);
    size_t next = updates->ndim - 1u;
    kiln__axis_init(out, updates, axis);
    for (size_t i = updates->ndim; i-- > 0;) {
        if (i == axis)
            out->stride = stride;
        else
            out->strides[--next] = stride;
        stride *= updates->dims[i];
    }
}

/* Inputs: the array, indices, updates of their shape. Attributes: the mode, the axis. */
kiln_status kiln__run_put_along(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *updates = node->inputs[2];
    size_t axis = (size_t)node->attrs[1];
    int64_t *values = NULL;
    kiln_status status = kiln__indices_read("put_along_axis", node->inputs[1], out->dims[axis], 1, &values, err);
    if (status == KILN_OK) status = kiln__output_copy(node->inputs[0], out, err);
    if (status == KILN_OK && updates->size > 0) {
        struct along along = {.updates = updates, .out = out, .values = values};
        along.merge = kiln__merge((enum kiln_merge_mode)node->attrs[0], out->dtype);
        kiln__axis_init(&along.to, out, axis);
        kiln__axis_init(&along.from, updates, axis);
        packed_axis(updates, axis, &along.indices);
        kiln__rows_run(merge_rows, &along, along.from.rows, updates->size);
    }
    free(values);
    return status;
}

/* ---- slice_update ------------------------------------------------------------------------------------------------ */

/* A dry run counts on the first. */
static bool goes_in_place(const struct kiln_node *node, bool may_overwrite)
{
    const struct kiln_array *in = node->inputs[0];
    if (kiln__dry_run) return true;
    return may_overwrite && node->is_last_use && node->inputs[1]->storage != in->storage && kiln__can_update(in);
}

kiln_status kiln__output_update(const struct kiln_node *node, bool may_overwrite, struct kiln_array *out,
                                kiln_error *err)
{
    struct kiln_array *in = node->inputs[0];
    if (!goes_in_place(node, may_overwrite)) return kiln__output_copy(in, out, err);
    if (in->storage) kiln__storage_forget_copy(in->storage);
    kiln__output_view(out, in, 0, in->strides);
    return KILN_OK;
}

/* Combines the update with the elements of `out` from `data` on, which lie `strides` elements apart. */
static void merge_slice(enum kiln_merge_mode mode, const struct kiln_array *update, struct kiln_array *out, char *data,
                        const int64_t *strides)
{
    int64_t item = (int64_t)kiln__dtype_size(out->dtype);
    struct kiln_region regions[2] = {{.data = data, .item = item}, {.data = update->data, .item = item}};
    struct kiln_loop block;
    kiln__loop_init(&block, out->ndim, update->dims, regions, 2);
    for (size_t i = 0; i < out->ndim; i++) {
        regions[0].strides[i] = strides[i] * item;
        regions[1].strides[i] = update->strides[i] * item;
    }
    kiln__loop_collapse(&block);
    kiln__merge_block(&block, kiln__merge(mode, out->dtype), 0, 0);
}

/* Inputs: the array, an update of the slice's shape. Attributes: the mode, then start, stop and step of each axis. */
kiln_status kiln__run_slice_update(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *update = node->inputs[1];
    const int64_t *start = node->attrs + 1, *step = node->attrs + 1 + 2 * out->ndim;
    enum kiln_merge_mode mode = (enum kiln_merge_mode)node->attrs[0];
    int64_t strides[KILN_MAX_NDIM], offset = 0;
    kiln_status status = kiln__output_update(node, mode == KILN_MERGE_SET, out, err);
    if (status != KILN_OK || update->size == 0) return status;
    for (size_t i = 0; i < out->ndim; i++) {
        offset += start[i] * out->strides[i];
        strides[i] = step[i] * out->strides[i];
    }
    char *data = out->data + offset * (int64_t)kiln__dtype_size(out->dtype);
    if (mode == KILN_MERGE_SET) return kiln__copy_to(update, data, strides, err);
    merge_slice(mode, update, out, data, strides);
    return KILN_OK;
}

/* Inputs: the array, an update, starts. Attributes: an axis for each start. */
kiln_status kiln__run_update_dynamic(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *update = node->inputs[1], *start = node->inputs[2];
    int64_t starts[KILN_MAX_NDIM], offset = 0;
    kiln_status status = kiln__starts_read("slice_update_dynamic", start, node->attrs, out, update->dims, starts, err);
    if (!status) status = kiln__output_update(node, true, out, err);
    if (status || update->size == 0) return status;
    for (int64_t i = 0; i < start->size; i++) offset += starts[i] * out->strides[node->attrs[i]];
    return kiln__copy_to(update, out->data + offset * (int64_t)kiln__dtype_size(out->dtype), out->strides, err);
}
