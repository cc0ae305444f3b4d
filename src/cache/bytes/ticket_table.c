/*
 * ticket_table.c - see ticket_table.h.
 *
 * Invariants: a ticket is in its table from when it is made until its holder ends it or the table closes. At most one
 * ticket for a key is not over, not expired and of this process.
 */
#include "cache/bytes/ticket_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process/fork.h"
#include "base/process/gate.h"

void kiln__tickets_init(struct kiln_ticket_table *table)
{
    pthread_mutex_init(&table->lock, NULL);
    table->first = NULL;
}

/* ---- one ticket ----------------------------------------------------------------------------------------------- */

static bool is_ours(const struct kiln_store_ticket *ticket)
{
    return ticket->forks == kiln__forks();
}

static void ticket_free(struct kiln_store_ticket *ticket)
{
    if (is_ours(ticket)) { /* in a child, threads that are not there may have them */
        pthread_cond_destroy(&ticket->changed);
        pthread_mutex_destroy(&ticket->waiting);
    }
    kiln__content_release(&ticket->key);
    kiln__artifact_unref(ticket->stored);
    free(ticket->name);
    free(ticket);
}

/* NULL: out of memory. */
static struct kiln_store_ticket *ticket_new(const struct kiln_content_key *key)
{
    struct kiln_store_ticket *ticket = calloc(1, sizeof *ticket);
    pthread_condattr_t clock;
    if (!ticket) return NULL;
    *ticket = (struct kiln_store_ticket){
        .expires_ns = UINT64_MAX, .thread = gettid(), .forks = kiln__forks(), .refs = 1, .key.digest = key->digest};
    pthread_mutex_init(&ticket->waiting, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&ticket->changed, &clock);
    pthread_condattr_destroy(&clock);
    kiln__buffer_append(&ticket->key.fields, key->fields.data, key->fields.size);
    if (!ticket->key.fields.failed) return ticket;
    ticket_free(ticket);
    return NULL;
}

/* With the table's lock held, these two. */
static void unref(struct kiln_store_ticket *ticket)
{
    if (!--ticket->refs) ticket_free(ticket);
}

static void finish(struct kiln_store_ticket *ticket)
{
    pthread_mutex_lock(&ticket->waiting);
    ticket->is_over = true;
    pthread_cond_broadcast(&ticket->changed);
    pthread_mutex_unlock(&ticket->waiting);
}

/* ---- take ----------------------------------------------------------------------------------------------------- */

static bool has_key(const struct kiln_store_ticket *ticket, const struct kiln_digest *digest, kiln_bytes key)
{
    return !memcmp(&ticket->key.digest, digest, sizeof *digest) && ticket->key.fields.size == key.size &&
           !memcmp(ticket->key.fields.data, key.data, key.size);
}

/* The one that makes others wait; NULL: there is none. */
static struct kiln_store_ticket *find(const struct kiln_ticket_table *table, const struct kiln_content_key *key)
{
    uint64_t now = kiln__clock_ns();
    const kiln_bytes fields = {key->fields.data, key->fields.size};
    for (struct kiln_store_ticket *ticket = table->first; ticket; ticket = ticket->next)
        if (is_ours(ticket) && !ticket->is_over && atomic_load(&ticket->expires_ns) > now &&
            has_key(ticket, &key->digest, fields))
            return ticket;
    return NULL;
}

/* Until it is over or has expired, or until `until_ns`. */
static void wait_for(struct kiln_store_ticket *ticket, uint64_t until_ns)
{
    pthread_mutex_lock(&ticket->waiting);
    while (!ticket->is_over) {
        uint64_t expires_ns = atomic_load(&ticket->expires_ns), at_ns = until_ns < expires_ns ? until_ns : expires_ns;
        struct timespec time = {(time_t)(at_ns / 1000000000), (long)(at_ns % 1000000000)};
        if (kiln__clock_ns() >= at_ns) break;
        pthread_cond_timedwait(&ticket->changed, &ticket->waiting, &time);
    }
    pthread_mutex_unlock(&ticket->waiting);
}

static enum kiln_outcome add(struct kiln_ticket_table *table, const struct kiln_content_key *key,
                             struct kiln_store_ticket **out, kiln_error *err)
{
    struct kiln_store_ticket *ticket = ticket_new(key);
    if (!ticket) return kiln__outcome(kiln__no_memory(err, "a ticket"), err);
    ticket->table = table;
    ticket->next = table->first;
    table->first = *out = ticket;
    return KILN_MISS;
}

enum kiln_outcome kiln__tickets_take(struct kiln_ticket_table *table, const struct kiln_content_key *key,
                                     uint64_t until_ns, struct kiln_store_ticket **out, struct kiln_artifact **stored,
                                     kiln_error *err)
{
    struct kiln_store_ticket *ticket;
    *out = NULL;
    *stored = NULL;
    kiln__mutex_lock(&table->lock);
    while ((ticket = find(table, key)) && ticket->thread != gettid() && kiln__clock_ns() < until_ns) {
        ticket->refs++;
        kiln__mutex_unlock(&table->lock);
        wait_for(ticket, until_ns);
        kiln__mutex_lock(&table->lock);
        *stored = ticket->stored;
        if (*stored) kiln__artifact_ref(*stored);
        unref(ticket);
        if (*stored) break;
    }
    enum kiln_outcome outcome = *stored ? KILN_DONE : ticket ? KILN_MISS : add(table, key, out, err);
    kiln__mutex_unlock(&table->lock);
    return outcome;
}

void kiln__tickets_hold(struct kiln_store_ticket *ticket, uint64_t expires_ns)
{
    pthread_mutex_lock(&ticket->waiting);
    atomic_store(&ticket->expires_ns, expires_ns);
    pthread_cond_broadcast(&ticket->changed);
    pthread_mutex_unlock(&ticket->waiting);
}

/* ---- end ------------------------------------------------------------------------------------------------------ */

void kiln__tickets_put(struct kiln_ticket_table *table, struct kiln_artifact *stored)
{
    kiln__mutex_lock(&table->lock);
    for (struct kiln_store_ticket *ticket = table->first; ticket; ticket = ticket->next) {
        if (!is_ours(ticket) || ticket->is_over) continue;
        if (!has_key(ticket, &stored->digest, (kiln_bytes){stored->key.data, stored->key.size})) continue;
        kiln__artifact_ref(stored);
        ticket->stored = stored;
        finish(ticket);
    }
    kiln__mutex_unlock(&table->lock);
}

static void remove_from(struct kiln_ticket_table *table, const struct kiln_store_ticket *ticket)
{
    struct kiln_store_ticket **link = &table->first;
    while (*link != ticket) link = &(*link)->next;
    *link = ticket->next;
}

/* Processes first: whoever waits here asks them next. */
void kiln__tickets_end(struct kiln_store_ticket *ticket)
{
    if (!ticket) return;
    struct kiln_ticket_table *table = ticket->table;
    kiln__ticket_abandon(&ticket->shared);
    if (!table) {
        ticket_free(ticket);
        return;
    }
    kiln__mutex_lock(&table->lock);
    remove_from(table, ticket);
    if (!is_ours(ticket)) {
        ticket_free(ticket);
    } else {
        finish(ticket);
        unref(ticket);
    }
    kiln__mutex_unlock(&table->lock);
}

void kiln__tickets_release(struct kiln_ticket_table *table)
{
    for (struct kiln_store_ticket *ticket = table->first; ticket; ticket = ticket->next) {
        kiln__ticket_abandon(&ticket->shared);
        ticket->table = NULL;
    }
    table->first = NULL;
    pthread_mutex_destroy(&table->lock);
}
