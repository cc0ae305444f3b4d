/*
 * memory.c - (a*b)*(a+b) over arrays of 64 MiB: how near a compiled function comes to the memory's speed. The floors
 * are loops by hand on as many threads as there are cores, with ordinary and with non-temporal stores.
 */
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "arrays.h"
#include "bench.h"

enum { LENGTH = 16 << 20, MAX_THREADS = 64, LANES = 16 };

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

struct part {
    loop run;
    float *out;
    const float *a, *b;
    size_t length;
    pthread_t thread;
    bool is_started;
};

static void *run_part(void *argument)
{
    struct part *part = argument;
    part->run(part->out, part->a, part->b, part->length);
    return NULL;
}

struct by_hand {
    loop run;
    float *out, *a, *b;
    int threads;
};

static void run_by_hand(void *ctx)
{
    const struct by_hand *work = ctx;
    struct part parts[MAX_THREADS];
    size_t step = (LENGTH / (size_t)work->threads + LANES - 1) / LANES * LANES;
    for (int i = work->threads - 1; i >= 0; i--) {
        size_t start = step * (size_t)i, end = start + step < LENGTH ? start + step : LENGTH;
        if (start > end) start = end;
        parts[i] = (struct part){work->run, work->out + start, work->a + start, work->b + start, end - start, 0, false};
        parts[i].is_started = i > 0 && pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) == 0;
        if (!parts[i].is_started) run_part(&parts[i]);
    }
    for (int i = 0; i < work->threads; i++)
        if (parts[i].is_started) pthread_join(parts[i].thread, NULL);
}

static float *filled(float value)
{
    float *data = aligned_alloc(64, LENGTH * sizeof *data);
    for (size_t i = 0; data && i < LENGTH; i++) data[i] = value;
    return data;
}

static void call_compiled(void *ctx)
{
    compiled_call(ctx);
}

static bool measure_floors(int repeats, double *plain_ns, double *stream_ns)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct by_hand work = {.out = filled(0), .a = filled(1), .b = filled(2)};
    bool has_512 = __builtin_cpu_supports("avx512f"), has_256 = __builtin_cpu_supports("avx2");
    bool is_ready = work.out && work.a && work.b;
    work.threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    if (is_ready) {
        work.run = has_512 ? loop_avx512 : has_256 ? loop_avx2 : loop_plain;
        *plain_ns = measure(run_by_hand, &work, 1, repeats);
        work.run = has_512 ? stream_avx512 : has_256 ? stream_avx2 : stream_sse;
        *stream_ns = measure(run_by_hand, &work, 1, repeats);
    }
    free(work.out);
    free(work.a);
    free(work.b);
    return is_ready;
}

int bench_memory(struct row *rows, int repeats)
{
    const double bytes = 3.0 * LENGTH * sizeof(float);
    struct compiled compiled;
    double plain_ns = 0, stream_ns = 0, ns = 0;
    bool is_measured = measure_floors(repeats, &plain_ns, &stream_ns);
    is_measured &= compiled_init(&compiled, EXPRESSION_PRODUCT_AND_SUM, LENGTH) && compiled_call(&compiled) != NULL;
    if (is_measured) ns = measure(call_compiled, &compiled, 1, repeats);
    compiled_release(&compiled);
    rows[0] = (struct row){.name = "(a*b)*(a+b), 64 MiB each",
                           .floor_name = "loop by hand",
                           .aim = "0.85 of the better",
                           .ns = ns,
                           .floor_ns = plain_ns,
                           .bytes = bytes,
                           .is_missing = !is_measured};
    rows[1] = rows[0];
    rows[1].floor_name = "loop by hand, non-temporal";
    rows[1].floor_ns = stream_ns;
    return 2;
}
