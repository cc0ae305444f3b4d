/*
 * step_model.h - one layer of a decoder as a compiled function: a hidden state, a position in an array, and two caches
 * go in; a hidden state and the caches, updated at that position, come out. And the same in float64, in plain C.
 */
#ifndef KILN_TESTS_SUPPORT_STEP_MODEL_H
#define KILN_TESTS_SUPPORT_STEP_MODEL_H

#include <math.h>

#include "kiln.h"
#include "kiln/compile.h"
#include "unit/mlxc_support.h"

enum { HEADS = 2, LENGTH = 12, FEATURES = 4, WIDTH = HEADS * FEATURES, CACHE = HEADS * LENGTH * FEATURES };

static const int cache_shape[] = {1, HEADS, LENGTH, FEATURES}, hidden_shape[] = {1, WIDTH};

/* Weights of the three projections, the captured arrays of the function. */
struct model {
    mlx_stream stream;
    mlx_array weights[3], steps; /* q, k, v; 0, 1, ... */
    int traces;
};

static inline float weight_at(int which, int row, int column)
{
    return (float)((row * 7 + column * 5 + which * 3) % 11 - 5) / 8;
}

static inline float hidden_at(int position, int i)
{
    return (float)((position * 5 + i * 3) % 7 - 3) / 4;
}

static inline float cached_at(int which, int i)
{
    return (float)((i * 7 + which * 13) % 50);
}

static inline void model_init(struct model *model, mlx_stream stream)
{
    const int shape[] = {WIDTH, WIDTH}, steps[] = {1, 1, 1, LENGTH};
    float values[WIDTH * WIDTH], line[LENGTH];
    *model = (struct model){.stream = stream};
    for (int which = 0; which < 3; which++) {
        for (int i = 0; i < WIDTH * WIDTH; i++) values[i] = weight_at(which, i / WIDTH, i % WIDTH);
        model->weights[which] = mlx_array_new_data(values, shape, 2, MLX_FLOAT32);
    }
    for (int i = 0; i < LENGTH; i++) line[i] = (float)i;
    model->steps = mlx_array_new_data(line, steps, 4, MLX_FLOAT32);
}

static inline void model_free(struct model *model)
{
    for (int which = 0; which < 3; which++) mlx_array_free(model->weights[which]);
    mlx_array_free(model->steps);
}

/* x @ weight as (1, heads, 1, features), turned by the position if it has to be. */
static inline int project(const struct model *model, mlx_array *res, mlx_array x, int which, mlx_array position)
{
    const mlx_optional_float base = {10000, true};
    return mlx_matmul(res, x, model->weights[which], model->stream) ||
           mlx_reshape(res, *res, (int[]){1, HEADS, 1, FEATURES}, 4, model->stream) ||
           (which < 2 &&
            mlx_fast_rope_dynamic(res, *res, FEATURES, false, base, 1, position, (mlx_array){0}, model->stream));
}

/* 0 up to the position, -1e9 behind it. */
static inline int make_mask(const struct model *model, mlx_array *res, mlx_array position)
{
    mlx_array low = mlx_array_new_float(-1e9f), zero = mlx_array_new_float(0);
    int code =
        mlx_less_equal(res, model->steps, position, model->stream) || mlx_where(res, *res, zero, low, model->stream);
    mlx_array_free(low), mlx_array_free(zero);
    return code;
}

/* Inputs: hidden, position, keys, values. Outputs: hidden, keys, values. */
static int model_step(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct model *model = payload;
    mlx_array x[4] = {{0}}, q = mlx_array_new(), k = mlx_array_new(), v = mlx_array_new(), mask = mlx_array_new();
    const int axis = 2;
    int code = 0;
    model->traces++;
    for (size_t i = 0; i < 4 && !code; i++) code = mlx_vector_array_get(&x[i], in, i);
    code =
        code || project(model, &q, x[0], 0, x[1]) || project(model, &k, x[0], 1, x[1]) ||
        project(model, &v, x[0], 2, x[1]) || mlx_slice_update_dynamic(&k, x[2], k, x[1], &axis, 1, model->stream) ||
        mlx_slice_update_dynamic(&v, x[3], v, x[1], &axis, 1, model->stream) || make_mask(model, &mask, x[1]) ||
        mlx_fast_scaled_dot_product_attention(&q, q, k, v, 0.5f, "array", mask, (mlx_array){0}, false, model->stream) ||
        mlx_reshape(&q, q, hidden_shape, 2, model->stream) || mlx_add(&q, q, x[0], model->stream) ||
        mlx_vector_array_set_data(res, (mlx_array[]){q, k, v}, 3);
    for (int i = 0; i < 4; i++) mlx_array_free(x[i]);
    mlx_array_free(q), mlx_array_free(k), mlx_array_free(v), mlx_array_free(mask);
    return code;
}

