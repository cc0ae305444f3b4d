/*
 * gate.c - see gate.h.
 *
 * A gate counts the threads inside and can be closed. Invariant: whoever is inside came in while no fork was under way,
 * or is there since before; entering announces itself first and looks at the gate then, closing does it the other way
 * around. The handlers are registered when the library is loaded: after those of leaf locks, which therefore are still
 * free while fork waits here, and before those that other rooms register on their first use.
 */
#include "base/gate.h"

#include <stdatomic.h>

#include "base/clock.h"

#define PATIENCE_NS 10000000000ull

struct gate {
    _Atomic unsigned closed; /* forks under way */
    _Atomic unsigned inside;
};

static struct gate sections, work;
static _Thread_local unsigned section_depth, work_depth;
static _Atomic unsigned forks;

static void nap(void)
{
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

static void enter(struct gate *gate, unsigned *depth)
{
    if ((*depth)++) return;
    for (;;) {
        atomic_fetch_add(&gate->inside, 1);
        if (!atomic_load(&gate->closed)) return;
        atomic_fetch_sub(&gate->inside, 1);
        while (atomic_load(&gate->closed)) nap();
    }
}

static void leave(struct gate *gate, unsigned *depth)
{
    if (!--*depth) atomic_fetch_sub(&gate->inside, 1);
}

void kiln__mutex_lock(pthread_mutex_t *mutex)
{
    enter(&sections, &section_depth);
    pthread_mutex_lock(mutex);
}

void kiln__mutex_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    leave(&sections, &section_depth);
}

void kiln__work_begin(void)
{
    enter(&work, &work_depth);
}

void kiln__work_end(void)
{
    leave(&work, &work_depth);
}

unsigned kiln__forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

/* ---- around fork ---------------------------------------------------------------------------------------------- */

static void close_gate(struct gate *gate, unsigned own)
{
    uint64_t start = kiln__clock_ns();
    atomic_fetch_add(&gate->closed, 1);
    while (atomic_load(&gate->inside) > own && kiln__clock_ns() - start < PATIENCE_NS) nap();
}

/* A compiler that forks to run a program must not wait for another that does the same. */
static void before_fork(void)
{
    if (!work_depth) close_gate(&work, 0);
    close_gate(&sections, section_depth ? 1 : 0);
}

static void after_fork_in_parent(void)
{
    if (!work_depth) atomic_fetch_sub(&work.closed, 1);
    atomic_fetch_sub(&sections.closed, 1);
}

static void after_fork_in_child(void)
{
    atomic_store(&work.inside, work_depth ? 1 : 0);
    atomic_store(&sections.inside, section_depth ? 1 : 0);
    atomic_store(&work.closed, 0);
    atomic_store(&sections.closed, 0);
    atomic_fetch_add(&forks, 1);
}

static __attribute__((constructor)) void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
