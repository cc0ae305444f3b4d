/*
 * gpu_launch_ordered.c - see gpu_launch_ordered.h.
 */
#include "run/gpu/gpu_launch_ordered.h"

#include "run/gpu/gpu_params.h"
#include "run/ops/operation.h"

kiln_status kiln__gpu_launch_ordered(const struct kiln_gpu_ordered *launch, int64_t blocks, kiln_error *err)
{
    uint64_t buffer[KILN_PARAMS_HEADER + KILN_GPU_ORDERED_MAX_PARAMS];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    const uint32_t count = kiln__gpu_ordered_params(launch->config.kernel);
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ORDERED,
                                           .form = kiln__gpu_ordered_pack(&launch->config)};
    struct kiln_group_kernels *kernels;
    for (uint32_t i = 0; i < count; i++) kiln__params_add(params, launch->params[i]);
    kiln_status status = kiln__op_kernels(launch->op, launch->dtype, launch->dtype, &kernels, err);
    return status ? status : kiln__gpu_start(kernels, "ccc", &config, kiln__full_blocks(blocks), params, err);
}

int64_t kiln__gpu_thread_blocks(int64_t count)
{
    return kiln__divide_up(count, KILN_GPU_BLOCK);
}

struct kiln_gpu_rows kiln__gpu_rows_along(const struct kiln_array *array, size_t axis)
{
    struct kiln_gpu_rows rows = {.n = array->dims[axis], .inner = 1};
    for (size_t i = axis + 1; i < array->ndim; i++) rows.inner *= array->dims[i];
    rows.rows = rows.n ? array->size / rows.n : 0;
    return rows;
}

kiln_status kiln__gpu_take_packed(struct kiln_array *in, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *copy = NULL;
    if (in->row_contiguous) {
        *out = kiln__array_ref(in);
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
