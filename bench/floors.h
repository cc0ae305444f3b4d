/*
 * floors.h - loops by hand over large arrays, built for this very processor: what Kiln's kernels are compared with.
 */
#ifndef KILN_BENCH_FLOORS_H
#define KILN_BENCH_FLOORS_H

#include "parallel.h"

struct floor {
    range_function run;
    float *out;
    const float *a, *b;
    size_t length;
};

void run_floor(void *ctx); /* a struct floor *, on all cores */

/* Each with ordinary and with non-temporal stores; all are range functions of a struct floor. */
void floor_add(void *ctx, size_t start, size_t end);
void floor_add_stream(void *ctx, size_t start, size_t end);
void floor_copy(void *ctx, size_t start, size_t end);
void floor_copy_stream(void *ctx, size_t start, size_t end);
/* a*sigmoid(a)*b, and a*(1 + erf(a/sqrt(2)))/2, with the run-time library's own helpers inlined. */
void floor_swiglu(void *ctx, size_t start, size_t end);
void floor_swiglu_stream(void *ctx, size_t start, size_t end);
void floor_gelu(void *ctx, size_t start, size_t end);
void floor_gelu_stream(void *ctx, size_t start, size_t end);
/* Reads `a` once, from one end to the other, or four places of a part at a time; nothing is written to `out` unless all
 * bits of `a` are set. */
void floor_read(void *ctx, size_t start, size_t end);
void floor_read_lines(void *ctx, size_t start, size_t end);
/* Reads `a` once; each part leaves its sum in the first element of `out` that belongs to it. */
void floor_sum(void *ctx, size_t start, size_t end);
/* The same, asking for what it will read later; and four parts of the range at once. */
void floor_sum_ahead(void *ctx, size_t start, size_t end);
void floor_sum_four(void *ctx, size_t start, size_t end);

#endif
