/*
 * gate.h - a forked child finds no lock of a cache taken, and nothing half done.
 *
 * For locks that are no static leaves (those are in fork.h): locks inside of objects, and locks under which others are
 * taken. They are taken through kiln__mutex_lock(); fork waits until no other thread is in a section that such a lock
 * guards, and lets none in meanwhile. Long work that has locks of its own inside (a compiler) is announced with
 * kiln__work_begin(); fork waits for it too, but at most ten seconds: a child that compiles afterwards may then find
 * the compiler's locks taken. A thread that forks inside of either does not wait for itself.
 */
#ifndef KILN_BASE_GATE_H
#define KILN_BASE_GATE_H

#include <pthread.h>

void kiln__mutex_lock(pthread_mutex_t *mutex);
void kiln__mutex_unlock(pthread_mutex_t *mutex);

void kiln__work_begin(void);
void kiln__work_end(void);

/* How often this process came out of fork as a child: what was made under another number has no other threads here. */
unsigned kiln__forks(void);

#endif
