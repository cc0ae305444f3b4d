/*
 * gpu_row_together.h - operations with a fast path that is checked once for several elements of a thread: if all are
 * within bounds, each takes the fast path, else all take the general one. The bits are the same. Inside the codegen
 * layer.
 *
 * The operations are in gpu_row_division.c and gpu_row_exp.c.
 */
#ifndef KILN_CODEGEN_GPU_GPU_ROW_TOGETHER_H
#define KILN_CODEGEN_GPU_GPU_ROW_TOGETHER_H

#include "codegen/gpu/gpu_rows.h"

/* One instruction of the group, for elements whose suffixes are `passes`; blocks that it opens end in `tag`. */
struct kiln_together {
    uint32_t index;
    const char *tag;
    const struct kiln_name *passes;
    int count;
};

struct kiln_together_kind {
    bool (*is)(const struct kiln_rows *rows, uint32_t index);
    /* Ends with a branch to %quickN<tag> or %slowN<tag>, N the instruction's index. */
    void (*print_bounds)(struct kiln_rows *rows, const struct kiln_together *t);
    /* Of the element that the printer's `pass` says: %quickN<pass>; %plainN<pass>.out. */
    void (*print_quick)(struct kiln_rows *rows, const struct kiln_together *t);
    void (*print_plain)(struct kiln_rows *rows, const struct kiln_together *t);
    bool is_settled; /* the result's NaNs are canonical, so that it can be stored as it is */
};

extern const struct kiln_together_kind kiln__row_division, kiln__row_exp;

/* The bits of element k of the instruction's first operand: %sizeN<pass>.bits */
void kiln__row_print_bits(struct kiln_rows *rows, const struct kiln_together *t);

#endif
