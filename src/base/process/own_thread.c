/*
 * own_thread.c - see own_thread.h.
 */
#include "base/process/own_thread.h"

#include <signal.h>

enum { STACK = 1 << 19 };

bool kiln__own_thread_start(void *(*run)(void *context), void *context, pthread_t *out)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    if (!out) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(out ? out : &thread, &attributes, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return is_started;
}
