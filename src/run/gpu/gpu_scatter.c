/*
 * gpu_scatter.c - scatter and put_along_axis on a GPU (codegen/gpu/gpu_ordered.h): places of the updates, which of them
 * meet, then the merge in the order of their list. Indices are checked as gpu_gather.h says.
 *
 * Updates of a scatter are one row, those of put_along_axis rows along its axis; rows of one have nothing that meets.
 */
#include "array/storage.h"
#include "run/gpu/gpu_launch_indexed.h"
#include "run/gpu/gpu_launch_ordered.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"
#include "run/placement.h"

enum { LINK_WORDS = 3, BLOCK_AXES = 4 };

struct scatter {
    const struct kiln_node *node;
    struct kiln_array *out, *updates;
    int64_t count, outer, block; /* updates; elements between rows; elements of an update */
    struct kiln_gpu_rows rows;   /* of updates */
    int64_t sizes[BLOCK_AXES], strides[BLOCK_AXES];
    struct kiln_storage *storage;
    char *links;
};

/* ---- what an update writes ----------------------------------------------------------------------------------------
 */

static int64_t stride_of(const struct kiln_array *array, size_t axis)
{
    int64_t stride = 1;
    for (size_t i = axis + 1; i < array->ndim; i++) stride *= array->dims[i];
    return stride;
}

/* The block's axes in the packed array, of which there are four: false when it has more. */
static bool find_block(const struct kiln_array *array, const int32_t *dims, int64_t *sizes, int64_t *strides)
{
    struct kiln_region region = {.item = 1};
    struct kiln_loop loop;
    kiln__loop_init(&loop, array->ndim, dims, &region, 1);
    for (size_t i = 0; i < array->ndim; i++) region.strides[i] = stride_of(array, i);
    kiln__loop_collapse(&loop);
    for (int i = 0; i < BLOCK_AXES; i++) sizes[i] = 1, strides[i] = 0;
    for (size_t i = 0; i < loop.ndim && loop.ndim <= BLOCK_AXES; i++) {
        sizes[BLOCK_AXES - loop.ndim + i] = loop.dims[i];
        strides[BLOCK_AXES - loop.ndim + i] = region.strides[i];
    }
    return loop.ndim <= BLOCK_AXES;
}

/* Blocks of one along the axes that are indexed: two of them are the same or have nothing in common. */
bool kiln__gpu_knows_scatter(const struct kiln_node *node)
{
    const struct kiln_array *in = node->inputs[0], *updates = node->inputs[1];
    const size_t count = node->input_count - 2u, first = (size_t)(updates->ndim - in->ndim);
    int64_t sizes[BLOCK_AXES], strides[BLOCK_AXES];
    for (size_t i = 0; i < count; i++)
        if (updates->dims[first + (size_t)node->attrs[1 + i]] != 1) return false;
    return count > 0 && find_block(in, updates->dims + first, sizes, strides);
}

/* ---- launches ----------------------------------------------------------------------------------------------------
 */

static kiln_status add_places(const struct scatter *scatter, struct kiln_array *given, size_t axis, bool is_first,
                              kiln_error *err)
{
    const struct kiln_array *out = scatter->out;
    struct kiln_array *indices = NULL;
    int64_t record = 0;
    kiln_status status = kiln__gpu_take_packed(given, &indices, err);
    if (!status)
        status = kiln__gpu_index_record(kiln__ops[scatter->node->op].name, given->dtype == KILN_UINT64, out->dims[axis],
                                        1, &record, err);
    if (!status) {
        const struct kiln_gpu_ordered launch = {
            .op = scatter->node->op,
            .dtype = (enum kiln_dtype)given->dtype,
            .config = {KILN_GPU_SCATTER_PLACES, {given->dtype, is_first}},
            .params = {kiln__gpu_address(scatter->links), kiln__gpu_address(indices->data), scatter->count,
                       scatter->rows.n, scatter->rows.inner, scatter->outer, out->dims[axis], out->dims[axis],
                       stride_of(out, axis), record}};
        status = kiln__gpu_launch_ordered(&launch, kiln__gpu_thread_blocks(scatter->count), err);
    }
    kiln__array_unref(indices);
    return status;
}

