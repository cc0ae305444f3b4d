/*
 * inverse.c - arc sine, arc cosine, arc tangent, and the inverse of the error function. float32 is computed in float64.
 *
 * Arc tangent: |x| is moved towards one of 0, 1/2, 1, 3/2 and infinity, whose angles are known to more than a double
 * holds. Arc sine: directly up to 1/2; beyond, from the half angle, whose sine is sqrt((1 - |x|) / 2).
 */
#include "runtime.h"

#include "bits.h"
#include "exact.h"

#define PI_HIGH      0x1.921fb54442d18p+1
#define PI_LOW       0x1.1a62633145c07p-53
#define F64_SIGN_BIT 0x8000000000000000u

static inline double f64_with_sign(double magnitude, double sign)
{
    return f64_of_bits((bits_of_f64(magnitude) & ~F64_SIGN_BIT) | (bits_of_f64(sign) & F64_SIGN_BIT));
}

/* The angle whose tangent is t >= 0. */
static inline double arc_tangent(double t)
{
    double over = t, under = 1.0, base = 0.0, base_low = 0.0;
    over = t >= 0.4375 ? 2.0 * t - 1.0 : over, under = t >= 0.4375 ? 2.0 + t : under;
    base = t >= 0.4375 ? 0x1.dac670561bb4fp-2 : base, base_low = t >= 0.4375 ? 0x1.a2b7f222f65e2p-56 : base_low;
    over = t >= 0.6875 ? t - 1.0 : over, under = t >= 0.6875 ? t + 1.0 : under;
    base = t >= 0.6875 ? PI_HIGH / 4 : base, base_low = t >= 0.6875 ? PI_LOW / 4 : base_low;
    over = t >= 1.1875 ? t - 1.5 : over, under = t >= 1.1875 ? 1.0 + 1.5 * t : under;
    base = t >= 1.1875 ? 0x1.f730bd281f69bp-1 : base, base_low = t >= 1.1875 ? 0x1.007887af0cbbdp-56 : base_low;
    over = t >= 2.4375 ? -1.0 : over, under = t >= 2.4375 ? t : under;
    base = t >= 2.4375 ? PI_HIGH / 2 : base, base_low = t >= 2.4375 ? PI_LOW / 2 : base_low;
    double v = over / under, z = v * v;
    double p = -0x1.99ef465843f9bp-7;
    p = p * z + 0x1.ddd7373373f00p-6;
    p = p * z - 0x1.4abbfdd2be694p-5;
    p = p * z + 0x1.812bcfc86b90cp-5;
    p = p * z - 0x1.ae7fd9a52a075p-5;
    p = p * z + 0x1.e1d233ed77442p-5;
    p = p * z - 0x1.1110904178f8fp-4;
    p = p * z + 0x1.3b13aba9355c0p-4;
    p = p * z - 0x1.745d171e17004p-4;
    p = p * z + 0x1.c71c71c6734d0p-4;
    p = p * z - 0x1.24924924918dap-3;
    p = p * z + 0x1.999999999998fp-3;
    p = p * z - 0x1.5555555555555p-2;
    return base + ((v * z * p + base_low) + v);
}

double kiln_arctan_f64(double x)
{
    return f64_with_sign(arc_tangent(__builtin_fabs(x)), x);
}

/* The smaller over the larger gives an angle up to pi/4; the rest is symmetry. */
double kiln_arctan2_f64(double y, double x)
{
    double ay = __builtin_fabs(y), ax = __builtin_fabs(x);
    double large = ay > ax ? ay : ax, small = ay > ax ? ax : ay;
    double t = large == small ? 1.0 : small / large;
    t = large == 0.0 ? 0.0 : t;
    double angle = arc_tangent(t);
    angle = ay > ax ? PI_HIGH / 2 - (angle - PI_LOW / 2) : angle;
    angle = bits_of_f64(x) & F64_SIGN_BIT ? PI_HIGH - (angle - PI_LOW) : angle;
    return x != x || y != y ? x + y : f64_with_sign(angle, y);
}

