/*
 * abi_array.c - array.h of the ABI but for tostring: making arrays, asking about them, reading them.
 *
 * item_* evaluate first. data_*, strides and the functions that tell the layout do not; they wait for an evaluation
 * that is under way. data_* of an array that is not evaluated is an error, and NULL.
 */
#include <stdlib.h>
#include <string.h>

#include "mlxc/handle.h"
#include "run/eval.h"
#include "run/placement.h"

/* ---- boxes ---------------------------------------------------------------------------------------------------- */

int kiln__give(mlx_array *res, struct kiln_array *array)
{
    struct kiln_array_box *box = res->ctx;
    if (box) {
        struct kiln_array *old = box->array;
        box->array = array;
        kiln__array_unref(old);
        return 0;
    }
    *res = kiln__wrap(array);
    return res->ctx ? 0 : 1;
}

mlx_array kiln__wrap(struct kiln_array *array)
{
    struct kiln_array_box *box = kiln__box_new(KILN_BOX_SMALL);
    if (!box) {
        kiln__array_unref(array);
        KILN_FAIL_TEXT("out of memory: a handle for an array");
        return (mlx_array){NULL};
    }
    box->array = array;
    return (mlx_array){box};
}

mlx_array mlx_array_new(void)
{
    return (mlx_array){NULL};
}

int mlx_array_free(mlx_array arr)
{
    struct kiln_array_box *box = arr.ctx;
    if (!box) return 0;
    kiln__array_unref(box->array);
    kiln__box_free(KILN_BOX_SMALL, box);
    return 0;
}

int mlx_array_set(mlx_array *arr, const mlx_array src)
{
    if (KILN_NO_POINTER(arr) || KILN_NO_ARRAY(src)) return 1;
    return kiln__give(arr, kiln__array_ref(kiln__unwrap(src)));
}

/* ---- from values ---------------------------------------------------------------------------------------------- */

#define KILN_SCALAR_FUNCTIONS(name, type, dtype)                                                                       \
    int mlx_array_set_##name(mlx_array *arr, type val)                                                                 \
    {                                                                                                                  \
        KILN_RETURN_RESULT(arr, kiln__array_scalar(dtype, &val, &out, &err));                                          \
    }                                                                                                                  \
    mlx_array mlx_array_new_##name(type val)                                                                           \
    {                                                                                                                  \
        mlx_array arr = {NULL};                                                                                        \
        mlx_array_set_##name(&arr, val);                                                                               \
        return arr;                                                                                                    \
    }

KILN_SCALAR_FUNCTIONS(bool, bool, KILN_BOOL)
KILN_SCALAR_FUNCTIONS(int, int, KILN_INT32)
KILN_SCALAR_FUNCTIONS(float32, float, KILN_FLOAT32)
KILN_SCALAR_FUNCTIONS(float, float, KILN_FLOAT32)
KILN_SCALAR_FUNCTIONS(float64, double, KILN_FLOAT64)
KILN_SCALAR_FUNCTIONS(double, double, KILN_FLOAT64)

int mlx_array_set_complex(mlx_array *arr, float real_val, float imag_val)
{
    float value[2] = {real_val, imag_val};
    KILN_RETURN_RESULT(arr, kiln__array_scalar(KILN_COMPLEX64, value, &out, &err));
}

mlx_array mlx_array_new_complex(float real_val, float imag_val)
{
    mlx_array arr = {NULL};
    mlx_array_set_complex(&arr, real_val, imag_val);
    return arr;
}

/* ---- from memory ---------------------------------------------------------------------------------------------- */

/* Checks the arguments of the functions below. *size: the number of elements. */
static kiln_status check_data(const void *data, const int *shape, int dim, mlx_dtype dtype, int64_t *size,
                              kiln_error *err)
{
    if (!kiln__dtype_is_valid((int)dtype))
        return kiln__fail(err, KILN_INVALID, "[array] dtype %d is not one of mlx_dtype (0 to %d)", (int)dtype,
                          KILN_DTYPE_COUNT - 1);
    if (dim < 0) return kiln__fail(err, KILN_INVALID, "[array] the number of dimensions is negative: %d", dim);
    if (dim && !shape) return kiln__fail(err, KILN_INVALID, "[array] shape is NULL but dim is %d", dim);
    kiln_status status = kiln__shape_check(shape, (size_t)dim, (enum kiln_dtype)dtype, size, err);
    if (status != KILN_OK) return status;
    if (*size && !data)
        return kiln__fail(err, KILN_INVALID, "[array] data is NULL for a shape of %lld elements", (long long)*size);
    return KILN_OK;
}

static kiln_status from_copy(const void *data, const int *shape, int dim, mlx_dtype dtype, struct kiln_array **out,
                             kiln_error *err)
{
    int64_t size;
    kiln_status status = check_data(data, shape, dim, dtype, &size, err);
    if (status != KILN_OK) return status;
    return kiln__array_from_data(data, (enum kiln_dtype)dtype, (size_t)dim, shape, out, err);
}

