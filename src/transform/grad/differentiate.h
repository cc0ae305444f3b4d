/*
 * differentiate.h - the steps of a transform: calls a function on variables, then takes cotangents back or tangents
 * forward through the arrays that depend on them. Used by gradient.c, custom_function.c and gradient_replay.c.
 */
#ifndef KILN_TRANSFORM_DIFFERENTIATE_H
#define KILN_TRANSFORM_DIFFERENTIATE_H

#include "graph/marking.h"
#include "transform/grad/gradient.h"

/* Arrays from `first` on in the list of kiln__marking, the variables first. */
struct kiln_differentiation {
    struct kiln_marking_state before;
    size_t first, variable_count;
    struct kiln_array_list outputs;
};

/* Calls the function. `is_variable` NULL: all inputs are. After a failure nothing is to be ended. `name` prefixes error
 * texts. */
kiln_status kiln__differentiate(const char *name, struct kiln_array_function function, struct kiln_array_list inputs,
                                const bool *is_variable, struct kiln_differentiation *out, kiln_error *err);
void kiln__differentiate_end(struct kiln_differentiation *d);

/* Can it have a derivative: is it a float or complex? */
static inline bool kiln__is_inexact(const struct kiln_array *array)
{
    return kiln__dtypes[array->dtype].kind >= KILN_KIND_FLOAT;
}

/* gradients[v] = the cotangent of variable v, a reference, or NULL for zero. cotangents[i], which may be NULL, has the
 * shape of outputs.arrays[i]. */
kiln_status kiln__pull_back(size_t first, size_t variable_count, struct kiln_array_list outputs,
                            struct kiln_array *const *cotangents, struct kiln_array **gradients, kiln_error *err);
/* results[i] = the tangent of output i, a reference, or NULL for zero. tangents[v] is that of variable v, or NULL. */
kiln_status kiln__push_forward(size_t first, size_t variable_count, struct kiln_array_list outputs,
                               struct kiln_array *const *tangents, struct kiln_array **results, kiln_error *err);

/* For each array from `first` to `end` in the list: does it depend on the variables? calloc'ed; NULL: no memory. */
bool *kiln__find_dependent(size_t first, size_t variable_count, size_t end);

/* The gradient summed over the axes along which `like` was broadcast, and in its dtype. */
struct kiln_expression;
struct kiln_array *kiln__e_fit(struct kiln_expression *e, struct kiln_array *gradient, const struct kiln_array *like);

/* gradient_replay.c: derivatives of the operation of a shapeless trace, as deferred operations. */
struct kiln_step;
kiln_status kiln__record_gradient(const struct kiln_step *step, uint32_t k, struct kiln_array *cotangent,
                                  struct kiln_array **out, kiln_error *err);
kiln_status kiln__record_tangent(const struct kiln_step *step, struct kiln_array *const *tangents,
                                 struct kiln_array **out, kiln_error *err);

#endif
