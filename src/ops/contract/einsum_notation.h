/*
 * einsum_notation.h - inside of einsum: letters as numbers, and what a notation says about them.
 *
 * A to Z are letters 0 to 25, a to z 26 to 51; the axes that "..." stands for are the letters behind them, the last
 * axis the last letter, so that operands with fewer of them agree from the right.
 */
#ifndef KILN_OPS_CONTRACT_EINSUM_NOTATION_H
#define KILN_OPS_CONTRACT_EINSUM_NOTATION_H

#include "array/array.h"

enum { KILN_LETTERS = 64, KILN_NAMED_LETTERS = 52 };

/* The letters of one operand or of the output: one for each axis. */
struct kiln_letters {
    uint8_t axes[KILN_MAX_NDIM];
    size_t count;
};

struct kiln_notation {
    struct kiln_letters *operands; /* malloc'ed */
    size_t operand_count;
    struct kiln_letters output;
    int sizes[KILN_LETTERS]; /* 0 for letters that do not occur, and for empty axes */
};

/* Checks everything. On failure there is nothing to free. */
kiln_status kiln__notation_read(const char *subscripts, struct kiln_array *const *operands, size_t count,
                                struct kiln_notation *out, kiln_error *err);

static inline uint64_t kiln__letter_set(const struct kiln_letters *letters)
{
    uint64_t set = 0;
    for (size_t i = 0; i < letters->count; i++) set |= UINT64_C(1) << letters->axes[i];
    return set;
}

#endif
