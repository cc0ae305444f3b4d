/*
 * abi_ops.c - ops.h of the ABI: unwrap, apply, wrap.
 *
 * The element-wise functions come from graph/ops.def, one per row; the others are written out. A NULL handle is an
 * error each time, and the order is always: inputs first, then the result, so that a result may be an input.
 */
#include "mlxc/abi_vector.h"
#include "ops/compose.h"
#include "ops/shapes.h"

/* ---- element-wise --------------------------------------------------------------------------------------------- */

#define KILN_ARITY_1(ID, name)                                                                                         \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_stream s)                                              \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__unary(KILN_OP_##ID, kiln__unwrap(a), &out, &err));                               \
    }
#define KILN_ARITY_2(ID, name)                                                                                         \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_array b, const mlx_stream s)                           \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_ARRAY(b);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__binary(KILN_OP_##ID, kiln__unwrap(a), kiln__unwrap(b), &out, &err));             \
    }
#define KILN_ARITY_3(ID, name)                                                                                         \
    int mlx_##name(mlx_array *res, const mlx_array condition, const mlx_array x, const mlx_array y,                    \
                   const mlx_stream s)                                                                                 \
    {                                                                                                                  \
        KILN_NEED_ARRAY(condition);                                                                                    \
        KILN_NEED_ARRAY(x);                                                                                            \
        KILN_NEED_ARRAY(y);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        struct kiln_array *inputs[3] = {kiln__unwrap(condition), kiln__unwrap(x), kiln__unwrap(y)};                    \
        KILN_RETURN_RESULT(res, kiln__apply(KILN_OP_##ID, inputs, 3, NULL, 0, &out, &err));                            \
    }

/* By dtype rule: astype has a parameter of its own and stands below. */
#define KILN_FUNCTION_SAME(arity, ID, name)     KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_FLOATING(arity, ID, name) KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_COMPARE(arity, ID, name)  KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_LOGIC(arity, ID, name)    KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_SELECT(arity, ID, name)   KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_REAL(arity, ID, name)     KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_SHIFT(arity, ID, name)    KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_CAST(arity, ID, name)
#define KILN_FUNCTION_BY_HAND(arity, ID, name)

#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex)                 \
    KILN_FUNCTION_##rule(arity, ID, name)
#include "graph/ops.def"

/* Leaves the function with 1 when `dtype` is none. */
#define KILN_NEED_DTYPE(dtype)                                                                                         \
    do {                                                                                                               \
        if (!kiln__dtype_is_valid((int)(dtype))) return KILN_FAIL_TEXT("the dtype is not one of mlx_dtype (0 to 13)"); \
    } while (0)

int mlx_astype(mlx_array *res, const mlx_array a, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE(dtype);
    KILN_RETURN_RESULT(res, kiln__astype(kiln__unwrap(a), (enum kiln_dtype)dtype, &out, &err));
}

/* ---- creation ------------------------------------------------------------------------------------------------- */

int mlx_zeros(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE(dtype);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__zeros(shape, shape_num, (enum kiln_dtype)dtype, &out, &err));
}

int mlx_full(mlx_array *res, const int *shape, size_t shape_num, const mlx_array vals, mlx_dtype dtype,
             const mlx_stream s)
{
    KILN_NEED_ARRAY(vals);
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE(dtype);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__full(shape, shape_num, (enum kiln_dtype)dtype, kiln__unwrap(vals), &out, &err));
}

/* ---- shape ---------------------------------------------------------------------------------------------------- */

int mlx_reshape(mlx_array *res, const mlx_array a, const int *shape, size_t shape_num, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__reshape(kiln__unwrap(a), shape, shape_num, &out, &err));
}

int mlx_broadcast_to(mlx_array *res, const mlx_array a, const int *shape, size_t shape_num, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__broadcast_to(kiln__unwrap(a), shape, shape_num, &out, &err));
}

int mlx_expand_dims(mlx_array *res, const mlx_array a, int axis, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__expand_dims(kiln__unwrap(a), axis, &out, &err));
}

int mlx_squeeze_axis(mlx_array *res, const mlx_array a, int axis, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__squeeze_axis(kiln__unwrap(a), axis, &out, &err));
}

