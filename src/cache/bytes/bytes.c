/*
 * bytes.c - the bytes of others (kiln.h): kiln_store_get(), kiln_store_put(), kiln_store_abandon().
 *
 * Invariant: bytes are stored before a ticket is ended, so whoever waited finds them. What no folder takes is kept in
 * the memory of the cache, and threads that waited for it get it either way.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "cache/bytes/bytes_artifact.h"
#include "cache/cache.h"
#include "cache/kernels/compiling.h"
#include "cache/memo/thread_cache.h"
#include "store/claim.h"

enum { DEFAULT_WAIT_MS = 10000, DEFAULT_DEADLINE_MS = 600000, NS_PER_MS = 1000000 };

/* ---- what is asked for ---------------------------------------------------------------------------------------- */

struct asked {
    kiln_cache *cache;
    kiln_store_options options;
    struct kiln_content_key key;
};

static kiln_status read_options(const kiln_store_options *given, kiln_store_options *out, const char *function,
                                kiln_error *err)
{
    *out = (kiln_store_options){.struct_size = sizeof *out};
    if (!given) return KILN_OK;
    if (given->struct_size != sizeof *out)
        return kiln__fail(err, KILN_INVALID, "%s: struct_size is %zu, expected sizeof(kiln_store_options), %zu",
                          function, given->struct_size, sizeof *out);
    *out = *given;
    if (out->flags & ~(unsigned)KILN_STORE_NO_WAIT)
        return kiln__fail(err, KILN_INVALID, "%s: there are no such flags: %#x", function, out->flags);
    if (!out->about || strlen(out->about) <= KILN_STORE_MAX_ABOUT) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%s: `about` has %zu bytes; the most is %zu", function, strlen(out->about),
                      KILN_STORE_MAX_ABOUT);
}

/* After success asked->key is to be released. */
static kiln_status ask(struct asked *asked, kiln_cache *cache, kiln_bytes key, const kiln_store_options *options,
                       const char *function, kiln_error *err)
{
    *asked = (struct asked){.cache = cache};
    if (!cache) return kiln__fail(err, KILN_INVALID, "%s: no cache", function);
    if (!key.data || !key.size || key.size > KILN_STORE_MAX_KEY)
        return kiln__fail(err, KILN_INVALID, "%s: a key has 1 to %zu bytes, not %zu%s", function, KILN_STORE_MAX_KEY,
                          key.size, key.data ? "" : " at NULL");
    kiln_status status = read_options(options, &asked->options, function, err);
    if (!status) status = kiln__content_of_bytes(key, &asked->key, err);
    if (status) kiln__content_release(&asked->key);
    return status;
}

static kiln_bytes fields_of(const struct asked *asked)
{
    return (kiln_bytes){asked->key.fields.data, asked->key.fields.size};
}

static const char *name_of(const struct asked *asked)
{
    return asked->options.name && *asked->options.name ? asked->options.name : "(without a name)";
}

/* ---- stored --------------------------------------------------------------------------------------------------- */

/* Not that of the tiers: it holds what no folder took. */
static struct kiln_artifact *find_in_memory(const struct asked *asked)
{
    struct kiln_tier *memory = asked->cache->memory;
    struct kiln_artifact *found = NULL;
    memory->methods->get(memory, &asked->key.digest, fields_of(asked), &found, NULL);
    return found;
}

/* `found` (may be NULL) was in a folder, a pack or a remote. What has no bytes was not made by kiln_store_put(). */
static struct kiln_artifact *count(const struct asked *asked, struct kiln_artifact *found)
{
    struct kiln_counts *counts = &asked->cache->counts;
    if (!found) return NULL;
    if (!kiln__bytes_of(found).data) {
        kiln__chain_discard(asked->cache->store.tiers, found);
        kiln__artifact_unref(found);
        return NULL;
    }
    kiln__add(found->is_remote ? &counts->remote_hits : &counts->disk_hits, 1);
    kiln__add(&counts->saved_ns, found->compile_ns);
    return found;
}

static kiln_status give(struct kiln_artifact *found, kiln_store_value *value)
{
    *value = (kiln_store_value){kiln__bytes_of(found), found};
    return KILN_OK;
}

/* ---- get ------------------------------------------------------------------------------------------------------ */

