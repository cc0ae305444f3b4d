/*
 * test_few_rows.c - products of few rows on a GPU: kernels of ours, in floats and in codes of every mode, against sums
 * in float64; the same bits compiled and plain, whatever the rows beside, alignment and batch; one graph with them in
 * it.
 */
#include <math.h>

#include "gpu_program.h"

static float number(uint32_t i)
{
    return (float)((int32_t)(i * 2654435761u) >> 8) * 0x1p-23f;
}

/* Numbers of -1 to 1 on the GPU, in this dtype. */
static mlx_array make(const int *dims, int ndim, mlx_dtype dtype, uint32_t salt)
{
    size_t size = 1;
    for (int i = 0; i < ndim; i++) size *= (size_t)dims[i];
    float *values = malloc(size * sizeof *values);
    for (size_t i = 0; i < size; i++) values[i] = number((uint32_t)i * 3 + salt);
    mlx_array res = mlx_array_new_data(values, dims, ndim, MLX_FLOAT32);
    free(values);
    CHECK_EQ(mlx_astype(&res, res, dtype, cpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    return res;
}

/* All elements as floats; to be freed. */
static float *floats_of(mlx_array a)
{
    mlx_array wide = mlx_array_new();
    CHECK_EQ(mlx_astype(&wide, a, MLX_FLOAT32, cpu), 0);
    CHECK_EQ(mlx_contiguous(&wide, wide, false, cpu), 0);
    CHECK_EQ(mlx_array_eval(wide), 0);
    size_t bytes = mlx_array_nbytes(wide);
    float *copy = malloc(bytes + 1);
    memcpy(copy, mlx_array_data_float32(wide), bytes);
    mlx_array_free(wide);
    return copy;
}

/* got (m x n) = x (m x k) w, within what rounding each term of a sum may do; `extra` is of a weight's own. */
static void expect_product(mlx_array got, mlx_array x, mlx_array w, int m, int n, int k, mlx_dtype dtype, double extra)
{
    float *a = floats_of(x), *b = floats_of(w), *c = floats_of(got);
    double unit = dtype == MLX_FLOAT32 ? 0x1p-24 : dtype == MLX_FLOAT16 ? 0x1p-11 : 0x1p-8;
    for (int i = 0; i < m * n; i++) {
        double sum = 0, size = 0;
        for (int j = 0; j < k; j++) {
            double left = (double)a[i / n * k + j], right = (double)b[j * n + i % n];
            sum += left * right, size += fabs(left) * (fabs(right) + extra);
        }
        double bound = (k + 4) * 0x1p-24 * size + unit * fabs(sum) + 1e-30;
        if (!(fabs(sum - (double)c[i]) <= bound))
            CHECK_FAIL("row %d, column %d is %g, not %g, of dtype %d", i / n, i % n, (double)c[i], sum, (int)dtype);
    }
    free(a), free(b), free(c);
}
#define expect_product(...) CHECK_CALL(expect_product, __VA_ARGS__)

static void expect_equal(mlx_array a, mlx_array b)
{
    float *left = floats_of(a), *right = floats_of(b);
    CHECK_EQ(mlx_array_size(a), mlx_array_size(b));
    CHECK_MEM(left, right, mlx_array_size(a) * sizeof *left);
    free(left), free(right);
}
#define expect_equal(...) CHECK_CALL(expect_equal, __VA_ARGS__)

/* ---- floats --------------------------------------------------------------------------------------------------------
 */

static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16};

static void check_floats(int m, int n, int k, bool is_transposed, mlx_dtype dtype)
{
    CHECK_CONTEXT("%d rows, %d x %d%s, dtype %d", m, n, k, is_transposed ? ", transposed" : "", (int)dtype);
    mlx_array x = make((int[]){m, k}, 2, dtype, 1), got = mlx_array_new();
    mlx_array w = make(is_transposed ? (int[]){n, k} : (int[]){k, n}, 2, dtype, 2);
    if (is_transposed) CHECK_EQ(mlx_transpose(&w, w, gpu), 0);
    kiln_gpu_counters before = gpu_counters();
    CHECK_EQ(mlx_matmul(&got, x, w, gpu), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    CHECK_EQ(gpu_counters().launches - before.launches, 1);
    CHECK_EQ(gpu_counters().host_operations, before.host_operations);
    expect_product(got, x, w, m, n, k, dtype, 0);
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(got);
}
#define check_floats(...) CHECK_CALL(check_floats, __VA_ARGS__)

static void test_floats(void **state)
{
    static const int sizes[][3] = {{1, 40, 512}, {2, 33, 264}, {3, 7, 100}, {8, 24, 64}, {13, 9, 72}, {16, 16, 1056}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t d = 0; d < 3; d++)
            for (int transposed = 0; transposed < 2; transposed++)
                check_floats(sizes[i][0], sizes[i][1], sizes[i][2], transposed, dtypes[d]);
    check_floats(1, 8, 16384, true, MLX_BFLOAT16); /* warps share a column */
    check_floats(1, 1, 8, true, MLX_FLOAT32);
    check_floats(5, 8, 1, false, MLX_FLOAT32);
}

/* ---- codes ---------------------------------------------------------------------------------------------------------
 */

struct mode {
    const char *name;
    int group, bits;
};

static const struct mode modes[] = {{"affine", 32, 2}, {"affine", 64, 3}, {"affine", 64, 4}, {"affine", 128, 4},
                                    {"affine", 32, 5}, {"affine", 64, 6}, {"affine", 32, 8}, {"mxfp4", 32, 4},
                                    {"mxfp8", 32, 8},  {"nvfp4", 16, 4}};
enum { MODES = sizeof modes / sizeof *modes };

static mlx_optional_int given(int value)
{
    return (mlx_optional_int){value, true};
}

struct codes {
    mlx_array w, scales, biases;
    const struct mode *mode;
};

static struct codes make_codes(const struct mode *mode, int rows, int columns, mlx_dtype dtype)
{
    struct codes codes = {mlx_array_new(), mlx_array_new(), {NULL}, mode};
    mlx_vector_array parts = mlx_vector_array_new();
    mlx_array w = make((int[]){rows, columns}, 2, dtype, 5), nothing = {NULL};
    CHECK_EQ(mlx_quantize(&parts, w, given(mode->group), given(mode->bits), mode->name, nothing, cpu), 0);
    mlx_vector_array_get(&codes.w, parts, 0), mlx_vector_array_get(&codes.scales, parts, 1);
    if (mlx_vector_array_size(parts) > 2) codes.biases = mlx_array_new(), mlx_vector_array_get(&codes.biases, parts, 2);
    mlx_vector_array_free(parts), mlx_array_free(w);
    return codes;
}

static void codes_free(struct codes *codes)
{
    mlx_array_free(codes->w), mlx_array_free(codes->scales);
    if (codes->biases.ctx) mlx_array_free(codes->biases);
}

static int multiply(mlx_array *res, mlx_array x, const struct codes *codes, bool transpose)
{
    const struct mode *mode = codes->mode;
    return mlx_quantized_matmul(res, x, codes->w, codes->scales, codes->biases, transpose, given(mode->group),
                                given(mode->bits), mode->name, gpu);
}

/* In float32, with nothing rounded to the dtype of affine scales. */
static mlx_array matrix_of(const struct codes *codes, bool transpose)
{
    mlx_array res = mlx_array_new(), nothing = {NULL}, scales = mlx_array_new(), biases = {NULL};
    const struct mode *mode = codes->mode;
    mlx_array_set(&scales, codes->scales);
    if (codes->biases.ctx) {
        biases = mlx_array_new();
        CHECK_EQ(mlx_astype(&scales, codes->scales, MLX_FLOAT32, cpu), 0);
        CHECK_EQ(mlx_astype(&biases, codes->biases, MLX_FLOAT32, cpu), 0);
    }
    CHECK_EQ(mlx_dequantize(&res, codes->w, scales, biases, given(mode->group), given(mode->bits), mode->name, nothing,
                            (mlx_optional_dtype){MLX_FLOAT32, true}, cpu),
             0);
    if (transpose) CHECK_EQ(mlx_transpose(&res, res, cpu), 0);
    mlx_array_free(scales);
    if (biases.ctx) mlx_array_free(biases);
    return res;
}

static void check_codes(const struct mode *mode, int m, int n, int k, bool transpose, mlx_dtype dtype)
{
    CHECK_CONTEXT("%s, %d bits, groups of %d, %d rows, %d x %d%s, dtype %d", mode->name, mode->bits, mode->group, m, n,
                  k, transpose ? ", transposed" : "", (int)dtype);
    struct codes codes = make_codes(mode, transpose ? n : k, transpose ? k : n, dtype);
    mlx_array x = make((int[]){m, k}, 2, dtype, 1), got = mlx_array_new(), w = matrix_of(&codes, transpose);
    kiln_gpu_counters before = gpu_counters();
    CHECK_EQ(multiply(&got, x, &codes, transpose), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    CHECK_EQ(gpu_counters().launches - before.launches, 1);
    CHECK_EQ(gpu_counters().host_operations, before.host_operations);
    double rounding = mode->name[0] == 'a' && dtype != MLX_FLOAT32 ? 0 : 4;
    expect_product(got, x, w, m, n, k, dtype, rounding);
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(got);
    codes_free(&codes);
}
#define check_codes(...) CHECK_CALL(check_codes, __VA_ARGS__)

static void test_codes(void **state)
{
    (void)state;
    for (int i = 0; i < MODES; i++) {
        check_codes(&modes[i], 1, 10, 256, true, MLX_FLOAT32);
        check_codes(&modes[i], 3, 128, 40, false, MLX_FLOAT32);
        check_codes(&modes[i], 5, 6, 128, true, MLX_FLOAT32);
    }
    for (int i = 0; i < MODES && modes[i].name[0] == 'a'; i++) {
        check_codes(&modes[i], 1, 10, 384, true, MLX_BFLOAT16);
        check_codes(&modes[i], 6, 5, 256, true, MLX_FLOAT16);
    }
    check_codes(&modes[2], 1, 6, 8192, true, MLX_BFLOAT16);  /* warps share a column */
    check_codes(&modes[2], 1, 8195, 64, true, MLX_BFLOAT16); /* warps have more columns */
    check_codes(&modes[7], 1, 10, 256, true, MLX_BFLOAT16);
    check_codes(&modes[8], 9, 10, 256, true, MLX_FLOAT16);
    check_codes(&modes[9], 16, 5, 64, true, MLX_BFLOAT16);
}

/* ---- the same bits -------------------------------------------------------------------------------------------------
 */

/* Rows alone, together, behind an odd offset, and in a batch. */
static void test_rows_do_not_depend_on_others(void **state)
{
    enum { M = 13, N = 12, K = 520 };
    (void)state;
    for (size_t d = 0; d < 3; d++) {
        CHECK_CONTEXT("dtype %d", (int)dtypes[d]);
        mlx_array x = make((int[]){M, K}, 2, dtypes[d], 1), w = make((int[]){N, K}, 2, dtypes[d], 2);
        mlx_array odd = make((int[]){N * K + 1}, 1, dtypes[d], 2), all = mlx_array_new(), one = mlx_array_new();
        mlx_array row = mlx_array_new(), part = mlx_array_new();
        CHECK_EQ(mlx_transpose(&w, w, gpu), 0);
        CHECK_EQ(mlx_matmul(&all, x, w, gpu), 0);
        for (int i = 0; i < M; i += 4) {
            CHECK_EQ(mlx_slice(&row, x, (int[]){i, 0}, 2, (int[]){i + 1, K}, 2, (int[]){1, 1}, 2, gpu), 0);
            CHECK_EQ(mlx_matmul(&one, row, w, gpu), 0);
            CHECK_EQ(mlx_slice(&part, all, (int[]){i, 0}, 2, (int[]){i + 1, N}, 2, (int[]){1, 1}, 2, gpu), 0);
            expect_equal(one, part);
        }
        /* The same weights again, one element further. */
        mlx_array flat = mlx_array_new(), shifted = mlx_array_new(), zero = mlx_array_new_float(0);
        CHECK_EQ(mlx_transpose(&flat, w, cpu), 0);
        CHECK_EQ(mlx_flatten(&flat, flat, 0, -1, cpu), 0);
        CHECK_EQ(mlx_slice_update(&odd, odd, flat, (int[]){1}, 1, (int[]){N * K + 1}, 1, (int[]){1}, 1, cpu), 0);
        CHECK_EQ(mlx_array_eval(odd), 0);
        CHECK_EQ(mlx_as_strided(&shifted, odd, (int[]){K, N}, 2, (int64_t[]){1, K}, 2, 1, gpu), 0);
        CHECK_EQ(mlx_matmul(&one, x, shifted, gpu), 0);
        expect_equal(one, all);
        mlx_array_free(flat), mlx_array_free(shifted), mlx_array_free(zero);
        /* As a batch whose matrices are all this one. */
        CHECK_EQ(mlx_expand_dims(&row, x, 1, gpu), 0);
        CHECK_EQ(mlx_matmul(&one, row, w, gpu), 0);
        expect_equal(one, all);
        mlx_array_free(x), mlx_array_free(w), mlx_array_free(odd), mlx_array_free(all), mlx_array_free(one);
        mlx_array_free(row), mlx_array_free(part);
    }
}

/*
 * Codes with rows alone, in twos and together, which kernels scale in different places, and x so large that one of
 * these scales it to no finite number. Each row has the sum that it should have, and the same bits.
 */
static void test_rows_of_codes(void **state)
{
    enum { M = 8, N = 6, K = 128 };
    static const float sizes[M] = {1, 0x1p-30f, 0x1p90f, 0x1p18f, 0x1p19f, 0x1p-100f, 3, 0x1p20f};
    (void)state;
    struct codes codes = make_codes(&modes[2], N, K, MLX_BFLOAT16);
    mlx_array x = make((int[]){M, K}, 2, MLX_BFLOAT16, 1), w = matrix_of(&codes, true);
    mlx_array rows = mlx_array_new(), part = mlx_array_new(), all = mlx_array_new(), some = mlx_array_new();
    mlx_array factors = mlx_array_new_data(sizes, (int[]){M, 1}, 2, MLX_FLOAT32);
    CHECK_EQ(mlx_astype(&factors, factors, MLX_BFLOAT16, cpu), 0);
    CHECK_EQ(mlx_multiply(&x, x, factors, cpu), 0);
    CHECK_EQ(multiply(&all, x, &codes, true), 0);
    expect_product(all, x, w, M, N, K, MLX_BFLOAT16, 1);
    for (int count = 1; count < M; count *= 2)
        for (int i = 0; i < M; i += count) {
            CHECK_EQ(mlx_slice(&rows, x, (int[]){i, 0}, 2, (int[]){i + count, K}, 2, (int[]){1, 1}, 2, gpu), 0);
            CHECK_EQ(multiply(&some, rows, &codes, true), 0);
            CHECK_EQ(mlx_slice(&part, all, (int[]){i, 0}, 2, (int[]){i + count, N}, 2, (int[]){1, 1}, 2, gpu), 0);
            expect_equal(some, part);
        }
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(factors), mlx_array_free(rows), mlx_array_free(part);
    mlx_array_free(all), mlx_array_free(some);
    codes_free(&codes);
}

static void test_batches(void **state)
{
    enum { B = 3, M = 2, N = 9, K = 48 };
    (void)state;
    mlx_array x = make((int[]){B, M, K}, 3, MLX_FLOAT32, 1), w = make((int[]){B, K, N}, 3, MLX_FLOAT32, 2);
    mlx_array all = mlx_array_new(), left = mlx_array_new(), right = mlx_array_new(), part = mlx_array_new();
    CHECK_EQ(mlx_matmul(&all, x, w, gpu), 0);
    for (int i = 0; i < B; i++) {
        const int one[3] = {1, 1, 1};
        CHECK_EQ(mlx_slice(&left, x, (int[]){i, 0, 0}, 3, (int[]){i + 1, M, K}, 3, one, 3, gpu), 0);
        CHECK_EQ(mlx_slice(&right, w, (int[]){i, 0, 0}, 3, (int[]){i + 1, K, N}, 3, one, 3, gpu), 0);
        CHECK_EQ(mlx_slice(&part, all, (int[]){i, 0, 0}, 3, (int[]){i + 1, M, N}, 3, one, 3, gpu), 0);
        expect_product(part, left, right, M, N, K, MLX_FLOAT32, 0);
    }
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(all), mlx_array_free(left), mlx_array_free(right);
    mlx_array_free(part);
}

/* ---- in a compiled function ----------------------------------------------------------------------------------------
 */

static mlx_array weight;
static struct codes layer;

/* Two products with what stands between them. */
static int step(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new(), t = mlx_array_new(), out = mlx_array_new();
    mlx_vector_array_get(&x, in, 0);
    int code = mlx_matmul(&t, x, weight, gpu) || mlx_sigmoid(&t, t, gpu) || multiply(&out, t, &layer, true) ||
               mlx_add(&out, out, x, gpu) || mlx_vector_array_set_value(res, out);
    mlx_array_free(x), mlx_array_free(t), mlx_array_free(out);
    return code;
}

static void test_step_is_one_graph(void **state)
{
    enum { K = 128, CALLS = 4 };
    (void)state;
    weight = make((int[]){K, K}, 2, MLX_BFLOAT16, 7);
    layer = make_codes(&modes[2], K, K, MLX_BFLOAT16);
    mlx_closure plain = mlx_closure_new_func(step), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    for (int call = 0; call < CALLS; call++) {
        mlx_array x = make((int[]){1, K}, 2, MLX_BFLOAT16, (uint32_t)call), want = mlx_array_new(),
                  got = mlx_array_new();
        mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
        CHECK_EQ(mlx_closure_apply(&out, plain, in), 0);
        mlx_vector_array_get(&want, out, 0);
        CHECK_EQ(mlx_array_eval(want), 0);
        kiln_gpu_counters before = gpu_counters();
        CHECK_EQ(mlx_closure_apply(&out, compiled, in), 0);
        mlx_vector_array_get(&got, out, 0);
        CHECK_EQ(mlx_array_eval(got), 0);
        mlx_vector_array_free(in), mlx_vector_array_free(out);
        if (call > 1) {
            CHECK_EQ(gpu_counters().launches, before.launches);
            CHECK_EQ(gpu_counters().replays - before.replays, 1);
            CHECK_EQ(gpu_counters().host_operations, before.host_operations);
        }
        expect_equal(got, want);
        mlx_array_free(x), mlx_array_free(want), mlx_array_free(got);
    }
    mlx_closure_free(plain), mlx_closure_free(compiled);
    mlx_array_free(weight);
    codes_free(&layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_floats, set_up),
        cmocka_unit_test_setup(test_codes, set_up),
        cmocka_unit_test_setup(test_rows_do_not_depend_on_others, set_up),
        cmocka_unit_test_setup(test_rows_of_codes, set_up),
        cmocka_unit_test_setup(test_batches, set_up),
        cmocka_unit_test_setup(test_step_is_one_graph, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
