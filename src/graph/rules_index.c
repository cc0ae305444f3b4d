/*
 * rules_index.c - rules of operations with index arrays and slices. Inputs are not cast: indexing.c has cast
 * updates to the dtype of the array they go into. Values of indices are checked at evaluation.
 */
#include <limits.h>
#include <string.h>

#include "graph/rules.h"

/* ---- dtypes ------------------------------------------------------------------------------------------------------ */

static kiln_status check_indices(const struct kiln_call *call, size_t first, size_t end, kiln_error *err)
{
    for (size_t i = first; i < end; i++) {
        enum kiln_dtype_kind kind = kiln__dtypes[call->inputs[i]->dtype].kind;
        if (kind != KILN_KIND_SIGNED && kind != KILN_KIND_UNSIGNED)
            return kiln__refuse(call, err, "Indices must be integers, got %s.",
                                kiln__dtypes[call->inputs[i]->dtype].name);
    }
    return KILN_OK;
}

static kiln_status check_update(const struct kiln_call *call, size_t i, kiln_error *err)
{
    if (call->inputs[i]->dtype == call->inputs[0]->dtype) return KILN_OK;
    return kiln__refuse(call, err, "Updates must have the array's dtype %s, got %s.",
                        kiln__dtypes[call->inputs[0]->dtype].name, kiln__dtypes[call->inputs[i]->dtype].name);
}

static void as_they_are(const struct kiln_call *call, struct kiln_result *out)
{
    out->as_they_are = true;
    out->first = out->rest = out->dtype = call->inputs[0]->dtype;
}

/* An array, then index arrays. */
kiln_status kiln__dtype_indexed(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    as_they_are(call, out);
    return check_indices(call, 1, call->count, err);
}

/* An array, updates, index arrays. */
kiln_status kiln__dtype_scatter(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    as_they_are(call, out);
    if (call->count < 2) return kiln__refuse(call, err, "expected an array and updates.");
    kiln_status status = check_update(call, 1, err);
    return status ? status : check_indices(call, 2, call->count, err);
}

/* An array, indices, updates. */
kiln_status kiln__dtype_put_along(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    as_they_are(call, out);
    kiln_status status = check_update(call, 2, err);
    return status ? status : check_indices(call, 1, 2, err);
}

kiln_status kiln__dtype_slice_update(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    as_they_are(call, out);
    return check_update(call, 1, err);
}

