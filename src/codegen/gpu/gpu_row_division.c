/*
 * gpu_row_division.c - elements divided by a value that their row shares, as a softmax does.
 *
 * kiln_quotient_f32 (runtime.h, fused.h) gives the bits of a division within the bounds of row_division.h. A thread
 * looks at its elements together, first without zeros, which are rare but where something is masked; elements out of
 * bounds send all of them to a plain division, which is slow because a GPU has none: each branches to see whether its
 * steps are exact.
 */
#include "codegen/gpu/gpu_row_together.h"
#include "codegen/row_division.h"

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

/* |x| in bounds, as bits without the sign: shifted to the left, less LEAST, at most RANGE as an unsigned number. */
#define LEAST (KILN_QUOTIENT_LEAST << 1)
#define RANGE ((KILN_QUOTIENT_MOST - KILN_QUOTIENT_LEAST) << 1)

static bool is_shared_division(const struct kiln_rows *rows, uint32_t index)
{
    const struct kiln_instr *instr = &rows->p->group->instrs[index];
    return instr->op == KILN_OP_DIVIDE && instr->dtype == KILN_FLOAT32 &&
           rows->p->dtypes[instr->in[0]] == KILN_FLOAT32 && !rows->p->shared[instr->in[0]] &&
           rows->p->shared[instr->in[1]];
}

/* The divisor's name, which has no suffix. */
static struct kiln_name divisor_of(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name name;
    const char *pass = rows->p->pass;
    rows->p->pass = "";
    kiln__value_name(rows->p, name.text, rows->p->group->instrs[t->index].in[1]);
    rows->p->pass = pass;
    return name;
}

/* %far = how far the element that is farthest is above the least one; what is below wraps around. */
static void print_distances(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name before = {"0"};
    kiln__ir_declare(&rows->p->declarations, "i32", "llvm.umax.i32", "i32, i32");
    kiln__row_print_bits(rows, t);
    for (int k = 0; k < t->count; k++) {
        struct kiln_name size = kiln__name("size", t->index, t->passes[k]),
                         far = kiln__name("far", t->index, k == t->count - 1 ? t->tag : t->passes[k]);
        PRINT("  %1$s.twice = shl i32 %1$s.bits, 1\n  %1$s = sub i32 %1$s.twice, %2$u\n"
              "  %3$s = call i32 @llvm.umax.i32(i32 %4$s, i32 %1$s)\n",
              size.text, LEAST, far.text, before.text);
        before = far;
    }
}

/* %all.in = are all elements within bounds, or +0? */
static void print_zeros(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name before = kiln__name("fits", t->index, t->tag);
    for (int k = 0; k < t->count; k++) {
        struct kiln_name is = kiln__name("in", t->index, t->passes[k]),
                         size = kiln__name("size", t->index, t->passes[k]),
                         all = kiln__name("all.in", t->index, k == t->count - 1 ? t->tag : t->passes[k]);
        PRINT("  %1$s.zero = icmp eq i32 %2$s.bits, 0\n  %1$s.near = icmp ule i32 %2$s, %5$u\n"
              "  %1$s = or i1 %1$s.zero, %1$s.near\n  %3$s = and i1 %4$s, %1$s\n",
              is.text, size.text, all.text, before.text, RANGE);
        before = all;
    }
}

static void print_bounds(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name divisor = divisor_of(rows, t);
    PRINT("  %s = fdiv float 1.0, %s\n", kiln__name("inverse", t->index, t->tag).text, divisor.text);
    print_distances(rows, t);
    PRINT("  %%fits%1$u.low%2$s = fcmp oge float %3$s, " KILN_QUOTIENT_LEAST_DIVISOR "\n"
          "  %%fits%1$u.high%2$s = fcmp ole float %3$s, " KILN_QUOTIENT_MOST_DIVISOR "\n"
          "  %%fits%1$u%2$s = and i1 %%fits%1$u.low%2$s, %%fits%1$u.high%2$s\n"
          "  %%fits%1$u.near%2$s = icmp ule i32 %%far%1$u%2$s, %4$u\n"
          "  %%fits%1$u.all%2$s = and i1 %%fits%1$u%2$s, %%fits%1$u.near%2$s\n"
          "  br i1 %%fits%1$u.all%2$s, label %%quick%1$u%2$s, label %%masked%1$u%2$s\n\nmasked%1$u%2$s:\n",
          t->index, t->tag, divisor.text, RANGE);
    print_zeros(rows, t);
    PRINT("  br i1 %%all.in%1$u%2$s, label %%quick%1$u%2$s, label %%slow%1$u%2$s\n\n", t->index, t->tag);
}

static void print_quick(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_printer *p = rows->p;
    char x[KILN_IR_NAME];
    kiln__ir_declare(&p->declarations, "float", "kiln_quotient_f32", "float, float, float");
    PRINT("  %s = call float @kiln_quotient_f32(float %s, float %s, float %s)\n",
          kiln__name("quick", t->index, p->pass).text, kiln__value_name(p, x, p->group->instrs[t->index].in[0]),
          divisor_of(rows, t).text, kiln__name("inverse", t->index, t->tag).text);
}

/* A quick quotient is no NaN, so only those of a plain division are settled, as if for a store. */
static void print_plain(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_printer *p = rows->p;
    char x[KILN_IR_NAME], settled[KILN_IR_NAME];
    struct kiln_name any = kiln__name("any", t->index, p->pass);
    PRINT("  %s = fdiv float %s, %s\n", any.text, kiln__value_name(p, x, p->group->instrs[t->index].in[0]),
          divisor_of(rows, t).text);
    kiln__ir_to_raw(p->text, settled, any.text, KILN_FLOAT32, 0, kiln__name("plain", t->index, p->pass).text);
}

const struct kiln_together_kind kiln__row_division = {is_shared_division, print_bounds, print_quick, print_plain, true};
