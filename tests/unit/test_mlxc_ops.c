/*
 * test_mlxc_ops.c - operations through the ABI: the result's box, aliasing, errors, dtypes, and what they compute.
 */
#include "mlxc_support.h"

static mlx_stream stream;

static int set_up(void **state)
{
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    return install_handler(state);
}

static mlx_array matrix(const float *values, int rows, int columns)
{
    const int shape[2] = {rows, columns};
    return mlx_array_new_data(values, shape, 2, MLX_FLOAT32);
}

static const float six[6] = {1, 2, 3, 4, 5, 6};

/* The program example-float64 of mlx-c, as far as it goes without arange. */
static void test_float64_program(void **state)
{
    const double values[6] = {1, 2, 3, 4, 5, 6};
    const int shape[2] = {2, 3};
    mlx_array array = mlx_array_new_data(values, shape, 2, MLX_FLOAT64);
    mlx_array three = mlx_array_new_float64(3), two = mlx_array_new_int(2);
    (void)state;
    CHECK_EQ(mlx_multiply(&array, array, three, stream), 0);
    expect_text(array, "array([[3, 6, 9],\n       [12, 15, 18]], dtype=float64)");
    void *box = array.ctx;
    CHECK_EQ(mlx_divide(&array, array, two, stream), 0);
    CHECK_EQ(array.ctx, box);
    expect_text(array, "array([[1.5, 3, 4.5],\n       [6, 7.5, 9]], dtype=float64)");
    mlx_array_free(array), mlx_array_free(three), mlx_array_free(two);
    expect_no_error();
}

static void test_result_box(void **state)
{
    mlx_array a = mlx_array_new_float(2), res = mlx_array_new(), old = mlx_array_new_int(5);
    (void)state;
    CHECK_EQ(mlx_add(&res, a, a, stream), 0);
    CHECK_NOT_NULL(res.ctx);
    expect_text(res, "array(4, dtype=float32)");
    mlx_array copy = old;
    CHECK_EQ(mlx_add(&old, res, res, stream), 0);
    expect_text(copy,
                "array(8, dtype=float32)"); /* the box was kept: another copy of the handle sees the new content */
    for (int i = 0; i < 3; i++) CHECK_EQ(mlx_add(&a, a, a, stream), 0);
    expect_text(a, "array(16, dtype=float32)");
    mlx_array_free(a), mlx_array_free(res), mlx_array_free(old);
}

static void test_errors_leave_the_result(void **state)
{
    mlx_array a = floats(six, 2), b = floats(six, 3), res = mlx_array_new(), old = mlx_array_new_int(5);
    mlx_stream none = mlx_stream_new();
    (void)state;
    CHECK_EQ(mlx_add(&res, a, b, stream), 1), expect_error("(2)");
    CHECK_NULL(res.ctx);
    CHECK_EQ(mlx_add(&old, a, b, stream), 1), expect_error("(3)");
    expect_text(old, "array(5, dtype=int32)");
    CHECK_EQ(mlx_add(&res, a, a, none), 1), expect_error("expected a non-empty mlx_stream");
    CHECK_EQ(mlx_add(&res, res, a, stream), 1), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_exp(&res, res, stream), 1), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_add(NULL, a, a, stream), 1), expect_error("NULL");
    CHECK_EQ(mlx_astype(&res, a, (mlx_dtype)20, stream), 1), expect_error("dtype");
    CHECK_EQ(mlx_zeros(&res, NULL, 2, MLX_INT8, stream), 1), expect_error("NULL");
    CHECK_EQ(mlx_slice(&res, a, NULL, 1, NULL, 1, NULL, 1, stream), 1), expect_error("[slice]");
    CHECK_EQ(mlx_slice(&res, a, NULL, 2, NULL, 1, NULL, 1, stream), 1), expect_error("[slice] expected 1");
    CHECK_EQ(mlx_expand_dims(&res, a, 5, stream), 1), expect_error("5");
    CHECK_EQ(mlx_squeeze_axis(&res, a, 0, stream), 1), expect_error("[squeeze");
    CHECK_NULL(res.ctx);
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(old);
}

