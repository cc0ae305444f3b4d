/*
 * multivariate_normal.c - samples of a normal distribution with a covariance: independent ones times the root of the
 * covariance, u * sqrt(s) * vt, of its singular values.
 */
#include <string.h>

#include "ops/expression.h"
#include "ops/linalg/linalg.h"
#include "ops/random.h"
#include "ops/replay.h"

static const char name[] = "multivariate_normal";

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static kiln_status check(const struct kiln_array *mean, const struct kiln_array *cov, enum kiln_dtype dtype,
                         kiln_error *err)
{
    if (!mean || !cov) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (dtype != KILN_FLOAT32)
        return kiln__fail(err, KILN_INVALID, "[%s] dtype must be float32, got %s.", name, kiln__dtypes[dtype].name);
    if (mean->ndim < 1) return kiln__fail(err, KILN_INVALID, "[%s] mean must have at least one dimension.", name);
    if (cov->ndim < 2) return kiln__fail(err, KILN_INVALID, "[%s] cov must have at least two dimensions.", name);
    int size = mean->dims[mean->ndim - 1], rows = cov->dims[cov->ndim - 2], columns = cov->dims[cov->ndim - 1];
    if (rows != columns)
        return kiln__fail(err, KILN_INVALID, "[%s] The last two dimensions of cov must be equal, got %d and %d.", name,
                          rows, columns);
    if (size == columns) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[%s] mean and cov must have compatible shapes: vectors of %d do not fit matrices of %d.", name,
                      size, columns);
}

/* The batch of the samples: `shape`, to which mean and cov are broadcast, or, where it is empty, that of both. */
static kiln_status find_batch(const struct kiln_array *mean, const struct kiln_array *cov, struct kiln_dims shape,
                              int *dims, size_t *ndim, kiln_error *err)
{
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    kiln_status status =
        kiln__broadcast_shapes(mean->dims, mean->ndim - 1u, cov->dims, cov->ndim - 2u, dims, ndim, NULL);
    bool fits = !status;
    if (fits && shape.ndim) {
        int all[KILN_MAX_NDIM];
        size_t all_ndim = 0;
        fits = shape.ndim < KILN_MAX_NDIM &&
               !kiln__broadcast_shapes(dims, *ndim, shape.dims, shape.ndim, all, &all_ndim, NULL) &&
               all_ndim == shape.ndim && memcmp(all, shape.dims, all_ndim * sizeof *all) == 0;
        if (fits) memcpy(dims, all, all_ndim * sizeof *all), *ndim = all_ndim;
    }
    if (fits && *ndim < KILN_MAX_NDIM - 1) return KILN_OK;
    return kiln__fail(
        err, KILN_INVALID,
        "[%s] A mean of shape %s and a cov of shape %s cannot be broadcast to the shape of %zu dimensions "
        "asked for.",
        name, kiln__shape_text(mean->dims, mean->ndim, left), kiln__shape_text(cov->dims, cov->ndim, right),
        shape.ndim);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static struct kiln_array *expand(struct kiln_expression *e, struct kiln_array *a, int axis)
{
    struct kiln_array *out = NULL;
    if (e->status || !a) return NULL;
    kiln_status status = kiln__expand_dims(a, axis, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static struct kiln_array *root_of(struct kiln_expression *e, struct kiln_array *cov)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_U, KILN_FACTOR_SINGULAR, KILN_FACTOR_VT};
    struct kiln_array *factors[3] = {NULL};
    if (!cov) return NULL;
    kiln_status status =
        kiln__factorize(cov, (struct kiln_factoring){.with_vectors = true}, wanted, 3, factors, e->err);
    for (int i = 0; i < 3; i++) factors[i] = kiln__e_hold(e, status, factors[i]);
    struct kiln_array *roots = expand(e, kiln__e_unary(e, KILN_OP_SQRT, factors[1]), -2);
    return kiln__e_matmul(e, kiln__e_binary(e, KILN_OP_MULTIPLY, factors[0], roots), factors[2]);
}

static struct kiln_array *draw(struct kiln_expression *e, struct kiln_dims shape, struct kiln_array *key)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    kiln_status status = kiln__random_normal(shape, KILN_FLOAT32, NULL, NULL, key, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static kiln_status record_samples(struct kiln_array *mean, struct kiln_array *cov, struct kiln_dims shape,
                                  struct kiln_array *key, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_MULTIVARIATE_NORMAL);
    kiln__record_array(&record, mean);
    kiln__record_array(&record, cov);
    kiln__record_numbers(&record, shape.dims, shape.ndim);
    return kiln__record_end_random(&record, key, out, err);
}

kiln_status kiln__replay_multivariate_normal(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_RECORD_NUMBERS];
    struct kiln_array *mean = kiln__recorded_array(record), *cov = kiln__recorded_array(record);
    struct kiln_dims shape = {dims, kiln__recorded_numbers(record, dims)};
    return kiln__random_multivariate_normal(mean, cov, shape, KILN_FLOAT32, kiln__recorded_array(record), out, err);
}

kiln_status kiln__random_multivariate_normal(struct kiln_array *mean, struct kiln_array *cov, struct kiln_dims shape,
                                             enum kiln_dtype dtype, struct kiln_array *key, struct kiln_array **out,
                                             kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    kiln_status status = check(mean, cov, dtype, err);
    if (!status && (kiln__is_recorded(mean) || kiln__is_recorded(cov)))
        return record_samples(mean, cov, shape, key, out, err);
    if (!status) status = find_batch(mean, cov, shape, dims, &ndim, err);
    if (status) return status;
    dims[ndim] = mean->dims[mean->ndim - 1];
    struct kiln_array *samples = expand(&e, draw(&e, (struct kiln_dims){dims, ndim + 1}, key), -2);
    struct kiln_array *spread = kiln__e_matmul(&e, samples, root_of(&e, kiln__e_astype(&e, cov, KILN_FLOAT32)));
    spread = kiln__e_reshape(&e, spread, dims, ndim + 1);
    return kiln__e_end(&e, kiln__e_binary(&e, KILN_OP_ADD, kiln__e_astype(&e, mean, KILN_FLOAT32), spread), out);
}
