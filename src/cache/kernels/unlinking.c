/*
 * unlinking.c - see unlinking.h. Each beginning gets a number; a record holds that of its thread's outermost one.
 */
#include "cache/kernels/unlinking.h"

#include <time.h>

#include "cache/memo/thread_cache.h"

static _Atomic uint64_t next_number = 1;
static _Atomic unsigned without_record; /* threads for which there was no memory */
static _Thread_local unsigned depth;

void kiln__unlinking_begin(void)
{
    struct kiln_thread *thread = kiln__thread();
    if (depth++) return;
    if (thread)
        atomic_store(&thread->unlinking, atomic_fetch_add(&next_number, 1));
    else
        atomic_fetch_add(&without_record, 1);
}

/* A record that came after the beginning has no number. */
void kiln__unlinking_end(void)
{
    struct kiln_thread *thread = kiln__this_thread;
    if (--depth) return;
    if (thread && atomic_load(&thread->unlinking))
        atomic_store(&thread->unlinking, 0);
    else
        atomic_fetch_sub(&without_record, 1);
}

static bool is_unlinking_since(uint64_t number)
{
    for (struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next) {
        uint64_t began = atomic_load(&thread->unlinking);
        if (began && began < number) return true;
    }
    return atomic_load(&without_record) != 0;
}

void kiln__unlinking_wait(void)
{
    if (depth) return;
    uint64_t number = atomic_load(&next_number);
    while (is_unlinking_since(number)) nanosleep(&(struct timespec){0, 50000}, NULL);
}
