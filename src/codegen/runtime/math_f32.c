/*
 * math_f32.c - exponential, logarithm and what is made of them, in float32. See runtime.h for the promises.
 *
 * exp: x = k ln2 + r with k whole and |r| <= ln2 / 2, then a polynomial in r; ln2 is split so that k * LN2_HIGH is
 * exact. log: x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f), and the series of
 * 2 atanh(s) = log(1 + f). Whole numbers are made by adding 1.5 * 2^23, never by a conversion, because converting a
 * NaN to an integer has no meaning. They are then the low bits of the sum, and a shift to the exponent's place drops
 * all others.
 */
#include "runtime.h"

#include "bits.h"
#include "fused.h"

#define F32_LN2_HIGH 0x1.62e4p-1f
#define F32_LN2_LOW  0x1.7f7d1cp-20f
#define F32_ROUNDER  0x1.8p23f
#define F32_INFINITY __builtin_inff()

struct f32_reduced {
    float rest;     /* r */
    uint32_t whole; /* k, in the low bits */
};

static inline struct f32_reduced f32_reduce(float x)
{
    float shifted = f32_fma(x, 0x1.715476p+0f, F32_ROUNDER);
    float whole = shifted - F32_ROUNDER;
    float high = f32_fma(whole, -F32_LN2_HIGH, x);
    return (struct f32_reduced){f32_fma(whole, -F32_LN2_LOW, high), bits_of_f32(shifted)};
}

/* 2^k, k in the low bits */
static inline float f32_power_of_two(uint32_t whole)
{
    return f32_of_bits(bits_of_f32(1.0f) + (whole << 23));
}

/* exp(r) = 1 + r + r^2 times this */
static inline float f32_exp_tail(float r)
{
    float p = 0x1.6ac6c0p-10f;
    p = f32_fma(p, r, 0x1.123ddcp-7f);
    p = f32_fma(p, r, 0x1.555858p-5f);
    p = f32_fma(p, r, 0x1.55548cp-3f);
    return f32_fma(p, r, 0x1.fffffcp-2f);
}

static inline float f32_exp_small(float r)
{
    return f32_fma(f32_fma(f32_exp_tail(r), r, 1.0f), r, 1.0f);
}

/*
 * 2^k is out of range at both ends, so two factors make it. Where the result is 0 for certain, a factor is: CPUs take a
 * hundred times as long for a product that underflows, and a mask before a softmax is full of them.
 */
float kiln_exp_f32(float x)
{
    float inside = x < -104.0f ? -104.0f : x;
    struct f32_reduced part = f32_reduce(inside > 89.0f ? 89.0f : inside);
    uint32_t half = part.whole >> 1;
    float last = x < -104.0f ? 0.0f : f32_power_of_two(part.whole - half);
    return f32_exp_small(part.rest) * f32_power_of_two(half) * last;
}

float kiln_exp_near_f32(float x)
{
    struct f32_reduced part = f32_reduce(x);
    return f32_of_bits(bits_of_f32(f32_exp_small(part.rest)) + (part.whole << 23));
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
    float series = f32_fma(z, 2.0f / 9, 2.0f / 7);
    series = f32_fma(z, series, 2.0f / 5);
    series = f32_fma(z, series, 2.0f / 3);
    float half_square = 0.5f * f * f;
    float low = f32_fma(s, f32_fma(z, series, half_square), k * F32_LN2_LOW);
    float finite = f32_fma(k, F32_LN2_HIGH, f - (half_square - low));
    float result = x == F32_INFINITY ? x : finite;
    result = x < 0.0f ? __builtin_nanf("") : result;
    result = x == 0.0f ? -F32_INFINITY : result;
    return x == x ? result : x;
}

/*
 * 1 / (1 + exp(-x)) with exp(-x) = (1 + e) s / n, s and n powers of two that are never out of range: n / (n + s + e s).
 * What rounding n + s loses is put back; it is 0 where n is the larger by so much that it does not count.
 */
float kiln_sigmoid_f32(float x)
{
    float inside = x < -104.0f ? -104.0f : x;
    struct f32_reduced part = f32_reduce(inside > 104.0f ? 104.0f : inside);
    float r = -part.rest, e = f32_fma(f32_exp_tail(r) * r, r, r);
    uint32_t half = part.whole >> 1;
    float n = f32_power_of_two(half), s = f32_power_of_two(half - part.whole);
    float sum = n + s, lost = n - (sum - s);
    return f32_inverse(sum + f32_fma(e, s, lost)) * n;
}

