/*
 * random.c - see random.h. Samples are computed in float32 and rounded to other dtypes.
 */
#include "ops/random.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "ops/indexing.h"
#include "ops/reductions.h"
#include "ops/replay.h"

static struct kiln_array *words(struct kiln_expression *e, struct kiln_dims shape, struct kiln_array *key)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    kiln_status status = kiln__random_bits(shape.dims, shape.ndim, key, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static kiln_status check_shape(const char *name, struct kiln_dims shape, enum kiln_dtype dtype, int64_t *size,
                               kiln_error *err)
{
    kiln_error plain;
    kiln_status status = kiln__shape_check(shape.dims, shape.ndim, dtype, size, &plain);
    return status ? kiln__fail(err, status, "[%s] %.900s", name, plain.text) : KILN_OK;
}

/* The low bytes of each word come first. */
kiln_status kiln__random_words(struct kiln_dims shape, int width, struct kiln_array *key, struct kiln_array **out,
                               kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int64_t size = 0;
    if (width != 1 && width != 2 && width != 4)
        return kiln__fail(err, KILN_INVALID, "[bits] width is %d bytes; expected 1, 2 or 4.", width);
    kiln_status status = check_shape("bits", shape, KILN_UINT32, &size, err);
    if (status) return status;
    if (width == 4) return kiln__e_end(&e, words(&e, shape, key), out);
    if (size > INT_MAX - 4) return kiln__fail(err, KILN_INVALID, "[bits] %lld numbers are too many.", (long long)size);
    static const uint32_t shifts[2][4] = {{0, 8, 16, 24}, {0, 16}};
    int parts = 4 / width, count = (int)((size + parts - 1) / parts);
    struct kiln_array *all = kiln__e_reshape(&e, words(&e, (struct kiln_dims){&count, 1}, key), (int[]){count, 1}, 2);
    struct kiln_array *by = kiln__e_data(&e, shifts[width - 1], KILN_UINT32, (int[]){1, parts}, 2);
    struct kiln_array *flat =
        kiln__e_reshape(&e, kiln__e_binary(&e, KILN_OP_RIGHT_SHIFT, all, by), (int[]){count * parts}, 1);
    flat = kiln__e_astype(&e, kiln__e_cut(&e, flat, 0, 0, (int)size, 1), width == 1 ? KILN_UINT8 : KILN_UINT16);
    return kiln__e_end(&e, kiln__e_reshape(&e, flat, shape.dims, shape.ndim), out);
}

kiln_status kiln__random_split(struct kiln_array *key, int count, struct kiln_array **out, kiln_error *err)
{
    if (!key) return kiln__fail(err, KILN_INVALID, "[split] key is empty.");
    if (count < 0) return kiln__fail(err, KILN_INVALID, "[split] num is %d; expected at least 0.", count);
    return kiln__random_bits((int[]){count, 2}, 2, key, out, err);
}

kiln_status kiln__random_split_part(struct kiln_array *keys, int index, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    struct kiln_array *part = kiln__e_cut(&e, keys, 0, index, index + 1, 1);
    return kiln__e_end(&e, kiln__e_reshape(&e, part, (int[]){2}, 1), out);
}

/* ---- uniform ------------------------------------------------------------------------------------------------------
 */

static kiln_status check_float(const char *name, enum kiln_dtype dtype, kiln_error *err)
{
    if (kiln__dtype_is_float(dtype) && dtype != KILN_FLOAT64) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] Expected float32, float16 or bfloat16, got %s.", name,
                      kiln__dtypes[dtype].name);
}

static kiln_status check_broadcast(const char *name, const struct kiln_array *a, struct kiln_dims shape,
                                   kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    size_t ndim;
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (shape.ndim <= KILN_MAX_NDIM &&
        !kiln__broadcast_shapes(a->dims, a->ndim, shape.dims, shape.ndim, dims, &ndim, NULL) && ndim == shape.ndim &&
        (ndim == 0 || memcmp(dims, shape.dims, ndim * sizeof *dims) == 0))
        return KILN_OK;
    char from[KILN_SHAPE_TEXT];
    return kiln__fail(err, KILN_INVALID, "[%s] Shape %s cannot be broadcast to the shape of %zu dimensions asked for.",
                      name, kiln__shape_text(a->dims, a->ndim, from), shape.ndim);
}

