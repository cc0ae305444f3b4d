/*
 * complex_number.h - complex64 as cumulative operations and merges compute it, on CPUs and GPUs. Ordered by real parts,
 * then by imaginary parts; NaN wins.
 */
#ifndef KILN_CODEGEN_RUNTIME_COMPLEX_NUMBER_H
#define KILN_CODEGEN_RUNTIME_COMPLEX_NUMBER_H

#include <stdbool.h>

struct complex_number {
    float real, imaginary;
};

static inline bool complex_is_nan(struct complex_number a)
{
    return __builtin_isnan(a.real) || __builtin_isnan(a.imaginary);
}

/* Each part that is NaN becomes the one that is stored. */
static inline struct complex_number complex_settled(struct complex_number a)
{
    return (struct complex_number){a.real == a.real ? a.real : __builtin_nanf(""),
                                   a.imaginary == a.imaginary ? a.imaginary : __builtin_nanf("")};
}

static inline struct complex_number complex_plus(struct complex_number a, struct complex_number b)
{
    return (struct complex_number){a.real + b.real, a.imaginary + b.imaginary};
}

/* In a factor that has an infinite part, 1 or -1 for that and 0 for another; else a part as it is, 0 for NaN. */
static inline float boxed_part(float part, bool is_infinite)
{
    if (is_infinite) return __builtin_isinf(part) ? __builtin_copysignf(1, part) : 0;
    return __builtin_isnan(part) ? 0 : part;
}

/* The product of kernels (codegen/templates.h), where two NaN give way to an infinity: C's Annex G. */
static inline struct complex_number complex_times(struct complex_number a, struct complex_number b)
{
    float ac = a.real * b.real, bd = a.imaginary * b.imaginary, ad = a.real * b.imaginary, bc = a.imaginary * b.real;
    struct complex_number out = {ac - bd, ad + bc};
    bool a_is = __builtin_isinf(a.real) || __builtin_isinf(a.imaginary),
         b_is = __builtin_isinf(b.real) || __builtin_isinf(b.imaginary);
    bool is_infinite =
        a_is || b_is || __builtin_isinf(ac) || __builtin_isinf(bd) || __builtin_isinf(ad) || __builtin_isinf(bc);
    if (!__builtin_isnan(out.real) || !__builtin_isnan(out.imaginary) || !is_infinite) return out;
    float c = boxed_part(a.real, a_is), d = boxed_part(a.imaginary, a_is);
    float e = boxed_part(b.real, b_is), f = boxed_part(b.imaginary, b_is);
    return (struct complex_number){__builtin_inff() * (c * e - d * f), __builtin_inff() * (c * f + d * e)};
}

static inline struct complex_number complex_larger(struct complex_number a, struct complex_number b)
{
    bool above = a.real > b.real || (a.real == b.real && a.imaginary > b.imaginary);
    return complex_is_nan(a) || (above && !complex_is_nan(b)) ? a : b;
}

static inline struct complex_number complex_smaller(struct complex_number a, struct complex_number b)
{
    bool below = a.real < b.real || (a.real == b.real && a.imaginary < b.imaginary);
    return complex_is_nan(a) || (below && !complex_is_nan(b)) ? a : b;
}

#endif
