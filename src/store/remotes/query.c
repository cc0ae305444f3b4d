/*
 * query.c - see query.h.
 */
#include "store/remotes/query.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/remotes/arrival.h"

static void take_in(struct kiln_remotes *remotes, struct kiln_remote *remote, const kiln_remote_entry *entry,
                    struct kiln_query *query)
{
    kiln_error err = {.status = KILN_OK, .text = ""};
    kiln_bytes stored = {entry->data, entry->size};
    switch (kiln__arrival_open(stored, &query->digest, query->key, &query->artifact, &err)) {
    case KILN_ARRIVED:
        kiln__remote_was_honest(remote);
        break;
    case KILN_ARRIVED_FOREIGN:
        kiln__log(KILN_LOG_FAULT, "%s of remote %s is of another version, or for another machine: not used",
                  entry->name, remote->label);
        break;
    case KILN_ARRIVED_DAMAGED:
        kiln__remote_lied(remote, &err);
        break;
    case KILN_ARRIVED_UNTRUSTED:
        kiln__event(&remotes->events.refused_signatures, 1);
        kiln__log_once("an entry of remote %s is not used: %s", remote->label, err.text);
        break;
    }
}

struct asking {
    kiln_remote_entry *entries;
    struct kiln_query **queries; /* of each entry */
    char (*names)[KILN_DIGEST_HEX];
};

/* All that have no artifact yet. */
static size_t collect(struct asking *asking, struct kiln_query *queries, size_t count)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        if (queries[i].artifact) continue;
        kiln__digest_hex(&queries[i].digest, asking->names[open]);
        asking->entries[open] = (kiln_remote_entry){.name = asking->names[open]};
        asking->queries[open++] = &queries[i];
    }
    return open;
}

static void ask_remote(struct kiln_remotes *remotes, struct kiln_remote *remote, struct asking *asking, size_t count,
                       unsigned timeout_ms)
{
    kiln__remote_get(remote, asking->entries, count, timeout_ms);
    for (size_t i = 0; i < count; i++) {
        const kiln_remote_entry *entry = &asking->entries[i];
        if (entry->status == KILN_OK) take_in(remotes, remote, entry, asking->queries[i]);
        if (entry->status >= 0) asking->queries[i]->is_answered = true;
        free(entry->data);
    }
}

void kiln__query(struct kiln_remotes *remotes, struct kiln_remote *only, struct kiln_query *queries, size_t count)
{
    struct asking asking = {malloc(count * sizeof *asking.entries), malloc(count * sizeof *asking.queries),
                            malloc(count * sizeof *asking.names)};
    uint64_t until = kiln__clock_ns() + remotes->timeout_ms * 1000000ull, now;
    bool has_memory = asking.entries && asking.queries && asking.names;
    for (size_t i = 0; i < remotes->count && has_memory && (now = kiln__clock_ns()) < until; i++) {
        struct kiln_remote *remote = &remotes->list[i];
        size_t open = !only || only == remote ? collect(&asking, queries, count) : 0;
        if (open) ask_remote(remotes, remote, &asking, open, (unsigned)((until - now + 999999) / 1000000));
    }
    free(asking.entries);
    free(asking.queries);
    free(asking.names);
}
