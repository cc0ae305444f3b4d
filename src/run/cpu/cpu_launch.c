/*
 * cpu_launch.c - see cpu_launch.h: from arrays to calls of one kernel.
 *
 * A kernel has two loops: rows, and n elements along the innermost axis. Packed arrays need just the inner one. For
 * everything else the index space is collapsed, the two loops take its best axes, and an odometer walks the rest.
 * A launch is cut into parts that write disjoint elements; what a part computes does not depend on the cut. Parts with
 * operands that are packed along another axis go by tiles (tiles.h).
 *
 * Every launch first chooses its kernel variant, by shapes, strides and alignment alone, and then starts it. A dry run
 * (dry_run.h) goes no further than the choice.
 */
#include "run/cpu/cpu_launch.h"

#include <stdlib.h>
#include <string.h>

#include "run/cpu/pool.h"
#include "run/cpu/tiles.h"
#include "run/cpu/transpose.h"
#include "run/kernels/row_regions.h"

enum {
    PARALLEL_MIN = 64 << 10, /* elements; below that waking a thread costs more than it saves */
    PART_MIN = 16 << 10,     /* elements of a part */
    PARTS_PER_THREAD = 4,
    STREAM_MIN_ROW = 1024, /* bytes */
    STREAM_MIN = 32 << 20, /* bytes touched by a launch; measured: with 48 MiB streaming pays, with 24 not yet */
    LINE = 64,             /* bytes; columns are cut at multiples of that many elements, so at whole lines */
    FEW_ROWS = 16,         /* a rows axis shorter than that is exchanged for the longest one */
    INLINE_POINTERS = 16
};

struct launch {
    kiln_kernel_entry entry;
    size_t pointers, args_count;
    const uint64_t *args;        /* pointers of the outputs, of the operands, constants */
    const int64_t *strides;      /* per pointer: row, inner */
    struct kiln_loop *outer;     /* axes outside the kernel's two; NULL: none */
    int64_t rows, n, total_rows; /* total_rows: rows times the outer axes */
    int64_t row_step, col_step, col_parts;
    struct kiln_tiles tiles;
    char *scratch;  /* of the tiles, for each part */
    bool few_parts; /* wide ones read memory faster than they balance */
};

/* ---- running a part ------------------------------------------------------------------------------------------ */

/* Moves `args` to outer index `position`, counted in row-major order, and fills `index`. */
static void seek(const struct launch *launch, int64_t position, int64_t *index, uint64_t *args)
{
    const struct kiln_loop *outer = launch->outer;
    for (size_t axis = outer->ndim; axis-- > 0;) {
        index[axis] = position % outer->dims[axis];
        position /= outer->dims[axis];
        for (size_t i = 0; i < launch->pointers; i++) {
            args[i] += (uint64_t)(index[axis] * outer->regions[i].strides[axis]);
        }
    }
}

/* One step of the odometer. */
static void advance(const struct launch *launch, int64_t *index, uint64_t *args)
{
    const struct kiln_loop *outer = launch->outer;
    for (size_t axis = outer->ndim; axis-- > 0;) {
        bool wraps = ++index[axis] == outer->dims[axis];
        int64_t steps = wraps ? 1 - outer->dims[axis] : 1;
        if (wraps) index[axis] = 0;
        for (size_t i = 0; i < launch->pointers; i++) {
            args[i] += (uint64_t)(steps * outer->regions[i].strides[axis]);
        }
        if (!wraps) return;
    }
}

