/*
 * gpu_row_division.c - elements divided by a value that their row shares, as a softmax does.
 *
 * kiln_quotient_f32 (runtime.h, fused.h) gives the bits of a division within the bounds of row_division.h. A thread
 * looks at its elements together, first without zeros, which are rare but where something is masked; elements out of
 * bounds send all of them to a plain division, which is slow because a GPU has none: each branches to see whether its
 * steps are exact.
 */
#include <stdio.h>

#include "codegen/gpu_rows.h"
#include "codegen/row_division.h"

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

/* |x| in bounds, as bits without the sign: shifted to the left, less LEAST, at most RANGE as an unsigned number. */
#define LEAST (KILN_QUOTIENT_LEAST << 1)
#define RANGE ((KILN_QUOTIENT_MOST - KILN_QUOTIENT_LEAST) << 1)

bool kiln__row_is_shared_division(const struct kiln_rows *rows, uint32_t index)
{
    const struct kiln_instr *instr = &rows->p->group->instrs[index];
    return instr->op == KILN_OP_DIVIDE && instr->dtype == KILN_FLOAT32 &&
           rows->p->dtypes[instr->in[0]] == KILN_FLOAT32 && !rows->p->shared[instr->in[0]] &&
           rows->p->shared[instr->in[1]];
}

/* The quotient of one element within bounds. */
static void print_quick(struct kiln_rows *rows, uint32_t index, const char *inverse, const char *divisor)
{
    struct kiln_printer *p = rows->p;
    char x[KILN_IR_NAME];
    kiln__ir_declare(&p->declarations, "float", "kiln_quotient_f32", "float, float, float");
    PRINT("  %s = call float @kiln_quotient_f32(float %s, float %s, float %s)\n",
          kiln__name("quick", index, p->pass).text, kiln__value_name(p, x, p->group->instrs[index].in[0]), divisor,
          inverse);
}

/* %far = how far the element that is farthest is above the least one; what is below wraps around. */
static void print_distances(struct kiln_rows *rows, uint32_t index, const char *tag, char (*passes)[24], int count)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name before = {"0"};
    char x[KILN_IR_NAME];
    kiln__ir_declare(&p->declarations, "i32", "llvm.umax.i32", "i32, i32");
    for (int k = 0; k < count; k++) {
        struct kiln_name size = kiln__name("size", index, passes[k]),
                         far = kiln__name("far", index, k == count - 1 ? tag : passes[k]);
        p->pass = passes[k];
        PRINT("  %1$s.bits = bitcast float %2$s to i32\n  %1$s.twice = shl i32 %1$s.bits, 1\n"
              "  %1$s = sub i32 %1$s.twice, %3$u\n  %4$s = call i32 @llvm.umax.i32(i32 %5$s, i32 %1$s)\n",
              size.text, kiln__value_name(p, x, p->group->instrs[index].in[0]), LEAST, far.text, before.text);
        before = far;
    }
}

/* %all.in = are all elements within bounds, or +0? */
static void print_zeros(struct kiln_rows *rows, uint32_t index, const char *tag, char (*passes)[24], int count)
{
    struct kiln_name before = kiln__name("fits", index, tag);
    for (int k = 0; k < count; k++) {
        struct kiln_name is = kiln__name("in", index, passes[k]), size = kiln__name("size", index, passes[k]),
                         all = kiln__name("all.in", index, k == count - 1 ? tag : passes[k]);
        PRINT("  %1$s.zero = icmp eq i32 %2$s.bits, 0\n  %1$s.near = icmp ule i32 %2$s, %5$u\n"
              "  %1$s = or i1 %1$s.zero, %1$s.near\n  %3$s = and i1 %4$s, %1$s\n",
              is.text, size.text, all.text, before.text, RANGE);
        before = all;
    }
}

/* Ends at label quick or slow. */
static void print_bounds(struct kiln_rows *rows, uint32_t index, const char *tag, char (*passes)[24], int count)
{
    char divisor[KILN_IR_NAME];
    rows->p->pass = "";
    kiln__value_name(rows->p, divisor, rows->p->group->instrs[index].in[1]);
    print_distances(rows, index, tag, passes, count);
    PRINT("  %%fits%1$u.low%2$s = fcmp oge float %3$s, " KILN_QUOTIENT_LEAST_DIVISOR "\n"
          "  %%fits%1$u.high%2$s = fcmp ole float %3$s, " KILN_QUOTIENT_MOST_DIVISOR "\n"
          "  %%fits%1$u%2$s = and i1 %%fits%1$u.low%2$s, %%fits%1$u.high%2$s\n"
          "  %%fits%1$u.near%2$s = icmp ule i32 %%far%1$u%2$s, %4$u\n"
          "  %%fits%1$u.all%2$s = and i1 %%fits%1$u%2$s, %%fits%1$u.near%2$s\n"
          "  br i1 %%fits%1$u.all%2$s, label %%quick%1$u%2$s, label %%masked%1$u%2$s\n\nmasked%1$u%2$s:\n",
          index, tag, divisor, RANGE);
    print_zeros(rows, index, tag, passes, count);
    PRINT("  br i1 %%all.in%1$u%2$s, label %%quick%1$u%2$s, label %%slow%1$u%2$s\n\n", index, tag);
}

/* A quick quotient is no NaN, so only those of a plain division are settled, as if for a store. */
static void print_plain(struct kiln_rows *rows, uint32_t index, const char *divisor, char *settled)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    struct kiln_name plain = kiln__name("plain", index, p->pass);
    PRINT("  %s = fdiv float %s, %s\n", plain.text, kiln__value_name(p, name, p->group->instrs[index].in[0]), divisor);
    kiln__ir_to_raw(p->text, settled, plain.text, KILN_FLOAT32, 0, plain.text);
}

void kiln__row_print_divisions(struct kiln_rows *rows, uint32_t index, const char *tag, char (*passes)[24], int count)
{
    struct kiln_printer *p = rows->p;
    char divisor[KILN_IR_NAME], name[KILN_IR_NAME], settled[KILN_IR_NAME];
    struct kiln_name inverse = kiln__name("inverse", index, tag);
    p->pass = "";
    kiln__value_name(p, divisor, p->group->instrs[index].in[1]);
    PRINT("  %s = fdiv float 1.0, %s\n", inverse.text, divisor);
    print_bounds(rows, index, tag, passes, count);
    PRINT("quick%u%s:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k];
        print_quick(rows, index, inverse.text, divisor);
    }
    PRINT("  br label %%divided%1$u%2$s\n\nslow%1$u%2$s:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k];
        print_plain(rows, index, divisor, settled);
    }
    PRINT("  br label %%divided%1$u%2$s\n\ndivided%1$u%2$s:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k];
        PRINT("  %s = phi float [ %s, %%quick%u%s ], [ %s.out, %%slow%u%s ]\n",
              kiln__value_name(p, name, rows->stages.first + index), kiln__name("quick", index, p->pass).text, index,
              tag, kiln__name("plain", index, p->pass).text, index, tag);
    }
    p->pass = "";
}
