/*
 * sort_kernels.c - sort and argsort along an axis: keys (codegen/runtime/order_keys.h) with their positions, merged
 * from runs of one on, stable.
 *
 * The place of an entry in the merged run is how many of its own run are before it, and of the other: those below it,
 * and those equal to it where the other run is the earlier one. So each thread finds the place of its entries alone.
 * A block merges runs up to SORT_TILE in its memory; a launch merges pairs of longer ones.
 */
#include "codegen/runtime/gpu/numbers.h"

enum { SORT_TILE = 1024 };

static inline uint64_t sort_key(const char *from, int dtype)
{
    const int bytes = bytes_of_dtype(dtype);
    const uint64_t bits = element_bits(from, bytes);
    switch (dtype) {
    case KILN_BOOL:
        return kiln_order_b1((uint32_t)bits);
    case KILN_INT8:
        return kiln_order_i8((uint32_t)bits);
    case KILN_INT16:
        return kiln_order_i16((uint32_t)bits);
    case KILN_INT32:
        return kiln_order_i32((uint32_t)bits);
    case KILN_INT64:
        return kiln_order_i64(bits);
    case KILN_FLOAT16:
        return kiln_order_f16((uint32_t)bits);
    case KILN_BFLOAT16:
        return kiln_order_bf16((uint32_t)bits);
    case KILN_FLOAT32:
        return kiln_order_f32((uint32_t)bits);
    case KILN_FLOAT64:
        return kiln_order_f64(bits);
    case KILN_COMPLEX64:
        return kiln_order_c64(bits);
    default:
        return bits;
    }
}

/* Where entry `i` of n goes when runs of `run` are merged in pairs. */
static inline int64_t merged_place(const uint64_t *keys, int64_t i, int64_t n, int64_t run)
{
    const int64_t pair = i / (2 * run) * (2 * run), middle = pair + run < n ? pair + run : n;
    const int64_t other = i < middle ? middle : pair,
                  end = i < middle ? (pair + 2 * run < n ? pair + 2 * run : n) : middle;
    const int is_later = i >= middle;
    int64_t low = other, high = end;
    while (low < high) {
        const int64_t at = low + (high - low) / 2;
        if (keys[at] < keys[i] || (is_later && keys[at] == keys[i]))
            low = at + 1;
        else
            high = at;
    }
    return pair + (i - (is_later ? middle : pair)) + (low - other);
}

/* Sorts tiles of each row into `keys` and `positions`, row by row. */
void kiln_gpu_sort_tiles(char *keys, char *positions, const char *in, float *shared, int64_t n, int64_t inner,
                         int64_t tiles, int dtype)
{
    uint64_t *from = (uint64_t *)shared, *to = from + SORT_TILE;
    uint32_t *from_at = (uint32_t *)(to + SORT_TILE), *to_at = from_at + SORT_TILE;
    const int64_t row = this_block() / tiles, base = (this_block() - row * tiles) * SORT_TILE;
    const int64_t first = row / inner * n * inner + row % inner, count = n - base < SORT_TILE ? n - base : SORT_TILE;
    for (int64_t i = this_thread(); i < count; i += BLOCK) {
        from[i] = sort_key(in + (first + (base + i) * inner) * bytes_of_dtype(dtype), dtype);
        from_at[i] = (uint32_t)(base + i);
    }
    for (int64_t run = 1; run < count; run *= 2) {
        wait_for_block();
        for (int64_t i = this_thread(); i < count; i += BLOCK) {
            const int64_t place = merged_place(from, i, count, run);
            to[place] = from[i], to_at[place] = from_at[i];
        }
        uint64_t *keys_before = from;
        uint32_t *at_before = from_at;
        from = to, to = keys_before;
        from_at = to_at, to_at = at_before;
    }
    wait_for_block();
    for (int64_t i = this_thread(); i < count; i += BLOCK) {
        ((uint64_t *)keys)[row * n + base + i] = from[i];
        ((uint32_t *)positions)[row * n + base + i] = from_at[i];
    }
}

void kiln_gpu_sort_merge(char *keys, char *positions, const char *from_keys, const char *from_positions, float *shared,
                         int64_t total, int64_t n, int64_t run)
{
    const int64_t t = grid_thread(), row = t / n, i = t - row * n;
    (void)shared;
    if (t >= total) return;
    const uint64_t *from = (const uint64_t *)from_keys + row * n;
    const int64_t place = row * n + merged_place(from, i, n, run);
    ((uint64_t *)keys)[place] = from[i];
    ((uint32_t *)positions)[place] = ((const uint32_t *)from_positions)[t];
}

/* The elements at the positions, or, where it `takes` none, the positions. */
void kiln_gpu_sort_take(char *out, const char *in, const char *positions, float *shared, int64_t total, int64_t n,
                        int64_t inner, int dtype, int takes)
{
    const int64_t t = grid_thread(), j = t / inner % n, outer = t / (inner * n), beside = t % inner;
    (void)shared;
    if (t >= total) return;
    const uint32_t at = ((const uint32_t *)positions)[(outer * inner + beside) * n + j];
    const int bytes = bytes_of_dtype(dtype);
    if (!takes) {
        ((uint32_t *)out)[t] = at;
    } else {
        const char *from = in + (outer * n * inner + (int64_t)at * inner + beside) * bytes;
        store_bits(out + t * bytes, element_bits(from, bytes), bytes);
    }
}
