/*
 * gpu_attention_run.c - attention on a GPU: rows and keys cut for blocks, by one launch of a kernel
 * (codegen/gpu/gpu_attention.h), or by two where there are few rows and keys are cut into ranges. Cuts follow from
 * shapes alone, so bits do not depend on the GPU.
 */
#include <string.h>

#include "array/storage.h"
#include "codegen/gpu/gpu_attention.h"
#include "graph/attention_attrs.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"
#include "run/placement.h"

enum {
    INPUTS = 5,
    MOST_ROWS = 4,
    EIGHT = 8,
    MANY_BLOCKS = 128, /* from here on each warp has rows of its own, unless half of the warps had none */
    WANTED_BLOCKS = 256,
    RANGE = 64 /* keys, or a multiple */
};

struct attention {
    struct kiln_array *inputs[INPUTS]; /* q, k, v, mask, sinks; NULL: none; references */
    struct kiln_array *out;
    int64_t batches, shared, group, queries, keys, features, width, rows;
    int64_t blocks, ranges, range; /* of rows, for one shared head; of keys */
    struct kiln_gpu_attention_config config;
    char *partial;
};

static int64_t bytes_along(const struct kiln_array *array, int axis)
{
    return array->dims[axis] == 1 ? 0 : array->strides[axis] * (int64_t)kiln__dtype_size(array->dtype);
}

/* Of the axis that is `back` from the end; 0 where the mask is repeated along it. */
static int64_t mask_bytes(const struct kiln_array *mask, int back)
{
    return mask && mask->ndim >= back ? bytes_along(mask, mask->ndim - back) : 0;
}

static bool is_wide(const struct kiln_array *array)
{
    uintptr_t all = (uintptr_t)array->data;
    for (int axis = 0; axis < 3; axis++) all |= (uintptr_t)bytes_along(array, axis);
    return all % KILN_GPU_WIDE == 0 && array->dims[3] % EIGHT == 0;
}

static void choose(struct attention *a, bool is_causal)
{
    const int64_t most = a->features > a->width ? a->features : a->width, heads = a->batches * a->shared;
    struct kiln_gpu_attention_config *config = &a->config;
    config->across = 4;
    while (config->across * EIGHT < most) config->across *= 2;
    config->rows = 1;
    while (config->rows < a->rows && config->rows < MOST_ROWS) config->rows *= 2;
    const int64_t in_warps = kiln__divide_up(a->rows, config->rows * KILN_GPU_WARPS);
    config->shared_rows = heads * in_warps < MANY_BLOCKS || a->rows * 2 <= (int64_t)config->rows * KILN_GPU_WARPS;
    a->blocks = config->shared_rows ? kiln__divide_up(a->rows, config->rows) : in_warps;
    a->ranges = config->shared_rows ? kiln__divide_up(WANTED_BLOCKS, heads * a->blocks) : 1;
    a->range = kiln__divide_up(kiln__divide_up(a->keys, a->ranges), RANGE) * RANGE;
    a->ranges = kiln__divide_up(a->keys, a->range);
    config->is_partial = a->ranges > 1;
    config->is_causal = is_causal;
    config->has_mask = a->inputs[3];
    config->mask_dtype = a->inputs[3] ? (uint8_t)a->inputs[3]->dtype : 0;
    config->has_sinks = a->inputs[4] && !config->is_partial;
    config->wide = is_wide(a->inputs[0]) && is_wide(a->inputs[1]) && is_wide(a->inputs[2]);
}

static void add_pointer(struct kiln_gpu_params *params, const char *pointer, const char *other)
{
    kiln__params_add(params, (int64_t)(intptr_t)(pointer ? pointer : other));
}

static kiln_status start(struct attention *a, const struct kiln_gpu_attention_config *config, int64_t blocks,
                         const struct kiln_gpu_params *params, kiln_error *err)
{
    const enum kiln_dtype dtype = (enum kiln_dtype)a->out->dtype;
    const struct kiln_gpu_config chosen = {.schedule = KILN_GPU_ATTENTION, .form = kiln__gpu_attention_pack(config)};
    struct kiln_group_kernels *kernels;
    kiln_status status = kiln__op_kernels(KILN_OP_ATTENTION, dtype, dtype, &kernels, err);
    return status ? status : kiln__gpu_start(kernels, "cc", &chosen, kiln__full_blocks(blocks), params, err);
}

