/*
 * epoch.h - which threads use executables that may be reclaimed, and since when.
 *
 * A thread between kiln_enter() and kiln_leave() has in its own record the epoch at which it entered. What is evicted
 * gets the number of a new epoch. Once no thread is inside that entered earlier, no thread can have it: those that
 * entered later did not find it in the table. Entering is a store to the thread's own record; the evicting thread runs
 * kiln__heavy_barrier().
 */
#ifndef KILN_CACHE_MEMO_EPOCH_H
#define KILN_CACHE_MEMO_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

/* After values were taken out of reach: the epoch that begins now. */
uint64_t kiln__epoch_begin(void);
/* What was taken out before this epoch began is used by nobody. Call kiln__heavy_barrier() first. */
uint64_t kiln__epoch_oldest(void);

/* Is this thread between kiln_enter() and kiln_leave()? */
bool kiln__is_inside(void);

/* In builds with KILN_DEBUG a program's mistake ends it with a message. */
#ifdef KILN_DEBUG
void kiln__misused(const char *text, const char *name) __attribute__((noreturn));
#endif

#endif
