/*
 * axis.h - the rows of an array along one axis, for operations that work on a whole row at a time.
 *
 * Rows are numbered in row-major order of the other axes. Ranges of rows may run on several threads; each row is
 * handled by one.
 */
#ifndef KILN_RUN_OPS_AXIS_H
#define KILN_RUN_OPS_AXIS_H

#include "array/array.h"

struct kiln_axis {
    int64_t n, stride; /* of the axis: elements, bytes between them */
    int64_t rows;
    size_t ndim; /* of the other axes */
    int64_t dims[KILN_MAX_NDIM], strides[KILN_MAX_NDIM];
};

void kiln__axis_init(struct kiln_axis *out, const struct kiln_array *array, size_t axis);
/* Where row `row` starts, in bytes from the array's data. */
int64_t kiln__axis_offset(const struct kiln_axis *axis, int64_t row);

/* Calls rows(ctx, first, end) for ranges that cover [0, count); `work` elements in all. Returns when all have returned.
 */
void kiln__rows_run(void (*rows)(void *ctx, int64_t first, int64_t end), void *ctx, int64_t count, int64_t work);

#endif
