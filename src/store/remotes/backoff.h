/*
 * backoff.h - a remote that fails is left alone for a growing pause: 1 s, then twice as long each time, up to 60 s.
 *
 * When a pause is over one thread tries, and the others go on passing by until it has an answer. Faults that come in
 * while a pause runs, from calls that had begun before, do not lengthen it. Times are those of kiln__clock_ns(). All
 * calls are safe from every thread.
 */
#ifndef KILN_STORE_REMOTES_BACKOFF_H
#define KILN_STORE_REMOTES_BACKOFF_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct kiln_backoff {
    pthread_mutex_t lock; /* guards what follows; the calls below take it */
    uint64_t until_ns;    /* nobody tries before; when it works: 0 */
    unsigned failures;    /* in a row; 0: it works */
    bool is_tried;        /* the pause was over, and one is trying */
};

void kiln__backoff_init(struct kiln_backoff *backoff);
void kiln__backoff_release(struct kiln_backoff *backoff);

/* May it be asked now? Who is told so says afterwards how it went. */
bool kiln__backoff_may_try(struct kiln_backoff *backoff, uint64_t now_ns);
/* True: it worked before, and is down from now on. */
bool kiln__backoff_failed(struct kiln_backoff *backoff, uint64_t now_ns);
/* True: it was down, and is back. */
bool kiln__backoff_worked(struct kiln_backoff *backoff);

/* For tests: the first and the longest pause; 0 is the default. */
void kiln__backoff_set_limits(uint64_t first_ms, uint64_t longest_ms);

#endif
