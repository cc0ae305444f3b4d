/*
 * parallel.c - see parallel.h. Threads are made for each run: for arrays this large that costs nothing that shows.
 */
#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, PARTS_PER_THREAD = 4 }; /* a thread that the machine holds up leaves its parts to others */

struct job {
    range_function run;
    void *ctx;
    size_t length, step;
    atomic_size_t next;
};

static void *take_parts(void *argument)
{
    struct job *job = argument;
    size_t start;
    while ((start = atomic_fetch_add(&job->next, job->step)) < job->length)
        job->run(job->ctx, start, job->length - start < job->step ? job->length : start + job->step);
    return NULL;
}

int core_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
}

void run_parallel(range_function run, void *ctx, size_t length)
{
    pthread_t threads[MAX_THREADS];
    int started = 0, cores = core_count();
    struct job job = {.run = run, .ctx = ctx, .length = length};
    job.step = (length / (size_t)(cores * PARTS_PER_THREAD) / LANES + 1) * LANES;
    while (started < cores - 1 && pthread_create(&threads[started], NULL, take_parts, &job) == 0) started++;
    take_parts(&job);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

float *new_floats(size_t length)
{
    size_t bytes = (length * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    float *data = aligned_alloc(HUGE_PAGE, bytes);
    if (data) madvise(data, bytes, MADV_HUGEPAGE);
    return data;
}
