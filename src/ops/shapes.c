/*
 * shapes.c - see shapes.h: views, and one array at a time. What a caller gives (negative axes, -1) is checked and made
 * plain here, with the caller's function in the text; shape rules check the rest.
 */
#include "ops/shapes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ops/expression.h"
#include "ops/reductions.h" /* kiln__plain_axis, expressions */
#include "ops/replay.h"

static kiln_status require(const struct kiln_array *array, const char *name, kiln_error *err)
{
    return array ? KILN_OK : kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
}

/* ---- axes that are joined, cut, added and dropped ---------------------------------------------------------------- */

kiln_status kiln__flatten(struct kiln_array *a, int first, int last, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM], start = 0, end = 0;
    int64_t product = 1;
    size_t ndim = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_FLATTEN);
        kiln__record_array(&record, a);
        kiln__record_number(&record, first);
        kiln__record_number(&record, last);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "flatten", err);
    if (status) return status;
    if (a->ndim == 0) return kiln__reshape(a, (int[]){1}, 1, out, err);
    start = first >= 0 ? first : first < -a->ndim ? 0 : first + a->ndim;
    end = last >= a->ndim ? a->ndim - 1 : last < 0 ? last + a->ndim : last;
    if (start > end)
        return kiln__fail(err, KILN_INVALID,
                          "[flatten] The first axis, %d, can't come after the last one, %d, of %d dimensions.", first,
                          last, a->ndim);
    for (int i = 0; i < start; i++) dims[ndim++] = a->dims[i];
    for (int i = start; i <= end; i++) product *= a->dims[i];
    if (product > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[flatten] One axis can't have %lld elements.", (long long)product);
    dims[ndim++] = (int)product;
    for (int i = end + 1; i < a->ndim; i++) dims[ndim++] = a->dims[i];
    return kiln__reshape(a, dims, ndim, out, err);
}

kiln_status kiln__replay_flatten(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    int first = (int)kiln__recorded_number(record);
    return kiln__flatten(a, first, (int)kiln__recorded_number(record), out, err);
}

/* Copies `dims`, with its one -1 replaced by what is left of `size`; they have to have `size` elements. */
static kiln_status fit_dims(int size, const int *dims, size_t count, int *out, kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    int64_t known = 1;
    int unknown = -1;
    bool fits = count > 0;
    for (size_t i = 0; fits && i < count; i++) {
        out[i] = dims[i];
        if (dims[i] == -1 && unknown < 0)
            unknown = (int)i;
        else
            fits = dims[i] >= 0 && (known *= dims[i]) <= INT_MAX;
    }
    if (fits && unknown >= 0) {
        fits = known > 0 && size % known == 0;
        if (fits) out[unknown] = (int)(size / known);
    } else if (fits) {
        fits = known == size;
    }
    if (fits) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[unflatten] Cannot unflatten axis of size %d into shape %s.", size,
                      kiln__shape_text(dims, count, text));
}

kiln_status kiln__unflatten(struct kiln_array *a, int axis, const int *dims, size_t count, struct kiln_array **out,
                            kiln_error *err)
{
    int result[2 * KILN_MAX_NDIM], at = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_UNFLATTEN);
        kiln__record_array(&record, a);
        kiln__record_number(&record, axis);
        kiln__record_numbers(&record, dims, count);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "unflatten", err);
    if (!status) status = kiln__plain_axis("unflatten", axis, a->ndim, &at, err);
    if (status) return status;
    if (count > KILN_MAX_NDIM + 1u - a->ndim)
        return kiln__fail(err, KILN_INVALID, "[unflatten] The result would have more than %d dimensions.",
                          KILN_MAX_NDIM);
    memcpy(result, a->dims, (size_t)at * sizeof *result);
    status = fit_dims(a->dims[at], dims, count, result + at, err);
    if (status) return status;
    size_t left = a->ndim - 1u - (size_t)at;
    memcpy(result + at + count, a->dims + at + 1, left * sizeof *result);
    return kiln__reshape(a, result, a->ndim - 1u + count, out, err);
}

