/*
 * random_words.c - random words from a key: the same words for the same key and count, on every device (on GPUs:
 * run/gpu/gpu_launch_random.c).
 */
#include "array/threefry.h"
#include "run/ops/operation.h"

kiln_status kiln__run_random_bits(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    kiln_status status = kiln__output_alloc(out, err);
    if (status) return status;
    const uint32_t *words = (const uint32_t *)(const void *)in->data;
    uint32_t key[2] = {words[0], words[in->strides[0]]};
    kiln__threefry_fill(key, (uint32_t *)(void *)out->data, (size_t)out->size);
    return KILN_OK;
}
