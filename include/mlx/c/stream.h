/*
 * stream.h - streams: process-wide, usable from every thread.
 *
 * Each call that hands out a default stream gives a new handle, to be freed; compare with mlx_stream_equal().
 * mlx_set_default_stream() sets the default of the stream's device for the calling thread only. A thread that set none
 * has the process's default stream, which is the first one of the device and never changes.
 * mlx_synchronize() waits for what mlx_async_eval() was asked for so far, by any thread.
 */
#ifndef MLX_C_STREAM_H
#define MLX_C_STREAM_H

#include <stdbool.h>

#include "mlx/c/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlx_stream_ {
    void *ctx;
} mlx_stream;

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
mlx_stream mlx_stream_new(void);
mlx_stream mlx_stream_new_device(mlx_device dev);
int mlx_stream_set(mlx_stream *stream, const mlx_stream src);
int mlx_stream_free(mlx_stream stream);
int mlx_stream_tostring(mlx_string *str, mlx_stream stream);
bool mlx_stream_equal(mlx_stream lhs, mlx_stream rhs);
int mlx_stream_get_device(mlx_device *dev, mlx_stream stream);
int mlx_stream_get_index(int *index, mlx_stream stream);
int mlx_synchronize(mlx_stream stream);
int mlx_get_default_stream(mlx_stream *stream, mlx_device dev);
int mlx_set_default_stream(mlx_stream stream);
mlx_stream mlx_default_cpu_stream_new(void);
mlx_stream mlx_default_gpu_stream_new(void);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
