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
#include "codegen/kernel_name.h"

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
    [KILN_GPU_PLACED] = {"placed", "vi", 1, true, 0, kiln__gpu_print_placed},
    [KILN_GPU_ARGREDUCE] = {"argreduce", "cvsi", 1, true, KILN_GROUP_ALONE, kiln__gpu_print_argreduce},
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
        kiln__print(p->ir, "  $0 = add i64 $1, 0\n", name, source);
    else
        kiln__print(p->ir, "  $0 = zext i32 $1 to i64\n", name, source);
}

/* Goes through the parameters twice: for the list, then for what is computed from them. */
struct parameters {
    struct kiln_printer *p;
    const struct kiln_gpu_config *config;
    bool in_list, has_one;
};

static void parameter(struct parameters *list, const char *type, const char *name)
{
    kiln__print(list->p->ir, "$0$1 %$2", list->has_one ? ", " : "", type, name);
    list->has_one = true;
}

static void pointers(struct parameters *list, char side, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct kiln_name name = kiln__name(list->p->ir, "$0$1.global", side, i);
        if (list->in_list)
            parameter(list, "ptr addrspace(1)", name.text);
        else
            kiln__print(list->p->ir, "  %$0$1 = addrspacecast ptr addrspace(1) %$2 to ptr\n", side, i, name.text);
    }
}

static void constants(struct parameters *list)
{
    const struct kiln_group *group = list->p->group;
    for (uint32_t i = 0; i < group->constant_count; i++) {
        uint32_t value = group->operand_count + i;
        struct kiln_name bits = kiln__name(list->p->ir, "%k$0", i);
        if (list->in_list)
            parameter(list, "i64", bits.text + 1);
        else
            kiln__ir_constant(list->p->ir, kiln__value_name(list->p, value).text, list->p->dtypes[value], bits.text);
    }
}

static void param(struct parameters *list, const char *name)
{
    struct kiln_name whole = kiln__name(list->p->ir, "$0.word", name);
    if (list->in_list)
        parameter(list, "i64", whole.text);
    else if (list->config->is_long)
        kiln__print(list->p->ir, "  %$0 = add i64 %$1, 0\n", name, whole.text);
    else
        kiln__print(list->p->ir, "  %$0 = trunc i64 %$1 to i32\n", name, whole.text);
}

/* Strides, and what is multiplied like them, are i64 and need no second name. */
static void stride(struct parameters *list, char side, uint32_t index, const char *suffix)
{
    struct kiln_name name = kiln__name(list->p->ir, "$0$1.$2", side, index, suffix);
    if (list->in_list) parameter(list, "i64", name.text);
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
        stride(list, 'p', i, "count");
        stride(list, 'p', i, "report");
    }
}

