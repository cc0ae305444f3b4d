/*
 * indices.c - see indices.h.
 */
#include "run/ops/indices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/kernels/dry_run.h"
#include "run/ops/axis.h"

#define DEFINE_READ(name, type)                                                                                        \
    static void name(const char *data, int64_t stride, int64_t n, int64_t *out)                                        \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type value;                                                                                                \
            memcpy(&value, data + i * stride, sizeof value);                                                           \
            out[i] = (int64_t)value;                                                                                   \
        }                                                                                                              \
    }

DEFINE_READ(read_u8, uint8_t)
DEFINE_READ(read_u16, uint16_t)
DEFINE_READ(read_u32, uint32_t)
DEFINE_READ(read_u64, uint64_t)
DEFINE_READ(read_i8, int8_t)
DEFINE_READ(read_i16, int16_t)
DEFINE_READ(read_i32, int32_t)
DEFINE_READ(read_i64, int64_t)

static void (*const readers[KILN_DTYPE_COUNT])(const char *, int64_t, int64_t, int64_t *) = {
    [KILN_UINT8] = read_u8, [KILN_UINT16] = read_u16, [KILN_UINT32] = read_u32, [KILN_UINT64] = read_u64,
    [KILN_INT8] = read_i8,  [KILN_INT16] = read_i16,  [KILN_INT32] = read_i32,  [KILN_INT64] = read_i64,
};

static void read_all(const struct kiln_array *indices, int64_t *out)
{
    struct kiln_axis axis;
    if (indices->ndim == 0) {
        readers[indices->dtype](indices->data, 0, 1, out);
        return;
    }
    kiln__axis_init(&axis, indices, indices->ndim - 1u);
    if (indices->row_contiguous) {
        readers[indices->dtype](indices->data, (int64_t)kiln__dtype_size(indices->dtype), indices->size, out);
        return;
    }
    for (int64_t row = 0; row < axis.rows; row++)
        readers[indices->dtype](indices->data + kiln__axis_offset(&axis, row), axis.stride, axis.n, out + row * axis.n);
}

/* A uint64 above INT64_MAX was read as a negative number: it is out of range as well. */
kiln_status kiln__index_refuse(const char *name, bool is_unsigned, int64_t value, int64_t size, int64_t extent,
                               kiln_error *err)
{
    char text[32];
    if (is_unsigned)
        snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    else
        snprintf(text, sizeof text, "%lld", (long long)value);
    if (size < extent || size == 0)
        return kiln__fail(err, KILN_INVALID, "[%s] Index %s is out of range: the axis has %lld elements.", name, text,
                          (long long)size);
    return kiln__fail(err, KILN_INVALID,
                      "[%s] Index %s is out of range for an axis of size %lld: expected %lld to %lld.", name, text,
                      (long long)size, (long long)-size, (long long)(size - extent));
}

/* Counts a negative value from the end, and checks it. */
static kiln_status settle(const char *name, const struct kiln_array *indices, int64_t *value, int64_t size,
                          int64_t extent, kiln_error *err)
{
    bool is_signed = kiln__dtypes[indices->dtype].kind == KILN_KIND_SIGNED;
    int64_t given = *value;
    if (given < 0 && is_signed && given >= -size) *value += size;
    if (*value >= 0 && *value <= size - extent) return KILN_OK;
    return kiln__index_refuse(name, indices->dtype == KILN_UINT64, given, size, extent, err);
}

kiln_status kiln__indices_values(const struct kiln_array *indices, int64_t **out, kiln_error *err)
{
    int64_t *values = malloc(((size_t)indices->size + 1) * sizeof *values);
    if (!values) return kiln__no_memory(err, "indices");
    if (indices->size > 0) read_all(indices, values);
    *out = values;
    return KILN_OK;
}

kiln_status kiln__indices_read(const char *name, const struct kiln_array *indices, int64_t size, int64_t extent,
                               int64_t **out, kiln_error *err)
{
    int64_t *values = NULL;
    kiln_status status = kiln__indices_values(indices, &values, err);
    for (int64_t i = 0; i < indices->size && !status; i++)
        status = settle(name, indices, &values[i], size, extent, err);
    if (status)
        free(values);
    else
        *out = values;
    return status;
}

kiln_status kiln__starts_read(const char *name, const struct kiln_array *start, const int64_t *axes,
                              const struct kiln_array *array, const int32_t *sizes, int64_t out[KILN_MAX_NDIM],
                              kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (int64_t i = 0; i < start->size && kiln__dry_run; i++) out[i] = 0;
    if (kiln__dry_run) return KILN_OK;
    if (start->size > 0) read_all(start, out);
    for (int64_t i = 0; i < start->size && !status; i++)
        status = settle(name, start, &out[i], array->dims[axes[i]], sizes[axes[i]], err);
    return status;
}
