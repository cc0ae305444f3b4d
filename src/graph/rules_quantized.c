/*
 * rules_quantized.c - the rules of products with matrices that are quantized, or picked by index.
 *
 * quantized_matmul: attributes are mode (ops/quantize.h), group size, bits, whether the matrix is transposed, whether
 * there is a global scale, whether there are indices. Inputs are x (..., m, k), codes, scales, with mode 0 biases, then
 * the global scale and the indices where there are some. Codes, scales and biases have the batch dims of x; with
 * indices they are lists of matrices instead, and the indices have those dims.
 */
#include <string.h>

#include "graph/rules.h"

enum { MODE, GROUP_SIZE, BITS, TRANSPOSE, HAS_GLOBAL, HAS_INDICES, ATTRS };

static bool is_index(const struct kiln_array *array)
{
    return kiln__dtypes[array->dtype].kind == KILN_KIND_SIGNED || kiln__dtypes[array->dtype].kind == KILN_KIND_UNSIGNED;
}

/* The matrices have the dtype of x too. */
kiln_status kiln__dtype_gather_matmul(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__dtype_quantized(call, out, err);
    if (status) return status;
    if (call->inputs[1]->dtype == call->inputs[0]->dtype && is_index(call->inputs[2])) return KILN_OK;
    return kiln__refuse(call, err, "Expected matrices of type %s and indices, got %s and %s.",
                        kiln__dtypes[call->inputs[0]->dtype].name, kiln__dtypes[call->inputs[1]->dtype].name,
                        kiln__dtypes[call->inputs[2]->dtype].name);
}

kiln_status kiln__shape_gather_matmul(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *x = call->inputs[0], *w = call->inputs[1], *indices = call->inputs[2];
    kiln_status status = kiln__expect_attrs(call, 0, err);
    if (status) return status;
    bool fits = x->ndim >= 2 && w->ndim == 3 && indices->ndim == x->ndim - 2 &&
                memcmp(indices->dims, x->dims, indices->ndim * sizeof *x->dims) == 0 &&
                x->dims[x->ndim - 1] == w->dims[1];
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (!fits)
        return kiln__refuse(call, err, "Shapes %s and %s do not fit each other and the indices.",
                            kiln__input_text(call, 0, left), kiln__input_text(call, 1, right));
    kiln__same_shape(x, out);
    out->dims[out->ndim - 1] = w->dims[2];
    return KILN_OK;
}

/* The result has the dtype of x, which must be a float that kernels multiply. */
kiln_status kiln__dtype_quantized(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = (enum kiln_dtype)call->inputs[0]->dtype;
    out->as_they_are = true;
    out->first = out->rest = out->dtype = dtype;
    if (dtype == KILN_FLOAT32 || dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16) return KILN_OK;
    return kiln__refuse(call, err, "%s is not supported: expected float32, float16 or bfloat16.",
                        kiln__dtypes[dtype].name);
}

static kiln_status check_counts(const struct kiln_call *call, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, ATTRS, err);
    if (status) return status;
    size_t count = 3u + (call->attrs[MODE] == 0) + (call->attrs[HAS_GLOBAL] != 0) + (call->attrs[HAS_INDICES] != 0);
    if (call->count == count) return KILN_OK;
    return kiln__refuse(call, err, "Expected %zu inputs, got %zu.", count, call->count);
}

kiln_status kiln__shape_quantized(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = check_counts(call, err);
    if (status) return status;
    const struct kiln_array *x = call->inputs[0], *w = call->inputs[1], *scales = call->inputs[2];
    const struct kiln_array *batch = call->attrs[HAS_INDICES] ? call->inputs[call->count - 1] : w;
    size_t batch_ndim = batch == w ? (w->ndim > 2 ? w->ndim - 2u : 0) : batch->ndim;
    bool fits = x->ndim >= 2 && w->ndim == scales->ndim && w->ndim == (batch == w ? x->ndim : 3) &&
                batch_ndim == x->ndim - 2u && memcmp(batch->dims, x->dims, batch_ndim * sizeof *x->dims) == 0;
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (!fits)
        return kiln__refuse(call, err, "Shapes %s and %s do not have equal batch dimensions.",
                            kiln__input_text(call, 0, left), kiln__input_text(call, 1, right));
    int64_t elements = scales->dims[scales->ndim - 1] * call->attrs[GROUP_SIZE], lists = w->dims[w->ndim - 2];
    int64_t inner = call->attrs[TRANSPOSE] ? elements : lists;
    if (x->dims[x->ndim - 1] != inner)
        return kiln__refuse(call, err, "The last dimension of x with shape %s must be %lld.",
                            kiln__input_text(call, 0, left), (long long)inner);
    kiln__same_shape(x, out);
    out->dims[out->ndim - 1] = (int)(call->attrs[TRANSPOSE] ? lists : elements);
    return KILN_OK;
}
