/*
 * test_mlxc_one_include.c - a program that was written for mlx-c includes one header and uses the C library through it.
 */
#include "mlx/c/mlx.h"

int main(void)
{
    int shape = 2;
    float *values = malloc(2 * sizeof *values), largest = 0;
    values[0] = FLT_MAX, values[1] = 7;
    mlx_array array = mlx_array_new_data_managed(values, &shape, 1, MLX_FLOAT32, free), top = mlx_array_new();
    mlx_stream stream = mlx_default_cpu_stream_new();
    int failed = mlx_max(&top, array, false, stream) || mlx_array_item_float32(&largest, top) || largest != FLT_MAX;
    mlx_array_free(array), mlx_array_free(top), mlx_stream_free(stream);
    printf("%s\n", failed ? "failed" : "passed");
    exit(failed ? EXIT_FAILURE : EXIT_SUCCESS);
}
