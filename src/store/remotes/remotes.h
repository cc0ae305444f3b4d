/*
 * remotes.h - the remotes of a cache, in the order of KILN_REMOTE: what the local tiers lack is asked of them, and what
 * is made is given to them.
 *
 * Reading takes one round trip to each remote until one has the artifact, all of them within one deadline
 * (KILN_REMOTE_TIMEOUT). Writing happens on a thread of its own (writer.h). A remote that is slow, down or wrong never
 * fails a call: it is passed by, counted, and left alone for a growing pause (client.h). What arrives is used only if
 * it is whole, the one that was asked for, and signed by somebody who is trusted here (arrival.h).
 *
 * Counted references: a put that is under way keeps its remotes after the cache was closed. All calls are safe from
 * every thread.
 */
#ifndef KILN_STORE_REMOTES_REMOTES_H
#define KILN_STORE_REMOTES_REMOTES_H

#include "store/artifact.h"
#include "store/remotes/client.h"

struct kiln_lease;
struct kiln_prefetch;

enum { KILN_MAX_REMOTES = 16 };

struct kiln_remotes {
    _Atomic uint32_t refs;
    bool signs;                       /* KILN_SIGN_KEY is set: what is made here can be given to others */
    unsigned timeout_ms;              /* of one look-up in all remotes */
    pthread_mutex_t lock;             /* guards the list below */
    struct kiln_prefetch *prefetches; /* that have not ended */
    struct kiln_remote_events events;
    size_t count;
    struct kiln_remote list[KILN_MAX_REMOTES];
};

/* Those that `urls` names, with blanks between them; NULL: none, or out of memory. What is no URL is logged and passed
 * by. Nothing is opened yet. */
struct kiln_remotes *kiln__remotes_open(const char *urls);
void kiln__remotes_ref(struct kiln_remotes *remotes);
void kiln__remotes_unref(struct kiln_remotes *remotes);

/* ---- read ----------------------------------------------------------------------------------------------------- */

/* The artifact, the caller's reference; NULL: no remote has it. */
struct kiln_artifact *kiln__remotes_find(struct kiln_remotes *remotes, const struct kiln_digest *digest,
                                         kiln_bytes key);

/* A key to be prefetched. */
struct kiln_wanted_key {
    struct kiln_digest digest;
    kiln_bytes key;
};

/*
 * Asks for all of these together. Until that ends, kiln__remotes_find() answers from what came, also that there is
 * none, without a round trip. NULL: out of memory, or there was nothing to ask for. Keys need not outlive the call.
 */
struct kiln_prefetch *kiln__remotes_prefetch(struct kiln_remotes *remotes, const struct kiln_wanted_key *keys,
                                             size_t count);
void kiln__prefetch_end(struct kiln_prefetch *prefetch); /* NULL is fine */
/* Was this key prefetched and answered? Then *out is the artifact, the caller's reference, or NULL: there is none. */
bool kiln__prefetch_find(struct kiln_remotes *remotes, const struct kiln_digest *digest, kiln_bytes key,
                         struct kiln_artifact **out);

/* ---- make and write ------------------------------------------------------------------------------------------- */

/*
 * Before making what no remote has. Takes the lease on it, or waits for the host that holds it, until `until_ns` (0:
 * not at all). KILN_DONE: the artifact came meanwhile, the caller's reference, and there is no lease. KILN_MISS: make
 * it; the lease is ours, or NULL: another host has it. KILN_FAILED: there is none to be had.
 */
enum kiln_outcome kiln__remotes_wait(struct kiln_remotes *remotes, const struct kiln_digest *digest, kiln_bytes key,
                                     uint64_t until_ns, struct kiln_artifact **out, struct kiln_lease **lease);
/* Puts an artifact, in the background, and then ends the lease (may be NULL), which this thread holds no more. */
void kiln__remotes_put(struct kiln_remotes *remotes, struct kiln_artifact *artifact, struct kiln_lease *lease);
/* The same where it is not there yet. */
void kiln__remotes_offer(struct kiln_remotes *remotes, struct kiln_artifact *artifact);
/* Ends a lease, in the background, without a put. NULL is fine. */
void kiln__remotes_abandon(struct kiln_lease *lease);

#endif
