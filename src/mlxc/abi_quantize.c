/*
 * abi_quantize.c - the functions of ops.h on quantized matrices, and products of matrices picked by index.
 */
#include "ops/quantize.h"

#include "mlxc/abi_vector.h"
#include "ops/products.h"

/* Fills *how from the name of the mode and the optional sizes, which default to the mode's own. Returns 1 after an
 * error. */
static int choose(const char *name, const char *mode, mlx_optional_int group_size, mlx_optional_int bits,
                  struct kiln_quantization *how)
{
    kiln_error err;
    if (KILN_NO_POINTER(mode)) return 1;
    if (kiln__quantization(name, mode, group_size.has_value ? &group_size.value : NULL,
                           bits.has_value ? &bits.value : NULL, how, &err))
        return KILN_FAIL(&err);
    return 0;
}

int mlx_quantize(mlx_vector_array *res, const mlx_array w, mlx_optional_int group_size, mlx_optional_int bits,
                 const char *mode, const mlx_array global_scale, const mlx_stream s)
{
    kiln_error err;
    struct kiln_quantization how;
    struct kiln_array *parts[3] = {NULL, NULL, NULL};
    if (KILN_NO_ARRAY(w) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res)) return 1;
    if (choose("quantize", mode, group_size, bits, &how)) return 1;
    if (kiln__quantize("quantize", kiln__unwrap(w), kiln__unwrap_optional(global_scale), how, parts, &err))
        return KILN_FAIL(&err);
    return kiln__give_arrays(res, parts, parts[2] ? 3 : 2);
}

int mlx_dequantize(mlx_array *res, const mlx_array w, const mlx_array scales, const mlx_array biases,
                   mlx_optional_int group_size, mlx_optional_int bits, const char *mode, const mlx_array global_scale,
                   mlx_optional_dtype dtype, const mlx_stream s)
{
    struct kiln_quantization how;
    if (KILN_NO_ARRAY(w) || KILN_NO_ARRAY(scales) || KILN_NO_STREAM(s)) return 1;
    if (choose("dequantize", mode, group_size, bits, &how)) return 1;
    if (dtype.has_value && !kiln__dtype_is_valid((int)dtype.value))
        return KILN_FAIL_TEXT("[dequantize] the dtype is not one of mlx_dtype (0 to 13)");
    struct kiln_quantized q = {kiln__unwrap(w), kiln__unwrap(scales), kiln__unwrap_optional(biases),
                               kiln__unwrap_optional(global_scale)};
    enum kiln_dtype to = dtype.has_value ? (enum kiln_dtype)dtype.value : KILN_DTYPE_COUNT;
    KILN_RETURN_RESULT(res, kiln__dequantize("dequantize", &q, how, to, &out, &err));
}

int mlx_quantized_matmul(mlx_array *res, const mlx_array x, const mlx_array w, const mlx_array scales,
                         const mlx_array biases, bool transpose, mlx_optional_int group_size, mlx_optional_int bits,
                         const char *mode, const mlx_stream s)
{
    struct kiln_quantization how;
    if (KILN_NO_ARRAY(x) || KILN_NO_ARRAY(w) || KILN_NO_ARRAY(scales) || KILN_NO_STREAM(s)) return 1;
    if (choose("quantized_matmul", mode, group_size, bits, &how)) return 1;
    struct kiln_quantized q = {kiln__unwrap(w), kiln__unwrap(scales), kiln__unwrap_optional(biases), NULL};
    KILN_RETURN_RESULT(res, kiln__quantized_matmul(kiln__unwrap(x), &q, transpose, how, &out, &err));
}

int mlx_qqmm(mlx_array *res, const mlx_array x, const mlx_array w, const mlx_array w_scales,
             mlx_optional_int group_size, mlx_optional_int bits, const char *mode, const mlx_array global_scale_x,
             const mlx_array global_scale_w, const mlx_stream s)
{
    struct kiln_quantization how;
    if (KILN_NO_ARRAY(x) || KILN_NO_ARRAY(w) || KILN_NO_STREAM(s)) return 1;
    if (choose("qqmm", mode, group_size, bits, &how)) return 1;
    struct kiln_quantized q = {kiln__unwrap(w), kiln__unwrap_optional(w_scales), NULL,
                               kiln__unwrap_optional(global_scale_w)};
    KILN_RETURN_RESULT(res, kiln__qqmm(kiln__unwrap(x), &q, kiln__unwrap_optional(global_scale_x), how, &out, &err));
}

int mlx_gather_qmm(mlx_array *res, const mlx_array x, const mlx_array w, const mlx_array scales, const mlx_array biases,
                   const mlx_array lhs_indices, const mlx_array rhs_indices, bool transpose,
                   mlx_optional_int group_size, mlx_optional_int bits, const char *mode, bool sorted_indices,
                   const mlx_stream s)
{
    struct kiln_quantization how;
    (void)sorted_indices;
    if (KILN_NO_ARRAY(x) || KILN_NO_ARRAY(w) || KILN_NO_ARRAY(scales) || KILN_NO_STREAM(s)) return 1;
    if (choose("gather_qmm", mode, group_size, bits, &how)) return 1;
    struct kiln_quantized q = {kiln__unwrap(w), kiln__unwrap(scales), kiln__unwrap_optional(biases), NULL};
    struct kiln_picks picks = {kiln__unwrap_optional(lhs_indices), kiln__unwrap_optional(rhs_indices)};
    KILN_RETURN_RESULT(res, kiln__gather_qmm(kiln__unwrap(x), &q, picks, transpose, how, &out, &err));
}
