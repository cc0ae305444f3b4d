/*
 * transforms_impl.h - the two halves of vmap.
 */
#ifndef MLX_C_TRANSFORMS_IMPL_H
#define MLX_C_TRANSFORMS_IMPL_H

#include <stddef.h>

#include "mlx/c/array.h"
#include "mlx/c/closure.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_detail_vmap_replace(mlx_vector_array *res, const mlx_vector_array inputs, const mlx_vector_array s_inputs,
                            const mlx_vector_array s_outputs, const int *in_axes, size_t in_axes_num,
                            const int *out_axes, size_t out_axes_num);
int mlx_detail_vmap_trace(mlx_vector_array *res_0, mlx_vector_array *res_1, const mlx_closure fun,
                          const mlx_vector_array inputs, const int *in_axes, size_t in_axes_num);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
