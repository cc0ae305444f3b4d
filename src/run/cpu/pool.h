/*
 * pool.h - the threads that share a large launch, or the compiles of a plan, with the caller.
 *
 * One pool per process, made for the first such job: one thread less than the process may keep cores busy (cores.h).
 * Runs one job at a time; a caller that finds it busy does its job alone. Nothing of it survives fork: the child makes
 * its own.
 */
#ifndef KILN_RUN_CPU_POOL_H
#define KILN_RUN_CPU_POOL_H

#include <stdint.h>

/* Calls part(ctx, i) once for each i in [0, count), on several threads; returns when all have returned. */
void kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count);
int kiln__pool_width(void); /* threads that take part, with the caller */
/* At most `width` threads from now on, with the caller; 0: as many as there are cores. Threads that exist stay. */
void kiln__pool_limit(int width);

/* In a thread of the library: leaves the program's signals to the program's threads. */
void kiln__thread_quiet(void);

#endif
