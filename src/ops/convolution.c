/*
 * convolution.c - see convolution.h. By im2col: the window of each output position is gathered, axis by axis, and each
 * group is one matrix product: (positions, window * channels) @ (window * channels, outputs).
 */
#include "ops/convolution.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ops/expression.h"
#include "ops/replay.h"

static const char *name_of(const struct kiln_conv *how)
{
    static const char *const names[KILN_CONV_KINDS][KILN_CONV_AXES] = {
        [KILN_CONV_PLAIN] = {"conv1d", "conv2d", "conv3d"},
        [KILN_CONV_GENERAL] = {"conv_general", "conv_general", "conv_general"},
        [KILN_CONV_TRANSPOSE] = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}};
    return names[how->kind][how->axes - 1];
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static kiln_status check_numbers(const struct kiln_conv *how, kiln_error *err)
{
    for (int i = 0; i < how->axes; i++) {
        if (how->stride[i] < 1 || how->dilation[i] < 1 || how->groups < 1)
            return kiln__fail(err, KILN_INVALID, "[%s] stride %d, dilation %d and groups %d must be at least 1.",
                              name_of(how), how->stride[i], how->dilation[i], how->groups);
        if (how->gaps[i] < 0)
            return kiln__fail(err, KILN_INVALID, "[%s] input dilation %lld must be at least 1.", name_of(how),
                              how->gaps[i] + 1LL);
    }
    return KILN_OK;
}

static bool weight_fits(const struct kiln_array *input, const struct kiln_array *weight, int groups)
{
    int last = input->ndim - 1;
    for (int i = 1; i < last; i++)
        if (weight->dims[i] == 0) return false;
    return input->dims[last] % groups == 0 && weight->dims[0] % groups == 0 &&
           input->dims[last] / groups == weight->dims[last];
}

static kiln_status check_shapes(const struct kiln_array *input, const struct kiln_array *weight,
                                const struct kiln_conv *how, kiln_error *err)
{
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    int ndim = how->axes + 2;
    if (!input || !weight) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name_of(how));
    if (input->ndim != ndim || weight->ndim != ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] Expected an input and a weight of %d dimensions, got %d and %d.",
                          name_of(how), ndim, input->ndim, weight->ndim);
    kiln_status status = check_numbers(how, err);
    if (status || weight_fits(input, weight, how->groups)) return status;
    return kiln__fail(err, KILN_INVALID,
                      "[%s] A weight of shape %s does not fit an input of shape %s with %d groups: expected "
                      "(outputs, %s, channels / groups).",
                      name_of(how), kiln__shape_text(weight->dims, ndim, left),
                      kiln__shape_text(input->dims, ndim, right), how->groups, how->axes == 1 ? "width" : "widths");
}

/* The size of axis `axis` of the input with its gaps. */
static int64_t spread_size(const struct kiln_array *input, const struct kiln_conv *how, int axis)
{
    int64_t size = input->dims[1 + axis];
    return size ? (size - 1) * (how->gaps[axis] + INT64_C(1)) + 1 : 0;
}

/* The number of positions of the result along one axis. */
static kiln_status count_positions(const struct kiln_array *input, const struct kiln_array *weight,
                                   const struct kiln_conv *how, int axis, int *out, kiln_error *err)
{
    int width = weight->dims[1 + axis];
    int64_t size = spread_size(input, how, axis), low = how->padding[axis], high = low + how->more_padding[axis];
    int64_t padded = size + low + high, window = (int64_t)how->dilation[axis] * (width - 1) + 1;
    int64_t positions = padded < window ? 0 : (padded - window) / how->stride[axis] + 1;
    if (positions == 0 || padded > INT_MAX || positions * width > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[%s] A window of %lld does not fit a padded input of length %lld.",
                          name_of(how), (long long)window, (long long)padded);
    if (size + how->gaps[axis] > INT_MAX || low < -size || high < -size || high > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[%s] Padding %lld and %lld does not fit an input of length %lld.",
                          name_of(how), (long long)low, (long long)high, (long long)size);
    *out = (int)positions;
    return KILN_OK;
}

