/*
 * gpu.c - see gpu.h. From layouts to a schedule and its words.
 *
 * Invariant: the words of a launch stand in the order of codegen/gpu.h: pointers of outputs and operands, constants,
 * then what the schedule asks for. `struct words` is filled in that order and in no other way.
 */
#include "run/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/gpu.h"
#include "run/where.h"

enum {
    MAX_WORDS = 4000,        /* the driver takes parameters of 32,764 bytes */
    WIDE = 16,               /* bytes of the widest access */
    TILED_MIN = 16,          /* rows and columns below that don't fill a tile */
    COLUMNS_MIN = 32,        /* fewer columns are rows with a stride */
    FEW_ROWS = 128,          /* fewer long rows are reduced chunk by chunk, to use the whole GPU */
    RESIDENT_THREADS = 1024, /* of row kernels on a multiprocessor */
    APART_WAVES = 3,         /* so often its blocks are replaced, at least, if they start apart, */
    APART_ELEMENTS = 16,     /* and so many elements has a thread */
    SEARCH_WARPS = 4096,     /* share the elements of a search for places, */
    CHUNK_MIN = 512,         /* in multiples of so many, */
    ROW_AT_ONCE = 2048,      /* and this many are one warp's */
    LONGEST = INT32_MAX / 2  /* indices of threads that are rounded up stay below 2^31 */
};

struct words {
    size_t count;
    bool keep; /* the launch, for the next time: again.c */
    uint64_t data[];
};
enum { HEADER_WORDS = sizeof(struct words) / sizeof(uint64_t) };

static void add(struct words *words, int64_t value)
{
    words->data[words->count++] = (uint64_t)value;
}

static void add_pointers(struct words *words, const struct kiln_loop *loop)
{
    for (size_t i = 0; i < loop->count; i++) add(words, (int64_t)(intptr_t)loop->regions[i].data);
}

static void add_constants(struct words *words, const struct kiln_group *group, const uint64_t *constants)
{
    for (uint32_t i = 0; i < group->constant_count; i++) words->data[words->count++] = constants[i];
}

static void add_axes(struct words *words, const struct kiln_loop *loop)
{
    for (size_t axis = 0; axis < loop->ndim; axis++) {
        add(words, loop->dims[axis]);
        for (size_t i = 0; i < loop->count; i++) add(words, loop->regions[i].strides[axis]);
    }
}

static size_t words_for(const struct kiln_group *group, size_t ndim)
{
    size_t pointers = (size_t)group->output_count + group->operand_count;
    return pointers + group->constant_count + group->operand_count + 8 + (ndim + 1) * (1 + pointers);
}

bool kiln__gpu_can_launch(const struct kiln_group *group, size_t ndim, int64_t row)
{
    return words_for(group, ndim) <= MAX_WORDS && row <= KILN_GPU_MAX_ROW;
}

