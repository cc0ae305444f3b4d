/*
 * gradients_layers.c - gradients of layers along the last axis (ops/row_layer.h), each one formula of element-wise
 * operations and reductions of rows, so that it becomes one kernel. Computed in the dtype that the layer computes in.
 */
#include <string.h>

#include "ops/reductions.h"
#include "ops/replay.h"
#include "ops/row_layer.h"
#include "transform/grad/gradient_rules.h"

static enum kiln_dtype wide_dtype(const struct kiln_array *a)
{
    return a->dtype == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
}

static struct kiln_array *row_sum(struct kiln_expression *e, struct kiln_array *a)
{
    return a ? kiln__e_reduce_axis(e, KILN_OP_SUM, a, a->ndim - 1) : NULL;
}

static struct kiln_array *row_mean(struct kiln_expression *e, struct kiln_array *a)
{
    struct kiln_array *sum = row_sum(e, a);
    return sum ? kiln__e_over(e, sum, kiln__e_number(e, a->dims[a->ndim - 1], (enum kiln_dtype)a->dtype)) : NULL;
}

static struct kiln_array *less(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_binary(e, KILN_OP_SUBTRACT, a, b);
}

/* y * (c - sum(c * y)) */
void kiln__vjp_softmax(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                       struct kiln_array **gradients)
{
    enum kiln_dtype dtype = wide_dtype(step->output);
    struct kiln_array *y = kiln__e_astype(e, step->output, dtype), *c = kiln__e_astype(e, cotangent, dtype);
    gradients[0] = kiln__e_times(e, y, less(e, c, row_sum(e, kiln__e_times(e, c, y))));
}

/* c * exp(x - y) */
void kiln__vjp_logsumexp(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                         struct kiln_array **gradients)
{
    enum kiln_dtype dtype = wide_dtype(step->output);
    struct kiln_array *x = kiln__e_astype(e, step->inputs[0], dtype);
    struct kiln_array *y = kiln__e_astype(e, step->output, dtype), *c = kiln__e_astype(e, cotangent, dtype);
    if (e->status) return;
    if (y->ndim < x->ndim) {
        const int64_t last = y->ndim;
        y = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &y, 1, &last, 1);
        c = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &c, 1, &last, 1);
    }
    gradients[0] = kiln__e_times(e, c, kiln__e_unary(e, KILN_OP_EXP, less(e, x, y)));
}

/* A norm: x, less its mean or not, times `scale`, which has one element for each row, is `normal`. */
struct norm {
    struct kiln_array *normal, *scale, *weight, *cotangent; /* the cotangent of the layer's result */
    uint32_t weight_index, bias_index;                      /* among the inputs; 0: none */
};

static float eps_of(const struct kiln_step *step)
{
    uint32_t bits = (uint32_t)step->attrs[0];
    float eps;
    memcpy(&eps, &bits, sizeof eps);
    return eps;
}

static struct norm begin_norm(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                              bool is_centred, enum kiln_dtype dtype)
{
    struct norm norm = {.cotangent = kiln__e_astype(e, cotangent, dtype)};
    uint32_t next = 1;
    if (step->attrs[1] & KILN_ROW_LAYER_WEIGHT) norm.weight_index = next++;
    if (step->attrs[1] & KILN_ROW_LAYER_BIAS) norm.bias_index = next++;
    if (norm.weight_index) norm.weight = kiln__e_astype(e, step->inputs[norm.weight_index], dtype);
    struct kiln_array *x = kiln__e_astype(e, step->inputs[0], dtype);
    if (is_centred) x = less(e, x, row_mean(e, x));
    struct kiln_array *mean = row_mean(e, kiln__e_times(e, x, x));
    norm.scale = kiln__e_unary(e, KILN_OP_RSQRT, kiln__e_add(e, mean, kiln__e_number(e, eps_of(step), dtype)));
    norm.normal = kiln__e_times(e, x, norm.scale);
    return norm;
}

/* With g = c * weight: scale * (g - normal * mean(g * normal) [- mean(g)]). */
static void end_norm(struct kiln_expression *e, const struct kiln_step *step, const struct norm *norm, bool is_centred,
                     struct kiln_array **gradients)
{
    struct kiln_array *c = norm->cotangent, *normal = norm->normal;
    if (norm->weight_index && step->wanted[norm->weight_index])
        gradients[norm->weight_index] = kiln__e_times(e, c, normal);
    if (norm->bias_index) gradients[norm->bias_index] = c;
    if (!step->wanted[0]) return;
    struct kiln_array *g = norm->weight ? kiln__e_times(e, c, norm->weight) : c;
    struct kiln_array *rest = less(e, g, kiln__e_times(e, normal, row_mean(e, kiln__e_times(e, g, normal))));
    if (is_centred) rest = less(e, rest, row_mean(e, g));
    gradients[0] = kiln__e_times(e, norm->scale, rest);
}

void kiln__vjp_rms_norm(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                        struct kiln_array **gradients)
{
    struct norm norm = begin_norm(e, step, cotangent, false, KILN_FLOAT32);
    end_norm(e, step, &norm, false, gradients);
}

void kiln__vjp_layer_norm(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                          struct kiln_array **gradients)
{
    struct norm norm = begin_norm(e, step, cotangent, true, wide_dtype(step->output));
    end_norm(e, step, &norm, true, gradients);
}

/* ---- rope ---------------------------------------------------------------------------------------------------------
 */

/* Marked as deferred operations are those of ops/layers.c alone: rope, which turns pairs by angles. Its gradient turns
 * them back: the same with the opposite scale. Others are recorded with kiln__record_end(), and differentiated when
 * their sizes are known. */
void kiln__vjp_deferred(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                        struct kiln_array **gradients)
{
    enum { SCALE = 6 }; /* behind the name, three arrays and two numbers */
    int64_t attrs[KILN_RECORD_NUMBERS];
    struct kiln_array *inputs[] = {cotangent, step->inputs[1], step->count > 2 ? step->inputs[2] : NULL}, *out = NULL;
    if (step->attrs[0] != KILN_DEFERRED_ROPE) {
        e->status = kiln__fail(e->err, KILN_INVALID, "[vjp] %s has no gradient here: its sizes are not known.",
                               kiln__operation_name(step->op, step->attrs));
        return;
    }
    memcpy(attrs, step->attrs, step->attr_count * sizeof *attrs);
    attrs[SCALE] = (int32_t)((uint32_t)attrs[SCALE] ^ UINT32_C(1) << 31);
    kiln_status status = kiln__deferred_replay(inputs, step->count, attrs, step->attr_count, &out, e->err);
    gradients[0] = kiln__e_hold(e, status, out);
}
