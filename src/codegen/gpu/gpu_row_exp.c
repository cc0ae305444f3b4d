/*
 * gpu_row_exp.c - exponentials of several elements, as a softmax computes them.
 *
 * Where every result is a normal number, kiln_exp_near_f32 (runtime.h) gives the bits of kiln_exp_f32 in two thirds of
 * its instructions. The bits of floats are in order: as unsigned numbers the largest is the lowest negative float, as
 * signed ones the highest positive float. NaNs are beyond both ends.
 */
#include "codegen/gpu/gpu_row_together.h"

/* Bits of -86 and 88. */
#define LOWEST  0xC2AC0000u
#define HIGHEST 0x42B00000u

static bool is_exp(const struct kiln_rows *rows, uint32_t index)
{
    const struct kiln_instr *instr = &rows->p->group->instrs[index];
    return instr->op == KILN_OP_EXP && instr->dtype == KILN_FLOAT32 && rows->p->dtypes[instr->in[0]] == KILN_FLOAT32;
}

/* %NAME<tag> = the largest of the bits, by `order`: "umax" or "smax". */
static void print_largest(struct kiln_rows *rows, const struct kiln_together *t, const char *stem, const char *order)
{
    struct kiln_name before = kiln__name(rows->ir, "%size$0$1.bits", t->index, t->passes[0].text);
    struct kiln_name function = kiln__name(rows->ir, "llvm.$0.i32", order);
    kiln__declare(rows->ir, "declare i32 @$0(i32, i32)\n", function.text);
    for (int k = 1; k < t->count; k++) {
        struct kiln_name next =
            kiln__name(rows->ir, "%$0$1$2", stem, t->index, k == t->count - 1 ? t->tag : t->passes[k].text);
        kiln__print(rows->ir, "  $0 = call i32 @$1(i32 $2, i32 $3.bits)\n", next.text, function.text, before.text,
                    kiln__name(rows->ir, "%size$0$1", t->index, t->passes[k].text).text);
        before = next;
    }
}

static void print_bounds(struct kiln_rows *rows, const struct kiln_together *t)
{
    kiln__row_print_bits(rows, t);
    print_largest(rows, t, "lowest", "umax");
    print_largest(rows, t, "highest", "smax");
    kiln__print(rows->ir,
                "  %above$0$1 = icmp ule i32 %lowest$0$1, $2\n"
                "  %below$0$1 = icmp sle i32 %highest$0$1, $3\n"
                "  %near$0$1 = and i1 %above$0$1, %below$0$1\n"
                "  br i1 %near$0$1, label %quick$0$1, label %slow$0$1\n\n",
                t->index, t->tag, LOWEST, HIGHEST);
}

static void print_call(struct kiln_rows *rows, uint32_t index, const char *name, const char *function)
{
    struct kiln_printer *p = rows->p;
    kiln__declare(p->ir, "declare float @$0(float)\n", function);
    kiln__print(rows->ir, "  $0 = call float @$1(float $2)\n", name, function,
                kiln__value_name(p, p->group->instrs[index].in[0]).text);
}

static void print_quick(struct kiln_rows *rows, const struct kiln_together *t)
{
    print_call(rows, t->index, kiln__name(rows->ir, "%quick$0$1", t->index, rows->p->pass).text, "kiln_exp_near_f32");
}

static void print_plain(struct kiln_rows *rows, const struct kiln_together *t)
{
    print_call(rows, t->index, kiln__name(rows->ir, "%plain$0$1.out", t->index, rows->p->pass).text, "kiln_exp_f32");
}

const struct kiln_together_kind kiln__row_exp = {is_exp, print_bounds, print_quick, print_plain, false};
