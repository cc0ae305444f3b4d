/*
 * segmented_matmul.c - products of segments, one after the other, each by the device's own product of views.
 */
#include <stdlib.h>
#include <string.h>

#include "run/backend.h"
#include "run/ops/indices.h"
#include "run/ops/operation.h"
#include "run/placement.h"

/* Columns `first` to `end` of a times the same rows of b. */
static kiln_status multiply(const struct kiln_node *node, int64_t first, int64_t end, char *to, kiln_error *err)
{
    struct kiln_array *a = node->inputs[0], *b = node->inputs[1], *parts[2] = {NULL}, *product = NULL;
    const int left[] = {a->dims[0], (int)(end - first)}, right[] = {(int)(end - first), b->dims[1]};
    kiln_status status = kiln__array_view(a, 2, left, a->strides, first * a->strides[1], &parts[0], err);
    if (!status) status = kiln__array_view(b, 2, right, b->strides, first * b->strides[0], &parts[1], err);
    if (!status) status = kiln__array_new((enum kiln_dtype)a->dtype, 2, (int[]){left[0], right[1]}, &product, err);
    const struct kiln_node part = {.op = KILN_OP_MATMUL, .inputs = parts, .input_count = 2};
    if (!status) status = kiln__active.backend->operations[KILN_OP_MATMUL](&part, product, err);
    if (!status) status = kiln__copy_packed(product, to, err);
    kiln__array_unref(parts[0]);
    kiln__array_unref(parts[1]);
    kiln__array_unref(product);
    return status;
}

static kiln_status run_segment(const struct kiln_node *node, int64_t number, const int64_t *places, char *to,
                               size_t bytes, kiln_error *err)
{
    int64_t first = places[0], end = places[1], size = node->inputs[0]->dims[1];
    if (first < 0 || first > end || end > size)
        return kiln__fail(err, KILN_INVALID,
                          "[segmented_mm] Segment %lld, from %lld to %lld, is not inside of 0 to %lld.",
                          (long long)number, (long long)first, (long long)end, (long long)size);
    if (first < end) return multiply(node, first, end, to, err);
    memset(to, 0, bytes);
    return KILN_OK;
}

kiln_status kiln__run_segmented_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *segments = node->inputs[2];
    int64_t *places = NULL, count = segments->size / 2;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    status = kiln__indices_values(segments, &places, err);
    size_t bytes = (size_t)(out->size / count) * kiln__dtype_size((enum kiln_dtype)out->dtype);
    for (int64_t i = 0; i < count && !status; i++)
        status = run_segment(node, i, places + 2 * i, out->data + (size_t)i * bytes, bytes, err);
    free(places);
    return status;
}
