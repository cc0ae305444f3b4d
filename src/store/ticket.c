/*
 * ticket.c - see ticket.h. Invariant: what is made is put before the lock is released, so whoever waited finds it.
 */
#include "store/ticket.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/fork.h"
#include "store/claim.h"
#include "store/remotes/lease.h"
#include "store/remotes/writer.h"
#include "store/signing.h"

/* What is asked for. */
struct wanted {
    const struct kiln_digest *digest;
    kiln_bytes key;
    kiln_wanted *is_wanted;
    const void *context;
};

/* ---- find ----------------------------------------------------------------------------------------------------- */

static struct kiln_artifact *find_here(struct kiln_store *store, const struct wanted *wanted)
{
    return kiln__chain_find(store->tiers, wanted->digest, wanted->key, wanted->is_wanted, wanted->context);
}

static bool is_good(const struct kiln_artifact *artifact, const struct wanted *wanted)
{
    return artifact && (!wanted->is_wanted || wanted->is_wanted(artifact, wanted->context));
}

/* Where it came from is trusted, so it goes into the folder as it is. */
static struct kiln_artifact *keep_here(struct kiln_store *store, struct kiln_artifact *artifact)
{
    if (artifact) kiln__chain_put(store->tiers, artifact, NULL);
    return artifact;
}

/* Better than `here` (may be NULL), which is given back then; or `here`. */
static struct kiln_artifact *find_there(struct kiln_store *store, const struct wanted *wanted,
                                        struct kiln_artifact *here)
{
    if (!store->remotes || is_good(here, wanted)) return here;
    struct kiln_artifact *there = kiln__remotes_find(store->remotes, wanted->digest, wanted->key);
    bool is_better = there && (!here || is_good(there, wanted));
    kiln__artifact_unref(is_better ? here : there);
    return is_better ? keep_here(store, there) : here;
}

struct kiln_artifact *kiln__store_find(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context)
{
    const struct wanted wanted = {digest, key, is_wanted, context};
    return find_there(store, &wanted, find_here(store, &wanted));
}

struct kiln_prefetch *kiln__store_prefetch(struct kiln_store *store, const struct kiln_wanted_key *keys, size_t count)
{
    if (!store->remotes || !count) return NULL;
    struct kiln_wanted_key *missing = malloc(count * sizeof *missing);
    size_t missing_count = 0;
    for (size_t i = 0; i < count && missing; i++) {
        struct kiln_artifact *here = kiln__chain_find(store->tiers, &keys[i].digest, keys[i].key, NULL, NULL);
        if (!here) missing[missing_count++] = keys[i];
        kiln__artifact_unref(here);
    }
    struct kiln_prefetch *prefetch =
        missing_count ? kiln__remotes_prefetch(store->remotes, missing, missing_count) : NULL;
    free(missing);
    return prefetch;
}

/* ---- put ------------------------------------------------------------------------------------------------------ */

/* Only what is signed: nobody would believe the rest. The lease is ended in any case. */
static void put_there(struct kiln_remotes *remotes, struct kiln_artifact *artifact, bool is_offer,
                      struct kiln_lease *lease)
{
    if (artifact->signing.is_signed && is_offer)
        kiln__remotes_offer(remotes, artifact);
    else if (artifact->signing.is_signed)
        kiln__remotes_put(remotes, artifact, lease);
    else
        kiln__remotes_abandon(lease);
    if (artifact->signing.is_signed) return;
    if (remotes->signs)
        kiln__event(&remotes->events.faults, 1);
    else if (kiln__log_on(KILN_LOG_FAULT))
        kiln__log_once("nothing is put to remotes: KILN_SIGN_KEY is not set, and nobody would believe it");
}

static enum kiln_outcome put(struct kiln_store *store, const struct kiln_artifact *artifact, struct kiln_lease *lease,
                             kiln_error *err)
{
    struct kiln_artifact *vouched = kiln__artifact_to_put(artifact);
    enum kiln_outcome outcome = kiln__chain_put(store->tiers, vouched, err);
    if (store->remotes) put_there(store->remotes, vouched, false, lease);
    kiln__artifact_unref(vouched);
    return outcome;
}

enum kiln_outcome kiln__store_put(struct kiln_store *store, const struct kiln_artifact *artifact, kiln_error *err)
{
    return put(store, artifact, NULL, err);
}

void kiln__store_offer(struct kiln_store *store, const struct kiln_artifact *artifact)
{
    if (!store->remotes) return;
    struct kiln_artifact *vouched = kiln__artifact_to_put(artifact);
    put_there(store->remotes, vouched, true, NULL);
    kiln__artifact_unref(vouched);
}

void kiln__store_flush(struct kiln_store *store, uint64_t patience_ms)
{
    if (store->remotes) kiln__writer_flush(store->remotes, patience_ms * 1000000);
}

