/*
 * step_products.h - steps of random programs that multiply matrices: with numbers whose sums are exact in any order.
 */
#ifndef KILN_TESTS_SUPPORT_STEP_PRODUCTS_H
#define KILN_TESTS_SUPPORT_STEP_PRODUCTS_H

#include "support/step.h"

/* Small whole numbers of an operand, so that products and their sums are exact in any order. */
static int make_whole(mlx_array *out, mlx_array in, mlx_stream stream)
{
    mlx_array low = mlx_array_new_float(-4), high = mlx_array_new_float(4);
    int code = mlx_nan_to_num(out, in, 0, (mlx_optional_float){0}, (mlx_optional_float){0}, stream) ||
               mlx_clip(out, *out, low, high, stream) || mlx_round(out, *out, 0, stream) ||
               mlx_astype(out, *out, MLX_FLOAT32, stream);
    return mlx_array_free(low), mlx_array_free(high), code;
}

static int run_matmul(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array a = mlx_array_new(), b = mlx_array_new();
    (void)step;
    int code = make_whole(&a, in[0], stream) || make_whole(&b, in[1], stream) || mlx_matmul(out, a, b, stream);
    return mlx_array_free(a), mlx_array_free(b), code;
}

/* Rows of 32 equal whole numbers, one for each element of an operand: (elements, 32). */
enum { DEPTH = 32, MAX_ROWS = 4096 };

static bool choose_rows(const struct choice *choice, struct step *step)
{
    size_t size = mlx_array_size(choice->in[0]);
    add_number(step, (int)size);
    return size > 0 && size <= MAX_ROWS;
}

static int make_rows(mlx_array *out, mlx_array in, mlx_stream stream)
{
    const int column[] = {-1, 1}, ones[] = {1, DEPTH};
    mlx_array row = mlx_array_new();
    int code = make_whole(out, in, stream) || mlx_reshape(out, *out, column, 2, stream) ||
               mlx_ones(&row, ones, 2, MLX_FLOAT32, stream) || mlx_multiply(out, *out, row, stream);
    return mlx_array_free(row), code;
}

/* With a matrix of 8 rows in codes of 4 bits, whose values are -8 to 7. */
static int run_quantized_matmul(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    enum { COLUMNS = 8, BITS = 4 };
    const int packed[] = {COLUMNS, DEPTH * BITS / 32}, groups[] = {COLUMNS, 1};
    const mlx_optional_int group_size = {DEPTH, true}, bits = {BITS, true};
    mlx_array x = mlx_array_new(), key = mlx_array_new(), codes = mlx_array_new(), scales = mlx_array_new(),
              biases = mlx_array_new(), least = mlx_array_new_float(-8);
    int code = make_rows(&x, in[0], stream) || mlx_random_key(&key, step->seed) ||
               mlx_random_bits(&codes, packed, 2, 4, key, stream) ||
               mlx_ones(&scales, groups, 2, MLX_FLOAT32, stream) ||
               mlx_full(&biases, groups, 2, least, MLX_FLOAT32, stream) ||
               mlx_quantized_matmul(out, x, codes, scales, biases, true, group_size, bits, "affine", stream);
    mlx_array_free(x), mlx_array_free(key), mlx_array_free(codes), mlx_array_free(scales);
    return mlx_array_free(biases), mlx_array_free(least), code;
}

/* Picked rows with picked matrices of three. */
static int run_gather_mm(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    const int rows[] = {-1, 1, DEPTH}, matrices[] = {3, DEPTH, 4}, count[] = {4};
    const uint32_t last = (uint32_t)step->numbers[0] - 1, picked[] = {0, last, last / 2, last}, which[] = {2, 0, 2, 1};
    mlx_array x = mlx_array_new(), key = mlx_array_new(), weights = mlx_array_new(),
              left = mlx_array_new_data(picked, count, 1, MLX_UINT32),
              right = mlx_array_new_data(which, count, 1, MLX_UINT32);
    int code = make_rows(&x, in[0], stream) || mlx_reshape(&x, x, rows, 3, stream) ||
               mlx_random_key(&key, step->seed) || mlx_random_bits(&weights, matrices, 3, 1, key, stream) ||
               mlx_astype(&weights, weights, MLX_FLOAT32, stream) ||
               mlx_gather_mm(out, x, weights, left, right, false, stream);
    mlx_array_free(x), mlx_array_free(key), mlx_array_free(weights);
    return mlx_array_free(left), mlx_array_free(right), code;
}

#endif
