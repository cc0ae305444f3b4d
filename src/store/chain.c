/*
 * chain.c - tiers one after the other.
 *
 * Invariant: nothing a tier does fails a call. A fault is counted, said once, and the next tier is asked; a damaged
 * entry is counted by its own tier, which knows what it was.
 */
#include "base/log.h"
#include "store/tier.h"

/* What differs from entry to entry is said with KILN_LOG=fault only; once per tier would be too little there. */
static void report(struct kiln_tier *tier, kiln_status status, const char *verb, const kiln_error *err)
{
    if (status == KILN_INVALID) {
        kiln__log_once(
            "a damaged or misplaced entry in %s is not used and will be made again (KILN_LOG=fault says more)",
            tier->label);
    } else {
        atomic_fetch_add_explicit(&tier->events->faults, 1, memory_order_relaxed);
        kiln__log_once("can't %s entries in %s; going on without (KILN_LOG=fault says more)", verb, tier->label);
    }
    kiln__log(KILN_LOG_FAULT, "%s: %s", tier->label, err->text);
}

kiln_status kiln__chain_find(struct kiln_tier *first, const struct kiln_digest *digest, kiln_bytes key,
                             bool (*is_wanted)(const struct kiln_artifact *artifact, const void *context),
                             const void *context, struct kiln_artifact **out)
{
    struct kiln_artifact *second_best = NULL;
    for (struct kiln_tier *tier = first; tier != NULL; tier = tier->next) {
        kiln_error err = {.status = KILN_OK, .text = ""};
        struct kiln_artifact *found = NULL;
        kiln_status status = tier->methods->get(tier, digest, key, &found, &err);
        if (status < 0) report(tier, status, "read", &err);
        if (status != KILN_OK) continue;
        if (is_wanted == NULL || is_wanted(found, context)) {
            kiln__artifact_unref(second_best);
            *out = found;
            return KILN_OK;
        }
        if (second_best == NULL)
            second_best = found;
        else
            kiln__artifact_unref(found);
    }
    if (second_best == NULL) return (kiln_status)KILN_MISS;
    *out = second_best;
    return KILN_OK;
}

kiln_status kiln__chain_get(struct kiln_tier *first, const struct kiln_digest *digest, kiln_bytes key,
                            struct kiln_artifact **out)
{
    return kiln__chain_find(first, digest, key, NULL, NULL, out);
}

static struct kiln_tier *last_writable(struct kiln_tier *first)
{
    struct kiln_tier *last = NULL;
    for (struct kiln_tier *tier = first; tier != NULL; tier = tier->next) {
        if (tier->writable) last = tier;
    }
    return last;
}

bool kiln__chain_lock(struct kiln_tier *first, const struct kiln_digest *digest, bool is_last, struct kiln_lock **out)
{
    struct kiln_tier *tier = last_writable(first);
    *out = NULL;
    if (tier == NULL || tier->methods->lock == NULL) return false;
    kiln_error err = {.status = KILN_OK, .text = ""};
    kiln_status status = tier->methods->lock(tier, digest, is_last, out, &err);
    if (status < 0) report(tier, status, "lock", &err);
    return status == KILN_OK;
}

void kiln__chain_put(struct kiln_tier *first, const struct kiln_artifact *artifact)
{
    struct kiln_tier *last = last_writable(first);
    if (last == NULL) return;
    kiln_error err = {.status = KILN_OK, .text = ""};
    kiln_status status = last->methods->put(last, artifact, &err);
    /* An artifact that can't be stored as it is says nothing about the entries that are there. */
    if (status < 0) report(last, status == KILN_INVALID ? KILN_IO : status, "store", &err);
}

void kiln__chain_discard(struct kiln_tier *first, const struct kiln_artifact *artifact)
{
    for (struct kiln_tier *tier = first; tier != NULL; tier = tier->next) {
        const kiln_error err = {KILN_INVALID, "an artifact can't be linked"};
        if (tier->methods->discard != NULL && tier->methods->discard(tier, artifact))
            report(tier, KILN_INVALID, "read", &err);
    }
}

bool kiln__chain_toolchain(struct kiln_tier *first, char out[KILN_TOOLCHAIN_SIZE])
{
    for (struct kiln_tier *tier = first; tier != NULL; tier = tier->next) {
        kiln_error err = {.status = KILN_OK, .text = ""};
        if (tier->methods->toolchain == NULL) continue;
        kiln_status status = tier->methods->toolchain(tier, out, &err);
        if (status < 0) report(tier, status, "read", &err);
        if (status == KILN_OK) return true;
    }
    return false;
}

void kiln__chain_set_toolchain(struct kiln_tier *first, const char *line)
{
    struct kiln_tier *last = last_writable(first);
    if (last == NULL || last->methods->set_toolchain == NULL) return;
    kiln_error err = {.status = KILN_OK, .text = ""};
    kiln_status status = last->methods->set_toolchain(last, line, &err);
    if (status < 0) report(last, status, "store", &err);
}

void kiln__chain_free(struct kiln_tier *first)
{
    while (first != NULL) {
        struct kiln_tier *next = first->next;
        first->methods->free(first);
        first = next;
    }
}
