/*
 * complex.c - functions of complex64, computed in float64 and rounded once for each part.
 *
 * A formula is written so that no two terms of unlike sign are added where their difference could lose what a float
 * keeps; where one must be (at zeros of a function) the terms are exact or the loss is far below a float. Infinities,
 * NaN, signed zeros and branch cuts are those of C's Annex G. A float squared is a normal double, so nothing overflows
 * on the way; exponents beyond 700 are cut, because what is multiplied with such a power is 0 or infinite in a float.
 *
 * Functions that others turn by 90 degrees: sin(z) = -i sinh(i z), tan, arcsin and arctan alike.
 */
#include "runtime.h"

#include "bits.h"
#include "exact.h"

struct c64 {
    double re, im;
};

#define IS_NAN(x)      ((x) != (x))
#define IS_INFINITE(x) (__builtin_fabs(x) == __builtin_inf())

/* A NaN counts as positive: which sign it has depends on what computed it. */
static inline double c64_with_sign(double magnitude, double sign)
{
    return f64_with_sign(magnitude, IS_NAN(sign) ? 0.0 : sign);
}

static inline uint64_t complex_pack(struct c64 z)
{
    return bits_of_f32((float)z.re) | (uint64_t)bits_of_f32((float)z.im) << 32;
}

/* i z, and z / i */
static inline struct c64 complex_turn(struct c64 z)
{
    return (struct c64){-z.im, z.re};
}

static inline struct c64 complex_turn_back(struct c64 z)
{
    return (struct c64){z.im, -z.re};
}

/* ---- sine and cosine of a real angle ------------------------------------------------------------------------------
 */

struct complex_angle {
    double sine, cosine;
};

static inline struct complex_angle complex_waves(struct trig_angle angle, double y)
{
    double none = y - y; /* NaN for an infinity */
    double sine = trig_wave(angle, 0) + none;
    return (struct complex_angle){y == 0.0 ? y : sine, trig_wave(angle, 1) + none};
}

/* Of an angle that is a float. */
static inline struct complex_angle complex_short_angle(double y)
{
    struct trig_short angle = trig_reduce_f32((float)y);
    return complex_waves((struct trig_angle){angle.radians, 0.0, angle.quadrant}, y);
}

static inline struct complex_angle complex_long_angle(double y)
{
    return complex_waves(trig_reduce_f64(y), y);
}

/* ---- exponentials --------------------------------------------------------------------------------------------------
 */

/* exp(x) (cosine + i sine). An infinite x with an angle that is none: infinite with a NaN, or 0. */
static inline struct c64 complex_exp(struct c64 z, struct complex_angle angle)
{
    double inside = z.re > 700.0 ? 700.0 : z.re;
    double power = kiln_exp_f64(inside < -700.0 ? -700.0 : inside);
    int is_lost = IS_NAN(angle.sine);
    double re = power * angle.cosine, im = power * angle.sine;
    re = is_lost && z.re == __builtin_inf() ? z.re : re;
    re = is_lost && z.re == -__builtin_inf() ? 0.0 : re;
    im = is_lost && z.re == -__builtin_inf() ? 0.0 : im;
    return (struct c64){re, z.im == 0.0 ? z.im : im};
}

uint64_t kiln_exp_c64(float re, float im)
{
    struct c64 z = {re, im};
    return complex_pack(complex_exp(z, complex_short_angle(z.im)));
}

/* exp(x) - 1 times the cosine, less 1 - cosine = 2 sine(y / 2)^2 */
uint64_t kiln_expm1_c64(float re, float im)
{
    struct c64 z = {re, im};
    struct complex_angle angle = complex_short_angle(z.im), half = complex_short_angle((double)(im * 0.5f));
    struct c64 power = complex_exp(z, angle);
    double near = kiln_expm1_f64(z.re < 40.0 ? z.re : 40.0) * angle.cosine - 2.0 * half.sine * half.sine;
    double real = z.re < 40.0 ? near : power.re;
    real = z.re == -__builtin_inf() ? -1.0 : real;
    return complex_pack((struct c64){z.im == 0.0 && z.re < 40.0 ? kiln_expm1_f64(z.re) : real, power.im});
}

