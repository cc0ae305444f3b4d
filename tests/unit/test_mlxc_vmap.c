/*
 * test_mlxc_vmap.c - vmap: axes, indices that are mapped, keys, long chains, and what is refused.
 * test_mlxc_vmap_random.c has every operation.
 */
#include "vmap_support.h"

static mlx_array whole_numbers(const int *shape, int ndim, mlx_dtype dtype, int bound)
{
    float numbers[4096];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    for (int i = 0; i < size; i++) numbers[i] = (float)((i * 7 + i / 5) % bound);
    mlx_array plain = mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32), out = mlx_array_new();
    CHECK_EQ(mlx_astype(&out, plain, dtype, stream) || mlx_array_eval(out), 0);
    mlx_array_free(plain);
    return out;
}
#define SHAPE(...) ((const int[]){__VA_ARGS__}), (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* ---- axes -------------------------------------------------------------------------------------------------------- */

static int add_row_sum(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_sum_axis(out, in[0], -1, false, stream) || mlx_add(out, *out, in[1], stream);
}

static void test_every_axis_of_inputs_and_output(void **state)
{
    (void)state;
    struct mapped_function function = {add_row_sum, NULL, 0};
    mlx_array a = whole_numbers(SHAPE(4, 4, 4), MLX_FLOAT32, 50), b = whole_numbers(SHAPE(4, 4), MLX_FLOAT32, 50);
    for (int i = -3; i < 3; i++)
        for (int k = -2; k < 2; k++)
            for (int out = -2; out < 2; out++) {
                if (i == -1 && k == -1) continue;
                CHECK_CONTEXT("axes %d, %d and %d", i, k, out);
                expect_like_loop(&function, (mlx_array[]){a, b}, 2, (int[]){i, k}, out);
            }
    mlx_array_free(a), mlx_array_free(b);
}

/* Several results, one of which no mapped input reaches, one of which is an input. */
static int three_results(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new(), y = mlx_array_new(), constant = mlx_array_new();
    const int shape[] = {2};
    int code = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&y, in, 1) ||
               mlx_ones(&constant, shape, 1, MLX_FLOAT32, stream) || mlx_vector_array_append_value(*res, x) ||
               mlx_vector_array_append_value(*res, y) || mlx_vector_array_append_value(*res, constant);
    return mlx_array_free(x), mlx_array_free(y), mlx_array_free(constant), code;
}

static int make_three(mlx_vector_array *res, const mlx_vector_array in)
{
    *res = mlx_vector_array_new();
    return three_results(res, in);
}

static void test_results_that_are_not_mapped_are_repeated(void **state)
{
    (void)state;
    mlx_closure closure = mlx_closure_new_func(make_three);
    mlx_array x = floats((float[]){1, 2, 3}, 3), y = floats((float[]){5}, 1), out = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_data((mlx_array[]){x, y}, 2), res = mlx_vector_array_new();
    CHECK_EQ(vmap(&res, closure, in, (int[]){0, -1}, (int[]){0, 1, -1}), 0);
    CHECK_EQ(mlx_vector_array_size(res), 3);
    CHECK_EQ(mlx_vector_array_get(&out, res, 0), 0);
    expect_text(out, "array([1, 2, 3], dtype=float32)");
    CHECK_EQ(mlx_vector_array_get(&out, res, 1), 0);
    expect_text(out, "array([[5, 5, 5]], dtype=float32)");
    CHECK_EQ(mlx_vector_array_get(&out, res, 2), 0);
    expect_text(out, "array([[1, 1, 1],\n       [1, 1, 1]], dtype=float32)");
    mlx_array_free(x), mlx_array_free(y), mlx_array_free(out), mlx_closure_free(closure);
    mlx_vector_array_free(in), mlx_vector_array_free(res);
}

