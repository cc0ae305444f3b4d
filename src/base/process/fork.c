/*
 * fork.c - see fork.h.
 *
 * Stages and leaf locks are added while constructors run, one at a time, but another thread may fork meanwhile, as when
 * a library is opened late. Invariant: after a fork the stages are left and the locks unlocked that were entered and
 * locked before it, no others.
 */
#include "base/process/fork.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum { MOST_LOCKS = 64 };

static _Atomic(const struct kiln_fork_handlers *) stages[KILN_FORK_STAGES];
static _Thread_local unsigned entered; /* a bit for each stage, on a thread that forks */
static _Atomic unsigned forks;

unsigned kiln__forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

void kiln__fork_register(enum kiln_fork_stage stage, const struct kiln_fork_handlers *handlers)
{
    atomic_store(&stages[stage], handlers);
}

/* ---- the list ------------------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    entered = 0;
    for (unsigned stage = 0; stage < KILN_FORK_STAGES; stage++) {
        const struct kiln_fork_handlers *handlers = atomic_load(&stages[stage]);
        if (!handlers) continue;
        if (handlers->before) handlers->before();
        entered |= 1u << stage;
    }
}

static void after_fork_in_parent(void)
{
    for (unsigned stage = KILN_FORK_STAGES; stage-- > 0;) {
        const struct kiln_fork_handlers *handlers = atomic_load(&stages[stage]);
        if (entered & 1u << stage && handlers->in_parent) handlers->in_parent();
    }
}

static void after_fork_in_child(void)
{
    for (unsigned stage = KILN_FORK_STAGES; stage-- > 0;) {
        const struct kiln_fork_handlers *handlers = atomic_load(&stages[stage]);
        if (entered & 1u << stage && handlers->in_child) handlers->in_child();
    }
    atomic_fetch_add(&forks, 1);
}

__attribute__((constructor)) static void register_list(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/*
 * fork runs first what was registered last, so the list alone would run after the handlers of a library that was opened
 * later. The first stage counts how often it was entered, and is then entered twice. The rest of the list must not come
 * earlier: it holds locks, and handlers of the program's that were registered in between may wait for who needs them.
 */
void kiln__fork_wait_first(void)
{
    const struct kiln_fork_handlers *work = atomic_load(&stages[KILN_FORK_WORK]);
    pthread_atfork(work->before, work->in_parent, NULL);
}

/* ---- leaf locks ----------------------------------------------------------------------------------------------- */

static pthread_mutex_t *locks[MOST_LOCKS];
static _Atomic size_t count;
static size_t locked; /* guarded by the locks */

void kiln__fork_guard(pthread_mutex_t *lock)
{
    if (count == MOST_LOCKS) abort(); /* a build with more static locks than that needs a larger list */
    locks[count] = lock;
    count++;
}

static void lock_all(void)
{
    size_t known = count;
    for (size_t i = 0; i < known; i++) pthread_mutex_lock(locks[i]);
    locked = known;
}

static void unlock_all(void)
{
    for (size_t i = locked; i-- > 0;) pthread_mutex_unlock(locks[i]);
}

KILN_AT_FORK(KILN_FORK_LEAF_LOCKS, lock_all, unlock_all, unlock_all);
