/*
 * memory.c - (a*b)*(a+b) over arrays of 64 MiB: how near a compiled function comes to the memory's speed. The floors
 * are loops by hand on as many threads as there are cores, with ordinary and with non-temporal stores.
 */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"
#include "parallel.h"

enum { LENGTH = 16 << 20 };

typedef void (*loop)(float *out, const float *a, const float *b, size_t length);

static void loop_plain(float *restrict out, const float *restrict a, const float *restrict b, size_t length)
{
    for (size_t i = 0; i < length; i++) out[i] = (a[i] * b[i]) * (a[i] + b[i]);
}

__attribute__((target("avx2"))) static void loop_avx2(float *out, const float *a, const float *b, size_t length)
{
    for (size_t i = 0; i < length; i += 8) {
        __m256 x = _mm256_loadu_ps(a + i), y = _mm256_loadu_ps(b + i);
        _mm256_store_ps(out + i, _mm256_mul_ps(_mm256_mul_ps(x, y), _mm256_add_ps(x, y)));
    }
}

__attribute__((target("avx2"))) static void stream_avx2(float *out, const float *a, const float *b, size_t length)
{
    for (size_t i = 0; i < length; i += 8) {
        __m256 x = _mm256_loadu_ps(a + i), y = _mm256_loadu_ps(b + i);
        _mm256_stream_ps(out + i, _mm256_mul_ps(_mm256_mul_ps(x, y), _mm256_add_ps(x, y)));
    }
    _mm_sfence();
}

static void stream_sse(float *out, const float *a, const float *b, size_t length)
{
    for (size_t i = 0; i < length; i += 4) {
        __m128 x = _mm_loadu_ps(a + i), y = _mm_loadu_ps(b + i);
        _mm_stream_ps(out + i, _mm_mul_ps(_mm_mul_ps(x, y), _mm_add_ps(x, y)));
    }
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void loop_avx512(float *out, const float *a, const float *b, size_t length)
{
    for (size_t i = 0; i < length; i += 16) {
        __m512 x = _mm512_loadu_ps(a + i), y = _mm512_loadu_ps(b + i);
        _mm512_store_ps(out + i, _mm512_mul_ps(_mm512_mul_ps(x, y), _mm512_add_ps(x, y)));
    }
}

__attribute__((target("avx512f"))) static void stream_avx512(float *out, const float *a, const float *b, size_t length)
{
    for (size_t i = 0; i < length; i += 16) {
        __m512 x = _mm512_loadu_ps(a + i), y = _mm512_loadu_ps(b + i);
        _mm512_stream_ps(out + i, _mm512_mul_ps(_mm512_mul_ps(x, y), _mm512_add_ps(x, y)));
    }
    _mm_sfence();
}

struct by_hand {
    loop run;
    float *out, *a, *b;
};

static void run_range(void *ctx, size_t start, size_t end)
{
    const struct by_hand *work = ctx;
    work->run(work->out + start, work->a + start, work->b + start, end - start);
}

static void run_by_hand(void *ctx)
{
    run_parallel(run_range, ctx, LENGTH);
}

static void choose_loops(loop *plain, loop *streaming)
{
    bool has_512 = __builtin_cpu_supports("avx512f"), has_256 = __builtin_cpu_supports("avx2");
    *plain = has_512 ? loop_avx512 : has_256 ? loop_avx2 : loop_plain;
    *streaming = has_512 ? stream_avx512 : has_256 ? stream_avx2 : stream_sse;
}

static void call_compiled(void *ctx)
{
    compiled_call(ctx);
}

/* What is fast must also be right: both give the same bits. */
static bool has_same_values(struct compiled *compiled, struct by_hand *work)
{
    const float *values = compiled_call(compiled);
    run_by_hand(work);
    return values && memcmp(values, work->out, LENGTH * sizeof *values) == 0;
}

int bench_memory(struct row *rows, int repeats)
{
    static const char name[] = "(a*b)*(a+b), 64 MiB each";
    if (!is_wanted(name)) return 0;
    struct by_hand plain = {.out = new_floats(LENGTH), .a = new_floats(LENGTH), .b = new_floats(LENGTH)};
    struct by_hand streaming = plain;
    struct compiled compiled = {0};
    struct work works[] = {{call_compiled, &compiled, 0}, {run_by_hand, &plain, 0}, {run_by_hand, &streaming, 0}};
    choose_loops(&plain.run, &streaming.run);
    bool is_measured = plain.out && plain.a && plain.b;
    if (is_measured) {
        fill_inputs(plain.a, plain.b, LENGTH);
        is_measured = compiled_init(&compiled, EXPRESSION_PRODUCT_AND_SUM, plain.a, plain.b, LENGTH) &&
                      has_same_values(&compiled, &plain) && has_same_values(&compiled, &streaming);
    }
    if (is_measured) measure(works, 3, 1, repeats);
    compiled_release(&compiled);
    free(plain.out);
    free(plain.a);
    free(plain.b);
    rows[0] = (struct row){.name = name,
                           .floor_name = "loop by hand",
                           .aim = "0.85 of the better",
                           .ns = works[0].ns,
                           .floor_ns = works[1].ns,
                           .bytes = 3.0 * LENGTH * sizeof(float),
                           .is_missing = !is_measured};
    rows[1] = rows[0];
    rows[1].floor_name = "loop by hand, non-temporal";
    rows[1].floor_ns = works[2].ns;
    return 2;
}
