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

static int add(mlx_array *res, mlx_array a, mlx_array b)
{
    return mlx_add(res, a, b, stream);
}

static int swiglu(mlx_array *res, mlx_array a, mlx_array b)
{
    return mlx_sigmoid(res, a, stream) || mlx_multiply(res, a, *res, stream) || mlx_multiply(res, *res, b, stream);
}

static int with_number(mlx_array *res, binary operation, mlx_array a, float number)
{
    mlx_array scalar = mlx_array_new_float(number);
    int failed = operation(res, a, scalar, stream);
    mlx_array_free(scalar);
    return failed;
}

static int gelu(mlx_array *res, mlx_array a, mlx_array b)
{
    (void)b;
    return with_number(res, mlx_multiply, a, 0.70710678118654752440f) || mlx_erf(res, *res, stream) ||
           with_number(res, mlx_add, *res, 1) || mlx_multiply(res, a, *res, stream) ||
           with_number(res, mlx_multiply, *res, 0.5f);
}

static int rms_norm(mlx_array *res, mlx_array a, mlx_array b)
{
    (void)b;
    return mlx_multiply(res, a, a, stream) || mlx_mean_axis(res, *res, -1, true, stream) ||
           with_number(res, mlx_add, *res, 1e-5f) || mlx_rsqrt(res, *res, stream) || mlx_multiply(res, a, *res, stream);
}

static int softmax(mlx_array *res, mlx_array a, mlx_array b)
{
    (void)b;
    mlx_array sum = mlx_array_new();
    int failed = mlx_max_axis(res, a, -1, true, stream) || mlx_subtract(res, a, *res, stream) ||
                 mlx_exp(res, *res, stream) || mlx_sum_axis(&sum, *res, -1, true, stream) ||
                 mlx_divide(res, *res, sum, stream);
    mlx_array_free(sum);
    return failed;
}

static int sum_last(mlx_array *res, mlx_array a, mlx_array b)
{
    (void)b;
    return mlx_sum_axis(res, a, -1, false, stream);
}

static int sum_first(mlx_array *res, mlx_array a, mlx_array b)
{
    (void)b;
    return mlx_sum_axis(res, a, 0, false, stream);
}

static int transpose(mlx_array *res, mlx_array a, mlx_array b)
{
    (void)b;
    return mlx_transpose(res, a, stream) || mlx_contiguous(res, *res, false, stream);
}

static int matmul(mlx_array *res, mlx_array a, mlx_array b)
{
    return mlx_matmul(res, a, b, stream);
}

static int (*const expressions[EXPRESSION_COUNT])(mlx_array *, mlx_array, mlx_array) = {
    [EXPRESSION_MULTIPLY] = multiply,
    [EXPRESSION_CHAIN] = chain,
    [EXPRESSION_PRODUCT_AND_SUM] = product_and_sum,
    [EXPRESSION_DIFFERENCE] = difference,
    [EXPRESSION_SQUARES] = squares,
    [EXPRESSION_ADD] = add,
    [EXPRESSION_SWIGLU] = swiglu,
    [EXPRESSION_GELU] = gelu,
    [EXPRESSION_RMS_NORM] = rms_norm,
    [EXPRESSION_SOFTMAX] = softmax,
    [EXPRESSION_SUM_LAST] = sum_last,
    [EXPRESSION_SUM_FIRST] = sum_first,
    [EXPRESSION_TRANSPOSE] = transpose,
    [EXPRESSION_MATMUL] = matmul,
};

/* ---- compiled -------------------------------------------------------------------------------------------------- */

static int callback(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array a = mlx_array_new(), b = mlx_array_new(), out = mlx_array_new();
    int failed = mlx_vector_array_get(&a, in, 0) ||
                 (mlx_vector_array_size(in) > 1 && mlx_vector_array_get(&b, in, 1)) ||
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

void bench_errors(void)
{
    mlx_set_error_handler(on_error, NULL, NULL);
}

mlx_stream bench_stream(void)
{
    if (!stream.ctx) {
        bench_errors();
        stream = mlx_default_cpu_stream_new();
    }
    return stream;
}

static bool init(struct compiled *compiled, enum expression expression, const float *a, const float *b,
                 const int *shape, int ndim, bool shapeless)
{
    bench_stream();
    const mlx_array arrays[] = {mlx_array_new_data(a, shape, ndim, MLX_FLOAT32),
                                b ? mlx_array_new_data(b, shape, ndim, MLX_FLOAT32) : mlx_array_new()};
    mlx_closure plain = mlx_closure_new_func_payload(callback, (void *)(uintptr_t)expression, NULL);
    *compiled =
        (struct compiled){mlx_closure_new(), mlx_vector_array_new_data(arrays, b ? 2 : 1), mlx_vector_array_new()};
    bool is_made = mlx_compile(&compiled->closure, plain, shapeless) == 0 && mlx_eval(compiled->inputs) == 0;
    mlx_closure_free(plain);
    mlx_array_free(arrays[0]);
    mlx_array_free(arrays[1]);
    return is_made;
}

bool compiled_init_shaped(struct compiled *compiled, enum expression expression, const float *a, const float *b,
                          const int *shape, int ndim)
{
    return init(compiled, expression, a, b, shape, ndim, false);
}

bool compiled_init(struct compiled *compiled, enum expression expression, const float *a, const float *b, int length)
{
    return init(compiled, expression, a, b, &length, 1, false);
}

bool compiled_init_shapeless(struct compiled *compiled, enum expression expression, const float *a, const float *b,
                             int length)
{
    return init(compiled, expression, a, b, &length, 1, true);
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

/* ---- not compiled ---------------------------------------------------------------------------------------------- */

bool plain_init(struct plain *plain, enum expression expression, const float *a, const float *b, const int *shape,
                int ndim)
{
    bench_stream();
    plain->expression = expression;
    plain->a = mlx_array_new_data(a, shape, ndim, MLX_FLOAT32);
    plain->b = b ? mlx_array_new_data(b, shape, ndim, MLX_FLOAT32) : mlx_array_new();
    plain->result = mlx_array_new();
    return mlx_array_eval(plain->a) == 0 && (!b || mlx_array_eval(plain->b) == 0);
}

const float *plain_call(struct plain *plain)
{
    bool is_done =
        expressions[plain->expression](&plain->result, plain->a, plain->b) == 0 && mlx_array_eval(plain->result) == 0;
    return is_done ? mlx_array_data_float32(plain->result) : NULL;
}

void plain_release(struct plain *plain)
{
    mlx_array_free(plain->a);
    mlx_array_free(plain->b);
    mlx_array_free(plain->result);
}
