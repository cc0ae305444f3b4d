/*
 * test_codegen_runtime.c - the math helpers, built for the host from the same source, against a reference of higher
 * precision: float32 against libm's double functions, float64 against its long double ones. A float32 sweep walks the
 * bit patterns of every finite number, denormals included, in steps; the special values are checked one by one.
 */
#include <math.h>

#include "codegen/runtime/runtime.c"
#include "support/check.h"

static double ulp_of_f32(double exact)
{
    int exponent;
    frexp(exact, &exponent);
    return ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

static long double ulp_of_f64(long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    return ldexpl(1.0L, (exponent < -1021 ? -1021 : exponent) - 53);
}

static double sigmoid_f64(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static long double sigmoid_f80(long double x)
{
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

/* The inverse by Newton's method, on the smaller of erf and its complement. */
static long double erfinv_f80(long double y)
{
    long double t = fabsl(y), x = 0.9L * t;
    if (t >= 1) return t == 1 ? y * INFINITY : NAN;
    if (t > 0.7L) x = sqrtl(-logl((1 - t) * (1 + t))) * 0.9L;
    for (int i = 0; i < 60 && t > 1e-20L; i++) {
        long double slope = 2 / sqrtl(acosl(-1)) * expl(-x * x);
        long double step = t > 0.7L ? (1 - t - erfcl(x)) / slope : (erfl(x) - t) / slope;
        if (t > 0.7L) step = -(logl(erfcl(x)) - logl(1 - t)) * erfcl(x) / slope;
        x -= step;
        if (fabsl(step) < 1e-19L * x) break;
    }
    if (t <= 1e-20L) x = t * sqrtl(acosl(-1)) / 2;
    return copysignl(x, y);
}

static double erfinv_f64(double y)
{
    return (double)erfinv_f80(y);
}

static long double degrees_f80(long double x)
{
    return x * (180 / acosl(-1));
}

static double degrees_f64(double x)
{
    return (double)degrees_f80(x);
}

static long double radians_f80(long double x)
{
    return x * (acosl(-1) / 180);
}

static double radians_f64(double x)
{
    return (double)radians_f80(x);
}

struct f32_case {
    const char *name;
    float (*helper)(float);
    double (*reference)(double);
};

struct f64_case {
    const char *name;
    double (*helper)(double);
    long double (*reference)(long double);
};

static const struct f32_case f32_cases[] = {{"exp", kiln_exp_f32, exp},
                                            {"log", kiln_log_f32, log},
                                            {"erf", kiln_erf_f32, erf},
                                            {"sigmoid", kiln_sigmoid_f32, sigmoid_f64},
                                            {"tanh", kiln_tanh_f32, tanh},
                                            {"expm1", kiln_expm1_f32, expm1},
                                            {"log1p", kiln_log1p_f32, log1p},
                                            {"log2", kiln_log2_f32, log2},
                                            {"log10", kiln_log10_f32, log10},
                                            {"sin", kiln_sin_f32, sin},
                                            {"cos", kiln_cos_f32, cos},
                                            {"tan", kiln_tan_f32, tan},
                                            {"arcsin", kiln_arcsin_f32, asin},
                                            {"arccos", kiln_arccos_f32, acos},
                                            {"arctan", kiln_arctan_f32, atan},
                                            {"sinh", kiln_sinh_f32, sinh},
                                            {"cosh", kiln_cosh_f32, cosh},
                                            {"arcsinh", kiln_arcsinh_f32, asinh},
                                            {"arccosh", kiln_arccosh_f32, acosh},
                                            {"arctanh", kiln_arctanh_f32, atanh},
                                            {"erfinv", kiln_erfinv_f32, erfinv_f64},
                                            {"degrees", kiln_degrees_f32, degrees_f64},
                                            {"radians", kiln_radians_f32, radians_f64}};

static const struct f64_case f64_cases[] = {{"exp", kiln_exp_f64, expl},
                                            {"log", kiln_log_f64, logl},
                                            {"erf", kiln_erf_f64, erfl},
                                            {"sigmoid", kiln_sigmoid_f64, sigmoid_f80},
                                            {"tanh", kiln_tanh_f64, tanhl},
                                            {"expm1", kiln_expm1_f64, expm1l},
                                            {"log1p", kiln_log1p_f64, log1pl},
                                            {"log2", kiln_log2_f64, log2l},
                                            {"log10", kiln_log10_f64, log10l},
                                            {"sin", kiln_sin_f64, sinl},
                                            {"cos", kiln_cos_f64, cosl},
                                            {"tan", kiln_tan_f64, tanl},
                                            {"arcsin", kiln_arcsin_f64, asinl},
                                            {"arccos", kiln_arccos_f64, acosl},
                                            {"arctan", kiln_arctan_f64, atanl},
                                            {"sinh", kiln_sinh_f64, sinhl},
                                            {"cosh", kiln_cosh_f64, coshl},
                                            {"arcsinh", kiln_arcsinh_f64, asinhl},
                                            {"arccosh", kiln_arccosh_f64, acoshl},
                                            {"arctanh", kiln_arctanh_f64, atanhl},
                                            {"erfinv", kiln_erfinv_f64, erfinv_f80},
                                            {"degrees", kiln_degrees_f64, degrees_f80},
                                            {"radians", kiln_radians_f64, radians_f80}};

enum { F32_CASES = sizeof f32_cases / sizeof f32_cases[0], F64_CASES = sizeof f64_cases / sizeof f64_cases[0] };

/* Where the exact value rounds to infinity, infinity is right and has no ulp. */
static double f32_error(const struct f32_case *one, float x)
{
    double exact = one->reference(x);
    float got = one->helper(x);
    if (isnan(exact)) return isnan(got) ? 0 : INFINITY;
    if ((float)exact == got) return 0;
    return fabs(got - exact) / ulp_of_f32(exact);
}

static double f64_error(const struct f64_case *one, double x)
{
    long double exact = one->reference(x);
    double got = one->helper(x);
    if (isnan(exact)) return isnan(got) ? 0 : INFINITY;
    if ((double)exact == got) return 0;
    return (double)(fabsl(got - exact) / ulp_of_f64(exact));
}

static void check(const char *name, double x, double error, double *worst)
{
    if (!(error <= 2.0)) CHECK_FAIL("%s(%a): %.3f ulp", name, x, error);
    if (error > *worst) *worst = error;
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

static void f32_sweep(void **state)
{
    (void)state;
    for (int i = 0; i < F32_CASES; i++) {
        double worst = 0;
        for (uint32_t bits = 0; bits < 0x7f800000u; bits += 997) {
            check(f32_cases[i].name, f32_of_bits(bits), f32_error(&f32_cases[i], f32_of_bits(bits)), &worst);
            float negative = f32_of_bits(bits | 0x80000000u);
            check(f32_cases[i].name, negative, f32_error(&f32_cases[i], negative), &worst);
        }
        print_message("%s_f32: at most %.3f ulp\n", f32_cases[i].name, worst);
    }
}

/* Magnitudes from 2^-1074 to 2^1024 evenly in the exponent, then densely where the functions bend. */
static void f64_sweep(void **state)
{
    (void)state;
    for (int i = 0; i < F64_CASES; i++) {
        double worst = 0;
        for (uint64_t bits = 1; bits < 0x7ff0000000000000u; bits += 0x7ff0000000000000u / 300007) {
            for (int sign = -1; sign <= 1; sign += 2) {
                double x = sign * f64_of_bits(bits);
                check(f64_cases[i].name, x, f64_error(&f64_cases[i], x), &worst);
            }
        }
        for (int step = -400000; step <= 400000; step++) {
            double x = step * (40.0 / 400000) * 1.0000000123;
            check(f64_cases[i].name, x, f64_error(&f64_cases[i], x), &worst);
        }
        print_message("%s_f64: at most %.3f ulp\n", f64_cases[i].name, worst);
    }
}

static void special_values(void **state)
{
    (void)state;
    CHECK_TRUE(kiln_exp_f32(-INFINITY) == 0 && kiln_exp_f32(INFINITY) == INFINITY && isnan(kiln_exp_f32(NAN)));
    CHECK_TRUE(kiln_exp_f64(-INFINITY) == 0 && kiln_exp_f64(INFINITY) == INFINITY && isnan(kiln_exp_f64(NAN)));
    CHECK_TRUE(kiln_exp_f32(-103.9f) > 0 && kiln_exp_f32(88.73f) == INFINITY && kiln_exp_f32(-0.0f) == 1);
    CHECK_TRUE(kiln_log_f32(0) == -INFINITY && kiln_log_f32(-0.0f) == -INFINITY && isnan(kiln_log_f32(-1)));
    CHECK_TRUE(kiln_log_f64(0) == -INFINITY && kiln_log_f64(-0.0) == -INFINITY && isnan(kiln_log_f64(-1)));
    CHECK_TRUE(kiln_log_f32(INFINITY) == INFINITY && isnan(kiln_log_f32(-INFINITY)) && isnan(kiln_log_f32(NAN)));
    CHECK_TRUE(kiln_log_f64(INFINITY) == INFINITY && isnan(kiln_log_f64(-INFINITY)) && isnan(kiln_log_f64(NAN)));
    CHECK_TRUE(kiln_log_f32(1) == 0 && kiln_log_f64(1) == 0);
    CHECK_TRUE(kiln_sigmoid_f32(-INFINITY) == 0 && kiln_sigmoid_f32(INFINITY) == 1 && isnan(kiln_sigmoid_f32(NAN)));
    CHECK_TRUE(kiln_sigmoid_f64(-INFINITY) == 0 && kiln_sigmoid_f64(INFINITY) == 1 && isnan(kiln_sigmoid_f64(NAN)));
    CHECK_TRUE(kiln_tanh_f32(-INFINITY) == -1 && kiln_tanh_f32(INFINITY) == 1 && isnan(kiln_tanh_f32(NAN)));
    CHECK_TRUE(kiln_tanh_f64(-INFINITY) == -1 && kiln_tanh_f64(INFINITY) == 1 && isnan(kiln_tanh_f64(NAN)));
    CHECK_TRUE(kiln_erf_f32(-INFINITY) == -1 && kiln_erf_f32(INFINITY) == 1 && isnan(kiln_erf_f32(NAN)));
    CHECK_TRUE(kiln_erf_f64(-INFINITY) == -1 && kiln_erf_f64(INFINITY) == 1 && isnan(kiln_erf_f64(NAN)));
    CHECK_TRUE(signbit(kiln_tanh_f32(-0.0f)) && signbit(kiln_erf_f32(-0.0f)));
    CHECK_TRUE(signbit(kiln_tanh_f64(-0.0)) && signbit(kiln_erf_f64(-0.0)));
}

static void logaddexp_of_pairs(void **state)
{
    (void)state;
    for (int i = -200; i <= 200; i++)
        for (int j = -200; j <= 200; j++) {
            long double a = i * 0.37L, b = j * 0.41L;
            float af = (float)a, bf = (float)b;
            double exact = fmax(af, bf) + log1p(exp(-fabs((double)af - bf)));
            CHECK_LE(fabs(kiln_logaddexp_f32(af, bf) - exact), 2 * ulp_of_f32(fmax(1, fabs(exact))));
            double ad = (double)a, bd = (double)b;
            long double wide = fmaxl(ad, bd) + log1pl(expl(-fabsl((long double)ad - bd)));
            CHECK_LE(fabsl(kiln_logaddexp_f64(ad, bd) - wide), 2 * ulp_of_f64(fmaxl(1, fabsl(wide))));
            CHECK_EQ(kiln_logaddexp_f64(ad, -INFINITY), ad);
        }
    CHECK_EQ(kiln_logaddexp_f32(-INFINITY, -INFINITY), -INFINITY);
    CHECK_TRUE(kiln_logaddexp_f32(INFINITY, INFINITY) == INFINITY && kiln_logaddexp_f32(1, INFINITY) == INFINITY);
    CHECK_EQ(kiln_logaddexp_f32(INFINITY, -INFINITY), INFINITY);
    CHECK_TRUE(isnan(kiln_logaddexp_f32(NAN, 1)) && isnan(kiln_logaddexp_f32(1, NAN)));
    CHECK_TRUE(isnan(kiln_logaddexp_f64(NAN, 1)) && isnan(kiln_logaddexp_f64(1, NAN)));
}

/* What C says of each: infinities, zeros of both signs, NaN, where a function ends. */
static void edges_are_those_of_the_c_library(void **state)
{
    static const float edges[] = {0.0f,  -0.0f,     INFINITY,   -INFINITY, NAN,  1.0f,
                                  -1.0f, 0x1p-149f, -0x1p-149f, 1.5f,      -1.5f};
    (void)state;
    for (int i = 0; i < F32_CASES; i++)
        for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
            float got = f32_cases[i].helper(edges[k]), want = (float)f32_cases[i].reference(edges[k]);
            double wide = f64_cases[i].helper(edges[k]), wide_want = (double)f64_cases[i].reference(edges[k]);
            double worst = 0;
            check(f32_cases[i].name, edges[k], f32_error(&f32_cases[i], edges[k]), &worst);
            check(f64_cases[i].name, edges[k], f64_error(&f64_cases[i], edges[k]), &worst);
            if (isnan(want) || isinf(want) || want == 0)
                if (isnan(want) ? !isnan(got) : got != want || !signbit(got) != !signbit(want))
                    CHECK_FAIL("%s_f32(%a) is %a", f32_cases[i].name, edges[k], got);
            if (isnan(wide_want) || isinf(wide_want) || wide_want == 0)
                if (isnan(wide_want) ? !isnan(wide) : wide != wide_want || !signbit(wide) != !signbit(wide_want))
                    CHECK_FAIL("%s_f64(%a) is %a", f64_cases[i].name, edges[k], wide);
        }
}

/* The arguments nearest to a multiple of pi/2, where most of the bits cancel. */
static void hard_angles(void **state)
{
    static const double angles[] = {6381956970095103.0 * 0x1p797, 0x1.6ac5b262ca1ffp849, 0x1.921fb54442d18p0,
                                    0x1.921fb54442d18p1,          0x1.2d97c7f3321d2p1,   1e22,
                                    0x1.fffffffffffffp1023};
    double worst = 0;
    (void)state;
    for (size_t k = 0; k < sizeof angles / sizeof *angles; k++)
        for (int i = 0; i < F64_CASES; i++)
            if (f64_cases[i].helper == kiln_sin_f64 || f64_cases[i].helper == kiln_cos_f64 ||
                f64_cases[i].helper == kiln_tan_f64)
                check(f64_cases[i].name, angles[k], f64_error(&f64_cases[i], angles[k]), &worst);
}

/* ---- fused multiply-add -------------------------------------------------------------------------------------------
 */

/* The quick exponential has the bits of the other one, wherever it may be called. */
static void near_exponentials(void **state)
{
    (void)state;
    for (int sign = 0; sign < 2; sign++) {
        uint32_t last = bits_of_f32(sign ? 86.0f : 88.0f);
        for (uint32_t bits = 0; bits <= last; bits += bits + 509 > last && bits < last ? last - bits : 509) {
            float x = f32_of_bits(bits | (uint32_t)sign << 31);
            CHECK_EQ(bits_of_f32(kiln_exp_near_f32(x)), bits_of_f32(kiln_exp_f32(x)));
        }
    }
}

static void check_fused(float a, float b, float c)
{
    float want = fmaf(a, b, c), got = f32_fma_exact(a, b, c);
    if (isnan(want) ? !isnan(got) : bits_of_f32(want) != bits_of_f32(got))
        CHECK_FAIL("%a * %a + %a is %a, not %a", a, b, c, got, want);
}
#define check_fused(...) CHECK_CALL(check_fused, __VA_ARGS__)

/* Near the middle between two floats, where the lost part decides: c is half an ulp of a * b, give or take a bit. */
static void check_fused_middles(float a, float b)
{
    float product = a * b, step = f32_of_bits(bits_of_f32(product) & 0x7f800000u) * 0x1p-24f;
    static const float shifts[] = {0.0f, 0x1p-23f, -0x1p-23f, 0x1p-30f, 0.5f, 1.0f};
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        check_fused(a, b, step * (1.0f + shifts[i]));
        check_fused(a, b, -step * (1.0f + shifts[i]));
        check_fused(step, 1.0f + shifts[i], product);
        check_fused(a, b, -product * (1.0f + shifts[i]));
    }
}
#define check_fused_middles(...) CHECK_CALL(check_fused_middles, __VA_ARGS__)

static void fused_sums_are_rounded_once(void **state)
{
    static const float edges[] = {0.0f,       -0.0f,           INFINITY,  -INFINITY,     NAN,
                                  1.0f,       -1.0f,           0x1p-149f, -0x1p-149f,    0x1p-126f,
                                  -0x1p-126f, 0x1.fffffep127f, 0x1p-75f,  -0x1p-74f,     0x1p24f,
                                  0x1p-24f,   0x1p64f,         -0x1p63f,  0x1.000002p0f, 0x1.fffffep-1f};
    enum { EDGES = sizeof edges / sizeof *edges };
    uint64_t random = 88172645463325252u;
    (void)state;
    for (size_t i = 0; i < EDGES * EDGES * EDGES; i++)
        check_fused(edges[i % EDGES], edges[i / EDGES % EDGES], edges[i / EDGES / EDGES]);
    for (int i = 0; i < 300000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        float a = f32_of_bits((uint32_t)random), b = f32_of_bits((uint32_t)(random >> 32));
        check_fused(a, b, f32_of_bits((uint32_t)(random * 0x9e3779b97f4a7c15u >> 32)));
        check_fused(a, 1.0f / b, a);
        check_fused_middles(a, b);
        check_fused_middles(f32_of_bits(0x3f800000u | (bits_of_f32(a) & 0x7fffffu)), 0x1p-140f); /* denormals */
    }
}

/* ---- two arguments ------------------------------------------------------------------------------------------------
 */

static bool same_f64(double a, double b)
{
    return isnan(b) ? isnan(a) : a == b && !signbit(a) == !signbit(b);
}

static double remainder_reference(double x, double y)
{
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static void check_pair_f32(float a, float b)
{
    double power = pow(a, b), angle = atan2(a, b);
    float rest = (float)remainder_reference(a, b);
    if (!same_f64(kiln_remainder_f32(a, b), rest))
        CHECK_FAIL("remainder_f32(%a, %a) is %a, not %a", a, b, kiln_remainder_f32(a, b), rest);
    if (!same_f64(kiln_power_f32(a, b), (float)power) && !(fabs(kiln_power_f32(a, b) - power) <= ulp_of_f32(power)))
        CHECK_FAIL("power_f32(%a, %a) is %a, not %a", a, b, kiln_power_f32(a, b), power);
    if (!same_f64(kiln_arctan2_f32(a, b), (float)angle) && !(fabs(kiln_arctan2_f32(a, b) - angle) <= ulp_of_f32(angle)))
        CHECK_FAIL("arctan2_f32(%a, %a) is %a, not %a", a, b, kiln_arctan2_f32(a, b), angle);
}
#define check_pair_f32(...) CHECK_CALL(check_pair_f32, __VA_ARGS__)

static void check_pair_f64(double a, double b, double *worst)
{
    long double power = powl(a, b), angle = atan2l(a, b);
    double rest = remainder_reference(a, b);
    if (!same_f64(kiln_remainder_f64(a, b), rest))
        CHECK_FAIL("remainder_f64(%a, %a) is %a, not %a", a, b, kiln_remainder_f64(a, b), rest);
    if (!same_f64(kiln_power_f64(a, b), (double)power))
        check("power", a, (double)(fabsl(kiln_power_f64(a, b) - power) / ulp_of_f64(power)), worst);
    if (!same_f64(kiln_arctan2_f64(a, b), (double)angle))
        check("arctan2", a, (double)(fabsl(kiln_arctan2_f64(a, b) - angle) / ulp_of_f64(angle)), worst);
}
#define check_pair_f64(...) CHECK_CALL(check_pair_f64, __VA_ARGS__)

static void pairs_of_arguments(void **state)
{
    static const double edges[] = {0.0,   -0.0,   INFINITY, -INFINITY, NAN,    1.0,     -1.0, 2.0,      -2.0,
                                   3.0,   -3.0,   0.5,      -0.5,      1e-40,  -1e-40,  1e38, -1e38,    7.25,
                                   -7.25, 1e20,   -1e20,    0.999999,  1e-3,   33.0,    34.0, 16777217, 1.0000001,
                                   1e300, -1e300, 1e-310,   -1e-310,   0x1p53, 0x1.8p51};
    double worst = 0;
    uint64_t random = 88172645463325252u;
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        for (size_t j = 0; j < sizeof edges / sizeof *edges; j++) {
            check_pair_f32((float)edges[i], (float)edges[j]);
            check_pair_f64(edges[i], edges[j], &worst);
        }
    for (int i = 0; i < 300000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        double a = ldexp((double)(int64_t)random, (int)(random % 61) - 93),
               b = (double)(int32_t)(random >> 20) * 0x1p-24;
        check_pair_f32((float)a, (float)b);
        check_pair_f64(fabs(a) * (i & 1 ? 1 : -1), i & 1 ? b : rint(b), &worst);
    }
    print_message("two arguments, f64: at most %.3f ulp\n", worst);
}

static void powers_of_integers(void **state)
{
    (void)state;
    CHECK_EQ(kiln_spower_i32(-3, 5), -243);
    CHECK_EQ(kiln_spower_i32(7, 0), 1);
    CHECK_EQ(kiln_spower_i32(0, 0), 1);
    CHECK_EQ(kiln_spower_i32(2, -1), 0);
    CHECK_EQ(kiln_spower_i32(0, -1), 0);
    CHECK_EQ(kiln_spower_i32(1, -7), 1);
    CHECK_EQ(kiln_spower_i64(-1, -7), -1);
    CHECK_EQ(kiln_spower_i64(-1, INT64_MIN), 1);
    CHECK_EQ(kiln_upower_i8(3, 200), 161);
    CHECK_EQ(kiln_upower_i64(3, 40), 12157665459056928801u);
    CHECK_EQ(kiln_spower_i16(2, 16), 0);
}

/* The exact value of a half, from its definition. */
static double value_of_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    if (exponent == 31) value = mantissa ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

static void widening_is_exact_and_narrowing_undoes_it(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t half = (uint16_t)bits;
        double exact = value_of_f16(half);
        if (isnan(exact)) {
            CHECK_TRUE(isnan(kiln_widen_f16(half)));
            CHECK_TRUE(isnan(value_of_f16(kiln_narrow_f16(kiln_widen_f16(half)))));
        } else {
            CHECK_TRUE(kiln_widen_f16(half) == exact && !signbit(kiln_widen_f16(half)) == !signbit(exact));
            CHECK_EQ(kiln_narrow_f16(kiln_widen_f16(half)), half);
        }
        float next = f32_of_bits(bits << 16 | (bits * 40503u & 0xffffu));
        CHECK_MEM(&(float){kiln_round_f16(next)}, &(float){kiln_widen_f16(kiln_narrow_f16(next))}, 4);
        CHECK_MEM(&(float){kiln_round_bf16(next)}, &(float){kiln_widen_bf16(kiln_narrow_bf16(next))}, 4);
        float brain = kiln_widen_bf16(half);
        if (isnan(brain)) {
            CHECK_TRUE(isnan(kiln_widen_bf16(kiln_narrow_bf16(brain))));
        } else {
            CHECK_EQ(kiln_narrow_bf16(brain), half);
        }
    }
}

/* Between two neighbours a value goes to the nearer one, from the middle to the even one. */
static void narrowing_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint16_t low = 0; low < 0x7bff; low++) {
        float a = kiln_widen_f16(low), b = kiln_widen_f16((uint16_t)(low + 1)), middle = (a + b) / 2;
        CHECK_EQ(kiln_narrow_f16(middle), low & 1 ? low + 1 : low);
        CHECK_EQ(kiln_narrow_f16(nextafterf(middle, a)), low);
        CHECK_EQ(kiln_narrow_f16(-nextafterf(middle, b)), (low + 1) | 0x8000);
    }
    CHECK_EQ(kiln_narrow_f16(65519.996f), 0x7bff);
    CHECK_EQ(kiln_narrow_f16(65520.0f), 0x7c00);
    CHECK_EQ(kiln_narrow_f16(1e30f), 0x7c00);
    CHECK_EQ(kiln_narrow_f16(-INFINITY), 0xfc00);
    for (uint32_t low = 0; low < 0x7f7f; low++) {
        float middle = f32_of_bits(low << 16 | 0x8000u);
        CHECK_EQ(kiln_narrow_bf16(middle), low & 1 ? low + 1 : low);
        CHECK_EQ(kiln_narrow_bf16(f32_of_bits(low << 16 | 0x7fffu)), low);
        CHECK_EQ(kiln_narrow_bf16(f32_of_bits(low << 16 | 0x8001u)), low + 1);
    }
    CHECK_EQ(kiln_narrow_bf16(3.4e38f), 0x7f80);
}

