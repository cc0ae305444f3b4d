/*
 * test_mlxc_array.c - arrays through their handles: ownership, questions, elements, text.
 */
#include "mlxc_support.h"

static int released;
static void *released_payload;

static void count_release(void *payload)
{
    released++;
    released_payload = payload;
}

static void test_new_is_empty_and_free(void **state)
{
    (void)state;
    CHECK_NULL(mlx_array_new().ctx);
    CHECK_EQ(mlx_array_free(mlx_array_new()), 0);
    expect_no_error();
}

static void test_empty_handles_are_errors(void **state)
{
    mlx_array empty = mlx_array_new();
    bool flag = true;
    float value = 3;
    mlx_string text = mlx_string_new();
    (void)state;
    CHECK_EQ(mlx_array_dtype(empty), MLX_BOOL), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_array_size(empty), 0), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_array_nbytes(empty), 0), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_array_itemsize(empty), 0), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_array_dim(empty, 0), 0), expect_error("expected a non-empty mlx_array");
    CHECK_NULL(mlx_array_shape(empty)), expect_error("expected a non-empty mlx_array");
    CHECK_NULL(mlx_array_strides(empty)), expect_error("expected a non-empty mlx_array");
    CHECK_NULL(mlx_array_data_float32(empty)), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_array_item_float32(&value, empty), 1), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(value, 3);
    CHECK_EQ(mlx_array_eval(empty), 1), expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_array_tostring(&text, empty), 1), expect_error("expected a non-empty mlx_array");
    CHECK_NULL(text.ctx);
    CHECK_EQ(_mlx_array_is_available(&flag, empty), 1), expect_error("expected a non-empty mlx_array");
}

static void test_scalars(void **state)
{
    struct {
        mlx_array array;
        mlx_dtype dtype;
        const char *text;
    } cases[] = {
        {mlx_array_new_bool(true), MLX_BOOL, "array(true, dtype=bool)"},
        {mlx_array_new_int(-7), MLX_INT32, "array(-7, dtype=int32)"},
        {mlx_array_new_float(0.1f), MLX_FLOAT32, "array(0.1, dtype=float32)"},
        {mlx_array_new_float32(1e10f), MLX_FLOAT32, "array(1e+10, dtype=float32)"},
        {mlx_array_new_float64(1.0 / 3), MLX_FLOAT64, "array(0.333333, dtype=float64)"},
        {mlx_array_new_double(-0.0), MLX_FLOAT64, "array(-0, dtype=float64)"},
        {mlx_array_new_complex(1, -2), MLX_COMPLEX64, "array(1-2j, dtype=complex64)"},
        {mlx_array_new_complex(0, 2.5f), MLX_COMPLEX64, "array(0+2.5j, dtype=complex64)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(mlx_array_dtype(cases[i].array), cases[i].dtype);
        CHECK_EQ(mlx_array_ndim(cases[i].array), 0);
        CHECK_EQ(mlx_array_size(cases[i].array), 1);
        expect_text(cases[i].array, cases[i].text);
        mlx_array_free(cases[i].array);
    }
    expect_no_error();
}

static void test_every_dtype_prints(void **state)
{
    static const struct {
        mlx_dtype dtype;
        size_t size;
        const char *text;
    } cases[] = {
        {MLX_BOOL, 1, "array([true, false], dtype=bool)"},
        {MLX_UINT8, 1, "array([1, 0], dtype=uint8)"},
        {MLX_UINT16, 2, "array([1, 0], dtype=uint16)"},
        {MLX_UINT32, 4, "array([1, 0], dtype=uint32)"},
        {MLX_UINT64, 8, "array([1, 0], dtype=uint64)"},
        {MLX_INT8, 1, "array([1, 0], dtype=int8)"},
        {MLX_INT16, 2, "array([1, 0], dtype=int16)"},
        {MLX_INT32, 4, "array([1, 0], dtype=int32)"},
        {MLX_INT64, 8, "array([1, 0], dtype=int64)"},
        {MLX_FLOAT16, 2, "array([5.96046e-08, 0], dtype=float16)"},
        {MLX_FLOAT32, 4, "array([1.4013e-45, 0], dtype=float32)"},
        {MLX_FLOAT64, 8, "array([4.94066e-324, 0], dtype=float64)"},
        {MLX_BFLOAT16, 2, "array([9.18355e-41, 0], dtype=bfloat16)"},
        {MLX_COMPLEX64, 8, "array([1.4013e-45+0j, 0+0j], dtype=complex64)"},
    };
    const int shape[1] = {2};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[16] = {1};
        mlx_array array = mlx_array_new_data(bytes, shape, 1, cases[i].dtype);
        CHECK_EQ(mlx_dtype_size(cases[i].dtype), cases[i].size);
        CHECK_EQ(mlx_array_itemsize(array), cases[i].size);
        CHECK_EQ(mlx_array_nbytes(array), 2 * cases[i].size);
        expect_text(array, cases[i].text);
        mlx_array_free(array);
    }
    expect_no_error();
}

