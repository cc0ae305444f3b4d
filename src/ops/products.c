/*
 * products.c - see products.h. Products with quantized matrices are deferred as a whole in a shapeless trace; every
 * step of the others is independent of sizes or is a deferred operation itself.
 */
#include "ops/products.h"

#include <string.h>

#include "device/device.h"
#include "graph/default_device.h"
#include "graph/few_rows.h"
#include "graph/marking.h"
#include "ops/expression.h"
#include "ops/indexing.h"
#include "ops/replay.h"
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

/* As `dtype`, which both affine scales and biases become where they differ. */
static void even_scales(struct kiln_expression *e, struct kiln_quantized *w, enum kiln_dtype dtype)
{
    if (!w->biases || (w->scales->dtype == w->biases->dtype && w->scales->dtype != KILN_FLOAT64)) return;
    w->scales = kiln__e_astype(e, w->scales, dtype);
    w->biases = kiln__e_astype(e, w->biases, dtype);
}

/* The matrix takes memory: for devices and dtypes without kernels that read codes. */
static struct kiln_array *product_with_matrix(struct kiln_expression *e, const char *name, struct kiln_array *x,
                                              const struct kiln_quantized *w, struct kiln_picks picks, bool transpose,
                                              struct kiln_quantization how)
{
    enum kiln_dtype dtype = (enum kiln_dtype)x->dtype;
    struct kiln_quantized picked = {.w = pick(e, w->w, picks.right), .scales = pick(e, w->scales, picks.right)};
    picked.biases = pick(e, w->biases, picks.right);
    picked.global_scale = w->global_scale;
    if (w->biases) picked.scales = kiln__e_astype(e, picked.scales, dtype);
    if (w->biases) picked.biases = kiln__e_astype(e, picked.biases, dtype);
    struct kiln_array *matrix = dequantized(e, name, &picked, how, dtype);
    if (transpose) matrix = transposed(e, matrix);
    return kiln__e_matmul(e, pick(e, x, picks.left), matrix);
}

/* Is the current device a CPU whose kernels multiply with codes (run/cpu/product_run.h)? */
static bool has_kernels(enum kiln_dtype dtype)
{
    const kiln_device *device = kiln__current_device_index() ? NULL : kiln__device_current(NULL);
    return device && device->target.isa >= KILN_ISA_X86_64_V3 && dtype != KILN_FLOAT64;
}

/* Or a GPU (run/gpu/gpu_product_run.h), where more rows are multiplied faster with a matrix of floats? */
static bool reads_codes(const struct kiln_array *x, enum kiln_dtype dtype, struct kiln_picks picks)
{
    int64_t rows = 1;
    for (int i = 0; i + 1 < x->ndim; i++) rows *= x->dims[i];
    if (!kiln__current_device_index()) return has_kernels(dtype);
    return rows <= KILN_FEW_ROWS && rows > 0 && !picks.left && !picks.right && dtype != KILN_FLOAT64;
}

/* (batch, last two dims of a) */
static struct kiln_array *batched(struct kiln_expression *e, struct kiln_array *a, const int *batch, size_t ndim)
{
    int dims[KILN_MAX_NDIM];
    if (!a || e->status) return NULL;
    memcpy(dims, batch, ndim * sizeof *dims);
    memcpy(dims + ndim, a->dims + a->ndim - 2, 2 * sizeof *dims);
    return kiln__e_broadcast(e, a, dims, ndim + 2);
}

/* (matrices, last two dims of a) */
static struct kiln_array *listed(struct kiln_expression *e, struct kiln_array *a)
{
    struct kiln_array *out = NULL;
    if (!a || e->status) return NULL;
    kiln_status status =
        a->ndim == 2 ? kiln__expand_dims(a, 0, &out, e->err) : kiln__flatten(a, 0, a->ndim - 3, &out, e->err);
    return kiln__e_hold(e, status, out);
}

/* The batch of rows x and of the other operand, broadcast. */
static bool broadcast_batch(struct kiln_expression *e, const char *name, const struct kiln_array *x, const int *other,
                            size_t other_ndim, int *batch, size_t *ndim)
{
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (!x || e->status) return false;
    kiln_status status = kiln__broadcast_shapes(x->dims, x->ndim - 2u, other, other_ndim, batch, ndim, NULL);
    if (!status && *ndim + 2 <= KILN_MAX_NDIM) return true;
    e->status = kiln__fail(e->err, KILN_INVALID, "[%s] Batch dimensions of shapes %s and %s cannot be broadcast.", name,
                           kiln__shape_text(x->dims, x->ndim - 2u, left), kiln__shape_text(other, other_ndim, right));
    return false;
}

/* One node that reads codes while it multiplies: graph/rules_quantized.c. */
static struct kiln_array *product_with_codes(struct kiln_expression *e, const char *name, struct kiln_array *x,
                                             const struct kiln_quantized *w, struct kiln_picks picks, bool transpose,
                                             struct kiln_quantization how)
{
    int batch[KILN_MAX_NDIM];
    size_t ndim = 0, count = 0;
    struct kiln_quantized q = *w;
    struct kiln_array *inputs[6], *left = pick(e, as_matrix(e, x, 0), picks.left), *right = picks.right;
    even_scales(e, &q, (enum kiln_dtype)x->dtype);
    bool fits = broadcast_batch(e, name, left, right ? right->dims : w->w->dims, right ? right->ndim : w->w->ndim - 2u,
                                batch, &ndim);
    if (!fits) return NULL;
    struct kiln_array *parts[] = {q.w, q.scales, q.biases};
    inputs[count++] = batched(e, left, batch, ndim);
    for (size_t i = 0; i < 3; i++)
        if (parts[i]) inputs[count++] = right ? listed(e, parts[i]) : batched(e, parts[i], batch, ndim);
    if (q.global_scale) inputs[count++] = q.global_scale;
    if (right) inputs[count++] = kiln__e_broadcast(e, right, batch, ndim);
    const int64_t attrs[] = {how.mode, how.group_size, how.bits, transpose, q.global_scale != NULL, right != NULL};
    struct kiln_array *product = e->status ? NULL : kiln__e_apply(e, KILN_OP_QUANTIZED_MATMUL, inputs, count, attrs, 6);
    return without_axis(e, product, x->ndim == 1, -2);
}