kiln_status kiln__replay_unflatten(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    int axis = (int)kiln__recorded_number(record);
    size_t count = kiln__recorded_numbers(record, dims);
    return kiln__unflatten(a, axis, dims, count, out, err);
}

/* A record about one array and a list of axes. */
static kiln_status record_axes(enum kiln_deferred op, struct kiln_array *a, const int *axes, size_t count,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(op);
    kiln__record_array(&record, a);
    kiln__record_numbers(&record, axes, count);
    return kiln__record_end(&record, out, err);
}

/* A bit per axis; an axis that appears twice is an error. */
static kiln_status axis_set(const char *name, const int *axes, size_t count, size_t ndim, uint64_t *out,
                            kiln_error *err)
{
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        int axis = 0;
        kiln_status status = kiln__plain_axis(name, axes[i], ndim, &axis, err);
        if (status) return status;
        if (*out & 1ull << axis) return kiln__fail(err, KILN_INVALID, "[%s] Axis %d appears twice.", name, axes[i]);
        *out |= 1ull << axis;
    }
    return KILN_OK;
}

static kiln_status drop_axes(struct kiln_array *a, uint64_t set, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    for (size_t i = 0; i < a->ndim; i++)
        if (!(set >> i & 1)) dims[ndim++] = a->dims[i];
    return kiln__reshape(a, dims, ndim, out, err);
}

kiln_status kiln__squeeze_all(struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    uint64_t set = 0;
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_SQUEEZE_ALL, a, NULL, 0, out, err);
    kiln_status status = require(a, "squeeze", err);
    if (status) return status;
    for (size_t i = 0; i < a->ndim; i++) set |= (uint64_t)(a->dims[i] == 1) << i;
    return drop_axes(a, set, out, err);
}

kiln_status kiln__replay_squeeze_all(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    return kiln__squeeze_all(kiln__recorded_array(record), out, err);
}

kiln_status kiln__squeeze_axes(struct kiln_array *a, const int *axes, size_t count, struct kiln_array **out,
                               kiln_error *err)
{
    uint64_t set = 0;
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_SQUEEZE_AXES, a, axes, count, out, err);
    kiln_status status = require(a, "squeeze", err);
    if (!status) status = axis_set("squeeze", axes, count, a->ndim, &set, err);
    for (size_t i = 0; !status && i < a->ndim; i++)
        if (set >> i & 1 && a->dims[i] != 1)
            status = kiln__fail(err, KILN_INVALID,
                                "[squeeze] Cannot squeeze axis %zu with size %d: it must have size 1.", i, a->dims[i]);
    return status ? status : drop_axes(a, set, out, err);
}

kiln_status kiln__replay_squeeze_axes(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int axes[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    size_t count = kiln__recorded_numbers(record, axes);
    return kiln__squeeze_axes(a, axes, count, out, err);
}

kiln_status kiln__expand_dims_axes(struct kiln_array *a, const int *axes, size_t count, struct kiln_array **out,
                                   kiln_error *err)
{
    uint64_t set = 0;
    int dims[KILN_MAX_NDIM];
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_EXPAND_DIMS_AXES, a, axes, count, out, err);
    kiln_status status = require(a, "expand_dims", err);
    if (status) return status;
    if (count > KILN_MAX_NDIM || a->ndim + count > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[expand_dims] An array can't have more than %d dimensions.",
                          KILN_MAX_NDIM);
    size_t ndim = a->ndim + count, next = 0;
    status = axis_set("expand_dims", axes, count, ndim, &set, err);
    if (status) return status;
    for (size_t i = 0; i < ndim; i++) dims[i] = set >> i & 1 ? 1 : a->dims[next++];
    return kiln__reshape(a, dims, ndim, out, err);
}

