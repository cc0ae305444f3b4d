/*
 * test_mlxc_layers.c - softmax, logsumexp and norms outside of compiled functions are one kernel each, with every bit
 * of their formulas, which are written here with single operations.
 *
 * KILN_TEST_EVERY=n takes one length in n and no large arrays, for the emulated driver.
 */
#include "support/check.h"

#include <math.h>

#include <kiln.h>
#include <mlx/c/mlx.h>

#define EPS 1e-5f

static mlx_stream stream;
static const mlx_dtype floats[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT64};
enum { FLOATS = sizeof floats / sizeof *floats };

/* What a layer takes; weight and bias may be empty. */
struct inputs {
    mlx_array x, weight, bias;
};

/* ---- formulas --------------------------------------------------------------------------------------------------- */

static mlx_dtype wide_dtype(mlx_dtype dtype)
{
    return dtype == MLX_FLOAT64 ? MLX_FLOAT64 : MLX_FLOAT32;
}

static mlx_dtype at_least_float(mlx_dtype dtype)
{
    return dtype < MLX_FLOAT16 ? MLX_FLOAT32 : dtype;
}

static mlx_array number(double value, mlx_dtype dtype)
{
    mlx_array wide = mlx_array_new_float64(value);
    CHECK_EQ(mlx_astype(&wide, wide, dtype, stream), 0);
    return wide;
}

static int with_number(int (*op)(mlx_array *, mlx_array, mlx_array, mlx_stream), mlx_array *x, double value)
{
    mlx_array scalar = number(value, mlx_array_dtype(*x));
    int code = op(x, *x, scalar, stream);
    mlx_array_free(scalar);
    return code;
}

/* top: the maximum of each row; powers: exp(x - top); total: their sum */
static int powers_of(mlx_array *powers, mlx_array *top, mlx_array *total, mlx_array x)
{
    return mlx_astype(powers, x, wide_dtype(at_least_float(mlx_array_dtype(x))), stream) ||
           mlx_max_axis(top, *powers, -1, true, stream) || mlx_subtract(powers, *powers, *top, stream) ||
           mlx_exp(powers, *powers, stream) || mlx_sum_axis(total, *powers, -1, true, stream);
}

static int softmax_formula(mlx_array *out, struct inputs in)
{
    mlx_array top = mlx_array_new(), total = mlx_array_new();
    int code = powers_of(out, &top, &total, in.x) || mlx_divide(out, *out, total, stream) ||
               mlx_astype(out, *out, at_least_float(mlx_array_dtype(in.x)), stream);
    mlx_array_free(top), mlx_array_free(total);
    return code;
}

static int logsumexp_formula(mlx_array *out, struct inputs in)
{
    mlx_array top = mlx_array_new(), total = mlx_array_new(), size = mlx_array_new();
    int code =
        powers_of(out, &top, &total, in.x) || mlx_log(&total, total, stream) || mlx_add(&total, total, top, stream) ||
        mlx_abs(&size, top, stream) || mlx_isposinf(&size, size, stream) || mlx_where(out, size, top, total, stream) ||
        mlx_astype(out, *out, at_least_float(mlx_array_dtype(in.x)), stream) || mlx_squeeze_axis(out, *out, -1, stream);
    mlx_array_free(top), mlx_array_free(total), mlx_array_free(size);
    return code;
}

static mlx_dtype result_dtype(struct inputs in)
{
    mlx_array sum = mlx_array_new();
    CHECK_EQ(mlx_array_set(&sum, in.x), 0);
    if (in.weight.ctx) CHECK_EQ(mlx_add(&sum, sum, in.weight, stream), 0);
    if (in.bias.ctx && in.weight.ctx) /* a bias alone does not widen */
        CHECK_EQ(mlx_add(&sum, sum, in.bias, stream), 0);
    mlx_dtype dtype = mlx_array_dtype(sum);
    mlx_array_free(sum);
    return dtype;
}

static int rms_norm_formula(mlx_array *out, struct inputs in)
{
    mlx_array scale = mlx_array_new();
    float part = 1.0f / (float)mlx_array_dim(in.x, -1);
    int code = mlx_astype(out, in.x, MLX_FLOAT32, stream) || mlx_multiply(&scale, *out, *out, stream) ||
               mlx_sum_axis(&scale, scale, -1, true, stream) || with_number(mlx_multiply, &scale, (double)part) ||
               with_number(mlx_add, &scale, (double)EPS) || mlx_rsqrt(&scale, scale, stream) ||
               mlx_multiply(out, *out, scale, stream) || mlx_astype(out, *out, result_dtype(in), stream);
    if (!code && in.weight.ctx) code = mlx_multiply(out, *out, in.weight, stream);
    mlx_array_free(scale);
    return code;
}