static kiln_status launch(struct attention *a, uint32_t scale, kiln_error *err)
{
    uint64_t buffer[KILN_PARAMS_HEADER + KILN_GPU_ATTENTION_PARAMS];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    const struct kiln_array *mask = a->inputs[3], *sinks = a->inputs[4];
    const char *some = a->inputs[0]->data;
    const int64_t sizes[] = {a->shared, a->group, a->queries, a->keys, a->features, a->width};
    const int64_t cuts[] = {scale, a->blocks, a->ranges, a->range};
    kiln__params_add(params, (int64_t)(intptr_t)a->out->data);
    for (int i = 0; i < 3; i++) add_pointer(params, a->inputs[i]->data, some);
    add_pointer(params, mask ? mask->data : NULL, some);
    add_pointer(params, sinks ? sinks->data : NULL, some);
    add_pointer(params, a->partial, some);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) kiln__params_add(params, sizes[i]);
    for (int i = 0; i < 3; i++)
        for (int axis = 0; axis < 3; axis++) kiln__params_add(params, bytes_along(a->inputs[i], axis));
    for (int back = 4; back >= 1; back--) kiln__params_add(params, mask_bytes(mask, back));
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) kiln__params_add(params, cuts[i]);
    return start(a, &a->config, a->batches * a->shared * a->blocks * a->ranges, params, err);
}

static kiln_status join(struct attention *a, kiln_error *err)
{
    uint64_t buffer[KILN_PARAMS_HEADER + KILN_GPU_JOIN_PARAMS];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    const struct kiln_gpu_attention_config config = {.joins = true, .has_sinks = a->inputs[4]};
    const int64_t rows = a->batches * a->shared * a->rows;
    const int64_t sizes[] = {rows, a->shared * a->group, a->queries, a->width, a->ranges};
    kiln__params_add(params, (int64_t)(intptr_t)a->out->data);
    add_pointer(params, a->partial, NULL);
    add_pointer(params, a->inputs[4] ? a->inputs[4]->data : NULL, a->partial);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) kiln__params_add(params, sizes[i]);
    return start(a, &config, kiln__divide_up(rows, KILN_GPU_WARPS), params, err);
}

static kiln_status run(struct attention *a, uint32_t scale, kiln_error *err)
{
    struct kiln_storage *storage = NULL;
    kiln_status status = KILN_OK;
    if (a->config.is_partial) {
        int64_t floats = a->batches * a->shared * a->rows * a->ranges * (KILN_GPU_ATTENTION_STATE + a->width);
        status = kiln__output_bytes((size_t)floats * sizeof(float), &storage, &a->partial, err);
    }
    if (!status) status = launch(a, scale, err);
    if (!status && a->config.is_partial) status = join(a, err);
    kiln__storage_unref(storage);
    return status;
}

static kiln_status take_inputs(struct attention *a, const struct kiln_node *node, kiln_error *err)
{
    kiln_status status = KILN_OK;
    uint32_t next = 3;
    for (int i = 0; i < 3 && !status; i++) status = kiln__take_side_by_side(node->inputs[i], &a->inputs[i], err);
    if (!status && node->attrs[1] & KILN_ATTENTION_HAS_MASK) a->inputs[3] = kiln__array_ref(node->inputs[next++]);
    if (!status && node->attrs[1] & KILN_ATTENTION_HAS_SINKS)
        status = kiln__take_side_by_side(node->inputs[next], &a->inputs[4], err);
    return status;
}

kiln_status kiln__gpu_attention(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *q = node->inputs[0], *k = node->inputs[1], *v = node->inputs[2];
    struct attention attention = {.out = out,
                                  .batches = q->dims[0],
                                  .shared = k->dims[1],
                                  .group = q->dims[1] / k->dims[1],
                                  .queries = q->dims[2],
                                  .keys = k->dims[2],
                                  .features = q->dims[3],
                                  .width = v->dims[3]};
    attention.rows = attention.group * attention.queries;
    kiln_status status = kiln__output_alloc(out, err);
    if (!status) status = take_inputs(&attention, node, err);
    if (!status) {
        choose(&attention, node->attrs[1] & KILN_ATTENTION_IS_CAUSAL);
        status = run(&attention, (uint32_t)node->attrs[0], err);
    }
    for (int i = 0; i < INPUTS; i++) kiln__array_unref(attention.inputs[i]);
    return status;
}