/* The memory stays where it is; dtor(payload) runs at the last release, and not at all when this fails. */
static kiln_status from_foreign(void *data, const int *shape, int dim, mlx_dtype dtype, void *payload,
                                void (*dtor)(void *), struct kiln_array **out, kiln_error *err)
{
    int64_t size;
    struct kiln_array *array = NULL;
    kiln_status status = check_data(data, shape, dim, dtype, &size, err);
    if (status == KILN_OK) status = kiln__array_new((enum kiln_dtype)dtype, (size_t)dim, shape, &array, err);
    if (status != KILN_OK) return status;
    size_t size_bytes = (size_t)size * kiln__dtype_size((enum kiln_dtype)dtype);
    status = kiln__storage_foreign(data, size_bytes, dtor, payload, &array->storage, err);
    if (status != KILN_OK) {
        kiln__array_unref(array);
        return status;
    }
    array->data = data;
    *out = array;
    return KILN_OK;
}

int mlx_array_set_data(mlx_array *arr, const void *data, const int *shape, int dim, mlx_dtype dtype)
{
    KILN_RETURN_RESULT(arr, from_copy(data, shape, dim, dtype, &out, &err));
}

mlx_array mlx_array_new_data(const void *data, const int *shape, int dim, mlx_dtype dtype)
{
    mlx_array arr = {NULL};
    mlx_array_set_data(&arr, data, shape, dim, dtype);
    return arr;
}

static int set_foreign(mlx_array *arr, void *data, const int *shape, int dim, mlx_dtype dtype, void *payload,
                       void (*dtor)(void *))
{
    KILN_RETURN_RESULT(arr, from_foreign(data, shape, dim, dtype, payload, dtor, &out, &err));
}

mlx_array mlx_array_new_data_managed(void *data, const int *shape, int dim, mlx_dtype dtype, void (*dtor)(void *))
{
    return mlx_array_new_data_managed_payload(data, shape, dim, dtype, data, dtor);
}

mlx_array mlx_array_new_data_managed_payload(void *data, const int *shape, int dim, mlx_dtype dtype, void *payload,
                                             void (*dtor)(void *))
{
    mlx_array arr = {NULL};
    set_foreign(&arr, data, shape, dim, dtype, payload, dtor);
    return arr;
}

/* ---- questions ------------------------------------------------------------------------------------------------ */

size_t mlx_dtype_size(mlx_dtype dtype)
{
    if (!kiln__dtype_is_valid((int)dtype)) {
        KILN_FAIL_TEXT("[dtype_size] the dtype is not one of mlx_dtype (0 to 13)");
        return 0;
    }
    return kiln__dtype_size((enum kiln_dtype)dtype);
}

size_t mlx_array_itemsize(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return 0;
    return kiln__dtype_size(kiln__unwrap(arr)->dtype);
}

size_t mlx_array_size(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return 0;
    return (size_t)kiln__unwrap(arr)->size;
}

size_t mlx_array_nbytes(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return 0;
    return (size_t)kiln__unwrap(arr)->size * kiln__dtype_size(kiln__unwrap(arr)->dtype);
}

size_t mlx_array_ndim(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return 0;
    return kiln__unwrap(arr)->ndim;
}

const int *mlx_array_shape(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return NULL;
    return kiln__unwrap(arr)->dims;
}

const size_t *mlx_array_strides(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return NULL;
    kiln__eval_await(kiln__unwrap(arr));
    return (const size_t *)kiln__unwrap(arr)->strides;
}

int mlx_array_dim(const mlx_array arr, int dim)
{
    if (KILN_NO_ARRAY(arr)) return 0;
    const struct kiln_array *array = kiln__unwrap(arr);
    int axis = dim < 0 ? dim + array->ndim : dim;
    if (axis < 0 || axis >= array->ndim) {
        _mlx_error(__FILE__, __LINE__, "[dim] axis %d is out of bounds for an array with %d dimensions", dim,
                   array->ndim);
        return 0;
    }
    return array->dims[axis];
}

mlx_dtype mlx_array_dtype(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return MLX_BOOL;
    return (mlx_dtype)kiln__unwrap(arr)->dtype;
}

/* ---- evaluation ----------------------------------------------------------------------------------------------- */

int mlx_array_eval(mlx_array arr)
{
    kiln_error err;
    if (KILN_NO_ARRAY(arr)) return 1;
    struct kiln_array *array = kiln__unwrap(arr);
    return kiln__eval(&array, 1, &err) || kiln__wait(&array, 1, &err) ? KILN_FAIL(&err) : 0;
}

int _mlx_array_wait(const mlx_array arr)
{
    if (KILN_NO_ARRAY(arr)) return 1;
    return mlx_array_eval(arr);
}

int _mlx_array_is_available(bool *res, const mlx_array arr)
{
    if (KILN_NO_POINTER(res) || KILN_NO_ARRAY(arr)) return 1;
    *res = kiln__array_is_ready(kiln__unwrap(arr));
    return 0;
}

/* Is it ready? If not, the handler is told why: what its evaluation failed with, or `text`. */
static bool has_bytes(struct kiln_array *array, const char *text)
{
    kiln_error err;
    if (kiln__eval_await(array)) return true;
    if (kiln__eval_failure(array, &err))
        KILN_FAIL(&err);
    else
        KILN_FAIL_TEXT(text);
    return false;
}

