/*
 * row_division.h - kept values of a row divided by a value of the row, as in a softmax. Inside the codegen layer.
 *
 * A processor divides several times slower than it multiplies. From the reciprocal of the divisor, two fused
 * multiply-adds give the bits of a division, for numbers within bounds (kiln_quotient_f32 of runtime.h). So one loop
 * checks the bounds of the whole row, in the first-level cache, and a second one divides in place, with the reciprocal
 * or with a plain division:
 *
 *     @divide(values, divisor, n)
 */
#ifndef KILN_CODEGEN_ROW_DIVISION_H
#define KILN_CODEGEN_ROW_DIVISION_H

#include "codegen/keep.h"

/*
 * The bounds of kiln_quotient_f32, for GPUs' rows too: x from 2^-100 to 2^66 as bits of a float, and d from 2^-60 to
 * 2^25 as LLVM writes floats, the bits of a double.
 */
#define KILN_QUOTIENT_LEAST         ((127u - 100) << 23)
#define KILN_QUOTIENT_MOST          ((127u + 66) << 23)
#define KILN_QUOTIENT_LEAST_DIVISOR "0x3C30000000000000"
#define KILN_QUOTIENT_MOST_DIVISOR  "0x4180000000000000"

/* The instruction of such a division by which the outputs are computed; KILN_NEVER: there is none. */
uint32_t kiln__row_division_find(const struct kiln_stages *stages, const struct kiln_keeping *keeping);
/* Divides the kept dividend in place: from here on it is the quotient. */
void kiln__row_division_call(const struct kiln_stages *stages, uint32_t index);
void kiln__row_division_define(const struct kiln_stages *stages);

#endif
