/*
 * abi_random.c - the functions of random.h that are no rows of abi.tsv: the seed, and those that make several arrays
 * on the way. An empty key takes the next one of the state of the process.
 */
#include "ops/random.h"

#include "mlxc/handle.h"
#include "ops/compose.h"

int mlx_random_seed(uint64_t seed)
{
    kiln__random_seed(seed);
    return 0;
}

int mlx_random_split(mlx_array *res_0, mlx_array *res_1, const mlx_array key, const mlx_stream s)
{
    kiln_error err;
    struct kiln_array *keys = NULL, *parts[2] = {NULL, NULL};
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_ARRAY(key) || KILN_NO_STREAM(s)) return 1;
    kiln_status status = kiln__random_split(kiln__unwrap(key), 2, &keys, &err);
    for (int i = 0; i < 2 && status == KILN_OK; i++) status = kiln__random_split_part(keys, i, &parts[i], &err);
    kiln__array_unref(keys);
    if (status != KILN_OK) {
        kiln__array_unref(parts[0]);
        return KILN_FAIL(&err);
    }
    int code = kiln__give(res_0, parts[0]), second = kiln__give(res_1, parts[1]);
    return code ? code : second;
}

typedef kiln_status placed_samples(struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *loc,
                                   struct kiln_array *scale, struct kiln_array *key, struct kiln_array **out,
                                   kiln_error *err);

/* Numbers that change nothing are left out. */
static kiln_status place_samples(placed_samples *samples, struct kiln_dims shape, mlx_dtype dtype, float loc,
                                 float scale, mlx_array key, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *mean = NULL, *width = NULL;
    kiln_status status = loc != 0 ? kiln__array_scalar(KILN_FLOAT32, &loc, &mean, err) : KILN_OK;
    if (!status && scale != 1) status = kiln__array_scalar(KILN_FLOAT32, &scale, &width, err);
    if (!status) status = samples(shape, (enum kiln_dtype)dtype, mean, width, kiln__unwrap_optional(key), out, err);
    kiln__array_unref(mean);
    kiln__array_unref(width);
    return status;
}

int mlx_random_normal(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, float loc, float scale,
                      const mlx_array key, const mlx_stream s)
{
    struct kiln_dims dims = {shape, shape_num};
    if (KILN_NO_STREAM(s) || KILN_NO_DTYPE("random_normal", dtype) || (shape_num && KILN_NO_POINTER(shape))) return 1;
    KILN_RETURN_RESULT(res, place_samples(kiln__random_normal, dims, dtype, loc, scale, key, &out, &err));
}

int mlx_random_laplace(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, float loc, float scale,
                       const mlx_array key, const mlx_stream s)
{
    struct kiln_dims dims = {shape, shape_num};
    if (KILN_NO_STREAM(s) || KILN_NO_DTYPE("random_laplace", dtype) || (shape_num && KILN_NO_POINTER(shape))) return 1;
    KILN_RETURN_RESULT(res, place_samples(kiln__random_laplace, dims, dtype, loc, scale, key, &out, &err));
}
