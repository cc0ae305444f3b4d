/*
 * abi_sorting.c - the functions of ops.h that sort. Without an axis: of all elements in a row.
 */
#include "mlxc/handle.h"
#include "ops/sorting.h"

#define KILN_SORT(name, ID)                                                                                            \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_stream s)                                              \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__sort(KILN_OP_##ID, kiln__unwrap(a), NULL, &out, &err));                          \
    }                                                                                                                  \
    int mlx_##name##_axis(mlx_array *res, const mlx_array a, int axis, const mlx_stream s)                             \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__sort(KILN_OP_##ID, kiln__unwrap(a), &axis, &out, &err));                         \
    }

KILN_SORT(sort, SORT)
KILN_SORT(argsort, ARGSORT)

/* With a number in front of the axis; CALL(axis) makes it. */
#define KILN_PARTITION(name, number, CALL)                                                                             \
    int mlx_##name(mlx_array *res, const mlx_array a, int number, const mlx_stream s)                                  \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, CALL(NULL));                                                                           \
    }                                                                                                                  \
    int mlx_##name##_axis(mlx_array *res, const mlx_array a, int number, int axis, const mlx_stream s)                 \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, CALL(&axis));                                                                          \
    }

#define CALL_PARTITION(axis)    kiln__partition(KILN_OP_SORT, kiln__unwrap(a), kth, axis, &out, &err)
#define CALL_ARGPARTITION(axis) kiln__partition(KILN_OP_ARGSORT, kiln__unwrap(a), kth, axis, &out, &err)
#define CALL_TOPK(axis)         kiln__topk(kiln__unwrap(a), k, axis, &out, &err)

KILN_PARTITION(partition, kth, CALL_PARTITION)
KILN_PARTITION(argpartition, kth, CALL_ARGPARTITION)
KILN_PARTITION(topk, k, CALL_TOPK)
