/*
 * gather.c - reading through indices: take, gather, take_along_axis, slice_dynamic. On GPUs: run/gpu/gpu_gather.c.
 *
 * All index values are checked first, so the copies need no checks. Results are packed; each part of them is written by
 * one thread.
 */
#include <stdlib.h>

#include "run/ops/axis.h"
#include "run/ops/indices.h"
#include "run/ops/merge.h"
#include "run/ops/operation.h"

/* A block of `in` that is copied for each position of the result. */
struct gather {
    const struct kiln_array *in;
    struct kiln_array *out;
    struct kiln_loop block;
    struct kiln_region regions[2]; /* of the block: in the result, in the input */
    kiln_merge *copy;
    int64_t block_bytes;
    int64_t *values[KILN_MAX_NDIM]; /* index arrays */
    int64_t strides[KILN_MAX_NDIM]; /* bytes that a step of each index moves */
    size_t count;
    struct kiln_axis outer; /* take: the axes in front of the indexed one; its n is the number of indices */
};

/* The block has `dims`, whose axes are those of `in` from `first` on. */
static void set_block(struct gather *gather, size_t first, const int64_t *dims)
{
    size_t ndim = gather->in->ndim - first;
    int32_t none[KILN_MAX_NDIM] = {0};
    int64_t item = (int64_t)kiln__dtype_size(gather->in->dtype), packed = item;
    kiln__loop_init(&gather->block, ndim, none, gather->regions, 2);
    for (size_t i = ndim; i-- > 0;) {
        gather->block.dims[i] = dims[i];
        gather->regions[0].strides[i] = packed;
        gather->regions[1].strides[i] = gather->in->strides[first + i] * item;
        packed *= dims[i];
    }
    gather->regions[0].item = gather->regions[1].item = item;
    gather->regions[0].data = gather->out->data;
    gather->regions[1].data = gather->in->data;
    gather->block_bytes = packed;
    gather->copy = kiln__merge(KILN_MERGE_SET, gather->in->dtype);
    kiln__loop_collapse(&gather->block);
}

static void release_values(struct gather *gather)
{
    for (size_t i = 0; i < gather->count; i++) free(gather->values[i]);
}

/* ---- take: one index array, along one axis -------------------------------------------------------------------- */

static void take_positions(void *ctx, int64_t first, int64_t end)
{
    const struct gather *gather = ctx;
    for (int64_t position = first; position < end; position++) {
        int64_t outer = position / gather->outer.n, k = position % gather->outer.n;
        int64_t from = kiln__axis_offset(&gather->outer, outer) + gather->values[0][k] * gather->strides[0];
        kiln__merge_block(&gather->block, gather->copy, position * gather->block_bytes, from);
    }
}

kiln_status kiln__run_take(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0], *indices = node->inputs[1];
    size_t axis = (size_t)node->attrs[0];
    struct gather gather = {.in = in, .out = out, .count = 1};
    int64_t dims[KILN_MAX_NDIM], item = (int64_t)kiln__dtype_size(in->dtype), outer = 1;
    kiln_status status = kiln__indices_read("take", indices, in->dims[axis], 1, &gather.values[0], err);
    if (status == KILN_OK) status = kiln__output_alloc(out, err);
    if (status == KILN_OK && out->size > 0) {
        for (size_t i = axis + 1; i < in->ndim; i++) dims[i - axis - 1] = in->dims[i];
        set_block(&gather, axis + 1, dims);
        gather.strides[0] = in->strides[axis] * item;
        gather.outer.n = indices->size;
        for (size_t i = 0; i < axis; i++) {
            gather.outer.dims[gather.outer.ndim] = in->dims[i];
            gather.outer.strides[gather.outer.ndim++] = in->strides[i] * item;
            outer *= in->dims[i];
        }
        kiln__rows_run(take_positions, &gather, outer * indices->size, out->size);
    }
    release_values(&gather);
    return status;
}

