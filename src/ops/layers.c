/*
 * layers.c - see layers.h. The norms are row layers (row_layer.h): their formulas also give the kernels that compute
 * them outside of traces.
 */
#include "ops/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/marking.h"
#include "ops/reductions.h"
#include "ops/replay.h"
#include "ops/row_layer.h"

static enum kiln_dtype wide_dtype(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
}

/* ---- rms_norm ---------------------------------------------------------------------------------------------------- */

static kiln_status check_rms_norm(const struct kiln_array *x, const struct kiln_array *weight, enum kiln_dtype *dtype,
                                  kiln_error *err)
{
    if (!x) return kiln__fail(err, KILN_INVALID, "[rms_norm] input is empty.");
    if (x->ndim == 0) return kiln__fail(err, KILN_INVALID, "[rms_norm] Input must have at least 1 dimension, got 0.");
    if (weight && (weight->ndim != 1 || weight->dims[0] != x->dims[x->ndim - 1])) {
        char text[KILN_SHAPE_TEXT];
        return kiln__fail(err, KILN_INVALID,
                          "[rms_norm] Weight must have shape (%d), as the last dimension of the input, got %s.",
                          x->dims[x->ndim - 1], kiln__shape_text(weight->dims, weight->ndim, text));
    }
    *dtype = weight ? kiln__dtype_promote((enum kiln_dtype)x->dtype, (enum kiln_dtype)weight->dtype)
                    : (enum kiln_dtype)x->dtype;
    if (kiln__dtype_is_float(*dtype)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[rms_norm] %s is not supported: expected a float type.",
                      kiln__dtypes[*dtype].name);
}

static void rms_norm_numbers(int length, float eps, double *out)
{
    out[0] = 1.0f / (float)length;
    out[1] = eps;
}

/* x / sqrt(mean(x * x) + eps) in float32, rounded; times weight. */
static struct kiln_array *rms_norm_apply(struct kiln_expression *e, const struct kiln_row_layer *layer,
                                         const double *numbers)
{
    struct kiln_array *wide = kiln__e_astype(e, layer->x, KILN_FLOAT32);
    struct kiln_array *squares = kiln__e_binary(e, KILN_OP_MULTIPLY, wide, wide);
    struct kiln_array *total = kiln__e_reduce_axis(e, KILN_OP_SUM, squares, layer->x->ndim - 1);
    struct kiln_array *mean = kiln__e_binary(e, KILN_OP_MULTIPLY, total, kiln__e_number(e, numbers[0], KILN_FLOAT32));
    struct kiln_array *safe = kiln__e_binary(e, KILN_OP_ADD, mean, kiln__e_number(e, numbers[1], KILN_FLOAT32));
    struct kiln_array *scaled = kiln__e_binary(e, KILN_OP_MULTIPLY, wide, kiln__e_unary(e, KILN_OP_RSQRT, safe));
    struct kiln_array *result = kiln__e_astype(e, scaled, layer->dtype);
    if (!layer->weight) return result;
    return kiln__e_binary(e, KILN_OP_MULTIPLY, result, kiln__e_astype(e, layer->weight, layer->dtype));
}

const struct kiln_row_formula kiln__formula_rms_norm = {rms_norm_numbers, rms_norm_apply};

kiln_status kiln__rms_norm(struct kiln_array *x, struct kiln_array *weight, float eps, struct kiln_array **out,
                           kiln_error *err)
{
    enum kiln_dtype dtype = KILN_FLOAT32;
    if (kiln__is_recorded(x) || kiln__is_recorded(weight)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_RMS_NORM);
        kiln__record_array(&record, x);
        kiln__record_array(&record, weight);
        kiln__record_real(&record, eps);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = check_rms_norm(x, weight, &dtype, err);
    struct kiln_row_layer layer = {.op = KILN_OP_RMS_NORM, .x = x, .weight = weight, .eps = eps, .dtype = dtype};
    return status ? status : kiln__row_layer(&layer, out, err);
}