/* first * dims[0] * ... as a size of one axis. */
static kiln_status merged_size(const struct kiln_conv *how, int first, const int *dims, int *out, kiln_error *err)
{
    int64_t size = first;
    for (int i = 0; i < how->axes && size <= INT_MAX; i++) size *= dims[i];
    if (size > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[%s] More than %d places or elements of a window are not supported.",
                          name_of(how), INT_MAX);
    *out = (int)size;
    return KILN_OK;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static struct kiln_array *zeros_along(struct kiln_expression *e, const struct kiln_array *x, int axis, int size)
{
    struct kiln_array *zeros = NULL;
    int dims[KILN_MAX_NDIM];
    memcpy(dims, x->dims, x->ndim * sizeof *dims);
    dims[axis] = size;
    kiln_status status = kiln__zeros(dims, x->ndim, x->dtype, &zeros, e->err);
    return kiln__e_hold(e, status, zeros);
}

/* Zeros between the elements of an axis. */
static struct kiln_array *spread_axis(struct kiln_expression *e, struct kiln_array *x, int axis, int gap)
{
    int dims[KILN_MAX_NDIM];
    if (!x || gap == 0 || x->dims[axis] < 2) return x;
    memcpy(dims, x->dims, x->ndim * sizeof *dims);
    int size = dims[axis] * (gap + 1);
    dims[axis] = size;
    struct kiln_array *apart = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &x, 1, (int64_t[]){axis + 1}, 1);
    if (!apart) return NULL;
    struct kiln_array *zeros = zeros_along(e, apart, axis + 1, gap);
    apart = kiln__e_concatenate(e, (struct kiln_array *[]){apart, zeros}, 2, axis + 1);
    return kiln__e_cut(e, kiln__e_reshape(e, apart, dims, x->ndim), axis, 0, size - gap, 1);
}

/* Zeros before and behind an axis; negative padding cuts it. */
static struct kiln_array *pad_axis(struct kiln_expression *e, struct kiln_array *x, int axis, int low, int high)
{
    struct kiln_array *parts[3];
    size_t count = 0;
    if (!x || (low == 0 && high == 0)) return x;
    int first = low < 0 ? -low : 0, end = high < 0 ? x->dims[axis] + high : x->dims[axis];
    if (low < 0 || high < 0) x = kiln__e_cut(e, x, axis, first, end, 1);
    if (!x) return NULL;
    if (low > 0) parts[count++] = zeros_along(e, x, axis, low);
    parts[count++] = x;
    if (high > 0) parts[count++] = zeros_along(e, x, axis, high);
    return count > 1 ? kiln__e_concatenate(e, parts, count, axis) : x;
}

/* The weight with its windows backwards. */
static struct kiln_array *flip_axes(struct kiln_expression *e, struct kiln_array *w, int axes)
{
    int start[KILN_CONV_AXES + 2] = {0}, stop[KILN_CONV_AXES + 2], steps[KILN_CONV_AXES + 2];
    struct kiln_array *out = NULL;
    if (!w) return NULL;
    for (int i = 0; i < axes + 2; i++) {
        bool is_turned = i > 0 && i <= axes;
        start[i] = is_turned ? w->dims[i] - 1 : 0;
        stop[i] = is_turned ? -w->dims[i] - 1 : w->dims[i];
        steps[i] = is_turned ? -1 : 1;
    }
    kiln_status status = kiln__slice(w, start, stop, steps, (size_t)axes + 2, &out, e->err);
    return kiln__e_hold(e, status, out);
}

/* The axis becomes two: output positions, and the window of each. */
static struct kiln_array *window_axis(struct kiln_expression *e, struct kiln_array *x, int axis, int positions,
                                      int width, int stride, int dilation)
{
    int32_t *seen = malloc((size_t)positions * (size_t)width * sizeof *seen);
    if (!seen) {
        e->status = kiln__no_memory(e->err, "a convolution");
        return NULL;
    }
    for (int i = 0; i < positions; i++)
        for (int k = 0; k < width; k++) seen[i * width + k] = i * stride + k * dilation;
    struct kiln_array *indices = kiln__e_data(e, seen, KILN_INT32, (int[]){positions, width}, 2);
    free(seen);
    return kiln__e_apply(e, KILN_OP_TAKE, (struct kiln_array *[]){x, indices}, 2, (int64_t[]){axis}, 1);
}

/* From (batch, positions, width, positions, width, ..., channels) to (groups, batch, positions..., widths...,
 * channels). */