static inline mlx_closure model_compile(struct model *model)
{
    mlx_closure compiled = mlx_closure_new();
    CHECK_EQ(kiln_compile(&compiled, "step", model_step, model, NULL, false), 0);
    return compiled;
}
#define model_compile(...) CHECK_CALL(model_compile, __VA_ARGS__)

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static inline mlx_array make_hidden(int position)
{
    float values[WIDTH];
    for (int i = 0; i < WIDTH; i++) values[i] = hidden_at(position, i);
    return mlx_array_new_data(values, hidden_shape, 2, MLX_FLOAT32);
}

/* Made where the stream is. */
static inline mlx_array make_cache(int which, mlx_stream stream)
{
    float values[CACHE];
    for (int i = 0; i < CACHE; i++) values[i] = cached_at(which, i);
    mlx_array made = mlx_array_new_data(values, cache_shape, 4, MLX_FLOAT32), zero = mlx_array_new_float(0);
    CHECK_EQ(mlx_add(&made, made, zero, stream) || mlx_array_eval(made), 0);
    mlx_array_free(zero);
    return made;
}
#define make_cache(...) CHECK_CALL(make_cache, __VA_ARGS__)

/* ---- float64 ----------------------------------------------------------------------------------------------------- */

struct reference {
    double keys[CACHE], values[CACHE], hidden[WIDTH];
};

static inline void reference_init(struct reference *reference)
{
    for (int i = 0; i < CACHE; i++)
        reference->keys[i] = (double)cached_at(0, i), reference->values[i] = (double)cached_at(1, i);
}

static inline void reference_project(double *out, int which, int position)
{
    for (int i = 0; i < WIDTH; i++) {
        out[i] = 0;
        for (int k = 0; k < WIDTH; k++) out[i] += (double)hidden_at(position, k) * (double)weight_at(which, k, i);
    }
    for (int head = 0; head < HEADS && which < 2; head++)
        for (int i = 0; i < FEATURES / 2; i++) {
            double *pair = out + head * FEATURES + i, angle = position * pow(10000, -(double)i / (FEATURES / 2));
            double a = pair[0], b = pair[FEATURES / 2];
            pair[0] = a * cos(angle) - b * sin(angle), pair[FEATURES / 2] = a * sin(angle) + b * cos(angle);
        }
}

static inline void reference_step(struct reference *reference, int position)
{
    double q[WIDTH], k[WIDTH], v[WIDTH];
    reference_project(q, 0, position), reference_project(k, 1, position), reference_project(v, 2, position);
    for (int head = 0; head < HEADS; head++) {
        double weights[LENGTH], sum = 0, *keys = reference->keys + head * LENGTH * FEATURES;
        double *values = reference->values + head * LENGTH * FEATURES;
        memcpy(keys + position * FEATURES, k + head * FEATURES, FEATURES * sizeof *k);
        memcpy(values + position * FEATURES, v + head * FEATURES, FEATURES * sizeof *v);
        double top = -INFINITY;
        for (int at = 0; at <= position; at++) {
            weights[at] = 0;
            for (int i = 0; i < FEATURES; i++) weights[at] += 0.5 * q[head * FEATURES + i] * keys[at * FEATURES + i];
            top = fmax(top, weights[at]);
        }
        for (int at = 0; at <= position; at++) sum += weights[at] = exp(weights[at] - top);
        for (int i = 0; i < FEATURES; i++) {
            double *out = &reference->hidden[head * FEATURES + i];
            *out = (double)hidden_at(position, head * FEATURES + i);
            for (int at = 0; at <= position; at++) *out += weights[at] / sum * values[at * FEATURES + i];
        }
    }
}

static inline void expect_near(mlx_array got, const double *want, int count, const char *what)
{
    CHECK_EQ(mlx_array_eval(got), 0);
    CHECK_EQ(mlx_array_size(got), count);
    const float *data = mlx_array_data_float32(got);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < count; i++)
        if (fabs((double)data[i] - want[i]) > 1e-4 * (1 + fabs(want[i])))
            CHECK_FAIL("%s: element %d is %.9g, not %.9g", what, i, (double)data[i], want[i]);
}
#define expect_near(...) CHECK_CALL(expect_near, __VA_ARGS__)

/* ---- counters ---------------------------------------------------------------------------------------------------- */

static inline kiln_counters all_counters(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    return counters;
}

static inline int64_t bytes_copied(void)
{
    return (int64_t)all_counters().bytes_copied;
}

#endif
