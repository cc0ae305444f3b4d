/*
 * gpu_strided.c - the schedule for any strides: a thread finds its position in the index space and computes one
 * element, or the neighbours along the last axis where the schedule config is wide.
 *
 * The last axis holds whole groups of neighbours then, so the first position of a thread is enough. All loads stand
 * before the first use.
 */
#include <stdio.h>

#include "codegen/gpu/gpu_printer.h"

static kiln_status print_neighbours(struct kiln_printer *p, uint32_t width, kiln_error *err)
{
    char pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        snprintf(pointer, sizeof pointer, "%%p%u.base", i);
        if (p->layouts[i] == KILN_LAYOUT_PACKED) kiln__gpu_load_vector(p, i, pointer, width);
    }
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_instrs(p, true, err);
    if (!status) status = kiln__gpu_compute(p, width, err);
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        snprintf(pointer, sizeof pointer, "%%o%u.base", i);
        kiln__gpu_store_vector(p, i, pointer, width);
    }
    return status;
}

static kiln_status print_element(struct kiln_printer *p, kiln_error *err)
{
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        snprintf(pointer, sizeof pointer, "%%p%u.base", i);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, i), p->dtypes[i], pointer, "");
    }
    kiln_status status = kiln__print_instrs(p, true, err);
    if (!status) status = kiln__print_instrs(p, false, err);
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        snprintf(pointer, sizeof pointer, "%%o%u.base", i);
        kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], pointer, "");
    }
    return status;
}

static kiln_status check_wide(const struct kiln_printer *p, kiln_error *err)
{
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (p->layouts[i] == KILN_LAYOUT_STRIDED)
            return kiln__fail(err, KILN_INVALID, "operand %u of a wide strided kernel must be packed or scalar", i);
    return KILN_OK;
}

kiln_status kiln__gpu_print_strided(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    uint32_t width = config->wide ? kiln__gpu_width(p->group, p->layouts) : 1;
    if (config->wide && check_wide(p, err)) return KILN_INVALID;
    kiln__gpu_open(p, config, "total");
    kiln__gpu_first(p, config, KILN_GPU_BLOCK * width, width);
    kiln__buffer_printf(p->text, "  %%exists = icmp ult %s %%first, %%total\n", kiln__gpu_index(config));
    kiln__buffer_printf(p->text, "  br i1 %%exists, label %%element, label %%exit\n\nelement:\n");
    kiln__gpu_print_bases(p, config, "%first", 0, config->axes);
    kiln_status status = config->wide ? print_neighbours(p, width, err) : print_element(p, err);
    kiln__buffer_printf(p->text, "  br label %%exit\n\nexit:\n  ret void\n}\n");
    return status;
}
