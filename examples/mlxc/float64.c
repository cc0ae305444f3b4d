/*
 * float64.c - float64 stays float64: with an integer scalar, divided, and counted up in halves.
 */
#include "print.h"

static int compute(mlx_array *array, mlx_array three, mlx_array two, mlx_stream stream)
{
    return mlx_multiply(array, *array, three, stream) || print_array("times an integer", *array) ||
           mlx_divide(array, *array, two, stream) || print_array("divided by 2", *array) ||
           mlx_arange(array, 0, 3, 0.5, MLX_FLOAT64, stream) || print_array("counted in halves", *array);
}

int main(void)
{
    const double values[] = {1, 2, 3, 4, 5, 6};
    const int shape[] = {2, 3};
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_array array = mlx_array_new_data(values, shape, 2, MLX_FLOAT64);
    mlx_array three = mlx_array_new_int(3), two = mlx_array_new_float64(2);
    int failed = compute(&array, three, two, stream);
    mlx_array_free(array);
    mlx_array_free(three);
    mlx_array_free(two);
    mlx_stream_free(stream);
    return failed;
}
