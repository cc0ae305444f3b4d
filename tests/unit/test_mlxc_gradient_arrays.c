/*
 * test_mlxc_gradient_arrays.c - derivatives of views, reductions, cumulative results, sorting, indexing, products and
 * layers, against differences (support/derivatives.h).
 */
#include "mlxc_support.h"
#include "support/derivatives.h"

#define RUN(name, ...)                                                                                                 \
    static int run_##name(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)     \
    {                                                                                                                  \
        (void)c, (void)out, (void)in, (void)stream;                                                                    \
        __VA_ARGS__                                                                                                    \
    }
#define INTS(...)           (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)
#define CASE(run_name, ...) {.name = #run_name, .run = run_##run_name, .low = -2, .high = 2, __VA_ARGS__}

static mlx_array numbers(const int *values, int rows, int columns)
{
    return columns ? mlx_array_new_data(values, (int[]){rows, columns}, 2, MLX_INT32)
                   : mlx_array_new_data(values, &rows, 1, MLX_INT32);
}

static void check_all(const struct derivative_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) check_derivatives(&cases[i]);
    expect_no_error();
}
#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof *(cases))

/* ---- views and copies ---------------------------------------------------------------------------------------------
 */

RUN(reshape, return mlx_reshape(out, in[0], INTS(3, 4), stream);)
RUN(broadcast, return mlx_broadcast_to(out, in[0], INTS(2, 3, 4), stream);)
RUN(expand, return mlx_expand_dims(out, in[0], 1, stream);)
RUN(squeeze, return mlx_squeeze(out, in[0], stream);)
RUN(transpose, return mlx_transpose_axes(out, in[0], INTS(2, 0, 1), stream);)
RUN(slice, return mlx_slice(out, in[0], INTS(1, 0), INTS(4, 5), INTS(2, 3), stream);)
RUN(backwards, return mlx_slice(out, in[0], INTS(-1), INTS(-7), INTS(-2), stream);)
RUN(overlapping, return mlx_as_strided(out, in[0], INTS(4, 3), (const int64_t[]){1, 1}, 2, 1, stream);)
RUN(pad, mlx_array zero = mlx_array_new_float(0);
    int code = mlx_pad(out, in[0], INTS(0, 1), INTS(1, 0), INTS(2, 1), zero, "constant", stream); mlx_array_free(zero);
    return code;)
RUN(edge, mlx_array zero = mlx_array_new_float(0);
    int code = mlx_pad(out, in[0], INTS(0), INTS(2), INTS(1), zero, "edge", stream); mlx_array_free(zero); return code;)
RUN(tile, return mlx_tile(out, in[0], INTS(2, 3), stream);)
RUN(repeat, return mlx_repeat_axis(out, in[0], 2, 1, stream);)
RUN(roll, return mlx_roll_axis(out, in[0], INTS(2), 1, stream);)
RUN(diag, return mlx_diag(out, in[0], 1, stream);)
RUN(tril, return mlx_tril(out, in[0], 0, stream);)
RUN(concatenate, mlx_vector_array all = mlx_vector_array_new_data(in, 3);
    int code = mlx_concatenate_axis(out, all, 1, stream); mlx_vector_array_free(all); return code;)
RUN(contiguous, return mlx_transpose(out, in[0], stream) || mlx_contiguous(out, *out, false, stream);)

