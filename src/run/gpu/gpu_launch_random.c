/*
 * gpu_launch_random.c - random words on a GPU: each thread hashes a counter of its own, and the key is read where it
 * is.
 */
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"

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

kiln_status kiln__gpu_random_bits(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *key = node->inputs[0];
    struct kiln_group_kernels *kernels;
    int64_t stride = key->strides[0] * (int64_t)sizeof(uint32_t);
    kiln_status status = kiln__output_alloc(out, err);
    if (!status) status = kiln__op_kernels(KILN_OP_RANDOM_BITS, KILN_UINT32, KILN_UINT32, &kernels, err);
    return status ? status : launch(kernels, out->data, out->size, key->data, stride, err);
}
