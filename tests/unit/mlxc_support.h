/*
 * mlxc_support.h - what the tests of the array interface share: an error handler that remembers, arrays of floats.
 */
#ifndef KILN_TESTS_MLXC_SUPPORT_H
#define KILN_TESTS_MLXC_SUPPORT_H

#include "mlx/c/mlx.h"
#include "support/check.h"

static _Thread_local int error_count;
static _Thread_local char error_text[2048];

static void remember_error(const char *text, void *data)
{
    (void)data;
    error_count++;
    snprintf(error_text, sizeof error_text, "%s", text);
}

static inline int install_handler(void **state)
{
    (void)state;
    mlx_set_error_handler(remember_error, NULL, NULL);
    error_count = 0;
    error_text[0] = '\0';
    check_note = error_text;
    return 0;
}

/* The last call failed, once, with a text that contains `part`. */
static inline void expect_error(const char *part)
{
    if (error_count != 1 || !strstr(error_text, part))
        CHECK_FAIL("expected one error with \"%s\", got %d: \"%s\"", part, error_count, error_text);
    error_count = 0;
    error_text[0] = '\0';
}
#define expect_error(...) CHECK_CALL(expect_error, __VA_ARGS__)

static inline void expect_no_error(void)
{
    if (error_count) CHECK_FAIL("unexpected error: %s", error_text);
}
#define expect_no_error(...) CHECK_CALL(expect_no_error, __VA_ARGS__)

static inline mlx_array floats(const float *values, int count)
{
    return mlx_array_new_data(values, &count, 1, MLX_FLOAT32);
}

static inline void expect_floats(mlx_array array, const float *values, int count)
{
    CHECK_EQ(mlx_array_eval(array), 0);
    CHECK_EQ(mlx_array_size(array), count);
    const float *data = mlx_array_data_float32(array);
    for (int i = 0; i < count; i++)
        if (data[i] != values[i]) CHECK_FAIL("element %d is %g, expected %g", i, (double)data[i], (double)values[i]);
}
#define expect_floats(...) CHECK_CALL(expect_floats, __VA_ARGS__)

static inline void expect_text(mlx_array array, const char *expected)
{
    mlx_string text = mlx_string_new();
    CHECK_EQ(mlx_array_tostring(&text, array), 0);
    CHECK_STR(mlx_string_data(text), expected);
    mlx_string_free(text);
}
#define expect_text(...) CHECK_CALL(expect_text, __VA_ARGS__)

#endif
