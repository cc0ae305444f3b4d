/*
 * gpu_indexed.c - the schedule that reads through indices: a thread finds its position in the index space, reads the
 * indices there, and copies one element from where they say.
 *
 * Elements are bits: nothing is converted. Indices are not checked here, since a kernel can't fail a call;
 * run/gpu/gpu_gather.c does it before the launch.
 */
#include <stdio.h>

#include "codegen/gpu/gpu_printer.h"

/* One output, which is operand 0, and indices behind it. */
static kiln_status check_indexed(const struct kiln_printer *p, kiln_error *err)
{
    const struct kiln_group *group = p->group;
    bool fits = group->operand_count > 0 && !group->constant_count && !group->instr_count && group->output_count == 1 &&
                group->outputs[0] == 0 && p->layouts[0] == KILN_LAYOUT_STRIDED;
    for (uint32_t i = 1; fits && i < group->operand_count; i++) {
        enum kiln_dtype_kind kind = kiln__dtypes[group->operand_dtypes[i]].kind;
        fits = p->layouts[i] == KILN_LAYOUT_INDEX && (kind == KILN_KIND_SIGNED || kind == KILN_KIND_UNSIGNED);
    }
    if (fits) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "an indexed kernel copies its operand 0 ('v') through operands that are integers ('i')");
}

/* %pN.long: the index as i64. */
static void load_index(struct kiln_printer *p, uint32_t operand, bool is_signed)
{
    size_t bytes = kiln__dtype_size(p->dtypes[operand]);
    kiln__buffer_printf(p->text, "  %%p%u.value = load i%zu, ptr %%p%u.base, align %zu\n", operand, bytes * 8, operand,
                        bytes);
    if (bytes == 8)
        kiln__buffer_printf(p->text, "  %%p%u.long = add i64 %%p%u.value, 0\n", operand, operand);
    else
        kiln__buffer_printf(p->text, "  %%p%u.long = %s i%zu %%p%u.value to i64\n", operand,
                            is_signed ? "sext" : "zext", bytes * 8, operand);
}

/* %p0.atN: the data's pointer moved by indices 1 to N. */
static void move_by_index(struct kiln_printer *p, uint32_t operand, const char *from)
{
    bool is_signed = kiln__dtypes[p->dtypes[operand]].kind == KILN_KIND_SIGNED;
    uint32_t n = operand;
    load_index(p, n, is_signed);
    if (is_signed) {
        kiln__buffer_printf(p->text, "  %%p%u.counted = add i64 %%p%u.long, %%p%u.size\n", n, n, n);
        kiln__buffer_printf(p->text, "  %%p%u.negative = icmp slt i64 %%p%u.long, 0\n", n, n);
        kiln__buffer_printf(p->text, "  %%p%u.index = select i1 %%p%u.negative, i64 %%p%u.counted, i64 %%p%u.long\n", n,
                            n, n, n);
    }
    kiln__buffer_printf(p->text, "  %%p%u.moved = mul nsw i64 %%p%u.%s, %%p%u.step\n", n, n,
                        is_signed ? "index" : "long", n);
    kiln__buffer_printf(p->text, "  %%p0.at%u = getelementptr inbounds i8, ptr %s, i64 %%p%u.moved\n", n, from, n);
}

static void copy_element(struct kiln_printer *p, bool wide, const char *from)
{
    size_t bytes = wide ? 16 : kiln__dtype_size(p->dtypes[0]);
    char type[16] = "<4 x i32>";
    if (!wide) snprintf(type, sizeof type, "i%zu", bytes * 8);
    kiln__buffer_printf(p->text, "  %%v0 = load %s, ptr %s, align %zu\n", type, from, bytes);
    kiln__buffer_printf(p->text, "  store %s %%v0, ptr %%o0.base, align %zu\n", type, bytes);
}

kiln_status kiln__gpu_print_indexed(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    char from[KILN_IR_NAME] = "%p0.base";
    if (check_indexed(p, err)) return KILN_INVALID;
    kiln__gpu_open(p, config, "total indices");
    kiln__gpu_first(p, config, KILN_GPU_BLOCK, 1);
    kiln__buffer_printf(p->text, "  %%exists = icmp ult %s %%first, %%total\n", kiln__gpu_index(config));
    kiln__buffer_printf(p->text, "  br i1 %%exists, label %%element, label %%exit\n\nelement:\n");
    kiln__gpu_print_bases(p, config, "%first", 0, config->axes);
    for (uint32_t i = 1; i < p->group->operand_count; i++) {
        move_by_index(p, i, from);
        snprintf(from, sizeof from, "%%p0.at%u", i);
    }
    copy_element(p, config->wide, from);
    kiln__buffer_printf(p->text, "  br label %%exit\n\nexit:\n  ret void\n}\n");
    return KILN_OK;
}
