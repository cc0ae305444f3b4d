/*
 * view.c - operations that share their input's storage and change shape, strides and offset only.
 *
 * A view holds a reference to the storage, never to the array it was made from. Strides of axes of size one are free.
 */
#include <string.h>

#include "run/ops/operation.h"

void kiln__output_view(struct kiln_array *out, struct kiln_array *base, int64_t offset, const int64_t *strides)
{
    out->storage = base->storage ? kiln__storage_ref(base->storage) : NULL;
    out->data = base->data ? base->data + offset * (int64_t)kiln__dtype_size(base->dtype) : NULL;
    if (out->ndim > 0) memcpy(out->strides, strides, out->ndim * sizeof *strides);
    kiln__array_update_layout(out);
}

/* ---- reshape ------------------------------------------------------------------------------------------------- */

struct axes {
    size_t ndim;
    int64_t dims[KILN_MAX_NDIM], strides[KILN_MAX_NDIM];
};

static void axes_without_units(const struct kiln_array *array, struct axes *axes)
{
    axes->ndim = 0;
    for (size_t i = 0; i < array->ndim; i++) {
        if (array->dims[i] == 1) continue;
        axes->dims[axes->ndim] = array->dims[i];
        axes->strides[axes->ndim++] = array->strides[i];
    }
}

static bool walks_as_one(const struct axes *axes, size_t first, size_t end)
{
    for (size_t i = first; i + 1 < end; i++) {
        if (axes->strides[i] != axes->strides[i + 1] * axes->dims[i + 1]) return false;
    }
    return true;
}

/*
 * Pairs the shortest runs of old and new axes that have equal products. Each run of old axes must walk as one axis; the
 * new axes then divide it. False: some new axis would need two strides.
 */
static bool reshape_strides(const struct axes *old, const struct kiln_array *out, int64_t *strides)
{
    size_t old_end = 0, end = 0;
    while (old_end < old->ndim) {
        size_t old_first = old_end, first = end;
        int64_t product = 1, old_product = old->dims[old_end++];
        while (product != old_product) {
            if (product < old_product)
                product *= out->dims[end++];
            else
                old_product *= old->dims[old_end++];
        }
        if (!walks_as_one(old, old_first, old_end)) return false;
        int64_t stride = old->strides[old_end - 1];
        for (size_t i = end; i-- > first;) {
            strides[i] = stride;
            stride *= out->dims[i];
        }
    }
    while (end < out->ndim) strides[end++] = 1;
    return true;
}

kiln_status kiln__run_reshape(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *in = node->inputs[0];
    int64_t strides[KILN_MAX_NDIM];
    struct axes old;
    axes_without_units(in, &old);
    if (out->size == 0) {
        memcpy(strides, out->strides, out->ndim * sizeof *strides);
    } else if (!reshape_strides(&old, out, strides)) {
        kiln_status status = kiln__output_alloc(out, err);
        return status == KILN_OK ? kiln__copy_packed(in, out->data, err) : status;
    }
    kiln__output_view(out, in, 0, strides);
    return KILN_OK;
}

/* ---- the others ---------------------------------------------------------------------------------------------- */

kiln_status kiln__run_broadcast(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    struct kiln_array *in = node->inputs[0];
    int64_t strides[KILN_MAX_NDIM] = {0};
    size_t missing = (size_t)(out->ndim - in->ndim);
    for (size_t i = 0; i < in->ndim; i++) {
        bool repeats = in->dims[i] == 1 && out->dims[missing + i] != 1;
        strides[missing + i] = repeats ? 0 : in->strides[i];
    }
    kiln__output_view(out, in, 0, strides);
    return KILN_OK;
}

kiln_status kiln__run_expand_dims(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    struct kiln_array *in = node->inputs[0];
    int64_t strides[KILN_MAX_NDIM];
    size_t axis = (size_t)node->attrs[0];
    for (size_t i = 0; i < out->ndim; i++) strides[i] = i == axis ? 1 : in->strides[i - (i > axis)];
    kiln__output_view(out, in, 0, strides);
    return KILN_OK;
}

kiln_status kiln__run_squeeze(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    struct kiln_array *in = node->inputs[0];
    int64_t strides[KILN_MAX_NDIM];
    size_t axis = (size_t)node->attrs[0];
    for (size_t i = 0; i < out->ndim; i++) strides[i] = in->strides[i + (i >= axis)];
    kiln__output_view(out, in, 0, strides);
    return KILN_OK;
}

kiln_status kiln__run_transpose(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    struct kiln_array *in = node->inputs[0];
    int64_t strides[KILN_MAX_NDIM];
    for (size_t i = 0; i < out->ndim; i++) strides[i] = in->strides[node->attrs[i]];
    kiln__output_view(out, in, 0, strides);
    return KILN_OK;
}

/* Attributes: start, stop and step of each axis, made to fit the shape. */
kiln_status kiln__run_slice(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    struct kiln_array *in = node->inputs[0];
    const int64_t *start = node->attrs, *step = node->attrs + 2 * in->ndim;
    int64_t strides[KILN_MAX_NDIM], offset = 0;
    for (size_t i = 0; i < in->ndim; i++) {
        offset += start[i] * in->strides[i];
        strides[i] = step[i] * in->strides[i];
    }
    kiln__output_view(out, in, out->size == 0 ? 0 : offset, strides);
    return KILN_OK;
}

/* Attributes: a start for each axis of the input; then dims, axes of the input (-1: repeats) and steps. */
kiln_status kiln__run_rearrange(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    struct kiln_array *in = node->inputs[0];
    const int64_t *axes = node->attrs + in->ndim + out->ndim, *steps = axes + out->ndim;
    int64_t strides[KILN_MAX_NDIM], offset = 0;
    for (size_t i = 0; i < in->ndim; i++) offset += node->attrs[i] * in->strides[i];
    for (size_t i = 0; i < out->ndim; i++) strides[i] = axes[i] < 0 ? 0 : steps[i] * in->strides[axes[i]];
    kiln__output_view(out, in, out->size == 0 ? 0 : offset, strides);
    return KILN_OK;
}

/* Attributes: dims, strides and an offset, checked against the input's size. An input that is not packed is packed. */
kiln_status kiln__run_as_strided(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *in = node->inputs[0], *packed = NULL;
    kiln_status status = KILN_OK;
    if (!in->row_contiguous) {
        status = kiln__array_new(in->dtype, in->ndim, in->dims, &packed, err);
        if (status == KILN_OK) status = kiln__output_alloc(packed, err);
        if (status == KILN_OK) status = kiln__copy_packed(in, packed->data, err);
        in = packed;
    }
    if (status == KILN_OK)
        kiln__output_view(out, in, out->size == 0 ? 0 : node->attrs[2 * out->ndim], node->attrs + out->ndim);
    kiln__array_unref(packed);
    return status;
}
