/*
 * reduction.c - reductions along one axis, level by level.
 *
 * The order is that of codegen/group.h, a function of the axis' length alone. A kernel reduces up to one chunk. A
 * longer axis is cut into chunks, as one more axis of the loop; their totals go to a temporary array, which is reduced
 * in turn. So a single long row is shared between threads as many rows are, and layout, batch and threads can't change
 * a bit of the result.
 */
#include "array/storage.h"
#include "run/kernels/launch.h"
#include "run/ops/operation.h"
#include "run/placement.h"

enum { OUT, IN };

struct reduction {
    enum kiln_op op;
    enum kiln_dtype in, out;
    int64_t n, stride; /* of the reduced axis */
};

/* The totals of the chunks: the axes of the loop, and `axis`, that of the chunks, among them. */
struct totals {
    struct kiln_storage *storage;
    enum kiln_dtype dtype;
    size_t axis;
    int64_t count, stride; /* chunks; bytes between their totals */
    struct kiln_region region;
};

static kiln_status reduce(const struct reduction *reduction, struct kiln_loop *loop, kiln_error *err);

/* Where the axis of the chunks goes: last, unless neighbours are to be reduced side by side. */
static size_t chunk_axis(const struct kiln_loop *loop)
{
    const struct kiln_region *in = &loop->regions[IN];
    bool has_columns = loop->ndim > 0 && in->strides[loop->ndim - 1] == in->item;
    return loop->ndim - has_columns;
}

static kiln_status totals_init(struct totals *totals, const struct reduction *reduction, const struct kiln_loop *loop,
                               kiln_error *err)
{
    totals->dtype = kiln__reduction_total_dtype(reduction->out);
    totals->axis = chunk_axis(loop);
    totals->count = (reduction->n + KILN_REDUCE_CHUNK - 1) / KILN_REDUCE_CHUNK;
    totals->region.item = (int64_t)kiln__dtype_size(totals->dtype);
    int64_t bytes = totals->region.item;
    for (size_t axis = loop->ndim + 1; axis-- > 0;) {
        if (axis == totals->axis) {
            totals->stride = bytes;
            bytes *= totals->count;
        }
        if (axis == 0) break;
        totals->region.strides[axis - 1] = bytes;
        bytes *= loop->dims[axis - 1];
    }
    return kiln__output_bytes((size_t)bytes, &totals->storage, &totals->region.data, err);
}

/* `chunks` chunks of n elements, from chunk `first` on. */
static kiln_status reduce_chunks(const struct reduction *reduction, const struct kiln_loop *loop,
                                 const struct totals *totals, int64_t first, int64_t chunks, int64_t n, kiln_error *err)
{
    struct kiln_region regions[2] = {totals->region, loop->regions[IN]};
    struct kiln_loop part = *loop;
    int64_t steps[2] = {totals->stride, KILN_REDUCE_CHUNK * reduction->stride};
    part.regions = regions;
    kiln__loop_insert_axis(&part, totals->axis, chunks);
    for (int i = 0; i < 2; i++) {
        regions[i].data += first * steps[i];
        regions[i].strides[totals->axis] = steps[i];
    }
    struct reduction level = {reduction->op, reduction->in, totals->dtype, n, reduction->stride};
    return reduce(&level, &part, err);
}

static kiln_status reduce_in_levels(const struct reduction *reduction, struct kiln_loop *loop, kiln_error *err)
{
    struct totals totals = {0};
    int64_t whole = reduction->n / KILN_REDUCE_CHUNK, rest = reduction->n % KILN_REDUCE_CHUNK;
    kiln__loop_collapse(loop);
    kiln_status status = totals_init(&totals, reduction, loop, err);
    if (!status) status = reduce_chunks(reduction, loop, &totals, 0, whole, KILN_REDUCE_CHUNK, err);
    if (!status && rest) status = reduce_chunks(reduction, loop, &totals, whole, 1, rest, err);
    if (!status) {
        struct reduction level = {reduction->op, totals.dtype, reduction->out, totals.count, totals.stride};
        loop->regions[IN] = totals.region;
        status = reduce(&level, loop, err);
    }
    kiln__storage_unref(totals.storage);
    return status;
}

static kiln_status reduce(const struct reduction *reduction, struct kiln_loop *loop, kiln_error *err)
{
    struct kiln_group_kernels *kernels;
    if (kiln__loop_size(loop) == 0) return KILN_OK;
    int64_t longest = kiln__active.backend->longest_reduction(loop, reduction->stride);
    if (reduction->n > longest) return reduce_in_levels(reduction, loop, err);
    kiln_status status = kiln__op_kernels(reduction->op, reduction->in, reduction->out, &kernels, err);
    return status ? status : kiln__launch_reduction(kernels, loop, reduction->n, reduction->stride, err);
}

kiln_status kiln__run_reduction(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    size_t axis = (size_t)node->attrs[0];
    kiln_status status = kiln__output_alloc(out, err);
    if (status != KILN_OK) return status;
    struct kiln_region regions[2] = {{.data = out->data, .item = (int64_t)kiln__dtype_size(out->dtype)}};
    struct kiln_loop loop;
    kiln__loop_init(&loop, in->ndim, in->dims, regions, 2);
    kiln__region_from_array(&regions[IN], &loop, in);
    size_t kept = 0;
    for (size_t i = 0; i < in->ndim; i++) {
        if (i == axis && out->ndim != in->ndim) continue;
        regions[OUT].strides[i] = out->strides[kept++] * regions[OUT].item;
    }
    struct reduction reduction = {node->op, in->dtype, out->dtype, in->dims[axis], regions[IN].strides[axis]};
    if (reduction.n == 1) reduction.stride = regions[IN].item;
    kiln__loop_remove_axis(&loop, axis);
    return reduce(&reduction, &loop, err);
}
