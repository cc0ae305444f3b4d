/*
 * math_f64.c - the helpers of math_f32.c in float64: the same methods with longer series.
 */
#include "runtime.h"

#include "bits.h"
#include "exact.h"

#define F64_LN2_HIGH 0x1.62e42feep-1
#define F64_LN2_LOW  0x1.a39ef35793c76p-33
#define F64_INFINITY __builtin_inf()

struct f64_reduced {
    double rest;      /* r */
    double high, low; /* r = high - low, high exact: the part of r that rounding lost counts */
    int64_t two;      /* k */
};

static inline struct f64_reduced f64_reduce(double x)
{
    double shifted = x * 0x1.71547652b82fep+0 + F64_WHOLE;
    double whole = shifted - F64_WHOLE;
    double high = x - whole * F64_LN2_HIGH;
    double low = whole * F64_LN2_LOW;
    int64_t two = (int64_t)(bits_of_f64(shifted) - bits_of_f64(F64_WHOLE));
    return (struct f64_reduced){high - low, high, low, two};
}

static inline double f64_power_of_two(int64_t k)
{
    return f64_of_bits((uint64_t)(k + 1023) << 52);
}

/* exp(r) - 1 */
static inline double f64_expm1_small(struct f64_reduced part)
{
    double r = part.rest;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    return part.high + (r * r * p - part.low);
}

double kiln_exp_f64(double x)
{
    double inside = x < -746.0 ? -746.0 : x;
    inside = inside > 710.0 ? 710.0 : inside;
    struct f64_reduced part = f64_reduce(inside);
    int64_t half = part.two >> 1;
    double mantissa = 1.0 + f64_expm1_small(part);
    double last = x < -746.0 ? 0.0 : f64_power_of_two(part.two - half); /* see kiln_exp_f32 */
    return mantissa * f64_power_of_two(half) * last;
}

/* x = 2^k (1 + f); log(1 + f) = f - half + s * (half + series), half = f * f / 2, s = f / (2 + f). */
struct f64_log {
    double k, f, half, tail; /* tail = s * (half + series) */
};

static inline struct f64_log f64_log_pieces(double x)
{
    const uint64_t root_half = 0x3fe6a09e667f3bcdu;
    int is_tiny = x < 0x1p-1022;
    uint64_t bits = bits_of_f64(is_tiny ? x * 0x1p52 : x) - root_half;
    uint64_t exponent = (uint64_t)((int64_t)bits >> 52) - (is_tiny ? 52u : 0u);
    double k = f64_of_bits(bits_of_f64(F64_WHOLE) + exponent) - F64_WHOLE;
    double f = f64_of_bits((bits & 0xfffffffffffffu) + root_half) - 1.0;
    double s = f / (2.0 + f), z = s * s;
    double p = 2.0 / 23;
    p = p * z + 2.0 / 21;
    p = p * z + 2.0 / 19;
    p = p * z + 2.0 / 17;
    p = p * z + 2.0 / 15;
    p = p * z + 2.0 / 13;
    p = p * z + 2.0 / 11;
    p = p * z + 2.0 / 9;
    p = p * z + 2.0 / 7;
    p = p * z + 2.0 / 5;
    p = p * z + 2.0 / 3;
    double half = 0.5 * f * f;
    return (struct f64_log){k, f, half, s * (half + z * p)};
}

/* Zero, infinity, negative numbers and NaN, for a logarithm of any base. */
static inline double f64_log_cases(double x, double finite)
{
    double result = x == __builtin_inf() ? x : finite;
    result = x < 0.0 ? __builtin_nan("") : result;
    result = x == 0.0 ? -__builtin_inf() : result;
    return x == x ? result : x;
}

double kiln_log_f64(double x)
{
    struct f64_log log = f64_log_pieces(x);
    double finite = log.k * F64_LN2_HIGH + (log.f - (log.half - (log.tail + log.k * F64_LN2_LOW)));
    return f64_log_cases(x, finite);
}

double kiln_sigmoid_f64(double x)
{
    int is_negative = x < 0.0;
    double inside = is_negative ? x : -x;
    struct f64_reduced part = f64_reduce(inside < -746.0 ? -746.0 : inside);
    double rest = f64_expm1_small(part);
    double mantissa = 1.0 + rest;
    int64_t half = part.two >> 1;
    double scale = f64_power_of_two(half), scale_again = f64_power_of_two(part.two - half);
    double z = mantissa * scale * scale_again;
    double z_lost = (rest - (mantissa - 1.0)) * scale * scale_again;
    double divisor = 1.0 + z;
    double divisor_lost = (z - (divisor - 1.0)) + z_lost;
    double q = (is_negative ? z : 1.0) / divisor;
    double inverse = is_negative ? 1.0 - q : q;
    return q + ((is_negative ? z_lost : 0.0) - q * divisor_lost) * inverse;
}

