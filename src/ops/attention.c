/*
 * attention.c - scaled dot product attention: softmax(q @ k' * scale + mask) @ v, as one operation where the device has
 * a kernel for it (run/cpu/attention_launch.c, run/gpu/gpu_attention_run.c), and as a formula, which says what it
 * means, for all other calls.
 *
 * Grouped queries: several heads of q share a head of k and v. q becomes (batch, shared heads, group, length,
 * features), and so do masks; k and v are broadcast, not copied. Masked scores are the lowest finite number, so that a
 * row whose keys are all masked has equal weights. A sink is one more score per head, which is part of the softmax's
 * sum and has no value.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/attention_attrs.h"
#include "graph/default_device.h"
#include "graph/rules.h"
#include "ops/layers.h"
#include "ops/reductions.h"
#include "ops/replay.h"

static const char name[] = "scaled_dot_product_attention";

struct sizes {
    int batch, heads, shared, group, queries, keys, features, values;
};

static bool is_causal(const struct kiln_attention *a)
{
    return a->mask_mode && strcmp(a->mask_mode, "causal") == 0;
}

static kiln_status check_ranks(const struct kiln_attention *a, kiln_error *err)
{
    if (!a->q || !a->k || !a->v) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (a->q->ndim == 4 && a->k->ndim == 4 && a->v->ndim == 4) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] Expected queries, keys and values of 4 dimensions, got %d, %d and %d.",
                      name, a->q->ndim, a->k->ndim, a->v->ndim);
}

static kiln_status check_shapes(const struct kiln_attention *a, struct sizes *s, kiln_error *err)
{
    const int *q = a->q->dims, *k = a->k->dims, *v = a->v->dims;
    char texts[3][KILN_SHAPE_TEXT];
    bool fits =
        q[0] == k[0] && k[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3] && k[1] > 0 && q[1] % k[1] == 0;
    if (!fits)
        return kiln__fail(
            err, KILN_INVALID,
            "[%s] Queries %s, keys %s and values %s do not fit: expected (batch, heads, length, features) "
            "with heads of queries a multiple of those of keys and values.",
            name, kiln__shape_text(q, 4, texts[0]), kiln__shape_text(k, 4, texts[1]), kiln__shape_text(v, 4, texts[2]));
    *s = (struct sizes){q[0], q[1], k[1], q[1] / k[1], q[2], k[2], q[3], v[3]};
    return KILN_OK;
}

static kiln_status check_mask(const struct kiln_attention *a, const struct sizes *s, enum kiln_dtype dtype,
                              kiln_error *err)
{
    const char *mode = a->mask_mode ? a->mask_mode : "";
    bool causal = strcmp(mode, "causal") == 0, array = strcmp(mode, "array") == 0;
    if (!causal && !array && mode[0])
        return kiln__fail(err, KILN_INVALID, "[%s] mask_mode is \"%.40s\"; expected \"\", \"causal\" or \"array\".",
                          name, mode);
    if (causal && a->mask) return kiln__fail(err, KILN_INVALID, "[%s] mask_mode \"causal\" takes no mask array.", name);
    if (array && !a->mask) return kiln__fail(err, KILN_INVALID, "[%s] mask_mode \"array\" needs a mask array.", name);
    if (a->sinks && (a->sinks->ndim != 1 || a->sinks->dims[0] != s->heads))
        return kiln__fail(err, KILN_INVALID, "[%s] sinks must have shape (%d), one for each head.", name, s->heads);
    if (!a->mask) return KILN_OK;
    if (a->mask->dtype != KILN_BOOL && kiln__dtype_promote(a->mask->dtype, dtype) != dtype)
        return kiln__fail(err, KILN_INVALID, "[%s] A mask of type %s does not promote to %s.", name,
                          kiln__dtypes[a->mask->dtype].name, kiln__dtypes[dtype].name);
    int dims[KILN_MAX_NDIM];
    size_t ndim;
    const int want[4] = {s->batch, s->heads, s->queries, s->keys};
    char text[KILN_SHAPE_TEXT], wanted[KILN_SHAPE_TEXT];
    if (!kiln__broadcast_shapes(a->mask->dims, a->mask->ndim, want, 4, dims, &ndim, NULL) && ndim == 4 &&
        memcmp(dims, want, sizeof want) == 0)
        return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] A mask of shape %s cannot be broadcast to %s.", name,
                      kiln__shape_text(a->mask->dims, a->mask->ndim, text), kiln__shape_text(want, 4, wanted));
}

/* (batch or 1, shared heads or 1, group or 1, queries or 1, keys or 1) */
static struct kiln_array *split_mask(struct kiln_expression *e, struct kiln_array *mask, const struct sizes *s)
{
    int dims[5] = {1, 1, 1, 1, 1};
    for (int i = 1; i <= mask->ndim; i++) dims[i <= 2 ? 5 - i : i == 3 ? 1 : 0] = mask->dims[mask->ndim - i];
    if (dims[1] != 1) dims[1] = s->shared, dims[2] = s->group;
    return kiln__e_reshape(e, mask, dims, 5);
}

