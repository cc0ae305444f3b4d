/*
 * maker.c - see maker.h. All arrays are views of one block of memory, whose bytes are 1: whatever the dtype, that is a
 * number, and no zero.
 */
#include "maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32 << 20, LONG_ROW = 8192 }; /* bytes: results of so many are written past the caches; and elements */

const mlx_dtype maker_dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_INT32,
                                  MLX_INT64,   MLX_UINT32,  MLX_UINT8,    MLX_BOOL};

size_t maker_dtype_count(const struct maker *maker)
{
    return maker->is_short ? 1 : sizeof maker_dtypes / sizeof *maker_dtypes;
}

const char *dtype_name(mlx_dtype dtype)
{
    static const char *const names[MLX_COMPLEX64 + 1] = {
        [MLX_BOOL] = "bool",   [MLX_UINT8] = "uint8",     [MLX_UINT32] = "uint32",     [MLX_INT32] = "int32",
        [MLX_INT64] = "int64", [MLX_FLOAT16] = "float16", [MLX_BFLOAT16] = "bfloat16", [MLX_FLOAT32] = "float32",
    };
    return names[dtype] ? names[dtype] : "?";
}

bool is_float(mlx_dtype dtype)
{
    return dtype == MLX_FLOAT32 || dtype == MLX_FLOAT16 || dtype == MLX_BFLOAT16;
}

/* ---- arrays --------------------------------------------------------------------------------------------------- */

static char *block;

static void keep_block(void *data)
{
    (void)data;
}

mlx_array maker_array(mlx_dtype dtype, const int *shape, int ndim)
{
    return mlx_array_new_data_managed(block, shape, ndim, dtype, keep_block);
}

static mlx_array make_transposed(const struct maker *maker, mlx_dtype dtype)
{
    mlx_array whole = maker_array(dtype, (int[]){COLUMNS, ROWS}, 2), turned = mlx_array_new();
    mlx_transpose(&turned, whole, maker->stream);
    mlx_array_eval(turned);
    mlx_array_free(whole);
    return turned;
}

static mlx_array make_strided(const struct maker *maker, mlx_dtype dtype)
{
    const int start[] = {0, 0}, stop[] = {ROWS, 2 * COLUMNS}, steps[] = {1, 2};
    mlx_array whole = maker_array(dtype, stop, 2), some = mlx_array_new();
    mlx_slice(&some, whole, start, 2, stop, 2, steps, 2, maker->stream);
    mlx_array_eval(some);
    mlx_array_free(whole);
    return some;
}

static mlx_array make_operand(const struct maker *maker, mlx_dtype dtype, enum layout layout)
{
    switch (layout) {
    case PACKED:
        return maker_array(dtype, (int[]){ROWS, COLUMNS}, 2);
    case SCALAR:
        return maker_array(dtype, NULL, 0);
    case ROW:
        return maker_array(dtype, (int[]){COLUMNS}, 1);
    case COLUMN:
        return maker_array(dtype, (int[]){ROWS, 1}, 2);
    case TRANSPOSED:
        return make_transposed(maker, dtype);
    case STRIDED:
        return make_strided(maker, dtype);
    default:
        return maker_array(dtype, (int[]){(int)(BLOCK / mlx_dtype_size(dtype) / LONG_ROW), LONG_ROW}, 2);
    }
}

mlx_array maker_operand(struct maker *maker, mlx_dtype dtype, enum layout layout)
{
    mlx_array *array = &maker->operands[dtype][layout];
    if (!array->ctx) *array = make_operand(maker, dtype, layout);
    return *array;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static char last_error[512];

static void note_error(const char *text, void *data)
{
    (void)data;
    snprintf(last_error, sizeof last_error, "%s", text);
}

void maker_take(struct maker *maker, const char *what, int failed, mlx_array result)
{
    maker->calls++;
    if (!failed) failed = mlx_array_eval(result);
    if (failed) {
        maker->failures++;
        fprintf(stderr, "base_pack: %s: %s\n", what, last_error);
    }
    mlx_array_free(result);
}

/* ---- begin and end -------------------------------------------------------------------------------------------- */

void maker_init(struct maker *maker, bool is_short)
{
    mlx_device device = mlx_device_new();
    mlx_device_type type = MLX_CPU;
    *maker = (struct maker){.stream = mlx_stream_new(), .is_short = is_short};
    mlx_set_error_handler(note_error, NULL, NULL);
    block = aligned_alloc(64, BLOCK);
    if (!block || mlx_get_default_device(&device) || mlx_device_get_type(&type, device) ||
        mlx_get_default_stream(&maker->stream, device)) {
        fprintf(stderr, "base_pack: %s\n", block ? last_error : "out of memory");
        exit(2);
    }
    memset(block, 1, BLOCK);
    maker->has_large = type == MLX_CPU && !is_short;
    mlx_device_free(device);
}

void maker_release(struct maker *maker)
{
    for (size_t dtype = 0; dtype <= MLX_COMPLEX64; dtype++)
        for (size_t layout = 0; layout < LAYOUTS; layout++) mlx_array_free(maker->operands[dtype][layout]);
    mlx_stream_free(maker->stream);
    free(block);
}
