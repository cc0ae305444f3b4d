/*
 * printer.c - see printer.h.
 */
#include "codegen/printer.h"

#include <stdio.h>
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
    kiln__buffer_release(&p->declarations);
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

/* ---- for people ---------------------------------------------------------------------------------------------------
 */

void kiln__print_heading(struct kiln_printer *p)
{
    const struct kiln_group *group = p->group;
    uint32_t value = 0;
    for (uint32_t i = 0; i < group->operand_count; i++, value++)
        kiln__buffer_printf(p->text, "; v%u: operand %s %c\n", value, kiln__dtypes[p->dtypes[value]].name,
                            p->layouts[i]);
    for (uint32_t i = 0; i < group->constant_count; i++, value++)
        kiln__buffer_printf(p->text, "; v%u: constant %s\n", value, kiln__dtypes[p->dtypes[value]].name);
    for (uint32_t i = 0; i < group->instr_count; i++, value++) {
        const struct kiln_instr *instr = &group->instrs[i];
        kiln__buffer_printf(p->text, "; v%u: %s = %s(", value, kiln__dtypes[instr->dtype].name,
                            kiln__ops[instr->op].name);
        for (int k = 0; k < kiln__ops[instr->op].arity; k++)
            kiln__buffer_printf(p->text, "%sv%u", k ? ", " : "", instr->in[k]);
        kiln__buffer_printf(p->text, ")\n");
    }
    kiln__buffer_printf(p->text, "; outputs:");
    for (uint32_t i = 0; i < group->output_count; i++) kiln__buffer_printf(p->text, " v%u", group->outputs[i]);
    kiln__buffer_printf(p->text, "\n\n");
}

/* ---- values -------------------------------------------------------------------------------------------------------
 */

const char *kiln__value_name(const struct kiln_printer *p, char *out, uint32_t value)
{
    snprintf(out, KILN_IR_NAME, "%%v%u%s", value, p->shared[value] ? "" : p->pass);
    return out;
}

/* The element every iteration shares, from `base` (%p or %pN.base). */
void kiln__print_shared_loads(struct kiln_printer *p, const char *base)
{
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (p->layouts[i] != KILN_LAYOUT_SCALAR) continue;
        snprintf(pointer, sizeof pointer, "%%p%u%s", i, base);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, i), p->dtypes[i], pointer, "");
    }
}

kiln_status kiln__print_instr(struct kiln_printer *p, uint32_t index, kiln_error *err)
{
    char name[KILN_IR_NAME], inputs[3][KILN_IR_NAME];
    const char *pointers[3] = {inputs[0], inputs[1], inputs[2]};
    const struct kiln_instr *instr = &p->group->instrs[index];
    const struct kiln_op_info *info = &kiln__ops[instr->op];
    kiln__value_name(p, name, p->group->operand_count + p->group->constant_count + index);
    for (int i = 0; i < info->arity; i++) kiln__value_name(p, inputs[i], instr->in[i]);
    enum kiln_dtype in_dtype = p->dtypes[instr->in[info->dtype_rule == KILN_RULE_SELECT]];
    if (instr->op == KILN_OP_CAST) {
        kiln__ir_cast(p->text, &p->declarations, name, instr->dtype, inputs[0], in_dtype, 0);
        return KILN_OK;
    }
    return kiln__ir_apply(p->text, &p->declarations, name, instr->op, instr->dtype, in_dtype, pointers, err);
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
