/*
 * make_layers.c - what models are made of: softmax, norms, rotary positions, attention, products, sampling.
 */
#include "maker.h"

/* Shapes of what has rows: short rows, rows of one token, rows that a thread does not keep, more than caches hold. */
static const int row_shapes[][2] = {{ROWS, COLUMNS}, {1, 4096}, {16, 10000}, {1024, 8192}};
enum { ROW_SHAPES = sizeof row_shapes / sizeof *row_shapes };

static size_t shape_count(const struct maker *maker)
{
    return maker->is_short ? 1 : maker->has_large ? ROW_SHAPES : ROW_SHAPES - 1;
}

static void make_softmax(struct maker *maker, mlx_array x)
{
    for (int precise = 0; precise < 2; precise++) {
        mlx_array result = mlx_array_new();
        maker_take(maker, "softmax", mlx_softmax_axis(&result, x, -1, precise, maker->stream), result);
    }
    mlx_array result = mlx_array_new();
    maker_take(maker, "logsumexp", mlx_logsumexp_axis(&result, x, -1, false, maker->stream), result);
    result = mlx_array_new();
    maker_take(maker, "logsumexp", mlx_logsumexp_axis(&result, x, -1, true, maker->stream), result);
}

static void make_norms(struct maker *maker, mlx_array x, mlx_dtype dtype, int columns)
{
    const mlx_array none = {NULL};
    mlx_array weight = maker_array(dtype, &columns, 1), result = mlx_array_new();
    maker_take(maker, "rms_norm", mlx_fast_rms_norm(&result, x, weight, 1e-5f, maker->stream), result);
    result = mlx_array_new();
    maker_take(maker, "rms_norm", mlx_fast_rms_norm(&result, x, none, 1e-5f, maker->stream), result);
    result = mlx_array_new();
    maker_take(maker, "layer_norm", mlx_fast_layer_norm(&result, x, weight, weight, 1e-5f, maker->stream), result);
    result = mlx_array_new();
    maker_take(maker, "layer_norm", mlx_fast_layer_norm(&result, x, weight, none, 1e-5f, maker->stream), result);
    result = mlx_array_new();
    maker_take(maker, "layer_norm", mlx_fast_layer_norm(&result, x, none, none, 1e-5f, maker->stream), result);
    mlx_array_free(weight);
}

/* (batch, heads, positions, n): a prompt, and one token. */
static void make_rope(struct maker *maker, mlx_dtype dtype)
{
    const mlx_optional_float base = {10000, true};
    const mlx_array none = {NULL};
    for (int i = 0; i < 4; i++) {
        bool is_traditional = i & 1, is_token = i & 2;
        mlx_array x = maker_array(dtype, (int[]){1, 4, is_token ? 1 : ROWS, COLUMNS}, 4), result = mlx_array_new();
        int failed =
            mlx_fast_rope(&result, x, COLUMNS, is_traditional, base, 1, is_token ? ROWS : 0, none, maker->stream);
        maker_take(maker, "rope", failed, result);
        mlx_array_free(x);
    }
}

static void make_attention(struct maker *maker, mlx_dtype dtype)
{
    const mlx_array none = {NULL};
    mlx_array x = maker_array(dtype, (int[]){1, 4, ROWS, COLUMNS}, 4);
    mlx_array token = maker_array(dtype, (int[]){1, 4, 1, COLUMNS}, 4), result = mlx_array_new();
    int failed =
        mlx_fast_scaled_dot_product_attention(&result, x, x, x, 0.125f, "causal", none, none, false, maker->stream);
    maker_take(maker, "attention", failed, result);
    result = mlx_array_new();
    failed = mlx_fast_scaled_dot_product_attention(&result, x, x, x, 0.125f, "", none, none, false, maker->stream);
    maker_take(maker, "attention", failed, result);
    result = mlx_array_new();
    failed = mlx_fast_scaled_dot_product_attention(&result, token, x, x, 0.125f, "", none, none, false, maker->stream);
    maker_take(maker, "attention", failed, result);
    mlx_array_free(token);
    mlx_array_free(x);
}

