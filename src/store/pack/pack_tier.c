/*
 * pack_tier.c - a pack as a tier.
 *
 * Invariants: an artifact leaves here only when its checksums are right, its full key is the one asked for, this CPU
 * can run it, and either the file is ours or root's and nobody else may write it, or the artifact is signed by a key
 * that this machine trusts. Its bytes are a copy of our own before anything is checked, whatever becomes of the file
 * meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/trust.h"
#include "store/pack/pack.h"
#include "store/pack/pack_manifest.h"
#include "store/tier.h"

struct pack_tier {
    struct kiln_tier tier; /* first: a kiln_tier * is a struct pack_tier * */
    char path[];
};

static const char *path_of(const struct kiln_tier *tier)
{
    return ((const struct pack_tier *)tier)->path;
}

static void count_damage(struct kiln_tier *tier, enum kiln_outcome outcome, const kiln_error *err)
{
    if (outcome == KILN_FAILED && err->status == KILN_INVALID)
        atomic_fetch_add_explicit(&tier->events->corrupt, 1, memory_order_relaxed);
}

/* What the file's owner and mode do not vouch for, a signature must. */
static enum kiln_outcome check_owner(struct kiln_tier *tier, const struct kiln_pack *pack,
                                     const struct kiln_artifact *artifact)
{
    return kiln__tier_check_origin(tier, pack->path, kiln__file_is_trusted(&pack->info, true), artifact);
}

static enum kiln_outcome load(struct kiln_tier *tier, const struct kiln_pack *pack, const struct kiln_pack_row *row,
                              kiln_bytes key, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_artifact *artifact = NULL;
    bool is_other_format;
    enum kiln_outcome outcome = kiln__outcome(kiln__pack_read(pack, row, &artifact, &is_other_format, err), err);
    if (is_other_format) {
        kiln__log(KILN_LOG_FAULT, "%s", err->text);
        return KILN_MISS;
    }
    if (outcome == KILN_DONE) outcome = kiln__tier_check(pack->path, artifact, &row->digest, key, err);
    if (outcome == KILN_DONE) outcome = check_owner(tier, pack, artifact);
    if (outcome == KILN_DONE)
        *out = artifact;
    else
        kiln__artifact_unref(artifact);
    return outcome;
}

static enum kiln_outcome pack_get(struct kiln_tier *tier, const struct kiln_digest *digest, kiln_bytes key,
                                  struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_pack pack;
    struct kiln_pack_row row;
    enum kiln_outcome outcome = kiln__pack_open(path_of(tier), &pack, err);
    if (outcome == KILN_DONE) {
        outcome = kiln__pack_find(&pack, digest, &row, err);
        if (outcome == KILN_DONE) outcome = load(tier, &pack, &row, key, out, err);
        kiln__pack_close(&pack);
    }
    count_damage(tier, outcome, err);
    return outcome;
}

static kiln_status pack_put(struct kiln_tier *tier, const struct kiln_artifact *artifact, kiln_error *err)
{
    (void)artifact;
    return kiln__fail(err, KILN_IO, "the pack %s is read-only", path_of(tier));
}

/* It can't be put aside; that it was counted says that it is no good. */
static bool pack_discard(struct kiln_tier *tier, const struct kiln_artifact *artifact)
{
    struct kiln_pack pack;
    struct kiln_pack_row row;
    struct kiln_artifact *held = NULL;
    if (kiln__pack_open(path_of(tier), &pack, NULL) != KILN_DONE) return false;
    bool is_held = kiln__pack_find(&pack, &artifact->digest, &row, NULL) == KILN_DONE &&
                   kiln__pack_read(&pack, &row, &held, NULL, NULL) == KILN_OK &&
                   held->mapping.size == artifact->mapping.size &&
                   memcmp(held->mapping.data, artifact->mapping.data, held->mapping.size) == 0;
    kiln__artifact_unref(held);
    kiln__pack_close(&pack);
    if (is_held) atomic_fetch_add_explicit(&tier->events->corrupt, 1, memory_order_relaxed);
    return is_held;
}

/* Whoever wrote the pack may say so: what is found under that name is checked as everything else is. */
static enum kiln_outcome pack_toolchain(struct kiln_tier *tier, char out[KILN_TOOLCHAIN_SIZE], kiln_error *err)
{
    struct kiln_pack pack;
    struct kiln_buffer text = {0};
    enum kiln_outcome outcome = kiln__pack_open(path_of(tier), &pack, err);
    if (outcome != KILN_DONE) return outcome;
    outcome = kiln__outcome(kiln__pack_manifest(&pack, &text, err), err);
    if (outcome == KILN_DONE && !kiln__manifest_toolchain((kiln_bytes){text.data, text.size}, out)) outcome = KILN_MISS;
    kiln__buffer_release(&text);
    kiln__pack_close(&pack);
    return outcome;
}

static void pack_free(struct kiln_tier *tier)
{
    free((struct pack_tier *)tier);
}

static const struct kiln_tier_methods pack_methods = {
    .get = pack_get, .put = pack_put, .free = pack_free, .toolchain = pack_toolchain, .discard = pack_discard};

kiln_status kiln__tier_pack(const char *path, bool may_be_missing, struct kiln_tier_events *events,
                            struct kiln_tier **out, kiln_error *err)
{
    struct stat info;
    bool is_foreign = false;
    if (!path || !*path) return kiln__fail(err, KILN_IO, "an empty path is no pack");
    char *absolute = kiln__path_absolute(path, NULL);
    if (!absolute)
        return kiln__fail(err, KILN_IO, "the pack %s is relative to the current folder, which can't be told", path);
    size_t size = strlen(absolute);
    struct pack_tier *pack = calloc(1, sizeof *pack + size + 1);
    kiln_status status = KILN_OK;
    if (!pack) {
        status = kiln__no_memory(err, "a pack");
    } else if (!may_be_missing && stat(absolute, &info) != 0) {
        char text[128];
        status = kiln__fail(err, KILN_IO, "can't use the pack %s: %s", path, strerror_r(errno, text, sizeof text));
    } else if (!may_be_missing) {
        is_foreign = !kiln__file_is_trusted(&info, true);
    }
    if (status == KILN_OK) {
        memcpy(pack->path, absolute, size);
        pack->tier = (struct kiln_tier){
            .methods = &pack_methods, .events = events, .label = pack->path, .is_foreign = is_foreign};
        *out = &pack->tier;
    } else {
        free(pack);
    }
    free(absolute);
    return status;
}
