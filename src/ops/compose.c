/*
 * compose.c - see compose.h. What a caller may leave open (negative axes, -1, open slices) is normalised here, so that
 * nodes have complete attributes; what the shape rules check is not checked twice.
 *
 * Compositions apply their steps to one `struct chain`: the first failure stops the rest, and each step drops the
 * reference to the value before it.
 */
#include "ops/compose.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/marking.h"
#include "ops/replay.h"

static kiln_status require(struct kiln_array *array, const char *name, kiln_error *err)
{
    return array ? KILN_OK : kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
}

static kiln_status apply1(enum kiln_op op, struct kiln_array *a, const int64_t *attrs, size_t attr_count,
                          struct kiln_array **out, kiln_error *err)
{
    return kiln__apply(op, (struct kiln_array *[]){a}, 1, attrs, attr_count, out, err);
}

kiln_status kiln__unary(enum kiln_op op, struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    return apply1(op, a, NULL, 0, out, err);
}

kiln_status kiln__binary(enum kiln_op op, struct kiln_array *a, struct kiln_array *b, struct kiln_array **out,
                         kiln_error *err)
{
    return kiln__apply(op, (struct kiln_array *[]){a, b}, 2, NULL, 0, out, err);
}

kiln_status kiln__astype(struct kiln_array *a, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    if (!a || a->dtype != dtype) return apply1(KILN_OP_CAST, a, (int64_t[]){dtype}, 1, out, err);
    *out = kiln__array_ref(a);
    return KILN_OK;
}

/* ---- chains ------------------------------------------------------------------------------------------------------ */

struct chain {
    struct kiln_array *value; /* the result so far; owned */
    kiln_status status;
    kiln_error *err;
};

static struct chain chain_start(struct kiln_array *value, kiln_error *err)
{
    return (struct chain){kiln__array_ref(value), KILN_OK, err};
}

/* The result of a step replaces the value before it. */
static void chain_take(struct chain *chain, kiln_status status, struct kiln_array *const *value)
{
    chain->status = status;
    if (status) return;
    kiln__array_unref(chain->value);
    chain->value = *value;
}

static void chain_binary(struct chain *chain, enum kiln_op op, struct kiln_array *other)
{
    struct kiln_array *next = NULL;
    if (!chain->status) chain_take(chain, kiln__binary(op, chain->value, other, &next, chain->err), &next);
}

static void chain_scalar(struct chain *chain, enum kiln_op op, float constant)
{
    struct kiln_array *scalar = NULL;
    if (chain->status) return;
    chain->status = kiln__array_scalar(KILN_FLOAT32, &constant, &scalar, chain->err);
    chain_binary(chain, op, scalar);
    kiln__array_unref(scalar);
}

static void chain_astype(struct chain *chain, enum kiln_dtype dtype)
{
    struct kiln_array *next = NULL;
    if (!chain->status) chain_take(chain, kiln__astype(chain->value, dtype, &next, chain->err), &next);
}

typedef kiln_status axis_step(struct kiln_array *a, int axis, struct kiln_array **out, kiln_error *err);

static void chain_axis(struct chain *chain, axis_step *step, int axis)
{
    struct kiln_array *next = NULL;
    if (!chain->status) chain_take(chain, step(chain->value, axis, &next, chain->err), &next);
}

static kiln_status chain_end(struct chain *chain, struct kiln_array **out)
{
    if (chain->status)
        kiln__array_unref(chain->value);
    else
        *out = chain->value;
    return chain->status;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool has_shape(const struct kiln_array *a, const int *dims, size_t ndim)
{
    return a->ndim == ndim && (ndim == 0 || memcmp(a->dims, dims, ndim * sizeof *dims) == 0);
}

static kiln_status check_rank(const char *name, size_t ndim, kiln_error *err)
{
    if (ndim <= KILN_MAX_NDIM) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] %zu dimensions are more than the %d that are supported.", name, ndim,
                      KILN_MAX_NDIM);
}