kiln_status kiln__replay_rms_norm(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *x = kiln__recorded_array(record), *weight = kiln__recorded_array(record);
    return kiln__rms_norm(x, weight, kiln__recorded_real(record), out, err);
}

/* ---- layer_norm ------------------------------------------------------------------------------------------------ */

static kiln_status check_row(const char *what, const struct kiln_array *x, const struct kiln_array *row,
                             enum kiln_dtype *dtype, kiln_error *err)
{
    if (!row) return KILN_OK;
    if (row->ndim != 1 || row->dims[0] != x->dims[x->ndim - 1]) {
        char text[KILN_SHAPE_TEXT];
        return kiln__fail(err, KILN_INVALID,
                          "[layer_norm] %s must have shape (%d), as the last dimension of the input, got %s.", what,
                          x->dims[x->ndim - 1], kiln__shape_text(row->dims, row->ndim, text));
    }
    *dtype = kiln__dtype_promote(*dtype, (enum kiln_dtype)row->dtype);
    return KILN_OK;
}

static kiln_status check_layer_norm(const struct kiln_array *x, const struct kiln_array *weight,
                                    const struct kiln_array *bias, enum kiln_dtype *dtype, kiln_error *err)
{
    if (!x) return kiln__fail(err, KILN_INVALID, "[layer_norm] input is empty.");
    if (x->ndim == 0) return kiln__fail(err, KILN_INVALID, "[layer_norm] Input must have at least 1 dimension, got 0.");
    *dtype = x->dtype;
    kiln_status status = check_row("Weight", x, weight, dtype, err);
    enum kiln_dtype with_bias = *dtype; /* a bias alone does not widen */
    if (!status) status = check_row("Bias", x, bias, &with_bias, err);
    if (weight) *dtype = with_bias;
    if (status || kiln__dtype_is_float(*dtype)) return status;
    return kiln__fail(err, KILN_INVALID, "[layer_norm] %s is not supported: expected a float type.",
                      kiln__dtypes[*dtype].name);
}

static void layer_norm_numbers(int length, float eps, double *out)
{
    out[0] = length;
    out[1] = eps;
}

/* (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps), times weight, plus bias. */
static struct kiln_array *layer_norm_apply(struct kiln_expression *e, const struct kiln_row_layer *layer,
                                           const double *numbers)
{
    int axis = layer->x->ndim - 1;
    enum kiln_dtype dtype = wide_dtype(layer->dtype);
    struct kiln_array *wide = kiln__e_astype(e, layer->x, dtype), *length = kiln__e_number(e, numbers[0], dtype);
    struct kiln_array *mean =
        kiln__e_binary(e, KILN_OP_DIVIDE, kiln__e_reduce_axis(e, KILN_OP_SUM, wide, axis), length);
    struct kiln_array *centred = kiln__e_binary(e, KILN_OP_SUBTRACT, wide, mean);
    struct kiln_array *squares = kiln__e_unary(e, KILN_OP_SQUARE, centred);
    struct kiln_array *variance =
        kiln__e_binary(e, KILN_OP_DIVIDE, kiln__e_reduce_axis(e, KILN_OP_SUM, squares, axis), length);
    struct kiln_array *safe = kiln__e_binary(e, KILN_OP_ADD, variance, kiln__e_number(e, numbers[1], dtype));
    struct kiln_array *result = kiln__e_binary(e, KILN_OP_MULTIPLY, centred, kiln__e_unary(e, KILN_OP_RSQRT, safe));
    if (layer->weight) result = kiln__e_binary(e, KILN_OP_MULTIPLY, result, kiln__e_astype(e, layer->weight, dtype));
    if (layer->bias) result = kiln__e_binary(e, KILN_OP_ADD, result, kiln__e_astype(e, layer->bias, dtype));
    return kiln__e_astype(e, result, layer->dtype);
}

