/*
 * gate.h - a forked child finds no lock of a cache taken, and nothing half done.
 *
 * For locks that are no static leaves (those are in fork.h): locks inside of objects, and locks under which others are
 * taken. They are taken through kiln__mutex_lock(); fork waits until no other thread is in a section that such a lock
 * guards, and lets none in meanwhile. Two kinds of long work are announced, and fork waits for them too, but at most
 * ten seconds: work with locks of its own inside (a compiler, a BLAS), after which a child may find those locks taken;
 * and steps that overwrite what they read, after which a child must not run them again. A thread that forks inside of
 * work waits for nobody's.
 */
#ifndef KILN_BASE_PROCESS_GATE_H
#define KILN_BASE_PROCESS_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void kiln__mutex_lock(pthread_mutex_t *mutex);
void kiln__mutex_unlock(pthread_mutex_t *mutex);

/* False: the process is leaving (base/process/exit.h), and the work must not begin. */
bool kiln__work_begin(void);
void kiln__work_end(void);

/* Around all that leads from the first element overwritten to where nobody would run the step again. */
void kiln__overwrite_begin(void);
void kiln__overwrite_end(void);

/* How deep this thread is in work; and back to that depth, after frames that were to see to it were lost. */
unsigned kiln__work_depth(void);
void kiln__work_return_to(unsigned depth);

/*
 * Lets no other thread begin work any more, for good, and waits until none is inside. False: one still was after
 * `patience_ns`. The calling thread may go on with what it does.
 */
bool kiln__work_close(uint64_t patience_ns);
bool kiln__work_is_closed(void);
/* Does another thread than this work? */
bool kiln__work_is_elsewhere(void);

/* For tests: how long fork waits; 0 is the default. */
void kiln__fork_set_patience(uint64_t ms);

#endif
