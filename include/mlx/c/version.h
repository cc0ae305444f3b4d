/*
 * version.h - the version of the interface.
 */
#ifndef MLX_C_VERSION_H
#define MLX_C_VERSION_H

#include "mlx/c/string.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_version(mlx_string *str_);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
