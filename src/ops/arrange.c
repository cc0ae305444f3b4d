/*
 * arrange.c - operations of shapes.h and compose.h that copy elements (repeat, tile, roll, pad), and those with several
 * results (split, meshgrid, broadcast_arrays).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "graph/rules.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/reductions.h" /* kiln__plain_axis, expressions */
#include "ops/replay.h"
#include "ops/shapes.h"

static kiln_status require(const struct kiln_array *array, const char *name, kiln_error *err)
{
    return array ? KILN_OK : kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
}

/* ---- repeating and rolling --------------------------------------------------------------------------------------- */

kiln_status kiln__repeat(struct kiln_array *a, int repeats, int axis, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM + 1], result[KILN_MAX_NDIM], at = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_REPEAT);
        kiln__record_array(&record, a);
        kiln__record_number(&record, repeats);
        kiln__record_number(&record, axis);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "repeat", err);
    if (!status) status = kiln__plain_axis("repeat", axis, a->ndim, &at, err);
    if (status) return status;
    memcpy(result, a->dims, a->ndim * sizeof *result);
    if (repeats < 0 || __builtin_mul_overflow(a->dims[at], repeats, &result[at]))
        return kiln__fail(err, KILN_INVALID, "[repeat] Cannot repeat each of %d elements %d times.", a->dims[at],
                          repeats);
    if (a->ndim == KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[repeat] An array of %d dimensions can't be repeated.", KILN_MAX_NDIM);
    size_t ndim = a->ndim + 1u;
    for (size_t i = 0; i < ndim; i++) dims[i] = i == (size_t)at + 1 ? 1 : a->dims[i - (i > (size_t)at)];
    struct kiln_expression e = {.err = err};
    struct kiln_array *x = kiln__e_reshape(&e, a, dims, ndim);
    dims[at + 1] = repeats;
    x = kiln__e_broadcast(&e, x, dims, ndim);
    return kiln__e_end(&e, kiln__e_reshape(&e, x, result, a->ndim), out);
}

kiln_status kiln__replay_repeat(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    int repeats = (int)kiln__recorded_number(record);
    return kiln__repeat(a, repeats, (int)kiln__recorded_number(record), out, err);
}

kiln_status kiln__roll(struct kiln_array *a, int64_t shift, int axis, struct kiln_array **out, kiln_error *err)
{
    int at = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_ROLL);
        kiln__record_array(&record, a);
        kiln__record_number(&record, shift);
        kiln__record_number(&record, axis);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "roll", err);
    if (!status) status = kiln__plain_axis("roll", axis, a->ndim, &at, err);
    if (status) return status;
    int n = a->dims[at], by = n ? (int)((shift % n + n) % n) : 0;
    struct kiln_expression e = {.err = err};
    if (by == 0) return kiln__e_end(&e, a, out);
    struct kiln_array *parts[2] = {kiln__e_cut(&e, a, at, n - by, n, 1), kiln__e_cut(&e, a, at, 0, n - by, 1)};
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_CONCATENATE, parts, 2, (int64_t[]){at}, 1), out);
}

kiln_status kiln__replay_roll(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    int64_t shift = kiln__recorded_number(record);
    return kiln__roll(a, shift, (int)kiln__recorded_number(record), out, err);
}

/* The shapes that tiling goes through: (2,3) three times down is (1,2,3), broadcast to (3,2,3), reshaped to (6,3). */
struct tiling {
    int split[2 * KILN_MAX_NDIM], repeated[2 * KILN_MAX_NDIM], result[KILN_MAX_NDIM];
    size_t split_ndim, ndim;
};

static kiln_status plan_tiling(const struct kiln_array *a, const int *reps, size_t count, struct tiling *out,
                               kiln_error *err)
{
    *out = (struct tiling){.ndim = count > a->ndim ? count : a->ndim};
    if (out->ndim > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[tile] %zu dimensions are more than the %d that are supported.",
                          out->ndim, KILN_MAX_NDIM);
    for (size_t i = 0; i < out->ndim; i++) {
        size_t from_end = out->ndim - i;
        int dim = from_end <= a->ndim ? a->dims[a->ndim - from_end] : 1;
        int times = from_end <= count ? reps[count - from_end] : 1;
        if (times < 0 || __builtin_mul_overflow(dim, times, &out->result[i]))
            return kiln__fail(err, KILN_INVALID, "[tile] Cannot repeat axis %zu of size %d %d times.", i, dim, times);
        if (times != 1) {
            out->split[out->split_ndim] = 1;
            out->repeated[out->split_ndim++] = times;
        }
        out->split[out->split_ndim] = dim;
        out->repeated[out->split_ndim++] = dim;
    }
    return KILN_OK;
}

