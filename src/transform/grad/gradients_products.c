/*
 * gradients_products.c - gradients of products of matrices: the cotangent times the other operand, transposed.
 */
#include "transform/grad/gradient_rules.h"

#include <string.h>

#include "ops/creation.h"

static struct kiln_array *product(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_binary(e, KILN_OP_MATMUL, a, b);
}

void kiln__vjp_matmul(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                      struct kiln_array **gradients)
{
    struct kiln_array *a = step->inputs[0], *b = step->inputs[1];
    if (step->wanted[0]) gradients[0] = product(e, cotangent, kiln__e_conjugate(e, kiln__e_matrix_transpose(e, b)));
    if (step->wanted[1]) gradients[1] = product(e, kiln__e_conjugate(e, kiln__e_matrix_transpose(e, a)), cotangent);
}

/* The same codes, transposed or not: the other way round. Scales are differentiated as floats (ops/products.c). */
void kiln__vjp_quantized_matmul(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                                struct kiln_array **gradients)
{
    enum { TRANSPOSE = 3, MOST_INPUTS = 6, ATTRS = 6 }; /* graph/rules_quantized.c */
    struct kiln_array *inputs[MOST_INPUTS];
    int64_t attrs[ATTRS];
    memcpy(inputs, step->inputs, step->count * sizeof *inputs);
    memcpy(attrs, step->attrs, sizeof attrs);
    inputs[0] = cotangent;
    attrs[TRANSPOSE] = !attrs[TRANSPOSE];
    gradients[0] = kiln__e_apply(e, KILN_OP_QUANTIZED_MATMUL, inputs, step->count, attrs, ATTRS);
}

/* x (batch, m, k), matrices (list, k, n), indices (batch): a matrix gets the sum over the rows that picked it. */
static struct kiln_array *list_gradient(struct kiln_expression *e, const struct kiln_step *step,
                                        struct kiln_array *cotangent)
{
    struct kiln_array *each = product(e, kiln__e_matrix_transpose(e, step->inputs[0]), cotangent);
    if (!each) return NULL;
    struct kiln_array *updates = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &each, 1, (int64_t[]){each->ndim - 2}, 1);
    struct kiln_array *inputs[] = {kiln__e_zeros_like(e, step->inputs[1]), updates, step->inputs[2]};
    return kiln__e_apply(e, KILN_OP_SCATTER, inputs, 3, (int64_t[]){KILN_MERGE_ADD, 0}, 2);
}

void kiln__vjp_gather_matmul(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                             struct kiln_array **gradients)
{
    struct kiln_array *inputs[] = {cotangent, kiln__e_matrix_transpose(e, step->inputs[1]), step->inputs[2]};
    if (step->wanted[0]) gradients[0] = kiln__e_apply(e, KILN_OP_GATHER_MATMUL, inputs, 3, NULL, 0);
    if (step->wanted[1]) gradients[1] = list_gradient(e, step, cotangent);
}

/* (segments, k): 1 where the segment has column k, else 0. */
static struct kiln_array *segment_members(struct kiln_expression *e, const struct kiln_step *step)
{
    struct kiln_array *places = kiln__e_reshape(e, step->inputs[2], (int[]){-1, 2}, 2), *columns = NULL;
    if (!places) return NULL;
    kiln_status status = kiln__arange(0, step->inputs[0]->dims[1], 1, KILN_INT64, &columns, e->err);
    columns = kiln__e_hold(e, status, columns);
    places = kiln__e_astype(e, places, KILN_INT64);
    struct kiln_array *after = kiln__e_binary(e, KILN_OP_GREATER_EQUAL, columns, kiln__e_cut(e, places, 1, 0, 1, 1));
    struct kiln_array *before = kiln__e_binary(e, KILN_OP_LESS, columns, kiln__e_cut(e, places, 1, 1, 2, 1));
    struct kiln_array *both = kiln__e_binary(e, KILN_OP_LOGICAL_AND, after, before);
    return kiln__e_astype(e, both, (enum kiln_dtype)step->inputs[0]->dtype);
}

/* The sum over segments of products (segments, rows, columns), of those that have the column, or row, `axis` - 1. */
static struct kiln_array *sum_members(struct kiln_expression *e, struct kiln_array *products,
                                      struct kiln_array *members, int axis)
{
    members = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &members, 1, (int64_t[]){axis == 1 ? 2 : 1}, 1);
    struct kiln_array *chosen = kiln__e_times(e, products, members);
    return kiln__e_apply(e, KILN_OP_SUM, &chosen, 1, (int64_t[]){0, 0}, 2);
}

void kiln__vjp_segmented_matmul(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                                struct kiln_array **gradients)
{
    struct kiln_array *a = step->inputs[0], *b = step->inputs[1], *members = segment_members(e, step);
    struct kiln_array *each = kiln__e_reshape(e, cotangent, (int[]){-1, a->dims[0], b->dims[1]}, 3);
    if (step->wanted[0])
        gradients[0] = sum_members(e, kiln__e_matmul(e, each, kiln__e_matrix_transpose(e, b)), members, 2);
    if (step->wanted[1])
        gradients[1] = sum_members(e, kiln__e_matmul(e, kiln__e_matrix_transpose(e, a), each), members, 1);
}
