/*
 * transformer.c - two layers of a transformer, one token at a time, with keys and values that grow by one each step.
 *
 * The step is one compiled function: the token's vector, the keys and values of each layer and the token's position go
 * in, the next vector and the longer keys and values come out. It is shapeless: one trace serves every length. The
 * position is an array, because a number would be that of the first step for ever. The weights are captured.
 */
#include "support.h"

enum { LAYERS = 2, WIDTH = 16, HEADS = 2, HEAD = WIDTH / HEADS, HIDDEN = 24, STEPS = 6 };

/* A layer: norm, attention, norm, SwiGLU. Matrices are (inputs, outputs). */
enum weight { NORM_1, QUERY, KEY, VALUE, OUT, NORM_2, GATE, UP, DOWN, WEIGHTS };

static const int weight_shapes[WEIGHTS][2] = {
    [NORM_1] = {1, WIDTH},    [QUERY] = {WIDTH, WIDTH}, [KEY] = {WIDTH, WIDTH},
    [VALUE] = {WIDTH, WIDTH}, [OUT] = {WIDTH, WIDTH},   [NORM_2] = {1, WIDTH},
    [GATE] = {WIDTH, HIDDEN}, [UP] = {WIDTH, HIDDEN},   [DOWN] = {HIDDEN, WIDTH},
};

static float weights[LAYERS][WEIGHTS][WIDTH * HIDDEN];
static mlx_array arrays[LAYERS][WEIGHTS];
static mlx_stream stream;

static void make_weights(void)
{
    for (int layer = 0; layer < LAYERS; layer++)
        for (int w = 0; w < WEIGHTS; w++) {
            const int *shape = weight_shapes[w];
            fill(weights[layer][w], (size_t)(shape[0] * shape[1]), (uint32_t)(layer * WEIGHTS + w));
            for (int i = 0; i < WIDTH * HIDDEN; i++) weights[layer][w][i] *= 0.5f;
            bool is_norm = shape[0] == 1;
            arrays[layer][w] = mlx_array_new_data(weights[layer][w], shape + is_norm, 2 - is_norm, MLX_FLOAT32);
        }
}

/* ---- as a compiled function ----------------------------------------------------------------------------------- */

static int swiglu(mlx_array *res, const mlx_array gate, const mlx_array up, void *unused)
{
    (void)unused;
    return mlx_sigmoid(res, gate, stream) || mlx_multiply(res, gate, *res, stream) ||
           mlx_multiply(res, *res, up, stream);
}

/* x times a matrix, as (1, heads, 1, head). */
static int project(mlx_array *res, mlx_array x, mlx_array weight)
{
    static const int shape[] = {1, HEADS, 1, HEAD};
    return mlx_matmul(res, x, weight, stream) || mlx_reshape(res, *res, shape, 4, stream);
}

static int rotate(mlx_array *res, mlx_array position)
{
    const mlx_optional_float base = {.value = 10000, .has_value = true};
    return mlx_fast_rope_dynamic(res, *res, HEAD, false, base, 1, position, mlx_array_empty, stream);
}

/* *cache gets one more row. */
static int append(mlx_array *cache, mlx_array row)
{
    const mlx_array both[] = {*cache, row};
    mlx_vector_array parts = mlx_vector_array_new_data(both, 2);
    int failed = mlx_concatenate_axis(cache, parts, 2, stream);
    return mlx_vector_array_free(parts), failed;
}

static int attend(mlx_array *x, const mlx_array *w, mlx_array *keys, mlx_array *values, mlx_array position)
{
    static const int flat[] = {1, WIDTH};
    mlx_array norm = mlx_array_new(), query = mlx_array_new(), row = mlx_array_new();
    int failed = mlx_fast_rms_norm(&norm, *x, w[NORM_1], 1e-5f, stream);
    failed = failed || project(&query, norm, w[QUERY]) || rotate(&query, position);
    failed = failed || project(&row, norm, w[KEY]) || rotate(&row, position) || append(keys, row);
    failed = failed || project(&row, norm, w[VALUE]) || append(values, row);
    failed = failed || mlx_fast_scaled_dot_product_attention(&row, query, *keys, *values, 1 / sqrtf(HEAD), "",
                                                             mlx_array_empty, mlx_array_empty, false, stream);
    failed = failed || mlx_reshape(&row, row, flat, 2, stream) || mlx_matmul(&row, row, w[OUT], stream);
    failed = failed || mlx_add(x, *x, row, stream);
    return mlx_array_free(norm), mlx_array_free(query), mlx_array_free(row), failed;
}

static int feed_forward(mlx_array *x, const mlx_array *w, mlx_closure activation)
{
    mlx_array norm = mlx_array_new(), gate = mlx_array_new(), up = mlx_array_new();
    int failed = mlx_fast_rms_norm(&norm, *x, w[NORM_2], 1e-5f, stream) || mlx_matmul(&gate, norm, w[GATE], stream) ||
                 mlx_matmul(&up, norm, w[UP], stream) || kiln_call_binary(&gate, activation, gate, up) ||
                 mlx_matmul(&gate, gate, w[DOWN], stream) || mlx_add(x, *x, gate, stream);
    return mlx_array_free(norm), mlx_array_free(gate), mlx_array_free(up), failed;
}

enum { STATE = 1 + 2 * LAYERS };

/* In and out: the vector, then keys and values of each layer. In: the position. */
static int step(mlx_vector_array *res, const mlx_vector_array in, void *activation)
{
    mlx_array state[STATE + 1];
    int failed = 0;
    for (size_t i = 0; i < STATE + 1; i++) {
        state[i] = mlx_array_new();
        failed = failed || mlx_vector_array_get(&state[i], in, i);
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        mlx_array *cache = &state[1 + 2 * layer];
        failed = failed || attend(&state[0], arrays[layer], &cache[0], &cache[1], state[STATE]) ||
                 feed_forward(&state[0], arrays[layer], *(mlx_closure *)activation);
    }
    failed = failed || mlx_vector_array_set_data(res, state, STATE);
    for (size_t i = 0; i < STATE + 1; i++) mlx_array_free(state[i]);
    return failed;
}

