/*
 * test_mlxc_reduce_means.c - means, variances, logsumexp and softmax against sums in long double.
 */
#include "support/arrays.h"

static const struct shape shape = {3, {5, 7, 9}};

/* Over axes 0 and 2, or over axis 1. */
struct rows {
    int count, length;
};

static struct rows rows_of(bool over_two)
{
    struct rows rows = {.count = over_two ? 7 : 45, .length = over_two ? 45 : 7};
    return rows;
}

/* Where element `k` of row `r` lies. */
static int place(bool over_two, int r, int k)
{
    return over_two ? (k / 9 * 7 + r) * 9 + k % 9 : (r / 9 * 7 + k) * 9 + r % 9;
}

static struct numbers filled(mlx_dtype dtype, uint64_t *random)
{
    struct numbers out = numbers_new(dtype, &shape);
    for (int i = 0; i < out.size; i++) {
        double x = (double)(int32_t)(next_random(random) >> 32) * 0x1p-29;
        put(&out, i,
            is_integer(dtype) || dtype == MLX_BOOL
                ? scalar_cast(make_wrapped((uint64_t)random_below(random, 9), MLX_UINT8), dtype)
                : scalar_cast(make_double(x), dtype));
    }
    return out;
}

static void expect_close(struct scalar got, long double want, mlx_dtype dtype, const char *what)
{
    double tolerance = dtype == MLX_BFLOAT16 ? 5e-3 : dtype == MLX_FLOAT16 ? 1e-3 : dtype == MLX_FLOAT64 ? 1e-13 : 2e-6;
    if (got.dtype != dtype || !(fabsl((long double)to_double(got) - want) <= tolerance * fmaxl(1, fabsl(want))))
        CHECK_FAIL("%s of %s: %.12g, expected %.12Lg", what, facts[dtype].name, to_double(got), want);
}
#define expect_close(...) CHECK_CALL(expect_close, __VA_ARGS__)

static mlx_dtype float_of(mlx_dtype dtype)
{
    return facts[dtype].kind == IS_FLOAT ? dtype : MLX_FLOAT32;
}

enum { OUTPUTS = 6 };

/* mean, var, std with ddof 1, logsumexp, softmax over one axis or two, mean of all. */
static int call_all(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    int axes[2] = {2, 0};
    mlx_array a = inputs[0];
    (void)count;
    if (*(const bool *)context)
        return mlx_mean_axes(&outputs[0], a, axes, 2, false, stream) ||
               mlx_var_axes(&outputs[1], a, axes, 2, true, 0, stream) ||
               mlx_std_axes(&outputs[2], a, axes, 2, false, 1, stream) ||
               mlx_logsumexp_axes(&outputs[3], a, axes, 2, false, stream) ||
               mlx_softmax_axes(&outputs[4], a, axes, 2, true, stream) || mlx_mean(&outputs[5], a, false, stream);
    return mlx_mean_axis(&outputs[0], a, 1, false, stream) || mlx_var_axis(&outputs[1], a, -2, true, 0, stream) ||
           mlx_std_axis(&outputs[2], a, 1, false, 1, stream) || mlx_logsumexp_axis(&outputs[3], a, 1, false, stream) ||
           mlx_softmax_axis(&outputs[4], a, 1, false, stream) || mlx_mean(&outputs[5], a, true, stream);
}

static void check(const struct numbers *in, const struct numbers *got, bool over_two)
{
    struct rows rows = rows_of(over_two);
    mlx_dtype dtype = float_of(in->dtype);
    long double all = 0;
    for (int r = 0; r < rows.count; r++) {
        long double sum = 0, squares = 0, powers = 0;
        for (int k = 0; k < rows.length; k++) sum += (long double)to_double(get(in, place(over_two, r, k)));
        for (int k = 0; k < rows.length; k++) {
            long double x = (long double)to_double(get(in, place(over_two, r, k)));
            squares += (x - sum / rows.length) * (x - sum / rows.length);
            powers += expl(x);
        }
        all += sum;
        expect_close(get(&got[0], r), sum / rows.length, dtype, "mean");
        expect_close(get(&got[1], r), squares / rows.length, dtype, "var");
        expect_close(get(&got[2], r), sqrtl(squares / (rows.length - 1)), dtype, "std");
        expect_close(get(&got[3], r), logl(powers), dtype, "logsumexp");
        for (int k = 0; k < rows.length; k++)
            expect_close(get(&got[4], place(over_two, r, k)),
                         expl((long double)to_double(get(in, place(over_two, r, k)))) / powers, dtype, "softmax");
    }
    expect_close(get(&got[5], 0), all / in->size, dtype, "mean of all");
    CHECK_EQ(got[1].shape.ndim, 3);
    CHECK_EQ(got[5].shape.ndim, over_two ? 0 : 3);
}

static void every_real_dtype(void **state)
{
    uint64_t random = 71;
    (void)state;
    for (int dtype = 0; dtype < MLX_COMPLEX64; dtype++)
        for (int over_two = 0; over_two < 2; over_two++)
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
                bool two = over_two;
                struct numbers in = filled(dtype, &random), got[OUTPUTS];
                mlx_array a = make_array(&in, layout);
                run_both_ways(call_all, &two, &a, 1, got, OUTPUTS, layout == PACKED, "means");
                check(&in, got, two);
                mlx_array_free(a), numbers_free(&in);
                for (int i = 0; i < OUTPUTS; i++) numbers_free(&got[i]);
            }
}

/* A sum above 65504 does not spoil the mean of a float16; infinities do not make NaN of logsumexp. */
static void far_numbers(void **state)
{
    float large[4] = {60000, 60000, 60000, 60000}, infinite[6] = {-INFINITY, -INFINITY, 1, INFINITY, 1000, 1000};
    int count = 4, pairs[2] = {3, 2};
    float number;
    mlx_array a = mlx_array_new_data(large, &count, 1, MLX_FLOAT32), res = mlx_array_new(),
              b = mlx_array_new_data(infinite, pairs, 2, MLX_FLOAT32);
    (void)state;
    expect_ok(mlx_astype(&a, a, MLX_FLOAT16, stream), "astype");
    expect_ok(mlx_mean(&res, a, false, stream), "mean");
    expect_ok(mlx_astype(&res, res, MLX_FLOAT32, stream), "astype");
    expect_ok(mlx_array_item_float32(&number, res), "item");
    CHECK_EQ(number, 60000);
    expect_ok(mlx_logsumexp_axis(&res, b, 1, false, stream), "logsumexp");
    struct numbers got = read_array(res);
    CHECK_TRUE(get(&got, 0).f == -INFINITY && get(&got, 1).f == INFINITY);
    CHECK_LT(fabsf(get(&got, 2).f - 1000.6931f), 1e-3f);
    numbers_free(&got), mlx_array_free(a), mlx_array_free(b), mlx_array_free(res);
}

static void bad_input_is_refused(void **state)
{
    mlx_array res = {0}, one = mlx_array_new_float(1);
    (void)state;
    expect_refusal(mlx_mean_axis(&res, one, 0, false, stream), res, "an axis of a scalar");
    expect_refusal(mlx_logsumexp_axes(&res, one, NULL, 1, false, stream), res, "no axes");
    expect_refusal(mlx_cumsum(&res, one, 0, false, true, stream), res, "a running sum of a scalar");
    expect_refusal(mlx_std(&res, (mlx_array){0}, false, 0, stream), res, "no array");
    mlx_array_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_real_dtype, set_up),
        cmocka_unit_test_setup(far_numbers, set_up),
        cmocka_unit_test_setup(bad_input_is_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
