/*
 * exact.h - sums and products of two doubles without loss, as a pair high + low. No fused multiply-add is used.
 */
#ifndef KILN_CODEGEN_RUNTIME_EXACT_H
#define KILN_CODEGEN_RUNTIME_EXACT_H

#include "bits.h"

/* (x + F64_WHOLE) - F64_WHOLE is x rounded to a whole number, for |x| < 2^51. */
#define F64_WHOLE 0x1.8p52

struct f64_pair {
    double high, low;
};

static inline struct f64_pair f64_two_sum(double a, double b)
{
    double sum = a + b, second = sum - a;
    return (struct f64_pair){sum, (a - (sum - second)) + (b - second)};
}

/* |a| >= |b| */
static inline struct f64_pair f64_fast_sum(double a, double b)
{
    double sum = a + b;
    return (struct f64_pair){sum, b - (sum - a)};
}

/* Both factors below 2^990. */
static inline struct f64_pair f64_two_product(double a, double b)
{
    double at = a * 0x1.0000002p27, bt = b * 0x1.0000002p27;
    double ah = at - (at - a), bh = bt - (bt - b);
    double al = a - ah, bl = b - bh, product = a * b;
    return (struct f64_pair){product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

#endif
