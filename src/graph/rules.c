/*
 * rules.c - dtype rules and shape rules of operations; ops.def names those of each.
 *
 * A rule reads dtypes and dims of the inputs and the attributes, never data, so that it serves tracers as well.
 * Attributes are complete and normalised (no negative axis, no -1): src/ops does that. A rule still checks them against
 * the shapes, because a replay applies recorded attributes to other shapes: a call that passes here reads nothing
 * outside of its inputs.
 */
#include "graph/rules.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

kiln_status kiln__refuse(const struct kiln_call *call, kiln_error *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return kiln__fail(err, KILN_INVALID, "[%s] %s", kiln__ops[call->op].name, text);
}

kiln_status kiln__expect_attrs(const struct kiln_call *call, size_t count, kiln_error *err)
{
    if (call->attr_count == count) return KILN_OK;
    return kiln__refuse(call, err, "expected %zu attributes, got %zu.", count, call->attr_count);
}

kiln_status kiln__expect_axis(const struct kiln_call *call, size_t i, size_t ndim, kiln_error *err)
{
    if (call->attrs[i] >= 0 && call->attrs[i] < (int64_t)ndim) return KILN_OK;
    return kiln__refuse(call, err, "Axis %lld is out of range for an array of %zu dimensions.",
                        (long long)call->attrs[i], ndim);
}

const char *kiln__input_text(const struct kiln_call *call, size_t i, char text[KILN_SHAPE_TEXT])
{
    return kiln__shape_text(call->inputs[i]->dims, call->inputs[i]->ndim, text);
}

void kiln__same_shape(const struct kiln_array *array, struct kiln_result *out)
{
    out->ndim = array->ndim;
    memcpy(out->dims, array->dims, array->ndim * sizeof *out->dims);
}

/* ---- dtypes ------------------------------------------------------------------------------------------------------ */

static void all_dtypes(struct kiln_result *out, enum kiln_dtype operands, enum kiln_dtype result)
{
    out->first = out->rest = operands;
    out->dtype = result;
}

static enum kiln_dtype promote_inputs(const struct kiln_call *call, size_t from)
{
    enum kiln_dtype dtype = call->inputs[from]->dtype;
    for (size_t i = from + 1; i < call->count; i++) dtype = kiln__dtype_promote(dtype, call->inputs[i]->dtype);
    return dtype;
}

static enum kiln_dtype at_least_float(enum kiln_dtype dtype)
{
    return kiln__dtypes[dtype].kind < KILN_KIND_FLOAT ? KILN_FLOAT32 : dtype;
}

/* The operation has to have a lowering for the kind of its operands. */
static kiln_status check_lowering(const struct kiln_call *call, enum kiln_dtype dtype, kiln_error *err)
{
    if (kiln__ops[call->op].lower[kiln__dtypes[dtype].kind]) return KILN_OK;
    return kiln__refuse(call, err, "%s is not supported.", kiln__dtypes[dtype].name);
}

/* The promoted dtype of all inputs. */
static kiln_status dtype_SAME(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = promote_inputs(call, 0);
    all_dtypes(out, dtype, dtype);
    return check_lowering(call, dtype, err);
}

/* Promoted; integers and bool become float32. */
static kiln_status dtype_FLOATING(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = at_least_float(promote_inputs(call, 0));
    all_dtypes(out, dtype, dtype);
    return check_lowering(call, dtype, err);
}

/* Promoted; complex64 gives float32. */
static kiln_status dtype_REAL(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = promote_inputs(call, 0);
    all_dtypes(out, dtype, dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : dtype);
    return check_lowering(call, dtype, err);
}

/* Promoted; two bools are shifted as uint8. */
static kiln_status dtype_SHIFT(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype promoted = promote_inputs(call, 0), dtype = promoted == KILN_BOOL ? KILN_UINT8 : promoted;
    all_dtypes(out, dtype, dtype);
    return check_lowering(call, dtype, err);
}