/* ---- layout --------------------------------------------------------------------------------------------------- */

/* Do the axes, taken in the order that `axis_at` gives, step through memory without gaps? Axes of size 1 do not count.
 */
static bool is_packed_in_order(const struct kiln_array *array, const int *axis_at)
{
    int64_t step = 1;
    for (int i = 0; i < array->ndim; i++) {
        int axis = axis_at[i];
        if (array->dims[axis] == 1) continue;
        if (array->strides[axis] != step) return false;
        step *= array->dims[axis];
    }
    return true;
}

static bool is_row_contiguous(const struct kiln_array *array)
{
    return array->row_contiguous;
}

static bool is_col_contiguous(const struct kiln_array *array)
{
    int first_fastest[KILN_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) first_fastest[i] = i;
    return array->size <= 1 || is_packed_in_order(array, first_fastest);
}

/* Without gaps in some order of the axes: the one in which strides grow. */
static bool is_contiguous(const struct kiln_array *array)
{
    int by_stride[KILN_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        int at = i;
        for (; at > 0 && array->strides[by_stride[at - 1]] > array->strides[i]; at--) by_stride[at] = by_stride[at - 1];
        by_stride[at] = i;
    }
    return array->size <= 1 || is_packed_in_order(array, by_stride);
}

#define KILN_LAYOUT_FUNCTION(name)                                                                                     \
    int _mlx_array_##name(bool *res, const mlx_array arr)                                                              \
    {                                                                                                                  \
        if (KILN_NO_POINTER(res) || KILN_NO_ARRAY(arr)) return 1;                                                      \
        if (!has_bytes(kiln__unwrap(arr), "[" #name "] the array has no layout before it is evaluated")) return 1;     \
        *res = name(kiln__unwrap(arr));                                                                                \
        return 0;                                                                                                      \
    }

KILN_LAYOUT_FUNCTION(is_contiguous)
KILN_LAYOUT_FUNCTION(is_row_contiguous)
KILN_LAYOUT_FUNCTION(is_col_contiguous)

/* ---- elements ------------------------------------------------------------------------------------------------- */

/* Evaluates and copies the first `size_bytes` of the only element. */
static int read_item(void *res, size_t size_bytes, mlx_array arr)
{
    struct kiln_array *array = kiln__unwrap(arr), *host;
    if (array->size != 1) {
        _mlx_error(__FILE__, __LINE__, "[item] expected an array with 1 element, this one has %lld",
                   (long long)array->size);
        return 1;
    }
    kiln_error err;
    if (mlx_array_eval(arr)) return 1;
    if (kiln__array_fetch(array, &host, &err)) return KILN_FAIL(&err);
    size_t item_bytes = kiln__dtype_size(array->dtype);
    memset(res, 0, size_bytes);
    memcpy(res, host->data, size_bytes < item_bytes ? size_bytes : item_bytes);
    kiln__array_unref(host);
    return 0;
}

static const void *read_data(mlx_array arr)
{
    kiln_error err;
    const char *data = NULL;
    if (!has_bytes(kiln__unwrap(arr), "[data] the array is not evaluated; call mlx_eval or mlx_array_eval first"))
        return NULL;
    if (kiln__array_host(kiln__unwrap(arr), &data, &err) != KILN_OK) KILN_FAIL(&err);
    return data;
}

#define KILN_ELEMENT_FUNCTIONS(name, type)                                                                             \
    int mlx_array_item_##name(type *res, const mlx_array arr)                                                          \
    {                                                                                                                  \
        if (KILN_NO_POINTER(res) || KILN_NO_ARRAY(arr)) return 1;                                                      \
        return read_item(res, sizeof *res, arr);                                                                       \
    }                                                                                                                  \
    const type *mlx_array_data_##name(const mlx_array arr)                                                             \
    {                                                                                                                  \
        if (KILN_NO_ARRAY(arr)) return NULL;                                                                           \
        return read_data(arr);                                                                                         \
    }

KILN_ELEMENT_FUNCTIONS(bool, bool)
KILN_ELEMENT_FUNCTIONS(uint8, uint8_t)
KILN_ELEMENT_FUNCTIONS(uint16, uint16_t)
KILN_ELEMENT_FUNCTIONS(uint32, uint32_t)
KILN_ELEMENT_FUNCTIONS(uint64, uint64_t)
KILN_ELEMENT_FUNCTIONS(int8, int8_t)
KILN_ELEMENT_FUNCTIONS(int16, int16_t)
KILN_ELEMENT_FUNCTIONS(int32, int32_t)
KILN_ELEMENT_FUNCTIONS(int64, int64_t)
KILN_ELEMENT_FUNCTIONS(float32, float)
KILN_ELEMENT_FUNCTIONS(float64, double)
KILN_ELEMENT_FUNCTIONS(complex64, mlx_complex64_t)
KILN_ELEMENT_FUNCTIONS(float16, float16_t)
KILN_ELEMENT_FUNCTIONS(bfloat16, bfloat16_t)
