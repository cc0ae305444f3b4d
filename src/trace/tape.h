/*
 * tape.h - the intermediate representation of a traced function: its values in topological order.
 *
 * Passes, in order: record (trace.c), simplify, push views, fuse. Each pass keeps the topological order and the meaning
 * of `outputs`. Everything is allocated in one arena and freed with it; a tape holds a reference to each array that the
 * function captured.
 */
#ifndef KILN_TRACE_TAPE_H
#define KILN_TRACE_TAPE_H

#include <string.h>

#include "array/array.h"
#include "base/arena.h"
#include "graph/ops.h"

enum kiln_value_kind { KILN_VALUE_INPUT, KILN_VALUE_CONSTANT, KILN_VALUE_NODE };

#define KILN_NO_GROUP UINT32_MAX

struct kiln_value {
    uint8_t kind; /* enum kiln_value_kind */
    uint8_t op;   /* of a node */
    uint8_t dtype;
    uint8_t ndim;
    bool is_output;
    bool is_live;       /* an output needs it */
    bool is_read_apart; /* a member of a group that others read too, after it: the group writes it */
    uint16_t attr_count;
    uint32_t input_count;
    uint32_t group; /* of a node, after fuse: index of its group, or KILN_NO_GROUP */
    const int32_t *dims;
    const int64_t *attrs;
    uint32_t *inputs;         /* earlier values */
    struct kiln_array *array; /* of a constant: a reference */
};

/* Nodes that become one kernel. Members are in tape order; the last one is the root. */
struct kiln_fused {
    uint32_t root;
    uint32_t shape; /* a value with the shape of the kernel's elements */
    bool has_rows;  /* it has reductions, or values of which there is one for each row */
    uint32_t member_count;
    uint32_t input_bound; /* at most this many inputs from outside */
};

struct kiln_tape {
    struct kiln_arena arena;
    uint32_t device_index; /* where it runs: a GPU if one of its operations was made for that GPU */
    uint32_t stream;       /* of that GPU: that of the first such operation */
    const char *name;      /* of the function, for people; borrowed, NULL: it has none */
    struct kiln_value *values;
    uint32_t count, cap;
    uint32_t input_count; /* the first values are the inputs */
    uint32_t *outputs;
    uint32_t output_count;
    struct kiln_fused *groups;
    uint32_t group_count;
};

void kiln__tape_free(struct kiln_tape *tape); /* NULL is fine */

static inline bool kiln__value_same_shape(const struct kiln_value *a, const struct kiln_value *b)
{
    return a->ndim == b->ndim && memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims) == 0;
}

static inline bool kiln__value_is_elementwise(const struct kiln_value *value)
{
    return value->kind == KILN_VALUE_NODE && kiln__ops[value->op].kind == KILN_OP_ELEMENTWISE;
}

/* Is it a ready constant of rank 0? Its bits are an argument of a kernel, not an operand. */
bool kiln__value_is_scalar(const struct kiln_value *value);

/*
 * Common subexpression elimination; drops casts and views that change nothing, and broadcasts and packing before
 * element-wise operations; marks live values. Captured arrays must be ready. Linear in the tape.
 */
kiln_status kiln__tape_simplify(struct kiln_tape *tape, kiln_error *err);
/* Only marks live values, those that the outputs need: for the mode without simplification. */
void kiln__tape_mark(struct kiln_tape *tape);

/*
 * Moves views of element-wise results to what these are computed from, so that the operations before and after a view
 * can become one kernel. Needs a simplified tape of one shape, and leaves one. Linear in the tape.
 */
kiln_status kiln__tape_push_views(struct kiln_tape *tape, kiln_error *err);

/* The cost of computing a value from the nearest values that are neither element-wise nor views. */
struct kiln_cost {
    uint8_t tree;  /* operations of the expression tree, without sharing; saturates at 255 */
    bool is_cheap; /* each is a few instructions at most */
};
struct kiln_cost *kiln__tape_costs(struct kiln_tape *tape); /* of each value, in the arena; NULL: out of memory */

/* Does it reduce rows that are long enough to be computed together with what is reduced? */
bool kiln__value_reduces_rows(const struct kiln_tape *tape, const struct kiln_value *value);

/*
 * Puts element-wise nodes, and reductions along the last axis, into groups. A node joins the group of its consumers
 * when they are all in one group of the same shape (or the node is one element); so nothing is computed twice and no
 * group waits for itself. `limit`: members per group (1: no fusion).
 */
kiln_status kiln__tape_fuse(struct kiln_tape *tape, uint32_t limit, kiln_error *err);
/* Takes the groups apart again: each node is an operation, run as it is outside of traces. */
void kiln__tape_unfuse(struct kiln_tape *tape);

#endif