/* Each of the 65,536 inputs. Rounded, the result has the same bits, also where it is NaN, infinite or denormal. */
static void bfloat16_helpers_round_to_those_of_float32(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        float (*shorter)(float), (*longer)(float);
    } helpers[] = {{"exp", kiln_exp_bf16, kiln_exp_f32},
                   {"erf", kiln_erf_bf16, kiln_erf_f32},
                   {"sigmoid", kiln_sigmoid_bf16, kiln_sigmoid_f32},
                   {"tanh", kiln_tanh_bf16, kiln_tanh_f32}};
    for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++)
        for (uint32_t bits = 0; bits < 0x10000u; bits++) {
            float x = kiln_widen_bf16((uint16_t)bits);
            uint16_t got = kiln_narrow_bf16(helpers[i].shorter(x)), wanted = kiln_narrow_bf16(helpers[i].longer(x));
            if (got != wanted) CHECK_FAIL("%s_bf16(%a): 0x%04x, not 0x%04x", helpers[i].name, (double)x, got, wanted);
        }
}

/* ---- pairs -------------------------------------------------------------------------------------------------------
 */

struct short_float {
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
    uint32_t (*narrow_pair)(float, float), (*settle)(uint32_t);
    float (*low)(uint32_t), (*high)(uint32_t);
    uint32_t (*apply[3])(uint32_t, uint32_t); /* +, -, * */
};

