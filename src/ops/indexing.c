/*
 * indexing.c - see indexing.h: normalises axes, broadcasts indices and updates, and casts updates, before the
 * operations of ops.def.
 */
#include "ops/indexing.h"

#include <limits.h>
#include <string.h>

#include "ops/reductions.h" /* kiln__plain_axis */
#include "ops/replay.h"

static kiln_status require(const char *name, const struct kiln_array *a, const struct kiln_array *b, kiln_error *err)
{
    return a && b ? KILN_OK : kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
}

kiln_status kiln__take_axis(struct kiln_array *a, struct kiln_array *indices, int axis, struct kiln_array **out,
                            kiln_error *err)
{
    int plain = 0;
    kiln_status status = require("take", a, indices, err);
    if (!status) status = kiln__plain_axis("take", axis, a->ndim, &plain, err);
    if (status) return status;
    return kiln__apply(KILN_OP_TAKE, (struct kiln_array *[]){a, indices}, 2, (int64_t[]){plain}, 1, out, err);
}

kiln_status kiln__take(struct kiln_array *a, struct kiln_array *indices, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *flat = NULL;
    kiln_status status = require("take", a, indices, err);
    if (!status) status = kiln__reshape(a, (int[]){-1}, 1, &flat, err);
    if (!status) status = kiln__take_axis(flat, indices, 0, out, err);
    kiln__array_unref(flat);
    return status;
}

/* ---- along an axis ----------------------------------------------------------------------------------------------- */

static kiln_status check_ranks(const char *name, const struct kiln_array *a, const struct kiln_array *indices,
                               kiln_error *err)
{
    if (a->ndim == indices->ndim) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] Indices of %d dimensions do not match an array of %d dimensions.", name,
                      indices->ndim, a->ndim);
}

/* The dims of `array`, broadcast with those of `other` outside of the axis. */
static kiln_status dims_along(const char *name, const struct kiln_array *array, const struct kiln_array *other,
                              int axis, int *dims, kiln_error *err)
{
    for (int i = 0; i < array->ndim; i++) {
        dims[i] = array->dims[i];
        if (i == axis || dims[i] == other->dims[i] || other->dims[i] == 1) continue;
        if (dims[i] != 1) {
            char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
            return kiln__fail(err, KILN_INVALID, "[%s] Shapes %s and %s cannot be broadcast outside of axis %d.", name,
                              kiln__shape_text(array->dims, array->ndim, left),
                              kiln__shape_text(other->dims, other->ndim, right), axis);
        }
        dims[i] = other->dims[i];
    }
    return KILN_OK;
}

kiln_status kiln__take_along_axis(struct kiln_array *a, struct kiln_array *indices, int axis, struct kiln_array **out,
                                  kiln_error *err)
{
    static const char name[] = "take_along_axis";
    int plain = 0, a_dims[KILN_MAX_NDIM], dims[KILN_MAX_NDIM];
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a) || kiln__is_recorded(indices)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_TAKE_ALONG_AXIS);
        kiln__record_array(&record, a);
        kiln__record_array(&record, indices);
        kiln__record_number(&record, axis);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(name, a, indices, err);
    if (!status) status = check_ranks(name, a, indices, err);
    if (!status) status = kiln__plain_axis(name, axis, a->ndim, &plain, err);
    if (!status) status = dims_along(name, a, indices, plain, a_dims, err);
    if (!status) status = dims_along(name, indices, a, plain, dims, err);
    if (status) return status;
    struct kiln_array *inputs[2] = {kiln__e_broadcast(&e, a, a_dims, a->ndim),
                                    kiln__e_broadcast(&e, indices, dims, a->ndim)};
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_TAKE_ALONG, inputs, 2, (int64_t[]){plain}, 1), out);
}

kiln_status kiln__replay_take_along_axis(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record), *indices = kiln__recorded_array(record);
    return kiln__take_along_axis(a, indices, (int)kiln__recorded_number(record), out, err);
}

