/*
 * tiles.c - see tiles.h. Tiles of one call follow each other along the inner axis first, so outputs are written in the
 * order in which they lie. What a kernel computes for an element does not depend on the tiles.
 */
#include "run/cpu/tiles.h"

#include <string.h>

#include "run/cpu/transpose.h"

enum {
    LINE = 64,
    TILE_LINES = 4,          /* neighbouring lines of each source row: they come from memory together */
    TILE_COLUMNS = 64,       /* with those lines some 16 KiB for an operand */
    TILED_MIN = 4096,        /* elements of a launch */
    SCRATCH_MAX = 1024 << 10 /* bytes for whole rows; longer ones are read where they are */
};

static bool is_strided(const struct kiln_region *region, int64_t inner)
{
    return inner != 0 && inner != region->item;
}

/* The axis along which some strided operand is packed, and long enough for a line; loop->ndim: none. */
static size_t find_across(const struct kiln_loop *loop, size_t outputs, const int64_t *strides)
{
    for (size_t i = outputs; i < loop->count; i++) {
        const struct kiln_region *region = &loop->regions[i];
        if (!is_strided(region, strides[2 * i + 1])) continue;
        for (size_t axis = 0; axis < loop->ndim; axis++)
            if (region->strides[axis] == region->item && loop->dims[axis] >= LINE / region->item) return axis;
    }
    return loop->ndim;
}

static void make_last(struct kiln_loop *loop, size_t axis)
{
    size_t last = loop->ndim - 1;
    int64_t dim = loop->dims[last];
    loop->dims[last] = loop->dims[axis];
    loop->dims[axis] = dim;
    for (size_t i = 0; i < loop->count; i++) {
        int64_t *strides = loop->regions[i].strides, stride = strides[last];
        strides[last] = strides[axis];
        strides[axis] = stride;
    }
}

static void add_operand(struct kiln_tiles *tiles, size_t pointer, int64_t item)
{
    tiles->sources[tiles->count] = pointer;
    tiles->items[tiles->count++] = item;
}

/* As many rows as fill lines of the widest elements. */
static void choose_size(struct kiln_tiles *tiles, int64_t n, bool whole)
{
    int64_t widest = 1, start = 0;
    for (size_t i = 0; i < tiles->count; i++) widest = tiles->items[i] > widest ? tiles->items[i] : widest;
    tiles->rows = (whole ? 1 : TILE_LINES) * LINE / widest;
    tiles->n = whole || n < TILE_COLUMNS ? n : TILE_COLUMNS;
    for (size_t i = 0; i < tiles->count; i++) {
        tiles->starts[i] = start;
        start += (tiles->rows * tiles->n * tiles->items[i] + LINE - 1) / LINE * LINE;
    }
    tiles->scratch_bytes = (size_t)start;
    if (start > SCRATCH_MAX) tiles->count = 0;
}

void kiln__tiles_choose(struct kiln_tiles *tiles, struct kiln_loop *loop, size_t outputs, const int64_t *strides,
                        int64_t n, bool whole)
{
    tiles->count = 0;
    if (n < 2 || kiln__loop_size(loop) < TILED_MIN / n) return;
    size_t across = find_across(loop, outputs, strides);
    if (across == loop->ndim) return;
    make_last(loop, across);
    for (size_t i = outputs; i < loop->count && tiles->count < KILN_TILES_OPERANDS; i++) {
        const struct kiln_region *region = &loop->regions[i];
        bool is_packed = region->strides[loop->ndim - 1] == region->item;
        if (is_packed && is_strided(region, strides[2 * i + 1])) add_operand(tiles, i, region->item);
    }
    choose_size(tiles, n, whole);
}

bool kiln__tiles_turn(const struct kiln_tiles *tiles, size_t pointer)
{
    for (size_t i = 0; i < tiles->count; i++)
        if (tiles->sources[i] == pointer) return true;
    return false;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void kiln__tiles_run(const struct kiln_tiles *tiles, kiln_kernel_entry entry, const uint64_t *args,
                     const int64_t *strides, int64_t rows, int64_t n, char *scratch)
{
    uint64_t moved[tiles->args_count];
    int64_t turned[2 * tiles->pointers];
    memcpy(moved, args, sizeof moved);
    memcpy(turned, strides, sizeof turned);
    for (size_t i = 0; i < tiles->count; i++) {
        turned[2 * tiles->sources[i]] = tiles->n * tiles->items[i];
        turned[2 * tiles->sources[i] + 1] = tiles->items[i];
    }
    for (int64_t row = 0; row < rows; row += tiles->rows) {
        for (int64_t col = 0; col < n; col += tiles->n) {
            int64_t tile_rows = smaller(tiles->rows, rows - row), tile_n = smaller(tiles->n, n - col);
            for (size_t i = 0; i < tiles->pointers; i++)
                moved[i] = args[i] + (uint64_t)(row * strides[2 * i] + col * strides[2 * i + 1]);
            for (size_t i = 0; i < tiles->count; i++) {
                size_t pointer = tiles->sources[i];
                char *to = scratch + tiles->starts[i];
                kiln__transpose_block(to, turned[2 * pointer], (const char *)(uintptr_t)moved[pointer],
                                      strides[2 * pointer + 1], tile_rows, tile_n, tiles->items[i]);
                moved[pointer] = (uint64_t)(uintptr_t)to;
            }
            entry(moved, turned, tile_rows, tile_n);
        }
    }
}
