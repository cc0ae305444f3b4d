/*
 * distributed.h - communication between processes.
 */
#ifndef MLX_C_DISTRIBUTED_H
#define MLX_C_DISTRIBUTED_H

#include <stddef.h>

#include "mlx/c/array.h"
#include "mlx/c/distributed_group.h"
#include "mlx/c/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_distributed_all_gather(mlx_array *res, const mlx_array x, const mlx_distributed_group group,
                               const mlx_stream S);
int mlx_distributed_all_max(mlx_array *res, const mlx_array x, const mlx_distributed_group group, const mlx_stream s);
int mlx_distributed_all_min(mlx_array *res, const mlx_array x, const mlx_distributed_group group, const mlx_stream s);
int mlx_distributed_all_sum(mlx_array *res, const mlx_array x, const mlx_distributed_group group, const mlx_stream s);
int mlx_distributed_recv(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, int src,
                         const mlx_distributed_group group, const mlx_stream s);
int mlx_distributed_recv_like(mlx_array *res, const mlx_array x, int src, const mlx_distributed_group group,
                              const mlx_stream s);
int mlx_distributed_send(mlx_array *res, const mlx_array x, int dst, const mlx_distributed_group group,
                         const mlx_stream s);
int mlx_distributed_sum_scatter(mlx_array *res, const mlx_array x, const mlx_distributed_group group,
                                const mlx_stream s);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