/* (asin(v) - v) / v for v * v = z <= 1/4 */
static inline double arc_sine_tail(double z)
{
    double p = 0x1.e58a4f278e007p-6;
    p = p * z - 0x1.3bd7e353ddbc2p-6;
    p = p * z + 0x1.40c91fa8deb7ep-6;
    p = p * z + 0x1.8dcdf11997e0fp-9;
    p = p * z + 0x1.31777489dfd29p-7;
    p = p * z + 0x1.3b462d121c5d2p-7;
    p = p * z + 0x1.7b02ef007d23ep-7;
    p = p * z + 0x1.c990a42b32b03p-7;
    p = p * z + 0x1.1c4efd20ebb99p-6;
    p = p * z + 0x1.6e8ba121b9d5fp-6;
    p = p * z + 0x1.f1c71c7a5e151p-6;
    p = p * z + 0x1.6db6db6dac0eap-5;
    p = p * z + 0x1.3333333333389p-4;
    p = p * z + 0x1.5555555555555p-3;
    return z * p;
}

double kiln_arcsin_f64(double x)
{
    double t = __builtin_fabs(x);
    int is_far = t > 0.5;
    double z = is_far ? 0.5 * (1.0 - t) : t * t;
    double v = is_far ? __builtin_sqrt(z) : t;
    double tail = v * arc_sine_tail(z);
    double high = f64_of_bits(bits_of_f64(v) & 0xffffffff00000000u);
    double sum = v + high;
    double low = (z - high * high) / (sum == 0.0 ? 1.0 : sum); /* v = high + low, closer than v is */
    double rest = (2.0 * tail - (PI_LOW / 2 - 2.0 * low)) - (PI_HIGH / 4 - 2.0 * high);
    return f64_with_sign(is_far ? PI_HIGH / 4 - rest : v + tail, x);
}

double kiln_arccos_f64(double x)
{
    double t = __builtin_fabs(x);
    int is_far = t > 0.5;
    double z = is_far ? 0.5 * (1.0 - t) : t * t;
    double v = is_far ? __builtin_sqrt(z) : x;
    double tail = v * arc_sine_tail(z);
    double near = PI_HIGH / 2 - (v - (PI_LOW / 2 - tail));
    double far = 2.0 * (v + tail);
    far = x < 0.0 ? PI_HIGH - (far - PI_LOW) : far;
    return is_far ? far : near;
}

/*
 * erfinv(y) = y * P(w), w = -log(1 - y * y): polynomials in w up to 2.5 and 6.25, in sqrt(w) up to 16 and beyond.
 */
