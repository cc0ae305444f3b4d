/*
 * fork.c - see fork.h. The list only grows, while constructors run.
 */
#include "base/process/fork.h"

#include <stddef.h>
#include <stdlib.h>

enum { MOST = 64 };

static pthread_mutex_t *locks[MOST];
static size_t count;

static void lock_all(void)
{
    for (size_t i = 0; i < count; i++) pthread_mutex_lock(locks[i]);
}

static void unlock_all(void)
{
    for (size_t i = count; i-- > 0;) pthread_mutex_unlock(locks[i]);
}

void kiln__fork_guard(pthread_mutex_t *lock)
{
    if (count == 0) pthread_atfork(lock_all, unlock_all, unlock_all);
    if (count == MOST) abort(); /* a build with more static locks than that needs a larger list */
    locks[count++] = lock;
}