/* In [0, 1): words over 2^32, kept below 1 in `dtype`. float32 */
static struct kiln_array *unit(struct kiln_expression *e, struct kiln_dims shape, enum kiln_dtype dtype,
                               struct kiln_array *key)
{
    float below_one = dtype == KILN_BFLOAT16 ? 1 - 0x1p-8f : dtype == KILN_FLOAT16 ? 1 - 0x1p-11f : 1 - 0x1p-24f;
    struct kiln_array *numbers = kiln__e_astype(e, words(e, shape, key), KILN_FLOAT32);
    struct kiln_array *part = kiln__e_binary(e, KILN_OP_DIVIDE, numbers, kiln__e_number(e, 0x1p32, KILN_FLOAT32));
    return kiln__e_binary(e, KILN_OP_MINIMUM, part, kiln__e_number(e, below_one, KILN_FLOAT32));
}

static struct kiln_array *uniform(struct kiln_expression *e, struct kiln_array *low, struct kiln_array *high,
                                  struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *key)
{
    struct kiln_array *from = kiln__e_astype(e, low, dtype);
    struct kiln_array *range = kiln__e_binary(e, KILN_OP_SUBTRACT, kiln__e_astype(e, high, dtype), from);
    struct kiln_array *part = kiln__e_astype(e, unit(e, shape, dtype, key), dtype);
    return kiln__e_binary(e, KILN_OP_ADD, kiln__e_binary(e, KILN_OP_MULTIPLY, range, part), from);
}

kiln_status kiln__random_uniform(struct kiln_array *low, struct kiln_array *high, struct kiln_dims shape,
                                 enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                 kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_float("uniform", dtype, err);
    if (!status) status = check_broadcast("uniform", low, shape, err);
    if (!status) status = check_broadcast("uniform", high, shape, err);
    return status ? status : kiln__e_end(&e, uniform(&e, low, high, shape, dtype, key), out);
}

kiln_status kiln__random_randint(struct kiln_array *low, struct kiln_array *high, struct kiln_dims shape,
                                 enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                 kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_broadcast("randint", low, shape, err);
    if (!status) status = check_broadcast("randint", high, shape, err);
    if (status) return status;
    if (kiln__dtypes[dtype].kind >= KILN_KIND_FLOAT)
        return kiln__fail(err, KILN_INVALID, "[randint] Expected an integer type, got %s.", kiln__dtypes[dtype].name);
    struct kiln_array *whole = kiln__e_unary(&e, KILN_OP_FLOOR, uniform(&e, low, high, shape, KILN_FLOAT32, key));
    whole = kiln__e_binary(&e, KILN_OP_MAXIMUM, whole, kiln__e_astype(&e, low, KILN_FLOAT32));
    return kiln__e_end(&e, kiln__e_astype(&e, whole, dtype), out);
}

/* ---- made of uniform numbers ----------------------------------------------------------------------------------------
 */

/* In (-1, 1). float32 */
static struct kiln_array *symmetric(struct kiln_expression *e, struct kiln_dims shape, struct kiln_array *key)
{
    struct kiln_array *low = kiln__e_number(e, (double)nextafterf(-1, 0), KILN_FLOAT32);
    return uniform(e, low, kiln__e_number(e, 1, KILN_FLOAT32), shape, KILN_FLOAT32, key);
}

/* erfinv(x), x in (-1, 1): sqrt(2) times that is the inverse of the distribution function. x has the bits of a float32.
 */
static struct kiln_array *half_normal(struct kiln_expression *e, struct kiln_dims shape, enum kiln_dtype dtype,
                                      struct kiln_array *key)
{
    return kiln__e_unary(e, KILN_OP_ERFINV, kiln__e_astype(e, symmetric(e, shape, key), dtype));
}

/* Pairs along a new last axis become the parts. Each has half of the variance, so that sqrt(2) has no place here. */
static struct kiln_array *complex_normal(struct kiln_expression *e, struct kiln_dims shape, struct kiln_array *key)
{
    int dims[KILN_MAX_NDIM];
    if (shape.ndim >= KILN_MAX_NDIM) {
        e->status = kiln__fail(e->err, KILN_INVALID, "[normal] complex64 takes at most %d dimensions, got %zu.",
                               KILN_MAX_NDIM - 1, shape.ndim);
        return NULL;
    }
    if (shape.ndim) memcpy(dims, shape.dims, shape.ndim * sizeof *dims);
    dims[shape.ndim] = 2;
    struct kiln_array *pairs = half_normal(e, (struct kiln_dims){dims, shape.ndim + 1}, KILN_FLOAT32, key), *parts[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = kiln__e_cut(e, pairs, (int)shape.ndim, i, i + 1, 1);
        parts[i] = kiln__e_reshape(e, parts[i], shape.dims, shape.ndim);
    }
    return kiln__e_complex(e, parts[0], parts[1]);
}

