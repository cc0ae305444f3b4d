/*
 * complex_number.h - complex64 as the operations of this folder compute it. Ordered by real parts, then by imaginary
 * parts; NaN wins.
 */
#ifndef KILN_RUN_OPS_COMPLEX_NUMBER_H
#define KILN_RUN_OPS_COMPLEX_NUMBER_H

#include <math.h>
#include <stdbool.h>

struct complex_number {
    float real, imaginary;
};

static inline bool is_nan(struct complex_number a)
{
    return isnan(a.real) || isnan(a.imaginary);
}

static inline struct complex_number complex_plus(struct complex_number a, struct complex_number b)
{
    return (struct complex_number){a.real + b.real, a.imaginary + b.imaginary};
}

/* In a factor that has an infinite part, 1 or -1 for that and 0 for another; else a part as it is, 0 for NaN. */
static inline float boxed_part(float part, bool is_infinite)
{
    if (is_infinite) return isinf(part) ? copysignf(1, part) : 0;
    return isnan(part) ? 0 : part;
}

/* The product of kernels (codegen/templates.h), where two NaN give way to an infinity: C's Annex G. */
static inline struct complex_number complex_times(struct complex_number a, struct complex_number b)
{
    float ac = a.real * b.real, bd = a.imaginary * b.imaginary, ad = a.real * b.imaginary, bc = a.imaginary * b.real;
    struct complex_number out = {ac - bd, ad + bc};
    bool a_is = isinf(a.real) || isinf(a.imaginary), b_is = isinf(b.real) || isinf(b.imaginary);
    bool is_infinite = a_is || b_is || isinf(ac) || isinf(bd) || isinf(ad) || isinf(bc);
    if (!isnan(out.real) || !isnan(out.imaginary) || !is_infinite) return out;
    float c = boxed_part(a.real, a_is), d = boxed_part(a.imaginary, a_is);
    float e = boxed_part(b.real, b_is), f = boxed_part(b.imaginary, b_is);
    return (struct complex_number){INFINITY * (c * e - d * f), INFINITY * (c * f + d * e)};
}

static inline struct complex_number complex_larger(struct complex_number a, struct complex_number b)
{
    bool above = a.real > b.real || (a.real == b.real && a.imaginary > b.imaginary);
    return is_nan(a) || (above && !is_nan(b)) ? a : b;
}

static inline struct complex_number complex_smaller(struct complex_number a, struct complex_number b)
{
    bool below = a.real < b.real || (a.real == b.real && a.imaginary < b.imaginary);
    return is_nan(a) || (below && !is_nan(b)) ? a : b;
}

#endif
