/*
 * gradients_linalg.c - gradients of inverses, of the factorizations that are differentiated, and of Fourier transforms.
 */
#include <string.h>

#include "graph/factors.h"
#include "graph/fft_attrs.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/linalg/linalg.h"
#include "transform/grad/gradient_rules.h"

static struct kiln_array *product(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_matmul(e, a, b);
}

static struct kiln_array *turned(struct kiln_expression *e, struct kiln_array *a)
{
    return kiln__e_matrix_transpose(e, a);
}

typedef kiln_status triangle(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err);

static struct kiln_array *part(struct kiln_expression *e, triangle *of, struct kiln_array *a, int k)
{
    struct kiln_array *out = NULL;
    if (e->status || !a) return NULL;
    kiln_status status = of(a, k, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static struct kiln_array *inverse_triangle(struct kiln_expression *e, struct kiln_array *a, bool upper)
{
    struct kiln_array *out = NULL;
    if (e->status || !a) return NULL;
    kiln_status status = kiln__tri_inv(a, upper, &out, e->err);
    return kiln__e_hold(e, status, out);
}

/* ---- inverses ---------------------------------------------------------------------------------------------------- */

/* y = inv(x): -y' @ c @ y', of a triangle only what is read. */
void kiln__vjp_inverse(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                       struct kiln_array **gradients)
{
    struct kiln_array *y = turned(e, step->output);
    struct kiln_array *gradient = kiln__e_minus(e, product(e, product(e, y, cotangent), y));
    if (step->attrs[0] == KILN_LOWER) gradient = part(e, kiln__tril, gradient, 0);
    if (step->attrs[0] == KILN_UPPER) gradient = part(e, kiln__triu, gradient, 0);
    gradients[0] = gradient;
}

/* ---- cholesky ---------------------------------------------------------------------------------------------------- */

/* The lower triangle, with half of the diagonal. */
static struct kiln_array *lower_half(struct kiln_expression *e, struct kiln_array *a)
{
    struct kiln_array *both = kiln__e_binary(e, KILN_OP_ADD, part(e, kiln__tril, a, 0), part(e, kiln__tril, a, -1));
    return both ? kiln__e_times(e, both, kiln__e_number(e, 0.5, (enum kiln_dtype)both->dtype)) : NULL;
}

/*
 * l @ l' = x, of which the lower triangle is read: s = inv(l)' @ lower_half(l' @ c) @ inv(l) is the cotangent of a
 * matrix with independent elements, and each that is read stands for two.
 */
void kiln__vjp_cholesky(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                        struct kiln_array **gradients)
{
    bool upper = step->attrs[0];
    struct kiln_array *l = upper ? turned(e, step->output) : step->output;
    struct kiln_array *c = upper ? turned(e, cotangent) : cotangent, *inverse = inverse_triangle(e, l, false);
    struct kiln_array *inner = lower_half(e, product(e, turned(e, l), c));
    struct kiln_array *s = product(e, product(e, turned(e, inverse), inner), inverse);
    struct kiln_array *gradient = lower_half(e, kiln__e_binary(e, KILN_OP_ADD, s, turned(e, s)));
    gradients[0] = upper ? turned(e, gradient) : gradient;
}

/* ---- lu ---------------------------------------------------------------------------------------------------------- */

/* Zeros behind axis `axis`, until it has `size` elements. */
static struct kiln_array *padded(struct kiln_expression *e, struct kiln_array *a, int axis, int size)
{
    int dims[KILN_MAX_NDIM];
    struct kiln_array *zeros = NULL;
    if (e->status || !a || a->dims[axis] == size) return e->status ? NULL : a;
    memcpy(dims, a->dims, a->ndim * sizeof *dims);
    dims[axis] = size - a->dims[axis];
    kiln_status status = kiln__zeros(dims, a->ndim, (enum kiln_dtype)a->dtype, &zeros, e->err);
    struct kiln_array *const parts[] = {a, kiln__e_hold(e, status, zeros)};
    return e->status ? NULL : kiln__e_concatenate(e, parts, 2, axis);
}

/* Of lu: where a factor was read from, the rest is 0. The matrix of both triangles lies by columns behind the pivots.
 */
void kiln__vjp_factor(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                      struct kiln_array **gradients)
{
    enum kiln_factor factor = (enum kiln_factor)step->attrs[0];
    int m = (int)step->attrs[1], n = (int)step->attrs[2], dims[KILN_MAX_NDIM];
    struct kiln_array *packed = step->inputs[0], *zeros = NULL, *c = cotangent;
    if (kiln__factor_op(factor) != KILN_OP_LU) {
        e->status = kiln__fail(e->err, KILN_INVALID, "[vjp] The results of %s are not differentiated.",
                               kiln__ops[kiln__factor_op(factor)].name);
        return;
    }
    if (factor == KILN_FACTOR_LOWER) c = part(e, kiln__tril, c, -1);
    if (factor == KILN_FACTOR_UPPER) c = part(e, kiln__triu, c, 0);
    size_t batch = packed->ndim - 1u;
    c = turned(e, padded(e, padded(e, c, (int)batch, m), (int)batch + 1, n));
    memcpy(dims, packed->dims, batch * sizeof *dims);
    dims[batch] = m * n;
    c = c ? kiln__e_reshape(e, c, dims, batch + 1) : NULL;
    if (!c) return;
    dims[batch] = (int)kiln__factor_place(KILN_FACTOR_LU, m, n).offset;
    kiln_status status = kiln__zeros(dims, batch + 1, (enum kiln_dtype)packed->dtype, &zeros, e->err);
    struct kiln_array *const parts[] = {kiln__e_hold(e, status, zeros), c};
    gradients[0] = e->status ? NULL : kiln__e_concatenate(e, parts, 2, (int)batch);
}

static struct kiln_array *taken(struct kiln_expression *e, struct kiln_array *packed, enum kiln_factor factor, int n)
{
    return packed ? kiln__e_apply(e, KILN_OP_FACTOR, &packed, 1, (int64_t[]){factor, n, n}, 3) : NULL;
}

/* x[order] = l @ u: inv(l)' @ (below(l' @ c) + above(c @ u')) @ inv(u)', and rows back in their order. */
void kiln__vjp_lu(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                  struct kiln_array **gradients)
{
    struct kiln_array *x = step->inputs[0], *rows = NULL;
    int n = x->dims[x->ndim - 1];
    if (x->dims[x->ndim - 2] != n) {
        e->status = kiln__fail(e->err, KILN_INVALID, "[vjp] lu is differentiated for square matrices only.");
        return;
    }
    struct kiln_array *l = taken(e, step->output, KILN_FACTOR_LOWER, n);
    struct kiln_array *u = taken(e, step->output, KILN_FACTOR_UPPER, n);
    struct kiln_array *c = taken(e, cotangent, KILN_FACTOR_LU, n);
    struct kiln_array *below = part(e, kiln__tril, product(e, turned(e, l), part(e, kiln__tril, c, -1)), -1);
    struct kiln_array *above = part(e, kiln__triu, product(e, part(e, kiln__triu, c, 0), turned(e, u)), 0);
    struct kiln_array *inner = kiln__e_binary(e, KILN_OP_ADD, below, above);
    struct kiln_array *s = product(e, turned(e, inverse_triangle(e, l, false)), inner);
    s = product(e, s, turned(e, inverse_triangle(e, u, true)));
    struct kiln_array *order = taken(e, step->output, KILN_FACTOR_PERMUTATION, n);
    if (order) order = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &order, 1, (int64_t[]){order->ndim}, 1);
    order = order ? kiln__e_broadcast(e, order, x->dims, x->ndim) : NULL;
    if (!order || !s) return;
    kiln_status status = kiln__take_along_axis(s, order, -2, &rows, e->err);
    gradients[0] = kiln__e_hold(e, status, rows);
}

/* ---- Fourier transforms ------------------------------------------------------------------------------------------ */

/* Of n / 2 + 1 terms those that stand for two, themselves and their conjugates, times `factor`. */
static struct kiln_array *weighted(struct kiln_expression *e, struct kiln_array *terms, int axis, int n, float factor)
{
    int dims[KILN_MAX_NDIM];
    struct kiln_array *weights = NULL, *first = NULL, *one = kiln__e_number(e, 1, KILN_FLOAT32);
    if (!terms || !one) return NULL;
    for (int i = 0; i < terms->ndim; i++) dims[i] = 1;
    int count = terms->dims[axis], last = n % 2 == 0 && n > 1;
    dims[axis] = count - 1 - last;
    kiln_status status =
        kiln__full(dims, terms->ndim, KILN_FLOAT32, kiln__e_number(e, factor, KILN_FLOAT32), &weights, e->err);
    weights = kiln__e_hold(e, status, weights);
    dims[axis] = 1;
    first = kiln__e_broadcast(e, one, dims, terms->ndim);
    struct kiln_array *const parts[] = {first, weights, first};
    if (e->status) return NULL;
    weights = kiln__e_concatenate(e, parts, 2 + (size_t)last, axis);
    return kiln__e_binary(e, KILN_OP_MULTIPLY, terms, weights);
}

/* The adjoint is the transform in the other direction, divided as this one is. */
void kiln__vjp_fft(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                   struct kiln_array **gradients)
{
    static const uint8_t kinds[] = {
        [KILN_FFT_COMPLEX] = KILN_FFT_COMPLEX, [KILN_FFT_REAL] = KILN_FFT_HALF, [KILN_FFT_HALF] = KILN_FFT_REAL};
    static const uint8_t norms[] = {[KILN_FFT_BACKWARD] = KILN_FFT_FORWARD,
                                    [KILN_FFT_ORTHO] = KILN_FFT_ORTHO,
                                    [KILN_FFT_FORWARD] = KILN_FFT_BACKWARD};
    struct kiln_fft_attrs how = kiln__fft_attrs(step->attrs);
    int n = step->inputs[0]->dims[how.axis];
    bool from_real = how.kind == KILN_FFT_REAL;
    const int64_t attrs[KILN_FFT_ATTRS] = {how.axis, kinds[how.kind], !how.is_inverse, norms[how.norm],
                                           from_real ? n : 0};
    struct kiln_array *c = from_real ? weighted(e, cotangent, how.axis, n, 0.5f) : cotangent;
    c = c ? kiln__e_apply(e, KILN_OP_FFT, &c, 1, attrs, KILN_FFT_ATTRS) : NULL;
    gradients[0] = how.kind == KILN_FFT_HALF ? weighted(e, c, how.axis, how.n, 2) : c;
}