static void test_no_slices(void **state)
{
    (void)state;
    struct mapped_function function = {add_row_sum, NULL, 0};
    mlx_closure closure = closure_of(&function);
    mlx_array a = mlx_array_new(), b = mlx_array_new_float(1), out = mlx_array_new();
    CHECK_EQ(mlx_zeros(&a, (int[]){0, 3, 2}, 3, MLX_FLOAT32, stream), 0);
    CHECK_EQ(vmap_one(&out, closure, (mlx_array[]){a, b}, 2, (int[]){0, -1}, 1), 0);
    CHECK_EQ(mlx_array_eval(out), 0);
    CHECK_EQ(mlx_array_ndim(out), 2);
    CHECK_EQ(mlx_array_dim(out, 0), 3);
    CHECK_EQ(mlx_array_dim(out, 1), 0);
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(out), mlx_closure_free(closure);
}

/* ---- through indices, mapped or not ------------------------------------------------------------------------------ */

static int take_0(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_take_axis(out, in[0], in[1], 0, stream);
}

static int take_1(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_take_axis(out, in[0], in[1], 1, stream);
}

static int take_along(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_take_along_axis(out, in[0], in[1], 1, stream);
}

/* Indices of two axes: the second ones are the first, turned. */
static int gather_two(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    mlx_array turned = mlx_array_new();
    int code = mlx_transpose(&turned, in[1], stream);
    mlx_vector_array indices = mlx_vector_array_new_data((mlx_array[]){in[1], turned}, 2);
    code = code || mlx_gather(out, in[0], indices, (int[]){2, 0}, 2, (int[]){1, 3, 2}, 3, stream);
    return mlx_vector_array_free(indices), mlx_array_free(turned), code;
}

static int put_along(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_put_along_axis(out, in[0], in[1], in[2], 1, stream);
}

static int scatter_add(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_scatter_add_single(out, in[0], in[1], in[2], 1, stream);
}

static int scatter_two(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    mlx_vector_array indices = mlx_vector_array_new_data((mlx_array[]){in[1], in[1]}, 2);
    int code = mlx_scatter_prod(out, in[0], indices, in[2], (int[]){0, 1}, 2, stream);
    return mlx_vector_array_free(indices), code;
}

static int slice_at(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_slice_dynamic(out, in[0], in[1], (int[]){2, 0}, 2, (int[]){1, 3, 2}, 3, stream);
}

static int slice_at_one(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_slice_dynamic(out, in[0], in[1], (int[]){1}, 1, (int[]){4, 1, 4}, 3, stream);
}

static int update_at(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_slice_update_dynamic(out, in[0], in[2], in[1], (int[]){2, 0}, 2, stream);
}

static int update_slice(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_slice_update_add(out, in[0], in[1], (int[]){3, 0}, 2, (int[]){-5, 4}, 2, (int[]){-2, 3}, 2, stream);
}

static int attend(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_fast_scaled_dot_product_attention(out, in[0], in[1], in[1], 0.3f, "array", in[2], in[3], false, stream);
}

static int sort_rows(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_argsort_axis(out, in[0], 0, stream) || mlx_take_along_axis(out, in[1], *out, 0, stream);
}

static int multiply(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_matmul(out, in[0], in[1], stream);
}

static int quantized(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    mlx_optional_int group = {32, true}, bits = {4, true};
    return mlx_quantized_matmul(out, in[0], in[1], in[2], in[3], true, group, bits, "affine", stream);
}

static int gathered(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_gather_mm(out, in[0], in[1], mlx_array_empty, in[2], false, stream);
}

static int gathered_quantized(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    mlx_optional_int group = {32, true}, bits = {4, true};
    return mlx_gather_qmm(out, in[0], in[1], in[2], in[3], mlx_array_empty, in[4], true, group, bits, "affine", false,
                          stream);
}

struct input {
    int shape[5], ndim;
    mlx_dtype dtype;
    int bound;
};

