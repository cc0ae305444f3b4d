/*
 * array.c - see array.h. Header, dims and strides are one block whose size follows from ndim, so freeing needs no
 * lookup.
 */
#include "array/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/block.h"

void (*kiln__array_free_node)(struct kiln_node *node, struct kiln_array **pending);

static size_t dims_bytes(size_t ndim)
{
    return (ndim * sizeof(int32_t) + 7) & ~(size_t)7;
}

static size_t block_size(size_t ndim)
{
    return sizeof(struct kiln_array) + dims_bytes(ndim) + ndim * sizeof(int64_t);
}

const char *kiln__shape_text(const int *dims, size_t ndim, char text[KILN_SHAPE_TEXT])
{
    size_t used = 1;
    text[0] = '(';
    for (size_t i = 0; i < ndim && used < KILN_SHAPE_TEXT - 16; i++)
        used += (size_t)snprintf(text + used, KILN_SHAPE_TEXT - used, i ? ",%d" : "%d", dims[i]);
    snprintf(text + used, KILN_SHAPE_TEXT - used, ")");
    return text;
}

static kiln_status check_dims(const int *dims, size_t ndim, kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    if (ndim > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "%zu dimensions are more than the %d that are supported", ndim,
                          KILN_MAX_NDIM);
    if (ndim && !dims) return kiln__fail(err, KILN_INVALID, "a shape of %zu dimensions has no sizes", ndim);
    for (size_t i = 0; i < ndim; i++)
        if (dims[i] < 0)
            return kiln__fail(err, KILN_INVALID, "shape %s has a negative size", kiln__shape_text(dims, ndim, text));
    return KILN_OK;
}

kiln_status kiln__shape_check(const int *dims, size_t ndim, enum kiln_dtype dtype, int64_t *size, kiln_error *err)
{
    if (!kiln__dtype_is_valid((int)dtype)) return kiln__fail(err, KILN_INVALID, "there is no dtype %d", (int)dtype);
    kiln_status status = check_dims(dims, ndim, err);
    if (status) return status;
    int64_t elements = 1, bytes = 0;
    bool empty = false, overflow = false;
    for (size_t i = 0; i < ndim; i++) empty |= dims[i] == 0;
    for (size_t i = 0; i < ndim && !empty; i++)
        overflow |= __builtin_mul_overflow(elements, (int64_t)dims[i], &elements);
    overflow |= __builtin_mul_overflow(elements, (int64_t)kiln__dtype_size(dtype), &bytes);
    if (overflow && !empty) {
        char text[KILN_SHAPE_TEXT];
        return kiln__fail(err, KILN_NO_MEMORY, "shape %s of %s needs more bytes than can be counted (%lld)",
                          kiln__shape_text(dims, ndim, text), kiln__dtypes[dtype].name, (long long)INT64_MAX);
    }
    *size = empty ? 0 : elements;
    return KILN_OK;
}

static void set_packed_strides(struct kiln_array *array)
{
    int64_t stride = 1;
    for (size_t i = array->ndim; i-- > 0;) {
        array->strides[i] = stride;
        /* Only an empty array can have dims whose product overflows; its strides are never used. */
        (void)__builtin_mul_overflow(stride, array->dims[i] ? array->dims[i] : 1, &stride);
    }
    array->row_contiguous = true;
}

/* An array of a checked shape: everything is set but storage, data and strides' values. */
static struct kiln_array *make_array(enum kiln_dtype dtype, size_t ndim, const int *dims, int64_t size)
{
    struct kiln_array *array = kiln__block_new(block_size(ndim));
    if (!array) return NULL;
    atomic_init(&array->refs, 1);
    array->dtype = (uint8_t)dtype;
    array->ndim = (uint8_t)ndim;
    array->row_contiguous = true;
    array->size = size;
    atomic_init(&array->node, NULL);
    array->trace = 0;
    atomic_init(&array->mark, 0);
    array->storage = NULL;
    array->data = NULL;
    atomic_init(&array->part, NULL);
    array->strides = (int64_t *)(void *)((char *)array->dims + dims_bytes(ndim));
    for (size_t i = 0; i < ndim; i++) array->dims[i] = dims[i];
    return array;
}

kiln_status kiln__array_new_checked(enum kiln_dtype dtype, size_t ndim, const int *dims, int64_t size,
                                    struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *array = make_array(dtype, ndim, dims, size);
    if (!array) return kiln__no_memory(err, "an array");
    set_packed_strides(array);
    *out = array;
    return KILN_OK;
}

