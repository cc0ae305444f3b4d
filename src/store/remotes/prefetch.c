/*
 * prefetch.c - kiln__remotes_prefetch(): the answers of remotes to keys that will be asked for in a moment.
 *
 * Invariant: answers are complete before a prefetch enters the list of its remotes, and do not change while it is
 * there. It ends with the work that it was made for, so that "there is none" is never believed for long.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/process/gate.h"
#include "store/remotes/query.h"

struct kiln_prefetch {
    struct kiln_prefetch *next;
    struct kiln_remotes *remotes;
    size_t count;
    struct kiln_query queries[];
};

static const struct kiln_query *find_query(const struct kiln_prefetch *prefetch, const struct kiln_digest *digest)
{
    for (size_t i = 0; i < prefetch->count; i++)
        if (!memcmp(&prefetch->queries[i].digest, digest, sizeof *digest)) return &prefetch->queries[i];
    return NULL;
}

static void ask(struct kiln_prefetch *prefetch)
{
    struct kiln_remotes *remotes = prefetch->remotes;
    uint64_t start = kiln__clock_ns();
    kiln__query(remotes, NULL, prefetch->queries, prefetch->count);
    for (size_t i = 0; i < prefetch->count; i++) {
        const struct kiln_query *query = &prefetch->queries[i];
        if (query->is_answered && !query->artifact) kiln__event(&remotes->events.misses, 1);
    }
    kiln__event(&remotes->events.ns, kiln__clock_ns() - start);
}

struct kiln_prefetch *kiln__remotes_prefetch(struct kiln_remotes *remotes, const struct kiln_wanted_key *keys,
                                             size_t count)
{
    struct kiln_prefetch *prefetch = calloc(1, sizeof *prefetch + count * sizeof *prefetch->queries);
    if (!prefetch) return NULL;
    prefetch->remotes = remotes;
    for (size_t i = 0; i < count; i++)
        if (!find_query(prefetch, &keys[i].digest))
            prefetch->queries[prefetch->count++] = (struct kiln_query){.digest = keys[i].digest, .key = keys[i].key};
    if (!prefetch->count) {
        free(prefetch);
        return NULL;
    }
    ask(prefetch);
    kiln__mutex_lock(&remotes->lock);
    prefetch->next = remotes->prefetches;
    remotes->prefetches = prefetch;
    kiln__mutex_unlock(&remotes->lock);
    return prefetch;
}

void kiln__prefetch_end(struct kiln_prefetch *prefetch)
{
    if (!prefetch) return;
    kiln__mutex_lock(&prefetch->remotes->lock);
    struct kiln_prefetch **link = &prefetch->remotes->prefetches;
    while (*link != prefetch) link = &(*link)->next;
    *link = prefetch->next;
    kiln__mutex_unlock(&prefetch->remotes->lock);
    for (size_t i = 0; i < prefetch->count; i++) kiln__artifact_unref(prefetch->queries[i].artifact);
    free(prefetch);
}

bool kiln__prefetch_find(struct kiln_remotes *remotes, const struct kiln_digest *digest, kiln_bytes key,
                         struct kiln_artifact **out)
{
    const struct kiln_query *found = NULL;
    *out = NULL;
    kiln__mutex_lock(&remotes->lock);
    for (const struct kiln_prefetch *prefetch = remotes->prefetches; prefetch && !found; prefetch = prefetch->next) {
        const struct kiln_query *query = find_query(prefetch, digest);
        if (query && query->is_answered) found = query;
    }
    bool is_known = found;
    struct kiln_artifact *artifact = found ? found->artifact : NULL;
    if (artifact && (artifact->key.size != key.size || memcmp(artifact->key.data, key.data, key.size) != 0))
        is_known = false;
    else if ((*out = artifact))
        kiln__artifact_ref(artifact);
    kiln__mutex_unlock(&remotes->lock);
    return is_known;
}