/* |x| < 0.55: x + x^3 times a polynomial in x^2. Beyond, where the result is over 1/2: 1 - 2 / (exp(2|x|) + 1). */
float kiln_tanh_f32(float x)
{
    uint32_t sign = bits_of_f32(x) & 0x80000000u;
    float magnitude = __builtin_fabsf(x);
    float z = x * x;
    float p = -0x1.99219ap-8f;
    p = f32_fma(p, z, 0x1.58e518p-6f);
    p = f32_fma(p, z, -0x1.b91e7ep-5f);
    p = f32_fma(p, z, 0x1.110ceep-3f);
    p = f32_fma(p, z, -0x1.55554ap-2f);
    float small = f32_fma(p, x * z, x);

    float twice = magnitude + magnitude;
    struct f32_reduced part = f32_reduce(twice > 20.0f ? 20.0f : twice);
    float divisor = f32_fma(f32_exp_small(part.rest), f32_power_of_two(part.whole), 1.0f);
    float large = f32_fma(f32_inverse(divisor), -2.0f, 1.0f);
    return f32_of_bits(bits_of_f32(magnitude < 0.55f ? small : large) | sign); /* small of -0 is 0 */
}

/*
 * |x| < 0.93: x + x times a polynomial in x^2. Beyond: 1 - 2^q, q a fit of log2(erfc(|x|)) up to 4, where the result is
 * 1 already; each fit is as good as it must be after it is taken from 1. No division, and q needs no care for its size:
 * gelu is bound by arithmetic on GPUs.
 */
float kiln_erf_f32(float x)
{
    uint32_t sign = bits_of_f32(x) & 0x80000000u;
    float magnitude = __builtin_fabsf(x);
    float z = x * x;
    float p = -0x1.386c04p-11f;
    p = f32_fma(p, z, 0x1.46d838p-8f);
    p = f32_fma(p, z, -0x1.b67bcep-6f);
    p = f32_fma(p, z, 0x1.ce1984p-4f);
    p = f32_fma(p, z, -0x1.8126e2p-2f);
    p = f32_fma(p, z, 0x1.06eba6p-3f);
    float small = f32_fma(x, p, x);

    float far = magnitude > 4.0f ? 4.0f : magnitude;
    float q = -0x1.d0ffdcp-10f;
    q = f32_fma(q, far, 0x1.6c282ep-6f);
    q = f32_fma(q, far, -0x1.0ba1e4p-3f);
    q = f32_fma(q, far, -0x1.e144eep-1f);
    q = f32_fma(q, far, -0x1.9d8212p+0f);
    q = f32_fma(q, far, -0x1.81e7ep-9f);
    float shifted = q + F32_ROUNDER;
    float r = q - (shifted - F32_ROUNDER);
    float e = 1.32764889686e-3f;
    e = f32_fma(e, r, 9.67554152911e-3f);
    e = f32_fma(e, r, 5.55071322173e-2f);
    e = f32_fma(e, r, 2.40221197184e-1f);
    e = f32_fma(e, r, 6.93146967090e-1f);
    e = f32_fma(e, r, 1.00000007166f);
    float large = f32_fma(e, -f32_power_of_two(bits_of_f32(shifted)), 1.0f);
    return magnitude < 0.93f ? small : f32_of_bits(bits_of_f32(large) | sign);
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
    p = f32_fma(p, t, 2.0f / 13);
    p = f32_fma(p, t, 2.0f / 11);
    p = f32_fma(p, t, 2.0f / 9);
    p = f32_fma(p, t, 2.0f / 7);
    p = f32_fma(p, t, 2.0f / 5);
    p = f32_fma(p, t, 2.0f / 3);
    return high + f32_fma(s * t, p, 2.0f * s);
}

/*
 * What is left of x after the first quotient is exact, and so corrects it to the last bit (Markstein 1990): within the
 * bounds q is a normal number, and what is left is a multiple of 2^-147.
 */
float kiln_quotient_f32(float x, float d, float inverse)
{
#if KILN_FUSES
    float q = x * inverse;
    return f32_fma(f32_fma(-q, d, x), inverse, q);
#else
    (void)inverse;
    return x / d; /* quicker than fused steps that are computed in float64 */
#endif
}
