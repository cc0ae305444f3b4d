/*
 * arrays.c - see arrays.h. Inputs are ready arrays, so that a call measures the call alone.
 */
#include "arrays.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHAIN_PAIRS = 25 };

static mlx_stream stream;

static int multiply(mlx_array *res, mlx_array a, mlx_array b)
{
    return mlx_multiply(res, a, b, stream);
}

static int chain(mlx_array *res, mlx_array a, mlx_array b)
{
    int failed = mlx_array_set(res, a);
    for (int i = 0; i < CHAIN_PAIRS && !failed; i++)
        failed = mlx_add(res, *res, b, stream) || mlx_subtract(res, *res, b, stream);
    return failed;
}

/* outer(inner_1(a, b), inner_2) for the three-step expressions. */
typedef int (*binary)(mlx_array *, mlx_array, mlx_array, mlx_stream);

static int three_steps(mlx_array *res, binary first, mlx_array a, mlx_array b, binary second, mlx_array c, mlx_array d,
                       binary outer)
{
    mlx_array left = mlx_array_new(), right = mlx_array_new();
    int failed = first(&left, a, b, stream) || (second ? second(&right, c, d, stream) : mlx_array_set(&right, c)) ||
                 outer(res, left, right, stream);
    mlx_array_free(left);
    mlx_array_free(right);
    return failed;
}

static int product_and_sum(mlx_array *res, mlx_array a, mlx_array b)
{
    return three_steps(res, mlx_multiply, a, b, mlx_add, a, b, mlx_multiply);
}

static int difference(mlx_array *res, mlx_array a, mlx_array b)
{
    return three_steps(res, mlx_subtract, a, b, NULL, a, a, mlx_multiply);
}

static int squares(mlx_array *res, mlx_array a, mlx_array b)
{
    return three_steps(res, mlx_multiply, a, a, mlx_multiply, b, b, mlx_add);
}

static int (*const expressions[EXPRESSION_COUNT])(mlx_array *, mlx_array, mlx_array) = {
    multiply, chain, product_and_sum, difference, squares,
};

static int callback(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array a = mlx_array_new(), b = mlx_array_new(), out = mlx_array_new();
    int failed = mlx_vector_array_get(&a, in, 0) || mlx_vector_array_get(&b, in, 1) ||
                 expressions[(uintptr_t)payload](&out, a, b) || mlx_vector_array_set_value(res, out);
    mlx_array_free(a);
    mlx_array_free(b);
    mlx_array_free(out);
    return failed;
}

static void on_error(const char *text, void *data)
{
    (void)data;
    fprintf(stderr, "kiln-bench: %s\n", text);
}

void fill_inputs(float *a, float *b, int length)
{
    for (int i = 0; i < length; i++) {
        a[i] = 1 + (float)(i % 64) / 64;
        b[i] = 2 + (float)(i % 61) / 61;
    }
}

bool compiled_init(struct compiled *compiled, enum expression expression, const float *a, const float *b, int length)
{
    if (!stream.ctx) {
        mlx_set_error_handler(on_error, NULL, NULL);
        stream = mlx_default_cpu_stream_new();
    }
    const mlx_array arrays[] = {mlx_array_new_data(a, &length, 1, MLX_FLOAT32),
                                mlx_array_new_data(b, &length, 1, MLX_FLOAT32)};
    mlx_closure plain = mlx_closure_new_func_payload(callback, (void *)(uintptr_t)expression, NULL);
    *compiled = (struct compiled){mlx_closure_new(), mlx_vector_array_new_data(arrays, 2), mlx_vector_array_new()};
    bool is_made = mlx_compile(&compiled->closure, plain, false) == 0 && mlx_eval(compiled->inputs) == 0;
    mlx_closure_free(plain);
    mlx_array_free(arrays[0]);
    mlx_array_free(arrays[1]);
    return is_made;
}

const float *compiled_call(struct compiled *compiled)
{
    mlx_array result = mlx_array_new();
    const float *values = NULL;
    if (mlx_closure_apply(&compiled->outputs, compiled->closure, compiled->inputs) == 0 &&
        mlx_vector_array_get(&result, compiled->outputs, 0) == 0 && mlx_array_eval(result) == 0)
        values = mlx_array_data_float32(result);
    mlx_array_free(result); /* `outputs` keeps it until the next call */
    return values;
}

void compiled_release(struct compiled *compiled)
{
    mlx_closure_free(compiled->closure);
    mlx_vector_array_free(compiled->inputs);
    mlx_vector_array_free(compiled->outputs);
}
