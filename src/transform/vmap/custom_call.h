/*
 * custom_call.h - calls of functions that have a rule of their own for vmap (transform/grad/custom_function.h).
 *
 * While a function is mapped, the results of such a call become nodes of operation custom: inputs are a handle, the
 * same for all results of the call, and those of the call; the attribute is which result it is. The second half of vmap
 * gives the rule the mapped inputs, once for all results. Such a node never leaves its trace.
 */
#ifndef KILN_TRANSFORM_VMAP_CUSTOM_CALL_H
#define KILN_TRANSFORM_VMAP_CUSTOM_CALL_H

#include "transform/grad/custom_function.h"

/* Replaces the results of a call, if the function has a rule and is called where something is mapped. */
kiln_status kiln__vmap_note_call(struct kiln_custom_function *function, struct kiln_array *const *inputs, size_t count,
                                 struct kiln_array **outputs, size_t output_count, kiln_error *err);

/* Calls of one vmap whose rules were applied; the list is dropped at its end. */
struct kiln_custom_results {
    const struct kiln_array *handle;
    struct kiln_array **arrays; /* references, with the mapped axis in front */
    size_t count;
    struct kiln_custom_results *next;
};

/* What the rule gives for the result that `node` makes; inputs are mapped along their first axis, or not. */
kiln_status kiln__vmap_custom(const struct kiln_node *node, struct kiln_array *const *inputs, const bool *is_mapped,
                              int size, struct kiln_custom_results **done, struct kiln_array **out, kiln_error *err);
void kiln__custom_results_free(struct kiln_custom_results *done);

#endif