static const struct {
    const char *name;
    int (*call)(const void *payload, const mlx_array *in, mlx_array *out);
    int count;
    struct input inputs[5]; /* of one call: slices */
} cases[] = {
    {"take", take_0, 2, {{{4, 3}, 2, MLX_FLOAT32, 90}, {{2, 5}, 2, MLX_UINT32, 4}}},
    {"take of an inner axis", take_1, 2, {{{4, 3, 2}, 3, MLX_INT32, 90}, {{2, 5}, 2, MLX_INT32, 3}}},
    {"take of one", take_1, 2, {{{4, 3, 2}, 3, MLX_BFLOAT16, 90}, {{0}, 0, MLX_INT32, 3}}},
    {"take of nothing", take_0, 2, {{{0, 3}, 2, MLX_FLOAT32, 90}, {{0}, 1, MLX_UINT32, 4}}},
    {"take along", take_along, 2, {{{4, 3}, 2, MLX_FLOAT32, 90}, {{4, 2}, 2, MLX_INT64, 3}}},
    {"gather", gather_two, 2, {{{4, 3, 5}, 3, MLX_FLOAT32, 90}, {{2, 2}, 2, MLX_INT32, 4}}},
    {"put along", put_along, 3, {{{4, 3}, 2, MLX_FLOAT32, 90}, {{4, 1}, 2, MLX_INT32, 3}, {{4, 1}, 2, MLX_FLOAT32, 9}}},
    {"scatter", scatter_add, 3, {{{4, 3}, 2, MLX_FLOAT32, 90}, {{5}, 1, MLX_UINT8, 3}, {{5, 4, 1}, 3, MLX_FLOAT32, 9}}},
    {"scatter to two axes",
     scatter_two,
     3,
     {{{4, 3}, 2, MLX_INT32, 9}, {{2, 2}, 2, MLX_UINT32, 3}, {{2, 2, 1, 1}, 4, MLX_INT32, 5}}},
    {"slice dynamic", slice_at, 2, {{{4, 3, 5}, 3, MLX_FLOAT32, 90}, {{2}, 1, MLX_INT32, 4}}},
    {"slice dynamic of one", slice_at_one, 2, {{{4, 3, 5}, 3, MLX_FLOAT32, 90}, {{0}, 0, MLX_INT32, 3}}},
    {"update dynamic",
     update_at,
     3,
     {{{4, 3, 5}, 3, MLX_FLOAT32, 90}, {{2}, 1, MLX_INT32, 3}, {{1, 3, 2}, 3, MLX_FLOAT32, 9}}},
    {"update", update_slice, 2, {{{4, 5}, 2, MLX_FLOAT32, 90}, {{2, 2}, 2, MLX_FLOAT32, 50}}},
    {"attention",
     attend,
     4,
     {{{2, 4, 3, 8}, 4, MLX_FLOAT32, 5},
      {{2, 2, 6, 8}, 4, MLX_FLOAT32, 7},
      {{2, 1, 3, 6}, 4, MLX_BOOL, 2},
      {{4}, 1, MLX_FLOAT32, 3}}},
    {"attention with a mask of all",
     attend,
     4,
     {{{1, 4, 3, 8}, 4, MLX_FLOAT16, 5},
      {{1, 4, 6, 8}, 4, MLX_FLOAT16, 7},
      {{3, 6}, 2, MLX_FLOAT16, 2},
      {{4}, 1, MLX_FLOAT16, 3}}},
    {"sort", sort_rows, 2, {{{4, 3}, 2, MLX_FLOAT32, 90}, {{4, 3}, 2, MLX_FLOAT32, 90}}},
    {"product", multiply, 2, {{{2, 3, 4}, 3, MLX_FLOAT32, 9}, {{4, 5}, 2, MLX_FLOAT32, 9}}},
    {"product of vectors", multiply, 2, {{{4}, 1, MLX_FLOAT32, 9}, {{4}, 1, MLX_FLOAT32, 9}}},
    {"quantized",
     quantized,
     4,
     {{{2, 3, 32}, 3, MLX_FLOAT32, 9},
      {{8, 4}, 2, MLX_UINT32, 9},
      {{8, 1}, 2, MLX_FLOAT32, 3},
      {{8, 1}, 2, MLX_FLOAT32, 9}}},
    {"picked", gathered, 3, {{{1, 4}, 2, MLX_FLOAT32, 9}, {{3, 4, 5}, 3, MLX_FLOAT32, 9}, {{2}, 1, MLX_UINT32, 3}}},
    {"picked and quantized",
     gathered_quantized,
     5,
     {{{1, 32}, 2, MLX_FLOAT32, 9},
      {{3, 8, 4}, 3, MLX_UINT32, 9},
      {{3, 8, 1}, 3, MLX_FLOAT32, 3},
      {{3, 8, 1}, 3, MLX_FLOAT32, 9},
      {{2}, 1, MLX_UINT32, 3}}},
};