static kiln_status link_updates(const struct scatter *scatter, kiln_error *err)
{
    const struct kiln_gpu_ordered launch = {
        .op = scatter->node->op,
        .dtype = KILN_UINT64,
        .config = {KILN_GPU_SCATTER_LINKS, {0}},
        .params = {kiln__gpu_address(scatter->links), scatter->count, scatter->rows.n, scatter->rows.inner}};
    if (scatter->rows.n < 2) return KILN_OK;
    return kiln__gpu_launch_ordered(&launch, kiln__gpu_thread_blocks(scatter->count), err);
}

/* What replaces others is moved by its bits. */
static enum kiln_dtype merged_dtype(const struct scatter *scatter, enum kiln_merge_mode mode)
{
    static const uint8_t bits[] = {[1] = KILN_UINT8, [2] = KILN_UINT16, [4] = KILN_UINT32, [8] = KILN_UINT64};
    const enum kiln_dtype dtype = (enum kiln_dtype)scatter->out->dtype;
    return mode == KILN_MERGE_SET ? (enum kiln_dtype)bits[kiln__dtype_size(dtype)] : dtype;
}

static kiln_status merge(const struct scatter *scatter, kiln_error *err)
{
    const enum kiln_merge_mode mode = (enum kiln_merge_mode)scatter->node->attrs[0];
    const enum kiln_dtype dtype = merged_dtype(scatter, mode);
    const int64_t threads = scatter->count * scatter->block;
    const int64_t *sizes = scatter->sizes, *strides = scatter->strides;
    const struct kiln_gpu_ordered launch = {
        .op = scatter->node->op,
        .dtype = dtype,
        .config = {KILN_GPU_SCATTER_MERGE, {(uint8_t)dtype, (uint8_t)mode, threads > KILN_GPU_LONGEST}},
        .params = {kiln__gpu_address(scatter->out->data), kiln__gpu_address(scatter->updates->data),
                   kiln__gpu_address(scatter->links), scatter->count, scatter->block, strides[0], sizes[1], strides[1],
                   sizes[2], strides[2], sizes[3], strides[3]}};
    return kiln__gpu_launch_ordered(&launch, kiln__gpu_thread_blocks(threads), err);
}

/* Indices begin at input `input`, axes at attribute 1. */
static kiln_status run(struct scatter *scatter, uint32_t input, size_t indices, struct kiln_array *updates,
                       kiln_error *err)
{
    const struct kiln_node *node = scatter->node;
    const size_t bytes = (size_t)scatter->count * LINK_WORDS * sizeof(int64_t);
    kiln_status status = kiln__gpu_take_packed(updates, &scatter->updates, err);
    if (!status) status = kiln__output_bytes(bytes, &scatter->storage, &scatter->links, err);
    for (size_t i = 0; i < indices && !status; i++)
        status = add_places(scatter, node->inputs[input + i], (size_t)node->attrs[1 + i], i == 0, err);
    if (!status) status = link_updates(scatter, err);
    if (!status) status = merge(scatter, err);
    kiln__storage_unref(scatter->storage);
    kiln__array_unref(scatter->updates);
    return status;
}

kiln_status kiln__gpu_scatter(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *updates = node->inputs[1];
    const int64_t count = node->inputs[2]->size;
    struct scatter scatter = {.node = node, .out = out, .count = count, .rows = {.rows = 1, .n = count, .inner = 1}};
    kiln_status status = kiln__output_copy(node->inputs[0], out, err);
    if (status || updates->size == 0) return status;
    scatter.block = updates->size / count;
    find_block(out, updates->dims + (updates->ndim - out->ndim), scatter.sizes, scatter.strides);
    return run(&scatter, 2, node->input_count - 2u, updates, err);
}

kiln_status kiln__gpu_put_along(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *updates = node->inputs[2];
    const size_t axis = (size_t)node->attrs[1];
    struct scatter scatter = {.node = node,
                              .out = out,
                              .count = updates->size,
                              .outer = out->dims[axis] * stride_of(out, axis),
                              .block = 1,
                              .rows = kiln__gpu_rows_along(updates, axis),
                              .sizes = {1, 1, 1, 1}};
    kiln_status status = kiln__output_copy(node->inputs[0], out, err);
    if (status || updates->size == 0) return status;
    return run(&scatter, 1, 1, updates, err);
}
