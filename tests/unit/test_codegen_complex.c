/*
 * test_codegen_complex.c - the helpers for complex64, built for the host from the same source, against long double:
 * each part is within an ulp, whatever the other is; infinities, NaN, zeros and branch cuts are those of C's Annex G.
 */
#include "codegen/runtime/runtime.c"
#include "support/check.h"
#include "support/complex_reference.h"

static const struct helper {
    const char *name;
    uint64_t (*unary)(float re, float im);
    uint64_t (*binary)(float ar, float ai, float br, float bi);
} helpers[] = {
    {"exp", kiln_exp_c64, NULL},
    {"expm1", kiln_expm1_c64, NULL},
    {"log", kiln_log_c64, NULL},
    {"log1p", kiln_log1p_c64, NULL},
    {"log2", kiln_log2_c64, NULL},
    {"log10", kiln_log10_c64, NULL},
    {"sqrt", kiln_sqrt_c64, NULL},
    {"rsqrt", kiln_rsqrt_c64, NULL},
    {"sigmoid", kiln_sigmoid_c64, NULL},
    {"reciprocal", kiln_reciprocal_c64, NULL},
    {"sin", kiln_sin_c64, NULL},
    {"cos", kiln_cos_c64, NULL},
    {"tan", kiln_tan_c64, NULL},
    {"sinh", kiln_sinh_c64, NULL},
    {"cosh", kiln_cosh_c64, NULL},
    {"tanh", kiln_tanh_c64, NULL},
    {"arcsin", kiln_arcsin_c64, NULL},
    {"arccos", kiln_arccos_c64, NULL},
    {"arctan", kiln_arctan_c64, NULL},
    {"arcsinh", kiln_arcsinh_c64, NULL},
    {"arccosh", kiln_arccosh_c64, NULL},
    {"arctanh", kiln_arctanh_c64, NULL},
    {"divide", NULL, kiln_divide_c64},
    {"power", NULL, kiln_power_c64},
    {"logaddexp", NULL, kiln_logaddexp_c64},
};
enum { HELPERS = sizeof helpers / sizeof *helpers };

static float real_part(uint64_t bits)
{
    return f32_of_bits((uint32_t)bits);
}

static float imaginary_part(uint64_t bits)
{
    return f32_of_bits((uint32_t)(bits >> 32));
}

/* Of one input, z is both. */
static void check_helper(const struct helper *one, const float *z, const float *w)
{
    uint64_t bits = one->unary ? one->unary(z[0], z[1]) : one->binary(z[0], z[1], w[0], w[1]);
    wide_complex a = wide_pair(z[0], z[1]), b = one->unary ? a : wide_pair(w[0], w[1]);
    const struct complex_reference *reference = complex_reference(one->name);
    if (complex_close(reference, a, b, real_part(bits), imaginary_part(bits))) return;
    wide_complex want = reference->function(a, b);
    CHECK_FAIL("%s of %.9g %+.9gi and %.9g %+.9gi is %.9g %+.9gi, expected %.12Lg %+.12Lgi", one->name, (double)z[0],
               (double)z[1], (double)__real__ b, (double)__imag__ b, (double)real_part(bits),
               (double)imaginary_part(bits), __real__ want, __imag__ want);
}
#define check_helper(...) CHECK_CALL(check_helper, __VA_ARGS__)

static uint64_t seed = 1;

static float random_part(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    float fraction = (float)(int32_t)(seed >> 32) * 0x1p-31f;
    switch (seed >> 28 & 7) {
    case 0: /* any magnitude */
        return ldexpf(fraction, (int)(seed >> 20 & 255) - 127);
    case 1: /* near 1 and -1 */
        return copysignf(1, fraction) + fraction * 0x1p-12f;
    case 2: /* near zeros and poles of the waves */
        return (float)((int)(fraction * 40) * 1.5707963267948966) * (1 + fraction * 0x1p-20f);
    case 3: /* where exponentials leave the range of a float */
        return fraction * 200;
    case 4:
        return fraction * 0x1p-10f;
    default:
        return fraction * 4;
    }
}

static void parts_are_within_an_ulp(void **state)
{
    (void)state;
    for (int h = 0; h < HELPERS; h++)
        for (int i = 0; i < 20000; i++) {
            float z[2] = {random_part(), random_part()}, w[2] = {random_part(), random_part()};
            check_helper(&helpers[h], z, w);
        }
}

