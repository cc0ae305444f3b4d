/*
 * make_reductions.c - reductions of all elements, along the last axis and along the first one, in rows that are short
 * and in rows that are made in several steps. Which there are is in mlxc/abi.tsv.
 */
#include "maker.h"

#include <stdio.h>
#include <string.h>

struct reduction {
    const char *name;
    int (*whole)(mlx_array *res, const mlx_array a, bool keepdims, const mlx_stream stream);
    int (*axis)(mlx_array *res, const mlx_array a, int axis, bool keepdims, const mlx_stream stream);
    int (*whole_spread)(mlx_array *res, const mlx_array a, bool keepdims, int ddof, const mlx_stream stream);
    int (*axis_spread)(mlx_array *res, const mlx_array a, int axis, bool keepdims, int ddof, const mlx_stream stream);
};

static const struct reduction reductions[] = {
#define WHOLE(function)        {#function, .whole = function},
#define AXIS(function)         {#function, .axis = function},
#define WHOLE_SPREAD(function) {#function, .whole_spread = function},
#define AXIS_SPREAD(function)  {#function, .axis_spread = function},
#include "reduction_calls.h" /* generated */
};

/* Whose result is of the dtype that they reduce, or bool, or a position; the others give floats, from floats. */
static bool is_of_any_dtype(const struct reduction *reduction)
{
    static const char *const of_floats[] = {"mean", "std", "var", "logsumexp"};
    for (size_t i = 0; i < sizeof of_floats / sizeof *of_floats; i++)
        if (strstr(reduction->name, of_floats[i])) return false;
    return true;
}

static bool is_in_short_form(const struct reduction *reduction)
{
    return strstr(reduction->name, "_sum") || strstr(reduction->name, "_max");
}

/* `axis` is not read by reductions of all elements. */
static void call(struct maker *maker, const struct reduction *reduction, mlx_array of, int axis)
{
    mlx_array result = mlx_array_new();
    int failed = reduction->whole          ? reduction->whole(&result, of, false, maker->stream)
                 : reduction->axis         ? reduction->axis(&result, of, axis, false, maker->stream)
                 : reduction->whole_spread ? reduction->whole_spread(&result, of, false, 0, maker->stream)
                                           : reduction->axis_spread(&result, of, axis, false, 0, maker->stream);
    maker_take(maker, reduction->name, failed, result);
}

static void call_with_shape(struct maker *maker, const struct reduction *reduction, mlx_dtype dtype, const int *shape,
                            int ndim)
{
    mlx_array of = maker_array(dtype, shape, ndim);
    bool has_axis = reduction->axis || reduction->axis_spread;
    for (int axis = 0; axis < (has_axis ? ndim : 1); axis++) call(maker, reduction, of, axis);
    mlx_array_free(of);
}

static void call_reduction(struct maker *maker, const struct reduction *reduction, mlx_dtype dtype)
{
    enum { LONG = 3000, MANY = 200 }; /* longer than a chunk of any schedule; as many rows as fill a GPU */
    bool has_axis = reduction->axis || reduction->axis_spread;
    call_with_shape(maker, reduction, dtype, (int[]){COLUMNS}, 1);
    call_with_shape(maker, reduction, dtype, (int[]){ROWS, COLUMNS}, 2);
    if (!has_axis) return;
    call_with_shape(maker, reduction, dtype, (int[]){4, ROWS, COLUMNS}, 3);
    call_with_shape(maker, reduction, dtype, (int[]){2, LONG}, 2);
    call_with_shape(maker, reduction, dtype, (int[]){MANY, LONG}, 2);
    call(maker, reduction, maker_operand(maker, dtype, TRANSPOSED), -1);
    call(maker, reduction, maker_operand(maker, dtype, STRIDED), -1);
}

void make_reductions(struct maker *maker)
{
    for (size_t d = 0; d < maker_dtype_count(maker); d++) {
        mlx_dtype dtype = maker_dtypes[d];
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
            const struct reduction *reduction = &reductions[i];
            if (!is_float(dtype) && !is_of_any_dtype(reduction)) continue;
            if (!maker->is_short || is_in_short_form(reduction)) call_reduction(maker, reduction, dtype);
        }
    }
}
