/*
 * test_mlxc_layout.c - programs read the bytes of a result as rows of elements. So an operation that is not a view
 * gives a row-contiguous result when its inputs are, and so does each operation that the library exports: the last test
 * looks for those that the others left out.
 */
#include "unit/mlxc_support.h"

#include <dlfcn.h>

static mlx_stream stream;
static mlx_array m, v, t, i, idx, yes, q, k, one, w, codes, scales, biases, key, fp8, none; /* none is empty */

static char seen[800][80];
static int seen_count, wrong_count;

/* ---- inputs ---------------------------------------------------------------------------------------------------------
 */

static mlx_array numbers(const int *shape, int ndim, mlx_dtype dtype)
{
    float values[4096];
    int size = 1;
    for (int axis = 0; axis < ndim; axis++) size *= shape[axis];
    for (int at = 0; at < size; at++) values[at] = (float)(at * 5 % 4) * (dtype == MLX_FLOAT32 ? 0.25f : 1);
    mlx_array plain = mlx_array_new_data(values, shape, ndim, MLX_FLOAT32), res = mlx_array_new();
    CHECK_EQ(mlx_astype(&res, plain, dtype, stream) || mlx_array_eval(res), 0);
    mlx_array_free(plain);
    return res;
}

#define LIST(...)         ((const int[]){__VA_ARGS__})
#define COUNT(...)        (sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
#define MANY(...)         LIST(__VA_ARGS__), COUNT(__VA_ARGS__) /* as two arguments */
#define ARRAY(dtype, ...) numbers(LIST(__VA_ARGS__), (int)COUNT(__VA_ARGS__), dtype)

static const mlx_optional_int group_size = {64, true}, bits = {4, true};
static const mlx_optional_float base = {100, true}, no_float = {0, false};
static const mlx_optional_dtype no_dtype = {MLX_FLOAT32, false};

static void quantize_inputs(void)
{
    mlx_vector_array parts = mlx_vector_array_new();
    codes = mlx_array_new(), scales = mlx_array_new(), biases = mlx_array_new(), fp8 = mlx_array_new();
    int code = mlx_quantize(&parts, w, group_size, bits, "affine", none, stream) ||
               mlx_vector_array_get(&codes, parts, 0) || mlx_vector_array_get(&scales, parts, 1) ||
               mlx_vector_array_get(&biases, parts, 2) || mlx_to_fp8(&fp8, m, stream);
    CHECK_EQ(code, 0);
    mlx_vector_array_free(parts);
}

static int make_inputs(void **state)
{
    install_handler(state);
    stream = mlx_default_cpu_stream_new();
    m = ARRAY(MLX_FLOAT32, 4, 4), v = ARRAY(MLX_FLOAT32, 4), t = ARRAY(MLX_FLOAT32, 2, 4, 4);
    i = ARRAY(MLX_INT32, 4, 4), idx = ARRAY(MLX_INT32, 4), yes = ARRAY(MLX_BOOL, 4, 4);
    q = ARRAY(MLX_FLOAT32, 1, 4, 3, 8), k = ARRAY(MLX_FLOAT32, 1, 2, 5, 8), w = ARRAY(MLX_FLOAT32, 4, 64);
    one = mlx_array_new_float(1), key = mlx_array_new();
    CHECK_EQ(mlx_random_key(&key, 3), 0);
    quantize_inputs();
    return 0;
}

static int free_inputs(void **state)
{
    const mlx_array all[] = {m, v, t, i, idx, yes, q, k, one, w, codes, scales, biases, key, fp8};
    (void)state;
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) mlx_array_free(all[at]);
    return mlx_stream_free(stream);
}

/* ---- checks ---------------------------------------------------------------------------------------------------------
 */

static void note(const char *name)
{
    if (seen_count == 0 || strcmp(seen[seen_count - 1], name))
        snprintf(seen[seen_count++], sizeof *seen, "mlx_%s", name);
    CHECK_LT(seen_count, 800);
}
#define note(...) CHECK_CALL(note, __VA_ARGS__)

