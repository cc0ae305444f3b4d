/*
 * in_flight.h - single flight: one key being made by one thread, while others wait for it. Inside the cache layer.
 *
 * No lock is held while a maker runs. Threads keep the list of what they make, the innermost first, so that a maker
 * that asks for its own key is noticed, and that what a thread leaves behind is given up: when it ends, or when it is
 * found to have jumped out of the maker's frames (base/process/callback.h).
 */
#ifndef KILN_CACHE_MEMO_IN_FLIGHT_H
#define KILN_CACHE_MEMO_IN_FLIGHT_H

#include "cache/memo/memo_table.h"
#include "store/claim.h"

/*
 * One key being made. The maker owns it; the last waiter that reads the outcome frees it. Waiters use a lock of the
 * in-flight compile's own, so that fork() never finds the memo table's lock held by a thread that just woke up. A
 * forked child skips in-flight compiles of other threads, which will never land there. When the maker's thread leaves,
 * or jumps out of its frames, the compile lands as KILN_ABANDONED, and those who waited make the value themselves.
 */
struct kiln_in_flight {
    struct kiln_in_flight *outer; /* this thread makes that one, and needs this one for it */
    unsigned outer_level;
    struct kiln_claim *claimed_before; /* what this thread held when it began */
    uintptr_t frame;                   /* of the maker, see base/process/callback.h */
    struct kiln_memo_table *memo;      /* NULL: it was freed while the in-flight compile was lost */
    struct kiln_in_flight *next;       /* in the memo table's list */
    bool is_shared;                    /* others wait for it */
    unsigned forks;                    /* kiln__forks() when it started */
    pthread_mutex_t lock;              /* guards `landed` while somebody waits; taken after the memo table's lock */
    pthread_cond_t done;
    bool landed;
    enum kiln_outcome outcome;
    kiln_error error;
    void *value;
    unsigned waiters;
    uint64_t hash;
    uint32_t count;
    uint64_t key[];
};

/* With the lock of the memo table held, these four; waiting gives it up meanwhile. */
struct kiln_in_flight *kiln__in_flight_find(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                            uint64_t hash);
/* NULL: out of memory. Not shared when others wait for another in-flight compile with this key. */
struct kiln_in_flight *kiln__in_flight_start(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                             uint64_t hash, bool is_shared);
enum kiln_outcome kiln__in_flight_wait(struct kiln_memo_table *memo, struct kiln_in_flight *in_flight, void **value,
                                       kiln_error *err);
/* The in-flight compile is gone afterwards. `error` may be NULL. */
void kiln__in_flight_land(struct kiln_memo_table *memo, struct kiln_in_flight *in_flight, enum kiln_outcome outcome,
                          void *value, const kiln_error *error);

/* Around the maker, whose caller has this frame. */
void kiln__making_begin(struct kiln_thread *thread, struct kiln_in_flight *in_flight, uintptr_t frame);
void kiln__making_end(struct kiln_thread *thread, const struct kiln_in_flight *in_flight);
/* Is this thread making that key, or does it nest too deep? */
bool kiln__is_making(const struct kiln_thread *thread, const struct kiln_signature *signature);

/* The memo table goes: what a thread jumped out of and has not noticed yet belongs to nobody. */
void kiln__in_flight_orphan(struct kiln_memo_table *memo);

#endif
