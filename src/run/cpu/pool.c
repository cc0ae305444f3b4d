/*
 * pool.c - one job at a time, shared between the caller and the pool's threads.
 *
 * A job is open while its owner is inside kiln__pool_run(). A thread joins an open job under the lock (`inside` goes
 * up), takes numbers from `next` until they run out, and leaves under the lock. The owner closes the job, then waits
 * for inside == 0: after that no thread can touch the job or its ctx. Whoever finds `owned` set works alone.
 */
#include "run/cpu/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/process/callback.h"
#include "base/process/fork.h"
#include "run/cpu/cores.h"

enum { MAX_WIDTH = 256, SPINS = 2000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, left;
    atomic_bool owned;           /* a job is running */
    atomic_uint generation;      /* counts jobs; a sleeping thread compares it with the last one it saw */
    bool open;                   /* guarded by lock, as all below but next */
    int started, inside, wanted; /* threads made; threads in the job; threads this job still takes */
    void (*part)(void *, int64_t);
    void *ctx;
    int64_t count;
    _Atomic int64_t next;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static atomic_int width, limit;

void kiln__thread_quiet(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
}

int kiln__pool_width(void)
{
    int known = atomic_load_explicit(&width, memory_order_relaxed);
    if (known == 0) {
        known = kiln__cores("");
        if (known > MAX_WIDTH) known = MAX_WIDTH;
        atomic_store_explicit(&width, known, memory_order_relaxed);
    }
    int most = atomic_load_explicit(&limit, memory_order_relaxed);
    return most > 0 && most < known ? most : known;
}

void kiln__pool_limit(int most)
{
    atomic_store_explicit(&limit, most, memory_order_relaxed);
}

static void take_parts(void (*part)(void *, int64_t), void *ctx, int64_t count)
{
    int64_t i;
    while ((i = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed)) < count) part(ctx, i);
}

/* Returns soon after a new job is there; jobs of one evaluation follow each other closely, so look for a moment. */
static void spin(unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool.generation, memory_order_acquire) != seen) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

static void *helper(void *unused)
{
    (void)unused;
    kiln__thread_quiet();
    unsigned seen = 0;
    for (;;) {
        spin(seen);
        pthread_mutex_lock(&pool.lock);
        while (atomic_load_explicit(&pool.generation, memory_order_relaxed) == seen) {
            pthread_cond_wait(&pool.work, &pool.lock);
        }
        seen = atomic_load_explicit(&pool.generation, memory_order_relaxed);
        bool join = pool.open && pool.wanted > 0;
        if (join) pool.inside++, pool.wanted--;
        void (*part)(void *, int64_t) = pool.part;
        void *ctx = pool.ctx;
        int64_t count = pool.count;
        pthread_mutex_unlock(&pool.lock);
        if (!join) continue;
        take_parts(part, ctx, count);
        pthread_mutex_lock(&pool.lock);
        if (--pool.inside == 0) pthread_cond_signal(&pool.left);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

/* fork copies only the calling thread; the child starts with an empty pool. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.work, NULL);
    pthread_cond_init(&pool.left, NULL);
    pool.started = pool.inside = pool.wanted = 0;
    pool.open = false;
    atomic_store(&pool.generation, 0);
    atomic_store(&pool.owned, false);
}

KILN_AT_FORK(KILN_FORK_POOL, NULL, NULL, after_fork_in_child);

/* Called with the lock held. A thread that can't be made is no error: the others do its share. */
static void start_helpers(int count)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    while (pool.started < count && pthread_create(&thread, &attr, helper, NULL) == 0) pool.started++;
    pthread_attr_destroy(&attr);
}

static void open_job(void (*part)(void *, int64_t), void *ctx, int64_t count, int helpers)
{
    pthread_mutex_lock(&pool.lock);
    start_helpers(helpers);
    pool.part = part;
    pool.ctx = ctx;
    pool.count = count;
    pool.open = true;
    pool.wanted = helpers;
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool.generation, 1, memory_order_release);
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
}

static void close_job(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.open = false;
    while (pool.inside > 0) pthread_cond_wait(&pool.left, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count)
{
    int64_t helpers = count > 1 ? kiln__pool_width() - 1 : 0; /* asking for the width reads files, once */
    if (helpers > count - 1) helpers = count - 1;
    if (helpers <= 0 || atomic_exchange_explicit(&pool.owned, true, memory_order_acquire)) {
        for (int64_t i = 0; i < count; i++) part(ctx, i);
        return;
    }
    KILN_HOLD_CANCEL; /* a thread that went while others work on its job would take the job with it */
    open_job(part, ctx, count, (int)helpers);
    take_parts(part, ctx, count);
    close_job();
    atomic_store_explicit(&pool.owned, false, memory_order_release);
}
