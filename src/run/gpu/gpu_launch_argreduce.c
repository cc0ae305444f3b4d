/*
 * gpu_launch_argreduce.c - argmin and argmax on a GPU.
 *
 * Pairs of key and position (run/ops/sort_keys.h) are combined in any order, level by level: each level finds the
 * positions of the best elements of chunks, through which the next one reads the data.
 */
#include "array/storage.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"
#include "run/placement.h"

enum {
    SEARCH_WARPS = 4096, /* share the elements of a search, */
    CHUNK_MIN = 512,     /* in multiples of so many, */
    ROW_AT_ONCE = 2048,  /* and this many are one warp's */
};
enum { OUT, IN, POSITIONS, REGIONS };

/* Elements for one warp: few, so that a few long rows use the whole GPU, but rows that one warp reads soon are whole.
 */
static int64_t chunk_of(int64_t rows, int64_t n)
{
    int64_t share = kiln__divide_up(rows * n, SEARCH_WARPS), chunk = kiln__divide_up(share, CHUNK_MIN) * CHUNK_MIN;
    return n <= ROW_AT_ONCE || chunk > n ? n : chunk;
}

static int64_t count_chunks(int64_t rows, int64_t n)
{
    return kiln__divide_up(n, chunk_of(rows, n));
}

/*
 * codegen/gpu/gpu_schedule.h, KILN_GPU_ARGREDUCE: rows have n elements, `stride` bytes apart, or with `through`
 * positions side by side. A row gives one output for each of its chunks.
 */
static kiln_status launch(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n, int64_t stride,
                          bool through, kiln_error *err)
{
    uint64_t buffer[KILN_PARAMS_HEADER + 3 + 5 + 4 * (KILN_MAX_NDIM + 1)];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    int64_t rows = kiln__loop_size(loop), warps = rows * count_chunks(rows, n);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    struct kiln_gpu_config config = {
        .schedule = KILN_GPU_ARGREDUCE, .axes = (uint8_t)loop->ndim, .is_long = warps > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add(params, rows);
    kiln__params_add(params, n);
    kiln__params_add(params, chunk_of(rows, n));
    kiln__params_add(params, count_chunks(rows, n));
    kiln__params_add(params, stride);
    kiln__params_add_axes(params, loop);
    const char layouts[] = {stride == loop->regions[1].item ? KILN_LAYOUT_PACKED : KILN_LAYOUT_STRIDED,
                            through ? KILN_LAYOUT_INDEX : KILN_LAYOUT_SCALAR, '\0'};
    return kiln__gpu_start(kernels, layouts, &config, kiln__full_blocks(kiln__divide_up(warps, KILN_GPU_WARPS)), params,
                           err);
}

/* `count` positions for each row, side by side. */
static kiln_status alloc_positions(struct kiln_region *region, const struct kiln_loop *loop, int64_t count,
                                   struct kiln_storage **storage, kiln_error *err)
{
    int64_t bytes = count * (int64_t)sizeof(uint32_t);
    for (size_t axis = loop->ndim; axis-- > 0; bytes *= loop->dims[axis]) region->strides[axis] = bytes;
    return kiln__output_bytes((size_t)bytes, storage, &region->data, err);
}

/* Regions of `loop`: the final output, the data, and with `through` the positions of a row's n elements. */
static kiln_status search_level(struct kiln_group_kernels *kernels, const struct kiln_loop *loop, int64_t n,
                                int64_t stride, bool through, kiln_error *err)
{
    struct kiln_region found[REGIONS] = {loop->regions[OUT], loop->regions[IN], loop->regions[POSITIONS]};
    struct kiln_loop level = *loop;
    struct kiln_storage *storage = NULL;
    int64_t chunks = count_chunks(kiln__loop_size(loop), n);
    level.regions = found;
    if (chunks == 1) return launch(kernels, &level, n, stride, through, err);
    kiln_status status = alloc_positions(&found[OUT], loop, chunks, &storage, err);
    if (!status) status = launch(kernels, &level, n, stride, through, err);
    level = *loop;
    level.regions = found;
    found[POSITIONS] = found[OUT];
    found[OUT] = loop->regions[OUT];
    if (!status) status = search_level(kernels, &level, chunks, stride, true, err);
    kiln__storage_unref(storage);
    return status;
}

kiln_status kiln__gpu_argreduce(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *in = node->inputs[0];
    size_t axis = (size_t)node->attrs[0], kept = 0;
    struct kiln_group_kernels *kernels;
    struct kiln_loop loop;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    struct kiln_region regions[REGIONS] = {{.data = out->data, .item = (int64_t)sizeof(uint32_t)}};
    kiln__loop_init(&loop, in->ndim, in->dims, regions, REGIONS);
    kiln__region_from_array(&regions[IN], &loop, in);
    for (size_t i = 0; i < in->ndim; i++) {
        if (i == axis && out->ndim != in->ndim) continue;
        regions[OUT].strides[i] = out->strides[kept++] * regions[OUT].item;
    }
    regions[POSITIONS] = regions[IN]; /* not read at the first level */
    int64_t n = in->dims[axis], stride = regions[IN].strides[axis];
    kiln__loop_remove_axis(&loop, axis);
    kiln__loop_collapse(&loop);
    status = kiln__op_kernels(node->op, in->dtype, KILN_UINT32, &kernels, err);
    return status ? status : search_level(kernels, &loop, n, stride, false, err);
}
