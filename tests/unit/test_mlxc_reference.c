/*
 * test_mlxc_reference.c - what MLX 0.31.2 accepts and gives at the edges of arguments: padding that cuts, axes beyond
 * the rank, nothing to split, values with leading axes of 1, series of nothing, and dtypes of results.
 * docs/reference.md has what differs on purpose.
 */
#include "support/arrays.h"

static mlx_array res;

static int set_up_result(void **state)
{
    res = mlx_array_new();
    return set_up(state);
}

static int drop_result(void **state)
{
    (void)state;
    return mlx_array_free(res);
}

/* 0, 1, 2, ... */
static mlx_array counting(mlx_dtype dtype, int ndim, const int *dims)
{
    mlx_array flat = mlx_array_new(), out = mlx_array_new();
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= dims[i];
    expect_ok(mlx_arange(&flat, 0, size, 1, MLX_INT32, stream), "arange");
    expect_ok(mlx_reshape(&flat, flat, dims, (size_t)ndim, stream), "reshape");
    expect_ok(mlx_astype(&out, flat, dtype, stream), "astype");
    mlx_array_free(flat);
    return out;
}

#define DIMS(...)                                                                                                      \
    sizeof((int[]){__VA_ARGS__}) / sizeof(int), (const int[])                                                          \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void expect_result(int code, const char *what, mlx_dtype dtype, size_t ndim, const int *dims)
{
    expect_ok(code, what);
    expect_ok(mlx_array_eval(res), what);
    CHECK_EQ(mlx_array_dtype(res), dtype);
    CHECK_EQ(mlx_array_ndim(res), ndim);
    for (size_t i = 0; i < ndim; i++) CHECK_EQ(mlx_array_shape(res)[i], dims[i]);
}
#define expect_result(...) CHECK_CALL(expect_result, __VA_ARGS__)

static void expect_numbers(const double *want)
{
    struct numbers got = read_array(res);
    for (int i = 0; i < got.size; i++) CHECK_EQ(to_double(get(&got, i)), want[i]);
    numbers_free(&got);
}
#define expect_numbers(...) CHECK_CALL(expect_numbers, ((const double[]){__VA_ARGS__}))

static void negative_padding_cuts(void **state)
{
    mlx_array line = counting(MLX_FLOAT32, 3, (int[]){1, 6, 1}), pair = counting(MLX_FLOAT32, 3, (int[]){1, 2, 1});
    mlx_array none = {0};
    (void)state;
    expect_result(mlx_conv1d(&res, line, pair, 1, -1, 1, 1, stream), "conv1d", MLX_FLOAT32, DIMS(1, 3, 1));
    expect_numbers(2, 3, 4); /* of 1 2 3 4 */
    expect_result(mlx_conv_transpose1d(&res, line, pair, 1, -1, 1, 0, 1, stream), "conv_transpose1d", MLX_FLOAT32,
                  DIMS(1, 9, 1));
    expect_numbers(0, 0, 0, 1, 2, 3, 4, 5, 0);
    expect_result(mlx_conv_general(&res, line, pair, (int[]){1}, 1, (int[]){-1}, 1, (int[]){0}, 1, (int[]){1}, 1,
                                   (int[]){2}, 1, 1, false, stream),
                  "conv_general", MLX_FLOAT32, DIMS(1, 9, 1));
    expect_numbers(1, 0, 2, 0, 3, 0, 4, 0, 5); /* gaps are made first, unlike in MLX */
    expect_refusal(mlx_conv1d(&none, line, pair, 1, -3, 1, 1, stream), none, "all is cut");
    expect_refusal(mlx_conv1d(&none, line, pair, 1, -2147483647 - 1, 1, 1, stream), none, "far more is cut");
    mlx_array_free(line), mlx_array_free(pair);
}

