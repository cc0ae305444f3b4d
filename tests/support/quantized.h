/*
 * quantized.h - formats of quantized matrices, read plainly: a bit stream bit by bit, small floats from tables; and
 * calls in every mode. Matrices have ROWS rows of 256 elements unless a test makes its own.
 */
#ifndef KILN_TESTS_SUPPORT_QUANTIZED_H
#define KILN_TESTS_SUPPORT_QUANTIZED_H

#include "support/arrays.h"

enum { ROWS = 3 };

static const mlx_dtype float_dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16};
static const mlx_array nothing;

static inline struct numbers matrix(mlx_dtype dtype, int rows, int columns)
{
    struct shape shape = {2, {rows, columns}};
    return numbers_new(dtype, &shape);
}
#define matrix(...) CHECK_CALL(matrix, __VA_ARGS__)

static inline struct numbers random_matrix(mlx_dtype dtype, int rows, int columns, uint64_t *random)
{
    struct numbers out = matrix(dtype, rows, columns);
    for (int i = 0; i < out.size; i++)
        put(&out, i, scalar_cast(make_double((double)(int32_t)(next_random(random) >> 32) * 0x1p-31), dtype));
    return out;
}
#define random_matrix(...) CHECK_CALL(random_matrix, __VA_ARGS__)

static inline double at(const struct numbers *numbers, int i)
{
    return to_double(get(numbers, i));
}
#define at(...) CHECK_CALL(at, __VA_ARGS__)

static inline void put_number(struct numbers *numbers, int i, double value)
{
    put(numbers, i, scalar_cast(make_double(value), numbers->dtype));
}

/* ---- formats ----------------------------------------------------------------------------------------------------- */

/* The bits of a row, from the low end of its first word on. */
static inline uint32_t code_at(const uint32_t *words, int bits, int i)
{
    uint32_t code = 0;
    for (int k = 0; k < bits; k++) {
        int bit = i * bits + k;
        code |= (words[bit / 32] >> bit % 32 & 1) << k;
    }
    return code;
}

static const double e2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

static inline double e4m3(uint32_t code)
{
    int exponent = code >> 3 & 15, mantissa = code & 7;
    double size = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
    if ((code & 127) == 127) return NAN;
    return code & 128 ? -size : size;
}

static inline double small_float(uint32_t code, int bits)
{
    if (bits == 8) return e4m3(code);
    return code & 8 ? -e2m1[code & 7] : e2m1[code & 7];
}

/* The nearest code without a sign; of two that are as near, the even one. */
static inline uint32_t nearest(double size, int bits)
{
    uint32_t last = bits == 8 ? 126 : 7, best = 0;
    for (uint32_t code = 1; code <= last; code++) {
        double here = fabs(small_float(code, bits) - size), there = fabs(small_float(best, bits) - size);
        if (here < there || (here == there && code % 2 == 0)) best = code;
    }
    return best;
}