/* Key j may be seen by query i when j is not after it. The last query stands beside the last key and sees all; with
 * more queries than keys the first ones see none. */
static struct kiln_array *causal_mask(struct kiln_expression *e, const struct sizes *s)
{
    int length = s->queries > s->keys ? s->queries : s->keys, before = s->keys - s->queries;
    int32_t *positions = malloc(((size_t)length + 1) * sizeof *positions);
    if (!positions) {
        e->status = kiln__no_memory(e->err, "a mask");
        return NULL;
    }
    for (int i = 0; i < length; i++) positions[i] = i;
    struct kiln_array *keys = kiln__e_data(e, positions, KILN_INT32, (int[]){1, s->keys}, 2);
    for (int i = 0; i < s->queries; i++) positions[i] = i + before;
    struct kiln_array *queries = kiln__e_data(e, positions, KILN_INT32, (int[]){s->queries, 1}, 2);
    free(positions);
    return kiln__e_binary(e, KILN_OP_GREATER_EQUAL, queries, keys);
}

static struct kiln_array *apply_mask(struct kiln_expression *e, const struct kiln_attention *a,
                                     struct kiln_array *scores, const struct sizes *s)
{
    bool causal = is_causal(a);
    if (!causal && !a->mask) return scores;
    struct kiln_array *mask = causal ? causal_mask(e, s) : split_mask(e, a->mask, s);
    if (!mask || !scores) return NULL;
    if (mask->dtype != KILN_BOOL) return kiln__e_binary(e, KILN_OP_ADD, scores, kiln__e_astype(e, mask, scores->dtype));
    double lowest = scores->dtype == KILN_FLOAT64 ? -0x1.fffffffffffffp1023 : -0x1.fffffep127;
    return kiln__e_select(e, mask, scores, kiln__e_number(e, lowest, scores->dtype));
}

/* softmax over the keys; with sinks, one more score in front that is cut off again. */
static struct kiln_array *weigh(struct kiln_expression *e, const struct kiln_attention *a, struct kiln_array *scores,
                                const struct sizes *s)
{
    if (!a->sinks || !scores) return kiln__e_softmax_last(e, scores);
    struct kiln_array *sinks =
        kiln__e_reshape(e, kiln__e_astype(e, a->sinks, scores->dtype), (int[]){1, s->shared, s->group, 1, 1}, 5);
    sinks = kiln__e_broadcast(e, sinks, (int[]){s->batch, s->shared, s->group, s->queries, 1}, 5);
    struct kiln_array *all = kiln__e_concatenate(e, (struct kiln_array *[]){sinks, scores}, 2, 4);
    return kiln__e_cut(e, kiln__e_softmax_last(e, all), 4, 1, s->keys + 1, 1);
}

static bool records(const struct kiln_attention *a)
{
    return kiln__is_recorded(a->q) || kiln__is_recorded(a->k) || kiln__is_recorded(a->v) ||
           kiln__is_recorded(a->mask) || kiln__is_recorded(a->sinks);
}

static const char *const modes[] = {"", "causal", "array"};
enum { MODES = sizeof modes / sizeof *modes };

static int mode_number(const char *mode)
{
    int number = 0;
    while (number < MODES && strcmp(mode ? mode : "", modes[number]) != 0) number++;
    return number;
}

static kiln_status record_attention(const struct kiln_attention *a, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_ATTENTION);
    kiln__record_array(&record, a->q);
    kiln__record_array(&record, a->k);
    kiln__record_array(&record, a->v);
    kiln__record_real(&record, a->scale);
    kiln__record_number(&record, mode_number(a->mask_mode));
    kiln__record_array(&record, a->mask);
    kiln__record_array(&record, a->sinks);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_attention(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_attention a = {.q = kiln__recorded_array(record)};
    a.k = kiln__recorded_array(record);
    a.v = kiln__recorded_array(record);
    a.scale = kiln__recorded_real(record);
    a.mask_mode = modes[kiln__recorded_choice(record, MODES)];
    a.mask = kiln__recorded_array(record);
    a.sinks = kiln__recorded_array(record);
    return kiln__attention(&a, out, err);
}

/* ---- as one operation --------------------------------------------------------------------------------------------
 */

/* Not for queries that see no key: the formula weighs all keys alike for these. */
static bool has_kernel(const struct kiln_attention *a, const struct sizes *s, enum kiln_dtype dtype)
{
    bool has_elements =
        s->batch > 0 && s->heads > 0 && s->queries > 0 && s->keys > 0 && s->features > 0 && s->values > 0;
    bool has_room = kiln__current_device_index() == 0 ||
                    (s->features <= KILN_ATTENTION_GPU_FEATURES && s->values <= KILN_ATTENTION_GPU_FEATURES);
    return has_room && dtype != KILN_FLOAT64 && has_elements && !(is_causal(a) && s->queries > s->keys);
}

