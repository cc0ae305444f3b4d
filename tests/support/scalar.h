/*
 * scalar.h - one element at a time, in plain C: what every operation has to give, for every dtype.
 *
 * Shares no code with the library. A value is held exactly: integers in 64 bits, float16, bfloat16 and float32 in a
 * float, float64 in a double. Operations on 16-bit floats are computed in float and rounded once, to nearest even, by
 * arithmetic (rint on a scaled double) and not by bits. Functions that cannot be exact come as long double with an
 * allowance in ulps.
 */
#ifndef KILN_TESTS_SUPPORT_SCALAR_H
#define KILN_TESTS_SUPPORT_SCALAR_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mlx/c/mlx.h"
#include "support/complex_reference.h"

enum { DTYPE_COUNT = 14 };

enum kind { IS_BOOL, IS_UNSIGNED, IS_SIGNED, IS_FLOAT, IS_COMPLEX };

static const struct dtype_facts {
    const char *name;
    enum kind kind;
    int size;                      /* bytes */
    int precision, lowest, beyond; /* floats: bits of significand; smallest number is 2^lowest; 2^beyond is too large */
} facts[DTYPE_COUNT] = {
    [MLX_BOOL] = {"bool", IS_BOOL, 1, 0, 0, 0},
    [MLX_UINT8] = {"uint8", IS_UNSIGNED, 1, 0, 0, 0},
    [MLX_UINT16] = {"uint16", IS_UNSIGNED, 2, 0, 0, 0},
    [MLX_UINT32] = {"uint32", IS_UNSIGNED, 4, 0, 0, 0},
    [MLX_UINT64] = {"uint64", IS_UNSIGNED, 8, 0, 0, 0},
    [MLX_INT8] = {"int8", IS_SIGNED, 1, 0, 0, 0},
    [MLX_INT16] = {"int16", IS_SIGNED, 2, 0, 0, 0},
    [MLX_INT32] = {"int32", IS_SIGNED, 4, 0, 0, 0},
    [MLX_INT64] = {"int64", IS_SIGNED, 8, 0, 0, 0},
    [MLX_FLOAT16] = {"float16", IS_FLOAT, 2, 11, -24, 16},
    [MLX_FLOAT32] = {"float32", IS_FLOAT, 4, 24, -149, 128},
    [MLX_FLOAT64] = {"float64", IS_FLOAT, 8, 53, -1074, 1024},
    [MLX_BFLOAT16] = {"bfloat16", IS_FLOAT, 2, 8, -133, 128},
    [MLX_COMPLEX64] = {"complex64", IS_COMPLEX, 8, 24, -149, 128},
};

struct scalar {
    mlx_dtype dtype;
    union {
        uint64_t u; /* bool, unsigned */
        int64_t i;  /* signed */
        float f;    /* float16, bfloat16, float32, real part of complex64 */
        double d;   /* float64 */
    };
    float imaginary;
};

/* ---- 16-bit floats ------------------------------------------------------------------------------------------------
 */

/* 2^exponent below which nothing of `x` is kept in `dtype`. */
static inline int last_bit(long double x, mlx_dtype dtype)
{
    int exponent;
    frexpl(x, &exponent);
    exponent -= facts[dtype].precision;
    return exponent < facts[dtype].lowest ? facts[dtype].lowest : exponent;
}

static inline float round_to(float x, mlx_dtype dtype)
{
    if (dtype == MLX_FLOAT32 || x == 0 || !isfinite(x)) return x;
    int unit = last_bit(x, dtype);
    double rounded = ldexp(rint(ldexp((double)x, -unit)), unit);
    if (fabs(rounded) >= ldexp(1, facts[dtype].beyond)) return x < 0 ? -INFINITY : INFINITY;
    return (float)copysign(rounded, (double)x);
}

static inline uint16_t half_bits(float x)
{
    int sign = signbit(x) ? 0x8000 : 0;
    double magnitude = fabs((double)x);
    if (isnan(x)) return (uint16_t)(sign | 0x7e00);
    if (isinf(x)) return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x1p-14) return (uint16_t)(sign | (int)(magnitude * 0x1p24));
    int exponent;
    double fraction = frexp(magnitude, &exponent); /* in [0.5, 1) */
    return (uint16_t)(sign | (exponent + 14) << 10 | (int)((fraction * 2 - 1) * 1024));
}

