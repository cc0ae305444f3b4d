/*
 * gpu_gather.c - see gpu_gather.h. From a node to the regions of one launch.
 *
 * The axes of the index space are those of the result. Each input's axes stand in one run or two among them; along all
 * others its stride is 0. Storage on GPUs begins at 256 bytes and views move by whole elements, so every element is
 * aligned to its size.
 */
#include "run/gpu/gpu_gather.h"

#include <stdlib.h>

#include "run/gpu/gpu_launch_indexed.h"
#include "run/gpu/gpu_operations.h"
#include "run/ops/indices.h"

bool kiln__reads_through(enum kiln_op op, size_t input)
{
    if (op == KILN_OP_UPDATE_DYNAMIC) return input == 2;
    if (op == KILN_OP_PUT_ALONG) return input == 1;
    return op == KILN_OP_SCATTER ? input >= 2 : input > 0 && kiln__ops[op].kind == KILN_OP_INDEXED;
}

/* ---- checks ---------------------------------------------------------------------------------------------------- */

/* Index array `i`, counted from 0, is about that axis of the data. */
static size_t axis_of(const struct kiln_node *node, size_t i)
{
    if (kiln__ops[node->op].kind == KILN_OP_WRITE) return (size_t)node->attrs[1 + i]; /* behind the mode */
    return (size_t)node->attrs[node->op == KILN_OP_GATHER ? i : 0];
}

/* Elements that are read from an index on. */
static int64_t extent_of(const struct kiln_node *node, size_t i)
{
    return node->op == KILN_OP_GATHER ? node->attrs[node->input_count - 1u + axis_of(node, i)] : 1;
}

static bool is_on_host(const struct kiln_array *array)
{
    return !array->storage || kiln__storage_is_at(array->storage, 0);
}

/* The sizes of a slice whose start is an array. */
static void sizes_of(const struct kiln_node *node, int32_t sizes[KILN_MAX_NDIM])
{
    const struct kiln_array *in = node->inputs[0], *second = node->inputs[1]; /* the update, or the starts */
    bool updates = node->op == KILN_OP_UPDATE_DYNAMIC;
    for (size_t i = 0; i < in->ndim; i++)
        sizes[i] = updates ? second->dims[i] : (int32_t)node->attrs[(size_t)second->size + i];
}

static kiln_status check_values(const struct kiln_node *node, size_t i, const struct kiln_array *host, kiln_error *err)
{
    const char *name = kiln__ops[node->op].name;
    int64_t *values = NULL, starts[KILN_MAX_NDIM], size;
    int32_t sizes[KILN_MAX_NDIM];
    if (node->op == KILN_OP_UPDATE_DYNAMIC || node->op == KILN_OP_SLICE_DYNAMIC) {
        sizes_of(node, sizes);
        return kiln__starts_read(name, host, node->attrs, node->inputs[0], sizes, starts, err);
    }
    size = node->inputs[0]->dims[axis_of(node, i)];
    kiln_status status = kiln__indices_read(name, host, size, extent_of(node, i), &values, err);
    free(values);
    return status;
}

/* Input `input` has the values of index array `i`. */
static kiln_status check_indices(const struct kiln_node *node, size_t input, size_t i, kiln_error *err)
{
    struct kiln_array *indices = node->inputs[input], *host = NULL;
    kiln_status status = KILN_OK;
    if (indices->size == 0 || !is_on_host(indices)) return KILN_OK;
    status = kiln__array_fetch(indices, &host, err);
    if (!status) status = check_values(node, i, host, err);
    kiln__array_unref(host);
    return status;
}

kiln_status kiln__indexed_check(const struct kiln_node *node, kiln_error *err)
{
    kiln_status status = KILN_OK;
    size_t i = 0;
    for (size_t input = 0; input < node->input_count && !status; input++)
        if (kiln__reads_through(node->op, input)) status = check_indices(node, input, i++, err);
    return status;
}

/* ---- regions --------------------------------------------------------------------------------------------------- */

