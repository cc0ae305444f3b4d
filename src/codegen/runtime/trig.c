/*
 * trig.c - sine, cosine and tangent, right for every finite argument.
 *
 * x is measured in quarter turns: x * 2/pi = q + s with q whole and |s| <= 1/2. 2/pi is cut into pieces of 24 bits, so
 * that each product with (half of) x is exact; of each product only what is left modulo 4 counts. q is taken out after
 * every step, so that s loses no bits to it however large x is. Then sine and cosine of s * pi/2 by polynomials.
 */
#include "runtime.h"

#include "bits.h"
#include "exact.h"

struct trig_angle {
    double high, low;  /* what is left, in radians: high + low, at most pi/4 and a little */
    uint64_t quadrant; /* modulo 4 */
};

struct trig_turns {
    double high, low, whole;
};

/* Adds the product `p`, exact, of at most 51 bits: from 2^53 on it is a multiple of 4. */
static inline struct trig_turns trig_add(struct trig_turns sum, double p)
{
    double fours = (p * 0.25 + F64_WHOLE) - F64_WHOLE;
    double rest = __builtin_fabs(p) < 0x1p53 ? p - 4.0 * fours : 0.0;
    double whole = (rest + F64_WHOLE) - F64_WHOLE;
    struct f64_pair next = f64_two_sum(sum.high, rest - whole);
    double carry = (next.high + F64_WHOLE) - F64_WHOLE;
    struct f64_pair left = f64_two_sum(next.high - carry, next.low + sum.low);
    return (struct trig_turns){left.high, left.low, sum.whole + whole + carry};
}

static inline struct trig_angle trig_from_turns(struct trig_turns turns, double x)
{
    int is_small = __builtin_fabs(x) < 0x1.921fb54442d18p-1;
    struct f64_pair radians = f64_two_product(turns.high, 0x1.921fb54442d18p+0);
    radians.low += turns.high * 0x1.1a62633145c07p-54 + turns.low * 0x1.921fb54442d18p+0;
    uint64_t quadrant = bits_of_f64(turns.whole + F64_WHOLE) & 3u;
    return (struct trig_angle){is_small ? x : radians.high, is_small ? 0.0 : radians.low, is_small ? 0u : quadrant};
}

/* 2/pi in pieces of 24 bits. */
static const uint32_t trig_two_over_pi[] = {
    0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041, 0xfe5163, 0xabdebb, 0xc561b7,
    0x246e3a, 0x424dd2, 0xe00649, 0x2eea09, 0xd1921c, 0xfe1deb, 0x1cb129, 0xa73ee8, 0x8235f5, 0x2ebb44, 0x84e99c,
    0x7026b4, 0x5f7e41, 0x3991d6, 0x398353, 0x39f49c, 0x845f8b, 0xbdf928, 0x3b1ff8, 0x97ffde, 0x05980f, 0xef2f11,
    0x8b5a0a, 0x6d1f6d, 0x367ecf, 0x27cb09, 0xb74f46, 0x3f669e, 0x5fea2d, 0x7527ba, 0xc7ebe5, 0xf17b3d, 0x0739f7,
    0x8a5292, 0xea6bfb, 0x5fb11f, 0x8d5d08, 0x560330, 0x46fc7b, 0x6babf0, 0xcfbc20,
};

static inline struct trig_turns trig_add_piece(struct trig_turns turns, double upper, double lower, uint32_t piece,
                                               double unit)
{
    double value = (double)(int32_t)piece * unit;
    return trig_add(trig_add(turns, upper * value), lower * value);
}

/*
 * x = m * 2^e with m of 53 bits. Pieces before number `first` give multiples of 4; the eight from there on are used,
 * each times the upper and the lower half of m.
 */