static int mean_of(mlx_array *out, mlx_array x)
{
    int n = mlx_array_dim(x, -1);
    return mlx_sum_axis(out, x, -1, true, stream) || with_number(mlx_divide, out, n);
}

static int apply_row(int (*op)(mlx_array *, mlx_array, mlx_array, mlx_stream), mlx_array *x, mlx_array row)
{
    mlx_array wide = mlx_array_new();
    if (!row.ctx) return 0;
    int code = mlx_astype(&wide, row, mlx_array_dtype(*x), stream) || op(x, *x, wide, stream);
    mlx_array_free(wide);
    return code;
}

static int layer_norm_formula(mlx_array *out, struct inputs in)
{
    mlx_array middle = mlx_array_new(), spread = mlx_array_new();
    mlx_dtype dtype = result_dtype(in);
    int code = mlx_astype(out, in.x, wide_dtype(dtype), stream) || mean_of(&middle, *out) ||
               mlx_subtract(out, *out, middle, stream) || mlx_square(&spread, *out, stream) ||
               mean_of(&spread, spread) || with_number(mlx_add, &spread, (double)EPS) ||
               mlx_rsqrt(&spread, spread, stream) || mlx_multiply(out, *out, spread, stream) ||
               apply_row(mlx_multiply, out, in.weight) || apply_row(mlx_add, out, in.bias) ||
               mlx_astype(out, *out, dtype, stream);
    mlx_array_free(middle), mlx_array_free(spread);
    return code;
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

static int softmax_layer(mlx_array *out, struct inputs in)
{
    return mlx_softmax_axis(out, in.x, -1, false, stream);
}

static int logsumexp_layer(mlx_array *out, struct inputs in)
{
    return mlx_logsumexp_axis(out, in.x, -1, false, stream);
}

static int rms_norm_layer(mlx_array *out, struct inputs in)
{
    return mlx_fast_rms_norm(out, in.x, in.weight, EPS, stream);
}

static int layer_norm_layer(mlx_array *out, struct inputs in)
{
    return mlx_fast_layer_norm(out, in.x, in.weight, in.bias, EPS, stream);
}

static const struct layer {
    int (*layer)(mlx_array *, struct inputs), (*formula)(mlx_array *, struct inputs);
    bool has_weight, has_bias, is_norm;
} layers[] = {{softmax_layer, softmax_formula, false, false, false},
              {logsumexp_layer, logsumexp_formula, false, false, false},
              {rms_norm_layer, rms_norm_formula, false, false, true},
              {rms_norm_layer, rms_norm_formula, true, false, true},
              {layer_norm_layer, layer_norm_formula, false, false, true},
              {layer_norm_layer, layer_norm_formula, true, false, true},
              {layer_norm_layer, layer_norm_formula, false, true, true},
              {layer_norm_layer, layer_norm_formula, true, true, true}};
enum { LAYERS = sizeof layers / sizeof *layers };

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

/* Row 0 is plain; others have a NaN, an infinity, only infinities, and numbers that are far apart. */
static float element(int row, int i, int n)
{
    float plain = (float)((uint32_t)(row * n + i) * 2654435761u >> 20) / 700.0f - 2.5f;
    bool is_odd = i == n / 2;
    switch (row % 8) {
    case 1:
        return is_odd ? NAN : plain;
    case 2:
        return is_odd ? INFINITY : plain;
    case 3:
        return is_odd ? -INFINITY : plain;
    case 4:
        return -INFINITY;
    case 5:
        return 30.0f * plain;
    case 6:
        return 0.0f;
    default:
        return plain;
    }
}

/* turned: elements of a row lie apart in memory. */
static mlx_array make(int rows, int n, mlx_dtype dtype, bool turned)
{
    float *data = malloc((size_t)rows * (size_t)n * sizeof *data + 1);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < n; i++) data[turned ? i * rows + row : row * n + i] = element(row, i, n);
    mlx_array x = mlx_array_new_data(data, turned ? (int[]){n, rows} : (int[]){rows, n}, 2, MLX_FLOAT32);
    free(data);
    CHECK_EQ(mlx_astype(&x, x, dtype, stream), 0);
    if (turned) CHECK_EQ(mlx_transpose(&x, x, stream), 0);
    CHECK_EQ(mlx_array_eval(x), 0);
    return x;
}

