/*
 * parallel.c - see parallel.h. Threads are kept, as a library would keep them. A run waits for the threads that took a
 * part of it, not for those that have not woken yet; it must not be called from two threads at once.
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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static struct job *current; /* guarded by lock, as what follows; NULL: no job is open */
static unsigned generation;
static int started, inside;

static void take_parts(struct job *job)
{
    size_t start;
    while ((start = atomic_fetch_add(&job->next, job->step)) < job->length)
        job->run(job->ctx, start, job->length - start < job->step ? job->length : start + job->step);
}

/* A thread that wakes too late finds no job, and nobody has waited for it. */
static void *help(void *unused)
{
    (void)unused;
    unsigned seen = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!current || generation == seen) pthread_cond_wait(&opened, &lock);
        struct job *job = current;
        seen = generation;
        inside++;
        pthread_mutex_unlock(&lock);
        take_parts(job);
        pthread_mutex_lock(&lock);
        if (--inside == 0) pthread_cond_signal(&left);
    }
    return NULL;
}

int core_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
}

static void start_threads(int wanted)
{
    pthread_t thread;
    while (started < wanted && pthread_create(&thread, NULL, help, NULL) == 0) {
        pthread_detach(thread);
        started++;
    }
}

void run_parallel(range_function run, void *ctx, size_t length)
{
    int cores = core_count();
    struct job job = {.run = run, .ctx = ctx, .length = length};
    job.step = (length / (size_t)(cores * PARTS_PER_THREAD) / LANES + 1) * LANES;
    pthread_mutex_lock(&lock);
    start_threads(cores - 1);
    current = &job;
    generation++;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
    take_parts(&job);
    pthread_mutex_lock(&lock);
    current = NULL;
    while (inside > 0) pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

float *new_floats(size_t length)
{
    size_t bytes = (length * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    float *data = aligned_alloc(HUGE_PAGE, bytes);
    if (data) madvise(data, bytes, MADV_HUGEPAGE);
    return data;
}