/* x times the matrices of the list `w` that are picked, where they are. */
static struct kiln_array *product_with_picked(struct kiln_expression *e, const char *name, struct kiln_array *x,
                                              struct kiln_array *w, struct kiln_array *indices)
{
    int batch[KILN_MAX_NDIM];
    size_t ndim = 0;
    if (!broadcast_batch(e, name, x, indices->dims, indices->ndim, batch, &ndim)) return NULL;
    struct kiln_array *inputs[] = {batched(e, x, batch, ndim), listed(e, w),
                                   kiln__e_broadcast(e, indices, batch, ndim)};
    return e->status ? NULL : kiln__e_apply(e, KILN_OP_GATHER_MATMUL, inputs, 3, NULL, 0);
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
    bool is_recorded =
        kiln__is_recorded(a) || kiln__is_recorded(b) || kiln__is_recorded(picks.left) || kiln__is_recorded(picks.right);
    struct kiln_array *left = pick(&e, as_matrix(&e, kiln__e_astype(&e, a, dtype), 0), picks.left);
    struct kiln_array *right = as_matrix(&e, kiln__e_astype(&e, b, dtype), 1), *product;
    if (picks.right && !is_recorded && has_kernels(dtype))
        product = product_with_picked(&e, name, left, right, picks.right);
    else
        product = kiln__e_matmul(&e, left, pick(&e, right, picks.right));
    product = without_axis(&e, product, b->ndim == 1, -1);
    status = kiln__e_end(&e, without_axis(&e, product, a->ndim == 1, b->ndim == 1 ? -1 : -2), out);
    return status ? kiln__fail_as(err, status, name) : status;
}

static kiln_status record_product(struct kiln_array *x, const struct kiln_quantized *w, struct kiln_picks picks,
                                  bool transpose, struct kiln_quantization how, bool is_gathered,
                                  struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_QUANTIZED_PRODUCT);
    struct kiln_array *const arrays[] = {x, w->w, w->scales, w->biases, w->global_scale, picks.left, picks.right};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) kiln__record_array(&record, arrays[i]);
    kiln__record_number(&record, transpose);
    kiln__record_number(&record, how.mode);
    kiln__record_number(&record, how.group_size);
    kiln__record_number(&record, how.bits);
    kiln__record_number(&record, is_gathered);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_quantized_product(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *x = kiln__recorded_array(record);
    struct kiln_quantized w = {.w = kiln__recorded_array(record)};
    struct kiln_picks picks;
    w.scales = kiln__recorded_array(record);
    w.biases = kiln__recorded_array(record);
    w.global_scale = kiln__recorded_array(record);
    picks.left = kiln__recorded_array(record);
    picks.right = kiln__recorded_array(record);
    bool transpose = kiln__recorded_number(record) != 0;
    struct kiln_quantization how = kiln__recorded_quantization(record);
    return kiln__recorded_number(record) ? kiln__gather_qmm(x, &w, picks, transpose, how, out, err)
                                         : kiln__quantized_matmul(x, &w, transpose, how, out, err);
}

static bool is_any_recorded(struct kiln_array *x, const struct kiln_quantized *w, struct kiln_picks picks)
{
    return kiln__is_recorded(x) || kiln__is_recorded(w->w) || kiln__is_recorded(w->scales) ||
           kiln__is_recorded(w->biases) || kiln__is_recorded(picks.left) || kiln__is_recorded(picks.right);
}

/* The gradient of a scale needs the matrix. */
static bool is_any_scale_marked(const struct kiln_quantized *w)
{
    return kiln__is_marked(w->scales) || kiln__is_marked(w->biases) || kiln__is_marked(w->global_scale);
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
    bool has_codes = reads_codes(x, dtype, picks) && !is_any_scale_marked(w);
    if (!status && has_codes) status = kiln__check_quantized(name, w, &how, err);
    if (status) return status;
    struct kiln_array *rows = kiln__e_astype(&e, x, dtype);
    struct kiln_array *product = NULL;
    if (rows)
        product = (has_codes ? product_with_codes : product_with_matrix)(&e, name, rows, w, picks, transpose, how);
    return kiln__e_end(&e, product, out);
}

kiln_status kiln__quantized_matmul(struct kiln_array *x, const struct kiln_quantized *w, bool transpose,
                                   struct kiln_quantization how, struct kiln_array **out, kiln_error *err)
{
    const struct kiln_picks all = {NULL, NULL};
    if (is_any_recorded(x, w, all)) return record_product(x, w, all, transpose, how, false, out, err);
    return quantized_product("quantized_matmul", x, w, all, transpose, how, out, err);
}

kiln_status kiln__gather_qmm(struct kiln_array *x, const struct kiln_quantized *w, struct kiln_picks picks,
                             bool transpose, struct kiln_quantization how, struct kiln_array **out, kiln_error *err)
{
    if (is_any_recorded(x, w, picks)) return record_product(x, w, picks, transpose, how, true, out, err);
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
