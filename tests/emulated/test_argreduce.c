/*
 * test_argreduce.c - argmin and argmax on a GPU: the places that the CPU finds, for every dtype, axis and layout, of
 * rows of any length; nothing is copied; and a token is drawn without the host.
 */
#include <math.h>

#include "gpu_program.h"

static void expect_same(mlx_array want, mlx_array got, const char *what)
{
    CHECK_EQ(mlx_array_eval(want), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    CHECK_EQ(mlx_array_dtype(got), MLX_UINT32);
    CHECK_EQ(mlx_array_ndim(got), mlx_array_ndim(want));
    CHECK_EQ(mlx_array_size(got), mlx_array_size(want));
    const uint32_t *x = mlx_array_data_uint32(want), *y = mlx_array_data_uint32(got);
    for (size_t i = 0; i < mlx_array_size(want); i++)
        if (x[i] != y[i]) CHECK_FAIL("%s: element %zu is %u, %u on the CPU", what, i, y[i], x[i]);
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

/* Numbers with ties among the best ones, few NaN and infinities, zeros of either sign; in the dtype of the array. */
static mlx_array make(mlx_dtype dtype, const int *shape, int ndim)
{
    static uint64_t seed = 11;
    static const float specials[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, -NAN};
    size_t size = 1;
    for (int i = 0; i < ndim; i++) size *= (size_t)shape[i];
    float *values = malloc((size + 1) * sizeof *values);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)((int64_t)(seed >> 40) % 200 - 100);
        if (seed >> 33 & 1 && dtype >= MLX_FLOAT16) values[i] = specials[(seed >> 20) % 6];
    }
    mlx_array wide = mlx_array_new_data(values, shape, ndim, MLX_FLOAT32), res = mlx_array_new();
    CHECK_EQ(mlx_astype(&res, wide, dtype, cpu) || mlx_array_eval(res), 0);
    mlx_array_free(wide);
    free(values);
    return res;
}

/* On the GPU as on the CPU, without an operation on the host. */
static void compare(mlx_array in, int axis, bool keeps)
{
    typedef int search(mlx_array *, const mlx_array, int, bool, const mlx_stream);
    static search *const searches[] = {mlx_argmin_axis, mlx_argmax_axis};
    uint64_t before = gpu_counters().host_operations;
    for (int i = 0; i < 2; i++) {
        char what[100];
        mlx_array want = mlx_array_new(), got = mlx_array_new();
        CHECK_EQ(searches[i](&want, in, axis, keeps, cpu), 0);
        CHECK_EQ(searches[i](&got, in, axis, keeps, gpu), 0);
        snprintf(what, sizeof what, "%s of dtype %d, %zu elements, along axis %d of %d", i ? "argmax" : "argmin",
                 mlx_array_dtype(in), mlx_array_size(in), axis, mlx_array_dim(in, axis));
        expect_same(want, got, what);
        mlx_array_free(want), mlx_array_free(got);
    }
    CHECK_EQ(gpu_counters().host_operations, before);
}
#define compare(...) CHECK_CALL(compare, __VA_ARGS__)

static void every_dtype_and_axis(void **state)
{
    (void)state;
    static const struct {
        int shape[3], axis;
    } cases[] = {{{1, 1, 1}, 0},   {{2, 3, 40}, 2}, {{2, 3, 40}, 0}, {{33, 5, 2}, 0},
                 {{3, 257, 2}, 1}, {{0, 4, 3}, 1},  {{3, 2, 300}, 2}};
    for (int dtype = MLX_BOOL; dtype <= MLX_COMPLEX64; dtype++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            mlx_array in = make((mlx_dtype)dtype, cases[i].shape, 3);
            compare(in, cases[i].axis, ((int)i + dtype) % 2);
            mlx_array_free(in);
        }
    }
}

/* One warp, several chunks, and chunks of chunks. */
static void rows_of_every_length(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 2048}, {1, 2049}, {3, 2560}, {2, 2561}, {1, 131072}, {2, 70001}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        mlx_array in = make(i % 2 ? MLX_BFLOAT16 : MLX_FLOAT32, shapes[i], 2);
        compare(in, 1, false);
        mlx_array_free(in);
    }
    mlx_array columns = make(MLX_FLOAT64, (int[]){5000, 3}, 2);
    compare(columns, 0, false);
    mlx_array_free(columns);
}

/* Equal elements that are far apart: in other chunks, and all of them. */
static void the_first_of_equals(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    static const int ties[][2] = {{99999, 512}, {511, 512}, {70000, 69999}, {0, 99999}};
    float *values = calloc(SIZE, sizeof *values);
    for (int i = 0; i < 4; i++) {
        values[ties[i][0]] = values[ties[i][1]] = 3;
        mlx_array in = mlx_array_new_data(values, (int[]){SIZE}, 1, MLX_FLOAT32);
        compare(in, 0, false);
        values[ties[i][0]] = values[ties[i][1]] = 0;
        mlx_array_free(in);
    }
    for (int i = 0; i < SIZE; i++) values[i] = NAN;
    for (int is_number = 0; is_number < 2; is_number++) {
        if (is_number) values[77777] = -INFINITY;
        mlx_array in = mlx_array_new_data(values, (int[]){SIZE}, 1, MLX_FLOAT32);
        compare(in, 0, false);
        mlx_array_free(in);
    }
    free(values);
}