void kiln__store_release(struct kiln_store *store)
{
    if (store->remotes) kiln__remotes_unref(store->remotes);
    kiln__chain_free(store->tiers);
    *store = (struct kiln_store){0};
}

/* ---- tickets -------------------------------------------------------------------------------------------------- */

static void end(struct kiln_ticket *ticket)
{
    kiln__remotes_abandon(ticket->lease);
    kiln__lock_release(ticket->lock);
    *ticket = (struct kiln_ticket){0};
}

/* Who gave up waiting for another process, or holds something already, waits for no other host either. */
static struct kiln_artifact *wait_for_hosts(struct kiln_store *store, const struct wanted *wanted, uint64_t until_ns,
                                            struct kiln_ticket *ticket)
{
    struct kiln_artifact *artifact = NULL;
    if (!store->remotes) return NULL;
    enum kiln_outcome outcome =
        kiln__remotes_wait(store->remotes, wanted->digest, wanted->key, until_ns, &artifact, &ticket->lease);
    ticket->is_busy = outcome == KILN_MISS && !ticket->lease;
    return keep_here(store, artifact);
}

/* None is here. NULL, and a ticket unless others are busy with it. */
static struct kiln_artifact *take_or_wait(struct kiln_store *store, const struct wanted *wanted,
                                          struct kiln_ticket *ticket)
{
    uint64_t until_ns = ticket->is_exclusive ? ticket->until_ns : kiln__lock_until(ticket->is_last);
    struct kiln_artifact *artifact = find_there(store, wanted, NULL);
    if (artifact) return artifact;
    enum kiln_outcome outcome = kiln__chain_lock(store->tiers, wanted->digest, until_ns, &ticket->lock);
    ticket->is_busy = outcome == KILN_MISS && !ticket->lock;
    if (outcome == KILN_DONE) artifact = find_here(store, wanted);
    if (!artifact && !(ticket->is_busy && ticket->is_exclusive))
        artifact = wait_for_hosts(store, wanted, until_ns, ticket);
    kiln__lock_restart(ticket->lock);
    return artifact;
}

static struct kiln_artifact *take(struct kiln_store *store, const struct wanted *wanted, struct kiln_ticket *ticket)
{
    *ticket = (struct kiln_ticket){.is_last = ticket->is_last,
                                   .is_exclusive = ticket->is_exclusive,
                                   .until_ns = ticket->until_ns,
                                   .store = store,
                                   .forks = kiln__forks()};
    struct kiln_artifact *artifact = take_or_wait(store, wanted, ticket);
    bool is_busy = !artifact && ticket->is_exclusive && ticket->is_busy;
    if (artifact || is_busy) end(ticket);
    ticket->is_busy = is_busy;
    return artifact;
}

struct kiln_artifact *kiln__ticket_get(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context, struct kiln_ticket *ticket)
{
    const struct wanted wanted = {digest, key, is_wanted, context};
    struct kiln_artifact *artifact = find_here(store, &wanted);
    if (!artifact) return take(store, &wanted, ticket);
    *ticket = (struct kiln_ticket){0};
    return find_there(store, &wanted, artifact);
}

struct kiln_artifact *kiln__ticket_take(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                        struct kiln_ticket *ticket)
{
    return take(store, &(struct wanted){.digest = digest, .key = key}, ticket);
}

void kiln__ticket_detach(struct kiln_ticket *ticket)
{
    kiln__lock_detach(ticket->lock);
    if (ticket->lease) kiln__claim_remove(&ticket->lease->claim);
}

void kiln__ticket_expire_at(struct kiln_ticket *ticket, uint64_t expires_ns)
{
    ticket->expires_ns = expires_ns;
    kiln__lock_expire_at(ticket->lock, expires_ns);
    if (ticket->lease) kiln__lease_expire_at(ticket->lease, expires_ns);
}

/* A remote takes nothing under a lease that has gone, and a child must not end its parent's. */
static bool has_lease(const struct kiln_ticket *ticket)
{
    bool has_expired = ticket->expires_ns && kiln__clock_ns() >= ticket->expires_ns;
    return ticket->lease && !has_expired && ticket->forks == kiln__forks();
}

enum kiln_outcome kiln__ticket_put(struct kiln_ticket *ticket, const struct kiln_artifact *artifact, kiln_error *err)
{
    struct kiln_lease *lease = has_lease(ticket) ? ticket->lease : NULL;
    if (lease) ticket->lease = NULL;
    enum kiln_outcome outcome = ticket->store ? put(ticket->store, artifact, lease, err) : KILN_MISS;
    end(ticket);
    return outcome;
}

void kiln__ticket_abandon(struct kiln_ticket *ticket)
{
    end(ticket);
}
