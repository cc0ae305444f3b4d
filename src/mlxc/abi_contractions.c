/*
 * abi_contractions.c - the products of whole arrays of ops.h, beyond matmul.
 */
#include "ops/contractions.h"

#include "mlxc/handle.h"

#define KILN_PRODUCT(name)                                                                                             \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_array b, const mlx_stream s)                           \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_ARRAY(b);                                                                                            \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__##name(kiln__unwrap(a), kiln__unwrap(b), &out, &err));                           \
    }

KILN_PRODUCT(outer)
KILN_PRODUCT(inner)
KILN_PRODUCT(kron)

int mlx_tensordot(mlx_array *res, const mlx_array a, const mlx_array b, const int *axes_a, size_t axes_a_num,
                  const int *axes_b, size_t axes_b_num, const mlx_stream s)
{
    struct kiln_axis_pairs pairs = {axes_a, axes_b, axes_a_num, axes_b_num};
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    if (axes_a_num) KILN_NEED_POINTER(axes_a);
    if (axes_b_num) KILN_NEED_POINTER(axes_b);
    KILN_RETURN_RESULT(res, kiln__tensordot(kiln__unwrap(a), kiln__unwrap(b), pairs, &out, &err));
}

int mlx_tensordot_axis(mlx_array *res, const mlx_array a, const mlx_array b, int axis, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__tensordot_last(kiln__unwrap(a), kiln__unwrap(b), axis, &out, &err));
}

int mlx_trace(mlx_array *res, const mlx_array a, int offset, int axis1, int axis2, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("trace", dtype);
    KILN_RETURN_RESULT(res,
                       kiln__diagonal_sum(kiln__unwrap(a), offset, axis1, axis2, (enum kiln_dtype)dtype, &out, &err));
}
