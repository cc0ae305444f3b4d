/*
 * query.h - keys that are asked of remotes, together: one round trip to each remote until all have an answer. Inside
 * store/remotes.
 */
#ifndef KILN_STORE_REMOTES_QUERY_H
#define KILN_STORE_REMOTES_QUERY_H

#include "store/remotes/remotes.h"

/* One key to be asked for. */
struct kiln_query {
    struct kiln_digest digest;
    kiln_bytes key;                 /* while it is asked */
    struct kiln_artifact *artifact; /* the answer: the asker's reference; NULL: none has it, or nobody answered */
    bool is_answered;               /* some remote did */
};

/* Asks all remotes in their order for what has no artifact yet, within one deadline. `only` (may be NULL): this remote
 * and no other. Counts faults, bytes and refused entries; not time and not misses. */
void kiln__query(struct kiln_remotes *remotes, struct kiln_remote *only, struct kiln_query *queries, size_t count);

#endif
