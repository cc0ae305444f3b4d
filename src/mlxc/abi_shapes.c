/*
 * abi_shapes.c - the functions of ops.h that rearrange elements and are no rows of abi.tsv: those whose lists have to
 * fit each other, and those with several results.
 */
#include "ops/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "mlxc/abi_vector.h"
#include "ops/compose.h"

/* ---- axes ------------------------------------------------------------------------------------------------------ */

int mlx_transpose(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    int64_t axes[KILN_MAX_NDIM];
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;
    struct kiln_array *array = kiln__unwrap(a);
    for (int i = 0; i < array->ndim; i++) axes[i] = array->ndim - 1 - i;
    KILN_RETURN_RESULT(res, kiln__apply(KILN_OP_TRANSPOSE, &array, 1, axes, array->ndim, &out, &err));
}

int mlx_transpose_axes(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, const mlx_stream s)
{
    int64_t order[KILN_MAX_NDIM];
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;
    struct kiln_array *array = kiln__unwrap(a);
    if (axes_num && KILN_NO_POINTER(axes)) return 1;
    if (axes_num != array->ndim) {
        _mlx_error(__FILE__, __LINE__, "[transpose] expected %d axes, one per dimension; got %zu", array->ndim,
                   axes_num);
        return 1;
    }
    for (size_t i = 0; i < axes_num; i++) order[i] = axes[i] < 0 ? axes[i] + (int64_t)axes_num : axes[i];
    KILN_RETURN_RESULT(res, kiln__apply(KILN_OP_TRANSPOSE, &array, 1, order, axes_num, &out, &err));
}

int mlx_as_strided(mlx_array *res, const mlx_array a, const int *shape, size_t shape_num, const int64_t *strides,
                   size_t strides_num, size_t offset, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;
    if (shape_num != strides_num) {
        _mlx_error(__FILE__, __LINE__, "[as_strided] expected as many strides as dimensions; got %zu and %zu",
                   strides_num, shape_num);
        return 1;
    }
    if (shape_num && (KILN_NO_POINTER(shape) || KILN_NO_POINTER(strides))) return 1;
    KILN_RETURN_RESULT(res, kiln__as_strided(kiln__unwrap(a), shape, strides, shape_num, offset, &out, &err));
}

/* Arrays never change, so that a copy is one more reference. */
int mlx_copy(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res)) return 1;
    return kiln__give(res, kiln__array_ref(kiln__unwrap(a)));
}

/* ---- repeating, rolling, padding ------------------------------------------------------------------------------- */

/* A call on the flat array, whose only axis is 0. */
typedef kiln_status flat_step(struct kiln_array *flat, int64_t number, struct kiln_array **out, kiln_error *err);

static kiln_status on_flat(struct kiln_array *a, flat_step *step, int64_t number, struct kiln_array **out,
                           kiln_error *err)
{
    struct kiln_array *flat = NULL;
    kiln_status status = kiln__flatten(a, 0, -1, &flat, err);
    if (!status) status = step(flat, number, out, err);
    kiln__array_unref(flat);
    return status;
}

static kiln_status repeat_flat(struct kiln_array *flat, int64_t number, struct kiln_array **out, kiln_error *err)
{
    return kiln__repeat(flat, (int)number, 0, out, err);
}

static kiln_status roll_flat(struct kiln_array *flat, int64_t number, struct kiln_array **out, kiln_error *err)
{
    return kiln__roll(flat, number, 0, out, err);
}

int mlx_repeat(mlx_array *res, const mlx_array arr, int repeats, const mlx_stream s)
{
    if (KILN_NO_ARRAY(arr) || KILN_NO_STREAM(s)) return 1;
    KILN_RETURN_RESULT(res, on_flat(kiln__unwrap(arr), repeat_flat, repeats, &out, &err));
}

static int64_t total(const int *numbers, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += numbers[i];
    return sum;
}

/* Over all elements in row-major order; the shape stays. */
static kiln_status roll_all(struct kiln_array *a, int64_t shift, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *rolled = NULL;
    kiln_status status = on_flat(a, roll_flat, shift, &rolled, err);
    if (!status) status = kiln__reshape_like(rolled, a, out, err);
    kiln__array_unref(rolled);
    return status;
}

int mlx_roll(mlx_array *res, const mlx_array a, const int *shift, size_t shift_num, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_ELEMENTS(shift, shift_num)) return 1;
    KILN_RETURN_RESULT(res, roll_all(kiln__unwrap(a), total(shift, shift_num), &out, &err));
}

int mlx_roll_axis(mlx_array *res, const mlx_array a, const int *shift, size_t shift_num, int axis, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_ELEMENTS(shift, shift_num)) return 1;
    KILN_RETURN_RESULT(res, kiln__roll(kiln__unwrap(a), total(shift, shift_num), axis, &out, &err));
}

/* One shift per axis. */
static kiln_status roll_axes(struct kiln_array *a, const int *shift, const int *axes, size_t count,
                             struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *value = kiln__array_ref(a);
    for (size_t i = 0; i < count; i++) {
        struct kiln_array *next = NULL;
        kiln_status status = kiln__roll(value, shift[i], axes[i], &next, err);
        kiln__array_unref(value);
        if (status) return status;
        value = next;
    }
    *out = value;
    return KILN_OK;
}

int mlx_roll_axes(mlx_array *res, const mlx_array a, const int *shift, size_t shift_num, const int *axes,
                  size_t axes_num, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;
    if (shift_num != axes_num) {
        _mlx_error(__FILE__, __LINE__, "[roll] expected as many shifts as axes; got %zu and %zu", shift_num, axes_num);
        return 1;
    }
    if (axes_num && (KILN_NO_POINTER(shift) || KILN_NO_POINTER(axes))) return 1;
    KILN_RETURN_RESULT(res, roll_axes(kiln__unwrap(a), shift, axes, axes_num, &out, &err));
}