static kiln_status dtype_BY_HAND(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    return dtype_SAME(call, out, err);
}

/* Promoted inputs, a bool result. */
static kiln_status dtype_COMPARE(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = promote_inputs(call, 0);
    all_dtypes(out, dtype, KILN_BOOL);
    return check_lowering(call, dtype, err);
}

/* Inputs become bool, so does the result. */
static kiln_status dtype_LOGIC(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    all_dtypes(out, KILN_BOOL, KILN_BOOL);
    return check_lowering(call, KILN_BOOL, err);
}

/* A bool, then two that are promoted. */
static kiln_status dtype_SELECT(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = promote_inputs(call, 1);
    all_dtypes(out, dtype, dtype);
    out->first = KILN_BOOL;
    return check_lowering(call, dtype, err);
}

/* Attribute 0 is the result's dtype; the input stays as it is. */
static kiln_status dtype_CAST(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    if (call->attr_count != 1 || call->attrs[0] < 0 || call->attrs[0] >= KILN_DTYPE_COUNT)
        return kiln__refuse(call, err, "expected one dtype between 0 and %d, got %lld.", KILN_DTYPE_COUNT - 1,
                            call->attr_count ? (long long)call->attrs[0] : -1LL);
    all_dtypes(out, call->inputs[0]->dtype, (enum kiln_dtype)call->attrs[0]);
    return check_lowering(call, out->first, err);
}

/* Moves elements: promoted, every kind is fine. */
kiln_status kiln__dtype_moved(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    (void)err;
    enum kiln_dtype dtype = promote_inputs(call, 0);
    all_dtypes(out, dtype, dtype);
    return KILN_OK;
}

/* Small integers accumulate in 32 bits. The kernel converts while it adds: no cast node. */
kiln_status kiln__dtype_sum(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    static const uint8_t sums[KILN_DTYPE_COUNT] = {
        [KILN_BOOL] = KILN_INT32,        [KILN_UINT8] = KILN_UINT32,        [KILN_UINT16] = KILN_UINT32,
        [KILN_UINT32] = KILN_UINT32,     [KILN_UINT64] = KILN_UINT64,       [KILN_INT8] = KILN_INT32,
        [KILN_INT16] = KILN_INT32,       [KILN_INT32] = KILN_INT32,         [KILN_INT64] = KILN_INT64,
        [KILN_FLOAT16] = KILN_FLOAT16,   [KILN_FLOAT32] = KILN_FLOAT32,     [KILN_FLOAT64] = KILN_FLOAT64,
        [KILN_BFLOAT16] = KILN_BFLOAT16, [KILN_COMPLEX64] = KILN_COMPLEX64,
    };
    (void)err;
    enum kiln_dtype dtype = call->inputs[0]->dtype;
    all_dtypes(out, dtype, (enum kiln_dtype)sums[dtype]);
    return KILN_OK;
}

/* all, any: bool, whatever the input; a complex one is cast before. */
kiln_status kiln__dtype_truth(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    (void)err;
    enum kiln_dtype dtype = call->inputs[0]->dtype;
    all_dtypes(out, dtype == KILN_COMPLEX64 ? KILN_BOOL : dtype, KILN_BOOL);
    return KILN_OK;
}

/* Positions along an axis, whatever the input. */
kiln_status kiln__dtype_argreduce(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    (void)err;
    all_dtypes(out, call->inputs[0]->dtype, KILN_UINT32);
    return KILN_OK;
}

/* cumulative sums and products: a sum of bool is int32. */
kiln_status kiln__dtype_cumulative(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    (void)err;
    enum kiln_dtype dtype = call->inputs[0]->dtype;
    if (dtype == KILN_BOOL && call->op == KILN_OP_CUMSUM) dtype = KILN_INT32;
    all_dtypes(out, dtype, dtype);
    return KILN_OK;
}

