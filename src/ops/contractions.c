/*
 * contractions.c - see contractions.h. Every contraction becomes one matrix product: free axes are merged into the rows
 * and columns of the result, contracted axes into the inner dimension.
 */
#include "ops/contractions.h"

#include <limits.h>

#include "ops/reductions.h" /* expressions, kiln__plain_axis */
#include "ops/replay.h"
#include "ops/shapes.h"

static kiln_status record_two(enum kiln_deferred op, struct kiln_array *a, struct kiln_array *b,
                              struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(op);
    kiln__record_array(&record, a);
    kiln__record_array(&record, b);
    return kiln__record_end(&record, out, err);
}

static kiln_status require_both(const char *name, const struct kiln_array *a, const struct kiln_array *b,
                                kiln_error *err)
{
    return a && b ? KILN_OK : kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
}

/* ---- every element with every other ------------------------------------------------------------------------------ */

kiln_status kiln__outer(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = require_both("outer", a, b, err);
    if (status) return status;
    struct kiln_array *column = kiln__e_reshape(&e, a, (int[]){-1, 1}, 2);
    struct kiln_array *row = kiln__e_reshape(&e, b, (int[]){1, -1}, 2);
    status = kiln__e_end(&e, kiln__e_binary(&e, KILN_OP_MULTIPLY, column, row), out);
    return status ? kiln__fail_as(err, status, "outer") : status;
}

/* Axis i as if there were `ndim` of them: 1 for those in front. */
static int dim_at(const struct kiln_array *a, int ndim, int i)
{
    int missing = ndim - a->ndim;
    return i < missing ? 1 : a->dims[i - missing];
}

kiln_status kiln__replay_kron(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    return kiln__kron(a, kiln__recorded_array(record), out, err);
}

kiln_status kiln__kron(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int left[KILN_MAX_NDIM], right[KILN_MAX_NDIM], both[KILN_MAX_NDIM / 2];
    if (kiln__is_recorded(a) || kiln__is_recorded(b)) return record_two(KILN_DEFERRED_KRON, a, b, out, err);
    kiln_status status = require_both("kron", a, b, err);
    if (status) return status;
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    if (ndim > KILN_MAX_NDIM / 2)
        return kiln__fail(err, KILN_INVALID, "[kron] %d dimensions are more than the %d that are supported.", ndim,
                          KILN_MAX_NDIM / 2);
    for (int i = 0; i < ndim; i++) {
        left[2 * i] = dim_at(a, ndim, i), left[2 * i + 1] = 1;
        right[2 * i] = 1, right[2 * i + 1] = dim_at(b, ndim, i);
        if (__builtin_mul_overflow(left[2 * i], right[2 * i + 1], &both[i]))
            return kiln__fail(err, KILN_INVALID,
                              "[kron] Axis %d would have %d times %d elements; up to %d are "
                              "supported.",
                              i, left[2 * i], right[2 * i + 1], INT_MAX);
    }
    struct kiln_array *product = kiln__e_binary(&e, KILN_OP_MULTIPLY, kiln__e_reshape(&e, a, left, 2 * (size_t)ndim),
                                                kiln__e_reshape(&e, b, right, 2 * (size_t)ndim));
    status = kiln__e_end(&e, kiln__e_reshape(&e, product, both, (size_t)ndim), out);
    return status ? kiln__fail_as(err, status, "kron") : status;
}

/* ---- summed over pairs of axes ----------------------------------------------------------------------------------- */

/* One operand, its axes told apart. */
struct operand {
    size_t kept_count, summed_count;
    int64_t kept[KILN_MAX_NDIM], summed[KILN_MAX_NDIM]; /* axes */
    int dims[KILN_MAX_NDIM];                            /* of those that are kept */
    int kept_size, summed_size;
};

