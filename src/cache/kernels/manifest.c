/*
 * manifest.c - see manifest.h.
 *
 * Invariant: sets of a manifest differ, and a manifest that is remembered only gains sets until the list is full; then
 * the oldest one goes.
 */
#include "cache/kernels/manifest.h"

#include "base/hash.h"
#include "base/process/gate.h"
#include "cache/cache.h"
#include "cache/kernels/compiling.h"

enum { VERSION = 1, MOST_BYTES = 1 << 26, MOST_KNOWN = 4096 };

static const char section_name[] = "manifest";

/* ---- manifests ------------------------------------------------------------------------------------------------ */

static struct kiln_manifest *manifest_new(void)
{
    struct kiln_manifest *manifest = calloc(1, sizeof *manifest);
    if (manifest) atomic_init(&manifest->refs, 1);
    return manifest;
}

void kiln__manifest_unref(struct kiln_manifest *manifest)
{
    if (!manifest || atomic_fetch_sub_explicit(&manifest->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < manifest->count; i++) kiln__buffer_release(&manifest->sets[i]);
    free(manifest);
}

static kiln_bytes set_at(const struct kiln_manifest *manifest, size_t i)
{
    return (kiln_bytes){manifest->sets[i].data, manifest->sets[i].size};
}

static bool has_set(const struct kiln_manifest *manifest, kiln_bytes set)
{
    for (size_t i = 0; manifest && i < manifest->count; i++)
        if (manifest->sets[i].size == set.size && !memcmp(manifest->sets[i].data, set.data, set.size)) return true;
    return false;
}

static void append_set(struct kiln_manifest *manifest, kiln_bytes set)
{
    if (manifest->count == KILN_MOST_SETS || has_set(manifest, set)) return;
    struct kiln_buffer *copy = &manifest->sets[manifest->count];
    kiln__buffer_append(copy, set.data, set.size);
    if (copy->failed)
        kiln__buffer_release(copy);
    else
        manifest->count++;
}

static void append_sets(struct kiln_manifest *manifest, const struct kiln_manifest *from)
{
    for (size_t i = 0; from && i < from->count; i++) append_set(manifest, set_at(from, i));
}

/* ---- bytes ---------------------------------------------------------------------------------------------------- */

void kiln__manifest_encode(const struct kiln_manifest *manifest, struct kiln_buffer *out)
{
    kiln__buffer_u32(out, VERSION);
    kiln__buffer_u32(out, (uint32_t)manifest->count);
    for (size_t i = 0; i < manifest->count; i++) {
        kiln__buffer_u32(out, (uint32_t)manifest->sets[i].size);
        kiln__buffer_append(out, manifest->sets[i].data, manifest->sets[i].size);
    }
}

static bool take_u32(kiln_bytes *bytes, uint32_t *out)
{
    const unsigned char *p = bytes->data;
    if (bytes->size < 4) return false;
    *out = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    *bytes = (kiln_bytes){p + 4, bytes->size - 4};
    return true;
}

static bool take_set(kiln_bytes *bytes, struct kiln_manifest *manifest)
{
    uint32_t size;
    if (!take_u32(bytes, &size) || !size || size > bytes->size) return false;
    kiln_bytes set = {bytes->data, size};
    size_t before = manifest->count;
    if (!kiln__inputs_check(set)) return false;
    append_set(manifest, set);
    *bytes = (kiln_bytes){(const char *)bytes->data + size, bytes->size - size};
    return manifest->count > before;
}

struct kiln_manifest *kiln__manifest_decode(kiln_bytes bytes)
{
    uint32_t version, count;
    bool is_right = bytes.size <= MOST_BYTES && take_u32(&bytes, &version) && version == VERSION &&
                    take_u32(&bytes, &count) && count && count <= KILN_MOST_SETS;
    struct kiln_manifest *manifest = is_right ? manifest_new() : NULL;
    for (uint32_t i = 0; manifest && is_right && i < count; i++) is_right = take_set(&bytes, manifest);
    if (manifest && is_right && !bytes.size) return manifest;
    kiln__manifest_unref(manifest);
    return NULL;
}

/* ---- what this process knows ---------------------------------------------------------------------------------- */

struct kiln_known_manifest {
    struct kiln_digest digest; /* of the content key */
    struct kiln_manifest *manifest;
};

void kiln__manifests_init(struct kiln_manifests *manifests)
{
    pthread_mutex_init(&manifests->lock, NULL);
}

static void forget_all(struct kiln_manifests *manifests)
{
    for (size_t i = 0; i < manifests->count; i++) kiln__manifest_unref(manifests->known[i].manifest);
    kiln__table_release(&manifests->table);
    manifests->count = 0;
}

void kiln__manifests_release(struct kiln_manifests *manifests)
{
    forget_all(manifests);
    free(manifests->known);
    pthread_mutex_destroy(&manifests->lock);
}

struct wanted {
    const struct kiln_manifests *manifests;
    const struct kiln_digest *digest;
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct wanted *wanted = context;
    return !memcmp(&wanted->manifests->known[index].digest, wanted->digest, sizeof *wanted->digest);
}

/* With the lock held. NULL: not known. */
static struct kiln_known_manifest *find_known(struct kiln_manifests *manifests, const struct kiln_digest *digest)
{
    const struct wanted wanted = {manifests, digest};
    uint32_t index = kiln__table_find(&manifests->table, kiln__hash(digest, sizeof *digest), is_wanted, &wanted);
    return index == KILN_TABLE_EMPTY ? NULL : &manifests->known[index];
}

/* With the lock held. NULL: out of memory. When there are too many all are forgotten; what is stored is read again. */
static struct kiln_known_manifest *make_known(struct kiln_manifests *manifests, const struct kiln_digest *digest)
{
    if (manifests->count == MOST_KNOWN) forget_all(manifests);
    if (!manifests->known) manifests->known = malloc(MOST_KNOWN * sizeof *manifests->known);
    const struct wanted wanted = {manifests, digest};
    uint32_t *slot = manifests->known
                         ? kiln__table_slot(&manifests->table, kiln__hash(digest, sizeof *digest), is_wanted, &wanted)
                         : NULL;
    if (!slot) return NULL;
    *slot = (uint32_t)manifests->count;
    manifests->known[manifests->count] = (struct kiln_known_manifest){.digest = *digest};
    return &manifests->known[manifests->count++];
}

static struct kiln_manifests *manifests_of(const struct kiln_job *job)
{
    return &job->request->cache->manifests;
}

struct kiln_manifest *kiln__manifest_known(const struct kiln_job *job)
{
    struct kiln_manifests *manifests = manifests_of(job);
    kiln__mutex_lock(&manifests->lock);
    struct kiln_known_manifest *known = find_known(manifests, &job->base->digest);
    struct kiln_manifest *manifest = known ? known->manifest : NULL;
    if (manifest) atomic_fetch_add_explicit(&manifest->refs, 1, memory_order_relaxed);
    kiln__mutex_unlock(&manifests->lock);
    return manifest;
}

/* Puts the sets of `first` in front of those that are known. True: one of them was not known. When out of memory what
 * is known stays as it is. */
static bool remember(const struct kiln_job *job, const struct kiln_manifest *first)
{
    struct kiln_manifests *manifests = manifests_of(job);
    struct kiln_manifest *merged = manifest_new();
    if (!merged) return false;
    append_sets(merged, first);
    kiln__mutex_lock(&manifests->lock);
    struct kiln_known_manifest *known = find_known(manifests, &job->base->digest);
    if (!known) known = make_known(manifests, &job->base->digest);
    bool is_new = false;
    for (size_t i = 0; known && i < first->count; i++) is_new |= !has_set(known->manifest, set_at(first, i));
    if (is_new) {
        append_sets(merged, known->manifest);
        struct kiln_manifest *old = known->manifest;
        known->manifest = merged;
        merged = old;
    }
    kiln__mutex_unlock(&manifests->lock);
    kiln__manifest_unref(merged);
    return is_new;
}

/* ---- stored --------------------------------------------------------------------------------------------------- */

/* Whatever compile() made has a section "text". */
bool kiln__is_manifest(const struct kiln_artifact *artifact)
{
    return kiln_artifact_get(artifact, section_name).data && !kiln_artifact_get(artifact, "text").data;
}

bool kiln__manifest_learn(const struct kiln_job *job, const struct kiln_artifact *artifact)
{
    struct kiln_manifest *manifest = kiln__manifest_decode(kiln_artifact_get(artifact, section_name));
    if (manifest) remember(job, manifest);
    kiln__manifest_unref(manifest);
    return manifest;
}

static struct kiln_manifest *find_stored(const struct kiln_job *job)
{
    kiln_bytes key = {job->base->fields.data, job->base->fields.size};
    struct kiln_artifact *artifact = kiln__store_find(&job->request->cache->store, &job->base->digest, key, NULL, NULL);
    struct kiln_manifest *manifest = artifact && kiln__is_manifest(artifact)
                                         ? kiln__manifest_decode(kiln_artifact_get(artifact, section_name))
                                         : NULL;
    kiln__artifact_unref(artifact);
    return manifest;
}

bool kiln__manifest_refresh(const struct kiln_job *job)
{
    struct kiln_manifest *stored = find_stored(job);
    bool is_new = stored && remember(job, stored);
    kiln__manifest_unref(stored);
    return is_new;
}

static void store(const struct kiln_job *job, const struct kiln_manifest *manifest, struct kiln_ticket *ticket)
{
    struct kiln_job of_manifest = *job;
    of_manifest.content = job->base;
    of_manifest.call_key = (kiln_bytes){NULL, 0}; /* several calls may have led to it */
    of_manifest.provenance = NULL;
    struct kiln_artifact *artifact = kiln__artifact_new();
    struct kiln_buffer bytes = {0};
    kiln__manifest_encode(manifest, &bytes);
    if (artifact && !bytes.failed && !kiln__job_name(&of_manifest, artifact) &&
        !kiln_artifact_put(artifact, section_name, bytes.data, bytes.size)) {
        artifact->isa = KILN_ISA_X86_64_V1; /* it is not run */
        if (ticket->store)
            kiln__ticket_put(ticket, artifact, NULL);
        else
            kiln__store_put(&job->request->cache->store, artifact, NULL);
    }
    kiln__buffer_release(&bytes);
    kiln__artifact_unref(artifact);
}

void kiln__manifest_add(const struct kiln_job *job, kiln_bytes set, struct kiln_ticket *ticket)
{
    struct kiln_manifest *added = manifest_new(), *stored = find_stored(job);
    if (added) {
        append_set(added, set);
        remember(job, added);
        if (!has_set(stored, set)) {
            append_sets(added, stored);
            store(job, added, ticket);
        }
    }
    kiln__ticket_abandon(ticket);
    kiln__manifest_unref(added);
    kiln__manifest_unref(stored);
}