double kiln_tanh_f64(double x)
{
    uint64_t sign = bits_of_f64(x) & 0x8000000000000000u;
    double magnitude = f64_of_bits(bits_of_f64(x) ^ sign);
    struct f64_reduced part = f64_reduce(magnitude > 20.0 ? 40.0 : 2.0 * magnitude);
    double scale = f64_power_of_two(part.two);
    double rest = scale * f64_expm1_small(part);
    double q = rest + (scale - 1.0);
    double q_lost = rest - (q - (scale - 1.0));
    double divisor = q + 2.0;
    double divisor_lost = (q < 2.0 ? q - (divisor - 2.0) : 2.0 - (divisor - q)) + q_lost;
    double t = q / divisor;
    double result = t + (q_lost - t * divisor_lost) * (0.5 * (1.0 - t));
    return f64_of_bits(bits_of_f64(result) | sign);
}

/* As kiln_erf_f32(); u runs from 1 at x = 1 to -1 at x = 6. */
double kiln_erf_f64(double x)
{
    uint64_t sign = bits_of_f64(x) & 0x8000000000000000u;
    double magnitude = f64_of_bits(bits_of_f64(x) ^ sign);
    double z = x * x;
    double p = 5.9571761477489113e-11;
    p = p * z - 1.1372848856791674e-09;
    p = p * z + 1.4659775274047436e-08;
    p = p * z - 1.6350312701054695e-07;
    p = p * z + 1.6461000484121368e-06;
    p = p * z - 1.4925595266831182e-05;
    p = p * z + 0.0001205533111164271;
    p = p * z - 0.000854832698083379;
    p = p * z + 0.0052239776248180145;
    p = p * z - 0.026866170645076792;
    p = p * z + 0.11283791670954879;
    p = p * z - 0.37612638903183748;
    p = p * z + 0.12837916709551257;
    double small = x + x * p;

    double far = magnitude > 6.0 ? 6.0 : magnitude;
    double u = (10.8 - 3.8 * far) / (6.0 + far);
    double q = 4.7522189122465839e-11;
    q = q * u - 1.0409490586514693e-10;
    q = q * u - 8.3351771350740923e-10;
    q = q * u - 3.3421891944788062e-09;
    q = q * u + 1.9630886378419319e-09;
    q = q * u + 2.6761300795522432e-08;
    q = q * u + 2.2253073034326738e-07;
    q = q * u + 2.6689385041192691e-07;
    q = q * u + 1.9369351684816893e-07;
    q = q * u - 1.1765207545360003e-05;
    q = q * u - 2.8694643837302262e-05;
    q = q * u - 0.00014650047104363225;
    q = q * u + 0.00041368386310691491;
    q = q * u + 0.0016334379329558269;
    q = q * u + 0.024149041862493267;
    q = q * u + 0.05625089279973855;
    q = q * u + 0.73944338316196689;
    q = q * u - 1.6713096968412908;
    double large = f64_of_bits(bits_of_f64(1.0 - kiln_exp_f64(q - far * far)) | sign);
    return magnitude < 1.0 ? small : large;
}

double kiln_logaddexp_f64(double a, double b)
{
    double high = a > b ? a : b;
    double low = a > b ? b : a;
    double z = kiln_exp_f64(a == b ? 0.0 : low - high);
    double s = z / (2.0 + z);
    double t = s * s;
    double p = 2.0 / 37;
    p = p * t + 2.0 / 35;
    p = p * t + 2.0 / 33;
    p = p * t + 2.0 / 31;
    p = p * t + 2.0 / 29;
    p = p * t + 2.0 / 27;
    p = p * t + 2.0 / 25;
    p = p * t + 2.0 / 23;
    p = p * t + 2.0 / 21;
    p = p * t + 2.0 / 19;
    p = p * t + 2.0 / 17;
    p = p * t + 2.0 / 15;
    p = p * t + 2.0 / 13;
    p = p * t + 2.0 / 11;
    p = p * t + 2.0 / 9;
    p = p * t + 2.0 / 7;
    p = p * t + 2.0 / 5;
    p = p * t + 2.0 / 3;
    return high + (2.0 * s + s * t * p);
}
