/*
 * swiglu.c - silu(gate) * up, where silu is a compiled function of its own: called inside it becomes part of it, so
 * that both together are one kernel. Shapeless: one trace for all matrices.
 */
#include "support.h"

static mlx_stream stream;

static int silu(mlx_array *res, const mlx_array x, void *unused)
{
    (void)unused;
    return mlx_sigmoid(res, x, stream) || mlx_multiply(res, x, *res, stream);
}

static int swiglu(mlx_array *res, const mlx_array gate, const mlx_array up, void *inner)
{
    return kiln_call_unary(res, *(mlx_closure *)inner, gate) || mlx_multiply(res, *res, up, stream);
}

static void run(mlx_closure fast, int rows, int columns)
{
    size_t count = (size_t)rows * (size_t)columns;
    float *gate = new_floats(count), *up = new_floats(count), *want = new_floats(count);
    char what[64];
    fill(gate, count, 1), fill(up, count, 2);
    for (size_t i = 0; i < count; i++) want[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
    const int shape[] = {rows, columns};
    mlx_array g = mlx_array_new_data(gate, shape, 2, MLX_FLOAT32), u = mlx_array_new_data(up, shape, 2, MLX_FLOAT32);
    mlx_array res = mlx_array_new();
    if (kiln_call_binary(&res, fast, g, u)) exit(2);
    snprintf(what, sizeof what, "swiglu of %d x %d", rows, columns);
    check(what, res, want, count);
    mlx_array_free(g), mlx_array_free(u), mlx_array_free(res);
    free(gate), free(up), free(want);
}

int main(void)
{
    mlx_closure inner = mlx_closure_new(), fast = mlx_closure_new();
    stream = default_stream();
    kiln_compile_unary(&inner, "silu", silu, NULL, NULL, true);
    kiln_compile_binary(&fast, "swiglu", swiglu, &inner, NULL, true);
    run(fast, 2, 3);
    run(fast, 64, 100);
    run(fast, 1, 4096);
    mlx_closure_free(fast), mlx_closure_free(inner), mlx_stream_free(stream);
    print_counters();
}
