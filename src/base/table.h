/*
 * table.h - from a hash to an index into an array of the caller's. The caller's comparison decides, never the hash.
 *
 * A zeroed struct is an empty table. Entries are never removed. One owner.
 */
#ifndef KILN_BASE_TABLE_H
#define KILN_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KILN_TABLE_EMPTY UINT32_MAX

struct kiln_table {
    struct kiln_table_slot *slots;
    size_t mask, count;
};

/*
 * The slot of the entry with this hash for which equal(context, index) holds, or a slot that reads KILN_TABLE_EMPTY,
 * which the caller then fills with the new index. NULL: out of memory. Valid until the next call.
 */
uint32_t *kiln__table_slot(struct kiln_table *table, uint64_t hash, bool (*equal)(const void *context, uint32_t index),
                           const void *context);
/* The index of that entry, or KILN_TABLE_EMPTY. */
uint32_t kiln__table_find(const struct kiln_table *table, uint64_t hash,
                          bool (*equal)(const void *context, uint32_t index), const void *context);
void kiln__table_release(struct kiln_table *table);

#endif
