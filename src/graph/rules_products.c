/*
 * rules_products.c - the rules of segmented_mm: a (m, k), b (k, n), segments (..., 2), which are integers. No
 * attributes.
 */
#include "graph/rules.h"

/* a and b have one dtype, a real float. */
kiln_status kiln__dtype_segmented(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype left = (enum kiln_dtype)call->inputs[0]->dtype, right = (enum kiln_dtype)call->inputs[1]->dtype;
    enum kiln_dtype_kind kind = kiln__dtypes[call->inputs[2]->dtype].kind;
    out->as_they_are = true;
    out->first = out->rest = out->dtype = left;
    if (!kiln__dtype_is_float(left) || left != right)
        return kiln__refuse(call, err, "Only real floating point types are supported, but got %s and %s.",
                            kiln__dtypes[left].name, kiln__dtypes[right].name);
    if (kind == KILN_KIND_SIGNED || kind == KILN_KIND_UNSIGNED) return KILN_OK;
    return kiln__refuse(call, err, "Segments must be integers, got %s.", kiln__dtypes[call->inputs[2]->dtype].name);
}

kiln_status kiln__shape_segmented(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *a = call->inputs[0], *b = call->inputs[1], *segments = call->inputs[2];
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    kiln_status status = kiln__expect_attrs(call, 0, err);
    if (status) return status;
    if (a->ndim != 2 || b->ndim != 2)
        return kiln__refuse(call, err, "Expected two matrices without a batch, got shapes %s and %s.",
                            kiln__input_text(call, 0, left), kiln__input_text(call, 1, right));
    if (a->dims[1] != b->dims[0])
        return kiln__refuse(call, err,
                            "Last dimension of first input with shape %s must match second to last dimension of second "
                            "input with shape %s.",
                            kiln__input_text(call, 0, left), kiln__input_text(call, 1, right));
    if (segments->ndim == 0 || segments->dims[segments->ndim - 1] != 2)
        return kiln__refuse(call, err, "The segments should have shape (..., 2) but %s was provided.",
                            kiln__input_text(call, 2, left));
    if (segments->ndim == KILN_MAX_NDIM)
        return kiln__refuse(call, err, "Segments can't have more than %d dimensions.", KILN_MAX_NDIM - 1);
    kiln__same_shape(segments, out);
    out->dims[segments->ndim - 1] = a->dims[0];
    out->dims[out->ndim++] = b->dims[1];
    return KILN_OK;
}
