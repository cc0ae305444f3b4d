/*
 * dlpack_tensor.c - see dlpack_tensor.h.
 *
 * Invariant: nothing of a tensor is used before it was checked, and no sum of its numbers overflows. Storage begins
 * with the lowest byte that a view can reach, wherever the tensor's first element is.
 */
#include "run/io/dlpack_tensor.h"

#include <limits.h>

#include "run/eval.h"
#include "run/ops/operation.h"
#include "run/placement.h"

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3 };                                /* DLDeviceType */
enum { INT = 0, UINT = 1, FLOAT = 2, BFLOAT = 4, COMPLEX = 5, BOOL = 6 }; /* DLDataTypeCode */
static const int64_t largest = (int64_t)1 << 47; /* bytes between the ends of a view: more than any machine has */

static const struct {
    uint8_t code, bits;
} dtypes[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = {BOOL, 8},        [KILN_UINT8] = {UINT, 8},         [KILN_UINT16] = {UINT, 16},
    [KILN_UINT32] = {UINT, 32},     [KILN_UINT64] = {UINT, 64},       [KILN_INT8] = {INT, 8},
    [KILN_INT16] = {INT, 16},       [KILN_INT32] = {INT, 32},         [KILN_INT64] = {INT, 64},
    [KILN_FLOAT16] = {FLOAT, 16},   [KILN_FLOAT32] = {FLOAT, 32},     [KILN_FLOAT64] = {FLOAT, 64},
    [KILN_BFLOAT16] = {BFLOAT, 16}, [KILN_COMPLEX64] = {COMPLEX, 64},
};

/* ---- what a tensor says ------------------------------------------------------------------------------------------ */

static kiln_status read_dtype(const struct kiln_dltensor *tensor, enum kiln_dtype *out, kiln_error *err)
{
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        if (dtypes[i].code != tensor->dtype.code || dtypes[i].bits != tensor->dtype.bits || tensor->dtype.lanes != 1)
            continue;
        *out = (enum kiln_dtype)i;
        return KILN_OK;
    }
    return kiln__fail(
        err, KILN_INVALID,
        "[dlpack_import] a dtype of code %u, %u bits and %u lanes is none that arrays have; right would be "
        "bool, integers of 8 to 64 bits, float16, float32, float64, bfloat16 or complex64, of one lane",
        tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
}

static kiln_status find_gpu(uint32_t device_index, const char *name, struct kiln_gpu **out, kiln_error *err)
{
    kiln_error why;
    if (kiln__gpu_get(device_index - 1, out, &why))
        return kiln__fail(err, KILN_INVALID, "[%s] GPU %u: %s", name, device_index - 1, why.text);
    if ((*out)->is_absent)
        return kiln__fail(err, KILN_INVALID, "[%s] GPU %u is not here: it is only compiled for", name,
                          device_index - 1);
    return kiln__gpu_enter(*out, err);
}

static kiln_status read_device(const struct kiln_dltensor *tensor, uint32_t *out, kiln_error *err)
{
    struct kiln_gpu *gpu;
    int32_t type = tensor->device.type, id = tensor->device.id;
    *out = 0;
    if (type == CPU || type == CUDA_HOST) return KILN_OK;
    if (type != CUDA || id < 0 || id >= KILN_MAX_GPUS)
        return kiln__fail(err, KILN_INVALID,
                          "[dlpack_import] device type %d, number %d, is none that arrays can be on; right would be 1 "
                          "(CPU), 2 (CUDA) or 3 (host memory of CUDA)",
                          (int)type, (int)id);
    *out = 1 + (uint32_t)id;
    return find_gpu(*out, "dlpack_import", &gpu, err);
}

static kiln_status read_shape(const struct kiln_dltensor *tensor, int dims[KILN_MAX_NDIM], kiln_error *err)
{
    if (tensor->ndim < 0 || tensor->ndim > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[dlpack_import] %d dimensions; arrays have 0 to %d", (int)tensor->ndim,
                          KILN_MAX_NDIM);
    if (tensor->ndim && !tensor->shape) return kiln__fail(err, KILN_INVALID, "[dlpack_import] the tensor has no shape");
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] < 0 || tensor->shape[i] > INT_MAX)
            return kiln__fail(err, KILN_INVALID, "[dlpack_import] dimension %d has size %lld; right would be 0 to %d",
                              i, (long long)tensor->shape[i], INT_MAX);
        dims[i] = (int)tensor->shape[i];
    }
    return KILN_OK;
}

/* Strides of the tensor into those of the array; bytes in front of its first element, and from the lowest to behind the
 * highest. An axis of one element, and all of an array without any, keep packed strides: theirs are never used. */
static kiln_status read_layout(const struct kiln_dltensor *tensor, struct kiln_array *array, int64_t *before,
                               int64_t *span, kiln_error *err)
{
    int64_t item = (int64_t)kiln__dtype_size((enum kiln_dtype)array->dtype), after = item;
    *before = 0;
    *span = array->size ? item : 0;
    for (size_t i = 0; i < array->ndim && array->size; i++) {
        int64_t reach;
        if (array->dims[i] == 1) continue;
        if (tensor->strides) array->strides[i] = tensor->strides[i];
        if (__builtin_mul_overflow(array->strides[i], item, &reach) ||
            __builtin_mul_overflow(reach, (int64_t)array->dims[i] - 1, &reach) || reach > largest || reach < -largest)
            return kiln__fail(err, KILN_INVALID, "[dlpack_import] stride %lld of dimension %zu is more than memory has",
                              (long long)array->strides[i], i);
        *(reach < 0 ? before : &after) += reach < 0 ? -reach : reach;
        *span = *before + after;
    }
    kiln__array_update_layout(array);
    return KILN_OK;
}

