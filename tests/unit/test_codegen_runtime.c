/*
 * test_codegen_runtime.c - the math helpers, built for the host from the same source, against a reference of higher
 * precision: float32 against libm's double functions, float64 against its long double ones. A float32 sweep walks the
 * bit patterns of every finite number, denormals included, in steps; the special values are checked one by one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/runtime/runtime.c"

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
                                            {"tanh", kiln_tanh_f32, tanh}};

static const struct f64_case f64_cases[] = {{"exp", kiln_exp_f64, expl},
                                            {"log", kiln_log_f64, logl},
                                            {"erf", kiln_erf_f64, erfl},
                                            {"sigmoid", kiln_sigmoid_f64, sigmoid_f80},
                                            {"tanh", kiln_tanh_f64, tanhl}};

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
    if (!(error <= 2.0)) fail_msg("%s(%a): %.3f ulp", name, x, error);
    if (error > *worst) *worst = error;
}

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
    assert_true(kiln_exp_f32(-INFINITY) == 0 && kiln_exp_f32(INFINITY) == INFINITY && isnan(kiln_exp_f32(NAN)));
    assert_true(kiln_exp_f64(-INFINITY) == 0 && kiln_exp_f64(INFINITY) == INFINITY && isnan(kiln_exp_f64(NAN)));
    assert_true(kiln_exp_f32(-103.9f) > 0 && kiln_exp_f32(88.73f) == INFINITY && kiln_exp_f32(-0.0f) == 1);
    assert_true(kiln_log_f32(0) == -INFINITY && kiln_log_f32(-0.0f) == -INFINITY && isnan(kiln_log_f32(-1)));
    assert_true(kiln_log_f64(0) == -INFINITY && kiln_log_f64(-0.0) == -INFINITY && isnan(kiln_log_f64(-1)));
    assert_true(kiln_log_f32(INFINITY) == INFINITY && isnan(kiln_log_f32(-INFINITY)) && isnan(kiln_log_f32(NAN)));
    assert_true(kiln_log_f64(INFINITY) == INFINITY && isnan(kiln_log_f64(-INFINITY)) && isnan(kiln_log_f64(NAN)));
    assert_true(kiln_log_f32(1) == 0 && kiln_log_f64(1) == 0);
    assert_true(kiln_sigmoid_f32(-INFINITY) == 0 && kiln_sigmoid_f32(INFINITY) == 1 && isnan(kiln_sigmoid_f32(NAN)));
    assert_true(kiln_sigmoid_f64(-INFINITY) == 0 && kiln_sigmoid_f64(INFINITY) == 1 && isnan(kiln_sigmoid_f64(NAN)));
    assert_true(kiln_tanh_f32(-INFINITY) == -1 && kiln_tanh_f32(INFINITY) == 1 && isnan(kiln_tanh_f32(NAN)));
    assert_true(kiln_tanh_f64(-INFINITY) == -1 && kiln_tanh_f64(INFINITY) == 1 && isnan(kiln_tanh_f64(NAN)));
    assert_true(kiln_erf_f32(-INFINITY) == -1 && kiln_erf_f32(INFINITY) == 1 && isnan(kiln_erf_f32(NAN)));
    assert_true(kiln_erf_f64(-INFINITY) == -1 && kiln_erf_f64(INFINITY) == 1 && isnan(kiln_erf_f64(NAN)));
    assert_true(signbit(kiln_tanh_f32(-0.0f)) && signbit(kiln_erf_f32(-0.0f)));
    assert_true(signbit(kiln_tanh_f64(-0.0)) && signbit(kiln_erf_f64(-0.0)));
}

static void logaddexp_of_pairs(void **state)
{
    (void)state;
    for (int i = -200; i <= 200; i++)
        for (int j = -200; j <= 200; j++) {
            long double a = i * 0.37L, b = j * 0.41L;
            float af = (float)a, bf = (float)b;
            double exact = fmax(af, bf) + log1p(exp(-fabs((double)af - bf)));
            assert_true(fabs(kiln_logaddexp_f32(af, bf) - exact) <= 2 * ulp_of_f32(fmax(1, fabs(exact))));
            double ad = (double)a, bd = (double)b;
            long double wide = fmaxl(ad, bd) + log1pl(expl(-fabsl((long double)ad - bd)));
            assert_true(fabsl(kiln_logaddexp_f64(ad, bd) - wide) <= 2 * ulp_of_f64(fmaxl(1, fabsl(wide))));
            assert_true(kiln_logaddexp_f64(ad, -INFINITY) == ad);
        }
    assert_true(kiln_logaddexp_f32(-INFINITY, -INFINITY) == -INFINITY);
    assert_true(kiln_logaddexp_f32(INFINITY, INFINITY) == INFINITY && kiln_logaddexp_f32(1, INFINITY) == INFINITY);
    assert_true(kiln_logaddexp_f32(INFINITY, -INFINITY) == INFINITY);
    assert_true(isnan(kiln_logaddexp_f32(NAN, 1)) && isnan(kiln_logaddexp_f32(1, NAN)));
    assert_true(isnan(kiln_logaddexp_f64(NAN, 1)) && isnan(kiln_logaddexp_f64(1, NAN)));
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
            assert_true(isnan(kiln_widen_f16(half)));
            assert_true(isnan(value_of_f16(kiln_narrow_f16(kiln_widen_f16(half)))));
        } else {
            assert_true(kiln_widen_f16(half) == exact && !signbit(kiln_widen_f16(half)) == !signbit(exact));
            assert_int_equal(kiln_narrow_f16(kiln_widen_f16(half)), half);
        }
        float brain = kiln_widen_bf16(half);
        if (isnan(brain)) {
            assert_true(isnan(kiln_widen_bf16(kiln_narrow_bf16(brain))));
        } else {
            assert_int_equal(kiln_narrow_bf16(brain), half);
        }
    }
}

/* Between two neighbours a value goes to the nearer one, from the middle to the even one. */
static void narrowing_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint16_t low = 0; low < 0x7bff; low++) {
        float a = kiln_widen_f16(low), b = kiln_widen_f16((uint16_t)(low + 1)), middle = (a + b) / 2;
        assert_int_equal(kiln_narrow_f16(middle), low & 1 ? low + 1 : low);
        assert_int_equal(kiln_narrow_f16(nextafterf(middle, a)), low);
        assert_int_equal(kiln_narrow_f16(-nextafterf(middle, b)), (low + 1) | 0x8000);
    }
    assert_int_equal(kiln_narrow_f16(65519.996f), 0x7bff);
    assert_int_equal(kiln_narrow_f16(65520.0f), 0x7c00);
    assert_int_equal(kiln_narrow_f16(1e30f), 0x7c00);
    assert_int_equal(kiln_narrow_f16(-INFINITY), 0xfc00);
    for (uint32_t low = 0; low < 0x7f7f; low++) {
        float middle = f32_of_bits(low << 16 | 0x8000u);
        assert_int_equal(kiln_narrow_bf16(middle), low & 1 ? low + 1 : low);
        assert_int_equal(kiln_narrow_bf16(f32_of_bits(low << 16 | 0x7fffu)), low);
        assert_int_equal(kiln_narrow_bf16(f32_of_bits(low << 16 | 0x8001u)), low + 1);
    }
    assert_int_equal(kiln_narrow_bf16(3.4e38f), 0x7f80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_sweep),
        cmocka_unit_test(f64_sweep),
        cmocka_unit_test(special_values),
        cmocka_unit_test(logaddexp_of_pairs),
        cmocka_unit_test(widening_is_exact_and_narrowing_undoes_it),
        cmocka_unit_test(narrowing_rounds_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
