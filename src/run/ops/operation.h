/*
 * operation.h - how one node is run: its inputs are ready, its output gets bytes.
 *
 * Each function gives `out` storage, data and strides, and nothing else: `node` stays, so that no other thread looks at
 * the rest before eval.c makes the array ready. On failure eval.c takes the storage away again.
 */
#ifndef KILN_RUN_OPS_OPERATION_H
#define KILN_RUN_OPS_OPERATION_H

#include "graph/node.h"

typedef kiln_status kiln_operation(const struct kiln_node *node, struct kiln_array *out, kiln_error *err);

kiln_operation kiln__run_elementwise;
#define KILN_OPERATION(ID, name, arity, kind, dtypes, shape, run, gpu) kiln_operation kiln__##run;
#include "graph/ops.def"

/* Any of them, by node->op, at node->device_index; not a plan. Inputs that are elsewhere are copied there. */
kiln_status kiln__run_operation(const struct kiln_node *node, struct kiln_array *out, kiln_error *err);

/*
 * For dry runs. Does the operation do nothing there but make views and launch kernels, which shapes and strides decide?
 * Such a one is then run at the active device, where its inputs are.
 */
bool kiln__op_only_launches(enum kiln_op op, uint32_t device_index);
bool kiln__runs_here(const struct kiln_node *node); /* else the host does it */
kiln_status kiln__run_here(const struct kiln_node *node, struct kiln_array *out, kiln_error *err);

/* Packed storage of its own for `out`. */
kiln_status kiln__output_alloc(struct kiln_array *out, kiln_error *err);
/* `out` becomes a view of `base`; offset and strides in elements. */
void kiln__output_view(struct kiln_array *out, struct kiln_array *base, int64_t offset, const int64_t *strides);
/* `out` for an update of the first input: its bytes where they may be overwritten and nobody else can see them
 * (run/reuse.h), else a copy of them. In a dry run they are. */
kiln_status kiln__output_update(const struct kiln_node *node, bool may_overwrite, struct kiln_array *out,
                                kiln_error *err);
/* A packed copy of `in` as `out`, for what writes into it. */
kiln_status kiln__output_copy(const struct kiln_array *in, struct kiln_array *out, kiln_error *err);
/* All of `source` to `data`, which has these strides, in elements. */
kiln_status kiln__copy_to(const struct kiln_array *source, char *data, const int64_t *strides, kiln_error *err);
/* All of `source`, row-major, packed at `destination`, which has room for it. */
kiln_status kiln__copy_packed(const struct kiln_array *source, char *destination, kiln_error *err);
/* `in`, or a packed copy of it: elements along the last axis lie side by side. A reference. */
kiln_status kiln__take_side_by_side(struct kiln_array *in, struct kiln_array **out, kiln_error *err);

#endif
