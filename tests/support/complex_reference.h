/*
 * complex_reference.h - what functions of complex64 have to give, in long double: the C library's where it has them
 * (C's Annex G says what becomes of infinities, NaN, zeros and branch cuts), else formulas that lose nothing near the
 * zeros and poles of a function.
 */
#ifndef KILN_TESTS_SUPPORT_COMPLEX_REFERENCE_H
#define KILN_TESTS_SUPPORT_COMPLEX_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef long double _Complex wide_complex; /* complex.h would take the name `complex` */

static inline wide_complex wide_pair(long double re, long double im)
{
    return __builtin_complex(re, im);
}

#define COMPLEX_REFERENCE(name, expression)                                                                            \
    static inline wide_complex wide_##name(wide_complex z, wide_complex w)                                             \
    {                                                                                                                  \
        long double x = __real__ z, y = __imag__ z;                                                                    \
        (void)w, (void)x, (void)y;                                                                                     \
        return expression;                                                                                             \
    }

/* The compiler's quotient, by Annex G, where the plain one says nothing; that one has no error where the terms cancel.
 */
static inline wide_complex quotient_of(wide_complex z, wide_complex w)
{
    long double a = __real__ z, b = __imag__ z, c = __real__ w, d = __imag__ w, n = c * c + d * d;
    wide_complex plain = wide_pair((a * c + b * d) / n, (b * c - a * d) / n);
    return isnan(__real__ plain) && isnan(__imag__ plain) ? z / w : plain;
}

/* 1 + u (cos y + i sin y), 0 <= u <= 1: 1 - u and 1 + cos y are exact to their last bits. */
static inline wide_complex one_and(long double exponent, long double y)
{
    long double u = expl(exponent), wave = cosl(y / 2);
    return wide_pair(-expm1l(exponent) + 2 * u * wave * wave, u * sinl(y));
}

static inline wide_complex sigmoid_of(long double x, long double y)
{
    wide_complex sum = one_and(-fabsl(x), x < 0 ? y : -y);
    wide_complex power = wide_pair(expl(x) * cosl(y), expl(x) * sinl(y));
    return (x < 0 ? power : wide_pair(1, 0)) / sum;
}

static inline long double log1p_of(long double x, long double y)
{
    long double more = 2 * x + x * x + y * y;
    return more > -0.5L && more < 1 ? log1pl(more) / 2 : logl(hypotl(1 + x, y));
}

/* The larger operand plus the logarithm of 1 + exp(the other less it). */
static inline wide_complex logaddexp_of(wide_complex z, wide_complex w)
{
    bool is_first = __real__ z > __real__ w || (__real__ z == __real__ w && __imag__ z > __imag__ w);
    wide_complex most = is_first ? z : w, difference = (is_first ? w : z) - most;
    return most + __builtin_clogl(one_and(__real__ difference, __imag__ difference));
}

COMPLEX_REFERENCE(exp, __builtin_cexpl(z))
COMPLEX_REFERENCE(expm1, wide_pair(expm1l(x) * cosl(y) - 2 * sinl(y / 2) * sinl(y / 2), y == 0 ? y : expl(x) * sinl(y)))
COMPLEX_REFERENCE(log, __builtin_clogl(z))
COMPLEX_REFERENCE(log1p, wide_pair(log1p_of(x, y), atan2l(y, 1 + x)))
COMPLEX_REFERENCE(log2, wide_pair(__real__ __builtin_clogl(z) / logl(2), __imag__ __builtin_clogl(z) / logl(2)))
COMPLEX_REFERENCE(log10, wide_pair(__real__ __builtin_clogl(z) / logl(10), __imag__ __builtin_clogl(z) / logl(10)))
COMPLEX_REFERENCE(sqrt, __builtin_csqrtl(z))
COMPLEX_REFERENCE(rsqrt, quotient_of(wide_pair(1, 0), __builtin_csqrtl(z)))
COMPLEX_REFERENCE(reciprocal, quotient_of(wide_pair(1, 0), z))
COMPLEX_REFERENCE(sigmoid, sigmoid_of(x, y))
COMPLEX_REFERENCE(sin, __builtin_csinl(z))
COMPLEX_REFERENCE(cos, __builtin_ccosl(z))
COMPLEX_REFERENCE(tan, __builtin_ctanl(z))
COMPLEX_REFERENCE(sinh, __builtin_csinhl(z))
COMPLEX_REFERENCE(cosh, __builtin_ccoshl(z))
COMPLEX_REFERENCE(tanh, __builtin_ctanhl(z))
COMPLEX_REFERENCE(arcsin, __builtin_casinl(z))
COMPLEX_REFERENCE(arccos, __builtin_cacosl(z))
COMPLEX_REFERENCE(arctan, __builtin_catanl(z))
COMPLEX_REFERENCE(arcsinh, __builtin_casinhl(z))
COMPLEX_REFERENCE(arccosh, __builtin_cacoshl(z))
COMPLEX_REFERENCE(arctanh, __builtin_catanhl(z))
COMPLEX_REFERENCE(degrees, wide_pair(x * (180 / acosl(-1)), y * (180 / acosl(-1))))
COMPLEX_REFERENCE(radians, wide_pair(x *(acosl(-1) / 180), y *(acosl(-1) / 180)))
COMPLEX_REFERENCE(divide, quotient_of(z, w))
COMPLEX_REFERENCE(power, __builtin_cpowl(z, w))
COMPLEX_REFERENCE(logaddexp, logaddexp_of(z, w))

