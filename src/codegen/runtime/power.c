/*
 * power.c - x to the power y, and the remainder of a division that has the divisor's sign.
 *
 * float64: y * log(x) reaches 745, so the logarithm is kept as a pair of doubles, right to about 2^-65; float32 needs
 * no more than float64. Integers multiply modulo 2^bits. What loops here (powers of integers, the remainder in float64)
 * takes as many steps as the numbers ask for, and is not vectorised.
 */
#include "runtime.h"

#include "bits.h"
#include "exact.h"

/* ---- floats ------------------------------------------------------------------------------------------------------ */

static inline int f64_is_whole(double x)
{
    double t = __builtin_fabs(x);
    return t >= 0x1p52 || (t + 0x1p52) - 0x1p52 == t;
}

/* `finite` is |x|^y for finite numbers other than 0; C's pow() says what the others give. */
static inline double power_cases(double x, double y, double finite)
{
    double base = __builtin_fabs(x), infinity = __builtin_inf();
    int is_negative = bits_of_f64(x) >> 63 != 0, is_whole = f64_is_whole(y),
        is_odd = is_whole && !f64_is_whole(0.5 * y);
    double end = y > 0.0 ? infinity : 0.0, start = y > 0.0 ? 0.0 : infinity;
    double result = finite;
    result = __builtin_fabs(y) == infinity ? (base > 1.0 ? end : start) : result;
    result = base == 0.0 ? start : result;
    result = base == infinity ? end : result;
    result = base == 1.0 ? 1.0 : result;
    result = is_negative && is_odd ? -result : result;
    result = x < 0.0 && base < infinity && !is_whole ? __builtin_nan("") : result;
    result = x != x || y != y ? x + y : result;
    return x == 1.0 || y == 0.0 ? 1.0 : result;
}

float kiln_power_f32(float x, float y)
{
    double finite = kiln_exp_f64((double)y * kiln_log_f64(__builtin_fabs((double)x)));
    return (float)power_cases(x, y, finite);
}

static inline struct f64_pair pair_times(struct f64_pair a, struct f64_pair b)
{
    struct f64_pair out = f64_two_product(a.high, b.high);
    out.low += a.high * b.low + a.low * b.high;
    return out;
}

/*
 * log(x) for x > 0, finite: k log(2) + 2 atanh(s), s = f / (2 + f). The first two terms of the series are computed as
 * pairs, the others as doubles: they are small.
 */
static inline struct f64_pair log_pair(double x)
{
    const uint64_t root_half = 0x3fe6a09e667f3bcdu;
    int is_tiny = x < 0x1p-1022;
    uint64_t bits = bits_of_f64(is_tiny ? x * 0x1p52 : x) - root_half;
    uint64_t exponent = (uint64_t)((int64_t)bits >> 52) - (is_tiny ? 52u : 0u);
    double k = f64_of_bits(bits_of_f64(F64_WHOLE) + exponent) - F64_WHOLE;
    double f = f64_of_bits((bits & 0xfffffffffffffu) + root_half) - 1.0;
    struct f64_pair divisor = f64_fast_sum(2.0, f), s, z, factor;
    s.high = f / divisor.high;
    struct f64_pair product = f64_two_product(s.high, divisor.high);
    s.low = (((f - product.high) - product.low) - s.high * divisor.low) / divisor.high;
    z = pair_times(s, s);
    double p = 2.0 / 25;
    p = p * z.high + 2.0 / 23;
    p = p * z.high + 2.0 / 21;
    p = p * z.high + 2.0 / 19;
    p = p * z.high + 2.0 / 17;
    p = p * z.high + 2.0 / 15;
    p = p * z.high + 2.0 / 13;
    p = p * z.high + 2.0 / 11;
    p = p * z.high + 2.0 / 9;
    p = p * z.high + 2.0 / 7;
    p = p * z.high + 2.0 / 5;
    factor = f64_fast_sum(0x1.5555555555555p-1, p * z.high);
    factor.low += 0x1.5555555555555p-55 + p * z.low;
    struct f64_pair third = pair_times(s, pair_times(z, factor));
    struct f64_pair mantissa = f64_fast_sum(2.0 * s.high, third.high);
    mantissa.low += 2.0 * s.low + third.low;
    struct f64_pair sum = f64_two_sum(k * 0x1.62e42feep-1, mantissa.high);
    return f64_fast_sum(sum.high, sum.low + (mantissa.low + k * 0x1.a39ef35793c76p-33));
}

