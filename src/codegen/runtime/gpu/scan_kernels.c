/*
 * scan_kernels.c - cumulative sums, products, maxima and minima: a thread walks a row from its first element to its
 * last, as run/ops/cumulative.c does, so the bits are the CPU's.
 *
 * Rows that lie beside each other (`inner` of them) are read as they are. Where the elements of a row lie side by side,
 * a block reads a tile of some rows into its memory, walks them there, and stores it.
 */
#include "codegen/runtime/gpu/numbers.h"

enum { TILE = 1024, NOT_TILED = 0 };

static inline uint64_t scan_identity(int step, int dtype)
{
    static const int64_t lowest[] = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN};
    const float infinity = step == STEP_LARGER ? -__builtin_inff() : __builtin_inff();
    if (step == STEP_ADD) return 0;
    if (step == STEP_MULTIPLY && dtype == KILN_FLOAT64) return bits_of_f64(1);
    if (step == STEP_MULTIPLY && dtype >= KILN_FLOAT16) return bits_of_f32(1); /* 1 and 0 of complex64 */
    if (step == STEP_MULTIPLY) return 1;
    if (dtype == KILN_FLOAT64) return bits_of_f64((double)infinity);
    if (dtype == KILN_COMPLEX64) return number_of_complex((struct complex_number){infinity, infinity});
    if (dtype >= KILN_FLOAT16) return bits_of_f32(infinity);
    if (dtype == KILN_BOOL) return step == STEP_SMALLER;
    if (dtype < KILN_INT8) return step == STEP_LARGER ? 0 : UINT64_MAX >> (64 - 8 * bytes_of_dtype(dtype));
    return (uint64_t)(step == STEP_LARGER ? lowest[dtype - KILN_INT8] : ~lowest[dtype - KILN_INT8]);
}

/* The result at one element; *sum goes on. */
static inline uint64_t scan_step(uint64_t *sum, uint64_t number, int is_first, int step, int is_inclusive, int dtype)
{
    const uint64_t before = *sum;
    *sum = is_inclusive && is_first ? number : step_numbers(before, number, step, dtype);
    return is_inclusive ? *sum : before;
}

static inline void scan_apart(char *out, const char *in, int64_t rows, int64_t n, int64_t inner, int dtype, int step,
                              int is_reverse, int is_inclusive)
{
    const int64_t row = grid_thread(), bytes = bytes_of_dtype(dtype);
    if (row >= rows) return;
    uint64_t sum = scan_identity(step, dtype);
    int64_t at = (row / inner * n * inner + row % inner + (is_reverse ? (n - 1) * inner : 0)) * bytes;
    for (int64_t i = 0; i < n; i++, at += (is_reverse ? -inner : inner) * bytes)
        store_number(out + at, scan_step(&sum, load_number(in + at, dtype), i == 0, step, is_inclusive, dtype), dtype);
}

static inline void scan_tiles(char *out, const char *in, uint64_t *tile, int64_t rows, int64_t n, int dtype, int step,
                              int is_reverse, int is_inclusive, int tile_rows)
{
    const int columns = TILE / tile_rows, bytes = bytes_of_dtype(dtype), thread = (int)this_thread();
    const int64_t first_row = (int64_t)this_block() * tile_rows;
    const int walks = thread < tile_rows && first_row + thread < rows;
    uint64_t sum = scan_identity(step, dtype);
    for (int64_t base = 0; base < n; base += columns) {
        const int width = n - base < columns ? (int)(n - base) : columns;
        for (int k = thread; k < TILE; k += BLOCK) {
            const int64_t row = first_row + k / columns, i = base + k % columns;
            if (row < rows && i < n)
                tile[k + k / columns] = load_number(in + (row * n + (is_reverse ? n - 1 - i : i)) * bytes, dtype);
        }
        wait_for_block();
        for (int c = 0; walks && c < width; c++) {
            uint64_t *at = tile + thread * (columns + 1) + c;
            *at = scan_step(&sum, *at, base + c == 0, step, is_inclusive, dtype);
        }
        wait_for_block();
        for (int k = thread; k < TILE; k += BLOCK) {
            const int64_t row = first_row + k / columns, i = base + k % columns;
            if (row < rows && i < n)
                store_number(out + (row * n + (is_reverse ? n - 1 - i : i)) * bytes, tile[k + k / columns], dtype);
        }
    }
}

/* `tiling`: none, or 1 or 2 for tiles of 1 or 32 rows. */
void kiln_gpu_scan(char *out, const char *in, float *shared, int64_t rows, int64_t n, int64_t inner, int64_t is_reverse,
                   int64_t is_inclusive, int dtype, int step, int tiling)
{
    if (tiling == NOT_TILED)
        scan_apart(out, in, rows, n, inner, dtype, step, is_reverse != 0, is_inclusive != 0);
    else
        scan_tiles(out, in, (uint64_t *)shared, rows, n, dtype, step, is_reverse != 0, is_inclusive != 0,
                   tiling == 1 ? 1 : WARP);
}