static void test_views(void **state)
{
    static const struct derivative_case cases[] = {
        CASE(reshape, .count = 1, .shapes = {{2, {2, 6}}}),
        CASE(broadcast, .count = 1, .shapes = {{2, {3, 1}}}),
        CASE(expand, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(squeeze, .count = 1, .shapes = {{3, {2, 1, 3}}}),
        CASE(transpose, .count = 1, .shapes = {{3, {2, 3, 2}}}),
        CASE(slice, .count = 1, .shapes = {{2, {4, 5}}}),
        CASE(backwards, .count = 1, .shapes = {{1, {6}}}),
        CASE(overlapping, .count = 1, .shapes = {{1, {8}}}),
        CASE(pad, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(edge, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(tile, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(repeat, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(roll, .count = 1, .shapes = {{2, {2, 5}}}),
        CASE(diag, .count = 1, .shapes = {{1, {3}}}),
        CASE(tril, .count = 1, .shapes = {{2, {3, 3}}}),
        CASE(concatenate, .count = 3, .shapes = {{2, {2, 3}}, {2, {2, 0}}, {2, {2, 1}}}),
        CASE(contiguous, .count = 1, .shapes = {{2, {2, 3}}}),
    };
    (void)state;
    CHECK_ALL(cases);
}

/* ---- reductions ---------------------------------------------------------------------------------------------------
 */

RUN(sum, return mlx_sum_axes(out, in[0], INTS(0, 2), false, stream);)
RUN(sum_all, return mlx_sum(out, in[0], true, stream);)
RUN(mean, return mlx_mean_axis(out, in[0], 1, true, stream);)
RUN(var, return mlx_var_axis(out, in[0], 1, false, 1, stream);)
RUN(std, return mlx_std_axis(out, in[0], 0, false, 0, stream);)
RUN(prod, return mlx_prod_axis(out, in[0], 1, false, stream);)
RUN(max, return mlx_max_axis(out, in[0], 1, false, stream);)
RUN(min, return mlx_min(out, in[0], false, stream);)
RUN(logsumexp, return mlx_logsumexp_axis(out, in[0], -1, false, stream);)
RUN(logsumexp_first, return mlx_logsumexp_axis(out, in[0], 0, true, stream);)
RUN(softmax, return mlx_softmax_axis(out, in[0], -1, true, stream);)
RUN(softmax_first, return mlx_softmax_axis(out, in[0], 0, true, stream);)
RUN(median, return mlx_median(out, in[0], INTS(1), false, stream);)
RUN(cumsum, return mlx_cumsum(out, in[0], 1, c->number & 1, c->number & 2, stream);)
RUN(cumprod, return mlx_cumprod(out, in[0], 1, c->number & 1, c->number & 2, stream);)
/* Exclusive ones begin with an infinity, which is no number to compare. */
RUN(cummax, return mlx_cummax(out, in[0], 1, c->number & 1, true, stream);)
RUN(cummin, return mlx_cummin(out, in[0], 1, c->number & 1, true, stream);)
RUN(exclusive_max, return mlx_cummax(out, in[0], 0, c->number & 1, false, stream) ||
                          mlx_slice(out, *out, INTS(c->number ? 0 : 1), INTS(c->number ? 5 : 6), INTS(1), stream);)
RUN(logcumsumexp, return mlx_logcumsumexp(out, in[0], 1, false, true, stream);)
RUN(sort, return mlx_sort_axis(out, in[0], 0, stream);)
RUN(topk, return mlx_topk_axis(out, in[0], 2, 1, stream);)

static void test_reductions(void **state)
{
    static const struct derivative_case cases[] = {
        CASE(sum, .count = 1, .shapes = {{3, {2, 3, 2}}}),
        CASE(sum_all, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(mean, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(var, .count = 1, .shapes = {{2, {2, 4}}}),
        CASE(std, .count = 1, .shapes = {{2, {4, 2}}}),
        CASE(prod, .count = 1, .shapes = {{2, {2, 4}}}),
        CASE(max, .count = 1, .shapes = {{2, {2, 4}}}),
        CASE(min, .count = 1, .shapes = {{2, {2, 4}}}),
        CASE(logsumexp, .count = 1, .shapes = {{2, {3, 5}}}),
        CASE(logsumexp, .count = 1, .shapes = {{2, {2, 40}}}),
        CASE(logsumexp_first, .count = 1, .shapes = {{2, {3, 2}}}),
        CASE(softmax, .count = 1, .shapes = {{2, {3, 5}}}),
        CASE(softmax, .count = 1, .shapes = {{2, {2, 40}}}),
        CASE(softmax_first, .count = 1, .shapes = {{2, {3, 2}}}),
        CASE(median, .count = 1, .shapes = {{2, {2, 4}}}),
        CASE(cumsum, .count = 1, .shapes = {{2, {2, 5}}}, .number = 0),
        CASE(cumsum, .count = 1, .shapes = {{2, {2, 5}}}, .number = 3),
        CASE(cumprod, .count = 1, .shapes = {{2, {2, 5}}}, .number = 0),
        CASE(cumprod, .count = 1, .shapes = {{2, {2, 5}}}, .number = 1),
        CASE(cumprod, .count = 1, .shapes = {{2, {2, 5}}}, .number = 2),
        CASE(cumprod, .count = 1, .shapes = {{2, {2, 5}}}, .number = 3),
        CASE(cummax, .count = 1, .shapes = {{2, {2, 6}}}, .number = 0),
        CASE(cummax, .count = 1, .shapes = {{2, {2, 6}}}, .number = 1),
        CASE(cummin, .count = 1, .shapes = {{2, {2, 6}}}, .number = 0),
        CASE(cummin, .count = 1, .shapes = {{2, {2, 6}}}, .number = 1),
        CASE(exclusive_max, .count = 1, .shapes = {{1, {6}}}, .number = 0),
        CASE(exclusive_max, .count = 1, .shapes = {{1, {6}}}, .number = 1),
        CASE(logcumsumexp, .count = 1, .shapes = {{2, {2, 5}}}),
        CASE(sort, .count = 1, .shapes = {{2, {5, 2}}}),
        CASE(topk, .count = 1, .shapes = {{2, {2, 5}}}),
    };
    (void)state;
    CHECK_ALL(cases);
}

/* ---- indexing -----------------------------------------------------------------------------------------------------
 */

#define WITH_INDICES(rows, columns, list, call)                                                                        \
    static const int values[] = list;                                                                                  \
    mlx_array indices = numbers(values, rows, columns);                                                                \
    int code = call;                                                                                                   \
    mlx_array_free(indices);                                                                                           \
    return code
#define LIST(...) {__VA_ARGS__}

RUN(take, WITH_INDICES(2, 2, LIST(2, 0, 2, -1), mlx_take_axis(out, in[0], indices, 1, stream));)
RUN(take_flat, WITH_INDICES(3, 0, LIST(5, 0, 5), mlx_take(out, in[0], indices, stream));)
RUN(take_along, WITH_INDICES(2, 3, LIST(0, 1, 1, 3, 3, 0), mlx_take_along_axis(out, in[0], indices, 1, stream));)
RUN(gather, WITH_INDICES(3, 0, LIST(1, 1, 0), mlx_gather_single(out, in[0], indices, 0, INTS(1, 2), stream));)
RUN(gather_two, static const int values[] = {0, 1, 1}; static const int others[] = {2, 0, 2};
    mlx_array both[] = {numbers(values, 3, 0), numbers(others, 3, 0)};
    mlx_vector_array list = mlx_vector_array_new_data(both, 2);
    int code = mlx_gather(out, in[0], list, INTS(0, 1), INTS(1, 1), stream); mlx_vector_array_free(list);
    mlx_array_free(both[0]); mlx_array_free(both[1]); return code;)
RUN(scatter, WITH_INDICES(2, 0, LIST(2, 0), mlx_scatter_single(out, in[0], indices, in[1], 0, stream));)
RUN(scatter_add, WITH_INDICES(3, 0, LIST(2, 0, 2), mlx_scatter_add_single(out, in[0], indices, in[1], 0, stream));)
RUN(scatter_prod, WITH_INDICES(3, 0, LIST(2, 0, 2), mlx_scatter_prod_single(out, in[0], indices, in[1], 0, stream));)
RUN(scatter_max, WITH_INDICES(3, 0, LIST(2, 0, 2), mlx_scatter_max_single(out, in[0], indices, in[1], 0, stream));)
RUN(put_along, WITH_INDICES(2, 2, LIST(0, 2, 1, 3), mlx_put_along_axis(out, in[0], indices, in[1], 1, stream));)
RUN(add_along, WITH_INDICES(2, 2, LIST(0, 0, 1, 3), mlx_scatter_add_axis(out, in[0], indices, in[1], 1, stream));)
RUN(slice_update, return mlx_slice_update(out, in[0], in[1], INTS(0, 1), INTS(3, 4), INTS(2, 1), stream);)
RUN(slice_add, return mlx_slice_update_add(out, in[0], in[1], INTS(0, 1), INTS(3, 4), INTS(2, 1), stream);)
RUN(slice_prod, return mlx_slice_update_prod(out, in[0], in[1], INTS(0, 1), INTS(3, 4), INTS(2, 1), stream);)
RUN(slice_min, return mlx_slice_update_min(out, in[0], in[1], INTS(0, 1), INTS(3, 4), INTS(2, 1), stream);)
RUN(slice_dynamic, WITH_INDICES(1, 0, LIST(1), mlx_slice_dynamic(out, in[0], indices, INTS(1), INTS(2, 2), stream));)
RUN(update_dynamic, WITH_INDICES(1, 0, LIST(1), mlx_slice_update_dynamic(out, in[0], in[1], indices, INTS(1), stream));)

static void test_indexing(void **state)
{
    static const struct derivative_case cases[] = {
        CASE(take, .count = 1, .shapes = {{3, {2, 4, 2}}}),
        CASE(take_flat, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(take_along, .count = 1, .shapes = {{2, {2, 4}}}),
        CASE(gather, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(gather_two, .count = 1, .shapes = {{2, {2, 3}}}),
        CASE(scatter, .count = 2, .shapes = {{2, {3, 2}}, {3, {2, 1, 2}}}),
        CASE(scatter_add, .count = 2, .shapes = {{2, {3, 2}}, {3, {3, 1, 2}}}),
        CASE(scatter_prod, .count = 2, .shapes = {{2, {3, 2}}, {3, {3, 1, 2}}}),
        CASE(scatter_max, .count = 2, .shapes = {{2, {3, 2}}, {3, {3, 1, 2}}}),
        CASE(put_along, .count = 2, .shapes = {{2, {2, 4}}, {2, {2, 2}}}),
        CASE(add_along, .count = 2, .shapes = {{2, {2, 4}}, {2, {2, 2}}}),
        CASE(slice_update, .count = 2, .shapes = {{2, {3, 4}}, {2, {2, 3}}}),
        CASE(slice_update, .count = 2, .shapes = {{2, {3, 4}}, {1, {3}}}),
        CASE(slice_add, .count = 2, .shapes = {{2, {3, 4}}, {2, {2, 3}}}),
        CASE(slice_prod, .count = 2, .shapes = {{2, {3, 4}}, {2, {2, 3}}}),
        CASE(slice_min, .count = 2, .shapes = {{2, {3, 4}}, {2, {2, 3}}}),
        CASE(slice_dynamic, .count = 1, .shapes = {{2, {2, 4}}}),
        CASE(update_dynamic, .count = 2, .shapes = {{2, {2, 4}}, {2, {2, 2}}}),
    };
    (void)state;
    CHECK_ALL(cases);
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

RUN(matmul, return mlx_matmul(out, in[0], in[1], stream);)
RUN(addmm, return mlx_addmm(out, in[2], in[0], in[1], 0.5f, 2, stream);)
RUN(tensordot, return mlx_tensordot_axis(out, in[0], in[1], 2, stream);)
RUN(outer, return mlx_outer(out, in[0], in[1], stream);)
RUN(einsum, mlx_vector_array both = mlx_vector_array_new_data(in, 2);
    int code = mlx_einsum(out, "bij,bjk->ki", both, stream); mlx_vector_array_free(both); return code;)
RUN(inverse, return mlx_linalg_inv(out, in[0], stream);)
RUN(conv1d, return mlx_conv1d(out, in[0], in[1], 2, 1, 1, 1, stream);)
RUN(conv2d, return mlx_conv2d(out, in[0], in[1], 1, 1, 1, 0, 1, 2, 2, stream);)
RUN(gather_mm, static const int values[] = {1, 0, 1}; mlx_array none = mlx_array_new();
    mlx_array picks = numbers(values, 3, 0); int code = mlx_gather_mm(out, in[0], in[1], none, picks, false, stream);
    mlx_array_free(picks); mlx_array_free(none); return code;)

/* The matrix is the same in every call: 8 rows of 64, or three of them, as codes of 4 bits. */
static int quantized(mlx_array codes[3], int matrices, mlx_stream stream)
{
    mlx_array w = mlx_array_new(), key = mlx_array_new();
    mlx_vector_array parts = mlx_vector_array_new();
    const mlx_optional_int group = {32, true}, bits = {4, true};
    int code = mlx_random_key(&key, 7) ||
               mlx_random_normal(&w, (const int[]){matrices, 8, 64}, 3, MLX_FLOAT32, 0, 1, key, stream) ||
               (matrices == 1 && mlx_squeeze_axis(&w, w, 0, stream)) ||
               mlx_quantize(&parts, w, group, bits, "affine", (mlx_array){NULL}, stream);
    for (size_t i = 0; i < 3; i++) codes[i] = mlx_array_new(), code = code || mlx_vector_array_get(&codes[i], parts, i);
    mlx_array_free(w);
    mlx_array_free(key);
    mlx_vector_array_free(parts);
    return code;
}

RUN(quantized, const mlx_optional_int group = {32, true}, bits = {4, true}; mlx_array w[3];
    int code = quantized(w, 1, stream) ||
               mlx_quantized_matmul(out, in[0], w[0], w[1], w[2], c->number, group, bits, "affine", stream) ||
               mlx_astype(out, *out, mlx_array_dtype(in[0]), stream);
    for (int i = 0; i < 3; i++) mlx_array_free(w[i]); return code;)
RUN(picked, const mlx_optional_int group = {32, true}, bits = {4, true}; mlx_array w[3];
    static const int values[] = {2, 0}; mlx_array picks = numbers(values, 2, 0);
    int code = quantized(w, 3, stream) ||
               mlx_gather_qmm(out, in[0], w[0], w[1], w[2], (mlx_array){NULL}, picks, true, group, bits, "affine",
                              false, stream) ||
               mlx_astype(out, *out, mlx_array_dtype(in[0]), stream);
    for (int i = 0; i < 3; i++) mlx_array_free(w[i]); mlx_array_free(picks); return code;)

static void test_products(void **state)
{
    static const struct derivative_case cases[] = {
        CASE(matmul, .count = 2, .shapes = {{2, {2, 3}}, {2, {3, 4}}}),
        CASE(matmul, .count = 2, .shapes = {{3, {2, 2, 3}}, {2, {3, 2}}}),
        CASE(matmul, .count = 2, .shapes = {{3, {2, 2, 3}}, {3, {1, 3, 2}}}),
        CASE(matmul, .count = 2, .shapes = {{1, {3}}, {2, {3, 2}}}),
        CASE(matmul, .count = 2, .shapes = {{2, {2, 3}}, {1, {3}}}),
        CASE(addmm, .count = 3, .shapes = {{2, {2, 3}}, {2, {3, 4}}, {1, {4}}}),
        CASE(tensordot, .count = 2, .shapes = {{3, {2, 3, 2}}, {3, {3, 2, 2}}}),
        CASE(outer, .count = 2, .shapes = {{1, {3}}, {1, {2}}}),
        CASE(einsum, .count = 2, .shapes = {{3, {2, 2, 3}}, {3, {2, 3, 2}}}),
        CASE(inverse, .count = 1, .shapes = {{2, {3, 3}}}, .only_wide = true),
        CASE(conv1d, .count = 2, .shapes = {{3, {1, 6, 2}}, {3, {3, 3, 2}}}),
        CASE(conv2d, .count = 2, .shapes = {{4, {1, 3, 5, 2}}, {4, {2, 2, 2, 1}}}),
        CASE(gather_mm, .count = 2, .shapes = {{3, {3, 2, 3}}, {3, {2, 3, 2}}}),
        CASE(quantized, .count = 1, .shapes = {{2, {2, 64}}}, .number = 1),
        CASE(quantized, .count = 1, .shapes = {{2, {2, 8}}}, .number = 0),
        CASE(picked, .count = 1, .shapes = {{3, {2, 1, 64}}}),
    };
    (void)state;
    CHECK_ALL(cases);
}

/* ---- layers -------------------------------------------------------------------------------------------------------
 */

static const mlx_optional_float base = {10000, true};

RUN(rms_norm, return mlx_fast_rms_norm(out, in[0], c->count > 1 ? in[1] : (mlx_array){NULL}, 1e-5f, stream);)
RUN(layer_norm, return mlx_fast_layer_norm(out, in[0], c->count > 1 ? in[1] : (mlx_array){NULL},
                                           c->count > 2 ? in[2] : (mlx_array){NULL}, 1e-5f, stream);)
RUN(rope, return mlx_fast_rope(out, in[0], 4, c->number, base, 1, 3, (mlx_array){NULL}, stream);)
RUN(attention, return mlx_fast_scaled_dot_product_attention(out, in[0], in[1], in[2], 0.7f, c->number ? "causal" : "",
                                                            (mlx_array){NULL}, (mlx_array){NULL}, false, stream);)
RUN(masked_attention, return mlx_fast_scaled_dot_product_attention(out, in[0], in[1], in[2], 0.7f, "array", in[3],
                                                                   (mlx_array){NULL}, false, stream);)
RUN(sink_attention, return mlx_fast_scaled_dot_product_attention(out, in[0], in[1], in[2], 0.7f, "causal",
                                                                 (mlx_array){NULL}, in[3], false, stream);)

static void test_layers(void **state)
{
    static const struct derivative_case cases[] = {
        CASE(rms_norm, .count = 1, .shapes = {{2, {2, 5}}}, .tolerance = 3e-3),
        CASE(rms_norm, .count = 2, .shapes = {{2, {2, 5}}, {1, {5}}}, .tolerance = 3e-3),
        CASE(rms_norm, .count = 2, .shapes = {{2, {2, 40}}, {1, {40}}}, .tolerance = 3e-3),
        CASE(layer_norm, .count = 1, .shapes = {{2, {2, 5}}}),
        CASE(layer_norm, .count = 3, .shapes = {{2, {2, 5}}, {1, {5}}, {1, {5}}}),
        CASE(layer_norm, .count = 3, .shapes = {{2, {2, 40}}, {1, {40}}, {1, {40}}}),
        CASE(rope, .count = 1, .shapes = {{4, {1, 2, 3, 6}}}, .number = 0, .tolerance = 1e-3),
        CASE(rope, .count = 1, .shapes = {{4, {1, 2, 3, 4}}}, .number = 1, .tolerance = 1e-3),
        CASE(attention, .count = 3, .shapes = {{4, {1, 2, 3, 4}}, {4, {1, 2, 3, 4}}, {4, {1, 2, 3, 2}}}, .number = 0),
        CASE(attention, .count = 3, .shapes = {{4, {1, 4, 3, 4}}, {4, {1, 2, 5, 4}}, {4, {1, 2, 5, 4}}}, .number = 1),
        CASE(masked_attention, .count = 4,
             .shapes = {{4, {1, 2, 3, 4}}, {4, {1, 1, 5, 4}}, {4, {1, 1, 5, 4}}, {4, {1, 2, 3, 5}}}),
        CASE(sink_attention, .count = 4, .shapes = {{4, {1, 2, 3, 4}}, {4, {1, 1, 5, 4}}, {4, {1, 1, 5, 4}}, {1, {2}}}),
    };
    (void)state;
    CHECK_ALL(cases);
}

int main(void)
{
    derivative_stream = mlx_default_cpu_stream_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_views, install_handler),
        cmocka_unit_test_setup(test_reductions, install_handler),
        cmocka_unit_test_setup(test_indexing, install_handler),
        cmocka_unit_test_setup(test_products, install_handler),
        cmocka_unit_test_setup(test_layers, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
