/*
 * gpu_schedule.c - kernels for GPUs: what is the same for every schedule, and the table of schedules.
 *
 * Every parameter is 8 bytes and stands once in the list, in the order of gpu_schedule.h; parameter() is the only place
 * that prints one, so the list and the names cannot differ.
 */
#include "codegen/gpu/gpu_schedule.h"

#include <stdio.h>
#include <string.h>

#include "codegen/gpu/gpu_printer.h"

struct schedule {
    const char *name, *layouts; /* layouts that operands may have */
    uint8_t fewest_axes;
    bool has_axes;
    unsigned flags; /* of group.h: the instructions it takes besides element-wise ones */
    kiln_status (*print)(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err);
};

static const struct schedule schedules[] = {
    [KILN_GPU_PACKED] = {"packed", "cs", 0, false, 0, kiln__gpu_print_packed},
    [KILN_GPU_STRIDED] = {"strided", "csv", 1, true, 0, kiln__gpu_print_strided},
    [KILN_GPU_TILED] = {"tiled", "csvt", 2, true, 0, kiln__gpu_print_tiled},
    [KILN_GPU_ROWS] = {"rows", "csv", 1, true, KILN_GROUP_ROWS, kiln__gpu_print_rows},
    [KILN_GPU_COLUMNS] = {"columns", "c", 0, true, KILN_GROUP_ROWS, kiln__gpu_print_columns},
    [KILN_GPU_INDEXED] = {"indexed", "vi", 1, true, 0, kiln__gpu_print_indexed},
    [KILN_GPU_ARGREDUCE] = {"places", /* its name in texts, and so in keys */ "cvsi", 1, true, KILN_GROUP_ALONE,
                            kiln__gpu_print_argreduce},
    [KILN_GPU_RANDOM] = {"random", "v", 0, false, KILN_GROUP_ALONE, kiln__gpu_print_random},
};
enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

/* ---- parameters ---------------------------------------------------------------------------------------------- */

const char *kiln__gpu_index(const struct kiln_gpu_config *config)
{
    return config->is_long ? "i64" : "i32";
}

void kiln__gpu_extend(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *name,
                      const char *source)
{
    if (config->is_long)
        kiln__buffer_printf(p->text, "  %s = add i64 %s, 0\n", name, source);
    else
        kiln__buffer_printf(p->text, "  %s = zext i32 %s to i64\n", name, source);
}

/* Goes through the parameters twice: for the list, then for what is computed from them. */
struct parameters {
    struct kiln_printer *p;
    const struct kiln_gpu_config *config;
    bool in_list, has_one;
};

static void parameter(struct parameters *list, const char *type, const char *name)
{
    kiln__buffer_printf(list->p->text, "%s%s %%%s", list->has_one ? ", " : "", type, name);
    list->has_one = true;
}

static void pointers(struct parameters *list, char side, uint32_t count)
{
    char name[KILN_IR_NAME];
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%c%u.global", side, i);
        if (list->in_list)
            parameter(list, "ptr addrspace(1)", name);
        else
            kiln__buffer_printf(list->p->text, "  %%%c%u = addrspacecast ptr addrspace(1) %%%s to ptr\n", side, i,
                                name);
    }
}

static void constants(struct parameters *list)
{
    const struct kiln_group *group = list->p->group;
    char bits[KILN_IR_NAME], name[KILN_IR_NAME];
    for (uint32_t i = 0; i < group->constant_count; i++) {
        uint32_t value = group->operand_count + i;
        snprintf(bits, sizeof bits, "%%k%u", i);
        if (list->in_list)
            parameter(list, "i64", bits + 1);
        else
            kiln__ir_constant(list->p->text, &list->p->declarations, kiln__value_name(list->p, name, value),
                              list->p->dtypes[value], bits);
    }
}

static void param(struct parameters *list, const char *name)
{
    char whole[KILN_IR_NAME];
    snprintf(whole, sizeof whole, "%s.word", name);
    if (list->in_list)
        parameter(list, "i64", whole);
    else if (list->config->is_long)
        kiln__buffer_printf(list->p->text, "  %%%s = add i64 %%%s, 0\n", name, whole);
    else
        kiln__buffer_printf(list->p->text, "  %%%s = trunc i64 %%%s to i32\n", name, whole);
}

/* Strides, and what is multiplied like them, are i64 and need no second name. */
static void stride(struct parameters *list, char side, uint32_t index, const char *suffix)
{
    char name[KILN_IR_NAME];
    snprintf(name, sizeof name, "%c%u.%s", side, index, suffix);
    if (list->in_list) parameter(list, "i64", name);
}