static kiln_status cannot(const struct kiln_group_kernels *kernels, kiln_error *err)
{
    return kiln__fail(err, KILN_INVALID, "%s: a kernel of a GPU has at most %d parameters", kernels->name, MAX_WORDS);
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

struct grid {
    int64_t blocks;
    uint32_t threads;    /* of a block */
    size_t shared_bytes; /* of a block */
};

static struct grid full_blocks(int64_t blocks)
{
    return (struct grid){.blocks = blocks, .threads = KILN_GPU_BLOCK};
}

/* Everything is in `words`. */
static kiln_status start(struct kiln_group_kernels *kernels, const char *letters, const struct kiln_gpu_form *form,
                         struct grid grid, const struct words *words, kiln_error *err)
{
    kiln_device *device;
    struct kiln_gpu_call call = {.grid = (uint32_t)grid.blocks,
                                 .block = grid.threads,
                                 .shared_bytes = grid.shared_bytes,
                                 .word_count = words->count,
                                 .words = words->data};
    kiln_status status = kiln__place_device(kiln__here, &device, err);
    if (grid.blocks > INT32_MAX)
        return kiln__fail(err, KILN_INVALID, "%s: too many elements for one launch", kernels->name);
    if (!status) status = kiln__gpu_variant_get(kernels, device, letters, form, &call.function, err);
    if (!status && words->keep) kiln__gpu_keep_launch(kernels, device, &call);
    return status ? status : kiln__replay_launch(device->gpu, &call, err);
}

/* ---- packed arrays ------------------------------------------------------------------------------------------- */

static bool is_wide(const struct kiln_loop *loop, const char *letters, size_t outputs)
{
    for (size_t i = 0; i < loop->count; i++) {
        bool is_element = i >= outputs && letters[i - outputs] == KILN_LAYOUT_SCALAR;
        if (!is_element && (uintptr_t)loop->regions[i].data % WIDE != 0) return false;
    }
    return true;
}

/* `loop` has one axis. */
static kiln_status launch_packed(struct kiln_group_kernels *kernels, const struct kiln_loop *loop, const char *letters,
                                 const uint64_t *constants, struct words *words, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    int64_t n = loop->dims[0], width = kiln__gpu_width(group, letters);
    struct kiln_gpu_form form = {
        .schedule = KILN_GPU_PACKED, .wide = is_wide(loop, letters, group->output_count), .is_long = n > LONGEST};
    add_pointers(words, loop);
    add_constants(words, group, constants);
    add(words, n);
    return start(kernels, letters, &form, full_blocks(divide_up(n, KILN_GPU_BLOCK * width)), words, err);
}

/* ---- any layout ---------------------------------------------------------------------------------------------- */

static bool is_packed(const struct kiln_region *region, size_t axis)
{
    return region->strides[axis] == region->item;
}

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
        if (!is_packed(&loop->regions[i], axis)) return false;
    return true;
}

/* Letters along the last axis; false: an operand is neither packed nor broadcast along it. */
static bool choose_letters(const struct kiln_loop *loop, size_t outputs, char *letters)
{
    size_t inner = loop->ndim - 1;
    bool simple = true;
    for (size_t i = outputs; i < loop->count; i++) {
        int64_t stride = loop->regions[i].strides[inner];
        letters[i - outputs] = stride == 0                           ? KILN_LAYOUT_SCALAR
                               : is_packed(&loop->regions[i], inner) ? KILN_LAYOUT_PACKED
                                                                     : KILN_LAYOUT_STRIDED;
        simple &= letters[i - outputs] != KILN_LAYOUT_STRIDED;
    }
    return simple;
}

/* Do rows begin at 16 bytes too, in every region that is read or written by vectors? */
static bool rows_are_wide(const struct kiln_loop *loop, const char *letters, size_t outputs)
{
    for (size_t i = 0; i < loop->count; i++) {
        if (i >= outputs && letters[i - outputs] == KILN_LAYOUT_SCALAR) continue;
        for (size_t axis = 0; axis + 1 < loop->ndim; axis++)
            if (loop->regions[i].strides[axis] % WIDE != 0) return false;
    }
    return is_wide(loop, letters, outputs);
}

static kiln_status launch_strided(struct kiln_group_kernels *kernels, const struct kiln_loop *loop, char *letters,
                                  const uint64_t *constants, bool wide, struct words *words, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    int64_t total = kiln__loop_size(loop);
    if (!wide) memset(letters, KILN_LAYOUT_STRIDED, group->operand_count);
    int64_t width = wide ? kiln__gpu_width(group, letters) : 1;
    struct kiln_gpu_form form = {
        .schedule = KILN_GPU_STRIDED, .axes = (uint8_t)loop->ndim, .wide = wide, .is_long = total > LONGEST};
    add_pointers(words, loop);
    add_constants(words, group, constants);
    add(words, total);
    add_axes(words, loop);
    return start(kernels, letters, &form, full_blocks(divide_up(total, KILN_GPU_BLOCK * width)), words, err);
}

/* An axis, not the last one, along which an operand is packed that is not so along the last; ndim: none. */
static size_t find_transposed(const struct kiln_loop *loop, size_t outputs)
{
    size_t inner = loop->ndim - 1;
    if (!outputs_are_packed(loop, outputs, inner) || loop->dims[inner] < TILED_MIN) return loop->ndim;
    for (size_t i = outputs; i < loop->count; i++) {
        const struct kiln_region *region = &loop->regions[i];
        if (is_packed(region, inner) || region->strides[inner] == 0) continue;
        for (size_t axis = 0; axis < inner; axis++)
            if (is_packed(region, axis) && loop->dims[axis] >= TILED_MIN) return axis;
    }
    return loop->ndim;
}

