/*
 * memory_tier.c - the memory tier: a table of artifacts by the digest of their key.
 *
 * Invariant: slots hold one reference each; at least one slot in four is empty, so a probe always ends. The digest
 * finds a slot, the full key decides. When a bound is passed, the least recently used tenth goes, and the table is made
 * anew: so nothing is ever taken out of a table.
 */
#include "store/tier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/gate.h"
#include "store/prune.h"

struct slot {
    struct kiln_artifact *artifact; /* NULL: empty */
    uint64_t hash, used;            /* `used` grows with every look-up that finds something */
};

struct memory {
    struct kiln_tier tier; /* first: a kiln_tier * is a struct memory * */
    struct kiln_bounds bounds;
    pthread_mutex_t lock; /* guards what follows */
    struct slot *slots;
    size_t count, cap; /* cap is 0 or a power of two */
    uint64_t bytes, clock;
};

static uint64_t hash_of(kiln_bytes key)
{
    uint64_t hash;
    struct kiln_digest digest = kiln__digest(key.data, key.size);
    memcpy(&hash, digest.bytes, sizeof hash);
    return hash;
}

/* The slot that holds this key, or the empty one where it belongs. */
static struct slot *find_slot(struct slot *slots, size_t cap, uint64_t hash, kiln_bytes key)
{
    for (size_t i = (size_t)hash;; i++) {
        struct slot *slot = &slots[i & (cap - 1)];
        if (!slot->artifact) return slot;
        const struct kiln_buffer *held = &slot->artifact->key;
        if (held->size == key.size && (key.size == 0 || memcmp(held->data, key.data, key.size) == 0)) return slot;
    }
}

static kiln_bytes key_of(const struct kiln_artifact *artifact)
{
    return (kiln_bytes){artifact->key.data, artifact->key.size};
}

/* Moves what was used at `since` or later to a table of this size, and drops the rest. False: out of memory. */
static bool rebuild(struct memory *memory, size_t cap, uint64_t since)
{
    struct slot *slots = calloc(cap, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < memory->cap; i++) {
        struct slot *from = &memory->slots[i];
        if (!from->artifact) continue;
        if (from->used >= since) {
            *find_slot(slots, cap, from->hash, key_of(from->artifact)) = *from;
            continue;
        }
        memory->count--;
        memory->bytes -= kiln__artifact_size(from->artifact);
        kiln__artifact_unref(from->artifact);
    }
    free(memory->slots);
    memory->slots = slots, memory->cap = cap;
    return true;
}

/* ---- bounds --------------------------------------------------------------------------------------------------- */

static int by_use(const void *a, const void *b)
{
    uint64_t left = ((const struct slot *)a)->used, right = ((const struct slot *)b)->used;
    return (left > right) - (left < right);
}

/* All slots, the empty ones first, then from the least recently used on. */
static struct slot *sorted(const struct memory *memory)
{
    struct slot *slots = malloc(memory->cap * sizeof *slots);
    if (!slots) return NULL;
    memcpy(slots, memory->slots, memory->cap * sizeof *slots);
    qsort(slots, memory->cap, sizeof *slots, by_use);
    return slots;
}

/* The last one stays. When out of memory all stay until the next put. */
static void evict(struct memory *memory)
{
    const struct kiln_bounds *bounds = &memory->bounds;
    if (memory->count <= bounds->files && memory->bytes <= bounds->bytes) return;
    uint64_t most_files = bounds->files - bounds->files / 10, most_bytes = bounds->bytes - bounds->bytes / 10;
    uint64_t files = memory->count, bytes = memory->bytes, since = 0;
    struct slot *slots = sorted(memory);
    for (size_t i = 0; slots && i + 1 < memory->cap && (files > most_files || bytes > most_bytes); i++) {
        if (!slots[i].artifact) continue;
        files--;
        bytes -= kiln__artifact_size(slots[i].artifact);
        since = slots[i].used + 1;
    }
    free(slots);
    uint64_t before = memory->count;
    if (since && rebuild(memory, memory->cap, since))
        atomic_fetch_add_explicit(&memory->tier.events->evictions, before - memory->count, memory_order_relaxed);
}

