/*
 * merge.h - writes elements over others: the new value, or the sum, product, maximum or minimum of both.
 *
 * Element by element and in order, so that positions written twice come out the same each time. 16-bit floats are
 * rounded after each step; integers wrap; NaN wins over numbers in maxima and minima.
 */
#ifndef KILN_RUN_OPS_MERGE_H
#define KILN_RUN_OPS_MERGE_H

#include <stdint.h>

#include "array/dtype.h"
#include "graph/ops.h" /* enum kiln_merge_mode */
#include "run/kernels/loop.h"

/* n elements: to[i] = to[i] merged with from[i]; steps in bytes. */
typedef void kiln_merge(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n);

kiln_merge *kiln__merge(enum kiln_merge_mode mode, enum kiln_dtype dtype);

/*
 * Merges all of region 1 into region 0 of a collapsed loop (kiln__loop_collapse), moved by these many bytes.
 */
void kiln__merge_block(const struct kiln_loop *block, kiln_merge *merge, int64_t to_offset, int64_t from_offset);

#endif
