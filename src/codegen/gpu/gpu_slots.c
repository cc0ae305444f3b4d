/*
 * gpu_slots.c - see gpu_slots.h. A pass keeps the values it has that are direct inputs of what later passes compute: x
 * of a softmax, until exp(x - max) replaces it.
 */
#include "codegen/gpu/gpu_slots.h"

#include <stdlib.h>
#include <string.h>

kiln_status kiln__slots_init(struct kiln_slots *slots, struct kiln_stages *stages, kiln_error *err)
{
    size_t count = kiln__group_values(stages->p->group) + 1u;
    *slots = (struct kiln_slots){.stages = stages};
    slots->held = calloc(count, sizeof *slots->held);
    slots->keeps = calloc(count, sizeof *slots->keeps);
    slots->used = calloc(count, sizeof *slots->used);
    return slots->held && slots->keeps && slots->used ? KILN_OK : kiln__no_memory(err, "the text of a kernel");
}

void kiln__slots_release(struct kiln_slots *slots)
{
    free(slots->held);
    free(slots->keeps);
    free(slots->used);
}

bool kiln__slots_hold_any(const struct kiln_slots *slots)
{
    for (uint32_t i = 0; i < kiln__group_values(slots->stages->p->group); i++)
        if (slots->held[i]) return true;
    return false;
}

void kiln__slots_turn(struct kiln_slots *slots)
{
    uint8_t *held = slots->held;
    slots->held = slots->keeps;
    slots->keeps = held;
}

/* `keeps`: the values that the pass has; `needed` of the stages: those that later passes need. */
static void find_needs(struct kiln_slots *slots, uint32_t pass)
{
    struct kiln_stages *stages = slots->stages;
    kiln__stages_need_nothing(stages);
    kiln__stages_need(stages, pass, slots->held);
    for (uint32_t i = 0; i < kiln__group_values(stages->p->group); i++)
        slots->keeps[i] = stages->needed[i] || slots->held[i];
    kiln__stages_need_nothing(stages);
    for (uint32_t later = pass + 1; later <= stages->passes; later++) kiln__stages_need(stages, later, NULL);
}

/* Values that later passes reduce, store, or read for a value that this pass does not have. */
static void find_used(struct kiln_slots *slots, uint32_t pass)
{
    const struct kiln_stages *stages = slots->stages;
    const struct kiln_group *group = stages->p->group;
    memset(slots->used, 0, kiln__group_values(group) * sizeof *slots->used);
    for (uint32_t i = 0; i < group->output_count; i++) slots->used[group->outputs[i]] = true;
    for (uint32_t i = 0; i < group->instr_count; i++) {
        uint32_t value = stages->first + i;
        bool is_later = kiln__is_reduction(&group->instrs[i])
                            ? stages->stage[value] > pass + 1
                            : stages->needed[value] && !stages->p->shared[value] && !slots->keeps[value];
        for (int k = 0; k < kiln__ops[group->instrs[i].op].arity && is_later; k++)
            slots->used[group->instrs[i].in[k]] = true;
    }
}

/* 1 + the first of `size` free bytes of a slot, or 0. */
static uint8_t take_bytes(unsigned *taken, size_t size)
{
    for (size_t first = 0; first + size <= KILN_SLOT_BYTES; first += size) {
        unsigned mask = ((1u << size) - 1) << first;
        if (*taken & mask) continue;
        *taken |= mask;
        return (uint8_t)(first + 1);
    }
    return 0;
}

/* Held values stay where they are; of the others, larger ones are placed first, and of equal size later ones. */
void kiln__slots_choose(struct kiln_slots *slots, uint32_t pass)
{
    const struct kiln_printer *p = slots->stages->p;
    uint32_t count = kiln__group_values(p->group);
    bool is_open = !slots->is_closed && pass < slots->stages->passes;
    unsigned taken = 0;
    find_needs(slots, pass);
    find_used(slots, pass);
    for (uint32_t i = 0; i < count; i++) {
        bool is_kept = slots->keeps[i] && slots->used[i] && !p->shared[i] && is_open;
        slots->used[i] = is_kept && !slots->held[i];
        slots->keeps[i] = is_kept ? slots->held[i] : 0;
        if (slots->keeps[i]) taken |= ((1u << kiln__dtype_size(p->dtypes[i])) - 1) << (slots->held[i] - 1);
    }
    for (size_t size = KILN_SLOT_BYTES; size; size /= 2) {
        for (uint32_t i = count; i-- > 0;) {
            if (!slots->used[i] || kiln__dtype_size(p->dtypes[i]) != size) continue;
            slots->keeps[i] = take_bytes(&taken, size);
            slots->has_kept |= slots->keeps[i] != 0;
            slots->has_words |= slots->keeps[i] && size == KILN_SLOT_BYTES;
        }
    }
}
