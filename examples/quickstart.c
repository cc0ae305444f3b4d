#include <mlx/c/mlx.h>
#include <stdio.h>

static int norm2(mlx_vector_array *res, const mlx_vector_array in, void *stream) /* x*x + y*y */
{
    mlx_array x = mlx_array_new(), y = mlx_array_new();
    mlx_vector_array_get(&x, in, 0), mlx_vector_array_get(&y, in, 1);
    mlx_multiply(&x, x, x, *(mlx_stream *)stream), mlx_multiply(&y, y, y, *(mlx_stream *)stream);
    int failed = mlx_add(&x, x, y, *(mlx_stream *)stream) || mlx_vector_array_set_value(res, x);
    return mlx_array_free(x), mlx_array_free(y), failed;
}

int main(void)
{
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_closure plain = mlx_closure_new_func_payload(norm2, &stream, NULL), fast = mlx_closure_new();
    mlx_compile(&fast, plain, false); /* traced on the first call, compiled once for every process */
    mlx_array xy[] = {mlx_array_new_data((float[]){3, 5}, (int[]){2}, 1, MLX_FLOAT32), mlx_array_new_float(4)};
    mlx_vector_array in = mlx_vector_array_new_data(xy, 2), out = mlx_vector_array_new();
    mlx_string text = mlx_string_new();
    if (!mlx_closure_apply(&out, fast, in) && !mlx_vector_array_get(xy, out, 0) && !mlx_array_tostring(&text, *xy))
        puts(mlx_string_data(text)); /* array([25, 41], dtype=float32) */
    mlx_string_free(text), mlx_array_free(xy[0]), mlx_array_free(xy[1]), mlx_vector_array_free(in);
    mlx_vector_array_free(out), mlx_closure_free(fast), mlx_closure_free(plain), mlx_stream_free(stream);
}
