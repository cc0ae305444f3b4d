/*
 * sort_keys.h - elements of every dtype as unsigned numbers in the same order.
 *
 * The key of an element has the bits of its dtype: 8 to 64. NaN comes last, whatever its sign, and -0 equals 0. Complex
 * numbers are ordered by their real parts, then by their imaginary parts.
 */
#ifndef KILN_RUN_OPS_SORT_KEYS_H
#define KILN_RUN_OPS_SORT_KEYS_H

#include <stdint.h>

#include "array/dtype.h"

/* keys[i] = the key of the element at data + i * stride, for i below n. */
typedef void kiln_order_keys(const char *data, int64_t stride, int64_t n, uint64_t *keys);

extern kiln_order_keys *const kiln__order_keys[KILN_DTYPE_COUNT];
/* The key of NaN; 0 for dtypes without one. */
uint64_t kiln__order_nan(enum kiln_dtype dtype);

#endif
