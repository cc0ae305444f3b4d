/*
 * fork.h - what is done around every fork: one list of handlers, in a fixed order.
 *
 * A fork copies the memory of all threads but only one of them. Without handlers, a lock that another thread held would
 * stay locked in the child for ever, and what that thread was doing would stay half done. Each stage below has one
 * owner. `before` runs from the first stage to the last, `in_parent` and `in_child` from the last to the first. The
 * order is a lock order: what waits for other threads comes before what takes locks, and leaf locks come last.
 *
 * pthread_atfork() is called once for the whole list, when the library is loaded; and once more for the first stage,
 * where the handlers of another library have to be preceded: kiln__fork_wait_first().
 */
#ifndef KILN_BASE_PROCESS_FORK_H
#define KILN_BASE_PROCESS_FORK_H

#include <pthread.h>

enum kiln_fork_stage {
    KILN_FORK_WORK,       /* base/process/gate.c: waits up to ten seconds for compilers, products, overwriting steps */
    KILN_FORK_SECTIONS,   /* base/process/gate.c: waits until no other thread is in a section with a lock of a cache */
    KILN_FORK_POOL,       /* run/cpu/pool.c: the child has no threads of the pool */
    KILN_FORK_QUEUE,      /* run/async.c: takes the queue's lock, which is taken before the graph's */
    KILN_FORK_BLAS,       /* run/cpu/blas.c: stops the threads of OpenBLAS */
    KILN_FORK_GRAPH,      /* run/eval.c: takes the graph's lock */
    KILN_FORK_EPOCH,      /* cache/memo/epoch.c: the child has one thread that may be inside */
    KILN_FORK_RECORDS,    /* cache/memo/thread_cache.c: the child has one thread with a record */
    KILN_FORK_LEAF_LOCKS, /* base/process/fork.c: takes every KILN_LEAF_LOCK */
    KILN_FORK_STAGES
};

/* NULL: there is nothing to do at that moment. */
struct kiln_fork_handlers {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
};

/* `handlers` must live as long as the process. For constructors. A fork that is under way goes on without them. */
void kiln__fork_register(enum kiln_fork_stage stage, const struct kiln_fork_handlers *handlers);

/* Registers handlers of this file: before, in the parent, in the child. */
#define KILN_AT_FORK(stage, ...)                                                                                       \
    __attribute__((constructor)) static void register_##stage(void)                                                    \
    {                                                                                                                  \
        static const struct kiln_fork_handlers handlers = {__VA_ARGS__};                                               \
        kiln__fork_register(stage, &handlers);                                                                         \
    }                                                                                                                  \
    _Static_assert(1, "")

/* After a library was opened that has fork handlers of its own: KILN_FORK_WORK waits before they run. */
void kiln__fork_wait_first(void);

/* How often this process came out of fork as a child: what was made under another number has no other threads here. */
unsigned kiln__forks(void);

/*
 * A leaf lock: nothing else may be locked while it is held. Leaf locks are taken around every fork, in the order in
 * which they were registered, and given back in parent and child. `lock` must live as long as the process. For
 * constructors.
 */
void kiln__fork_guard(pthread_mutex_t *lock);

/* Defines a static leaf lock that is guarded. */
#define KILN_LEAF_LOCK(name)                                                                                           \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                                           \
    __attribute__((constructor)) static void guard_##name(void)                                                        \
    {                                                                                                                  \
        kiln__fork_guard(&name);                                                                                       \
    }                                                                                                                  \
    _Static_assert(1, "")

#endif
