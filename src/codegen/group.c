/*
 * group.c - what a group is: when two are equal, and what a kernel can be printed for.
 */
#include "codegen/group.h"

#include <stdio.h>
#include <string.h>

#include "codegen/combine.h"
#include "codegen/printer.h"

uint32_t kiln__group_values(const struct kiln_group *group)
{
    return group->operand_count + group->constant_count + group->instr_count;
}

const char *kiln__layout_word(char layout)
{
    switch (layout) {
    case KILN_LAYOUT_PACKED:
        return "packed";
    case KILN_LAYOUT_SCALAR:
        return "scalar";
    case KILN_LAYOUT_STRIDED:
        return "strided";
    case KILN_LAYOUT_ROWS:
        return "rows";
    case KILN_LAYOUT_TRANSPOSED:
        return "transposed";
    case KILN_LAYOUT_INDEX:
        return "indices";
    default:
        return "?";
    }
}

_Static_assert(sizeof(struct kiln_instr) == 16 &&
                   sizeof(struct kiln_group) == 4 * sizeof(uint32_t) + 4 * sizeof(void *),
               "what is new in a group has to be compared");

static bool equal_instrs(const struct kiln_instr *a, const struct kiln_instr *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->in[0] == b->in[0] && a->in[1] == b->in[1] &&
           a->in[2] == b->in[2];
}

bool kiln__group_equal(const struct kiln_group *a, const struct kiln_group *b)
{
    bool equal = a->operand_count == b->operand_count && a->constant_count == b->constant_count &&
                 a->instr_count == b->instr_count && a->output_count == b->output_count &&
                 memcmp(a->operand_dtypes, b->operand_dtypes, a->operand_count) == 0 &&
                 memcmp(a->constant_dtypes, b->constant_dtypes, a->constant_count) == 0 &&
                 memcmp(a->outputs, b->outputs, a->output_count * sizeof *a->outputs) == 0;
    for (uint32_t i = 0; equal && i < a->instr_count; i++) equal = equal_instrs(&a->instrs[i], &b->instrs[i]);
    return equal;
}

/* ---- checks -------------------------------------------------------------------------------------------------------
 */

static kiln_status check_dtype(int dtype, kiln_error *err)
{
    if (dtype >= 0 && dtype < KILN_DTYPE_COUNT) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "a group has dtype %d; dtypes are 0 to %d", dtype, KILN_DTYPE_COUNT - 1);
}

/* The dtypes an operation may see: all inputs alike, but for the condition of a selection; the result follows the rule.
 */
static bool dtypes_agree(const struct kiln_printer *p, const struct kiln_instr *instr)
{
    const struct kiln_op_info *info = &kiln__ops[instr->op];
    bool selects = info->dtype_rule == KILN_RULE_SELECT;
    if (info->dtype_rule == KILN_RULE_CAST) return true;
    if (selects && p->dtypes[instr->in[0]] != KILN_BOOL) return false;
    uint8_t first = p->dtypes[instr->in[selects]];
    for (int i = selects; i < info->arity; i++)
        if (p->dtypes[instr->in[i]] != first) return false;
    return instr->dtype == kiln__op_result(instr->op, first);
}

static kiln_status check_instr(const struct kiln_printer *p, uint32_t index, kiln_error *err)
{
    const struct kiln_instr *instr = &p->group->instrs[index];
    uint32_t before = p->group->operand_count + p->group->constant_count + index;
    bool is_alone = p->flags & KILN_GROUP_ALONE && p->group->instr_count == 1;
    bool reduces =
        p->flags & KILN_GROUP_ROWS && instr->op < KILN_OP_COUNT && kiln__ops[instr->op].kind == KILN_OP_REDUCE;
    if (instr->op >= KILN_OP_COUNT || (kiln__ops[instr->op].kind != KILN_OP_ELEMENTWISE && !reduces && !is_alone))
        return kiln__fail(
            err, KILN_INVALID,
            "instruction %u of a group is not element-wise, nor a reduction in a kernel with rows (operation %u)",
            index, instr->op);
    for (int i = 0; i < kiln__ops[instr->op].arity; i++)
        if (instr->in[i] >= before)
            return kiln__fail(err, KILN_INVALID, "instruction %u reads value %u, which is not computed before it",
                              index, instr->in[i]);
    if (check_dtype(instr->dtype, err)) return KILN_INVALID;
    if (reduces)
        return kiln__reducer_init(&(struct kiln_reducer){0}, instr->op, p->dtypes[instr->in[0]], instr->dtype,
                                  KILN_LAYOUT_PACKED, err);
    if (!is_alone && !dtypes_agree(p, instr))
        return kiln__fail(err, KILN_INVALID, "[%s] instruction %u of a group has inputs or a result of the wrong dtype",
                          kiln__ops[instr->op].name, index);
    return KILN_OK;
}

static kiln_status check_streaming(const struct kiln_printer *p, kiln_error *err)
{
    const struct kiln_group *group = p->group;
    for (uint32_t i = 0; i < group->operand_count; i++)
        if (p->layouts[i] == KILN_LAYOUT_STRIDED)
            return kiln__fail(err, KILN_INVALID, "a streaming kernel takes packed or scalar operands only");
    for (uint32_t i = 1; i < group->output_count; i++)
        if (kiln__dtype_size(p->dtypes[group->outputs[i]]) != kiln__dtype_size(p->dtypes[group->outputs[0]]))
            return kiln__fail(err, KILN_INVALID, "the outputs of a streaming kernel must have elements of one size");
    return KILN_OK;
}

static kiln_status check_layouts(const struct kiln_printer *p, const char *allowed, kiln_error *err)
{
    size_t count = p->group->operand_count, length = strlen(allowed);
    char list[32] = "";
    if (strlen(p->layouts) == count && strspn(p->layouts, allowed) == count) return KILN_OK;
    for (size_t i = 0; i < length && 3 * i < sizeof list - 3; i++)
        snprintf(list + 3 * i, sizeof list - 3 * i, i + 1 < length ? "%c, " : "%c", allowed[i]);
    return kiln__fail(err, KILN_INVALID, "layout \"%s\" must have one of %s for each of %zu operands", p->layouts, list,
                      count);
}

kiln_status kiln__group_check(struct kiln_printer *p, const char *allowed, kiln_error *err)
{
    const struct kiln_group *group = p->group;
    uint32_t next = 0;
    if (!group->output_count) return kiln__fail(err, KILN_INVALID, "a group needs at least one output");
    if (check_layouts(p, allowed, err)) return KILN_INVALID;
    for (uint32_t i = 0; i < group->operand_count; i++) p->dtypes[next++] = group->operand_dtypes[i];
    for (uint32_t i = 0; i < group->constant_count; i++) p->dtypes[next++] = group->constant_dtypes[i];
    for (uint32_t i = 0; i < next; i++)
        if (check_dtype(p->dtypes[i], err)) return KILN_INVALID;
    for (uint32_t i = 0; i < group->instr_count; i++) {
        if (check_instr(p, i, err)) return KILN_INVALID;
        p->dtypes[next++] = group->instrs[i].dtype;
    }
    for (uint32_t i = 0; i < group->output_count; i++)
        if (group->outputs[i] >= next)
            return kiln__fail(err, KILN_INVALID, "output %u of a group is value %u of %u", i, group->outputs[i], next);
    bool streams = p->flags & KILN_GROUP_STREAMING && !(p->flags & KILN_GROUP_ROWS); /* rows.c checks its own */
    return streams ? check_streaming(p, err) : KILN_OK;
}
