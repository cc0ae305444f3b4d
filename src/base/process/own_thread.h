/*
 * own_thread.h - threads of the library's own. They block all signals, which are for the program's threads.
 */
#ifndef KILN_BASE_PROCESS_OWN_THREAD_H
#define KILN_BASE_PROCESS_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* False: there can be no further thread now. `out` may be NULL: then nobody joins it. */
bool kiln__own_thread_start(void *(*run)(void *context), void *context, pthread_t *out);

#endif