#define SHORT_FLOAT(dtype)                                                                                             \
    {                                                                                                                  \
        kiln_widen_##dtype, kiln_narrow_##dtype, kiln_pair_narrow_##dtype, kiln_pair_settle_##dtype,                   \
            kiln_pair_low_##dtype, kiln_pair_high_##dtype,                                                             \
        {                                                                                                              \
            kiln_pair_add_##dtype, kiln_pair_subtract_##dtype, kiln_pair_multiply_##dtype                              \
        }                                                                                                              \
    }
static const struct short_float short_floats[] = {SHORT_FLOAT(f16), SHORT_FLOAT(bf16)};

static void pairs_are_two_halves(void **state)
{
    (void)state;
    for (size_t d = 0; d < 2; d++)
        for (uint32_t low = 0; low < 0x10000u; low++) {
            const struct short_float *f = &short_floats[d];
            uint16_t high = (uint16_t)(low * 40503u + 1), first = (uint16_t)low;
            uint32_t pair = kiln_pair_join(first, high);
            float x = f->widen(first), y = f->widen(high);
            CHECK_EQ(pair, (uint32_t)high << 16 | low);
            CHECK_MEM(&(float){f->low(pair)}, &x, 4);
            CHECK_MEM(&(float){f->high(pair)}, &y, 4);
            x *= 1.01f, y *= 0.99f;
            CHECK_EQ(f->settle(f->narrow_pair(x, y)), kiln_pair_join(f->narrow(x), f->narrow(y)));
        }
}

