/*
 * mlxc_support.h - what the tests of the array interface share: an error handler that remembers, arrays of floats.
 */
#ifndef KILN_TESTS_MLXC_SUPPORT_H
#define KILN_TESTS_MLXC_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mlx/c/mlx.h"

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
    return 0;
}

/* The last call failed, once, with a text that contains `part`. */
static inline void expect_error(const char *part)
{
    if (error_count != 1 || !strstr(error_text, part))
        fail_msg("expected one error with \"%s\", got %d: \"%s\"", part, error_count, error_text);
    error_count = 0;
    error_text[0] = '\0';
}

static inline void expect_no_error(void)
{
    if (error_count) fail_msg("unexpected error: %s", error_text);
}

static inline mlx_array floats(const float *values, int count)
{
    return mlx_array_new_data(values, &count, 1, MLX_FLOAT32);
}

static inline void expect_floats(mlx_array array, const float *values, int count)
{
    assert_int_equal(mlx_array_eval(array), 0);
    assert_int_equal(mlx_array_size(array), count);
    const float *data = mlx_array_data_float32(array);
    for (int i = 0; i < count; i++)
        if (data[i] != values[i]) fail_msg("element %d is %g, expected %g", i, (double)data[i], (double)values[i]);
}

static inline void expect_text(mlx_array array, const char *expected)
{
    mlx_string text = mlx_string_new();
    assert_int_equal(mlx_array_tostring(&text, array), 0);
    assert_string_equal(mlx_string_data(text), expected);
    mlx_string_free(text);
}

#endif