static kiln_status launch_tiled(struct kiln_group_kernels *kernels, struct kiln_loop *loop, size_t rows, char *letters,
                                const uint64_t *constants, struct words *words, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t outputs = group->output_count, inner = loop->ndim - 1;
    swap_axes(loop, rows, inner - 1);
    choose_letters(loop, outputs, letters);
    for (size_t i = outputs; i < loop->count; i++)
        if (letters[i - outputs] == KILN_LAYOUT_STRIDED && is_packed(&loop->regions[i], inner - 1))
            letters[i - outputs] = 't';
    int64_t row_tiles = divide_up(loop->dims[inner - 1], KILN_GPU_TILE);
    int64_t column_tiles = divide_up(loop->dims[inner], KILN_GPU_TILE), outer = 1;
    for (size_t axis = 0; axis + 1 < inner; axis++) outer *= loop->dims[axis];
    struct kiln_gpu_form form = {
        .schedule = KILN_GPU_TILED, .axes = (uint8_t)loop->ndim, .is_long = kiln__loop_size(loop) > LONGEST};
    add_pointers(words, loop);
    add_constants(words, group, constants);
    add(words, row_tiles);
    add(words, column_tiles);
    add_axes(words, loop);
    return start(kernels, letters, &form, full_blocks(outer * row_tiles * column_tiles), words, err);
}

