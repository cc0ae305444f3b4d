/*
 * row_totals.h - the reductions of a row kernel: functions that add a tile to the lanes, and that take totals. Inside
 * the codegen layer.
 *
 * Each level of a reduction (group.h) has 16 lanes, and those of all levels lie in one buffer. Elements go to the lanes
 * of level 0. At the end of a chunk its total is taken from there and goes to a lane of level 1, and so on, as digits
 * carry. Lanes hold their start before a row and after it, for taking a total puts it there.
 *
 * Of reduction number N there are, with a pointer for each part of a lane:
 *
 *     @accumulateN(lanes, elements, count)    elements as lanes hold them, from a multiple of 16 of the row on
 *     @totalN(lanes, at, n, to)               after `at` elements: the end of a chunk, or of the row of n elements;
 * then the reduction's result is stored at `to`
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