/* The input with the mapped axis, 3 slices of it, at its front, or at its end for odd inputs. */
static mlx_array make_input(const struct input *input, bool is_mapped, bool at_end, int *axis)
{
    int shape[6], ndim = 0;
    *axis = !is_mapped ? -1 : at_end ? input->ndim : 0;
    for (int i = 0; i <= input->ndim; i++) {
        if (i == *axis) shape[ndim++] = 3;
        if (i < input->ndim) shape[ndim++] = input->shape[i];
    }
    return whole_numbers(shape, ndim, input->dtype, input->bound);
}

static void check_case(int c, unsigned mapped)
{
    struct mapped_function function = {cases[c].call, NULL, 0};
    mlx_array in[5];
    int axes[5];
    CHECK_CONTEXT("%s, mapped inputs %u", cases[c].name, mapped);
    for (int i = 0; i < cases[c].count; i++) in[i] = make_input(&cases[c].inputs[i], mapped >> i & 1, i % 2, &axes[i]);
    expect_like_loop(&function, in, cases[c].count, axes, 0);
    for (int i = 0; i < cases[c].count; i++) mlx_array_free(in[i]);
}

static void test_operations_with_every_choice_of_mapped_inputs(void **state)
{
    (void)state;
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++)
        for (unsigned mapped = 1; mapped < 1u << cases[c].count; mapped++) check_case(c, mapped);
}

