/*
 * math_f32.c - exponential, logarithm and what is made of them, in float32. See runtime.h for the promises.
 *
 * exp: x = k ln2 + r with k whole and |r| <= ln2 / 2, then a Taylor polynomial in r; ln2 is split so that k * LN2_HIGH
 * is exact. log: x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f), and the series of
 * 2 atanh(s) = log(1 + f). Whole numbers are made by adding 1.5 * 2^23, never by a conversion, because converting a
 * NaN to an integer has no meaning.
 */
#include "runtime.h"

#include "bits.h"

#define F32_LN2_HIGH 0x1.62e4p-1f
#define F32_LN2_LOW  0x1.7f7d1cp-20f
#define F32_ROUNDER  0x1.8p23f
#define F32_INFINITY __builtin_inff()

struct f32_reduced {
    float rest;      /* r */
    float high, low; /* r = high - low, high exact: the part of r that rounding lost counts */
    int32_t two;     /* k */
};

static inline struct f32_reduced f32_reduce(float x)
{
    float shifted = x * 0x1.715476p+0f + F32_ROUNDER;
    float whole = shifted - F32_ROUNDER;
    float high = x - whole * F32_LN2_HIGH;
    float low = whole * F32_LN2_LOW;
    int32_t two = (int32_t)(bits_of_f32(shifted) - bits_of_f32(F32_ROUNDER));
    return (struct f32_reduced){high - low, high, low, two};
}

static inline float f32_power_of_two(int32_t k)
{
    return f32_of_bits((uint32_t)(k + 127) << 23);
}

/* exp(r) - 1 */
static inline float f32_expm1_small(struct f32_reduced part)
{
    float r = part.rest;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    return part.high + (r * r * p - part.low);
}

float kiln_exp_f32(float x)
{
    float inside = x < -104.0f ? -104.0f : x;
    inside = inside > 89.0f ? 89.0f : inside;
    struct f32_reduced part = f32_reduce(inside);
    int32_t half = part.two >> 1;
    float mantissa = 1.0f + f32_expm1_small(part);
    return mantissa * f32_power_of_two(half) * f32_power_of_two(part.two - half);
}

float kiln_log_f32(float x)
{
    const uint32_t root_half = 0x3f3504f3u;
    int is_tiny = x < 0x1p-126f;
    uint32_t bits = bits_of_f32(is_tiny ? x * 0x1p23f : x) - root_half;
    float k = (float)(((int32_t)bits >> 23) - (is_tiny ? 23 : 0));
    float f = f32_of_bits((bits & 0x7fffffu) + root_half) - 1.0f;
    float s = f / (2.0f + f);
    float z = s * s;
    float series = z * (2.0f / 3 + z * (2.0f / 5 + z * (2.0f / 7 + z * (2.0f / 9))));
    float half_square = 0.5f * f * f;
    float finite = k * F32_LN2_HIGH + (f - (half_square - (s * (half_square + series) + k * F32_LN2_LOW)));
    float result = x == F32_INFINITY ? x : finite;
    result = x < 0.0f ? __builtin_nanf("") : result;
    result = x == 0.0f ? -F32_INFINITY : result;
    return x == x ? result : x;
}

/*
 * z = exp(-|x|), then z / (1 + z) or 1 / (1 + z). What rounding 1 + z and the last step of exp lost is put back,
 * because just below a power of two the error of z would count twice.
 */
float kiln_sigmoid_f32(float x)
{
    int is_negative = x < 0.0f;
    float inside = is_negative ? x : -x;
    struct f32_reduced part = f32_reduce(inside < -104.0f ? -104.0f : inside);
    float rest = f32_expm1_small(part);
    float mantissa = 1.0f + rest;
    int32_t half = part.two >> 1;
    float scale = f32_power_of_two(half), scale_again = f32_power_of_two(part.two - half);
    float z = mantissa * scale * scale_again;
    float z_lost = (rest - (mantissa - 1.0f)) * scale * scale_again;
    float divisor = 1.0f + z;
    float divisor_lost = (z - (divisor - 1.0f)) + z_lost;
    float q = (is_negative ? z : 1.0f) / divisor;
    float inverse = is_negative ? 1.0f - q : q;
    return q + ((is_negative ? z_lost : 0.0f) - q * divisor_lost) * inverse;
}

