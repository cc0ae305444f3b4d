/*
 * log_callback.c - see log_callback.h.
 *
 * The function in force is a counted object: a call takes a reference under the lock, runs without it, and drops the
 * reference. So a function that is replaced while it runs keeps its context until it returns.
 */
#include "base/process/log_callback.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/process/fork.h"

struct callback {
    unsigned refs; /* guarded by `lock` */
    kiln_log_function *log;
    void *context;
    void (*free_context)(void *);
};

KILN_LEAF_LOCK(lock);            /* guards `current` and every callback's refs */
static struct callback *current; /* NULL: stderr */
static _Atomic unsigned kinds_wanted;
static _Thread_local bool is_inside; /* what the function itself logs goes to stderr */

static struct callback *take(void)
{
    pthread_mutex_lock(&lock);
    struct callback *callback = current;
    if (callback) callback->refs++;
    pthread_mutex_unlock(&lock);
    return callback;
}

static void drop(struct callback *callback)
{
    if (!callback) return;
    pthread_mutex_lock(&lock);
    bool is_last = --callback->refs == 0;
    pthread_mutex_unlock(&lock);
    if (!is_last) return;
    if (callback->free_context) callback->free_context(callback->context);
    free(callback);
}

unsigned kiln__log_callback_kinds(void)
{
    return atomic_load_explicit(&kinds_wanted, memory_order_relaxed);
}

bool kiln__log_callback_call(kiln_log_kind kind, const char *text)
{
    struct callback *callback = is_inside ? NULL : take();
    if (!callback) return false;
    is_inside = true;
    callback->log(callback->context, kind, text);
    is_inside = false;
    drop(callback);
    return true;
}

static void install(struct callback *callback, unsigned kinds)
{
    pthread_mutex_lock(&lock);
    struct callback *before = current;
    current = callback;
    atomic_store_explicit(&kinds_wanted, callback ? kinds : 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    drop(before);
}

kiln_status kiln_set_log(unsigned kinds, kiln_log_function *log, void *context, void (*free_context)(void *))
{
    if (kinds & ~(unsigned)(KILN_LOG_MISS | KILN_LOG_FAULT)) return KILN_INVALID;
    struct callback *callback = log ? malloc(sizeof *callback) : NULL;
    if (log && !callback) return KILN_NO_MEMORY;
    if (callback) *callback = (struct callback){1, log, context, free_context};
    install(callback, kinds);
    return KILN_OK;
}