const struct kiln_row_formula kiln__formula_layer_norm = {layer_norm_numbers, layer_norm_apply};

kiln_status kiln__layer_norm(struct kiln_array *x, struct kiln_array *weight, struct kiln_array *bias, float eps,
                             struct kiln_array **out, kiln_error *err)
{
    enum kiln_dtype dtype = KILN_FLOAT32;
    if (kiln__is_recorded(x) || kiln__is_recorded(weight) || kiln__is_recorded(bias)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_LAYER_NORM);
        kiln__record_array(&record, x);
        kiln__record_array(&record, weight);
        kiln__record_array(&record, bias);
        kiln__record_real(&record, eps);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = check_layer_norm(x, weight, bias, &dtype, err);
    struct kiln_row_layer layer = {
        .op = KILN_OP_LAYER_NORM, .x = x, .weight = weight, .bias = bias, .eps = eps, .dtype = dtype};
    return status ? status : kiln__row_layer(&layer, out, err);
}

kiln_status kiln__replay_layer_norm(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *x = kiln__recorded_array(record), *weight = kiln__recorded_array(record);
    struct kiln_array *bias = kiln__recorded_array(record);
    return kiln__layer_norm(x, weight, bias, kiln__recorded_real(record), out, err);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static struct kiln_array *scaled(struct kiln_expression *e, struct kiln_array *a, float by)
{
    if (!a || by == 1.0f) return a;
    return kiln__e_binary(e, KILN_OP_MULTIPLY, a,
                          kiln__e_astype(e, kiln__e_number(e, by, wide_dtype(a->dtype)), a->dtype));
}

kiln_status kiln__addmm(struct kiln_array *c, struct kiln_array *a, struct kiln_array *b, float alpha, float beta,
                        struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (!a || !b || !c) return kiln__fail(err, KILN_INVALID, "[addmm] input is empty.");
    enum kiln_dtype dtype = kiln__dtype_promote(kiln__dtype_promote(a->dtype, b->dtype), c->dtype);
    struct kiln_array *product = kiln__e_matmul(&e, kiln__e_astype(&e, a, dtype), kiln__e_astype(&e, b, dtype));
    struct kiln_array *rest = scaled(&e, kiln__e_astype(&e, c, dtype), beta);
    kiln_status status = kiln__e_end(&e, kiln__e_binary(&e, KILN_OP_ADD, scaled(&e, product, alpha), rest), out);
    return status ? kiln__fail_as(err, status, "addmm") : status;
}

/* ---- rope ----------------------------------------------------------------------------------------------------------
 */

static kiln_status check_rope(const struct kiln_array *x, const struct kiln_rope *how, const struct kiln_array *offset,
                              kiln_error *err)
{
    if (!x || !offset) return kiln__fail(err, KILN_INVALID, "[rope] input is empty.");
    if (x->ndim < 2)
        return kiln__fail(err, KILN_INVALID, "[rope] Input must have at least 2 dimensions, got %d.", x->ndim);
    if (!kiln__dtype_is_float(x->dtype))
        return kiln__fail(err, KILN_INVALID, "[rope] Input must be a float type, got %s.", kiln__dtypes[x->dtype].name);
    if (how->dims < 2 || how->dims % 2 || how->dims > x->dims[x->ndim - 1])
        return kiln__fail(err, KILN_INVALID, "[rope] dims is %d; expected an even number from 2 to %d.", how->dims,
                          x->dims[x->ndim - 1]);
    if (!how->base == !how->freqs)
        return kiln__fail(err, KILN_INVALID, "[rope] Exactly one of base and freqs must be given.");
    if (how->freqs && (how->freqs->ndim != 1 || how->freqs->dims[0] != how->dims / 2))
        return kiln__fail(err, KILN_INVALID, "[rope] freqs must have shape (%d), half of dims.", how->dims / 2);
    if (kiln__dtypes[offset->dtype].kind >= KILN_KIND_FLOAT)
        return kiln__fail(err, KILN_INVALID, "[rope] offset must be an integer, got %s.",
                          kiln__dtypes[offset->dtype].name);
    if (offset->size != 1 && (offset->ndim != 1 || x->ndim < 3 || offset->dims[0] != x->dims[0]))
        return kiln__fail(err, KILN_INVALID, "[rope] offset must be one integer, or one for each of the %d in a batch.",
                          x->dims[0]);
    return KILN_OK;
}

/* The angular frequency of each pair: 1 / freqs, or base to the power of -i / (dims / 2). */
static struct kiln_array *turns(struct kiln_expression *e, const struct kiln_rope *how)
{
    int half = how->dims / 2;
    if (how->freqs)
        return kiln__e_binary(e, KILN_OP_DIVIDE, kiln__e_number(e, 1, KILN_FLOAT32),
                              kiln__e_astype(e, how->freqs, KILN_FLOAT32));
    float *values = malloc((size_t)half * sizeof *values);
    if (!values) {
        e->status = kiln__no_memory(e->err, "rope");
        return NULL;
    }
    for (int i = 0; i < half; i++) values[i] = (float)pow((double)*how->base, -(double)i / half);
    struct kiln_array *out = kiln__e_data(e, values, KILN_FLOAT32, &half, 1);
    free(values);
    return out;
}

/* (..., positions, 1), float32 */
static struct kiln_array *positions(struct kiln_expression *e, const struct kiln_array *x, struct kiln_array *offset,
                                    float scale)
{
    int count = x->dims[x->ndim - 2], dims[KILN_MAX_NDIM];
    float *values = malloc(((size_t)count + 1) * sizeof *values);
    if (!values) {
        e->status = kiln__no_memory(e->err, "rope");
        return NULL;
    }
    for (int i = 0; i < count; i++) values[i] = (float)i;
    struct kiln_array *range = kiln__e_data(e, values, KILN_FLOAT32, (int[]){count, 1}, 2);
    free(values);
    for (int i = 0; i < x->ndim; i++) dims[i] = 1;
    if (offset->size != 1) dims[0] = offset->dims[0];
    struct kiln_array *first =
        kiln__e_reshape(e, kiln__e_astype(e, offset, KILN_FLOAT32), dims, offset->size != 1 ? x->ndim : 0u);
    struct kiln_array *sum = kiln__e_binary(e, KILN_OP_ADD, range, first);
    return scale == 1.0f ? sum : kiln__e_binary(e, KILN_OP_MULTIPLY, sum, kiln__e_number(e, scale, KILN_FLOAT32));
}

/*
 * Pairs lie on an axis of their own: (..., 2, half), or (..., half, 2) where neighbours are pairs. Turned, the first of
 * a pair is a cos - b sin and the second b cos + a sin: x cos + (the other of the pair) (-sin or sin), in one kernel.
 */
static struct kiln_array *turn_pairs(struct kiln_expression *e, struct kiln_array *x, struct kiln_array *angle,
                                     bool traditional, int dims)
{
    static const float signs[2] = {-1, 1};
    int split[KILN_MAX_NDIM + 1];
    if (!x || !angle || e->status) return NULL;
    const int axis = x->ndim - 1, pair = traditional ? axis + 1 : axis;
    const int64_t beside = traditional ? angle->ndim : angle->ndim - 1;
    memcpy(split, x->dims, x->ndim * sizeof *split);
    split[pair] = 2, split[2 * axis + 1 - pair] = dims / 2;
    struct kiln_array *pairs = kiln__e_reshape(e, x, split, (size_t)axis + 2);
    struct kiln_array *others = kiln__e_cut(e, pairs, pair, 1, -3, -1);
    struct kiln_array *sign = kiln__e_data(e, signs, KILN_FLOAT32, traditional ? (int[]){1, 2} : (int[]){2, 1}, 2);
    struct kiln_array *wide = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &angle, 1, &beside, 1);
    struct kiln_array *cosine = kiln__e_unary(e, KILN_OP_COS, wide);
    struct kiln_array *sine = kiln__e_binary(e, KILN_OP_MULTIPLY, kiln__e_unary(e, KILN_OP_SIN, wide), sign);
    struct kiln_array *turned = kiln__e_binary(e, KILN_OP_ADD, kiln__e_binary(e, KILN_OP_MULTIPLY, pairs, cosine),
                                               kiln__e_binary(e, KILN_OP_MULTIPLY, others, sine));
    return kiln__e_reshape(e, kiln__e_astype(e, turned, x->dtype), x->dims, x->ndim);
}

