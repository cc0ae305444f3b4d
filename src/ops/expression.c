/*
 * expression.c - see expression.h. Invariant: `held` has every array that was made, each once; when it is full, the
 * expression fails.
 */
#include "ops/expression.h"

#include <string.h>

struct kiln_array *kiln__e_hold(struct kiln_expression *e, kiln_status status, struct kiln_array *array)
{
    if (status) {
        if (!e->status) e->status = status;
        return NULL;
    }
    if (e->count == KILN_EXPRESSION_MAX) {
        kiln__array_unref(array);
        e->status = kiln__fail(e->err, KILN_INVALID, "a formula has more than %d steps", KILN_EXPRESSION_MAX);
        return NULL;
    }
    return e->held[e->count++] = array;
}

kiln_status kiln__e_end(struct kiln_expression *e, struct kiln_array *result, struct kiln_array **out)
{
    if (!e->status && !result) e->status = kiln__fail(e->err, KILN_INVALID, "an input is empty.");
    if (!e->status) *out = kiln__array_ref(result);
    return kiln__e_drop(e);
}

kiln_status kiln__e_drop(struct kiln_expression *e)
{
    for (size_t i = 0; i < e->count; i++) kiln__array_unref(e->held[i]);
    e->count = 0;
    return e->status;
}

struct kiln_array *kiln__e_apply(struct kiln_expression *e, enum kiln_op op, struct kiln_array *const *inputs,
                                 size_t count, const int64_t *attrs, size_t attr_count)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    for (size_t i = 0; i < count; i++)
        if (!inputs[i]) return NULL;
    kiln_status status = kiln__apply(op, inputs, count, attrs, attr_count, &out, e->err);
    return kiln__e_hold(e, status, out);
}

struct kiln_array *kiln__e_unary(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a)
{
    return kiln__e_apply(e, op, &a, 1, NULL, 0);
}

struct kiln_array *kiln__e_binary(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a,
                                  struct kiln_array *b)
{
    return kiln__e_apply(e, op, (struct kiln_array *[]){a, b}, 2, NULL, 0);
}

struct kiln_array *kiln__e_select(struct kiln_expression *e, struct kiln_array *condition, struct kiln_array *a,
                                  struct kiln_array *b)
{
    return kiln__e_apply(e, KILN_OP_SELECT, (struct kiln_array *[]){condition, a, b}, 3, NULL, 0);
}

struct kiln_array *kiln__e_astype(struct kiln_expression *e, struct kiln_array *a, enum kiln_dtype dtype)
{
    if (!a || a->dtype == dtype) return e->status ? NULL : a;
    return kiln__e_apply(e, KILN_OP_CAST, &a, 1, (int64_t[]){dtype}, 1);
}

struct kiln_array *kiln__e_number(struct kiln_expression *e, double value, enum kiln_dtype dtype)
{
    struct kiln_array *out = NULL;
    float narrow = (float)value;
    if (e->status) return NULL;
    bool is_wide = dtype == KILN_FLOAT64;
    kiln_status status = kiln__array_scalar(is_wide ? KILN_FLOAT64 : KILN_FLOAT32,
                                            is_wide ? (void *)&value : (void *)&narrow, &out, e->err);
    return kiln__e_astype(e, kiln__e_hold(e, status, out), dtype);
}

struct kiln_array *kiln__e_complex(struct kiln_expression *e, struct kiln_array *real, struct kiln_array *imaginary)
{
    float turn[2] = {0, 1};
    struct kiln_array *i = kiln__e_data(e, turn, KILN_COMPLEX64, NULL, 0);
    return kiln__e_binary(e, KILN_OP_ADD, real, kiln__e_binary(e, KILN_OP_MULTIPLY, imaginary, i));
}

typedef kiln_status dims_step(struct kiln_array *a, const int *dims, size_t ndim, struct kiln_array **out,
                              kiln_error *err);

static struct kiln_array *apply_dims(struct kiln_expression *e, dims_step *step, struct kiln_array *a, const int *dims,
                                     size_t ndim)
{
    struct kiln_array *out = NULL;
    if (e->status || !a) return NULL;
    kiln_status status = step(a, dims, ndim, &out, e->err);
    return kiln__e_hold(e, status, out);
}

struct kiln_array *kiln__e_reshape(struct kiln_expression *e, struct kiln_array *a, const int *dims, size_t ndim)
{
    return apply_dims(e, kiln__reshape, a, dims, ndim);
}

struct kiln_array *kiln__e_broadcast(struct kiln_expression *e, struct kiln_array *a, const int *dims, size_t ndim)
{
    return apply_dims(e, kiln__broadcast_to, a, dims, ndim);
}

struct kiln_array *kiln__e_values(struct kiln_expression *e, struct kiln_array *a, const int *dims, size_t ndim)
{
    size_t extra = 0;
    if (!a) return NULL;
    while (a->ndim > ndim + extra && a->dims[extra] == 1) extra++;
    if (extra) a = kiln__e_reshape(e, a, a->dims + extra, a->ndim - extra);
    return kiln__e_broadcast(e, a, dims, ndim);
}

struct kiln_array *kiln__e_matmul(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    struct kiln_array *out = NULL;
    if (e->status || !a || !b) return NULL;
    kiln_status status = kiln__matmul(a, b, &out, e->err);
    return kiln__e_hold(e, status, out);
}

struct kiln_array *kiln__e_transpose(struct kiln_expression *e, struct kiln_array *a, const int64_t *order)
{
    return a ? kiln__e_apply(e, KILN_OP_TRANSPOSE, &a, 1, order, a->ndim) : NULL;
}

struct kiln_array *kiln__e_cut(struct kiln_expression *e, struct kiln_array *a, int axis, int first, int end, int step)
{
    struct kiln_array *out = NULL;
    int start[KILN_MAX_NDIM] = {0}, stop[KILN_MAX_NDIM], steps[KILN_MAX_NDIM];
    if (e->status || !a) return NULL;
    for (int i = 0; i < a->ndim; i++) stop[i] = a->dims[i], steps[i] = 1;
    start[axis] = first, stop[axis] = end, steps[axis] = step;
    kiln_status status = kiln__slice(a, start, stop, steps, a->ndim, &out, e->err);
    return kiln__e_hold(e, status, out);
}

struct kiln_array *kiln__e_data(struct kiln_expression *e, const void *data, enum kiln_dtype dtype, const int *dims,
                                size_t ndim)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    kiln_status status = kiln__array_from_data(data, dtype, ndim, dims, &out, e->err);
    return kiln__e_hold(e, status, out);
}

struct kiln_array *kiln__e_concatenate(struct kiln_expression *e, struct kiln_array *const *arrays, size_t count,
                                       int axis)
{
    return kiln__e_apply(e, KILN_OP_CONCATENATE, arrays, count, (int64_t[]){axis}, 1);
}