/* A negative axis counts from the end. */
kiln_status kiln__plain_axis(const char *name, int axis, size_t ndim, int *out, kiln_error *err)
{
    int64_t plain = axis < 0 ? (int64_t)axis + (int64_t)ndim : axis;
    if (plain < 0 || plain >= (int64_t)ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] Axis %d is out of range for an array of %zu dimensions.", name, axis,
                          ndim);
    *out = (int)plain;
    return KILN_OK;
}

/* The same as an attribute. */
static kiln_status axis_attribute(const char *name, int axis, size_t ndim, int64_t *out, kiln_error *err)
{
    int plain = 0;
    kiln_status status = kiln__plain_axis(name, axis, ndim, &plain, err);
    if (!status) *out = plain;
    return status;
}

/* The operation `op` with `dims` as its attributes. */
static kiln_status apply_dims(enum kiln_op op, struct kiln_array *a, const int *dims, size_t ndim,
                              struct kiln_array **out, kiln_error *err)
{
    int64_t attrs[KILN_MAX_NDIM];
    kiln_status status = check_rank(kiln__ops[op].name, ndim, err);
    if (status) return status;
    for (size_t i = 0; i < ndim; i++) attrs[i] = dims[i];
    return apply1(op, a, attrs, ndim, out, err);
}

/* Copies `dims`, with the one -1 replaced by what is left of `size`. */
static kiln_status resolve_dims(int64_t size, const int *dims, size_t ndim, int *out, kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    size_t unknown = ndim;
    int64_t known = 1;
    for (size_t i = 0; i < ndim; i++) {
        out[i] = dims[i];
        if (dims[i] == -1 && unknown < ndim)
            return kiln__fail(err, KILN_INVALID, "[reshape] Shape %s has more than one -1.",
                              kiln__shape_text(dims, ndim, text));
        if (dims[i] == -1)
            unknown = i;
        else if (dims[i] < 0 || __builtin_mul_overflow(known, (int64_t)dims[i], &known))
            return kiln__fail(err, KILN_INVALID, "[reshape] Cannot reshape array of size %lld into shape %s.",
                              (long long)size, kiln__shape_text(dims, ndim, text));
    }
    if (unknown == ndim) return KILN_OK;
    if (known == 0 || size % known || size / known > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[reshape] Cannot reshape array of size %lld into shape %s.",
                          (long long)size, kiln__shape_text(dims, ndim, text));
    out[unknown] = (int)(size / known);
    return KILN_OK;
}

/* A record about one array and a list of dims. */
static kiln_status record_dims(enum kiln_deferred op, struct kiln_array *a, const int *dims, size_t ndim,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(op);
    kiln__record_array(&record, a);
    kiln__record_numbers(&record, dims, ndim);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__reshape(struct kiln_array *a, const int *dims, size_t ndim, struct kiln_array **out, kiln_error *err)
{
    int plain[KILN_MAX_NDIM];
    if (kiln__is_recorded(a)) return record_dims(KILN_DEFERRED_RESHAPE, a, dims, ndim, out, err);
    kiln_status status = require(a, "reshape", err);
    if (!status) status = check_rank("reshape", ndim, err);
    if (!status) status = resolve_dims(a->size, dims, ndim, plain, err);
    if (status) return status;
    if (!has_shape(a, plain, ndim)) return apply_dims(KILN_OP_RESHAPE, a, plain, ndim, out, err);
    *out = kiln__array_ref(a);
    return KILN_OK;
}

kiln_status kiln__replay_reshape(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    size_t ndim = kiln__recorded_numbers(record, dims);
    return kiln__reshape(a, dims, ndim, out, err);
}

kiln_status kiln__reshape_like(struct kiln_array *a, struct kiln_array *like, struct kiln_array **out, kiln_error *err)
{
    if (kiln__is_recorded(a) || kiln__is_recorded(like)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_RESHAPE_LIKE);
        kiln__record_array(&record, a);
        kiln__record_array(&record, like);
        return kiln__record_end(&record, out, err);
    }
    return kiln__reshape(a, like->dims, like->ndim, out, err);
}

kiln_status kiln__replay_reshape_like(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    return kiln__reshape_like(a, kiln__recorded_array(record), out, err);
}

