/*
 * metal.h - Apple GPUs.
 */
#ifndef MLX_C_METAL_H
#define MLX_C_METAL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_metal_is_available(bool *res);
int mlx_metal_start_capture(const char *path);
int mlx_metal_stop_capture(void);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
