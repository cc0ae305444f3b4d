/*
 * logs.c - logarithms of other bases and of 1 + x, and the hyperbolic functions and their inverses, which are made of
 * exp(x) - 1 and log(1 + x). float32 is computed in float64.
 */
#include "runtime.h"

#include "bits.h"
#include "exact.h"

/* ---- logarithms -------------------------------------------------------------------------------------------------- */

/*
 * The base is given by 1 / log(base) and log_base(2), each as a number with 32 bits and what is left of it. f - half is
 * cut to 21 bits as well, so that the first product is exact, and 2^k gives exactly k in base 2.
 */
static inline double f64_log_base(double x, struct f64_pair inverse, struct f64_pair two)
{
    struct f64_log log = f64_log_pieces(x);
    double high = f64_of_bits(bits_of_f64(log.f - log.half) & 0xffffffff00000000u);
    double low = ((log.f - high) - log.half) + log.tail;
    double product = high * inverse.high;
    double rest = (low + high) * inverse.low + low * inverse.high + log.k * two.low;
    struct f64_pair sum = f64_two_sum(log.k * two.high, product);
    return f64_log_cases(x, sum.high + (sum.low + rest));
}

double kiln_log2_f64(double x)
{
    const struct f64_pair inverse = {0x1.7154765000000p+0, 0x1.5c17f0bbbe880p-31}, two = {1.0, 0.0};
    return f64_log_base(x, inverse, two);
}

double kiln_log10_f64(double x)
{
    const struct f64_pair inverse = {0x1.bcb7b15000000p-2, 0x1.37287195355bbp-33};
    const struct f64_pair two = {0x1.3441350800000p-2, 0x1.f79fef311f12bp-34};
    return f64_log_base(x, inverse, two);
}

/* log(u), u = 1 + x rounded, plus what the rounding lost, divided by u. */
double kiln_log1p_f64(double x)
{
    double u = 1.0 + x;
    double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    struct f64_log log = f64_log_pieces(u);
    double low = log.k * 0x1.a39ef35793c76p-33 + lost / u;
    double finite = log.k * 0x1.62e42feep-1 + (log.f - (log.half - (log.tail + low)));
    double result = f64_log_cases(u, finite);
    return x == 0.0 ? x : result;
}

/* ---- exponentials ------------------------------------------------------------------------------------------------ */

/* exp(x) * 2^shift without an overflow on the way */
static inline double f64_exp_shifted(double x, int64_t shift)
{
    double inside = x < -746.0 ? -746.0 : x;
    inside = inside > 711.0 ? 711.0 : inside;
    struct f64_reduced part = f64_reduce(inside);
    int64_t two = part.two + shift, half = two >> 1;
    double mantissa = 1.0 + f64_expm1_small(part);
    return mantissa * f64_power_of_two(half) * f64_power_of_two(two - half);
}

/* 2^k (e + 1) - 1 with e = exp(r) - 1; from 2^60 on the 1 does not count. */
double kiln_expm1_f64(double x)
{
    double inside = x < -50.0 ? -50.0 : x;
    inside = inside > 711.0 ? 711.0 : inside;
    struct f64_reduced part = f64_reduce(inside);
    double e = f64_expm1_small(part);
    int64_t half = part.two >> 1;
    double scale = f64_power_of_two(half), again = f64_power_of_two(part.two - half);
    double large = (1.0 + e) * scale * again;
    double small = scale * again * e + (scale * again - 1.0);
    double result = inside > 42.0 ? large : small;
    return x == 0.0 ? x : result;
}

/* (e + e / (e + 1)) / 2 with e = exp(|x|) - 1 */
double kiln_sinh_f64(double x)
{
    double t = __builtin_fabs(x);
    double e = kiln_expm1_f64(t > 40.0 ? 40.0 : t);
    double near = 0.5 * (e + e / (e + 1.0));
    double result = t > 40.0 ? f64_exp_shifted(t, -1) : near;
    result = t == t ? result : t;
    return f64_of_bits(bits_of_f64(result) | (bits_of_f64(x) & 0x8000000000000000u));
}

double kiln_cosh_f64(double x)
{
    double half = f64_exp_shifted(__builtin_fabs(x), -1);
    return half + 0.25 / half;
}

/* ---- inverses ---------------------------------------------------------------------------------------------------- */

#define LOG_2 0x1.62e42fefa39efp-1

/* log(t + sqrt(t * t + 1)); from 2^28 on that is log(2 t) */
double kiln_arcsinh_f64(double x)
{
    double t = __builtin_fabs(x);
    int is_large = t > 0x1p28;
    double inside = is_large ? 1.0 : t;
    double square = inside * inside;
    double small = kiln_log1p_f64(inside + square / (1.0 + __builtin_sqrt(square + 1.0)));
    double result = is_large ? kiln_log_f64(t) + LOG_2 : small;
    result = t == t ? result : t;
    return f64_of_bits(bits_of_f64(result) | (bits_of_f64(x) & 0x8000000000000000u));
}

/* With t = x - 1: log(1 + t + sqrt(2 t + t * t)) */
double kiln_arccosh_f64(double x)
{
    int is_large = x > 0x1p28;
    double t = is_large ? 1.0 : x - 1.0;
    double small = kiln_log1p_f64(t + __builtin_sqrt(2.0 * t + t * t));
    double result = is_large ? kiln_log_f64(x) + LOG_2 : small;
    return x < 1.0 ? __builtin_nan("") : result;
}

double kiln_arctanh_f64(double x)
{
    double t = __builtin_fabs(x);
    double result = 0.5 * kiln_log1p_f64(2.0 * t / (1.0 - t));
    return f64_of_bits(bits_of_f64(result) | (bits_of_f64(x) & 0x8000000000000000u));
}

/* ---- float32 -------------------------------------------------------------------------------------------------------
 */

float kiln_log2_f32(float x)
{
    return (float)kiln_log2_f64(x);
}

float kiln_log10_f32(float x)
{
    return (float)kiln_log10_f64(x);
}

float kiln_log1p_f32(float x)
{
    return (float)kiln_log1p_f64(x);
}

float kiln_expm1_f32(float x)
{
    return (float)kiln_expm1_f64(x);
}

float kiln_sinh_f32(float x)
{
    return (float)kiln_sinh_f64(x);
}

float kiln_cosh_f32(float x)
{
    return (float)kiln_cosh_f64(x);
}

float kiln_arcsinh_f32(float x)
{
    return (float)kiln_arcsinh_f64(x);
}

float kiln_arccosh_f32(float x)
{
    return (float)kiln_arccosh_f64(x);
}

float kiln_arctanh_f32(float x)
{
    return (float)kiln_arctanh_f64(x);
}

/* ---- angles --------------------------------------------------------------------------------------------------------
 */

float kiln_degrees_f32(float x)
{
    return x * 57.2957795130823208768f;
}

float kiln_radians_f32(float x)
{
    return x * 0.0174532925199432957692f;
}

double kiln_degrees_f64(double x)
{
    return x * 57.2957795130823208768;
}

double kiln_radians_f64(double x)
{
    return x * 0.0174532925199432957692;
}
