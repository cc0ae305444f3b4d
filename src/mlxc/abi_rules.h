/*
 * abi_rules.h - closures other than plain ones: of values with gradients, and of rules for transforms. All four kinds
 * of handle refer to the same struct; they differ in the type of their function.
 */
#ifndef KILN_MLXC_ABI_RULES_H
#define KILN_MLXC_ABI_RULES_H

#include <stdatomic.h>

#include "mlxc/abi_closure.h"
#include "transform/grad/gradient.h"

/* Counted and immutable: usable from every thread. The dtor runs when the last reference goes. */
struct kiln_rule_closure {
    _Atomic uint32_t refs;
    void (*plain)(void);        /* as the handle's type says, cast; or NULL */
    void (*with_payload)(void); /* the same with the payload as its last argument */
    /* Of what mlx_value_and_grad() makes, instead of both. */
    kiln_status (*differentiate)(void *payload, struct kiln_array_list inputs, struct kiln_derivative *out,
                                 kiln_error *err);
    void *payload;
    void (*dtor)(void *);
};

static inline struct kiln_rule_closure *kiln__unwrap_rule(void *ctx)
{
    return *(struct kiln_rule_closure **)ctx;
}

static inline struct kiln_rule_closure *kiln__rule_ref(struct kiln_rule_closure *rule)
{
    atomic_fetch_add_explicit(&rule->refs, 1, memory_order_relaxed);
    return rule;
}

void kiln__rule_unref(struct kiln_rule_closure *rule); /* NULL is fine */
/* Puts a copy of `model` behind *ctx. When that fails the payload stays the caller's. */
int kiln__rule_give(void **ctx, const struct kiln_rule_closure *model, const char *type);

/* The arrays of a vector, as references of the caller's. */
kiln_status kiln__list_copy(mlx_vector_array vector, struct kiln_array_list *out, kiln_error *err);
/* A vector of `list`, whose references it gets copies of. */
kiln_status kiln__list_wrap(struct kiln_array_list list, mlx_vector_array *out, kiln_error *err);
/* Both results of a transform, or neither; `made` is released. */
int kiln__give_derivative(mlx_vector_array *res_0, mlx_vector_array *res_1, struct kiln_derivative *made);

/* Run a rule; results are malloc'ed lists of references. */
kiln_status kiln__rule_vjp(const struct kiln_rule_closure *rule, struct kiln_array_list inputs,
                           struct kiln_array_list cotangents, struct kiln_array_list outputs,
                           struct kiln_array_list *results, kiln_error *err);
kiln_status kiln__rule_jvp(const struct kiln_rule_closure *rule, struct kiln_array_list inputs,
                           struct kiln_array_list tangents, const int *argnums, struct kiln_array_list *results,
                           kiln_error *err);
kiln_status kiln__rule_vmap(const struct kiln_rule_closure *rule, struct kiln_array_list inputs, const int *axes,
                            struct kiln_array_list *results, int **out_axes, kiln_error *err);

#endif