static void special_values_are_as_in_annex_g(void **state)
{
    (void)state;
    static const float values[] = {0,      -0.0f,   1,     -1,     0.5f,     -2.5f,     100,
                                   1e-40f, -1e-40f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN};
    enum { VALUES = sizeof values / sizeof *values, PAIRS = VALUES * VALUES };
    for (int h = 0; h < HELPERS; h++)
        for (int i = 0; i < PAIRS * (helpers[h].unary ? 1 : PAIRS); i++) {
            int k = i % PAIRS, m = i / PAIRS;
            check_helper(&helpers[h], (float[]){values[k / VALUES], values[k % VALUES]},
                         (float[]){values[m / VALUES], values[m % VALUES]});
        }
}

/* Those of which Annex G says nothing. */
static void expect(uint64_t bits, float re, float im)
{
    float got[2] = {real_part(bits), imaginary_part(bits)}, want[2] = {re, im};
    for (int i = 0; i < 2; i++)
        if (isnan(want[i]) ? !isnan(got[i]) : got[i] != want[i] || !signbit(got[i]) != !signbit(want[i]))
            CHECK_FAIL("%g %+gi, expected %g %+gi", (double)got[0], (double)got[1], (double)re, (double)im);
}
#define expect(...) CHECK_CALL(expect, __VA_ARGS__)

static void limits_of_the_others(void **state)
{
    (void)state;
    expect(kiln_sigmoid_c64(-INFINITY, 3), 0, 0);
    expect(kiln_sigmoid_c64(INFINITY, INFINITY), 1, 0);
    expect(kiln_sigmoid_c64(0, -0.0f), 0.5f, -0.0f);
    expect(kiln_expm1_c64(-INFINITY, INFINITY), -1, 0);
    expect(kiln_expm1_c64(INFINITY, 0), INFINITY, 0);
    expect(kiln_expm1_c64(-0.0f, -0.0f), -0.0f, -0.0f);
    expect(kiln_log1p_c64(-1, 0), -INFINITY, 0);
    expect(kiln_log1p_c64(-0.0f, 0), -0.0f, 0);
    expect(kiln_log1p_c64(3, -INFINITY), INFINITY, -1.57079637f);
    expect(kiln_power_c64(0, 0, 0, 0), 1, 0);
    expect(kiln_power_c64(NAN, 0, 0, 0), 1, 0);
    expect(kiln_power_c64(0, 0, 2, 1), 0, 0);
    expect(kiln_power_c64(0, 0, -1, 0), INFINITY, NAN);
    expect(kiln_power_c64(0, 0, 0, 1), NAN, NAN);
    expect(kiln_power_c64(INFINITY, 0, 2, 0), INFINITY, 0);
    expect(kiln_logaddexp_c64(-INFINITY, 0, 1, 2), 1, 2);
    expect(kiln_logaddexp_c64(-INFINITY, 0, -INFINITY, 0), -INFINITY, 0);
    expect(kiln_logaddexp_c64(INFINITY, 1, 1, 2), INFINITY, 1);
    expect(kiln_logaddexp_c64(NAN, 1, 1, 2), NAN, NAN);
}

/* What is stored must not depend on the sign of a NaN, which depends on how it was computed. */
static void the_sign_of_nan_does_not_count(void **state)
{
    (void)state;
    static const float values[] = {0, -0.0f, 1, -2.5f, INFINITY, -INFINITY};
    for (int h = 0; h < HELPERS; h++)
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 2; k++) {
                float z[2] = {values[i], values[i]}, w[2] = {1, 2};
                uint64_t bits[2];
                for (int sign = 0; sign < 2; sign++) {
                    z[k] = f32_of_bits(sign ? 0xffc00000u : 0x7fc00000u);
                    bits[sign] =
                        helpers[h].unary ? helpers[h].unary(z[0], z[1]) : helpers[h].binary(z[0], z[1], w[0], w[1]);
                }
                for (int part = 0; part < 2; part++) {
                    uint32_t one = (uint32_t)(bits[0] >> 32 * part), other = (uint32_t)(bits[1] >> 32 * part);
                    if (isnan(f32_of_bits(one)) && isnan(f32_of_bits(other))) continue;
                    if (one != other) CHECK_FAIL("%s, value %d, part %d", helpers[h].name, i, part);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_within_an_ulp),
        cmocka_unit_test(special_values_are_as_in_annex_g),
        cmocka_unit_test(limits_of_the_others),
        cmocka_unit_test(the_sign_of_nan_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
