/*
 * make_casts.c - casts between all dtypes; copies, and what is made of copies: new arrays, joined and repeated ones.
 */
#include "maker.h"

#include <stdio.h>

static void call_cast(struct maker *maker, mlx_dtype from, mlx_dtype to, enum layout layout)
{
    char what[64];
    mlx_array result = mlx_array_new();
    if (layout == LARGE && !maker->has_large) return;
    snprintf(what, sizeof what, "astype from %s to %s", dtype_name(from), dtype_name(to));
    maker_take(maker, what, mlx_astype(&result, maker_operand(maker, from, layout), to, maker->stream), result);
}

static void make_casts(struct maker *maker, mlx_dtype from)
{
    static const enum layout layouts[] = {PACKED, STRIDED, TRANSPOSED, LARGE};
    for (size_t d = 0; d < maker_dtype_count(maker); d++) {
        bool both_float = is_float(from) && is_float(maker_dtypes[d]); /* the others are made for fewer layouts */
        for (size_t i = 0; i < (both_float ? 4 : 2); i++)
            if (maker_dtypes[d] != from) call_cast(maker, from, maker_dtypes[d], layouts[i]);
    }
}

static void call_contiguous(struct maker *maker, mlx_array of)
{
    mlx_array result = mlx_array_new();
    maker_take(maker, "contiguous", mlx_contiguous(&result, of, false, maker->stream), result);
}

/* Rows that are apart, as a slice of columns leaves them. */
static void copy_columns(struct maker *maker, mlx_dtype dtype)
{
    mlx_array some = mlx_array_new();
    int failed = mlx_slice(&some, maker_operand(maker, dtype, PACKED), (int[]){0, 0}, 2, (int[]){ROWS, COLUMNS / 2}, 2,
                           (int[]){1, 1}, 2, maker->stream);
    if (!failed) call_contiguous(maker, some);
    mlx_array_free(some);
}

/* The heads of an attention: (batch, positions, heads, n) to (batch, heads, positions, n). */
static void copy_heads(struct maker *maker, mlx_dtype dtype)
{
    mlx_array of = maker_array(dtype, (int[]){2, ROWS, 4, COLUMNS}, 4), turned = mlx_array_new();
    int failed = mlx_transpose_axes(&turned, of, (int[]){0, 2, 1, 3}, 4, maker->stream);
    if (!failed) call_contiguous(maker, turned);
    mlx_array_free(turned);
    mlx_array_free(of);
}

static void make_copies(struct maker *maker, mlx_dtype dtype)
{
    call_contiguous(maker, maker_operand(maker, dtype, TRANSPOSED));
    call_contiguous(maker, maker_operand(maker, dtype, STRIDED));
    copy_columns(maker, dtype);
    copy_heads(maker, dtype);
}

static void make_new(struct maker *maker, mlx_dtype dtype)
{
    const int shape[] = {ROWS, COLUMNS};
    mlx_array result = mlx_array_new();
    maker_take(maker, "zeros", mlx_zeros(&result, shape, 2, dtype, maker->stream), result);
    result = mlx_array_new();
    maker_take(maker, "ones", mlx_ones(&result, shape, 2, dtype, maker->stream), result);
    result = mlx_array_new();
    int failed = mlx_full(&result, shape, 2, maker_operand(maker, dtype, SCALAR), dtype, maker->stream);
    maker_take(maker, "full", failed, result);
    result = mlx_array_new();
    maker_take(maker, "eye", mlx_eye(&result, ROWS, ROWS, 0, dtype, maker->stream), result);
    result = mlx_array_new();
    maker_take(maker, "tri", mlx_tri(&result, ROWS, ROWS, 0, dtype, maker->stream), result);
    if (dtype == MLX_BOOL) return;
    result = mlx_array_new();
    maker_take(maker, "arange", mlx_arange(&result, 0, COLUMNS, 1, dtype, maker->stream), result);
}

static void make_joined(struct maker *maker, mlx_dtype dtype)
{
    mlx_array packed = maker_operand(maker, dtype, PACKED), result = mlx_array_new();
    mlx_vector_array two = mlx_vector_array_new_data((mlx_array[]){packed, packed}, 2);
    for (int axis = 0; axis < 2; axis++) {
        maker_take(maker, "concatenate", mlx_concatenate_axis(&result, two, axis, maker->stream), result);
        result = mlx_array_new();
        maker_take(maker, "stack", mlx_stack_axis(&result, two, axis, maker->stream), result);
        result = mlx_array_new();
        maker_take(maker, "repeat", mlx_repeat_axis(&result, packed, 2, axis, maker->stream), result);
        result = mlx_array_new();
    }
    maker_take(maker, "tile", mlx_tile(&result, packed, (int[]){2, 2}, 2, maker->stream), result);
    mlx_vector_array_free(two);
}

static void make_indexed(struct maker *maker, mlx_dtype dtype)
{
    mlx_array packed = maker_operand(maker, dtype, PACKED), result = mlx_array_new();
    mlx_array rows = mlx_array_new_data((int[]){1, 3, 5}, (int[]){3}, 1, MLX_INT32);
    for (int axis = 0; axis < 2; axis++) {
        maker_take(maker, "take", mlx_take_axis(&result, packed, rows, axis, maker->stream), result);
        result = mlx_array_new();
    }
    mlx_array_free(rows);
    mlx_array_free(result);
}

void make_casts_and_copies(struct maker *maker)
{
    for (size_t d = 0; d < maker_dtype_count(maker); d++) {
        make_casts(maker, maker_dtypes[d]);
        make_copies(maker, maker_dtypes[d]);
        make_new(maker, maker_dtypes[d]);
        make_joined(maker, maker_dtypes[d]);
        make_indexed(maker, maker_dtypes[d]);
    }
}
