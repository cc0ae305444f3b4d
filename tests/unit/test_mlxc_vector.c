/*
 * test_mlxc_vector.c - vectors of four kinds, and strings.
 */
#include <pthread.h>

#include "mlxc_support.h"

static void test_vectors_share_arrays(void **state)
{
    mlx_array a = mlx_array_new_int(1), b = mlx_array_new_int(2), got = mlx_array_new();
    mlx_vector_array vector = mlx_vector_array_new();
    (void)state;
    CHECK_NOT_NULL(vector.ctx);
    CHECK_EQ(mlx_vector_array_size(vector), 0);
    CHECK_EQ(mlx_vector_array_append_value(vector, a), 0);
    CHECK_EQ(mlx_vector_array_append_data(vector, &b, 1), 0);
    const int32_t *data = mlx_array_data_int32(b);
    mlx_array_free(a);
    mlx_array_free(b);
    CHECK_EQ(mlx_vector_array_size(vector), 2);
    CHECK_EQ(mlx_vector_array_get(&got, vector, 1), 0);
    CHECK_EQ(mlx_array_data_int32(got), data);
    void *box = got.ctx;
    CHECK_EQ(mlx_vector_array_get(&got, vector, 0), 0);
    CHECK_EQ(got.ctx, box);
    expect_text(got, "array(1, dtype=int32)");
    CHECK_EQ(mlx_vector_array_get(&got, vector, 2), 1);
    expect_error("index 2 is out of range for a vector of size 2");
    expect_text(got, "array(1, dtype=int32)");
    mlx_vector_array_free(vector);
    expect_text(got, "array(1, dtype=int32)");
    mlx_array_free(got);
}

static void test_set_data(void **state)
{
    mlx_array items[20], got = mlx_array_new();
    mlx_vector_array vector = {NULL};
    (void)state;
    for (int i = 0; i < 20; i++) items[i] = mlx_array_new_int(i);
    CHECK_EQ(mlx_vector_array_set_data(&vector, items, 20), 0);
    CHECK_EQ(mlx_vector_array_size(vector), 20);
    void *box = vector.ctx;
    CHECK_EQ(mlx_vector_array_set(&vector, vector), 0);
    CHECK_EQ(mlx_vector_array_size(vector), 20);
    CHECK_EQ(mlx_vector_array_get(&got, vector, 19), 0);
    expect_text(got, "array(19, dtype=int32)");
    CHECK_EQ(mlx_vector_array_set_value(&vector, items[3]), 0);
    CHECK_EQ(mlx_vector_array_size(vector), 1);
    CHECK_EQ(mlx_vector_array_append_data(vector, items, 20), 0);
    CHECK_EQ(mlx_vector_array_get(&got, vector, 20), 0);
    expect_text(got, "array(19, dtype=int32)");
    CHECK_EQ(mlx_vector_array_set_data(&vector, NULL, 0), 0);
    CHECK_EQ(mlx_vector_array_size(vector), 0);
    CHECK_EQ(vector.ctx, box);
    CHECK_EQ(mlx_eval(vector), 0);
    CHECK_EQ(mlx_async_eval(vector), 0);
    expect_no_error();
    for (int i = 0; i < 20; i++) mlx_array_free(items[i]);
    mlx_array_free(got);
    mlx_vector_array_free(vector);
}

/* A vector that cannot be changed as asked is as before. */
static void test_failures_change_nothing(void **state)
{
    mlx_array items[18] = {{NULL}};
    (void)state;
    for (int i = 0; i < 17; i++) items[i] = mlx_array_new_int(i);
    mlx_vector_array vector = mlx_vector_array_new_value(items[5]);
    CHECK_EQ(mlx_vector_array_append_data(vector, items, 18), 1);
    expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_vector_array_size(vector), 1);
    CHECK_EQ(mlx_vector_array_set_data(&vector, items, 18), 1);
    expect_error("expected a non-empty mlx_array");
    CHECK_EQ(mlx_vector_array_size(vector), 1);
    CHECK_EQ(mlx_vector_array_append_data(vector, NULL, 2), 1);
    expect_error("non-NULL");
    CHECK_EQ(mlx_vector_array_append_value(vector, mlx_array_new()), 1);
    expect_error("expected a non-empty mlx_array");
    CHECK_NULL(mlx_vector_array_new_data(items, 18).ctx), expect_error("expected a non-empty mlx_array");
    CHECK_NULL(mlx_vector_array_new_value(mlx_array_new()).ctx), expect_error("expected a non-empty mlx_array");
    for (int i = 0; i < 17; i++) mlx_array_free(items[i]);
    mlx_vector_array_free(vector);
}

static void test_empty_vectors_are_errors(void **state)
{
    mlx_vector_array none = {NULL}, vector = mlx_vector_array_new();
    mlx_array got = mlx_array_new();
    (void)state;
    CHECK_EQ(mlx_vector_array_size(none), 0), expect_error("expected a non-empty mlx_vector_array");
    CHECK_EQ(mlx_vector_array_get(&got, none, 0), 1), expect_error("expected a non-empty mlx_vector_array");
    CHECK_EQ(mlx_vector_array_append_value(none, got), 1), expect_error("expected a non-empty mlx_vector_array");
    CHECK_EQ(mlx_vector_array_set(&vector, none), 1), expect_error("expected a non-empty mlx_vector_array");
    CHECK_EQ(mlx_eval(none), 1), expect_error("expected a non-empty mlx_vector_array");
    CHECK_EQ(mlx_async_eval(none), 1), expect_error("expected a non-empty mlx_vector_array");
    mlx_vector_array_free(vector);
}

