/*
 * gpu_launch.c - see gpu_launch.h. Element-wise groups: from layouts to a schedule and its params. Groups with
 * reductions: gpu_launch_rows.c.
 */
#include "run/gpu/gpu_launch.h"

#include <stdlib.h>
#include <string.h>

#include "run/gpu/gpu_params.h"

enum { TILED_MIN = 16 }; /* rows and columns below that don't fill a tile */

bool kiln__gpu_can_launch(const struct kiln_group *group, size_t ndim, int64_t row)
{
    return kiln__params_needed(group, ndim) <= KILN_MAX_PARAMS && row <= KILN_GPU_MAX_ROW;
}

/* ---- packed arrays ------------------------------------------------------------------------------------------- */

static bool is_wide(const struct kiln_loop *loop, const char *layouts, size_t outputs)
{
    for (size_t i = 0; i < loop->count; i++) {
        bool is_element = i >= outputs && layouts[i - outputs] == KILN_LAYOUT_SCALAR;
        if (!is_element && (uintptr_t)loop->regions[i].data % KILN_GPU_WIDE != 0) return false;
    }
    return true;
}

/* `loop` has one axis. */
static kiln_status launch_packed(struct kiln_group_kernels *kernels, const struct kiln_loop *loop, const char *layouts,
                                 const uint64_t *constants, struct kiln_gpu_params *params, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    int64_t n = loop->dims[0], width = kiln__gpu_width(group, layouts);
    struct kiln_gpu_config config = {.schedule = KILN_GPU_PACKED,
                                     .wide = is_wide(loop, layouts, group->output_count),
                                     .is_long = n > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add_constants(params, group, constants);
    kiln__params_add(params, n);
    return kiln__gpu_start(kernels, layouts, &config, kiln__full_blocks(kiln__divide_up(n, KILN_GPU_BLOCK * width)),
                           params, err);
}

/* ---- any layout ---------------------------------------------------------------------------------------------- */

static void swap_axes(struct kiln_loop *loop, size_t a, size_t b)
{
    int64_t dim = loop->dims[a];
    loop->dims[a] = loop->dims[b];
    loop->dims[b] = dim;
    for (size_t i = 0; i < loop->count; i++) {
        int64_t *strides = loop->regions[i].strides, stride = strides[a];
        strides[a] = strides[b];
        strides[b] = stride;
    }
}

static bool outputs_are_packed(const struct kiln_loop *loop, size_t outputs, size_t axis)
{
    for (size_t i = 0; i < outputs; i++)
        if (!kiln__region_is_packed(&loop->regions[i], axis)) return false;
    return true;
}

/* Layouts along the last axis; false: an operand is neither packed nor broadcast along it. */
static bool choose_layouts(const struct kiln_loop *loop, size_t outputs, char *layouts)
{
    size_t inner = loop->ndim - 1;
    bool simple = true;
    for (size_t i = outputs; i < loop->count; i++) {
        int64_t stride = loop->regions[i].strides[inner];
        layouts[i - outputs] = stride == 0                                        ? KILN_LAYOUT_SCALAR
                               : kiln__region_is_packed(&loop->regions[i], inner) ? KILN_LAYOUT_PACKED
                                                                                  : KILN_LAYOUT_STRIDED;
        simple &= layouts[i - outputs] != KILN_LAYOUT_STRIDED;
    }
    return simple;
}

/* Do rows begin at 16 bytes too, in every region that is read or written by vectors? */
static bool rows_are_wide(const struct kiln_loop *loop, const char *layouts, size_t outputs)
{
    for (size_t i = 0; i < loop->count; i++) {
        if (i >= outputs && layouts[i - outputs] == KILN_LAYOUT_SCALAR) continue;
        for (size_t axis = 0; axis + 1 < loop->ndim; axis++)
            if (loop->regions[i].strides[axis] % KILN_GPU_WIDE != 0) return false;
    }
    return is_wide(loop, layouts, outputs);
}

static kiln_status launch_strided(struct kiln_group_kernels *kernels, const struct kiln_loop *loop, char *layouts,
                                  const uint64_t *constants, bool wide, struct kiln_gpu_params *params, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    int64_t total = kiln__loop_size(loop);
    if (!wide) memset(layouts, KILN_LAYOUT_STRIDED, group->operand_count);
    int64_t width = wide ? kiln__gpu_width(group, layouts) : 1;
    struct kiln_gpu_config config = {
        .schedule = KILN_GPU_STRIDED, .axes = (uint8_t)loop->ndim, .wide = wide, .is_long = total > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add_constants(params, group, constants);
    kiln__params_add(params, total);
    kiln__params_add_axes(params, loop);
    return kiln__gpu_start(kernels, layouts, &config, kiln__full_blocks(kiln__divide_up(total, KILN_GPU_BLOCK * width)),
                           params, err);
}

/* An axis, not the last one, along which an operand is packed that is not so along the last; ndim: none. */
static size_t find_transposed(const struct kiln_loop *loop, size_t outputs)
{
    size_t inner = loop->ndim - 1;
    if (!outputs_are_packed(loop, outputs, inner) || loop->dims[inner] < TILED_MIN) return loop->ndim;
    for (size_t i = outputs; i < loop->count; i++) {
        const struct kiln_region *region = &loop->regions[i];
        if (kiln__region_is_packed(region, inner) || region->strides[inner] == 0) continue;
        for (size_t axis = 0; axis < inner; axis++)
            if (kiln__region_is_packed(region, axis) && loop->dims[axis] >= TILED_MIN) return axis;
    }
    return loop->ndim;
}

static kiln_status launch_tiled(struct kiln_group_kernels *kernels, struct kiln_loop *loop, size_t rows, char *layouts,
                                const uint64_t *constants, struct kiln_gpu_params *params, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t outputs = group->output_count, inner = loop->ndim - 1;
    swap_axes(loop, rows, inner - 1);
    choose_layouts(loop, outputs, layouts);
    for (size_t i = outputs; i < loop->count; i++)
        if (layouts[i - outputs] == KILN_LAYOUT_STRIDED && kiln__region_is_packed(&loop->regions[i], inner - 1))
            layouts[i - outputs] = KILN_LAYOUT_TRANSPOSED;
    int64_t row_tiles = kiln__divide_up(loop->dims[inner - 1], KILN_GPU_TILE);
    int64_t column_tiles = kiln__divide_up(loop->dims[inner], KILN_GPU_TILE), outer = 1;
    for (size_t axis = 0; axis + 1 < inner; axis++) outer *= loop->dims[axis];
    struct kiln_gpu_config config = {
        .schedule = KILN_GPU_TILED, .axes = (uint8_t)loop->ndim, .is_long = kiln__loop_size(loop) > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add_constants(params, group, constants);
    kiln__params_add(params, row_tiles);
    kiln__params_add(params, column_tiles);
    kiln__params_add_axes(params, loop);
    return kiln__gpu_start(kernels, layouts, &config, kiln__full_blocks(outer * row_tiles * column_tiles), params, err);
}

static kiln_status launch_loop(struct kiln_group_kernels *kernels, struct kiln_loop *loop, const uint64_t *constants,
                               bool keep, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t outputs = group->output_count;
    char layouts[group->operand_count + 1];
    layouts[group->operand_count] = '\0';
    kiln__loop_collapse(loop);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    size_t room = kiln__params_needed(group, loop->ndim);
    if (room > KILN_MAX_PARAMS) return kiln__gpu_cannot(kernels, err);
    uint64_t buffer[KILN_PARAMS_HEADER + room];
    struct kiln_gpu_params *params = kiln__params_init(buffer, keep);
    size_t inner = loop->ndim - 1, transposed = find_transposed(loop, outputs);
    bool packed = outputs_are_packed(loop, outputs, inner), simple = choose_layouts(loop, outputs, layouts);
    if (loop->ndim == 1 && packed && simple) return launch_packed(kernels, loop, layouts, constants, params, err);
    if (transposed < loop->ndim) return launch_tiled(kernels, loop, transposed, layouts, constants, params, err);
    bool wide = packed && simple && loop->dims[inner] % kiln__gpu_width(group, layouts) == 0 &&
                rows_are_wide(loop, layouts, outputs);
    return launch_strided(kernels, loop, layouts, constants, wide, params, err);
}

kiln_status kiln__gpu_launch_loop(struct kiln_group_kernels *kernels, struct kiln_loop *loop, const uint64_t *constants,
                                  kiln_error *err)
{
    return launch_loop(kernels, loop, constants, false, err);
}

kiln_status kiln__gpu_launch_group(struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                                   const uint64_t *constants, struct kiln_array *const *outputs, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t count = (size_t)group->output_count + group->operand_count;
    bool keep;
    kiln_status status = KILN_OK;
    if (kiln__launch_cache_hit(kernels, operands, outputs, &keep, &status, err)) return status;
    struct kiln_region few[8], *regions = count <= 8 ? few : malloc(count * sizeof *regions);
    struct kiln_loop loop;
    if (!regions) return kiln__no_memory(err, "a launch");
    kiln__loop_init(&loop, outputs[0]->ndim, outputs[0]->dims, regions, count);
    for (size_t i = 0; i < count; i++) {
        bool is_output = i < group->output_count;
        kiln__region_from_array(&regions[i], &loop, is_output ? outputs[i] : operands[i - group->output_count]);
    }
    status = launch_loop(kernels, &loop, constants, keep, err);
    if (regions != few) free(regions);
    return status;
}
