/*
 * test_mlxc_rows.c - functions with reductions along the last axis become one kernel, and keep every bit.
 *
 * The counters are those of the default cache; libmlxc and this program share one libkiln.
 */
#include "support/check.h"

#include <math.h>

#include <kiln.h>
#include <mlx/c/mlx.h>

static mlx_stream stream;

typedef int callback(mlx_vector_array *res, const mlx_vector_array in);

/* Takes the first input, calls `body` on it, and hands out what it made. */
static int with_input(mlx_vector_array *res, const mlx_vector_array in, int (*body)(mlx_array *x))
{
    mlx_array x = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0);
    if (!code) code = body(&x);
    if (!code) code = mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    return code;
}

static int mean(mlx_array *out, mlx_array x)
{
    mlx_array count = mlx_array_new_float((float)mlx_array_dim(x, -1)), sum = mlx_array_new();
    int code = mlx_sum_axis(&sum, x, -1, true, stream) || mlx_divide(out, sum, count, stream);
    mlx_array_free(count);
    mlx_array_free(sum);
    return code;
}

static int softmax_body(mlx_array *x)
{
    mlx_array top = mlx_array_new(), sum = mlx_array_new();
    int code = mlx_max_axis(&top, *x, -1, true, stream) || mlx_subtract(x, *x, top, stream) || mlx_exp(x, *x, stream) ||
               mlx_sum_axis(&sum, *x, -1, true, stream) || mlx_divide(x, *x, sum, stream);
    mlx_array_free(top);
    mlx_array_free(sum);
    return code;
}

static int layer_norm_body(mlx_array *x)
{
    mlx_array middle = mlx_array_new(), spread = mlx_array_new(), eps = mlx_array_new_float(1e-5f);
    int code = mean(&middle, *x) || mlx_subtract(x, *x, middle, stream) || mlx_square(&spread, *x, stream) ||
               mean(&spread, spread) || mlx_add(&spread, spread, eps, stream) || mlx_rsqrt(&spread, spread, stream) ||
               mlx_multiply(x, *x, spread, stream);
    mlx_array_free(middle);
    mlx_array_free(spread);
    mlx_array_free(eps);
    return code;
}

static int rms_norm_body(mlx_array *x)
{
    return mlx_fast_rms_norm(x, *x, (mlx_array){NULL}, 1e-5f, stream);
}

static int logsumexp_body(mlx_array *x)
{
    mlx_array top = mlx_array_new();
    int code = mlx_max_axis(&top, *x, -1, true, stream) || mlx_subtract(x, *x, top, stream) || mlx_exp(x, *x, stream) ||
               mlx_sum_axis(x, *x, -1, true, stream) || mlx_log(x, *x, stream) || mlx_add(x, *x, top, stream);
    mlx_array_free(top);
    return code;
}

/* A chain into a sum that loses its axis. */
static int sum_of_chain_body(mlx_array *x)
{
    return mlx_square(x, *x, stream) || mlx_exp(x, *x, stream) || mlx_sum_axis(x, *x, -1, false, stream);
}

/* Two values that later passes need again, one of them computed from the other. */
static int gated_body(mlx_array *x)
{
    mlx_array gate = mlx_array_new(), middle = mlx_array_new(), sum = mlx_array_new();
    int code = mlx_tanh(&gate, *x, stream) || mean(&middle, gate) || mlx_subtract(&middle, gate, middle, stream) ||
               mlx_exp(x, middle, stream) || mlx_multiply(&sum, *x, gate, stream) ||
               mlx_sum_axis(&sum, sum, -1, true, stream) || mlx_divide(x, *x, sum, stream) ||
               mlx_add(x, *x, gate, stream);
    mlx_array_free(gate);
    mlx_array_free(middle);
    mlx_array_free(sum);
    return code;
}

/* Reductions of the input itself. */
static int span_body(mlx_array *x)
{
    mlx_array low = mlx_array_new(), high = mlx_array_new(), product = mlx_array_new();
    int code = mlx_min_axis(&low, *x, -1, true, stream) || mlx_max_axis(&high, *x, -1, true, stream) ||
               mlx_prod_axis(&product, *x, -1, true, stream) || mlx_maximum(&low, low, *x, stream) ||
               mlx_minimum(&high, high, low, stream) || mlx_add(x, high, product, stream);
    mlx_array_free(low);
    mlx_array_free(high);
    mlx_array_free(product);
    return code;
}

