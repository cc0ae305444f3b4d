/*
 * nap.h - waiting for another thread that needs nanoseconds. A few yields, then sleeps: yielding at a real-time
 * priority lets nobody of a lower one run, and the other thread may be of one.
 */
#ifndef KILN_BASE_PROCESS_NAP_H
#define KILN_BASE_PROCESS_NAP_H

#include <sched.h>
#include <time.h>

/* `tries` counts the looks that came before, from 0 on. */
static inline void kiln__nap(unsigned tries)
{
    enum { YIELDS = 16, NAP_NS = 50000 };
    if (tries < YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

#endif
