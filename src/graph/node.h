/*
 * node.h - a node of the graph: the operation, inputs and attributes that a lazy array will be computed from.
 *
 * Nodes are immutable but for `state` and `error`, which belong to run/eval.c. An array owns its node, a node owns
 * references to its inputs. One node makes one array, except KILN_OP_PLAN, whose outputs share a node (`refs`).
 */
#ifndef KILN_GRAPH_NODE_H
#define KILN_GRAPH_NODE_H

#include "array/array.h"
#include "graph/ops.h"

enum kiln_node_state { KILN_NODE_WAITING, KILN_NODE_RUNNING, KILN_NODE_DONE, KILN_NODE_FAILED, KILN_NODE_LOST };

struct kiln_node {
    _Atomic uint32_t refs;
    _Atomic uint8_t state; /* enum kiln_node_state */
    uint8_t op;            /* enum kiln_op */
    uint16_t attr_count;
    uint32_t input_count;
    bool is_last_use;  /* nothing reads the first input through this node's holder after the node has run, so that its
                          storage may be overwritten if nobody else refers to it (run/reuse.h) */
    kiln_error *error; /* of a failed evaluation */
    void *plan;        /* KILN_OP_PLAN: a reference to the plan; see run/plan.h */
    struct kiln_array **outputs; /* KILN_OP_PLAN: borrowed; NULL where one was freed */
    uint32_t output_count;
    uint16_t device_index, stream; /* where it is to run: graph/default_device.h */
    struct kiln_array **inputs;    /* point behind the struct */
    int64_t *attrs;
};

/*
 * Applies an operation: checks arity, dtypes and shapes, adds the casts that promotion asks for, and makes a lazy
 * array. Inputs that are tracers of this thread's running trace make a tracer; of a trace that has ended: KILN_INVALID.
 * `name` prefixes error texts ("[add] ..."). `*out` is the caller's reference; inputs are borrowed.
 */
kiln_status kiln__apply(enum kiln_op op, struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                        size_t attr_count, struct kiln_array **out, kiln_error *err);

/*
 * A node with one reference, which holds references to its inputs; nothing is checked. For the run layer's plan nodes:
 * kiln__node_set_outputs() makes the fresh lazy arrays `outputs` share the node, one reference each (the caller gives
 * up its own). kiln__node_output() is a strong reference to an output, or NULL where it was freed: an output may be
 * freed on another thread at any time before it is ready.
 */
kiln_status kiln__node_new(enum kiln_op op, struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                           size_t attr_count, struct kiln_node **out, kiln_error *err);
kiln_status kiln__node_set_outputs(struct kiln_node *node, struct kiln_array *const *outputs, size_t count,
                                   kiln_error *err);
struct kiln_array *kiln__node_output(struct kiln_node *node, uint32_t idx);
/* The same, and removes it from the node: for run/eval.c, right before it makes the output ready. */
struct kiln_array *kiln__node_take_output(struct kiln_node *node, uint32_t idx);
void kiln__node_unref(struct kiln_node *node); /* drops its inputs with the last reference, without recursion */
/* The run layer installs how a node's plan is released. */
extern void (*kiln__node_free_plan)(void *plan);

/* The broadcast of two shapes. KILN_INVALID names both shapes. */
kiln_status kiln__broadcast_shapes(const int *a, size_t a_ndim, const int *b, size_t b_ndim, int *out, size_t *ndim,
                                   kiln_error *err);

#endif