static inline struct trig_angle trig_reduce_f64(double x)
{
    uint64_t bits = bits_of_f64(x);
    int64_t exponent = (int64_t)(bits >> 52 & 0x7ffu) - 1075;
    uint64_t mantissa = (bits & 0x800fffffffffffffu) | 0x4330000000000000u;
    int64_t first = exponent < 26 ? 0 : (exponent - 2) / 24;
    first = first > 42 ? 42 : first;
    int64_t shift = exponent - 24 * (first + 1);
    shift = shift < -120 ? -120 : shift;
    double scaled = f64_of_bits(mantissa) * f64_of_bits((uint64_t)(shift + 1023) << 52);
    double upper = f64_of_bits(bits_of_f64(scaled) & ~0x7ffffffull);
    double lower = scaled - upper;
    struct trig_turns turns = {0.0, 0.0, 0.0};
    const uint32_t *pieces = trig_two_over_pi + first;
    turns = trig_add_piece(turns, upper, lower, pieces[0], 1.0);
    turns = trig_add_piece(turns, upper, lower, pieces[1], 0x1p-24);
    turns = trig_add_piece(turns, upper, lower, pieces[2], 0x1p-48);
    turns = trig_add_piece(turns, upper, lower, pieces[3], 0x1p-72);
    turns = trig_add_piece(turns, upper, lower, pieces[4], 0x1p-96);
    turns = trig_add_piece(turns, upper, lower, pieces[5], 0x1p-120);
    turns = trig_add_piece(turns, upper, lower, pieces[6], 0x1p-144);
    turns = trig_add_piece(turns, upper, lower, pieces[7], 0x1p-168);
    return trig_from_turns(turns, x);
}

static inline struct f64_pair trig_sine(struct trig_angle angle)
{
    double r = angle.high, z = r * r;
    double p = -0x1.ab13654fd392ap-41;
    p = p * z + 0x1.61217781a8ccdp-33;
    p = p * z - 0x1.ae6454093c147p-26;
    p = p * z + 0x1.71de3a545b148p-19;
    p = p * z - 0x1.a01a01a01990ap-13;
    p = p * z + 0x1.1111111111110p-7;
    p = p * z - 0x1.5555555555555p-3;
    return f64_fast_sum(r, r * z * p + angle.low * (1.0 - 0.5 * z));
}

static inline struct f64_pair trig_cosine(struct trig_angle angle)
{
    double r = angle.high, z = r * r;
    double p = 0x1.ab746999271a1p-45;
    p = p * z - 0x1.9394b3581cec8p-37;
    p = p * z + 0x1.1eed8de759d0dp-29;
    p = p * z - 0x1.27e4fb7710638p-22;
    p = p * z + 0x1.a01a01a019cf6p-16;
    p = p * z - 0x1.6c16c16c16c16p-10;
    p = p * z + 0x1.5555555555555p-5;
    double half = 0.5 * z, near = 1.0 - half;
    return f64_fast_sum(near, ((1.0 - near) - half) + (z * z * p - r * angle.low));
}

/* The sine a quarter turn further for each step of `turn`. */
static inline double trig_wave(struct trig_angle angle, uint64_t turn)
{
    uint64_t quadrant = angle.quadrant + turn;
    double value = quadrant & 1u ? trig_cosine(angle).high : trig_sine(angle).high;
    return f64_of_bits(bits_of_f64(value) ^ (quadrant & 2u) << 62);
}

static inline double trig_tangent(struct trig_angle angle)
{
    struct f64_pair sine = trig_sine(angle), cosine = trig_cosine(angle);
    int is_odd = angle.quadrant & 1u;
    struct f64_pair over = {is_odd ? cosine.high : sine.high, is_odd ? cosine.low : sine.low};
    struct f64_pair under = {is_odd ? -sine.high : cosine.high, is_odd ? -sine.low : cosine.low};
    double quotient = over.high / under.high;
    return quotient + (over.low - quotient * under.low) / under.high;
}

/* x - x makes NaN of an infinity, which has no angle, and keeps NaN. */
double kiln_sin_f64(double x)
{
    double result = trig_wave(trig_reduce_f64(x), 0) + (x - x);
    return x == 0.0 ? x : result;
}

double kiln_cos_f64(double x)
{
    return trig_wave(trig_reduce_f64(x), 1) + (x - x);
}

double kiln_tan_f64(double x)
{
    double result = trig_tangent(trig_reduce_f64(x)) + (x - x);
    return x == 0.0 ? x : result;
}

/* ---- float32 ------------------------------------------------------------------------------------------------------
 */

struct trig_short {
    double radians;
    uint64_t quadrant; /* modulo 4 */
};

