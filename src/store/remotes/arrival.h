/*
 * arrival.h - bytes from a remote become an artifact, or are refused. Inside store/remotes.
 *
 * What arrives may have been written by anybody. It is bounded before memory is taken for it, decompressed, decoded
 * with all its digests checked, its full key compared with the one that was asked for, and its signature verified, in
 * this order; nothing of it is used before all of that.
 */
#ifndef KILN_STORE_REMOTES_ARRIVAL_H
#define KILN_STORE_REMOTES_ARRIVAL_H

#include "store/artifact.h"

enum kiln_arrival {
    KILN_ARRIVED,          /* the caller's reference */
    KILN_ARRIVED_FOREIGN,  /* of another format version, or for another machine: a miss */
    KILN_ARRIVED_DAMAGED,  /* not what was asked for: the text says how */
    KILN_ARRIVED_UNTRUSTED /* nobody who is trusted here has signed it: the text says more */
};

/* `stored` stays the caller's. `err` is never NULL. */
enum kiln_arrival kiln__arrival_open(kiln_bytes stored, const struct kiln_digest *digest, kiln_bytes key,
                                     struct kiln_artifact **out, kiln_error *err);

#endif