double kiln_erfinv_f64(double y)
{
    struct f64_pair less = f64_two_sum(1.0, -y), more = f64_two_sum(1.0, y);
    struct f64_pair product = f64_two_product(less.high, more.high);
    double lost = product.low + less.high * more.low + less.low * more.high;
    double w = -(kiln_log_f64(product.high) + lost / product.high);
    double root = __builtin_sqrt(w);
    double u = w - 4.375, v = root - 3.25, t = root - 5.05;
    double first = 0x1.6f7a489fca3bbp-53;
    first = first * w - 0x1.191ebbce734d3p-47;
    first = first * w + 0x1.2620f2ea7099cp-43;
    first = first * w - 0x1.1a7d59e2b6475p-40;
    first = first * w + 0x1.8ef749f65f9ffp-39;
    first = first * w + 0x1.a76b62c02f865p-38;
    first = first * w - 0x1.33066d3d444bep-38;
    first = first * w - 0x1.29a36efa909f2p-31;
    first = first * w + 0x1.a91629c37f327p-31;
    first = first * w + 0x1.8752488bf0320p-26;
    first = first * w - 0x1.4047cb8dab3e6p-25;
    first = first * w - 0x1.0fce821d39befp-20;
    first = first * w + 0x1.0f1e5639d97d1p-19;
    first = first * w + 0x1.87014e2e5fbf8p-15;
    first = first * w - 0x1.0c86b85b14b07p-13;
    first = first * w - 0x1.3211025dfd0a7p-9;
    first = first * w + 0x1.7a72e72c1edfcp-7;
    first = first * w + 0x1.db29fb2fee5e4p-3;
    double near = -0x1.379a3ff09727ap-53;
    near = near * u - 0x1.4d9cc687973dfp-52;
    near = near * u + 0x1.d9dc5d9e15e7dp-47;
    near = near * u - 0x1.5c3bb19b0d324p-44;
    near = near * u - 0x1.29b19c7cc3c95p-43;
    near = near * u + 0x1.9edb905242a3ap-38;
    near = near * u - 0x1.916351f5612afp-35;
    near = near * u + 0x1.a5560ff6b31d2p-35;
    near = near * u + 0x1.50f04023a7e01p-29;
    near = near * u - 0x1.bd51666a4959dp-26;
    near = near * u + 0x1.78b19e0a43ad7p-24;
    near = near * u + 0x1.bd3d49998e525p-21;
    near = near * u - 0x1.d572f9645bbcap-17;
    near = near * u + 0x1.7e15823e160a4p-14;
    near = near * u - 0x1.8903f5eb2ea49p-15;
    near = near * u - 0x1.e23abe81bbc97p-8;
    near = near * u + 0x1.c8736cdd69cb4p-3;
    double middle = 0x1.07e3c2020286fp-27;
    middle = middle * v - 0x1.06f1da245bfd3p-26;
    middle = middle * v - 0x1.674f1725daa65p-26;
    middle = middle * v + 0x1.1a9484c4d3628p-23;
    middle = middle * v - 0x1.079a074d69940p-22;
    middle = middle * v - 0x1.da75906425fdap-26;
    middle = middle * v + 0x1.8db69feb41fb6p-20;
    middle = middle * v - 0x1.0b79e820e8497p-18;
    middle = middle * v + 0x1.899aa0e374402p-19;
    middle = middle * v + 0x1.a241c6f237f34p-17;
    middle = middle * v - 0x1.8cf463501e9a0p-15;
    middle = middle * v + 0x1.1e6abbe66ca02p-14;
    middle = middle * v + 0x1.932e8fd4360edp-16;
    middle = middle * v - 0x1.7448bcc8e9aa7p-12;
    middle = middle * v + 0x1.f3cc545d9ca81p-11;
    middle = middle * v - 0x1.ba9240d8768c3p-10;
    middle = middle * v + 0x1.468eeca944c44p-9;
    middle = middle * v - 0x1.ebadabba02be5p-9;
    middle = middle * v + 0x1.5ffcfe5b6cd38p-8;
    middle = middle * v + 0x1.0158a6d641d55p+0;
    double far = -0x1.0f9c53d96325ep-36;
    far = far * t + 0x1.fc89ed3be490bp-36;
    far = far * t + 0x1.54a547a213db7p-34;
    far = far * t - 0x1.a952b672e0ad4p-32;
    far = far * t + 0x1.2029bb2949ed2p-30;
    far = far * t - 0x1.699e10e5f46f4p-29;
    far = far * t + 0x1.8efa43810d320p-28;
    far = far * t - 0x1.8115df44429f2p-27;
    far = far * t + 0x1.76e578a5f2a8ap-26;
    far = far * t - 0x1.d7dcb22a5d859p-25;
    far = far * t + 0x1.b0f93f6f839dbp-23;
    far = far * t - 0x1.e6fcf42f8f236p-21;
    far = far * t + 0x1.1971dbdeb7f32p-18;
    far = far * t - 0x1.34460823d45a1p-16;
    far = far * t + 0x1.2acdb4cb19466p-14;
    far = far * t - 0x1.a415b090e63b7p-13;
    far = far * t - 0x1.6437de55671b8p-13;
    far = far * t + 0x1.02a209f638a19p+0;
    int is_first = w < 2.5, is_near = w < 6.25, is_middle = root < 4.0;
    double start = is_first    ? 0x1.c5bf891b4ef6bp-1
                   : is_near   ? 0x1.f181e293d5834p+0
                   : is_middle ? 0x1.8abcc380d5a48p+1
                               : 0x1.39a07f9e2524cp+2;
    double start_low = is_first    ? -0x1.6153186b83fcfp-55
                       : is_near   ? -0x1.c5d3ff53bb267p-54
                       : is_middle ? -0x1.92060f0628130p-54
                                   : 0x1.c4fadb18dfc39p-52;
    double tail = is_first ? first * w : is_near ? near * u : is_middle ? middle * v : far * t;
    struct f64_pair factor = f64_fast_sum(start, start_low + tail);
    double result = y * factor.high + y * factor.low;
    result = __builtin_fabs(y) == 1.0 ? y * __builtin_inf() : result;
    return y == 0.0 ? y : result;
}

float kiln_arctan_f32(float x)
{
    return (float)kiln_arctan_f64(x);
}

float kiln_arctan2_f32(float y, float x)
{
    return (float)kiln_arctan2_f64(y, x);
}

float kiln_arcsin_f32(float x)
{
    return (float)kiln_arcsin_f64(x);
}

float kiln_arccos_f32(float x)
{
    return (float)kiln_arccos_f64(x);
}

float kiln_erfinv_f32(float x)
{
    return (float)kiln_erfinv_f64(x);
}