static void axes_of_flatten_are_clamped(void **state)
{
    mlx_array cube = counting(MLX_INT32, 3, (int[]){2, 3, 4}), none = {0};
    (void)state;
    expect_result(mlx_flatten(&res, cube, 1, 9, stream), "flatten", MLX_INT32, DIMS(2, 12));
    expect_result(mlx_flatten(&res, cube, -9, 1, stream), "flatten", MLX_INT32, DIMS(6, 4));
    expect_refusal(mlx_flatten(&none, cube, 3, 5, stream), none, "a first axis behind all");
    expect_refusal(mlx_flatten(&none, cube, 0, -4, stream), none, "a last axis before all");
    expect_refusal(mlx_flatten(&none, cube, 2, 1, stream), none, "axes the other way round");
    mlx_array_free(cube);
}

static void an_empty_axis_has_no_edge(void **state)
{
    mlx_array a = counting(MLX_FLOAT32, 2, (int[]){0, 3}), zero = mlx_array_new_float(0), none = {0};
    (void)state;
    expect_refusal(mlx_pad(&none, a, (int[]){0}, 1, (int[]){1}, 1, (int[]){1}, 1, zero, "edge", stream), none, "edge");
    mlx_array_free(a), mlx_array_free(zero);
}

static void nothing_to_make(void **state)
{
    mlx_array key = mlx_array_new(), scalar = mlx_array_new_float(3);
    mlx_vector_array one = mlx_vector_array_new_data(&scalar, 1);
    (void)state;
    expect_ok(mlx_random_key(&key, 1), "key");
    expect_result(mlx_random_split_num(&res, key, 0, stream), "split", MLX_UINT32, DIMS(0, 2));
    expect_result(mlx_arange(&res, 10, 10, 0, MLX_FLOAT32, stream), "arange", MLX_FLOAT32, DIMS(0));
    expect_result(mlx_arange(&res, 3, 10, INFINITY, MLX_FLOAT32, stream), "arange", MLX_FLOAT32, DIMS(1));
    expect_numbers(3);
    expect_result(mlx_arange(&res, 10, 3, INFINITY, MLX_FLOAT32, stream), "arange", MLX_FLOAT32, DIMS(0));
    expect_result(mlx_concatenate_axis(&res, one, 0, stream), "concatenate", MLX_FLOAT32, 0, NULL);
    mlx_array_free(key), mlx_array_free(scalar), mlx_vector_array_free(one);
}

static void values_may_have_leading_ones(void **state)
{
    mlx_array a = counting(MLX_FLOAT32, 2, (int[]){2, 3}), values = counting(MLX_FLOAT32, 4, (int[]){1, 1, 2, 3});
    mlx_array places = mlx_array_new_data((int[]){1, 0, 1, 0, 1, 0}, (int[]){2, 3}, 2, MLX_INT32), none = {0};
    mlx_array two = counting(MLX_FLOAT32, 3, (int[]){2, 2, 3});
    (void)state;
    expect_result(mlx_put_along_axis(&res, a, places, values, 0, stream), "put_along_axis", MLX_FLOAT32, DIMS(2, 3));
    expect_numbers(3, 1, 5, 0, 4, 2);
    expect_result(mlx_slice_update(&res, a, values, (int[]){0, 0}, 2, (int[]){2, 3}, 2, (int[]){1, 1}, 2, stream),
                  "slice_update", MLX_FLOAT32, DIMS(2, 3));
    expect_numbers(0, 1, 2, 3, 4, 5);
    expect_refusal(mlx_put_along_axis(&none, a, places, two, 0, stream), none, "a leading axis of 2");
    mlx_array_free(a), mlx_array_free(values), mlx_array_free(places), mlx_array_free(two);
}

