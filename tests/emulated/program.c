/*
 * program.c - for tests/process/gpu.sh: calls a compiled function of several kernels on the GPU and prints the last
 * result, rows of it at indices that the GPU computes, if it computes, and what is drawn with a key. program [CALLS]
 */
#include <stdio.h>
#include <stdlib.h>

#include "kiln/compile.h"
#include "mlx/c/mlx.h"

static mlx_stream gpu;

/* Each maximum along the first axis ends a kernel. */
static int layer(mlx_array *res, const mlx_array x, void *unused)
{
    (void)unused;
    mlx_array top = mlx_array_new();
    int code = mlx_multiply(res, x, x, gpu) || mlx_max_axis(&top, *res, 0, true, gpu) ||
               mlx_subtract(res, *res, top, gpu) || mlx_max_axis(&top, *res, 1, true, gpu) ||
               mlx_subtract(res, *res, top, gpu) || mlx_max_axis(&top, *res, 0, true, gpu) ||
               mlx_add(res, *res, top, gpu);
    mlx_array_free(top);
    return code;
}

/*
 * Rows 0, 0, 0. Where nothing is computed, the indices are what their memory held before: those 100s, which are no rows
 * and must not be taken for indices.
 */
static int first_rows(mlx_array *res, mlx_array x)
{
    const int values[] = {100, 100, 100}, shape[] = {3};
    mlx_array hundreds = mlx_array_new_data(values, shape, 1, MLX_INT32), zeros = mlx_array_new();
    int code = mlx_subtract(&zeros, hundreds, hundreds, gpu) || mlx_array_eval(zeros);
    mlx_array_free(hundreds);
    code =
        code || mlx_multiply(&zeros, zeros, zeros, gpu) || mlx_take_axis(res, x, zeros, 0, gpu) || mlx_array_eval(*res);
    mlx_array_free(zeros);
    return code;
}

/* A token, as if all were as likely: where the largest of the words is. */
static int draw(mlx_array *res)
{
    mlx_array key = mlx_array_new();
    int code = mlx_random_key(&key, 7) || mlx_random_bits(res, (int[]){5}, 1, 4, key, gpu) || mlx_array_eval(*res);
    code = code || mlx_argmax_axis(res, *res, 0, true, gpu) || mlx_array_eval(*res);
    mlx_array_free(key);
    return code;
}

static int print(mlx_array array)
{
    mlx_string text = mlx_string_new();
    int code = mlx_array_tostring(&text, array);
    if (!code) puts(mlx_string_data(text));
    mlx_string_free(text);
    return code;
}

int main(int count, char **arguments)
{
    int calls = count > 1 ? atoi(arguments[1]) : 20, code = 0;
    const float values[] = {1, 2, 3, 4, 5, 6};
    gpu = mlx_default_gpu_stream_new();
    mlx_array x = mlx_array_new_data(values, (int[]){3, 2}, 2, MLX_FLOAT32), res = mlx_array_new();
    mlx_closure compiled = mlx_closure_new();
    code = kiln_compile_unary(&compiled, "layer", layer, NULL, NULL, false);
    for (int i = 0; i < calls && !code; i++) code = kiln_call_unary(&res, compiled, x) || mlx_array_eval(res);
    if (!code) code = print(res);
    if (!code && !getenv("KILN_TEST_CUDA_IDLE")) code = first_rows(&res, res) || print(res) || draw(&res) || print(res);
    mlx_closure_free(compiled), mlx_array_free(x), mlx_array_free(res), mlx_stream_free(gpu);
    return code;
}
