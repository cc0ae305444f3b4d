/*
 * transforms.h - evaluation and function transformations.
 *
 * mlx_async_eval() returns at once; arrays that are asked for together are there together, so waiting for one of them
 * waits for all. A failure is reported to who waits for, or reads, an array that could not be made.
 */
#ifndef MLX_C_TRANSFORMS_H
#define MLX_C_TRANSFORMS_H

#include <stddef.h>

#include "mlx/c/array.h"
#include "mlx/c/closure.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_async_eval(const mlx_vector_array outputs);
int mlx_checkpoint(mlx_closure *res, const mlx_closure fun);
int mlx_custom_function(mlx_closure *res, const mlx_closure fun, const mlx_closure_custom fun_vjp,
                        const mlx_closure_custom_jvp fun_jvp, const mlx_closure_custom_vmap fun_vmap);
int mlx_custom_vjp(mlx_closure *res, const mlx_closure fun, const mlx_closure_custom fun_vjp);
int mlx_eval(const mlx_vector_array outputs);
int mlx_jvp(mlx_vector_array *res_0, mlx_vector_array *res_1, const mlx_closure fun, const mlx_vector_array primals,
            const mlx_vector_array tangents);
int mlx_value_and_grad(mlx_closure_value_and_grad *res, const mlx_closure fun, const int *argnums, size_t argnums_num);
int mlx_vjp(mlx_vector_array *res_0, mlx_vector_array *res_1, const mlx_closure fun, const mlx_vector_array primals,
            const mlx_vector_array cotangents);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