/* Promoted, and a float or complex: there is no product of integers. */
kiln_status kiln__dtype_matmul(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = promote_inputs(call, 0);
    if (kiln__dtypes[dtype].kind < KILN_KIND_FLOAT)
        return kiln__refuse(call, err, "Only floating point and complex types are supported, but %s and %s give %s.",
                            kiln__dtypes[call->inputs[0]->dtype].name, kiln__dtypes[call->inputs[1]->dtype].name,
                            kiln__dtypes[dtype].name);
    all_dtypes(out, dtype, dtype);
    return KILN_OK;
}

/* A uint32 key gives uint32 words. */
kiln_status kiln__dtype_random_bits(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = call->inputs[0]->dtype;
    if (dtype != KILN_UINT32)
        return kiln__refuse(call, err, "Expected a key of type uint32, got %s.", kiln__dtypes[dtype].name);
    all_dtypes(out, KILN_UINT32, KILN_UINT32);
    return KILN_OK;
}

kiln_status kiln__dtype_none(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    (void)out;
    return kiln__refuse(call, err, "This operation can't be applied like the others.");
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* All attributes are the dims of the result. */
static kiln_status dims_from_attrs(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    if (call->attr_count > KILN_MAX_NDIM)
        return kiln__refuse(call, err, "%zu dimensions are more than the %d that are supported.", call->attr_count,
                            KILN_MAX_NDIM);
    out->ndim = call->attr_count;
    for (size_t i = 0; i < out->ndim; i++) {
        if (call->attrs[i] < 0 || call->attrs[i] > INT_MAX)
            return kiln__refuse(call, err, "Dimension %zu can't be %lld.", i, (long long)call->attrs[i]);
        out->dims[i] = (int)call->attrs[i];
    }
    return KILN_OK;
}

kiln_status kiln__broadcast_shapes(const int *a, size_t a_ndim, const int *b, size_t b_ndim, int *out, size_t *ndim,
                                   kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    size_t longest = a_ndim > b_ndim ? a_ndim : b_ndim;
    for (size_t i = 1; i <= longest; i++) {
        int x = i <= a_ndim ? a[a_ndim - i] : 1;
        int y = i <= b_ndim ? b[b_ndim - i] : 1;
        if (x != y && x != 1 && y != 1) {
            char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
            return kiln__fail(err, KILN_INVALID, "Shapes %s and %s cannot be broadcast.",
                              kiln__shape_text(a, a_ndim, left), kiln__shape_text(b, b_ndim, right));
        }
        dims[longest - i] = x == 1 ? y : x;
    }
    if (longest) memcpy(out, dims, longest * sizeof *out);
    *ndim = longest;
    return KILN_OK;
}

/* Puts "[name] " before a text that does not know the operation. */
static kiln_status add_name(const struct kiln_call *call, kiln_status status, kiln_error *err)
{
    if (status && err) {
        kiln_error plain = *err;
        kiln__fail(err, status, "[%s] %.900s", kiln__ops[call->op].name, plain.text);
    }
    return status;
}

/* Element-wise: the broadcast of all inputs, implicitly. Attributes: none, but for astype: the dtype. */
static kiln_status shape_elementwise(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, call->op == KILN_OP_CAST ? 1 : 0, err);
    kiln__same_shape(call->inputs[0], out);
    for (size_t i = 1; !status && i < call->count; i++) {
        const struct kiln_array *input = call->inputs[i];
        status = kiln__broadcast_shapes(out->dims, out->ndim, input->dims, input->ndim, out->dims, &out->ndim, err);
        status = add_name(call, status, err);
    }
    return status;
}

/* reshape: the dims of the result, all of them known; as many elements as the input. */
kiln_status kiln__shape_reshape(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = dims_from_attrs(call, out, err);
    if (status) return status;
    int64_t size = 0;
    status = add_name(call, kiln__shape_check(out->dims, out->ndim, call->inputs[0]->dtype, &size, err), err);
    if (status || size == call->inputs[0]->size) return status;
    char text[KILN_SHAPE_TEXT];
    return kiln__refuse(call, err, "Cannot reshape array of size %lld into shape %s.", (long long)call->inputs[0]->size,
                        kiln__shape_text(out->dims, out->ndim, text));
}

