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

static inline struct complex_number complex_times(struct complex_number a, struct complex_number b)
{
    return (struct complex_number){a.real * b.real - a.imaginary * b.imaginary,
                                   a.real * b.imaginary + a.imaginary * b.real};
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