struct complex_reference {
    const char *name;
    wide_complex (*function)(wide_complex z, wide_complex w);
    bool is_annexed;     /* Annex G says what becomes of infinities and NaN */
    bool has_open_zeros; /* the sign of a zero depends on the formula */
};

static const struct complex_reference complex_references[] = {
    {"exp", wide_exp, true, false},
    {"expm1", wide_expm1, false, true},
    {"log", wide_log, true, false},
    {"log1p", wide_log1p, false, true},
    {"log2", wide_log2, true, false},
    {"log10", wide_log10, true, false},
    {"sqrt", wide_sqrt, true, false},
    {"rsqrt", wide_rsqrt, true, true},
    {"reciprocal", wide_reciprocal, true, true},
    {"sigmoid", wide_sigmoid, false, true},
    {"sin", wide_sin, true, false},
    {"cos", wide_cos, true, false},
    {"tan", wide_tan, true, false},
    {"sinh", wide_sinh, true, false},
    {"cosh", wide_cosh, true, false},
    {"tanh", wide_tanh, true, false},
    {"arcsin", wide_arcsin, true, false},
    {"arccos", wide_arccos, true, false},
    {"arctan", wide_arctan, true, false},
    {"arcsinh", wide_arcsinh, true, false},
    {"arccosh", wide_arccosh, true, false},
    {"arctanh", wide_arctanh, true, false},
    {"degrees", wide_degrees, false, true},
    {"radians", wide_radians, false, true},
    {"divide", wide_divide, true, true},
    {"power", wide_power, false, true},
    {"logaddexp", wide_logaddexp, false, true},
};

/* NULL: there is none of that name. */
static inline const struct complex_reference *complex_reference(const char *name)
{
    for (size_t i = 0; i < sizeof complex_references / sizeof *complex_references; i++)
        if (strcmp(complex_references[i].name, name) == 0) return &complex_references[i];
    return NULL;
}

static inline bool is_finite_pair(wide_complex z)
{
    return isfinite(__real__ z) && isfinite(__imag__ z);
}

/*
 * Can the reference tell? Of a power and of logaddexp an angle is computed, which in float64 has to keep the bits that
 * count; and the logarithm of a sum that is nearly 0 has none.
 */
static inline bool complex_is_known(const struct complex_reference *one, wide_complex z, wide_complex w)
{
    if (one->function == wide_power) {
        wide_complex exponent = w * __builtin_clogl(z);
        return is_finite_pair(z) && is_finite_pair(w) && is_finite_pair(exponent) && z != 0 &&
               fabsl(__real__ exponent) < 300 && fabsl(__imag__ exponent) < 1e6L;
    }
    if (one->function == wide_logaddexp) return is_finite_pair(z) && is_finite_pair(w) && fabsl(__imag__(z - w)) < 1e6L;
    return one->is_annexed || is_finite_pair(z);
}

/* One part in units of the last place of a float, not smaller than at `least`. Signs of zeros and infinities may be
 * open. */
static inline bool part_is_right(float got, long double want, long double least, double ulps, bool signs_are_open)
{
    if (isnan(want)) return isnan(got);
    if (isnan(got)) return false;
    if (signs_are_open && (want == 0 || isinf(want))) got = fabsf(got), want = fabsl(want);
    if (isinf(want) || (want == 0 && got == 0))
        return got == want && (signs_are_open || !signbit(got) == !signbit(want));
    long double value = isinf(got) ? copysignl(0x1p128L, got) : (long double)got;
    if (fabsl(want) > 0x1p128L) want = copysignl(0x1p128L, want);
    int exponent;
    frexpl(fabsl(want) < least ? least : want, &exponent);
    return fabsl(value - want) <= (long double)ulps * ldexpl(1, exponent < -125 ? -149 : exponent - 24);
}

/* The magnitude whose ulps count where a part is smaller: only the larger part of a power is known to its last bits. */
static inline long double least_magnitude(const struct complex_reference *one, wide_complex z, wide_complex w,
                                          wide_complex want)
{
    wide_complex pairs[3] = {want, z, w};
    long double least = one->function == wide_logaddexp;
    int count = one->function == wide_power ? 1 : one->function == wide_logaddexp ? 3 : 0;
    for (int i = 0; i < count; i++) least = fmaxl(least, fmaxl(fabsl(__real__ pairs[i]), fabsl(__imag__ pairs[i])));
    return least;
}

static inline bool complex_close(const struct complex_reference *one, wide_complex z, wide_complex w, float re,
                                 float im)
{
    if (!complex_is_known(one, z, w)) return true;
    wide_complex want = one->function(z, w);
    bool is_open = !is_finite_pair(z) || !is_finite_pair(w) || one->has_open_zeros;
    long double least = least_magnitude(one, z, w, want);
    return part_is_right(re, __real__ want, least, 1, is_open) && part_is_right(im, __imag__ want, least, 1, is_open);
}

#endif
