/*
 * print.h - what these programs share: a title and the text of an array below it.
 */
#ifndef KILN_EXAMPLES_MLXC_PRINT_H
#define KILN_EXAMPLES_MLXC_PRINT_H

#include <stdio.h>

#include "mlx/c/mlx.h"

/* Returns 0, or 1 when the array could not be computed. */
static inline int print_array(const char *title, mlx_array array)
{
    mlx_string text = mlx_string_new();
    int failed = mlx_array_tostring(&text, array);
    if (!failed) printf("%s\n%s\n", title, mlx_string_data(text));
    mlx_string_free(text);
    return failed;
}

#endif