static void fill_rope_record(struct kiln_record *record, struct kiln_array *x, const struct kiln_rope *how,
                             struct kiln_array *offset)
{
    kiln__record_array(record, x);
    kiln__record_array(record, offset);
    kiln__record_array(record, how->freqs);
    kiln__record_number(record, how->dims);
    kiln__record_number(record, how->traditional);
    kiln__record_real(record, how->scale);
    kiln__record_number(record, how->base != NULL);
    kiln__record_real(record, how->base ? *how->base : 0);
}

static kiln_status record_rope(struct kiln_array *x, const struct kiln_rope *how, struct kiln_array *offset,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_ROPE);
    fill_rope_record(&record, x, how, offset);
    return kiln__record_end(&record, out, err);
}

/* One operation where gradients are asked for: its gradient turns back (transform/grad/gradients_layers.c). */
static kiln_status marked_rope(struct kiln_array *x, const struct kiln_rope *how, struct kiln_array *offset,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_ROPE);
    struct kiln_array *made = NULL;
    kiln__marking.paused++;
    kiln_status status = kiln__rope(x, *how, offset, &made, err);
    kiln__marking.paused--;
    if (status) return status;
    fill_rope_record(&record, x, how, offset);
    status = kiln__mark_as(KILN_OP_DEFERRED, record.few, record.array_count, record.numbers, record.number_count, made,
                           out, err);
    kiln__array_unref(made);
    return status;
}

