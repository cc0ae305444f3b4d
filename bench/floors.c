/*
 * floors.c - see floors.h. Built with -march=native, and nothing is fused that the source does not fuse: the helpers
 * are the source that kernels inline, so values agree bit for bit.
 */
#include "floors.h"

#include <immintrin.h>
#include <string.h>

#include "codegen/runtime/math_f32.c"

#define INVERSE_ROOT_2 0.70710678118654752440f

enum { BLOCK = 1024 }; /* floats; computed in the first cache, then streamed */

#if defined(__AVX512F__)
typedef __m512 wide;
#define load_wide   _mm512_loadu_ps
#define stream_wide _mm512_stream_ps
#elif defined(__AVX__)
typedef __m256 wide;
#define load_wide   _mm256_loadu_ps
#define stream_wide _mm256_stream_ps
#else
typedef __m128 wide;
#define load_wide   _mm_loadu_ps
#define stream_wide _mm_stream_ps
#endif

enum { WIDTH = sizeof(wide) / sizeof(float), CHAINS = 8 }; /* sums that do not wait for each other */

void run_floor(void *ctx)
{
    const struct floor *floor = ctx;
    run_parallel(floor->run, ctx, floor->length);
}

typedef void (*block_function)(float *restrict out, const float *restrict a, const float *restrict b, size_t length);

static void run_plain(block_function block, const struct floor *floor, size_t start, size_t end)
{
    block(floor->out + start, floor->a + start, floor->b ? floor->b + start : NULL, end - start);
}

/* Parts begin at whole lines, and lengths are multiples of a vector. */
static void run_stream(block_function block, const struct floor *floor, size_t start, size_t end)
{
    float buffer[BLOCK] __attribute__((aligned(64)));
    for (size_t i = start; i < end; i += BLOCK) {
        size_t count = end - i < BLOCK ? end - i : BLOCK;
        block(buffer, floor->a + i, floor->b ? floor->b + i : NULL, count);
        for (size_t k = 0; k < count; k += WIDTH) stream_wide(floor->out + i + k, load_wide(buffer + k));
    }
    _mm_sfence();
}

/* ---- one step -------------------------------------------------------------------------------------------------- */

static void add_block(float *restrict out, const float *restrict a, const float *restrict b, size_t length)
{
    for (size_t i = 0; i < length; i++) out[i] = a[i] + b[i];
}

void floor_add(void *ctx, size_t start, size_t end)
{
    run_plain(add_block, ctx, start, end);
}

void floor_add_stream(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    for (size_t i = start; i < end; i += WIDTH)
        stream_wide(floor->out + i, load_wide(floor->a + i) + load_wide(floor->b + i));
    _mm_sfence();
}

void floor_copy(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    memcpy(floor->out + start, floor->a + start, (end - start) * sizeof(float));
}

void floor_copy_stream(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    for (size_t i = start; i < end; i += WIDTH) stream_wide(floor->out + i, load_wide(floor->a + i));
    _mm_sfence();
}

/* `ahead`: floats that are asked for before they are read; 0: none. */
static inline __attribute__((always_inline)) float sum_range(const float *a, size_t start, size_t end, size_t ahead)
{
    wide sums[CHAINS] = {{0}};
    float total = 0;
    size_t i = start;
    for (; i + CHAINS * WIDTH <= end; i += CHAINS * WIDTH)
        for (size_t k = 0; k < CHAINS; k++) {
            if (ahead) _mm_prefetch((const char *)(a + i + k * WIDTH + ahead), _MM_HINT_T0);
            sums[k] += load_wide(a + i + k * WIDTH);
        }
    for (; i < end; i++) total += a[i];
    for (size_t k = 0; k < CHAINS; k++)
        for (size_t lane = 0; lane < WIDTH; lane++) total += sums[k][lane];
    return total;
}

void floor_sum(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    if (start < end) floor->out[start] = sum_range(floor->a, start, end, 0);
}

void floor_sum_ahead(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    if (start < end) floor->out[start] = sum_range(floor->a, start, end, 1024);
}

void floor_sum_four(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    size_t part = (end - start) / 4 / (2 * WIDTH) * (2 * WIDTH);
    wide sums[8] = {{0}};
    float total = 0;
    for (size_t i = start; i < start + part; i += 2 * WIDTH)
        for (size_t k = 0; k < 8; k++) sums[k] += load_wide(floor->a + i + k / 2 * part + k % 2 * WIDTH);
    for (size_t i = start + 4 * part; i < end; i++) total += floor->a[i];
    for (size_t k = 0; k < 8; k++)
        for (size_t lane = 0; lane < WIDTH; lane++) total += sums[k][lane];
    if (start < end) floor->out[start] = total;
}

#if defined(__AVX512F__)
typedef __m512i bits;
#elif defined(__AVX__)
typedef __m256i bits;
#else
typedef __m128i bits;
#endif

static void keep(const struct floor *floor, size_t start, bits all)
{
    int32_t words[sizeof all / 4];
    memcpy(words, &all, sizeof all);
    for (size_t i = 0; i < sizeof words / 4; i++)
        if (words[i] == -1) floor->out[start] = 0;
}

/* `step` floats lie between what is read together; ends are multiples of CHAINS vectors. */
static inline bits read_bits(const float *a, size_t length, size_t step)
{
    bits parts[4] = {{0}}, part;
    for (size_t i = 0; i < step; i += (size_t)WIDTH * (step == length / 4 ? 1 : 4))
        for (size_t k = 0; k < 4; k++) {
            memcpy(&part, a + i + k * (step == length / 4 ? step : WIDTH), sizeof part);
            parts[k] |= part;
        }
    return (parts[0] | parts[1]) | (parts[2] | parts[3]);
}

void floor_read(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    keep(floor, start, read_bits(floor->a + start, end - start, end - start));
}

void floor_read_lines(void *ctx, size_t start, size_t end)
{
    const struct floor *floor = ctx;
    keep(floor, start, read_bits(floor->a + start, end - start, (end - start) / 4));
}

/* ---- with helpers ---------------------------------------------------------------------------------------------- */

__attribute__((flatten)) static void swiglu_block(float *restrict out, const float *restrict a, const float *restrict b,
                                                  size_t length)
{
    for (size_t i = 0; i < length; i++) out[i] = a[i] * kiln_sigmoid_f32(a[i]) * b[i];
}

__attribute__((flatten)) static void gelu_block(float *restrict out, const float *restrict a, const float *restrict b,
                                                size_t length)
{
    (void)b;
    for (size_t i = 0; i < length; i++) out[i] = a[i] * (kiln_erf_f32(a[i] * INVERSE_ROOT_2) + 1.0f) * 0.5f;
}

void floor_swiglu(void *ctx, size_t start, size_t end)
{
    run_plain(swiglu_block, ctx, start, end);
}

void floor_swiglu_stream(void *ctx, size_t start, size_t end)
{
    run_stream(swiglu_block, ctx, start, end);
}

void floor_gelu(void *ctx, size_t start, size_t end)
{
    run_plain(gelu_block, ctx, start, end);
}

void floor_gelu_stream(void *ctx, size_t start, size_t end)
{
    run_stream(gelu_block, ctx, start, end);
}