static struct kiln_array *group_windows(struct kiln_expression *e, struct kiln_array *x, int axes, int groups,
                                        int channels)
{
    int dims[KILN_MAX_NDIM];
    int64_t order[KILN_MAX_NDIM];
    int last = 2 * axes + 1;
    if (!x) return NULL;
    memcpy(dims, x->dims, x->ndim * sizeof *dims);
    dims[last] = groups;
    dims[last + 1] = channels;
    order[0] = last;
    order[1] = 0;
    for (int i = 0; i < axes; i++) order[2 + i] = 1 + 2 * i, order[2 + axes + i] = 2 + 2 * i;
    order[last + 1] = last + 1;
    return kiln__e_transpose(e, kiln__e_reshape(e, x, dims, (size_t)last + 2), order);
}

/* ---- the convolution --------------------------------------------------------------------------------------------- */

static kiln_status record_conv(struct kiln_array *input, struct kiln_array *weight, const struct kiln_conv *how,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_CONV);
    size_t axes = (size_t)how->axes;
    kiln__record_array(&record, input);
    kiln__record_array(&record, weight);
    kiln__record_numbers(&record, how->stride, axes);
    kiln__record_numbers(&record, how->padding, axes);
    kiln__record_numbers(&record, how->dilation, axes);
    kiln__record_number(&record, how->groups);
    kiln__record_number(&record, how->kind);
    kiln__record_numbers(&record, how->more_padding, axes);
    kiln__record_numbers(&record, how->gaps, axes);
    kiln__record_number(&record, how->flip);
    return kiln__record_end(&record, out, err);
}

static size_t read_axes(struct kiln_record *record, int out[KILN_CONV_AXES])
{
    int numbers[KILN_RECORD_NUMBERS];
    size_t count = kiln__recorded_numbers(record, numbers);
    if (count > KILN_CONV_AXES) {
        record->is_damaged = true;
        count = KILN_CONV_AXES;
    }
    memcpy(out, numbers, KILN_CONV_AXES * sizeof *out);
    return count;
}

kiln_status kiln__replay_conv(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_conv how;
    struct kiln_array *input = kiln__recorded_array(record), *weight = kiln__recorded_array(record);
    how.axes = (int)read_axes(record, how.stride);
    read_axes(record, how.padding);
    read_axes(record, how.dilation);
    how.groups = (int)kiln__recorded_number(record);
    how.kind = (enum kiln_conv_kind)kiln__recorded_choice(record, KILN_CONV_KINDS);
    read_axes(record, how.more_padding);
    read_axes(record, how.gaps);
    how.flip = kiln__recorded_number(record);
    return kiln__conv(input, weight, &how, out, err);
}

/* A convolution that goes back: windows backwards over an input with gaps. */
static kiln_status transpose_numbers(const struct kiln_array *weight, const struct kiln_conv *given,
                                     struct kiln_conv *how, kiln_error *err)
{
    for (int i = 0; i < given->axes; i++) {
        int64_t reach = (int64_t)given->dilation[i] * (weight->dims[1 + i] - 1) - given->padding[i];
        if (reach > INT_MAX || reach < -INT_MAX)
            return kiln__fail(err, KILN_INVALID, "[%s] A padding of %lld is too much.", name_of(given),
                              (long long)reach);
        how->gaps[i] = given->stride[i] - 1;
        how->stride[i] = 1;
        how->padding[i] = (int)reach;
    }
    how->flip = true;
    return KILN_OK;
}

/* (groups, places, window * channels) */
static struct kiln_array *gather_windows(struct kiln_expression *e, struct kiln_array *x,
                                         const struct kiln_array *weight, const struct kiln_conv *how,
                                         const int *positions, int rows, int seen)
{
    for (int i = 0; i < how->axes; i++) {
        x = spread_axis(e, x, 1 + i, how->gaps[i]);
        x = pad_axis(e, x, 1 + i, how->padding[i], how->padding[i] + how->more_padding[i]);
    }
    for (int i = 0; i < how->axes; i++)
        x = window_axis(e, x, 1 + 2 * i, positions[i], weight->dims[1 + i], how->stride[i], how->dilation[i]);
    x = group_windows(e, x, how->axes, how->groups, weight->dims[how->axes + 1]);
    return kiln__e_reshape(e, x, (int[]){how->groups, rows, seen}, 3);
}

