/*
 * thread_end.h - what a thread leaves to be given back when it ends.
 *
 * A process has 1,024 thread-specific keys for all its libraries. When they are taken, everything works and only what
 * is to be done at the end of a thread is not: its records and copies stay as long as the process.
 */
#ifndef KILN_BASE_PROCESS_THREAD_END_H
#define KILN_BASE_PROCESS_THREAD_END_H

#include <pthread.h>
#include <stdbool.h>

struct kiln_thread_end {
    pthread_once_t *once;
    void (*make)(void);
    pthread_key_t key;
    bool has_key;
};

/* Defines a static kiln_thread_end whose `give_back` gets the value that a thread has set, unless it is NULL. */
#define KILN_THREAD_END(name, give_back)                                                                               \
    static void make_##name(void);                                                                                     \
    static pthread_once_t once_##name = PTHREAD_ONCE_INIT;                                                             \
    static struct kiln_thread_end name = {&once_##name, make_##name, 0, false};                                        \
    static void make_##name(void)                                                                                      \
    {                                                                                                                  \
        name.has_key = pthread_key_create(&name.key, give_back) == 0;                                                  \
    }                                                                                                                  \
    _Static_assert(1, "")

/* Of this thread. False: it will not be given back. */
static inline bool kiln__thread_end_set(struct kiln_thread_end *end, const void *value)
{
    pthread_once(end->once, end->make);
    return end->has_key && pthread_setspecific(end->key, value) == 0;
}

#endif
