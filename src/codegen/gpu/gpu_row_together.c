/*
 * gpu_row_together.c - see gpu_row_together.h.
 */
#include "codegen/gpu/gpu_row_together.h"

static const struct kiln_together_kind *const kinds[] = {&kiln__row_division, &kiln__row_exp};

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

static const struct kiln_together_kind *find_kind(const struct kiln_rows *rows, uint32_t index)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->is(rows, index)) return kinds[i];
    return NULL;
}

bool kiln__row_is_together(const struct kiln_rows *rows, uint32_t index)
{
    return find_kind(rows, index) != NULL;
}

bool kiln__row_is_settled(const struct kiln_rows *rows, uint32_t index)
{
    const struct kiln_together_kind *kind = find_kind(rows, index);
    return kind && kind->is_settled;
}

void kiln__row_print_bits(struct kiln_rows *rows, const struct kiln_together *t)
{
    struct kiln_printer *p = rows->p;
    char x[KILN_IR_NAME];
    for (int k = 0; k < t->count; k++) {
        p->pass = t->passes[k];
        PRINT("  %s.bits = bitcast float %s to i32\n", kiln__name("size", t->index, p->pass).text,
              kiln__value_name(p, x, p->group->instrs[t->index].in[0]));
    }
    p->pass = "";
}

void kiln__row_print_together(struct kiln_rows *rows, uint32_t index, const char *tag, char (*passes)[24], int count)
{
    const struct kiln_together t = {.index = index, .tag = tag, .passes = passes, .count = count};
    const struct kiln_together_kind *kind = find_kind(rows, index);
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    p->pass = "";
    kind->print_bounds(rows, &t);
    PRINT("quick%u%s:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k];
        kind->print_quick(rows, &t);
    }
    PRINT("  br label %%together%1$u%2$s\n\nslow%1$u%2$s:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k];
        kind->print_plain(rows, &t);
    }
    PRINT("  br label %%together%1$u%2$s\n\ntogether%1$u%2$s:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k];
        PRINT("  %s = phi float [ %s, %%quick%u%s ], [ %s.out, %%slow%u%s ]\n",
              kiln__value_name(p, name, rows->stages.first + index), kiln__name("quick", index, p->pass).text, index,
              tag, kiln__name("plain", index, p->pass).text, index, tag);
    }
    p->pass = "";
}