kiln_status kiln__tile(struct kiln_array *a, const int *reps, size_t count, struct kiln_array **out, kiln_error *err)
{
    struct tiling tiling;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_TILE);
        kiln__record_array(&record, a);
        kiln__record_numbers(&record, reps, count);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "tile", err);
    if (!status) status = plan_tiling(a, reps, count, &tiling, err);
    if (status) return status;
    struct kiln_expression e = {.err = err};
    struct kiln_array *x = kiln__e_reshape(&e, a, tiling.split, tiling.split_ndim);
    x = kiln__e_broadcast(&e, x, tiling.repeated, tiling.split_ndim);
    status = kiln__e_end(&e, kiln__e_reshape(&e, x, tiling.result, tiling.ndim), out);
    return status ? kiln__fail_as(err, status, "tile") : status;
}

kiln_status kiln__replay_tile(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int reps[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    size_t count = kiln__recorded_numbers(record, reps);
    return kiln__tile(a, reps, count, out, err);
}

/* ---- padding ----------------------------------------------------------------------------------------------------- */

/* Sizes before and after every axis. */
struct margins {
    int low[KILN_MAX_NDIM], high[KILN_MAX_NDIM];
};

static kiln_status find_margins(const struct kiln_array *a, const struct kiln_padding *padding, struct margins *out,
                                kiln_error *err)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < padding->count; i++) {
        int axis = 0, low = padding->low[i], high = padding->high[i];
        kiln_status status = kiln__plain_axis("pad", padding->axes[i], a->ndim, &axis, err);
        if (status) return status;
        if (low < 0 || high < 0 || (int64_t)a->dims[axis] + low + high > INT_MAX)
            return kiln__fail(err, KILN_INVALID,
                              "[pad] Axis %d of size %d can't get %d elements before and %d after it.", axis,
                              a->dims[axis], low, high);
        out->low[axis] = low;
        out->high[axis] = high;
    }
    return KILN_OK;
}

static kiln_status pad_constant(struct kiln_array *a, const struct margins *margins, struct kiln_array *value,
                                struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM], stop[KILN_MAX_NDIM], steps[KILN_MAX_NDIM];
    if (!value || value->size != 1)
        return kiln__fail(err, KILN_INVALID, "[pad] The padding value must be one element, got %lld.",
                          value ? (long long)value->size : 0LL);
    for (size_t i = 0; i < a->ndim; i++) {
        dims[i] = margins->low[i] + a->dims[i] + margins->high[i];
        stop[i] = margins->low[i] + a->dims[i];
        steps[i] = 1;
    }
    struct kiln_array *scalar = NULL, *base = NULL;
    kiln_status status = kiln__reshape(value, NULL, 0, &scalar, err);
    if (!status) status = kiln__full(dims, a->ndim, (enum kiln_dtype)a->dtype, scalar, &base, err);
    if (!status) status = kiln__slice_update(KILN_MERGE_SET, base, a, margins->low, stop, steps, out, err);
    kiln__array_unref(scalar);
    kiln__array_unref(base);
    return status;
}

/* The first or last elements of an axis, `count` times. */
static struct kiln_array *edge(struct kiln_expression *e, struct kiln_array *a, int axis, int from, int count)
{
    int dims[KILN_MAX_NDIM];
    memcpy(dims, a->dims, a->ndim * sizeof *dims);
    dims[axis] = count;
    return kiln__e_broadcast(e, kiln__e_cut(e, a, axis, from, from + 1, 1), dims, a->ndim);
}

static struct kiln_array *pad_edge_axis(struct kiln_expression *e, struct kiln_array *a, int axis, int low, int high)
{
    if (!a || (low == 0 && high == 0)) return a;
    struct kiln_array *parts[3];
    size_t count = 0;
    if (low) parts[count++] = edge(e, a, axis, 0, low);
    parts[count++] = a;
    if (high) parts[count++] = edge(e, a, axis, a->dims[axis] - 1, high);
    return kiln__e_apply(e, KILN_OP_CONCATENATE, parts, count, (int64_t[]){axis}, 1);
}

