/*
 * argreduce.c - positions of the largest and smallest elements: argmax and argmin.
 *
 * The first of equal ones wins, and the first NaN wins over all numbers, as max and min give NaN then: its key is the
 * highest already, and argmin counts it as the lowest. On GPUs: run/gpu/gpu_launch_argreduce.c.
 */
#include "run/ops/axis.h"
#include "run/ops/operation.h"
#include "run/ops/sort_keys.h"

enum { CHUNK = 512 };

struct search {
    const struct kiln_array *in;
    uint32_t *out;
    struct kiln_axis axis;
    uint64_t flip; /* all ones turns the smallest into the largest */
    uint64_t nan;  /* key that counts as 0; 0: none */
};

static uint32_t find_largest(const struct search *search, const char *data)
{
    uint64_t keys[CHUNK], best = 0;
    int64_t position = 0;
    for (int64_t first = 0; first < search->axis.n; first += CHUNK) {
        int64_t count = search->axis.n - first < CHUNK ? search->axis.n - first : CHUNK;
        kiln__order_keys[search->in->dtype](data + first * search->axis.stride, search->axis.stride, count, keys);
        for (int64_t i = 0; i < count; i++) {
            uint64_t key = (search->nan && keys[i] == search->nan ? 0 : keys[i]) ^ search->flip;
            if (first + i == 0 || key > best) {
                best = key;
                position = first + i;
            }
        }
    }
    return (uint32_t)position;
}

static void search_rows(void *ctx, int64_t first, int64_t end)
{
    const struct search *search = ctx;
    for (int64_t row = first; row < end; row++)
        search->out[row] = find_largest(search, search->in->data + kiln__axis_offset(&search->axis, row));
}

kiln_status kiln__run_argreduce(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    kiln_status status = kiln__output_alloc(out, err);
    if (status != KILN_OK) return status;
    bool largest = node->op == KILN_OP_ARGMAX;
    struct search search = {.in = in, .out = (uint32_t *)(void *)out->data, .flip = largest ? 0 : UINT64_MAX};
    if (!largest) search.nan = kiln__order_nan(in->dtype);
    kiln__axis_init(&search.axis, in, (size_t)node->attrs[0]);
    kiln__rows_run(search_rows, &search, out->size, in->size);
    return KILN_OK;
}
