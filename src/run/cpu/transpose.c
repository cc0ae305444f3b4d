/*
 * transpose.c - see transpose.h.
 *
 * Rows of the destination run along the loop's last axis; the source is packed along another one, `across`. A tile is a
 * square of as many elements as fill a cache line: its source lines are read whole, turned in the first cache, and its
 * destination lines written whole, so memory moves each line once, however far apart the lines of a tile are. Tiles go
 * by bands of a few source lines; parts are bands, so they write disjoint elements.
 */
#include "run/cpu/transpose.h"

#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "run/cpu/pool.h"
#include "run/kernels/dry_run.h"

enum {
    LINE = 64,
    BAND_LINES = 16, /* a band reads that many neighbouring lines of each source row, which come from memory together */
    PARALLEL_MIN = 64 << 10, /* elements, as in cpu_launch.c */
    STREAM_MIN = 32 << 20    /* bytes touched, as in cpu_launch.c */
};

struct plane {
    char *to;
    const char *from;
    int64_t to_row, from_row; /* bytes from one destination row, one source row, to the next */
    int64_t rows, n;          /* of the destination; the source has n rows */
    int64_t item, side;       /* bytes of an element; elements of a line */
    bool stream;
};

typedef void (*tile_function)(const struct plane *plane, char *to, const char *from);

struct copy {
    struct plane plane;
    struct kiln_loop outer; /* the other axes */
    struct kiln_region regions[2];
    int64_t bands, band_rows;
};

/* ---- one tile -------------------------------------------------------------------------------------------------- */

/* Eight bytes of a destination line, made of elements of neighbouring source rows: words are never read back. */
static inline void store_word(char *to, uint64_t word, bool stream)
{
#if defined(__x86_64__)
    if (stream) {
        _mm_stream_si64((long long *)(void *)to, (long long)word);
        return;
    }
#endif
    (void)stream;
    memcpy(to, &word, sizeof word);
}

#define TILE(name, type)                                                                                               \
    static void name(const struct plane *plane, char *to, const char *from)                                            \
    {                                                                                                                  \
        enum { SIDE = LINE / sizeof(type), IN_WORD = sizeof(uint64_t) / sizeof(type), BITS = 8 * sizeof(type) };       \
        type square[SIDE][SIDE];                                                                                       \
        for (int i = 0; i < SIDE; i++) memcpy(square[i], from + i * plane->from_row, LINE);                            \
        for (int row = 0; row < SIDE; row++, to += plane->to_row) {                                                    \
            for (int i = 0; i < SIDE; i += IN_WORD) {                                                                  \
                uint64_t word = 0;                                                                                     \
                for (int k = 0; k < IN_WORD; k++) word |= (uint64_t)square[i + k][row] << (BITS * k % 64);             \
                store_word(to + (size_t)i * sizeof(type), word, plane->stream);                                        \
            }                                                                                                          \
        }                                                                                                              \
    }
TILE(tile_1, uint8_t)
TILE(tile_2, uint16_t)
TILE(tile_8, uint64_t) // NOLINT(bugprone-sizeof-expression): one element for one
#if defined(__x86_64__)
static inline void store_quarter(char *to, __m128 quarter, bool stream)
{
    if (stream)
        _mm_stream_ps((float *)(void *)to, quarter);
    else
        _mm_storeu_ps((float *)(void *)to, quarter);
}

/* Four destination rows at a time, whose lines stay in registers until they are whole. Moves bits, whatever they mean.
 */
static void tile_4(const struct plane *plane, char *to, const char *from)
{
    float square[16][16];
    for (int i = 0; i < 16; i++) memcpy(square[i], from + i * plane->from_row, LINE);
    for (int row = 0; row < 16; row += 4, to += 4 * plane->to_row) {
        __m128 lines[4][4];
        for (int i = 0; i < 4; i++) {
            for (int k = 0; k < 4; k++) lines[k][i] = _mm_loadu_ps(&square[4 * i + k][row]);
            _MM_TRANSPOSE4_PS(lines[0][i], lines[1][i], lines[2][i], lines[3][i]);
        }
        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < 4; i++) store_quarter(to + k * plane->to_row + 16 * i, lines[k][i], plane->stream);
        }
    }
}
#else
TILE(tile_4, uint32_t)
#endif

static const tile_function tiles[] = {[1] = tile_1, [2] = tile_2, [4] = tile_4, [8] = tile_8};