/* The maker of one thing waits for nobody: who makes the other may wait for that one. */
static uint64_t wait_until(const kiln_store_options *options)
{
    bool is_making = kiln__claim() || (kiln__this_thread && kiln__this_thread->making);
    uint64_t wait_ms = options->wait_ms ? options->wait_ms : DEFAULT_WAIT_MS;
    if (is_making || options->flags & KILN_STORE_NO_WAIT) wait_ms = 0;
    return kiln__clock_ns() + wait_ms * NS_PER_MS;
}

/* It is ours in this process. NULL: to be made, if it is ours among processes and hosts too. */
static struct kiln_artifact *share(const struct asked *asked, uint64_t until_ns, struct kiln_store_ticket *ticket)
{
    struct kiln_artifact *found = find_in_memory(asked); /* another thread may just have been done */
    if (found) return found;
    ticket->shared = (struct kiln_ticket){.is_exclusive = true, .until_ns = until_ns};
    found = kiln__ticket_take(&asked->cache->store, &asked->key.digest, fields_of(asked), &ticket->shared);
    kiln__ticket_detach(&ticket->shared);
    return count(asked, found);
}

static void hold(const struct asked *asked, struct kiln_store_ticket *ticket)
{
    uint64_t deadline_ms = asked->options.deadline_ms ? asked->options.deadline_ms : DEFAULT_DEADLINE_MS;
    ticket->since_ns = kiln__clock_ns();
    uint64_t expires_ns = ticket->since_ns + deadline_ms * NS_PER_MS;
    if (asked->options.name) ticket->name = strdup(asked->options.name); /* when out of memory it has none */
    kiln__ticket_expire_at(&ticket->shared, expires_ns);
    kiln__tickets_hold(ticket, expires_ns);
    kiln__log(KILN_LOG_MISS, "bytes %s: nothing is stored, and they are made here", name_of(asked));
}

/* Nothing is in the tiers of this machine. */
static kiln_status take(const struct asked *asked, kiln_store_value *value, kiln_store_ticket **out, kiln_error *err)
{
    uint64_t until_ns = wait_until(&asked->options);
    struct kiln_store_ticket *ticket;
    struct kiln_artifact *found;
    enum kiln_outcome outcome = kiln__tickets_take(&asked->cache->tickets, &asked->key, until_ns, &ticket, &found, err);
    if (outcome == KILN_FAILED) return KILN_NO_MEMORY;
    if (ticket) found = share(asked, until_ns, ticket);
    if (found && ticket) kiln__tickets_put(&asked->cache->tickets, found);
    if (found || !ticket || ticket->shared.is_busy) {
        kiln__tickets_end(ticket);
        *out = NULL;
        return found ? give(found, value) : KILN_STORE_BUSY;
    }
    hold(asked, ticket);
    *out = ticket;
    return KILN_STORE_MISS;
}

/* Of who makes nothing: remotes are asked too, and nobody is waited for. */
static kiln_status peek(const struct asked *asked, kiln_store_value *value)
{
    struct kiln_store *store = &asked->cache->store;
    struct kiln_artifact *found = find_in_memory(asked);
    if (!found) found = count(asked, kiln__store_find(store, &asked->key.digest, fields_of(asked), NULL, NULL));
    return found ? give(found, value) : KILN_STORE_MISS;
}

static kiln_status get(const struct asked *asked, kiln_store_value *value, kiln_store_ticket **ticket, kiln_error *err)
{
    struct kiln_tier *tiers = asked->cache->store.tiers;
    struct kiln_artifact *found =
        count(asked, kiln__chain_find(tiers, &asked->key.digest, fields_of(asked), NULL, NULL));
    if (!found) found = find_in_memory(asked);
    if (!found) return take(asked, value, ticket, err);
    *ticket = NULL;
    return give(found, value);
}

kiln_status kiln_store_get(kiln_cache *cache, kiln_bytes key, const kiln_store_options *options,
                           kiln_store_value *value, kiln_store_ticket **ticket, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct asked asked;
    if (!value) return kiln__fail(err, KILN_INVALID, "kiln_store_get: no pointer for the value");
    kiln_status status = ask(&asked, cache, key, options, "kiln_store_get", err);
    if (status) return status;
    status = ticket ? get(&asked, value, ticket, err) : peek(&asked, value);
    kiln__content_release(&asked.key);
    return status;
}

