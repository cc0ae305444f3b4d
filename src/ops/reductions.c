/*
 * reductions.c - see reductions.h.
 *
 * Axes become a set, one bit each. Several axes are moved to the end and merged, so that one kernel reduces them all in
 * an order that depends on their number of elements only; merging is a view unless the axes lie apart in memory.
 */
#include "ops/reductions.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "graph/marking.h"
#include "ops/replay.h"
#include "ops/row_layer.h"

static kiln_status axes_to_set(const char *name, const struct kiln_array *a, struct kiln_axes axes, uint64_t *out,
                               kiln_error *err)
{
    uint64_t set = 0;
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (axes.count == KILN_ALL_AXES) {
        *out = (UINT64_C(1) << a->ndim) - 1;
        return KILN_OK;
    }
    for (size_t i = 0; i < axes.count; i++) {
        int axis = 0;
        kiln_status status = kiln__plain_axis(name, axes.axes[i], a->ndim, &axis, err);
        if (status) return status;
        if (set >> axis & 1) return kiln__fail(err, KILN_INVALID, "[%s] Axis %d appears twice.", name, axes.axes[i]);
        set |= UINT64_C(1) << axis;
    }
    *out = set;
    return KILN_OK;
}

static bool has(uint64_t set, int axis)
{
    return set >> axis & 1;
}

static int64_t elements_of(const struct kiln_array *a, uint64_t set)
{
    int64_t count = 1;
    for (int i = 0; i < a->ndim; i++)
        if (has(set, i)) count *= a->dims[i];
    return count;
}

/* ---- reducing a set of axes ----------------------------------------------------------------------------------- */

static struct kiln_array *reduce_one(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a, int axis,
                                     bool keepdims)
{
    return kiln__e_apply(e, op, &a, 1, (int64_t[]){axis, keepdims}, 2);
}

struct kiln_array *kiln__e_reduce_axis(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a, int axis)
{
    return reduce_one(e, op, a, axis, true);
}

/* A reduction over no axes: of one element each, which gives the dtype of the reduction; a sum or product is `a`. */
static struct kiln_array *reduce_none(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a)
{
    if (op == KILN_OP_SUM || op == KILN_OP_PROD) return a;
    struct kiln_array *row = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &a, 1, (int64_t[]){0}, 1);
    return reduce_one(e, op, row, 0, false);
}

/* Moves the axes of the set to the end and merges them into one. */
static struct kiln_array *merge_axes(struct kiln_expression *e, struct kiln_array *a, uint64_t set)
{
    int64_t order[KILN_MAX_NDIM];
    int dims[KILN_MAX_NDIM + 1];
    size_t kept = 0, next;
    for (int i = 0; i < a->ndim; i++) {
        if (has(set, i)) continue;
        dims[kept] = a->dims[i];
        order[kept++] = i;
    }
    next = kept;
    for (int i = 0; i < a->ndim; i++)
        if (has(set, i)) order[next++] = i;
    dims[kept] = (int)elements_of(a, set);
    return kiln__e_reshape(e, kiln__e_transpose(e, a, order), dims, kept + 1);
}

static struct kiln_array *reduce_merged(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a, uint64_t set)
{
    struct kiln_array *merged = merge_axes(e, a, set);
    return merged ? reduce_one(e, op, merged, merged->ndim - 1, false) : NULL;
}

/* One axis after the other, the last one first; only if they have too many elements for one axis. */
static struct kiln_array *reduce_apart(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a, uint64_t set)
{
    int ndim = a->ndim;
    for (int i = ndim; i-- > 0;)
        if (has(set, i)) a = reduce_one(e, op, a, i, false);
    return a;
}

static struct kiln_array *keep_axes(struct kiln_expression *e, struct kiln_array *reduced, const struct kiln_array *a,
                                    uint64_t set)
{
    int dims[KILN_MAX_NDIM];
    for (int i = 0; i < a->ndim; i++) dims[i] = has(set, i) ? 1 : a->dims[i];
    return kiln__e_reshape(e, reduced, dims, a->ndim);
}

static struct kiln_array *reduce_set(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a, uint64_t set,
                                     bool keepdims)
{
    struct kiln_array *reduced;
    if (!a || e->status) return NULL;
    if (set == 0) return reduce_none(e, op, a);
    if ((set & (set - 1)) == 0) return reduce_one(e, op, a, __builtin_ctzll(set), keepdims);
    reduced = elements_of(a, set) <= INT_MAX ? reduce_merged(e, op, a, set) : reduce_apart(e, op, a, set);
    return keepdims ? keep_axes(e, reduced, a, set) : reduced;
}

