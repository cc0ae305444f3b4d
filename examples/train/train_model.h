/*
 * train_model.h - what is trained, in plain C: sizes, parameters, first values and batches. The reference in
 * tests/process/train_reference.c reads it too, and nothing else of this folder.
 */
#ifndef EXAMPLES_TRAIN_MODEL_H
#define EXAMPLES_TRAIN_MODEL_H

#include <math.h>
#include <stdint.h>

/* A decoder of a generated language: each token follows from the one before it, or is any token, one time in eight. */
#ifndef DECODER_SIZES /* a test has others */
#define DECODER_SIZES WORDS = 64, WIDTH = 128, HEADS = 4, HIDDEN = 256, BATCH = 8, LENGTH = 64
#endif
enum { DECODER_SIZES, HEAD = WIDTH / HEADS, LAYERS = 2 };

/* Three spirals of points in a plane; which one is it? */
enum { POINTS = 192, SPIRALS = 3, NEURONS = 64 };

struct parameter {
    int ndim, dims[2];
    float scale; /* of random first values; 0: ones */
};

/* Of a layer of the decoder; matrices are (inputs, outputs). */
enum layer_parameter { NORM_1, QUERY, KEY, VALUE, OUT, NORM_2, GATE, UP, DOWN, LAYER_PARAMETERS };
enum { EMBEDDING, NORM, HEAD_MATRIX, FIRST_LAYER, DECODER_PARAMETERS = FIRST_LAYER + LAYERS * LAYER_PARAMETERS };

#define LAYER                                                                                                          \
    {1, {WIDTH}, 0}, {2, {WIDTH, WIDTH}, 0.09f}, {2, {WIDTH, WIDTH}, 0.09f}, {2, {WIDTH, WIDTH}, 0.09f},               \
        {2, {WIDTH, WIDTH}, 0.05f}, {1, {WIDTH}, 0}, {2, {WIDTH, HIDDEN}, 0.09f}, {2, {WIDTH, HIDDEN}, 0.09f},         \
        {2, {HIDDEN, WIDTH}, 0.05f}

static const struct parameter decoder_parameters[DECODER_PARAMETERS] = {
    {2, {WORDS, WIDTH}, 0.5f}, {1, {WIDTH}, 0}, {2, {WIDTH, WORDS}, 0.09f}, LAYER, LAYER};

enum { WEIGHT_1, BIAS_1, WEIGHT_2, BIAS_2, WEIGHT_3, BIAS_3, MLP_PARAMETERS };

static const struct parameter mlp_parameters[MLP_PARAMETERS] = {{2, {2, NEURONS}, 0.7f},        {1, {NEURONS}, 0.1f},
                                                                {2, {NEURONS, NEURONS}, 0.12f}, {1, {NEURONS}, 0.1f},
                                                                {2, {NEURONS, SPIRALS}, 0.12f}, {1, {SPIRALS}, 0.1f}};

static inline int parameter_size(const struct parameter *parameter)
{
    return parameter->dims[0] * (parameter->ndim == 2 ? parameter->dims[1] : 1);
}

static inline uint32_t next_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* The same numbers in every run, between -scale and scale. */
static inline void first_values(const struct parameter *parameter, uint32_t seed, float *values)
{
    seed = seed * 2654435761u + 12345;
    for (int i = 0; i < parameter_size(parameter); i++) {
        float unit = (float)next_number(&seed) / (float)(1 << 23) - 1;
        values[i] = parameter->scale > 0 ? unit * parameter->scale : 1;
    }
}

/* BATCH rows of LENGTH + 1 tokens: each but the last is read, each but the first is to be guessed. */
static inline void make_tokens(int step, int tokens[BATCH][LENGTH + 1])
{
    uint32_t seed = (uint32_t)step * 7919 + 17;
    for (int row = 0; row < BATCH; row++)
        for (int i = 0; i <= LENGTH; i++) {
            uint32_t any = next_number(&seed) % WORDS, noise = next_number(&seed) % 8;
            uint32_t follows = i < 1 ? any : (uint32_t)(5 * tokens[row][i - 1] + 7) % WORDS;
            tokens[row][i] = (int)(noise == 0 ? any : follows);
        }
}

static inline void make_points(float points[POINTS][2], int labels[POINTS])
{
    uint32_t seed = 5;
    for (int i = 0; i < POINTS; i++) {
        double along = (double)(i / SPIRALS) / (POINTS / SPIRALS);
        double angle = 4 * along + 2.0943951 * (i % SPIRALS) + 0.1 * ((double)next_number(&seed) / (1 << 24) - 0.5);
        labels[i] = i % SPIRALS;
        points[i][0] = (float)(along * cos(angle));
        points[i][1] = (float)(along * sin(angle));
    }
}

/* Adam: m and v are running means of the gradient and of its square; the parameter goes back by rate * m / (sqrt(v) +
 * EPSILON), with the rate that makes up for m and v having begun with 0. */
#define BETA_1  0.9
#define BETA_2  0.99
#define EPSILON 1e-6

static inline double adam_rate(double rate, int step)
{
    return rate * sqrt(1 - pow(BETA_2, step)) / (1 - pow(BETA_1, step));
}

#define DECODER_RATE 1e-3
#define MLP_RATE     1e-2
#define NORM_EPSILON 1e-5f
#define ROPE_BASE    10000

#endif