/* An array, updates, starts. */
kiln_status kiln__dtype_update_dynamic(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    as_they_are(call, out);
    kiln_status status = check_update(call, 1, err);
    return status ? status : check_indices(call, 2, 3, err);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static kiln_status expect_mode(const struct kiln_call *call, kiln_error *err)
{
    if (call->attrs[0] >= 0 && call->attrs[0] < KILN_MERGE_MODES) return KILN_OK;
    return kiln__refuse(call, err, "mode %lld is none.", (long long)call->attrs[0]);
}

static kiln_status check_rank(const struct kiln_call *call, size_t ndim, kiln_error *err)
{
    if (ndim <= KILN_MAX_NDIM) return KILN_OK;
    return kiln__refuse(call, err, "The result would have %zu dimensions, more than the %d that are supported.", ndim,
                        KILN_MAX_NDIM);
}

/* take: the axis; the indices' dims take its place. */
kiln_status kiln__shape_take(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *in = call->inputs[0], *indices = call->inputs[1];
    kiln_status status = kiln__expect_attrs(call, 1, err);
    if (!status) status = kiln__expect_axis(call, 0, call->inputs[0]->ndim, err);
    if (!status) status = check_rank(call, (size_t)in->ndim + indices->ndim - 1, err);
    if (status) return status;
    out->ndim = 0;
    for (size_t i = 0; i < in->ndim; i++) {
        if ((int64_t)i != call->attrs[0]) {
            out->dims[out->ndim++] = in->dims[i];
            continue;
        }
        for (size_t k = 0; k < indices->ndim; k++) out->dims[out->ndim++] = indices->dims[k];
    }
    return KILN_OK;
}

/* All index arrays from input `first` on have one shape; an axis each in the attributes from `attr` on, none twice. */
static kiln_status check_index_arrays(const struct kiln_call *call, size_t first, size_t attr, kiln_error *err)
{
    uint64_t seen = 0;
    for (size_t i = first; i < call->count; i++, attr++) {
        const struct kiln_array *indices = call->inputs[i], *one = call->inputs[first];
        kiln_status status = kiln__expect_axis(call, attr, call->inputs[0]->ndim, err);
        if (status) return status;
        if (seen >> call->attrs[attr] & 1)
            return kiln__refuse(call, err, "Axis %lld appears twice.", (long long)call->attrs[attr]);
        seen |= UINT64_C(1) << call->attrs[attr];
        if (indices->ndim != one->ndim || memcmp(indices->dims, one->dims, one->ndim * sizeof *one->dims) != 0) {
            char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
            return kiln__refuse(call, err, "Index arrays must have one shape, got %s and %s.",
                                kiln__input_text(call, first, left), kiln__input_text(call, i, right));
        }
    }
    return KILN_OK;
}

/* gather: an axis for each index array, then the size of the slice along each axis of the array. */
kiln_status kiln__shape_gather(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *in = call->inputs[0];
    size_t count = call->count - 1;
    kiln_status status = kiln__expect_attrs(call, count + in->ndim, err);
    if (!status) status = check_index_arrays(call, 1, 0, err);
    out->ndim = 0;
    if (!status && count) kiln__same_shape(call->inputs[1], out);
    if (!status) status = check_rank(call, out->ndim + in->ndim, err);
    if (status) return status;
    for (size_t i = 0; i < in->ndim; i++) {
        int64_t size = call->attrs[count + i];
        if (size < 0 || size > in->dims[i])
            return kiln__refuse(call, err, "A slice of %lld does not fit axis %zu of size %d.", (long long)size, i,
                                in->dims[i]);
        out->dims[out->ndim++] = (int)size;
    }
    return KILN_OK;
}

/* `indices` has the array's dims, but for the axis in attribute `attr`. */
static kiln_status check_along(const struct kiln_call *call, size_t attr, kiln_error *err)
{
    const struct kiln_array *in = call->inputs[0], *indices = call->inputs[1];
    kiln_status status = kiln__expect_axis(call, attr, call->inputs[0]->ndim, err);
    if (status) return status;
    bool fits = in->ndim == indices->ndim;
    for (size_t i = 0; fits && i < in->ndim; i++)
        fits = (int64_t)i == call->attrs[attr] || in->dims[i] == indices->dims[i];
    if (fits) return KILN_OK;
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    return kiln__refuse(call, err, "Indices of shape %s do not fit an array of shape %s outside of axis %lld.",
                        kiln__input_text(call, 1, left), kiln__input_text(call, 0, right),
                        (long long)call->attrs[attr]);
}

/* take_along_axis: the axis. */
kiln_status kiln__shape_take_along(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, 1, err);
    if (!status) status = check_along(call, 0, err);
    if (!status) kiln__same_shape(call->inputs[1], out);
    return status;
}

/* scatter: the mode, then an axis for each index array. Updates have the indices' dims, then those of a slice. */
kiln_status kiln__shape_scatter(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *in = call->inputs[0], *updates = call->inputs[1];
    size_t count = call->count - 2, before = count ? call->inputs[2]->ndim : 0;
    kiln_status status = kiln__expect_attrs(call, 1 + count, err);
    if (!status) status = expect_mode(call, err);
    if (!status) status = check_index_arrays(call, 2, 1, err);
    if (status) return status;
    bool fits = updates->ndim == before + in->ndim;
    for (size_t i = 0; fits && i < before; i++) fits = updates->dims[i] == call->inputs[2]->dims[i];
    for (size_t i = 0; fits && i < in->ndim; i++) fits = updates->dims[before + i] <= in->dims[i];
    if (!fits) {
        char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
        return kiln__refuse(
            call, err,
            "Updates of shape %s do not fit an array of shape %s: expected the dimensions of the indices, "
            "then those of a slice.",
            kiln__input_text(call, 1, left), kiln__input_text(call, 0, right));
    }
    kiln__same_shape(in, out);
    return KILN_OK;
}