static kiln_status merged_size(const struct kiln_array *a, const int64_t *axes, size_t count, int *out, kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    *out = 1;
    for (size_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(*out, a->dims[axes[i]], out))
            return kiln__fail(err, KILN_INVALID,
                              "[tensordot] Axes of shape %s that become one have more than %d elements.",
                              kiln__shape_text(a->dims, a->ndim, text), INT_MAX);
    return KILN_OK;
}

static kiln_status tell_apart(const struct kiln_array *a, const int *axes, size_t count, struct operand *out,
                              kiln_error *err)
{
    uint64_t set = 0;
    out->kept_count = out->summed_count = 0;
    for (size_t i = 0; i < count; i++) {
        int axis = 0;
        kiln_status status = kiln__plain_axis("tensordot", axes[i], a->ndim, &axis, err);
        if (status) return status;
        if (set >> axis & 1) return kiln__fail(err, KILN_INVALID, "[tensordot] Axis %d appears twice.", axes[i]);
        set |= UINT64_C(1) << axis;
        out->summed[out->summed_count++] = axis;
    }
    for (int i = 0; i < a->ndim; i++) {
        if (set >> i & 1) continue;
        out->dims[out->kept_count] = a->dims[i];
        out->kept[out->kept_count++] = i;
    }
    kiln_status status = merged_size(a, out->kept, out->kept_count, &out->kept_size, err);
    return status ? status : merged_size(a, out->summed, out->summed_count, &out->summed_size, err);
}

static kiln_status check_pairs(const struct kiln_array *a, const struct operand *left, const struct kiln_array *b,
                               const struct operand *right, kiln_error *err)
{
    char first[KILN_SHAPE_TEXT], second[KILN_SHAPE_TEXT];
    for (size_t i = 0; i < left->summed_count; i++) {
        if (a->dims[left->summed[i]] == b->dims[right->summed[i]]) continue;
        return kiln__fail(err, KILN_INVALID,
                          "[tensordot] Axis %lld of shape %s and axis %lld of shape %s must have the same size.",
                          (long long)left->summed[i], kiln__shape_text(a->dims, a->ndim, first),
                          (long long)right->summed[i], kiln__shape_text(b->dims, b->ndim, second));
    }
    if (left->kept_count + right->kept_count <= KILN_MAX_NDIM) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[tensordot] %zu dimensions are more than the %d that are supported.",
                      left->kept_count + right->kept_count, KILN_MAX_NDIM);
}

/* The axes `first`, then `second`, as a matrix. */
static struct kiln_array *as_matrix(struct kiln_expression *e, struct kiln_array *a, const int64_t *first,
                                    size_t first_count, const int64_t *second, const int dims[2])
{
    int64_t order[KILN_MAX_NDIM];
    for (size_t i = 0; i < a->ndim; i++) order[i] = i < first_count ? first[i] : second[i - first_count];
    return kiln__e_reshape(e, kiln__e_transpose(e, a, order), dims, 2);
}

static kiln_status record_tensordot(struct kiln_array *a, struct kiln_array *b, struct kiln_axis_pairs pairs,
                                    struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_TENSORDOT);
    kiln__record_array(&record, a);
    kiln__record_array(&record, b);
    kiln__record_numbers(&record, pairs.left, pairs.left_count);
    kiln__record_numbers(&record, pairs.right, pairs.right_count);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_tensordot(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int left[KILN_RECORD_NUMBERS], right[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record), *b = kiln__recorded_array(record);
    struct kiln_axis_pairs pairs = {left, right, 0, 0};
    pairs.left_count = kiln__recorded_numbers(record, left);
    pairs.right_count = kiln__recorded_numbers(record, right);
    return kiln__tensordot(a, b, pairs, out, err);
}