#define CALLBACK(name)                                                                                                 \
    static int name(mlx_vector_array *res, const mlx_vector_array in)                                                  \
    {                                                                                                                  \
        return with_input(res, in, name##_body);                                                                       \
    }
CALLBACK(softmax)
CALLBACK(layer_norm)
CALLBACK(rms_norm)
CALLBACK(logsumexp)
CALLBACK(sum_of_chain)
CALLBACK(gated)
CALLBACK(span)

static callback *const functions[] = {softmax, layer_norm, rms_norm, logsumexp, sum_of_chain, gated, span};

static mlx_array make_input(int rows, int n, mlx_dtype dtype, bool transposed)
{
    float *data = malloc((size_t)rows * (size_t)n * sizeof *data + 1);
    for (int i = 0; i < rows * n; i++) data[i] = (float)((uint32_t)i * 2654435761u >> 20) / 700.0f - 2.5f;
    mlx_array x = mlx_array_new_data(data, transposed ? (int[]){n, rows} : (int[]){rows, n}, 2, MLX_FLOAT32);
    free(data);
    CHECK_EQ(mlx_astype(&x, x, dtype, stream), 0);
    if (transposed) CHECK_EQ(mlx_transpose(&x, x, stream), 0);
    CHECK_EQ(mlx_array_eval(x), 0);
    return x;
}

static mlx_array call(mlx_closure closure, mlx_array x)
{
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    mlx_array result = mlx_array_new();
    CHECK_EQ(mlx_closure_apply(&out, closure, in), 0);
    CHECK_EQ(mlx_vector_array_get(&result, out, 0), 0);
    CHECK_EQ(mlx_contiguous(&result, result, false, stream), 0);
    CHECK_EQ(mlx_array_eval(result), 0);
    mlx_vector_array_free(in);
    mlx_vector_array_free(out);
    return result;
}

static uint64_t compiles(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    return counters.compiles + counters.disk_hits;
}

static void assert_equal_bits(callback *function, mlx_array x)
{
    mlx_closure plain = mlx_closure_new_func(function), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    mlx_array expected = call(plain, x), got = call(compiled, x);
    CHECK_EQ(mlx_array_nbytes(got), mlx_array_nbytes(expected));
    CHECK_EQ(mlx_array_ndim(got), mlx_array_ndim(expected));
    CHECK_EQ(mlx_array_dtype(got), mlx_array_dtype(expected));
    CHECK_MEM(mlx_array_data_uint8(got), mlx_array_data_uint8(expected), mlx_array_nbytes(expected));
    mlx_array_free(expected);
    mlx_array_free(got);
    mlx_closure_free(plain);
    mlx_closure_free(compiled);
}
#define assert_equal_bits(...) CHECK_CALL(assert_equal_bits, __VA_ARGS__)

static void bits_are_those_of_the_operations(void **state)
{
    (void)state;
    static const int lengths[] = {1, 2, 3, 7, 16, 31, 32, 33, 77, 256, 257, 1000, 1024, 1025, 5000, 8192, 8193};
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT64, MLX_FLOAT16, MLX_BFLOAT16};
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                bool transposed = i % 3 == 2;
                mlx_array x = make_input(5, lengths[i], dtypes[d], transposed);
                assert_equal_bits(functions[f], x);
                mlx_array_free(x);
            }
}

static void every_dtype_is_reduced_where_it_lies(void **state)
{
    (void)state;
    for (mlx_dtype dtype = MLX_BOOL; dtype <= MLX_COMPLEX64; dtype++)
        for (int transposed = 0; transposed < 2; transposed++) {
            mlx_array x = make_input(3, 1500, dtype, transposed);
            assert_equal_bits(span, x);
            mlx_array_free(x);
        }
}

/* Each row repeats one element. */
static int repeated_body(mlx_array *x)
{
    mlx_array one = mlx_array_new();
    int code = mlx_slice(&one, *x, (int[]){0, 0}, 2, (int[]){1 << 30, 1}, 2, (int[]){1, 1}, 2, stream) ||
               mlx_broadcast_to(&one, one, (int[]){3, 64}, 2, stream) || mlx_square(x, one, stream) ||
               mlx_sum_axis(x, *x, -1, true, stream) || mlx_multiply(x, one, *x, stream);
    mlx_array_free(one);
    return code;
}