static void inner_strides(struct parameters *list)
{
    for (uint32_t i = 0; i < list->p->group->operand_count; i++) stride(list, 'p', i, "inner");
}

static void indices(struct parameters *list)
{
    for (uint32_t i = 0; i < list->p->group->operand_count; i++) {
        if (list->p->layouts[i] != KILN_LAYOUT_INDEX) continue;
        stride(list, 'p', i, "size");
        stride(list, 'p', i, "step");
    }
}

static void params(struct parameters *list, const char *names)
{
    char name[KILN_IR_NAME];
    int length = 0;
    for (; sscanf(names, "%31s%n", name, &length) == 1; names += length) {
        if (strcmp(name, "inner") == 0)
            inner_strides(list);
        else if (strcmp(name, "indices") == 0)
            indices(list);
        else
            param(list, name);
    }
}

static void axes(struct parameters *list)
{
    const struct kiln_group *group = list->p->group;
    char name[32];
    for (uint32_t a = 0; a < list->config->axes; a++) {
        snprintf(name, sizeof name, "axis%u.size", a);
        param(list, name);
        snprintf(name, sizeof name, "axis%u", a);
        for (uint32_t i = 0; i < group->output_count; i++) stride(list, 'o', i, name);
        for (uint32_t i = 0; i < group->operand_count; i++) stride(list, 'p', i, name);
    }
}

static void all_parameters(struct parameters *list, const char *names)
{
    pointers(list, 'o', list->p->group->output_count);
    pointers(list, 'p', list->p->group->operand_count);
    constants(list);
    params(list, names);
    axes(list);
}

static void special_register(struct kiln_printer *p, const char *name, const char *intrinsic)
{
    kiln__buffer_printf(p->text, "  %%%s = call i32 @%s()\n", name, intrinsic);
    kiln__ir_declare(&p->declarations, "i32", intrinsic, "");
}

void kiln__gpu_open(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *names)
{
    struct parameters list = {.p = p, .config = config, .in_list = true};
    kiln__buffer_printf(p->text, "define ptx_kernel void @kernel(");
    all_parameters(&list, names);
    kiln__buffer_printf(p->text, ") {\nentry:\n");
    list.in_list = false;
    all_parameters(&list, names);
    special_register(p, "thread", "llvm.nvvm.read.ptx.sreg.tid.x");
    special_register(p, "block", "llvm.nvvm.read.ptx.sreg.ctaid.x");
}

/* ---- positions ------------------------------------------------------------------------------------------------ */

void kiln__gpu_first(struct kiln_printer *p, const struct kiln_gpu_config *config, uint32_t per_block,
                     uint32_t per_thread)
{
    const char *type = kiln__gpu_index(config), *suffix = config->is_long ? ".long" : "";
    if (config->is_long) {
        kiln__buffer_printf(p->text, "  %%block.long = zext i32 %%block to i64\n");
        kiln__buffer_printf(p->text, "  %%thread.long = zext i32 %%thread to i64\n");
    }
    kiln__buffer_printf(p->text, "  %%before = mul nuw %s %%block%s, %u\n", type, suffix, per_block);
    kiln__buffer_printf(p->text, "  %%own = mul nuw %s %%thread%s, %u\n", type, suffix, per_thread);
    kiln__buffer_printf(p->text, "  %%first = add nuw %s %%before, %%own\n", type);
}

/* %axisA.at from the innermost axis outwards; what is left over belongs to the outermost. */
static void coordinates(struct kiln_printer *p, const char *type, const char *index, uint32_t first, uint32_t last)
{
    char left[KILN_IR_NAME];
    snprintf(left, sizeof left, "%s", index);
    for (uint32_t a = last; a-- > first;) {
        if (a == first) {
            kiln__buffer_printf(p->text, "  %%axis%u.at = add %s %s, 0\n", a, type, left);
            continue;
        }
        kiln__buffer_printf(p->text, "  %%axis%u.left = udiv %s %s, %%axis%u.size\n", a, type, left, a);
        kiln__buffer_printf(p->text, "  %%axis%u.whole = mul nuw %s %%axis%u.left, %%axis%u.size\n", a, type, a, a);
        kiln__buffer_printf(p->text, "  %%axis%u.at = sub nuw %s %s, %%axis%u.whole\n", a, type, left, a);
        snprintf(left, sizeof left, "%%axis%u.left", a);
    }
}

