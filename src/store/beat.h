/*
 * beat.h - a heartbeat: a function that runs every so often on a thread of its own, until it is stopped or expires.
 *
 * A forked child has no such thread; there the struct is not to be used any more.
 */
#ifndef KILN_STORE_BEAT_H
#define KILN_STORE_BEAT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct kiln_beat {
    void (*beat)(void *context);
    void *context;
    uint64_t (*period_ms)(void); /* asked before each beat */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t changed;
    bool is_over;
    uint64_t until_ns; /* UINT64_MAX: until it is stopped */
    void (*expire)(void *context);
};

/* Where there can be no thread, nothing beats, and that is all. */
void kiln__beat_start(struct kiln_beat *beat, void (*function)(void *context), void *context,
                      uint64_t (*period_ms)(void));
/* At that time, instead of all further beats, `expire` runs once on the beat's thread, unless it is stopped before. */
void kiln__beat_expire_at(struct kiln_beat *beat, uint64_t until_ns, void (*expire)(void *context));
/* Waits for a beat that is under way. */
void kiln__beat_stop(struct kiln_beat *beat);

#endif
