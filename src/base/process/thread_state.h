/*
 * thread_state.h - what a thread has to give back when it ends: one struct for all layers, behind one pthread key.
 *
 * A layer keeps its state of a thread where it is fastest to reach, as a rule in a _Thread_local variable of its own.
 * The part of it that has to be released (memory, a record in a registry) is registered here, with the function that
 * releases it. docs/threads.md lists all state of threads.
 *
 * When a thread ends, its parts are given back in the order of the enum: upper layers first, because they may call the
 * layers below while they release theirs. A thread may use Kiln while it ends and afterwards, from destructors of other
 * keys. What it registers then is given back in a further round; the system has PTHREAD_DESTRUCTOR_ITERATIONS (4) of
 * them, and what is registered after the last one stays. exit() runs no destructors of keys.
 *
 * A process has 1,024 keys for all its libraries. When they are taken, everything works and nothing is given back: the
 * records and copies of a thread stay as long as the process.
 */
#ifndef KILN_BASE_PROCESS_THREAD_STATE_H
#define KILN_BASE_PROCESS_THREAD_STATE_H

#include <stdbool.h>

enum kiln_thread_part {
    KILN_THREAD_BOXES,       /* mlxc/box.c: lists of free boxes */
    KILN_THREAD_LOCAL,       /* array/local.c: lists of free blocks and storage, counters */
    KILN_THREAD_WHY,         /* cache/why.c: the text of kiln_why() */
    KILN_THREAD_RECORD,      /* cache/memo/thread_cache.c: the record in the registry of threads */
    KILN_THREAD_OPTIONS,     /* key/options.c: pushed options */
    KILN_THREAD_ENVIRONMENT, /* base/environment.c: the copy of the environment */
    KILN_THREAD_PARTS
};

/*
 * When this thread ends, give_back(value) runs, once. Replaces what was set for this part before; with NULL nothing
 * runs. False: there is no key, or no memory for its value; nothing is changed, and this part will not be given back.
 */
bool kiln__thread_state_set(enum kiln_thread_part part, void (*give_back)(void *value), void *value);

#endif
