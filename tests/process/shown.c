/*
 * shown.c - a program with a function of several steps, for `kiln show`: a product, its softmax, that in order, and a
 * chain of two operations. Arguments: "gpu" computes on the first GPU, "shapeless" calls with two sizes.
 */
#include <string.h>

#include "kiln/compile.h"
#include "mlx/c/mlx.h"

static mlx_stream stream;

/* exp(x - max) / sum */
static int softmax(mlx_array *res, mlx_array x)
{
    mlx_array largest = mlx_array_new(), sum = mlx_array_new();
    int failed = mlx_max_axis(&largest, x, -1, true, stream) || mlx_subtract(res, x, largest, stream) ||
                 mlx_exp(res, *res, stream) || mlx_sum_axis(&sum, *res, -1, true, stream) ||
                 mlx_divide(res, *res, sum, stream);
    return mlx_array_free(largest), mlx_array_free(sum), failed;
}

static int layer(mlx_array *res, const mlx_array x, const mlx_array weight, const mlx_array bias, void *unused)
{
    mlx_array product = mlx_array_new(), sorted = mlx_array_new();
    (void)unused;
    int failed = mlx_matmul(&product, x, weight, stream) || softmax(&product, product) ||
                 mlx_sort_axis(&sorted, product, -1, stream) || mlx_multiply(res, sorted, bias, stream) ||
                 mlx_tanh(res, *res, stream);
    return mlx_array_free(product), mlx_array_free(sorted), failed;
}

static int run(mlx_closure fun, int rows)
{
    mlx_array arrays[3] = {{NULL}}, res = mlx_array_new();
    const int shapes[3][2] = {{rows, 48}, {48, 64}, {1, 64}};
    int failed = 0;
    for (int i = 0; i < 3; i++) failed |= mlx_ones(&arrays[i], shapes[i], 2, MLX_FLOAT32, stream);
    failed = failed || mlx_add(&arrays[2], arrays[2], arrays[2], stream); /* on its own */
    failed = failed || kiln_call_ternary(&res, fun, arrays[0], arrays[1], arrays[2]) || mlx_array_eval(res);
    for (int i = 0; i < 3; i++) mlx_array_free(arrays[i]);
    return mlx_array_free(res), failed;
}

int main(int count, char **words)
{
    bool shapeless = false, on_gpu = false;
    for (int i = 1; i < count; i++) {
        shapeless |= strcmp(words[i], "shapeless") == 0;
        on_gpu |= strcmp(words[i], "gpu") == 0;
    }
    mlx_closure fun = mlx_closure_new();
    stream = on_gpu ? mlx_default_gpu_stream_new() : mlx_default_cpu_stream_new();
    int failed = kiln_compile_ternary(&fun, "layer", layer, NULL, NULL, shapeless) || run(fun, 20);
    if (shapeless) failed = failed || run(fun, 30);
    mlx_closure_free(fun), mlx_stream_free(stream);
    return failed;
}
