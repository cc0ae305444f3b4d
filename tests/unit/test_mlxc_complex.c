/*
 * test_mlxc_complex.c - what is composed for complex64: averages, exponentials over an axis, medians, replaced numbers,
 * random ones, and infinities in products. Numbers are those of MLX 0.31.2, or C's Annex G where there is an infinity;
 * each is computed plainly and compiled, to the same bits.
 */
#include "support/arrays.h"

typedef int axis_function(mlx_array *, mlx_array);

static int var(mlx_array *res, mlx_array a)
{
    return mlx_var_axis(res, a, 0, false, 0, stream);
}

static int std(mlx_array *res, mlx_array a)
{
    return mlx_std_axis(res, a, 0, false, 0, stream);
}

static int mean(mlx_array *res, mlx_array a)
{
    return mlx_mean(res, a, false, stream);
}

static int logsumexp(mlx_array *res, mlx_array a)
{
    return mlx_logsumexp_axis(res, a, 0, false, stream);
}

static int softmax(mlx_array *res, mlx_array a)
{
    return mlx_softmax_axis(res, a, 0, true, stream);
}

static int median(mlx_array *res, mlx_array a)
{
    return mlx_median(res, a, (int[]){0}, 1, false, stream);
}

static int logcumsumexp(mlx_array *res, mlx_array a)
{
    return mlx_logcumsumexp(res, a, 0, false, true, stream);
}

static int product(mlx_array *res, mlx_array a)
{
    return mlx_prod(res, a, false, stream);
}

static int running_product(mlx_array *res, mlx_array a)
{
    return mlx_cumprod(res, a, 0, false, true, stream);
}

static int replace(mlx_array *res, mlx_array a)
{
    mlx_optional_float none = {0, false};
    return mlx_nan_to_num(res, a, 7, (mlx_optional_float){8, true}, none, stream);
}

static int call_axis(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count;
    return (*(axis_function *const *)context)(outputs, inputs[0]);
}

static bool near(float got, float want)
{
    if (isnan(want)) return isnan(got);
    return got == want || fabsf(got - want) <= 2e-6f * fmaxf(1, fabsf(want));
}

static void expect(axis_function *function, const float *in, int n, const float *want, int results, const char *what)
{
    mlx_array a = mlx_array_new_data(in, &n, 1, MLX_COMPLEX64);
    struct numbers got;
    run_both_ways(call_axis, &function, &a, 1, &got, 1, 2, what);
    CHECK_EQ(got.dtype, MLX_COMPLEX64);
    CHECK_EQ(got.size, results);
    for (int i = 0; i < results; i++) {
        struct scalar z = get(&got, i);
        if (!near(z.f, want[2 * i]) || !near(z.imaginary, want[2 * i + 1]))
            CHECK_FAIL("%s: element %d is %.9g %+.9gi, expected %.9g %+.9gi", what, i, (double)z.f, (double)z.imaginary,
                       (double)want[2 * i], (double)want[2 * i + 1]);
    }
    numbers_free(&got), mlx_array_free(a);
}
#define expect(...) CHECK_CALL(expect, __VA_ARGS__)

#define PARTS(...)                                                                                                     \
    (const float[])                                                                                                    \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void over_an_axis(void **state)
{
    static const float four[] = {1, 2, -0.5f, 0.25f, 0, 1, 3, -4};
    (void)state;
    expect(mean, four, 4, PARTS(0.875f, -0.1875f), 1, "mean");
    expect(var, four, 4, PARTS(-3.43359375f, -4.734375f), 1, "var");
    expect(std, four, 4, PARTS(1.09882069f, -2.15429831f), 1, "std");
    expect(logsumexp, four, 4, PARTS(3.12767935f, -4.09925127f), 1, "logsumexp");
    expect(softmax, four, 4,
           PARTS(0.117104165f, -0.0217856746f, -0.00944067165f, -0.0248445719f, 0.016532369f, -0.0405810028f,
                 0.875804126f, 0.0872112513f),
           4, "softmax");
    expect(median, four, 4, PARTS(0.5f, 1.5f), 1, "median of four");
    expect(median, four, 3, PARTS(0, 1), 1, "median of three");
    expect(logcumsumexp, four, 4,
           PARTS(1, 2, 0.984895587f, 1.77521336f, 1.24220955f, 1.57172811f, 3.12767935f, -4.09925127f), 4,
           "logcumsumexp");
}

/* Rows that are long enough for a kernel with rows give what short ones add up to. */
static void over_long_rows(void **state)
{
    enum { N = 300 };
    float many[2 * N], want[2 * N];
    (void)state;
    for (int i = 0; i < N; i++) {
        many[2 * i] = 2, many[2 * i + 1] = -1;
        want[2 * i] = 1.0f / N, want[2 * i + 1] = 0;
    }
    expect(softmax, many, N, want, N, "softmax of a row");
    expect(logsumexp, many, N, PARTS(2 + logf(N), -1), 1, "logsumexp of a row");
    many[2 * 77] = -INFINITY, many[2 * 78] = INFINITY;
    expect(logsumexp, many, N, PARTS(INFINITY, -1), 1, "logsumexp of an infinity");
}