/* Broken numbers: sums are rounded, and the order of a product's sum may depend on how many rows it has. */
static void test_products_of_broken_numbers_are_near(void **state)
{
    (void)state;
    enum { K = 33 };
    struct mapped_function function = {multiply, NULL, 0};
    mlx_array keys[2] = {mlx_array_new(), mlx_array_new()}, in[2] = {mlx_array_new(), mlx_array_new()};
    mlx_array got = mlx_array_new(), want = mlx_array_new();
    mlx_closure closure = closure_of(&function);
    CHECK_EQ(mlx_random_key(&keys[0], 1) || mlx_random_key(&keys[1], 2), 0);
    CHECK_EQ(mlx_random_normal(&in[0], (int[]){7, K}, 2, MLX_FLOAT32, 0, 1, keys[0], stream) ||
                 mlx_random_normal(&in[1], (int[]){K, 9}, 2, MLX_FLOAT32, 0, 1, keys[1], stream),
             0);
    CHECK_EQ(vmap_one(&got, closure, in, 2, (int[]){0, -1}, 0) || loop_over(&want, closure, in, 2, (int[]){0, -1}, 0),
             0);
    CHECK_EQ(mlx_array_eval(got) || mlx_array_eval(want), 0);
    for (int i = 0; i < 7 * 9; i++) /* (k + 4) * 2^-24 of the sum of magnitudes, each way: docs/engine.md */
        CHECK_NEAR(mlx_array_data_float32(got)[i], mlx_array_data_float32(want)[i], 2 * (K + 4) * 0x1p-24 * 9 * K);
    for (int i = 0; i < 2; i++) mlx_array_free(keys[i]), mlx_array_free(in[i]);
    mlx_array_free(got), mlx_array_free(want), mlx_closure_free(closure);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static int draw(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_random_normal(out, (int[]){2, 3}, 2, MLX_FLOAT32, 0, 1, in[0], stream);
}

static int draw_after_split(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    mlx_array first = mlx_array_new(), second = mlx_array_new();
    int code =
        mlx_random_split(&first, &second, in[0], stream) || mlx_random_bits(out, (int[]){5}, 1, 2, second, stream);
    return mlx_array_free(first), mlx_array_free(second), code;
}

static void test_keys(void **state)
{
    (void)state;
    struct mapped_function functions[] = {{draw, NULL, 0}, {draw_after_split, NULL, 0}};
    mlx_array key = mlx_array_new(), keys = mlx_array_new(), turned = mlx_array_new();
    CHECK_EQ(mlx_random_key(&key, 7) || mlx_random_split_num(&keys, key, 5, stream), 0);
    CHECK_EQ(mlx_transpose(&turned, keys, stream), 0);
    for (int i = 0; i < 2; i++) {
        expect_like_loop(&functions[i], &keys, 1, (int[]){0}, 0);
        expect_like_loop(&functions[i], &turned, 1, (int[]){1}, -1);
    }
    mlx_array out = mlx_array_new(); /* outside of vmap several keys are refused */
    CHECK_EQ(mlx_random_bits(&out, (int[]){5, 2}, 2, 4, keys, stream), 1);
    expect_error("Expected a key of shape (2), got (5,2)");
    mlx_array_free(key), mlx_array_free(keys), mlx_array_free(turned), mlx_array_free(out);
}

/* ---- traces ------------------------------------------------------------------------------------------------------ */

static int chain(const void *payload, const mlx_array *in, mlx_array *out)
{
    int code = mlx_array_set(out, in[0]);
    for (int i = 0; i < *(const int *)payload && !code; i++) code = mlx_negative(out, *out, stream);
    return code;
}

static void test_a_long_chain(void **state)
{
    (void)state;
    const int length = 200001;
    struct mapped_function function = {chain, &length, 0};
    mlx_closure closure = closure_of(&function);
    mlx_array x = floats((float[]){1, 2, 3}, 3), out = mlx_array_new();
    CHECK_EQ(vmap_one(&out, closure, &x, 1, (int[]){0}, 0), 0);
    mlx_array_free(out), mlx_array_free(x), mlx_closure_free(closure);
}

static int leave_with_a_placeholder(const void *payload, const mlx_array *in, mlx_array *out)
{
    return mlx_array_set((mlx_array *)(uintptr_t)payload, in[0]) || mlx_square(out, in[0], stream);
}

static void test_placeholders_stay_in_their_trace(void **state)
{
    (void)state;
    mlx_array kept = mlx_array_new(), x = floats((float[]){1, 2, 3}, 3), out = mlx_array_new();
    struct mapped_function function = {leave_with_a_placeholder, &kept, 0};
    mlx_closure closure = closure_of(&function);
    CHECK_EQ(vmap_one(&out, closure, &x, 1, (int[]){0}, 0), 0);
    expect_text(out, "array([1, 4, 9], dtype=float32)");
    CHECK_EQ(mlx_square(&out, kept, stream), 1);
    expect_error("belongs to a trace that has ended");
    CHECK_EQ(mlx_array_eval(kept), 1);
    expect_error("Attempting to eval an array during function transformations");
    mlx_array_free(kept), mlx_array_free(x), mlx_array_free(out), mlx_closure_free(closure);
}

static int look(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_square(out, in[0], stream) || mlx_array_eval(*out);
}

static int square(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_square(out, in[0], stream);
}

static int map_squares(mlx_vector_array *res, const mlx_vector_array in)
{
    struct mapped_function function = {square, NULL, 0};
    mlx_closure closure = closure_of(&function);
    int code = vmap(res, closure, in, (const int[]){0}, (const int[]){0});
    return mlx_closure_free(closure), code;
}

/* Rules read sizes, which a shapeless function's record must not hold. */
static void test_shapeless_functions_are_refused(void **state)
{
    (void)state;
    mlx_closure plain = mlx_closure_new_func(map_squares), compiled = mlx_closure_new();
    mlx_array x = floats((float[]){1, 2, 3}, 3);
    mlx_vector_array in = mlx_vector_array_new_data(&x, 1), res = mlx_vector_array_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false) || mlx_closure_apply(&res, compiled, in), 0);
    CHECK_EQ(mlx_compile(&compiled, plain, true), 0);
    CHECK_EQ(mlx_closure_apply(&res, compiled, in), 1);
    if (!strstr(error_text, "mlx_closure returned a non-zero value")) CHECK_FAIL("got \"%s\"", error_text);
    CHECK_EQ(error_count, 2); /* that of vmap, then that of the closure */
    error_count = 0;
    mlx_array_free(x), mlx_vector_array_free(in), mlx_vector_array_free(res);
    mlx_closure_free(plain), mlx_closure_free(compiled);
}

