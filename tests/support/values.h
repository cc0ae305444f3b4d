/*
 * values.h - numbers worth testing, of every dtype, and a generator of random ones that is the same everywhere.
 */
#ifndef KILN_TESTS_SUPPORT_VALUES_H
#define KILN_TESTS_SUPPORT_VALUES_H

#include "support/scalar.h"

/* ---- random numbers -----------------------------------------------------------------------------------------------
 */

static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 to below - 1 */
static inline int random_below(uint64_t *state, int below)
{
    return (int)(next_random(state) >> 33) % below;
}

static inline bool one_in(uint64_t *state, int count)
{
    return random_below(state, count) == 0;
}

/* ---- chosen ones --------------------------------------------------------------------------------------------------
 */

static const double chosen_floats[] = {
    0.0,       -0.0,       1.0,       -1.0,    0.5,     -0.5,       1.0 / 3,    -1.0 / 3,   2.0,      2.5,
    3.5,       -2.5,       7.0,       0.1,     1e-5,    -1e-5,      10.5,       -17.25,     88.5,     89.5,
    -87.5,     -103.5,     -110.0,    127.5,   128.0,   -128.9,     255.9,      256.0,      32767.5,  -32769.0,
    65504.0,   65519.0,    65520.0,   65535.5, 65536.0, 16777217.0, 0x1p31,     -0x1p31,    0x1p32,   0x1p63,
    -0x1p63,   0x1p64,     3e9,       -3e9,    1e20,    -1e20,      FLT_MAX,    -FLT_MAX,   FLT_MIN,  0x1p-149,
    -0x1p-149, 0x1.8p-140, 0x1p-14,   0x1p-24, 0x1p-25, 0x1.8p-25,  0x1p-126,   0x1p-133,   INFINITY, -INFINITY,
    NAN,       0.9999999,  1.0000001, 4.0,     -4.0,    1e-38,      0x1.fep127, 0x1.ffp127,
};

static const double chosen_doubles[] = {
    DBL_MAX,
    -DBL_MAX,
    DBL_MIN,
    0x1p-1074,
    -0x1p-1074,
    0x1.5p-1060,
    1e300,
    1e-300,
    709.5,
    710.0,
    -708.0,
    -744.5,
    -750.0,
    0x1.0000000000001p0,
    0x1.fffffffffffffp-1,
    9007199254740993.0,
    0x1p-150,
    0x1.00000000001p-140,
    1e39,
    -1e39,
    18446744073709549568.0,
    9223372036854774784.0,
};

static const int64_t chosen_integers[] = {0,
                                          1,
                                          2,
                                          3,
                                          7,
                                          12,
                                          23,
                                          100,
                                          127,
                                          128,
                                          255,
                                          256,
                                          32767,
                                          32768,
                                          65535,
                                          65536,
                                          16777216,
                                          16777217,
                                          2147483647,
                                          2147483648,
                                          4294967295,
                                          4294967296,
                                          INT64_MAX,
                                          INT64_MAX - 1,
                                          9007199254740993,
                                          0x7fffff4000000001};

enum {
    CHOSEN_FLOATS = sizeof chosen_floats / sizeof *chosen_floats,
    CHOSEN_DOUBLES = sizeof chosen_doubles / sizeof *chosen_doubles,
    CHOSEN_INTEGERS = sizeof chosen_integers / sizeof *chosen_integers
};

/* How many chosen values there are of a dtype. */
static inline int chosen_count(mlx_dtype dtype)
{
    switch (facts[dtype].kind) {
    case IS_BOOL:
        return 2;
    case IS_UNSIGNED:
    case IS_SIGNED:
        return 2 * CHOSEN_INTEGERS;
    default:
        return dtype == MLX_FLOAT64 ? CHOSEN_FLOATS + CHOSEN_DOUBLES : CHOSEN_FLOATS;
    }
}

static inline struct scalar chosen(mlx_dtype dtype, int index)
{
    index %= chosen_count(dtype);
    if (dtype == MLX_BOOL) return make_bool(index != 0);
    if (is_integer(dtype)) { /* each of them, then its negative: wrapped to the dtype */
        uint64_t value = (uint64_t)chosen_integers[index / 2];
        return make_wrapped(index % 2 ? ~value : value, dtype);
    }
    if (dtype == MLX_FLOAT64)
        return make_double(index < CHOSEN_FLOATS ? chosen_floats[index] : chosen_doubles[index - CHOSEN_FLOATS]);
    struct scalar x = make_float((float)chosen_floats[index], dtype);
    if (dtype == MLX_COMPLEX64) x.imaginary = (float)chosen_floats[(index * 7 + 3) % CHOSEN_FLOATS];
    return x;
}

/* Any bits for integers; for floats of many magnitudes, one in eight a chosen one. */
static inline float random_float(uint64_t *state)
{
    float fraction = (float)(int32_t)(next_random(state) >> 32) * 0x1p-31f;
    int spread = one_in(state, 4) ? 120 : 6;
    return ldexpf(fraction, random_below(state, 2 * spread + 1) - spread + 3);
}

static inline struct scalar random_value(mlx_dtype dtype, uint64_t *state)
{
    if (one_in(state, 8)) return chosen(dtype, random_below(state, chosen_count(dtype)));
    if (dtype == MLX_BOOL) return make_bool(one_in(state, 2));
    if (is_integer(dtype)) return make_wrapped(next_random(state) >> random_below(state, 60), dtype);
    if (dtype == MLX_FLOAT64)
        return make_double((double)random_float(state) * (1 + (double)random_float(state) * 0x1p-30));
    struct scalar x = make_float(random_float(state), dtype);
    if (dtype == MLX_COMPLEX64) x.imaginary = random_float(state);
    return x;
}

/* -8 to 8 in every dtype that has it, else 0 to 8: sums and products of a few of them are exact. */
static inline struct scalar small_value(mlx_dtype dtype, uint64_t *state)
{
    int value = random_below(state, 17) - 8;
    if (dtype == MLX_BOOL) return make_bool(value & 1);
    if (is_integer(dtype)) return make_wrapped((uint64_t)(int64_t)value, dtype);
    if (dtype == MLX_FLOAT64) return make_double(value);
    struct scalar x = make_float((float)value, dtype);
    if (dtype == MLX_COMPLEX64) x.imaginary = (float)(random_below(state, 17) - 8);
    return x;
}

#endif
