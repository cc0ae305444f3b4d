/*
 * memo_entries.h - one table of entries: open addressing over pointers to immutable entries.
 *
 * Anybody may probe, without a lock: an entry is complete before a release store puts it into an empty slot, and a slot
 * that was filled is not filled with another key. Writers exclude each other (memo_table.h).
 *
 * With many entries a look-up costs what it waits for memory: the slot, then the entry. The low bits of a slot, which
 * an entry's address leaves free, are bits of its hash, so that entries of other keys are passed by untouched.
 */
#ifndef KILN_CACHE_MEMO_MEMO_ENTRIES_H
#define KILN_CACHE_MEMO_MEMO_ENTRIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/signature.h"

struct kiln_entry {
    uint64_t hash;
    void *value;
    struct kiln_read_record *reads; /* variables lower() read; such entries are not put into thread caches */
    uint32_t order;                 /* of making; nothing breaks when it wraps around */
    uint32_t count;                 /* words of key */
    _Atomic uint32_t hits;          /* counted when audited */
    _Atomic bool recent;            /* found in the table since the period began; written only when clear */
    bool dropped;                   /* chosen to go; guarded by the lock */
    bool in_block;                  /* see base/pages.h */
    uint64_t key[];
};

struct kiln_entries {
    struct kiln_entries *older; /* in a list of outgrown tables */
    size_t mask;
    bool in_block;             /* see base/pages.h */
    _Atomic uintptr_t slots[]; /* 0: empty; else an entry's address with its tag */
};

enum { KILN_ENTRY_TAGS = _Alignof(max_align_t) - 1 }; /* malloc leaves these bits of an address 0 */

/* Stands in a table that went out for an entry that lives on in another one; matches no key. */
extern struct kiln_entry kiln__entry_moved;

/* Bits of the hash that do not pick the slot. */
static inline uintptr_t kiln__entry_tag(uint64_t hash)
{
    return hash >> 32 & KILN_ENTRY_TAGS;
}

static inline struct kiln_entry *kiln__entry_of(uintptr_t slot)
{
    return (struct kiln_entry *)(slot & ~(uintptr_t)KILN_ENTRY_TAGS);
}

/* For writers. NULL: the slot is empty. */
static inline struct kiln_entry *kiln__entry_at(struct kiln_entries *table, size_t i)
{
    return kiln__entry_of(atomic_load_explicit(&table->slots[i], memory_order_relaxed));
}

/* For readers and writers. NULL: not there, or there is no table. */
static inline struct kiln_entry *kiln__entries_probe(struct kiln_entries *table, const uint64_t *key, uint32_t count,
                                                     uint64_t hash)
{
    if (!table) return NULL;
    for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
        uintptr_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);
        if (!slot) return NULL;
        if ((slot & KILN_ENTRY_TAGS) != kiln__entry_tag(hash)) continue;
        struct kiln_entry *entry = kiln__entry_of(slot);
        if (entry->hash == hash && entry->count == count && kiln__key_equal(entry->key, key, count)) return entry;
    }
}

/* A table of `slots`, a power of two; NULL: out of memory. Kept at most half full, so that probing ends. */
struct kiln_entries *kiln__entries_new(size_t slots);
void kiln__entries_free(struct kiln_entries *table); /* not its entries; NULL is fine */
/* Puts an entry where probing finds it. */
void kiln__entries_insert(struct kiln_entries *table, struct kiln_entry *entry);
/* Puts an entry into slot i, which is empty or holds one with the same key. */
void kiln__entry_publish(struct kiln_entries *table, size_t i, struct kiln_entry *entry);
/* Marks the entry of slot i as moved. The table is one that went out. */
void kiln__entry_take(struct kiln_entries *table, size_t i);

struct kiln_entry *kiln__entry_new(const struct kiln_signature *signature, uint64_t hash, void *value,
                                   struct kiln_read_record *reads);
void kiln__entry_free(struct kiln_entry *entry); /* and what it reads; not its value */

#endif
