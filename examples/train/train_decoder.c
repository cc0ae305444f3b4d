/*
 * train_decoder.c - a transformer that guesses the next token: norms, rotated queries and keys, causal attention,
 * SwiGLU.
 */
#include "train.h"

static const mlx_array none;

/* x (BATCH, LENGTH, WIDTH) times a matrix, as (BATCH, HEADS, LENGTH, HEAD). */
static int project(mlx_array *out, mlx_array x, mlx_array weight, mlx_stream stream)
{
    static const int heads[] = {BATCH, LENGTH, HEADS, HEAD}, order[] = {0, 2, 1, 3};
    return mlx_matmul(out, x, weight, stream) || mlx_reshape(out, *out, heads, 4, stream) ||
           mlx_transpose_axes(out, *out, order, 4, stream);
}

static int rotate(mlx_array *x, mlx_stream stream)
{
    const mlx_optional_float base = {.value = ROPE_BASE, .has_value = true};
    return mlx_fast_rope(x, *x, HEAD, false, base, 1, 0, none, stream);
}

static int attend(mlx_array *x, const mlx_array *p, mlx_stream stream)
{
    static const int order[] = {0, 2, 1, 3}, flat[] = {BATCH, LENGTH, WIDTH};
    mlx_array norm = mlx_array_new(), q = mlx_array_new(), k = mlx_array_new(), v = mlx_array_new();
    int failed =
        mlx_fast_rms_norm(&norm, *x, p[NORM_1], NORM_EPSILON, stream) || project(&q, norm, p[QUERY], stream) ||
        project(&k, norm, p[KEY], stream) || project(&v, norm, p[VALUE], stream) || rotate(&q, stream) ||
        rotate(&k, stream) ||
        mlx_fast_scaled_dot_product_attention(&q, q, k, v, 1 / sqrtf(HEAD), "causal", none, none, false, stream) ||
        mlx_transpose_axes(&q, q, order, 4, stream) || mlx_reshape(&q, q, flat, 3, stream) ||
        mlx_matmul(&q, q, p[OUT], stream) || mlx_add(x, *x, q, stream);
    return mlx_array_free(norm), mlx_array_free(q), mlx_array_free(k), mlx_array_free(v), failed;
}

/* silu(norm @ gate) * (norm @ up) @ down */
static int feed_forward(mlx_array *x, const mlx_array *p, mlx_stream stream)
{
    mlx_array norm = mlx_array_new(), gate = mlx_array_new(), up = mlx_array_new(), open = mlx_array_new();
    int failed = mlx_fast_rms_norm(&norm, *x, p[NORM_2], NORM_EPSILON, stream) ||
                 mlx_matmul(&gate, norm, p[GATE], stream) || mlx_matmul(&up, norm, p[UP], stream) ||
                 mlx_sigmoid(&open, gate, stream) || mlx_multiply(&gate, gate, open, stream) ||
                 mlx_multiply(&gate, gate, up, stream) || mlx_matmul(&gate, gate, p[DOWN], stream) ||
                 mlx_add(x, *x, gate, stream);
    return mlx_array_free(norm), mlx_array_free(gate), mlx_array_free(up), mlx_array_free(open), failed;
}

static int run_loss(mlx_array *loss, const mlx_array *p, const mlx_array *batch, mlx_stream stream)
{
    static const int rows[] = {BATCH * LENGTH, WORDS};
    mlx_array x = mlx_array_new();
    int failed = mlx_take_axis(&x, p[EMBEDDING], batch[0], 0, stream);
    for (int i = 0; i < LAYERS; i++) {
        const mlx_array *layer = &p[FIRST_LAYER + i * LAYER_PARAMETERS];
        failed = failed || attend(&x, layer, stream) || feed_forward(&x, layer, stream);
    }
    failed = failed || mlx_fast_rms_norm(&x, x, p[NORM], NORM_EPSILON, stream) ||
             mlx_matmul(&x, x, p[HEAD_MATRIX], stream) || mlx_reshape(&x, x, rows, 2, stream) ||
             cross_entropy(loss, x, batch[1], stream);
    return mlx_array_free(x), failed;
}

static void make_batch(int step, mlx_array *batch)
{
    int tokens[BATCH][LENGTH + 1], read[BATCH][LENGTH], next[BATCH][LENGTH];
    make_tokens(step, tokens);
    for (int row = 0; row < BATCH; row++)
        for (int i = 0; i < LENGTH; i++) read[row][i] = tokens[row][i], next[row][i] = tokens[row][i + 1];
    batch[0] = mlx_array_new_data(read, (const int[]){BATCH, LENGTH}, 2, MLX_INT32);
    batch[1] = mlx_array_new_data(next, (const int[]){BATCH * LENGTH, 1}, 2, MLX_INT32);
}

const struct model decoder = {"decoder", decoder_parameters, DECODER_PARAMETERS, 2, DECODER_RATE, run_loss, make_batch};