static kiln_status check_address(const struct kiln_dltensor *tensor, const struct kiln_array *array, kiln_error *err)
{
    size_t item = kiln__dtype_size((enum kiln_dtype)array->dtype);
    size_t alignment = array->dtype == KILN_COMPLEX64 ? item / 2 : item;
    if (!array->size) return KILN_OK;
    if (!tensor->data) return kiln__fail(err, KILN_INVALID, "[dlpack_import] the tensor has elements and no data");
    if (((uintptr_t)tensor->data + tensor->byte_offset) % alignment)
        return kiln__fail(err, KILN_INVALID, "[dlpack_import] data and byte_offset are not aligned to %zu bytes",
                          alignment);
    return KILN_OK;
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

static kiln_status adopt_stream(struct kiln_storage *storage, int64_t stream, kiln_error *err)
{
    struct kiln_gpu *gpu;
    if (!storage->device_index || stream == KILN_DLPACK_NO_STREAM) return KILN_OK;
    kiln_status status = find_gpu(storage->device_index, "dlpack_import", &gpu, err);
    return status ? status : kiln__gpu_adopt(gpu, &storage->use, (void *)(intptr_t)stream, err);
}

static kiln_status give_storage(const struct kiln_dltensor *tensor, struct kiln_array *array, int64_t stream,
                                void (*free_tensor)(void *), void *payload, kiln_error *err)
{
    uint32_t device_index;
    int64_t before, span;
    kiln_status status = read_layout(tensor, array, &before, &span, err);
    if (!status) status = check_address(tensor, array, err);
    if (!status) status = read_device(tensor, &device_index, err);
    if (status) return status;
    char *first = array->size ? (char *)tensor->data + tensor->byte_offset : tensor->data;
    status = kiln__storage_foreign_at(device_index, first - before, (size_t)span, NULL, payload, &array->storage, err);
    if (!status) status = adopt_stream(array->storage, stream, err);
    if (status) return status;
    array->storage->free_foreign = free_tensor; /* from here on nothing fails */
    array->data = first;
    return KILN_OK;
}

kiln_status kiln__dlpack_import(const struct kiln_dltensor *tensor, int64_t stream, void (*free_tensor)(void *),
                                void *payload, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    enum kiln_dtype dtype = KILN_BOOL;
    struct kiln_array *array = NULL;
    kiln_status status = read_dtype(tensor, &dtype, err);
    if (!status) status = read_shape(tensor, dims, err);
    if (!status) status = kiln__array_new(dtype, (size_t)tensor->ndim, dims, &array, err);
    if (!status) status = give_storage(tensor, array, stream, free_tensor, payload, err);
    if (status)
        kiln__array_unref(array);
    else
        *out = array;
    return status;
}

/* ---- export ------------------------------------------------------------------------------------------------------ */

static kiln_status copy_here(struct kiln_array *array, struct kiln_array *copy, kiln_error *err)
{
    struct kiln_stream_work work;
    kiln_status status = kiln__stream_begin(&work, 0, &array, 1, err);
    if (status) return status;
    status = kiln__output_alloc(copy, err);
    if (!status && array->size) status = kiln__copy_packed(array, copy->data, err);
    kiln__stream_end(&work, &array, 1, &copy, 1);
    return status;
}

static kiln_status make_copy(struct kiln_array *array, struct kiln_array **out, kiln_error *err)
{
    struct kiln_placement before;
    struct kiln_array *copy = NULL;
    kiln_status status = kiln__array_new((enum kiln_dtype)array->dtype, array->ndim, array->dims, &copy, err);
    if (!status) status = kiln__run_at(kiln__array_device_index(array), &before, err);
    if (!status) {
        status = copy_here(array, copy, err);
        kiln__active = before;
    }
    if (status)
        kiln__array_unref(copy);
    else
        *out = copy;
    return status;
}

static kiln_status show_to(const struct kiln_array *array, int64_t stream, kiln_error *err)
{
    struct kiln_gpu *gpu;
    uint32_t device_index = kiln__array_device_index(array);
    if (!device_index) return KILN_OK;
    kiln_status status = find_gpu(device_index, "dlpack_export", &gpu, err);
    if (status || stream == KILN_DLPACK_NO_STREAM) return status;
    return kiln__gpu_show(gpu, &array->storage->use, (void *)(intptr_t)stream, err);
}

kiln_status kiln__dlpack_show(struct kiln_array *array, bool copy, int64_t stream, struct kiln_array **out,
                              kiln_error *err)
{
    struct kiln_array *shown = NULL;
    kiln_status status = kiln__eval(&array, 1, err);
    if (status) return status;
    if (kiln__array_is_consumed(array))
        return kiln__fail(err, KILN_INVALID, "[dlpack_export] the array was donated to a call, which took its bytes");
    if (copy)
        status = make_copy(array, &shown, err);
    else
        shown = kiln__array_ref(array);
    if (!status) status = show_to(shown, stream, err);
    if (status)
        kiln__array_unref(shown);
    else
        *out = shown;
    return status;
}

void kiln__dlpack_describe(const struct kiln_array *array, int64_t *numbers, struct kiln_dltensor *out)
{
    uint32_t device_index = kiln__array_device_index(array);
    for (size_t i = 0; i < array->ndim; i++) {
        numbers[i] = array->dims[i];
        numbers[array->ndim + i] = array->strides[i];
    }
    *out = (struct kiln_dltensor){.data = array->data,
                                  .device = {device_index ? CUDA : CPU, device_index ? (int32_t)device_index - 1 : 0},
                                  .ndim = array->ndim,
                                  .dtype = {dtypes[array->dtype].code, dtypes[array->dtype].bits, 1},
                                  .shape = numbers,
                                  .strides = numbers + array->ndim};
}
