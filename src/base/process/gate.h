/*
 * gate.h - a forked child finds no lock of a cache taken, and nothing half done.
 *
 * For locks that are not static leaf locks (those are in fork.h): locks inside of objects, and locks under which others
 * are taken. They are taken through kiln__mutex_lock(). fork waits until no other thread is in a section that such a
 * lock guards, and lets no thread enter one meanwhile. Fork also waits, but at most ten seconds, for two kinds of long
 * work: code with locks of its own (a compiler, a BLAS), because a child could find those locks taken; and steps that
 * overwrite their inputs, because a child could not run such a step again. A thread that forks while it is itself at
 * such work does not wait for the work of others.
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

/* Around a step that overwrites its inputs: from before the first element is written until its result is published. */
void kiln__overwrite_begin(void);
void kiln__overwrite_end(void);

/* How many kiln__work_begin() of this thread have not ended; and back to that number, after frames were lost that would
 * have ended them. */
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
