/*
 * string.h - text that the library owns.
 *
 * mlx_string_new() is the empty handle until something sets it. mlx_string_data() points into the string and is valid
 * until that string is set or freed.
 */
#ifndef MLX_C_STRING_H
#define MLX_C_STRING_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlx_string_ {
    void *ctx;
} mlx_string;

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
mlx_string mlx_string_new(void);
mlx_string mlx_string_new_data(const char *str);
int mlx_string_set(mlx_string *str, const mlx_string src);
const char *mlx_string_data(mlx_string str);
int mlx_string_free(mlx_string str);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
