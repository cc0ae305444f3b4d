/*
 * gpu_launch_rows.c - groups with reductions on a GPU, see gpu_launch.h: along rows, or neighbouring columns.
 *
 * Blocks of rows that start together read memory together and then compute together, while memory is idle. In a large
 * grid the blocks of the first wave therefore start staggered; those that replace them stay out of step.
 */
#include "run/gpu/gpu_launch.h"

#include <stdlib.h>

#include "run/gpu/gpu_params.h"
#include "run/kernels/row_regions.h"
#include "run/placement.h"

enum {
    COLUMNS_MIN = 32,        /* fewer columns are rows with a stride */
    FEW_ROWS = 128,          /* fewer long rows are reduced chunk by chunk, to use the whole GPU */
    RESIDENT_THREADS = 1024, /* occupancy: threads of row kernels on one multiprocessor */
    STAGGERED_WAVES = 3,     /* a staggered start pays from that many waves of blocks on, */
    STAGGERED_ELEMENTS = 16, /* and that many elements for each thread */
};

static struct kiln_gpu_grid row_grid(const struct kiln_group *group, int64_t rows, int64_t n)
{
    uint32_t row_warps = kiln__gpu_row_warps(n), warps = kiln__gpu_row_block(row_warps);
    return (struct kiln_gpu_grid){.blocks = kiln__divide_up(rows, warps / row_warps),
                                  .threads = warps * KILN_GPU_WARP,
                                  .shared_bytes = (size_t)warps * kiln__gpu_row_kept(group)};
}

/* How many blocks start staggered: the first wave, or none. */
static int64_t staggered_blocks(const struct kiln_gpu_grid *grid, int64_t elements)
{
    const struct kiln_gpu *gpu = kiln__active.device->gpu;
    int64_t wave = (int64_t)gpu->multiprocessors * (RESIDENT_THREADS / grid->threads);
    bool reads_much = elements / grid->blocks >= grid->threads * STAGGERED_ELEMENTS;
    return reads_much && grid->blocks >= wave * STAGGERED_WAVES ? wave : 0;
}

/* `loop` has the rows' axes, with elements; `inner` the strides along the row, of n elements, per region. */
static kiln_status launch_rows(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                               const int64_t *inner, const uint64_t *constants, const char *layouts, bool keep,
                               kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    kiln__loop_collapse(loop);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    size_t room = kiln__params_needed(group, loop->ndim);
    if (room > KILN_MAX_PARAMS || n > KILN_GPU_MAX_ROW) return kiln__gpu_cannot(kernels, err);
    uint64_t buffer[KILN_PARAMS_HEADER + room];
    struct kiln_gpu_params *params = kiln__params_init(buffer, keep);
    int64_t rows = kiln__loop_size(loop), warps = kiln__gpu_row_warps(n);
    struct kiln_gpu_grid grid = row_grid(group, rows, n);
    struct kiln_gpu_config config = {
        .schedule = KILN_GPU_ROWS, .axes = (uint8_t)loop->ndim, .is_long = rows > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add_constants(params, group, constants);
    kiln__params_add(params, rows);
    kiln__params_add(params, n);
    kiln__params_add(params, warps);
    kiln__params_add(params, staggered_blocks(&grid, rows * n));
    for (size_t i = group->output_count; i < loop->count; i++) kiln__params_add(params, inner[i]);
    kiln__params_add_axes(params, loop);
    return kiln__gpu_start(kernels, layouts, &config, grid, params, err);
}

kiln_status kiln__gpu_launch_rows(struct kiln_group_kernels *kernels, const int32_t *dims, size_t ndim,
                                  struct kiln_array *const *operands, const uint64_t *constants,
                                  struct kiln_array *const *outputs, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t count = (size_t)group->output_count + group->operand_count;
    bool keep;
    kiln_status status = KILN_OK;
    if (kiln__launch_cache_hit(kernels, operands, outputs, &keep, &status, err)) return status;
    struct kiln_region *regions = malloc(count * sizeof *regions);
    if (!regions) return kiln__no_memory(err, "a launch");
    int64_t inner[count];
    char layouts[group->operand_count + 1];
    struct kiln_loop loop;
    kiln__loop_init(&loop, ndim, dims, regions, count);
    kiln__row_regions(group, operands, outputs, &loop, layouts);
    for (size_t i = 0; i < count; i++) inner[i] = regions[i].strides[ndim - 1];
    kiln__loop_remove_axis(&loop, ndim - 1);
    if (kiln__loop_size(&loop) > 0)
        status = launch_rows(kernels, &loop, dims[ndim - 1], inner, constants, layouts, keep, err);
    free(regions);
    return status;
}

int64_t kiln__gpu_longest_reduction(const struct kiln_loop *loop, int64_t stride)
{
    bool is_row = stride == loop->regions[1].item;
    return is_row && kiln__loop_size(loop) >= FEW_ROWS ? KILN_GPU_MAX_ROW : KILN_REDUCE_CHUNK;
}

/* Neighbouring columns, each reduced by one thread. The loop's last axis are the columns. */
static kiln_status launch_columns(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n, int64_t stride,
                                  kiln_error *err)
{
    int64_t columns = loop->dims[loop->ndim - 1], blocks = kiln__divide_up(columns, KILN_GPU_COLUMNS_BLOCK);
    uint64_t buffer[KILN_PARAMS_HEADER + 2 + 8 + 3 * (KILN_MAX_NDIM + 2)];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    loop->ndim--;
    int64_t outer = kiln__loop_size(loop);
    struct kiln_gpu_config config = {
        .schedule = KILN_GPU_COLUMNS, .axes = (uint8_t)loop->ndim, .is_long = outer * columns > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add(params, columns);
    kiln__params_add(params, n);
    kiln__params_add(params, 1); /* chunks: longer axes come in levels, see reduction.c */
    kiln__params_add(params, stride);
    kiln__params_add(params, 0);
    kiln__params_add(params, blocks);
    kiln__params_add_axes(params, loop);
    return kiln__gpu_start(kernels, "c", &config, kiln__full_blocks(outer * blocks), params, err);
}

kiln_status kiln__gpu_launch_reduction(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                                       int64_t stride, kiln_error *err)
{
    kiln__loop_collapse(loop);
    size_t last = loop->ndim - 1;
    bool has_columns = loop->ndim > 0 && loop->dims[last] >= COLUMNS_MIN &&
                       kiln__region_is_packed(&loop->regions[0], last) &&
                       kiln__region_is_packed(&loop->regions[1], last);
    if (has_columns && n <= KILN_REDUCE_CHUNK) return launch_columns(kernels, loop, n, stride, err);
    const int64_t inner[2] = {0, stride};
    const char *layouts = stride == loop->regions[1].item ? "c" : "v";
    return launch_rows(kernels, loop, n, inner, NULL, layouts, false, err);
}
