/*
 * nap.h - waiting for another thread, as a rule for nanoseconds: a few yields, then sleeps. A thread with a real-time
 * priority has to sleep, because yielding lets no thread of a lower priority run, and the other one may have a lower.
 */
#ifndef KILN_BASE_PROCESS_NAP_H
#define KILN_BASE_PROCESS_NAP_H

#include <sched.h>
#include <time.h>

/* `tries`: how often the caller has waited before. */
static inline void kiln__nap(unsigned tries)
{
    enum { YIELDS = 16, NAP_NS = 50000 };
    if (tries < YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

#endif
