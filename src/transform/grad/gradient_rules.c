/*
 * gradient_rules.c - the table of rules, from gradients.def, and what rules share.
 */
#include "transform/grad/gradient_rules.h"

#include "ops/creation.h"

/* ---- rules of the two general kinds -------------------------------------------------------------------------------
 */

static void vjp_by_partials(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                            struct kiln_array **gradients)
{
    kiln_partial *partial = kiln__gradient_rules[step->op].partial;
    for (uint32_t k = 0; k < step->count; k++)
        if (step->wanted[k]) gradients[k] = kiln__e_times(e, cotangent, kiln__e_conjugate(e, partial(e, step, k)));
}

static struct kiln_array *jvp_by_partials(struct kiln_expression *e, const struct kiln_step *step,
                                          struct kiln_array *const *tangents)
{
    kiln_partial *partial = kiln__gradient_rules[step->op].partial;
    struct kiln_array *sum = NULL;
    for (uint32_t k = 0; k < step->count; k++) {
        if (!tangents[k]) continue;
        struct kiln_array *term = kiln__e_times(e, tangents[k], partial(e, step, k));
        sum = sum ? kiln__e_add(e, sum, term) : term;
    }
    return sum;
}

static struct kiln_array *jvp_of_linear(struct kiln_expression *e, const struct kiln_step *step,
                                        struct kiln_array *const *tangents)
{
    return kiln__e_apply(e, step->op, tangents, 1, step->attrs, step->attr_count);
}

/* ---- the table ----------------------------------------------------------------------------------------------------
 */

const struct kiln_gradient_rule kiln__gradient_rules[KILN_OP_COUNT] = {
#define KILN_PARTIAL(ID, name)                                                                                         \
    [KILN_OP_##                                                                                                        \
        ID] = {.vjp = vjp_by_partials, .jvp = jvp_by_partials, .partial = kiln__partial_##name, .is_listed = true},
#define KILN_LINEAR(ID, name)   [KILN_OP_##ID] = {.vjp = kiln__vjp_##name, .jvp = jvp_of_linear, .is_listed = true},
#define KILN_GRADIENT(ID, name) [KILN_OP_##ID] = {.vjp = kiln__vjp_##name, .is_listed = true},
#define KILN_CONSTANT(ID)       [KILN_OP_##ID] = {.is_listed = true},
#define KILN_NOT_MET(ID, why)   [KILN_OP_##ID] = {.missing = why, .is_listed = true},
#include "transform/grad/gradients.def"
};

/* ---- helpers ------------------------------------------------------------------------------------------------------
 */

struct kiln_array *kiln__e_zeros_like(struct kiln_expression *e, struct kiln_array *like)
{
    struct kiln_array *out = NULL;
    if (e->status || !like) return NULL;
    kiln_status status = kiln__zeros_like(like, &out, e->err);
    return kiln__e_hold(e, status, out);
}

struct kiln_array *kiln__e_ones_like(struct kiln_expression *e, struct kiln_array *like)
{
    struct kiln_array *out = NULL;
    if (e->status || !like) return NULL;
    kiln_status status = kiln__ones_like(like, &out, e->err);
    return kiln__e_hold(e, status, out);
}

struct kiln_array *kiln__e_conjugate(struct kiln_expression *e, struct kiln_array *a)
{
    return a && a->dtype == KILN_COMPLEX64 ? kiln__e_unary(e, KILN_OP_CONJUGATE, a) : a;
}

struct kiln_array *kiln__e_matrix_transpose(struct kiln_expression *e, struct kiln_array *a)
{
    int64_t order[KILN_MAX_NDIM];
    if (!a) return NULL;
    for (int i = 0; i < a->ndim; i++) order[i] = i;
    order[a->ndim - 2] = a->ndim - 1;
    order[a->ndim - 1] = a->ndim - 2;
    return kiln__e_transpose(e, a, order);
}