struct complex_hyperbolic {
    double sine, cosine;
};

/* Of |x| up to 700. */
static inline struct complex_hyperbolic complex_hyperbolic(double x, double most)
{
    double t = __builtin_fabs(x);
    double e = kiln_expm1_f64(t > most ? most : t);
    double power = e + 1.0;
    return (struct complex_hyperbolic){c64_with_sign(0.5 * (e + e / power), x), 0.5 * (power + 1.0 / power)};
}

static inline struct c64 complex_sinh(struct c64 z)
{
    struct complex_angle angle = complex_short_angle(z.im);
    struct complex_hyperbolic h = complex_hyperbolic(z.re, 700.0);
    double re = h.sine * angle.cosine;
    re = IS_NAN(angle.sine) && (z.re == 0.0 || IS_INFINITE(z.re)) ? z.re : re;
    return (struct c64){re, z.im == 0.0 ? z.im : h.cosine * angle.sine};
}

static inline struct c64 complex_cosh(struct c64 z)
{
    struct complex_angle angle = complex_short_angle(z.im);
    struct complex_hyperbolic h = complex_hyperbolic(z.re, 700.0);
    double im = h.sine * angle.sine;
    im = (z.re == 0.0 || z.im == 0.0) && IS_NAN(im) ? 0.0 : im;
    double re = IS_NAN(angle.sine) && IS_INFINITE(z.re) ? __builtin_inf() : h.cosine * angle.cosine;
    return (struct c64){re, im};
}

/* (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y); from 60 on the imaginary part is 0 in a float. */
static inline struct c64 complex_tanh(struct c64 z)
{
    struct complex_angle angle = complex_short_angle(z.im);
    struct complex_hyperbolic h = complex_hyperbolic(z.re, 60.0);
    double divisor = h.sine * h.sine + angle.cosine * angle.cosine;
    double turn = angle.sine * angle.cosine;
    double re = h.sine * h.cosine / divisor, im = turn / divisor;
    int is_far = IS_INFINITE(z.re);
    re = is_far ? c64_with_sign(1.0, z.re) : re;
    im = is_far ? c64_with_sign(0.0, turn) : im;
    return (struct c64){z.re == 0.0 ? z.re : re, z.im == 0.0 ? z.im : im};
}

#define COMPLEX_FUNCTION(name, function)                                                                               \
    uint64_t kiln_##name##_c64(float re, float im)                                                                     \
    {                                                                                                                  \
        return complex_pack(function((struct c64){re, im}));                                                           \
    }
#define COMPLEX_TURNED(name, function)                                                                                 \
    uint64_t kiln_##name##_c64(float re, float im)                                                                     \
    {                                                                                                                  \
        return complex_pack(complex_turn_back(function(complex_turn((struct c64){re, im}))));                          \
    }

COMPLEX_FUNCTION(sinh, complex_sinh)
COMPLEX_FUNCTION(cosh, complex_cosh)
COMPLEX_FUNCTION(tanh, complex_tanh)
COMPLEX_TURNED(sin, complex_sinh)
COMPLEX_TURNED(tan, complex_tanh)

uint64_t kiln_cos_c64(float re, float im)
{
    return complex_pack(complex_cosh(complex_turn((struct c64){re, im})));
}

/*
 * 1 + w for w = u (cosine + i sine), 0 <= u <= 1, from half of the angle: both terms of the real part are positive, and
 * so are those of the square of the magnitude.
 */
struct complex_one_more {
    double re, im, square;
};

static inline struct complex_one_more complex_one_more(double exponent, struct complex_angle half)
{
    double u = kiln_exp_f64(exponent), less = -kiln_expm1_f64(exponent);
    double both = 2.0 * u * half.cosine * half.cosine;
    return (struct complex_one_more){less + both, 2.0 * u * half.sine * half.cosine, less * less + 2.0 * both};
}

