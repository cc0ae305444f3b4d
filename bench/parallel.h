/*
 * parallel.h - large arrays and the threads of the floors: a range in parts, which as many
 * threads as there are cores take one after the other.
 */
#ifndef KILN_BENCH_PARALLEL_H
#define KILN_BENCH_PARALLEL_H

#include <stddef.h>

enum { MAX_THREADS = 64, LANES = 64 }; /* parts begin at multiples of LANES elements, so at whole lines */

typedef void (*range_function)(void *ctx, size_t start, size_t end);

int core_count(void); /* at most MAX_THREADS */
/* Calls run() for each part of [0, length), on this thread too; returns when all have returned. */
void run_parallel(range_function run, void *ctx, size_t length);
/* As large arrays should be kept: in huge pages where the system has them. To be freed with free(); NULL: no memory. */
float *new_floats(size_t length);

#endif
