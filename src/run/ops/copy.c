/*
 * copy.c - operations that move elements: packing and concatenation.
 *
 * The copy kernel is the cast of an unsigned integer of the element's size to itself: every bit is kept, and copying
 * has the layouts, vectors and threads of every other kernel. A backend may copy in another way (run/backend.h).
 */
#include "run/kernels/launch.h"
#include "run/ops/operation.h"
#include "run/placement.h"

kiln_status kiln__output_alloc(struct kiln_array *out, kiln_error *err)
{
    size_t size = (size_t)out->size * kiln__dtype_size(out->dtype);
    return kiln__output_bytes(size, &out->storage, &out->data, err);
}

kiln_status kiln__launch_copy(struct kiln_loop *loop, kiln_error *err)
{
    static const uint8_t bits[] = {[1] = KILN_UINT8, [2] = KILN_UINT16, [4] = KILN_UINT32, [8] = KILN_UINT64};
    enum kiln_dtype dtype = (enum kiln_dtype)bits[loop->regions[0].item];
    struct kiln_group_kernels *kernels;
    kiln_status status = kiln__op_kernels(KILN_OP_CAST, dtype, dtype, &kernels, err);
    return status ? status : kiln__launch_loop(kernels, loop, NULL, err);
}

kiln_status kiln__copy_to(const struct kiln_array *source, char *data, const int64_t *strides, kiln_error *err)
{
    struct kiln_region regions[2];
    struct kiln_loop loop;
    kiln__loop_init(&loop, source->ndim, source->dims, regions, 2);
    kiln__region_from_array(&regions[1], &loop, source);
    regions[0].data = data;
    regions[0].item = regions[1].item;
    for (size_t i = 0; i < loop.ndim; i++) regions[0].strides[i] = strides[i] * regions[0].item;
    kiln__loop_collapse(&loop);
    return kiln__active.backend->copy(&loop, err);
}

kiln_status kiln__copy_packed(const struct kiln_array *source, char *destination, kiln_error *err)
{
    int64_t strides[KILN_MAX_NDIM], stride = 1;
    for (size_t i = source->ndim; i-- > 0;) {
        strides[i] = stride;
        stride *= source->dims[i];
    }
    return kiln__copy_to(source, destination, strides, err);
}

kiln_status kiln__run_contiguous(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *in = node->inputs[0];
    if (in->row_contiguous) {
        kiln__output_view(out, in, 0, out->strides);
        return KILN_OK;
    }
    kiln_status status = kiln__output_alloc(out, err);
    return status == KILN_OK ? kiln__copy_packed(in, out->data, err) : status;
}

/* Packed bytes are the bytes of any dtype that they are aligned for. */
kiln_status kiln__run_reinterpret(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *in = node->inputs[0];
    if (in->row_contiguous && (uintptr_t)in->data % kiln__dtype_size((enum kiln_dtype)out->dtype) == 0) {
        kiln__output_view(out, in, 0, out->strides);
        return KILN_OK;
    }
    kiln_status status = kiln__output_alloc(out, err);
    return status == KILN_OK ? kiln__copy_packed(in, out->data, err) : status;
}

kiln_status kiln__run_depends(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)err;
    kiln__output_view(out, node->inputs[0], 0, node->inputs[0]->strides);
    return KILN_OK;
}

kiln_status kiln__run_concatenate(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    size_t axis = (size_t)node->attrs[0];
    kiln_status status = kiln__output_alloc(out, err);
    char *data = out->data;
    for (uint32_t i = 0; status == KILN_OK && i < node->input_count; i++) {
        const struct kiln_array *in = node->inputs[i];
        if (in->size > 0) status = kiln__copy_to(in, data, out->strides, err);
        data += in->dims[axis] * out->strides[axis] * (int64_t)kiln__dtype_size(out->dtype);
    }
    return status;
}

kiln_status kiln__take_side_by_side(struct kiln_array *in, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *copy = NULL;
    if (in->dims[in->ndim - 1] == 1 || in->strides[in->ndim - 1] == 1) {
        kiln__array_ref(in);
        *out = in;
        return KILN_OK;
    }
    kiln_status status = kiln__array_new(in->dtype, in->ndim, in->dims, &copy, err);
    if (!status) status = kiln__output_alloc(copy, err);
    if (!status) status = kiln__copy_packed(in, copy->data, err);
    if (status)
        kiln__array_unref(copy);
    else
        *out = copy;
    return status;
}
