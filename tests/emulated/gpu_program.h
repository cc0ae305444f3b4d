/*
 * gpu_program.h - what the tests on the emulated driver share: a function of several kernels, its result by plain C,
 * and what the GPU did.
 */
#ifndef KILN_TESTS_GPU_PROGRAM_H
#define KILN_TESTS_GPU_PROGRAM_H

#include "kiln/compile.h"
#include "kiln/gpu.h"
#include "unit/mlxc_support.h"

static mlx_stream gpu, cpu;

/* Each maximum along the first axis ends a kernel: x = x - max(x) + 1, three times. Exact in small whole numbers. */
static inline int chain(mlx_array *res, const mlx_array x, void *unused)
{
    (void)unused;
    mlx_array top = mlx_array_new(), one = mlx_array_new_float(1);
    int code = mlx_add(res, x, one, gpu);
    for (int i = 0; i < 3 && !code; i++)
        code =
            mlx_max_axis(&top, *res, 0, true, gpu) || mlx_subtract(res, *res, top, gpu) || mlx_add(res, *res, one, gpu);
    mlx_array_free(top), mlx_array_free(one);
    return code;
}

enum { COLUMNS = 8 };

static inline float number_at(int i, int salt)
{
    return (float)((i * 7 + salt * 13) % 50);
}

static inline mlx_array make_rows(int rows, int salt)
{
    const int shape[] = {rows, COLUMNS};
    float *values = malloc(sizeof *values * (size_t)(rows * COLUMNS));
    for (int i = 0; i < rows * COLUMNS; i++) values[i] = number_at(i, salt);
    mlx_array res = mlx_array_new_data(values, shape, 2, MLX_FLOAT32);
    free(values);
    return res;
}

/* After the first round every column has the maximum 1, so that the others change nothing. */
static inline void expect_chain(mlx_array res, int rows, int salt)
{
    expect_no_error();
    CHECK_EQ(mlx_array_eval(res), 0);
    const float *data = mlx_array_data_float32(res);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < rows * COLUMNS; i++) {
        float top = 0;
        for (int k = i % COLUMNS; k < rows * COLUMNS; k += COLUMNS)
            top = number_at(k, salt) > top ? number_at(k, salt) : top;
        if (data[i] != number_at(i, salt) - top + 1)
            CHECK_FAIL("element %d of %d rows, salt %d, is %g", i, rows, salt, (double)data[i]);
    }
}
#define expect_chain(...) CHECK_CALL(expect_chain, __VA_ARGS__)

static inline kiln_gpu_counters gpu_counters(void)
{
    kiln_gpu_counters counters = {.struct_size = sizeof counters};
    kiln_gpu_counters_read(&counters);
    return counters;
}

static int set_up(void **state)
{
    unsetenv("KILN_TEST_CUDA_FAIL");
    unsetenv("KILN_TEST_CUDA_MEMORY");
    if (!gpu.ctx) gpu = mlx_default_gpu_stream_new();
    if (!cpu.ctx) cpu = mlx_default_cpu_stream_new();
    return install_handler(state);
}

static int tear_down(void **state)
{
    (void)state;
    mlx_stream_free(gpu), mlx_stream_free(cpu);
    return 0;
}

#endif