static inline float half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude = exponent == 0    ? ldexpf((float)fraction, -24)
                      : exponent == 31 ? (fraction ? NAN : INFINITY)
                                       : ldexpf((float)(1024 + fraction), exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

static inline struct scalar scalar_load(const void *from, mlx_dtype dtype)
{
    struct scalar x = {.dtype = dtype, .u = 0};
    uint16_t bits;
    switch (facts[dtype].kind) {
    case IS_BOOL:
        x.u = *(const uint8_t *)from != 0;
        break;
    case IS_UNSIGNED:
        memcpy(&x.u, from, (size_t)facts[dtype].size);
        break;
    case IS_SIGNED: {
        int unused = 64 - 8 * facts[dtype].size;
        memcpy(&x.u, from, (size_t)facts[dtype].size);
        x.i = (int64_t)(x.u << unused) >> unused;
        break;
    }
    case IS_COMPLEX:
        memcpy(&x.f, from, 4);
        memcpy(&x.imaginary, (const char *)from + 4, 4);
        break;
    case IS_FLOAT:
        if (dtype == MLX_FLOAT32) memcpy(&x.f, from, 4);
        if (dtype == MLX_FLOAT64) memcpy(&x.d, from, 8);
        if (facts[dtype].size == 2) {
            memcpy(&bits, from, 2);
            uint32_t wide = (uint32_t)bits << 16;
            if (dtype == MLX_BFLOAT16)
                memcpy(&x.f, &wide, 4);
            else
                x.f = half_value(bits);
        }
    }
    return x;
}

static inline void scalar_store(void *to, struct scalar x)
{
    uint32_t bits;
    uint16_t half;
    if (x.dtype == MLX_FLOAT16) {
        half = half_bits(x.f);
        memcpy(to, &half, 2);
    } else if (x.dtype == MLX_BFLOAT16) {
        memcpy(&bits, &x.f, 4);
        half = (uint16_t)(isnan(x.f) ? 0x7fc0 : bits >> 16);
        memcpy(to, &half, 2);
    } else if (x.dtype == MLX_COMPLEX64) {
        memcpy(to, &x.f, 4);
        memcpy((char *)to + 4, &x.imaginary, 4);
    } else {
        memcpy(to, &x.u, (size_t)facts[x.dtype].size); /* little endian */
    }
}

/* ---- making values ------------------------------------------------------------------------------------------------
 */

static inline struct scalar make_bool(bool value)
{
    return (struct scalar){.dtype = MLX_BOOL, .u = value};
}

/* The low bits of `u`, as an integer of `dtype`. */
static inline struct scalar make_wrapped(uint64_t u, mlx_dtype dtype)
{
    return scalar_load(&u, dtype);
}

static inline struct scalar make_float(float value, mlx_dtype dtype)
{
    return (struct scalar){.dtype = dtype, .f = round_to(value, dtype)};
}

static inline struct scalar make_double(double value)
{
    return (struct scalar){.dtype = MLX_FLOAT64, .d = value};
}

static inline struct scalar make_complex(float real, float imaginary)
{
    return (struct scalar){.dtype = MLX_COMPLEX64, .f = real, .imaginary = imaginary};
}

/* A float (or the real part) as a long double: exact. */
static inline long double wide_value(struct scalar x)
{
    return x.dtype == MLX_FLOAT64 ? (long double)x.d : (long double)x.f;
}

static inline bool is_integer(mlx_dtype dtype)
{
    return facts[dtype].kind <= IS_SIGNED;
}

/* ---- conversions --------------------------------------------------------------------------------------------------
 */

static inline bool is_nonzero(struct scalar x)
{
    if (x.dtype == MLX_FLOAT64) return x.d != 0;
    if (x.dtype == MLX_COMPLEX64) return x.f != 0 || x.imaginary != 0;
    return is_integer(x.dtype) ? x.u != 0 : x.f != 0;
}

/* Towards zero; what does not fit becomes the nearest that does, and NaN becomes 0. */
static inline struct scalar float_to_integer(long double value, mlx_dtype to)
{
    int bits = 8 * facts[to].size;
    if (isnan(value)) return make_wrapped(0, to);
    if (facts[to].kind == IS_UNSIGNED) {
        if (value <= 0) return make_wrapped(0, to);
        if (value >= ldexpl(1, bits)) return make_wrapped(UINT64_MAX, to);
        return make_wrapped((uint64_t)value, to);
    }
    if (value <= -ldexpl(1, bits - 1)) return make_wrapped((uint64_t)1 << (bits - 1), to);
    if (value >= ldexpl(1, bits - 1)) return make_wrapped(((uint64_t)1 << (bits - 1)) - 1, to);
    return make_wrapped((uint64_t)(int64_t)value, to);
}

static inline float to_float(struct scalar x)
{
    if (x.dtype == MLX_FLOAT64) return (float)x.d;
    if (facts[x.dtype].kind == IS_SIGNED) return (float)x.i;
    return is_integer(x.dtype) ? (float)x.u : x.f;
}

static inline double to_double(struct scalar x)
{
    if (x.dtype == MLX_FLOAT64) return x.d;
    if (facts[x.dtype].kind == IS_SIGNED) return (double)x.i;
    return is_integer(x.dtype) ? (double)x.u : (double)x.f;
}

/* Complex to real keeps the real part; to a 16-bit float everything goes through float32. */
static inline struct scalar scalar_cast(struct scalar x, mlx_dtype to)
{
    if (x.dtype == to) return x;
    if (to == MLX_BOOL) return make_bool(is_nonzero(x));
    if (is_integer(to)) return is_integer(x.dtype) ? make_wrapped(x.u, to) : float_to_integer(wide_value(x), to);
    if (to == MLX_FLOAT64) return make_double(to_double(x));
    return make_float(to_float(x), to); /* the imaginary part is 0 */
}

/* The rules of types.md, as rules. */
static inline mlx_dtype promoted(mlx_dtype a, mlx_dtype b)
{
    if (a == b) return a;
    if (facts[a].kind > facts[b].kind || (facts[a].kind == facts[b].kind && facts[a].size > facts[b].size))
        return promoted(b, a); /* now a is of a lower kind, or smaller */
    if (facts[a].kind == IS_BOOL || facts[b].kind >= IS_FLOAT) {
        bool both_short = facts[a].kind == IS_FLOAT && facts[b].kind == IS_FLOAT && facts[b].size == 2;
        return both_short ? MLX_FLOAT32 : b;
    }
    if (facts[a].kind == facts[b].kind || facts[b].size > facts[a].size) return b;
    return a == MLX_UINT64 ? MLX_FLOAT32 : facts[a].size == 4 ? MLX_INT64 : facts[a].size == 2 ? MLX_INT32 : MLX_INT16;
}

/* ---- operations ---------------------------------------------------------------------------------------------------
 */

/* One of these applies to inputs of one dtype. */
typedef struct scalar exact_function(struct scalar a, struct scalar b);
typedef long double close_function(long double a, long double b);

/* Integers modulo 2^bits, floats in their type. */
#define ARITHMETIC(name, on_bool, operator, complex_result)                                                            \
    static inline struct scalar name(struct scalar a, struct scalar b)                                                 \
    {                                                                                                                  \
        if (a.dtype == MLX_BOOL) return make_bool(on_bool);                                                            \
        if (a.dtype == MLX_COMPLEX64) return complex_result;                                                           \
        if (a.dtype == MLX_FLOAT64) return make_double(a.d operator b.d);                                              \
        if (facts[a.dtype].kind == IS_FLOAT) return make_float(a.f operator b.f, a.dtype);                             \
        return make_wrapped(a.u operator b.u, a.dtype);                                                                \
    }

/* The compiler's product, which is that of C's Annex G. */
static inline struct scalar complex_product(struct scalar a, struct scalar b)
{
    float _Complex product = __builtin_complex(a.f, a.imaginary) * __builtin_complex(b.f, b.imaginary);
    return make_complex(__real__ product, __imag__ product);
}

static inline wide_complex wide_of(struct scalar z)
{
    return wide_pair(z.f, z.imaginary);
}

ARITHMETIC(exact_add, a.u || b.u, +, make_complex(a.f + b.f, a.imaginary + b.imaginary))
ARITHMETIC(exact_subtract, a.u != b.u, -, make_complex(a.f - b.f, a.imaginary - b.imaginary))
ARITHMETIC(exact_multiply, a.u &&b.u, *, complex_product(a, b))

static inline struct scalar exact_divide(struct scalar a, struct scalar b)
{
    if (a.dtype == MLX_FLOAT64) return make_double(a.d / b.d);
    return make_float(a.f / b.f, a.dtype); /* of complex numbers: complex_reference.h */
}

static inline struct scalar exact_square(struct scalar a, struct scalar b)
{
    (void)b;
    return exact_multiply(a, a);
}

static inline struct scalar exact_negative(struct scalar a, struct scalar b)
{
    (void)b;
    if (a.dtype == MLX_COMPLEX64) return make_complex(-a.f, -a.imaginary);
    if (a.dtype == MLX_FLOAT64) return make_double(-a.d);
    if (facts[a.dtype].kind == IS_FLOAT) return make_float(-a.f, a.dtype);
    return make_wrapped(0 - a.u, a.dtype);
}

static inline struct scalar exact_abs(struct scalar a, struct scalar b)
{
    if (a.dtype == MLX_COMPLEX64)
        return make_float((float)hypotl((long double)a.f, (long double)a.imaginary), MLX_FLOAT32);
    bool is_negative = a.dtype == MLX_FLOAT64               ? signbit(a.d)
                       : facts[a.dtype].kind == IS_FLOAT    ? signbit(a.f)
                       : facts[a.dtype].kind == IS_UNSIGNED ? false
                       : a.dtype == MLX_BOOL                ? false
                                                            : a.i < 0;
    return is_negative ? exact_negative(a, b) : a;
}

static inline struct scalar exact_sqrt(struct scalar a, struct scalar b)
{
    (void)b;
    return a.dtype == MLX_FLOAT64 ? make_double(sqrt(a.d)) : make_float(sqrtf(a.f), a.dtype);
}

/* -1, 0, 1, or 2 when there is no order. Complex: real parts first. */
static inline int compare_floats(double a, double b)
{
    return isnan(a) || isnan(b) ? 2 : (a > b) - (a < b);
}

static inline int compare(struct scalar a, struct scalar b)
{
    if (facts[a.dtype].kind == IS_SIGNED) return (a.i > b.i) - (a.i < b.i);
    if (is_integer(a.dtype)) return (a.u > b.u) - (a.u < b.u);
    if (a.dtype == MLX_FLOAT64) return compare_floats(a.d, b.d);
    int order = compare_floats((double)a.f, (double)b.f);
    return a.dtype == MLX_COMPLEX64 && order == 0 ? compare_floats((double)a.imaginary, (double)b.imaginary) : order;
}

static inline bool has_nan(struct scalar x)
{
    if (x.dtype == MLX_COMPLEX64) return isnan(x.f) || isnan(x.imaginary);
    return x.dtype == MLX_FLOAT64 ? isnan(x.d) : facts[x.dtype].kind == IS_FLOAT && isnan(x.f);
}

#define COMPARISON(name, condition)                                                                                    \
    static inline struct scalar name(struct scalar a, struct scalar b)                                                 \
    {                                                                                                                  \
        int order = compare(a, b);                                                                                     \
        return make_bool(condition);                                                                                   \
    }

COMPARISON(exact_equal, order == 0)
COMPARISON(exact_not_equal, order != 0)
COMPARISON(exact_less, order == -1)
COMPARISON(exact_less_equal, order == -1 || order == 0)
COMPARISON(exact_greater, order == 1)
COMPARISON(exact_greater_equal, order == 1 || order == 0)

/* NaN wins; of two equal ones (0 and -0) the second stays. */
static inline struct scalar exact_maximum(struct scalar a, struct scalar b)
{
    if (has_nan(a)) return a;
    return has_nan(b) || compare(a, b) != 1 ? b : a;
}

static inline struct scalar exact_minimum(struct scalar a, struct scalar b)
{
    if (has_nan(a)) return a;
    return has_nan(b) || compare(a, b) != -1 ? b : a;
}

static inline struct scalar exact_not(struct scalar a, struct scalar b)
{
    (void)b;
    return make_bool(!a.u);
}

static inline struct scalar exact_and(struct scalar a, struct scalar b)
{
    return make_bool(a.u && b.u);
}

static inline struct scalar exact_or(struct scalar a, struct scalar b)
{
    return make_bool(a.u || b.u);
}

#define ONE_INPUT(name, expression)                                                                                    \
    static inline long double name(long double a, long double b)                                                       \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        return expression;                                                                                             \
    }

