/*
 * writer.h - what is put to remotes, in the background: one queue and one thread for the process.
 *
 * No call waits for a put. The queue is bounded: what does not fit is dropped and counted as a fault. exit() waits for
 * it, a second at most, and so does closing a cache. A forked child begins with an empty queue, and makes its own
 * thread when it puts something. Leases are ended here too, after what was made under them was put: renewing one may be
 * under way, and nobody else should wait for that. All calls are safe from every thread.
 */
#ifndef KILN_STORE_REMOTES_WRITER_H
#define KILN_STORE_REMOTES_WRITER_H

#include "store/remotes/lease.h"
#include "store/remotes/remotes.h"

/* Puts `artifact` (NULL: nothing) to all remotes, or to those that lack it, and ends the lease (may be NULL). */
void kiln__writer_add(struct kiln_remotes *remotes, struct kiln_artifact *artifact, bool is_offer,
                      struct kiln_lease *lease);

/* Waits until all is done that was added for these remotes (NULL: for any), at most so long. */
void kiln__writer_flush(const struct kiln_remotes *remotes, uint64_t patience_ns);

/* For tests: how many artifacts wait at most; 0 is the default. */
void kiln__writer_set_limit(size_t most);

#endif