/* A record about one array, a number and axes. */
static struct kiln_record begin_record(enum kiln_deferred op, int number, struct kiln_array *a, struct kiln_axes axes)
{
    struct kiln_record record = kiln__record_begin(op);
    bool all = axes.count == KILN_ALL_AXES;
    kiln__record_number(&record, number);
    kiln__record_array(&record, a);
    kiln__record_number(&record, all);
    kiln__record_numbers(&record, axes.axes, all ? 0 : axes.count);
    kiln__record_number(&record, axes.keepdims);
    return record;
}

static kiln_status record_axes(enum kiln_deferred op, int number, struct kiln_array *a, struct kiln_axes axes,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = begin_record(op, number, a, axes);
    return kiln__record_end(&record, out, err);
}

struct recorded_axes {
    struct kiln_array *a;
    struct kiln_axes axes; /* points to `list` */
    int list[KILN_RECORD_NUMBERS];
};

/* Reads it; returns the number. */
static int read_axes(struct kiln_record *record, struct recorded_axes *recorded)
{
    int number = (int)kiln__recorded_number(record);
    recorded->a = kiln__recorded_array(record);
    bool all = kiln__recorded_number(record);
    size_t count = kiln__recorded_numbers(record, recorded->list);
    recorded->axes = (struct kiln_axes){recorded->list, all ? KILN_ALL_AXES : count, kiln__recorded_number(record)};
    return number;
}

kiln_status kiln__replay_reduce(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    int op = read_axes(record, &recorded);
    if (op < 0 || op >= KILN_OP_COUNT || kiln__ops[op].kind != KILN_OP_REDUCE)
        record->is_damaged = true, op = KILN_OP_SUM;
    return kiln__reduce((enum kiln_op)op, recorded.a, recorded.axes, out, err);
}

kiln_status kiln__reduce(enum kiln_op op, struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out,
                         kiln_error *err)
{
    uint64_t set = 0;
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_REDUCE, op, a, axes, out, err);
    kiln_status status = axes_to_set(kiln__ops[op].name, a, axes, &set, err);
    return status ? status : kiln__e_end(&e, reduce_set(&e, op, a, set, axes.keepdims), out);
}

/* ---- averages ------------------------------------------------------------------------------------------------- */

static enum kiln_dtype at_least_float(enum kiln_dtype dtype)
{
    return kiln__dtypes[dtype].kind < KILN_KIND_FLOAT ? KILN_FLOAT32 : dtype;
}

/* The dtype to compute in: float32 for 16-bit floats and integers. */
static enum kiln_dtype wide_dtype(enum kiln_dtype dtype)
{
    bool is_narrow = dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
    return is_narrow ? KILN_FLOAT32 : at_least_float(dtype);
}

static struct kiln_array *divide_by(struct kiln_expression *e, struct kiln_array *a, int64_t count)
{
    if (!a) return NULL;
    return kiln__e_binary(e, KILN_OP_DIVIDE, a, kiln__e_number(e, (double)count, a->dtype));
}

static struct kiln_array *mean_of(struct kiln_expression *e, struct kiln_array *wide, uint64_t set, bool keepdims)
{
    if (!wide) return NULL;
    return divide_by(e, reduce_set(e, KILN_OP_SUM, wide, set, keepdims), elements_of(wide, set));
}

kiln_status kiln__replay_mean(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    read_axes(record, &recorded);
    return kiln__mean(recorded.a, recorded.axes, out, err);
}

kiln_status kiln__mean(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err)
{
    uint64_t set = 0;
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_MEAN, 0, a, axes, out, err);
    kiln_status status = axes_to_set("mean", a, axes, &set, err);
    if (status) return status;
    struct kiln_array *mean = mean_of(&e, kiln__e_astype(&e, a, wide_dtype(a->dtype)), set, axes.keepdims);
    return kiln__e_end(&e, kiln__e_astype(&e, mean, at_least_float(a->dtype)), out);
}

