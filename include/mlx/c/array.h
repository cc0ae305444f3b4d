/*
 * array.h - arrays: making them, asking about them, reading them.
 *
 * A handle is a box around a reference: two handles to one array are freed separately. A result parameter whose ctx is
 * NULL gets a new box; otherwise its box stays and its content is replaced. After a failure it is untouched.
 * item_* and tostring evaluate. data_* and strides do not, but wait for an evaluation that is under way; data_* give NULL
 * for an array without bytes. None converts.
 */
#ifndef MLX_C_ARRAY_H
#define MLX_C_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlx/c/half.h"
#include "mlx/c/string.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlx_array_ {
    void *ctx;
} mlx_array;

/* The empty handle. */
static mlx_array mlx_array_empty __attribute__((unused));

typedef enum mlx_dtype_ {
    MLX_BOOL,
    MLX_UINT8,
    MLX_UINT16,
    MLX_UINT32,
    MLX_UINT64,
    MLX_INT8,
    MLX_INT16,
    MLX_INT32,
    MLX_INT64,
    MLX_FLOAT16,
    MLX_FLOAT32,
    MLX_FLOAT64,
    MLX_BFLOAT16,
    MLX_COMPLEX64
} mlx_dtype;

__extension__ typedef float _Complex mlx_complex64_t;

/* ---- functions: from src/mlxc/abi.tsv, by tools/abi_headers.awk ---- */
/* clang-format off */
size_t mlx_dtype_size(mlx_dtype dtype);
int mlx_array_tostring(mlx_string *str, const mlx_array arr);
mlx_array mlx_array_new(void);
int mlx_array_free(mlx_array arr);
mlx_array mlx_array_new_bool(bool val);
mlx_array mlx_array_new_int(int val);
mlx_array mlx_array_new_float32(float val);
mlx_array mlx_array_new_float(float val);
mlx_array mlx_array_new_float64(double val);
mlx_array mlx_array_new_double(double val);
mlx_array mlx_array_new_complex(float real_val, float imag_val);
mlx_array mlx_array_new_data(const void *data, const int *shape, int dim, mlx_dtype dtype);
mlx_array mlx_array_new_data_managed(void *data, const int *shape, int dim, mlx_dtype dtype, void (*dtor)(void *));
mlx_array mlx_array_new_data_managed_payload(void *data, const int *shape, int dim, mlx_dtype dtype, void *payload,
                                             void (*dtor)(void *));
int mlx_array_set(mlx_array *arr, const mlx_array src);
int mlx_array_set_bool(mlx_array *arr, bool val);
int mlx_array_set_int(mlx_array *arr, int val);
int mlx_array_set_float32(mlx_array *arr, float val);
int mlx_array_set_float(mlx_array *arr, float val);
int mlx_array_set_float64(mlx_array *arr, double val);
int mlx_array_set_double(mlx_array *arr, double val);
int mlx_array_set_complex(mlx_array *arr, float real_val, float imag_val);
int mlx_array_set_data(mlx_array *arr, const void *data, const int *shape, int dim, mlx_dtype dtype);
size_t mlx_array_itemsize(const mlx_array arr);
size_t mlx_array_size(const mlx_array arr);
size_t mlx_array_nbytes(const mlx_array arr);
size_t mlx_array_ndim(const mlx_array arr);
const int *mlx_array_shape(const mlx_array arr);
const size_t *mlx_array_strides(const mlx_array arr);
int mlx_array_dim(const mlx_array arr, int dim);
mlx_dtype mlx_array_dtype(const mlx_array arr);
int mlx_array_eval(mlx_array arr);
int mlx_array_item_bool(bool *res, const mlx_array arr);
int mlx_array_item_uint8(uint8_t *res, const mlx_array arr);
int mlx_array_item_uint16(uint16_t *res, const mlx_array arr);
int mlx_array_item_uint32(uint32_t *res, const mlx_array arr);
int mlx_array_item_uint64(uint64_t *res, const mlx_array arr);
int mlx_array_item_int8(int8_t *res, const mlx_array arr);
int mlx_array_item_int16(int16_t *res, const mlx_array arr);
int mlx_array_item_int32(int32_t *res, const mlx_array arr);
int mlx_array_item_int64(int64_t *res, const mlx_array arr);
int mlx_array_item_float32(float *res, const mlx_array arr);
int mlx_array_item_float64(double *res, const mlx_array arr);
int mlx_array_item_complex64(mlx_complex64_t *res, const mlx_array arr);
int mlx_array_item_float16(float16_t *res, const mlx_array arr);
int mlx_array_item_bfloat16(bfloat16_t *res, const mlx_array arr);
const bool *mlx_array_data_bool(const mlx_array arr);
const uint8_t *mlx_array_data_uint8(const mlx_array arr);
const uint16_t *mlx_array_data_uint16(const mlx_array arr);
const uint32_t *mlx_array_data_uint32(const mlx_array arr);
const uint64_t *mlx_array_data_uint64(const mlx_array arr);
const int8_t *mlx_array_data_int8(const mlx_array arr);
const int16_t *mlx_array_data_int16(const mlx_array arr);
const int32_t *mlx_array_data_int32(const mlx_array arr);
const int64_t *mlx_array_data_int64(const mlx_array arr);
const float *mlx_array_data_float32(const mlx_array arr);
const double *mlx_array_data_float64(const mlx_array arr);
const mlx_complex64_t *mlx_array_data_complex64(const mlx_array arr);
const float16_t *mlx_array_data_float16(const mlx_array arr);
const bfloat16_t *mlx_array_data_bfloat16(const mlx_array arr);
int _mlx_array_is_available(bool *res, const mlx_array arr);
int _mlx_array_wait(const mlx_array arr);
int _mlx_array_is_contiguous(bool *res, const mlx_array arr);
int _mlx_array_is_row_contiguous(bool *res, const mlx_array arr);
int _mlx_array_is_col_contiguous(bool *res, const mlx_array arr);
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
