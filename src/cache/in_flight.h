/*
 * in_flight.h - single flight: one key being made by one thread, while others wait for it. Inside the cache room.
 *
 * No lock is held while a maker runs. Threads keep the list of what they make, the innermost first, so that a maker
 * that asks for its own key is noticed, and that what a thread leaves behind is given up: when it ends, or when it is
 * found to have jumped out of the maker's frames (base/callback.h).
 */
#ifndef KILN_CACHE_IN_FLIGHT_H
#define KILN_CACHE_IN_FLIGHT_H

#include "cache/memo_table.h"
#include "store/lock.h"

/*
 * One key being made. The maker owns it; it goes when the last waiter has read the outcome. Waiters wait with a lock of
 * the flight's own, so that fork never finds the results' lock in the hands of one that just woke up; in a forked
 * child, flights of other threads will never land and are passed over. A flight whose maker left, or jumped out of its
 * frames, lands as given up: those who wait make the value themselves.
 */
struct kiln_flight {
    struct kiln_flight *outer; /* this thread makes that one, and needs this one for it */
    unsigned outer_level;
    struct kiln_lock *outer_lock; /* that this thread held when it began */
    uintptr_t frame;              /* of the maker, see base/callback.h */
    struct kiln_results *results; /* NULL: they went while the flight was lost */
    struct kiln_flight *next;     /* of results->flights */
    bool is_shared;               /* others wait for it */
    unsigned forks;               /* kiln__forks() when it started */
    pthread_mutex_t lock;         /* guards `landed` while somebody waits; taken after the results' lock */
    pthread_cond_t done;
    bool landed;
    kiln_status status;
    kiln_error error;
    void *value;
    unsigned waiters;
    uint64_t hash;
    uint32_t count;
    uint64_t key[];
};

enum { KILN_AGAIN = 100 }; /* the status of a flight that was given up: ask again */

/* With the lock of the results held, these four; waiting gives it up meanwhile. */
struct kiln_flight *kiln__flight_find(struct kiln_results *results, const struct kiln_signature *signature,
                                      uint64_t hash);
/* NULL: out of memory. Not shared when others wait for another flight with this key. */
struct kiln_flight *kiln__flight_start(struct kiln_results *results, const struct kiln_signature *signature,
                                       uint64_t hash, bool is_shared);
kiln_status kiln__flight_wait(struct kiln_results *results, struct kiln_flight *flight, void **value, kiln_error *err);
/* The flight is gone afterwards. `error` may be NULL. */
void kiln__flight_land(struct kiln_results *results, struct kiln_flight *flight, kiln_status status, void *value,
                       const kiln_error *error);

/* Around the maker, whose caller has this frame. */
void kiln__making_begin(struct kiln_thread *thread, struct kiln_flight *flight, uintptr_t frame);
void kiln__making_end(struct kiln_thread *thread, const struct kiln_flight *flight);
/* Is this thread making that key, or does it nest too deep? */
bool kiln__is_making(const struct kiln_thread *thread, const struct kiln_signature *signature);

/* The results go: what a thread jumped out of and has not noticed yet belongs to nobody. */
void kiln__flights_orphan(struct kiln_results *results);

#endif
