/*
 * gradients_reductions.c - gradients of reductions along an axis, of cumulative results and of sorting.
 */
#include <string.h>

#include "ops/creation.h"
#include "transform/grad/gradient_rules.h"

enum { AXIS, KEEPS_AXIS };                   /* attributes of reductions */
enum { REVERSE = 1, INCLUSIVE, CUMULATIVE }; /* of cumulative results, after the axis */

/* What has one element for each row, with the axis of size 1 again. */
static struct kiln_array *with_axis(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *a)
{
    if (!a || step->attrs[KEEPS_AXIS]) return a;
    return kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &a, 1, &step->attrs[AXIS], 1);
}

static struct kiln_array *spread(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *a)
{
    return kiln__e_broadcast(e, with_axis(e, step, a), step->inputs[0]->dims, step->inputs[0]->ndim);
}

static struct kiln_array *cumulate(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a,
                                   const struct kiln_step *step, bool backwards)
{
    const int64_t *attrs = step->attrs;
    return kiln__e_apply(e, op, &a, 1,
                         (int64_t[]){attrs[AXIS], backwards ? !attrs[REVERSE] : attrs[REVERSE], attrs[INCLUSIVE]},
                         CUMULATIVE);
}

void kiln__vjp_sum(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                   struct kiln_array **gradients)
{
    gradients[0] = spread(e, step, cotangent);
}

/* Equal extremes share the cotangent. */
void kiln__vjp_extreme(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                       struct kiln_array **gradients)
{
    struct kiln_array *x = step->inputs[0], *most = with_axis(e, step, step->output);
    struct kiln_array *mask = kiln__e_binary(e, KILN_OP_EQUAL, x, most);
    mask = kiln__e_astype(e, mask, (enum kiln_dtype)x->dtype);
    struct kiln_array *count = kiln__e_apply(e, KILN_OP_SUM, &mask, 1, (int64_t[]){step->attrs[AXIS], 1}, 2);
    gradients[0] = kiln__e_over(e, kiln__e_times(e, with_axis(e, step, cotangent), mask), count);
}

/* The product of all others: of those before, times those after. So zeros need no care. */
void kiln__vjp_prod(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                    struct kiln_array **gradients)
{
    struct kiln_array *x = step->inputs[0];
    int64_t axis = step->attrs[AXIS];
    struct kiln_array *before = kiln__e_apply(e, KILN_OP_CUMPROD, &x, 1, (int64_t[]){axis, 0, 0}, CUMULATIVE);
    struct kiln_array *after = kiln__e_apply(e, KILN_OP_CUMPROD, &x, 1, (int64_t[]){axis, 1, 0}, CUMULATIVE);
    struct kiln_array *others = kiln__e_conjugate(e, kiln__e_times(e, before, after));
    gradients[0] = kiln__e_times(e, with_axis(e, step, cotangent), others);
}

void kiln__vjp_cumsum(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                      struct kiln_array **gradients)
{
    gradients[0] = cumulate(e, KILN_OP_CUMSUM, cotangent, step, true);
}

/* The sum over all products that an element is part of, of these and their cotangents. */
static struct kiln_array *sum_of_later(struct kiln_expression *e, const struct kiln_step *step,
                                       struct kiln_array *cotangent, struct kiln_array *products)
{
    return cumulate(e, KILN_OP_CUMSUM, kiln__e_times(e, cotangent, products), step, true);
}

/*
 * Divided by the element itself. The first zero of a row is set to 1 for that, so that the products without it are
 * there; all after it have it in all of their products, and get 0.
 */