kiln_status kiln__put_along_axis(enum kiln_merge_mode mode, struct kiln_array *a, struct kiln_array *indices,
                                 struct kiln_array *values, int axis, struct kiln_array **out, kiln_error *err)
{
    const char *name = mode == KILN_MERGE_SET ? "put_along_axis" : "scatter_add_axis";
    int plain = 0, dims[KILN_MAX_NDIM];
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a) || kiln__is_recorded(indices) || kiln__is_recorded(values)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_PUT_ALONG_AXIS);
        kiln__record_array(&record, a);
        kiln__record_array(&record, indices);
        kiln__record_array(&record, values);
        kiln__record_number(&record, mode);
        kiln__record_number(&record, axis);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(name, a, indices, err);
    if (!status) status = require(name, a, values, err);
    if (!status) status = check_ranks(name, a, indices, err);
    if (!status) status = kiln__plain_axis(name, axis, a->ndim, &plain, err);
    if (!status) status = dims_along(name, indices, a, plain, dims, err);
    if (status) return status;
    struct kiln_array *updates = kiln__e_values(&e, kiln__e_astype(&e, values, a->dtype), dims, a->ndim);
    struct kiln_array *inputs[3] = {a, kiln__e_broadcast(&e, indices, dims, a->ndim), updates};
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_PUT_ALONG, inputs, 3, (int64_t[]){mode, plain}, 2), out);
}

kiln_status kiln__replay_put_along_axis(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record), *indices = kiln__recorded_array(record);
    struct kiln_array *values = kiln__recorded_array(record);
    enum kiln_merge_mode mode = (enum kiln_merge_mode)kiln__recorded_choice(record, KILN_MERGE_MODES);
    return kiln__put_along_axis(mode, a, indices, values, (int)kiln__recorded_number(record), out, err);
}

/* ---- gather and scatter ------------------------------------------------------------------------------------------ */

static kiln_status check_list(const char *name, const struct kiln_array *a, struct kiln_index_list list,
                              kiln_error *err)
{
    kiln_status status = require(name, a, a, err);
    if (!status && list.count > a->ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] Got %zu index arrays for an array of %d dimensions.", name,
                          list.count, a->ndim);
    for (size_t i = 0; !status && i < list.count; i++) status = require(name, list.indices[i], a, err);
    return status;
}

/* Broadcasts all indices to one shape, behind `inputs`; plain axes go to `axes`. */
static kiln_status add_indices(struct kiln_expression *e, const char *name, const struct kiln_array *a,
                               struct kiln_index_list list, struct kiln_array **inputs, int64_t *axes)
{
    int dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    kiln_status status = KILN_OK;
    for (size_t i = 0; !status && i < list.count; i++) {
        int plain = 0;
        const struct kiln_array *one = list.indices[i];
        status = kiln__plain_axis(name, list.axes[i], a->ndim, &plain, e->err);
        if (!status) status = kiln__broadcast_shapes(dims, ndim, one->dims, one->ndim, dims, &ndim, e->err);
        axes[i] = plain;
    }
    for (size_t i = 0; !status && i < list.count; i++) {
        inputs[i] = kiln__e_broadcast(e, list.indices[i], dims, ndim);
        status = e->status;
    }
    return status;
}

static bool records_any(const struct kiln_array *a, const struct kiln_array *b, struct kiln_index_list list)
{
    bool records = kiln__is_recorded(a) || kiln__is_recorded(b);
    for (size_t i = 0; i < list.count && !records; i++) records = kiln__is_recorded(list.indices[i]);
    return records;
}

/* Axes, then the index arrays; as many as the array can have axes, or the record is refused anyway. */
static void record_list(struct kiln_record *record, struct kiln_index_list list)
{
    kiln__record_numbers(record, list.axes, list.count);
    for (size_t i = 0; i < list.count && !record->is_too_long; i++) kiln__record_array(record, list.indices[i]);
}

struct recorded_list {
    struct kiln_index_list list; /* points to the others */
    int axes[KILN_RECORD_NUMBERS];
    struct kiln_array *indices[KILN_RECORD_ARRAYS];
};

static void read_list(struct kiln_record *record, struct recorded_list *out)
{
    size_t count = kiln__recorded_numbers(record, out->axes);
    if (count > KILN_RECORD_ARRAYS) {
        record->is_damaged = true;
        count = KILN_RECORD_ARRAYS;
    }
    for (size_t i = 0; i < count; i++) out->indices[i] = kiln__recorded_array(record);
    out->list = (struct kiln_index_list){out->indices, out->axes, count};
}