void kiln_store_release(kiln_store_value *value)
{
    KILN_HOLD_CANCEL;
    if (!value) return;
    kiln__artifact_unref(value->owner);
    *value = (kiln_store_value){0};
}

/* ---- put ------------------------------------------------------------------------------------------------------ */

static kiln_status check_value(kiln_bytes value, kiln_error *err)
{
    if (value.size > KILN_STORE_MAX_VALUE)
        return kiln__fail(err, KILN_INVALID, "kiln_store_put: a value of %zu bytes; the most is %zu", value.size,
                          KILN_STORE_MAX_VALUE);
    if (!value.data && value.size)
        return kiln__fail(err, KILN_INVALID, "kiln_store_put: a value of %zu bytes at NULL", value.size);
    return KILN_OK;
}

/* One of a cache that was closed is for nothing, and fits everything. */
static kiln_status check_ticket(const struct asked *asked, const kiln_store_ticket *ticket, kiln_error *err)
{
    if (!ticket || !ticket->table) return KILN_OK;
    if (ticket->table != &asked->cache->tickets)
        return kiln__fail(err, KILN_INVALID, "kiln_store_put: the ticket is of another cache");
    if (!memcmp(&ticket->key.digest, &asked->key.digest, sizeof asked->key.digest)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "kiln_store_put: the ticket is for another key");
}

static kiln_status keep_in_memory(const struct asked *asked, const struct kiln_artifact *artifact, kiln_error *err)
{
    kiln_error unread;
    struct kiln_tier *memory = asked->cache->memory;
    return memory->methods->put(memory, artifact, err ? err : &unread);
}

static kiln_status store(const struct asked *asked, struct kiln_artifact *artifact, kiln_store_ticket *ticket,
                         kiln_error *err)
{
    struct kiln_cache *cache = asked->cache;
    kiln_error error = {KILN_OK, ""};
    bool has_ticket = ticket && ticket->shared.store;
    enum kiln_outcome outcome = has_ticket ? kiln__ticket_put(&ticket->shared, artifact, &error)
                                           : kiln__store_put(&cache->store, artifact, &error);
    kiln_status status = KILN_OK;
    if (outcome == KILN_FAILED) {
        keep_in_memory(asked, artifact, NULL);
        status = kiln__fail(err, error.status, "%s: %s", name_of(asked), error.text);
    } else if (outcome == KILN_MISS) {
        status = keep_in_memory(asked, artifact, err);
    }
    kiln__tickets_put(&cache->tickets, artifact);
    if (cache->mode == KILN_MODE_COMPILE_ONLY) kiln__store_flush(&cache->store, KILN_FILL_MS);
    return status;
}

static kiln_status put(struct asked *asked, kiln_bytes value, kiln_store_ticket *ticket, kiln_error *err)
{
    kiln_status status = check_ticket(asked, ticket, err);
    if (status) return status;
    if (ticket && !asked->options.name) asked->options.name = ticket->name;
    const struct kiln_bytes_facts facts = {.name = asked->options.name,
                                           .about = asked->options.about,
                                           .made_ns = ticket ? kiln__clock_ns() - ticket->since_ns : 0};
    struct kiln_artifact *artifact = kiln__bytes_artifact(&asked->key, value, &facts);
    if (!artifact) return kiln__no_memory(err, "a value");
    status = store(asked, artifact, ticket, err);
    kiln__artifact_unref(artifact);
    return status;
}

kiln_status kiln_store_put(kiln_cache *cache, kiln_bytes key, kiln_bytes value, const kiln_store_options *options,
                           kiln_store_ticket *ticket, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct asked asked;
    kiln_status status = check_value(value, err);
    if (!status) status = ask(&asked, cache, key, options, "kiln_store_put", err);
    if (!status) {
        status = put(&asked, value, ticket, err);
        kiln__content_release(&asked.key);
    }
    kiln__tickets_end(ticket);
    return status;
}

void kiln_store_abandon(kiln_store_ticket *ticket)
{
    KILN_HOLD_CANCEL;
    kiln__tickets_end(ticket);
}