ONE_INPUT(close_exp, expl(a))
ONE_INPUT(close_log, logl(a))
ONE_INPUT(close_erf, erfl(a))
ONE_INPUT(close_tanh, tanhl(a))
ONE_INPUT(close_sigmoid, a < 0 ? expl(a) / (1 + expl(a)) : 1 / (1 + expl(-a)))
ONE_INPUT(close_rsqrt, 1 / sqrtl(a))

static inline long double close_logaddexp(long double a, long double b)
{
    long double high = a > b ? a : b, low = a > b ? b : a;
    if (isnan(a) || isnan(b)) return NAN;
    return a == b ? a + logl(2) : high + log1pl(expl(low - high));
}

/* ---- the table of element-wise operations -------------------------------------------------------------------------
 */

/* What happens to dtypes: promoted; complex becomes real; at least float32; promoted with a bool result; all bool;
 * promoted, and bool becomes uint8. */
enum rule { SAME, REAL, FLOATING, COMPARE, LOGIC, SHIFT };

typedef int unary_function(mlx_array *, const mlx_array, const mlx_stream);
typedef int binary_function(mlx_array *, const mlx_array, const mlx_array, const mlx_stream);

struct operation {
    const char *name;
    enum rule rule;
    unary_function *unary; /* one of the two */
    binary_function *binary;
    exact_function *exact; /* one of the two */
    close_function *close;
    const char *kinds; /* kinds of the operands that are accepted: b u s f c */
    double ulps;       /* of float32 and float64 */
};