/* With u = exp(-|x|): (1 + u cos y + i u sin y) / |1 + w|^2, or (u^2 + u cos y + i u sin y) / |1 + w|^2 for x < 0. */
uint64_t kiln_sigmoid_c64(float re, float im)
{
    struct c64 z = {re, im};
    struct complex_angle half = complex_short_angle((double)(im * 0.5f));
    double far = -__builtin_fabs(z.re);
    struct complex_one_more sum = complex_one_more(far, half);
    double u = kiln_exp_f64(far);
    double small = u * (2.0 * half.cosine * half.cosine + kiln_expm1_f64(far));
    double real = (z.re < 0.0 ? small : sum.re) / sum.square, imaginary = sum.im / sum.square;
    real = IS_INFINITE(z.re) ? (z.re < 0.0 ? 0.0 : 1.0) : real;
    imaginary = IS_INFINITE(z.re) ? 0.0 : imaginary;
    return complex_pack((struct c64){real, z.im == 0.0 ? z.im : imaginary});
}

/* ---- logarithms ----------------------------------------------------------------------------------------------------
 */

/* log(sqrt(x^2 + y^2)). The squares of floats are exact, and so is their sum less 1 where it is near 0. */
static inline double complex_log_magnitude(double x, double y)
{
    double ax = __builtin_fabs(x), ay = __builtin_fabs(y);
    double large = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
    double square = large * large + small * small;
    double near = 0.5 * kiln_log1p_f64((large * large - 1.0) + small * small);
    double far = 0.5 * kiln_log_f64(square);
    double result = square > 0.5 && square < 2.0 ? near : far;
    return IS_INFINITE(x) || IS_INFINITE(y) ? __builtin_inf() : result;
}

static inline struct c64 complex_log(struct c64 z)
{
    return (struct c64){complex_log_magnitude(z.re, z.im), kiln_arctan2_f64(z.im, z.re)};
}

COMPLEX_FUNCTION(log, complex_log)

static inline uint64_t complex_log_scaled(float re, float im, double by)
{
    struct c64 log = complex_log((struct c64){re, im});
    return complex_pack((struct c64){log.re * by, log.im * by});
}

uint64_t kiln_log2_c64(float re, float im)
{
    return complex_log_scaled(re, im, 0x1.71547652b82fep+0);
}

uint64_t kiln_log10_c64(float re, float im)
{
    return complex_log_scaled(re, im, 0x1.bcb7b1526e50ep-2);
}

/* |1 + z|^2 - 1 = 2 x + x^2 + y^2, three exact terms. */
uint64_t kiln_log1p_c64(float re, float im)
{
    double x = re, y = im, next = 1.0 + x;
    struct f64_pair sum = f64_two_sum(2.0 * x, x * x), all = f64_two_sum(sum.high, y * y);
    double more = all.high + (all.low + sum.low);
    double near = 0.5 * kiln_log1p_f64(more), far = 0.5 * kiln_log_f64(next * next + y * y);
    double real = more > -0.5 && more < 1.0 ? near : far;
    real = IS_INFINITE(x) || IS_INFINITE(y) ? __builtin_inf() : real;
    return complex_pack((struct c64){x == 0.0 && y == 0.0 ? x : real, kiln_arctan2_f64(y, next)});
}

/* The larger in the order of maximum() plus log(1 + w), w = exp(the other - it). */
uint64_t kiln_logaddexp_c64(float ar, float ai, float br, float bi)
{
    int is_first = ar > br || (ar == br && ai > bi) || IS_NAN(ar);
    struct c64 most = {is_first ? ar : br, is_first ? ai : bi}, least = {is_first ? br : ar, is_first ? bi : ai};
    double exponent = least.re == most.re ? 0.0 : least.re - most.re, turn = least.im - most.im;
    int is_alone = least.re == -__builtin_inf() || most.re == __builtin_inf();
    struct complex_angle half = complex_long_angle(0.5 * turn);
    struct complex_one_more sum = complex_one_more(exponent, half);
    double u = kiln_exp_f64(exponent), cosine = 1.0 - 2.0 * half.sine * half.sine;
    double near = kiln_log1p_f64(u * (u + 2.0 * cosine)), far = kiln_log_f64(sum.square);
    double re = most.re + 0.5 * (u < 0.25 ? near : far), im = most.im + kiln_arctan2_f64(sum.im, sum.re);
    return complex_pack((struct c64){is_alone ? most.re : re, is_alone ? most.im : im});
}