kiln_status kiln__tensordot(struct kiln_array *a, struct kiln_array *b, struct kiln_axis_pairs pairs,
                            struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    struct operand left, right;
    if (kiln__is_recorded(a) || kiln__is_recorded(b)) return record_tensordot(a, b, pairs, out, err);
    kiln_status status = require_both("tensordot", a, b, err);
    if (!status && pairs.left_count != pairs.right_count)
        status = kiln__fail(err, KILN_INVALID, "[tensordot] Expected as many axes of a as of b, got %zu and %zu.",
                            pairs.left_count, pairs.right_count);
    if (!status) status = tell_apart(a, pairs.left, pairs.left_count, &left, err);
    if (!status) status = tell_apart(b, pairs.right, pairs.right_count, &right, err);
    if (!status) status = check_pairs(a, &left, b, &right, err);
    if (status) return status;
    struct kiln_array *rows =
        as_matrix(&e, a, left.kept, left.kept_count, left.summed, (int[]){left.kept_size, left.summed_size});
    struct kiln_array *columns =
        as_matrix(&e, b, right.summed, right.summed_count, right.kept, (int[]){right.summed_size, right.kept_size});
    for (size_t i = 0; i < right.kept_count; i++) left.dims[left.kept_count + i] = right.dims[i];
    struct kiln_array *product = kiln__e_matmul(&e, rows, columns);
    product = kiln__e_reshape(&e, product, left.dims, left.kept_count + right.kept_count);
    status = kiln__e_end(&e, product, out);
    return status ? kiln__fail_as(err, status, "tensordot") : status;
}

kiln_status kiln__tensordot_last(struct kiln_array *a, struct kiln_array *b, int count, struct kiln_array **out,
                                 kiln_error *err)
{
    int left[KILN_MAX_NDIM], right[KILN_MAX_NDIM];
    kiln_status status = require_both("tensordot", a, b, err);
    if (status) return status;
    if (count < 0 || count > a->ndim || count > b->ndim)
        return kiln__fail(err, KILN_INVALID,
                          "[tensordot] Can't sum over %d axes of arrays of %d and %d dimensions: expected 0 to %d.",
                          count, a->ndim, b->ndim, a->ndim < b->ndim ? a->ndim : b->ndim);
    for (int i = 0; i < count; i++) left[i] = i - count, right[i] = i;
    return kiln__tensordot(a, b, (struct kiln_axis_pairs){left, right, (size_t)count, (size_t)count}, out, err);
}

kiln_status kiln__replay_inner(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    return kiln__inner(a, kiln__recorded_array(record), out, err);
}

kiln_status kiln__inner(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err)
{
    static const int last = -1;
    char first[KILN_SHAPE_TEXT], second[KILN_SHAPE_TEXT];
    if (kiln__is_recorded(a) || kiln__is_recorded(b)) return record_two(KILN_DEFERRED_INNER, a, b, out, err);
    kiln_status status = require_both("inner", a, b, err);
    if (status) return status;
    if (a->ndim == 0 || b->ndim == 0) return kiln__binary(KILN_OP_MULTIPLY, a, b, out, err);
    if (a->dims[a->ndim - 1] != b->dims[b->ndim - 1])
        return kiln__fail(err, KILN_INVALID, "[inner] The last dimensions of shapes %s and %s must be the same.",
                          kiln__shape_text(a->dims, a->ndim, first), kiln__shape_text(b->dims, b->ndim, second));
    return kiln__tensordot(a, b, (struct kiln_axis_pairs){&last, &last, 1, 1}, out, err);
}

kiln_status kiln__diagonal_sum(struct kiln_array *a, int offset, int axis1, int axis2, enum kiln_dtype dtype,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    struct kiln_array *diagonal = NULL, *sum = NULL;
    kiln_status status = kiln__diagonal(a, offset, axis1, axis2, &diagonal, err);
    diagonal = kiln__e_astype(&e, kiln__e_hold(&e, status, diagonal), dtype);
    if (diagonal) {
        status = kiln__sum_axis(diagonal, -1, false, &sum, err);
        sum = kiln__e_hold(&e, status, sum);
    }
    status = kiln__e_end(&e, kiln__e_astype(&e, sum, dtype), out);
    return status ? kiln__fail_as(err, status, "trace") : status;
}
