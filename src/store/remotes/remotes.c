/*
 * remotes.c - see remotes.h.
 *
 * Invariant: nothing is asked of a remote twice for one miss, except while another host is waited for. Prefetched
 * answers are looked at before anybody is asked.
 */
#include "store/remotes/remotes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/process/timeline.h"
#include "base/url.h"
#include "store/claim.h"
#include "store/remotes/driver_registry.h"
#include "store/remotes/query.h"
#include "store/remotes/writer.h"

/* ---- open and close ------------------------------------------------------------------------------------------- */

static void add_remote(struct kiln_remotes *remotes, const char *url)
{
    char scheme[KILN_SCHEME_SIZE], label[256];
    kiln__url_without_secrets(url, label, sizeof label);
    if (!kiln__scheme_of(url, scheme) || !kiln__is_url(url, strlen(url))) {
        kiln__event(&remotes->events.faults, 1);
        kiln__log_once("KILN_REMOTE%s: %s is no URL and is passed by; expected one such as http://host/prefix, "
                       "s3://bucket/prefix or redis://host:port/db",
                       kiln__config_where("KILN_REMOTE"), label);
    } else if (remotes->count == KILN_MAX_REMOTES) {
        kiln__log_once("KILN_REMOTE%s names more than %d remotes; the rest is not used",
                       kiln__config_where("KILN_REMOTE"), KILN_MAX_REMOTES);
    } else if (!kiln__remote_init(&remotes->list[remotes->count], url, remotes->timeout_ms, &remotes->events)) {
        remotes->count++;
    } else {
        kiln__remote_release(&remotes->list[remotes->count]);
    }
}

static void add_remotes(struct kiln_remotes *remotes, const char *urls)
{
    static const char blanks[] = " \t\r\n";
    for (urls += strspn(urls, blanks); *urls; urls += strspn(urls, blanks)) {
        size_t size = strcspn(urls, blanks);
        char *url = strndup(urls, size);
        if (url) add_remote(remotes, url);
        free(url);
        urls += size;
    }
}

struct kiln_remotes *kiln__remotes_open(const char *urls)
{
    const char *key = kiln__config("KILN_SIGN_KEY");
    struct kiln_remotes *remotes = calloc(1, sizeof *remotes);
    if (!remotes) return NULL;
    atomic_init(&remotes->refs, 1);
    remotes->signs = key && *key;
    remotes->timeout_ms = (unsigned)kiln__config_number("KILN_REMOTE_TIMEOUT");
    if (!remotes->timeout_ms) remotes->timeout_ms = 1;
    pthread_mutex_init(&remotes->lock, NULL);
    add_remotes(remotes, urls);
    return remotes;
}

void kiln__remotes_ref(struct kiln_remotes *remotes)
{
    atomic_fetch_add_explicit(&remotes->refs, 1, memory_order_relaxed);
}

void kiln__remotes_unref(struct kiln_remotes *remotes)
{
    if (atomic_fetch_sub_explicit(&remotes->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < remotes->count; i++) kiln__remote_release(&remotes->list[i]);
    pthread_mutex_destroy(&remotes->lock);
    free(remotes);
}

/* ---- find ----------------------------------------------------------------------------------------------------- */

struct kiln_artifact *kiln__remotes_find(struct kiln_remotes *remotes, const struct kiln_digest *digest, kiln_bytes key)
{
    struct kiln_query query = {.digest = *digest, .key = key};
    if (kiln__prefetch_find(remotes, digest, key, &query.artifact)) return query.artifact;
    uint64_t start = kiln__clock_ns(), recorded_ns = kiln__timeline_begin();
    kiln__query(remotes, NULL, &query, 1);
    kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "remote",
                                                         .function = query.artifact ? query.artifact->function : NULL,
                                                         .outcome = query.artifact ? "found" : "miss",
                                                         .digest = digest});
    if (query.is_answered && !query.artifact) kiln__event(&remotes->events.misses, 1);
    kiln__event(&remotes->events.ns, kiln__clock_ns() - start);
    return query.artifact;
}

/* ---- wait ----------------------------------------------------------------------------------------------------- */

enum { FIRST_DELAY_MS = 5, LAST_DELAY_MS = 50 };

/* All hosts with the same KILN_REMOTE agree on it. */
static struct kiln_remote *leasing_remote(struct kiln_remotes *remotes)
{
    for (size_t i = 0; i < remotes->count; i++)
        if (kiln__remote_has_leases(&remotes->list[i])) return &remotes->list[i];
    return NULL;
}

static void abandon(struct kiln_claim *claim)
{
    kiln__remotes_abandon((struct kiln_lease *)claim);
}

static void sleep_ms(unsigned ms)
{
    struct timespec time = {0, (long)ms * 1000000};
    nanosleep(&time, NULL); /* a signal only makes us look earlier */
}

/* Whether the lease is ours or another's, the artifact may have come just before. */
static enum kiln_outcome take_or_wait(struct kiln_remotes *remotes, struct kiln_remote *remote,
                                      struct kiln_query *query, uint64_t until_ns, struct kiln_lease **out)
{
    char name[KILN_DIGEST_HEX];
    kiln__digest_hex(&query->digest, name);
    for (unsigned delay_ms = 0;; delay_ms = delay_ms < LAST_DELAY_MS ? delay_ms * 2 : delay_ms) {
        enum kiln_outcome outcome = kiln__lease_take(remote, name, abandon, out);
        if (outcome == KILN_FAILED) return outcome;
        if (outcome == KILN_DONE) (*out)->remotes = remotes;
        kiln__query(remotes, remote, query, 1);
        if (query->artifact && *out) kiln__remotes_abandon(*out), *out = NULL;
        if (query->artifact) return KILN_DONE;
        if (*out || kiln__clock_ns() >= until_ns) return KILN_MISS;
        if (!delay_ms) kiln__event(&remotes->events.waits, 1), delay_ms = FIRST_DELAY_MS;
        sleep_ms(delay_ms);
    }
}

enum kiln_outcome kiln__remotes_wait(struct kiln_remotes *remotes, const struct kiln_digest *digest, kiln_bytes key,
                                     uint64_t until_ns, struct kiln_artifact **out, struct kiln_lease **lease)
{
    struct kiln_query query = {.digest = *digest, .key = key};
    *lease = NULL;
    if (!remotes->signs) return KILN_FAILED; /* nobody would believe what we make, so nobody should wait for it */
    uint64_t start = kiln__clock_ns();
    struct kiln_remote *remote = leasing_remote(remotes);
    enum kiln_outcome outcome = remote ? take_or_wait(remotes, remote, &query, until_ns, lease) : KILN_FAILED;
    kiln__event(&remotes->events.ns, kiln__clock_ns() - start);
    *out = query.artifact;
    return outcome;
}

/* ---- put ------------------------------------------------------------------------------------------------------ */

void kiln__remotes_put(struct kiln_remotes *remotes, struct kiln_artifact *artifact, struct kiln_lease *lease)
{
    if (lease) kiln__claim_remove(&lease->claim);
    kiln__writer_add(remotes, artifact, false, lease);
}

void kiln__remotes_offer(struct kiln_remotes *remotes, struct kiln_artifact *artifact)
{
    kiln__writer_add(remotes, artifact, true, NULL);
}

void kiln__remotes_abandon(struct kiln_lease *lease)
{
    if (!lease) return;
    kiln__claim_remove(&lease->claim);
    kiln__writer_add(lease->remotes, NULL, false, lease);
}
