/*
 * gpu_row_division.c - elements divided by a value of their row, as in a softmax.
 *
 * kiln_quotient_f32 (runtime.h, fused.h) gives the bits of a division within the bounds of row_division.h. A thread
 * checks the bounds of its elements together; if that fails, once more with zeros allowed, which are rare except in
 * masked rows. If one element is out of bounds, all are divided plainly, which is slow: a GPU has no instruction for
 * it, and its subroutine branches.
 */
#include "codegen/gpu/gpu_row_together.h"
#include "codegen/row_division.h"

/* |x| is within bounds if its bits, shifted left by one to drop the sign, minus LEAST are at most RANGE, unsigned. */
#define LEAST (KILN_QUOTIENT_LEAST << 1)
#define RANGE ((KILN_QUOTIENT_MOST - KILN_QUOTIENT_LEAST) << 1)

static bool is_shared_division(const struct kiln_rows *rows, uint32_t index)
{
    const struct kiln_instr *instr = &rows->p->group->instrs[index];
    return instr->op == KILN_OP_DIVIDE && instr->dtype == KILN_FLOAT32 &&
           rows->p->dtypes[instr->in[0]] == KILN_FLOAT32 && !rows->p->shared[instr->in[0]] &&
           rows->p->shared[instr->in[1]];
}

static struct kiln_name divisor_of(const struct kiln_rows *rows, const struct kiln_together *t)
{
    return kiln__value_name(rows->p, rows->p->group->instrs[t->index].in[1]);
}

/* %far = the largest of the elements' distances from LEAST; what is below wraps around. */
static void print_distances(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name before = {"0"};
    kiln__declare(rows->ir, "declare i32 @llvm.umax.i32(i32, i32)\n");
    kiln__row_print_bits(rows, t);
    for (int k = 0; k < t->count; k++) {
        struct kiln_name size = kiln__name(rows->ir, "%size$0$1", t->index, t->passes[k].text),
                         far =
                             kiln__name(rows->ir, "%far$0$1", t->index, k == t->count - 1 ? t->tag : t->passes[k].text);
        kiln__print(rows->ir,
                    "  $0.twice = shl i32 $0.bits, 1\n"
                    "  $0 = sub i32 $0.twice, $1\n"
                    "  $2 = call i32 @llvm.umax.i32(i32 $3, i32 $0)\n",
                    size.text, LEAST, far.text, before.text);
        before = far;
    }
}

/* %all.in = are all elements within bounds, or +0? */
static void print_zeros(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name before = kiln__name(rows->ir, "%fits$0$1", t->index, t->tag);
    for (int k = 0; k < t->count; k++) {
        struct kiln_name is = kiln__name(rows->ir, "%in$0$1", t->index, t->passes[k].text),
                         size = kiln__name(rows->ir, "%size$0$1", t->index, t->passes[k].text),
                         all = kiln__name(rows->ir, "%all.in$0$1", t->index,
                                          k == t->count - 1 ? t->tag : t->passes[k].text);
        kiln__print(rows->ir,
                    "  $0.zero = icmp eq i32 $1.bits, 0\n"
                    "  $0.near = icmp ule i32 $1, $2\n"
                    "  $0 = or i1 $0.zero, $0.near\n"
                    "  $3 = and i1 $4, $0\n",
                    is.text, size.text, RANGE, all.text, before.text);
        before = all;
    }
}

static void print_bounds(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name divisor = divisor_of(rows, t);
    kiln__print(rows->ir, "  $0 = fdiv float 1.0, $1\n", kiln__name(rows->ir, "%inverse$0$1", t->index, t->tag).text,
                divisor.text);
    print_distances(rows, t);
    kiln__print(rows->ir,
                "  %fits$0.low$1 = fcmp oge float $2, " KILN_QUOTIENT_LEAST_DIVISOR "\n"
                "  %fits$0.high$1 = fcmp ole float $2, " KILN_QUOTIENT_MOST_DIVISOR "\n"
                "  %fits$0$1 = and i1 %fits$0.low$1, %fits$0.high$1\n"
                "  %fits$0.near$1 = icmp ule i32 %far$0$1, $3\n"
                "  %fits$0.all$1 = and i1 %fits$0$1, %fits$0.near$1\n"
                "  br i1 %fits$0.all$1, label %quick$0$1, label %masked$0$1\n\nmasked$0$1:\n",
                t->index, t->tag, divisor.text, RANGE);
    print_zeros(rows, t);
    kiln__print(rows->ir, "  br i1 %all.in$0$1, label %quick$0$1, label %slow$0$1\n\n", t->index, t->tag);
}

static void print_quick(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_printer *p = rows->p;
    kiln__declare(p->ir, "declare float @kiln_quotient_f32(float, float, float)\n");
    kiln__print(rows->ir, "  $0 = call float @kiln_quotient_f32(float $1, float $2, float $3)\n",
                kiln__name(rows->ir, "%quick$0$1", t->index, p->pass).text,
                kiln__value_name(p, p->group->instrs[t->index].in[0]).text, divisor_of(rows, t).text,
                kiln__name(rows->ir, "%inverse$0$1", t->index, t->tag).text);
}

/* A quick quotient is never NaN, so only those of a plain division are canonicalized, as for a store. */
static void print_plain(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name any = kiln__name(rows->ir, "%any$0$1", t->index, p->pass);
    kiln__print(rows->ir, "  $0 = fdiv float $1, $2\n", any.text,
                kiln__value_name(p, p->group->instrs[t->index].in[0]).text, divisor_of(rows, t).text);
    kiln__ir_to_raw(p->ir, any.text, KILN_FLOAT32, 0, kiln__name(rows->ir, "%plain$0$1", t->index, p->pass).text);
}

const struct kiln_together_kind kiln__row_division = {is_shared_division, print_bounds, print_quick, print_plain, true};