/* broadcast_to: the dims of the result. */
kiln_status kiln__shape_broadcast(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = dims_from_attrs(call, out, err);
    if (status) return status;
    const struct kiln_array *input = call->inputs[0];
    int dims[KILN_MAX_NDIM];
    size_t ndim;
    if (!kiln__broadcast_shapes(input->dims, input->ndim, out->dims, out->ndim, dims, &ndim, NULL) &&
        ndim == out->ndim && memcmp(dims, out->dims, ndim * sizeof *dims) == 0)
        return KILN_OK;
    char from[KILN_SHAPE_TEXT], to[KILN_SHAPE_TEXT];
    return kiln__refuse(call, err, "Cannot broadcast array of shape %s into shape %s.", kiln__input_text(call, 0, from),
                        kiln__shape_text(out->dims, out->ndim, to));
}

/* expand_dims: the position of the new axis in the result. */
kiln_status kiln__shape_expand_dims(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *input = call->inputs[0];
    kiln_status status = kiln__expect_attrs(call, 1, err);
    if (!status) status = kiln__expect_axis(call, 0, (size_t)input->ndim + 1, err);
    if (status) return status;
    if (input->ndim == KILN_MAX_NDIM)
        return kiln__refuse(call, err, "An array can't have more than %d dimensions.", KILN_MAX_NDIM);
    size_t axis = (size_t)call->attrs[0];
    out->ndim = (size_t)input->ndim + 1;
    for (size_t i = 0; i < out->ndim; i++) out->dims[i] = i == axis ? 1 : input->dims[i - (i > axis)];
    return KILN_OK;
}

static void drop_axis(const struct kiln_array *input, size_t axis, struct kiln_result *out)
{
    out->ndim = 0;
    for (size_t i = 0; i < input->ndim; i++)
        if (i != axis) out->dims[out->ndim++] = input->dims[i];
}

/* squeeze: the axis to drop, of size 1. */
kiln_status kiln__shape_squeeze(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *input = call->inputs[0];
    kiln_status status = kiln__expect_attrs(call, 1, err);
    if (!status) status = kiln__expect_axis(call, 0, input->ndim, err);
    if (status) return status;
    size_t axis = (size_t)call->attrs[0];
    if (input->dims[axis] != 1)
        return kiln__refuse(call, err, "Cannot squeeze axis %zu with size %d: it must have size 1.", axis,
                            input->dims[axis]);
    drop_axis(input, axis, out);
    return KILN_OK;
}

/* transpose: for each axis of the result the input's axis; a permutation. */
kiln_status kiln__shape_transpose(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *input = call->inputs[0];
    kiln_status status = kiln__expect_attrs(call, input->ndim, err);
    uint64_t seen = 0;
    for (size_t i = 0; !status && i < input->ndim; i++) {
        status = kiln__expect_axis(call, i, input->ndim, err);
        if (status) return status;
        if (seen & 1ull << call->attrs[i])
            return kiln__refuse(call, err, "Axis %lld appears twice.", (long long)call->attrs[i]);
        seen |= 1ull << call->attrs[i];
        out->dims[i] = input->dims[call->attrs[i]];
    }
    out->ndim = input->ndim;
    return status;
}

/* Elements from `start` (inside) up to `stop` (outside) in steps of `stride`. */
static int64_t slice_length(int64_t start, int64_t stop, int64_t stride)
{
    if (stride > 0) return stop > start ? (stop - start + stride - 1) / stride : 0;
    return start > stop ? (start - stop - stride - 1) / -stride : 0;
}

/*
 * slice: start[ndim], then stop[ndim], then stride[ndim], clamped to the input: element k of an axis is element
 * start + k * stride of the input's. A negative stride ends at stop -1 to take element 0.
 */
