/*
 * gradients_attention.c - the gradient of attention, for which its kernel has no counterpart: scores are computed
 * again, for a block of queries at a time, so that memory follows from the block and not from the square of a prompt.
 *
 * A block is differentiated as the formula that it is (ops/attention.c). With a causal mask it takes the keys that its
 * queries see, so half of all scores are never computed. Gradients of keys and values are added up over the blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/attention_attrs.h"
#include "ops/compose.h"
#include "ops/layers.h"
#include "transform/grad/differentiate.h"
#include "transform/grad/gradient_rules.h"

enum {
    QUERIES,
    KEYS,
    VALUES,
    INPUTS = 5,
    BLOCK_BYTES = 4 << 20, /* scores of a block in float32 */
    LEAST_QUERIES = 64     /* of a block: more blocks would be more operations than time */
};

struct attention {
    const struct kiln_step *step;
    struct kiln_array *cotangent;
    float scale;
    bool is_causal;
    int mask, sinks; /* where they are among the inputs; 0: nowhere */
    int first, end;  /* the block */
};

static struct attention read_step(const struct kiln_step *step, struct kiln_array *cotangent)
{
    struct attention a = {.step = step, .cotangent = cotangent};
    uint32_t bits = (uint32_t)step->attrs[0];
    int next = VALUES + 1;
    memcpy(&a.scale, &bits, sizeof bits);
    a.is_causal = step->attrs[1] & KILN_ATTENTION_IS_CAUSAL;
    if (step->attrs[1] & KILN_ATTENTION_HAS_MASK) a.mask = next++;
    if (step->attrs[1] & KILN_ATTENTION_HAS_SINKS) a.sinks = next++;
    return a;
}

/* ---- a block ------------------------------------------------------------------------------------------------------
 */

/* A kiln_callback; the payload is a struct attention. */
static kiln_status call_formula(void *payload, struct kiln_array *const *inputs, size_t count,
                                struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    const struct attention *a = payload;
    struct kiln_attention formula = {inputs[QUERIES], inputs[KEYS], inputs[VALUES], .scale = a->scale};
    struct kiln_array **list = calloc(1, sizeof *list);
    if (!list) return kiln__no_memory(err, "a gradient");
    (void)count;
    formula.mask_mode = a->is_causal ? "causal" : a->mask ? "array" : "";
    if (a->mask) formula.mask = inputs[a->mask];
    if (a->sinks) formula.sinks = inputs[a->sinks];
    kiln_status status = kiln__attention_formula(&formula, list, err);
    if (status) {
        free(list);
        return status;
    }
    *outputs = list;
    *output_count = 1;
    return KILN_OK;
}

static int queries_of(const struct attention *a)
{
    return a->step->inputs[QUERIES]->dims[2];
}

/* Keys that the block sees: the last query stands beside the last key. */
static int keys_of(const struct attention *a)
{
    int keys = a->step->inputs[KEYS]->dims[2];
    return a->is_causal ? keys - queries_of(a) + a->end : keys;
}

/* The axis of queries of input i, or -1: it has none. */
static int query_axis(const struct attention *a, int i)
{
    const struct kiln_array *input = a->step->inputs[i];
    if (i == QUERIES) return 2;
    bool is_mask = a->mask && i == a->mask;
    return is_mask && input->ndim >= 2 && input->dims[input->ndim - 2] > 1 ? input->ndim - 2 : -1;
}

static struct kiln_array *block_of(struct kiln_expression *e, const struct attention *a, int i)
{
    struct kiln_array *input = a->step->inputs[i];
    int axis = query_axis(a, i);
    if (axis >= 0) return kiln__e_cut(e, input, axis, a->first, a->end, 1);
    return i == KEYS || i == VALUES ? kiln__e_cut(e, input, 2, 0, keys_of(a), 1) : input;
}

/* gradients[i] = that of the block's input i, a reference, or NULL. */
static kiln_status differentiate_block(struct attention *a, struct kiln_array **gradients, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    struct kiln_differentiation d;
    struct kiln_array *inputs[INPUTS], *made[INPUTS] = {NULL};
    uint32_t count = a->step->count, next = 0;
    for (uint32_t i = 0; i < count; i++) inputs[i] = block_of(&e, a, (int)i);
    struct kiln_array *cotangent = kiln__e_cut(&e, a->cotangent, 2, a->first, a->end, 1);
    kiln_status status = e.status;
    if (!status)
        status = kiln__differentiate("vjp", (struct kiln_array_function){call_formula, a},
                                     (struct kiln_array_list){inputs, count}, a->step->wanted, &d, err);
    if (!status) {
        status = kiln__pull_back(d.first, d.variable_count, d.outputs, &cotangent, made, err);
        kiln__differentiate_end(&d);
    }
    for (uint32_t i = 0; i < count && !status; i++)
        if (a->step->wanted[i]) gradients[i] = made[next++];
    kiln_status dropped = kiln__e_drop(&e);
    return status ? status : dropped;
}

