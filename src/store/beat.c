/*
 * beat.c - see beat.h.
 */
#include "store/beat.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/process/own_thread.h"

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* With the mutex held, until the beat is due, has expired or is over. */
static void wait_until(struct kiln_beat *beat, uint64_t next_ns)
{
    for (int result = 0; !beat->is_over && result != ETIMEDOUT;) {
        uint64_t at_ns = earlier(next_ns, beat->until_ns);
        struct timespec time = {(time_t)(at_ns / 1000000000), (long)(at_ns % 1000000000)};
        result = pthread_cond_timedwait(&beat->changed, &beat->mutex, &time);
    }
}

static void *run(void *context)
{
    struct kiln_beat *beat = context;
    uint64_t next_ns = kiln__clock_ns();
    bool has_expired = false;
    pthread_mutex_lock(&beat->mutex);
    while (!has_expired) {
        next_ns += beat->period_ms() * 1000000;
        wait_until(beat, next_ns);
        if (beat->is_over) break;
        has_expired = kiln__clock_ns() >= beat->until_ns;
        pthread_mutex_unlock(&beat->mutex);
        (has_expired ? beat->expire : beat->beat)(beat->context);
        pthread_mutex_lock(&beat->mutex);
    }
    pthread_mutex_unlock(&beat->mutex);
    return NULL;
}

void kiln__beat_start(struct kiln_beat *beat, void (*function)(void *context), void *context,
                      uint64_t (*period_ms)(void))
{
    pthread_condattr_t clock;
    *beat = (struct kiln_beat){.beat = function, .context = context, .period_ms = period_ms, .until_ns = UINT64_MAX};
    pthread_mutex_init(&beat->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&beat->changed, &clock);
    pthread_condattr_destroy(&clock);
    beat->has_thread = kiln__own_thread_start(run, beat, &beat->thread);
}

void kiln__beat_expire_at(struct kiln_beat *beat, uint64_t until_ns, void (*expire)(void *context))
{
    pthread_mutex_lock(&beat->mutex);
    beat->until_ns = until_ns;
    beat->expire = expire;
    pthread_cond_signal(&beat->changed);
    pthread_mutex_unlock(&beat->mutex);
}

void kiln__beat_stop(struct kiln_beat *beat)
{
    pthread_mutex_lock(&beat->mutex);
    beat->is_over = true;
    pthread_cond_signal(&beat->changed);
    pthread_mutex_unlock(&beat->mutex);
    if (beat->has_thread) pthread_join(beat->thread, NULL);
    pthread_cond_destroy(&beat->changed);
    pthread_mutex_destroy(&beat->mutex);
}