static void call(const struct launch *launch, uint64_t *args, int64_t row, int64_t rows, int64_t n, int64_t part)
{
    for (size_t i = 0; i < launch->pointers; i++) args[i] += (uint64_t)(row * launch->strides[2 * i]);
    if (launch->tiles.count)
        kiln__tiles_run(&launch->tiles, launch->entry, args, launch->strides, rows, n,
                        launch->scratch + (size_t)part * launch->tiles.scratch_bytes);
    else
        launch->entry(args, launch->strides, rows, n);
    for (size_t i = 0; i < launch->pointers; i++) args[i] -= (uint64_t)(row * launch->strides[2 * i]);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void run_part(void *ctx, int64_t part)
{
    const struct launch *launch = ctx;
    int64_t row = part / launch->col_parts * launch->row_step;
    int64_t end = smaller(row + launch->row_step, launch->total_rows);
    int64_t col = part % launch->col_parts * launch->col_step;
    int64_t n = smaller(launch->col_step, launch->n - col);
    int64_t index[KILN_MAX_NDIM + 1];
    uint64_t args[launch->args_count];
    memcpy(args, launch->args, sizeof args);
    for (size_t i = 0; i < launch->pointers; i++) args[i] += (uint64_t)(col * launch->strides[2 * i + 1]);
    if (!launch->outer) {
        call(launch, args, row, end - row, n, part);
        return;
    }
    seek(launch, row / launch->rows, index, args);
    for (int64_t first = row % launch->rows; row < end; first = 0) {
        int64_t count = smaller(launch->rows - first, end - row);
        call(launch, args, first, count, n, part);
        row += count;
        if (row < end) advance(launch, index, args);
    }
}

/* ---- cutting a launch into parts ------------------------------------------------------------------------------ */

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The pool's width is asked for by work that needs it: finding it out costs the first launch of a process 60 us. */
static int64_t cut(struct launch *launch, bool columns_may_be_cut)
{
    int64_t total = launch->total_rows * launch->n;
    int64_t per_thread = launch->few_parts ? 1 : PARTS_PER_THREAD;
    launch->row_step = launch->total_rows;
    launch->col_step = launch->n;
    launch->col_parts = 1;
    if (total < PARALLEL_MIN || kiln__pool_width() == 1) return 1;
    int64_t parts = smaller((int64_t)kiln__pool_width() * per_thread, total / PART_MIN);
    launch->row_step = divide_up(launch->total_rows, smaller(parts, launch->total_rows));
    if (launch->total_rows < parts && columns_may_be_cut) {
        int64_t wanted = divide_up(parts, launch->total_rows);
        launch->col_step = divide_up(divide_up(launch->n, wanted), LINE) * LINE;
        launch->col_parts = divide_up(launch->n, launch->col_step);
    }
    return divide_up(launch->total_rows, launch->row_step) * launch->col_parts;
}

static kiln_status run(struct launch *launch, bool columns_may_be_cut, kiln_error *err)
{
    if (!launch->entry) return KILN_OK; /* compiled only, or a dry run: nothing is computed */
    int64_t parts = cut(launch, columns_may_be_cut);
    if (launch->tiles.count) {
        launch->scratch = malloc((size_t)parts * launch->tiles.scratch_bytes);
        if (!launch->scratch) return kiln__no_memory(err, "the tiles of a launch");
    }
    if (parts > 1) {
        kiln__pool_run(run_part, launch, parts);
    } else if (launch->outer || launch->tiles.count) {
        run_part(launch, 0);
    } else {
        launch->entry(launch->args, launch->strides, launch->rows, launch->n);
    }
    free(launch->scratch);
    return KILN_OK;
}

/* The choice is made: gets the kernel for it, and runs it. */
static kiln_status start(struct kiln_group_kernels *kernels, const char *layouts, unsigned flags, struct launch *launch,
                         bool columns_may_be_cut, kiln_error *err)
{
    kiln_status status = kiln__variant_get(kernels, layouts, flags, &launch->entry, err);
    return status ? status : run(launch, columns_may_be_cut, err);
}

/* ---- packed arrays ------------------------------------------------------------------------------------------- */

/* One layout per operand when all are packed with the outputs' shape, or one element. */
static bool packed_layouts(const struct kiln_group *group, struct kiln_array *const *operands, int64_t size,
                           char *layouts)
{
    for (uint32_t i = 0; i < group->operand_count; i++) {
        if (operands[i]->size == size && (operands[i]->row_contiguous || size == 1)) {
            layouts[i] = KILN_LAYOUT_PACKED;
        } else if (operands[i]->size == 1) {
            layouts[i] = KILN_LAYOUT_SCALAR;
        } else {
            return false;
        }
    }
    return true;
}

static int64_t bytes_of(const struct kiln_array *array)
{
    return array->size * (int64_t)kiln__dtype_size(array->dtype);
}

/* Results that will be out of the caches before anybody reads them should not push out what is in there. */
static bool should_stream(const struct kiln_group *group, struct kiln_array *const *operands,
                          struct kiln_array *const *outputs)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < group->operand_count; i++) bytes += bytes_of(operands[i]);
    for (uint32_t i = 0; i < group->output_count; i++) {
        if ((uintptr_t)outputs[i]->data % LINE != 0) return false;
        if (kiln__dtype_size(outputs[i]->dtype) != kiln__dtype_size(outputs[0]->dtype)) return false;
        bytes += bytes_of(outputs[i]);
    }
    return bytes >= STREAM_MIN;
}

