/*
 * abi_indexing.c - the functions of ops.h that read and write through indices and slices.
 */
#include "mlxc/abi_vector.h"
#include "ops/indexing.h"

int mlx_take(mlx_array *res, const mlx_array a, const mlx_array indices, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(indices);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__take(kiln__unwrap(a), kiln__unwrap(indices), &out, &err));
}

int mlx_take_axis(mlx_array *res, const mlx_array a, const mlx_array indices, int axis, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(indices);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__take_axis(kiln__unwrap(a), kiln__unwrap(indices), axis, &out, &err));
}

int mlx_take_along_axis(mlx_array *res, const mlx_array a, const mlx_array indices, int axis, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(indices);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__take_along_axis(kiln__unwrap(a), kiln__unwrap(indices), axis, &out, &err));
}

#define KILN_PUT_ALONG(name, mode)                                                                                     \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_array indices, const mlx_array values, int axis,       \
                   const mlx_stream s)                                                                                 \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_ARRAY(indices);                                                                                      \
        KILN_NEED_ARRAY(values);                                                                                       \
        KILN_NEED_STREAM(s);                                                                                           \
        KILN_RETURN_RESULT(res, kiln__put_along_axis(mode, kiln__unwrap(a), kiln__unwrap(indices),                     \
                                                     kiln__unwrap(values), axis, &out, &err));                         \
    }

KILN_PUT_ALONG(put_along_axis, KILN_MERGE_SET)
KILN_PUT_ALONG(scatter_add_axis, KILN_MERGE_ADD)

/* ---- gather and scatter --------------------------------------------------------------------------------------- */

/* Leaves the function with 1 when there is not one axis for each index array. */
#define NEED_AXES(name, count)                                                                                         \
    do {                                                                                                               \
        if (axes_num != (count)) {                                                                                     \
            _mlx_error(__FILE__, __LINE__, "[" name "] expected %zu axes, one per index array; got %zu",               \
                       (size_t)(count), axes_num);                                                                     \
            return 1;                                                                                                  \
        }                                                                                                              \
        if (axes_num) KILN_NEED_POINTER(axes);                                                                         \
    } while (0)

int mlx_gather(mlx_array *res, const mlx_array a, const mlx_vector_array indices, const int *axes, size_t axes_num,
               const int *slice_sizes, size_t slice_sizes_num, const mlx_stream s)
{
    struct kiln_index_list list = {.axes = axes};
    KILN_NEED_ARRAY(a);
    KILN_NEED_VECTOR(indices);
    KILN_NEED_STREAM(s);
    list.indices = kiln__vector_arrays(indices, &list.count);
    NEED_AXES("gather", list.count);
    if (slice_sizes_num) KILN_NEED_POINTER(slice_sizes);
    KILN_RETURN_RESULT(res, kiln__gather(kiln__unwrap(a), list, slice_sizes, slice_sizes_num, &out, &err));
}

int mlx_gather_single(mlx_array *res, const mlx_array a, const mlx_array indices, int axis, const int *slice_sizes,
                      size_t slice_sizes_num, const mlx_stream s)
{
    KILN_NEED_ARRAY(a);
    KILN_NEED_ARRAY(indices);
    KILN_NEED_STREAM(s);
    if (slice_sizes_num) KILN_NEED_POINTER(slice_sizes);
    struct kiln_array *one = kiln__unwrap(indices);
    struct kiln_index_list list = {&one, &axis, 1};
    KILN_RETURN_RESULT(res, kiln__gather(kiln__unwrap(a), list, slice_sizes, slice_sizes_num, &out, &err));
}

#define KILN_SCATTER(name, mode)                                                                                       \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_vector_array indices, const mlx_array updates,         \
                   const int *axes, size_t axes_num, const mlx_stream s)                                               \
    {                                                                                                                  \
        struct kiln_index_list list = {.axes = axes};                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_VECTOR(indices);                                                                                     \
        KILN_NEED_ARRAY(updates);                                                                                      \
        KILN_NEED_STREAM(s);                                                                                           \
        list.indices = kiln__vector_arrays(indices, &list.count);                                                      \
        NEED_AXES("scatter", list.count);                                                                              \
        KILN_RETURN_RESULT(res, kiln__scatter(mode, kiln__unwrap(a), list, kiln__unwrap(updates), &out, &err));        \
    }                                                                                                                  \
    int mlx_##name##_single(mlx_array *res, const mlx_array a, const mlx_array indices, const mlx_array updates,       \
                            int axis, const mlx_stream s)                                                              \
    {                                                                                                                  \
        KILN_NEED_ARRAY(a);                                                                                            \
        KILN_NEED_ARRAY(indices);                                                                                      \
        KILN_NEED_ARRAY(updates);                                                                                      \
        KILN_NEED_STREAM(s);                                                                                           \
        struct kiln_array *one = kiln__unwrap(indices);                                                                \
        struct kiln_index_list list = {&one, &axis, 1};                                                                \
        KILN_RETURN_RESULT(res, kiln__scatter(mode, kiln__unwrap(a), list, kiln__unwrap(updates), &out, &err));        \
    }

KILN_SCATTER(scatter, KILN_MERGE_SET)
KILN_SCATTER(scatter_add, KILN_MERGE_ADD)
KILN_SCATTER(scatter_prod, KILN_MERGE_MULTIPLY)
KILN_SCATTER(scatter_max, KILN_MERGE_MAX)
KILN_SCATTER(scatter_min, KILN_MERGE_MIN)

/* ---- slices --------------------------------------------------------------------------------------------------- */

#define KILN_SLICE_UPDATE(name, mode)                                                                                  \
    int mlx_##name(mlx_array *res, const mlx_array src, const mlx_array update, const int *start, size_t start_num,    \
                   const int *stop, size_t stop_num, const int *strides, size_t strides_num, const mlx_stream s)       \
    {                                                                                                                  \
        KILN_NEED_ARRAY(src);                                                                                          \
        KILN_NEED_ARRAY(update);                                                                                       \
        KILN_NEED_STREAM(s);                                                                                           \
        size_t ndim = kiln__unwrap(src)->ndim;                                                                         \
        if (start_num != ndim || stop_num != ndim || strides_num != ndim) {                                            \
            _mlx_error(__FILE__, __LINE__,                                                                             \
                       "[" #name "] expected %zu starts, stops and strides, one per dimension; got %zu, %zu and %zu",  \
                       ndim, start_num, stop_num, strides_num);                                                        \
            return 1;                                                                                                  \
        }                                                                                                              \
        if (ndim && (!start || !stop || !strides))                                                                     \
            return KILN_FAIL_TEXT("[" #name "] start, stop or strides is NULL");                                       \
        KILN_RETURN_RESULT(                                                                                            \
            res, kiln__slice_update(mode, kiln__unwrap(src), kiln__unwrap(update), start, stop, strides, &out, &err)); \
    }

KILN_SLICE_UPDATE(slice_update, KILN_MERGE_SET)
KILN_SLICE_UPDATE(slice_update_add, KILN_MERGE_ADD)
KILN_SLICE_UPDATE(slice_update_prod, KILN_MERGE_MULTIPLY)
KILN_SLICE_UPDATE(slice_update_max, KILN_MERGE_MAX)
KILN_SLICE_UPDATE(slice_update_min, KILN_MERGE_MIN)