/* The float32 nearest to zero's side, its last bit set if anything is lost: rounding it to fewer bits errs by nothing.
 */
static float rounded_to_odd(double exact)
{
    float near = (float)exact;
    if ((double)near == exact || isnan(exact)) return near;
    uint32_t bits = bits_of_f32(near);
    return f32_of_bits((fabs((double)near) > fabs(exact) ? bits - 1 : bits) | 1);
}

/*
 * A GPU adds and multiplies pairs with one rounding; everywhere else it is float32's, then the dtype's. In double the
 * product is exact, and the sum is cut so far behind that what is looked for would show.
 */
static void rounding_twice_does_no_harm(void **state)
{
    (void)state;
    for (size_t d = 0; d < 2; d++)
        for (uint32_t i = 0; i < 0x10000u; i++)
            for (uint32_t k = i % 211; k < 0x10000u; k += 211) {
                const struct short_float *f = &short_floats[d];
                double a = f->widen((uint16_t)i), b = f->widen((uint16_t)k);
                double exact[3] = {a + b, a - b, a * b};
                for (int op = 0; op < 3; op++) {
                    uint16_t got = (uint16_t)f->settle(f->apply[op](i, k)),
                             wanted = f->narrow(rounded_to_odd(exact[op]));
                    if (got != wanted) CHECK_FAIL("%a and %a, operation %d: 0x%04x, not 0x%04x", a, b, op, got, wanted);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_sweep),
        cmocka_unit_test(f64_sweep),
        cmocka_unit_test(special_values),
        cmocka_unit_test(logaddexp_of_pairs),
        cmocka_unit_test(edges_are_those_of_the_c_library),
        cmocka_unit_test(hard_angles),
        cmocka_unit_test(near_exponentials),
        cmocka_unit_test(fused_sums_are_rounded_once),
        cmocka_unit_test(pairs_of_arguments),
        cmocka_unit_test(powers_of_integers),
        cmocka_unit_test(widening_is_exact_and_narrowing_undoes_it),
        cmocka_unit_test(narrowing_rounds_to_nearest_even),
        cmocka_unit_test(bfloat16_helpers_round_to_those_of_float32),
        cmocka_unit_test(pairs_are_two_halves),
        cmocka_unit_test(rounding_twice_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