#define UNARY(name, rule, kinds)  #name, rule, mlx_##name, NULL, exact_##name, NULL, kinds, 0
#define CLOSE(name)               #name, FLOATING, mlx_##name, NULL, NULL, close_##name, "fc", 2
#define BINARY(name, rule, kinds) #name, rule, NULL, mlx_##name, exact_##name, NULL, kinds, 0
static const struct operation operations[] = {
    {UNARY(abs, REAL, "busfc")},
    {UNARY(negative, SAME, "usfc")},
    {UNARY(square, SAME, "busfc")},
    {UNARY(sqrt, FLOATING, "fc")},
    {CLOSE(exp)},
    {CLOSE(log)},
    {"erf", FLOATING, mlx_erf, NULL, NULL, close_erf, "f", 2},
    {CLOSE(sigmoid)},
    {CLOSE(tanh)},
    {CLOSE(rsqrt)},
    {"logical_not", LOGIC, mlx_logical_not, NULL, exact_not, NULL, "b", 0},
    {BINARY(add, SAME, "busfc")},
    {BINARY(subtract, SAME, "busfc")},
    {BINARY(multiply, SAME, "busfc")},
    {"divide", FLOATING, NULL, mlx_divide, exact_divide, NULL, "fc", 0},
    {BINARY(maximum, SAME, "busfc")},
    {BINARY(minimum, SAME, "busfc")},
    {"logaddexp", FLOATING, NULL, mlx_logaddexp, NULL, close_logaddexp, "fc", 2},
    {BINARY(equal, COMPARE, "busfc")},
    {BINARY(not_equal, COMPARE, "busfc")},
    {BINARY(less, COMPARE, "busfc")},
    {BINARY(less_equal, COMPARE, "busfc")},
    {BINARY(greater, COMPARE, "busfc")},
    {BINARY(greater_equal, COMPARE, "busfc")},
    {"logical_and", LOGIC, NULL, mlx_logical_and, exact_and, NULL, "b", 0},
    {"logical_or", LOGIC, NULL, mlx_logical_or, exact_or, NULL, "b", 0},
};
#undef UNARY
#undef CLOSE
#undef BINARY