kiln_status kiln__array_new(enum kiln_dtype dtype, size_t ndim, const int *dims, struct kiln_array **out,
                            kiln_error *err)
{
    int64_t size;
    kiln_status status = kiln__shape_check(dims, ndim, dtype, &size, err);
    return status ? status : kiln__array_new_checked(dtype, ndim, dims, size, out, err);
}

kiln_status kiln__array_alloc(enum kiln_dtype dtype, size_t ndim, const int *dims, struct kiln_array **out,
                              kiln_error *err)
{
    struct kiln_array *array;
    kiln_status status = kiln__array_new(dtype, ndim, dims, &array, err);
    if (status) return status;
    status = kiln__storage_new((size_t)array->size * kiln__dtype_size(dtype), &array->storage, err);
    if (status) {
        kiln__array_unref(array);
        return status;
    }
    array->data = array->storage->data;
    *out = array;
    return KILN_OK;
}

kiln_status kiln__array_from_data(const void *data, enum kiln_dtype dtype, size_t ndim, const int *dims,
                                  struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *array;
    kiln_status status = kiln__array_alloc(dtype, ndim, dims, &array, err);
    if (status) return status;
    if (array->size && !data) {
        kiln__array_unref(array);
        return kiln__fail(err, KILN_INVALID, "no data for an array of %s", kiln__dtypes[dtype].name);
    }
    if (array->size) memcpy(array->data, data, array->storage->size);
    *out = array;
    return KILN_OK;
}

kiln_status kiln__array_scalar(enum kiln_dtype dtype, const void *bytes, struct kiln_array **out, kiln_error *err)
{
    return kiln__array_from_data(bytes, dtype, 0, NULL, out, err);
}

kiln_status kiln__array_view(struct kiln_array *base, size_t ndim, const int *dims, const int64_t *strides,
                             int64_t offset, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *array;
    kiln_status status = kiln__array_new((enum kiln_dtype)base->dtype, ndim, dims, &array, err);
    if (status) return status;
    if (ndim) memcpy(array->strides, strides, ndim * sizeof *strides);
    array->storage = base->storage ? kiln__storage_ref(base->storage) : NULL;
    array->data = base->data + offset * (int64_t)kiln__dtype_size((enum kiln_dtype)base->dtype);
    kiln__array_update_layout(array);
    *out = array;
    return KILN_OK;
}

/* The same layout over other storage, of which it takes a reference. */
static kiln_status array_over(const struct kiln_array *array, struct kiln_storage *storage, char *data,
                              struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *made = make_array((enum kiln_dtype)array->dtype, array->ndim, array->dims, array->size);
    if (!made) return kiln__no_memory(err, "an array");
    memcpy(made->strides, array->strides, array->ndim * sizeof *array->strides);
    made->row_contiguous = array->row_contiguous;
    made->storage = kiln__storage_ref(storage);
    made->data = data;
    *out = made;
    return KILN_OK;
}

kiln_status kiln__array_at(struct kiln_array *array, uint32_t device_index, struct kiln_array **out, kiln_error *err)
{
    struct kiln_storage *storage;
    if (!array->storage || array->storage->device_index == device_index) {
        *out = kiln__array_ref(array);
        return KILN_OK;
    }
    kiln_status status = kiln__storage_at(array->storage, device_index, &storage, err);
    return status ? status : array_over(array, storage, storage->data + (array->data - array->storage->data), out, err);
}

/* Bytes from its first element in memory to behind its last; the first is `before` bytes in front of `data`. */
static size_t span_of(const struct kiln_array *array, int64_t *before)
{
    int64_t item = (int64_t)kiln__dtype_size((enum kiln_dtype)array->dtype), after = 0;
    *before = 0;
    for (size_t i = 0; i < array->ndim; i++) {
        int64_t last = (array->dims[i] - 1) * array->strides[i] * item;
        if (last < 0)
            *before -= last;
        else
            after += last;
    }
    return (size_t)(*before + after + item);
}

/* Is it worth while to copy what it shows alone? Not where the whole storage is on the host, or not much larger. */
static bool is_small_part(const struct kiln_array *array)
{
    int64_t before;
    return array->storage && array->size && !kiln__storage_is_at(array->storage, 0) &&
           span_of(array, &before) <= array->storage->size / 2;
}