static void make_products(struct maker *maker, mlx_dtype dtype)
{
    mlx_array x = maker_operand(maker, dtype, PACKED), turned = mlx_array_new(), result = mlx_array_new();
    int failed = mlx_transpose(&turned, x, maker->stream) || mlx_matmul(&result, x, turned, maker->stream);
    maker_take(maker, "matmul", failed, result);
    mlx_array bias = maker_array(dtype, (int[]){ROWS}, 1);
    result = mlx_array_new();
    maker_take(maker, "addmm", mlx_addmm(&result, bias, x, turned, 1, 1, maker->stream), result);
    mlx_array_free(bias);
    mlx_array_free(turned);
}

/* What a decoder multiplies: few rows, with weights as clients keep them. */
static void make_few_rows(struct maker *maker, mlx_dtype dtype)
{
    static const int rows[] = {1, 8}, bits[] = {4, 8};
    const mlx_optional_int group = {64, true};
    for (size_t i = 0; i < 2; i++) {
        mlx_array x = maker_array(dtype, (int[]){rows[i], COLUMNS}, 2),
                  w = maker_array(dtype, (int[]){ROWS, COLUMNS}, 2);
        mlx_array turned = mlx_array_new(), result = mlx_array_new();
        int failed = mlx_transpose(&turned, w, maker->stream) || mlx_matmul(&result, x, turned, maker->stream);
        maker_take(maker, "matmul", failed, result);
        mlx_array codes = maker_array(MLX_UINT32, (int[]){ROWS, COLUMNS * bits[i] / 32}, 2);
        mlx_array scales = maker_array(dtype, (int[]){ROWS, COLUMNS / 64}, 2);
        mlx_array row = maker_array(dtype, (int[]){1, COLUMNS}, 2);
        result = mlx_array_new();
        failed = mlx_quantized_matmul(&result, row, codes, scales, scales, true, group,
                                      (mlx_optional_int){bits[i], true}, "affine", maker->stream);
        maker_take(maker, "quantized_matmul", failed, result);
        mlx_array_free(x), mlx_array_free(w), mlx_array_free(turned), mlx_array_free(row);
        mlx_array_free(codes), mlx_array_free(scales);
    }
}

static void make_random(struct maker *maker, mlx_dtype dtype)
{
    const int shape[] = {ROWS, COLUMNS};
    const mlx_array none = {NULL};
    mlx_array low = mlx_array_new_float(0), high = mlx_array_new_float(1), result = mlx_array_new();
    int failed = mlx_random_uniform(&result, low, high, shape, 2, dtype, none, maker->stream);
    maker_take(maker, "random_uniform", failed, result);
    result = mlx_array_new();
    maker_take(maker, "random_normal", mlx_random_normal(&result, shape, 2, dtype, 0, 1, none, maker->stream), result);
    result = mlx_array_new();
    failed = mlx_random_categorical(&result, maker_operand(maker, dtype, PACKED), -1, none, maker->stream);
    maker_take(maker, "random_categorical", failed, result);
    mlx_array_free(low);
    mlx_array_free(high);
}

void make_layers(struct maker *maker)
{
    for (size_t d = 0; d < maker_dtype_count(maker); d++) {
        mlx_dtype dtype = maker_dtypes[d];
        if (!is_float(dtype)) continue;
        for (size_t i = 0; i < shape_count(maker); i++) {
            mlx_array x = maker_array(dtype, row_shapes[i], 2);
            make_softmax(maker, x);
            make_norms(maker, x, dtype, row_shapes[i][1]);
            mlx_array_free(x);
        }
        if (maker->is_short) return;
        make_rope(maker, dtype);
        make_attention(maker, dtype);
        make_products(maker, dtype);
        if (dtype != MLX_FLOAT64) make_few_rows(maker, dtype);
        make_random(maker, dtype);
    }
}