kiln_status kiln__gather(struct kiln_array *a, struct kiln_index_list list, const int *slice_sizes, size_t size_count,
                         struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *inputs[1 + KILN_MAX_NDIM] = {a};
    int64_t attrs[2 * KILN_MAX_NDIM];
    struct kiln_expression e = {.err = err};
    if (records_any(a, NULL, list)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_GATHER);
        kiln__record_array(&record, a);
        record_list(&record, list);
        kiln__record_numbers(&record, slice_sizes, size_count);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = check_list("gather", a, list, err);
    if (status) return status;
    if (size_count != a->ndim)
        return kiln__fail(err, KILN_INVALID, "[gather] Expected %d slice sizes, one per dimension, got %zu.", a->ndim,
                          size_count);
    e.status = add_indices(&e, "gather", a, list, inputs + 1, attrs);
    for (size_t i = 0; i < size_count; i++) attrs[list.count + i] = slice_sizes[i];
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_GATHER, inputs, 1 + list.count, attrs, list.count + size_count),
                       out);
}

kiln_status kiln__replay_gather(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int sizes[KILN_RECORD_NUMBERS];
    struct recorded_list recorded;
    struct kiln_array *a = kiln__recorded_array(record);
    read_list(record, &recorded);
    size_t count = kiln__recorded_numbers(record, sizes);
    return kiln__gather(a, recorded.list, sizes, count, out, err);
}

kiln_status kiln__scatter(enum kiln_merge_mode mode, struct kiln_array *a, struct kiln_index_list list,
                          struct kiln_array *updates, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *inputs[2 + KILN_MAX_NDIM] = {a};
    int64_t attrs[1 + KILN_MAX_NDIM] = {mode};
    struct kiln_expression e = {.err = err};
    if (records_any(a, updates, list)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_SCATTER);
        kiln__record_array(&record, a);
        kiln__record_array(&record, updates);
        kiln__record_number(&record, mode);
        record_list(&record, list);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = check_list("scatter", a, list, err);
    if (!status) status = require("scatter", a, updates, err);
    if (status) return status;
    inputs[1] = kiln__e_astype(&e, updates, a->dtype);
    if (!e.status) e.status = add_indices(&e, "scatter", a, list, inputs + 2, attrs + 1);
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_SCATTER, inputs, 2 + list.count, attrs, 1 + list.count), out);
}

kiln_status kiln__replay_scatter(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_list recorded;
    struct kiln_array *a = kiln__recorded_array(record), *updates = kiln__recorded_array(record);
    enum kiln_merge_mode mode = (enum kiln_merge_mode)kiln__recorded_choice(record, KILN_MERGE_MODES);
    read_list(record, &recorded);
    return kiln__scatter(mode, a, recorded.list, updates, out, err);
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

kiln_status kiln__slice_update(enum kiln_merge_mode mode, struct kiln_array *a, struct kiln_array *update,
                               const int *start, const int *stop, const int *strides, struct kiln_array **out,
                               kiln_error *err)
{
    int64_t attrs[1 + 3 * KILN_MAX_NDIM] = {mode};
    struct kiln_array *cut = NULL;
    struct kiln_expression e = {.err = err};
    if (a && (kiln__is_recorded(a) || kiln__is_recorded(update))) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_SLICE_UPDATE);
        kiln__record_array(&record, a);
        kiln__record_array(&record, update);
        kiln__record_number(&record, mode);
        kiln__record_numbers(&record, start, a->ndim);
        kiln__record_numbers(&record, stop, a->ndim);
        kiln__record_numbers(&record, strides, a->ndim);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require("slice_update", a, update, err);
    if (status) return status;
    status = kiln__slice(a, start, stop, strides, a->ndim, &cut, err); /* says what the plain slice is */
    cut = kiln__e_hold(&e, status, cut);
    if (cut) {
        const struct kiln_node *node = atomic_load_explicit(&cut->node, memory_order_acquire);
        memcpy(attrs + 1, node->attrs, node->attr_count * sizeof *attrs);
        update = kiln__e_values(&e, kiln__e_astype(&e, update, a->dtype), cut->dims, cut->ndim);
    }
    struct kiln_array *inputs[2] = {a, cut ? update : NULL};
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_SLICE_UPDATE, inputs, 2, attrs, 1 + 3 * (size_t)a->ndim), out);
}

