/*
 * products.c - see products.h. Every step is independent of sizes or is a deferred operation itself, so that none of
 * these has to be deferred as a whole in a shapeless trace.
 */
#include "ops/products.h"

#include "ops/expression.h"
#include "ops/indexing.h"
#include "ops/shapes.h"

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The matrices of `a` at `indices`; `a` itself when these are NULL. */
static struct kiln_array *pick(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *indices)
{
    struct kiln_array *list = NULL, *out = NULL;
    if (!a || !indices || e->status) return a;
    kiln_status status =
        a->ndim == 2 ? kiln__expand_dims(a, 0, &list, e->err) : kiln__flatten(a, 0, a->ndim - 3, &list, e->err);
    list = kiln__e_hold(e, status, list);
    if (list) status = kiln__take_axis(list, indices, 0, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static struct kiln_array *transposed(struct kiln_expression *e, struct kiln_array *a)
{
    struct kiln_array *out = NULL;
    if (!a || e->status) return NULL;
    kiln_status status = kiln__swapaxes(a, -1, -2, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static struct kiln_array *dequantized(struct kiln_expression *e, const char *name, const struct kiln_quantized *w,
                                      struct kiln_quantization how, enum kiln_dtype dtype)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    kiln_status status = kiln__dequantize(name, w, how, dtype, &out, e->err);
    return kiln__e_hold(e, status, out);
}

/* `a` quantized and dequantized again. */
static struct kiln_array *coarse(struct kiln_expression *e, const char *name, struct kiln_array *a,
                                 struct kiln_array *global_scale, struct kiln_quantization how)
{
    struct kiln_array *parts[3] = {NULL, NULL, NULL};
    if (e->status) return NULL;
    kiln_status status = kiln__quantize(name, a, global_scale, how, parts, e->err);
    struct kiln_quantized q = {kiln__e_hold(e, status, parts[0]), NULL, NULL, global_scale};
    if (!status) q.scales = kiln__e_hold(e, status, parts[1]);
    return dequantized(e, name, &q, how, (enum kiln_dtype)a->dtype);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static kiln_status check_pick(const char *name, const char *side, const struct kiln_array *indices, kiln_error *err)
{
    enum kiln_dtype_kind kind = indices ? kiln__dtypes[indices->dtype].kind : KILN_KIND_UNSIGNED;
    if (kind == KILN_KIND_UNSIGNED || kind == KILN_KIND_SIGNED) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] %s_indices must be integers, got %s.", name, side,
                      kiln__dtypes[indices->dtype].name);
}

static kiln_status check_picks(const char *name, struct kiln_picks picks, kiln_error *err)
{
    kiln_status status = check_pick(name, "lhs", picks.left, err);
    return status ? status : check_pick(name, "rhs", picks.right, err);
}

static kiln_status check_float(const char *name, enum kiln_dtype dtype, kiln_error *err)
{
    if (kiln__dtype_is_float(dtype)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] %s is not supported: expected a float type.", name,
                      kiln__dtypes[dtype].name);
}

static kiln_status check_rank(const char *name, const struct kiln_array *a, int least, kiln_error *err)
{
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (a->ndim >= least) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] Got an input of %d dimensions; expected at least %d.", name, a->ndim,
                      least);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A vector is a row on the left and a column on the right, as for matmul. */
static struct kiln_array *as_matrix(struct kiln_expression *e, struct kiln_array *a, int axis)
{
    return a->ndim == 1 ? kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &a, 1, (int64_t[]){axis}, 1) : a;
}

static struct kiln_array *without_axis(struct kiln_expression *e, struct kiln_array *a, bool is_asked, int axis)
{
    struct kiln_array *out = NULL;
    if (!a || e->status || !is_asked) return a;
    kiln_status status = kiln__squeeze_axis(a, axis, &out, e->err);
    return kiln__e_hold(e, status, out);
}

kiln_status kiln__gather_mm(struct kiln_array *a, struct kiln_array *b, struct kiln_picks picks,
                            struct kiln_array **out, kiln_error *err)
{
    static const char name[] = "gather_mm";
    struct kiln_expression e = {.err = err};
    kiln_status status = check_rank(name, a, 1, err);
    if (!status) status = check_rank(name, b, 1, err);
    if (!status) status = check_picks(name, picks, err);
    if (status) return status;
    enum kiln_dtype dtype = kiln__dtype_promote(a->dtype, b->dtype);
    status = check_float(name, dtype, err);
    if (status) return status;
    struct kiln_array *left = pick(&e, as_matrix(&e, kiln__e_astype(&e, a, dtype), 0), picks.left);
    struct kiln_array *right = pick(&e, as_matrix(&e, kiln__e_astype(&e, b, dtype), 1), picks.right);
    struct kiln_array *product = kiln__e_matmul(&e, left, right);
    product = without_axis(&e, product, b->ndim == 1, -1);
    status = kiln__e_end(&e, without_axis(&e, product, a->ndim == 1, b->ndim == 1 ? -1 : -2), out);
    return status ? kiln__fail_as(err, status, name) : status;
}

