/*
 * abi_linalg.c - the functions of linalg.h that have several results, and norms, whose axes may be left out.
 */
#include "mlxc/abi_vector.h"
#include "ops/linalg/linalg.h"

/* ---- two results ------------------------------------------------------------------------------------------------- */

/* Two results of one factorization. */
static int give_pair(mlx_array *res_0, mlx_array *res_1, mlx_array a, struct kiln_factoring how,
                     const enum kiln_factor wanted[2])
{
    kiln_error err;
    struct kiln_array *out[2];
    if (kiln__factorize(kiln__unwrap(a), how, wanted, 2, out, &err)) return KILN_FAIL(&err);
    if (!kiln__give(res_0, out[0])) return kiln__give(res_1, out[1]);
    kiln__array_unref(out[1]);
    return 1;
}

int mlx_linalg_qr(mlx_array *res_0, mlx_array *res_1, const mlx_array a, const mlx_stream s)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_Q, KILN_FACTOR_R};
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1)) return 1;
    return give_pair(res_0, res_1, a, (struct kiln_factoring){0}, wanted);
}

int mlx_linalg_lu_factor(mlx_array *res_0, mlx_array *res_1, const mlx_array a, const mlx_stream s)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_LU, KILN_FACTOR_PIVOTS};
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1)) return 1;
    return give_pair(res_0, res_1, a, (struct kiln_factoring){0}, wanted);
}

int mlx_linalg_eig(mlx_array *res_0, mlx_array *res_1, const mlx_array a, const mlx_stream s)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_VALUES, KILN_FACTOR_VECTORS};
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1)) return 1;
    return give_pair(res_0, res_1, a, (struct kiln_factoring){.with_vectors = true}, wanted);
}

int mlx_linalg_eigh(mlx_array *res_0, mlx_array *res_1, const mlx_array a, const char *UPLO, const mlx_stream s)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_REAL_VALUES, KILN_FACTOR_REAL_VECTORS};
    struct kiln_factoring how = {.with_vectors = true};
    kiln_error err;
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1)) return 1;
    if (KILN_NO_POINTER(UPLO)) return 1;
    if (kiln__parse_triangle("eigh", UPLO, &how.upper, &err)) return KILN_FAIL(&err);
    return give_pair(res_0, res_1, a, how, wanted);
}

int mlx_linalg_eigvalsh(mlx_array *res, const mlx_array a, const char *UPLO, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(UPLO)) return 1;
    KILN_RETURN_RESULT(res, kiln__eigvalsh(kiln__unwrap(a), UPLO, &out, &err));
}

/* ---- vectors of results ------------------------------------------------------------------------------------------ */

static int give_vector(mlx_vector_array *res, mlx_array a, struct kiln_factoring how, const enum kiln_factor *wanted,
                       size_t count)
{
    kiln_error err;
    struct kiln_array *out[KILN_FACTORS];
    if (kiln__factorize(kiln__unwrap(a), how, wanted, count, out, &err)) return KILN_FAIL(&err);
    return kiln__give_arrays(res, out, count);
}

int mlx_linalg_lu(mlx_vector_array *res, const mlx_array a, const mlx_stream s)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_PERMUTATION, KILN_FACTOR_LOWER, KILN_FACTOR_UPPER};
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res)) return 1;
    return give_vector(res, a, (struct kiln_factoring){0}, wanted, 3);
}

int mlx_linalg_svd(mlx_vector_array *res, const mlx_array a, bool compute_uv, const mlx_stream s)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_U, KILN_FACTOR_SINGULAR, KILN_FACTOR_VT};
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res)) return 1;
    struct kiln_factoring how = {.with_vectors = compute_uv};
    return compute_uv ? give_vector(res, a, how, wanted, 3) : give_vector(res, a, how, &wanted[1], 1);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

static struct kiln_axes axes_of(const int *axis, size_t axis_num, bool keepdims)
{
    return (struct kiln_axes){axis, axis ? axis_num : KILN_ALL_AXES, keepdims};
}

int mlx_linalg_norm(mlx_array *res, const mlx_array a, double ord, const int *axis, size_t axis_num, bool keepdims,
                    const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;
    KILN_RETURN_RESULT(res, kiln__norm(kiln__unwrap(a), ord, axes_of(axis, axis_num, keepdims), &out, &err));
}

int mlx_linalg_norm_matrix(mlx_array *res, const mlx_array a, const char *ord, const int *axis, size_t axis_num,
                           bool keepdims, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(ord)) return 1;
    KILN_RETURN_RESULT(res, kiln__norm_matrix(kiln__unwrap(a), ord, axes_of(axis, axis_num, keepdims), &out, &err));
}

int mlx_linalg_norm_l2(mlx_array *res, const mlx_array a, const int *axis, size_t axis_num, bool keepdims,
                       const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;
    KILN_RETURN_RESULT(res, kiln__norm_l2(kiln__unwrap(a), axes_of(axis, axis_num, keepdims), &out, &err));
}
