/*
 * gpu_strided.c - the schedule for any strides: a thread finds its position in the index space and computes one
 * element, or the neighbours along the last axis where the schedule config is wide.
 *
 * The size of the last axis is a multiple of the vector's width then, so the position of a thread's first element is
 * enough. All loads stand before the first use.
 */
#include "codegen/gpu/gpu_printer.h"

static kiln_status print_neighbours(struct kiln_printer *p, uint32_t width, kiln_error *err)
{
    struct kiln_name pointer;
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        pointer = kiln__name(p->ir, "%p$0.base", i);
        if (p->layouts[i] == KILN_LAYOUT_PACKED) kiln__gpu_load_vector(p, i, pointer.text, width);
    }
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_instrs(p, true, err);
    if (!status) status = kiln__gpu_compute(p, width, err);
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        pointer = kiln__name(p->ir, "%o$0.base", i);
        kiln__gpu_store_vector(p, i, pointer.text, width);
    }
    return status;
}

static kiln_status print_element(struct kiln_printer *p, kiln_error *err)
{
    struct kiln_name pointer;
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        pointer = kiln__name(p->ir, "%p$0.base", i);
        kiln__ir_load(p->ir, kiln__value_name(p, i).text, p->dtypes[i], pointer.text, "");
    }
    kiln_status status = kiln__print_instrs(p, true, err);
    if (!status) status = kiln__print_instrs(p, false, err);
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        pointer = kiln__name(p->ir, "%o$0.base", i);
        kiln__ir_store(p->ir, kiln__value_name(p, value).text, p->dtypes[value], pointer.text, "");
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
    kiln__print(p->ir,
                "  %exists = icmp ult $0 %first, %total\n"
                "  br i1 %exists, label %element, label %exit\n\n"
                "element:\n",
                kiln__gpu_index(config));
    kiln__gpu_print_bases(p, config, "%first", 0, config->axes);
    kiln_status status = config->wide ? print_neighbours(p, width, err) : print_element(p, err);
    kiln__print(p->ir, "  br label %exit\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
    return status;
}
