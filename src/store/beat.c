/*
 * beat.c - see beat.h.
 */
#include "store/beat.h"

#include <errno.h>
#include <time.h>

#include "base/process/own_thread.h"

static void add_ms(struct timespec *time, uint64_t ms)
{
    time->tv_sec += (time_t)(ms / 1000);
    time->tv_nsec += (long)(ms % 1000) * 1000000;
    if (time->tv_nsec >= 1000000000) time->tv_sec++, time->tv_nsec -= 1000000000;
}

static void *run(void *context)
{
    struct kiln_beat *beat = context;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&beat->mutex);
    while (!beat->is_over) {
        add_ms(&next, beat->period_ms());
        while (!beat->is_over && pthread_cond_timedwait(&beat->over, &beat->mutex, &next) != ETIMEDOUT) {
        }
        if (beat->is_over) break;
        pthread_mutex_unlock(&beat->mutex);
        beat->beat(beat->context);
        pthread_mutex_lock(&beat->mutex);
    }
    pthread_mutex_unlock(&beat->mutex);
    return NULL;
}

void kiln__beat_start(struct kiln_beat *beat, void (*function)(void *context), void *context,
                      uint64_t (*period_ms)(void))
{
    pthread_condattr_t clock;
    *beat = (struct kiln_beat){.beat = function, .context = context, .period_ms = period_ms};
    pthread_mutex_init(&beat->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&beat->over, &clock);
    pthread_condattr_destroy(&clock);
    beat->has_thread = kiln__own_thread_start(run, beat, &beat->thread);
}

void kiln__beat_stop(struct kiln_beat *beat)
{
    pthread_mutex_lock(&beat->mutex);
    beat->is_over = true;
    pthread_cond_signal(&beat->over);
    pthread_mutex_unlock(&beat->mutex);
    if (beat->has_thread) pthread_join(beat->thread, NULL);
    pthread_cond_destroy(&beat->over);
    pthread_mutex_destroy(&beat->mutex);
}
