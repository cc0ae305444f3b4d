/*
 * sorting.h - sort, argsort, partition and topk: stable, NaN last. Same contract as kiln__apply().
 *
 * A partition is a full sort.
 */
#ifndef KILN_OPS_SORTING_H
#define KILN_OPS_SORTING_H

#include "graph/node.h"

/* op: KILN_OP_SORT or KILN_OP_ARGSORT. `axis` NULL: of the flattened array. */
kiln_status kiln__sort(enum kiln_op op, struct kiln_array *a, const int *axis, struct kiln_array **out,
                       kiln_error *err);
kiln_status kiln__partition(enum kiln_op op, struct kiln_array *a, int kth, const int *axis, struct kiln_array **out,
                            kiln_error *err);
/* The k largest along the axis, smallest of them first. */
kiln_status kiln__topk(struct kiln_array *a, int k, const int *axis, struct kiln_array **out, kiln_error *err);

#endif
