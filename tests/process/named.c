/*
 * named.c - a program with compiled functions whose kernels are the same and others, for the names of entries: "left"
 * and "right" are x * y + x, "far" is x * y - x. With the argument "gpu" they are made for the first GPU.
 */
#include <string.h>

#include "kiln/compile.h"
#include "mlx/c/mlx.h"

static mlx_stream stream;

static int near(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    return mlx_multiply(res, x, y, stream) || mlx_add(res, *res, x, stream);
}

static int far(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    return mlx_multiply(res, x, y, stream) || mlx_subtract(res, *res, x, stream);
}

static int call(const char *name, int (*function)(mlx_array *, mlx_array, mlx_array, void *), mlx_array x, mlx_array y)
{
    mlx_closure fun = mlx_closure_new();
    mlx_array res = mlx_array_new();
    int failed = kiln_compile_binary(&fun, name, function, NULL, NULL, false) || kiln_call_binary(&res, fun, x, y) ||
                 mlx_array_eval(res);
    return mlx_array_free(res), mlx_closure_free(fun), failed;
}

int main(int count, char **words)
{
    static const float numbers[6] = {1, 2, 3, 4, 5, 6};
    bool on_gpu = count > 1 && strcmp(words[1], "gpu") == 0;
    stream = on_gpu ? mlx_default_gpu_stream_new() : mlx_default_cpu_stream_new();
    mlx_array x = mlx_array_new_data(numbers, (int[]){2, 3}, 2, MLX_FLOAT32);
    mlx_array y = mlx_array_new_data(numbers, (int[]){2, 3}, 2, MLX_FLOAT32);
    int failed = call("left", near, x, y) || call("right", near, x, y) || call("far", far, x, y);
    mlx_array_free(x), mlx_array_free(y), mlx_stream_free(stream);
    return failed;
}
