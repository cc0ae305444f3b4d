/*
 * weights.c - softmax(x * y), compiled under the name "weights": the function that docs/architecture.md carries through
 * all layers. With the argument "gpu" it is made for the first GPU; with a number it is called so often.
 */
#include <stdlib.h>
#include <string.h>

#include "kiln/compile.h"
#include "mlx/c/mlx.h"

static mlx_stream stream;

static int weights(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    return mlx_multiply(res, x, y, stream) || mlx_softmax_axis(res, *res, -1, false, stream);
}

int main(int count, char **words)
{
    bool on_gpu = count > 1 && strcmp(words[1], "gpu") == 0;
    mlx_closure fun = mlx_closure_new();
    mlx_array x = mlx_array_new(), y = mlx_array_new(), res = mlx_array_new();
    int calls = count > 1 ? atoi(words[1]) : 1;
    stream = on_gpu ? mlx_default_gpu_stream_new() : mlx_default_cpu_stream_new();
    int failed = mlx_ones(&x, (int[]){4, 64}, 2, MLX_FLOAT32, stream) || mlx_array_eval(x) ||
                 mlx_zeros(&y, (int[]){4, 64}, 2, MLX_FLOAT32, stream) || mlx_array_eval(y) ||
                 kiln_compile_binary(&fun, "weights", weights, NULL, NULL, false) ||
                 kiln_call_binary(&res, fun, x, y) || mlx_array_eval(res);
    for (int i = 1; i < calls && !failed; i++) failed = kiln_call_binary(&res, fun, x, y) || mlx_array_eval(res);
    mlx_array_free(x), mlx_array_free(y), mlx_array_free(res), mlx_closure_free(fun), mlx_stream_free(stream);
    return failed;
}