/* ---- the tier ------------------------------------------------------------------------------------------------- */

static enum kiln_outcome memory_get(struct kiln_tier *tier, const struct kiln_digest *digest, kiln_bytes key,
                                    struct kiln_artifact **out, kiln_error *err)
{
    struct memory *memory = (struct memory *)tier;
    uint64_t hash;
    (void)err;
    memcpy(&hash, digest->bytes, sizeof hash);
    kiln__mutex_lock(&memory->lock);
    struct slot *slot = memory->cap > 0 ? find_slot(memory->slots, memory->cap, hash, key) : NULL;
    struct kiln_artifact *found = slot ? slot->artifact : NULL;
    if (found) kiln__artifact_ref(found), slot->used = ++memory->clock;
    kiln__mutex_unlock(&memory->lock);
    if (!found) return KILN_MISS;
    *out = found;
    return KILN_DONE;
}

static void fill(struct memory *memory, struct slot *slot, uint64_t hash, struct kiln_artifact *artifact)
{
    if (slot->artifact)
        memory->bytes -= kiln__artifact_size(slot->artifact);
    else
        memory->count++;
    memory->bytes += kiln__artifact_size(artifact);
    kiln__artifact_ref(artifact);
    kiln__artifact_unref(slot->artifact);
    *slot = (struct slot){artifact, hash, ++memory->clock};
}

static kiln_status memory_put(struct kiln_tier *tier, const struct kiln_artifact *artifact, kiln_error *err)
{
    enum { LEAST = 16 };
    struct memory *memory = (struct memory *)tier;
    struct kiln_artifact *kept = (struct kiln_artifact *)(uintptr_t)artifact; /* only its reference count changes */
    size_t size = kiln__artifact_size(artifact);
    if (size > memory->bounds.bytes)
        return kiln__fail(err, KILN_IO, "an artifact of %zu bytes is larger than the cache may be (%llu bytes)", size,
                          (unsigned long long)memory->bounds.bytes);
    kiln_status status = KILN_OK;
    uint64_t hash = hash_of(key_of(artifact));
    kiln__mutex_lock(&memory->lock);
    bool has_room = memory->count < memory->cap / 4 * 3;
    if (!has_room && !rebuild(memory, memory->cap > 0 ? memory->cap * 2 : LEAST, 0)) {
        status = kiln__no_memory(err, "the memory tier");
    } else {
        fill(memory, find_slot(memory->slots, memory->cap, hash, key_of(artifact)), hash, kept);
        evict(memory);
    }
    kiln__mutex_unlock(&memory->lock);
    return status;
}

static void memory_free(struct kiln_tier *tier)
{
    struct memory *memory = (struct memory *)tier;
    for (size_t i = 0; i < memory->cap; i++) kiln__artifact_unref(memory->slots[i].artifact);
    free(memory->slots);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

static const struct kiln_tier_methods memory_methods = {.get = memory_get, .put = memory_put, .free = memory_free};

kiln_status kiln__tier_memory(uint64_t max_bytes, uint64_t max_files, struct kiln_tier_events *events,
                              struct kiln_tier **out, kiln_error *err)
{
    struct memory *memory = calloc(1, sizeof(*memory));
    if (!memory) return kiln__no_memory(err, "the memory tier");
    memory->tier = (struct kiln_tier){&memory_methods, events, "memory", true, NULL, false};
    memory->bounds =
        (struct kiln_bounds){max_bytes > 0 ? max_bytes : UINT64_MAX, max_files > 0 ? max_files : UINT64_MAX};
    pthread_mutex_init(&memory->lock, NULL);
    *out = &memory->tier;
    return KILN_OK;
}
