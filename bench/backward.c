/*
 * backward.c - see backward.h. The last input is the cotangent.
 */
#include "backward.h"

#include <stdint.h>
#include <stdlib.h>

enum { SIDE = 4096, HEADS = 8, TOKENS = 1024, FEATURES = 64, MAX_INPUTS = 4 };

float wide_number(size_t i)
{
    return (float)((uint32_t)i * 2654435761u % 4096) / 256 - 8;
}

float narrow_number(size_t i)
{
    return 1 + (float)(i % 61) / 61;
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

static int gelu(mlx_array *res, const mlx_array in[])
{
    mlx_array root = mlx_array_new_float(0.70710678118654752440f), one = mlx_array_new_float(1),
              half = mlx_array_new_float(0.5f);
    mlx_stream s = bench_stream();
    int failed = mlx_multiply(res, in[0], root, s) || mlx_erf(res, *res, s) || mlx_add(res, *res, one, s) ||
                 mlx_multiply(res, in[0], *res, s) || mlx_multiply(res, *res, half, s);
    mlx_array_free(root), mlx_array_free(one), mlx_array_free(half);
    return failed;
}

static int softmax(mlx_array *res, const mlx_array in[])
{
    return mlx_softmax_axis(res, in[0], -1, false, bench_stream());
}

static int layer_norm(mlx_array *res, const mlx_array in[])
{
    return mlx_fast_layer_norm(res, in[0], in[1], in[2], 1e-5f, bench_stream());
}

static int attention(mlx_array *res, const mlx_array in[])
{
    return mlx_fast_scaled_dot_product_attention(res, in[0], in[1], in[2], 0.125f, "", (mlx_array){NULL},
                                                 (mlx_array){NULL}, false, bench_stream());
}

/* Element i of an input is scale * wide_number(i + start), or narrow_number(i) where scale is 0. */
struct input {
    bool is_row; /* of SIDE floats; others have the function's shape */
    float scale;
    size_t start;
};

struct function {
    int (*run)(mlx_array *, const mlx_array *);
    int shape[4], ndim, inputs; /* the cotangent is one more */
    struct input input[MAX_INPUTS];
};

static const struct function functions[GRADIENT_COUNT] = {
    [GRADIENT_GELU] = {gelu, {SIDE * SIDE}, 1, 1, {{.scale = 1}, {.scale = 0}}},
    [GRADIENT_SOFTMAX] = {softmax, {SIDE, SIDE}, 2, 1, {{.scale = 1}, {.scale = 0}}},
    [GRADIENT_LAYER_NORM] =
        {layer_norm, {SIDE, SIDE}, 2, 3, {{.scale = 1}, {.is_row = true}, {.is_row = true, .scale = 1}, {.scale = 0}}},
    [GRADIENT_ATTENTION] =
        {attention,
         {1, HEADS, TOKENS, FEATURES},
         4,
         3,
         {{.scale = 0.0625f}, {.scale = 0.0625f, .start = 12345}, {.scale = 0}, {.scale = 0.125f, .start = 777}}},
};

/* ---- gradients ------------------------------------------------------------------------------------------------- */

static int forward(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct function *function = payload;
    mlx_array arrays[MAX_INPUTS], out = mlx_array_new();
    int failed = 0;
    for (int i = 0; i < function->inputs; i++) {
        arrays[i] = mlx_array_new();
        failed = failed || mlx_vector_array_get(&arrays[i], in, (size_t)i);
    }
    failed = failed || function->run(&out, arrays) || mlx_vector_array_set_value(res, out);
    for (int i = 0; i < function->inputs; i++) mlx_array_free(arrays[i]);
    mlx_array_free(out);
    return failed;
}

static int backward(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct function *function = payload;
    mlx_vector_array primals = mlx_vector_array_new(), cotangents = mlx_vector_array_new(),
                     values = mlx_vector_array_new();
    mlx_closure closure = mlx_closure_new_func_payload(forward, payload, NULL);
    mlx_array array = mlx_array_new();
    int failed = 0;
    for (int i = 0; i <= function->inputs && !failed; i++)
        failed = mlx_vector_array_get(&array, in, (size_t)i) ||
                 mlx_vector_array_append_value(i < function->inputs ? primals : cotangents, array);
    failed = failed || mlx_vjp(&values, res, closure, primals, cotangents);
    mlx_array_free(array);
    mlx_vector_array_free(primals), mlx_vector_array_free(cotangents), mlx_vector_array_free(values);
    mlx_closure_free(closure);
    return failed;
}

static bool add_input(mlx_vector_array inputs, const struct function *function, const struct input *input)
{
    static const int row_shape[] = {SIDE};
    const int *shape = input->is_row ? row_shape : function->shape, ndim = input->is_row ? 1 : function->ndim;
    size_t length = 1;
    for (int i = 0; i < ndim; i++) length *= (size_t)shape[i];
    float *values = malloc(length * sizeof *values);
    if (!values) return false;
    for (size_t i = 0; i < length; i++)
        values[i] = input->scale != 0 ? input->scale * wide_number(i + input->start) : narrow_number(i);
    mlx_array array = mlx_array_new_data(values, shape, ndim, MLX_FLOAT32);
    int failed = mlx_vector_array_append_value(inputs, array);
    mlx_array_free(array), free(values);
    return !failed;
}

bool backward_init(struct compiled *compiled, enum gradient gradient)
{
    const struct function *function = &functions[gradient];
    bench_stream();
    mlx_closure plain = mlx_closure_new_func_payload(backward, (void *)(uintptr_t)function, NULL);
    *compiled = (struct compiled){mlx_closure_new(), mlx_vector_array_new(), mlx_vector_array_new()};
    bool is_made = !mlx_compile(&compiled->closure, plain, false);
    for (int i = 0; i <= function->inputs && is_made; i++)
        is_made = add_input(compiled->inputs, function, &function->input[i]);
    mlx_closure_free(plain);
    return is_made && !mlx_eval(compiled->inputs);
}

bool backward_call(struct compiled *compiled)
{
    return !mlx_closure_apply(&compiled->outputs, compiled->closure, compiled->inputs) && !mlx_eval(compiled->outputs);
}

static size_t floats_of(mlx_vector_array arrays)
{
    size_t floats = 0;
    mlx_array array = mlx_array_new();
    for (size_t i = 0; i < mlx_vector_array_size(arrays); i++)
        if (!mlx_vector_array_get(&array, arrays, i)) floats += mlx_array_size(array);
    mlx_array_free(array);
    return floats;
}

size_t backward_floats(const struct compiled *compiled)
{
    return floats_of(compiled->inputs) + floats_of(compiled->outputs);
}
