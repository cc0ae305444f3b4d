/*
 * chain.c - tiers one after the other.
 *
 * Invariant: no fault of a tier fails a call. It is counted and logged once, and the next tier is asked. A damaged
 * entry is counted by its own tier, which knows what it was.
 */
#include "store/tier.h"

#include <string.h>

#include "base/log.h"
#include "base/process/timeline.h"
#include "store/pack/pack.h"
#include "store/signing.h"

kiln_status kiln__tier_read_only(const char *path, struct kiln_tier_events *events, struct kiln_tier **out,
                                 kiln_error *err)
{
    return kiln__is_pack_name(path) ? kiln__tier_pack(path, false, events, out, err)
                                    : kiln__tier_folder(path, false, 0, 0, events, out, err);
}

/* What differs from entry to entry is said with KILN_LOG=fault only; once per tier would be too little there. */
static void report(struct kiln_tier *tier, const char *verb, const kiln_error *err)
{
    if (err->status == KILN_INVALID) {
        kiln__log_once(
            "a damaged or misplaced entry in %s is not used and will be made again (KILN_LOG=fault says more)",
            tier->label);
    } else {
        atomic_fetch_add_explicit(&tier->events->faults, 1, memory_order_relaxed);
        kiln__log_once("can't %s entries in %s; going on without (KILN_LOG=fault says more)", verb, tier->label);
    }
    kiln__log(KILN_LOG_FAULT, "%s: %s", tier->label, err->text);
}

enum kiln_outcome kiln__tier_check(const char *path, const struct kiln_artifact *artifact,
                                   const struct kiln_digest *digest, kiln_bytes key, kiln_error *err)
{
    bool is_same_key = artifact->key.size == key.size && memcmp(&artifact->digest, digest, sizeof(*digest)) == 0 &&
                       (key.size == 0 || memcmp(artifact->key.data, key.data, key.size) == 0);
    if (!is_same_key)
        return kiln__outcome(kiln__fail(err, KILN_INVALID, "misplaced artifact: it holds another key"), err);
    if (artifact->isa <= kiln__isa_host()) return KILN_DONE;
    kiln__log(KILN_LOG_FAULT, "%s needs %s, this machine is %s: left alone", path, kiln__isa_name(artifact->isa),
              kiln__isa_name(kiln__isa_host()));
    return KILN_MISS;
}

enum kiln_outcome kiln__tier_check_origin(struct kiln_tier *tier, const char *path, bool is_ours,
                                          const struct kiln_artifact *artifact)
{
    kiln_error why = {.text = ""};
    bool is_fine =
        is_ours ? !kiln__artifact_is_revoked(artifact, &why) : kiln__artifact_verify(artifact, &why) == KILN_OK;
    if (is_fine) return KILN_DONE;
    atomic_fetch_add_explicit(&tier->events->refused_signatures, 1, memory_order_relaxed);
    kiln__log_once("%s%s%s: an artifact in it is not used: %s", is_ours ? "" : "others own ", tier->label,
                   is_ours ? "" : " or may write it", why.text);
    kiln__log(KILN_LOG_FAULT, "%s is not used: %s", path, why.text);
    return KILN_MISS;
}

struct kiln_artifact *kiln__chain_find(struct kiln_tier *first, const struct kiln_digest *digest, kiln_bytes key,
                                       bool (*is_wanted)(const struct kiln_artifact *artifact, const void *context),
                                       const void *context)
{
    static const char *const words[] = {[KILN_DONE] = "found", [KILN_MISS] = "miss", [KILN_FAILED] = "failed"};
    struct kiln_artifact *second_best = NULL;
    for (struct kiln_tier *tier = first; tier; tier = tier->next) {
        kiln_error err = {.status = KILN_OK, .text = ""};
        struct kiln_artifact *found = NULL;
        uint64_t recorded_ns = kiln__timeline_begin();
        enum kiln_outcome outcome = tier->methods->get(tier, digest, key, &found, &err);
        kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "read",
                                                             .function = found ? found->function : NULL,
                                                             .where = tier->label,
                                                             .outcome = words[outcome],
                                                             .digest = digest});
        if (outcome == KILN_FAILED) report(tier, "read", &err);
        if (outcome != KILN_DONE) continue;
        if (!is_wanted || is_wanted(found, context)) {
            kiln__artifact_unref(second_best);
            return found;
        }
        if (!second_best)
            second_best = found;
        else
            kiln__artifact_unref(found);
    }
    return second_best;
}

