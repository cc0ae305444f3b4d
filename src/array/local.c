/*
 * local.c - see local.h. Invariant: a thread's part is in the registry from when it is made until it is merged into the
 * shared counters, so with the lock held the sum over the registry plus the shared counters is complete.
 */
#include "array/local.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/fork.h"
#include "base/process/thread_state.h"

_Thread_local struct kiln_local *kiln__local_current __attribute__((tls_model("initial-exec")));
static _Thread_local bool uses_shared; /* this thread gave its part back, or could not register one: it gets no other */

KILN_LEAF_LOCK(lock); /* guards `first` and the shared state of storage.c */
static struct kiln_local *first;

void kiln__local_lock(void)
{
    pthread_mutex_lock(&lock);
}

void kiln__local_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

struct kiln_local *kiln__local_first(void)
{
    return first;
}

static void end_thread(void *value)
{
    struct kiln_local *local = value;
    kiln__local_current = NULL;
    uses_shared = true;
    kiln__block_drain(local);
    kiln__storage_drain(local);
    kiln__local_lock();
    kiln__storage_fold(local);
    *local->link = local->next;
    if (local->next) local->next->link = local->link;
    kiln__local_unlock();
    free(local);
}

struct kiln_local *kiln__local_new(void)
{
    if (uses_shared) return NULL;
    struct kiln_local *local = aligned_alloc(_Alignof(struct kiln_local), sizeof *local);
    if (!local) return NULL;
    memset(local, 0, sizeof *local);
    atomic_init(&local->ceiling, KILN_NO_CEILING);
    if (!kiln__thread_state_set(KILN_THREAD_LOCAL, end_thread, local)) {
        uses_shared = true;
        free(local);
        return NULL;
    }
    kiln__local_lock();
    local->next = first;
    local->link = &first;
    if (first) first->link = &local->next;
    first = local;
    kiln__local_unlock();
    return kiln__local_current = local;
}
