/*
 * support.h - what the examples share: numbers to work on, a comparison with plain C, the counters of the cache.
 */
#ifndef EXAMPLES_SUPPORT_H
#define EXAMPLES_SUPPORT_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln.h"
#include "kiln/compile.h"
#include "mlx/c/mlx.h"

/* The same numbers in every run, between -1 and 1. */
static inline void fill(float *values, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

static inline float *new_floats(size_t count)
{
    float *values = calloc(count + 1, sizeof *values);
    if (!values) exit(2);
    return values;
}

/* Of the default device: the CPU, or what KILN_DEVICE names. */
static inline mlx_stream default_stream(void)
{
    mlx_device device = mlx_device_new();
    mlx_stream stream = mlx_stream_new();
    if (mlx_get_default_device(&device) || mlx_get_default_stream(&stream, device)) exit(2);
    mlx_device_free(device);
    return stream;
}

/* KILN_MODE=compile-only: kernels are stored for another machine, and nothing is computed here. */
static inline int is_compiled_only(void)
{
    const char *mode = getenv("KILN_MODE");
    return mode && !strcmp(mode, "compile-only");
}

/* Ends the program when an element of `got` is not `want`, but for rounding. */
static inline void check(const char *what, mlx_array got, const float *want, size_t count)
{
    double largest = 0;
    mlx_array packed = mlx_array_new();
    mlx_stream stream = mlx_default_cpu_stream_new();
    if (mlx_contiguous(&packed, got, false, stream) || mlx_array_eval(packed) || mlx_array_size(packed) != count)
        exit(2);
    const float *values = mlx_array_data_float32(packed);
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)values[i] - (double)want[i]) / fmax(1, fabs((double)want[i]));
        if (!(error <= largest)) largest = error;
    }
    mlx_array_free(packed), mlx_stream_free(stream);
    int is_right = largest < 1e-5;
    printf("%s: %zu numbers, %s\n", what, count,
           is_compiled_only() ? "compiled only"
           : is_right         ? "as in plain C"
                              : "WRONG");
    if (!is_right && !is_compiled_only()) exit(1);
}

static inline void print_counters(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    printf("calls %" PRIu64 ", traces %" PRIu64 ", compiles %" PRIu64 ", from disk %" PRIu64 "\n", counters.calls,
           counters.traces, counters.compiles, counters.disk_hits);
}

#endif
