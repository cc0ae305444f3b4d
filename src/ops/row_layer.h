/*
 * row_layer.h - layers along the last axis as one operation: softmax, logsumexp, rms_norm, layer_norm.
 *
 * Outside of traces a layer becomes one node, which run/kernels/row_layer_kernels.c computes with one kernel, in the
 * order and with the roundings of its formula: every bit is the same. Inside of a trace it stays the formula, so that
 * it fuses with what surrounds it; such a node is never on a tape.
 */
#ifndef KILN_OPS_ROW_LAYER_H
#define KILN_OPS_ROW_LAYER_H

#include "graph/node.h"

/* The second attribute of a norm: which rows follow x among its inputs. The first one is the bits of eps, a float. */
enum { KILN_ROW_LAYER_WEIGHT = 1, KILN_ROW_LAYER_BIAS = 2 };

/* Elements of the last axis. */
enum { KILN_ROW_LAYER_LONGEST = 1 << 20 };

struct kiln_row_layer {
    enum kiln_op op;
    struct kiln_array *x, *weight, *bias; /* the last two are of norms, and may be NULL */
    float eps;                            /* of norms */
    enum kiln_dtype dtype;                /* of the result */
    bool keepdims;                        /* of logsumexp */
};

/* Are reductions along the last axis computed together with what is reduced, in a kernel that has a row at a time? */
bool kiln__rows_pay(const int *dims, size_t ndim, uint32_t device_index);

/* Does it become one node? Else the caller computes its formula. Its arrays are checked: they fit each other. */
bool kiln__row_layer_fits(const struct kiln_row_layer *layer);
/* As kiln__apply(), of a layer that fits. */
kiln_status kiln__row_layer(const struct kiln_row_layer *layer, struct kiln_array **out, kiln_error *err);

#endif
