/*
 * abi_indexing.c - the functions of ops.h that read and write through several index arrays, or through slices.
 */
#include "ops/indexing.h"

#include "mlxc/abi_vector.h"
#include "ops/compose.h"

/* ---- gather and scatter --------------------------------------------------------------------------------------- */

/* True, after an error, unless there is one axis for each index array. */
static bool no_axes(const char *name, size_t count, const int *axes, size_t axes_num)
{
    if (axes_num == count) return count && KILN_NO_POINTER(axes);
    _mlx_error(__FILE__, __LINE__, "[%s] expected %zu axes, one per index array; got %zu", name, count, axes_num);
    return true;
}

int mlx_gather(mlx_array *res, const mlx_array a, const mlx_vector_array indices, const int *axes, size_t axes_num,
               const int *slice_sizes, size_t slice_sizes_num, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_VECTOR(indices) || KILN_NO_STREAM(s)) return 1;
    struct kiln_index_list list = {kiln__vector_data(indices), axes, kiln__vector_size(indices)};
    if (no_axes("gather", list.count, axes, axes_num)) return 1;
    if (slice_sizes_num && KILN_NO_POINTER(slice_sizes)) return 1;
    KILN_RETURN_RESULT(res, kiln__gather(kiln__unwrap(a), list, slice_sizes, slice_sizes_num, &out, &err));
}

#define KILN_SCATTER(name, mode)                                                                                       \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_vector_array indices, const mlx_array updates,         \
                   const int *axes, size_t axes_num, const mlx_stream s)                                               \
    {                                                                                                                  \
        if (KILN_NO_ARRAY(a) || KILN_NO_VECTOR(indices) || KILN_NO_ARRAY(updates) || KILN_NO_STREAM(s)) return 1;      \
        struct kiln_index_list list = {kiln__vector_data(indices), axes, kiln__vector_size(indices)};                  \
        if (no_axes("scatter", list.count, axes, axes_num)) return 1;                                                  \
        KILN_RETURN_RESULT(res, kiln__scatter(mode, kiln__unwrap(a), list, kiln__unwrap(updates), &out, &err));        \
    }

KILN_SCATTER(scatter, KILN_MERGE_SET)
KILN_SCATTER(scatter_add, KILN_MERGE_ADD)
KILN_SCATTER(scatter_prod, KILN_MERGE_MULTIPLY)
KILN_SCATTER(scatter_max, KILN_MERGE_MAX)
KILN_SCATTER(scatter_min, KILN_MERGE_MIN)

/* ---- slices --------------------------------------------------------------------------------------------------- */

/* True, after an error, unless there is a start, a stop and a stride for each dimension. */
static bool no_bounds(const char *name, size_t ndim, const int *start, size_t start_num, const int *stop,
                      size_t stop_num, const int *strides, size_t strides_num)
{
    bool fits = start_num == ndim && stop_num == ndim && strides_num == ndim;
    if (fits && (!ndim || (start && stop && strides))) return false;
    if (fits)
        _mlx_error(__FILE__, __LINE__, "[%s] start, stop or strides is NULL", name);
    else
        _mlx_error(__FILE__, __LINE__,
                   "[%s] expected %zu starts, stops and strides, one per dimension; got %zu, %zu and %zu", name, ndim,
                   start_num, stop_num, strides_num);
    return true;
}

int mlx_slice(mlx_array *res, const mlx_array a, const int *start, size_t start_num, const int *stop, size_t stop_num,
              const int *strides, size_t strides_num, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;
    size_t ndim = kiln__unwrap(a)->ndim;
    if (no_bounds("slice", ndim, start, start_num, stop, stop_num, strides, strides_num)) return 1;
    KILN_RETURN_RESULT(res, kiln__slice(kiln__unwrap(a), start, stop, strides, ndim, &out, &err));
}

#define KILN_SLICE_UPDATE(name, mode)                                                                                  \
    int mlx_##name(mlx_array *res, const mlx_array src, const mlx_array update, const int *start, size_t start_num,    \
                   const int *stop, size_t stop_num, const int *strides, size_t strides_num, const mlx_stream s)       \
    {                                                                                                                  \
        if (KILN_NO_ARRAY(src) || KILN_NO_ARRAY(update) || KILN_NO_STREAM(s)) return 1;                                \
        if (no_bounds(#name, kiln__unwrap(src)->ndim, start, start_num, stop, stop_num, strides, strides_num))         \
            return 1;                                                                                                  \
        KILN_RETURN_RESULT(                                                                                            \
            res, kiln__slice_update(mode, kiln__unwrap(src), kiln__unwrap(update), start, stop, strides, &out, &err)); \
    }

KILN_SLICE_UPDATE(slice_update, KILN_MERGE_SET)
KILN_SLICE_UPDATE(slice_update_add, KILN_MERGE_ADD)
KILN_SLICE_UPDATE(slice_update_prod, KILN_MERGE_MULTIPLY)
KILN_SLICE_UPDATE(slice_update_max, KILN_MERGE_MAX)
KILN_SLICE_UPDATE(slice_update_min, KILN_MERGE_MIN)

int mlx_slice_dynamic(mlx_array *res, const mlx_array a, const mlx_array start, const int *axes, size_t axes_num,
                      const int *slice_size, size_t slice_size_num, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_ARRAY(start) || KILN_NO_STREAM(s)) return 1;
    if (KILN_NO_ELEMENTS(axes, axes_num) || KILN_NO_ELEMENTS(slice_size, slice_size_num)) return 1;
    KILN_RETURN_RESULT(res, kiln__slice_dynamic(kiln__unwrap(a), kiln__unwrap(start), axes, axes_num, slice_size,
                                                slice_size_num, &out, &err));
}

int mlx_slice_update_dynamic(mlx_array *res, const mlx_array src, const mlx_array update, const mlx_array start,
                             const int *axes, size_t axes_num, const mlx_stream s)
{
    if (KILN_NO_ARRAY(src) || KILN_NO_ARRAY(update) || KILN_NO_ARRAY(start) || KILN_NO_STREAM(s)) return 1;
    if (KILN_NO_ELEMENTS(axes, axes_num)) return 1;
    KILN_RETURN_RESULT(res, kiln__slice_update_dynamic(kiln__unwrap(src), kiln__unwrap(update), kiln__unwrap(start),
                                                       axes, axes_num, &out, &err));
}