enum { OPERATION_COUNT = sizeof operations / sizeof operations[0] };

/* What the inputs are cast to. */
static inline mlx_dtype operand_dtype(const struct operation *op, mlx_dtype a, mlx_dtype b)
{
    mlx_dtype both = op->binary ? promoted(a, b) : a;
    if (op->rule == LOGIC) return MLX_BOOL;
    if (op->rule == SHIFT && both == MLX_BOOL) return MLX_UINT8;
    return op->rule == FLOATING && is_integer(both) ? MLX_FLOAT32 : both;
}

static inline mlx_dtype result_dtype(const struct operation *op, mlx_dtype operand)
{
    if (op->rule == REAL && operand == MLX_COMPLEX64) return MLX_FLOAT32;
    return op->rule == COMPARE || op->rule == LOGIC ? MLX_BOOL : operand;
}

static inline bool is_accepted(const struct operation *op, mlx_dtype operand)
{
    return strchr(op->kinds, "busfc"[facts[operand].kind]) != NULL;
}

/* ---- comparing ----------------------------------------------------------------------------------------------------
 */

static inline bool same_float(double got, double want)
{
    if (isnan(want)) return isnan(got);
    return got == want && signbit(got) == signbit(want);
}

/* The same value, by bits but for NaN, of which there are many. */
static inline bool same_scalar(struct scalar got, struct scalar want)
{
    if (got.dtype != want.dtype) return false;
    if (is_integer(got.dtype)) return got.u == want.u;
    if (got.dtype == MLX_FLOAT64) return same_float(got.d, want.d);
    if (got.dtype == MLX_COMPLEX64 && !same_float((double)got.imaginary, (double)want.imaginary)) return false;
    return same_float((double)got.f, (double)want.f);
}