static int refuse(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload, (void)in, (void)out;
    return 1;
}

static void test_a_function_that_fails(void **state)
{
    (void)state;
    struct mapped_function looks = {look, NULL, 0}, fails = {refuse, NULL, 0};
    mlx_closure closures[] = {closure_of(&looks), closure_of(&fails)};
    mlx_array x = floats((float[]){1, 2, 3}, 3), out = mlx_array_new();
    CHECK_EQ(vmap_one(&out, closures[0], &x, 1, (int[]){0}, 0), 1);
    CHECK_EQ(error_count, 2); /* that of the evaluation, then that of the closure */
    error_count = 1;
    expect_error("mlx_closure returned a non-zero value");
    CHECK_EQ(vmap_one(&out, closures[1], &x, 1, (int[]){0}, 0), 1);
    expect_error("mlx_closure returned a non-zero value");
    CHECK_NULL(out.ctx);
    CHECK_EQ(mlx_square(&out, x, stream), 0); /* no trace is left */
    expect_text(out, "array([1, 4, 9], dtype=float32)");
    mlx_array_free(x), mlx_array_free(out);
    for (int i = 0; i < 2; i++) mlx_closure_free(closures[i]);
}

/* ---- a rule of the function's own -------------------------------------------------------------------------------- */

static int rule_calls;

/* The square and the double; the rule gives the double of both, so that it is seen which one was used. */
static int square_and_double(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new(), out[] = {mlx_array_new(), mlx_array_new()};
    int code = mlx_vector_array_get(&x, in, 0) || mlx_square(&out[0], x, stream) || mlx_add(&out[1], x, x, stream) ||
               mlx_vector_array_set_data(res, out, 2);
    return mlx_array_free(x), mlx_array_free(out[0]), mlx_array_free(out[1]), code;
}

static int double_both(mlx_vector_array *res, mlx_vector_int *out_axes, const mlx_vector_array in, const int *in_axes,
                       size_t count)
{
    const int axes[] = {1, 0}; /* the first result turned */
    mlx_array x = mlx_array_new(), out[] = {mlx_array_new(), mlx_array_new()};
    rule_calls++;
    if (count != 1 || in_axes[0] != 0) return 1;
    int code = mlx_vector_array_get(&x, in, 0) || mlx_add(&out[1], x, x, stream) ||
               mlx_transpose(&out[0], out[1], stream) || mlx_vector_array_set_data(res, out, 2) ||
               mlx_vector_int_set_data(out_axes, (int *)(uintptr_t)axes, 2);
    return mlx_array_free(x), mlx_array_free(out[0]), mlx_array_free(out[1]), code;
}