static kiln_status check_sampled(struct kiln_dims shape, enum kiln_dtype dtype, kiln_error *err)
{
    int64_t size = 0;
    if (kiln__dtypes[dtype].kind < KILN_KIND_FLOAT)
        return kiln__fail(err, KILN_INVALID, "[normal] Expected a float or complex64, got %s.",
                          kiln__dtypes[dtype].name);
    return check_shape("normal", shape, dtype, &size, err);
}

/* In float32, or in the dtype if that holds more. loc and scale broadcast with the samples. */
kiln_status kiln__random_normal(struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *loc,
                                struct kiln_array *scale, struct kiln_array *key, struct kiln_array **out,
                                kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_sampled(shape, dtype, err);
    if (status) return status;
    enum kiln_dtype wide = kiln__dtype_promote(dtype, KILN_FLOAT32);
    struct kiln_array *x = dtype == KILN_COMPLEX64
                               ? complex_normal(&e, shape, key)
                               : kiln__e_binary(&e, KILN_OP_MULTIPLY, half_normal(&e, shape, wide, key),
                                                kiln__e_number(&e, sqrt(2), wide));
    if (scale) x = kiln__e_binary(&e, KILN_OP_MULTIPLY, x, kiln__e_astype(&e, scale, wide));
    if (loc) x = kiln__e_binary(&e, KILN_OP_ADD, x, kiln__e_astype(&e, loc, wide));
    status = kiln__e_end(&e, kiln__e_astype(&e, x, dtype), out);
    return status ? kiln__fail_as(err, status, "normal") : status;
}

/* The inverse of the distribution function: sign(x) * log1p(-|x|), x in (-1, 1). */
kiln_status kiln__random_laplace(struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *loc,
                                 struct kiln_array *scale, struct kiln_array *key, struct kiln_array **out,
                                 kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_float("laplace", dtype, err);
    if (!status && loc) status = check_broadcast("laplace", loc, shape, err);
    if (!status && scale) status = check_broadcast("laplace", scale, shape, err);
    if (status) return status;
    struct kiln_array *x = symmetric(&e, shape, key);
    struct kiln_array *size = kiln__e_unary(&e, KILN_OP_NEGATIVE, kiln__e_unary(&e, KILN_OP_ABS, x));
    x = kiln__e_binary(&e, KILN_OP_MULTIPLY, kiln__e_unary(&e, KILN_OP_SIGN, x),
                       kiln__e_unary(&e, KILN_OP_LOG1P, size));
    if (scale) x = kiln__e_binary(&e, KILN_OP_MULTIPLY, x, kiln__e_astype(&e, scale, KILN_FLOAT32));
    if (loc) x = kiln__e_binary(&e, KILN_OP_ADD, x, kiln__e_astype(&e, loc, KILN_FLOAT32));
    return kiln__e_end(&e, kiln__e_astype(&e, x, dtype), out);
}

/* The distribution function at a bound: erf(x / sqrt(2)). */
static struct kiln_array *share_below(struct kiln_expression *e, struct kiln_array *bound)
{
    struct kiln_array *x = kiln__e_binary(e, KILN_OP_DIVIDE, bound, kiln__e_number(e, sqrt(2), KILN_FLOAT32));
    return kiln__e_unary(e, KILN_OP_ERF, x);
}

