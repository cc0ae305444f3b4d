/*
 * io.h - arrays in files.
 */
#ifndef MLX_C_IO_H
#define MLX_C_IO_H

#include "mlx/c/array.h"
#include "mlx/c/io_types.h"
#include "mlx/c/map.h"
#include "mlx/c/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_load_reader(mlx_array *res, mlx_io_reader in_stream, const mlx_stream s);
int mlx_load(mlx_array *res, const char *file, const mlx_stream s);
int mlx_load_gguf(mlx_io_gguf *gguf, const char *file, const mlx_stream s);
int mlx_load_safetensors_reader(mlx_map_string_to_array *res_0, mlx_map_string_to_string *res_1,
                                mlx_io_reader in_stream, const mlx_stream s);
int mlx_load_safetensors(mlx_map_string_to_array *res_0, mlx_map_string_to_string *res_1, const char *file,
                         const mlx_stream s);
int mlx_save_writer(mlx_io_writer out_stream, const mlx_array a);
int mlx_save(const char *file, const mlx_array a);
int mlx_save_gguf(const char *file, mlx_io_gguf gguf);
int mlx_save_safetensors_writer(mlx_io_writer in_stream, const mlx_map_string_to_array param,
                                const mlx_map_string_to_string metadata);
int mlx_save_safetensors(const char *file, const mlx_map_string_to_array param,
                         const mlx_map_string_to_string metadata);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
