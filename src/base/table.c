/*
 * table.c - see table.h. Open addressing, at most half full, so that probing ends.
 */
#include "base/table.h"

#include <stdlib.h>

struct kiln_table_slot {
    uint64_t hash;
    uint32_t index;
};

static bool grow(struct kiln_table *table)
{
    size_t old_size = table->slots ? table->mask + 1 : 0, size = old_size ? old_size * 2 : 32;
    struct kiln_table_slot *slots = malloc(size * sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < size; i++) slots[i].index = KILN_TABLE_EMPTY;
    for (size_t i = 0; i < old_size; i++) {
        if (table->slots[i].index == KILN_TABLE_EMPTY) continue;
        size_t at = table->slots[i].hash & (size - 1);
        while (slots[at].index != KILN_TABLE_EMPTY) at = (at + 1) & (size - 1);
        slots[at] = table->slots[i];
    }
    free(table->slots);
    table->slots = slots;
    table->mask = size - 1;
    return true;
}

uint32_t *kiln__table_slot(struct kiln_table *table, uint64_t hash, bool (*equal)(const void *context, uint32_t index),
                           const void *context)
{
    if ((!table->slots || 2 * (table->count + 1) > table->mask + 1) && !grow(table)) return NULL;
    for (size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        struct kiln_table_slot *slot = &table->slots[at];
        if (slot->index == KILN_TABLE_EMPTY) {
            slot->hash = hash;
            table->count++; /* the caller fills it */
            return &slot->index;
        }
        if (slot->hash == hash && equal(context, slot->index)) return &slot->index;
    }
}

uint32_t kiln__table_find(const struct kiln_table *table, uint64_t hash,
                          bool (*equal)(const void *context, uint32_t index), const void *context)
{
    if (!table->slots) return KILN_TABLE_EMPTY;
    for (size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        const struct kiln_table_slot *slot = &table->slots[at];
        if (slot->index == KILN_TABLE_EMPTY || (slot->hash == hash && equal(context, slot->index))) return slot->index;
    }
}

void kiln__table_release(struct kiln_table *table)
{
    free(table->slots);
    *table = (struct kiln_table){0};
}
