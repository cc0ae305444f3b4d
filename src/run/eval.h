/*
 * eval.h - lazy arrays become ready.
 *
 * Evaluation walks the graph without recursion and runs one kernel per operation, in topological order. Several
 * threads may evaluate the same arrays: each node is run by one of them, the others wait for that node. No lock is held
 * while a kernel, a compiler or BLAS runs. A failed node keeps its error, and everyone who waits for it gets that text;
 * an evaluation that begins later tries again.
 */
#ifndef KILN_RUN_EVAL_H
#define KILN_RUN_EVAL_H

#include "graph/node.h"

/* Returns when all are ready. KILN_INVALID for a tracer: evaluating inside a trace is an error. */
kiln_status kiln__eval(struct kiln_array *const *arrays, size_t count, kiln_error *err);
/* Starts it on a worker thread; the caller may free its references at once. Later kiln__eval() calls wait for it. */
kiln_status kiln__eval_async(struct kiln_array *const *arrays, size_t count, kiln_error *err);
/* Waits until all that kiln__eval_async() started is done. */
void kiln__eval_synchronize(void);

/* What both of the above accept: no empty array, no tracer. */
kiln_status kiln__eval_check(struct kiln_array *const *arrays, size_t count, kiln_error *err);

/*
 * Installed by run/plan.c: runs a KILN_OP_PLAN node whose inputs are ready. It gives storage, data, strides and layout
 * to every output that is still there (kiln__node_output()) and leaves their `node` alone: eval makes them ready
 * afterwards.
 */
extern kiln_status (*kiln__plan_eval)(struct kiln_node *node, kiln_error *err);

#endif
