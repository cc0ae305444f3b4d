/*
 * softmax.c - the softmax of rows, written in plain operations: exp(x - max) / sum. Reductions, what they read and what
 * reads them are one kernel.
 */
#include "support.h"

static mlx_stream stream;

static int softmax(mlx_array *res, const mlx_array x, void *unused)
{
    mlx_array largest = mlx_array_new(), sum = mlx_array_new();
    (void)unused;
    int failed = mlx_max_axis(&largest, x, -1, true, stream) || mlx_subtract(res, x, largest, stream) ||
                 mlx_exp(res, *res, stream) || mlx_sum_axis(&sum, *res, -1, true, stream) ||
                 mlx_divide(res, *res, sum, stream);
    return mlx_array_free(largest), mlx_array_free(sum), failed;
}

static void softmax_in_c(const float *x, float *res, size_t count)
{
    float largest = -INFINITY;
    double sum = 0;
    for (size_t i = 0; i < count; i++) largest = fmaxf(largest, x[i]);
    for (size_t i = 0; i < count; i++) sum += (double)expf(x[i] - largest);
    for (size_t i = 0; i < count; i++) res[i] = (float)((double)expf(x[i] - largest) / sum);
}

static void run(mlx_closure fast, int rows, int columns)
{
    size_t count = (size_t)rows * (size_t)columns;
    float *values = new_floats(count), *want = new_floats(count);
    char what[64];
    fill(values, count, 3);
    for (size_t i = 0; i < count; i++) values[i] *= 20;
    for (size_t row = 0; row < (size_t)rows; row++)
        softmax_in_c(values + row * (size_t)columns, want + row * (size_t)columns, (size_t)columns);
    const int shape[] = {rows, columns};
    mlx_array x = mlx_array_new_data(values, shape, 2, MLX_FLOAT32), res = mlx_array_new();
    if (kiln_call_unary(&res, fast, x)) exit(2);
    snprintf(what, sizeof what, "softmax of %d rows of %d", rows, columns);
    check(what, res, want, count);
    mlx_array_free(x), mlx_array_free(res), free(values), free(want);
}

int main(void)
{
    mlx_closure fast = mlx_closure_new();
    stream = default_stream();
    kiln_compile_unary(&fast, "softmax", softmax, NULL, NULL, false);
    run(fast, 3, 64);
    run(fast, 40, 1000);
    run(fast, 40, 1000);
    mlx_closure_free(fast), mlx_stream_free(stream);
    print_counters();
}