kiln_status kiln__shape_slice(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *input = call->inputs[0];
    kiln_status status = kiln__expect_attrs(call, 3 * (size_t)input->ndim, err);
    if (status) return status;
    for (size_t i = 0; i < input->ndim; i++) {
        int64_t start = call->attrs[i], stop = call->attrs[input->ndim + i], stride = call->attrs[2 * input->ndim + i];
        int64_t n = input->dims[i];
        if (stride == 0 || stride < -INT_MAX || stride > INT_MAX || start < -1 || start > n || stop < -1 || stop > n ||
            (slice_length(start, stop, stride) && (start < 0 || start >= n || (stride > 0 && stop < 0))))
            return kiln__refuse(call, err, "Axis %zu of size %lld can't be cut from %lld to %lld in steps of %lld.", i,
                                (long long)n, (long long)start, (long long)stop, (long long)stride);
        out->dims[i] = (int)slice_length(start, stop, stride);
    }
    out->ndim = input->ndim;
    return KILN_OK;
}

/*
 * as_strided: dims[ndim], strides[ndim] and an offset, in elements of the input as if it were packed; every element of
 * the result has to be one of the input's.
 */
kiln_status kiln__shape_as_strided(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    if (call->attr_count % 2 == 0) return kiln__refuse(call, err, "expected dims, as many strides, and an offset.");
    struct kiln_call dims = *call;
    dims.attr_count = call->attr_count / 2;
    kiln_status status = dims_from_attrs(&dims, out, err);
    int64_t size = 0;
    if (!status)
        status = add_name(call, kiln__shape_check(out->dims, out->ndim, call->inputs[0]->dtype, &size, err), err);
    if (status || size == 0) return status;
    const int64_t *strides = call->attrs + out->ndim;
    int64_t first = call->attrs[2 * out->ndim], last = first;
    bool inside = true;
    for (size_t i = 0; inside && i < out->ndim; i++) {
        int64_t reach;
        inside = !__builtin_mul_overflow(strides[i], (int64_t)out->dims[i] - 1, &reach);
        int64_t *end = reach < 0 ? &first : &last;
        inside = inside && !__builtin_add_overflow(*end, reach, end);
    }
    if (inside && first >= 0 && last < call->inputs[0]->size) return KILN_OK;
    char text[KILN_SHAPE_TEXT];
    return kiln__refuse(call, err,
                        "Shape %s with these strides, from element %lld on, reaches outside of the %lld elements.",
                        kiln__shape_text(out->dims, out->ndim, text), (long long)call->attrs[2 * out->ndim],
                        (long long)call->inputs[0]->size);
}

/* contiguous: no attributes; the same elements, packed. */
kiln_status kiln__shape_contiguous(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln__same_shape(call->inputs[0], out);
    return kiln__expect_attrs(call, 0, err);
}

/* view: the dtype. */
kiln_status kiln__dtype_reinterpret(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    if (call->attr_count != 1 || !kiln__dtype_is_valid((int)call->attrs[0]))
        return kiln__refuse(call, err, "expected a dtype.");
    all_dtypes(out, (enum kiln_dtype)call->inputs[0]->dtype, (enum kiln_dtype)call->attrs[0]);
    return KILN_OK;
}

/* The last axis has as many bytes as before. */
kiln_status kiln__shape_reinterpret(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *in = call->inputs[0];
    int64_t from = (int64_t)kiln__dtype_size((enum kiln_dtype)in->dtype), to = (int64_t)kiln__dtype_size(out->dtype);
    char text[KILN_SHAPE_TEXT];
    kiln__same_shape(in, out);
    if (from == to) return KILN_OK;
    int64_t bytes = in->ndim ? in->dims[in->ndim - 1] * from : -1;
    if (bytes < 0 || bytes % to || bytes / to > INT_MAX)
        return kiln__refuse(
            call, err,
            "An array of shape %s and type %s can't be seen as %s: the bytes of its last axis must be a "
            "multiple of %lld.",
            kiln__input_text(call, 0, text), kiln__dtypes[in->dtype].name, kiln__dtypes[out->dtype].name,
            (long long)to);
    out->dims[out->ndim - 1] = (int)(bytes / to);
    return KILN_OK;
}