/* ---- all blocks ---------------------------------------------------------------------------------------------------
 */

/* Adds the gradient of a block, of all of the input or of its first keys. */
static kiln_status add_block(struct kiln_array **sum, struct kiln_array *gradient, struct kiln_array *input,
                             kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int64_t attrs[1 + 3 * KILN_MAX_NDIM] = {KILN_MERGE_ADD};
    int ndim = input->ndim;
    struct kiln_array *before = *sum ? *sum : kiln__e_zeros_like(&e, input);
    for (int i = 0; i < ndim; i++) attrs[1 + ndim + i] = gradient->dims[i], attrs[1 + 2 * ndim + i] = 1;
    struct kiln_array *after = kiln__e_apply(&e, KILN_OP_SLICE_UPDATE, (struct kiln_array *[]){before, gradient}, 2,
                                             attrs, 1 + 3 * (size_t)ndim),
                      *old = *sum;
    kiln_status status = kiln__e_end(&e, after, sum);
    if (!status) kiln__array_unref(old);
    return status;
}

/* parts[i]: the gradients of the blocks so far, or their sum alone. */
struct parts {
    struct kiln_array **list;
    size_t count;
};

static kiln_status keep_block(const struct attention *a, struct parts *parts, struct kiln_array **gradients,
                              kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < a->step->count; i++) {
        if (!gradients[i]) continue;
        if (query_axis(a, (int)i) >= 0 || (!a->first && a->end == queries_of(a))) {
            parts[i].list[parts[i].count++] = gradients[i];
            continue;
        }
        if (!status) status = add_block(&parts[i].list[0], gradients[i], a->step->inputs[i], err);
        if (!status) parts[i].count = 1;
        kiln__array_unref(gradients[i]);
    }
    return status;
}

static struct kiln_array *join(struct kiln_expression *e, const struct attention *a, int i, const struct parts *parts)
{
    struct kiln_array *joined = NULL;
    if (e->status || !parts->count) return NULL;
    if (parts->count == 1) return kiln__e_hold(e, KILN_OK, kiln__array_ref(parts->list[0]));
    kiln_status status = kiln__concatenate(parts->list, parts->count, query_axis(a, i), &joined, e->err);
    return kiln__e_hold(e, status, joined);
}

static int block_length(const struct kiln_step *step)
{
    const struct kiln_array *q = step->inputs[QUERIES], *k = step->inputs[KEYS];
    int64_t row = (int64_t)q->dims[0] * q->dims[1] * k->dims[2] * (int64_t)sizeof(float);
    int64_t length = BLOCK_BYTES / (row ? row : 1);
    if (length < LEAST_QUERIES) length = LEAST_QUERIES;
    return length < q->dims[2] ? (int)length : q->dims[2];
}

void kiln__vjp_attention(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                         struct kiln_array **gradients)
{
    struct attention a = read_step(step, cotangent);
    struct parts parts[INPUTS] = {{0}};
    int length = block_length(step), queries = queries_of(&a);
    size_t blocks = ((size_t)queries + (size_t)length - 1) / (size_t)length;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < step->count && !status; i++) {
        parts[i].list = calloc(blocks, sizeof *parts[i].list);
        if (!parts[i].list) status = kiln__no_memory(e->err, "a gradient");
    }
    for (a.first = 0; a.first < queries && !status; a.first = a.end) {
        struct kiln_array *made[INPUTS] = {NULL};
        a.end = queries - a.first > length ? a.first + length : queries;
        status = differentiate_block(&a, made, e->err);
        if (!status) status = keep_block(&a, parts, made, e->err);
    }
    if (status && !e->status) e->status = status;
    for (uint32_t i = 0; i < step->count; i++) {
        gradients[i] = join(e, &a, (int)i, &parts[i]);
        for (size_t b = 0; b < parts[i].count; b++) kiln__array_unref(parts[i].list[b]);
        free(parts[i].list);
    }
}
