/*
 * manifest.h - which things compile() depends on besides its content key, as far as is known. Inside the cache layer.
 *
 * An artifact whose compile() depends on nothing more stands under its content key, and none of this is used. For
 * others a manifest stands there: a short list of sets of names (key/inputs.h), the last one found out first. Names,
 * not values: whoever wants the code asks what the names of a set stand for now, and looks for the artifact under the
 * content key with these values behind it. So the manifest only says where to look; the artifact has its whole key.
 *
 * A manifest is an artifact too (docs/formats/manifest.md), so it is kept, sent and signed like others. What is lost of
 * it, because two processes write it at once, costs a compile. Safe for many threads.
 */
#ifndef KILN_CACHE_KERNELS_MANIFEST_H
#define KILN_CACHE_KERNELS_MANIFEST_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buffer.h"
#include "base/status.h"
#include "base/table.h"

struct kiln_artifact;
struct kiln_job;
struct kiln_ticket;

enum { KILN_MOST_SETS = 16 };

/* Immutable and reference counted. */
struct kiln_manifest {
    _Atomic uint32_t refs;
    size_t count;
    struct kiln_buffer sets[KILN_MOST_SETS];
};

/* Those that a process knows, by the digest of the content key. Inside of struct kiln_cache. */
struct kiln_manifests {
    pthread_mutex_t lock; /* guards what follows */
    struct kiln_table table;
    struct kiln_known_manifest *known;
    size_t count;
};

void kiln__manifests_init(struct kiln_manifests *manifests);
void kiln__manifests_release(struct kiln_manifests *manifests);

/* What is known for the job's content key, the caller's reference; NULL: nothing is. */
struct kiln_manifest *kiln__manifest_known(const struct kiln_job *job);
void kiln__manifest_unref(struct kiln_manifest *manifest); /* NULL is fine */

/* What was found under a content key is a manifest, and not what compile() made. */
bool kiln__is_manifest(const struct kiln_artifact *artifact);
/* Remembers its sets. False: it can't be read; it is as if nothing had been found. */
bool kiln__manifest_learn(const struct kiln_job *job, const struct kiln_artifact *artifact);
/* Looks at the stored manifest again, which other processes may have added to. True: a set is new to this process. */
bool kiln__manifest_refresh(const struct kiln_job *job);
/* Adds a set that compile() turned out to have: remembered, and stored unless it is there. Ends the ticket, which is
 * the content key's or none. */
void kiln__manifest_add(const struct kiln_job *job, kiln_bytes set, struct kiln_ticket *ticket);

/* The bytes of the section. Decoding trusts nothing: NULL when they are no manifest, or out of memory. */
void kiln__manifest_encode(const struct kiln_manifest *manifest, struct kiln_buffer *out);
struct kiln_manifest *kiln__manifest_decode(kiln_bytes bytes);

#endif