/* Turned, cut with steps, backwards, repeated. */
static void every_layout(void **state)
{
    (void)state;
    static const mlx_dtype dtypes[] = {MLX_UINT8, MLX_FLOAT16, MLX_INT32, MLX_COMPLEX64};
    for (int kind = 0; kind < 4; kind++) {
        for (int d = 0; d < 4; d++) {
            const int shape[] = {5, 9, 11}, one[] = {1, 9, 1};
            mlx_array base = make(dtypes[d], kind == 3 ? one : shape, 3), view = mlx_array_new();
            if (kind == 0) mlx_transpose_axes(&view, base, (int[]){2, 0, 1}, 3, gpu);
            if (kind == 1) mlx_slice(&view, base, (int[]){1, 0, 3}, 3, (int[]){5, 9, 11}, 3, (int[]){2, 3, 1}, 3, gpu);
            if (kind == 2)
                mlx_slice(&view, base, (int[]){-1, -1, -1}, 3, (int[]){-6, -10, -12}, 3, (int[]){-1, -2, -1}, 3, gpu);
            if (kind == 3) mlx_broadcast_to(&view, base, shape, 3, gpu);
            expect_no_error();
            for (int axis = 0; axis < 3; axis++) compare(view, axis, axis == 1);
            mlx_array_free(base), mlx_array_free(view);
        }
    }
}

/* ---- what is copied, and how often is launched ------------------------------------------------------------------ */

static void the_data_stays(void **state)
{
    (void)state;
    static const struct {
        int shape[2];
        uint64_t launches;
    } rows[] = {{{1, 2048}, 1}, {{1, 131072}, 2}, {{1, 1100000}, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlx_array given = make(MLX_FLOAT32, rows[i].shape, 2), there = mlx_array_new(), res = mlx_array_new();
        CHECK_EQ(mlx_negative(&there, given, gpu) || mlx_array_eval(there), 0);
        kiln_gpu_counters before = gpu_counters();
        CHECK_EQ(mlx_argmax_axis(&res, there, 1, false, gpu) || mlx_array_eval(res), 0);
        kiln_gpu_counters now = gpu_counters();
        CHECK_EQ(now.bytes_to_device, before.bytes_to_device);
        CHECK_EQ(now.bytes_to_host, before.bytes_to_host);
        CHECK_EQ(now.host_operations, before.host_operations);
        CHECK_EQ(now.launches - before.launches, rows[i].launches);
        mlx_array want = mlx_array_new();
        CHECK_EQ(mlx_negative(&want, given, cpu) || mlx_argmax_axis(&want, want, 1, false, cpu), 0);
        expect_same(want, res, "argmax of a row");
        mlx_array_free(want);
        mlx_array_free(given), mlx_array_free(there), mlx_array_free(res);
    }
}

/* ---- compiled --------------------------------------------------------------------------------------------------- */

static mlx_stream stream;

/* A token from logits and a key. */
static int sample(mlx_array *res, const mlx_array logits, const mlx_array key, void *unused)
{
    (void)unused;
    return mlx_random_categorical(res, logits, -1, key, stream);
}

static void tokens_are_drawn_by_replays(void **state)
{
    (void)state;
    mlx_closure compiled = mlx_closure_new();
    CHECK_EQ(kiln_compile_binary(&compiled, "sample", sample, NULL, NULL, false), 0);
    kiln_gpu_counters before = {0};
    for (int i = 0; i < 18; i++) {
        if (i == 8) before = gpu_counters();
        mlx_array logits = make_rows(800, i), key = mlx_array_new(), want = mlx_array_new(), got = mlx_array_new();
        CHECK_EQ(mlx_reshape(&logits, logits, (int[]){2, -1}, 2, cpu), 0);
        CHECK_EQ(mlx_random_key(&key, (uint64_t)i), 0);
        stream = cpu;
        CHECK_EQ(sample(&want, logits, key, NULL), 0);
        stream = gpu;
        CHECK_EQ(kiln_call_binary(&got, compiled, logits, key), 0);
        expect_same(want, got, "a token");
        mlx_array_free(logits), mlx_array_free(key), mlx_array_free(want), mlx_array_free(got);
    }
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.replays - before.replays, 10);
    CHECK_EQ(now.launches, before.launches);
    CHECK_EQ(now.host_operations, before.host_operations);
    CHECK_EQ(now.bytes_to_host - before.bytes_to_host, 10 * 2 * sizeof(uint32_t)); /* tokens */
    mlx_closure_free(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_dtype_and_axis, set_up),
        cmocka_unit_test_setup(rows_of_every_length, set_up),
        cmocka_unit_test_setup(the_first_of_equals, set_up),
        cmocka_unit_test_setup(every_layout, set_up),
        cmocka_unit_test_setup(the_data_stays, set_up),
        cmocka_unit_test_setup(tokens_are_drawn_by_replays, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