/* Element by element, at the edges where there is no whole tile. */
static void copy_edge(const struct plane *plane, char *to, const char *from, int64_t rows, int64_t n, size_t item)
{
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + row * plane->to_row + i * (int64_t)item, from + row * (int64_t)item + i * plane->from_row,
                   item);
        }
    }
}

/* ---- bands ----------------------------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One line of each of `side` source rows, up to `rows` elements of them. */
static void copy_tile(const struct plane *plane, int64_t row, int64_t col)
{
    char *to = plane->to + row * plane->to_row + col * plane->item;
    const char *from = plane->from + row * plane->item + col * plane->from_row;
    int64_t rows = smaller(plane->side, plane->rows - row), n = smaller(plane->side, plane->n - col);
    if (rows == plane->side && n == plane->side)
        tiles[plane->item](plane, to, from);
    else
        copy_edge(plane, to, from, rows, n, (size_t)plane->item);
}

static void copy_rows(const struct plane *plane, int64_t first, int64_t end)
{
    for (int64_t col = 0; col < plane->n; col += plane->side) {
        for (int64_t row = first; row < end; row += plane->side) copy_tile(plane, row, col);
    }
}

void kiln__transpose_block(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t rows, int64_t n,
                           int64_t item)
{
    const struct plane plane = {to, from, to_row, from_row, rows, n, item, LINE / item, false};
    copy_rows(&plane, 0, rows);
}

static void run_band(void *ctx, int64_t part)
{
    const struct copy *copy = ctx;
    struct plane plane = copy->plane;
    int64_t position = part / copy->bands, first = part % copy->bands * copy->band_rows;
    for (size_t axis = copy->outer.ndim; axis-- > 0;) {
        int64_t index = position % copy->outer.dims[axis];
        position /= copy->outer.dims[axis];
        plane.to += index * copy->regions[0].strides[axis];
        plane.from += index * copy->regions[1].strides[axis];
    }
    copy_rows(&plane, first, smaller(first + copy->band_rows, plane.rows));
#if defined(__x86_64__)
    if (plane.stream) _mm_sfence();
#endif
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* The axis along which the source is packed; the last one when there is none besides it. */
static size_t find_across(const struct kiln_loop *loop)
{
    const struct kiln_region *from = &loop->regions[1];
    size_t axis = 0;
    while (axis + 1 < loop->ndim && from->strides[axis] != from->item) axis++;
    return axis;
}

/* Every line of the destination begins at a line of memory, and there are so many that no cache would keep them. */
static bool should_stream(const struct kiln_loop *loop)
{
    const struct kiln_region *to = &loop->regions[0];
    if ((uintptr_t)to->data % LINE != 0 || 2 * kiln__loop_size(loop) * to->item < STREAM_MIN) return false;
    for (size_t axis = 0; axis + 1 < loop->ndim; axis++) {
        if (to->strides[axis] % LINE != 0) return false;
    }
    return true;
}

bool kiln__transpose_copy(const struct kiln_loop *loop)
{
    if (loop->ndim < 2) return false;
    size_t last = loop->ndim - 1, across = find_across(loop);
    const struct kiln_region *to = &loop->regions[0], *from = &loop->regions[1];
    int64_t item = to->item, side = LINE / item;
    if (across == last || to->strides[last] != item || from->strides[last] == item || from->strides[last] == 0)
        return false;
    if (loop->dims[across] < side || loop->dims[last] < side) return false;
    if (kiln__dry_run) return true;
    struct copy copy = {.plane = {to->data, from->data, to->strides[across], from->strides[last], loop->dims[across],
                                  loop->dims[last], item, side, should_stream(loop)},
                        .outer = *loop,
                        .regions = {*to, *from},
                        .band_rows = side * BAND_LINES};
    copy.bands = (copy.plane.rows + copy.band_rows - 1) / copy.band_rows;
    copy.outer.regions = copy.regions;
    kiln__loop_remove_axis(&copy.outer, last);
    kiln__loop_remove_axis(&copy.outer, across);
    int64_t parts = kiln__loop_size(&copy.outer) * copy.bands;
    if (kiln__loop_size(loop) >= PARALLEL_MIN)
        kiln__pool_run(run_band, &copy, parts);
    else
        for (int64_t i = 0; i < parts; i++) run_band(&copy, i);
    return true;
}
