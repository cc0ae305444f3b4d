/*
 * memory.h - memory of arrays: live, peak, kept for reuse.
 *
 * The wired limit is kept and given back, and has no effect: a GPU's memory is always resident. More than the device
 * information's max_recommended_working_set_size is an error and leaves the limit. Without a GPU it is always 0.
 */
#ifndef MLX_C_MEMORY_H
#define MLX_C_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_clear_cache(void);
int mlx_get_active_memory(size_t *res);
int mlx_get_cache_memory(size_t *res);
int mlx_get_memory_limit(size_t *res);
int mlx_get_peak_memory(size_t *res);
int mlx_reset_peak_memory(void);
int mlx_set_cache_limit(size_t *res, size_t limit);
int mlx_set_memory_limit(size_t *res, size_t limit);
int mlx_set_wired_limit(size_t *res, size_t limit);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
