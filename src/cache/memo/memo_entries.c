/*
 * memo_entries.c - see memo_entries.h. Tables and entries stand in huge pages once there are many (base/pages.h).
 */
#include "cache/memo/memo_entries.h"

#include <string.h>

#include "base/pages.h"
#include "key/request.h"

_Alignas(max_align_t) struct kiln_entry kiln__entry_moved;

void kiln__entry_publish(struct kiln_entries *table, size_t i, struct kiln_entry *entry)
{
    atomic_store_explicit(&table->slots[i], (uintptr_t)entry | kiln__entry_tag(entry->hash), memory_order_release);
}

void kiln__entry_take(struct kiln_entries *table, size_t i)
{
    atomic_store_explicit(&table->slots[i], (uintptr_t)&kiln__entry_moved, memory_order_relaxed);
}

void kiln__entries_insert(struct kiln_entries *table, struct kiln_entry *entry)
{
    size_t i = entry->hash & table->mask;
    while (kiln__entry_at(table, i)) i = (i + 1) & table->mask;
    kiln__entry_publish(table, i, entry);
}

static size_t table_bytes(size_t slots)
{
    return sizeof(struct kiln_entries) + slots * sizeof(uintptr_t);
}

struct kiln_entries *kiln__entries_new(size_t slots)
{
    bool in_block;
    struct kiln_entries *table = kiln__pages_new(table_bytes(slots), &in_block);
    if (!table) return NULL;
    table->mask = slots - 1;
    table->in_block = in_block;
    return table;
}

void kiln__entries_free(struct kiln_entries *table)
{
    if (table) kiln__pages_free(table, table_bytes(table->mask + 1), table->in_block);
}

static size_t entry_bytes(uint32_t count)
{
    return sizeof(struct kiln_entry) + count * sizeof(uint64_t);
}

struct kiln_entry *kiln__entry_new(const struct kiln_signature *signature, uint64_t hash, void *value,
                                   struct kiln_read_record *reads)
{
    bool in_block;
    struct kiln_entry *entry = kiln__pages_new(entry_bytes(signature->count), &in_block);
    if (!entry) return NULL;
    *entry = (struct kiln_entry){
        .hash = hash, .value = value, .reads = reads, .recent = true, .in_block = in_block, .count = signature->count};
    memcpy(entry->key, signature->words, signature->count * sizeof *signature->words);
    return entry;
}

void kiln__entry_free(struct kiln_entry *entry)
{
    kiln__reads_free(entry->reads);
    kiln__pages_free(entry, entry_bytes(entry->count), entry->in_block);
}
