/*
 * printer.c - see printer.h.
 */
#include "codegen/printer.h"

#include <stdlib.h>

kiln_status kiln__printer_init(struct kiln_printer *p, const char *allowed, kiln_error *err)
{
    p->dtypes = calloc(kiln__group_values(p->group) + 1u, 1);
    p->shared = calloc(kiln__group_values(p->group) + 1u, sizeof *p->shared);
    if (!p->dtypes || !p->shared) return kiln__no_memory(err, "the text of a kernel");
    kiln_status status = kiln__group_check(p, allowed, err);
    if (!status) kiln__printer_share(p, KILN_LAYOUT_SCALAR);
    return status;
}

void kiln__printer_release(struct kiln_printer *p)
{
    free(p->shared);
    free(p->dtypes);
}

void kiln__printer_share(struct kiln_printer *p, char layout)
{
    const struct kiln_group *group = p->group;
    uint32_t next = 0;
    for (uint32_t i = 0; i < group->operand_count; i++) p->shared[next++] = p->layouts[i] == layout;
    for (uint32_t i = 0; i < group->constant_count; i++) p->shared[next++] = true;
    for (uint32_t i = 0; i < group->instr_count; i++, next++) {
        p->shared[next] = true;
        if (kiln__ops[group->instrs[i].op].kind == KILN_OP_REDUCE) continue;
        for (int k = 0; k < kiln__ops[group->instrs[i].op].arity; k++)
            p->shared[next] &= p->shared[group->instrs[i].in[k]];
    }
}

/* ---- heading ---------------------------------------------------------------------------------------------------
 */

static void print_operation(struct kiln_printer *p, uint32_t index)
{
    const struct kiln_instr *instr = &p->group->instrs[index];
    kiln__print(p->ir, "; operation v$0: $1 $2(", index, kiln__dtypes[instr->dtype].name, kiln__ops[instr->op].name);
    for (int k = 0; k < kiln__ops[instr->op].arity; k++)
        kiln__print(p->ir, "$0$1", k ? ", " : "", kiln__value_label(p, instr->in[k]).text);
    kiln__print(p->ir, ")\n");
}

void kiln__print_heading(struct kiln_printer *p)
{
    const struct kiln_group *group = p->group;
    for (uint32_t i = 0; i < group->operand_count; i++)
        kiln__print(p->ir, "; operand a$0: $1, $2\n", i, kiln__dtypes[group->operand_dtypes[i]].name,
                    kiln__layout_word(p->layouts[i]));
    for (uint32_t i = 0; i < group->constant_count; i++)
        kiln__print(p->ir, "; constant c$0: $1\n", i, kiln__dtypes[group->constant_dtypes[i]].name);
    for (uint32_t i = 0; i < group->instr_count; i++) print_operation(p, i);
    for (uint32_t i = 0; i < group->output_count; i++)
        kiln__print(p->ir, "; result $0: $1\n", kiln__value_label(p, group->outputs[i]).text,
                    kiln__dtypes[p->dtypes[group->outputs[i]]].name);
    kiln__print(p->ir, "\n");
}

/* ---- values -------------------------------------------------------------------------------------------------------
 */

static struct kiln_name name_of(const struct kiln_printer *p, const char *start, uint32_t value, const char *end)
{
    uint32_t constants = p->group->operand_count, instrs = constants + p->group->constant_count;
    bool is_operand = value < constants, is_constant = !is_operand && value < instrs;
    char kind = is_operand ? 'a' : is_constant ? 'c' : 'v';
    return kiln__name(p->ir, "$0$1$2$3", start, kind, value - (is_operand ? 0 : is_constant ? constants : instrs), end);
}

struct kiln_name kiln__value_label(const struct kiln_printer *p, uint32_t value)
{
    return name_of(p, "", value, "");
}

struct kiln_name kiln__value_name(const struct kiln_printer *p, uint32_t value)
{
    return name_of(p, "%", value, p->shared[value] ? "" : p->pass);
}

/* The element every iteration shares, from `base` (%p or %pN.base). */
void kiln__print_shared_loads(struct kiln_printer *p, const char *base)
{
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (p->layouts[i] != KILN_LAYOUT_SCALAR) continue;
        kiln__ir_load(p->ir, kiln__value_name(p, i).text, p->dtypes[i], kiln__name(p->ir, "%p$0$1", i, base).text, "");
    }
}

kiln_status kiln__print_instr(struct kiln_printer *p, uint32_t index, kiln_error *err)
{
    struct kiln_name inputs[3];
    const char *names[3] = {inputs[0].text, inputs[1].text, inputs[2].text};
    const struct kiln_instr *instr = &p->group->instrs[index];
    const struct kiln_op_info *info = &kiln__ops[instr->op];
    struct kiln_name name = kiln__value_name(p, p->group->operand_count + p->group->constant_count + index);
    for (int i = 0; i < info->arity; i++) inputs[i] = kiln__value_name(p, instr->in[i]);
    enum kiln_dtype in_dtype = p->dtypes[instr->in[info->dtype_rule == KILN_RULE_SELECT]];
    if (instr->op == KILN_OP_CAST) {
        kiln__ir_cast(p->ir, name.text, instr->dtype, inputs[0].text, in_dtype, 0);
        return KILN_OK;
    }
    return kiln__ir_apply(p->ir, name.text, instr->op, instr->dtype, in_dtype, names, err);
}

kiln_status kiln__print_instrs(struct kiln_printer *p, bool shared, kiln_error *err)
{
    uint32_t first = p->group->operand_count + p->group->constant_count;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < p->group->instr_count && !status; i++)
        if (p->shared[first + i] == shared) status = kiln__print_instr(p, i, err);
    return status;
}

bool kiln__is_expensive(const struct kiln_instr *instr)
{
    const char *lowering = kiln__ops[instr->op].lower[KILN_KIND_FLOAT];
    return lowering && lowering[0] == '@';
}
