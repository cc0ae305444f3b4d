/*
 * axis.c - see axis.h.
 */
#include "run/ops/axis.h"

#include "run/cpu/pool.h"

enum { PARALLEL_MIN = 32 << 10, PARTS_PER_THREAD = 4 };

void kiln__axis_init(struct kiln_axis *out, const struct kiln_array *array, size_t axis)
{
    int64_t item = (int64_t)kiln__dtype_size(array->dtype);
    out->n = array->dims[axis];
    out->stride = array->strides[axis] * item;
    out->rows = 1;
    out->ndim = 0;
    for (size_t i = 0; i < array->ndim; i++) {
        if (i == axis) continue;
        out->rows *= array->dims[i];
        out->dims[out->ndim] = array->dims[i];
        out->strides[out->ndim++] = array->strides[i] * item;
    }
}

int64_t kiln__axis_offset(const struct kiln_axis *axis, int64_t row)
{
    int64_t offset = 0;
    for (size_t i = axis->ndim; i-- > 0;) {
        offset += row % axis->dims[i] * axis->strides[i];
        row /= axis->dims[i];
    }
    return offset;
}

struct ranges {
    void (*rows)(void *ctx, int64_t first, int64_t end);
    void *ctx;
    int64_t count, step;
};

static void run_range(void *ctx, int64_t part)
{
    const struct ranges *ranges = ctx;
    int64_t first = part * ranges->step, end = first + ranges->step;
    ranges->rows(ranges->ctx, first, end < ranges->count ? end : ranges->count);
}

void kiln__rows_run(void (*rows)(void *ctx, int64_t first, int64_t end), void *ctx, int64_t count, int64_t work)
{
    if (count == 0) return;
    if (work < PARALLEL_MIN || kiln__pool_width() == 1 || count == 1) {
        rows(ctx, 0, count);
        return;
    }
    int64_t parts = (int64_t)kiln__pool_width() * PARTS_PER_THREAD;
    if (parts > count) parts = count;
    struct ranges ranges = {rows, ctx, count, (count + parts - 1) / parts};
    kiln__pool_run(run_range, &ranges, (count + ranges.step - 1) / ranges.step);
}