static mlx_array make_row(int n, mlx_dtype dtype)
{
    mlx_array row = make(1, n, dtype, false);
    CHECK_EQ(mlx_reshape(&row, row, (int[]){n}, 1, stream), 0);
    return row;
}

static struct inputs make_inputs(const struct layer *layer, mlx_array x, mlx_dtype weight, mlx_dtype bias)
{
    struct inputs in = {.x = x};
    int n = mlx_array_dim(x, -1);
    if (layer->has_weight) in.weight = make_row(n, weight);
    if (layer->has_bias) in.bias = make_row(n, bias);
    return in;
}

static void free_rows(struct inputs in)
{
    mlx_array_free(in.weight), mlx_array_free(in.bias);
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

static void expect_equal(mlx_array got, mlx_array want)
{
    CHECK_EQ(mlx_array_eval(got), 0);
    CHECK_EQ(mlx_array_eval(want), 0);
    CHECK_EQ(mlx_array_dtype(got), mlx_array_dtype(want));
    CHECK_EQ(mlx_array_ndim(got), mlx_array_ndim(want));
    CHECK_MEM(mlx_array_shape(got), mlx_array_shape(want), mlx_array_ndim(want) * sizeof(int));
    CHECK_MEM(mlx_array_data_uint8(got), mlx_array_data_uint8(want), mlx_array_nbytes(want));
}
#define expect_equal(...) CHECK_CALL(expect_equal, __VA_ARGS__)

static void compare(const struct layer *layer, struct inputs in)
{
    CHECK_CONTEXT("layer %d, dtype %d [%d,%d]", (int)(layer - layers), (int)mlx_array_dtype(in.x),
                  mlx_array_shape(in.x)[0], mlx_array_shape(in.x)[mlx_array_ndim(in.x) - 1]);
    mlx_array got = mlx_array_new(), want = mlx_array_new();
    CHECK_EQ(layer->layer(&got, in), 0);
    CHECK_EQ(layer->formula(&want, in), 0);
    expect_equal(got, want);
    mlx_array_free(got), mlx_array_free(want);
}
#define compare(...) CHECK_CALL(compare, __VA_ARGS__)

static void compare_all(mlx_array x)
{
    mlx_dtype dtype = mlx_array_dtype(x);
    for (size_t i = 0; i < LAYERS; i++) {
        if (layers[i].is_norm && dtype < MLX_FLOAT16) continue;
        struct inputs in = make_inputs(&layers[i], x, dtype, dtype);
        compare(&layers[i], in);
        free_rows(in);
    }
}
#define compare_all(...) CHECK_CALL(compare_all, __VA_ARGS__)

static int every(void)
{
    const char *text = getenv("KILN_TEST_EVERY");
    return text ? atoi(text) : 1;
}

static bool is_left_out(void)
{
    static int seen;
    return seen++ % every() != 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static uint64_t kernels(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    return counters.compiles + counters.disk_hits;
}

/* Before others, so that no kernel was made yet. */
static void each_is_one_kernel(void **state)
{
    (void)state;
    float data[80] = {1, 2, 3};
    mlx_array x = mlx_array_new_data(data, (int[]){2, 40}, 2, MLX_FLOAT32);
    mlx_array row = mlx_array_new_data(data, (int[]){40}, 1, MLX_FLOAT32);
    for (size_t i = 0; i < LAYERS; i++) {
        struct inputs in = {.x = x};
        mlx_array out = mlx_array_new();
        if (layers[i].has_weight) in.weight = row;
        if (layers[i].has_bias) in.bias = row;
        uint64_t before = kernels();
        CHECK_EQ(layers[i].layer(&out, in), 0);
        CHECK_EQ(mlx_array_eval(out), 0);
        CHECK_EQ(kernels() - before, 1);
        mlx_array_free(out);
    }
    mlx_array_free(x), mlx_array_free(row);
}

static void compare_length(int rows, int n)
{
    for (size_t d = 0; d < FLOATS; d++)
        for (int turned = 0; turned < 2; turned++) {
            if (is_left_out()) continue;
            mlx_array x = make(rows, n, floats[d], turned);
            compare_all(x);
            mlx_array_free(x);
        }
}
#define compare_length(...) CHECK_CALL(compare_length, __VA_ARGS__)

static void bits_are_those_of_the_formulas(void **state)
{
    (void)state;
    for (int n = 1; n <= 40; n++) compare_length(9, n);
    for (int n = 1000; n <= 1030; n++) compare_length(9, n);
    compare_length(7, 5000);
    compare_length(2, 100000);
}

static void large_ones_too(void **state)
{
    (void)state;
    if (every() > 1) CHECK_SKIP();
    for (int i = 0; i < 2; i++) {
        mlx_array long_rows = make(33, 100000, floats[i], false), short_rows = make(4001, 17, floats[i], false);
        mlx_array past_caches = make(3000, 2000, floats[i], false);
        compare_all(long_rows);
        compare_all(short_rows);
        compare_all(past_caches);
        mlx_array_free(long_rows), mlx_array_free(short_rows), mlx_array_free(past_caches);
    }
}

static void every_mixture_of_dtypes(void **state)
{
    (void)state;
    static const mlx_dtype rows[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT64, MLX_INT32};
    for (size_t d = 0; d < FLOATS; d++)
        for (size_t w = 0; w < 5; w++)
            for (size_t b = 0; b < 5; b++)
                for (size_t i = 0; i < LAYERS; i++) {
                    bool is_again = (!layers[i].has_weight && w) || (!layers[i].has_bias && b);
                    if (is_again || is_left_out()) continue;
                    mlx_array x = make(3, 50, floats[d], false);
                    struct inputs in = make_inputs(&layers[i], x, rows[w], rows[b]);
                    compare(&layers[i], in);
                    free_rows(in);
                    mlx_array_free(x);
                }
}

static void integers_give_floats(void **state)
{
    (void)state;
    for (mlx_dtype dtype = MLX_BOOL; dtype < MLX_FLOAT16; dtype++) {
        uint8_t bytes[8 * 100];
        if (is_left_out()) continue;
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * i % 5);
        if (dtype == MLX_BOOL)
            for (size_t i = 0; i < sizeof bytes; i++) bytes[i] &= 1;
        mlx_array x = mlx_array_new_data(bytes, (int[]){2, 50}, 2, dtype);
        compare_all(x);
        mlx_array_free(x);
    }
}

/* Rows apart, backwards, every third element, one element again and again, and one row for all. */
static void every_layout(void **state)
{
    (void)state;
    static const struct {
        int start[3], stop[3], step[3];
    } cuts[] = {{{0, 0, 0}, {4, 2, 50}, {1, 2, 1}},
                {{3, 2, 0}, {-9, -9, 60}, {-1, -1, 1}},
                {{0, 0, 59}, {4, 3, -99}, {1, 1, -1}},
                {{1, 0, 1}, {4, 3, 60}, {2, 1, 3}}};
    mlx_array all = make(12, 60, MLX_FLOAT32, false), x = mlx_array_new();
    CHECK_EQ(mlx_reshape(&all, all, (int[]){4, 3, 60}, 3, stream), 0);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        CHECK_EQ(mlx_slice(&x, all, cuts[i].start, 3, cuts[i].stop, 3, cuts[i].step, 3, stream), 0);
        compare_all(x);
    }
    CHECK_EQ(mlx_slice(&x, all, (int[]){0, 0, 5}, 3, (int[]){4, 3, 6}, 3, (int[]){1, 1, 1}, 3, stream), 0);
    CHECK_EQ(mlx_broadcast_to(&x, x, (int[]){4, 3, 40}, 3, stream), 0);
    compare_all(x);
    CHECK_EQ(mlx_slice(&x, all, (int[]){0, 0, 0}, 3, (int[]){1, 1, 60}, 3, (int[]){1, 1, 1}, 3, stream), 0);
    CHECK_EQ(mlx_broadcast_to(&x, x, (int[]){2, 5, 60}, 3, stream), 0);
    compare_all(x);
    CHECK_EQ(mlx_reshape(&x, all, (int[]){720}, 1, stream), 0);
    compare_all(x);
    mlx_array_free(x), mlx_array_free(all);
}