/* The inverse of the distribution function, of numbers between its values at the bounds. */
kiln_status kiln__random_truncated_normal(struct kiln_array *lower, struct kiln_array *upper, struct kiln_dims shape,
                                          enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                          kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_float("truncated_normal", dtype, err);
    if (!status) status = check_broadcast("truncated_normal", lower, shape, err);
    if (!status) status = check_broadcast("truncated_normal", upper, shape, err);
    if (status) return status;
    lower = kiln__e_astype(&e, kiln__e_astype(&e, lower, dtype), KILN_FLOAT32);
    upper = kiln__e_astype(&e, kiln__e_astype(&e, upper, dtype), KILN_FLOAT32);
    struct kiln_array *x = uniform(&e, share_below(&e, lower), share_below(&e, upper), shape, KILN_FLOAT32, key);
    x = kiln__e_binary(&e, KILN_OP_MULTIPLY, kiln__e_number(&e, sqrt(2), KILN_FLOAT32),
                       kiln__e_unary(&e, KILN_OP_ERFINV, x));
    x = kiln__e_binary(&e, KILN_OP_MAXIMUM, kiln__e_binary(&e, KILN_OP_MINIMUM, upper, x), lower);
    return kiln__e_end(&e, kiln__e_astype(&e, x, dtype), out);
}

/* -log(-log(x)) */
static struct kiln_array *gumbel(struct kiln_expression *e, struct kiln_dims shape, struct kiln_array *key)
{
    struct kiln_array *x = unit(e, shape, KILN_FLOAT32, key);
    for (int i = 0; i < 2; i++) x = kiln__e_unary(e, KILN_OP_NEGATIVE, kiln__e_unary(e, KILN_OP_LOG, x));
    return x;
}

kiln_status kiln__random_gumbel(struct kiln_dims shape, enum kiln_dtype dtype, struct kiln_array *key,
                                struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_float("gumbel", dtype, err);
    return status ? status : kiln__e_end(&e, kiln__e_astype(&e, gumbel(&e, shape, key), dtype), out);
}

/* Gumbel-max: the position of the largest sum of a logit and Gumbel noise. */
static struct kiln_array *pick(struct kiln_expression *e, struct kiln_array *logits, int axis, struct kiln_dims shape,
                               struct kiln_array *key)
{
    struct kiln_array *sum =
        kiln__e_binary(e, KILN_OP_ADD, kiln__e_astype(e, logits, KILN_FLOAT32), gumbel(e, shape, key));
    return kiln__e_apply(e, KILN_OP_ARGMAX, &sum, 1, (int64_t[]){axis, 0}, 2);
}

static kiln_status check_logits(const struct kiln_array *logits, int axis, int *plain, kiln_error *err)
{
    if (!logits) return kiln__fail(err, KILN_INVALID, "[categorical] logits is empty.");
    if (logits->dtype == KILN_COMPLEX64)
        return kiln__fail(err, KILN_INVALID, "[categorical] complex64 is not supported: expected a real type.");
    return kiln__plain_axis("categorical", axis, logits->ndim, plain, err);
}

/* A record about one array, an axis and numbers. */
static kiln_status record_axis(enum kiln_deferred op, struct kiln_array *a, int axis, struct kiln_dims numbers,
                               struct kiln_array *key, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(op);
    kiln__record_array(&record, a);
    kiln__record_number(&record, axis);
    kiln__record_numbers(&record, numbers.dims, numbers.ndim);
    return kiln__record_end_random(&record, key, out, err);
}

struct recorded_axis {
    struct kiln_array *a, *key;
    int axis, numbers[KILN_RECORD_NUMBERS];
    size_t count;
};

static struct recorded_axis read_axis(struct kiln_record *record)
{
    struct recorded_axis recorded;
    recorded.a = kiln__recorded_array(record);
    recorded.axis = (int)kiln__recorded_number(record);
    recorded.count = kiln__recorded_numbers(record, recorded.numbers);
    recorded.key = kiln__recorded_array(record);
    return recorded;
}

kiln_status kiln__replay_categorical(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axis recorded = read_axis(record);
    return kiln__random_categorical(recorded.a, recorded.axis, recorded.key, out, err);
}

kiln_status kiln__replay_categorical_shape(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axis recorded = read_axis(record);
    struct kiln_dims shape = {recorded.numbers, recorded.count};
    return kiln__random_categorical_shape(recorded.a, recorded.axis, shape, recorded.key, out, err);
}

kiln_status kiln__replay_categorical_samples(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axis recorded = read_axis(record);
    return kiln__random_categorical_samples(recorded.a, recorded.axis, recorded.numbers[0], recorded.key, out, err);
}

kiln_status kiln__replay_permutation(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axis recorded = read_axis(record);
    return kiln__random_permutation(recorded.a, recorded.axis, recorded.key, out, err);
}

