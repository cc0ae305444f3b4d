/*
 * client.h - one remote: its URL, its driver, and how it has behaved.
 *
 * Nothing is opened before the first call that needs it: the driver's library, and a look at whose signatures are
 * trusted, cost a process that finds all it needs on disk nothing. A remote is refused for good, with one line in the
 * log, when its URL can't be used or nobody is trusted here; it is left alone for a while (backoff.h) when it fails. No
 * call waits longer than its timeout, and none is made once the process is leaving. All calls are safe from every
 * thread, and in a forked child.
 */
#ifndef KILN_STORE_REMOTES_CLIENT_H
#define KILN_STORE_REMOTES_CLIENT_H

#include <stdatomic.h>

#include "base/status.h"
#include "kiln/remote.h"
#include "store/remotes/backoff.h"

/* What remotes did; each is the kiln_counters' of that name. */
struct kiln_remote_events {
    _Atomic uint64_t misses, puts, faults, waits, refused_signatures, bytes_read, bytes_written, ns;
};

static inline void kiln__event(_Atomic uint64_t *event, uint64_t amount)
{
    atomic_fetch_add_explicit(event, amount, memory_order_relaxed);
}

enum kiln_remote_state { KILN_REMOTE_NEW, KILN_REMOTE_OPENING, KILN_REMOTE_OPEN, KILN_REMOTE_REFUSED };

struct kiln_remote {
    char *url, *label;                 /* the label is for people: without secrets */
    struct kiln_remote_events *events; /* borrowed; outlives the remote */
    unsigned timeout_ms;               /* of a call that nothing else bounds */
    struct kiln_backoff reads, writes; /* a store that is full, or may not be written, can still be read */
    _Atomic unsigned lies;             /* in a row */
    _Atomic int state;                 /* an enum kiln_remote_state */
    pthread_mutex_t lock;              /* recursive; held while it is being opened */
    const kiln_remote_driver *driver;  /* once it is open: as the handle, never changed */
    void *handle;
};

/* KILN_NO_MEMORY. `url` is copied. */
kiln_status kiln__remote_init(struct kiln_remote *remote, const char *url, unsigned timeout_ms,
                              struct kiln_remote_events *events);
void kiln__remote_release(struct kiln_remote *remote);

/* Opens it at once, where nobody else uses it yet. The text says why it can't be used; it is not logged. */
kiln_status kiln__remote_open(struct kiln_remote *remote, kiln_error *err);

/* Is it used, and does its store have leases? */
bool kiln__remote_has_leases(struct kiln_remote *remote);

/* Every entry gets its status; a failure, where nobody was asked. Their data is the caller's to free. */
void kiln__remote_get(struct kiln_remote *remote, kiln_remote_entry *entries, size_t count, unsigned timeout_ms);
/* KILN_DONE: stored. KILN_MISS: the lease with this token is lost, and nothing was stored. KILN_FAILED: counted. */
enum kiln_outcome kiln__remote_put(struct kiln_remote *remote, const char *name, kiln_bytes bytes, const char *token,
                                   unsigned timeout_ms);
/* KILN_DONE: it is there. KILN_MISS: it is not. KILN_FAILED: that is not known. */
enum kiln_outcome kiln__remote_exists(struct kiln_remote *remote, const char *name, unsigned timeout_ms);
/* Takes or renews. KILN_DONE: it is ours. KILN_MISS: somebody else's. KILN_FAILED: that is not known. */
enum kiln_outcome kiln__remote_lease(struct kiln_remote *remote, const char *name, const char *token,
                                     unsigned lifetime_ms, unsigned timeout_ms);
void kiln__remote_give_up_lease(struct kiln_remote *remote, const char *name, const char *token, unsigned timeout_ms);

/* It gave an entry that is not what was asked for: a fault. One that does so again and again is left alone. */
void kiln__remote_lied(struct kiln_remote *remote, const kiln_error *err);
/* It gave what was asked for. */
void kiln__remote_was_honest(struct kiln_remote *remote);

#endif