static kiln_status pad_edge(struct kiln_array *a, const struct margins *margins, struct kiln_array **out,
                            kiln_error *err)
{
    struct kiln_array *value = kiln__array_ref(a), *next = NULL;
    kiln_status status = KILN_OK;
    for (int i = 0; !status && i < a->ndim; i++) {
        if (a->dims[i] == 0 && (margins->low[i] || margins->high[i])) {
            status = kiln__fail(err, KILN_INVALID, "[pad] Axis %d is empty and has no edge.", i);
            break;
        }
        struct kiln_expression e = {.err = err};
        status = kiln__e_end(&e, pad_edge_axis(&e, value, i, margins->low[i], margins->high[i]), &next);
        if (status) break;
        kiln__array_unref(value);
        value = next;
    }
    if (status)
        kiln__array_unref(value);
    else
        *out = value;
    return status;
}

static kiln_status record_pad(struct kiln_array *a, const struct kiln_padding *padding, bool is_edge,
                              struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_PAD);
    kiln__record_array(&record, a);
    kiln__record_array(&record, padding->value);
    kiln__record_numbers(&record, padding->axes, padding->count);
    kiln__record_numbers(&record, padding->low, padding->count);
    kiln__record_numbers(&record, padding->high, padding->count);
    kiln__record_number(&record, is_edge);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_pad(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int axes[KILN_RECORD_NUMBERS], low[KILN_RECORD_NUMBERS], high[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    struct kiln_padding padding = {.axes = axes, .low = low, .high = high, .value = kiln__recorded_array(record)};
    kiln__recorded_numbers(record, axes);
    kiln__recorded_numbers(record, low);
    padding.count = kiln__recorded_numbers(record, high);
    padding.mode = kiln__recorded_number(record) ? "edge" : "constant";
    return kiln__pad(a, &padding, out, err);
}

kiln_status kiln__pad(struct kiln_array *a, const struct kiln_padding *padding, struct kiln_array **out,
                      kiln_error *err)
{
    struct margins margins;
    bool is_constant = strcmp(padding->mode, "constant") == 0, is_edge = strcmp(padding->mode, "edge") == 0;
    if (kiln__is_recorded(a) && (is_constant || is_edge)) return record_pad(a, padding, is_edge, out, err);
    kiln_status status = require(a, "pad", err);
    if (!status) status = find_margins(a, padding, &margins, err);
    if (status) return status;
    if (is_constant) return pad_constant(a, &margins, padding->value, out, err);
    if (is_edge) return pad_edge(a, &margins, out, err);
    return kiln__fail(err, KILN_INVALID, "[pad] The mode must be \"constant\" or \"edge\", got \"%.40s\".",
                      padding->mode);
}

/* ---- several results --------------------------------------------------------------------------------------------- */

/* After a failure nothing stays. */
static kiln_status all_or_none(kiln_status status, struct kiln_array **out, size_t count)
{
    for (size_t i = 0; status && i < count; i++) {
        kiln__array_unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

static void clear(struct kiln_array **out, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] = NULL;
}

static bool records_any(struct kiln_array *const *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kiln__is_recorded(arrays[i])) return true;
    return false;
}

/* The shape that all of them are broadcast to. */
static kiln_status join_shapes(struct kiln_array *const *arrays, size_t count, int *dims, size_t *ndim, kiln_error *err)
{
    kiln_status status = KILN_OK;
    *ndim = 0;
    for (size_t i = 0; !status && i < count; i++) {
        status = require(arrays[i], "broadcast_arrays", err);
        if (!status && kiln__broadcast_shapes(dims, *ndim, arrays[i]->dims, arrays[i]->ndim, dims, ndim, NULL)) {
            char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
            status = kiln__fail(err, KILN_INVALID, "[broadcast_arrays] Shapes %s and %s cannot be broadcast.",
                                kiln__shape_text(dims, *ndim, left),
                                kiln__shape_text(arrays[i]->dims, arrays[i]->ndim, right));
        }
    }
    return status;
}

static kiln_status record_broadcast_array(struct kiln_array *const *arrays, size_t count, size_t i,
                                          struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_BROADCAST_ARRAYS);
    kiln__record_arrays(&record, arrays, count);
    kiln__record_number(&record, (int64_t)i);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_broadcast_arrays(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    kiln_status status = join_shapes(record->arrays, record->array_count, dims, &ndim, err);
    if (status) return status;
    return kiln__broadcast_to(record->arrays[kiln__recorded_choice(record, (int64_t)record->array_count)], dims, ndim,
                              out, err);
}

kiln_status kiln__broadcast_arrays(struct kiln_array *const *arrays, size_t count, struct kiln_array **out,
                                   kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    bool records = records_any(arrays, count);
    clear(out, count);
    kiln_status status = join_shapes(arrays, count, dims, &ndim, err);
    for (size_t i = 0; !status && i < count; i++)
        status = records ? record_broadcast_array(arrays, count, i, &out[i], err)
                         : kiln__broadcast_to(arrays[i], dims, ndim, &out[i], err);
    return all_or_none(status, out, count);
}

/* Elements first to end - 1 of one axis. */
static kiln_status cut(struct kiln_array *a, int axis, int first, int end, struct kiln_array **out, kiln_error *err)
{
    int start[KILN_MAX_NDIM] = {0}, stop[KILN_MAX_NDIM], steps[KILN_MAX_NDIM];
    for (int i = 0; i < a->ndim; i++) stop[i] = a->dims[i], steps[i] = 1;
    start[axis] = first;
    stop[axis] = end;
    return kiln__slice(a, start, stop, steps, a->ndim, out, err);
}

static int plain_position(int position, int n)
{
    int64_t plain = position < 0 ? (int64_t)position + n : position;
    return plain < 0 ? 0 : plain > n ? n : (int)plain;
}

/* From one position to another; NULL: the beginning, the end. */
static kiln_status split_range(struct kiln_array *a, int axis, const int *from, const int *to, struct kiln_array **out,
                               kiln_error *err)
{
    int at = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_SPLIT_RANGE);
        kiln__record_array(&record, a);
        kiln__record_number(&record, axis);
        kiln__record_numbers(&record, from, from != NULL);
        kiln__record_numbers(&record, to, to != NULL);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "split", err);
    if (!status) status = kiln__plain_axis("split", axis, a->ndim, &at, err);
    if (status) return status;
    int first = from ? plain_position(*from, a->dims[at]) : 0;
    int end = to ? plain_position(*to, a->dims[at]) : a->dims[at];
    return cut(a, at, first, end > first ? end : first, out, err);
}