kiln_status kiln__replay_expand_dims_axes(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int axes[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    size_t count = kiln__recorded_numbers(record, axes);
    return kiln__expand_dims_axes(a, axes, count, out, err);
}

kiln_status kiln__atleast(struct kiln_array *a, size_t ndim, struct kiln_array **out, kiln_error *err)
{
    static const char *const names[] = {"atleast_1d", "atleast_2d", "atleast_3d"};
    int dims[3] = {1, 1, 1};
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_ATLEAST);
        kiln__record_array(&record, a);
        kiln__record_number(&record, (int64_t)ndim);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, names[ndim - 1], err);
    if (status) return status;
    if (a->ndim >= ndim) {
        *out = kiln__array_ref(a);
        return KILN_OK;
    }
    if (a->ndim == 1) dims[1] = a->dims[0];
    if (a->ndim == 2) dims[0] = a->dims[0], dims[1] = a->dims[1];
    return kiln__reshape(a, dims, ndim, out, err);
}

kiln_status kiln__replay_atleast(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    return kiln__atleast(a, (size_t)kiln__recorded_number(record), out, err);
}

/* ---- order of axes ----------------------------------------------------------------------------------------------- */

static kiln_status transpose(struct kiln_array *a, const int64_t *order, struct kiln_array **out, kiln_error *err)
{
    return kiln__apply(KILN_OP_TRANSPOSE, &a, 1, order, a->ndim, out, err);
}

kiln_status kiln__swapaxes(struct kiln_array *a, int first, int second, struct kiln_array **out, kiln_error *err)
{
    int64_t order[KILN_MAX_NDIM];
    int x = 0, y = 0;
    kiln_status status = require(a, "swapaxes", err);
    if (!status) status = kiln__plain_axis("swapaxes", first, a->ndim, &x, err);
    if (!status) status = kiln__plain_axis("swapaxes", second, a->ndim, &y, err);
    if (status) return status;
    for (int i = 0; i < a->ndim; i++) order[i] = i == x ? y : i == y ? x : i;
    return transpose(a, order, out, err);
}

kiln_status kiln__moveaxis(struct kiln_array *a, int source, int destination, struct kiln_array **out, kiln_error *err)
{
    int64_t order[KILN_MAX_NDIM];
    int from = 0, to = 0;
    kiln_status status = require(a, "moveaxis", err);
    if (!status) status = kiln__plain_axis("moveaxis", source, a->ndim, &from, err);
    if (!status) status = kiln__plain_axis("moveaxis", destination, a->ndim, &to, err);
    if (status) return status;
    for (int i = 0, next = 0; i < a->ndim; i++) {
        next += next == from;
        order[i] = i == to ? from : next++;
    }
    return transpose(a, order, out, err);
}

/* ---- strides of the caller's ------------------------------------------------------------------------------------- */

kiln_status kiln__as_strided(struct kiln_array *a, const int *dims, const int64_t *strides, size_t ndim, size_t offset,
                             struct kiln_array **out, kiln_error *err)
{
    int64_t attrs[2 * KILN_MAX_NDIM + 1];
    kiln_status status = require(a, "as_strided", err);
    if (status) return status;
    if (ndim > KILN_MAX_NDIM || offset > INT64_MAX)
        return kiln__fail(err, KILN_INVALID, "[as_strided] %zu dimensions from element %zu are too many or too far.",
                          ndim, offset);
    for (size_t i = 0; i < ndim; i++) {
        attrs[i] = dims[i];
        attrs[ndim + i] = strides[i];
    }
    attrs[2 * ndim] = (int64_t)offset;
    return kiln__apply(KILN_OP_AS_STRIDED, &a, 1, attrs, 2 * ndim + 1, out, err);
}

/* Elements of a diagonal that starts `offset` columns to the right, or rows down when negative. */
static int diagonal_length(int rows, int columns, int64_t offset)
{
    int64_t down = offset < 0 ? rows + offset : rows, right = offset > 0 ? columns - offset : columns;
    int64_t length = down < right ? down : right;
    return length < 0 ? 0 : (int)length;
}

