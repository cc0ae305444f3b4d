/*
 * exported.c - `exported export FILE` compiles a function, calls it and puts it into a file; `exported import FILE`
 * takes it from there, without the function, compiles it and calls it. Both print the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mlx/c/mlx.h"

enum { ROWS = 12, COLUMNS = 64 };

static mlx_stream stream;

/* x * sigmoid(x @ w), normalised; w is captured. */
static int layer(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = {0}, y = {0};
    int code = mlx_vector_array_get(&x, in, 0) || mlx_matmul(&y, x, *(mlx_array *)payload, stream) ||
               mlx_sigmoid(&y, y, stream) || mlx_multiply(&y, x, y, stream) ||
               mlx_fast_rms_norm(&y, y, (mlx_array){0}, 1e-5f, stream) || mlx_vector_array_set_value(res, y);
    mlx_array_free(x), mlx_array_free(y);
    return code;
}

static int call_imported(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    return mlx_imported_function_apply(res, *(mlx_imported_function *)payload, in);
}

static mlx_array make(int rows, int columns, double step)
{
    static float data[COLUMNS * COLUMNS];
    for (int i = 0; i < rows * columns; i++) data[i] = (float)sin(i * step);
    return mlx_array_new_data(data, (const int[]){rows, columns}, 2, MLX_FLOAT32);
}

/* The bits of the result, added up. */
static int print_result(mlx_closure plain, mlx_vector_array in)
{
    mlx_closure compiled = {0};
    mlx_vector_array out = {0};
    mlx_array y = {0};
    unsigned sum = 0;
    int code = mlx_compile(&compiled, plain, false) || mlx_closure_apply(&out, compiled, in) ||
               mlx_vector_array_get(&y, out, 0) || mlx_array_eval(y);
    for (int i = 0; i < ROWS * COLUMNS && !code; i++) {
        unsigned bits;
        memcpy(&bits, mlx_array_data_float32(y) + i, sizeof bits);
        sum = sum * 31 + bits;
    }
    printf("%08x\n", sum);
    mlx_closure_free(compiled), mlx_vector_array_free(out), mlx_array_free(y);
    return code;
}

int main(int count, char **words)
{
    if (count != 3) return 2;
    bool is_export = strcmp(words[1], "export") == 0;
    stream = mlx_default_cpu_stream_new();
    mlx_array x = make(ROWS, COLUMNS, 0.1), w = is_export ? make(COLUMNS, COLUMNS, 0.3) : (mlx_array){0};
    mlx_vector_array in = mlx_vector_array_new_value(x);
    mlx_imported_function imported = is_export ? (mlx_imported_function){0} : mlx_imported_function_new(words[2]);
    mlx_closure plain = is_export ? mlx_closure_new_func_payload(layer, &w, NULL)
                                  : mlx_closure_new_func_payload(call_imported, &imported, NULL);
    int code = print_result(plain, in);
    if (is_export && !code) code = mlx_export_function(words[2], plain, in, false);
    mlx_closure_free(plain), mlx_imported_function_free(imported);
    mlx_array_free(x), mlx_array_free(w), mlx_vector_array_free(in), mlx_stream_free(stream);
    return code;
}
