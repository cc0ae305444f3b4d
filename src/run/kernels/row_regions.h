/*
 * row_regions.h - where the arrays of a group with rows lie: the part of kiln__launch_rows() that devices share.
 */
#ifndef KILN_RUN_KERNELS_ROW_REGIONS_H
#define KILN_RUN_KERNELS_ROW_REGIONS_H

#include "codegen/group.h"
#include "run/kernels/loop.h"

/*
 * Fills in the regions of `loop`, outputs first, then operands; its last axis is the row. `layouts` gets a layout along
 * the row for each operand, and ends with '\0'.
 */
void kiln__row_regions(const struct kiln_group *group, struct kiln_array *const *operands,
                       struct kiln_array *const *outputs, struct kiln_loop *loop, char *layouts);

#endif