static kiln_status variance(const char *name, struct kiln_array *a, struct kiln_axes axes, int ddof, bool root,
                            struct kiln_array **out, kiln_error *err)
{
    uint64_t set = 0;
    struct kiln_expression e = {.err = err};
    kiln_status status = axes_to_set(name, a, axes, &set, err);
    if (status) return status;
    struct kiln_array *wide = kiln__e_astype(&e, a, wide_dtype(a->dtype));
    struct kiln_array *difference = kiln__e_binary(&e, KILN_OP_SUBTRACT, wide, mean_of(&e, wide, set, true));
    struct kiln_array *squares = kiln__e_unary(&e, KILN_OP_SQUARE, difference);
    int64_t count = elements_of(a, set) - ddof;
    struct kiln_array *result =
        divide_by(&e, reduce_set(&e, KILN_OP_SUM, squares, set, axes.keepdims), count > 0 ? count : 0);
    if (root) result = kiln__e_unary(&e, KILN_OP_SQRT, result);
    return kiln__e_end(&e, kiln__e_astype(&e, result, at_least_float(a->dtype)), out);
}

kiln_status kiln__replay_var(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    int ddof = read_axes(record, &recorded);
    return kiln__var(recorded.a, recorded.axes, ddof, out, err);
}

kiln_status kiln__replay_std(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    int ddof = read_axes(record, &recorded);
    return kiln__std(recorded.a, recorded.axes, ddof, out, err);
}

kiln_status kiln__var(struct kiln_array *a, struct kiln_axes axes, int ddof, struct kiln_array **out, kiln_error *err)
{
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_VAR, ddof, a, axes, out, err);
    return variance("var", a, axes, ddof, false, out, err);
}

kiln_status kiln__std(struct kiln_array *a, struct kiln_axes axes, int ddof, struct kiln_array **out, kiln_error *err)
{
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_STD, ddof, a, axes, out, err);
    return variance("std", a, axes, ddof, true, out, err);
}

/* ---- exponentials --------------------------------------------------------------------------------------------- */

static uint64_t last_axis(const struct kiln_array *a)
{
    return UINT64_C(1) << (a->ndim - 1);
}

static bool is_last_axis(const struct kiln_array *a, uint64_t set)
{
    return a->ndim && set == last_axis(a);
}

static struct kiln_row_layer row_layer(enum kiln_op op, struct kiln_array *a)
{
    return (struct kiln_row_layer){.op = op, .x = a, .dtype = at_least_float(a->dtype)};
}

/* The maximum changes no result but by rounding: gradients do not go through it. */
static struct kiln_array *most_of(struct kiln_expression *e, struct kiln_array *a, uint64_t set)
{
    kiln__marking.paused++;
    struct kiln_array *most = reduce_set(e, KILN_OP_MAX, a, set, true);
    kiln__marking.paused--;
    return most;
}

/* log(sum(exp(a - max))) + max over `set`, whose axes stay; an infinite max is the result, because infinity less
 * infinity is NaN. */
static struct kiln_array *logsumexp_formula(struct kiln_expression *e, struct kiln_array *a, uint64_t set)
{
    enum kiln_dtype dtype = wide_dtype(a->dtype);
    struct kiln_array *wide = kiln__e_astype(e, a, dtype);
    struct kiln_array *most = set ? most_of(e, wide, set) : wide;
    struct kiln_array *powers = kiln__e_unary(e, KILN_OP_EXP, kiln__e_binary(e, KILN_OP_SUBTRACT, wide, most));
    struct kiln_array *total = set ? reduce_set(e, KILN_OP_SUM, powers, set, true) : powers;
    struct kiln_array *result = kiln__e_binary(e, KILN_OP_ADD, kiln__e_unary(e, KILN_OP_LOG, total), most);
    enum kiln_dtype real = dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : dtype; /* of a magnitude */
    struct kiln_array *is_infinite =
        kiln__e_binary(e, KILN_OP_EQUAL, kiln__e_unary(e, KILN_OP_ABS, most), kiln__e_number(e, INFINITY, real));
    return kiln__e_astype(e, kiln__e_select(e, is_infinite, most, result), at_least_float(a->dtype));
}

static struct kiln_array *logsumexp_apply(struct kiln_expression *e, const struct kiln_row_layer *layer,
                                          const double *numbers)
{
    (void)numbers;
    return logsumexp_formula(e, layer->x, last_axis(layer->x));
}

const struct kiln_row_formula kiln__formula_logsumexp = {NULL, logsumexp_apply};