kiln_status kiln__replay_slice_update(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int start[KILN_RECORD_NUMBERS], stop[KILN_RECORD_NUMBERS], strides[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record), *update = kiln__recorded_array(record);
    enum kiln_merge_mode mode = (enum kiln_merge_mode)kiln__recorded_choice(record, KILN_MERGE_MODES);
    kiln__recorded_numbers(record, start);
    kiln__recorded_numbers(record, stop);
    kiln__recorded_numbers(record, strides);
    return kiln__slice_update(mode, a, update, start, stop, strides, out, err);
}

/* ---- slices whose starts are an array ---------------------------------------------------------------------------- */

/* Plain axes to `out`, which has room for KILN_MAX_NDIM. */
static kiln_status plain_axes(const char *name, const struct kiln_array *a, const int *axes, size_t count, int64_t *out,
                              kiln_error *err)
{
    kiln_status status = KILN_OK;
    if (count > a->ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] Got %zu axes for an array of %d dimensions.", name, count, a->ndim);
    for (size_t i = 0; !status && i < count; i++) {
        int plain = 0;
        status = kiln__plain_axis(name, axes[i], a->ndim, &plain, err);
        out[i] = plain;
    }
    return status;
}

kiln_status kiln__slice_dynamic(struct kiln_array *a, struct kiln_array *start, const int *axes, size_t axis_count,
                                const int *slice_sizes, size_t size_count, struct kiln_array **out, kiln_error *err)
{
    static const char name[] = "slice_dynamic";
    int64_t attrs[2 * KILN_MAX_NDIM];
    kiln_status status = require(name, a, start, err);
    if (!status) status = plain_axes(name, a, axes, axis_count, attrs, err);
    if (status) return status;
    if (size_count != a->ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] Expected %d slice sizes, one per dimension, got %zu.", name, a->ndim,
                          size_count);
    for (size_t i = 0; i < size_count; i++) attrs[axis_count + i] = slice_sizes[i];
    return kiln__apply(KILN_OP_SLICE_DYNAMIC, (struct kiln_array *[]){a, start}, 2, attrs, axis_count + size_count, out,
                       err);
}

/* The shape that the update is broadcast to: its own, behind axes of `a` that it lacks. */
static void update_dims(const struct kiln_array *a, const struct kiln_array *update, const int64_t *axes, size_t count,
                        int *dims)
{
    size_t missing = (size_t)(a->ndim - update->ndim);
    for (size_t i = 0; i < a->ndim; i++) dims[i] = i < missing ? a->dims[i] : update->dims[i - missing];
    for (size_t i = 0; i < count; i++)
        if ((size_t)axes[i] < missing) dims[axes[i]] = 1;
}

static kiln_status record_update_dynamic(struct kiln_array *a, struct kiln_array *update, struct kiln_array *start,
                                         const int *axes, size_t axis_count, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_SLICE_UPDATE_DYNAMIC);
    kiln__record_array(&record, a);
    kiln__record_array(&record, update);
    kiln__record_array(&record, start);
    kiln__record_numbers(&record, axes, axis_count);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_slice_update_dynamic(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int axes[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record), *update = kiln__recorded_array(record);
    struct kiln_array *start = kiln__recorded_array(record);
    size_t count = kiln__recorded_numbers(record, axes);
    return kiln__slice_update_dynamic(a, update, start, axes, count, out, err);
}

kiln_status kiln__slice_update_dynamic(struct kiln_array *a, struct kiln_array *update, struct kiln_array *start,
                                       const int *axes, size_t axis_count, struct kiln_array **out, kiln_error *err)
{
    static const char name[] = "slice_update_dynamic";
    int64_t attrs[KILN_MAX_NDIM];
    int dims[KILN_MAX_NDIM];
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a) || kiln__is_recorded(update) || kiln__is_recorded(start))
        return record_update_dynamic(a, update, start, axes, axis_count, out, err);
    kiln_status status = require(name, a, update, err);
    if (!status) status = require(name, a, start, err);
    if (!status) status = plain_axes(name, a, axes, axis_count, attrs, err);
    if (status) return status;
    if (update->ndim > a->ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] An update of %d dimensions does not fit an array of %d.", name,
                          update->ndim, a->ndim);
    update_dims(a, update, attrs, axis_count, dims);
    struct kiln_array *inputs[3] = {a, kiln__e_broadcast(&e, kiln__e_astype(&e, update, a->dtype), dims, a->ndim),
                                    start};
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_UPDATE_DYNAMIC, inputs, 3, attrs, axis_count), out);
}

