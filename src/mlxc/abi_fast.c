/*
 * abi_fast.c - fast.h of the ABI: common layers as one call; and the layers of ops.h.
 */
#include "mlxc/handle.h"
#include "ops/convolution.h"
#include "ops/layers.h"

int mlx_fast_rope(mlx_array *res, const mlx_array x, int dims, bool traditional, mlx_optional_float base, float scale,
                  int offset, const mlx_array freqs, const mlx_stream s)
{
    kiln_error err;
    struct kiln_array *first = NULL, *out = NULL;
    if (KILN_NO_POINTER(res) || KILN_NO_ARRAY(x) || KILN_NO_STREAM(s)) return 1;
    if (kiln__array_scalar(KILN_INT32, &offset, &first, &err)) return KILN_FAIL(&err);
    struct kiln_rope how = {dims, traditional, base.has_value ? &base.value : NULL, scale,
                            kiln__unwrap_optional(freqs)};
    kiln_status status = kiln__rope(kiln__unwrap(x), how, first, &out, &err);
    kiln__array_unref(first);
    return status ? KILN_FAIL(&err) : kiln__give(res, out);
}

int mlx_fast_scaled_dot_product_attention(mlx_array *res, const mlx_array queries, const mlx_array keys,
                                          const mlx_array values, float scale, const char *mask_mode,
                                          const mlx_array mask_arr, const mlx_array sinks, bool force_fused,
                                          const mlx_stream s)
{
    if (KILN_NO_ARRAY(queries) || KILN_NO_ARRAY(keys) || KILN_NO_ARRAY(values) || KILN_NO_STREAM(s)) return 1;
    if (force_fused)
        return KILN_FAIL_TEXT("[scaled_dot_product_attention] force_fused must be false: there is no fused kernel on "
                              "the CPU");
    struct kiln_attention attention = {
        kiln__unwrap(queries),           kiln__unwrap(keys),          kiln__unwrap(values), scale, mask_mode,
        kiln__unwrap_optional(mask_arr), kiln__unwrap_optional(sinks)};
    KILN_RETURN_RESULT(res, kiln__attention(&attention, &out, &err));
}
