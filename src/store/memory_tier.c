/*
 * memory_tier.c - the memory tier: a table of artifacts by the digest of their key.
 *
 * Invariant: slots hold one reference each; at least one slot in four is empty, so a probe always ends. The digest
 * finds a slot, the full key decides.
 */
#include "store/tier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/gate.h"

struct memory {
    struct kiln_tier tier; /* first: a kiln_tier * is a struct memory * */
    pthread_mutex_t lock;  /* guards the three below */
    struct kiln_artifact **slots;
    size_t count, cap; /* cap is 0 or a power of two */
};

/* The slot that holds this key, or the empty one where it belongs. */
static struct kiln_artifact **find_slot(struct kiln_artifact **slots, size_t cap, const struct kiln_digest *digest,
                                        kiln_bytes key)
{
    uint64_t hash;
    memcpy(&hash, digest->bytes, sizeof(hash));
    for (size_t i = (size_t)hash;; i++) {
        struct kiln_artifact **slot = &slots[i & (cap - 1)];
        if (!*slot) return slot;
        const struct kiln_buffer *held = &(*slot)->key;
        if (held->size == key.size && (key.size == 0 || memcmp(held->data, key.data, key.size) == 0)) return slot;
    }
}

static kiln_bytes key_of(const struct kiln_artifact *artifact)
{
    return (kiln_bytes){artifact->key.data, artifact->key.size};
}

static struct kiln_digest digest_of(const struct kiln_artifact *artifact)
{
    return kiln__digest(artifact->key.data, artifact->key.size);
}

static bool grow(struct memory *memory)
{
    size_t cap = memory->cap > 0 ? memory->cap * 2 : 16;
    struct kiln_artifact **slots = calloc(cap, sizeof(struct kiln_artifact *));
    if (!slots) return false;
    for (size_t i = 0; i < memory->cap; i++) {
        struct kiln_artifact *artifact = memory->slots[i];
        if (!artifact) continue;
        struct kiln_digest digest = digest_of(artifact);
        *find_slot(slots, cap, &digest, key_of(artifact)) = artifact;
    }
    free(memory->slots);
    memory->slots = slots, memory->cap = cap;
    return true;
}

static enum kiln_outcome memory_get(struct kiln_tier *tier, const struct kiln_digest *digest, kiln_bytes key,
                                    struct kiln_artifact **out, kiln_error *err)
{
    struct memory *memory = (struct memory *)tier;
    (void)err;
    kiln__mutex_lock(&memory->lock);
    struct kiln_artifact *found = memory->cap > 0 ? *find_slot(memory->slots, memory->cap, digest, key) : NULL;
    if (found) kiln__artifact_ref(found);
    kiln__mutex_unlock(&memory->lock);
    if (!found) return KILN_MISS;
    *out = found;
    return KILN_DONE;
}

static kiln_status memory_put(struct kiln_tier *tier, const struct kiln_artifact *artifact, kiln_error *err)
{
    struct memory *memory = (struct memory *)tier;
    struct kiln_artifact *kept = (struct kiln_artifact *)(uintptr_t)artifact; /* only its reference count changes */
    struct kiln_digest digest = digest_of(artifact);
    kiln_status status = KILN_OK;
    kiln__mutex_lock(&memory->lock);
    if (memory->count >= memory->cap / 4 * 3 && !grow(memory)) {
        status = kiln__no_memory(err, "the memory tier");
    } else {
        struct kiln_artifact **slot = find_slot(memory->slots, memory->cap, &digest, key_of(artifact));
        if (!*slot) memory->count++;
        kiln__artifact_ref(kept);
        kiln__artifact_unref(*slot);
        *slot = kept;
    }
    kiln__mutex_unlock(&memory->lock);
    return status;
}

static void memory_free(struct kiln_tier *tier)
{
    struct memory *memory = (struct memory *)tier;
    for (size_t i = 0; i < memory->cap; i++) kiln__artifact_unref(memory->slots[i]);
    free(memory->slots);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

static const struct kiln_tier_methods memory_methods = {.get = memory_get, .put = memory_put, .free = memory_free};

kiln_status kiln__tier_memory(struct kiln_tier_events *events, struct kiln_tier **out, kiln_error *err)
{
    struct memory *memory = calloc(1, sizeof(*memory));
    if (!memory) return kiln__no_memory(err, "the memory tier");
    memory->tier = (struct kiln_tier){&memory_methods, events, "memory", true, NULL, false};
    pthread_mutex_init(&memory->lock, NULL);
    *out = &memory->tier;
    return KILN_OK;
}