/* put_along_axis: the mode, the axis. Updates have the shape of the indices. */
kiln_status kiln__shape_put_along(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *indices = call->inputs[1], *updates = call->inputs[2];
    kiln_status status = kiln__expect_attrs(call, 2, err);
    if (!status) status = expect_mode(call, err);
    if (!status) status = check_along(call, 1, err);
    if (status) return status;
    if (indices->ndim != updates->ndim || memcmp(indices->dims, updates->dims, indices->ndim * sizeof *indices->dims)) {
        char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
        return kiln__refuse(call, err, "Values of shape %s do not fit indices of shape %s.",
                            kiln__input_text(call, 2, left), kiln__input_text(call, 1, right));
    }
    kiln__same_shape(call->inputs[0], out);
    return KILN_OK;
}

/* slice_update: the mode, then as slice; the update has the shape of the slice. */
kiln_status kiln__shape_slice_update(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *update = call->inputs[1];
    kiln_status status = kiln__expect_attrs(call, 1 + 3 * (size_t)call->inputs[0]->ndim, err);
    if (!status) status = expect_mode(call, err);
    if (status) return status;
    struct kiln_call slice = {KILN_OP_SLICE, call->inputs, 1, call->attrs + 1, call->attr_count - 1};
    struct kiln_result cut;
    status = kiln__rules_check(&slice, &cut, err);
    if (status) return status;
    if (cut.ndim != update->ndim || memcmp(cut.dims, update->dims, cut.ndim * sizeof *cut.dims) != 0) {
        char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
        return kiln__refuse(call, err, "An update of shape %s does not fit a slice of shape %s.",
                            kiln__input_text(call, 1, left), kiln__shape_text(cut.dims, cut.ndim, right));
    }
    kiln__same_shape(call->inputs[0], out);
    return KILN_OK;
}

/* Input `input` has a start, in an array of one axis or none, for each of the first attributes, which are axes. */
static kiln_status check_starts(const struct kiln_call *call, size_t input, size_t count, kiln_error *err)
{
    const struct kiln_array *start = call->inputs[input];
    uint64_t seen = 0;
    if (start->ndim > 1)
        return kiln__refuse(call, err, "Starts must be a scalar or have one dimension, got %d.", start->ndim);
    if ((size_t)start->size != count)
        return kiln__refuse(call, err, "Expected one start for each axis, got %lld for %zu.", (long long)start->size,
                            count);
    for (size_t i = 0; i < count; i++) {
        kiln_status status = kiln__expect_axis(call, i, call->inputs[0]->ndim, err);
        if (status) return status;
        if (seen >> call->attrs[i] & 1)
            return kiln__refuse(call, err, "Axis %lld appears twice.", (long long)call->attrs[i]);
        seen |= UINT64_C(1) << call->attrs[i];
    }
    return KILN_OK;
}

/* slice_dynamic: an axis for each start, then the size of the slice along each axis of the array. */
kiln_status kiln__shape_slice_dynamic(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *in = call->inputs[0];
    if (call->attr_count < in->ndim)
        return kiln__refuse(call, err, "Expected %d slice sizes, one per dimension.", in->ndim);
    size_t count = call->attr_count - in->ndim;
    kiln_status status = check_starts(call, 1, count, err);
    if (status) return status;
    for (out->ndim = 0; out->ndim < in->ndim; out->ndim++) {
        int64_t size = call->attrs[count + out->ndim];
        if (size < 0 || size > in->dims[out->ndim])
            return kiln__refuse(call, err, "A slice of %lld does not fit axis %zu of size %d.", (long long)size,
                                out->ndim, in->dims[out->ndim]);
        out->dims[out->ndim] = (int)size;
    }
    return KILN_OK;
}

/* slice_update_dynamic: an axis for each start. The update has as many axes as the array, none longer. */
kiln_status kiln__shape_update_dynamic(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *in = call->inputs[0], *update = call->inputs[1];
    kiln_status status = check_starts(call, 2, call->attr_count, err);
    if (status) return status;
    bool fits = in->ndim == update->ndim;
    for (size_t i = 0; fits && i < in->ndim; i++) fits = update->dims[i] <= in->dims[i];
    if (!fits) {
        char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
        return kiln__refuse(call, err, "An update of shape %s does not fit an array of shape %s.",
                            kiln__input_text(call, 1, left), kiln__input_text(call, 0, right));
    }
    kiln__same_shape(in, out);
    return KILN_OK;
}