static void dtypes_of_reductions(void **state)
{
    mlx_array bytes = counting(MLX_UINT8, 2, (int[]){2, 3}), truths = counting(MLX_BOOL, 1, (int[]){3});
    (void)state;
    expect_result(mlx_sum_axes(&res, bytes, (int[]){0}, 0, false, stream), "sum over no axes", MLX_UINT8, DIMS(2, 3));
    expect_numbers(0, 1, 2, 3, 4, 5);
    expect_result(mlx_prod_axes(&res, bytes, (int[]){0}, 0, true, stream), "prod over no axes", MLX_UINT8, DIMS(2, 3));
    expect_result(mlx_sum_axis(&res, bytes, 0, false, stream), "sum", MLX_UINT32, DIMS(3));
    expect_result(mlx_cumprod(&res, truths, 0, false, true, stream), "cumprod of bool", MLX_BOOL, DIMS(3));
    expect_numbers(0, 0, 0);
    expect_result(mlx_cumprod(&res, truths, 0, true, false, stream), "cumprod of bool", MLX_BOOL, DIMS(3));
    expect_numbers(1, 1, 1);
    expect_result(mlx_cumsum(&res, truths, 0, false, true, stream), "cumsum of bool", MLX_INT32, DIMS(3));
    expect_numbers(0, 1, 2);
    mlx_array_free(bytes), mlx_array_free(truths);
}

static void dtypes_of_layers(void **state)
{
    mlx_array x = counting(MLX_FLOAT16, 2, (int[]){2, 4}), row = counting(MLX_FLOAT32, 1, (int[]){4}), none = {0};
    mlx_array whole = counting(MLX_INT32, 2, (int[]){2, 4});
    (void)state;
    expect_result(mlx_fast_layer_norm(&res, x, none, row, 1e-5f, stream), "a bias alone", MLX_FLOAT16, DIMS(2, 4));
    expect_result(mlx_fast_layer_norm(&res, x, row, row, 1e-5f, stream), "a weight", MLX_FLOAT32, DIMS(2, 4));
    expect_refusal(mlx_fast_layer_norm(&none, whole, none, row, 1e-5f, stream), none, "integers with a bias");
    mlx_array_free(x), mlx_array_free(row), mlx_array_free(whole);
}

static void a_global_scale_gives_float32(void **state)
{
    mlx_array codes = counting(MLX_UINT32, 2, (int[]){1, 2}), scales = counting(MLX_UINT8, 2, (int[]){1, 1});
    mlx_array global = mlx_array_new_float(6), none = {0};
    mlx_optional_int group = {16, true}, bits = {4, true};
    mlx_optional_dtype any = {MLX_BOOL, false}, half = {MLX_FLOAT16, true};
    (void)state;
    expect_result(mlx_dequantize(&res, codes, scales, none, group, bits, "nvfp4", none, any, stream), "dequantize",
                  MLX_BFLOAT16, DIMS(1, 16));
    expect_result(mlx_dequantize(&res, codes, scales, none, group, bits, "nvfp4", global, any, stream), "dequantize",
                  MLX_FLOAT32, DIMS(1, 16));
    expect_result(mlx_dequantize(&res, codes, scales, none, group, bits, "nvfp4", global, half, stream), "dequantize",
                  MLX_FLOAT16, DIMS(1, 16)); /* MLX ignores what is asked for */
    mlx_array_free(codes), mlx_array_free(scales), mlx_array_free(global);
}

static void a_complex_nan_has_a_sign_between(void **state)
{
    mlx_array a = mlx_array_new_complex(1, NAN);
    mlx_string text = mlx_string_new();
    (void)state;
    expect_ok(mlx_array_tostring(&text, a), "tostring");
    CHECK_STR(mlx_string_data(text), "array(1+nanj, dtype=complex64)");
    mlx_array_free(a), mlx_string_free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_result, drop_result)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(negative_padding_cuts),     TEST(axes_of_flatten_are_clamped),  TEST(nothing_to_make),
        TEST(an_empty_axis_has_no_edge), TEST(values_may_have_leading_ones), TEST(dtypes_of_reductions),
        TEST(dtypes_of_layers),          TEST(a_global_scale_gives_float32), TEST(a_complex_nan_has_a_sign_between),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