static void print_base(struct kiln_printer *p, char side, uint32_t index, uint32_t first, uint32_t last)
{
    char from[KILN_IR_NAME];
    snprintf(from, sizeof from, "%%%c%u", side, index);
    for (uint32_t a = first; a < last; a++) {
        kiln__buffer_printf(p->text, "  %%%c%u.skip%u = mul nsw i64 %%axis%u.long, %%%c%u.axis%u\n", side, index, a, a,
                            side, index, a);
        kiln__buffer_printf(p->text, "  %%%c%u.to%u = getelementptr inbounds i8, ptr %s, i64 %%%c%u.skip%u\n", side,
                            index, a, from, side, index, a);
        snprintf(from, sizeof from, "%%%c%u.to%u", side, index, a);
    }
    kiln__buffer_printf(p->text, "  %%%c%u.base = getelementptr inbounds i8, ptr %s, i64 0\n", side, index, from);
}

void kiln__gpu_print_bases(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *index,
                           uint32_t first, uint32_t last)
{
    char at[KILN_IR_NAME], whole[KILN_IR_NAME];
    coordinates(p, kiln__gpu_index(config), index, first, last);
    for (uint32_t a = first; a < last; a++) {
        snprintf(at, sizeof at, "%%axis%u.at", a);
        snprintf(whole, sizeof whole, "%%axis%u.long", a);
        kiln__gpu_extend(p, config, whole, at);
    }
    for (uint32_t i = 0; i < p->group->output_count; i++) print_base(p, 'o', i, first, last);
    for (uint32_t i = 0; i < p->group->operand_count; i++) print_base(p, 'p', i, first, last);
}

/* ---- a block's memory ---------------------------------------------------------------------------------------- */

void kiln__gpu_shared(struct kiln_printer *p, const char *name, const char *type, uint32_t count)
{
    if (count)
        kiln__buffer_printf(&p->declarations, "@%s = internal addrspace(3) global [%u x %s] undef, align 16\n", name,
                            count, type);
    else
        kiln__buffer_printf(&p->declarations, "@%s = external addrspace(3) global [0 x %s], align 16\n", name, type);
}

void kiln__gpu_barrier(struct kiln_printer *p)
{
    kiln__buffer_printf(p->text, "  call void @llvm.nvvm.barrier0()\n");
    kiln__ir_declare(&p->declarations, "void", "llvm.nvvm.barrier0", "");
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

static kiln_status check_config(const struct kiln_gpu_config *config, kiln_error *err)
{
    if ((size_t)config->schedule >= SCHEDULES || !schedules[config->schedule].print)
        return kiln__fail(err, KILN_INVALID, "a kernel has schedule %d, which is none of the %d known ones",
                          (int)config->schedule, (int)SCHEDULES);
    const struct schedule *schedule = &schedules[config->schedule];
    uint32_t most = schedule->has_axes ? KILN_GPU_MAX_AXES : 0;
    if (config->axes < schedule->fewest_axes || config->axes > most)
        return kiln__fail(err, KILN_INVALID, "a %s kernel has %u axes; it takes %u to %u", schedule->name, config->axes,
                          schedule->fewest_axes, most);
    return KILN_OK;
}

static kiln_status print_kernel(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    const struct schedule *schedule = &schedules[config->schedule];
    kiln__buffer_printf(p->text, "; kiln gpu kernel, %s, %u axes%s%s\n", schedule->name, config->axes,
                        config->wide ? ", wide" : "", config->is_long ? ", long" : "");
    kiln__print_heading(p);
    kiln_status status = schedule->print(p, config, err);
    if (status) return status;
    if (p->declarations.size) kiln__buffer_printf(p->text, "\n%s", (const char *)p->declarations.data);
    kiln__buffer_printf(p->text, "\n!nvvm.annotations = !{!0}\n!0 = !{ptr @kernel, !\"maxntidx\", i32 %d",
                        KILN_GPU_BLOCK);
    if (p->blocks) kiln__buffer_printf(p->text, ", !\"minctasm\", i32 %u", p->blocks);
    kiln__buffer_printf(p->text, "}\n");
    kiln__buffer_printf(p->text, "!1 = distinct !{!1, !2}\n!2 = !{!\"llvm.loop.unroll.disable\"}\n");
    if (p->text->failed || p->declarations.failed) return kiln__no_memory(err, "the text of a kernel");
    return KILN_OK;
}

kiln_status kiln__gpu_print(const struct kiln_group *group, const char *layouts, const struct kiln_gpu_config *config,
                            struct kiln_buffer *text, kiln_error *err)
{
    if (check_config(config, err)) return KILN_INVALID;
    const struct schedule *schedule = &schedules[config->schedule];
    struct kiln_printer p = {.group = group, .layouts = layouts, .flags = schedule->flags, .text = text, .pass = ""};
    kiln_status status = kiln__printer_init(&p, schedule->layouts, err);
    if (!status) status = print_kernel(&p, config, err);
    kiln__printer_release(&p);
    return status;
}