static kiln_status launch_loop(struct kiln_group_kernels *kernels, struct kiln_loop *loop, const uint64_t *constants,
                               bool keep, kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t outputs = group->output_count;
    char letters[group->operand_count + 1];
    letters[group->operand_count] = '\0';
    if (kiln__loop_size(loop) == 0) return KILN_OK;
    kiln__loop_collapse(loop);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    size_t room = words_for(group, loop->ndim);
    if (room > MAX_WORDS) return cannot(kernels, err);
    uint64_t buffer[HEADER_WORDS + room];
    struct words *words = (struct words *)buffer;
    words->count = 0;
    words->keep = keep;
    size_t inner = loop->ndim - 1, transposed = find_transposed(loop, outputs);
    bool packed = outputs_are_packed(loop, outputs, inner), simple = choose_letters(loop, outputs, letters);
    if (loop->ndim == 1 && packed && simple) return launch_packed(kernels, loop, letters, constants, words, err);
    if (transposed < loop->ndim) return launch_tiled(kernels, loop, transposed, letters, constants, words, err);
    bool wide = packed && simple && loop->dims[inner] % kiln__gpu_width(group, letters) == 0 &&
                rows_are_wide(loop, letters, outputs);
    return launch_strided(kernels, loop, letters, constants, wide, words, err);
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
    if (kiln__gpu_launch_again(kernels, operands, outputs, &keep, &status, err)) return status;
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

/* ---- rows and reductions -------------------------------------------------------------------------------------- */

static struct grid row_grid(const struct kiln_group *group, int64_t rows, int64_t n)
{
    uint32_t row_warps = kiln__gpu_row_warps(n), warps = kiln__gpu_row_block(row_warps);
    return (struct grid){.blocks = divide_up(rows, warps / row_warps),
                         .threads = warps * KILN_GPU_WARP,
                         .shared_bytes = (size_t)warps * kiln__gpu_row_kept(group)};
}

/* How many blocks start apart: all that have room, where more are to follow and each has much to read. */
static kiln_status blocks_apart(const struct grid *grid, int64_t elements, int64_t *out, kiln_error *err)
{
    kiln_device *device;
    kiln_status status = kiln__place_device(kiln__here, &device, err);
    if (status) return status;
    int64_t room = (int64_t)device->gpu->multiprocessors * (RESIDENT_THREADS / grid->threads);
    bool is_full = elements / grid->blocks >= grid->threads * APART_ELEMENTS;
    *out = is_full && grid->blocks >= room * APART_WAVES ? room : 0;
    return KILN_OK;
}

/* `loop` has the rows' axes; `inner` the strides along the row, per region. */
static kiln_status launch_rows(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                               const int64_t *inner, const uint64_t *constants, const char *letters, bool keep,
                               kiln_error *err)
{
    const struct kiln_group *group = &kernels->group;
    size_t outputs = group->output_count;
    bool wide = true;
    kiln__loop_collapse(loop);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    size_t room = words_for(group, loop->ndim);
    if (room > MAX_WORDS || n > KILN_GPU_MAX_ROW) return cannot(kernels, err);
    uint64_t buffer[HEADER_WORDS + room];
    struct words *words = (struct words *)buffer;
    words->count = 0;
    words->keep = keep;
    int64_t rows = kiln__loop_size(loop), warps = kiln__gpu_row_warps(n);
    for (size_t i = 0; i < loop->count; i++) {
        bool is_vector = i < outputs ? inner[i] != 0 : letters[i - outputs] == KILN_LAYOUT_PACKED;
        if (!is_vector) continue;
        wide &= (uintptr_t)loop->regions[i].data % WIDE == 0;
        for (size_t axis = 0; axis < loop->ndim; axis++)
            wide &= loop->regions[i].strides[axis] % WIDE == 0 || loop->dims[axis] == 1;
    }
    struct grid grid = row_grid(group, rows, n);
    int64_t apart = 0;
    kiln_status status = blocks_apart(&grid, rows * n, &apart, err);
    if (status) return status;
    struct kiln_gpu_form form = {
        .schedule = KILN_GPU_ROWS, .axes = (uint8_t)loop->ndim, .wide = wide, .is_long = rows > LONGEST};
    add_pointers(words, loop);
    add_constants(words, group, constants);
    add(words, rows);
    add(words, n);
    add(words, warps);
    add(words, apart);
    for (size_t i = outputs; i < loop->count; i++) add(words, inner[i]);
    add_axes(words, loop);
    return start(kernels, letters, &form, grid, words, err);
}

kiln_status kiln__gpu_launch_rows(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                                  const int64_t *inner, const uint64_t *constants, const char *letters, bool keep,
                                  kiln_error *err)
{
    return kiln__loop_size(loop) == 0 ? KILN_OK : launch_rows(kernels, loop, n, inner, constants, letters, keep, err);
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
    int64_t columns = loop->dims[loop->ndim - 1], blocks = divide_up(columns, KILN_GPU_COLUMNS_BLOCK);
    uint64_t buffer[HEADER_WORDS + 2 + 8 + 3 * (KILN_MAX_NDIM + 2)];
    struct words *words = (struct words *)buffer;
    words->count = 0;
    words->keep = false;
    loop->ndim--;
    int64_t outer = kiln__loop_size(loop);
    struct kiln_gpu_form form = {
        .schedule = KILN_GPU_COLUMNS, .axes = (uint8_t)loop->ndim, .is_long = outer * columns > LONGEST};
    add_pointers(words, loop);
    add(words, columns);
    add(words, n);
    add(words, 1); /* chunks: longer axes come in levels, see reduction.c */
    add(words, stride);
    add(words, 0);
    add(words, blocks);
    add_axes(words, loop);
    return start(kernels, "c", &form, full_blocks(outer * blocks), words, err);
}

kiln_status kiln__gpu_launch_reduction(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                                       int64_t stride, kiln_error *err)
{
    if (kiln__loop_size(loop) == 0) return KILN_OK;
    kiln__loop_collapse(loop);
    size_t last = loop->ndim - 1;
    bool has_columns = loop->ndim > 0 && loop->dims[last] >= COLUMNS_MIN && is_packed(&loop->regions[0], last) &&
                       is_packed(&loop->regions[1], last);
    if (has_columns && n <= KILN_REDUCE_CHUNK) return launch_columns(kernels, loop, n, stride, err);
    const int64_t inner[2] = {0, stride};
    const char *letters = stride == loop->regions[1].item ? "c" : "v";
    return launch_rows(kernels, loop, n, inner, NULL, letters, false, err);
}

/* ---- through indices ------------------------------------------------------------------------------------------ */

kiln_status kiln__gpu_launch_indexed(struct kiln_group_kernels *kernels, struct kiln_loop *loop, const int64_t *sizes,
                                     const int64_t *steps, bool wide, kiln_error *err)
{
    size_t indices = loop->count - 2, room = 1 + 2 * indices + words_for(&kernels->group, loop->ndim);
    int64_t total = kiln__loop_size(loop);
    if (total == 0) return KILN_OK;
    if (room > MAX_WORDS) return cannot(kernels, err);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    char letters[indices + 2];
    uint64_t buffer[HEADER_WORDS + room];
    struct words *words = (struct words *)buffer;
    words->count = 0;
    words->keep = false;
    letters[0] = KILN_LAYOUT_STRIDED;
    memset(letters + 1, KILN_LAYOUT_INDEX, indices);
    letters[1 + indices] = '\0';
    struct kiln_gpu_form form = {
        .schedule = KILN_GPU_INDEXED, .axes = (uint8_t)loop->ndim, .wide = wide, .is_long = total > LONGEST};
    add_pointers(words, loop);
    add(words, total);
    for (size_t i = 0; i < indices; i++) {
        add(words, sizes[i]);
        add(words, steps[i]);
    }
    add_axes(words, loop);
    return start(kernels, letters, &form, full_blocks(divide_up(total, KILN_GPU_BLOCK)), words, err);
}

/* ---- random words --------------------------------------------------------------------------------------------- */

kiln_status kiln__gpu_launch_random(struct kiln_group_kernels *kernels, char *out, int64_t count, const char *key,
                                    int64_t stride, kiln_error *err)
{
    uint64_t buffer[HEADER_WORDS + 5];
    struct words *words = (struct words *)buffer;
    int64_t half = count / 2, pairs = count - half;
    struct kiln_gpu_form form = {.schedule = KILN_GPU_RANDOM, .is_long = count > LONGEST};
    if (count == 0) return KILN_OK;
    words->count = 0;
    words->keep = false;
    add(words, (int64_t)(intptr_t)out);
    add(words, (int64_t)(intptr_t)key);
    add(words, pairs);
    add(words, half);
    add(words, stride);
    return start(kernels, "v", &form, full_blocks(divide_up(pairs, KILN_GPU_BLOCK)), words, err);
}

/* ---- places --------------------------------------------------------------------------------------------------- */

/* Elements for one warp: few, so that a few long rows use the whole GPU, but rows that one warp reads soon are whole.
 */
static int64_t chunk_of(int64_t rows, int64_t n)
{
    int64_t share = divide_up(rows * n, SEARCH_WARPS), chunk = divide_up(share, CHUNK_MIN) * CHUNK_MIN;
    return n <= ROW_AT_ONCE || chunk > n ? n : chunk;
}

int64_t kiln__gpu_chunks(int64_t rows, int64_t n)
{
    return divide_up(n, chunk_of(rows, n));
}

kiln_status kiln__gpu_launch_places(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                                    int64_t stride, bool through, kiln_error *err)
{
    uint64_t buffer[HEADER_WORDS + 3 + 5 + 4 * (KILN_MAX_NDIM + 1)];
    struct words *words = (struct words *)buffer;
    int64_t rows = kiln__loop_size(loop), warps = rows * kiln__gpu_chunks(rows, n);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    struct kiln_gpu_form form = {.schedule = KILN_GPU_PLACES, .axes = (uint8_t)loop->ndim, .is_long = warps > LONGEST};
    words->count = 0;
    words->keep = false;
    add_pointers(words, loop);
    add(words, rows);
    add(words, n);
    add(words, chunk_of(rows, n));
    add(words, kiln__gpu_chunks(rows, n));
    add(words, stride);
    add_axes(words, loop);
    const char letters[] = {stride == loop->regions[1].item ? KILN_LAYOUT_PACKED : KILN_LAYOUT_STRIDED,
                            through ? KILN_LAYOUT_INDEX : KILN_LAYOUT_SCALAR, '\0'};
    return start(kernels, letters, &form, full_blocks(divide_up(warps, KILN_GPU_WARPS)), words, err);
}
