/*
 * epoch.c - see epoch.h. A thread without a record is counted in one number for all of them; while that is not 0,
 * nothing is reclaimed.
 */
#include "cache/memo/epoch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/process/fork.h"
#include "cache/memo/thread_cache.h"

static _Atomic uint64_t epoch = 1;
static _Atomic unsigned inside_without_record;
static _Thread_local unsigned own_without_record; /* this thread's share of it */

void kiln_enter(void)
{
    struct kiln_thread *thread = kiln__thread();
    if (!thread) {
        own_without_record++;
        atomic_fetch_add(&inside_without_record, 1);
    } else if (thread->enter_depth++ == 0) {
        atomic_store_explicit(&thread->entered, atomic_load_explicit(&epoch, memory_order_acquire),
                              memory_order_release);
        kiln__light_barrier();
    }
}

/* A thread may have got its record after its first kiln_enter(); that one is matched by its last kiln_leave(). */
void kiln_leave(void)
{
    struct kiln_thread *thread = kiln__this_thread;
    if (thread && thread->enter_depth) {
        if (--thread->enter_depth == 0) atomic_store_explicit(&thread->entered, 0, memory_order_release);
    } else if (own_without_record) {
        own_without_record--;
        atomic_fetch_sub(&inside_without_record, 1);
    } else {
#ifdef KILN_DEBUG
        kiln__misused("kiln_leave() without kiln_enter() on this thread", "");
#endif
    }
}

bool kiln__is_inside(void)
{
    return own_without_record || (kiln__this_thread && kiln__this_thread->enter_depth);
}

uint64_t kiln__epoch_begin(void)
{
    return atomic_fetch_add_explicit(&epoch, 1, memory_order_acq_rel) + 1;
}

uint64_t kiln__epoch_oldest(void)
{
    uint64_t oldest = UINT64_MAX;
    if (atomic_load(&inside_without_record)) return 0;
    for (struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next) {
        uint64_t entered = atomic_load_explicit(&thread->entered, memory_order_acquire);
        if (entered && entered < oldest) oldest = entered;
    }
    return oldest;
}

/* The child has this thread alone. */
static void after_fork_in_child(void)
{
    atomic_store(&inside_without_record, own_without_record);
}

KILN_AT_FORK(KILN_FORK_EPOCH, NULL, NULL, after_fork_in_child);

#ifdef KILN_DEBUG
void kiln__misused(const char *text, const char *name)
{
    fprintf(stderr, "kiln: misuse: %s%s\n", name, text);
    abort();
}
#endif
