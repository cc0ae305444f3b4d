/*
 * abi_fast.c - fast.h of the ABI: common layers as one call; and the layers of ops.h.
 */
#include "mlxc/handle.h"
#include "ops/compose.h"
#include "ops/convolution.h"
#include "ops/layers.h"

int mlx_fast_rms_norm(mlx_array *res, const mlx_array x, const mlx_array weight, float eps, const mlx_stream s)
{
    KILN_NEED_ARRAY(x);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__rms_norm(kiln__unwrap(x), kiln__unwrap_optional(weight), eps, &out, &err));
}

int mlx_fast_layer_norm(mlx_array *res, const mlx_array x, const mlx_array weight, const mlx_array bias, float eps,
                        const mlx_stream s)
{
    KILN_NEED_ARRAY(x);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__layer_norm(kiln__unwrap(x), kiln__unwrap_optional(weight),
                                             kiln__unwrap_optional(bias), eps, &out, &err));
}

int mlx_fast_rope_dynamic(mlx_array *res, const mlx_array x, int dims, bool traditional, mlx_optional_float base,
                          float scale, const mlx_array offset, const mlx_array freqs, const mlx_stream s)
{
    KILN_NEED_ARRAY(x);
    KILN_NEED_ARRAY(offset);
    KILN_NEED_STREAM(s);
    struct kiln_rope how = {dims, traditional, base.has_value ? &base.value : NULL, scale,
                            kiln__unwrap_optional(freqs)};
    KILN_RETURN_RESULT(res, kiln__rope(kiln__unwrap(x), how, kiln__unwrap(offset), &out, &err));
}

int mlx_fast_rope(mlx_array *res, const mlx_array x, int dims, bool traditional, mlx_optional_float base, float scale,
                  int offset, const mlx_array freqs, const mlx_stream s)
{
    kiln_error err;
    struct kiln_array *first = NULL, *out = NULL;
    KILN_NEED_POINTER(res);
    KILN_NEED_ARRAY(x);
    KILN_NEED_STREAM(s);
    KILN_TRY(kiln__array_scalar(KILN_INT32, &offset, &first, &err));
    struct kiln_rope how = {dims, traditional, base.has_value ? &base.value : NULL, scale,
                            kiln__unwrap_optional(freqs)};
    kiln_status status = kiln__rope(kiln__unwrap(x), how, first, &out, &err);
    kiln__array_unref(first);
    KILN_TRY(status);
    return kiln__give(res, out);
}

int mlx_fast_scaled_dot_product_attention(mlx_array *res, const mlx_array queries, const mlx_array keys,
                                          const mlx_array values, float scale, const char *mask_mode,
                                          const mlx_array mask_arr, const mlx_array sinks, bool force_fused,
                                          const mlx_stream s)
{
    KILN_NEED_ARRAY(queries);
    KILN_NEED_ARRAY(keys);
    KILN_NEED_ARRAY(values);
    KILN_NEED_STREAM(s);
    if (force_fused)
        return KILN_FAIL_TEXT("[scaled_dot_product_attention] force_fused must be false: there is no fused kernel on "
                              "the CPU");
    struct kiln_attention attention = {
        kiln__unwrap(queries),           kiln__unwrap(keys),          kiln__unwrap(values), scale, mask_mode,
        kiln__unwrap_optional(mask_arr), kiln__unwrap_optional(sinks)};
    KILN_RETURN_RESULT(res, kiln__attention(&attention, &out, &err));
}

int mlx_addmm(mlx_array *res, const mlx_array c, const mlx_array a, const mlx_array b, float alpha, float beta,
              const mlx_stream s)
{
    KILN_NEED_ARRAY(c);
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(b);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__addmm(kiln__unwrap(c), kiln__unwrap(a), kiln__unwrap(b), alpha, beta, &out, &err));
}

int mlx_conv1d(mlx_array *res, const mlx_array input, const mlx_array weight, int stride, int padding, int dilation,
               int groups, const mlx_stream s)
{
    struct kiln_conv how = {1, {stride}, {padding}, {dilation}, groups};
    KILN_NEED_ARRAY(input);
    KILN_NEED_ARRAY(weight);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__conv(kiln__unwrap(input), kiln__unwrap(weight), &how, &out, &err));
}

int mlx_conv2d(mlx_array *res, const mlx_array input, const mlx_array weight, int stride_0, int stride_1, int padding_0,
               int padding_1, int dilation_0, int dilation_1, int groups, const mlx_stream s)
{
    struct kiln_conv how = {2, {stride_0, stride_1}, {padding_0, padding_1}, {dilation_0, dilation_1}, groups};
    KILN_NEED_ARRAY(input);
    KILN_NEED_ARRAY(weight);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__conv(kiln__unwrap(input), kiln__unwrap(weight), &how, &out, &err));
}

int mlx_conv3d(mlx_array *res, const mlx_array input, const mlx_array weight, int stride_0, int stride_1, int stride_2,
               int padding_0, int padding_1, int padding_2, int dilation_0, int dilation_1, int dilation_2, int groups,
               const mlx_stream s)
{
    struct kiln_conv how = {3,
                            {stride_0, stride_1, stride_2},
                            {padding_0, padding_1, padding_2},
                            {dilation_0, dilation_1, dilation_2},
                            groups};
    KILN_NEED_ARRAY(input);
    KILN_NEED_ARRAY(weight);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__conv(kiln__unwrap(input), kiln__unwrap(weight), &how, &out, &err));
}