static struct kiln_array *without_axes(struct kiln_expression *e, struct kiln_array *result, const struct kiln_array *a,
                                       uint64_t set)
{
    int dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    for (int i = 0; i < a->ndim; i++)
        if (!has(set, i)) dims[ndim++] = a->dims[i];
    return kiln__e_reshape(e, result, dims, ndim);
}

/* One operation where gradients are asked for, however it is computed. */
static kiln_status marked_logsumexp(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out,
                                    kiln_error *err)
{
    struct kiln_array *made = NULL;
    kiln__marking.paused++;
    kiln_status status = kiln__logsumexp(a, axes, &made, err);
    kiln__marking.paused--;
    if (status) return status;
    status = kiln__mark_as(KILN_OP_LOGSUMEXP, &a, 1, NULL, 0, made, out, err);
    kiln__array_unref(made);
    return status;
}

kiln_status kiln__logsumexp(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err)
{
    uint64_t set = 0;
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_LOGSUMEXP, 0, a, axes, out, err);
    kiln_status status = axes_to_set("logsumexp", a, axes, &set, err);
    if (status) return status;
    struct kiln_row_layer layer = row_layer(KILN_OP_LOGSUMEXP, a);
    layer.keepdims = axes.keepdims;
    if (is_last_axis(a, set) && kiln__is_marked(a)) return marked_logsumexp(a, axes, out, err);
    if (is_last_axis(a, set) && kiln__row_layer_fits(&layer)) return kiln__row_layer(&layer, out, err);
    struct kiln_array *result = logsumexp_formula(&e, a, set);
    return kiln__e_end(&e, axes.keepdims ? result : without_axes(&e, result, a, set), out);
}

kiln_status kiln__replay_logsumexp(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    read_axes(record, &recorded);
    return kiln__logsumexp(recorded.a, recorded.axes, out, err);
}

/* exp(a - max) / sum(exp(a - max)) over `set` */
static struct kiln_array *softmax_formula(struct kiln_expression *e, struct kiln_array *a, uint64_t set)
{
    struct kiln_array *wide = kiln__e_astype(e, a, wide_dtype(a->dtype));
    struct kiln_array *most = most_of(e, wide, set);
    struct kiln_array *powers = kiln__e_unary(e, KILN_OP_EXP, kiln__e_binary(e, KILN_OP_SUBTRACT, wide, most));
    struct kiln_array *total = reduce_set(e, KILN_OP_SUM, powers, set, true);
    return kiln__e_astype(e, kiln__e_binary(e, KILN_OP_DIVIDE, powers, total), at_least_float(a->dtype));
}

static struct kiln_array *softmax_apply(struct kiln_expression *e, const struct kiln_row_layer *layer,
                                        const double *numbers)
{
    (void)numbers;
    return softmax_formula(e, layer->x, last_axis(layer->x));
}

const struct kiln_row_formula kiln__formula_softmax = {NULL, softmax_apply};

static struct kiln_array *softmax_of(struct kiln_expression *e, struct kiln_array *a, uint64_t set)
{
    struct kiln_array *result = NULL;
    if (!a || e->status) return NULL;
    if (!is_last_axis(a, set)) return softmax_formula(e, a, set);
    struct kiln_row_layer layer = row_layer(KILN_OP_SOFTMAX, a);
    kiln_status status = kiln__row_layer(&layer, &result, e->err);
    return kiln__e_hold(e, status, result);
}

struct kiln_array *kiln__e_softmax_last(struct kiln_expression *e, struct kiln_array *a)
{
    return a ? softmax_of(e, a, last_axis(a)) : NULL;
}

kiln_status kiln__replay_softmax(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    read_axes(record, &recorded);
    return kiln__softmax(recorded.a, recorded.axes, out, err);
}

kiln_status kiln__softmax(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err)
{
    uint64_t set = 0;
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_SOFTMAX, 0, a, axes, out, err);
    kiln_status status = axes_to_set("softmax", a, axes, &set, err);
    if (status) return status;
    if (a->size == 0) return kiln__e_end(&e, kiln__e_astype(&e, a, at_least_float(a->dtype)), out);
    if (set) return kiln__e_end(&e, softmax_of(&e, a, set), out);
    /* over no axes: rows of one element */
    struct kiln_array *row = kiln__e_apply(&e, KILN_OP_EXPAND_DIMS, &a, 1, (int64_t[]){0}, 1);
    struct kiln_array *alone = softmax_of(&e, row, 1);
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_SQUEEZE, &alone, 1, (int64_t[]){0}, 1), out);
}

