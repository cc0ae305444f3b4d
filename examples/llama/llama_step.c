/*
 * llama_step.c - one step of the decoder, as its formula reads, and the cache that steps share.
 *
 * Operations only record what is to be done; the caller evaluates the logits, and with them all that they depend on. A
 * cache array is written in place as long as nobody else holds it, which is why a step puts the new handle where the
 * old one was.
 */
#include <math.h>
#include <stdlib.h>

#include "kiln/compile.h"
#include "llama.h"

/* ---- the cache -------------------------------------------------------------------------------------------------- */

int llama_cache_init(struct llama_cache *out, const struct llama *model, int batch, int capacity)
{
    const struct llama_config *c = &model->config;
    const int shape[] = {batch, c->shared_heads, capacity, c->head};
    *out = (struct llama_cache){.batch = batch, .capacity = capacity};
    out->keys = calloc((size_t)c->layers, sizeof *out->keys);
    out->values = calloc((size_t)c->layers, sizeof *out->values);
    int failed = out->keys && out->values ? 0 : llama_fail("out of memory");
    for (int i = 0; i < c->layers && !failed; i++)
        failed = mlx_zeros(&out->keys[i], shape, 4, model->dtype, model->stream) ||
                 mlx_zeros(&out->values[i], shape, 4, model->dtype, model->stream);
    if (failed) llama_cache_release(out, model);
    return failed;
}

void llama_cache_release(struct llama_cache *cache, const struct llama *model)
{
    for (int i = 0; i < model->config.layers; i++) {
        if (cache->keys) mlx_array_free(cache->keys[i]);
        if (cache->values) mlx_array_free(cache->values[i]);
    }
    free(cache->keys), free(cache->values);
    *cache = (struct llama_cache){0};
}