static void other_ways_to_ask(void **state)
{
    (void)state;
    mlx_array x = make(3, 50, MLX_FLOAT32, false), row = make_row(50, MLX_FLOAT32);
    mlx_array got = mlx_array_new(), want = mlx_array_new();
    CHECK_EQ(softmax_formula(&want, (struct inputs){.x = x}), 0);
    CHECK_EQ(mlx_softmax_axes(&got, x, (int[]){1}, 1, true, stream), 0);
    expect_equal(got, want);
    CHECK_EQ(logsumexp_formula(&want, (struct inputs){.x = x}), 0);
    CHECK_EQ(mlx_reshape(&want, want, (int[]){3, 1}, 2, stream), 0);
    CHECK_EQ(mlx_logsumexp_axes(&got, x, (int[]){-1}, 1, true, stream), 0);
    expect_equal(got, want);
    CHECK_EQ(softmax_formula(&want, (struct inputs){.x = row}), 0);
    CHECK_EQ(mlx_softmax(&got, row, false, stream), 0);
    expect_equal(got, want);
    CHECK_EQ(logsumexp_formula(&want, (struct inputs){.x = row}), 0);
    CHECK_EQ(mlx_logsumexp(&got, row, false, stream), 0);
    expect_equal(got, want);
    CHECK_EQ(mlx_fast_rms_norm(&got, row, row, EPS, stream), 0); /* one array twice */
    CHECK_EQ(rms_norm_formula(&want, (struct inputs){.x = row, .weight = row}), 0);
    expect_equal(got, want);
    mlx_array_free(x), mlx_array_free(row), mlx_array_free(got), mlx_array_free(want);
}

