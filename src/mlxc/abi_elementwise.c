/*
 * abi_elementwise.c - the element-wise functions of ops.h that take more than arrays, or are made of several
 * operations.
 */
#include "ops/elementwise.h"

#include "mlxc/abi_vector.h"

int mlx_round(mlx_array *res, const mlx_array a, int decimals, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__round(kiln__unwrap(a), decimals, &out, &err));
}

int mlx_clip(mlx_array *res, const mlx_array a, const mlx_array a_min, const mlx_array a_max, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(
        res, kiln__clip(kiln__unwrap(a), kiln__unwrap_optional(a_min), kiln__unwrap_optional(a_max), &out, &err));
}

int mlx_nan_to_num(mlx_array *res, const mlx_array a, float nan, mlx_optional_float posinf, mlx_optional_float neginf,
                   const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    const float *high = posinf.has_value ? &posinf.value : NULL, *low = neginf.has_value ? &neginf.value : NULL;
    KILN_RETURN_RESULT(res, kiln__nan_to_num(kiln__unwrap(a), nan, high, low, &out, &err));
}

int mlx_isclose(mlx_array *res, const mlx_array a, const mlx_array b, double rtol, double atol, bool equal_nan,
                const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    struct kiln_tolerance tolerance = {rtol, atol, equal_nan};
    KILN_RETURN_RESULT(res, kiln__isclose(kiln__unwrap(a), kiln__unwrap(b), tolerance, &out, &err));
}

int mlx_allclose(mlx_array *res, const mlx_array a, const mlx_array b, double rtol, double atol, bool equal_nan,
                 const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    struct kiln_tolerance tolerance = {rtol, atol, equal_nan};
    KILN_RETURN_RESULT(res, kiln__allclose(kiln__unwrap(a), kiln__unwrap(b), tolerance, &out, &err));
}

int mlx_array_equal(mlx_array *res, const mlx_array a, const mlx_array b, bool equal_nan, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__array_equal(kiln__unwrap(a), kiln__unwrap(b), equal_nan, &out, &err));
}

/* Quotient and remainder. */
int mlx_divmod(mlx_vector_array *res, const mlx_array a, const mlx_array b, const mlx_stream s)
{
    kiln_error err;
    struct kiln_array *both[2] = {NULL, NULL};
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    KILN_NEED_POINTER(res);
    KILN_TRY(kiln__divmod(kiln__unwrap(a), kiln__unwrap(b), both, &err));
    return kiln__give_arrays(res, both, 2);
}

/* Nothing to stop: gradients are no part of this library. */
int mlx_stop_gradient(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_STREAM(s);
    KILN_NEED_POINTER(res);
    return kiln__give(res, kiln__array_ref(kiln__unwrap(a)));
}