/* ---- gather: slices at positions given by several index arrays ----------------------------------------------------
 */

static void gather_positions(void *ctx, int64_t first, int64_t end)
{
    const struct gather *gather = ctx;
    for (int64_t position = first; position < end; position++) {
        int64_t from = 0;
        for (size_t i = 0; i < gather->count; i++) from += gather->values[i][position] * gather->strides[i];
        kiln__merge_block(&gather->block, gather->copy, position * gather->block_bytes, from);
    }
}

/* Attributes: an axis for each index array, then the sizes of the slice. */
kiln_status kiln__run_gather(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    size_t count = node->input_count - 1u;
    const int64_t *axes = node->attrs, *sizes = node->attrs + count;
    struct gather gather = {.in = in, .out = out};
    int64_t positions = 1;
    kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < count; i++) {
        const struct kiln_array *indices = node->inputs[1 + i];
        size_t axis = (size_t)axes[i];
        status = kiln__indices_read("gather", indices, in->dims[axis], sizes[axis], &gather.values[i], err);
        gather.strides[i] = in->strides[axis] * (int64_t)kiln__dtype_size(in->dtype);
        if (status == KILN_OK) gather.count++;
        positions = indices->size;
    }
    if (status == KILN_OK) status = kiln__output_alloc(out, err);
    if (status == KILN_OK && out->size > 0) {
        set_block(&gather, 0, sizes);
        kiln__rows_run(gather_positions, &gather, positions, out->size);
    }
    release_values(&gather);
    return status;
}

/* ---- take_along_axis: an index for each element ---------------------------------------------------------------- */

struct along {
    const struct kiln_array *in;
    struct kiln_array *out;
    const int64_t *values; /* packed, as the result is */
    struct kiln_axis from, to;
    kiln_merge *copy;
};

static void take_rows(void *ctx, int64_t first, int64_t end)
{
    const struct along *along = ctx;
    int64_t item = (int64_t)kiln__dtype_size(along->in->dtype);
    for (int64_t row = first; row < end; row++) {
        const char *from = along->in->data + kiln__axis_offset(&along->from, row);
        int64_t to = kiln__axis_offset(&along->to, row);
        for (int64_t i = 0; i < along->to.n; i++, to += along->to.stride)
            along->copy(along->out->data + to, item, from + along->values[to / item] * along->from.stride, item, 1);
    }
}

kiln_status kiln__run_take_along(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    size_t axis = (size_t)node->attrs[0];
    int64_t *values = NULL;
    kiln_status status = kiln__indices_read("take_along_axis", node->inputs[1], in->dims[axis], 1, &values, err);
    if (status == KILN_OK) status = kiln__output_alloc(out, err);
    if (status == KILN_OK && out->size > 0) {
        struct along along = {.in = in, .out = out, .values = values, .copy = kiln__merge(KILN_MERGE_SET, in->dtype)};
        kiln__axis_init(&along.from, in, axis);
        kiln__axis_init(&along.to, out, axis);
        kiln__rows_run(take_rows, &along, along.to.rows, out->size);
    }
    free(values);
    return status;
}

/* ---- slice_dynamic: a slice whose place is read when it is taken ------------------------------------------------- */

/* Inputs: the array, starts. Attributes: an axis for each start, then the sizes, which are the result's. */
kiln_status kiln__run_slice_dynamic(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *in = node->inputs[0], *part = NULL;
    const struct kiln_array *start = node->inputs[1];
    int64_t starts[KILN_MAX_NDIM], offset = 0;
    kiln_status status = kiln__starts_read("slice_dynamic", start, node->attrs, in, out->dims, starts, err);
    if (!status) status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    for (int64_t i = 0; i < start->size; i++) offset += starts[i] * in->strides[node->attrs[i]];
    status = kiln__array_view(in, out->ndim, out->dims, in->strides, offset, &part, err);
    if (!status) status = kiln__copy_packed(part, out->data, err);
    kiln__array_unref(part);
    return status;
}
