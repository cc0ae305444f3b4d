/*
 * background.c - see background.h. One worker thread with a queue, made on first use.
 *
 * Invariant: the first task of the queue is the one that is compiled; it leaves the queue before anything of it is
 * published. So what a forked child finds in its copy of the queue was seen by no launch, and can be begun again.
 */
#include "run/background.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/config.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/exit.h"
#include "base/process/fork.h"
#include "cache/cache.h"
#include "run/cpu/pool.h"

enum {
    PATIENCE_MS = 50
}; /* before a process loads the compiler: exit() would wait for that, and many processes end earlier */

struct task {
    struct task *next;
    struct kiln_better_plan better;
    struct kiln_signature signature;
};

KILN_LEAF_LOCK(lock); /* guards all below */
static struct {
    pthread_cond_t added, is_empty;
    struct task *first, **last; /* the worker is at the first */
    bool is_busy;               /* the worker publishes a task that has left the queue */
    bool has_worker;
    bool is_hurried;        /* somebody waits */
    _Atomic unsigned forks; /* kiln__forks() of the process that all this is for */
} queue = {.added = PTHREAD_COND_INITIALIZER, .is_empty = PTHREAD_COND_INITIALIZER, .last = &queue.first};

bool kiln__background_is_on(void)
{
    const char *tier = kiln__config("KILN_TIER");
    return !(tier && !strcmp(tier, "0")) && !kiln__options_unpack(kiln__options_packed(kiln__environment())).fast_math;
}

/* ---- a task ---------------------------------------------------------------------------------------------------- */

static void task_free(struct task *task)
{
    kiln__dry_run_release(&task->better.missing); /* its kernels are of the plan */
    kiln__plan_unref(task->better.fused);
    kiln__plan_unref(task->better.unfused);
    kiln__signature_release(&task->signature);
    free(task);
}

static struct task *task_new(const struct kiln_better_plan *better)
{
    struct task *task = calloc(1, sizeof *task);
    if (!task) return NULL;
    kiln__signature_init(&task->signature);
    uint64_t *words = kiln__signature_grow(&task->signature, better->signature->count);
    if (!words) {
        free(task);
        return NULL;
    }
    memcpy(words, better->signature->words, better->signature->count * sizeof *words);
    task->better = *better;
    task->better.signature = &task->signature;
    kiln__plan_ref(task->better.fused);
    kiln__plan_ref(task->better.unfused);
    return task;
}

static bool is_wanted(const void *context)
{
    const struct task *task = context;
    return !kiln__is_leaving() && kiln__compiled_is_there(&task->better.owner);
}

/* ---- the worker ------------------------------------------------------------------------------------------------ */

/* With the lock held. */
static void be_patient(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + PATIENCE_MS * 1000000u;
    until = (struct timespec){until.tv_sec + (time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (!queue.is_hurried && pthread_cond_timedwait(&queue.added, &lock, &until) != ETIMEDOUT) {
    }
}

static struct task *next_task(void)
{
    pthread_mutex_lock(&lock);
    while (!queue.first) pthread_cond_wait(&queue.added, &lock);
    struct task *task = queue.first;
    pthread_mutex_unlock(&lock);
    return task;
}

static void leave_queue(struct task *task)
{
    pthread_mutex_lock(&lock);
    queue.first = task->next;
    if (!queue.first) queue.last = &queue.first;
    queue.is_busy = true;
    pthread_mutex_unlock(&lock);
}

static void finish_task(void)
{
    pthread_mutex_lock(&lock);
    queue.is_busy = false;
    if (!queue.first) pthread_cond_broadcast(&queue.is_empty);
    pthread_mutex_unlock(&lock);
}

static void report(const struct kiln_error *error)
{
    kiln__add(&kiln_cache_default()->counts.tier_faults, 1);
    kiln__log_once("a function goes on without its fused kernels, which could not be compiled: %s", error->text);
}

static void swap(struct task *task)
{
    struct kiln_better_plan *better = &task->better;
    kiln_error error = {KILN_OK, ""};
    if (kiln__dry_run_publish(&better->missing, &error)) {
        if (!kiln__is_leaving()) report(&error);
        return;
    }
    kiln__plan_place_constants(better->fused);
    if (!kiln__compiled_swap(&better->owner, better->signature, better->unfused, better->fused)) return;
    kiln__add(&kiln_cache_default()->counts.tier_swaps, 1);
}

static void *worker(void *unused)
{
    (void)unused;
    kiln__thread_quiet();
    pthread_mutex_lock(&lock);
    be_patient();
    pthread_mutex_unlock(&lock);
    for (;;) {
        struct task *task = next_task();
        bool is_compiled = kiln__dry_run_compile_alone(&task->better.missing, is_wanted, task);
        leave_queue(task);
        if (is_compiled) swap(task);
        task_free(task);
        kiln__thread_stays(); /* what the last reference to a plan frees may be the program's */
        finish_task();
    }
    return NULL;
}

/* With the lock held. */
static bool start_worker(void)
{
    if (queue.has_worker) return true;
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    queue.has_worker = pthread_create(&thread, &attr, worker, NULL) == 0;
    pthread_attr_destroy(&attr);
    return queue.has_worker;
}

/* With the lock held: in a forked child there is no worker, and nobody waits. */
static void begin_process(void)
{
    unsigned forks = kiln__forks();
    if (atomic_load_explicit(&queue.forks, memory_order_relaxed) == forks) return;
    pthread_cond_init(&queue.added, NULL);
    pthread_cond_init(&queue.is_empty, NULL);
    queue.has_worker = queue.is_busy = false;
    atomic_store_explicit(&queue.forks, forks, memory_order_relaxed);
}

/* ---- what callers do ------------------------------------------------------------------------------------------- */

bool kiln__background_compile(const struct kiln_better_plan *better)
{
    struct task *task = task_new(better);
    if (!task) return false;
    pthread_mutex_lock(&lock);
    begin_process();
    bool is_queued = start_worker();
    if (is_queued) {
        *queue.last = task;
        queue.last = &task->next;
        pthread_cond_signal(&queue.added);
    }
    pthread_mutex_unlock(&lock);
    if (is_queued) return true;
    task->better.missing = (struct kiln_dry_run){0}; /* still the caller's */
    task_free(task);
    return false;
}

void kiln__background_called(void)
{
    kiln__add(&kiln_cache_default()->counts.tier_calls, 1);
    if (__builtin_expect(atomic_load_explicit(&queue.forks, memory_order_relaxed) == kiln__forks(), 1)) return;
    pthread_mutex_lock(&lock);
    begin_process();
    if (queue.first) start_worker();
    pthread_mutex_unlock(&lock);
}

void kiln__background_wait(void)
{
    pthread_mutex_lock(&lock);
    begin_process();
    if (queue.first) start_worker();
    queue.is_hurried = true;
    pthread_cond_signal(&queue.added);
    while (queue.first || queue.is_busy) pthread_cond_wait(&queue.is_empty, &lock);
    pthread_mutex_unlock(&lock);
}
