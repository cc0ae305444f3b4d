/*
 * scatter_kernels.c - updates merged into an array in the order of their list, though threads have no order.
 *
 * Updates have places, elements counted from the array's first. Those with one place are a chain: the first of them
 * owns it, and its threads merge it from link to link, so each element is written by one thread. Updates form rows (of
 * n, `inner` apart) and only those of a row can meet.
 *
 * Three words per update, each kind side by side: its place, NOWHERE where an index was none; the next update of its
 * chain, or NOWHERE; whether it is the first one.
 */
#include "codegen/runtime/gpu/numbers.h"

enum { NOWHERE = -1, PLACE_AXES = 4 };

/*
 * Adds what one array of indices says to the places. The first one begins them: rows begin `outer` elements apart, and
 * side by side where `inner` is not 1. An index that is none goes to `record` (device/gpu_sites.h).
 */
void kiln_gpu_scatter_places(char *links, const char *indices, float *shared, int64_t count, int64_t n, int64_t inner,
                             int64_t outer, int64_t size, int64_t limit, int64_t step, int64_t record, int dtype,
                             int is_first)
{
    const int64_t p = grid_thread();
    int64_t *places = (int64_t *)links, *next = places + count, *first = next + count;
    (void)shared;
    if (p >= count) return;
    const int64_t given = (int64_t)load_number(indices + p * bytes_of_dtype(dtype), dtype);
    const int is_signed = dtype >= KILN_INT8 && dtype <= KILN_INT64;
    const int64_t index = is_signed && given < 0 ? given + size : given;
    int64_t place = is_first ? p / (n * inner) * outer + p % inner : places[p];
    if ((uint64_t)index >= (uint64_t)limit) {
        int64_t *report = (int64_t *)record;
        report[1] = given;
        report[0] = 1;
        place = NOWHERE;
    } else if (place != NOWHERE) {
        place += index * step;
    }
    places[p] = place;
    next[p] = NOWHERE;
    first[p] = place != NOWHERE;
}

/* Finds the next of each update's chain, by a look at those behind it in its row. */
void kiln_gpu_scatter_links(char *links, float *shared, int64_t count, int64_t n, int64_t inner)
{
    const int64_t p = grid_thread();
    int64_t *places = (int64_t *)links, *next = places + count, *first = next + count;
    (void)shared;
    if (p >= count || places[p] == NOWHERE) return;
    const int64_t place = places[p], left = n - 1 - p / inner % n;
    for (int64_t i = 1; i <= left; i++) {
        if (places[p + i * inner] != place) continue;
        next[p] = p + i * inner;
        first[p + i * inner] = 0;
        return;
    }
}

/* A thread has one element of an update's block, which has four axes in the array, the outermost first. */
void kiln_gpu_scatter_merge(char *out, const char *updates, const char *links, float *shared, int64_t count,
                            int64_t block, int64_t stride0, int64_t size1, int64_t stride1, int64_t size2,
                            int64_t stride2, int64_t size3, int64_t stride3, int dtype, int step, int is_long)
{
    const int64_t t = grid_thread(), p = quotient_of(t, block, is_long), element = t - p * block;
    const int64_t *places = (const int64_t *)links, *next = places + count, *first = next + count;
    const int bytes = bytes_of_dtype(dtype);
    (void)shared;
    if (p >= count || !first[p]) return;
    const int64_t rest = quotient_of(element, size3, is_long), most = quotient_of(rest, size2, is_long);
    const int64_t outermost = quotient_of(most, size1, is_long);
    const int64_t offset = (element - rest * size3) * stride3 + (rest - most * size2) * stride2 +
                           (most - outermost * size1) * stride1 + outermost * stride0;
    char *to = out + (places[p] + offset) * bytes;
    uint64_t number = load_number(to, dtype);
    for (int64_t q = p; q != NOWHERE; q = next[q])
        number = stored_number(
            step_numbers(number, load_number(updates + (q * block + element) * bytes, dtype), step, dtype), dtype);
    store_number(to, number, dtype);
}
