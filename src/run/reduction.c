/*
 * reduction.c - reductions along one axis.
 *
 * The order is the kernel's, a function of the axis' length alone: here only whole rows are handed out, so
 * layout, batch and threads can't change a bit of the result.
 */
#include "run/launch.h"
#include "run/operation.h"

kiln_status kiln__run_reduction(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    size_t axis = (size_t)node->attrs[0];
    struct kiln_group_kernels *kernels;
    kiln_status status = kiln__op_kernels(node->op, in->dtype, out->dtype, &kernels, err);
    if (status == KILN_OK) status = kiln__output_alloc(out, err);
    if (status != KILN_OK) return status;
    struct kiln_region regions[2] = {{.data = out->data, .item = (int64_t)kiln__dtype_size(out->dtype)}};
    struct kiln_loop loop;
    kiln__loop_init(&loop, in->ndim, in->dims, regions, 2);
    kiln__region_from_array(&regions[1], &loop, in);
    size_t kept = 0;
    for (size_t i = 0; i < in->ndim; i++) {
        if (i == axis && out->ndim != in->ndim) continue;
        regions[0].strides[i] = out->strides[kept++] * regions[0].item;
    }
    int64_t n = in->dims[axis], stride = n == 1 ? regions[1].item : regions[1].strides[axis];
    kiln__loop_remove_axis(&loop, axis);
    return kiln__launch_reduction(kernels, &loop, n, stride, err);
}