/*
 * Is `got`, a float, within `ulps` units in the last place of `want`? `least`: such a unit is never taken smaller than
 * at this magnitude. An infinite result stands for the first number that is too large.
 */
static inline bool is_close(struct scalar got, long double want, double ulps, long double least)
{
    long double value = wide_value(got);
    if (isnan(want)) return isnan(value);
    if (isnan(value)) return false;
    if (isinf(want)) return value == want;
    if (want == 0 && value == 0) return signbit(want) == signbit(value);
    long double beyond = ldexpl(1, facts[got.dtype].beyond);
    if (isinf(value)) value = copysignl(beyond, value);
    if (fabsl(want) > beyond) want = copysignl(beyond, want);
    long double unit = ldexpl(1, last_bit(fabsl(want) < least ? least : want, got.dtype));
    return fabsl(value - want) <= (long double)ulps * unit;
}

/* A magnitude of complex numbers may be rounded twice: 1 ulp. */
static inline bool complex_is_right(struct scalar got, struct scalar want)
{
    struct scalar real = make_float(got.f, MLX_FLOAT32), imaginary = make_float(got.imaginary, MLX_FLOAT32);
    return got.dtype == want.dtype && is_close(real, (long double)want.f, 1, 0) &&
           is_close(imaginary, (long double)want.imaginary, 1, 0);
}

/* Is a function of this dtype known but for some ulps? */
static inline bool is_function(const struct operation *op, mlx_dtype dtype)
{
    return op->close || (dtype == MLX_COMPLEX64 && (op->exact == exact_sqrt || op->exact == exact_divide));
}

/* `b` is ignored by operations with one input. */
static inline bool result_is_right(const struct operation *op, struct scalar a, struct scalar b, struct scalar got)
{
    mlx_dtype dtype = a.dtype;
    if (is_function(op, dtype) && dtype == MLX_COMPLEX64)
        return got.dtype == dtype && complex_close(complex_reference(op->name), wide_of(a), wide_of(op->binary ? b : a),
                                                   got.f, got.imaginary);
    bool rounds_twice = dtype == MLX_COMPLEX64 && op->exact == exact_abs;
    if (op->exact) return rounds_twice ? complex_is_right(got, op->exact(a, b)) : same_scalar(got, op->exact(a, b));
    long double want = op->close(wide_value(a), wide_value(b));
    long double least = op->close == close_logaddexp ? 1 : 0; /* near 0 two numbers near 1 cancel each other */
    return is_close(got, want, facts[dtype].size == 2 ? 1 : op->ulps, least);
}

#endif
