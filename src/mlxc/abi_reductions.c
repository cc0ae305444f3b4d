/*
 * abi_reductions.c - the reductions of ops.h: each over all axes, over one, and over several.
 */
#include "mlxc/handle.h"
#include "ops/reductions.h"

#define ALL_AXES     ((struct kiln_axes){NULL, KILN_ALL_AXES, keepdims})
#define ONE_AXIS     ((struct kiln_axes){&axis, 1, keepdims})
#define SEVERAL_AXES ((struct kiln_axes){axes, axes_num, keepdims})

/* The three functions of one reduction; CALL(axes) makes it of the unwrapped `input`. */
#define KILN_REDUCTION(name, CALL)                                                                                     \
    int mlx_##name(mlx_array *res, const mlx_array a, bool keepdims, const mlx_stream s)                               \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, CALL(kiln__unwrap(a), ALL_AXES));                                                      \
    }                                                                                                                  \
    int mlx_##name##_axis(mlx_array *res, const mlx_array a, int axis, bool keepdims, const mlx_stream s)              \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, CALL(kiln__unwrap(a), ONE_AXIS));                                                      \
    }                                                                                                                  \
    int mlx_##name##_axes(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, bool keepdims,          \
                          const mlx_stream s)                                                                          \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        if (axes_num) KILN_NEED_POINTER(axes);                                                                         \
        KILN_RETURN_RESULT(res, CALL(kiln__unwrap(a), SEVERAL_AXES));                                                  \
    }

#define CALL_SUM(a, axes)       kiln__reduce(KILN_OP_SUM, a, axes, &out, &err)
#define CALL_PROD(a, axes)      kiln__reduce(KILN_OP_PROD, a, axes, &out, &err)
#define CALL_MIN(a, axes)       kiln__reduce(KILN_OP_MIN, a, axes, &out, &err)
#define CALL_MAX(a, axes)       kiln__reduce(KILN_OP_MAX, a, axes, &out, &err)
#define CALL_ALL(a, axes)       kiln__reduce(KILN_OP_ALL, a, axes, &out, &err)
#define CALL_ANY(a, axes)       kiln__reduce(KILN_OP_ANY, a, axes, &out, &err)
#define CALL_MEAN(a, axes)      kiln__mean(a, axes, &out, &err)
#define CALL_LOGSUMEXP(a, axes) kiln__logsumexp(a, axes, &out, &err)

KILN_REDUCTION(sum, CALL_SUM)
KILN_REDUCTION(prod, CALL_PROD)
KILN_REDUCTION(min, CALL_MIN)
KILN_REDUCTION(max, CALL_MAX)
KILN_REDUCTION(all, CALL_ALL)
KILN_REDUCTION(any, CALL_ANY)
KILN_REDUCTION(mean, CALL_MEAN)
KILN_REDUCTION(logsumexp, CALL_LOGSUMEXP)

/* var and std have one parameter more. */
#define KILN_VARIANCE(name)                                                                                            \
    int mlx_##name(mlx_array *res, const mlx_array a, bool keepdims, int ddof, const mlx_stream s)                     \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__##name(kiln__unwrap(a), ALL_AXES, ddof, &out, &err));                            \
    }                                                                                                                  \
    int mlx_##name##_axis(mlx_array *res, const mlx_array a, int axis, bool keepdims, int ddof, const mlx_stream s)    \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__##name(kiln__unwrap(a), ONE_AXIS, ddof, &out, &err));                            \
    }                                                                                                                  \
    int mlx_##name##_axes(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, bool keepdims,          \
                          int ddof, const mlx_stream s)                                                                \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        if (axes_num) KILN_NEED_POINTER(axes);                                                                         \
        KILN_RETURN_RESULT(res, kiln__##name(kiln__unwrap(a), SEVERAL_AXES, ddof, &out, &err));                        \
    }

KILN_VARIANCE(var)
KILN_VARIANCE(std)

/* ---- softmax: `precise` asks for what is always done ---------------------------------------------------------- */

int mlx_softmax_axes(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, bool precise,
                     const mlx_stream s)
{
    bool keepdims = true;
    (void)precise;
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    if (axes_num) KILN_NEED_POINTER(axes);
    KILN_RETURN_RESULT(res, kiln__softmax(kiln__unwrap(a), SEVERAL_AXES, &out, &err));
}

int mlx_softmax_axis(mlx_array *res, const mlx_array a, int axis, bool precise, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    return mlx_softmax_axes(res, a, &axis, 1, precise, s);
}

int mlx_softmax(mlx_array *res, const mlx_array a, bool precise, const mlx_stream s)
{
    bool keepdims = true;
    (void)precise;
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__softmax(kiln__unwrap(a), ALL_AXES, &out, &err));
}

/* ---- argreduce and cumulative results -------------------------------------------------------------------------------
 */

#define KILN_ARGREDUCE(name, ID)                                                                                       \
    int mlx_##name(mlx_array *res, const mlx_array a, bool keepdims, const mlx_stream s)                               \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__argreduce(KILN_OP_##ID, kiln__unwrap(a), keepdims, &out, &err));                 \
    }                                                                                                                  \
    int mlx_##name##_axis(mlx_array *res, const mlx_array a, int axis, bool keepdims, const mlx_stream s)              \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__argreduce_axis(KILN_OP_##ID, kiln__unwrap(a), axis, keepdims, &out, &err));      \
    }

KILN_ARGREDUCE(argmin, ARGMIN)
KILN_ARGREDUCE(argmax, ARGMAX)

#define KILN_CUMULATIVE(name, ID)                                                                                      \
    int mlx_##name(mlx_array *res, const mlx_array a, int axis, bool reverse, bool inclusive, const mlx_stream s)      \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res,                                                                                        \
                           kiln__cumulative(KILN_OP_##ID, kiln__unwrap(a), axis, reverse, inclusive, &out, &err));     \
    }

KILN_CUMULATIVE(cumsum, CUMSUM)
KILN_CUMULATIVE(cumprod, CUMPROD)
KILN_CUMULATIVE(cummax, CUMMAX)
KILN_CUMULATIVE(cummin, CUMMIN)

int mlx_logcumsumexp(mlx_array *res, const mlx_array a, int axis, bool reverse, bool inclusive, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__logcumsumexp(kiln__unwrap(a), axis, reverse, inclusive, &out, &err));
}

/* ---- medians and counts ---------------------------------------------------------------------------------------- */

int mlx_median(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, bool keepdims, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    if (axes_num) KILN_NEED_POINTER(axes);
    KILN_RETURN_RESULT(res, kiln__median(kiln__unwrap(a), SEVERAL_AXES, &out, &err));
}

int mlx_number_of_elements(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, bool inverted,
                           mlx_dtype dtype, const mlx_stream s)
{
    bool keepdims = false;
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("number_of_elements", dtype);
    if (axes_num) KILN_NEED_POINTER(axes);
    KILN_RETURN_RESULT(
        res, kiln__number_of_elements(kiln__unwrap(a), SEVERAL_AXES, inverted, (enum kiln_dtype)dtype, &out, &err));
}
