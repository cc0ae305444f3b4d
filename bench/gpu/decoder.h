/*
 * decoder.h - a decoder of the Llama family whose step is one compiled function, from tokens to tokens, with random
 * weights made where the stream is. Matrices that read the same rows are one: queries, keys and values; gate and up.
 *
 * A step takes the tokens (batch, 1), the position (1) and the caches of each layer, which it is given for good, and
 * gives all of these for the next step. A prompt has its own function: it fills caches from position 0 on.
 */
#ifndef BENCH_GPU_DECODER_H
#define BENCH_GPU_DECODER_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/compile.h"
#include "mlx/c/mlx.h"

enum { DECODER_LAYERS = 32, DECODER_FIXED = 2, DECODER_GROUP = 64 };

struct decoder_shape {
    int layers, width, heads, shared, head, hidden, vocabulary, batch, capacity, bits; /* bits 0: floats */
    mlx_dtype dtype;
};

struct decoder_matrix {
    mlx_array weight, scales, biases;
};

struct decoder {
    struct decoder_shape shape;
    mlx_stream stream;
    mlx_array embeddings, ones, positions;
    struct decoder_matrix qkv[DECODER_LAYERS], out[DECODER_LAYERS], gate_up[DECODER_LAYERS], down[DECODER_LAYERS], last;
    mlx_closure step, prefill;
    double weight_bytes; /* that a step reads */
};

/* ---- weights ---------------------------------------------------------------------------------------------------- */

static int decoder_random(struct decoder *d, mlx_array *res, int rows, int columns)
{
    const int shape[] = {rows, columns};
    mlx_array low = mlx_array_new_float32(-0.03f), high = mlx_array_new_float32(0.03f), none = {NULL};
    *res = mlx_array_new();
    int failed = mlx_random_uniform(res, low, high, shape, 2, MLX_FLOAT32, none, d->stream) ||
                 mlx_astype(res, *res, d->shape.dtype, d->stream) || mlx_array_eval(*res);
    mlx_array_free(low), mlx_array_free(high);
    mlx_clear_cache();
    return failed;
}

static int decoder_filled(struct decoder *d, mlx_array *res, int rows, int columns, float value)
{
    const int shape[] = {rows, columns};
    mlx_array number = mlx_array_new_float32(value);
    *res = mlx_array_new();
    int failed = mlx_full(res, shape, 2, number, d->shape.dtype, d->stream) || mlx_array_eval(*res);
    return mlx_array_free(number), failed;
}

/* Codes are as random as the weights would be; what they stand for is around 0. */
static int decoder_make(struct decoder *d, struct decoder_matrix *m, int rows, int columns)
{
    const int words[] = {rows, columns * d->shape.bits / 32}, bits = d->shape.bits;
    mlx_array none = {NULL};
    *m = (struct decoder_matrix){none, none, none};
    if (!bits) {
        d->weight_bytes += (double)rows * columns * (double)mlx_dtype_size(d->shape.dtype);
        return decoder_random(d, &m->weight, rows, columns);
    }
    const float scale = 0.06f / (float)(1 << bits);
    d->weight_bytes +=
        (double)rows * columns * (bits / 8.0 + 2.0 * (double)mlx_dtype_size(d->shape.dtype) / DECODER_GROUP);
    m->weight = mlx_array_new();
    return mlx_random_bits(&m->weight, words, 2, 4, none, d->stream) || mlx_array_eval(m->weight) ||
           decoder_filled(d, &m->scales, rows, columns / DECODER_GROUP, scale) ||
           decoder_filled(d, &m->biases, rows, columns / DECODER_GROUP, -scale * (float)((1 << bits) - 1) / 2);
}