static inline uint32_t to_small(double value, int bits)
{
    return nearest(fabs(value), bits) | (signbit(value) ? 1u << (bits - 1) : 0);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

struct mode {
    const char *name;
    int group_size, bits;
};

static const struct mode modes[] = {
    {"affine", 32, 2},  {"affine", 64, 3}, {"affine", 128, 4}, {"affine", 32, 5}, {"affine", 64, 6},
    {"affine", 128, 8}, {"affine", 64, 2}, {"affine", 128, 3}, {"affine", 32, 4}, {"affine", 64, 5},
    {"affine", 128, 6}, {"affine", 32, 8}, {"mxfp4", 32, 4},   {"mxfp8", 32, 8},  {"nvfp4", 16, 4},
};
enum { MODES = sizeof modes / sizeof *modes, FIRST_FLOAT_MODE = 12 };

static inline bool is_affine(const struct mode *mode)
{
    return mode->name[0] == 'a';
}

static inline mlx_optional_int given(int value)
{
    return (mlx_optional_int){value, true};
}

static inline int call_quantize(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct mode *mode = context;
    mlx_vector_array parts = mlx_vector_array_new();
    int code = mlx_quantize(&parts, inputs[0], given(mode->group_size), given(mode->bits), mode->name,
                            count > 1 ? inputs[1] : nothing, stream);
    CHECK_EQ(code ? 0 : mlx_vector_array_size(parts), code ? 0 : is_affine(mode) ? 3 : 2);
    for (size_t i = 0; !code && i < mlx_vector_array_size(parts); i++) mlx_vector_array_get(&outputs[i], parts, i);
    mlx_vector_array_free(parts);
    return code;
}
#define call_quantize(...) CHECK_CALL(call_quantize, __VA_ARGS__)

/* Codes, scales, then biases or a global scale. */
static inline int call_dequantize(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct mode *mode = context;
    mlx_array third = count > 2 ? inputs[2] : nothing;
    mlx_optional_dtype dtype = {MLX_FLOAT32, !is_affine(mode)};
    return mlx_dequantize(&outputs[0], inputs[0], inputs[1], is_affine(mode) ? third : nothing, given(mode->group_size),
                          given(mode->bits), mode->name, is_affine(mode) ? nothing : third, dtype, stream);
}

struct parts {
    struct numbers codes, scales, biases;
};

static inline int part_count(const struct mode *mode)
{
    return is_affine(mode) ? 3 : 2;
}

static inline void free_parts(struct parts *parts, const struct mode *mode)
{
    numbers_free(&parts->codes), numbers_free(&parts->scales);
    if (is_affine(mode)) numbers_free(&parts->biases);
}

/* Random codes, and scales that are not: each of its group's own. */
static inline struct parts random_parts(const struct mode *mode, mlx_dtype dtype, uint64_t *random)
{
    int words = 256 * mode->bits / 32, groups = 256 / mode->group_size;
    struct parts parts = {matrix(MLX_UINT32, ROWS, words), matrix(is_affine(mode) ? dtype : MLX_UINT8, ROWS, groups),
                          matrix(dtype, ROWS, groups)};
    for (int i = 0; i < ROWS * words; i++) put_number(&parts.codes, i, (double)(next_random(random) >> 32));
    for (int i = 0; i < ROWS * groups; i++) {
        put_number(&parts.scales, i, is_affine(mode) ? 0.25 * (i + 1) : mode->group_size == 16 ? 50 + i : 120 + i);
        put_number(&parts.biases, i, i - 5);
    }
    if (!is_affine(mode)) numbers_free(&parts.biases);
    return parts;
}
#define random_parts(...) CHECK_CALL(random_parts, __VA_ARGS__)

static inline double scale_of(const struct parts *parts, const struct mode *mode, int group)
{
    double stored = at(&parts->scales, group);
    return is_affine(mode) ? stored : mode->group_size == 16 ? e4m3((uint32_t)stored) : ldexp(1, (int)stored - 127);
}
#define scale_of(...) CHECK_CALL(scale_of, __VA_ARGS__)

/* In the dtype of the scales, each operation rounded. */
static inline double value_at(const struct parts *parts, const struct mode *mode, int row, int i)
{
    int words = parts->codes.shape.dims[1], groups = parts->scales.shape.dims[1];
    int group = row * groups + i / mode->group_size;
    uint32_t code = code_at((const uint32_t *)(void *)parts->codes.data + row * words, mode->bits, i);
    if (!is_affine(mode)) return small_float(code, mode->bits) * scale_of(parts, mode, group);
    mlx_dtype dtype = parts->scales.dtype;
    double scaled = to_double(scalar_cast(make_double(code * scale_of(parts, mode, group)), dtype));
    return to_double(scalar_cast(make_double(scaled + at(&parts->biases, group)), dtype));
}
#define value_at(...) CHECK_CALL(value_at, __VA_ARGS__)

/* The same, not rounded. */
static inline double exact_value_at(const struct parts *parts, const struct mode *mode, int row, int i)
{
    int words = parts->codes.shape.dims[1], groups = parts->scales.shape.dims[1];
    int group = row * groups + i / mode->group_size;
    uint32_t code = code_at((const uint32_t *)(void *)parts->codes.data + row * words, mode->bits, i);
    if (!is_affine(mode)) return value_at(parts, mode, row, i);
    return code * scale_of(parts, mode, group) + at(&parts->biases, group);
}
#define exact_value_at(...) CHECK_CALL(exact_value_at, __VA_ARGS__)

#endif