kiln_status kiln__broadcast_to(struct kiln_array *a, const int *dims, size_t ndim, struct kiln_array **out,
                               kiln_error *err)
{
    if (kiln__is_recorded(a)) return record_dims(KILN_DEFERRED_BROADCAST_TO, a, dims, ndim, out, err);
    if (!a || !has_shape(a, dims, ndim)) return apply_dims(KILN_OP_BROADCAST, a, dims, ndim, out, err);
    *out = kiln__array_ref(a);
    return KILN_OK;
}

kiln_status kiln__replay_broadcast_to(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    size_t ndim = kiln__recorded_numbers(record, dims);
    return kiln__broadcast_to(a, dims, ndim, out, err);
}

kiln_status kiln__expand_dims(struct kiln_array *a, int axis, struct kiln_array **out, kiln_error *err)
{
    int64_t plain = 0;
    kiln_status status = require(a, "expand_dims", err);
    if (!status) status = axis_attribute("expand_dims", axis, (size_t)a->ndim + 1, &plain, err);
    return status ? status : apply1(KILN_OP_EXPAND_DIMS, a, &plain, 1, out, err);
}

kiln_status kiln__squeeze_axis(struct kiln_array *a, int axis, struct kiln_array **out, kiln_error *err)
{
    int64_t plain = 0;
    kiln_status status = require(a, "squeeze", err);
    if (!status) status = axis_attribute("squeeze", axis, a->ndim, &plain, err);
    return status ? status : apply1(KILN_OP_SQUEEZE, a, &plain, 1, out, err);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* As Python's slices: negative positions count from the end, and what lies outside is cut off. */
static void plain_slice(int start, int stop, int stride, int n, int64_t *plain_start, int64_t *plain_stop)
{
    int64_t first = start < 0 ? (int64_t)start + n : start;
    int64_t end = stop < 0 ? (int64_t)stop + n : stop;
    *plain_start = stride > 0 ? clamp(first, 0, n) : clamp(first, -1, (int64_t)n - 1);
    *plain_stop = stride > 0 ? clamp(end, 0, n) : clamp(end, -1, (int64_t)n - 1);
}

kiln_status kiln__slice(struct kiln_array *a, const int *start, const int *stop, const int *strides, size_t count,
                        struct kiln_array **out, kiln_error *err)
{
    int64_t attrs[3 * KILN_MAX_NDIM];
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_SLICE);
        kiln__record_array(&record, a);
        kiln__record_numbers(&record, start, count);
        kiln__record_numbers(&record, stop, count);
        kiln__record_numbers(&record, strides, count);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "slice", err);
    if (status) return status;
    if (count != a->ndim)
        return kiln__fail(err, KILN_INVALID,
                          "[slice] Expected %d starts, stops and strides, one per dimension, got %zu.", a->ndim, count);
    for (size_t i = 0; i < count; i++) {
        if (strides[i] == 0) return kiln__fail(err, KILN_INVALID, "[slice] The stride of axis %zu can't be 0.", i);
        plain_slice(start[i], stop[i], strides[i], a->dims[i], &attrs[i], &attrs[count + i]);
        attrs[2 * count + i] = strides[i] == INT_MIN ? -INT_MAX : strides[i]; /* both take one element at most */
    }
    return apply1(KILN_OP_SLICE, a, attrs, 3 * count, out, err);
}