int mlx_pad(mlx_array *res, const mlx_array a, const int *axes, size_t axes_num, const int *low_pad_size,
            size_t low_pad_size_num, const int *high_pad_size, size_t high_pad_size_num, const mlx_array pad_value,
            const char *mode, const mlx_stream s)
{
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(mode)) return 1;
    if (!strcmp(mode, "constant") && KILN_NO_ARRAY(pad_value)) return 1;
    if (low_pad_size_num != axes_num || high_pad_size_num != axes_num) {
        _mlx_error(__FILE__, __LINE__, "[pad] expected a low and a high size for each of %zu axes; got %zu and %zu",
                   axes_num, low_pad_size_num, high_pad_size_num);
        return 1;
    }
    if (axes_num && (KILN_NO_POINTER(axes) || KILN_NO_POINTER(low_pad_size) || KILN_NO_POINTER(high_pad_size)))
        return 1;
    struct kiln_padding padding = {axes, low_pad_size, high_pad_size, axes_num, mode, kiln__unwrap_optional(pad_value)};
    KILN_RETURN_RESULT(res, kiln__pad(kiln__unwrap(a), &padding, &out, &err));
}

int mlx_pad_symmetric(mlx_array *res, const mlx_array a, int pad_width, const mlx_array pad_value, const char *mode,
                      const mlx_stream s)
{
    int axes[KILN_MAX_NDIM], sizes[KILN_MAX_NDIM];
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(mode)) return 1;
    if (!strcmp(mode, "constant") && KILN_NO_ARRAY(pad_value)) return 1;
    size_t ndim = kiln__unwrap(a)->ndim;
    for (size_t i = 0; i < ndim; i++) axes[i] = (int)i, sizes[i] = pad_width;
    struct kiln_padding padding = {axes, sizes, sizes, ndim, mode, kiln__unwrap_optional(pad_value)};
    KILN_RETURN_RESULT(res, kiln__pad(kiln__unwrap(a), &padding, &out, &err));
}

/* ---- several results ------------------------------------------------------------------------------------------- */

/* Memory for `count` results, at least one; NULL after the handler was told. */
static struct kiln_array **new_results(size_t count)
{
    struct kiln_array **out = calloc(count ? count : 1, sizeof *out);
    if (!out) KILN_FAIL_TEXT("out of memory: the results of a call");
    return out;
}

/* Ends a call that filled `out` or failed with `status`; `out` is freed. */
static int give_results(mlx_vector_array *res, kiln_status status, struct kiln_array **out, size_t count,
                        const kiln_error *err)
{
    int code = status ? KILN_FAIL(err) : kiln__give_arrays(res, out, count);
    free(out);
    return code;
}

int mlx_broadcast_arrays(mlx_vector_array *res, const mlx_vector_array inputs, const mlx_stream s)
{
    kiln_error err;
    if (KILN_NO_VECTOR(inputs) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res)) return 1;
    size_t count = kiln__vector_size(inputs);
    struct kiln_array **out = new_results(count);
    if (!out) return 1;
    kiln_status status = kiln__broadcast_arrays(kiln__vector_data(inputs), count, out, &err);
    return give_results(res, status, out, count, &err);
}

int mlx_meshgrid(mlx_vector_array *res, const mlx_vector_array arrays, bool sparse, const char *indexing,
                 const mlx_stream s)
{
    kiln_error err;
    if (KILN_NO_VECTOR(arrays) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res) || KILN_NO_POINTER(indexing)) return 1;
    size_t count = kiln__vector_size(arrays);
    struct kiln_array **out = new_results(count);
    if (!out) return 1;
    kiln_status status = kiln__meshgrid(kiln__vector_data(arrays), count, sparse, indexing, out, &err);
    return give_results(res, status, out, count, &err);
}

int mlx_split(mlx_vector_array *res, const mlx_array a, int num_splits, int axis, const mlx_stream s)
{
    kiln_error err;
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res)) return 1;
    size_t count = num_splits > 0 ? (size_t)num_splits : 0;
    struct kiln_array **out = new_results(count);
    if (!out) return 1;
    return give_results(res, kiln__split(kiln__unwrap(a), num_splits, axis, out, &err), out, count, &err);
}

int mlx_split_sections(mlx_vector_array *res, const mlx_array a, const int *indices, size_t indices_num, int axis,
                       const mlx_stream s)
{
    kiln_error err;
    if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res) || (indices_num && KILN_NO_POINTER(indices)))
        return 1;
    size_t count = indices_num + 1;
    struct kiln_array **out = new_results(count);
    if (!out) return 1;
    return give_results(res, kiln__split_at(kiln__unwrap(a), indices, count, axis, out, &err), out, count, &err);
}

int mlx_depends(mlx_vector_array *res, const mlx_vector_array inputs, const mlx_vector_array dependencies)
{
    kiln_error err;
    if (KILN_NO_POINTER(res) || KILN_NO_VECTOR(inputs) || KILN_NO_VECTOR(dependencies)) return 1;
    size_t count = kiln__vector_size(inputs);
    struct kiln_array **out = new_results(count);
    if (!out) return 1;
    kiln_status status = kiln__depends(kiln__vector_data(inputs), count, kiln__vector_data(dependencies),
                                       kiln__vector_size(dependencies), out, &err);
    return give_results(res, status, out, count, &err);
}