/* The operands of a product: rows of x, and a matrix of w for each. */
static kiln_status check_inner(const char *name, const struct kiln_array *x, const struct kiln_array *w, bool transpose,
                               int bits, kiln_error *err)
{
    int64_t inner = transpose ? (int64_t)w->dims[w->ndim - 1] * 32 / bits : w->dims[w->ndim - 2];
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (x->dims[x->ndim - 1] == inner) return KILN_OK;
    return kiln__fail(
        err, KILN_INVALID,
        "[%s] The last dimension of x with shape %s must be %lld, for a quantized matrix of shape %s with "
        "%d bits%s.",
        name, kiln__shape_text(x->dims, x->ndim, left), (long long)inner, kiln__shape_text(w->dims, w->ndim, right),
        bits, transpose ? ", transposed" : "");
}

/* The product of x and a quantized matrix, both gathered by index. */
static kiln_status quantized_product(const char *name, struct kiln_array *x, const struct kiln_quantized *w,
                                     struct kiln_picks picks, bool transpose, struct kiln_quantization how,
                                     struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    bool is_affine = how.mode == KILN_AFFINE && w->biases;
    kiln_status status = check_rank(name, x, picks.left || picks.right ? 2 : 1, err);
    if (!status) status = check_rank(name, w->w, 2, err);
    if (!status) status = check_rank(name, w->scales, 2, err);
    if (!status) status = check_rank(name, is_affine ? w->biases : w->scales, 2, err);
    if (!status) status = check_picks(name, picks, err);
    if (!status) status = check_inner(name, x, w->w, transpose, how.bits, err);
    if (status) return status;
    enum kiln_dtype dtype = (enum kiln_dtype)x->dtype;
    if (is_affine) dtype = kiln__dtype_promote(dtype, kiln__dtype_promote(w->scales->dtype, w->biases->dtype));
    status = check_float(name, dtype, err);
    if (status) return status;
    struct kiln_quantized picked = {.w = pick(&e, w->w, picks.right), .scales = pick(&e, w->scales, picks.right)};
    picked.biases = pick(&e, w->biases, picks.right);
    if (is_affine) picked.scales = kiln__e_astype(&e, picked.scales, dtype);
    if (is_affine) picked.biases = kiln__e_astype(&e, picked.biases, dtype);
    struct kiln_array *matrix = dequantized(&e, name, &picked, how, dtype);
    if (transpose) matrix = transposed(&e, matrix);
    struct kiln_array *left = pick(&e, kiln__e_astype(&e, x, dtype), picks.left);
    return kiln__e_end(&e, kiln__e_matmul(&e, left, matrix), out);
}

kiln_status kiln__quantized_matmul(struct kiln_array *x, const struct kiln_quantized *w, bool transpose,
                                   struct kiln_quantization how, struct kiln_array **out, kiln_error *err)
{
    return quantized_product("quantized_matmul", x, w, (struct kiln_picks){NULL, NULL}, transpose, how, out, err);
}

kiln_status kiln__gather_qmm(struct kiln_array *x, const struct kiln_quantized *w, struct kiln_picks picks,
                             bool transpose, struct kiln_quantization how, struct kiln_array **out, kiln_error *err)
{
    return quantized_product("gather_qmm", x, w, picks, transpose, how, out, err);
}

kiln_status kiln__qqmm(struct kiln_array *x, const struct kiln_quantized *w, struct kiln_array *x_global_scale,
                       struct kiln_quantization how, struct kiln_array **out, kiln_error *err)
{
    static const char name[] = "qqmm";
    struct kiln_expression e = {.err = err};
    if (how.mode == KILN_AFFINE)
        return kiln__fail(err, KILN_INVALID, "[%s] mode is \"affine\"; expected \"mxfp4\", \"mxfp8\" or \"nvfp4\".",
                          name);
    kiln_status status = check_rank(name, x, 2, err);
    if (!status) status = check_rank(name, w->w, 2, err);
    if (!status) status = check_float(name, (enum kiln_dtype)x->dtype, err);
    if (!status && w->scales) status = check_inner(name, x, w->w, true, how.bits, err);
    if (!status && !w->scales && w->w->dtype == KILN_UINT32)
        status = kiln__fail(err, KILN_INVALID, "[%s] w is uint32, so quantized; expected its scales too.", name);
    if (status) return status;
    struct kiln_array *right = w->scales ? dequantized(&e, name, w, how, (enum kiln_dtype)x->dtype)
                                         : coarse(&e, name, w->w, w->global_scale, how);
    struct kiln_array *left = coarse(&e, name, x, x_global_scale, how);
    right = transposed(&e, kiln__e_astype(&e, right, (enum kiln_dtype)x->dtype));
    return kiln__e_end(&e, kiln__e_matmul(&e, left, right), out);
}