double kiln_power_f64(double x, double y)
{
    double base = __builtin_fabs(x);
    int is_plain = base > 0.0 && base < __builtin_inf();
    double limited = y > 0x1p70 ? 0x1p70 : y;
    limited = limited < -0x1p70 ? -0x1p70 : limited;
    struct f64_pair log = log_pair(is_plain ? base : 1.0);
    struct f64_pair product = f64_two_product(limited, log.high);
    double low = product.low + limited * log.low;
    double inside = product.high < -746.0 ? -746.0 : product.high;
    inside = inside > 710.0 ? 710.0 : inside;
    struct f64_reduced part = f64_reduce(inside);
    part.low -= inside == product.high ? low : 0.0;
    part.rest = part.high - part.low;
    int64_t half = part.two >> 1;
    double finite = (1.0 + f64_expm1_small(part)) * f64_power_of_two(half) * f64_power_of_two(part.two - half);
    return power_cases(x, y, finite);
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static inline uint64_t whole_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base) result *= exponent & 1u ? base : 1u;
    return result;
}

/* 1 / base for a negative exponent, cut to a whole number: 0 unless base is 1 or -1; and 0 for 0. */
static inline int64_t signed_power(int64_t base, int64_t exponent)
{
    int64_t inverse = base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    return exponent < 0 ? inverse : (int64_t)whole_power((uint64_t)base, (uint64_t)exponent);
}

#define INTEGER_POWER(bits)                                                                                            \
    int##bits##_t kiln_spower_i##bits(int##bits##_t x, int##bits##_t y)                                                \
    {                                                                                                                  \
        return (int##bits##_t)signed_power(x, y);                                                                      \
    }                                                                                                                  \
    uint##bits##_t kiln_upower_i##bits(uint##bits##_t x, uint##bits##_t y)                                             \
    {                                                                                                                  \
        return (uint##bits##_t)whole_power(x, y);                                                                      \
    }
INTEGER_POWER(8)
INTEGER_POWER(16)
INTEGER_POWER(32)
INTEGER_POWER(64)
#undef INTEGER_POWER

/* ---- remainders -------------------------------------------------------------------------------------------------- */

/* From the remainder with the sign of the dividend to that with the sign of the divisor. */
static inline double remainder_sign(double rest, double y)
{
    return rest != 0.0 && (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}

/* One step: x modulo y * 2^shift. The quotient has less than 2^29, so that its product with 24 bits of y is exact. */
static inline double remainder_step(double x, double y, double scale)
{
    double unit = y * scale, quotient = x / unit;
    double whole = (quotient + 0x1.8p52) - 0x1.8p52;
    double rest = x - whole * unit;
    return rest < 0.0 ? rest + unit : rest;
}

float kiln_remainder_f32(float x, float y)
{
    double t = __builtin_fabs((double)x), unit = __builtin_fabs((double)y);
    double divisor = unit < 0x1p128 ? unit : 0x1p128;
    double rest = remainder_step(t, divisor, 0x1p261);
    rest = remainder_step(rest, divisor, 0x1p232);
    rest = remainder_step(rest, divisor, 0x1p203);
    rest = remainder_step(rest, divisor, 0x1p174);
    rest = remainder_step(rest, divisor, 0x1p145);
    rest = remainder_step(rest, divisor, 0x1p116);
    rest = remainder_step(rest, divisor, 0x1p87);
    rest = remainder_step(rest, divisor, 0x1p58);
    rest = remainder_step(rest, divisor, 0x1p29);
    rest = remainder_step(rest, divisor, 1.0);
    rest = bits_of_f32(x) >> 31 ? -rest : rest;
    float result = (float)remainder_sign(rest, y);
    return y == 0.0f || x != x || y != y || t == (double)__builtin_inff() ? __builtin_nanf("") : result;
}

/* A finite number other than 0 as m * 2^e with m of 53 bits. */
struct f64_number {
    uint64_t m;
    int64_t e;
};

static inline struct f64_number f64_number_of(double x)
{
    int is_tiny = x < 0x1p-1022;
    uint64_t bits = bits_of_f64(is_tiny ? x * 0x1p54 : x);
    return (struct f64_number){(bits & 0xfffffffffffffu) | 0x10000000000000u,
                               (int64_t)(bits >> 52) - 1075 - (is_tiny ? 54 : 0)};
}

/* Long division, eleven bits at a time. */
double kiln_remainder_f64(double x, double y)
{
    double t = __builtin_fabs(x), divisor = __builtin_fabs(y);
    if (!(t < __builtin_inf()) || !(divisor > 0.0)) return __builtin_nan("");
    double rest = t;
    if (t >= divisor) {
        struct f64_number a = f64_number_of(t), b = f64_number_of(divisor);
        uint64_t left = a.m % b.m;
        for (int64_t n = a.e - b.e; n > 0 && left; n -= 11) left = (left << (n < 11 ? n : 11)) % b.m;
        int64_t half = b.e >> 1;
        rest = (double)(int64_t)left * f64_power_of_two(half) * f64_power_of_two(b.e - half);
    }
    return remainder_sign(bits_of_f64(x) >> 63 ? -rest : rest, y);
}
