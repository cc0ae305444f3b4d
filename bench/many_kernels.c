/*
 * many_kernels.c - a function of 30 kernels, none of which was compiled before: its first call.
 *
 * Floor: 30 functions of one such kernel each, called one after the other. LLVM is open in both, and both compile
 * exactly 30 kernels, or the row says how many.
 */
#include "arrays.h"
#include "bench.h"
#include "kiln.h"

enum { KERNELS = 30, OPERATIONS = 10, MAX_RUNS = 7 };

/* Kernels `first` to `end`, each with an output of its own. */
struct range {
    unsigned first, end;
};

/* Another number, another kernel: its bits say which operations it has. */
static int kernel(mlx_array *res, mlx_array x, unsigned number)
{
    mlx_array scalar = mlx_array_new_float((float)number);
    int failed = mlx_multiply(res, x, scalar, bench_stream());
    mlx_array_free(scalar);
    for (unsigned i = 0; i < OPERATIONS && !failed; i++)
        failed = (number >> i & 1 ? mlx_add : mlx_multiply)(res, *res, x, bench_stream());
    return failed;
}

static int callback(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct range *range = payload;
    mlx_array x = mlx_array_new(), out = mlx_array_new();
    mlx_vector_array all = mlx_vector_array_new();
    int failed = mlx_vector_array_get(&x, in, 0);
    for (unsigned i = range->first; i < range->end && !failed; i++)
        failed = kernel(&out, x, i) || mlx_vector_array_append_value(all, out);
    failed = failed || mlx_vector_array_set(res, all);
    mlx_vector_array_free(all);
    mlx_array_free(x);
    mlx_array_free(out);
    return failed;
}

static bool call_once(struct range range, mlx_vector_array inputs)
{
    mlx_closure plain = mlx_closure_new_func_payload(callback, &range, NULL), compiled = mlx_closure_new();
    mlx_vector_array outputs = mlx_vector_array_new();
    bool is_done = mlx_compile(&compiled, plain, false) == 0 && mlx_closure_apply(&outputs, compiled, inputs) == 0 &&
                   mlx_eval(outputs) == 0;
    mlx_vector_array_free(outputs);
    mlx_closure_free(compiled);
    mlx_closure_free(plain);
    return is_done;
}

static uint64_t compiles(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    return counters.compiles;
}

/* KERNELS new kernels, `each` of them to a function. */
static void time_calls(unsigned *next, unsigned each, mlx_vector_array inputs, struct samples *samples, struct row *row)
{
    uint64_t before = compiles();
    double start = now_ns();
    for (unsigned i = 0; i < KERNELS; i += each, *next += each)
        if (!call_once((struct range){*next, *next + each}, inputs)) row_fail(row, "a call failed");
    sample_add(samples, now_ns() - start);
    if (compiles() - before != KERNELS) row_fail(row, "%d compiles", (int)(compiles() - before));
}

int bench_many_kernels(struct row *rows, int repeats)
{
    static const char name[] = "30 kernels of one function, cold";
    static const float values[] = {1, 2, 3, 4};
    if (!is_wanted(name)) return 0;
    rows[0] = (struct row){.name = name, .floor_name = "one after the other", .aim = "1 / cores"};
    bench_errors();
    mlx_array x = mlx_array_new_data(values, (const int[]){4}, 1, MLX_FLOAT32);
    mlx_vector_array inputs = mlx_vector_array_new_value(x);
    struct samples together = {.count = 0}, alone = {.count = 0};
    unsigned next = 1;
    if (!call_once((struct range){0, 1}, inputs)) row_fail(&rows[0], "there is no compiler"); /* opens LLVM */
    for (int i = 0; i < repeats && i < MAX_RUNS && !rows[0].is_missing; i++) {
        time_calls(&next, 1, inputs, &alone, &rows[0]);
        time_calls(&next, KERNELS, inputs, &together, &rows[0]);
    }
    mlx_vector_array_free(inputs);
    mlx_array_free(x);
    rows[0].ns = sample_median(&together);
    rows[0].floor_ns = sample_median(&alone);
    return 1;
}
