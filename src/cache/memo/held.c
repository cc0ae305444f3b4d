/*
 * held.c - see held.h. Open addressing; values are never taken out one by one, so a slot in use stays in use.
 */
#include "cache/memo/held.h"

#include <stdlib.h>

struct kiln_held_slot {
    void *value; /* NULL: empty */
    uint32_t device;
};

static size_t first_slot(const struct kiln_held *held, const void *value)
{
    return (size_t)((uint64_t)(uintptr_t)value * 0x9e3779b97f4a7c15ull >> 32) & (held->size - 1);
}

/* The slot of `value`, or the empty one that it would take. */
static struct kiln_held_slot *slot_of(const struct kiln_held *held, const void *value)
{
    size_t i = first_slot(held, value);
    while (held->slots[i].value && held->slots[i].value != value) i = (i + 1) & (held->size - 1);
    return &held->slots[i];
}

static void put(struct kiln_held *held, struct kiln_held_slot slot)
{
    *slot_of(held, slot.value) = slot;
    held->count++;
}

static bool make_room(struct kiln_held *held)
{
    if (held->count + 1 <= held->size / 2) return true;
    struct kiln_held grown = {.size = held->size ? held->size * 2 : 16};
    grown.slots = calloc(grown.size, sizeof *grown.slots);
    if (!grown.slots) return false;
    for (size_t i = 0; i < held->size; i++)
        if (held->slots[i].value) put(&grown, held->slots[i]);
    free(held->slots);
    *held = grown;
    return true;
}

bool kiln__held_add(struct kiln_held *held, void *value, uint32_t device)
{
    if (held->size && slot_of(held, value)->value) return false;
    if (make_room(held)) put(held, (struct kiln_held_slot){value, device});
    return true;
}

void kiln__held_take(struct kiln_held *held, uint32_t device, struct kiln_held *out)
{
    struct kiln_held kept = {.size = held->size};
    *out = (struct kiln_held){0};
    if (!held->count || !(kept.slots = calloc(kept.size, sizeof *kept.slots))) return;
    for (size_t i = 0; i < held->size; i++) {
        if (!held->slots[i].value || held->slots[i].device == device) continue;
        put(&kept, held->slots[i]);
        held->slots[i].value = NULL;
    }
    *out = *held;
    *held = kept;
}

void kiln__held_release(struct kiln_held *held, void (*release)(void *value))
{
    for (size_t i = 0; i < held->size; i++)
        if (held->slots[i].value) release(held->slots[i].value);
    free(held->slots);
    *held = (struct kiln_held){0};
}
