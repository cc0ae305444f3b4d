/*
 * gate.c - see gate.h.
 *
 * A gate counts the threads inside and can be closed. Invariant: whoever is inside came in while no fork was under way,
 * or is there since before; entering announces itself first and looks at the gate then, closing does it the other way
 * around. The handlers are registered when the library is loaded: after those of leaf locks, which therefore are still
 * free while fork waits here, and before those that other layers register on their first use.
 *
 * The gates are closed one after the other: a step that overwrites may wait for a kernel that another thread compiles,
 * and work may wait for nobody but others at work, so each gate empties while those behind it are still open.
 */
#include "base/process/gate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_NS 10000000000ull
enum { MOST_HANDLERS = 8 };

struct gate {
    _Atomic unsigned closed; /* forks under way, and one more for good when the process leaves */
    _Atomic unsigned inside;
};

static struct gate sections, work, overwriting;
static _Thread_local unsigned section_depth, work_depth, overwrite_depth;
static _Atomic bool work_is_closed;
static _Atomic unsigned forks;
static _Atomic uint64_t patience_ns = PATIENCE_NS;

/* By the system call itself: the function of that name is a point at which a thread can be cancelled. */
static void nap(void)
{
    syscall(SYS_nanosleep, &(struct timespec){0, 50000}, NULL);
}

static bool enter(struct gate *gate, unsigned *depth)
{
    if ((*depth)++) return true;
    for (;;) {
        atomic_fetch_add(&gate->inside, 1);
        if (!atomic_load(&gate->closed)) return true;
        atomic_fetch_sub(&gate->inside, 1);
        while (atomic_load(&gate->closed)) {
            if (gate == &work && kiln__work_is_closed()) return --*depth, false;
            nap();
        }
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

bool kiln__work_begin(void)
{
    return enter(&work, &work_depth);
}

void kiln__work_end(void)
{
    leave(&work, &work_depth);
}

void kiln__overwrite_begin(void)
{
    enter(&overwriting, &overwrite_depth);
}

void kiln__overwrite_end(void)
{
    leave(&overwriting, &overwrite_depth);
}

unsigned kiln__work_depth(void)
{
    return work_depth;
}

void kiln__work_return_to(unsigned depth)
{
    while (work_depth > depth) kiln__work_end();
    while (work_depth < depth && kiln__work_begin()) {
    }
}

unsigned kiln__forks(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

void kiln__fork_set_patience(uint64_t ms)
{
    atomic_store(&patience_ns, ms ? ms * 1000000 : PATIENCE_NS);
}

/* ---- leaving the process -------------------------------------------------------------------------------------- */

/* True when no more than `own` threads are inside. */
static bool wait_until_empty(struct gate *gate, unsigned own, uint64_t patience)
{
    uint64_t start = kiln__clock_ns();
    while (atomic_load(&gate->inside) > own) {
        if (kiln__clock_ns() - start >= patience) return false;
        nap();
    }
    return true;
}

bool kiln__work_is_closed(void)
{
    return atomic_load(&work_is_closed);
}

/* The thread that leaves is inside from here on, uncounted: what it begins is not refused. */
bool kiln__work_close(uint64_t patience)
{
    unsigned own = work_depth ? 1 : 0;
    if (atomic_exchange(&work_is_closed, true)) return true;
    atomic_fetch_add(&work.closed, 1);
    work_depth++;
    return wait_until_empty(&work, own, patience);
}

bool kiln__work_is_elsewhere(void)
{
    return atomic_load(&work.inside) > (work_depth ? 1 : 0);
}

/* ---- around fork ---------------------------------------------------------------------------------------------- */

static struct kiln_fork_handlers handlers[MOST_HANDLERS];
static size_t handler_count;

void kiln__fork_add(struct kiln_fork_handlers added)
{
    if (handler_count == MOST_HANDLERS) abort(); /* a build with more of them needs a longer list */
    handlers[handler_count++] = added;
}

static void close_gate(struct gate *gate, unsigned own)
{
    atomic_fetch_add(&gate->closed, 1);
    wait_until_empty(gate, own, atomic_load(&patience_ns));
}

/* A compiler that forks to run a program must not wait for another that does the same. */
static void close_work(void)
{
    if (work_depth) return;
    close_gate(&overwriting, overwrite_depth ? 1 : 0);
    close_gate(&work, 0);
}

static void open_work(void)
{
    if (work_depth) return;
    atomic_fetch_sub(&overwriting.closed, 1);
    atomic_fetch_sub(&work.closed, 1);
}

static void before_fork(void)
{
    close_work();
    close_gate(&sections, section_depth ? 1 : 0);
    for (size_t i = 0; i < handler_count; i++) handlers[i].before();
}

static void after_fork_in_parent(void)
{
    for (size_t i = handler_count; i-- > 0;) handlers[i].in_parent();
    open_work();
    atomic_fetch_sub(&sections.closed, 1);
}

static void empty_gate(struct gate *gate, unsigned depth)
{
    atomic_store(&gate->inside, depth ? 1 : 0);
    atomic_store(&gate->closed, gate == &work && kiln__work_is_closed() ? 1 : 0);
}

static void after_fork_in_child(void)
{
    for (size_t i = handler_count; i-- > 0;) handlers[i].in_child();
    empty_gate(&overwriting, overwrite_depth);
    empty_gate(&work, work_depth);
    empty_gate(&sections, section_depth);
    atomic_fetch_add(&forks, 1);
}

static __attribute__((constructor)) void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* fork runs what was registered last first. */
void kiln__work_precedes_fork(void)
{
    pthread_atfork(close_work, open_work, NULL);
}