static kiln_status launch_packed(struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                                 const char *layouts, const uint64_t *constants, struct kiln_array *const *outputs,
                                 kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t pointers = group->output_count + group->operand_count, count = pointers + group->constant_count;
    uint64_t args[count];
    int64_t strides[2 * pointers];
    for (size_t i = 0; i < pointers; i++) {
        bool is_output = i < group->output_count;
        const struct kiln_array *array = is_output ? outputs[i] : operands[i - group->output_count];
        bool is_scalar = !is_output && layouts[i - group->output_count] == KILN_LAYOUT_SCALAR;
        args[i] = (uint64_t)(uintptr_t)array->data;
        strides[2 * i] = 0;
        strides[2 * i + 1] = is_scalar ? 0 : (int64_t)kiln__dtype_size(array->dtype);
    }
    for (size_t i = pointers; i < count; i++) args[i] = constants[i - pointers];
    struct launch launch = {.pointers = pointers,
                            .args_count = count,
                            .args = args,
                            .strides = strides,
                            .rows = 1,
                            .n = outputs[0]->size,
                            .total_rows = 1};
    unsigned flags = should_stream(group, operands, outputs) ? KILN_GROUP_STREAMING : 0;
    return start(kernels, layouts, flags, &launch, true, err);
}

/* ---- any layout ---------------------------------------------------------------------------------------------- */

static bool outputs_are_packed_inside(const struct kiln_loop *loop, size_t outputs)
{
    if (loop->ndim == 0) return false;
    for (size_t i = 0; i < outputs; i++) {
        if (loop->regions[i].strides[loop->ndim - 1] != loop->regions[i].item) return false;
    }
    return true;
}

/* Few long calls beat many short ones: a short axis next to the innermost one changes places with the longest. */
static void choose_rows(struct kiln_loop *loop)
{
    if (loop->ndim < 3 || loop->dims[loop->ndim - 2] >= FEW_ROWS) return;
    size_t rows = loop->ndim - 2, longest = rows;
    for (size_t axis = 0; axis < rows; axis++) {
        if (loop->dims[axis] > loop->dims[longest]) longest = axis;
    }
    int64_t dim = loop->dims[rows];
    loop->dims[rows] = loop->dims[longest];
    loop->dims[longest] = dim;
    for (size_t i = 0; i < loop->count; i++) {
        int64_t *strides = loop->regions[i].strides, stride = strides[rows];
        strides[rows] = strides[longest];
        strides[longest] = stride;
    }
}

static void choose_layouts(const struct launch *launch, const struct kiln_loop *loop, size_t outputs, char *layouts)
{
    bool strided = false;
    for (size_t i = outputs; i < loop->count; i++) {
        int64_t stride = launch->strides[2 * i + 1];
        layouts[i - outputs] = stride == 0 ? KILN_LAYOUT_SCALAR : KILN_LAYOUT_PACKED;
        strided |= stride != 0 && stride != loop->regions[i].item && !kiln__tiles_turn(&launch->tiles, i);
    }
    if (strided) memset(layouts, KILN_LAYOUT_STRIDED, loop->count - outputs);
}