/* Takes the whole part out of the turns. */
static inline double trig_take_whole(double turns, double *whole)
{
    double nearest = (turns + F64_WHOLE) - F64_WHOLE;
    *whole += nearest;
    return turns - nearest;
}

/* One of five, without a table: reading one would keep the loop from becoming vector code. */
static inline double trig_pick(int32_t index, int32_t a, int32_t b, int32_t c, int32_t d, int32_t e)
{
    double low = index == 0 ? (double)a : (double)b;
    double high = index == 2 ? (double)c : (double)d;
    double early = index < 2 ? low : high;
    return index == 4 ? (double)e : early;
}

/*
 * x = m * 2^e with m of 24 bits: five pieces from number `first` on, below 2^50 each, so that all is exact until the
 * whole part has gone three times. What the last two pieces add is too small to bring it back.
 */
static inline struct trig_short trig_reduce_f32(float x)
{
    uint32_t bits = bits_of_f32(x);
    int32_t exponent = (int32_t)(bits >> 23 & 0xffu) - 150;
    int32_t first = exponent < 26 ? 0 : (exponent - 2) / 24;
    int32_t shift = exponent - 24 * (first + 1);
    double m = (double)(int32_t)((bits & 0x7fffffu) | 0x800000u);
    double scaled = m * f64_of_bits((uint64_t)(int64_t)(shift + 1023) << 52);
    double whole = 0.0;
    double turns = trig_take_whole(scaled * trig_pick(first, 0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd), &whole);
    turns = trig_take_whole(
        turns + scaled * 0x1p-24 * trig_pick(first, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62), &whole);
    turns = trig_take_whole(
        turns + scaled * 0x1p-48 * trig_pick(first, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c), &whole);
    turns += scaled * 0x1p-72 * trig_pick(first, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041) +
             scaled * 0x1p-96 * trig_pick(first, 0xf534dd, 0xc0db62, 0x95993c, 0x439041, 0xfe5163);
    int is_small = __builtin_fabsf(x) < 0x1.921fb6p-1f;
    uint64_t is_negative = 0u - (uint64_t)(bits >> 31);
    double radians = turns * 0x1.921fb54442d18p+0;
    uint64_t quadrant = bits_of_f64(whole + F64_WHOLE);
    quadrant = (quadrant ^ is_negative) - is_negative; /* -q: the angle was that of |x| */
    radians = f64_of_bits(bits_of_f64(radians) ^ (is_negative & 0x8000000000000000u));
    return (struct trig_short){is_small ? (double)x : radians, is_small ? 0u : quadrant & 3u};
}

static inline double trig_short_sine(double r)
{
    double z = r * r;
    double p = -1.0 / 39916800;
    p = p * z + 1.0 / 362880;
    p = p * z - 1.0 / 5040;
    p = p * z + 1.0 / 120;
    p = p * z - 1.0 / 6;
    return r + r * z * p;
}

static inline double trig_short_cosine(double r)
{
    double z = r * r;
    double p = 1.0 / 479001600;
    p = p * z - 1.0 / 3628800;
    p = p * z + 1.0 / 40320;
    p = p * z - 1.0 / 720;
    p = p * z + 1.0 / 24;
    p = p * z - 0.5;
    return 1.0 + z * p;
}

static inline float trig_short_wave(float x, uint64_t turn)
{
    struct trig_short angle = trig_reduce_f32(x);
    uint64_t quadrant = angle.quadrant + turn;
    double value = quadrant & 1u ? trig_short_cosine(angle.radians) : trig_short_sine(angle.radians);
    return (float)f64_of_bits(bits_of_f64(value) ^ (quadrant & 2u) << 62) + (x - x);
}

float kiln_sin_f32(float x)
{
    float result = trig_short_wave(x, 0);
    return x == 0.0f ? x : result;
}

float kiln_cos_f32(float x)
{
    return trig_short_wave(x, 1);
}

float kiln_tan_f32(float x)
{
    struct trig_short angle = trig_reduce_f32(x);
    double sine = trig_short_sine(angle.radians), cosine = trig_short_cosine(angle.radians);
    int is_odd = angle.quadrant & 1u;
    float result = (float)((is_odd ? cosine : sine) / (is_odd ? -sine : cosine)) + (x - x);
    return x == 0.0f ? x : result;
}
