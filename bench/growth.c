/*
 * growth.c - time per node from a function to its first result when its kernels are known: trace, simplify, fuse, plan,
 * keys. The graph is one chain in which every second node reads the same scalar; linear means that the time per node of
 * a large one is that of a small one. The slope is of log(time) over log(nodes): 1 when linear.
 */
#include <math.h>
#include <stdlib.h>

#include "arrays.h"
#include "bench.h"

enum { SIZES = 3, MAX_RUNS = 3, LENGTH = 16 };

static const int sizes[SIZES] = {1000, 10000, 100000};

/* x*0.5 + y, again and again. */
static int chain(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const int *nodes = payload;
    mlx_stream stream = bench_stream();
    mlx_array x = mlx_array_new(), y = mlx_array_new(), half = mlx_array_new_float(0.5f);
    int failed = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&y, in, 1);
    for (int i = 0; i < *nodes && !failed; i += 2)
        failed = mlx_multiply(&x, x, half, stream) || mlx_add(&x, x, y, stream);
    failed = failed || mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    mlx_array_free(y);
    mlx_array_free(half);
    return failed;
}

/* The chain's limit is 2y, which float32 reaches long before its end. */
static bool is_right(const float *values, const float *y)
{
    for (int i = 0; i < LENGTH; i++)
        if (!values || fabsf(values[i] - 2 * y[i]) > 1e-5f) return false;
    return true;
}

/* Per node, of a function that is new each time; 0: it failed. */
static double time_nodes(const int *nodes)
{
    float x[LENGTH], y[LENGTH];
    const int shape[] = {LENGTH};
    fill_inputs(x, y, LENGTH);
    const mlx_array arrays[] = {mlx_array_new_data(x, shape, 1, MLX_FLOAT32),
                                mlx_array_new_data(y, shape, 1, MLX_FLOAT32)};
    mlx_closure plain = mlx_closure_new_func_payload(chain, (void *)nodes, NULL);
    struct compiled compiled = {mlx_closure_new(), mlx_vector_array_new_data(arrays, 2), mlx_vector_array_new()};
    bool is_made = mlx_compile(&compiled.closure, plain, false) == 0;
    double start = now_ns();
    const float *values = is_made ? compiled_call(&compiled) : NULL;
    double ns = (now_ns() - start) / *nodes;
    bool is_fine = is_right(values, y);
    compiled_release(&compiled);
    mlx_closure_free(plain);
    mlx_array_free(arrays[0]);
    mlx_array_free(arrays[1]);
    return is_fine ? ns : 0;
}

int bench_growth(struct row *rows, int repeats)
{
    static const char *const names[] = {"trace and simplify, per node of 10,000",
                                        "trace and simplify, per node of 100,000"};
    static char floor_names[SIZES - 1][64];
    struct samples samples[SIZES] = {{.count = 0}};
    bool is_fine = true;
    if (!is_wanted(names[0]) && !is_wanted(names[1])) return 0;
    bench_stream();
    for (int i = 0; i < SIZES && is_fine; i++) is_fine = time_nodes(&sizes[i]) > 0; /* compiles the kernels */
    for (int k = 0; k < (repeats < MAX_RUNS ? repeats : MAX_RUNS) && is_fine; k++) {
        for (int i = 0; i < SIZES && is_fine; i++) {
            double ns = time_nodes(&sizes[i]);
            is_fine = ns > 0;
            sample_add(&samples[i], ns);
        }
    }
    double small = sample_median(&samples[0]);
    for (int i = 1; i < SIZES; i++) {
        struct row *row = &rows[i - 1];
        double ns = sample_median(&samples[i]), nodes = (double)sizes[i] / sizes[0];
        *row = (struct row){.name = names[i - 1],
                            .floor_name = floor_names[i - 1],
                            .aim = "1.0 of the floor",
                            .ns = ns,
                            .floor_ns = small};
        if (!is_fine) row_fail(row, "a call failed");
        snprintf(floor_names[i - 1], sizeof floor_names[0], "per node of 1,000; slope %.2f",
                 log(ns * nodes / small) / log(nodes));
    }
    return SIZES - 1;
}