/* depends: an array, and what is computed before it. */
kiln_status kiln__dtype_depends(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    (void)err;
    out->as_they_are = true;
    all_dtypes(out, (enum kiln_dtype)call->inputs[0]->dtype, (enum kiln_dtype)call->inputs[0]->dtype);
    return KILN_OK;
}

kiln_status kiln__shape_depends(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln__same_shape(call->inputs[0], out);
    return kiln__expect_attrs(call, 0, err);
}

/* concatenate: the axis; all other dims are equal. */
kiln_status kiln__shape_concatenate(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, 1, err);
    if (!status) status = kiln__expect_axis(call, 0, call->inputs[0]->ndim, err);
    if (status) return status;
    size_t axis = (size_t)call->attrs[0];
    int64_t along = 0;
    kiln__same_shape(call->inputs[0], out);
    for (size_t i = 0; i < call->count; i++) {
        const struct kiln_array *input = call->inputs[i];
        bool fits = input->ndim == out->ndim;
        for (size_t d = 0; fits && d < out->ndim; d++) fits = d == axis || input->dims[d] == out->dims[d];
        if (!fits) {
            char first[KILN_SHAPE_TEXT], other[KILN_SHAPE_TEXT];
            return kiln__refuse(call, err, "Shapes %s and %s differ outside of axis %zu.",
                                kiln__input_text(call, 0, first), kiln__input_text(call, i, other), axis);
        }
        along += input->dims[axis];
    }
    if (along > INT_MAX)
        return kiln__refuse(call, err, "The result's axis %zu would have size %lld.", axis, (long long)along);
    out->dims[axis] = (int)along;
    return KILN_OK;
}

/* sum: the axis to reduce, then 1 to keep it with size 1, else 0. */
kiln_status kiln__shape_sum(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *input = call->inputs[0];
    kiln_status status = kiln__expect_attrs(call, 2, err);
    if (!status) status = kiln__expect_axis(call, 0, input->ndim, err);
    if (status) return status;
    size_t axis = (size_t)call->attrs[0];
    if (call->attrs[1]) {
        kiln__same_shape(input, out);
        out->dims[axis] = 1;
    } else {
        drop_axis(input, axis, out);
    }
    return KILN_OK;
}

/* min, max, argmin, argmax: as sum, of at least one element. */
kiln_status kiln__shape_extreme(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__shape_sum(call, out, err);
    char text[KILN_SHAPE_TEXT];
    if (!status && call->inputs[0]->dims[call->attrs[0]] == 0)
        return kiln__refuse(call, err, "Cannot reduce axis %lld of shape %s: it has no elements.",
                            (long long)call->attrs[0], kiln__input_text(call, 0, text));
    return status;
}

/* sort, argsort: the axis. */
kiln_status kiln__shape_sorted(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, 1, err);
    if (!status) status = kiln__expect_axis(call, 0, call->inputs[0]->ndim, err);
    if (!status) kiln__same_shape(call->inputs[0], out);
    return status;
}

/* cumsum, cumprod, cummax, cummin: the axis, then 1 for the reverse direction, then 1 if inclusive. */
kiln_status kiln__shape_cumulative(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, 3, err);
    if (!status) status = kiln__expect_axis(call, 0, call->inputs[0]->ndim, err);
    if (!status) kiln__same_shape(call->inputs[0], out);
    return status;
}

/*
 * matmul: no attributes. Both inputs have the same rank, at least 2, and equal batch dims: kiln__matmul() adds the
 * views (expand_dims for 1-d inputs, broadcast_to for batch dims) that make it so.
 */