/* ---- roots and powers ----------------------------------------------------------------------------------------------
 */

/* t = sqrt((|x| + |z|) / 2), the larger part of the root for its quarter of the plane; the other is |y| / (2 t). */
static inline struct c64 complex_sqrt(struct c64 z)
{
    double magnitude = __builtin_sqrt(z.re * z.re + z.im * z.im);
    double t = __builtin_sqrt(0.5 * (__builtin_fabs(z.re) + magnitude));
    t = IS_INFINITE(z.re) ? __builtin_inf() : t;
    double other = t == 0.0 ? z.im : z.im / (2.0 * t);
    double re = z.re < 0.0 ? __builtin_fabs(other) : t, im = z.re < 0.0 ? c64_with_sign(t, z.im) : other;
    return (struct c64){IS_INFINITE(z.im) ? __builtin_inf() : re, IS_INFINITE(z.im) ? z.im : im};
}

COMPLEX_FUNCTION(sqrt, complex_sqrt)

/* 1 for an infinity, 0 for all else, with the sign. */
static inline double complex_box(double x, int is_boxed)
{
    return is_boxed ? c64_with_sign(IS_INFINITE(x) ? 1.0 : 0.0, x) : x;
}

/* a / b; two NaN are replaced where an infinity or a division by zero says more. */
static inline struct c64 complex_quotient(struct c64 a, struct c64 b)
{
    double square = b.re * b.re + b.im * b.im;
    double re = (a.re * b.re + a.im * b.im) / square, im = (a.im * b.re - a.re * b.im) / square;
    int is_lost = IS_NAN(re) && IS_NAN(im);
    int a_is_infinite = IS_INFINITE(a.re) || IS_INFINITE(a.im), b_is_infinite = IS_INFINITE(b.re) || IS_INFINITE(b.im);
    int a_is_finite = a.re - a.re == 0.0 && a.im - a.im == 0.0, b_is_finite = b.re - b.re == 0.0 && b.im - b.im == 0.0;
    int by_zero = is_lost && square == 0.0 && !(IS_NAN(a.re) && IS_NAN(a.im));
    int is_infinite = is_lost && a_is_infinite && b_is_finite, is_zero = is_lost && b_is_infinite && a_is_finite;
    struct c64 over = {complex_box(a.re, is_infinite), complex_box(a.im, is_infinite)};
    struct c64 under = {complex_box(b.re, is_zero), complex_box(b.im, is_zero)};
    double scale = is_infinite ? __builtin_inf() : 0.0, zero = c64_with_sign(__builtin_inf(), b.re);
    double boxed_re = scale * (over.re * under.re + over.im * under.im);
    double boxed_im = scale * (over.im * under.re - over.re * under.im);
    re = is_infinite || is_zero ? boxed_re : re;
    im = is_infinite || is_zero ? boxed_im : im;
    return (struct c64){by_zero ? zero * a.re : re, by_zero ? zero * a.im : im};
}

uint64_t kiln_divide_c64(float ar, float ai, float br, float bi)
{
    return complex_pack(complex_quotient((struct c64){ar, ai}, (struct c64){br, bi}));
}

uint64_t kiln_reciprocal_c64(float re, float im)
{
    return complex_pack(complex_quotient((struct c64){1.0, 0.0}, (struct c64){re, im}));
}

uint64_t kiln_rsqrt_c64(float re, float im)
{
    return complex_pack(complex_quotient((struct c64){1.0, 0.0}, complex_sqrt((struct c64){re, im})));
}

/* exp(w log(z)). A part of w that is 0 adds nothing, whatever it meets. z^0 = 1; 0^w is 0, infinite or NaN as re(w)
 * says. */
uint64_t kiln_power_c64(float ar, float ai, float br, float bi)
{
    struct c64 log = complex_log((struct c64){ar, ai});
    double c = br, d = bi;
    struct c64 exponent = {(c == 0.0 ? 0.0 : c * log.re) - (d == 0.0 ? 0.0 : d * log.im),
                           (d == 0.0 ? 0.0 : d * log.re) + (c == 0.0 ? 0.0 : c * log.im)};
    struct c64 power = complex_exp(exponent, complex_long_angle(exponent.im));
    int of_zero = ar == 0.0f && ai == 0.0f, is_one = c == 0.0 && d == 0.0;
    double none = c > 0.0 && d == d ? 0.0 : __builtin_nan("");
    power.re = of_zero ? (c < 0.0 ? __builtin_inf() : none) : power.re, power.im = of_zero ? none : power.im;
    return complex_pack((struct c64){is_one ? 1.0 : power.re, is_one ? 0.0 : power.im});
}

