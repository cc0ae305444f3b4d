/*
 * fft.h - Fourier transforms.
 */
#ifndef MLX_C_FFT_H
#define MLX_C_FFT_H

#include <stddef.h>

#include "mlx/c/array.h"
#include "mlx/c/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mlx_fft_norm_ {
    MLX_FFT_NORM_BACKWARD,
    MLX_FFT_NORM_ORTHO,
    MLX_FFT_NORM_FORWARD
} mlx_fft_norm;

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
int mlx_fft_fft(mlx_array *res, const mlx_array a, int n, int axis, mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_fft2(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                 mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_fftfreq(mlx_array *res, int n, double d, const mlx_stream s);
int mlx_fft_fftn(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                 mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_fftshift(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, const mlx_stream s);
int mlx_fft_ifft(mlx_array *res, const mlx_array a, int n, int axis, mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_ifft2(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                  mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_ifftn(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                  mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_ifftshift(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, const mlx_stream s);
int mlx_fft_irfft(mlx_array *res, const mlx_array a, int n, int axis, mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_irfft2(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                   mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_irfftn(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                   mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_rfft(mlx_array *res, const mlx_array a, int n, int axis, mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_rfft2(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                  mlx_fft_norm norm, const mlx_stream s);
int mlx_fft_rfftfreq(mlx_array *res, int n, double d, const mlx_stream s);
int mlx_fft_rfftn(mlx_array *res, const mlx_array a, const int *n, size_t n_num, const int *axes, size_t axes_num,
                  mlx_fft_norm norm, const mlx_stream s);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
