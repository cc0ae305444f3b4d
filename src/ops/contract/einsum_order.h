/*
 * einsum_order.h - inside of einsum: which two operands are multiplied next.
 *
 * Up to KILN_ORDER_ALL operands the cheapest of all orders; with more the cheaper of two that look one product ahead:
 * fewest multiplications, and smallest result compared with its operands. Cost is the sum of multiplications.
 */
#ifndef KILN_OPS_CONTRACT_EINSUM_ORDER_H
#define KILN_OPS_CONTRACT_EINSUM_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "kiln.h"

enum { KILN_ORDER_ALL = 10 };

/* Two factors: operands have the numbers below `count`, the result of pair i is factor count + i. */
struct kiln_pair {
    uint32_t left, right;
};

/*
 * `sets` has the letters of each of `count` operands, and `output` those of the result. `pairs` has room for
 * count - 1; *cost gets the multiplications.
 */
kiln_status kiln__einsum_order(const uint64_t *sets, size_t count, uint64_t output, const int *sizes,
                               struct kiln_pair *pairs, double *cost, kiln_error *err);

#endif
