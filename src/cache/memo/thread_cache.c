/*
 * thread_cache.c - see thread_cache.h. The registry is a list that only grows; a record is taken by flipping `in_use`.
 */
#include "cache/memo/thread_cache.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/process/exit.h"
#include "base/process/fork.h"
#include "base/process/gate.h"
#include "base/process/nap.h"
#include "base/process/thread_state.h"

_Thread_local struct kiln_thread *kiln__this_thread __attribute__((tls_model("initial-exec")));

static _Atomic(struct kiln_thread *) registry;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool all_fence; /* kiln__fences, once no thread can be without a fence any more */
static pthread_mutex_t fence_lock = PTHREAD_MUTEX_INITIALIZER; /* guards changing both */
_Atomic bool kiln__fences;

/* Hit counts stay in the record: they belong to the caches, not to the thread that ends. */
static void give_back(struct kiln_thread *thread)
{
    atomic_store(&thread->reading, NULL);
    atomic_store(&thread->using, NULL);
    atomic_store(&thread->entered, 0);
    atomic_store(&thread->unlinking, 0);
    atomic_store_explicit(&thread->in_use, false, memory_order_release);
}

static void detach(void *record)
{
    kiln__in_flight_lost(record, UINTPTR_MAX);
    kiln__this_thread = NULL;
    give_back(record);
}

/* The child has one thread: nobody else reads or uses anything, and the other records can be taken. */
static void after_fork_in_child(void)
{
    for (struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next)
        if (thread != kiln__this_thread) give_back(thread);
}

KILN_AT_FORK(KILN_FORK_RECORDS, NULL, NULL, after_fork_in_child);

static void set_up(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) {
        atomic_store(&kiln__fences, true);
        all_fence = true;
    }
}

/* When the library is loaded: with one thread the registration costs nothing, with several it waits for milliseconds.
 */
__attribute__((constructor)) static void set_up_early(void)
{
    pthread_once(&once, set_up);
}

static struct kiln_thread *reuse(void)
{
    for (struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next) {
        bool in_use = false;
        if (atomic_compare_exchange_strong(&thread->in_use, &in_use, true)) return thread;
    }
    return NULL;
}

/* Fresh pages are zero and cost nothing until a slot is used: clearing a record by hand took a third of a warm start.
 */
static struct kiln_thread *make(void)
{
    struct kiln_thread *thread = mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (thread == MAP_FAILED) return NULL;
    atomic_store(&thread->in_use, true);
    thread->next = atomic_load(&registry);
    while (!atomic_compare_exchange_weak(&registry, &thread->next, thread)) {
    }
    return thread;
}

struct kiln_thread *kiln__thread_attach(void)
{
    pthread_once(&once, set_up);
    struct kiln_thread *thread = reuse();
    if (!thread) thread = make();
    if (!thread) return NULL;
    thread->last = &thread->none;
    thread->enter_depth = 0;
    thread->in_flight_level = 0;
    thread->making = NULL;
    thread->audited = NULL;
    kiln__thread_state_set(KILN_THREAD_RECORD, detach, thread);
    kiln__exit_know_thread();
    return kiln__this_thread = thread;
}

struct kiln_thread *kiln__threads(void)
{
    return atomic_load_explicit(&registry, memory_order_acquire);
}

void kiln__thread_cache_put(struct kiln_thread *thread, const struct kiln_signature *signature, uint64_t hash,
                            uint32_t cache, void *value)
{
    if (signature->count > KILN_THREAD_CACHE_WORDS) return;
    struct kiln_thread_cache_slot *slot = kiln__thread_cache_slot(thread, hash);
    slot->count = signature->count;
    slot->cache = cache;
    slot->epoch = signature->epoch;
    slot->hash = (uint32_t)(hash >> 32);
    slot->value = value;
    memcpy(slot->key, signature->words, (size_t)signature->count * sizeof *slot->key);
    thread->last = thread->making ? &thread->none : slot;
}

/*
 * membarrier() was allowed when the library was loaded and is refused now (a filter that a program installs for
 * itself). Threads fence themselves from here on. One that read the flag just before may still have a store on its way
 * that it will not fence; a processor keeps a store back for nanoseconds, and a thread that is interrupted has none on
 * its way. So what is visible after a pause is all there was. The others that remove something wait for the pause too.
 */
static void change_to_fences(void)
{
    enum { PAUSE_NS = 2000000 };
    kiln__mutex_lock(&fence_lock);
    if (!all_fence) {
        atomic_store(&kiln__fences, true);
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        all_fence = true;
    }
    kiln__mutex_unlock(&fence_lock);
}

void kiln__heavy_barrier(void)
{
    pthread_once(&once, set_up);
    atomic_thread_fence(memory_order_seq_cst);
    if (!all_fence && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) change_to_fences();
    atomic_thread_fence(memory_order_seq_cst);
}

static bool is_read(const void *memo)
{
    for (struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next)
        if (atomic_load_explicit(&thread->reading, memory_order_acquire) == memo) return true;
    return false;
}

/*
 * A walk takes nanoseconds, unless its thread was interrupted. One that waits at a real-time priority must sleep for
 * it: giving up the processor does not let a thread of a lower priority run.
 */
void kiln__wait_for_readers(const void *memo)
{
    kiln__heavy_barrier();
    for (unsigned tries = 0; is_read(memo); tries++) kiln__nap(tries);
}

bool kiln__is_used(const void *value)
{
    for (struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next)
        if (atomic_load_explicit(&thread->using, memory_order_acquire) == value) return true;
    return false;
}