/* ---- argreduce and cumulative results -------------------------------------------------------------------------------
 */

kiln_status kiln__argreduce_axis(enum kiln_op op, struct kiln_array *a, int axis, bool keepdims,
                                 struct kiln_array **out, kiln_error *err)
{
    int plain = 0;
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", kiln__ops[op].name);
    kiln_status status = kiln__plain_axis(kiln__ops[op].name, axis, a->ndim, &plain, err);
    return status ? status : kiln__apply(op, &a, 1, (int64_t[]){plain, keepdims}, 2, out, err);
}

kiln_status kiln__argreduce(enum kiln_op op, struct kiln_array *a, bool keepdims, struct kiln_array **out,
                            kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int dims[KILN_MAX_NDIM];
    if (kiln__is_recorded(a))
        return record_axes(KILN_DEFERRED_ARGREDUCE, op, a, (struct kiln_axes){NULL, KILN_ALL_AXES, keepdims}, out, err);
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", kiln__ops[op].name);
    struct kiln_array *flat = kiln__e_reshape(&e, a, (int[]){(int)(a->size <= INT_MAX ? a->size : -2)}, 1);
    struct kiln_array *position = reduce_one(&e, op, flat, 0, false);
    for (int i = 0; i < a->ndim; i++) dims[i] = 1;
    return kiln__e_end(&e, keepdims ? kiln__e_reshape(&e, position, dims, a->ndim) : position, out);
}

kiln_status kiln__replay_argreduce(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    int op = read_axes(record, &recorded);
    if (op != KILN_OP_ARGMIN && op != KILN_OP_ARGMAX) record->is_damaged = true, op = KILN_OP_ARGMAX;
    return kiln__argreduce((enum kiln_op)op, recorded.a, recorded.axes.keepdims, out, err);
}

kiln_status kiln__cumulative(enum kiln_op op, struct kiln_array *a, int axis, bool reverse, bool inclusive,
                             struct kiln_array **out, kiln_error *err)
{
    int plain = 0;
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", kiln__ops[op].name);
    kiln_status status = kiln__plain_axis(kiln__ops[op].name, axis, a->ndim, &plain, err);
    return status ? status : kiln__apply(op, &a, 1, (int64_t[]){plain, reverse, inclusive}, 3, out, err);
}

/* Shifts the elements by `by` positions along the axis, backwards if `reverse`, and fills with `fill`. */
static struct kiln_array *shifted(struct kiln_expression *e, struct kiln_array *a, int axis, int by, bool reverse,
                                  struct kiln_array *fill)
{
    int dims[KILN_MAX_NDIM];
    if (!a) return NULL;
    int n = a->dims[axis];
    memcpy(dims, a->dims, a->ndim * sizeof *dims);
    dims[axis] = by;
    struct kiln_array *in = kiln__e_broadcast(e, fill, dims, a->ndim);
    struct kiln_array *rest = kiln__e_cut(e, a, axis, reverse ? by : 0, reverse ? n : n - by, 1);
    return kiln__e_concatenate(e, (struct kiln_array *[]){reverse ? rest : in, reverse ? in : rest}, 2, axis);
}

kiln_status kiln__replay_logcumsumexp(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    int axis = (int)kiln__recorded_number(record);
    bool reverse = kiln__recorded_number(record);
    return kiln__logcumsumexp(a, axis, reverse, kiln__recorded_number(record), out, err);
}

/* A parallel prefix scan: each round doubles the number of elements that a position covers. */
kiln_status kiln__logcumsumexp(struct kiln_array *a, int axis, bool reverse, bool inclusive, struct kiln_array **out,
                               kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int plain = 0;
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_LOGCUMSUMEXP);
        kiln__record_array(&record, a);
        kiln__record_number(&record, axis);
        kiln__record_number(&record, reverse);
        kiln__record_number(&record, inclusive);
        return kiln__record_end(&record, out, err);
    }
    if (!a) return kiln__fail(err, KILN_INVALID, "[logcumsumexp] input is empty.");
    kiln_status status = kiln__plain_axis("logcumsumexp", axis, a->ndim, &plain, err);
    if (status) return status;
    enum kiln_dtype dtype = wide_dtype(a->dtype);
    struct kiln_array *x = kiln__e_astype(&e, a, dtype), *none = kiln__e_number(&e, -INFINITY, dtype);
    int64_t n = a->dims[plain];
    if (!inclusive && n > 0) x = shifted(&e, x, plain, 1, reverse, none);
    for (int64_t by = 1; by < n; by *= 2)
        x = kiln__e_binary(&e, KILN_OP_LOGADDEXP, x, shifted(&e, x, plain, (int)by, reverse, none));
    return kiln__e_end(&e, kiln__e_astype(&e, x, at_least_float(a->dtype)), out);
}

