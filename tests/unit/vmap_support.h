/*
 * vmap_support.h - what tests of vmap share: both halves as one call, and the loop over slices that it has to equal.
 */
#ifndef KILN_TESTS_VMAP_SUPPORT_H
#define KILN_TESTS_VMAP_SUPPORT_H

#include "mlxc_support.h"

/* What the tests' functions use. */
static mlx_stream stream;

enum { MAX_MAPPED = 8 };

/* A function of several arrays, with one result. */
struct mapped_function {
    int (*call)(const void *payload, const mlx_array *in, mlx_array *out);
    const void *payload;
    int calls;
};

static inline int call_mapped(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct mapped_function *function = payload;
    mlx_array inputs[MAX_MAPPED], out = mlx_array_new();
    size_t count = mlx_vector_array_size(in);
    for (size_t i = 0; i < count; i++) inputs[i] = mlx_array_new(), mlx_vector_array_get(&inputs[i], in, i);
    function->calls++;
    int code = function->call(function->payload, inputs, &out) || mlx_vector_array_set_value(res, out);
    for (size_t i = 0; i < count; i++) mlx_array_free(inputs[i]);
    return mlx_array_free(out), code;
}

static inline mlx_closure closure_of(struct mapped_function *function)
{
    return mlx_closure_new_func_payload(call_mapped, function, NULL);
}

/* vmap(function) as a client makes it. */
static inline int vmap(mlx_vector_array *res, mlx_closure function, const mlx_vector_array inputs, const int *in_axes,
                       const int *out_axes)
{
    mlx_vector_array placeholders = mlx_vector_array_new(), outputs = mlx_vector_array_new();
    size_t count = mlx_vector_array_size(inputs);
    int code = mlx_detail_vmap_trace(&placeholders, &outputs, function, inputs, in_axes, count) ||
               mlx_detail_vmap_replace(res, inputs, placeholders, outputs, in_axes, count, out_axes,
                                       mlx_vector_array_size(outputs));
    return mlx_vector_array_free(placeholders), mlx_vector_array_free(outputs), code;
}

/* The same for one result. */
static inline int vmap_one(mlx_array *out, mlx_closure function, const mlx_array *in, int count, const int *in_axes,
                           int out_axis)
{
    mlx_vector_array inputs = mlx_vector_array_new_data(in, (size_t)count), res = mlx_vector_array_new();
    int code = vmap(&res, function, inputs, in_axes, &out_axis) || mlx_vector_array_get(out, res, 0);
    return mlx_vector_array_free(inputs), mlx_vector_array_free(res), code;
}

static inline int plain_axis_of(mlx_array array, int axis)
{
    return axis < 0 ? axis + (int)mlx_array_ndim(array) : axis;
}

/* How many slices there are. */
static inline int mapped_size(const mlx_array *in, int count, const int *in_axes)
{
    for (int i = 0; i < count; i++)
        if (in_axes[i] != -1) return mlx_array_shape(in[i])[plain_axis_of(in[i], in_axes[i])];
    return 0;
}

/* Slice `at` of each input. */
static inline int slices_of(mlx_array *slices, const mlx_array *in, int count, const int *in_axes, int at)
{
    int failed = 0;
    mlx_array index = mlx_array_new_int(at);
    for (int i = 0; i < count; i++) {
        slices[i] = mlx_array_new();
        failed = failed ||
                 (in_axes[i] == -1 ? mlx_array_set(&slices[i], in[i])
                                   : mlx_take_axis(&slices[i], in[i], index, plain_axis_of(in[i], in_axes[i]), stream));
    }
    return mlx_array_free(index), failed;
}

/* The loop over slices, with results stacked along `out_axis`. */
static inline int loop_over(mlx_array *out, mlx_closure function, const mlx_array *in, int count, const int *in_axes,
                            int out_axis)
{
    mlx_vector_array rows = mlx_vector_array_new();
    int failed = 0, size = mapped_size(in, count, in_axes);
    for (int at = 0; at < size && !failed; at++) {
        mlx_array slices[MAX_MAPPED], row = mlx_array_new();
        failed = slices_of(slices, in, count, in_axes, at);
        mlx_vector_array inputs = mlx_vector_array_new_data(slices, (size_t)count), res = mlx_vector_array_new();
        failed = failed || mlx_closure_apply(&res, function, inputs) || mlx_vector_array_get(&row, res, 0) ||
                 mlx_vector_array_append_value(rows, row);
        for (int i = 0; i < count; i++) mlx_array_free(slices[i]);
        mlx_vector_array_free(inputs), mlx_vector_array_free(res), mlx_array_free(row);
    }
    failed = failed || mlx_stack_axis(out, rows, out_axis, stream);
    return mlx_vector_array_free(rows), failed;
}

/* Packed bytes, which stay as long as *packed. */
static inline const unsigned char *bytes_of(mlx_array array, mlx_array *packed)
{
    *packed = mlx_array_new();
    int code = mlx_contiguous(packed, array, false, stream) || mlx_array_eval(*packed);
    if (code) CHECK_FAIL("an array can't be read: %s", error_text);
    return (const unsigned char *)mlx_array_data_uint8(*packed);
}

/* The same dtype, shape and bits, but for which NaN a NaN is. */
static inline void expect_same_arrays(mlx_array got, mlx_array want)
{
    mlx_array packed[2];
    CHECK_EQ(mlx_array_dtype(got), mlx_array_dtype(want));
    CHECK_EQ(mlx_array_ndim(got), mlx_array_ndim(want));
    for (size_t i = 0; i < mlx_array_ndim(want); i++) CHECK_EQ(mlx_array_shape(got)[i], mlx_array_shape(want)[i]);
    const unsigned char *a = bytes_of(got, &packed[0]), *b = bytes_of(want, &packed[1]);
    size_t size = mlx_array_size(want), item = mlx_array_itemsize(want);
    for (size_t i = 0; i < size; i++) {
        float x = 0, y = 0;
        if (!memcmp(a + i * item, b + i * item, item)) continue;
        if (mlx_array_dtype(want) == MLX_FLOAT32) memcpy(&x, a + 4 * i, 4), memcpy(&y, b + 4 * i, 4);
        if (x != x && y != y) continue;
        if (item == 2 && (a[2 * i + 1] & 0x7f) >= 0x7c && (b[2 * i + 1] & 0x7f) >= 0x7c) continue;
        CHECK_FAIL("element %zu is %g, expected %g (float32 of %zu elements)", i, (double)x, (double)y, size);
    }
    mlx_array_free(packed[0]), mlx_array_free(packed[1]);
}
#define expect_same_arrays(...) CHECK_CALL(expect_same_arrays, __VA_ARGS__)

/* vmap gives what the loop gives. */
static inline void expect_like_loop(struct mapped_function *function, const mlx_array *in, int count,
                                    const int *in_axes, int out_axis)
{
    mlx_closure closure = closure_of(function);
    mlx_array got = mlx_array_new(), want = mlx_array_new();
    if (loop_over(&want, closure, in, count, in_axes, out_axis)) CHECK_FAIL("the loop failed: %s", error_text);
    int calls = function->calls;
    if (vmap_one(&got, closure, in, count, in_axes, out_axis)) CHECK_FAIL("vmap failed: %s", error_text);
    CHECK_EQ(function->calls, calls + 1);
    expect_same_arrays(got, want);
    mlx_array_free(got), mlx_array_free(want), mlx_closure_free(closure);
}
#define expect_like_loop(...) CHECK_CALL(expect_like_loop, __VA_ARGS__)

#endif
