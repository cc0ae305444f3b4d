/*
 * cuda.h - NVIDIA GPUs.
 */
#ifndef MLX_C_CUDA_H
#define MLX_C_CUDA_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_cuda_is_available(bool *res);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
