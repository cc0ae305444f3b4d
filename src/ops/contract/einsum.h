/*
 * einsum.h - sums of products, written with a letter for each axis: "ij,jk->ik".
 *
 * A letter stands for one size; an axis of size 1 is repeated. A letter that stands twice in an operand takes its
 * diagonal. Letters that the output lacks are summed over. "..." stands for any axes, matched from the last one.
 * Without
 * "->" the output has what "..." stands for, then the letters that occur once, in the order of their codes. Spaces mean
 * nothing.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure. Error texts
 * begin with "[einsum] ".
 */
#ifndef KILN_OPS_CONTRACT_EINSUM_H
#define KILN_OPS_CONTRACT_EINSUM_H

#include "graph/node.h"

kiln_status kiln__einsum(const char *subscripts, struct kiln_array *const *operands, size_t count,
                         struct kiln_array **out, kiln_error *err);

#endif