kiln_status kiln__replay_slice(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int start[KILN_RECORD_NUMBERS], stop[KILN_RECORD_NUMBERS], strides[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    kiln__recorded_numbers(record, start);
    kiln__recorded_numbers(record, stop);
    size_t count = kiln__recorded_numbers(record, strides);
    return kiln__slice(a, start, stop, strides, count, out, err);
}

/* ---- several arrays ---------------------------------------------------------------------------------------------- */

static kiln_status require_all(struct kiln_array *const *arrays, size_t count, const char *name, kiln_error *err)
{
    if (count == 0) return kiln__fail(err, KILN_INVALID, "[%s] No arrays provided.", name);
    kiln_status status = KILN_OK;
    for (size_t i = 0; !status && i < count; i++) status = require(arrays[i], name, err);
    return status;
}

kiln_status kiln__concatenate(struct kiln_array *const *arrays, size_t count, int axis, struct kiln_array **out,
                              kiln_error *err)
{
    int64_t plain = 0;
    kiln_status status = require_all(arrays, count, "concatenate", err);
    if (!status && count == 1 && arrays[0]->ndim == 0 && (axis == 0 || axis == -1)) {
        *out = kiln__array_ref(arrays[0]);
        return KILN_OK;
    }
    if (!status) status = axis_attribute("concatenate", axis, arrays[0]->ndim, &plain, err);
    return status ? status : kiln__apply(KILN_OP_CONCATENATE, arrays, count, &plain, 1, out, err);
}

static kiln_status check_equal_shapes(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    for (size_t i = 1; i < count; i++) {
        if (has_shape(arrays[i], arrays[0]->dims, arrays[0]->ndim)) continue;
        char first[KILN_SHAPE_TEXT], other[KILN_SHAPE_TEXT];
        return kiln__fail(err, KILN_INVALID, "[stack] All arrays must have the same shape, got %s and %s.",
                          kiln__shape_text(arrays[0]->dims, arrays[0]->ndim, first),
                          kiln__shape_text(arrays[i]->dims, arrays[i]->ndim, other));
    }
    return KILN_OK;
}

kiln_status kiln__stack(struct kiln_array *const *arrays, size_t count, int axis, struct kiln_array **out,
                        kiln_error *err)
{
    int64_t plain = 0;
    kiln_status status = require_all(arrays, count, "stack", err);
    if (!status) status = check_equal_shapes(arrays, count, err);
    if (!status) status = axis_attribute("stack", axis, (size_t)arrays[0]->ndim + 1, &plain, err);
    if (status) return status;
    struct kiln_array **rows = calloc(count, sizeof *rows);
    if (!rows) return kiln__no_memory(err, "the rows of a stack");
    for (size_t i = 0; !status && i < count; i++) status = kiln__expand_dims(arrays[i], (int)plain, &rows[i], err);
    if (!status) status = kiln__concatenate(rows, count, (int)plain, out, err);
    for (size_t i = 0; i < count; i++) kiln__array_unref(rows[i]);
    free(rows);
    return status;
}

/* ---- reductions and products ------------------------------------------------------------------------------------- */

kiln_status kiln__sum_axis(struct kiln_array *a, int axis, bool keepdims, struct kiln_array **out, kiln_error *err)
{
    int64_t attrs[2] = {0, keepdims};
    kiln_status status = require(a, "sum", err);
    if (!status) status = axis_attribute("sum", axis, a->ndim, &attrs[0], err);
    return status ? status : apply1(KILN_OP_SUM, a, attrs, 2, out, err);
}

/* Broadcasts the batch dims of a matrix operand to `batch`. */
static kiln_status broadcast_batch(struct kiln_array *a, const int *batch, size_t batch_ndim, struct kiln_array **out,
                                   kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    memcpy(dims, batch, batch_ndim * sizeof *dims); /* at most KILN_MAX_NDIM - 2: the operands' own */
    memcpy(dims + batch_ndim, a->dims + a->ndim - 2, 2 * sizeof *dims);
    return kiln__broadcast_to(a, dims, batch_ndim + 2, out, err);
}

static kiln_status check_matmul(const struct kiln_array *a, const struct kiln_array *b, kiln_error *err)
{
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (a->ndim == 0 || b->ndim == 0)
        return kiln__fail(err, KILN_INVALID,
                          "[matmul] Got a 0-dimensional input. Inputs must have at least one dimension.");
    if (a->dims[a->ndim - 1] == b->dims[b->ndim > 1 ? b->ndim - 2 : 0]) return KILN_OK;
    return kiln__fail(
        err, KILN_INVALID,
        "[matmul] Last dimension of first input with shape %s must match second to last dimension of second "
        "input with shape %s.",
        kiln__shape_text(a->dims, a->ndim, left), kiln__shape_text(b->dims, b->ndim, right));
}

/* The product of two operands of rank 2 or more. */
static kiln_status matrix_product(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err)
{
    int batch[KILN_MAX_NDIM];
    size_t batch_ndim = 0;
    if (kiln__broadcast_shapes(a->dims, a->ndim - 2u, b->dims, b->ndim - 2u, batch, &batch_ndim, NULL)) {
        char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
        return kiln__fail(err, KILN_INVALID, "[matmul] Batch dimensions of shapes %s and %s cannot be broadcast.",
                          kiln__shape_text(a->dims, a->ndim, left), kiln__shape_text(b->dims, b->ndim, right));
    }
    struct kiln_array *left = NULL, *right = NULL;
    kiln_status status = broadcast_batch(a, batch, batch_ndim, &left, err);
    if (!status) status = broadcast_batch(b, batch, batch_ndim, &right, err);
    if (!status) status = kiln__binary(KILN_OP_MATMUL, left, right, out, err);
    kiln__array_unref(left);
    kiln__array_unref(right);
    return status;
}

/* A reference to `a`, or to it as a matrix of one row or one column. */
static kiln_status as_matrix(struct kiln_array *a, int axis, struct kiln_array **out, kiln_error *err)
{
    if (a->ndim == 1) return kiln__expand_dims(a, axis, out, err);
    *out = kiln__array_ref(a);
    return KILN_OK;
}

/* The rows of a batch that is multiplied with one matrix are rows of one matrix: so the matrix's gradient is one
 * product, not one for each of the batch. */
static kiln_status marked_product(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    struct kiln_array *rows = NULL, *product = NULL;
    memcpy(dims, a->dims, a->ndim * sizeof *dims);
    dims[a->ndim - 1] = b->dims[1];
    kiln_status status = kiln__reshape(a, (int[]){(int)(a->size / b->dims[0]), b->dims[0]}, 2, &rows, err);
    if (!status) status = kiln__binary(KILN_OP_MATMUL, rows, b, &product, err);
    if (!status) status = kiln__reshape(product, dims, a->ndim, out, err);
    kiln__array_unref(rows);
    kiln__array_unref(product);
    return status;
}

static bool shares_matrix(const struct kiln_array *a, const struct kiln_array *b)
{
    return a->ndim > 2 && b->ndim == 2 && b->dims[0] > 0 && a->size / b->dims[0] <= INT_MAX &&
           (kiln__is_marked(a) || kiln__is_marked(b));
}

kiln_status kiln__matmul(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *left = NULL, *right = NULL, *product = NULL;
    if (kiln__is_recorded(a) || kiln__is_recorded(b)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_MATMUL);
        kiln__record_array(&record, a);
        kiln__record_array(&record, b);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "matmul", err);
    if (!status) status = require(b, "matmul", err);
    if (!status) status = check_matmul(a, b, err);
    if (!status && shares_matrix(a, b)) return marked_product(a, b, out, err);
    if (!status) status = as_matrix(a, 0, &left, err);
    if (!status) status = as_matrix(b, 1, &right, err);
    if (!status) status = matrix_product(left, right, &product, err);
    kiln__array_unref(left);
    kiln__array_unref(right);
    if (status) return status;
    struct chain result = {product, KILN_OK, err};
    if (b->ndim == 1) chain_axis(&result, kiln__squeeze_axis, -1);
    if (a->ndim == 1) chain_axis(&result, kiln__squeeze_axis, b->ndim == 1 ? -1 : -2);
    return chain_end(&result, out);
}

