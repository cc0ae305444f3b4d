/*
 * error.h - what happens when a call fails.
 *
 * The handler is called on the thread whose call failed, before that call returns. NULL restores the default: print the
 * text on standard output and exit. `data` reaches the handler only together with a dtor.
 *
 * An empty handle or NULL where something is needed is such a failure, of every function: codes are not 0, handles are
 * empty, and results as before. Freeing an empty handle is fine.
 */
#ifndef MLX_C_ERROR_H
#define MLX_C_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*mlx_error_handler_func)(const char *msg, void *data);

/* Reports an error of the caller's own, with the caller's file and line. */
#define mlx_error(...) _mlx_error(__FILE__, __LINE__, __VA_ARGS__)

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
void mlx_set_error_handler(mlx_error_handler_func handler, void *data, void (*dtor)(void *));
void _mlx_error(const char *file, const int line, const char *fmt, ...);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