kiln_status kiln__conv(struct kiln_array *input, struct kiln_array *weight, const struct kiln_conv *given,
                       struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    struct kiln_conv how = *given;
    int dims[KILN_CONV_AXES + 2], *positions = dims + 1, rows = 0, seen = 0;
    if (kiln__is_recorded(input) || kiln__is_recorded(weight)) return record_conv(input, weight, given, out, err);
    kiln_status status = check_shapes(input, weight, given, err);
    if (!status && how.kind == KILN_CONV_TRANSPOSE) status = transpose_numbers(weight, given, &how, err);
    for (int i = 0; i < how.axes && !status; i++) status = count_positions(input, weight, &how, i, &positions[i], err);
    if (!status) status = merged_size(&how, input->dims[0], positions, &rows, err);
    if (!status) status = merged_size(&how, weight->dims[how.axes + 1], weight->dims + 1, &seen, err);
    if (status) return status;
    enum kiln_dtype dtype = kiln__dtype_promote(input->dtype, weight->dtype);
    int groups = how.groups, outputs = weight->dims[0] / groups;
    struct kiln_array *x = gather_windows(&e, kiln__e_astype(&e, input, dtype), weight, &how, positions, rows, seen);
    struct kiln_array *w = kiln__e_astype(&e, weight, dtype);
    if (how.flip) w = flip_axes(&e, w, how.axes);
    w = kiln__e_transpose(&e, kiln__e_reshape(&e, w, (int[]){groups, outputs, seen}, 3), (int64_t[]){0, 2, 1});
    struct kiln_array *y = kiln__e_transpose(&e, kiln__e_matmul(&e, x, w), (int64_t[]){1, 0, 2});
    dims[0] = input->dims[0];
    dims[how.axes + 1] = weight->dims[0];
    y = kiln__e_reshape(&e, y, dims, (size_t)how.axes + 2); /* of groups with one output each that is a view */
    return kiln__e_end(&e, groups > 1 ? kiln__e_unary(&e, KILN_OP_CONTIGUOUS, y) : y, out);
}

/* ---- lists of numbers -------------------------------------------------------------------------------------------- */

static kiln_status read_list(const char *what, const int *list, size_t count, int axes, int usual, int *out,
                             kiln_error *err)
{
    if (count > 1 && count != (size_t)axes)
        return kiln__fail(err, KILN_INVALID,
                          "[conv_general] Expected one %s for each of %d dimensions, or one for all, got %zu.", what,
                          axes, count);
    for (int i = 0; i < axes; i++) out[i] = count == 0 ? usual : list[count == 1 ? 0 : i];
    return KILN_OK;
}

kiln_status kiln__conv_general(struct kiln_array *input, struct kiln_array *weight, const struct kiln_conv_lists *lists,
                               int groups, bool flip, struct kiln_array **out, kiln_error *err)
{
    int high[KILN_CONV_AXES], spread[KILN_CONV_AXES], axes = input ? input->ndim - 2 : 0;
    struct kiln_conv how = {.axes = axes, .groups = groups, .kind = KILN_CONV_GENERAL, .flip = flip};
    if (axes < 1 || axes > KILN_CONV_AXES)
        return kiln__fail(err, KILN_INVALID,
                          "[conv_general] Expected an input of 3 to 5 dimensions (batch, sizes..., channels), got %d.",
                          input ? input->ndim : 0);
    const struct kiln_conv_lists *l = lists;
    kiln_status status = read_list("stride", l->stride, l->stride_count, axes, 1, how.stride, err);
    if (!status) status = read_list("low padding", l->padding_low, l->padding_low_count, axes, 0, how.padding, err);
    if (!status) status = read_list("high padding", l->padding_high, l->padding_high_count, axes, 0, high, err);
    if (!status)
        status = read_list("kernel dilation", l->kernel_dilation, l->kernel_dilation_count, axes, 1, how.dilation, err);
    if (!status) status = read_list("input dilation", l->input_dilation, l->input_dilation_count, axes, 1, spread, err);
    for (int i = 0; i < axes && !status; i++)
        if (spread[i] < 1 || __builtin_sub_overflow(high[i], how.padding[i], &how.more_padding[i]))
            status = kiln__fail(err, KILN_INVALID,
                                "[conv_general] input dilation %d must be at least 1, and paddings %d and %d less far "
                                "apart than 2^31.",
                                spread[i], how.padding[i], high[i]);
    for (int i = 0; i < axes && !status; i++) how.gaps[i] = spread[i] - 1;
    return status ? status : kiln__conv(input, weight, &how, out, err);
}
