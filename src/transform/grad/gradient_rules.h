/*
 * gradient_rules.h - how each operation is differentiated: a table with a row for each operation, made from
 * gradients.def.
 *
 * Rules are formulas of ordinary operations (ops/expression.h). What a rule gives is summed over the axes along which
 * the input was broadcast, and cast to its dtype, by the caller; NULL without a failure is zero.
 */
#ifndef KILN_TRANSFORM_GRADIENT_RULES_H
#define KILN_TRANSFORM_GRADIENT_RULES_H

#include "ops/expression.h"

/* An operation that was applied. */
struct kiln_step {
    enum kiln_op op;
    uint32_t count, attr_count;
    struct kiln_array *const *inputs;
    const int64_t *attrs;
    struct kiln_array *output;
    const bool *wanted; /* for each input: do its elements matter? */
};

/* gradients[k] = the cotangent of input k, for those that are wanted. */
typedef void kiln_vjp_rule(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                           struct kiln_array **gradients);
/* The tangent of the output; tangents[k] is NULL where it is zero. */
typedef struct kiln_array *kiln_jvp_rule(struct kiln_expression *e, const struct kiln_step *step,
                                         struct kiln_array *const *tangents);
/* Of an element-wise operation: the derivative of an element by that of input k. */
typedef struct kiln_array *kiln_partial(struct kiln_expression *e, const struct kiln_step *step, uint32_t k);

/* All are NULL where the result does not change with small changes of the inputs: the gradient is zero. */
struct kiln_gradient_rule {
    kiln_vjp_rule *vjp;
    kiln_jvp_rule *jvp; /* NULL beside vjp: vjp is linear in the cotangent, and the transform of that is taken */
    kiln_partial *partial;
    const char *missing; /* why there is no gradient although there should be one */
    bool is_listed;
};

extern const struct kiln_gradient_rule kiln__gradient_rules[KILN_OP_COUNT];

#define KILN_PARTIAL(ID, name)  kiln_partial kiln__partial_##name;
#define KILN_LINEAR(ID, name)   kiln_vjp_rule kiln__vjp_##name;
#define KILN_GRADIENT(ID, name) kiln_vjp_rule kiln__vjp_##name;
#include "transform/grad/gradients.def"

/* ---- for rules ----------------------------------------------------------------------------------------------------
 */

static inline struct kiln_array *kiln__e_add(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_binary(e, KILN_OP_ADD, a, b);
}

static inline struct kiln_array *kiln__e_times(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_binary(e, KILN_OP_MULTIPLY, a, b);
}

static inline struct kiln_array *kiln__e_over(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_binary(e, KILN_OP_DIVIDE, a, b);
}

static inline struct kiln_array *kiln__e_minus(struct kiln_expression *e, struct kiln_array *a)
{
    return kiln__e_unary(e, KILN_OP_NEGATIVE, a);
}

/* Zeros, or ones, of the shape and dtype of `like`. */
struct kiln_array *kiln__e_zeros_like(struct kiln_expression *e, struct kiln_array *like);
struct kiln_array *kiln__e_ones_like(struct kiln_expression *e, struct kiln_array *like);
/* Of a complex array its conjugate, else the array itself. Cotangents of complex numbers are gradients: real and
 * imaginary part say how the parts of the number matter. So what a cotangent is multiplied with is conjugated, and what
 * a tangent is multiplied with is not. */
struct kiln_array *kiln__e_conjugate(struct kiln_expression *e, struct kiln_array *a);
/* The last two axes swapped. */
struct kiln_array *kiln__e_matrix_transpose(struct kiln_expression *e, struct kiln_array *a);

#endif
