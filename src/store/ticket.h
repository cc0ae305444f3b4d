/*
 * ticket.h - one artifact by its key, through all tiers of a cache: found, or ours to make.
 *
 * Asked are the tiers of this machine; then the remotes, without a lock: for an entry that is there, locking a file and
 * removing it would cost more than the entry. Then, under a lock file that makes other processes wait, the tiers again;
 * then, where a remote has leases, other hosts wait as well. A ticket says that its holder makes the
 * artifact; others who want it wait for that, for a bounded time (store/lock.h, store/remotes/lease.h). Every ticket
 * that kiln__ticket_get() fills is ended, by a put or by giving it up, on the thread that got it, the last one first;
 * or on any thread once it was detached. One that expires makes nobody wait any more, and is still to be ended. A
 * ticket only ever saves work: whatever goes wrong with it, the worst is that the same bytes are made twice. No fault
 * of a tier fails a call: it is counted, logged once, and passed by.
 *
 * What is put is signed where KILN_SIGN_KEY is set. What comes from a remote is put into the local folder as it came.
 */
#ifndef KILN_STORE_TICKET_H
#define KILN_STORE_TICKET_H

#include "store/remotes/remotes.h"
#include "store/tier.h"

/* Where a cache keeps artifacts. All zero: nowhere. */
struct kiln_store {
    struct kiln_tier *tiers;      /* asked in this order; the last writable one takes what is put */
    struct kiln_remotes *remotes; /* asked for what is in none of them; NULL: there are none */
};

struct kiln_ticket {
    bool is_last; /* set by the caller: whoever holds this ticket takes no other one. See kiln__lock_until() */
    bool
        is_exclusive; /* set by the caller: who has waited until `until_ns` in vain holds nothing, and is_busy is set */
    uint64_t until_ns; /* set by the caller of an exclusive one: waits for nobody any longer */
    bool is_busy;      /* another process or host makes it still */
    struct kiln_store *store;
    struct kiln_lock *lock;   /* NULL: no other process waits for us */
    struct kiln_lease *lease; /* NULL: no other host does */
    unsigned forks;           /* kiln__forks() when it was taken: a child of the holder does not hold it */
    uint64_t expires_ns;      /* see kiln__ticket_expire_at(); 0: never */
};

typedef bool kiln_wanted(const struct kiln_artifact *artifact, const void *context);

/* What is stored, the caller's reference; NULL: nothing is. One for which `is_wanted` (NULL: any) is true is preferred.
 * Waits for nobody. */
struct kiln_artifact *kiln__store_find(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context);
/* Puts an artifact that nobody waits for: one that was changed after it was found. Signed, where KILN_SIGN_KEY is set.
 * The outcome is that of the put here, as kiln__chain_put() says; `err` may be NULL. */
enum kiln_outcome kiln__store_put(struct kiln_store *store, const struct kiln_artifact *artifact, kiln_error *err);
/* Gives an artifact that was found here to remotes that lack it. */
void kiln__store_offer(struct kiln_store *store, const struct kiln_artifact *artifact);
/* Waits until remotes have what was put or offered, or have failed to take it, at most so long. */
void kiln__store_flush(struct kiln_store *store, uint64_t patience_ms);
/* Asks remotes for all keys together that no tier here has. Until kiln__prefetch_end(), a ticket or a find takes the
 * answers from there. NULL: there was nothing to ask. */
struct kiln_prefetch *kiln__store_prefetch(struct kiln_store *store, const struct kiln_wanted_key *keys, size_t count);
void kiln__store_release(struct kiln_store *store);

/*
 * The artifact, stored or made by another process while we waited: the caller's reference, and the ticket is none. Or
 * NULL and a ticket: make it, then put it or abandon the ticket.
 */
struct kiln_artifact *kiln__ticket_get(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context, struct kiln_ticket *ticket);
/* The same for who has just looked at the tiers of this machine in vain. */
struct kiln_artifact *kiln__ticket_take(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                        struct kiln_ticket *ticket);
/* From now on any thread may end it: nothing of the thread that got it refers to it. */
void kiln__ticket_detach(struct kiln_ticket *ticket);
/* At that time it stops making others wait. Before it is put or abandoned, by the process that got it. */
void kiln__ticket_expire_at(struct kiln_ticket *ticket, uint64_t expires_ns);
/* Puts what was made, here at once and to remotes in the background, and ends the ticket, expired or not. `artifact`
 * stays the caller's. The outcome is that of kiln__store_put(). */
enum kiln_outcome kiln__ticket_put(struct kiln_ticket *ticket, const struct kiln_artifact *artifact, kiln_error *err);
/* It could not be made: others may try. A ticket that is none is fine, also one that is all zero. */
void kiln__ticket_abandon(struct kiln_ticket *ticket);

#endif