/* Says all that are not, rather than the first. */
static void expect_rows(const char *name, mlx_array array)
{
    size_t step = 1;
    CHECK_EQ(mlx_array_eval(array), 0);
    for (int axis = (int)mlx_array_ndim(array); axis-- > 0; step *= (size_t)mlx_array_shape(array)[axis])
        if (mlx_array_shape(array)[axis] != 1 && mlx_array_strides(array)[axis] != step)
            wrong_count++, print_error("%s: the stride of axis %d is %zu, not %zu\n", name, axis,
                                       mlx_array_strides(array)[axis], step);
}
#define expect_rows(...) CHECK_CALL(expect_rows, __VA_ARGS__)

static void check_one(const char *name, int code, mlx_array res, bool is_view)
{
    if (code || error_count) CHECK_FAIL("%s: %s", name, error_text);
    if (!is_view) expect_rows(name, res);
    note(name);
    mlx_array_free(res);
}
#define check_one(...) CHECK_CALL(check_one, __VA_ARGS__)

static void check_list(const char *name, int code, mlx_vector_array res, bool is_view)
{
    if (code || error_count) CHECK_FAIL("%s: %s", name, error_text);
    for (size_t at = 0; at < mlx_vector_array_size(res) && !is_view; at++) {
        mlx_array part = mlx_array_new();
        CHECK_EQ(mlx_vector_array_get(&part, res, at), 0);
        expect_rows(name, part);
        mlx_array_free(part);
    }
    note(name);
    mlx_vector_array_free(res);
}
#define check_list(...) CHECK_CALL(check_list, __VA_ARGS__)

static mlx_array res;
static mlx_vector_array list;

