/*
 * backoff.c - see backoff.h.
 */
#include "store/remotes/backoff.h"

#include <stdatomic.h>

#include "base/process/gate.h"

enum { FIRST_MS = 1000, LONGEST_MS = 60000 };

static _Atomic uint64_t first_limit_ms = FIRST_MS, longest_limit_ms = LONGEST_MS;

void kiln__backoff_set_limits(uint64_t first_ms, uint64_t longest_ms)
{
    atomic_store(&first_limit_ms, first_ms ? first_ms : FIRST_MS);
    atomic_store(&longest_limit_ms, longest_ms ? longest_ms : LONGEST_MS);
}

void kiln__backoff_init(struct kiln_backoff *backoff)
{
    *backoff = (struct kiln_backoff){.until_ns = 0};
    pthread_mutex_init(&backoff->lock, NULL);
}

void kiln__backoff_release(struct kiln_backoff *backoff)
{
    pthread_mutex_destroy(&backoff->lock);
}

static uint64_t pause_ns(unsigned failures)
{
    uint64_t pause_ms = atomic_load(&first_limit_ms), longest_ms = atomic_load(&longest_limit_ms);
    while (--failures && pause_ms < longest_ms) pause_ms *= 2;
    return (pause_ms < longest_ms ? pause_ms : longest_ms) * 1000000;
}

bool kiln__backoff_may_try(struct kiln_backoff *backoff, uint64_t now_ns)
{
    kiln__mutex_lock(&backoff->lock);
    bool may = now_ns >= backoff->until_ns;
    if (may && backoff->failures) {
        backoff->until_ns = now_ns + pause_ns(backoff->failures); /* for the others, and in case this one never says */
        backoff->is_tried = true;
    }
    kiln__mutex_unlock(&backoff->lock);
    return may;
}

bool kiln__backoff_failed(struct kiln_backoff *backoff, uint64_t now_ns)
{
    kiln__mutex_lock(&backoff->lock);
    bool was_up = !backoff->failures;
    if (was_up || backoff->is_tried) {
        backoff->failures++;
        backoff->until_ns = now_ns + pause_ns(backoff->failures);
        backoff->is_tried = false;
    }
    kiln__mutex_unlock(&backoff->lock);
    return was_up;
}

bool kiln__backoff_worked(struct kiln_backoff *backoff)
{
    kiln__mutex_lock(&backoff->lock);
    bool was_down = backoff->failures;
    backoff->until_ns = backoff->failures = 0;
    backoff->is_tried = false;
    kiln__mutex_unlock(&backoff->lock);
    return was_down;
}
