/*
 * in_flight.c - see in_flight.h. Invariant: a flight is in the list of its results, and in that of its thread, from its start
 * until it lands.
 */
#include "cache/in_flight.h"

#include "base/callback.h"
#include "base/gate.h"

/* Nobody nests this deep on purpose; a maker that asks for ever new keys ends here and not at the end of the stack. */
enum { DEEPEST = 512 };

bool kiln__is_making(const struct kiln_thread *thread, const struct kiln_signature *signature)
{
    unsigned depth = 0;
    for (const struct kiln_flight *flight = thread->making; flight; flight = flight->outer)
        if (++depth >= DEEPEST ||
            (flight->count == signature->count && kiln__key_equal(flight->key, signature->words, signature->count)))
            return true;
    return false;
}

struct kiln_flight *kiln__flight_find(struct kiln_results *results, const struct kiln_signature *signature,
                                      uint64_t hash)
{
    struct kiln_flight *flight = results->flights;
    while (flight &&
           (!flight->is_shared || flight->forks != kiln__forks() || flight->hash != hash ||
            flight->count != signature->count || !kiln__key_equal(flight->key, signature->words, flight->count)))
        flight = flight->next;
    return flight;
}

static void flight_remove(struct kiln_results *results, struct kiln_flight *flight)
{
    struct kiln_flight **link = &results->flights;
    while (*link != flight) link = &(*link)->next;
    *link = flight->next;
}

static void flight_free(struct kiln_flight *flight)
{
    pthread_cond_destroy(&flight->done);
    pthread_mutex_destroy(&flight->lock);
    free(flight);
}

kiln_status kiln__flight_wait(struct kiln_results *results, struct kiln_flight *flight, void **value, kiln_error *err)
{
    flight->waiters++;
    kiln__mutex_unlock(&results->lock);
    pthread_mutex_lock(&flight->lock);
    while (!flight->landed) pthread_cond_wait(&flight->done, &flight->lock);
    pthread_mutex_unlock(&flight->lock);
    kiln__mutex_lock(&results->lock);
    kiln_status status = flight->status;
    if (status == KILN_OK) *value = flight->value; /* handed out for us when it landed */
    if (status && err) *err = flight->error;
    if (--flight->waiters == 0) flight_free(flight);
    return status;
}

struct kiln_flight *kiln__flight_start(struct kiln_results *results, const struct kiln_signature *signature,
                                       uint64_t hash, bool is_shared)
{
    struct kiln_flight *flight = calloc(1, sizeof *flight + signature->count * sizeof *signature->words);
    if (!flight) return NULL;
    flight->forks = kiln__forks();
    flight->results = results;
    flight->is_shared = is_shared;
    pthread_mutex_init(&flight->lock, NULL);
    pthread_cond_init(&flight->done, NULL);
    flight->hash = hash;
    flight->count = signature->count;
    memcpy(flight->key, signature->words, signature->count * sizeof *signature->words);
    flight->next = results->flights;
    results->flights = flight;
    return flight;
}

void kiln__flight_land(struct kiln_results *results, struct kiln_flight *flight, kiln_status status, void *value,
                       const kiln_error *error)
{
    flight_remove(results, flight);
    if (flight->forks != kiln__forks()) { /* we are the child of its maker; those who waited were not copied */
        free(flight);
        return;
    }
    flight->status = status;
    flight->value = value;
    for (unsigned i = 0; status == KILN_OK && results->acquire && i < flight->waiters; i++) results->acquire(value);
    if (status == KILN_OK && results->expose) flight->value = results->expose(value);
    if (error) flight->error = *error;
    if (!flight->waiters) {
        flight_free(flight);
        return;
    }
    pthread_mutex_lock(&flight->lock);
    flight->landed = true;
    pthread_cond_broadcast(&flight->done);
    pthread_mutex_unlock(&flight->lock);
}

/* ---- flights of a thread that left them ------------------------------------------------------------------------- */

void kiln__making_begin(struct kiln_thread *thread, struct kiln_flight *flight, uintptr_t frame)
{
    flight->outer = thread->making;
    flight->outer_level = thread->flight_level;
    flight->outer_lock = kiln__lock_held();
    flight->frame = frame;
    thread->making = flight;
    thread->last = &thread->none; /* while it makes something, all its calls come by where lost flights are noticed */
    if (thread->flight_level < (unsigned)flight->results->level)
        thread->flight_level = (unsigned)flight->results->level;
}

void kiln__making_end(struct kiln_thread *thread, const struct kiln_flight *flight)
{
    thread->making = flight->outer;
    thread->flight_level = flight->outer_level;
}

/* Guards `results` of lost flights against results that go at the same time. */
static pthread_mutex_t lost_lock = PTHREAD_MUTEX_INITIALIZER;

void kiln__flights_lost(struct kiln_thread *thread, uintptr_t frame)
{
    kiln__callbacks_lost(frame);
    while (thread->making && kiln__frame_is_lost(thread->making->frame, frame)) {
        struct kiln_flight *flight = thread->making;
        kiln__making_end(thread, flight);
        while (kiln__lock_held() != flight->outer_lock) kiln__lock_release(kiln__lock_held());
        kiln__mutex_lock(&lost_lock);
        struct kiln_results *results = flight->results;
        if (results) kiln__mutex_lock(&results->lock);
        if (results)
            kiln__flight_land(results, flight, (kiln_status)KILN_AGAIN, NULL, NULL);
        else
            flight_free(flight);
        if (results) kiln__mutex_unlock(&results->lock);
        kiln__mutex_unlock(&lost_lock);
    }
}

void kiln__flights_orphan(struct kiln_results *results)
{
    kiln__mutex_lock(&lost_lock);
    for (struct kiln_flight *flight = results->flights; flight; flight = flight->next) flight->results = NULL;
    kiln__mutex_unlock(&lost_lock);
}