/* ---- in plain C ----------------------------------------------------------------------------------------------- */

static float keys_in_c[LAYERS][STEPS][WIDTH], values_in_c[LAYERS][STEPS][WIDTH];

static void times(float *res, const float *x, const float *weight, int rows, int columns)
{
    for (int j = 0; j < columns; j++) {
        double sum = 0;
        for (int i = 0; i < rows; i++) sum += (double)x[i] * (double)weight[i * columns + j];
        res[j] = (float)sum;
    }
}

static void normalize(float *res, const float *x, const float *weight)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += (double)x[i] * (double)x[i];
    for (int i = 0; i < WIDTH; i++) res[i] = (float)((double)x[i] / sqrt(sum / WIDTH + 1e-5) * (double)weight[i]);
}

static void rotate_in_c(float *x, int position)
{
    for (int head = 0; head < HEADS; head++)
        for (int i = 0; i < HEAD / 2; i++) {
            float *a = &x[head * HEAD + i], *b = a + HEAD / 2, was = *a;
            double angle = position * pow(10000, -2.0 * i / HEAD);
            *a = (float)(was * cos(angle) - *b * sin(angle));
            *b = (float)(was * sin(angle) + *b * cos(angle));
        }
}

static void attend_in_c(float *res, const float *query, int layer, int length)
{
    for (int head = 0; head < HEADS; head++) {
        double scores[STEPS], sum = 0;
        const int first = head * HEAD;
        for (int t = 0; t < length; t++) {
            double score = 0;
            for (int i = first; i < first + HEAD; i++) score += (double)query[i] * (double)keys_in_c[layer][t][i];
            scores[t] = exp(score / sqrt(HEAD));
            sum += scores[t];
        }
        for (int i = first; i < first + HEAD; i++) {
            double value = 0;
            for (int t = 0; t < length; t++) value += scores[t] / sum * (double)values_in_c[layer][t][i];
            res[i] = (float)value;
        }
    }
}

static void step_in_c(float *x, int position)
{
    float norm[WIDTH], query[WIDTH], mixed[WIDTH], gate[HIDDEN], up[HIDDEN];
    for (int layer = 0; layer < LAYERS; layer++) {
        float(*w)[WIDTH * HIDDEN] = weights[layer];
        normalize(norm, x, w[NORM_1]);
        times(query, norm, w[QUERY], WIDTH, WIDTH);
        times(keys_in_c[layer][position], norm, w[KEY], WIDTH, WIDTH);
        times(values_in_c[layer][position], norm, w[VALUE], WIDTH, WIDTH);
        rotate_in_c(query, position), rotate_in_c(keys_in_c[layer][position], position);
        attend_in_c(mixed, query, layer, position + 1);
        times(query, mixed, w[OUT], WIDTH, WIDTH);
        for (int i = 0; i < WIDTH; i++) x[i] += query[i];
        normalize(norm, x, w[NORM_2]);
        times(gate, norm, w[GATE], WIDTH, HIDDEN), times(up, norm, w[UP], WIDTH, HIDDEN);
        for (int i = 0; i < HIDDEN; i++) gate[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
        times(mixed, gate, w[DOWN], HIDDEN, WIDTH);
        for (int i = 0; i < WIDTH; i++) x[i] += mixed[i];
    }
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

/* Nothing is cached yet: length 0. */
static mlx_vector_array first_state(const float *x)
{
    static const int empty[] = {1, HEADS, 0, HEAD}, row[] = {1, WIDTH};
    mlx_array start = mlx_array_new_data(x, row, 2, MLX_FLOAT32), nothing = mlx_array_new();
    mlx_vector_array state = mlx_vector_array_new_value(start);
    if (mlx_zeros(&nothing, empty, 4, MLX_FLOAT32, stream)) exit(2);
    for (int i = 0; i < 2 * LAYERS; i++) mlx_vector_array_append_value(state, nothing);
    mlx_array_free(start), mlx_array_free(nothing);
    return state;
}

/* The vector that a step gave is the next step's. */
static void generate(mlx_closure fast)
{
    float x[WIDTH];
    char what[64];
    mlx_array out = mlx_array_new();
    fill(x, WIDTH, 99);
    mlx_vector_array state = first_state(x);
    for (int position = 0; position < STEPS; position++) {
        mlx_array at = mlx_array_new_int(position);
        step_in_c(x, position);
        mlx_vector_array_append_value(state, at);
        if (mlx_closure_apply(&state, fast, state) || mlx_vector_array_get(&out, state, 0)) exit(2);
        snprintf(what, sizeof what, "token %d", position);
        check(what, out, x, WIDTH);
        mlx_array_free(at);
    }
    mlx_vector_array_free(state), mlx_array_free(out);
}

int main(void)
{
    mlx_closure fast = mlx_closure_new(), activation = mlx_closure_new();
    stream = default_stream();
    make_weights();
    kiln_compile_binary(&activation, "swiglu", swiglu, NULL, NULL, true);
    kiln_compile(&fast, "transformer", step, &activation, NULL, true);
    generate(fast);
    generate(fast);
    mlx_closure_free(fast), mlx_closure_free(activation);
    for (int i = 0; i < LAYERS * WEIGHTS; i++) mlx_array_free(arrays[i / WEIGHTS][i % WEIGHTS]);
    mlx_stream_free(stream);
    print_counters();
}
