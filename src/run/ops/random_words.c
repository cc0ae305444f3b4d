/*
 * random_words.c - random words from a key: the same words for the same key and count, whoever asks, and wherever
 * they are made.
 */
#include "array/threefry.h"
#include "run/gpu/gpu_params.h"
#include "run/ops/operation.h"
#include "run/placement.h"

/* Words to `out`, from a key whose two words are `stride` bytes apart: codegen/gpu/gpu_schedule.h, KILN_GPU_RANDOM. */
static kiln_status launch(struct kiln_group_kernels *kernels, char *out, int64_t count, const char *key, int64_t stride,
                          kiln_error *err)
{
    uint64_t buffer[KILN_PARAMS_HEADER + 5];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    int64_t half = count / 2, pairs = count - half;
    struct kiln_gpu_config config = {.schedule = KILN_GPU_RANDOM, .is_long = count > KILN_GPU_LONGEST};
    if (count == 0) return KILN_OK;
    kiln__params_add(params, (int64_t)(intptr_t)out);
    kiln__params_add(params, (int64_t)(intptr_t)key);
    kiln__params_add(params, pairs);
    kiln__params_add(params, half);
    kiln__params_add(params, stride);
    return kiln__gpu_start(kernels, "v", &config, kiln__full_blocks(kiln__divide_up(pairs, KILN_GPU_BLOCK)), params,
                           err);
}

static kiln_status fill_on_gpu(const struct kiln_array *key, struct kiln_array *out, kiln_error *err)
{
    struct kiln_group_kernels *kernels;
    int64_t stride = key->strides[0] * (int64_t)sizeof(uint32_t);
    kiln_status status = kiln__op_kernels(KILN_OP_RANDOM_BITS, KILN_UINT32, KILN_UINT32, &kernels, err);
    return status ? status : launch(kernels, out->data, out->size, key->data, stride, err);
}

kiln_status kiln__run_random_bits(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    kiln_status status = kiln__output_alloc(out, err);
    if (status) return status;
    if (kiln__active_device_index) return fill_on_gpu(in, out, err);
    const uint32_t *words = (const uint32_t *)(const void *)in->data;
    uint32_t key[2] = {words[0], words[in->strides[0]]};
    kiln__threefry_fill(key, (uint32_t *)(void *)out->data, (size_t)out->size);
    return KILN_OK;
}
