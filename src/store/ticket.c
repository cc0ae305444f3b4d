/*
 * ticket.c - see ticket.h. Invariant: what is made is put before the lock is released, so whoever waited finds it.
 */
#include "store/ticket.h"

#include "store/signing.h"

struct kiln_artifact *kiln__store_find(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context)
{
    return kiln__chain_find(store->tiers, digest, key, is_wanted, context);
}

void kiln__store_put(struct kiln_store *store, const struct kiln_artifact *artifact)
{
    struct kiln_artifact *vouched = kiln__artifact_to_put(artifact);
    kiln__chain_put(store->tiers, vouched);
    kiln__artifact_unref(vouched);
}

void kiln__store_release(struct kiln_store *store)
{
    kiln__chain_free(store->tiers);
    *store = (struct kiln_store){0};
}

static void end(struct kiln_ticket *ticket)
{
    kiln__lock_release(ticket->lock);
    *ticket = (struct kiln_ticket){0};
}

struct kiln_artifact *kiln__ticket_get(struct kiln_store *store, const struct kiln_digest *digest, kiln_bytes key,
                                       kiln_wanted *is_wanted, const void *context, struct kiln_ticket *ticket)
{
    *ticket = (struct kiln_ticket){.is_last = ticket->is_last, .store = store};
    struct kiln_artifact *artifact = kiln__store_find(store, digest, key, is_wanted, context);
    if (!artifact && kiln__chain_lock(store->tiers, digest, ticket->is_last, &ticket->lock))
        artifact = kiln__store_find(store, digest, key, is_wanted, context);
    if (artifact) end(ticket);
    return artifact;
}

void kiln__ticket_put(struct kiln_ticket *ticket, const struct kiln_artifact *artifact)
{
    if (ticket->store) kiln__store_put(ticket->store, artifact);
    end(ticket);
}

void kiln__ticket_abandon(struct kiln_ticket *ticket)
{
    end(ticket);
}
