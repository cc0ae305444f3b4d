/*
 * maps.c - compiles and calls one array function, then prints what is mapped into this process.
 */
#include <stdio.h>

#include "mlx/c/mlx.h"

static int callback(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_array x = mlx_array_new();
    int failed =
        mlx_vector_array_get(&x, in, 0) || mlx_multiply(&x, x, x, stream) || mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    mlx_stream_free(stream);
    return failed;
}

static int call(void)
{
    mlx_closure plain = mlx_closure_new_func(callback), compiled = mlx_closure_new();
    mlx_array three = mlx_array_new_float(3);
    mlx_vector_array in = mlx_vector_array_new_value(three), out = mlx_vector_array_new();
    float nine = 0;
    int failed = mlx_compile(&compiled, plain, false) || mlx_closure_apply(&out, compiled, in) ||
                 mlx_vector_array_get(&three, out, 0) || mlx_array_item_float32(&nine, three);
    mlx_array_free(three);
    mlx_vector_array_free(in);
    mlx_vector_array_free(out);
    mlx_closure_free(plain);
    mlx_closure_free(compiled);
    return failed || nine != 9;
}

int main(void)
{
    if (call()) return 1;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return 1;
    for (int byte; (byte = fgetc(maps)) != EOF;) putchar(byte);
    fclose(maps);
    return 0;
}
