/*
 * gpu_indexed.c - the schedules that read and write through indices: a thread finds its position in the index space,
 * reads the indices there, and copies one element from where they say, or to there.
 *
 * Elements are bits: nothing is converted. Every index is checked before it is used. A kernel can't fail a call, so it
 * stores an index that is none for the host to find.
 */
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
    kiln__print(p->ir, "  %p$0.value = load i$1, ptr %p$0.base, align $2\n", operand, bytes * 8, bytes);
    if (bytes == 8)
        kiln__print(p->ir, "  %p$0.long = add i64 %p$0.value, 0\n", operand);
    else
        kiln__print(p->ir, "  %p$0.long = $1 i$2 %p$0.value to i64\n", operand, is_signed ? "sext" : "zext", bytes * 8);
}

/* The index as it came goes to its record, first the value. */
static void report(struct kiln_printer *p, uint32_t n)
{
    kiln__print(p->ir,
                "outside$0:\n"
                "  %p$0.record = inttoptr i64 %p$0.report to ptr addrspace(1)\n"
                "  %p$0.place = getelementptr inbounds i8, ptr addrspace(1) %p$0.record, i64 8\n"
                "  store i64 %p$0.long, ptr addrspace(1) %p$0.place, align 8\n"
                "  store i64 1, ptr addrspace(1) %p$0.record, align 8\n"
                "  br label %outside\n\n",
                n);
}

/* %p0.atN: the moved pointer, from `from` on by index N; the output's pointer is called so too. */
static void move_by_index(struct kiln_printer *p, uint32_t operand, const char *from)
{
    bool is_signed = kiln__dtypes[p->dtypes[operand]].kind == KILN_KIND_SIGNED;
    const char *index = is_signed ? "index" : "long";
    uint32_t n = operand;
    load_index(p, n, is_signed);
    if (is_signed) {
        kiln__print(p->ir,
                    "  %p$0.counted = add i64 %p$0.long, %p$0.size\n"
                    "  %p$0.negative = icmp slt i64 %p$0.long, 0\n"
                    "  %p$0.index = select i1 %p$0.negative, i64 %p$0.counted, i64 %p$0.long\n",
                    n);
    }
    kiln__print(p->ir,
                "  %p$0.inside = icmp ult i64 %p$0.$1, %p$0.count\n"
                "  br i1 %p$0.inside, label %inside$0, label %outside$0\n\n",
                n, index);
    report(p, n);
    kiln__print(p->ir,
                "inside$0:\n"
                "  %p$0.moved = mul nsw i64 %p$0.$1, %p$0.step\n"
                "  %p0.at$0 = getelementptr inbounds i8, ptr $2, i64 %p$0.moved\n",
                n, index, from);
}

static size_t bytes_of(const struct kiln_printer *p, bool wide)
{
    return wide ? 16 : kiln__dtype_size(p->dtypes[0]);
}

static struct kiln_name type_of(struct kiln_printer *p, bool wide)
{
    const struct kiln_name whole = {"<4 x i32>"};
    return wide ? whole : kiln__name(p->ir, "i$0", bytes_of(p, wide) * 8);
}

static void copy_element(struct kiln_printer *p, bool wide, const char *from, const char *to)
{
    struct kiln_name type;
    type = type_of(p, wide);
    kiln__print(p->ir,
                "  %a0 = load $0, ptr $1, align $3\n"
                "  store $0 %a0, ptr $2, align $3\n"
                "  br label %exit\n\n",
                type.text, from, to, bytes_of(p, wide));
}

/* What is read nowhere is zero. */
static void store_zero(struct kiln_printer *p, bool wide)
{
    struct kiln_name type;
    type = type_of(p, wide);
    kiln__print(p->ir, "  store $0 zeroinitializer, ptr %o0.base, align $1\n", type.text, bytes_of(p, wide));
}

static kiln_status print(struct kiln_printer *p, const struct kiln_gpu_config *config, const char *moves,
                         kiln_error *err)
{
    struct kiln_name moved;
    moved = kiln__name(p->ir, "$0", moves);
    if (check_indexed(p, err)) return KILN_INVALID;
    kiln__gpu_open(p, config, "total indices");
    kiln__gpu_first(p, config, KILN_GPU_BLOCK, 1);
    kiln__print(p->ir,
                "  %exists = icmp ult $0 %first, %total\n"
                "  br i1 %exists, label %element, label %exit\n\n"
                "element:\n",
                kiln__gpu_index(config));
    kiln__gpu_print_bases(p, config, "%first", 0, config->axes);
    for (uint32_t i = 1; i < p->group->operand_count; i++) {
        move_by_index(p, i, moved.text);
        moved = kiln__name(p->ir, "%p0.at$0", i);
    }
    bool is_output = moves[1] == 'o';
    copy_element(p, config->wide, is_output ? "%p0.base" : moved.text, is_output ? moved.text : "%o0.base");
    if (p->group->operand_count > 1) {
        kiln__print(p->ir, "outside:\n");
        if (!is_output) store_zero(p, config->wide);
        kiln__print(p->ir, "  br label %exit\n\n");
    }
    kiln__print(p->ir, "exit:\n"
                       "  ret void\n"
                       "}\n");
    return KILN_OK;
}

kiln_status kiln__gpu_print_indexed(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    return print(p, config, "%p0.base", err);
}

kiln_status kiln__gpu_print_placed(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    return print(p, config, "%o0.base", err);
}