static kiln_status copy_part(const struct kiln_array *array, struct kiln_storage **out, kiln_error *err)
{
    int64_t before;
    size_t span = span_of(array, &before);
    return kiln__storage_part(array->storage, (size_t)(array->data - array->storage->data - before), span, out, err);
}

static char *first_in_part(const struct kiln_array *array, const struct kiln_storage *part)
{
    int64_t before;
    span_of(array, &before);
    return part->data + before;
}

kiln_status kiln__array_fetch(struct kiln_array *array, struct kiln_array **out, kiln_error *err)
{
    struct kiln_storage *part = atomic_load_explicit(&array->part, memory_order_acquire), *copied = NULL;
    kiln_status status = KILN_OK;
    if (!part && !is_small_part(array)) return kiln__array_at(array, 0, out, err);
    if (!part) status = copy_part(array, &copied, err);
    if (status) return status;
    if (!part) part = copied;
    status = array_over(array, part, first_in_part(array, part), out, err);
    kiln__storage_unref(copied);
    return status;
}

/* The part is made once; of two threads that make it one keeps theirs. */
static kiln_status keep_part(struct kiln_array *array, struct kiln_storage **out, kiln_error *err)
{
    struct kiln_storage *mine;
    *out = atomic_load_explicit(&array->part, memory_order_acquire);
    if (*out) return KILN_OK;
    kiln_status status = copy_part(array, &mine, err);
    if (status) return status;
    if (atomic_compare_exchange_strong_explicit(&array->part, out, mine, memory_order_acq_rel, memory_order_acquire))
        *out = mine;
    else
        kiln__storage_unref(mine);
    return KILN_OK;
}

kiln_status kiln__array_host(struct kiln_array *array, const char **data, kiln_error *err)
{
    struct kiln_storage *host = NULL;
    kiln_status status = KILN_OK;
    if (!array->storage || array->storage->device_index == 0) {
        *data = array->data;
    } else if (atomic_load_explicit(&array->part, memory_order_acquire) || is_small_part(array)) {
        status = keep_part(array, &host, err);
        if (!status) *data = first_in_part(array, host);
    } else {
        status = kiln__storage_at(array->storage, 0, &host, err);
        if (!status) *data = host->data + (array->data - array->storage->data);
    }
    return status;
}

void kiln__array_update_layout(struct kiln_array *array)
{
    int64_t expected = 1;
    bool packed = true;
    for (size_t i = array->ndim; i-- > 0;) {
        if (array->dims[i] == 1) continue; /* its stride is never used */
        packed &= array->strides[i] == expected;
        (void)__builtin_mul_overflow(expected, array->dims[i], &expected); /* as above */
    }
    array->row_contiguous = packed || array->size <= 1;
}

/* ---- releasing --------------------------------------------------------------------------------------------------- */

/*
 * The only owner of a ready array needs no atomic subtraction: nobody else can take a reference. A lazy array may still
 * be found by the thread that runs its node (kiln__node_output()), so its count does go to 0. Ready is asked first:
 * that thread takes its reference before it makes the array ready, so a count read afterwards has it.
 */
static bool is_last(struct kiln_array *array)
{
    return (kiln__array_is_ready(array) && atomic_load_explicit(&array->refs, memory_order_acquire) == 1) ||
           atomic_fetch_sub_explicit(&array->refs, 1, memory_order_acq_rel) == 1;
}

void kiln__array_unref_later(struct kiln_array *array, struct kiln_array **pending)
{
    if (!array || !is_last(array)) return;
    array->data = (char *)*pending;
    *pending = array;
}

static void free_one(struct kiln_array *array, struct kiln_array **pending)
{
    struct kiln_node *node = atomic_load_explicit(&array->node, memory_order_acquire);
    if (node) kiln__array_free_node(node, pending);
    kiln__storage_unref(array->storage);
    kiln__storage_unref(atomic_load_explicit(&array->part, memory_order_relaxed));
    kiln__block_free(array, block_size(array->ndim));
}

void kiln__array_free_pending(struct kiln_array *pending)
{
    while (pending) {
        struct kiln_array *array = pending;
        pending = (struct kiln_array *)(void *)array->data;
        free_one(array, &pending);
    }
}

void kiln__array_unref(struct kiln_array *array)
{
    struct kiln_array *pending = NULL;
    kiln__array_unref_later(array, &pending);
    kiln__array_free_pending(pending);
}