/* Casts of floats are exact: float16 and bfloat16 together are float32. Integers may be too large for 16 bits, so with
 * one among the inputs all of it is float32. */
static enum kiln_dtype kernel_dtype(const struct kiln_attention *a, enum kiln_dtype dtype)
{
    bool are_floats =
        kiln__dtype_is_float(a->q->dtype) && kiln__dtype_is_float(a->k->dtype) && kiln__dtype_is_float(a->v->dtype);
    return are_floats ? dtype : KILN_FLOAT32;
}

static struct kiln_array *apply_kernel(struct kiln_expression *e, const struct kiln_attention *a, const struct sizes *s,
                                       enum kiln_dtype result_dtype)
{
    enum kiln_dtype dtype = kernel_dtype(a, result_dtype);
    struct kiln_array *inputs[5] = {kiln__e_astype(e, a->q, dtype), kiln__e_astype(e, a->k, dtype),
                                    kiln__e_astype(e, a->v, dtype)};
    int64_t attrs[2] = {0, is_causal(a) ? KILN_ATTENTION_IS_CAUSAL : 0};
    struct kiln_call call = {.op = KILN_OP_ATTENTION, .inputs = inputs, .count = 3, .attrs = attrs, .attr_count = 2};
    const struct kiln_result result = {
        .as_they_are = true, .dtype = dtype, .ndim = 4, .dims = {s->batch, s->heads, s->queries, s->values}};
    const float scale = a->scale;
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    attrs[0] = bits;
    if (a->mask) {
        bool is_read = a->mask->dtype == KILN_BOOL || kiln__dtype_is_float(a->mask->dtype);
        inputs[call.count++] = is_read ? a->mask : kiln__e_astype(e, a->mask, KILN_FLOAT32);
        attrs[1] |= KILN_ATTENTION_HAS_MASK;
    }
    if (a->sinks) {
        inputs[call.count++] = kiln__e_astype(e, a->sinks, KILN_FLOAT32);
        attrs[1] |= KILN_ATTENTION_HAS_SINKS;
    }
    struct kiln_array *out = NULL;
    kiln_status status = e->status;
    if (!status) status = kiln__apply_result(&call, &result, &out, e->err);
    return kiln__e_astype(e, kiln__e_hold(e, status, out), result_dtype);
}

/* ---- as a formula ------------------------------------------------------------------------------------------------ */

static struct kiln_array *apply_formula(struct kiln_expression *e, const struct kiln_attention *a,
                                        const struct sizes *s, enum kiln_dtype dtype)
{
    enum kiln_dtype wide = dtype == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
    struct kiln_array *q =
        kiln__e_binary(e, KILN_OP_MULTIPLY, kiln__e_astype(e, a->q, wide), kiln__e_number(e, a->scale, wide));
    q = kiln__e_reshape(e, q, (int[]){s->batch, s->shared, s->group, s->queries, s->features}, 5);
    struct kiln_array *k =
        kiln__e_reshape(e, kiln__e_astype(e, a->k, wide), (int[]){s->batch, s->shared, 1, s->keys, s->features}, 5);
    struct kiln_array *v =
        kiln__e_reshape(e, kiln__e_astype(e, a->v, wide), (int[]){s->batch, s->shared, 1, s->keys, s->values}, 5);
    struct kiln_array *scores = kiln__e_matmul(e, q, kiln__e_transpose(e, k, (int64_t[]){0, 1, 2, 4, 3}));
    scores = apply_mask(e, a, scores, s);
    struct kiln_array *result = kiln__e_matmul(e, weigh(e, a, scores, s), v);
    result = kiln__e_reshape(e, result, (int[]){s->batch, s->heads, s->queries, s->values}, 4);
    return kiln__e_astype(e, result, dtype);
}

static kiln_status attend(const struct kiln_attention *a, bool may_use_kernel, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    struct sizes s = {0};
    kiln_status status = check_ranks(a, err);
    if (!status) status = check_shapes(a, &s, err);
    if (status) return status;
    enum kiln_dtype dtype = kiln__dtype_promote(kiln__dtype_promote(a->q->dtype, a->k->dtype), a->v->dtype);
    if (!kiln__dtype_is_float(dtype))
        return kiln__fail(err, KILN_INVALID, "[%s] Expected a float type, got %s.", name, kiln__dtypes[dtype].name);
    status = check_mask(a, &s, dtype, err);
    if (status) return status;
    return kiln__e_end(
        &e, (has_kernel(a, &s, dtype) && may_use_kernel ? apply_kernel : apply_formula)(&e, a, &s, dtype), out);
}

kiln_status kiln__attention(const struct kiln_attention *a, struct kiln_array **out, kiln_error *err)
{
    if (records(a) && mode_number(a->mask_mode) < MODES) return record_attention(a, out, err);
    return attend(a, true, out, err);
}

kiln_status kiln__attention_formula(const struct kiln_attention *a, struct kiln_array **out, kiln_error *err)
{
    return attend(a, false, out, err);
}
