/*
 * factor.c - takes one result out of what a factorization has packed (graph/factors.h). It is a copy, so that nothing
 * keeps the others.
 */
#include "graph/factors.h"

#include <string.h>

#include "run/linalg/matrices.h"
#include "run/ops/axis.h"
#include "run/ops/operation.h"

struct taking {
    const struct kiln_array *packed;
    struct kiln_array *out;
    enum kiln_factor factor;
    struct kiln_factor_place place;
    int m, pivot_count; /* rows of the matrix; of lu */
    int64_t stride;     /* bytes between elements of a packed part */
    int64_t out_item;
};

/* Of a matrix that lies by columns of `height` elements. */
static void take_columns(const struct taking *taking, const char *from, char *to, int height)
{
    for (int64_t i = 0; i < taking->place.rows; i++)
        for (int64_t j = 0; j < taking->place.columns; j++, to += taking->out_item)
            memcpy(to, from + (j * height + i) * taking->stride, (size_t)taking->out_item);
}

static void take_run(const struct taking *taking, const char *from, char *to)
{
    int64_t count = (int64_t)taking->place.rows * taking->place.columns;
    if (taking->stride == taking->out_item) {
        memcpy(to, from, (size_t)(count * taking->out_item));
        return;
    }
    for (int64_t i = 0; i < count; i++, from += taking->stride, to += taking->out_item)
        memcpy(to, from, (size_t)taking->out_item);
}

/* The other triangle becomes 0; a lower one has ones on its diagonal. */
static void shape_triangle(const struct taking *taking, char *to)
{
    const double one = 1;
    const float small_one = 1;
    bool is_lower = taking->factor == KILN_FACTOR_LOWER;
    for (int64_t i = 0; i < taking->place.rows; i++)
        for (int64_t j = 0; j < taking->place.columns; j++, to += taking->out_item) {
            if (is_lower ? j > i : j < i) memset(to, 0, (size_t)taking->out_item);
            if (is_lower && j == i)
                memcpy(to, taking->out_item == 8 ? (const void *)&one : &small_one, (size_t)taking->out_item);
        }
}

/* All exchanges of rows, one after the other; from the last one back they make the reverse permutation. */
static void take_order(const struct taking *taking, const char *pivots, uint32_t *to)
{
    bool forward = taking->factor == KILN_FACTOR_ORDER;
    for (uint32_t i = 0; i < (uint32_t)taking->m; i++) to[i] = i;
    for (int i = 0; i < taking->pivot_count; i++) {
        int at = forward ? i : taking->pivot_count - 1 - i;
        uint32_t other, kept = to[at];
        memcpy(&other, pivots + at * taking->stride, sizeof other);
        to[at] = to[other], to[other] = kept;
    }
}

static void take_one(const struct taking *taking, const char *from, char *to)
{
    switch (taking->factor) {
    case KILN_FACTOR_Q:
    case KILN_FACTOR_LU:
        take_columns(taking, from, to, taking->m);
        break;
    case KILN_FACTOR_LOWER:
    case KILN_FACTOR_UPPER:
        take_columns(taking, from, to, taking->m);
        shape_triangle(taking, to);
        break;
    case KILN_FACTOR_REAL_VECTORS:
    case KILN_FACTOR_VECTORS:
        take_columns(taking, from, to, taking->place.rows);
        break;
    case KILN_FACTOR_ORDER:
    case KILN_FACTOR_PERMUTATION:
        take_order(taking, from, (uint32_t *)to);
        break;
    default:
        take_run(taking, from, to);
    }
}

static void take_range(void *ctx, int64_t first, int64_t end)
{
    const struct taking *taking = ctx;
    int64_t step = (int64_t)taking->place.rows * taking->place.columns * taking->out_item;
    for (int64_t i = first; i < end; i++) {
        const char *from = kiln__batch_data(taking->packed, 1, i) + taking->place.offset * taking->stride;
        take_one(taking, from, taking->out->data + i * step);
    }
}

kiln_status kiln__run_factor(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *packed = node->inputs[0];
    int m = (int)node->attrs[1], n = (int)node->attrs[2];
    struct taking taking = {.packed = packed, .out = out, .factor = (enum kiln_factor)node->attrs[0], .m = m};
    taking.place = kiln__factor_place(taking.factor, m, n);
    taking.pivot_count = m < n ? m : n;
    taking.out_item = (int64_t)kiln__dtype_size((enum kiln_dtype)out->dtype);
    taking.stride = packed->strides[packed->ndim - 1] * (int64_t)kiln__dtype_size((enum kiln_dtype)packed->dtype);
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    kiln__rows_run(take_range, &taking, out->size / taking.place.rows / taking.place.columns, out->size);
    return KILN_OK;
}