static struct kiln_tier *last_writable(struct kiln_tier *first)
{
    struct kiln_tier *last = NULL;
    for (struct kiln_tier *tier = first; tier; tier = tier->next) {
        if (tier->writable) last = tier;
    }
    return last;
}

enum kiln_outcome kiln__chain_lock(struct kiln_tier *first, const struct kiln_digest *digest, uint64_t until_ns,
                                   struct kiln_lock **out)
{
    struct kiln_tier *tier = last_writable(first);
    *out = NULL;
    if (!tier || !tier->methods->lock) return KILN_FAILED;
    kiln_error err = {.status = KILN_OK, .text = ""};
    uint64_t recorded_ns = kiln__timeline_begin();
    enum kiln_outcome outcome = tier->methods->lock(tier, digest, until_ns, out, &err);
    kiln__timeline_end(recorded_ns,
                       &(struct kiln_event){.kind = "wait for a process", .where = tier->label, .digest = digest});
    if (outcome == KILN_FAILED) report(tier, "lock", &err);
    return outcome;
}

enum kiln_outcome kiln__chain_put(struct kiln_tier *first, const struct kiln_artifact *artifact, kiln_error *err)
{
    struct kiln_tier *last = last_writable(first);
    if (!last) return KILN_MISS;
    kiln_error unread;
    if (!err) err = &unread;
    uint64_t recorded_ns = kiln__timeline_begin();
    kiln_status status = last->methods->put(last, artifact, err);
    kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "store",
                                                         .function = artifact->function,
                                                         .where = last->label,
                                                         .outcome = status ? "failed" : NULL,
                                                         .digest = &artifact->digest});
    if (!status) return KILN_DONE;
    /* An artifact that can't be stored as it is says nothing about the entries that are there. */
    if (err->status == KILN_INVALID) err->status = KILN_IO;
    report(last, "store", err);
    return KILN_FAILED;
}

void kiln__chain_discard(struct kiln_tier *first, const struct kiln_artifact *artifact)
{
    for (struct kiln_tier *tier = first; tier; tier = tier->next) {
        const kiln_error err = {KILN_INVALID, "an artifact can't be linked"};
        if (tier->methods->discard && tier->methods->discard(tier, artifact)) report(tier, "read", &err);
    }
}

/* What follows is compared with keys in full; this only keeps odd bytes out of keys and messages. */
bool kiln__is_toolchain_line(kiln_bytes bytes)
{
    const char *text = bytes.data;
    if (bytes.size < 2 || bytes.size > KILN_TOOLCHAIN_SIZE || text[bytes.size - 1] != '\n') return false;
    for (size_t i = 0; i + 1 < bytes.size; i++)
        if (text[i] < ' ' || text[i] > '~') return false;
    return true;
}

static bool find_toolchain(struct kiln_tier *first, bool is_foreign, char out[KILN_TOOLCHAIN_SIZE])
{
    for (struct kiln_tier *tier = first; tier; tier = tier->next) {
        kiln_error err = {.status = KILN_OK, .text = ""};
        if (!tier->methods->toolchain || tier->is_foreign != is_foreign) continue;
        enum kiln_outcome outcome = tier->methods->toolchain(tier, out, &err);
        if (outcome == KILN_FAILED) report(tier, "read", &err);
        if (outcome == KILN_DONE) return true;
    }
    return false;
}

/* A line of others only says which keys to look for; what is found under them is checked. But it must not hide what is
 * in folders of our own. */
bool kiln__chain_toolchain(struct kiln_tier *first, char out[KILN_TOOLCHAIN_SIZE])
{
    return find_toolchain(first, false, out) || find_toolchain(first, true, out);
}

void kiln__chain_set_toolchain(struct kiln_tier *first, const char *line)
{
    struct kiln_tier *last = last_writable(first);
    if (!last || !last->methods->set_toolchain) return;
    kiln_error err = {.status = KILN_OK, .text = ""};
    if (last->methods->set_toolchain(last, line, &err)) report(last, "store", &err);
}

void kiln__chain_free(struct kiln_tier *first)
{
    while (first) {
        struct kiln_tier *next = first->next;
        first->methods->free(first);
        first = next;
    }
}