kiln_status kiln__random_categorical(struct kiln_array *logits, int axis, struct kiln_array *key,
                                     struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int plain = 0;
    if (kiln__is_recorded(logits))
        return record_axis(KILN_DEFERRED_CATEGORICAL, logits, axis, (struct kiln_dims){NULL, 0}, key, out, err);
    kiln_status status = check_logits(logits, axis, &plain, err);
    if (status) return status;
    return kiln__e_end(&e, pick(&e, logits, plain, (struct kiln_dims){logits->dims, logits->ndim}, key), out);
}

kiln_status kiln__random_categorical_shape(struct kiln_array *logits, int axis, struct kiln_dims shape,
                                           struct kiln_array *key, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int plain = 0, rest[KILN_MAX_NDIM], dims[KILN_MAX_NDIM];
    size_t rest_ndim = 0, ndim = 0;
    if (kiln__is_recorded(logits))
        return record_axis(KILN_DEFERRED_CATEGORICAL_SHAPE, logits, axis, shape, key, out, err);
    kiln_status status = check_logits(logits, axis, &plain, err);
    if (status) return status;
    for (int i = 0; i < logits->ndim; i++)
        if (i != plain) rest[rest_ndim++] = logits->dims[i];
    if (shape.ndim >= KILN_MAX_NDIM || shape.ndim < rest_ndim ||
        kiln__broadcast_shapes(rest, rest_ndim, shape.dims, shape.ndim, dims, &ndim, NULL) || ndim != shape.ndim ||
        (ndim && memcmp(dims, shape.dims, ndim * sizeof *dims) != 0)) {
        char text[KILN_SHAPE_TEXT];
        return kiln__fail(err, KILN_INVALID,
                          "[categorical] Shape %s of the logits without axis %d cannot be broadcast to "
                          "the shape asked for.",
                          kiln__shape_text(rest, rest_ndim, text), axis);
    }
    size_t at = (size_t)plain + shape.ndim - rest_ndim;
    for (size_t i = 0; i <= shape.ndim; i++) dims[i] = i == at ? logits->dims[plain] : shape.dims[i - (i > at)];
    return kiln__e_end(&e, pick(&e, logits, (int)at, (struct kiln_dims){dims, shape.ndim + 1}, key), out);
}

kiln_status kiln__random_categorical_samples(struct kiln_array *logits, int axis, int count, struct kiln_array *key,
                                             struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM], plain = 0;
    size_t ndim = 0;
    if (kiln__is_recorded(logits))
        return record_axis(KILN_DEFERRED_CATEGORICAL_SAMPLES, logits, axis, (struct kiln_dims){&count, 1}, key, out,
                           err);
    kiln_status status = check_logits(logits, axis, &plain, err);
    if (status) return status;
    for (int i = 0; i < logits->ndim; i++)
        if (i != plain) dims[ndim++] = logits->dims[i];
    dims[ndim++] = count;
    struct kiln_array *wider = NULL;
    status = kiln__expand_dims(logits, logits->ndim, &wider, err);
    if (!status) status = kiln__random_categorical_shape(wider, plain, (struct kiln_dims){dims, ndim}, key, out, err);
    kiln__array_unref(wider);
    return status;
}

kiln_status kiln__random_permutation(struct kiln_array *a, int axis, struct kiln_array *key, struct kiln_array **out,
                                     kiln_error *err)
{
    struct kiln_array *order = NULL;
    int plain = 0;
    if (!a) return kiln__fail(err, KILN_INVALID, "[permutation] input is empty.");
    if (kiln__is_recorded(a))
        return record_axis(KILN_DEFERRED_PERMUTATION, a, axis, (struct kiln_dims){NULL, 0}, key, out, err);
    kiln_status status = kiln__plain_axis("permutation", axis, a->ndim, &plain, err);
    if (!status) status = kiln__random_order(a->dims[plain], key, &order, err);
    if (!status) status = kiln__take_axis(a, order, plain, out, err);
    kiln__array_unref(order);
    return status;
}

kiln_status kiln__random_order(int count, struct kiln_array *key, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (count < 0) return kiln__fail(err, KILN_INVALID, "[permutation] %d elements can't be put in order.", count);
    struct kiln_array *bits = words(&e, (struct kiln_dims){&count, 1}, key);
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_ARGSORT, &bits, 1, (int64_t[]){0}, 1), out);
}