static void test_dtypes(void **state)
{
    const struct {
        int (*function)(mlx_array *, const mlx_array, const mlx_array, const mlx_stream);
        mlx_dtype a, b, result;
    } cases[] = {
        {mlx_add, MLX_BFLOAT16, MLX_FLOAT32, MLX_FLOAT32},     {mlx_add, MLX_BOOL, MLX_BOOL, MLX_BOOL},
        {mlx_add, MLX_UINT64, MLX_INT8, MLX_FLOAT32},          {mlx_add, MLX_UINT8, MLX_INT8, MLX_INT16},
        {mlx_divide, MLX_INT32, MLX_INT32, MLX_FLOAT32},       {mlx_equal, MLX_INT32, MLX_FLOAT32, MLX_BOOL},
        {mlx_maximum, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32}, {mlx_multiply, MLX_INT32, MLX_COMPLEX64, MLX_COMPLEX64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mlx_array a = mlx_array_new(), b = mlx_array_new(), res = mlx_array_new();
        CHECK_EQ(mlx_zeros(&a, NULL, 0, cases[i].a, stream), 0);
        CHECK_EQ(mlx_zeros(&b, NULL, 0, cases[i].b, stream), 0);
        CHECK_EQ(cases[i].function(&res, a, b, stream), 0);
        CHECK_EQ(mlx_array_dtype(res), cases[i].result);
        mlx_array_free(a), mlx_array_free(b), mlx_array_free(res);
    }
    expect_no_error();
}

static void test_elementwise_functions(void **state)
{
    mlx_array a = floats((float[]){-1, 0, 4}, 3), b = floats((float[]){2, 0, 1}, 3), res = mlx_array_new();
    (void)state;
    mlx_add(&res, a, b, stream), expect_floats(res, (float[]){1, 0, 5}, 3);
    mlx_subtract(&res, a, b, stream), expect_floats(res, (float[]){-3, 0, 3}, 3);
    mlx_multiply(&res, a, b, stream), expect_floats(res, (float[]){-2, 0, 4}, 3);
    mlx_maximum(&res, a, b, stream), expect_floats(res, (float[]){2, 0, 4}, 3);
    mlx_minimum(&res, a, b, stream), expect_floats(res, (float[]){-1, 0, 1}, 3);
    mlx_abs(&res, a, stream), expect_floats(res, (float[]){1, 0, 4}, 3);
    mlx_negative(&res, a, stream), expect_floats(res, (float[]){1, -0.0f, -4}, 3);
    mlx_square(&res, a, stream), expect_floats(res, (float[]){1, 0, 16}, 3);
    mlx_greater(&res, a, b, stream), expect_text(res, "array([false, false, true], dtype=bool)");
    mlx_greater_equal(&res, a, b, stream), expect_text(res, "array([false, true, true], dtype=bool)");
    mlx_less(&res, a, b, stream), expect_text(res, "array([true, false, false], dtype=bool)");
    mlx_less_equal(&res, a, b, stream), expect_text(res, "array([true, true, false], dtype=bool)");
    mlx_equal(&res, a, b, stream), expect_text(res, "array([false, true, false], dtype=bool)");
    mlx_not_equal(&res, a, b, stream), expect_text(res, "array([true, false, true], dtype=bool)");
    mlx_where(&res, res, a, b, stream), expect_floats(res, (float[]){-1, 0, 4}, 3);
    mlx_logical_and(&res, a, b, stream), expect_text(res, "array([true, false, true], dtype=bool)");
    mlx_logical_or(&res, a, b, stream), expect_text(res, "array([true, false, true], dtype=bool)");
    mlx_logical_not(&res, a, stream), expect_text(res, "array([false, true, false], dtype=bool)");
    mlx_exp(&res, b, stream), expect_text(res, "array([7.38906, 1, 2.71828], dtype=float32)");
    mlx_log(&res, b, stream), expect_text(res, "array([0.693147, -inf, 0], dtype=float32)");
    mlx_erf(&res, a, stream), expect_text(res, "array([-0.842701, 0, 1], dtype=float32)");
    mlx_sigmoid(&res, a, stream), expect_text(res, "array([0.268941, 0.5, 0.982014], dtype=float32)");
    mlx_tanh(&res, a, stream), expect_text(res, "array([-0.761594, 0, 0.999329], dtype=float32)");
    mlx_logaddexp(&res, b, b, stream), expect_text(res, "array([2.69315, 0.693147, 1.69315], dtype=float32)");
    mlx_astype(&res, a, MLX_INT8, stream), expect_text(res, "array([-1, 0, 4], dtype=int8)");
    mlx_sqrt(&res, res, stream);
    CHECK_EQ(mlx_array_dtype(res), MLX_FLOAT32);
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(res);
    expect_no_error();
}

static void test_shapes(void **state)
{
    mlx_array a = matrix(six, 2, 3), res = mlx_array_new(), one = mlx_array_new_float(7);
    const int flat[1] = {-1}, three_two[2] = {3, 2}, start[2] = {0, 1}, stop[2] = {2, 3}, ones[2] = {1, 1};
    const int reps[2] = {1, 2}, swapped[2] = {1, 0};
    (void)state;
    mlx_reshape(&res, a, flat, 1, stream), expect_text(res, "array([1, 2, 3, 4, 5, 6], dtype=float32)");
    mlx_reshape(&res, a, three_two, 2, stream);
    expect_text(res, "array([[1, 2],\n       [3, 4],\n       [5, 6]], dtype=float32)");
    mlx_expand_dims(&res, a, 0, stream), CHECK_EQ(mlx_array_ndim(res), 3);
    mlx_squeeze_axis(&res, res, 0, stream), CHECK_EQ(mlx_array_ndim(res), 2);
    mlx_slice(&res, a, start, 2, stop, 2, ones, 2, stream);
    expect_text(res, "array([[2, 3],\n       [5, 6]], dtype=float32)");
    mlx_tile(&res, a, reps, 2, stream);
    expect_text(res, "array([[1, 2, 3, 1, 2, 3],\n       [4, 5, 6, 4, 5, 6]], dtype=float32)");
    mlx_transpose(&res, a, stream);
    expect_text(res, "array([[1, 4],\n       [2, 5],\n       [3, 6]], dtype=float32)");
    mlx_transpose_axes(&res, res, swapped, 2, stream);
    expect_text(res, "array([[1, 2, 3],\n       [4, 5, 6]], dtype=float32)");
    mlx_zeros(&res, three_two, 2, MLX_INT32, stream);
    expect_text(res, "array([[0, 0],\n       [0, 0],\n       [0, 0]], dtype=int32)");
    mlx_full(&res, swapped, 1, one, MLX_INT8, stream), expect_text(res, "array([7], dtype=int8)");
    mlx_broadcast_to(&res, one, three_two, 2, stream), CHECK_EQ(mlx_array_size(res), 6);
    mlx_array_free(a), mlx_array_free(res), mlx_array_free(one);
    expect_no_error();
}

static void test_lists(void **state)
{
    mlx_array a = floats(six, 2), b = floats(six + 2, 2), res = mlx_array_new();
    mlx_vector_array list = mlx_vector_array_new_value(a);
    (void)state;
    mlx_vector_array_append_value(list, b);
    mlx_concatenate_axis(&res, list, 0, stream), expect_floats(res, six, 4);
    mlx_concatenate(&res, list, stream), expect_floats(res, six, 4);
    mlx_stack_axis(&res, list, 1, stream), expect_text(res, "array([[1, 3],\n       [2, 4]], dtype=float32)");
    mlx_stack(&res, list, stream), expect_text(res, "array([[1, 2],\n       [3, 4]], dtype=float32)");
    expect_no_error();
    mlx_vector_array_set_data(&list, NULL, 0);
    CHECK_EQ(mlx_concatenate_axis(&res, list, 0, stream), 1), expect_error("[concatenate]");
    mlx_vector_array_free(list);
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(res);
}

static void test_products_and_sums(void **state)
{
    mlx_array a = matrix(six, 2, 3), b = matrix(six, 3, 2), res = mlx_array_new(), ints = mlx_array_new();
    (void)state;
    mlx_matmul(&res, a, b, stream), expect_floats(res, (float[]){22, 28, 49, 64}, 4);
    mlx_sum_axis(&res, a, -1, false, stream), expect_floats(res, (float[]){6, 15}, 2);
    mlx_sum_axis(&res, a, 0, true, stream), expect_text(res, "array([[5, 7, 9]], dtype=float32)");
    mlx_astype(&ints, a, MLX_UINT8, stream);
    mlx_sum_axis(&res, ints, 1, false, stream), expect_text(res, "array([6, 15], dtype=uint32)");
    mlx_astype(&ints, a, MLX_BOOL, stream);
    mlx_sum_axis(&res, ints, 1, false, stream), expect_text(res, "array([3, 3], dtype=int32)");
    expect_no_error();
    mlx_astype(&ints, a, MLX_INT32, stream);
    CHECK_EQ(mlx_matmul(&res, ints, ints, stream), 1), expect_error("[matmul]");
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(res), mlx_array_free(ints);
}

static void test_rms_norm(void **state)
{
    mlx_array x = matrix((float[]){3, 3, 3, 3}, 1, 4), weight = floats((float[]){1, 2, 3, 4}, 4), res = mlx_array_new();
    (void)state;
    CHECK_EQ(mlx_fast_rms_norm(&res, x, mlx_array_new(), 0, stream), 0);
    expect_text(res, "array([[1, 1, 1, 1]], dtype=float32)");
    CHECK_EQ(mlx_fast_rms_norm(&res, x, weight, 0, stream), 0);
    expect_text(res, "array([[1, 2, 3, 4]], dtype=float32)");
    mlx_array_free(x), mlx_array_free(weight), mlx_array_free(res);
    expect_no_error();
}

static void test_random(void **state)
{
    mlx_array key = mlx_array_new(), res = mlx_array_new(), half = mlx_array_new_float(0.5f), again = mlx_array_new();
    const int four[1] = {4}, many[1] = {1000};
    (void)state;
    CHECK_EQ(mlx_random_key(&key, 42), 0);
    expect_text(key, "array([0, 42], dtype=uint32)");
    CHECK_EQ(mlx_random_bits(&res, four, 1, 4, key, stream), 0);
    expect_text(res, "array([2465931498, 3679230171, 255383827, 267815257], dtype=uint32)");
    CHECK_EQ(mlx_random_bernoulli(&res, half, many, 1, key, stream), 0);
    CHECK_EQ(mlx_random_bernoulli(&again, half, many, 1, key, stream), 0);
    mlx_array_eval(res), mlx_array_eval(again);
    CHECK_MEM(mlx_array_data_bool(res), mlx_array_data_bool(again), 1000);
    CHECK_EQ(mlx_random_bernoulli(&again, half, many, 1, mlx_array_new(), stream), 0);
    mlx_array_eval(again);
    int count = 0;
    for (int i = 0; i < 1000; i++) count += mlx_array_data_bool(again)[i];
    CHECK_TRUE(count > 400 && count < 600);
    expect_no_error();
    mlx_array_free(key), mlx_array_free(res), mlx_array_free(half), mlx_array_free(again);
}

/* data_* does not evaluate; views share storage and are strided. */
static void test_lazy_and_views(void **state)
{
    mlx_array a = matrix(six, 2, 3), res = mlx_array_new();
    const int start[2] = {0, 1}, stop[2] = {2, 3}, ones[2] = {1, 1};
    bool flag = true;
    size_t before, after;
    (void)state;
    mlx_add(&res, a, a, stream);
    CHECK_EQ(_mlx_array_is_available(&flag, res), 0), CHECK_FALSE(flag);
    CHECK_NULL(mlx_array_data_float32(res)), expect_error("not evaluated");
    CHECK_EQ(_mlx_array_is_row_contiguous(&flag, res), 1), expect_error("evaluated");
    CHECK_EQ(mlx_array_eval(res), 0);
    CHECK_EQ(_mlx_array_is_available(&flag, res), 0), CHECK_TRUE(flag);
    mlx_get_active_memory(&before);
    mlx_slice(&res, a, start, 2, stop, 2, ones, 2, stream);
    CHECK_EQ(mlx_array_eval(res), 0);
    mlx_get_active_memory(&after);
    CHECK_LE(after, before);
    CHECK_EQ(mlx_array_data_float32(res), mlx_array_data_float32(a) + 1);
    mlx_transpose(&res, a, stream);
    CHECK_EQ(mlx_array_eval(res), 0);
    CHECK_EQ(mlx_array_data_float32(res), mlx_array_data_float32(a));
    CHECK_EQ(mlx_array_strides(res)[0], 1);
    CHECK_EQ(_mlx_array_is_col_contiguous(&flag, res), 0), CHECK_TRUE(flag);
    CHECK_EQ(_mlx_array_is_row_contiguous(&flag, res), 0), CHECK_FALSE(flag);
    CHECK_EQ(_mlx_array_is_contiguous(&flag, res), 0), CHECK_TRUE(flag);
    mlx_contiguous(&res, res, false, stream);
    expect_floats(res, (float[]){1, 4, 2, 5, 3, 6}, 6);
    mlx_array_free(a), mlx_array_free(res);
    expect_no_error();
}

/* Handles may be freed right after an asynchronous evaluation was started. */
static void test_async(void **state)
{
    mlx_array a = floats(six, 6), res = mlx_array_new();
    mlx_vector_array list = mlx_vector_array_new();
    (void)state;
    mlx_add(&res, a, a, stream);
    mlx_vector_array_append_value(list, res);
    CHECK_EQ(mlx_async_eval(list), 0);
    mlx_vector_array_free(list);
    mlx_array_free(a);
    expect_floats(res, (float[]){2, 4, 6, 8, 10, 12}, 6);
    CHECK_EQ(mlx_synchronize(stream), 0);
    mlx_array_free(res);
    expect_no_error();
}

/* Without compile every operation has its own result: the peak of (a*b)*(a+b) is five arrays. */
static void test_uncompiled_peak(void **state)
{
#ifdef mlx_default_cpu_stream_new
    CHECK_SKIP(); /* on a GPU the inputs are there twice */
#endif
    enum { COUNT = 1 << 20 };
    float *values = calloc(COUNT, sizeof *values);
    mlx_array a = floats(values, COUNT), b = floats(values, COUNT), c = mlx_array_new(), d = mlx_array_new();
    size_t active, peak;
    (void)state;
    mlx_get_active_memory(&active);
    mlx_multiply(&c, a, b, stream), mlx_add(&d, a, b, stream);
    mlx_array product = mlx_array_new();
    mlx_multiply(&product, c, d, stream);
    mlx_reset_peak_memory();
    CHECK_EQ(mlx_array_eval(product), 0);
    mlx_get_peak_memory(&peak);
    CHECK_EQ(peak - active, 3 * COUNT * sizeof(float));
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(c), mlx_array_free(d), mlx_array_free(product);
    free(values);
    expect_no_error();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_float64_program, set_up),
        cmocka_unit_test_setup(test_result_box, set_up),
        cmocka_unit_test_setup(test_errors_leave_the_result, set_up),
        cmocka_unit_test_setup(test_dtypes, set_up),
        cmocka_unit_test_setup(test_elementwise_functions, set_up),
        cmocka_unit_test_setup(test_shapes, set_up),
        cmocka_unit_test_setup(test_lists, set_up),
        cmocka_unit_test_setup(test_products_and_sums, set_up),
        cmocka_unit_test_setup(test_rms_norm, set_up),
        cmocka_unit_test_setup(test_random, set_up),
        cmocka_unit_test_setup(test_lazy_and_views, set_up),
        cmocka_unit_test_setup(test_async, set_up),
        cmocka_unit_test_setup(test_uncompiled_peak, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