static int too_few(mlx_vector_array *res, mlx_vector_int *out_axes, const mlx_vector_array in, const int *in_axes,
                   size_t count)
{
    const int axis = 0;
    (void)in_axes, (void)count;
    mlx_array x = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_set_value(res, x) ||
               mlx_vector_int_set_data(out_axes, (int *)(uintptr_t)&axis, 1);
    return mlx_array_free(x), code;
}

static void test_a_function_with_a_rule(void **state)
{
    (void)state;
    mlx_closure plain = mlx_closure_new_func(square_and_double), custom = mlx_closure_new();
    mlx_closure_custom_vmap rule = mlx_closure_custom_vmap_new_func(double_both),
                            wrong = mlx_closure_custom_vmap_new_func(too_few);
    mlx_array x = whole_numbers(SHAPE(2, 3), MLX_FLOAT32, 9), out = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_data(&x, 1), res = mlx_vector_array_new();
    CHECK_EQ(mlx_custom_function(&custom, plain, (mlx_closure_custom){NULL}, (mlx_closure_custom_jvp){NULL}, rule), 0);
    CHECK_EQ(mlx_closure_apply(&res, custom, in) || mlx_vector_array_get(&out, res, 0), 0);
    expect_text(out, "array([[0, 49, 25],\n       [9, 1, 0]], dtype=float32)");
    CHECK_EQ(rule_calls, 0);
    CHECK_EQ(vmap(&res, custom, in, (int[]){1}, (int[]){0, 1}), 0);
    CHECK_EQ(rule_calls, 1); /* for both results */
    CHECK_EQ(mlx_vector_array_get(&out, res, 0), 0);
    expect_text(out, "array([[0, 6],\n       [14, 2],\n       [10, 0]], dtype=float32)");
    CHECK_EQ(mlx_vector_array_get(&out, res, 1), 0);
    expect_text(out, "array([[0, 14, 10],\n       [6, 2, 0]], dtype=float32)");
    CHECK_EQ(mlx_custom_function(&custom, plain, (mlx_closure_custom){NULL}, (mlx_closure_custom_jvp){NULL}, wrong), 0);
    CHECK_EQ(vmap(&res, custom, in, (int[]){1}, (int[]){0, 1}), 1);
    expect_error("[custom_function] The rule for vmap gave 1 arrays, the function more.");
    mlx_array_free(x), mlx_array_free(out), mlx_vector_array_free(in), mlx_vector_array_free(res);
    mlx_closure_free(plain), mlx_closure_free(custom), mlx_closure_custom_vmap_free(rule);
    mlx_closure_custom_vmap_free(wrong);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void expect_refusal(const mlx_array *in, int count, const int *in_axes, int out_axis, const char *text)
{
    struct mapped_function function = {add_row_sum, NULL, 0};
    mlx_closure closure = closure_of(&function);
    mlx_array out = mlx_array_new();
    CHECK_EQ(vmap_one(&out, closure, in, count, in_axes, out_axis), 1);
    expect_error(text);
    CHECK_NULL(out.ctx);
    mlx_closure_free(closure);
}
#define expect_refusal(...) CHECK_CALL(expect_refusal, __VA_ARGS__)

static void test_axes_that_do_not_fit(void **state)
{
    (void)state;
    mlx_array a = whole_numbers(SHAPE(2, 3), MLX_FLOAT32, 9), b = mlx_array_new_float(1);
    const mlx_array both[] = {a, b}, twice[] = {a, a};
    expect_refusal(both, 2, (int[]){2, -1}, 0, "[vmap] Invalid vectorization axis 2 for array with shape (2,3).");
    expect_refusal(both, 2, (int[]){-3, -1}, 0, "[vmap] Invalid vectorization axis -3 for array with shape (2,3).");
    expect_refusal(both, 2, (int[]){0, 0}, 0, "[vmap] Invalid vectorization axis 0 for array with shape ().");
    expect_refusal(twice, 2, (int[]){0, 1}, 0, "[vmap] Inconsistent axis sizes: 2 and 3.");
    expect_refusal(both, 2, (int[]){-1, -1}, 0, "[vmap] At least one of in_axes must be an axis");
    expect_refusal(both, 2, (int[]){0, -1}, 1, "[vmap] Invalid output vectorization axis 1 for array with shape ().");
    expect_refusal(both, 2, (int[]){0, -1}, -2, "[vmap] Invalid output vectorization axis -2 for array with shape ().");
    mlx_array_free(a), mlx_array_free(b);
}

static void test_lists_that_do_not_fit(void **state)
{
    (void)state;
    struct mapped_function function = {add_row_sum, NULL, 0};
    mlx_closure closure = closure_of(&function);
    mlx_array a = whole_numbers(SHAPE(2, 3), MLX_FLOAT32, 9), other = whole_numbers(SHAPE(2, 4), MLX_FLOAT32, 9);
    mlx_vector_array in = mlx_vector_array_new_data((mlx_array[]){a, a}, 2), res[3] = {{NULL}},
                     others = mlx_vector_array_new_data((mlx_array[]){other, other}, 2);
    const int axes[] = {0, 0, 0};
    CHECK_EQ(mlx_detail_vmap_trace(&res[0], &res[1], closure, in, axes, 3), 1);
    expect_error("[vmap] Expected one of in_axes for each input, got 3 for 2.");
    CHECK_NULL(res[0].ctx), CHECK_NULL(res[1].ctx);
    CHECK_EQ(mlx_detail_vmap_trace(&res[0], &res[1], closure, in, axes, 2), 0);
    CHECK_EQ(mlx_detail_vmap_replace(&res[2], in, res[0], res[1], axes, 2, axes, 2), 1);
    expect_error("[vmap] Expected one of out_axes for each output, got 2 for 1.");
    CHECK_EQ(mlx_detail_vmap_replace(&res[2], in, in, res[1], axes, 2, axes, 1), 1);
    expect_error("[vmap] Input 0 of the trace is not a placeholder of vmap_trace().");
    CHECK_EQ(mlx_detail_vmap_replace(&res[2], others, res[0], res[1], axes, 2, axes, 1), 1);
    expect_error("expected the inputs, axes and placeholders of one vmap_trace()");
    CHECK_EQ(mlx_detail_vmap_replace(&res[2], in, res[0], res[1], NULL, 2, axes, 1), 1);
    expect_error("expected a non-NULL pointer");
    CHECK_NULL(res[2].ctx);
    mlx_array_free(a), mlx_array_free(other), mlx_closure_free(closure), mlx_vector_array_free(in);
    mlx_vector_array_free(others), mlx_vector_array_free(res[0]), mlx_vector_array_free(res[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_axis_of_inputs_and_output, install_handler),
        cmocka_unit_test_setup(test_results_that_are_not_mapped_are_repeated, install_handler),
        cmocka_unit_test_setup(test_no_slices, install_handler),
        cmocka_unit_test_setup(test_operations_with_every_choice_of_mapped_inputs, install_handler),
        cmocka_unit_test_setup(test_products_of_broken_numbers_are_near, install_handler),
        cmocka_unit_test_setup(test_keys, install_handler),
        cmocka_unit_test_setup(test_a_long_chain, install_handler),
        cmocka_unit_test_setup(test_placeholders_stay_in_their_trace, install_handler),
        cmocka_unit_test_setup(test_shapeless_functions_are_refused, install_handler),
        cmocka_unit_test_setup(test_a_function_that_fails, install_handler),
        cmocka_unit_test_setup(test_a_function_with_a_rule, install_handler),
        cmocka_unit_test_setup(test_axes_that_do_not_fit, install_handler),
        cmocka_unit_test_setup(test_lists_that_do_not_fit, install_handler),
    };
    stream = mlx_default_cpu_stream_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mlx_stream_free(stream);
    return failed;
}
