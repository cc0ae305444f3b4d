/*
 * gpu_backend.c - GPUs as a backend. Decompositions, transforms of Fourier and segmented products are lacking,
 * and sources of bytes (load, windows) begin on the host.
 */
#include "run/backend.h"
#include "run/gpu/cublas.h"
#include "run/gpu/gpu_gather.h"
#include "run/gpu/gpu_launch.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_product_run.h"
#include "run/ops/merge.h"
#include "run/placement.h"

static kiln_status enter(struct kiln_placement *placement, kiln_error *err)
{
    kiln_status status = kiln__device_at_index(placement->device_index, &placement->device, err);
    return status ? status : kiln__gpu_enter(placement->device->gpu, err);
}

static kiln_status wait(const struct kiln_placement *placement, kiln_error *err)
{
    return kiln__gpu_wait(placement->device->gpu, err);
}

static bool can_run(const struct kiln_node *node)
{
    if (node->op == KILN_OP_SLICE_UPDATE) return node->attrs[0] == KILN_MERGE_SET;
    if (node->op == KILN_OP_SERIES) return kiln__gpu_knows_series(node);
    if (node->op == KILN_OP_SCATTER) return kiln__gpu_knows_scatter(node);
    if (node->op == KILN_OP_MATMUL)
        return node->inputs[1]->size > 0 && (kiln__gpu_product_knows((enum kiln_dtype)node->inputs[0]->dtype) ||
                                             kiln__cublas_can((enum kiln_dtype)node->inputs[0]->dtype));
    if (node->op == KILN_OP_QUANTIZED_MATMUL) return node->inputs[1]->size > 0 && !node->attrs[5];
    return true;
}

/* In the column gpu of ops.def. */
#define kiln__on_host NULL

const struct kiln_backend kiln__gpu_backend = {
    .enter = enter,
    .wait = wait,
    .flush = kiln__launch_graph_flush,
    .array_at = kiln__array_at,
    .launch = kiln__gpu_launch_group,
    .launch_loop = kiln__gpu_launch_loop,
    .launch_reduction = kiln__gpu_launch_reduction,
    .launch_rows = kiln__gpu_launch_rows,
    .can_launch = kiln__gpu_can_launch,
    .longest_reduction = kiln__gpu_longest_reduction,
    .copy = kiln__launch_copy,
    .can_run = can_run,
    .check = kiln__indexed_check,
    .operations =
        {
#define KILN_ELEMENTWISE(ID, ...)                                      [KILN_OP_##ID] = kiln__run_elementwise,
#define KILN_OPERATION(ID, name, arity, kind, dtypes, shape, run, gpu) [KILN_OP_##ID] = kiln__##gpu,
#include "graph/ops.def"
        },
};
