/*
 * gpu_row_together.c - see gpu_row_together.h.
 */
#include "codegen/gpu/gpu_row_together.h"

static const struct kiln_together_kind *const kinds[] = {&kiln__row_division, &kiln__row_exp};

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
    for (int k = 0; k < t->count; k++) {
        p->pass = t->passes[k].text;
        kiln__print(rows->ir, "  $0.bits = bitcast float $1 to i32\n",
                    kiln__name(rows->ir, "%size$0$1", t->index, p->pass).text,
                    kiln__value_name(p, p->group->instrs[t->index].in[0]).text);
    }
    p->pass = "";
}

void kiln__row_print_together(struct kiln_rows *rows, uint32_t index, const char *tag, const struct kiln_name *passes,
                              int count)
{
    const struct kiln_together t = {.index = index, .tag = tag, .passes = passes, .count = count};
    const struct kiln_together_kind *kind = find_kind(rows, index);
    struct kiln_printer *p = rows->p;
    p->pass = "";
    kind->print_bounds(rows, &t);
    kiln__print(rows->ir, "quick$0$1:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k].text;
        kind->print_quick(rows, &t);
    }
    kiln__print(rows->ir, "  br label %together$0$1\n\nslow$0$1:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k].text;
        kind->print_plain(rows, &t);
    }
    kiln__print(rows->ir, "  br label %together$0$1\n\ntogether$0$1:\n", index, tag);
    for (int k = 0; k < count; k++) {
        p->pass = passes[k].text;
        kiln__print(rows->ir, "  $0 = phi float [ $1, %quick$2$3 ], [ $4.out, %slow$2$3 ]\n",
                    kiln__value_name(p, rows->stages.first + index).text,
                    kiln__name(rows->ir, "%quick$0$1", index, p->pass).text, index, tag,
                    kiln__name(rows->ir, "%plain$0$1", index, p->pass).text);
    }
    p->pass = "";
}