/* ---- inverses ------------------------------------------------------------------------------------------------------
 */

/*
 * Kahan, "Branch cuts for complex elementary functions" (1987): from the roots of 1 - z and 1 + z, whose imaginary
 * parts have unlike signs, so that nothing cancels.
 */
static inline struct c64 complex_arcsin(struct c64 z)
{
    struct c64 less = complex_sqrt((struct c64){1.0 - z.re, -z.im});
    struct c64 more = complex_sqrt((struct c64){1.0 + z.re, z.im});
    double re = kiln_arctan2_f64(z.re, less.re * more.re - less.im * more.im);
    double im = kiln_arcsinh_f64(less.re * more.im - less.im * more.re);
    int is_far = IS_INFINITE(z.re) || IS_INFINITE(z.im);
    re = is_far ? kiln_arctan2_f64(z.re, __builtin_fabs(z.im)) : re;
    im = is_far ? c64_with_sign(__builtin_inf(), z.im) : im;
    return (struct c64){z.re == 0.0 ? z.re : re, z.im == 0.0 && __builtin_fabs(z.re) <= 1.0 ? z.im : im};
}

static inline struct c64 complex_arccos(struct c64 z)
{
    struct c64 less = complex_sqrt((struct c64){1.0 - z.re, -z.im});
    struct c64 more = complex_sqrt((struct c64){1.0 + z.re, z.im});
    double re = 2.0 * kiln_arctan2_f64(less.re, more.re);
    double im = kiln_arcsinh_f64(more.re * less.im - more.im * less.re);
    int is_far = IS_INFINITE(z.re) || IS_INFINITE(z.im);
    re = is_far ? kiln_arctan2_f64(__builtin_fabs(z.im), z.re) : re;
    im = is_far ? c64_with_sign(__builtin_inf(), -z.im) : im;
    return (struct c64){z.re == 0.0 && IS_NAN(z.im) ? PI_HIGH / 2 : re,
                        z.im == 0.0 && __builtin_fabs(z.re) <= 1.0 ? -z.im : im};
}

/* +i or -i times the arc cosine: the one with a real part that is not negative */
static inline struct c64 complex_arccosh(struct c64 z)
{
    struct c64 angle = complex_arccos(z);
    return (struct c64){__builtin_fabs(angle.im), c64_with_sign(angle.re, z.im)};
}

/* 1/4 log(1 + 4 |x| / ((1 - |x|)^2 + y^2)), and half the angle of (1 - x)(1 + x) - y^2 + 2 y i */
static inline struct c64 complex_arctanh(struct c64 z)
{
    double t = __builtin_fabs(z.re), less = 1.0 - t;
    double re = 0.25 * kiln_log1p_f64(4.0 * t / (less * less + z.im * z.im));
    double im = 0.5 * kiln_arctan2_f64(2.0 * z.im, less * (1.0 + t) - z.im * z.im);
    int is_far = IS_INFINITE(z.re) || IS_INFINITE(z.im);
    re = is_far ? 0.0 : re;
    im = is_far && z.im == z.im ? c64_with_sign(PI_HIGH / 2, z.im) : im;
    return (struct c64){z.re == 0.0 ? z.re : c64_with_sign(re, z.re), im};
}

COMPLEX_FUNCTION(arccos, complex_arccos)
COMPLEX_FUNCTION(arccosh, complex_arccosh)
COMPLEX_FUNCTION(arcsin, complex_arcsin)
COMPLEX_FUNCTION(arctanh, complex_arctanh)
COMPLEX_TURNED(arctan, complex_arctanh)

uint64_t kiln_arcsinh_c64(float re, float im)
{
    return complex_pack(complex_turn(complex_arcsin(complex_turn_back((struct c64){re, im}))));
}