static void place_data(struct kiln_region *data, const struct kiln_node *node)
{
    const struct kiln_array *in = node->inputs[0];
    size_t before = node->input_count > 1 ? node->inputs[1]->ndim : 0;
    if (node->op == KILN_OP_GATHER) {
        kiln__indexed_axes(data, before, in, 0, in->ndim);
    } else if (node->op == KILN_OP_TAKE) {
        kiln__indexed_axes(data, 0, in, 0, axis_of(node, 0));
        kiln__indexed_axes(data, axis_of(node, 0) + before, in, axis_of(node, 0) + 1, in->ndim);
    } else {
        kiln__indexed_axes(data, 0, in, 0, in->ndim);
        data->strides[axis_of(node, 0)] = 0;
    }
}

static void describe(struct kiln_indexed *indexed, const struct kiln_node *node, const struct kiln_array *out)
{
    const struct kiln_array *in = node->inputs[0];
    struct kiln_region *regions = indexed->regions;
    indexed->count = node->input_count - 1u;
    kiln__loop_init(&indexed->loop, out->ndim, out->dims, regions, 2 + indexed->count);
    kiln__indexed_region(&regions[0], out);
    kiln__indexed_axes(&regions[0], 0, out, 0, out->ndim);
    kiln__indexed_region(&regions[1], in);
    place_data(&regions[1], node);
    for (size_t i = 0; i < indexed->count; i++) {
        const struct kiln_array *indices = node->inputs[1 + i];
        size_t axis = axis_of(node, i);
        kiln__indexed_region(&regions[2 + i], indices);
        kiln__indexed_axes(&regions[2 + i], node->op == KILN_OP_TAKE ? axis : 0, indices, 0, indices->ndim);
        kiln__indexed_about(indexed, i, in, axis, extent_of(node, i));
        indexed->dtypes[1 + i] = indices->dtype;
    }
}

/* ---- slices whose starts are an array ---------------------------------------------------------------------------- */

/* One index for each element of `start`: element i is that of attribute i's axis of `array`. `part` is the slice. */
static void describe_starts(struct kiln_indexed *indexed, const struct kiln_node *node, const struct kiln_array *part,
                            const struct kiln_array *start, const struct kiln_array *array)
{
    for (size_t i = 0; i < indexed->count; i++) {
        struct kiln_region *region = &indexed->regions[2 + i];
        kiln__indexed_region(region, start);
        if (i > 0) region->data += (int64_t)i * start->strides[0] * region->item;
        kiln__indexed_about(indexed, i, array, (size_t)node->attrs[i], part->dims[node->attrs[i]]);
        indexed->dtypes[1 + i] = start->dtype;
    }
}

/* The elements of `part` are copied: from `data`, or to `out`, moved by the starts. */
static void describe_slice(struct kiln_indexed *indexed, const struct kiln_array *part, const struct kiln_array *out,
                           const struct kiln_array *data, const struct kiln_array *start)
{
    indexed->count = (size_t)start->size;
    kiln__loop_init(&indexed->loop, part->ndim, part->dims, indexed->regions, 2 + indexed->count);
    kiln__indexed_region(&indexed->regions[0], out);
    kiln__indexed_axes(&indexed->regions[0], 0, out, 0, part->ndim);
    kiln__indexed_region(&indexed->regions[1], data);
    kiln__indexed_axes(&indexed->regions[1], 0, data, 0, part->ndim);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

kiln_status kiln__gpu_gather(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_indexed indexed;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    describe(&indexed, node, out);
    return kiln__gpu_launch_indexed(node->op, KILN_GPU_INDEXED, &indexed, err);
}

kiln_status kiln__gpu_slice_dynamic(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0], *start = node->inputs[1];
    struct kiln_indexed indexed;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    describe_slice(&indexed, out, out, in, start);
    describe_starts(&indexed, node, out, start, in);
    return kiln__gpu_launch_indexed(node->op, KILN_GPU_INDEXED, &indexed, err);
}

kiln_status kiln__gpu_update_dynamic(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *update = node->inputs[1], *start = node->inputs[2];
    struct kiln_indexed indexed;
    kiln_status status = kiln__output_update(node, true, out, err);
    if (status || update->size == 0) return status;
    describe_slice(&indexed, update, out, update, start);
    describe_starts(&indexed, node, update, start, out);
    return kiln__gpu_launch_indexed(node->op, KILN_GPU_PLACED, &indexed, err);
}