static void not_a_number(void **state)
{
    static const float some[] = {NAN, 1, INFINITY, -2, 3, -INFINITY, -0.0f, 5};
    (void)state;
    expect(median, some, 4, PARTS(NAN, 1), 1, "median");
    expect(replace, some, 4, PARTS(7, 1, 8, -2, 3, -0x1.fffffep127f, 0, 5), 4, "nan_to_num");
}

/* Two NaN give way to an infinity. */
static void infinite_products(void **state)
{
    static const float some[] = {INFINITY, INFINITY, 127, 0, -1, 0, 0, 1, 2, 0};
    enum { N = 40 };
    float many[2 * N];
    (void)state;
    expect(product, some, 5, PARTS(INFINITY, -INFINITY), 1, "prod");
    expect(
        running_product, some, 5,
        PARTS(INFINITY, INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY),
        5, "cumprod");
    for (int i = 0; i < N; i++) many[2 * i] = i == 7 ? INFINITY : 1, many[2 * i + 1] = i == 7 ? INFINITY : 0;
    expect(product, many, N, PARTS(INFINITY, INFINITY), 1, "prod of many");
}

static void quotients_at_the_ends(void **state)
{
    static const float values[][6] = {
        {1, 1, 0, 0, INFINITY, INFINITY},                 /* (1+1i) / 0 */
        {1, 0, 0, INFINITY, 0, -0.0f},                    /* 1 / (0+inf i) */
        {INFINITY, INFINITY, 127, 0, INFINITY, INFINITY}, /* (inf+inf i) / 127 */
        {0, 0, 0, 0, NAN, NAN},
    };
    int shape = 1;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        mlx_array a = mlx_array_new_data(values[i], &shape, 1, MLX_COMPLEX64), res = mlx_array_new();
        mlx_array b = mlx_array_new_data(values[i] + 2, &shape, 1, MLX_COMPLEX64);
        expect_ok(mlx_divide(&res, a, b, stream), "divide");
        struct numbers got = read_array(res);
        CHECK_TRUE(same_scalar(get(&got, 0), make_complex(values[i][4], values[i][5])));
        mlx_array_free(a), mlx_array_free(b), mlx_array_free(res), numbers_free(&got);
    }
}

static void random_numbers(void **state)
{
    static const float want[] = {0.34621722f, 0.17837304f,  -0.44363177f, -0.4968151f,
                                 0.50610036f, -0.40198952f, -1.2347379f,  -1.927477f};
    static const double wide[] = {0.186935640844525, 1.06533388190221, -1.55931259390829, -1.53529543447603};
    int shape = 4, column[] = {2, 1};
    mlx_array key = mlx_array_new(), res = mlx_array_new(), none = {0};
    mlx_array loc = mlx_array_new_data(PARTS(1, 2), column, 2, MLX_FLOAT32);
    (void)state;
    expect_ok(mlx_random_key(&key, 42), "key");
    expect_ok(mlx_random_normal(&res, &shape, 1, MLX_COMPLEX64, 0, 1, key, stream), "normal");
    struct numbers got = read_array(res);
    for (int i = 0; i < 4; i++)
        CHECK_TRUE(near(get(&got, i).f, want[2 * i]) && near(get(&got, i).imaginary, want[2 * i + 1]));
    numbers_free(&got);
    expect_ok(mlx_random_normal(&res, &shape, 1, MLX_FLOAT64, 0, 1, key, stream), "normal");
    got = read_array(res);
    CHECK_EQ(got.dtype, MLX_FLOAT64);
    for (int i = 0; i < 4; i++) CHECK_LT(fabs(get(&got, i).d - wide[i]), 1e-14);
    numbers_free(&got);
    expect_ok(mlx_random_normal_broadcast(&res, &shape, 1, MLX_FLOAT64, loc, none, key, stream), "normal around two");
    got = read_array(res);
    CHECK_TRUE(got.shape.ndim == 2 && got.shape.dims[0] == 2 && got.shape.dims[1] == 4);
    for (int i = 0; i < 8; i++) CHECK_LT(fabs(get(&got, i).d - wide[i % 4] - (1 + i / 4)), 1e-14);
    numbers_free(&got);
    expect_refusal(mlx_random_normal(&none, &shape, 1, MLX_INT32, 0, 1, key, stream), none, "normal integers");
    mlx_array_free(key), mlx_array_free(res), mlx_array_free(loc);
}

/* They have no meaning for complex numbers. */
static void no_order_no_angle(void **state)
{
    mlx_array a = mlx_array_new_complex(1, 2), res = {0};
    (void)state;
    expect_refusal(mlx_remainder(&res, a, a, stream), res, "remainder");
    expect_refusal(mlx_floor_divide(&res, a, a, stream), res, "floor_divide");
    expect_refusal(mlx_arctan2(&res, a, a, stream), res, "arctan2");
    expect_refusal(mlx_erf(&res, a, stream), res, "erf");
    mlx_array_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(over_an_axis, set_up),          cmocka_unit_test_setup(over_long_rows, set_up),
        cmocka_unit_test_setup(not_a_number, set_up),          cmocka_unit_test_setup(infinite_products, set_up),
        cmocka_unit_test_setup(quotients_at_the_ends, set_up), cmocka_unit_test_setup(random_numbers, set_up),
        cmocka_unit_test_setup(no_order_no_angle, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
