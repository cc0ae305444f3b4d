/*
 * gpu_launch_random.c - random words on a GPU: each thread hashes a counter of its own, and the key is read where it
 * is.
 */
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"
#include "run/ops/axis.h"

/* Words to `out`, from a key whose two words are `stride` bytes apart: codegen/gpu/gpu_schedule.h, KILN_GPU_RANDOM. */
static kiln_status launch(struct kiln_group_kernels *kernels, char *out, int64_t count, const char *key, int64_t stride,
                          kiln_error *err)
{
    uint64_t buffer[KILN_PARAMS_HEADER + 5];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    int64_t half = count / 2, pairs = count - half;
    struct kiln_gpu_config config = {.schedule = KILN_GPU_RANDOM, .is_long = count > KILN_GPU_LONGEST};
    kiln__params_add(params, (int64_t)(intptr_t)out);
    kiln__params_add(params, (int64_t)(intptr_t)key);
    kiln__params_add(params, pairs);
    kiln__params_add(params, half);
    kiln__params_add(params, stride);
    return kiln__gpu_start(kernels, "v", &config, kiln__full_blocks(kiln__divide_up(pairs, KILN_GPU_BLOCK)), params,
                           err);
}

/* A launch for each key. */
kiln_status kiln__gpu_random_bits(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *key = node->inputs[0];
    struct kiln_group_kernels *kernels;
    struct kiln_axis keys;
    kiln_status status = kiln__output_alloc(out, err);
    if (!status) status = kiln__op_kernels(KILN_OP_RANDOM_BITS, KILN_UINT32, KILN_UINT32, &kernels, err);
    if (status || out->size == 0) return status;
    kiln__axis_init(&keys, key, key->ndim - 1u);
    int64_t count = out->size / keys.rows;
    for (int64_t row = 0; row < keys.rows && !status; row++)
        status = launch(kernels, out->data + row * count * (int64_t)sizeof(uint32_t), count,
                        key->data + kiln__axis_offset(&keys, row), keys.stride, err);
    return status;
}
