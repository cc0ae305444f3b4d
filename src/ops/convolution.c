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

static const char *const names[KILN_CONV_AXES + 1] = {"conv", "conv1d", "conv2d", "conv3d"};

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static kiln_status check_numbers(const struct kiln_conv *how, kiln_error *err)
{
    for (int i = 0; i < how->axes; i++)
        if (how->stride[i] < 1 || how->dilation[i] < 1 || how->groups < 1 || how->padding[i] < 0)
            return kiln__fail(err, KILN_INVALID,
                              "[%s] stride %d, dilation %d and groups %d must be at least 1, padding %d at least 0.",
                              names[how->axes], how->stride[i], how->dilation[i], how->groups, how->padding[i]);
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
    if (!input || !weight) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", names[how->axes]);
    if (input->ndim != ndim || weight->ndim != ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] Expected an input and a weight of %d dimensions, got %d and %d.",
                          names[how->axes], ndim, input->ndim, weight->ndim);
    kiln_status status = check_numbers(how, err);
    if (status || weight_fits(input, weight, how->groups)) return status;
    return kiln__fail(err, KILN_INVALID,
                      "[%s] A weight of shape %s does not fit an input of shape %s with %d groups: expected "
                      "(outputs, %s, channels / groups).",
                      names[how->axes], kiln__shape_text(weight->dims, ndim, left),
                      kiln__shape_text(input->dims, ndim, right), how->groups, how->axes == 1 ? "width" : "widths");
}

/* The number of positions of the result along one axis. */
static kiln_status count_positions(const struct kiln_array *input, const struct kiln_array *weight,
                                   const struct kiln_conv *how, int axis, int *out, kiln_error *err)
{
    int width = weight->dims[1 + axis];
    int64_t padded = input->dims[1 + axis] + 2 * (int64_t)how->padding[axis];
    int64_t window = (int64_t)how->dilation[axis] * (width - 1) + 1;
    int64_t positions = padded < window ? 0 : (padded - window) / how->stride[axis] + 1;
    if (positions == 0 || padded > INT_MAX || positions * width > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[%s] A window of %lld does not fit a padded input of length %lld.",
                          names[how->axes], (long long)window, (long long)padded);
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
                          names[how->axes], INT_MAX);
    *out = (int)size;
    return KILN_OK;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static struct kiln_array *pad_axis(struct kiln_expression *e, struct kiln_array *x, int axis, int padding)
{
    struct kiln_array *zeros = NULL;
    int dims[KILN_MAX_NDIM];
    if (!x || padding == 0) return x;
    memcpy(dims, x->dims, x->ndim * sizeof *dims);
    dims[axis] = padding;
    kiln_status status = kiln__zeros(dims, x->ndim, x->dtype, &zeros, e->err);
    zeros = kiln__e_hold(e, status, zeros);
    return kiln__e_concatenate(e, (struct kiln_array *[]){zeros, x, zeros}, 3, axis);
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
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_conv(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int stride[KILN_RECORD_NUMBERS], padding[KILN_RECORD_NUMBERS], dilation[KILN_RECORD_NUMBERS];
    struct kiln_array *input = kiln__recorded_array(record), *weight = kiln__recorded_array(record);
    struct kiln_conv how = {.axes = (int)kiln__recorded_numbers(record, stride)};
    kiln__recorded_numbers(record, padding);
    kiln__recorded_numbers(record, dilation);
    how.groups = (int)kiln__recorded_number(record);
    for (int i = 0; i < how.axes; i++)
        how.stride[i] = stride[i], how.padding[i] = padding[i], how.dilation[i] = dilation[i];
    return kiln__conv(input, weight, &how, out, err);
}

kiln_status kiln__conv(struct kiln_array *input, struct kiln_array *weight, const struct kiln_conv *how,
                       struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int dims[KILN_CONV_AXES + 2], *positions = dims + 1, rows = 0, seen = 0;
    if (kiln__is_recorded(input) || kiln__is_recorded(weight)) return record_conv(input, weight, how, out, err);
    kiln_status status = check_shapes(input, weight, how, err);
    for (int i = 0; i < how->axes && !status; i++) status = count_positions(input, weight, how, i, &positions[i], err);
    if (!status) status = merged_size(how, input->dims[0], positions, &rows, err);
    if (!status) status = merged_size(how, weight->dims[how->axes + 1], weight->dims + 1, &seen, err);
    if (status) return status;
    enum kiln_dtype dtype = kiln__dtype_promote(input->dtype, weight->dtype);
    int groups = how->groups, outputs = weight->dims[0] / groups;
    struct kiln_array *x = kiln__e_astype(&e, input, dtype);
    for (int i = 0; i < how->axes; i++) x = pad_axis(&e, x, 1 + i, how->padding[i]);
    for (int i = 0; i < how->axes; i++)
        x = window_axis(&e, x, 1 + 2 * i, positions[i], weight->dims[1 + i], how->stride[i], how->dilation[i]);
    x = group_windows(&e, x, how->axes, groups, weight->dims[how->axes + 1]);
    x = kiln__e_reshape(&e, x, (int[]){groups, rows, seen}, 3);
    struct kiln_array *w = kiln__e_reshape(&e, kiln__e_astype(&e, weight, dtype), (int[]){groups, outputs, seen}, 3);
    w = kiln__e_transpose(&e, w, (int64_t[]){0, 2, 1});
    struct kiln_array *y = kiln__e_transpose(&e, kiln__e_matmul(&e, x, w), (int64_t[]){1, 0, 2});
    dims[0] = input->dims[0];
    dims[how->axes + 1] = weight->dims[0];
    y = kiln__e_reshape(&e, y, dims, (size_t)how->axes + 2); /* of groups with one output each that is a view */
    return kiln__e_end(&e, groups > 1 ? kiln__e_unary(&e, KILN_OP_CONTIGUOUS, y) : y, out);
}
