/*
 * abi_creation.c - the functions of ops.h that make arrays from numbers, beyond those in abi_ops.c.
 */
#include "ops/creation.h"

#include "mlxc/handle.h"
#include "ops/compose.h"

int mlx_arange(mlx_array *res, double start, double stop, double step, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("arange", dtype);
    KILN_RETURN_RESULT(res, kiln__arange(start, stop, step, (enum kiln_dtype)dtype, &out, &err));
}

int mlx_linspace(mlx_array *res, double start, double stop, int num, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("linspace", dtype);
    KILN_RETURN_RESULT(res, kiln__linspace(start, stop, num, (enum kiln_dtype)dtype, &out, &err));
}

#define KILN_WINDOW(name, ID)                                                                                          \
    int mlx_##name(mlx_array *res, int M, const mlx_stream s)                                                          \
    {                                                                                                                  \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__window(KILN_##ID, M, &out, &err));                                               \
    }

KILN_WINDOW(bartlett, BARTLETT)
KILN_WINDOW(blackman, BLACKMAN)
KILN_WINDOW(hamming, HAMMING)
KILN_WINDOW(hanning, HANNING)

int mlx_eye(mlx_array *res, int n, int m, int k, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("eye", dtype);
    KILN_RETURN_RESULT(res, kiln__eye("eye", n, m, k, (enum kiln_dtype)dtype, &out, &err));
}

int mlx_identity(mlx_array *res, int n, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("identity", dtype);
    KILN_RETURN_RESULT(res, kiln__eye("identity", n, n, 0, (enum kiln_dtype)dtype, &out, &err));
}

int mlx_tri(mlx_array *res, int n, int m, int k, mlx_dtype type, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("tri", type);
    KILN_RETURN_RESULT(res, kiln__tri(n, m, k, (enum kiln_dtype)type, &out, &err));
}

int mlx_tril(mlx_array *res, const mlx_array x, int k, const mlx_stream s)
{
    KILN_NEED_ARRAY(x);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__tril(kiln__unwrap(x), k, &out, &err));
}

int mlx_triu(mlx_array *res, const mlx_array x, int k, const mlx_stream s)
{
    KILN_NEED_ARRAY(x);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__triu(kiln__unwrap(x), k, &out, &err));
}

int mlx_diag(mlx_array *res, const mlx_array a, int k, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__diag(kiln__unwrap(a), k, &out, &err));
}

int mlx_ones(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("ones", dtype);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__ones(shape, shape_num, (enum kiln_dtype)dtype, &out, &err));
}

int mlx_ones_like(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__ones_like(kiln__unwrap(a), &out, &err));
}

int mlx_zeros_like(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__zeros_like(kiln__unwrap(a), &out, &err));
}

int mlx_full_like(mlx_array *res, const mlx_array a, const mlx_array vals, mlx_dtype dtype, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(vals);
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE_OF("full_like", dtype);
    KILN_RETURN_RESULT(res, kiln__full_like(kiln__unwrap(a), kiln__unwrap(vals), (enum kiln_dtype)dtype, &out, &err));
}
