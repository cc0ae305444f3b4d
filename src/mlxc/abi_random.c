/*
 * abi_random.c - random.h of the ABI. An empty key takes the next one of the process-wide sequence.
 */
#include "ops/random.h"

#include "mlxc/handle.h"
#include "ops/compose.h"

#define SHAPE ((struct kiln_dims){shape, shape_num})
#define KEY   kiln__unwrap_optional(key)

/* Leaves the function with 1 when `dtype` is none. */
#define KILN_NEED_DTYPE(dtype)                                                                                         \
    do {                                                                                                               \
        if (!kiln__dtype_is_valid((int)(dtype))) return KILN_FAIL_TEXT("the dtype is not one of mlx_dtype (0 to 13)"); \
    } while (0)

int mlx_random_seed(uint64_t seed)
{
    kiln__random_seed(seed);
    return 0;
}

int mlx_random_key(mlx_array *res, uint64_t seed)
{
    KILN_RETURN_RESULT(res, kiln__random_key(seed, &out, &err));
}

int mlx_random_split_num(mlx_array *res, const mlx_array key, int num, const mlx_stream s)
{
    KILN_NEED_ARRAY(key);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__random_split(kiln__unwrap(key), num, &out, &err));
}

int mlx_random_split(mlx_array *res_0, mlx_array *res_1, const mlx_array key, const mlx_stream s)
{
    kiln_error err;
    struct kiln_array *keys = NULL, *parts[2] = {NULL, NULL};
    KILN_NEED_POINTER(res_0);
    KILN_NEED_POINTER(res_1);
    KILN_NEED_ARRAY(key);
    KILN_NEED_STREAM(s);
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

int mlx_random_bits(mlx_array *res, const int *shape, size_t shape_num, int width, const mlx_array key,
                    const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__random_words(SHAPE, width, KEY, &out, &err));
}

int mlx_random_bernoulli(mlx_array *res, const mlx_array p, const int *shape, size_t shape_num, const mlx_array key,
                         const mlx_stream s)
{
    KILN_NEED_ARRAY(p);
    KILN_NEED_STREAM(s);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__random_bernoulli(kiln__unwrap(p), shape, shape_num, KEY, &out, &err));
}

#define KILN_RANGE(name)                                                                                               \
    int mlx_random_##name(mlx_array *res, const mlx_array low, const mlx_array high, const int *shape,                 \
                          size_t shape_num, mlx_dtype dtype, const mlx_array key, const mlx_stream s)                  \
    {                                                                                                                  \
        KILN_NEED_ARRAY(low);                                                                                          \
        KILN_NEED_ARRAY(high);                                                                                         \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_NEED_DTYPE(dtype);                                                                                        \
        if (shape_num) KILN_NEED_POINTER(shape);                                                                       \
        KILN_RETURN_RESULT(res, kiln__random_##name(kiln__unwrap(low), kiln__unwrap(high), SHAPE,                      \
                                                    (enum kiln_dtype)dtype, KEY, &out, &err));                         \
    }

KILN_RANGE(uniform)
KILN_RANGE(randint)

int mlx_random_normal_broadcast(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype,
                                const mlx_array loc, const mlx_array scale, const mlx_array key, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE(dtype);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__random_normal(SHAPE, (enum kiln_dtype)dtype, kiln__unwrap_optional(loc),
                                                kiln__unwrap_optional(scale), KEY, &out, &err));
}

int mlx_random_normal(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, float loc, float scale,
                      const mlx_array key, const mlx_stream s)
{
    kiln_error err;
    struct kiln_array *mean = NULL, *width = NULL, *out = NULL;
    KILN_NEED_POINTER(res);
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE(dtype);
    if (shape_num) KILN_NEED_POINTER(shape);
    kiln_status status = loc != 0 ? kiln__array_scalar(KILN_FLOAT32, &loc, &mean, &err) : KILN_OK;
    if (status == KILN_OK && scale != 1) status = kiln__array_scalar(KILN_FLOAT32, &scale, &width, &err);
    if (status == KILN_OK) status = kiln__random_normal(SHAPE, (enum kiln_dtype)dtype, mean, width, KEY, &out, &err);
    kiln__array_unref(mean);
    kiln__array_unref(width);
    KILN_TRY(status);
    return kiln__give(res, out);
}

int mlx_random_gumbel(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, const mlx_array key,
                      const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_NEED_DTYPE(dtype);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__random_gumbel(SHAPE, (enum kiln_dtype)dtype, KEY, &out, &err));
}

int mlx_random_categorical(mlx_array *res, const mlx_array logits, int axis, const mlx_array key, const mlx_stream s)
{
    KILN_NEED_ARRAY(logits);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__random_categorical(kiln__unwrap(logits), axis, KEY, &out, &err));
}

int mlx_random_categorical_shape(mlx_array *res, const mlx_array logits, int axis, const int *shape, size_t shape_num,
                                 const mlx_array key, const mlx_stream s)
{
    KILN_NEED_ARRAY(logits);
    KILN_NEED_STREAM(s);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(res, kiln__random_categorical_shape(kiln__unwrap(logits), axis, SHAPE, KEY, &out, &err));
}

int mlx_random_categorical_num_samples(mlx_array *res, const mlx_array logits_, int axis, int num_samples,
                                       const mlx_array key, const mlx_stream s)
{
    KILN_NEED_ARRAY(logits_);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res,
                       kiln__random_categorical_samples(kiln__unwrap(logits_), axis, num_samples, KEY, &out, &err));
}

int mlx_random_permutation_arange(mlx_array *res, int x, const mlx_array key, const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__random_order(x, KEY, &out, &err));
}

int mlx_random_permutation(mlx_array *res, const mlx_array x, int axis, const mlx_array key, const mlx_stream s)
{
    KILN_NEED_ARRAY(x);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__random_permutation(kiln__unwrap(x), axis, KEY, &out, &err));
}
