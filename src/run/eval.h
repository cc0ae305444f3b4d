/*
 * eval.h - evaluation: computes lazy arrays.
 *
 * Evaluation walks the graph without recursion and runs its operations in topological order. Several threads may
 * evaluate the same arrays: each node is run by one of them, the others wait for that node. No lock is held while a
 * kernel, a compiler or BLAS runs. A failed node keeps its error, which every waiting thread gets; an evaluation that
 * begins later runs it again. Nodes that do not depend on a failed node are computed all the same.
 */
#ifndef KILN_RUN_EVAL_H
#define KILN_RUN_EVAL_H

#include "graph/node.h"

/* Returns when all are ready. KILN_INVALID for a tracer: evaluating inside a trace is an error. */
kiln_status kiln__eval(struct kiln_array *const *arrays, size_t count, kiln_error *err);
/*
 * Starts it on a worker thread; the caller may free its references at once. The arrays of one call become ready
 * together: kiln__eval() of one of them waits for all.
 */
kiln_status kiln__eval_async(struct kiln_array *const *arrays, size_t count, kiln_error *err);
/* Waits for all calls of kiln__eval_async() so far; on the worker itself it does not wait. */
void kiln__eval_synchronize(void);

/*
 * Is the array ready, after waiting for the evaluations that are running now, on any thread? Begins none. A thread that
 * is itself inside of an evaluation, in a reader of the program's, does not wait.
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
/* Called before a node's input is overwritten: a fork waits until the node has run, because the child could not run it
 * again. */
void kiln__eval_overwrites(void);

/*
 * Installed by run/plan.c: runs a KILN_OP_PLAN node whose inputs are ready. It gives storage, data, strides and layout
 * to every output that is still there (kiln__node_output()) and leaves their `node` alone: eval makes them ready
 * afterwards.
 */
extern kiln_status (*kiln__plan_eval)(struct kiln_node *node, kiln_error *err);

#endif
