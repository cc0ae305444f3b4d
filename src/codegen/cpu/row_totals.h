/*
 * row_totals.h - the functions that a row kernel calls for each of its reductions. Inside the codegen layer.
 *
 * Each level of a reduction (group.h) has 16 lanes, and those of all levels lie in one buffer. Elements are combined
 * with the lanes of level 0. At the end of a chunk its lanes are reduced to a total, which is combined with a lane of
 * level 1, and so on, as a counter carries into its next digit. Lanes hold the identity element before and after each
 * row: a level is reset when its total is taken.
 *
 * For reduction number N there are, with a pointer for each part of a lane:
 *
 *     @accumulateN(lanes, elements, count)    combines elements, converted to the lanes' dtype, with the lanes; the
 *                                             first of them is a multiple of 16 in the row
 *     @totalN(lanes, at, n, to)               after `at` elements, at the end of a chunk or of the row of n elements:
 *                                             carries totals; at the end of the row stores the result at `to`
 */
#ifndef KILN_CODEGEN_CPU_ROW_TOTALS_H
#define KILN_CODEGEN_CPU_ROW_TOTALS_H

#include "codegen/combine.h"
#include "codegen/printer.h"

enum { KILN_ROW_LEVELS = 4, KILN_ROW_LANES = KILN_ROW_LEVELS * KILN_REDUCE_LANES }; /* enough for 2^40 elements */

/* "ptr %nameI.0, ", for each part of a lane. */
void kiln__print_row_arguments(struct kiln_printer *p, const struct kiln_reducer *reducer, const char *name,
                               uint32_t index);
/* Both functions of reduction `index`. */
void kiln__print_row_totals(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index);

#endif