void kiln__vjp_cumprod(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                       struct kiln_array **gradients)
{
    struct kiln_array *x = step->inputs[0];
    enum kiln_dtype dtype = (enum kiln_dtype)x->dtype;
    struct kiln_array *zero = kiln__e_number(e, 0, dtype), *one = kiln__e_number(e, 1, dtype);
    struct kiln_array *is_zero = kiln__e_binary(e, KILN_OP_EQUAL, x, zero);
    struct kiln_array *ones = kiln__e_astype(e, is_zero, KILN_INT32);
    struct kiln_array *before =
        kiln__e_apply(e, KILN_OP_CUMSUM, &ones, 1, (int64_t[]){step->attrs[AXIS], step->attrs[REVERSE], 0}, CUMULATIVE);
    struct kiln_array *is_behind = kiln__e_binary(e, KILN_OP_GREATER, before, kiln__e_number(e, 0, KILN_INT32));
    struct kiln_array *is_first =
        kiln__e_binary(e, KILN_OP_LOGICAL_AND, is_zero, kiln__e_unary(e, KILN_OP_LOGICAL_NOT, is_behind));
    struct kiln_array *safe = kiln__e_select(e, is_first, one, x);
    struct kiln_array *without = sum_of_later(e, step, cotangent, cumulate(e, KILN_OP_CUMPROD, safe, step, false));
    struct kiln_array *plain = kiln__e_over(e, sum_of_later(e, step, cotangent, step->output), safe);
    gradients[0] = kiln__e_select(e, is_behind, zero, kiln__e_select(e, is_first, without, plain));
}

/* The positions 0, 1, 2 ... along the axis, for each element. */
static struct kiln_array *positions_like(struct kiln_expression *e, struct kiln_array *a, int axis)
{
    struct kiln_array *line = NULL;
    int dims[KILN_MAX_NDIM];
    if (e->status || !a) return NULL;
    for (int i = 0; i < a->ndim; i++) dims[i] = 1;
    dims[axis] = a->dims[axis];
    kiln_status status = kiln__arange(0, a->dims[axis], 1, KILN_INT32, &line, e->err);
    line = kiln__e_reshape(e, kiln__e_hold(e, status, line), dims, a->ndim);
    return kiln__e_broadcast(e, line, a->dims, a->ndim);
}

/*
 * Each result is the element at some position, the first one of equal elements: a position where a new extreme begins,
 * and the last such one so far. What begins before the first element of an exclusive result belongs to none.
 */
void kiln__vjp_cumextreme(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                          struct kiln_array **gradients)
{
    struct kiln_array *x = step->inputs[0];
    int axis = (int)step->attrs[AXIS], size = x->dims[axis];
    bool reverse = step->attrs[REVERSE], is_max = step->op == KILN_OP_CUMMAX;
    struct kiln_array *so_far = kiln__e_apply(e, step->op, &x, 1, (int64_t[]){axis, reverse, 0}, CUMULATIVE);
    struct kiln_array *is_new = kiln__e_binary(e, is_max ? KILN_OP_GREATER : KILN_OP_LESS, x, so_far);
    struct kiln_array *none = kiln__e_number(e, reverse ? size : -1, KILN_INT32);
    struct kiln_array *begun =
        kiln__e_select(e, is_new, positions_like(e, x, axis), kiln__e_astype(e, none, KILN_INT32));
    struct kiln_array *from = cumulate(e, reverse ? KILN_OP_CUMMIN : KILN_OP_CUMMAX, begun, step, false);
    struct kiln_array *first = kiln__e_number(e, 0, KILN_INT32), *end = kiln__e_number(e, size, KILN_INT32);
    struct kiln_array *is_one =
        kiln__e_binary(e, KILN_OP_LOGICAL_AND, kiln__e_binary(e, KILN_OP_GREATER_EQUAL, from, first),
                       kiln__e_binary(e, KILN_OP_LESS, from, end));
    struct kiln_array *zero = kiln__e_number(e, 0, (enum kiln_dtype)x->dtype);
    struct kiln_array *inputs[] = {kiln__e_zeros_like(e, x), kiln__e_select(e, is_one, from, first),
                                   kiln__e_select(e, is_one, cotangent, zero)};
    gradients[0] = kiln__e_apply(e, KILN_OP_PUT_ALONG, inputs, 3, (int64_t[]){KILN_MERGE_ADD, axis}, 2);
}

void kiln__vjp_sort(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                    struct kiln_array **gradients)
{
    struct kiln_array *x = step->inputs[0];
    struct kiln_array *from = kiln__e_apply(e, KILN_OP_ARGSORT, &x, 1, step->attrs, 1);
    struct kiln_array *inputs[] = {kiln__e_zeros_like(e, x), from, cotangent};
    gradients[0] = kiln__e_apply(e, KILN_OP_PUT_ALONG, inputs, 3, (int64_t[]){KILN_MERGE_SET, step->attrs[AXIS]}, 2);
}
