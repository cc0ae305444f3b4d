/*
 * solving.c - see linalg.h: what is composed of inverses and factorizations.
 */
#include <float.h>
#include <string.h>

#include "ops/indexing.h"
#include "ops/linalg/linalg.h"
#include "ops/replay.h"
#include "ops/shapes.h"

static struct kiln_array *turned(struct kiln_expression *e, struct kiln_array *a)
{
    struct kiln_array *out = NULL;
    if (e->status || !a) return NULL;
    kiln_status status = kiln__swapaxes(a, -2, -1, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static bool is_real_float(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64;
}

static kiln_status expect_square(const struct kiln_array *a, const char *name, kiln_error *err)
{
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (a->ndim < 2)
        return kiln__fail(err, KILN_INVALID,
                          "[%s] Arrays must have >= 2 dimensions. Received array with %d dimensions.", name, a->ndim);
    if (!is_real_float((enum kiln_dtype)a->dtype))
        return kiln__fail(err, KILN_INVALID,
                          "[%s] Arrays must have type float32 or float64. Received array with type %s.", name,
                          kiln__dtypes[a->dtype].name);
    if (a->dims[a->ndim - 2] == a->dims[a->ndim - 1]) return KILN_OK;
    char text[KILN_SHAPE_TEXT];
    return kiln__fail(err, KILN_INVALID, "[%s] Only defined for square matrices. Received array with shape %s.", name,
                      kiln__shape_text(a->dims, a->ndim, text));
}

kiln_status kiln__cholesky_inv(struct kiln_array *a, bool upper, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *inverse = NULL;
    struct kiln_expression e = {.err = err};
    kiln_status status = expect_square(a, "cholesky_inv", err);
    if (!status) status = kiln__tri_inv(a, upper, &inverse, err);
    if (status) return status;
    kiln__e_hold(&e, status, inverse);
    struct kiln_array *other = turned(&e, inverse);
    return kiln__e_end(&e, upper ? kiln__e_matmul(&e, inverse, other) : kiln__e_matmul(&e, other, inverse), out);
}

/* ---- the pseudo-inverse ---------------------------------------------------------------------------------------- */

static struct kiln_array *inverted_values(struct kiln_expression *e, struct kiln_array *s, double tolerance)
{
    if (!s) return NULL;
    struct kiln_array *largest = kiln__e_reduce_axis(e, KILN_OP_MAX, s, s->ndim - 1);
    struct kiln_array *least =
        kiln__e_binary(e, KILN_OP_MULTIPLY, largest, kiln__e_number(e, tolerance, (enum kiln_dtype)s->dtype));
    struct kiln_array *is_large = kiln__e_binary(e, KILN_OP_GREATER, s, least);
    struct kiln_array *zero = kiln__e_number(e, 0, (enum kiln_dtype)s->dtype);
    return kiln__e_select(e, is_large, kiln__e_unary(e, KILN_OP_RECIPROCAL, s), zero);
}

static kiln_status empty_inverse(const struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    memcpy(dims, a->dims, a->ndim * sizeof *dims);
    dims[a->ndim - 2] = a->dims[a->ndim - 1], dims[a->ndim - 1] = a->dims[a->ndim - 2];
    return kiln__zeros(dims, a->ndim, (enum kiln_dtype)a->dtype, out, err);
}

kiln_status kiln__pinv(struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_U, KILN_FACTOR_SINGULAR, KILN_FACTOR_VT};
    struct kiln_array *made[3];
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_PINV);
        kiln__record_array(&record, a);
        return kiln__record_end(&record, out, err);
    }
    if (!a) return kiln__fail(err, KILN_INVALID, "[pinv] input is empty.");
    if (a->ndim < 2)
        return kiln__fail(err, KILN_INVALID,
                          "[pinv] Arrays must have >= 2 dimensions. Received array with %d dimensions.", a->ndim);
    if (!is_real_float((enum kiln_dtype)a->dtype))
        return kiln__fail(err, KILN_INVALID,
                          "[pinv] Arrays must have type float32 or float64. Received array with type %s.",
                          kiln__dtypes[a->dtype].name);
    int m = a->dims[a->ndim - 2], n = a->dims[a->ndim - 1], k = m < n ? m : n;
    if (k == 0) return empty_inverse(a, out, err);
    kiln_status status = kiln__factorize(a, (struct kiln_factoring){.with_vectors = true}, wanted, 3, made, err);
    if (status) return status;
    struct kiln_expression e = {.err = err};
    for (int i = 0; i < 3; i++) kiln__e_hold(&e, KILN_OK, made[i]);
    double tolerance = 10.0 * (m > n ? m : n) * (a->dtype == KILN_FLOAT32 ? (double)FLT_EPSILON : DBL_EPSILON);
    struct kiln_array *values = inverted_values(&e, made[1], tolerance);
    struct kiln_array *u = turned(&e, kiln__e_cut(&e, made[0], a->ndim - 1, 0, k, 1));
    struct kiln_array *v = turned(&e, kiln__e_cut(&e, made[2], a->ndim - 2, 0, k, 1));
    if (values) values = kiln__e_apply(&e, KILN_OP_EXPAND_DIMS, &values, 1, (int64_t[]){a->ndim - 2}, 1);
    return kiln__e_end(&e, kiln__e_matmul(&e, kiln__e_binary(&e, KILN_OP_MULTIPLY, v, values), u), out);
}

