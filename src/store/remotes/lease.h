/*
 * lease.h - single flight over hosts: who has the lease on a key makes its artifact, the others wait for it.
 *
 * A lease runs out by itself after a few seconds; its holder renews it every second from a thread of its own, until the
 * artifact is at the remote (writer.h) or it is given up. So the lease of a host that dies is another's after a moment.
 * A lease that was lost costs a second compile and nothing else: a put says under which lease it was made, and the
 * remote refuses one that is not held any more. A thread that waits holds nothing else (store/claim.h).
 */
#ifndef KILN_STORE_REMOTES_LEASE_H
#define KILN_STORE_REMOTES_LEASE_H

#include "base/digest.h"
#include "store/beat.h"
#include "store/claim.h"
#include "store/remotes/client.h"

enum { KILN_TOKEN_SIZE = 40 };

struct kiln_lease {
    struct kiln_claim claim;      /* first: a kiln_claim * is a struct kiln_lease * */
    struct kiln_remotes *remotes; /* that the remote is one of; set by who takes the lease */
    struct kiln_remote *remote;
    char name[KILN_DIGEST_HEX], token[KILN_TOKEN_SIZE];
    struct kiln_beat beat;
    unsigned forks; /* kiln__forks() when it was taken: a child of the holder does not hold it */
};

/* KILN_DONE: it is ours, and held by this thread; `release` is what gives it up when frames are lost. KILN_MISS:
 * another has it. KILN_FAILED: there is none to be had. `remote` must outlive it. */
enum kiln_outcome kiln__lease_take(struct kiln_remote *remote, const char *name,
                                   void (*release)(struct kiln_claim *claim), struct kiln_lease **out);
/* Ours still, seen from this process? */
bool kiln__lease_is_ours(const struct kiln_lease *lease);
/* At that time it is given back, and others go on; it is still to be ended. */
void kiln__lease_expire_at(struct kiln_lease *lease, uint64_t until_ns);
/* Gives it back, with at most `timeout_ms` for the answer, and frees it. By any thread, once no thread holds it. */
void kiln__lease_end(struct kiln_lease *lease, unsigned timeout_ms);

/* For tests: how long a lease lives, and how often it is renewed; 0 is the default: 3 s and 1 s. */
void kiln__lease_set_limits(uint64_t lifetime_ms, uint64_t renew_ms);

#endif