static void test_text_of_shapes(void **state)
{
    int values[300];
    for (int i = 0; i < 300; i++) values[i] = i;
    const struct {
        int ndim, shape[3];
        const char *text;
    } cases[] = {
        {1, {0}, "array([], dtype=int32)"},
        {1, {6}, "array([0, 1, 2, 3, 4, 5], dtype=int32)"},
        {1, {7}, "array([0, 1, 2, ..., 4, 5, 6], dtype=int32)"},
        {2, {2, 3}, "array([[0, 1, 2],\n       [3, 4, 5]], dtype=int32)"},
        {2, {2, 0}, "array([[],\n       []], dtype=int32)"},
        {3, {2, 2, 2}, "array([[[0, 1],\n        [2, 3]],\n       [[4, 5],\n        [6, 7]]], dtype=int32)"},
        {2,
         {7, 1},
         "array([[0],\n       [1],\n       [2],\n       ...,\n       [4],\n       [5],\n       [6]], dtype=int32)"},
        {2, {2, 100}, "array([[0, 1, 2, ..., 97, 98, 99],\n       [100, 101, 102, ..., 197, 198, 199]], dtype=int32)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mlx_array array = mlx_array_new_data(values, cases[i].shape, cases[i].ndim, MLX_INT32);
        expect_text(array, cases[i].text);
        mlx_array_free(array);
    }
}

static void test_special_floats_print(void **state)
{
    const float values[] = {1.0f / 0.0f, -1.0f / 0.0f, 1234567, 123456, 0.0001f, 0.00001f};
    mlx_array array = floats(values, 6);
    (void)state;
    expect_text(array, "array([inf, -inf, 1.23457e+06, 123456, 0.0001, 1e-05], dtype=float32)");
    mlx_array_free(array);
}

static void test_data_is_copied(void **state)
{
    float values[2] = {1, 2};
    mlx_array array = floats(values, 2);
    (void)state;
    values[0] = 9;
    expect_text(array, "array([1, 2], dtype=float32)");
    CHECK_NE(mlx_array_data_float32(array), values);
    mlx_array_free(array);
}

static void test_managed_data_is_not_copied(void **state)
{
    float values[2] = {1, 2};
    const int shape[1] = {2};
    int payload;
    (void)state;
    released = 0;
    mlx_array array = mlx_array_new_data_managed(values, shape, 1, MLX_FLOAT32, count_release);
    mlx_array second = mlx_array_new();
    CHECK_EQ(mlx_array_set(&second, array), 0);
    CHECK_EQ(mlx_array_data_float32(array), values);
    mlx_array_free(array);
    CHECK_EQ(released, 0);
    mlx_array_free(second);
    CHECK_EQ(released, 1);
    CHECK_EQ(released_payload, values);
    array = mlx_array_new_data_managed_payload(values, shape, 1, MLX_FLOAT32, &payload, count_release);
    mlx_array_free(array);
    CHECK_EQ(released, 2);
    CHECK_EQ(released_payload, &payload);
}

static void test_bad_data_is_an_error(void **state)
{
    const int shape[2] = {2, -3}, huge[3] = {2147483647, 2147483647, 2147483647};
    int value = 1;
    (void)state;
    released = 0;
    CHECK_NULL(mlx_array_new_data(&value, shape, 2, MLX_INT32).ctx), expect_error("-3");
    CHECK_NULL(mlx_array_new_data(&value, huge, 3, MLX_INT32).ctx), expect_error(" at ");
    CHECK_NULL(mlx_array_new_data(&value, shape, -1, MLX_INT32).ctx), expect_error("negative");
    CHECK_NULL(mlx_array_new_data(&value, NULL, 1, MLX_INT32).ctx), expect_error("shape is NULL");
    CHECK_NULL(mlx_array_new_data(NULL, shape, 1, MLX_INT32).ctx), expect_error("data is NULL");
    CHECK_NULL(mlx_array_new_data(&value, NULL, 0, (mlx_dtype)14).ctx), expect_error("dtype 14");
    CHECK_NULL(mlx_array_new_data_managed(&value, shape, 2, MLX_INT32, count_release).ctx), expect_error("-3");
    CHECK_EQ(released, 0);
    CHECK_EQ(mlx_dtype_size((mlx_dtype)99), 0), expect_error("dtype");
}

static void test_set_shares_and_keeps_the_box(void **state)
{
    mlx_array a = mlx_array_new_int(1), b = mlx_array_new_int(2);
    void *box = a.ctx;
    (void)state;
    CHECK_EQ(mlx_array_set(&a, b), 0);
    CHECK_EQ(a.ctx, box);
    CHECK_NE(a.ctx, b.ctx);
    CHECK_EQ(mlx_array_data_int32(a), mlx_array_data_int32(b));
    CHECK_EQ(mlx_array_set(&a, a), 0);
    mlx_array_free(b);
    expect_text(a, "array(2, dtype=int32)");
    CHECK_EQ(mlx_array_set(&a, mlx_array_new()), 1);
    expect_error("expected a non-empty mlx_array");
    expect_text(a, "array(2, dtype=int32)");
    mlx_array_free(a);
}

static void test_set_values(void **state)
{
    mlx_array array = mlx_array_new();
    const float values[] = {4, 5};
    const int shape[1] = {2};
    (void)state;
    CHECK_EQ(mlx_array_set_float(&array, 2.5f), 0);
    void *box = array.ctx;
    expect_text(array, "array(2.5, dtype=float32)");
    CHECK_EQ(mlx_array_set_bool(&array, false), 0);
    expect_text(array, "array(false, dtype=bool)");
    CHECK_EQ(mlx_array_set_int(&array, 3), 0);
    CHECK_EQ(mlx_array_set_float32(&array, 3), 0);
    CHECK_EQ(mlx_array_set_float64(&array, 3), 0);
    CHECK_EQ(mlx_array_set_double(&array, 3), 0);
    expect_text(array, "array(3, dtype=float64)");
    CHECK_EQ(mlx_array_set_complex(&array, 3, 4), 0);
    expect_text(array, "array(3+4j, dtype=complex64)");
    CHECK_EQ(mlx_array_set_data(&array, values, shape, 1, MLX_FLOAT32), 0);
    expect_text(array, "array([4, 5], dtype=float32)");
    CHECK_EQ(mlx_array_set_data(&array, values, shape, -2, MLX_FLOAT32), 1);
    expect_error("negative");
    expect_text(array, "array([4, 5], dtype=float32)");
    CHECK_EQ(array.ctx, box);
    mlx_array_free(array);
}

static void test_questions(void **state)
{
    const int values[6] = {0}, shape[2] = {2, 3};
    mlx_array array = mlx_array_new_data(values, shape, 2, MLX_INT32);
    bool flag = false;
    (void)state;
    CHECK_EQ(mlx_array_ndim(array), 2);
    CHECK_EQ(mlx_array_dim(array, 1), 3);
    CHECK_EQ(mlx_array_dim(array, -2), 2);
    CHECK_EQ(mlx_array_dim(array, 2), 0), expect_error("out of bounds");
    CHECK_EQ(mlx_array_dim(array, -3), 0), expect_error("out of bounds");
    CHECK_MEM(mlx_array_shape(array), shape, sizeof shape);
    CHECK_EQ(mlx_array_strides(array)[0], 3);
    CHECK_EQ(mlx_array_strides(array)[1], 1);
    CHECK_EQ(_mlx_array_is_available(&flag, array), 0), CHECK_TRUE(flag);
    CHECK_EQ(_mlx_array_is_row_contiguous(&flag, array), 0), CHECK_TRUE(flag);
    CHECK_EQ(_mlx_array_is_contiguous(&flag, array), 0), CHECK_TRUE(flag);
    CHECK_EQ(_mlx_array_is_col_contiguous(&flag, array), 0), CHECK_FALSE(flag);
    CHECK_EQ(_mlx_array_wait(array), 0);
    mlx_array_free(array);
    expect_no_error();
}

static void test_items_are_not_converted(void **state)
{
    mlx_array array = mlx_array_new_int(7);
    float real = 0;
    int32_t number = 0;
    int64_t wide = -1;
    (void)state;
    CHECK_EQ(mlx_array_item_int32(&number, array), 0);
    CHECK_EQ(number, 7);
    CHECK_EQ(mlx_array_item_float32(&real, array), 0);
    memcpy(&number, &real, sizeof number);
    CHECK_EQ(number, 7);
    CHECK_EQ(mlx_array_item_int64(&wide, array), 0);
    CHECK_EQ(wide, 7);
    mlx_array_free(array);
    const float pair[2] = {1, 2};
    const int shape[3] = {1, 1, 1};
    array = floats(pair, 2);
    CHECK_EQ(mlx_array_item_float32(&real, array), 1), expect_error("1 element");
    mlx_array_free(array);
    array = mlx_array_new_data(pair, shape, 3, MLX_FLOAT32);
    CHECK_EQ(mlx_array_item_float32(&real, array), 0);
    CHECK_EQ(real, 1);
    mlx_array_free(array);
}

/* item_* and data_* of each type read the bytes that are there. */
static void test_accessors_of_every_type(void **state)
{
    const unsigned char bytes[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    (void)state;
#define CHECK(name, type, dtype)                                                                                       \
    do {                                                                                                               \
        type item;                                                                                                     \
        mlx_array array = mlx_array_new_data(bytes, NULL, 0, dtype);                                                   \
        CHECK_EQ(mlx_array_item_##name(&item, array), 0);                                                              \
        CHECK_MEM(&item, bytes, sizeof item);                                                                          \
        CHECK_MEM(mlx_array_data_##name(array), bytes, sizeof item);                                                   \
        mlx_array_free(array);                                                                                         \
    } while (0)
    CHECK(bool, bool, MLX_BOOL);
    CHECK(uint8, uint8_t, MLX_UINT8);
    CHECK(uint16, uint16_t, MLX_UINT16);
    CHECK(uint32, uint32_t, MLX_UINT32);
    CHECK(uint64, uint64_t, MLX_UINT64);
    CHECK(int8, int8_t, MLX_INT8);
    CHECK(int16, int16_t, MLX_INT16);
    CHECK(int32, int32_t, MLX_INT32);
    CHECK(int64, int64_t, MLX_INT64);
    CHECK(float32, float, MLX_FLOAT32);
    CHECK(float64, double, MLX_FLOAT64);
    CHECK(complex64, mlx_complex64_t, MLX_COMPLEX64);
    CHECK(float16, float16_t, MLX_FLOAT16);
    CHECK(bfloat16, bfloat16_t, MLX_BFLOAT16);
#undef CHECK
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_new_is_empty_and_free, install_handler),
        cmocka_unit_test_setup(test_empty_handles_are_errors, install_handler),
        cmocka_unit_test_setup(test_scalars, install_handler),
        cmocka_unit_test_setup(test_every_dtype_prints, install_handler),
        cmocka_unit_test_setup(test_text_of_shapes, install_handler),
        cmocka_unit_test_setup(test_special_floats_print, install_handler),
        cmocka_unit_test_setup(test_data_is_copied, install_handler),
        cmocka_unit_test_setup(test_managed_data_is_not_copied, install_handler),
        cmocka_unit_test_setup(test_bad_data_is_an_error, install_handler),
        cmocka_unit_test_setup(test_set_shares_and_keeps_the_box, install_handler),
        cmocka_unit_test_setup(test_set_values, install_handler),
        cmocka_unit_test_setup(test_questions, install_handler),
        cmocka_unit_test_setup(test_items_are_not_converted, install_handler),
        cmocka_unit_test_setup(test_accessors_of_every_type, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
