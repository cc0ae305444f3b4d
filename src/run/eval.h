/*
 * eval.h - lazy arrays become ready.
 *
 * Evaluation walks the graph without recursion and runs one kernel per operation, in topological order. Several
 * threads may evaluate the same arrays: each node is run by one of them, the others wait for that node. No lock is held
 * while a kernel, a compiler or BLAS runs. A failed node keeps its error, and everyone who waits for it gets that text;
 * an evaluation that begins later tries again. What does not need a failed node is made all the same.
 */
#ifndef KILN_RUN_EVAL_H
#define KILN_RUN_EVAL_H

#include "graph/node.h"

/* Returns when all are ready. KILN_INVALID for a tracer: evaluating inside a trace is an error. */
kiln_status kiln__eval(struct kiln_array *const *arrays, size_t count, kiln_error *err);
/*
 * Starts it on a worker thread; the caller may free its references at once. What is asked for together is there
 * together: kiln__eval() of one of these arrays waits for all of them.
 */
kiln_status kiln__eval_async(struct kiln_array *const *arrays, size_t count, kiln_error *err);
/* Waits until all that kiln__eval_async() was asked for so far is done; on the worker itself it does not wait. */
void kiln__eval_synchronize(void);

/*
 * Is the array ready, after the evaluations that are under way now, on any thread? Begins none. A thread that is inside
 * of an evaluation, as a reader of the program's is, waits for no other.
 */
bool kiln__eval_await(struct kiln_array *array);
/* The error of the last evaluation of an array that is not ready. False: none failed. */
bool kiln__eval_failure(struct kiln_array *array, kiln_error *out);

/* A reference to the node of an array that is not ready; NULL: it is. */
struct kiln_node *kiln__eval_node(struct kiln_array *array);

/* What both of the above accept: no empty array, no tracer. */
kiln_status kiln__eval_check(struct kiln_array *const *arrays, size_t count, kiln_error *err);

/* For run/eval.c: waits for the lists that these arrays are in; for all lists, while the array is not ready. */
void kiln__async_wait_together(struct kiln_array *const *arrays, size_t count);
void kiln__async_wait_until_ready(const struct kiln_array *array);
/* For what runs a node, before it writes over an input of the node: a fork must not leave the child in the middle. */
void kiln__eval_overwrites(void);

/*
 * Installed by run/plan.c: runs a KILN_OP_PLAN node whose inputs are ready. It gives storage, data, strides and layout
 * to every output that is still there (kiln__node_output()) and leaves their `node` alone: eval makes them ready
 * afterwards.
 */
extern kiln_status (*kiln__plan_eval)(struct kiln_node *node, kiln_error *err);

#endif
