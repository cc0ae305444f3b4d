/*
 * graph_utils.h - the graph behind lazy arrays, printed.
 */
#ifndef MLX_C_GRAPH_UTILS_H
#define MLX_C_GRAPH_UTILS_H

#include <stdio.h>

#include "mlx/c/array.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlx_node_namer_ {
    void *ctx;
} mlx_node_namer;

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
mlx_node_namer mlx_node_namer_new(void);
int mlx_node_namer_free(mlx_node_namer namer);
int mlx_node_namer_set_name(mlx_node_namer namer, const mlx_array arr, const char *name);
int mlx_node_namer_get_name(const char **name, mlx_node_namer namer, const mlx_array arr);
int mlx_export_to_dot(FILE *os, const mlx_node_namer namer, const mlx_vector_array outputs);
int mlx_print_graph(FILE *os, const mlx_node_namer namer, const mlx_vector_array outputs);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
