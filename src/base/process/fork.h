/*
 * fork.h - locks that must be free in a forked child.
 *
 * A fork copies the memory of all threads but only one of them; a lock that another thread held would stay locked in
 * the child for ever. Guarded locks are taken around every fork, in the order they were registered, and given back in
 * parent and child. Guard leaf locks only: nothing else may be locked while one is held.
 */
#ifndef KILN_BASE_PROCESS_FORK_H
#define KILN_BASE_PROCESS_FORK_H

#include <pthread.h>

/* `lock` must live as long as the process. For constructors: not safe from several threads at once. */
void kiln__fork_guard(pthread_mutex_t *lock);

/* Defines a static leaf lock that is guarded. */
#define KILN_LEAF_LOCK(name)                                                                                           \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                                           \
    __attribute__((constructor(1000))) static void guard_##name(void) /* before gate.c's, see there */                 \
    {                                                                                                                  \
        kiln__fork_guard(&name);                                                                                       \
    }                                                                                                                  \
    _Static_assert(1, "")

#endif
