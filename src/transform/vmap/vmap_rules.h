/*
 * vmap_rules.h - how an operation is applied to mapped arrays.
 *
 * A mapped array has the mapped axis in front, and behind it the axes that its placeholder had; so has the result. At
 * least one input is mapped. A rule gives the result as an expression, borrowed from it, or NULL after a failure.
 */
#ifndef KILN_TRANSFORM_VMAP_VMAP_RULES_H
#define KILN_TRANSFORM_VMAP_VMAP_RULES_H

#include "ops/expression.h"

struct kiln_vmapped {
    enum kiln_op op;
    int size; /* of the mapped axis */
    struct kiln_array *const *inputs;
    const bool *is_mapped; /* for each input */
    size_t count;
    const int64_t *attrs; /* as the operation had them, for arrays without the mapped axis */
    size_t attr_count;
    const struct kiln_array *result; /* what the operation gave for placeholders */
};

typedef struct kiln_array *kiln_vmap_rule(struct kiln_expression *e, const struct kiln_vmapped *v);

/* NULL: none, and a test fails. */
extern kiln_vmap_rule *const kiln__vmap_rules[KILN_OP_COUNT];

/* Attributes that an operation may have, with those of one more axis. */
enum { KILN_VMAP_ATTRS = 5 * KILN_MAX_NDIM };

/* For rules: axes of input `i` behind the mapped one. */
static inline size_t kiln__vmap_rank(const struct kiln_vmapped *v, size_t i)
{
    return (size_t)v->inputs[i]->ndim - v->is_mapped[i];
}
/* Those axes' sizes. */
static inline const int *kiln__vmap_dims(const struct kiln_vmapped *v, size_t i)
{
    return v->inputs[i]->dims + v->is_mapped[i];
}
/* Input `i` with the mapped axis: its elements are repeated if it was not mapped. */
struct kiln_array *kiln__vmap_input(struct kiln_expression *e, const struct kiln_vmapped *v, size_t i);
/* The operation itself on other inputs and attributes. */
struct kiln_array *kiln__vmap_apply(struct kiln_expression *e, const struct kiln_vmapped *v,
                                    struct kiln_array *const *inputs, const int64_t *attrs, size_t attr_count);
/* The operation on all inputs, all of them mapped. */
struct kiln_array *kiln__vmap_all(struct kiln_expression *e, const struct kiln_vmapped *v, const int64_t *attrs,
                                  size_t attr_count);
/* For what has no better rule: the operation on each slice, and the results side by side. */
kiln_vmap_rule kiln__vmap_each;
/* Axis `from` becomes axis `to`. */
struct kiln_array *kiln__e_move(struct kiln_expression *e, struct kiln_array *a, size_t from, size_t to);
struct kiln_array *kiln__e_squeeze(struct kiln_expression *e, struct kiln_array *a, size_t axis);
struct kiln_array *kiln__e_expand(struct kiln_expression *e, struct kiln_array *a, size_t axis);

/* vmap_index.c: reading and writing through indices. vmap_products.c: products and attention. */
kiln_vmap_rule kiln__vmap_take, kiln__vmap_gather, kiln__vmap_scatter, kiln__vmap_slice_dynamic,
    kiln__vmap_update_dynamic;
kiln_vmap_rule kiln__vmap_quantized, kiln__vmap_gather_matmul, kiln__vmap_segmented, kiln__vmap_attention;

#endif