kiln_status kiln__replay_split_range(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int from[KILN_RECORD_NUMBERS], to[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    int axis = (int)kiln__recorded_number(record);
    bool has_from = kiln__recorded_numbers(record, from), has_to = kiln__recorded_numbers(record, to);
    return split_range(a, axis, has_from ? from : NULL, has_to ? to : NULL, out, err);
}

kiln_status kiln__split_at(struct kiln_array *a, const int *positions, size_t count, int axis, struct kiln_array **out,
                           kiln_error *err)
{
    kiln_status status = KILN_OK;
    clear(out, count);
    for (size_t i = 0; !status && i < count; i++)
        status = split_range(a, axis, i ? &positions[i - 1] : NULL, i + 1 < count ? &positions[i] : NULL, &out[i], err);
    return all_or_none(status, out, count);
}

/* Part i of `count` equal ones. */
static kiln_status split_part(struct kiln_array *a, int count, int axis, int i, struct kiln_array **out,
                              kiln_error *err)
{
    int at = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_SPLIT_PART);
        kiln__record_array(&record, a);
        kiln__record_numbers(&record, (int[]){count, axis, i}, 3);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "split", err);
    if (!status) status = kiln__plain_axis("split", axis, a->ndim, &at, err);
    if (status) return status;
    if (count <= 0 || a->dims[at] % count)
        return kiln__fail(err, KILN_INVALID, "[split] Axis %d of size %d can't be split into %d equal parts.", at,
                          a->dims[at], count);
    int length = a->dims[at] / count;
    return cut(a, at, i * length, (i + 1) * length, out, err);
}