#define ROWS(f, ...) res = mlx_array_new(), check_one(#f, mlx_##f(&res, __VA_ARGS__, stream), res, false)
#define VIEW(f, ...) res = mlx_array_new(), check_one(#f, mlx_##f(&res, __VA_ARGS__, stream), res, true)
#define ROWS_LIST(f, ...)                                                                                              \
    list = mlx_vector_array_new(), check_list(#f, mlx_##f(&list, __VA_ARGS__, stream), list, false)
#define VIEWS_LIST(f, ...)                                                                                             \
    list = mlx_vector_array_new(), check_list(#f, mlx_##f(&list, __VA_ARGS__, stream), list, true)

/* ---- operations -----------------------------------------------------------------------------------------------------
 */

static void test_elementwise(void **state)
{
    (void)state;
    ROWS(abs, m), ROWS(negative, m), ROWS(square, m), ROWS(exp, m), ROWS(log, m), ROWS(erf, m), ROWS(sigmoid, m);
    ROWS(tanh, m), ROWS(sqrt, m), ROWS(rsqrt, m), ROWS(logical_not, m), ROWS(floor, m), ROWS(ceil, m), ROWS(sign, m);
    ROWS(round, m, 1), ROWS(reciprocal, m), ROWS(expm1, m), ROWS(log1p, m), ROWS(log2, m), ROWS(log10, m);
    ROWS(sin, m), ROWS(cos, m), ROWS(tan, m), ROWS(arcsin, m), ROWS(arccos, m), ROWS(arctan, m), ROWS(sinh, m);
    ROWS(cosh, m), ROWS(arcsinh, m), ROWS(arccosh, m), ROWS(arctanh, m), ROWS(erfinv, m), ROWS(degrees, m);
    ROWS(radians, m), ROWS(isnan, m), ROWS(isinf, m), ROWS(isfinite, m), ROWS(isposinf, m), ROWS(isneginf, m);
    ROWS(bitwise_invert, i), ROWS(real, m), ROWS(imag, m), ROWS(conjugate, m), ROWS(stop_gradient, m);
    ROWS(nan_to_num, m, 0, no_float, no_float), ROWS(clip, m, none, one), ROWS(astype, m, MLX_FLOAT16);
    for (int turn = 0; turn < 2; turn++) {
        mlx_array other = turn ? v : m, whole = turn ? idx : i; /* with its own shape, and repeated */
        ROWS(add, m, other), ROWS(subtract, m, other), ROWS(multiply, other, m), ROWS(divide, m, other);
        ROWS(maximum, m, other), ROWS(minimum, m, other), ROWS(logaddexp, m, other), ROWS(equal, m, other);
        ROWS(not_equal, m, other), ROWS(less, m, other), ROWS(less_equal, m, other), ROWS(greater, m, other);
        ROWS(greater_equal, m, other), ROWS(logical_and, m, other), ROWS(logical_or, m, other);
        ROWS(floor_divide, m, other), ROWS(remainder, m, other), ROWS(power, m, other), ROWS(arctan2, m, other);
        ROWS(bitwise_and, i, whole), ROWS(bitwise_or, i, whole), ROWS(bitwise_xor, i, whole);
        ROWS(left_shift, i, whole), ROWS(right_shift, i, whole), ROWS(where, yes, m, other),
            ROWS(where, yes, other, one);
        ROWS(isclose, m, other, 1e-5, 1e-8, false), ROWS_LIST(divmod, m, other), ROWS_LIST(divmod, i, whole);
    }
    ROWS(array_equal, m, m, false), ROWS(allclose, m, m, 1e-5, 1e-8, false);
    ROWS(to_fp8, m), ROWS(from_fp8, fp8, MLX_FLOAT32);
}

static void test_reductions(void **state)
{
    (void)state;
    ROWS(sum, t, false), ROWS(prod, t, true), ROWS(min, t, false), ROWS(max, t, true), ROWS(all, t, false);
    ROWS(any, t, false), ROWS(mean, t, false), ROWS(var, t, false, 0), ROWS(std, t, true, 0);
    ROWS(logsumexp, t, true), ROWS(argmin, t, true), ROWS(argmax, t, false), ROWS(softmax, t, true);
    for (int axis = 0; axis < 3; axis++) {
        ROWS(sum_axis, t, axis, false), ROWS(prod_axis, t, axis, true), ROWS(min_axis, t, axis, false);
        ROWS(max_axis, t, axis, true), ROWS(all_axis, t, axis, false), ROWS(any_axis, t, axis, true);
        ROWS(mean_axis, t, axis, false), ROWS(var_axis, t, axis, true, 0), ROWS(std_axis, t, axis, false, 0);
        ROWS(logsumexp_axis, t, axis, false), ROWS(argmin_axis, t, axis, true), ROWS(argmax_axis, t, axis, false);
        ROWS(softmax_axis, t, axis, false), ROWS(cumsum, t, axis, true, false), ROWS(cumprod, t, axis, false, true);
        ROWS(cummax, t, axis, true, true), ROWS(cummin, t, axis, false, false), ROWS(logcumsumexp, t, axis, true, true);
        ROWS(median, t, MANY(axis), true), ROWS(sort_axis, t, axis), ROWS(argsort_axis, t, axis);
        ROWS(partition_axis, t, 1, axis), ROWS(argpartition_axis, t, 1, axis), ROWS(topk_axis, t, 2, axis);
    }
    ROWS(sum_axes, t, MANY(0, 2), false), ROWS(prod_axes, t, MANY(0, 2), true), ROWS(min_axes, t, MANY(0, 1), false);
    ROWS(max_axes, t, MANY(0, 2), false), ROWS(all_axes, t, MANY(0, 2), true), ROWS(any_axes, t, MANY(1, 2), false);
    ROWS(mean_axes, t, MANY(0, 2), false), ROWS(var_axes, t, MANY(0, 2), true, 0);
    ROWS(std_axes, t, MANY(0, 2), false, 0), ROWS(logsumexp_axes, t, MANY(0, 2), false);
    ROWS(softmax_axes, t, MANY(0, 2), true), ROWS(sort, t), ROWS(argsort, t), ROWS(partition, t, 1);
    ROWS(argpartition, t, 1), ROWS(topk, t, 2), ROWS(number_of_elements, t, MANY(0), false, MLX_FLOAT32);
    ROWS(trace, m, 0, 0, 1, MLX_FLOAT32);
}

static void test_shapes(void **state)
{
    (void)state;
    const int64_t strides[] = {1, 1};
    const mlx_array both[] = {m, m}, lines[] = {v, v};
    mlx_vector_array pair = mlx_vector_array_new_data(both, 2), rows = mlx_vector_array_new_data(lines, 2);
    VIEW(reshape, t, MANY(4, 8)), VIEW(flatten, t, 0, -1), VIEW(unflatten, t, 1, MANY(2, 2)), VIEW(squeeze, t);
    VIEW(expand_dims, t, 1), VIEW(expand_dims_axes, t, MANY(0, 2)), VIEW(transpose, t);
    VIEW(transpose_axes, t, MANY(1, 0, 2)), VIEW(swapaxes, t, 0, 2), VIEW(moveaxis, t, 0, 2);
    VIEW(broadcast_to, m, MANY(2, 4, 4)), VIEW(atleast_1d, m), VIEW(atleast_2d, m), VIEW(atleast_3d, m);
    VIEW(as_strided, m, MANY(3, 4), strides, 2, 0), VIEW(slice, m, MANY(0, 1), MANY(4, 3), MANY(2, 1));
    VIEW(diagonal, m, 0, 0, 1), VIEW(diag, m, 0), VIEW(copy, m), ROWS(diag, v, 1);
    ROWS(view, m, MLX_INT32);
    VIEWS_LIST(broadcast_arrays, pair), VIEWS_LIST(split, t, 2, 1), VIEWS_LIST(split_sections, t, MANY(1), 1);
    VIEWS_LIST(meshgrid, rows, false, "xy");
    list = mlx_vector_array_new(), check_list("depends", mlx_depends(&list, pair, rows), list, false);
    mlx_array narrow = ARRAY(MLX_FLOAT32, 4, 1);
    VIEW(squeeze_axis, narrow, 1), VIEW(squeeze_axes, narrow, MANY(1));
    mlx_array_free(narrow);
    for (int axis = 0; axis < 2; axis++) {
        ROWS(concatenate_axis, pair, axis), ROWS(stack_axis, pair, axis), ROWS(repeat_axis, m, 2, axis);
        ROWS(roll_axis, m, MANY(1), axis), ROWS(pad, m, MANY(axis), MANY(1), MANY(0), one, "constant");
        ROWS(pad, m, MANY(axis), MANY(1), MANY(2), one, "edge");
    }
    ROWS(concatenate, pair), ROWS(stack, pair), ROWS(repeat, m, 2), ROWS(roll, m, MANY(1));
    ROWS(roll_axes, m, MANY(1, 2), MANY(0, 1)), ROWS(tile, m, MANY(2, 3)), ROWS(contiguous, m, false);
    ROWS(pad_symmetric, m, 1, one, "constant"), ROWS(tril, t, 0), ROWS(triu, t, 1), ROWS(kron, m, m);
    mlx_vector_array_free(pair), mlx_vector_array_free(rows);
}

static void test_creation(void **state)
{
    (void)state;
    ROWS(arange, 0, 5, 1, MLX_INT32), ROWS(linspace, 0, 1, 5, MLX_FLOAT32), ROWS(bartlett, 5), ROWS(blackman, 5);
    ROWS(hamming, 5), ROWS(hanning, 5), ROWS(eye, 3, 4, 1, MLX_FLOAT32), ROWS(identity, 3, MLX_FLOAT32);
    ROWS(tri, 3, 4, 0, MLX_FLOAT32), ROWS(zeros, MANY(3, 4), MLX_FLOAT32), ROWS(ones, MANY(3, 4), MLX_INT32);
    ROWS(full, MANY(3, 4), v, MLX_FLOAT32), ROWS(full, MANY(3, 4), one, MLX_FLOAT32);
    ROWS(full_like, m, one, MLX_FLOAT32), ROWS(zeros_like, m), ROWS(ones_like, m);
    ROWS(random_bits, MANY(3, 4), 4, key), ROWS(random_uniform, one, one, MANY(3, 4), MLX_FLOAT32, key);
    ROWS(random_normal, MANY(3, 4), MLX_FLOAT32, 0, 1, key), ROWS(random_gumbel, MANY(3, 4), MLX_FLOAT32, key);
    ROWS(random_normal_broadcast, MANY(3, 4), MLX_FLOAT32, v, one, key), ROWS(random_bernoulli, one, MANY(3, 4), key);
    ROWS(random_randint, idx, one, MANY(3, 4), MLX_INT32, key), ROWS(random_categorical, m, -1, key);
    ROWS(random_categorical, m, 0, key), ROWS(random_categorical_num_samples, m, -1, 3, key);
    ROWS(random_categorical_num_samples, m, 0, 3, key), ROWS(random_categorical_shape, m, -1, MANY(3, 4), key);
    ROWS(random_permutation, m, 1, key), ROWS(random_permutation_arange, 5, key), ROWS(random_split_num, key, 3);
    ROWS(random_laplace, MANY(3, 4), MLX_FLOAT32, 0, 1, key);
    ROWS(random_truncated_normal, one, t, MANY(2, 4, 4), MLX_FLOAT32, key);
    mlx_array unit = mlx_array_new();
    CHECK_EQ(mlx_eye(&unit, 4, 4, 0, MLX_FLOAT32, stream), 0);
    ROWS(random_multivariate_normal, v, unit, MANY(3), MLX_FLOAT32, key), mlx_array_free(unit);
    mlx_array left = mlx_array_new(), right = mlx_array_new();
    CHECK_EQ(mlx_random_split(&left, &right, key, stream), 0);
    check_one("random_split", 0, left, false), check_one("random_split", 0, right, false);
    res = mlx_array_new(), check_one("random_key", mlx_random_key(&res, 1), res, false);
}

static void test_indices(void **state)
{
    (void)state;
    const int start[] = {0, 1}, stop[] = {4, 3}, step[] = {2, 1};
    mlx_vector_array indices = mlx_vector_array_new_value(idx);
    mlx_array updates = ARRAY(MLX_FLOAT32, 4, 1, 4), part = ARRAY(MLX_FLOAT32, 2, 2), order = mlx_array_new();
    mlx_array first = mlx_array_new_int(0);
    CHECK_EQ(mlx_argsort_axis(&order, m, 0, stream), 0);
    ROWS(take, m, idx), ROWS(take_axis, m, idx, 0), ROWS(take_axis, t, idx, 1), ROWS(take_axis, t, idx, 2);
    ROWS(take_along_axis, m, order, 0), ROWS(put_along_axis, m, order, m, 0), ROWS(scatter_add_axis, m, order, m, 0);
    ROWS(gather, m, indices, MANY(0), MANY(1, 4)), ROWS(gather_single, m, idx, 1, MANY(4, 1));
    ROWS(scatter, m, indices, updates, MANY(0)), ROWS(scatter_single, m, idx, updates, 0);
    ROWS(scatter_add, m, indices, updates, MANY(0)), ROWS(scatter_add_single, m, idx, updates, 0);
    ROWS(scatter_max, m, indices, updates, MANY(0)), ROWS(scatter_max_single, m, idx, updates, 0);
    ROWS(scatter_min, m, indices, updates, MANY(0)), ROWS(scatter_min_single, m, idx, updates, 0);
    ROWS(scatter_prod, m, indices, updates, MANY(0)), ROWS(scatter_prod_single, m, idx, updates, 0);
    ROWS(slice_dynamic, m, first, MANY(1), MANY(2, 3)), ROWS(slice_update_dynamic, m, part, first, MANY(0));
    ROWS(slice_update, m, part, start, 2, stop, 2, step, 2),
        ROWS(slice_update_add, m, part, start, 2, stop, 2, step, 2);
    ROWS(slice_update_max, m, part, start, 2, stop, 2, step, 2);
    ROWS(slice_update_min, m, part, start, 2, stop, 2, step, 2);
    ROWS(slice_update_prod, m, part, start, 2, stop, 2, step, 2), ROWS(masked_scatter, m, yes, t);
    mlx_vector_array_free(indices), mlx_array_free(updates), mlx_array_free(part), mlx_array_free(order);
    mlx_array_free(first);
}

static void test_products(void **state)
{
    (void)state;
    mlx_array chosen = ARRAY(MLX_UINT32, 2), cube = ARRAY(MLX_FLOAT32, 1, 4, 4, 4);
    ROWS(matmul, m, m), ROWS(matmul, t, m), ROWS(matmul, v, m), ROWS(matmul, m, v), ROWS(addmm, m, m, m, 2, 0.5f);
    ROWS(addmm, v, m, m, 1, 1), ROWS(inner, m, m), ROWS(outer, v, v), ROWS(tensordot, t, m, MANY(1), MANY(0));
    ROWS(tensordot, t, t, MANY(0), MANY(0)), ROWS(tensordot_axis, m, m, 1);
    mlx_array pages = ARRAY(MLX_FLOAT32, 4, 4, 4);
    ROWS(gather_mm, pages, pages, chosen, chosen, false);
    mlx_vector_array pair = mlx_vector_array_new_data((mlx_array[]){t, m}, 2);
    mlx_array wide = ARRAY(MLX_FLOAT32, 64, 64), blocks = ARRAY(MLX_BOOL, 2, 2), parts = ARRAY(MLX_UINT32, 3, 2);
    ROWS(einsum, "bij,jk->bik", pair), VIEW(einsum, "bij,jk->bki", pair); /* which ends in a transpose */
    ROWS(block_masked_mm, wide, wide, 32, blocks, blocks, none), ROWS(segmented_mm, m, m, parts);
    ROWS(hadamard_transform, t, no_float);
    mlx_vector_array_free(pair), mlx_array_free(wide), mlx_array_free(blocks), mlx_array_free(parts);
    mlx_array_free(chosen), mlx_array_free(cube), mlx_array_free(pages);
}

/* Channels in one group, in some, and each on its own. */
static void test_convolutions(void **state)
{
    (void)state;
    for (int groups = 1; groups <= 4; groups *= 2) {
        mlx_array line = ARRAY(MLX_FLOAT32, 2, 6, 4), plane = ARRAY(MLX_FLOAT32, 1, 5, 4, 4);
        mlx_array space = ARRAY(MLX_FLOAT32, 1, 3, 4, 3, 4), w1 = ARRAY(MLX_FLOAT32, 4, 3, 4 / groups);
        mlx_array w2 = ARRAY(MLX_FLOAT32, 4, 3, 2, 4 / groups), w3 = ARRAY(MLX_FLOAT32, 4, 2, 2, 2, 4 / groups);
        ROWS(conv1d, line, w1, 1, 0, 1, groups), ROWS(conv1d, line, w1, 1, 1, 1, groups);
        ROWS(conv1d, line, w1, 2, 1, 1, groups), ROWS(conv2d, plane, w2, 1, 1, 0, 1, 1, 1, groups);
        ROWS(conv3d, space, w3, 1, 1, 1, 0, 0, 0, 1, 1, 1, groups);
        ROWS(conv_general, plane, w2, MANY(1, 2), MANY(1, 0), MANY(0, 1), MANY(1, 1), MANY(2, 1), groups, true);
        ROWS(conv_transpose1d, line, w1, 2, 1, 1, 1, groups);
        ROWS(conv_transpose2d, plane, w2, 2, 1, 1, 0, 1, 1, 0, 0, groups);
        ROWS(conv_transpose3d, space, w3, 1, 1, 2, 0, 0, 0, 1, 1, 1, 0, 0, 1, groups);
        mlx_array_free(line), mlx_array_free(plane), mlx_array_free(space);
        mlx_array_free(w1), mlx_array_free(w2), mlx_array_free(w3);
    }
}

static void test_layers(void **state)
{
    (void)state;
    mlx_array whole = mlx_array_new_int(3);
    ROWS(fast_rms_norm, t, v, 1e-5f), ROWS(fast_rms_norm, t, none, 1e-5f), ROWS(fast_layer_norm, t, v, v, 1e-5f);
    ROWS(fast_layer_norm, t, none, none, 1e-5f), ROWS(fast_rope, q, 8, false, base, 1, 0, none);
    ROWS(fast_rope, q, 6, true, base, 1, 3, none), ROWS(fast_rope_dynamic, q, 8, true, base, 1, whole, none);
    for (int turn = 0; turn < 2; turn++)
        ROWS(fast_scaled_dot_product_attention, q, k, k, 0.5f, turn ? "causal" : "", none, turn ? v : none, false);
    ROWS_LIST(quantize, w, group_size, bits, "affine", none);
    ROWS(dequantize, codes, scales, biases, group_size, bits, "affine", none, no_dtype);
    mlx_array x = ARRAY(MLX_FLOAT32, 3, 64), pages = mlx_array_new(), page_scales = mlx_array_new();
    mlx_array page_biases = mlx_array_new(), zero = ARRAY(MLX_UINT32, 1);
    ROWS(quantized_matmul, x, codes, scales, biases, true, group_size, bits, "affine");
    int code = mlx_expand_dims(&pages, codes, 0, stream) || mlx_expand_dims(&page_scales, scales, 0, stream) ||
               mlx_expand_dims(&page_biases, biases, 0, stream);
    CHECK_EQ(code, 0);
    ROWS(gather_qmm, x, pages, page_scales, page_biases, none, zero, true, group_size, bits, "affine", false);
    mlx_array_free(x), mlx_array_free(pages), mlx_array_free(page_scales), mlx_array_free(page_biases);
    mlx_array_free(zero), mlx_array_free(whole);
}

static void test_products_of_codes(void **state)
{
    (void)state;
    const mlx_optional_int sixteen = {16, true};
    mlx_vector_array parts = mlx_vector_array_new();
    mlx_array x = ARRAY(MLX_FLOAT32, 3, 64), c = mlx_array_new(), s = mlx_array_new();
    int code = mlx_quantize(&parts, w, sixteen, bits, "nvfp4", none, stream) || mlx_vector_array_get(&c, parts, 0) ||
               mlx_vector_array_get(&s, parts, 1);
    CHECK_EQ(code, 0);
    ROWS(qqmm, x, c, s, sixteen, bits, "nvfp4", none, none);
    mlx_vector_array_free(parts), mlx_array_free(x), mlx_array_free(c), mlx_array_free(s);
}

/* Of a function with two results. */
#define ROWS_PAIR(f, ...)                                                                                              \
    res = mlx_array_new(), second = mlx_array_new(),                                                                   \
    check_one(#f, mlx_##f(&res, &second, __VA_ARGS__, stream), res, false), check_one(#f, 0, second, false)

/* Square, wide and tall matrices in a batch: what LAPACK leaves by columns comes out by rows. */
static void test_linear_algebra(void **state)
{
    (void)state;
    mlx_array second, wide = ARRAY(MLX_FLOAT32, 3, 2, 4), tall = ARRAY(MLX_FLOAT32, 3, 4, 2), a = mlx_array_new();
    mlx_array three = ARRAY(MLX_FLOAT32, 4, 3), five = mlx_array_new_float(5);
    CHECK_EQ(mlx_eye(&a, 4, 4, 0, MLX_FLOAT32, stream) || mlx_multiply(&a, a, five, stream) ||
                 mlx_add(&a, a, t, stream) || mlx_array_eval(a),
             0);
    ROWS(linalg_cholesky, a, true), ROWS(linalg_cholesky_inv, a, false), ROWS(linalg_inv, a);
    ROWS(linalg_tri_inv, a, true), ROWS(linalg_pinv, wide), ROWS(linalg_pinv, tall), ROWS(linalg_solve, a, v);
    ROWS(linalg_solve, a, t), ROWS(linalg_solve_triangular, a, t, true), ROWS(linalg_cross, three, three, -1);
    ROWS(linalg_eigvals, a), ROWS(linalg_eigvalsh, a, "L"), ROWS_PAIR(linalg_eig, a), ROWS_PAIR(linalg_eigh, a, "U");
    for (int turn = 0; turn < 2; turn++) {
        mlx_array matrices = turn ? wide : tall;
        ROWS_PAIR(linalg_qr, matrices), ROWS_PAIR(linalg_lu_factor, a), ROWS_LIST(linalg_lu, a);
        ROWS_LIST(linalg_svd, matrices, true), ROWS_LIST(linalg_svd, matrices, false);
        ROWS(linalg_norm, matrices, turn ? 2.0 : 1.0, LIST(0, 2), 2, turn), ROWS(linalg_norm, v, 3.0, NULL, 0, turn);
        ROWS(linalg_norm_matrix, matrices, turn ? "nuc" : "fro", LIST(2, 0), 2, turn);
        ROWS(linalg_norm_l2, matrices, NULL, 0, turn);
    }
    mlx_array_free(wide), mlx_array_free(tall), mlx_array_free(a), mlx_array_free(three), mlx_array_free(five);
}

static void test_transforms(void **state)
{
    (void)state;
    mlx_array z = mlx_array_new();
    CHECK_EQ(mlx_astype(&z, t, MLX_COMPLEX64, stream) || mlx_array_eval(z), 0);
    for (int axis = 0; axis < 3; axis++) {
        ROWS(fft_fft, z, 4, axis, MLX_FFT_NORM_ORTHO), ROWS(fft_ifft, z, 3, axis, MLX_FFT_NORM_ORTHO);
        ROWS(fft_rfft, t, 4, axis, MLX_FFT_NORM_ORTHO), ROWS(fft_irfft, z, 5, axis, MLX_FFT_NORM_ORTHO);
        ROWS(fft_fftshift, t, &axis, 1), ROWS(fft_ifftshift, t, &axis, 1);
    }
    ROWS(fft_fftn, z, MANY(4, 4), MANY(2, 0), MLX_FFT_NORM_ORTHO),
        ROWS(fft_fft2, z, MANY(5, 3), MANY(2, 1), MLX_FFT_NORM_ORTHO);
    ROWS(fft_ifftn, z, MANY(4, 4), MANY(1, 2), MLX_FFT_NORM_ORTHO),
        ROWS(fft_ifft2, z, MANY(5, 3), MANY(0, 1), MLX_FFT_NORM_ORTHO);
    ROWS(fft_rfftn, t, MANY(4, 4), MANY(2, 1), MLX_FFT_NORM_ORTHO),
        ROWS(fft_rfft2, t, MANY(5, 3), MANY(2, 1), MLX_FFT_NORM_ORTHO);
    ROWS(fft_irfftn, z, MANY(4, 4), MANY(2, 1), MLX_FFT_NORM_ORTHO),
        ROWS(fft_irfft2, z, MANY(5, 3), MANY(2, 0), MLX_FFT_NORM_ORTHO);
    res = mlx_array_new(), check_one("fft_fftfreq", mlx_fft_fftfreq(&res, 5, 1, stream), res, false);
    res = mlx_array_new(), check_one("fft_rfftfreq", mlx_fft_rfftfreq(&res, 5, 1, stream), res, false);
    mlx_array_free(z);
}

/* ---- the ABI --------------------------------------------------------------------------------------------------------
 */

/* Operations by the group they have in abi.tsv. */
static bool is_operation(const char *name)
{
    char path[1024], line[2048], row[80], group[40];
    bool is = false;
    snprintf(path, sizeof path, "%s", __FILE__);
    *strrchr(path, '/') = '\0';
    strncat(path, "/../../src/mlxc/abi.tsv", sizeof path - strlen(path) - 1);
    FILE *file = fopen(path, "r");
    CHECK_NOT_NULL(file);
    while (!is && fgets(line, sizeof line, file))
        if (sscanf(line, "%79[^\t]\t%*[^\t]\t%*[^\t]\t%*[^\t]\t%*[^\t]\t%39[^\t]", row, group) == 2 &&
            !strcmp(row, name))
            is = !strncmp(group, "ops-", 4) || !strcmp(group, "fast") || !strcmp(group, "random") ||
                 !strcmp(group, "quantize") || !strcmp(group, "linalg") || !strcmp(group, "fft");
    fclose(file);
    return is && strcmp(name, "mlx_random_seed"); /* which makes nothing */
}

static bool was_seen(const char *name)
{
    for (int at = 0; at < seen_count; at++)
        if (!strcmp(seen[at], name)) return true;
    return false;
}

static void test_every_operation_was_looked_at(void **state)
{
    char command[1200], line[400], name[300], type;
    Dl_info info;
    (void)state;
    CHECK_TRUE(dladdr(dlsym(RTLD_DEFAULT, "mlx_version"), &info));
    snprintf(command, sizeof command, "nm -D --defined-only '%s'", info.dli_fname);
    FILE *names = popen(command, "r");
    CHECK_NOT_NULL(names);
    while (fgets(line, sizeof line, names))
        if (sscanf(line, "%*s %c %299s", &type, name) == 2 && type == 'T' && is_operation(name) && !was_seen(name))
            CHECK_FAIL("%s is not among the operations of this test", name);
    CHECK_EQ(pclose(names), 0);
}

static void test_all_were_rows(void **state)
{
    (void)state;
    CHECK_EQ(wrong_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_creation),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_products_of_codes),
        cmocka_unit_test(test_linear_algebra),
        cmocka_unit_test(test_transforms),
        cmocka_unit_test(test_every_operation_was_looked_at),
        cmocka_unit_test(test_all_were_rows),
    };
    return cmocka_run_group_tests(tests, make_inputs, free_inputs);
}
