/*
 * norms.c - norms of vectors and matrices, see linalg.h.
 */
#include <math.h>
#include <string.h>

#include "ops/linalg/linalg.h"
#include "ops/shapes.h"

/* In formulas: over these axes. */
static struct kiln_array *reduced(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a,
                                  struct kiln_axes axes)
{
    struct kiln_array *out = NULL;
    if (e->status || !a) return NULL;
    kiln_status status = kiln__reduce(op, a, axes, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static struct kiln_array *magnitudes(struct kiln_expression *e, struct kiln_array *a)
{
    bool is_unsigned = kiln__dtypes[a->dtype].kind <= KILN_KIND_UNSIGNED;
    return is_unsigned ? a : kiln__e_unary(e, KILN_OP_ABS, a);
}

static enum kiln_dtype at_least_float(const struct kiln_array *a)
{
    return kiln__dtypes[a->dtype].kind < KILN_KIND_FLOAT ? KILN_FLOAT32 : (enum kiln_dtype)a->dtype;
}

static struct kiln_array *l2_norm(struct kiln_expression *e, struct kiln_array *a, struct kiln_axes axes)
{
    if (a->dtype == KILN_COMPLEX64) a = magnitudes(e, a);
    return kiln__e_unary(e, KILN_OP_SQRT, reduced(e, KILN_OP_SUM, kiln__e_unary(e, KILN_OP_SQUARE, a), axes));
}

static kiln_status refuse_axes(kiln_error *err)
{
    return kiln__fail(err, KILN_INVALID, "[norm] Received too many axes for norm.");
}

static const int all_axes[] = {0, 1};

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

/* The sum of |x| to the power of `order`, of which the root is taken. */
static struct kiln_array *power_norm(struct kiln_expression *e, struct kiln_array *a, double order,
                                     struct kiln_axes axes)
{
    enum kiln_dtype dtype = at_least_float(a);
    struct kiln_array *x = kiln__e_astype(e, magnitudes(e, a), dtype == KILN_COMPLEX64 ? KILN_FLOAT32 : dtype);
    if (!x) return NULL;
    enum kiln_dtype real = (enum kiln_dtype)x->dtype;
    struct kiln_array *sum =
        reduced(e, KILN_OP_SUM, kiln__e_binary(e, KILN_OP_POWER, x, kiln__e_number(e, order, real)), axes);
    return kiln__e_binary(e, KILN_OP_POWER, sum, kiln__e_number(e, 1 / order, real));
}

static struct kiln_array *vector_norm(struct kiln_expression *e, struct kiln_array *a, double order,
                                      struct kiln_axes axes)
{
    struct kiln_array *norm;
    if (order == 2) return l2_norm(e, a, axes);
    if (order == 0) {
        struct kiln_array *zero = kiln__e_astype(e, kiln__e_number(e, 0, KILN_FLOAT32), (enum kiln_dtype)a->dtype);
        norm = reduced(e, KILN_OP_SUM, kiln__e_binary(e, KILN_OP_NOT_EQUAL, a, zero), axes);
    } else if (order == 1) {
        norm = reduced(e, KILN_OP_SUM, magnitudes(e, a), axes);
    } else if (isinf(order)) {
        norm = reduced(e, order > 0 ? KILN_OP_MAX : KILN_OP_MIN, magnitudes(e, a), axes);
    } else {
        norm = power_norm(e, a, order, axes);
    }
    return kiln__e_astype(e, norm, at_least_float(a));
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

/* The two axes, not negative. */
static kiln_status plain_axes(const struct kiln_array *a, const int *axes, int plain[2], kiln_error *err)
{
    kiln_status status = kiln__plain_axis("norm", axes[0], a->ndim, &plain[0], err);
    if (!status) status = kiln__plain_axis("norm", axes[1], a->ndim, &plain[1], err);
    if (status || plain[0] != plain[1]) return status;
    return kiln__fail(err, KILN_INVALID, "[norm] Axis %d is given twice.", axes[0]);
}

static struct kiln_array *without_axes(struct kiln_expression *e, struct kiln_array *a, const int plain[2])
{
    int first = plain[0] > plain[1], axes[] = {plain[first], plain[!first]}; /* the later one goes first */
    for (int i = 2; i-- > 0 && a;) a = kiln__e_apply(e, KILN_OP_SQUEEZE, &a, 1, (int64_t[]){axes[i]}, 1);
    return a;
}

/* The sum along one axis, and of the sums the largest or the smallest. */
static struct kiln_array *sum_norm(struct kiln_expression *e, struct kiln_array *a, int summed, int compared,
                                   bool largest)
{
    struct kiln_array *sums = reduced(e, KILN_OP_SUM, magnitudes(e, a), (struct kiln_axes){&summed, 1, true});
    return kiln__e_astype(e,
                          reduced(e, largest ? KILN_OP_MAX : KILN_OP_MIN, sums, (struct kiln_axes){&compared, 1, true}),
                          at_least_float(a));
}

/* Of the singular values, `op`; the matrix's axes stay, with size 1. */
static struct kiln_array *singular_norm(struct kiln_expression *e, struct kiln_array *a, const int plain[2],
                                        enum kiln_op op)
{
    const enum kiln_factor wanted = KILN_FACTOR_SINGULAR;
    struct kiln_array *out = NULL;
    int64_t order[KILN_MAX_NDIM];
    int count = 0, first = plain[0] < plain[1] ? plain[0] : plain[1], second = plain[0] + plain[1] - first;
    for (int i = 0; i < a->ndim; i++)
        if (i != first && i != second) order[count++] = i;
    order[count++] = plain[0], order[count] = plain[1];
    struct kiln_array *matrices = kiln__e_transpose(e, a, order);
    if (e->status) return NULL;
    kiln_status status = kiln__factorize(matrices, (struct kiln_factoring){0}, &wanted, 1, &out, e->err);
    out = reduced(e, op, kiln__e_hold(e, status, out), (struct kiln_axes){(int[]){-1}, 1, false});
    if (out) out = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &out, 1, (int64_t[]){first}, 1);
    return out ? kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &out, 1, (int64_t[]){second}, 1) : NULL;
}

static struct kiln_array *matrix_norm(struct kiln_expression *e, struct kiln_array *a, double order, const int plain[2])
{
    bool is_largest = order > 0;
    if (fabs(order) == 1) return sum_norm(e, a, plain[0], plain[1], is_largest);
    if (isinf(order)) return sum_norm(e, a, plain[1], plain[0], is_largest);
    if (fabs(order) == 2) {
        struct kiln_array *norm = singular_norm(e, a, plain, is_largest ? KILN_OP_MAX : KILN_OP_MIN);
        return kiln__e_astype(e, norm, at_least_float(a));
    }
    e->status = kiln__fail(e->err, KILN_INVALID, "[norm] Invalid ord %g for matrix norm.", order);
    return NULL;
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

static kiln_status require(const struct kiln_array *a, kiln_error *err)
{
    return a ? KILN_OK : kiln__fail(err, KILN_INVALID, "[norm] input is empty.");
}

/* Without axes: of all elements, in one axis. */
kiln_status kiln__norm_l2(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = require(a, err);
    if (status) return status;
    if (axes.count > 2 && axes.count != KILN_ALL_AXES) return refuse_axes(err);
    if (axes.count == KILN_ALL_AXES) {
        a = kiln__e_reshape(&e, a, (const int[]){-1}, 1);
        axes = (struct kiln_axes){all_axes, 1, axes.keepdims};
    }
    return kiln__e_end(&e, a ? l2_norm(&e, a, axes) : NULL, out);
}

/* No axes stand for all of them, which have to be one or two. */
static struct kiln_axes resolved(const struct kiln_array *a, struct kiln_axes axes)
{
    bool all = axes.count == KILN_ALL_AXES;
    return all ? (struct kiln_axes){all_axes, a->ndim, axes.keepdims} : axes;
}

kiln_status kiln__norm(struct kiln_array *a, double order, struct kiln_axes axes, struct kiln_array **out,
                       kiln_error *err)
{
    int plain[2];
    struct kiln_expression e = {.err = err};
    kiln_status status = require(a, err);
    if (status) return status;
    axes = resolved(a, axes);
    if (axes.count == 1) return kiln__e_end(&e, vector_norm(&e, a, order, axes), out);
    if (axes.count != 2) return refuse_axes(err);
    status = plain_axes(a, axes.axes, plain, err);
    if (status) return status;
    struct kiln_array *norm = matrix_norm(&e, a, order, plain);
    return kiln__e_end(&e, axes.keepdims ? norm : without_axes(&e, norm, plain), out);
}

kiln_status kiln__norm_matrix(struct kiln_array *a, const char *order, struct kiln_axes axes, struct kiln_array **out,
                              kiln_error *err)
{
    int plain[2];
    struct kiln_expression e = {.err = err};
    kiln_status status = require(a, err);
    if (status) return status;
    axes = resolved(a, axes);
    if (axes.count != 2)
        return kiln__fail(err, KILN_INVALID,
                          "[norm] Norm '%.40s' only supported for matrices, but received %zu axis/axes.", order,
                          axes.count);
    status = plain_axes(a, axes.axes, plain, err);
    if (status) return status;
    if (!strcmp(order, "f") || !strcmp(order, "fro")) return kiln__e_end(&e, l2_norm(&e, a, axes), out);
    if (strcmp(order, "nuc") != 0)
        return kiln__fail(err, KILN_INVALID, "[norm] Invalid ord value '%.40s' for matrix norm.", order);
    struct kiln_array *norm = singular_norm(&e, a, plain, KILN_OP_SUM);
    return kiln__e_end(&e, axes.keepdims ? norm : without_axes(&e, norm, plain), out);
}