kiln_status kiln__replay_matmul(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    return kiln__matmul(a, kiln__recorded_array(record), out, err);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static kiln_status key_array(const uint32_t words[2], struct kiln_array **out, kiln_error *err)
{
    return kiln__array_from_data(words, KILN_UINT32, 1, (int[]){2}, out, err);
}

kiln_status kiln__random_key(uint64_t seed, struct kiln_array **out, kiln_error *err)
{
    return key_array((uint32_t[2]){(uint32_t)(seed >> 32), (uint32_t)seed}, out, err);
}

kiln_status kiln__random_next_key(struct kiln_array **out, kiln_error *err)
{
    uint32_t words[2];
    kiln__rng_state_next(words);
    return key_array(words, out, err);
}

kiln_status kiln__random_bits(const int *dims, size_t ndim, struct kiln_array *key, struct kiln_array **out,
                              kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    if (key && key->ndim != 1) /* several keys are for vmap */
        return kiln__fail(err, KILN_INVALID, "[random_bits] Expected a key of shape (2), got %s.",
                          kiln__shape_text(key->dims, key->ndim, text));
    if (key) return apply_dims(KILN_OP_RANDOM_BITS, key, dims, ndim, out, err);
    kiln_status status = kiln__random_next_key(&key, err);
    if (!status) status = apply_dims(KILN_OP_RANDOM_BITS, key, dims, ndim, out, err);
    kiln__array_unref(key);
    return status;
}

/* The last of a record's arrays is a key; one that is not given is drawn now, so that each replay has the same. */
kiln_status kiln__record_end_random(struct kiln_record *record, struct kiln_array *key, struct kiln_array **out,
                                    kiln_error *err)
{
    struct kiln_array *drawn = NULL;
    kiln_status status = key ? KILN_OK : kiln__random_next_key(&drawn, err);
    kiln__record_array(record, key ? key : drawn);
    if (!status) status = kiln__record_end(record, out, err);
    kiln__array_unref(drawn);
    return status;
}

static kiln_status check_bernoulli(const struct kiln_array *p, const int *dims, size_t ndim, kiln_error *err)
{
    int both[KILN_MAX_NDIM];
    size_t both_ndim;
    if (!p) return kiln__fail(err, KILN_INVALID, "[bernoulli] input is empty.");
    if (!kiln__dtype_is_float((enum kiln_dtype)p->dtype))
        return kiln__fail(err, KILN_INVALID, "[bernoulli] Probability p must be a float type, got %s.",
                          kiln__dtypes[p->dtype].name);
    kiln_status status = check_rank("bernoulli", ndim, err);
    if (status) return status;
    if (!kiln__broadcast_shapes(p->dims, p->ndim, dims, ndim, both, &both_ndim, NULL) && both_ndim == ndim &&
        (ndim == 0 || memcmp(both, dims, ndim * sizeof *dims) == 0))
        return KILN_OK;
    char from[KILN_SHAPE_TEXT], to[KILN_SHAPE_TEXT];
    return kiln__fail(err, KILN_INVALID, "[bernoulli] Shape %s of p cannot be broadcast to %s.",
                      kiln__shape_text(p->dims, p->ndim, from), kiln__shape_text(dims, ndim, to));
}

/* Is a word less than p * c? Words round to 2^32 at most as floats, and c is the next float after it: p = 1 is above
 * every word, p = 0 above none. */
kiln_status kiln__random_bernoulli(struct kiln_array *p, const int *dims, size_t ndim, struct kiln_array *key,
                                   struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *bits = NULL;
    if (kiln__is_recorded(p)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_BERNOULLI);
        kiln__record_array(&record, p);
        kiln__record_numbers(&record, dims, ndim);
        return kiln__record_end_random(&record, key, out, err);
    }
    kiln_status status = check_bernoulli(p, dims, ndim, err);
    if (!status) status = kiln__random_bits(dims, ndim, key, &bits, err);
    if (status) return status;
    struct chain threshold = chain_start(p, err);
    chain_astype(&threshold, KILN_FLOAT32);
    chain_scalar(&threshold, KILN_OP_MULTIPLY, nextafterf((float)UINT32_MAX, INFINITY));
    status = threshold.status;
    if (!status) status = kiln__binary(KILN_OP_LESS, bits, threshold.value, out, err);
    kiln__array_unref(threshold.value);
    kiln__array_unref(bits);
    return status;
}

kiln_status kiln__replay_bernoulli(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_RECORD_NUMBERS];
    struct kiln_array *p = kiln__recorded_array(record);
    size_t ndim = kiln__recorded_numbers(record, dims);
    return kiln__random_bernoulli(p, dims, ndim, kiln__recorded_array(record), out, err);
}
