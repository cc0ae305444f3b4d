/*
 * rules_fft.c - the rules of operation fft; its attributes are in fft_attrs.h.
 */
#include "graph/fft_attrs.h"
#include "graph/rules.h"

kiln_status kiln__dtype_fft(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, KILN_FFT_ATTRS, err);
    if (status) return status;
    if (call->attrs[1] < 0 || call->attrs[1] >= KILN_FFT_KINDS || call->attrs[3] < 0 ||
        call->attrs[3] >= KILN_FFT_NORMS)
        return kiln__refuse(call, err, "There is no kind %lld or norm %lld.", (long long)call->attrs[1],
                            (long long)call->attrs[3]);
    out->first = out->rest = call->attrs[1] == KILN_FFT_REAL ? KILN_FLOAT32 : KILN_COMPLEX64;
    out->dtype = call->attrs[1] == KILN_FFT_HALF ? KILN_FLOAT32 : KILN_COMPLEX64;
    return KILN_OK;
}

kiln_status kiln__shape_fft(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_axis(call, 0, call->inputs[0]->ndim, err);
    if (status) return status;
    struct kiln_fft_attrs attrs = kiln__fft_attrs(call->attrs);
    int *n = &out->dims[attrs.axis];
    kiln__same_shape(call->inputs[0], out);
    if (*n == 0) return kiln__refuse(call, err, "Axis %d has no elements.", attrs.axis);
    if (attrs.kind == KILN_FFT_REAL) *n = *n / 2 + 1;
    if (attrs.kind != KILN_FFT_HALF) return KILN_OK;
    if (attrs.n < 1 || attrs.n / 2 + 1 != *n)
        return kiln__refuse(call, err, "%d numbers have %d terms, not %d.", attrs.n, attrs.n / 2 + 1, *n);
    *n = attrs.n;
    return KILN_OK;
}
