/*
 * row_layer.h - layers along the last axis: softmax, logsumexp, rms_norm, layer_norm. Each has one formula, written
 * with expression.h beside its function; ops.def names it.
 *
 * Inside of a trace a layer is its formula, so that it fuses with what surrounds it. Outside of traces it is one node
 * where that is faster, and run/kernels/row_layer_kernels.c computes the node with one kernel, which it derives from
 * the formula: the same operations in the same order, so the same bits. Such a node is never on a tape.
 */
#ifndef KILN_OPS_ROW_LAYER_H
#define KILN_OPS_ROW_LAYER_H

#include "ops/expression.h"

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

enum { KILN_ROW_NUMBERS = 2 };

/*
 * `apply` computes it from element-wise operations and reductions along the last axis, which stays with size 1. What
 * depends on the length of a row or on eps are `numbers`, both of them, and the first two constants that it makes, in
 * this order. `numbers` is NULL for a formula without them.
 */
struct kiln_row_formula {
    void (*numbers)(int length, float eps, double out[KILN_ROW_NUMBERS]);
    struct kiln_array *(*apply)(struct kiln_expression *e, const struct kiln_row_layer *layer, const double *numbers);
};

#define KILN_LAYER(ID, name, arity) extern const struct kiln_row_formula kiln__formula_##name;
#include "graph/ops.def"
extern const struct kiln_row_formula *const kiln__row_formulas[KILN_OP_COUNT]; /* NULL: not a layer */

/* The formula, for the length of x's rows. */
struct kiln_array *kiln__e_row_formula(struct kiln_expression *e, const struct kiln_row_layer *layer);

/* Are reductions along the last axis computed together with what is reduced, in a kernel that has a row at a time? */
bool kiln__rows_pay(const int *dims, size_t ndim, uint32_t device_index);

/* Does it become one node? Its arrays are checked: they fit each other. */
bool kiln__row_layer_fits(const struct kiln_row_layer *layer);
/* As kiln__apply(): one node, or the formula. A formula keeps the axis of logsumexp. */
kiln_status kiln__row_layer(const struct kiln_row_layer *layer, struct kiln_array **out, kiln_error *err);

#endif