/* Takes the last axis of `loop`, if there is one, as the kernel's rows; the others stay. */
static void take_rows(struct launch *launch, struct kiln_loop *loop, int64_t *strides)
{
    launch->total_rows = kiln__loop_size(loop);
    launch->rows = loop->ndim > 0 ? loop->dims[loop->ndim - 1] : 1;
    for (size_t i = 0; i < loop->count; i++) {
        strides[2 * i] = loop->ndim > 0 ? loop->regions[i].strides[loop->ndim - 1] : 0;
    }
    if (loop->ndim > 0) loop->ndim--;
    launch->outer = loop->ndim > 0 ? loop : NULL;
}

kiln_status kiln__cpu_launch_loop(struct kiln_group_kernels *kernels, struct kiln_loop *loop, const uint64_t *constants,
                                  kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t count = loop->count + group->constant_count;
    uint64_t args[count];
    int64_t strides[2 * loop->count];
    char layouts[group->operand_count + 1];
    kiln__loop_collapse(loop);
    if (!outputs_are_packed_inside(loop, group->output_count)) kiln__loop_append_unit(loop);
    choose_rows(loop);
    struct launch launch = {.pointers = loop->count, .args_count = count, .args = args, .strides = strides};
    launch.tiles.pointers = loop->count;
    launch.tiles.args_count = count;
    launch.n = loop->dims[--loop->ndim];
    for (size_t i = 0; i < loop->count; i++) {
        args[i] = (uint64_t)(uintptr_t)loop->regions[i].data;
        strides[2 * i + 1] = loop->regions[i].strides[loop->ndim];
    }
    for (size_t i = loop->count; i < count; i++) args[i] = constants[i - loop->count];
    kiln__tiles_choose(&launch.tiles, loop, group->output_count, strides, launch.n, false);
    choose_layouts(&launch, loop, group->output_count, layouts);
    take_rows(&launch, loop, strides);
    return start(kernels, layouts, 0, &launch, true, err);
}

static kiln_status launch_any(struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                              const uint64_t *constants, struct kiln_array *const *outputs, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t count = group->output_count + group->operand_count;
    struct kiln_region some[INLINE_POINTERS], *regions = some;
    if (count > INLINE_POINTERS) {
        regions = malloc(count * sizeof *regions);
        if (!regions) return kiln__no_memory(err, "the operands of a launch");
    }
    struct kiln_loop loop;
    kiln__loop_init(&loop, outputs[0]->ndim, outputs[0]->dims, regions, count);
    for (size_t i = 0; i < count; i++) {
        const struct kiln_array *array = i < group->output_count ? outputs[i] : operands[i - group->output_count];
        kiln__region_from_array(&regions[i], &loop, array);
    }
    kiln_status status = kiln__cpu_launch_loop(kernels, &loop, constants, err);
    if (regions != some) free(regions);
    return status;
}

kiln_status kiln__cpu_launch_group(struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                                   const uint64_t *constants, struct kiln_array *const *outputs, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    char layouts[group->operand_count + 1];
    if (packed_layouts(group, operands, outputs[0]->size, layouts)) {
        return launch_packed(kernels, operands, layouts, constants, outputs, err);
    }
    return launch_any(kernels, operands, constants, outputs, err);
}

kiln_status kiln__cpu_copy(struct kiln_loop *loop, kiln_error *err)
{
    return kiln__transpose_copy(loop) ? KILN_OK : kiln__launch_copy(loop, err);
}

/* ---- reductions ---------------------------------------------------------------------------------------------- */