int mlx_slice(mlx_array *res, const mlx_array a, const int *start, size_t start_num, const int *stop, size_t stop_num,
              const int *strides, size_t strides_num, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    size_t ndim = kiln__unwrap(a)->ndim;
    if (start_num != ndim || stop_num != ndim || strides_num != ndim) {
        _mlx_error(__FILE__, __LINE__,
                   "[slice] expected %zu starts, stops and strides, one per dimension; got %zu, %zu and %zu", ndim,
                   start_num, stop_num, strides_num);
        return 1;
    }
    if (ndim && (!start || !stop || !strides)) return KILN_FAIL_TEXT("[slice] start, stop or strides is NULL");
    KILN_RETURN_RESULT(res, kiln__slice(kiln__unwrap(a), start, stop, strides, ndim, &out, &err));
}

int mlx_tile(mlx_array *res, const mlx_array arr, const int *reps, size_t reps_num, const mlx_stream s)
{
    KILN_NEED_ARRAY(arr);
    KILN_NEED_STREAM(s);
    if (reps_num) KILN_NEED_POINTER(reps);
    KILN_RETURN_RESULT(res, kiln__tile(kiln__unwrap(arr), reps, reps_num, &out, &err));
}

int mlx_concatenate_axis(mlx_array *res, const mlx_vector_array arrays, int axis, const mlx_stream s)
{
    size_t count;
    KILN_NEED_VECTOR(arrays);
    KILN_NEED_STREAM(s);
    struct kiln_array *const *inputs = kiln__vector_arrays(arrays, &count);
    KILN_RETURN_RESULT(res, kiln__concatenate(inputs, count, axis, &out, &err));
}

int mlx_concatenate(mlx_array *res, const mlx_vector_array arrays, const mlx_stream s)
{
    size_t count;
    KILN_NEED_VECTOR(arrays);
    KILN_NEED_STREAM(s);
    struct kiln_array *const *inputs = kiln__vector_arrays(arrays, &count);
    KILN_RETURN_RESULT(res, kiln__concatenate_flat(inputs, count, &out, &err));
}

int mlx_stack_axis(mlx_array *res, const mlx_vector_array arrays, int axis, const mlx_stream s)
{
    size_t count;
    KILN_NEED_VECTOR(arrays);
    KILN_NEED_STREAM(s);
    struct kiln_array *const *inputs = kiln__vector_arrays(arrays, &count);
    KILN_RETURN_RESULT(res, kiln__stack(inputs, count, axis, &out, &err));
}

int mlx_stack(mlx_array *res, const mlx_vector_array arrays, const mlx_stream s)
{
    return mlx_stack_axis(res, arrays, 0, s);
}

int mlx_transpose(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    int64_t axes[KILN_MAX_NDIM];
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    struct kiln_array *array = kiln__unwrap(a);
    for (int i = 0; i < array->ndim; i++) axes[i] = array->ndim - 1 - i;
    KILN_RETURN_RESULT(res, kiln__apply(KILN_OP_TRANSPOSE, &array, 1, axes, array->ndim, &out, &err));
}

int mlx_transpose_axes(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, const mlx_stream s)
{
    int64_t order[KILN_MAX_NDIM];
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    struct kiln_array *array = kiln__unwrap(a);
    if (axes_num) KILN_NEED_POINTER(axes);
    if (axes_num != array->ndim) {
        _mlx_error(__FILE__, __LINE__, "[transpose] expected %d axes, one per dimension; got %zu", array->ndim,
                   axes_num);
        return 1;
    }
    for (size_t i = 0; i < axes_num; i++) order[i] = axes[i] < 0 ? axes[i] + (int64_t)axes_num : axes[i];
    KILN_RETURN_RESULT(res, kiln__apply(KILN_OP_TRANSPOSE, &array, 1, order, axes_num, &out, &err));
}

/* Always row-major, which a caller that would take column-major can use as well. */
int mlx_contiguous(mlx_array *res, const mlx_array a, bool allow_col_major, const mlx_stream s)
{
    (void)allow_col_major;
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__unary(KILN_OP_CONTIGUOUS, kiln__unwrap(a), &out, &err));
}

/* ---- products ------------------------------------------------------------------------------------------------- */

int mlx_matmul(mlx_array *res, const mlx_array a, const mlx_array b, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__matmul(kiln__unwrap(a), kiln__unwrap(b), &out, &err));
}