kiln_status kiln__replay_rope(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *x = kiln__recorded_array(record), *offset = kiln__recorded_array(record);
    struct kiln_rope how = {.freqs = kiln__recorded_array(record)};
    how.dims = (int)kiln__recorded_number(record);
    how.traditional = kiln__recorded_number(record);
    how.scale = kiln__recorded_real(record);
    bool has_base = kiln__recorded_number(record);
    float base = kiln__recorded_real(record);
    how.base = has_base ? &base : NULL;
    return kiln__rope(x, how, offset, out, err);
}

kiln_status kiln__rope(struct kiln_array *x, struct kiln_rope how, struct kiln_array *offset, struct kiln_array **out,
                       kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(x) || kiln__is_recorded(offset) || kiln__is_recorded(how.freqs))
        return record_rope(x, &how, offset, out, err);
    if (kiln__is_marked(x) && !kiln__is_marked(how.freqs)) return marked_rope(x, &how, offset, out, err);
    kiln_status status = check_rope(x, &how, offset, err);
    if (status) return status;
    int axis = x->ndim - 1, all = x->dims[axis];
    struct kiln_array *angle =
        kiln__e_binary(&e, KILN_OP_MULTIPLY, positions(&e, x, offset, how.scale), turns(&e, &how));
    struct kiln_array *part = how.dims < all ? kiln__e_cut(&e, x, axis, 0, how.dims, 1) : x;
    struct kiln_array *turned = turn_pairs(&e, part, angle, how.traditional, how.dims);
    if (how.dims < all) {
        struct kiln_array *rest = kiln__e_cut(&e, x, axis, how.dims, all, 1);
        turned = kiln__e_concatenate(&e, (struct kiln_array *[]){turned, rest}, 2, axis);
    }
    return kiln__e_end(&e, turned, out);
}