/* Puts rows, (batch, shared heads, count, head), behind `length` positions of *cached; *all becomes the whole. */
static int append(mlx_array *all, mlx_array *cached, const mlx_array rows, int length, mlx_stream stream)
{
    const int *size = mlx_array_shape(*cached);
    const int start[] = {0, 0, length, 0}, origin[4] = {0}, steps[] = {1, 1, 1, 1};
    const int stop[] = {size[0], size[1], length + mlx_array_dim(rows, 2), size[3]};
    return mlx_slice_update(cached, *cached, rows, start, 4, stop, 4, steps, 4, stream) ||
           mlx_slice(all, *cached, origin, 4, stop, 4, steps, 4, stream);
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

static int multiply(mlx_array *res, const struct llama *model, const mlx_array x, const struct llama_matrix *matrix)
{
    const mlx_optional_int none = {0, false}, bits = {model->bits, true};
    if (matrix->scales.ctx)
        return mlx_quantized_matmul(res, x, matrix->weight, matrix->scales, matrix->biases, true, none, bits, "affine",
                                    model->stream);
    mlx_array turned = mlx_array_new();
    int failed = mlx_transpose(&turned, matrix->weight, model->stream) || mlx_matmul(res, x, turned, model->stream);
    return mlx_array_free(turned), failed;
}

/* x times a matrix, as (batch, heads, count, head). */
static int project(mlx_array *res, const struct llama *model, const mlx_array x, const struct llama_matrix *matrix,
                   int heads)
{
    static const int axes[] = {0, 2, 1, 3};
    const int shape[] = {mlx_array_dim(x, 0), mlx_array_dim(x, 1), heads, model->config.head};
    return multiply(res, model, x, matrix) || mlx_reshape(res, *res, shape, 4, model->stream) ||
           mlx_transpose_axes(res, *res, axes, 4, model->stream);
}

/* Turns pairs by their positions, the first of which is `length`. */
static int rotate(mlx_array *x, const struct llama *model, int length)
{
    const struct llama_config *c = &model->config;
    const mlx_optional_float base = {c->rope_base, !model->turns.ctx};
    return mlx_fast_rope(x, *x, c->head, false, base, c->rope_scale, length, model->turns, model->stream);
}

static int attend(mlx_array *x, const struct llama *model, int number, struct llama_cache *cache)
{
    static const int axes[] = {0, 2, 1, 3};
    const struct llama_config *c = &model->config;
    const struct llama_layer *layer = &model->layers[number];
    const int count = mlx_array_dim(*x, 1), flat[] = {cache->batch, count, c->heads * c->head};
    mlx_stream s = model->stream;
    mlx_array norm = mlx_array_new(), query = mlx_array_new(), key = mlx_array_new(), value = mlx_array_new();
    int failed =
        mlx_fast_rms_norm(&norm, *x, layer->norm_1, c->norm_eps, s) ||
        project(&query, model, norm, &layer->query, c->heads) || rotate(&query, model, cache->length) ||
        project(&key, model, norm, &layer->key, c->shared_heads) || rotate(&key, model, cache->length) ||
        project(&value, model, norm, &layer->value, c->shared_heads) ||
        append(&key, &cache->keys[number], key, cache->length, s) ||
        append(&value, &cache->values[number], value, cache->length, s) ||
        mlx_fast_scaled_dot_product_attention(&query, query, key, value, 1 / sqrtf((float)c->head),
                                              count > 1 ? "causal" : "", mlx_array_empty, mlx_array_empty, false, s) ||
        mlx_transpose_axes(&query, query, axes, 4, s) || mlx_reshape(&query, query, flat, 3, s) ||
        multiply(&query, model, query, &layer->out) || mlx_add(x, *x, query, s);
    mlx_array_free(norm), mlx_array_free(query), mlx_array_free(key), mlx_array_free(value);
    return failed;
}

static int feed_forward(mlx_array *x, const struct llama *model, const struct llama_layer *layer)
{
    mlx_array norm = mlx_array_new(), gate = mlx_array_new(), up = mlx_array_new();
    int failed = mlx_fast_rms_norm(&norm, *x, layer->norm_2, model->config.norm_eps, model->stream) ||
                 multiply(&gate, model, norm, &layer->gate) || multiply(&up, model, norm, &layer->up) ||
                 kiln_call_binary(&gate, model->activation, gate, up) || multiply(&gate, model, gate, &layer->down) ||
                 mlx_add(x, *x, gate, model->stream);
    mlx_array_free(norm), mlx_array_free(gate), mlx_array_free(up);
    return failed;
}

/* The last position's row of the table of words: (batch, vocabulary). */
static int predict(mlx_array *logits, const struct llama *model, const mlx_array x)
{
    const int *size = mlx_array_shape(x);
    const int start[] = {0, size[1] - 1, 0}, stop[] = {size[0], size[1], size[2]}, steps[] = {1, 1, 1};
    const int shape[] = {size[0], model->config.vocabulary};
    mlx_array last = mlx_array_new();
    int failed = mlx_slice(&last, x, start, 3, stop, 3, steps, 3, model->stream) ||
                 mlx_fast_rms_norm(&last, last, model->norm, model->config.norm_eps, model->stream) ||
                 multiply(logits, model, last, &model->head) || mlx_reshape(logits, *logits, shape, 2, model->stream);
    return mlx_array_free(last), failed;
}

int llama_step(mlx_array *logits, const struct llama *model, struct llama_cache *cache, const mlx_array tokens)
{
    if (mlx_array_ndim(tokens) != 2 || mlx_array_dim(tokens, 0) != cache->batch)
        return llama_fail("tokens must have shape (%d, count)", cache->batch);
    int count = mlx_array_dim(tokens, 1);
    if (count < 1 || count > cache->capacity - cache->length)
        return llama_fail("%d tokens do not fit: the cache has %d positions, and %d are taken", count, cache->capacity,
                          cache->length);
    mlx_array x = mlx_array_new();
    int failed = mlx_take_axis(&x, model->embeddings, tokens, 0, model->stream);
    for (int i = 0; i < model->config.layers && !failed; i++)
        failed = attend(&x, model, i, cache) || feed_forward(&x, model, &model->layers[i]);
    failed = failed || predict(logits, model, x);
    if (!failed) cache->length += count;
    return mlx_array_free(x), failed;
}

int llama_sample(mlx_array *token, const mlx_array logits, float temperature, mlx_stream stream)
{
    const int shape[] = {mlx_array_dim(logits, 0), 1};
    mlx_array scaled = mlx_array_new(), divisor = mlx_array_new_float32(temperature);
    int failed = temperature > 0 ? mlx_astype(&scaled, logits, MLX_FLOAT32, stream) ||
                                       mlx_divide(&scaled, scaled, divisor, stream) ||
                                       mlx_random_categorical(token, scaled, -1, mlx_array_empty, stream)
                                 : mlx_argmax_axis(token, logits, -1, false, stream);
    failed = failed || mlx_astype(token, *token, MLX_INT32, stream) || mlx_reshape(token, *token, shape, 2, stream);
    return mlx_array_free(scaled), mlx_array_free(divisor), failed;
}