kiln_status kiln__replay_pinv(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    return kiln__pinv(kiln__recorded_array(record), out, err);
}

/* ---- systems of equations ---------------------------------------------------------------------------------------- */

/* What both functions ask of a and b; *dtype is the one to compute in. */
static kiln_status check_system(const char *name, const struct kiln_array *a, const struct kiln_array *b,
                                enum kiln_dtype *dtype, kiln_error *err)
{
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    kiln_status status = expect_square(a, name, err);
    if (status) return status;
    if (!b) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    *dtype = kiln__dtype_promote((enum kiln_dtype)a->dtype, (enum kiln_dtype)b->dtype);
    if (!is_real_float(*dtype))
        return kiln__fail(err, KILN_INVALID,
                          "[%s] Input arrays must promote to float32 or float64. Received arrays with type %s and %s.",
                          name, kiln__dtypes[a->dtype].name, kiln__dtypes[b->dtype].name);
    if (b->ndim > 0 && a->dims[a->ndim - 1] == b->dims[b->ndim > 1 ? b->ndim - 2 : 0]) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[%s] Last dimension of first input with shape %s must match second to last dimension of second "
                      "input with shape %s.",
                      name, kiln__shape_text(a->dims, a->ndim, left), kiln__shape_text(b->dims, b->ndim, right));
}

static struct kiln_array *by_inverse(struct kiln_expression *e, struct kiln_array *triangle, bool upper,
                                     struct kiln_array *b)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    kiln_status status = kiln__tri_inv(triangle, upper, &out, e->err);
    return kiln__e_matmul(e, kiln__e_hold(e, status, out), b);
}

kiln_status kiln__solve_triangular(struct kiln_array *a, struct kiln_array *b, bool upper, struct kiln_array **out,
                                   kiln_error *err)
{
    enum kiln_dtype dtype;
    struct kiln_expression e = {.err = err};
    kiln_status status = check_system("solve_triangular", a, b, &dtype, err);
    if (status) return status;
    struct kiln_array *wide = kiln__e_astype(&e, a, dtype);
    return kiln__e_end(&e, by_inverse(&e, wide, upper, kiln__e_astype(&e, b, dtype)), out);
}

/* Rows of b in the order that the elimination found; a and b have equal batch dims after it. */
static struct kiln_array *permuted(struct kiln_expression *e, struct kiln_array *b, struct kiln_array *order)
{
    int dims[KILN_MAX_NDIM];
    size_t ndim = 0, batch = order->ndim - 1u;
    struct kiln_array *out = NULL;
    kiln_status status = kiln__broadcast_shapes(order->dims, batch, b->dims, b->ndim - 2u, dims, &ndim, e->err);
    if (status) return kiln__e_hold(e, kiln__fail_as(e->err, status, "[solve] batch dimensions"), NULL);
    memcpy(dims + ndim, b->dims + b->ndim - 2, 2 * sizeof *dims);
    struct kiln_array *rows = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &order, 1, (int64_t[]){(int64_t)batch + 1}, 1);
    rows = kiln__e_broadcast(e, rows, dims, ndim + 2);
    b = kiln__e_broadcast(e, b, dims, ndim + 2);
    if (e->status) return NULL;
    status = kiln__take_along_axis(b, rows, -2, &out, e->err);
    return kiln__e_hold(e, status, out);
}