static int repeated(mlx_vector_array *res, const mlx_vector_array in)
{
    return with_input(res, in, repeated_body);
}

static void rows_that_repeat_an_element_are_rows(void **state)
{
    (void)state;
    mlx_array x = make_input(3, 64, MLX_FLOAT32, false);
    assert_equal_bits(repeated, x);
    mlx_array_free(x);
}

/* Parts of a sum, without care for its size. */
static int shares_body(mlx_array *x)
{
    mlx_array sum = mlx_array_new();
    int code = mlx_exp(x, *x, stream) || mlx_sum_axis(&sum, *x, -1, true, stream) || mlx_divide(x, *x, sum, stream);
    mlx_array_free(sum);
    return code;
}
CALLBACK(shares)

/* Each row is of another kind: what is divided, and what by, is large, small, denormal, zero, infinite or no number. */
static mlx_array make_extremes(int rows, int n)
{
    static const struct {
        float low, high, odd; /* every 50th element is odd */
    } kinds[] = {{-5, 5, 0},  {-5, 5, -INFINITY},  {-105, 0, 0}, {-104, -80, 0},  {-70, -40, 0},    {10, 80, 0},
                 {60, 90, 0}, {-40, 40, INFINITY}, {-5, 5, NAN}, {-200, -150, 0}, {-90, -87, -104}, {0, 16, -300}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    float *data = malloc((size_t)rows * (size_t)n * sizeof *data);
    for (int i = 0; i < rows * n; i++) {
        float part = (float)((uint32_t)i * 2654435761u >> 8) / 0x1p24f;
        int kind = i / n % KINDS;
        data[i] = i % 50 == 49 && kinds[kind].odd != 0 ? kinds[kind].odd
                                                       : kinds[kind].low + part * (kinds[kind].high - kinds[kind].low);
    }
    mlx_array x = mlx_array_new_data(data, (int[]){rows, n}, 2, MLX_FLOAT32);
    free(data);
    return x;
}

static void divisions_by_what_a_row_shares_are_exact(void **state)
{
    static const int lengths[] = {33, 64, 100, 1000, 4096, 8192};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        mlx_array x = make_extremes(36, lengths[i]);
        assert_equal_bits(shares, x);
        assert_equal_bits(softmax, x);
        mlx_array_free(x);
    }
    mlx_array large = make_extremes(1200, 4096); /* whose results go past the caches */
    assert_equal_bits(shares, large);
    assert_equal_bits(softmax, large);
    mlx_array_free(large);
}

static void large_ones_use_threads_and_keep_the_bits(void **state)
{
    (void)state;
    mlx_array x = make_input(300, 700, MLX_FLOAT32, false);
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) assert_equal_bits(functions[f], x);
    mlx_array_free(x);
}

static void expect_one_kernel(callback *function, int n)
{
    mlx_array x = make_input(3, n, MLX_FLOAT32, false);
    mlx_closure plain = mlx_closure_new_func(function), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    uint64_t before = compiles();
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    CHECK_EQ(mlx_closure_apply(&out, compiled, in), 0);
    CHECK_EQ(mlx_eval(out), 0);
    CHECK_LE(compiles() - before, 1); /* 0 when an earlier test has made it in this process */
    mlx_vector_array_free(in);
    mlx_vector_array_free(out);
    mlx_closure_free(plain);
    mlx_closure_free(compiled);
    mlx_array_free(x);
}

static void each_is_one_kernel(void **state)
{
    (void)state;
    static const int lengths[] = {2, 5, 16, 64}; /* also in short rows, when there are few */
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) expect_one_kernel(functions[f], lengths[i]);
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
        cmocka_unit_test(bits_are_those_of_the_operations),
        cmocka_unit_test(every_dtype_is_reduced_where_it_lies),
        cmocka_unit_test(rows_that_repeat_an_element_are_rows),
        cmocka_unit_test(divisions_by_what_a_row_shares_are_exact),
        cmocka_unit_test(large_ones_use_threads_and_keep_the_bits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
