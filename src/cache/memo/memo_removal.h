/*
 * memo_removal.h - values that leave a memo table: by eviction, because what they read has changed, or by clearing.
 *
 * A value that left may still be in use. One that a thread pins, or that is retired until threads have left, waits in
 * the table's limbo, and is looked at again when the next values leave.
 */
#ifndef KILN_CACHE_MEMO_MEMO_REMOVAL_H
#define KILN_CACHE_MEMO_MEMO_REMOVAL_H

#include "cache/memo/memo_table.h"

/* What went out of the table and has to be dropped once the lock is given up. */
struct kiln_removed {
    struct kiln_entries *table;
    struct kiln_limbo *limbo;
    uint64_t oldest; /* of what is retired, what was before this epoch may go */
    struct kiln_held held;
    struct kiln_removed *next; /* for kiln__memo_take_device() */
    void (*release)(void *value);
};

/* With the lock held: the key of a value is forgotten. Returns a reference that is one too many, or NULL. */
void *kiln__memo_forget_value(struct kiln_memo_table *memo, void *value, const uint64_t *key);
/* With the lock held, after a heavy barrier: values in limbo may go, but those that are still in use come back. */
void kiln__memo_take_limbo(struct kiln_memo_table *memo, struct kiln_removed *removed);
/* Without the lock: releases what nobody uses; the rest goes to limbo. */
void kiln__memo_drop(struct kiln_memo_table *memo, struct kiln_removed *removed);

/* With the lock held, these two; the limit is reached: the least recently used eighth leaves. */
void kiln__memo_evict(struct kiln_memo_table *memo, struct kiln_removed *removed);
size_t kiln__memo_leaving(const struct kiln_memo_table *memo); /* how many that is */
/*
 * What is used from here on counts as recent at the next eviction. Thread caches hide what they hit from the table, so
 * their slots are made void: what is in use is found in the table again at its next call.
 */
void kiln__memo_begin_period(struct kiln_memo_table *memo);

#endif