kiln_status kiln__solve(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_ORDER, KILN_FACTOR_LOWER, KILN_FACTOR_UPPER};
    enum kiln_dtype dtype;
    struct kiln_array *made[3];
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a) || kiln__is_recorded(b)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_SOLVE);
        kiln__record_array(&record, a);
        kiln__record_array(&record, b);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = check_system("solve", a, b, &dtype, err);
    if (status) return status;
    bool is_vector = b->ndim == 1;
    struct kiln_array *wide = kiln__e_astype(&e, a, dtype), *x = kiln__e_astype(&e, b, dtype);
    if (is_vector && x) x = kiln__e_apply(&e, KILN_OP_EXPAND_DIMS, &x, 1, (int64_t[]){1}, 1);
    if (!e.status) e.status = kiln__factorize(wide, (struct kiln_factoring){0}, wanted, 3, made, err);
    if (e.status) return kiln__e_end(&e, NULL, out);
    for (int i = 0; i < 3; i++) kiln__e_hold(&e, KILN_OK, made[i]);
    x = permuted(&e, x, made[0]);
    x = by_inverse(&e, made[2], true, by_inverse(&e, made[1], false, x));
    if (is_vector && x) x = kiln__e_apply(&e, KILN_OP_SQUEEZE, &x, 1, (int64_t[]){x->ndim - 1}, 1);
    return kiln__e_end(&e, x, out);
}

kiln_status kiln__replay_solve(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    return kiln__solve(a, kiln__recorded_array(record), out, err);
}

/* ---- the cross product ----------------------------------------------------------------------------------------- */

/* Three elements along the axis, each with size 1 there; the third may be missing. */
static void take_elements(struct kiln_expression *e, struct kiln_array *a, int axis, struct kiln_array *elements[3])
{
    for (int i = 0; i < 3; i++) {
        bool is_there = a && i < a->dims[axis];
        elements[i] = is_there ? kiln__e_cut(e, a, axis, i, i + 1, 1)
                      : a      ? kiln__e_number(e, 0, (enum kiln_dtype)a->dtype)
                               : NULL;
    }
}

static kiln_status check_vectors(const struct kiln_array *a, const struct kiln_array *b, int axis, int at[2],
                                 kiln_error *err)
{
    if (!a || !b) return kiln__fail(err, KILN_INVALID, "[cross] input is empty.");
    kiln_status status = kiln__plain_axis("cross", axis, a->ndim, &at[0], err);
    if (!status) status = kiln__plain_axis("cross", axis, b->ndim, &at[1], err);
    if (status) return status;
    int n = a->dims[at[0]], m = b->dims[at[1]];
    if (n < 2 || n > 3 || m < 2 || m > 3)
        return kiln__fail(err, KILN_INVALID, "[cross] The specified axis must have size 2 or 3, got %d and %d.", n, m);
    if (a->ndim - at[0] == b->ndim - at[1]) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[cross] Axis %d of arrays with %d and %d dimensions is not the same one when they are "
                      "broadcast; count it from the end.",
                      axis, a->ndim, b->ndim);
}

static struct kiln_array *product_difference(struct kiln_expression *e, struct kiln_array *const *a,
                                             struct kiln_array *const *b, int i, int j)
{
    return kiln__e_binary(e, KILN_OP_SUBTRACT, kiln__e_binary(e, KILN_OP_MULTIPLY, a[i], b[j]),
                          kiln__e_binary(e, KILN_OP_MULTIPLY, a[j], b[i]));
}

kiln_status kiln__cross(struct kiln_array *a, struct kiln_array *b, int axis, struct kiln_array **out, kiln_error *err)
{
    int at[2];
    struct kiln_array *left[3], *right[3], *parts[3];
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a) || kiln__is_recorded(b)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_CROSS);
        kiln__record_array(&record, a);
        kiln__record_array(&record, b);
        kiln__record_number(&record, axis);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = check_vectors(a, b, axis, at, err);
    if (status) return status;
    enum kiln_dtype dtype = kiln__dtype_promote((enum kiln_dtype)a->dtype, (enum kiln_dtype)b->dtype);
    take_elements(&e, kiln__e_astype(&e, a, dtype), at[0], left);
    take_elements(&e, kiln__e_astype(&e, b, dtype), at[1], right);
    for (int i = 0; i < 3; i++) parts[i] = product_difference(&e, left, right, (i + 1) % 3, (i + 2) % 3);
    int joined = a->ndim > b->ndim ? at[0] : at[1];
    return kiln__e_end(&e, kiln__e_concatenate(&e, parts, 3, joined), out);
}

kiln_status kiln__replay_cross(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record), *b = kiln__recorded_array(record);
    return kiln__cross(a, b, (int)kiln__recorded_number(record), out, err);
}
