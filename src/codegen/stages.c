/* stages.c - see stages.h. Instructions are in topological order, so one walk forwards or backwards is enough. */
#include "codegen/stages.h"

#include <stdlib.h>
#include <string.h>

bool kiln__is_reduction(const struct kiln_instr *instr)
{
    return kiln__ops[instr->op].kind == KILN_OP_REDUCE;
}

bool kiln__is_reduced_in(const struct kiln_stages *stages, uint32_t index, uint32_t pass)
{
    return kiln__is_reduction(&stages->p->group->instrs[index]) && stages->stage[stages->first + index] == pass + 1;
}

bool kiln__has_element_outputs(const struct kiln_stages *stages)
{
    for (uint32_t i = 0; i < stages->p->group->output_count; i++)
        if (!stages->p->shared[stages->p->group->outputs[i]]) return true;
    return false;
}

struct kiln_reducer kiln__stages_reducer(const struct kiln_stages *stages, uint32_t index)
{
    struct kiln_reducer reducer = {.ir = stages->p->ir};
    const struct kiln_instr *instr = &stages->p->group->instrs[index];
    kiln__reducer_init(&reducer, instr->op, stages->p->dtypes[instr->in[0]], instr->dtype, KILN_LAYOUT_PACKED, NULL);
    return reducer;
}

static void find_stages(struct kiln_stages *stages)
{
    const struct kiln_group *group = stages->p->group;
    for (uint32_t i = 0; i < group->instr_count; i++) {
        const struct kiln_instr *instr = &group->instrs[i];
        uint32_t stage = 0;
        for (int k = 0; k < kiln__ops[instr->op].arity; k++)
            if (stages->stage[instr->in[k]] > stage) stage = stages->stage[instr->in[k]];
        stages->stage[stages->first + i] = stage + kiln__is_reduction(instr);
        if (kiln__is_reduction(instr) && stage + 1 > stages->passes) stages->passes = stage + 1;
    }
}

kiln_status kiln__stages_init(struct kiln_stages *stages, struct kiln_printer *p, kiln_error *err)
{
    *stages = (struct kiln_stages){.p = p, .first = p->group->operand_count + p->group->constant_count};
    size_t count = kiln__group_values(p->group);
    stages->stage = calloc(count + 1, sizeof *stages->stage);
    stages->needed = calloc(count + 1, sizeof *stages->needed);
    p->needed = stages->needed;
    if (!stages->stage || !stages->needed) return kiln__no_memory(err, "the text of a kernel");
    find_stages(stages);
    return KILN_OK;
}

void kiln__stages_release(struct kiln_stages *stages)
{
    stages->p->needed = NULL;
    free(stages->stage);
    free(stages->needed);
}

/* Element values that the needed ones are computed from are needed too. */
static void need_inputs(struct kiln_stages *stages, const uint8_t *held)
{
    const struct kiln_group *group = stages->p->group;
    for (uint32_t i = group->instr_count; i-- > 0;) {
        const struct kiln_instr *instr = &group->instrs[i];
        uint32_t value = stages->first + i;
        if (!stages->needed[value] || stages->p->shared[value] || (held && held[value])) continue;
        for (int k = 0; k < kiln__ops[instr->op].arity; k++) stages->needed[instr->in[k]] = true;
    }
}

void kiln__stages_need(struct kiln_stages *stages, uint32_t pass, const uint8_t *held)
{
    const struct kiln_group *group = stages->p->group;
    for (uint32_t i = 0; i < group->instr_count; i++)
        if (kiln__is_reduced_in(stages, i, pass)) stages->needed[group->instrs[i].in[0]] = true;
    for (uint32_t i = 0; i < group->output_count && pass == stages->passes; i++)
        stages->needed[group->outputs[i]] = true;
    need_inputs(stages, held);
}

void kiln__stages_need_nothing(struct kiln_stages *stages)
{
    memset(stages->needed, 0, kiln__group_values(stages->p->group) * sizeof *stages->needed);
}

kiln_status kiln__print_stage(struct kiln_stages *stages, uint32_t stage, kiln_error *err)
{
    const struct kiln_group *group = stages->p->group;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < group->instr_count && !status; i++) {
        uint32_t value = stages->first + i;
        if (!kiln__is_reduction(&group->instrs[i]) && stages->p->shared[value] && stages->stage[value] == stage)
            status = kiln__print_instr(stages->p, i, err);
    }
    return status;
}
