/*
 * gpu_row_exp.c - exponentials of several elements, as a softmax computes them.
 *
 * Where every result is a normal number, kiln_exp_near_f32 (runtime.h) gives the bits of kiln_exp_f32 in two thirds of
 * its instructions. The bits of floats are in order: as unsigned numbers the largest is the lowest negative float, as
 * signed ones the highest positive float. NaNs are beyond both ends.
 */
#include <stdio.h>
#include <string.h>

#include "codegen/gpu/gpu_row_together.h"

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

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
    struct kiln_name before = kiln__name("size", t->index, t->passes[0]);
    char function[KILN_IR_NAME];
    strncat(before.text, ".bits", sizeof before.text - strlen(before.text) - 1);
    snprintf(function, sizeof function, "llvm.%s.i32", order);
    kiln__ir_declare(&rows->p->declarations, "i32", function, "i32, i32");
    for (int k = 1; k < t->count; k++) {
        struct kiln_name next = kiln__name(stem, t->index, k == t->count - 1 ? t->tag : t->passes[k]);
        PRINT("  %s = call i32 @%s(i32 %s, i32 %s.bits)\n", next.text, function, before.text,
              kiln__name("size", t->index, t->passes[k]).text);
        before = next;
    }
}

static void print_bounds(struct kiln_rows *rows, const struct kiln_together *t)
{
    kiln__row_print_bits(rows, t);
    print_largest(rows, t, "lowest", "umax");
    print_largest(rows, t, "highest", "smax");
    PRINT("  %%above%1$u%2$s = icmp ule i32 %%lowest%1$u%2$s, %3$u\n"
          "  %%below%1$u%2$s = icmp sle i32 %%highest%1$u%2$s, %4$u\n"
          "  %%near%1$u%2$s = and i1 %%above%1$u%2$s, %%below%1$u%2$s\n"
          "  br i1 %%near%1$u%2$s, label %%quick%1$u%2$s, label %%slow%1$u%2$s\n\n",
          t->index, t->tag, LOWEST, HIGHEST);
}

static void print_call(struct kiln_rows *rows, uint32_t index, const char *name, const char *function)
{
    struct kiln_printer *p = rows->p;
    char x[KILN_IR_NAME];
    kiln__ir_declare(&p->declarations, "float", function, "float");
    PRINT("  %s = call float @%s(float %s)\n", name, function, kiln__value_name(p, x, p->group->instrs[index].in[0]));
}

static void print_quick(struct kiln_rows *rows, const struct kiln_together *t)
{
    print_call(rows, t->index, kiln__name("quick", t->index, rows->p->pass).text, "kiln_exp_near_f32");
}

static void print_plain(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_name name = kiln__name("plain", t->index, rows->p->pass);
    strncat(name.text, ".out", sizeof name.text - strlen(name.text) - 1);
    print_call(rows, t->index, name.text, "kiln_exp_f32");
}

const struct kiln_together_kind kiln__row_exp = {is_exp, print_bounds, print_quick, print_plain, false};