/* ---- load -------------------------------------------------------------------------------------------------------- */

/* load: the offset, the dtype, the form (run/io/source.h), the dims; the input is a handle to what is read. */
kiln_status kiln__dtype_load(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    as_they_are(call, out);
    if (call->attr_count < 3 || call->attrs[1] < 0 || call->attrs[1] >= KILN_DTYPE_COUNT)
        return kiln__refuse(call, err, "expected an offset, a dtype and a form.");
    out->dtype = (enum kiln_dtype)call->attrs[1];
    return KILN_OK;
}

kiln_status kiln__shape_load(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = check_rank(call, call->attr_count - 3, err);
    if (status) return status;
    out->ndim = call->attr_count - 3;
    for (size_t i = 0; i < out->ndim; i++) out->dims[i] = (int)call->attrs[3 + i];
    return KILN_OK;
}

/* ---- rearranged axes --------------------------------------------------------------------------------------------- */

/* Elements start, start + step, ... of an axis of size n, `count` of them. */
static bool lies_inside(int64_t start, int64_t step, int64_t count, int64_t n)
{
    int64_t last;
    return start >= 0 && start < n && !__builtin_mul_overflow(step, count - 1, &last) &&
           !__builtin_add_overflow(start, last, &last) && last >= 0 && last < n;
}

static kiln_status take_axis(const struct kiln_call *call, const int64_t *row, size_t ndim, uint64_t *seen,
                             kiln_error *err)
{
    const struct kiln_array *input = call->inputs[0];
    int64_t dim = row[0], axis = row[ndim], step = row[2 * ndim];
    if (dim < 0 || dim > INT_MAX) return kiln__refuse(call, err, "A dimension can't be %lld.", (long long)dim);
    if (axis == -1) return KILN_OK;
    if (axis < -1 || axis >= input->ndim || *seen >> axis & 1)
        return kiln__refuse(call, err, "Axis %lld can't be taken: there are %d, each once, or -1 to repeat.",
                            (long long)axis, input->ndim);
    *seen |= UINT64_C(1) << axis;
    if (lies_inside(call->attrs[axis], step, dim, input->dims[axis])) return KILN_OK;
    return kiln__refuse(call, err, "%lld elements from %lld in steps of %lld are not inside axis %lld of size %d.",
                        (long long)dim, (long long)call->attrs[axis], (long long)step, (long long)axis,
                        input->dims[axis]);
}

/*
 * rearrange: start[input's ndim], then dim[ndim], axis[ndim], step[ndim]: element k of an axis is element start + k *
 * step of the input's axis; axis -1 repeats what is at the start. An axis that is not taken is at its start. Views of
 * views are made into this by trace/push_views.c.
 */
kiln_status kiln__shape_rearrange(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *input = call->inputs[0];
    size_t base = input->ndim, ndim = call->attr_count < base ? 0 : (call->attr_count - base) / 3;
    if (call->attr_count != base + 3 * ndim || ndim > KILN_MAX_NDIM)
        return kiln__refuse(call, err,
                            "expected a start for each of %zu axes, then dims, axes and steps; got %zu attributes.",
                            base, call->attr_count);
    const int64_t *dims = call->attrs + base;
    uint64_t seen = 0;
    bool is_empty = false;
    for (size_t i = 0; i < ndim; i++) is_empty |= dims[i] == 0;
    for (size_t i = 0; i < base && !is_empty; i++)
        if (!lies_inside(call->attrs[i], 0, 1, input->dims[i]))
            return kiln__refuse(call, err, "Axis %zu of size %d has no element %lld.", i, input->dims[i],
                                (long long)call->attrs[i]);
    for (size_t i = 0; i < ndim; i++) {
        const int64_t nothing[] = {dims[i], -1, 0};
        kiln_status status = take_axis(call, is_empty ? nothing : dims + i, is_empty ? 1 : ndim, &seen, err);
        if (status) return status;
        out->dims[i] = (int)dims[i];
    }
    out->ndim = ndim;
    int64_t size;
    return kiln__shape_check(out->dims, out->ndim, input->dtype, &size, err);
}
