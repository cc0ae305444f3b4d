/*
 * test_row_layers.c - a layer along the last axis is one launch on a GPU, outside of compiled functions too, and has
 * the bits of the CPU.
 */
#include "gpu_program.h"
#include "kiln.h"

static int softmax(mlx_array *res, mlx_array x, mlx_array row, mlx_stream stream)
{
    (void)row;
    return mlx_softmax_axis(res, x, -1, false, stream);
}

static int logsumexp(mlx_array *res, mlx_array x, mlx_array row, mlx_stream stream)
{
    (void)row;
    return mlx_logsumexp_axis(res, x, -1, false, stream);
}

static int rms_norm(mlx_array *res, mlx_array x, mlx_array row, mlx_stream stream)
{
    return mlx_fast_rms_norm(res, x, row, 1e-5f, stream);
}

static int layer_norm(mlx_array *res, mlx_array x, mlx_array row, mlx_stream stream)
{
    return mlx_fast_layer_norm(res, x, row, row, 1e-5f, stream);
}

static mlx_array make(const int *shape, size_t ndim, mlx_dtype dtype)
{
    size_t size = 1;
    for (size_t i = 0; i < ndim; i++) size *= (size_t)shape[i];
    float *values = malloc(size * sizeof *values);
    for (size_t i = 0; i < size; i++) values[i] = (float)((uint32_t)i * 2654435761u >> 20) / 700.0f - 2.5f;
    mlx_array res = mlx_array_new_data(values, shape, (int)ndim, MLX_FLOAT32);
    free(values);
    CHECK_EQ(mlx_astype(&res, res, dtype, cpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    return res;
}

static int (*const layers[])(mlx_array *, mlx_array, mlx_array, mlx_stream) = {softmax, logsumexp, rms_norm,
                                                                               layer_norm};

static void expect_one_launch(int rows, int n, mlx_dtype dtype)
{
    mlx_array x = make((int[]){rows, n}, 2, dtype), row = make(&n, 1, MLX_FLOAT32);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        CHECK_CONTEXT("layer %zu, dtype %d [%d,%d]", i, (int)dtype, rows, n);
        mlx_array want = mlx_array_new(), got = mlx_array_new();
        CHECK_EQ(layers[i](&want, x, row, cpu), 0);
        CHECK_EQ(mlx_array_eval(want), 0);
        kiln_gpu_counters before = gpu_counters();
        CHECK_EQ(layers[i](&got, x, row, gpu), 0);
        CHECK_EQ(mlx_array_eval(got), 0);
        kiln_gpu_counters after = gpu_counters();
        CHECK_EQ(after.launches - before.launches, 1);
        CHECK_EQ(after.host_operations, before.host_operations);
        CHECK_EQ(mlx_array_nbytes(got), mlx_array_nbytes(want));
        CHECK_MEM(mlx_array_data_uint8(got), mlx_array_data_uint8(want), mlx_array_nbytes(want));
        mlx_array_free(want), mlx_array_free(got);
    }
    mlx_array_free(x), mlx_array_free(row);
}
#define expect_one_launch(...) CHECK_CALL(expect_one_launch, __VA_ARGS__)

static void each_is_one_launch(void **state)
{
    (void)state;
    expect_one_launch(5, 1500, MLX_FLOAT32);
    expect_one_launch(3, 100, MLX_BFLOAT16);
    expect_one_launch(7, 5, MLX_FLOAT16);
}

static uint64_t kernels(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    return counters.compiles + counters.disk_hits;
}

/* Rows of 1,500 floats begin at multiples of 16 bytes, those of 1,501 do not; the text would be the same. */
static void alignment_takes_no_second_kernel(void **state)
{
    (void)state;
    expect_one_launch(5, 1500, MLX_FLOAT32);
    uint64_t before = kernels();
    expect_one_launch(5, 1501, MLX_FLOAT32);
    CHECK_EQ(kernels(), before);
}

/* A row that is longer than those of kernels on GPUs goes in steps, which stay there. */
static void long_rows_stay(void **state)
{
    (void)state;
    int n = (1 << 20) + 5;
    mlx_array x = make(&n, 1, MLX_FLOAT32), want = mlx_array_new(), got = mlx_array_new();
    uint64_t before = gpu_counters().host_operations;
    CHECK_EQ(mlx_logsumexp_axis(&want, x, 0, false, cpu), 0);
    CHECK_EQ(mlx_logsumexp_axis(&got, x, 0, false, gpu), 0);
    CHECK_EQ(mlx_array_eval(want), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    CHECK_EQ(gpu_counters().host_operations, before);
    CHECK_MEM(mlx_array_data_uint8(got), mlx_array_data_uint8(want), mlx_array_nbytes(want));
    mlx_array_free(x), mlx_array_free(want), mlx_array_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_is_one_launch, set_up),
        cmocka_unit_test_setup(alignment_takes_no_second_kernel, set_up),
        cmocka_unit_test_setup(long_rows_stay, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
