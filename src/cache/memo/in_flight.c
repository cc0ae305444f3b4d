/*
 * in_flight.c - see in_flight.h. Invariant: an in-flight compile is in the list of its memo table, and in that of
 * its thread, from its start until it lands.
 */
#include "cache/memo/in_flight.h"

#include "base/process/callback.h"
#include "base/process/fork.h"
#include "base/process/gate.h"
#include "base/process/timeline.h"

/* Nobody nests this deep on purpose; a maker that asks for ever new keys ends here and not at the end of the stack. */
enum { DEEPEST = 512 };

bool kiln__is_making(const struct kiln_thread *thread, const struct kiln_signature *signature)
{
    unsigned depth = 0;
    for (const struct kiln_in_flight *in_flight = thread->making; in_flight; in_flight = in_flight->outer)
        if (++depth >= DEEPEST || (in_flight->count == signature->count &&
                                   kiln__key_equal(in_flight->key, signature->words, signature->count)))
            return true;
    return false;
}

struct kiln_in_flight *kiln__in_flight_find(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                            uint64_t hash)
{
    struct kiln_in_flight *in_flight = memo->in_flight;
    while (in_flight && (!in_flight->is_shared || in_flight->forks != kiln__forks() || in_flight->hash != hash ||
                         in_flight->count != signature->count ||
                         !kiln__key_equal(in_flight->key, signature->words, in_flight->count)))
        in_flight = in_flight->next;
    return in_flight;
}

static void in_flight_remove(struct kiln_memo_table *memo, struct kiln_in_flight *in_flight)
{
    struct kiln_in_flight **link = &memo->in_flight;
    while (*link != in_flight) link = &(*link)->next;
    *link = in_flight->next;
}

static void in_flight_free(struct kiln_in_flight *in_flight)
{
    pthread_cond_destroy(&in_flight->done);
    pthread_mutex_destroy(&in_flight->lock);
    free(in_flight);
}

enum kiln_outcome kiln__in_flight_wait(struct kiln_memo_table *memo, struct kiln_in_flight *in_flight, void **value,
                                       kiln_error *err)
{
    uint64_t recorded_ns = kiln__timeline_begin();
    in_flight->waiters++;
    kiln__mutex_unlock(&memo->lock);
    pthread_mutex_lock(&in_flight->lock);
    while (!in_flight->landed) pthread_cond_wait(&in_flight->done, &in_flight->lock);
    pthread_mutex_unlock(&in_flight->lock);
    kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "wait for a thread"});
    kiln__mutex_lock(&memo->lock);
    enum kiln_outcome outcome = in_flight->outcome;
    if (outcome == KILN_DONE) *value = in_flight->value; /* handed out for us when it landed */
    if (outcome == KILN_FAILED && err) *err = in_flight->error;
    if (--in_flight->waiters == 0) in_flight_free(in_flight);
    return outcome;
}

struct kiln_in_flight *kiln__in_flight_start(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                             uint64_t hash, bool is_shared)
{
    struct kiln_in_flight *in_flight = calloc(1, sizeof *in_flight + signature->count * sizeof *signature->words);
    if (!in_flight) return NULL;
    in_flight->forks = kiln__forks();
    in_flight->memo = memo;
    in_flight->is_shared = is_shared;
    pthread_mutex_init(&in_flight->lock, NULL);
    pthread_cond_init(&in_flight->done, NULL);
    in_flight->hash = hash;
    in_flight->count = signature->count;
    memcpy(in_flight->key, signature->words, signature->count * sizeof *signature->words);
    in_flight->next = memo->in_flight;
    memo->in_flight = in_flight;
    return in_flight;
}

void kiln__in_flight_land(struct kiln_memo_table *memo, struct kiln_in_flight *in_flight, enum kiln_outcome outcome,
                          void *value, const kiln_error *error)
{
    in_flight_remove(memo, in_flight);
    if (in_flight->forks != kiln__forks()) { /* we are the child of its maker; those who waited were not copied */
        free(in_flight);
        return;
    }
    in_flight->outcome = outcome;
    in_flight->value = value;
    for (unsigned i = 0; outcome == KILN_DONE && memo->acquire && i < in_flight->waiters; i++) memo->acquire(value);
    if (outcome == KILN_DONE && memo->expose) in_flight->value = memo->expose(value);
    if (error) in_flight->error = *error;
    if (!in_flight->waiters) {
        in_flight_free(in_flight);
        return;
    }
    pthread_mutex_lock(&in_flight->lock);
    in_flight->landed = true;
    pthread_cond_broadcast(&in_flight->done);
    pthread_mutex_unlock(&in_flight->lock);
}

/* ---- what a thread leaves behind ------------------------------------------------------------------------------ */

void kiln__making_begin(struct kiln_thread *thread, struct kiln_in_flight *in_flight, uintptr_t frame)
{
    in_flight->outer = thread->making;
    in_flight->outer_level = thread->in_flight_level;
    in_flight->claimed_before = kiln__claim();
    in_flight->frame = frame;
    thread->making = in_flight;
    thread->last = &thread->none; /* so that all its calls take the slow path, which notices lost compiles */
    if (thread->in_flight_level < (unsigned)in_flight->memo->level)
        thread->in_flight_level = (unsigned)in_flight->memo->level;
}

void kiln__making_end(struct kiln_thread *thread, const struct kiln_in_flight *in_flight)
{
    thread->making = in_flight->outer;
    thread->in_flight_level = in_flight->outer_level;
}

/* Guards `memo` of lost in-flight compiles against tables that go at the same time. */
static pthread_mutex_t lost_lock = PTHREAD_MUTEX_INITIALIZER;

void kiln__in_flight_lost(struct kiln_thread *thread, uintptr_t frame)
{
    kiln__callbacks_lost(frame);
    while (thread->making && kiln__frame_is_lost(thread->making->frame, frame)) {
        struct kiln_in_flight *in_flight = thread->making;
        kiln__making_end(thread, in_flight);
        for (struct kiln_claim *claim; (claim = kiln__claim()) && claim != in_flight->claimed_before;)
            claim->release(claim);
        kiln__mutex_lock(&lost_lock);
        struct kiln_memo_table *memo = in_flight->memo;
        if (memo) kiln__mutex_lock(&memo->lock);
        if (memo)
            kiln__in_flight_land(memo, in_flight, KILN_ABANDONED, NULL, NULL);
        else
            in_flight_free(in_flight);
        if (memo) kiln__mutex_unlock(&memo->lock);
        kiln__mutex_unlock(&lost_lock);
    }
}

void kiln__in_flight_orphan(struct kiln_memo_table *memo)
{
    kiln__mutex_lock(&lost_lock);
    for (struct kiln_in_flight *in_flight = memo->in_flight; in_flight; in_flight = in_flight->next)
        in_flight->memo = NULL;
    kiln__mutex_unlock(&lost_lock);
}