/* ---- in compiled functions -------------------------------------------------------------------------------------- */

static mlx_array captured;

/* softmax(2 * x) + softmax of an array from outside */
static int with_captured(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new(), other = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || mlx_add(&x, x, x, stream) ||
               mlx_softmax_axis(&x, x, -1, false, stream) || mlx_softmax_axis(&other, captured, -1, false, stream) ||
               mlx_fast_layer_norm(&other, other, (mlx_array){NULL}, (mlx_array){NULL}, EPS, stream) ||
               mlx_fast_rms_norm(&other, other, x, EPS, stream) || mlx_add(&x, x, other, stream) ||
               mlx_vector_array_set_value(res, x);
    mlx_array_free(x), mlx_array_free(other);
    return code;
}

static mlx_array call(mlx_closure closure, mlx_array x)
{
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    mlx_array result = mlx_array_new();
    CHECK_EQ(mlx_closure_apply(&out, closure, in), 0);
    CHECK_EQ(mlx_vector_array_get(&result, out, 0), 0);
    CHECK_EQ(mlx_array_eval(result), 0);
    mlx_vector_array_free(in), mlx_vector_array_free(out);
    return result;
}

static void layers_of_captured_arrays_are_constants(void **state)
{
    (void)state;
    captured = make(1, 50, MLX_FLOAT32, false);
    mlx_array x = make_row(50, MLX_FLOAT32);
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        mlx_closure plain = mlx_closure_new_func(with_captured), compiled = mlx_closure_new();
        CHECK_EQ(mlx_compile(&compiled, plain, shapeless), 0);
        for (int i = 0; i < 2; i++) {
            mlx_array want = call(plain, x), got = call(compiled, x);
            expect_equal(got, want);
            mlx_array_free(want), mlx_array_free(got);
        }
        mlx_closure_free(plain), mlx_closure_free(compiled);
    }
    mlx_array_free(x), mlx_array_free(captured);
}

/* A layer is fused with what surrounds it. */
static int surrounded(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || mlx_square(&x, x, stream) ||
               mlx_softmax_axis(&x, x, -1, false, stream) || mlx_sqrt(&x, x, stream) ||
               mlx_fast_layer_norm(&x, x, (mlx_array){NULL}, (mlx_array){NULL}, EPS, stream) ||
               mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    return code;
}

static void traces_fuse_them_with_others(void **state)
{
    (void)state;
    mlx_array x = make(3, 50, MLX_FLOAT32, false);
    mlx_closure plain = mlx_closure_new_func(surrounded), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    uint64_t before = kernels();
    mlx_array got = call(compiled, x);
    CHECK_EQ(kernels() - before, 1);
    mlx_array want = call(plain, x);
    expect_equal(got, want);
    mlx_array_free(x), mlx_array_free(got), mlx_array_free(want);
    mlx_closure_free(plain), mlx_closure_free(compiled);
}

static int set_up(void **state)
{
    (void)state;
    stream = mlx_default_cpu_stream_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return mlx_stream_free(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_one_kernel),
        cmocka_unit_test(traces_fuse_them_with_others),
        cmocka_unit_test(layers_of_captured_arrays_are_constants),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(other_ways_to_ask),
        cmocka_unit_test(integers_give_floats),
        cmocka_unit_test(every_mixture_of_dtypes),
        cmocka_unit_test(bits_are_those_of_the_formulas),
        cmocka_unit_test(large_ones_too),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