/* The last two axes become their diagonal: a step of one row and one column. */
static kiln_status last_diagonal(struct kiln_array *a, int offset, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM], rows = a->dims[a->ndim - 2], columns = a->dims[a->ndim - 1];
    int64_t strides[KILN_MAX_NDIM], stride = (int64_t)rows * columns;
    size_t ndim = a->ndim - 1u;
    for (size_t i = ndim - 1; i-- > 0;) {
        dims[i] = a->dims[i];
        strides[i] = stride;
        stride *= dims[i] ? dims[i] : 1;
    }
    dims[ndim - 1] = diagonal_length(rows, columns, offset);
    strides[ndim - 1] = (int64_t)columns + 1;
    int64_t start = offset < 0 ? -(int64_t)offset * columns : offset;
    return kiln__as_strided(a, dims, strides, ndim, dims[ndim - 1] ? (size_t)start : 0, out, err);
}

kiln_status kiln__diagonal(struct kiln_array *a, int offset, int axis1, int axis2, struct kiln_array **out,
                           kiln_error *err)
{
    int64_t order[KILN_MAX_NDIM];
    int row = 0, column = 0, next = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_DIAGONAL);
        kiln__record_array(&record, a);
        kiln__record_numbers(&record, (int[]){offset, axis1, axis2}, 3);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "diagonal", err);
    if (status) return status;
    if (a->ndim < 2)
        return kiln__fail(err, KILN_INVALID, "[diagonal] Expected at least 2 dimensions, got %d.", a->ndim);
    status = kiln__plain_axis("diagonal", axis1, a->ndim, &row, err);
    if (!status) status = kiln__plain_axis("diagonal", axis2, a->ndim, &column, err);
    if (status) return status;
    if (row == column) return kiln__fail(err, KILN_INVALID, "[diagonal] Both axes are %d: expected two.", axis1);
    for (int i = 0; i < a->ndim; i++)
        if (i != row && i != column) order[next++] = i;
    order[next++] = row;
    order[next] = column;
    struct kiln_array *last = NULL;
    status = transpose(a, order, &last, err);
    if (!status) status = last_diagonal(last, offset, out, err);
    kiln__array_unref(last);
    return status;
}

kiln_status kiln__replay_diagonal(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int numbers[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    kiln__recorded_numbers(record, numbers);
    return kiln__diagonal(a, numbers[0], numbers[1], numbers[2], out, err);
}

kiln_status kiln__view(struct kiln_array *a, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = require(a, "view", err);
    if (status) return status;
    bool is_truth = dtype == KILN_BOOL && a->dtype != KILN_BOOL;
    struct kiln_array *seen =
        kiln__e_apply(&e, KILN_OP_REINTERPRET, &a, 1, (int64_t[]){is_truth ? KILN_UINT8 : dtype}, 1);
    if (is_truth) seen = kiln__e_binary(&e, KILN_OP_NOT_EQUAL, seen, kiln__e_number(&e, 0, KILN_UINT8));
    return kiln__e_end(&e, seen, out);
}

kiln_status kiln__depends(struct kiln_array *const *arrays, size_t count, struct kiln_array *const *dependencies,
                          size_t dependency_count, struct kiln_array **out, kiln_error *err)
{
    size_t made = 0;
    kiln_status status = KILN_OK;
    struct kiln_array **inputs = malloc((dependency_count + 1) * sizeof *inputs);
    if (!inputs) return kiln__no_memory(err, "dependencies");
    for (size_t i = 0; i < dependency_count; i++) inputs[1 + i] = dependencies[i];
    while (!status && made < count) {
        inputs[0] = arrays[made];
        status = kiln__apply(KILN_OP_DEPENDS, inputs, dependency_count + 1, NULL, 0, &out[made], err);
        made += !status;
    }
    while (status && made) kiln__array_unref(out[--made]);
    free(inputs);
    return status;
}