kiln_status kiln__cpu_launch_reduction(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                                       int64_t stride, kiln_error *err)
{
    kiln__loop_collapse(loop);
    uint64_t args[] = {(uint64_t)(uintptr_t)loop->regions[0].data, (uint64_t)(uintptr_t)loop->regions[1].data};
    int64_t strides[4] = {0, loop->regions[0].item, 0, stride};
    struct launch launch = {.pointers = 2, .args_count = 2, .args = args, .strides = strides, .n = n};
    take_rows(&launch, loop, strides);
    bool rows_are_packed = strides[0] == loop->regions[0].item && strides[2] == loop->regions[1].item;
    char layouts[2] = {rows_are_packed                   ? KILN_LAYOUT_ROWS
                       : stride == loop->regions[1].item ? KILN_LAYOUT_PACKED
                                                         : KILN_LAYOUT_STRIDED,
                       0};
    launch.few_parts = rows_are_packed;
    return start(kernels, layouts, 0, &launch, false, err);
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

/* As above, for the outputs that have elements; in short rows the ends of lines would outweigh their middles. */
static bool should_stream_rows(const struct kiln_group *group, struct kiln_array *const *operands,
                               struct kiln_array *const *outputs, const int32_t *dims, size_t ndim)
{
    int64_t bytes = 0;
    size_t size = 0;
    for (uint32_t i = 0; i < group->operand_count; i++) bytes += bytes_of(operands[i]);
    for (uint32_t i = 0; i < group->output_count; i++) {
        if (outputs[i]->ndim != ndim || outputs[i]->dims[ndim - 1] != dims[ndim - 1]) continue;
        size_t own = kiln__dtype_size(outputs[i]->dtype);
        if (size && own != size) return false;
        size = own;
        bytes += bytes_of(outputs[i]);
    }
    return size && bytes >= STREAM_MIN && dims[ndim - 1] * (int64_t)size >= STREAM_MIN_ROW;
}

/* `loop` has the axes of the rows, which are not empty. */
static kiln_status run_rows(struct launch *launch, struct kiln_group_kernels *kernels, struct kiln_loop *loop,
                            int64_t *strides, char *layouts, unsigned flags, kiln_error *err)
{
    size_t outputs = kernels->group.output_count;
    kiln__loop_collapse(loop);
    kiln__tiles_choose(&launch->tiles, loop, outputs, strides, launch->n, true);
    for (size_t i = 0; i < launch->tiles.count; i++) layouts[launch->tiles.sources[i] - outputs] = KILN_LAYOUT_PACKED;
    take_rows(launch, loop, strides);
    return start(kernels, layouts, flags, launch, false, err);
}

kiln_status kiln__cpu_launch_rows(struct kiln_group_kernels *kernels, const int32_t *dims, size_t ndim,
                                  struct kiln_array *const *operands, const uint64_t *constants,
                                  struct kiln_array *const *outputs, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t pointers = (size_t)group->output_count + group->operand_count, count = pointers + group->constant_count;
    struct kiln_region *regions = malloc(pointers * sizeof *regions);
    if (!regions) return kiln__no_memory(err, "a launch");
    uint64_t args[count];
    int64_t strides[2 * pointers];
    char layouts[group->operand_count + 1];
    struct kiln_loop loop;
    kiln__loop_init(&loop, ndim, dims, regions, pointers);
    kiln__row_regions(group, operands, outputs, &loop, layouts);
    struct launch launch = {
        .pointers = pointers, .args_count = count, .args = args, .strides = strides, .n = dims[ndim - 1]};
    launch.tiles.pointers = pointers;
    launch.tiles.args_count = count;
    for (size_t i = 0; i < pointers; i++) {
        args[i] = (uint64_t)(uintptr_t)regions[i].data;
        strides[2 * i + 1] = regions[i].strides[ndim - 1];
    }
    for (size_t i = pointers; i < count; i++) args[i] = constants[i - pointers];
    kiln__loop_remove_axis(&loop, ndim - 1);
    bool keeps = launch.n <= KILN_SHORT_ROW && kiln__group_may_keep(group);
    unsigned flags = KILN_GROUP_ROWS | (keeps ? KILN_GROUP_SHORT : 0);
    if (should_stream_rows(group, operands, outputs, dims, ndim)) flags |= KILN_GROUP_STREAMING;
    kiln_status status = KILN_OK;
    if (kiln__loop_size(&loop) > 0) status = run_rows(&launch, kernels, &loop, strides, layouts, flags, err);
    free(regions);
    return status;
}