/* ---- medians and counts ---------------------------------------------------------------------------------------- */

/* Of the last axis, in order, which stays with size 1. */
static struct kiln_array *middle_of(struct kiln_expression *e, struct kiln_array *sorted, enum kiln_dtype dtype)
{
    if (!sorted) return NULL;
    int last = sorted->ndim - 1, n = sorted->dims[last];
    struct kiln_array *middle = kiln__e_astype(e, kiln__e_cut(e, sorted, last, n / 2, n / 2 + 1, 1), dtype);
    if (n % 2 == 0) {
        struct kiln_array *lower = kiln__e_astype(e, kiln__e_cut(e, sorted, last, n / 2 - 1, n / 2, 1), dtype);
        middle = divide_by(e, kiln__e_binary(e, KILN_OP_ADD, lower, middle), 2);
    }
    if (kiln__dtypes[sorted->dtype].kind < KILN_KIND_FLOAT) return middle;
    struct kiln_array *most = kiln__e_cut(e, sorted, last, n - 1, n, 1); /* NaN is last */
    return kiln__e_select(e, kiln__e_unary(e, KILN_OP_ISNAN, most), kiln__e_astype(e, most, dtype), middle);
}

kiln_status kiln__replay_median(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    read_axes(record, &recorded);
    return kiln__median(recorded.a, recorded.axes, out, err);
}

kiln_status kiln__median(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err)
{
    uint64_t set = 0;
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) return record_axes(KILN_DEFERRED_MEDIAN, 0, a, axes, out, err);
    kiln_status status = axes_to_set("median", a, axes, &set, err);
    if (status) return status;
    enum kiln_dtype dtype = at_least_float(a->dtype);
    if (set == 0) return kiln__e_end(&e, kiln__e_astype(&e, a, dtype), out);
    int64_t count = elements_of(a, set);
    if (count == 0 || count > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[median] There is no median of %lld elements; expected 1 to %d.",
                          (long long)count, INT_MAX);
    struct kiln_array *merged = merge_axes(&e, a, set);
    int64_t last = merged ? merged->ndim - 1 : 0;
    struct kiln_array *sorted = kiln__e_apply(&e, KILN_OP_SORT, &merged, 1, &last, 1);
    struct kiln_array *middle = kiln__e_astype(&e, middle_of(&e, sorted, wide_dtype(a->dtype)), dtype);
    struct kiln_array *result =
        axes.keepdims ? keep_axes(&e, middle, a, set) : kiln__e_apply(&e, KILN_OP_SQUEEZE, &middle, 1, &last, 1);
    return kiln__e_end(&e, result, out);
}

kiln_status kiln__replay_number_of_elements(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct recorded_axes recorded;
    enum kiln_dtype dtype = (enum kiln_dtype)read_axes(record, &recorded);
    bool inverted = kiln__recorded_number(record);
    return kiln__number_of_elements(recorded.a, recorded.axes, inverted, dtype, out, err);
}

kiln_status kiln__number_of_elements(struct kiln_array *a, struct kiln_axes axes, bool inverted, enum kiln_dtype dtype,
                                     struct kiln_array **out, kiln_error *err)
{
    uint64_t set = 0;
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) {
        struct kiln_record record = begin_record(KILN_DEFERRED_NUMBER_OF_ELEMENTS, (int)dtype, a, axes);
        kiln__record_number(&record, inverted);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = axes_to_set("number_of_elements", a, axes, &set, err);
    if (status) return status;
    double count = (double)elements_of(a, set);
    return kiln__e_end(&e, kiln__e_astype(&e, kiln__e_number(&e, inverted ? 1 / count : count, KILN_FLOAT64), dtype),
                       out);
}