kiln_status kiln__shape_matmul(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *a = call->inputs[0], *b = call->inputs[1];
    kiln_status status = kiln__expect_attrs(call, 0, err);
    if (status) return status;
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (a->ndim < 2 || a->ndim != b->ndim || memcmp(a->dims, b->dims, (a->ndim - 2u) * sizeof *a->dims) != 0)
        return kiln__refuse(call, err,
                            "Shapes %s and %s must have equal ranks of at least 2 and equal batch dimensions.",
                            kiln__input_text(call, 0, left), kiln__input_text(call, 1, right));
    if (a->dims[a->ndim - 1] != b->dims[b->ndim - 2])
        return kiln__refuse(call, err,
                            "The last dimension of the first input with shape %s must match the second to last "
                            "dimension of the second input with shape %s.",
                            kiln__input_text(call, 0, left), kiln__input_text(call, 1, right));
    kiln__same_shape(a, out);
    out->dims[out->ndim - 1] = b->dims[b->ndim - 1];
    return KILN_OK;
}

/* random_bits: the dims of the result; the input is a key of two words, or has one for each element of the first dims
 * of the result, as many as its axes before the last. */
kiln_status kiln__shape_random_bits(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *key = call->inputs[0];
    char text[KILN_SHAPE_TEXT];
    size_t keys_ndim = key->ndim ? key->ndim - 1u : 0;
    if (key->ndim == 0 || key->dims[keys_ndim] != 2)
        return kiln__refuse(call, err, "Expected a key of shape (2), got %s.", kiln__input_text(call, 0, text));
    kiln_status status = dims_from_attrs(call, out, err);
    if (status) return status;
    bool fits = out->ndim >= keys_ndim;
    for (size_t i = 0; fits && i < keys_ndim; i++) fits = out->dims[i] == key->dims[i];
    if (fits) return KILN_OK;
    return kiln__refuse(call, err, "Keys of shape %s are not one for each element of the first dimensions.",
                        kiln__input_text(call, 0, text));
}

/* compiled: made by the run layer with kiln__node_new(), which knows its outputs. deferred: see deferred.h. Layers:
 * made by kiln__row_layer(). series: made by kiln__series(). */
kiln_status kiln__shape_none(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    return kiln__dtype_none(call, out, err);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct {
    kiln_op_rule *dtypes, *shape;
} rules[KILN_OP_COUNT] = {
#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex)                 \
    [KILN_OP_##ID] = {dtype_##rule, shape_elementwise},
#define KILN_OPERATION(ID, name, arity, kind, dtypes, shape, ...)                                                      \
    [KILN_OP_##ID] = {kiln__dtype_##dtypes, kiln__shape_##shape},
#include "graph/ops.def"
};

static kiln_status check_inputs(const struct kiln_call *call, kiln_error *err)
{
    int arity = kiln__ops[call->op].arity;
    if (arity >= 0 && call->count != (size_t)arity)
        return kiln__refuse(call, err, "expected %d inputs, got %zu.", arity, call->count);
    if (call->count == 0) return kiln__refuse(call, err, "No arrays provided.");
    if (call->count > UINT32_MAX || call->attr_count > UINT16_MAX)
        return kiln__refuse(call, err, "too many inputs or attributes.");
    for (size_t i = 0; i < call->count; i++)
        if (!call->inputs[i]) return kiln__refuse(call, err, "input %zu is empty.", i);
    return KILN_OK;
}

kiln_status kiln__rules_check(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    if ((unsigned)call->op >= KILN_OP_COUNT)
        return kiln__fail(err, KILN_INVALID, "there is no operation with number %d", (int)call->op);
    kiln_status status = check_inputs(call, err);
    out->as_they_are = false;
    if (!status) status = rules[call->op].dtypes(call, out, err);
    if (!status) status = rules[call->op].shape(call, out, err);
    return status;
}
