/*
 * bodies.h - bodies of functions that are compiled, written as expressions: what a body makes lies in a list of the
 * thread's, and goes when the body is done.
 */
#ifndef KILN_TESTS_SUPPORT_BODIES_H
#define KILN_TESTS_SUPPORT_BODIES_H

#include "support/arrays.h"

static _Thread_local mlx_array made[512];
static _Thread_local int made_count, made_code;

typedef int unary_op(mlx_array *, const mlx_array, const mlx_stream);
typedef int binary_op(mlx_array *, const mlx_array, const mlx_array, const mlx_stream);

static inline mlx_array *next_made(void)
{
    CHECK_LT(made_count, (int)(sizeof made / sizeof *made));
    made[made_count] = mlx_array_new();
    return &made[made_count++];
}
#define next_made(...) CHECK_CALL(next_made, __VA_ARGS__)

static inline mlx_array u(unary_op *op, mlx_array a)
{
    mlx_array *res = next_made();
    if (!made_code && op(res, a, stream)) made_code = 1;
    return *res;
}
#define u(...) CHECK_CALL(u, __VA_ARGS__)

static inline mlx_array b(binary_op *op, mlx_array a, mlx_array c)
{
    mlx_array *res = next_made();
    if (!made_code && op(res, a, c, stream)) made_code = 1;
    return *res;
}
#define b(...) CHECK_CALL(b, __VA_ARGS__)

static inline mlx_array keep(mlx_array array)
{
    return *next_made() = array;
}
#define keep(...) CHECK_CALL(keep, __VA_ARGS__)

static inline mlx_array number(float value)
{
    return keep(mlx_array_new_float(value));
}
#define number(...) CHECK_CALL(number, __VA_ARGS__)

static inline mlx_array sum(mlx_array a, int axis, bool keepdims)
{
    mlx_array *res = next_made();
    if (!made_code && mlx_sum_axis(res, a, axis, keepdims, stream)) made_code = 1;
    return *res;
}
#define sum(...) CHECK_CALL(sum, __VA_ARGS__)

static inline mlx_array as(mlx_array a, mlx_dtype dtype)
{
    mlx_array *res = next_made();
    if (!made_code && mlx_astype(res, a, dtype, stream)) made_code = 1;
    return *res;
}
#define as(...) CHECK_CALL(as, __VA_ARGS__)

/* Frees what was made and gives the code of the body. */
static inline int done(void)
{
    int code = made_code;
    while (made_count) mlx_array_free(made[--made_count]);
    made_code = 0;
    return code;
}

#define BODY(name) static int name(const mlx_array *in, int count, mlx_array *out, const void *context)
#define UNUSED     (void)count, (void)context

static inline void give(mlx_array *out, mlx_array a)
{
    if (!made_code && mlx_array_set(out, a)) made_code = 1;
}

/* ---- inputs --------------------------------------------------------------------------------------------------- */

static inline mlx_array ones_and_more(mlx_dtype dtype, int ndim, const int *dims)
{
    struct shape shape = {ndim, {0}};
    for (int i = 0; i < ndim; i++) shape.dims[i] = dims[i];
    int size = shape_size(&shape);
    float *values = malloc(((size_t)size + 1) * sizeof *values);
    for (int i = 0; i < size; i++) values[i] = (float)(i % 97) + 1;
    mlx_array plain = mlx_array_new_data(values, dims, ndim, MLX_FLOAT32), res = mlx_array_new();
    free(values);
    expect_ok(mlx_astype(&res, plain, dtype, stream) || mlx_array_eval(res), "an input");
    mlx_array_free(plain);
    return res;
}
#define ones_and_more(...) CHECK_CALL(ones_and_more, __VA_ARGS__)

#define COUNTING(dtype, ...)                                                                                           \
    ones_and_more((dtype), (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})
#define FLOATS(...) COUNTING(MLX_FLOAT32, __VA_ARGS__)

#endif