static void decoder_drop(struct decoder_matrix *m)
{
    if (m->weight.ctx) mlx_array_free(m->weight);
    if (m->scales.ctx) mlx_array_free(m->scales);
    if (m->biases.ctx) mlx_array_free(m->biases);
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

static int decoder_multiply(struct decoder *d, mlx_array *res, const mlx_array x, const struct decoder_matrix *m)
{
    const mlx_optional_int group = {DECODER_GROUP, true}, bits = {d->shape.bits, true};
    if (m->scales.ctx)
        return mlx_quantized_matmul(res, x, m->weight, m->scales, m->biases, true, group, bits, "affine", d->stream);
    mlx_array turned = mlx_array_new();
    int failed = mlx_transpose(&turned, m->weight, d->stream) || mlx_matmul(res, x, turned, d->stream);
    return mlx_array_free(turned), failed;
}

/* Part [first, last) of the axis `axis` of four, or of three. */
static int decoder_cut(struct decoder *d, mlx_array *res, const mlx_array x, int axis, int first, int last)
{
    const size_t ndim = mlx_array_ndim(x);
    int start[4] = {0}, stop[4], steps[4] = {1, 1, 1, 1};
    for (size_t i = 0; i < ndim; i++) stop[i] = mlx_array_dim(x, (int)i);
    start[axis] = first, stop[axis] = last;
    return mlx_slice(res, x, start, ndim, stop, ndim, steps, ndim, d->stream);
}

static int decoder_attend(struct decoder *d, mlx_array *x, int layer, const mlx_array position, const mlx_array mask,
                          mlx_array *caches)
{
    const struct decoder_shape *s = &d->shape;
    const int count = mlx_array_dim(*x, 1), heads = s->heads + 2 * s->shared, turned[] = {0, 2, 1, 3}, axis = 2;
    const int split[] = {s->batch, count, heads, s->head}, flat[] = {s->batch, count, s->heads * s->head};
    const mlx_optional_float base = {500000, true};
    const mlx_array none = {NULL};
    mlx_array t = mlx_array_new(), q = mlx_array_new(), k = mlx_array_new(), v = mlx_array_new();
    mlx_array *keys = &caches[2 * layer], *values = &caches[2 * layer + 1];
    const float scale = 1 / sqrtf((float)s->head);
    int failed =
        mlx_fast_rms_norm(&t, *x, d->ones, 1e-5f, d->stream) || decoder_multiply(d, &t, t, &d->qkv[layer]) ||
        mlx_reshape(&t, t, split, 4, d->stream) || mlx_transpose_axes(&t, t, turned, 4, d->stream) ||
        decoder_cut(d, &q, t, 1, 0, s->heads + s->shared) || decoder_cut(d, &v, t, 1, s->heads + s->shared, heads) ||
        mlx_fast_rope_dynamic(&q, q, s->head, false, base, 1, position, none, d->stream) ||
        decoder_cut(d, &k, q, 1, s->heads, s->heads + s->shared) || decoder_cut(d, &q, q, 1, 0, s->heads) ||
        mlx_slice_update_dynamic(keys, *keys, k, position, &axis, 1, d->stream) ||
        mlx_slice_update_dynamic(values, *values, v, position, &axis, 1, d->stream) ||
        (count > 1 ? mlx_fast_scaled_dot_product_attention(&t, q, k, v, scale, "causal", none, none, false, d->stream)
                   : mlx_fast_scaled_dot_product_attention(&t, q, *keys, *values, scale, "array", mask, none, false,
                                                           d->stream)) ||
        mlx_transpose_axes(&t, t, turned, 4, d->stream) || mlx_reshape(&t, t, flat, 3, d->stream) ||
        decoder_multiply(d, &t, t, &d->out[layer]) || mlx_add(x, *x, t, d->stream);
    mlx_array_free(t), mlx_array_free(q), mlx_array_free(k), mlx_array_free(v);
    return failed;
}

static int decoder_feed(struct decoder *d, mlx_array *x, int layer)
{
    mlx_array t = mlx_array_new(), gate = mlx_array_new(), up = mlx_array_new();
    const int hidden = d->shape.hidden;
    int failed = mlx_fast_rms_norm(&t, *x, d->ones, 1e-5f, d->stream) ||
                 decoder_multiply(d, &t, t, &d->gate_up[layer]) || decoder_cut(d, &gate, t, 2, 0, hidden) ||
                 decoder_cut(d, &up, t, 2, hidden, 2 * hidden) || mlx_sigmoid(&t, gate, d->stream) ||
                 mlx_multiply(&gate, gate, t, d->stream) || mlx_multiply(&gate, gate, up, d->stream) ||
                 decoder_multiply(d, &gate, gate, &d->down[layer]) || mlx_add(x, *x, gate, d->stream);
    mlx_array_free(t), mlx_array_free(gate), mlx_array_free(up);
    return failed;
}

/* The likeliest token behind the last position: (batch, 1) of int32. */
static int decoder_predict(struct decoder *d, mlx_array *token, const mlx_array x)
{
    const int shape[] = {d->shape.batch, 1}, count = mlx_array_dim(x, 1);
    return decoder_cut(d, token, x, 1, count - 1, count) ||
           mlx_fast_rms_norm(token, *token, d->ones, 1e-5f, d->stream) ||
           decoder_multiply(d, token, *token, &d->last) || mlx_argmax_axis(token, *token, -1, false, d->stream) ||
           mlx_astype(token, *token, MLX_INT32, d->stream) || mlx_reshape(token, *token, shape, 2, d->stream);
}

static int decoder_apply(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct decoder *d = payload;
    mlx_array io[DECODER_FIXED + 2 * DECODER_LAYERS], x = mlx_array_new(), mask = mlx_array_new();
    const size_t count = DECODER_FIXED + 2 * (size_t)d->shape.layers;
    int failed = 0;
    for (size_t i = 0; i < count; i++) io[i] = mlx_array_new();
    for (size_t i = 0; i < count && !failed; i++) failed = mlx_vector_array_get(&io[i], in, i);
    mlx_array tokens = mlx_array_new_int(mlx_array_dim(io[0], 1));
    failed = failed || mlx_take_axis(&x, d->embeddings, io[0], 0, d->stream) ||
             mlx_less_equal(&mask, d->positions, io[1], d->stream);
    for (int i = 0; i < d->shape.layers && !failed; i++)
        failed = decoder_attend(d, &x, i, io[1], mask, io + DECODER_FIXED) || decoder_feed(d, &x, i);
    failed = failed || decoder_predict(d, &io[0], x) || mlx_add(&io[1], io[1], tokens, d->stream) ||
             mlx_vector_array_set_data(res, io, count);
    for (size_t i = 0; i < count; i++) mlx_array_free(io[i]);
    mlx_array_free(x), mlx_array_free(mask), mlx_array_free(tokens);
    return failed;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static int decoder_init(struct decoder *d, const struct decoder_shape *s, mlx_stream stream)
{
    memset(d, 0, sizeof *d);
    d->shape = *s, d->stream = stream;
    int *positions = malloc(sizeof *positions * (size_t)s->capacity);
    for (int i = 0; i < s->capacity; i++) positions[i] = i;
    d->positions = mlx_array_new_data(positions, &s->capacity, 1, MLX_INT32);
    free(positions);
    d->step = mlx_closure_new(), d->prefill = mlx_closure_new(), d->ones = mlx_array_new();
    int failed = decoder_random(d, &d->embeddings, s->vocabulary, s->width) ||
                 mlx_ones(&d->ones, &s->width, 1, s->dtype, stream) || mlx_array_eval(d->ones) ||
                 decoder_make(d, &d->last, s->vocabulary, s->width);
    for (int i = 0; i < s->layers && !failed; i++)
        failed = decoder_make(d, &d->qkv[i], (s->heads + 2 * s->shared) * s->head, s->width) ||
                 decoder_make(d, &d->out[i], s->width, s->heads * s->head) ||
                 decoder_make(d, &d->gate_up[i], 2 * s->hidden, s->width) ||
                 decoder_make(d, &d->down[i], s->width, s->hidden);
    return failed || kiln_compile(&d->step, "decoder_step", decoder_apply, d, NULL, false) ||
           kiln_compile(&d->prefill, "decoder_prefill", decoder_apply, d, NULL, false);
}

static void decoder_release(struct decoder *d)
{
    decoder_drop(&d->last);
    for (int i = 0; i < d->shape.layers; i++)
        decoder_drop(&d->qkv[i]), decoder_drop(&d->out[i]), decoder_drop(&d->gate_up[i]), decoder_drop(&d->down[i]);
    mlx_array_free(d->embeddings), mlx_array_free(d->ones), mlx_array_free(d->positions);
    mlx_closure_free(d->step), mlx_closure_free(d->prefill);
    mlx_clear_cache();
}

/* What a step takes and gives. */
struct decoder_state {
    mlx_array arrays[DECODER_FIXED + 2 * DECODER_LAYERS];
    size_t count;
};

/* `tokens` of (batch, count) go in at `position`; caches are zeros. */
static int decoder_begin(struct decoder *d, struct decoder_state *state, int count, int position)
{
    const struct decoder_shape *s = &d->shape;
    const int shape[] = {s->batch, count}, cache[] = {s->batch, s->shared, s->capacity, s->head}, one = 1;
    int *tokens = malloc(sizeof *tokens * (size_t)(s->batch * count)), failed = 0;
    for (int i = 0; i < s->batch * count; i++) tokens[i] = (int)((unsigned)i * 2654435761u % (unsigned)s->vocabulary);
    *state = (struct decoder_state){.count = DECODER_FIXED + 2 * (size_t)s->layers};
    state->arrays[0] = mlx_array_new_data(tokens, shape, 2, MLX_INT32);
    state->arrays[1] = mlx_array_new_data(&position, &one, 1, MLX_INT32);
    for (size_t i = DECODER_FIXED; i < state->count; i++) {
        state->arrays[i] = mlx_array_new();
        failed =
            failed || mlx_zeros(&state->arrays[i], cache, 4, s->dtype, d->stream) || mlx_array_eval(state->arrays[i]);
    }
    free(tokens);
    return failed;
}

static void decoder_end(struct decoder_state *state)
{
    for (size_t i = 0; i < state->count; i++) mlx_array_free(state->arrays[i]);
}

/* The state becomes the next one. Nobody waits. */
static int decoder_go_on(struct decoder_state *state, mlx_closure function)
{
    bool donate[DECODER_FIXED + 2 * DECODER_LAYERS] = {false};
    mlx_vector_array res = mlx_vector_array_new();
    for (size_t i = DECODER_FIXED; i < state->count; i++) donate[i] = true;
    int failed = kiln_call_donating(&res, function, state->arrays, state->count, donate);
    for (size_t i = 0; i < state->count && !failed; i++) failed = mlx_vector_array_get(&state->arrays[i], res, i);
    mlx_vector_array_free(res);
    return failed;
}

#endif
