/*
 * gate.c - see gate.h.
 *
 * A gate counts the threads inside and can be closed. Invariant: no thread enters a closed gate. A thread that enters
 * counts itself first and then checks that the gate is open; closing sets `closed` first and then reads the count.
 * Gates are the first stages around a fork (fork.h): all locks are still free while it waits here.
 *
 * The gates are closed one after the other, because a step that overwrites may wait for a kernel that another thread
 * compiles, and a compile may enter sections: each gate empties while the later ones are still open.
 */
#include "base/process/gate.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process/fork.h"

#define PATIENCE_NS 10000000000ull

struct gate {
    _Atomic unsigned closed; /* forks under way, and one more for good when the process leaves */
    _Atomic unsigned inside;
};

static struct gate sections, work, overwriting;
static _Thread_local unsigned section_depth, work_depth, overwrite_depth;
static _Atomic bool work_is_closed;
static _Atomic uint64_t patience_ns = PATIENCE_NS;

/* The system call itself: nanosleep() is a cancellation point. */
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

/* The thread that exits counts as inside from here on, though the gate does not count it: its own work is not refused.
 */
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

static void close_gate(struct gate *gate, unsigned own)
{
    atomic_fetch_add(&gate->closed, 1);
    wait_until_empty(gate, own, atomic_load(&patience_ns));
}

static void reset_gate(struct gate *gate, unsigned depth)
{
    atomic_store(&gate->inside, depth ? 1 : 0);
    atomic_store(&gate->closed, gate == &work && kiln__work_is_closed() ? 1 : 0);
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

static void reset_work(void)
{
    reset_gate(&overwriting, overwrite_depth);
    reset_gate(&work, work_depth);
}

KILN_AT_FORK(KILN_FORK_WORK, close_work, open_work, reset_work);

static void close_sections(void)
{
    close_gate(&sections, section_depth ? 1 : 0);
}

static void open_sections(void)
{
    atomic_fetch_sub(&sections.closed, 1);
}

static void reset_sections(void)
{
    reset_gate(&sections, section_depth);
}

KILN_AT_FORK(KILN_FORK_SECTIONS, close_sections, open_sections, reset_sections);