/* ---- through a mask ---------------------------------------------------------------------------------------------- */

static kiln_status check_mask(const struct kiln_array *a, const struct kiln_array *mask, kiln_error *err)
{
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (mask->dtype != KILN_BOOL)
        return kiln__fail(err, KILN_INVALID, "[masked_scatter] The mask has to be bool, got %s.",
                          kiln__dtypes[mask->dtype].name);
    if (mask->ndim == 0) return kiln__fail(err, KILN_INVALID, "[masked_scatter] Scalar masks are not supported.");
    if (mask->ndim <= a->ndim && memcmp(mask->dims, a->dims, mask->ndim * sizeof *a->dims) == 0) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[masked_scatter] A mask of shape %s does not have the first dimensions of an array of shape %s.",
                      kiln__shape_text(mask->dims, mask->ndim, left), kiln__shape_text(a->dims, a->ndim, right));
}

/* For each element of the mask how many true ones there are before it, and 0 where it is not true itself. */
static struct kiln_array *count_before(struct kiln_expression *e, struct kiln_array *mask, int first)
{
    struct kiln_array *flat = kiln__e_reshape(e, mask, (int[]){-1}, 1), *counts = NULL;
    if (!flat) return NULL;
    kiln_status status = kiln__cumulative(KILN_OP_CUMSUM, flat, 0, false, false, &counts, e->err);
    counts = kiln__e_hold(e, status, counts);
    counts = kiln__e_binary(e, KILN_OP_ADD, counts, kiln__e_number(e, first, KILN_INT32));
    return kiln__e_select(e, flat, counts, kiln__e_number(e, 0, KILN_INT32));
}

/* An empty source becomes one zero, which no element of the mask may ask for. */
static struct kiln_array *spread_source(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *mask,
                                        struct kiln_array *source)
{
    struct kiln_array *flat = kiln__e_reshape(e, source, (int[]){(int)source->size}, 1);
    int first = source->size == 0;
    if (first) flat = kiln__e_reshape(e, kiln__e_number(e, 0, KILN_INT32), (int[]){1}, 1);
    struct kiln_array *places[] = {kiln__e_astype(e, flat, (enum kiln_dtype)a->dtype), count_before(e, mask, first)};
    struct kiln_array *taken = kiln__e_apply(e, KILN_OP_TAKE, places, 2, (int64_t[]){0}, 1);
    return kiln__e_reshape(e, taken, a->dims, a->ndim);
}

kiln_status kiln__replay_masked_scatter(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record), *mask = kiln__recorded_array(record);
    return kiln__masked_scatter(a, mask, kiln__recorded_array(record), out, err);
}

kiln_status kiln__masked_scatter(struct kiln_array *a, struct kiln_array *mask, struct kiln_array *source,
                                 struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = require("masked_scatter", a, mask, err);
    if (!status) status = require("masked_scatter", a, source, err);
    if (status) return status;
    if (kiln__is_recorded(a) || kiln__is_recorded(mask) || kiln__is_recorded(source)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_MASKED_SCATTER);
        kiln__record_array(&record, a);
        kiln__record_array(&record, mask);
        kiln__record_array(&record, source);
        return kiln__record_end(&record, out, err);
    }
    status = check_mask(a, mask, err);
    if (!status && (source->size > INT_MAX || a->size > INT_MAX))
        status = kiln__fail(err, KILN_INVALID, "[masked_scatter] More than %d elements are not supported.", INT_MAX);
    if (status) return status;
    struct kiln_array *wide = mask;
    for (int i = mask->ndim; i < a->ndim; i++)
        wide = kiln__e_apply(&e, KILN_OP_EXPAND_DIMS, &wide, 1, (int64_t[]){i}, 1);
    wide = kiln__e_broadcast(&e, wide, a->dims, a->ndim);
    struct kiln_array *values =
        source->ndim == 0 ? kiln__e_astype(&e, source, (enum kiln_dtype)a->dtype) : spread_source(&e, a, wide, source);
    return kiln__e_end(&e, kiln__e_select(&e, wide, values, a), out);
}
