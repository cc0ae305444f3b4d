/*
 * test_array_array.c - shapes, views and layout of arrays without a graph.
 */
#include <limits.h>

#include "array/array.h"
#include "support/check.h"

static void test_shape_check(void **state)
{
    (void)state;
    int64_t size = -1;
    kiln_error err;
    int many[KILN_MAX_NDIM + 1];
    for (int i = 0; i <= KILN_MAX_NDIM; i++) many[i] = 1;
    CHECK_OK(kiln__shape_check((int[]){2, 3}, 2, KILN_FLOAT32, &size, &err), &err);
    CHECK_EQ(size, 6);
    CHECK_OK(kiln__shape_check(NULL, 0, KILN_FLOAT32, &size, &err), &err);
    CHECK_EQ(size, 1);
    CHECK_OK(kiln__shape_check((int[]){0, INT_MAX, INT_MAX, INT_MAX}, 4, KILN_FLOAT64, &size, &err), &err);
    CHECK_EQ(size, 0);
    CHECK_OK(kiln__shape_check(many, KILN_MAX_NDIM, KILN_BOOL, &size, &err), &err);
    CHECK_STATUS(kiln__shape_check(many, KILN_MAX_NDIM + 1, KILN_BOOL, &size, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "33");
    CHECK_STATUS(kiln__shape_check((int[]){2, -3}, 2, KILN_FLOAT32, &size, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "(2,-3)");
    CHECK_STATUS(kiln__shape_check((int[]){INT_MAX, INT_MAX, 4}, 3, KILN_UINT8, &size, &err), KILN_NO_MEMORY, &err);
    CHECK_CONTAINS(err.text, "(2147483647,2147483647,4)");
    CHECK_STATUS(kiln__shape_check((int[]){INT_MAX, INT_MAX}, 2, KILN_FLOAT32, &size, &err), KILN_NO_MEMORY, &err);
    CHECK_STATUS(kiln__shape_check((int[]){2}, 1, (enum kiln_dtype)99, &size, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln__shape_check(NULL, 2, KILN_FLOAT32, &size, &err), KILN_INVALID, &err);
}

static void test_from_data(void **state)
{
    (void)state;
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    struct kiln_array *array = NULL;
    CHECK_STATUS(kiln__array_from_data(values, KILN_FLOAT32, 2, (int[]){2, 3}, &array, NULL), KILN_OK);
    CHECK_EQ(array->ndim, 2);
    CHECK_EQ(array->size, 6);
    CHECK_EQ(array->strides[0], 3);
    CHECK_EQ(array->strides[1], 1);
    CHECK_TRUE(array->row_contiguous);
    CHECK_TRUE(kiln__array_is_ready(array));
    CHECK_NE(array->data, values);
    CHECK_MEM(array->data, values, sizeof values);
    kiln__array_unref(array);
    kiln_error err;
    array = NULL;
    CHECK_STATUS(kiln__array_from_data(NULL, KILN_FLOAT32, 1, (int[]){3}, &array, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln__array_from_data(values, KILN_FLOAT32, 2, (int[]){1 << 28, 1 << 28}, &array, &err),
                 KILN_NO_MEMORY, &err);
    CHECK_NULL(array);
    CHECK_OK(kiln__array_from_data(NULL, KILN_FLOAT32, 2, (int[]){0, 3}, &array, &err), &err);
    CHECK_EQ(array->size, 0);
    kiln__array_unref(array);
    kiln__array_unref(NULL);
}

static void test_scalar(void **state)
{
    (void)state;
    double value = 2.5;
    struct kiln_array *array = NULL;
    CHECK_STATUS(kiln__array_scalar(KILN_FLOAT64, &value, &array, NULL), KILN_OK);
    CHECK_EQ(array->ndim, 0);
    CHECK_EQ(array->size, 1);
    CHECK_MEM(array->data, &value, sizeof value);
    kiln__array_unref(array);
}

/* A view keeps the storage alive after its base is gone. */
static void test_views(void **state)
{
    (void)state;
    static const int16_t values[6] = {1, 2, 3, 4, 5, 6};
    struct kiln_array *base = NULL, *column = NULL, *transposed = NULL, *row = NULL;
    CHECK_STATUS(kiln__array_from_data(values, KILN_INT16, 2, (int[]){2, 3}, &base, NULL), KILN_OK);
    CHECK_STATUS(kiln__array_view(base, 1, (int[]){2}, (int64_t[]){3}, 1, &column, NULL), KILN_OK);
    CHECK_STATUS(kiln__array_view(base, 2, (int[]){3, 2}, (int64_t[]){1, 3}, 0, &transposed, NULL), KILN_OK);
    CHECK_STATUS(kiln__array_view(base, 2, (int[]){1, 3}, (int64_t[]){99, 1}, 3, &row, NULL), KILN_OK);
    CHECK_EQ(column->storage, base->storage);
    kiln__array_unref(base);
    CHECK_EQ(((int16_t *)(void *)column->data)[0], 2);
    CHECK_EQ(((int16_t *)(void *)column->data)[3], 5);
    CHECK_FALSE(column->row_contiguous);
    CHECK_FALSE(transposed->row_contiguous);
    CHECK_TRUE(row->row_contiguous); /* the stride of an axis of size 1 does not matter */
    CHECK_EQ(((int16_t *)(void *)row->data)[0], 4);
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    CHECK_EQ(memory.active, sizeof values);
    kiln__array_unref(column);
    kiln__array_unref(transposed);
    kiln__array_unref(row);
    kiln__memory_get(&memory);
    CHECK_EQ(memory.active, 0);
}

static void test_most_dimensions(void **state)
{
    (void)state;
    int dims[KILN_MAX_NDIM];
    for (int i = 0; i < KILN_MAX_NDIM; i++) dims[i] = i < 3 ? 2 : 1;
    struct kiln_array *array = NULL;
    CHECK_STATUS(kiln__array_alloc(KILN_COMPLEX64, KILN_MAX_NDIM, dims, &array, NULL), KILN_OK);
    CHECK_EQ(array->size, 8);
    CHECK_EQ(array->strides[0], 4);
    CHECK_EQ(array->strides[KILN_MAX_NDIM - 1], 1);
    kiln__array_unref(array);
}

static void test_shape_text(void **state)
{
    (void)state;
    char text[KILN_SHAPE_TEXT];
    int dims[KILN_MAX_NDIM];
    CHECK_STR(kiln__shape_text(NULL, 0, text), "()");
    CHECK_STR(kiln__shape_text((int[]){4}, 1, text), "(4)");
    CHECK_STR(kiln__shape_text((int[]){2, 3}, 2, text), "(2,3)");
    for (int i = 0; i < KILN_MAX_NDIM; i++) dims[i] = INT_MIN;
    CHECK_LT(strlen(kiln__shape_text(dims, KILN_MAX_NDIM, text)), KILN_SHAPE_TEXT);
    CHECK_EQ(text[strlen(text) - 1], ')');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_check), cmocka_unit_test(test_from_data),       cmocka_unit_test(test_scalar),
        cmocka_unit_test(test_views),       cmocka_unit_test(test_most_dimensions), cmocka_unit_test(test_shape_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