static void test_vectors_of_vectors(void **state)
{
    mlx_array a = mlx_array_new_int(1);
    mlx_vector_array inner = mlx_vector_array_new_value(a), got = {NULL};
    mlx_vector_vector_array outer = mlx_vector_vector_array_new_value(inner);
    (void)state;
    CHECK_EQ(mlx_vector_vector_array_append_data(outer, &inner, 1), 0);
    CHECK_EQ(mlx_vector_vector_array_append_value(outer, inner), 0);
    mlx_vector_array_free(inner);
    mlx_array_free(a);
    mlx_vector_vector_array copy = mlx_vector_vector_array_new();
    CHECK_EQ(mlx_vector_vector_array_set(&copy, outer), 0);
    mlx_vector_vector_array_free(outer);
    CHECK_EQ(mlx_vector_vector_array_size(copy), 3);
    CHECK_EQ(mlx_vector_vector_array_get(&got, copy, 2), 0);
    CHECK_EQ(mlx_vector_array_size(got), 1);
    CHECK_EQ(mlx_vector_vector_array_get(&got, copy, 3), 1), expect_error("out of range");
    mlx_vector_array_free(got);
    mlx_vector_vector_array_free(copy);
    expect_no_error();
}

static void test_vectors_of_integers(void **state)
{
    int values[3] = {1, -2, 3}, got = 0;
    mlx_vector_int vector = mlx_vector_int_new_data(values, 3);
    (void)state;
    CHECK_EQ(mlx_vector_int_append_value(vector, 9), 0);
    CHECK_EQ(mlx_vector_int_size(vector), 4);
    CHECK_EQ(mlx_vector_int_get(&got, vector, 1), 0);
    CHECK_EQ(got, -2);
    CHECK_EQ(mlx_vector_int_get(&got, vector, 4), 1), expect_error("out of range");
    CHECK_EQ(got, -2);
    CHECK_EQ(mlx_vector_int_set_value(&vector, 5), 0);
    CHECK_EQ(mlx_vector_int_size(vector), 1);
    mlx_vector_int_free(vector);
}

static void test_vectors_of_strings(void **state)
{
    const char *values[2] = {"one", "two"};
    char buffer[] = "three", *got = NULL;
    mlx_vector_string vector = mlx_vector_string_new_data(values, 2);
    (void)state;
    CHECK_EQ(mlx_vector_string_append_value(vector, buffer), 0);
    buffer[0] = 'x';
    CHECK_EQ(mlx_vector_string_get(&got, vector, 2), 0);
    CHECK_STR(got, "three");
    CHECK_EQ(mlx_vector_string_append_value(vector, NULL), 1), expect_error("NULL");
    CHECK_EQ(mlx_vector_string_size(vector), 3);
    mlx_vector_string copy = mlx_vector_string_new();
    CHECK_EQ(mlx_vector_string_set(&copy, vector), 0);
    mlx_vector_string_free(vector);
    CHECK_EQ(mlx_vector_string_get(&got, copy, 0), 0);
    CHECK_STR(got, "one");
    mlx_vector_string_free(copy);
}

static void test_strings(void **state)
{
    mlx_string empty = mlx_string_new(), text = mlx_string_new_data("abc"), copy = mlx_string_new();
    (void)state;
    CHECK_NULL(empty.ctx);
    CHECK_NULL(mlx_string_data(empty)), expect_error("expected a non-empty mlx_string");
    CHECK_EQ(mlx_string_set(&copy, empty), 1), expect_error("expected a non-empty mlx_string");
    CHECK_NULL(copy.ctx);
    CHECK_EQ(mlx_string_set(&copy, text), 0);
    CHECK_NE(copy.ctx, text.ctx);
    CHECK_EQ(mlx_string_set(&text, text), 0);
    CHECK_STR(mlx_string_data(text), "abc");
    mlx_string_free(text);
    CHECK_STR(mlx_string_data(copy), "abc");
    CHECK_NULL(mlx_string_new_data(NULL).ctx), expect_error("NULL");
    mlx_string_free(copy);
}

/* Handles made on one thread are freed on another, many at a time. */
static void *free_arrays(void *arrays)
{
    for (int i = 0; i < 1000; i++) mlx_array_free(((mlx_array *)arrays)[i]);
    return NULL;
}

static void test_handles_cross_threads(void **state)
{
    mlx_array arrays[1000];
    pthread_t thread;
    (void)state;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 1000; i++) arrays[i] = mlx_array_new_int(i);
        CHECK_EQ(pthread_create(&thread, NULL, free_arrays, arrays), 0);
        pthread_join(thread, NULL);
    }
    expect_no_error();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_vectors_share_arrays, install_handler),
        cmocka_unit_test_setup(test_set_data, install_handler),
        cmocka_unit_test_setup(test_failures_change_nothing, install_handler),
        cmocka_unit_test_setup(test_empty_vectors_are_errors, install_handler),
        cmocka_unit_test_setup(test_vectors_of_vectors, install_handler),
        cmocka_unit_test_setup(test_vectors_of_integers, install_handler),
        cmocka_unit_test_setup(test_vectors_of_strings, install_handler),
        cmocka_unit_test_setup(test_strings, install_handler),
        cmocka_unit_test_setup(test_handles_cross_threads, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