kiln_status kiln__replay_split_part(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int numbers[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    kiln__recorded_numbers(record, numbers);
    return split_part(a, numbers[0], numbers[1], numbers[2], out, err);
}

kiln_status kiln__split(struct kiln_array *a, int count, int axis, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *none = NULL;
    kiln_status status = KILN_OK;
    if (count <= 0) return split_part(a, count, axis, 0, &none, err); /* says what is wrong */
    clear(out, (size_t)count);
    for (int i = 0; !status && i < count; i++) status = split_part(a, count, axis, i, &out[i], err);
    return all_or_none(status, out, (size_t)count);
}

static kiln_status record_meshgrid(struct kiln_array *const *arrays, size_t count, bool sparse, bool is_xy, size_t i,
                                   struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_MESHGRID);
    kiln__record_arrays(&record, arrays, count);
    kiln__record_numbers(&record, (int[]){sparse, is_xy, (int)i}, 3);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_meshgrid(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int numbers[KILN_RECORD_NUMBERS];
    struct kiln_array *grid[KILN_MAX_NDIM] = {NULL};
    size_t count = record->array_count;
    kiln__recorded_numbers(record, numbers);
    if (numbers[2] < 0 || (size_t)numbers[2] >= count) {
        record->is_damaged = true;
        numbers[2] = 0;
    }
    kiln_status status = kiln__meshgrid(record->arrays, count, numbers[0], numbers[1] ? "xy" : "ij", grid, err);
    if (!status) *out = kiln__array_ref(grid[numbers[2]]);
    for (size_t i = 0; i < count; i++) kiln__array_unref(grid[i]);
    return status;
}

/* Array i lies along axis i; with "xy" the first two change places. */
kiln_status kiln__meshgrid(struct kiln_array *const *arrays, size_t count, bool sparse, const char *indexing,
                           struct kiln_array **out, kiln_error *err)
{
    bool swaps = strcmp(indexing, "xy") == 0 && count > 1;
    kiln_status status = KILN_OK;
    clear(out, count);
    if (strcmp(indexing, "xy") != 0 && strcmp(indexing, "ij") != 0)
        return kiln__fail(err, KILN_INVALID, "[meshgrid] The indexing must be \"xy\" or \"ij\", got \"%.40s\".",
                          indexing);
    if (count > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[meshgrid] Expected at most %d arrays, got %zu.", KILN_MAX_NDIM, count);
    if (records_any(arrays, count)) {
        for (size_t i = 0; !status && i < count; i++)
            status = record_meshgrid(arrays, count, sparse, strcmp(indexing, "xy") == 0, i, &out[i], err);
        return all_or_none(status, out, count);
    }
    for (size_t i = 0; !status && i < count; i++) {
        int dims[KILN_MAX_NDIM];
        status = require(arrays[i], "meshgrid", err);
        if (!status && arrays[i]->size > INT_MAX)
            status = kiln__fail(err, KILN_INVALID, "[meshgrid] Array %zu is too large for one axis.", i);
        if (status) break;
        for (size_t k = 0; k < count; k++) dims[k] = 1;
        dims[swaps && i < 2 ? 1 - i : i] = (int)arrays[i]->size;
        status = kiln__reshape(arrays[i], dims, count, &out[i], err);
    }
    if (!status && !sparse && count) {
        struct kiln_array *full[KILN_MAX_NDIM];
        status = kiln__broadcast_arrays(out, count, full, err);
        for (size_t i = 0; !status && i < count; i++) {
            kiln__array_unref(out[i]);
            out[i] = full[i];
        }
    }
    return all_or_none(status, out, count);
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

kiln_status kiln__concatenate_flat(struct kiln_array *const *arrays, size_t count, struct kiln_array **out,
                                   kiln_error *err)
{
    kiln_status status = KILN_OK;
    struct kiln_array **flat = calloc(count + 1, sizeof *flat);
    if (!flat) return kiln__no_memory(err, "the arrays of a concatenation");
    for (size_t i = 0; i < count && !status; i++) {
        status = require(arrays[i], "concatenate", err);
        if (!status) status = kiln__flatten(arrays[i], 0, -1, &flat[i], err);
    }
    if (!status) status = kiln__concatenate(flat, count, 0, out, err);
    for (size_t i = 0; i < count; i++) kiln__array_unref(flat[i]);
    free(flat);
    return status;
}