static void params(struct parameters *list, const char *names)
{
    char name[KILN_IR_NAME];
    int length = 0;
    for (; sscanf(names, "%63s%n", name, &length) == 1; names += length) {
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
    struct kiln_name name;
    for (uint32_t a = 0; a < list->config->axes; a++) {
        name = kiln__name(list->p->ir, "axis$0.size", a);
        param(list, name.text);
        name = kiln__name(list->p->ir, "axis$0", a);
        for (uint32_t i = 0; i < group->output_count; i++) stride(list, 'o', i, name.text);
        for (uint32_t i = 0; i < group->operand_count; i++) stride(list, 'p', i, name.text);
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
    kiln__print(p->ir, "  %$0 = call i32 @$1()\n", name, intrinsic);
    kiln__declare(p->ir, "declare i32 @$0()\n", intrinsic);
}

void kiln__gpu_open(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *names)
{
    struct parameters list = {.p = p, .config = config, .in_list = true};
    kiln__print(p->ir, "define ptx_kernel void $@(");
    all_parameters(&list, names);
    kiln__print(p->ir, ") {\nentry:\n");
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
        kiln__print(p->ir, "  %block.long = zext i32 %block to i64\n  %thread.long = zext i32 %thread to i64\n");
    }
    kiln__print(p->ir,
                "  %before = mul nuw $0 %block$1, $2\n"
                "  %own = mul nuw $0 %thread$1, $3\n"
                "  %first = add nuw $0 %before, %own\n",
                type, suffix, per_block, per_thread);
}

/* %axisA.at from the innermost axis outwards; what is left over belongs to the outermost. */
static void coordinates(struct kiln_printer *p, const char *type, const char *index, uint32_t first, uint32_t last)
{
    struct kiln_name left;
    left = kiln__name(p->ir, "$0", index);
    for (uint32_t a = last; a-- > first;) {
        if (a == first) {
            kiln__print(p->ir, "  %axis$0.at = add $1 $2, 0\n", a, type, left.text);
            continue;
        }
        kiln__print(p->ir,
                    "  %axis$0.left = udiv $1 $2, %axis$0.size\n"
                    "  %axis$0.whole = mul nuw $1 %axis$0.left, %axis$0.size\n"
                    "  %axis$0.at = sub nuw $1 $2, %axis$0.whole\n",
                    a, type, left.text);
        left = kiln__name(p->ir, "%axis$0.left", a);
    }
}

static void print_base(struct kiln_printer *p, char side, uint32_t index, uint32_t first, uint32_t last)
{
    struct kiln_name from;
    from = kiln__name(p->ir, "%$0$1", side, index);
    for (uint32_t a = first; a < last; a++) {
        kiln__print(p->ir,
                    "  %$0$1.skip$2 = mul nsw i64 %axis$2.long, %$0$1.axis$2\n"
                    "  %$0$1.to$2 = getelementptr inbounds i8, ptr $3, i64 %$0$1.skip$2\n",
                    side, index, a, from.text);
        from = kiln__name(p->ir, "%$0$1.to$2", side, index, a);
    }
    kiln__print(p->ir, "  %$0$1.base = getelementptr inbounds i8, ptr $2, i64 0\n", side, index, from.text);
}

void kiln__gpu_print_bases(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *index,
                           uint32_t first, uint32_t last)
{
    coordinates(p, kiln__gpu_index(config), index, first, last);
    for (uint32_t a = first; a < last; a++) {
        struct kiln_name at = kiln__name(p->ir, "%axis$0.at", a);
        struct kiln_name whole = kiln__name(p->ir, "%axis$0.long", a);
        kiln__gpu_extend(p, config, whole.text, at.text);
    }
    for (uint32_t i = 0; i < p->group->output_count; i++) print_base(p, 'o', i, first, last);
    for (uint32_t i = 0; i < p->group->operand_count; i++) print_base(p, 'p', i, first, last);
}

/* ---- a block's memory ---------------------------------------------------------------------------------------- */

void kiln__gpu_shared(struct kiln_printer *p, const char *name, const char *type, uint32_t count)
{
    if (count)
        kiln__declare(p->ir, "@$0 = internal addrspace(3) global [$1 x $2] undef, align 16\n", name, count, type);
    else
        kiln__declare(p->ir, "@$0 = external addrspace(3) global [0 x $1], align 16\n", name, type);
}

void kiln__gpu_barrier(struct kiln_printer *p)
{
    kiln__print(p->ir, "  call void @llvm.nvvm.barrier0()\n");
    kiln__declare(p->ir, "declare void @llvm.nvvm.barrier0()\n");
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
    kiln__print(p->ir, "; kiln gpu kernel, $0, $1 axes$2$3\n", schedule->name, config->axes,
                config->wide ? ", wide" : "", config->is_long ? ", long" : "");
    kiln__print_heading(p);
    kiln_status status = schedule->print(p, config, err);
    if (status) return status;
    kiln__print_declarations(p->ir);
    kiln__print(p->ir,
                "\n"
                "!nvvm.annotations = !{!0}\n"
                "!0 = !{ptr $@, !\"maxntidx\", i32 $0",
                KILN_GPU_BLOCK);
    if (p->blocks) kiln__print(p->ir, ", !\"minctasm\", i32 $0", p->blocks);
    kiln__print(p->ir, "}\n"
                       "!1 = distinct !{!1, !2}\n"
                       "!2 = !{!\"llvm.loop.unroll.disable\"}\n");
    return KILN_OK;
}

kiln_status kiln__gpu_print(const struct kiln_group *group, const char *layouts, const struct kiln_gpu_config *config,
                            struct kiln_buffer *text, kiln_error *err)
{
    if (check_config(config, err)) return KILN_INVALID;
    const struct schedule *schedule = &schedules[config->schedule];
    struct kiln_ir ir = {.text = text};
    struct kiln_printer p = {.group = group, .layouts = layouts, .flags = schedule->flags, .ir = &ir, .pass = ""};
    kiln_status status = kiln__printer_init(&p, schedule->layouts, err);
    if (!status) status = print_kernel(&p, config, err);
    if (!status) kiln__print_kernel_name(&ir, group, config->schedule == KILN_GPU_INDEXED ? "gather" : "copy");
    kiln__printer_release(&p);
    return kiln__ir_finish(&ir, status, err);
}
