/*
 * gradients_views.c - gradients of views and copies: cotangents go back to where elements came from. Elements that a
 * view leaves out get zeros, and one that it shows several times gets their sum.
 */
#include <limits.h>
#include <string.h>

#include "ops/creation.h"
#include "transform/grad/gradient_rules.h"

void kiln__vjp_reshape(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                       struct kiln_array **gradients)
{
    gradients[0] = kiln__e_reshape(e, cotangent, step->inputs[0]->dims, step->inputs[0]->ndim);
}

void kiln__vjp_transpose(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                         struct kiln_array **gradients)
{
    int64_t order[KILN_MAX_NDIM];
    for (uint32_t i = 0; i < step->attr_count; i++) order[step->attrs[i]] = i;
    gradients[0] = kiln__e_transpose(e, cotangent, order);
}

void kiln__vjp_slice(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                     struct kiln_array **gradients)
{
    int64_t attrs[1 + 3 * KILN_MAX_NDIM] = {KILN_MERGE_SET};
    struct kiln_array *inputs[] = {kiln__e_zeros_like(e, step->inputs[0]), cotangent};
    if (step->attr_count) memcpy(attrs + 1, step->attrs, step->attr_count * sizeof *attrs);
    gradients[0] = kiln__e_apply(e, KILN_OP_SLICE_UPDATE, inputs, 2, attrs, 1 + step->attr_count);
}

/* The same view of the positions 0, 1, 2 ... says to which element each cotangent belongs. */
void kiln__vjp_as_strided(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                          struct kiln_array **gradients)
{
    struct kiln_array *a = step->inputs[0], *positions = NULL, *zeros = NULL;
    if (a->size > INT_MAX) {
        e->status = kiln__fail(e->err, KILN_INVALID,
                               "[as_strided] A gradient of more than %d elements is not supported.", INT_MAX);
        return;
    }
    const int size = (int)a->size, count = (int)cotangent->size;
    kiln_status status = kiln__arange(0, size, 1, KILN_INT32, &positions, e->err);
    positions = kiln__e_hold(e, status, positions);
    positions = kiln__e_apply(e, KILN_OP_AS_STRIDED, &positions, 1, step->attrs, step->attr_count);
    positions = kiln__e_reshape(e, positions, &count, 1);
    status = e->status ? e->status : kiln__zeros(&size, 1, (enum kiln_dtype)a->dtype, &zeros, e->err);
    zeros = kiln__e_hold(e, status, zeros);
    struct kiln_array *updates = kiln__e_reshape(e, cotangent, (int[]){count, 1}, 2);
    struct kiln_array *inputs[] = {zeros, updates, positions};
    struct kiln_array *flat = kiln__e_apply(e, KILN_OP_SCATTER, inputs, 3, (int64_t[]){KILN_MERGE_ADD, 0}, 2);
    gradients[0] = kiln__e_reshape(e, flat, a->dims, a->ndim);
}

void kiln__vjp_concatenate(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                           struct kiln_array **gradients)
{
    int axis = (int)step->attrs[0], first = 0;
    for (uint32_t k = 0; k < step->count && !e->status; k++) {
        int end = first + step->inputs[k]->dims[axis];
        if (step->wanted[k]) gradients[k] = kiln__e_cut(e, cotangent, axis, first, end, 1);
        first = end;
    }
}

/* What is only waited for has no part in the result. */
void kiln__vjp_depends(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                       struct kiln_array **gradients)
{
    (void)e, (void)step;
    gradients[0] = cotangent;
}
