/*
 * keep.c - see keep.h. Candidates are tried from the last instruction to the first: when one is kept, its inputs may
 * not be needed any more.
 */
#include "codegen/keep.h"

#include <stdlib.h>
#include <string.h>

uint32_t kiln__kept_in(const struct kiln_keeping *keeping, uint32_t value)
{
    for (uint32_t i = 0; i < keeping->count; i++)
        if (keeping->values[i] == value) return keeping->passes[i];
    return KILN_NEVER;
}

const uint8_t *kiln__keeping_held(struct kiln_keeping *keeping, uint32_t pass)
{
    for (uint32_t i = 0; i < keeping->count; i++) keeping->held[keeping->values[i]] = keeping->passes[i] < pass;
    return keeping->held;
}

bool kiln__group_may_keep(const struct kiln_group *group)
{
    for (uint32_t i = 0; i < group->instr_count; i++)
        if (kiln__is_expensive(&group->instrs[i])) return true;
    return false;
}

/* Leaves in `needed` what the passes from `first` to before `end` need. */
static void need(struct kiln_keeping *keeping, struct kiln_stages *stages, uint32_t first, uint32_t end)
{
    kiln__stages_need_nothing(stages);
    for (uint32_t pass = first; pass < end; pass++) kiln__stages_need(stages, pass, kiln__keeping_held(keeping, pass));
}

static void choose_in(struct kiln_keeping *keeping, struct kiln_stages *stages, uint32_t pass, bool *here)
{
    need(keeping, stages, pass, pass + 1);
    memcpy(here, stages->needed, kiln__group_values(stages->p->group) * sizeof *here);
    need(keeping, stages, pass + 1, stages->passes + 1);
    for (uint32_t i = stages->p->group->instr_count; i-- > 0 && keeping->count < KILN_KEPT_MAX;) {
        uint32_t value = stages->first + i;
        if (!here[value] || !stages->needed[value] || kiln__kept_in(keeping, value) != KILN_NEVER) continue;
        if (stages->p->shared[value] || !kiln__is_expensive(&stages->p->group->instrs[i])) continue;
        keeping->values[keeping->count] = value;
        keeping->passes[keeping->count++] = pass;
        need(keeping, stages, pass + 1, stages->passes + 1);
    }
}

kiln_status kiln__keeping_init(struct kiln_keeping *keeping, struct kiln_stages *stages, kiln_error *err)
{
    uint32_t count = kiln__group_values(stages->p->group);
    *keeping = (struct kiln_keeping){.held = calloc(count + 1, sizeof *keeping->held)};
    bool *here = calloc(count + 1, sizeof *here);
    kiln_status status = keeping->held && here ? KILN_OK : kiln__no_memory(err, "the text of a kernel");
    bool is_short = stages->p->flags & KILN_GROUP_SHORT;
    for (uint32_t pass = 0; pass < stages->passes && is_short && !status; pass++)
        choose_in(keeping, stages, pass, here);
    free(here);
    return status;
}

void kiln__keeping_release(struct kiln_keeping *keeping)
{
    free(keeping->held);
}
