/*
 * random_words.c - random words from a key: the same words for the same key and count, on every device (on GPUs:
 * run/gpu/gpu_launch_random.c). Several keys have each their part of the result.
 */
#include <string.h>

#include "array/threefry.h"
#include "run/ops/axis.h"
#include "run/ops/operation.h"

kiln_status kiln__run_random_bits(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    struct kiln_axis keys;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    kiln__axis_init(&keys, in, in->ndim - 1u);
    size_t count = (size_t)(out->size / keys.rows);
    uint32_t *words = (uint32_t *)(void *)out->data;
    for (int64_t row = 0; row < keys.rows; row++, words += count) {
        const char *first = in->data + kiln__axis_offset(&keys, row);
        uint32_t key[2];
        memcpy(&key[0], first, sizeof key[0]);
        memcpy(&key[1], first + keys.stride, sizeof key[1]);
        kiln__threefry_fill(key, words, count);
    }
    return KILN_OK;
}