/* q = exp(2|x|) - 1 without cancellation; tanh = q / (q + 2), and what the two sums lost is put back. */
float kiln_tanh_f32(float x)
{
    uint32_t sign = bits_of_f32(x) & 0x80000000u;
    float magnitude = f32_of_bits(bits_of_f32(x) ^ sign);
    struct f32_reduced part = f32_reduce(magnitude > 10.0f ? 20.0f : 2.0f * magnitude);
    float scale = f32_power_of_two(part.two);
    float rest = scale * f32_expm1_small(part);
    float q = rest + (scale - 1.0f);
    float q_lost = rest - (q - (scale - 1.0f));
    float divisor = q + 2.0f;
    float divisor_lost = (q < 2.0f ? q - (divisor - 2.0f) : 2.0f - (divisor - q)) + q_lost;
    float t = q / divisor;
    float result = t + (q_lost - t * divisor_lost) * (0.5f * (1.0f - t));
    return f32_of_bits(bits_of_f32(result) | sign);
}

/*
 * |x| < 1: x + x times a polynomial in x^2. Beyond: 1 - 2^q, q a fit of log2(erfc(|x|)) up to 4, where the result is 1
 * already; each fit is as good as it must be after it is taken from 1. No division, and q needs no care for its size:
 * gelu is bound by arithmetic on GPUs.
 */
float kiln_erf_f32(float x)
{
    uint32_t sign = bits_of_f32(x) & 0x80000000u;
    float magnitude = f32_of_bits(bits_of_f32(x) ^ sign);
    float z = x * x;
    float p = 7.8758750627e-5f;
    p = p * z - 8.0168642872e-4f;
    p = p * z + 5.1890874234e-3f;
    p = p * z - 2.6854212011e-2f;
    p = p * z + 1.1283594715e-1f;
    p = p * z - 3.7612626667e-1f;
    p = p * z + 1.2837916585e-1f;
    float small = x + x * p;

    float far = magnitude > 4.0f ? 4.0f : magnitude;
    float q = 2.67724649517e-4f;
    q = q * far - 4.24093633153e-3f;
    q = q * far + 3.14583410754e-2f;
    q = q * far - 1.48651324400e-1f;
    q = q * far - 9.20765223865e-1f;
    q = q * far - 1.62597494801f;
    q = q * far - 5.10339340984e-4f;
    float shifted = q + F32_ROUNDER;
    float r = q - (shifted - F32_ROUNDER);
    float e = 1.32764889686e-3f;
    e = e * r + 9.67554152911e-3f;
    e = e * r + 5.55071322173e-2f;
    e = e * r + 2.40221197184e-1f;
    e = e * r + 6.93146967090e-1f;
    e = e * r + 1.00000007166f;
    float complement = e * f32_power_of_two((int32_t)(bits_of_f32(shifted) - bits_of_f32(F32_ROUNDER)));
    float large = f32_of_bits(bits_of_f32(1.0f - complement) | sign);
    return magnitude < 1.0f ? small : large;
}

/* The larger plus log(1 + z), z = exp(smaller - larger) in [0, 1]; two equal infinities have no difference. */
float kiln_logaddexp_f32(float a, float b)
{
    float high = a > b ? a : b;
    float low = a > b ? b : a;
    float z = kiln_exp_f32(a == b ? 0.0f : low - high);
    float s = z / (2.0f + z);
    float t = s * s;
    float p = 2.0f / 15;
    p = p * t + 2.0f / 13;
    p = p * t + 2.0f / 11;
    p = p * t + 2.0f / 9;
    p = p * t + 2.0f / 7;
    p = p * t + 2.0f / 5;
    p = p * t + 2.0f / 3;
    return high + (2.0f * s + s * t * p);
}
