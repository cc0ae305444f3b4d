/*
 * graph_order.h - the part of a graph that a transform reads: from outputs back to the placeholders of one trace.
 *
 * Arrays in an order in which each comes after its inputs, each once. Only arrays of the trace are in it: placeholders,
 * and what was computed from them, whose nodes never change. Everything else is a constant of the transform, and is not
 * looked into, so that another thread may evaluate it meanwhile. The walk is iterative: a chain of a million operations
 * does not overflow the stack. One owner.
 */
#ifndef KILN_TRANSFORM_GRAPH_ORDER_H
#define KILN_TRANSFORM_GRAPH_ORDER_H

#include "base/table.h"
#include "graph/node.h"

struct kiln_order {
    struct kiln_array **arrays; /* borrowed: outputs, and what their nodes hold */
    size_t count, cap;
    struct kiln_table table; /* from an array to its position */
};

/* `order` is zeroed before, and is the caller's to release after success and failure. */
kiln_status kiln__order_from(struct kiln_array *const *outputs, size_t count, uint64_t trace, struct kiln_order *order,
                             kiln_error *err);
void kiln__order_release(struct kiln_order *order);

/* Its position, or KILN_TABLE_EMPTY: a constant. */
uint32_t kiln__order_find(const struct kiln_order *order, const struct kiln_array *array);

/* The node of an array of a trace, which stays for as long as the array is held; NULL: a placeholder. */
static inline const struct kiln_node *kiln__traced_node(const struct kiln_array *array)
{
    return atomic_load_explicit(&array->node, memory_order_relaxed);
}

#endif
