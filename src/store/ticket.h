/*
 * ticket.h - one artifact by its key, through all tiers of a cache: found, or ours to make.
 *
 * A ticket says that its holder makes the artifact; others who want it wait for that, in this and other processes, for
 * a bounded time (store/lock.h). Every ticket that kiln__ticket_get() fills is ended, by a put or by giving it up, on
 * the thread that got it, the last one first. A ticket only ever saves work: whatever goes wrong with it, the worst is
 * that the same bytes are made twice. No fault of a tier fails a call: it is counted, logged once, and passed by.
 */
#ifndef KILN_STORE_TICKET_H
#define KILN_STORE_TICKET_H

#include "store/tier.h"

/* Where a cache keeps artifacts. All zero: nowhere. */
struct kiln_store {
    struct kiln_tier *tiers; /* asked in this order; the last writable one takes what is put */
};

struct kiln_ticket {
    bool is_last; /* set by the caller: whoever holds this ticket takes no other one. See kiln__lock_take() */
    struct kiln_store *store;
    struct kiln_lock *lock; /* NULL: nobody waits for us */
};

typedef bool kiln_wanted(const struct kiln_artifact *artifact, const void *context);

/* What is stored, the caller's reference; NULL: nothing is. One for which `is_wanted` (NULL: any) is true is preferred.
 * Waits for nobody. */
struct kiln_artifact *kiln__store_find(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context);
/* Puts an artifact that nobody waits for: one that was changed after it was found. Signed, where KILN_SIGN_KEY is set.
 */
void kiln__store_put(struct kiln_store *store, const struct kiln_artifact *artifact);
void kiln__store_release(struct kiln_store *store);

/*
 * The artifact, stored or made by another process while we waited: the caller's reference, and the ticket is none. Or
 * NULL and a ticket: make it, then put it or abandon the ticket.
 */
struct kiln_artifact *kiln__ticket_get(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context, struct kiln_ticket *ticket);
/* Puts what was made, and ends the ticket. `artifact` stays the caller's. */
void kiln__ticket_put(struct kiln_ticket *ticket, const struct kiln_artifact *artifact);
/* It could not be made: others may try. A ticket that is none is fine, also one that is all zero. */
void kiln__ticket_abandon(struct kiln_ticket *ticket);

#endif
