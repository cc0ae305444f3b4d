/*
 * test_mlxc_gradient_memory.c - what a gradient needs at the most: activations that wait for the backward pass, and not
 * their cotangents beside them; of the scores of attention one block.
 */
#include "mlxc_support.h"

enum { LAYERS = 24, ROWS = 4096, WIDTH = 16, ACTIVATION = ROWS * WIDTH * 4 };

static mlx_stream stream;

/* The sum of what LAYERS layers make of the first input, each with a matrix of its own. */
static int run_layers(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), weight = mlx_array_new();
    (void)payload;
    int failed = mlx_vector_array_get(&x, in, 0);
    for (size_t i = 1; i <= LAYERS && !failed; i++)
        failed = mlx_vector_array_get(&weight, in, i) || mlx_matmul(&x, x, weight, stream) || mlx_tanh(&x, x, stream);
    failed = failed || mlx_sum(&x, x, false, stream) || mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    mlx_array_free(weight);
    return failed;
}

static int run_attention(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x[3] = {{NULL}}, out = mlx_array_new();
    int failed = 0;
    for (size_t i = 0; i < 3; i++) failed = failed || mlx_vector_array_get(&x[i], in, i);
    failed = failed ||
             mlx_fast_scaled_dot_product_attention(&out, x[0], x[1], x[2], 0.25f, *(bool *)payload ? "causal" : "",
                                                   (mlx_array){NULL}, (mlx_array){NULL}, false, stream) ||
             mlx_sum(&out, out, false, stream) || mlx_vector_array_set_value(res, out);
    for (int i = 0; i < 3; i++) mlx_array_free(x[i]);
    mlx_array_free(out);
    return failed;
}

/* All gradients, as a closure of the same inputs. */
struct gradient {
    mlx_closure function;
    int count, argnums[1 + LAYERS];
};

static int run_gradient(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct gradient *gradient = payload;
    mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new();
    mlx_vector_array values = mlx_vector_array_new();
    int failed = mlx_value_and_grad(&made, gradient->function, gradient->argnums, (size_t)gradient->count) ||
                 mlx_closure_value_and_grad_apply(&values, res, made, in);
    mlx_closure_value_and_grad_free(made);
    mlx_vector_array_free(values);
    return failed;
}

/* Bytes beyond those of the inputs. */
static size_t peak_of(mlx_closure closure, mlx_vector_array in, mlx_vector_array *out)
{
    size_t before = 0, peak = 0;
    CHECK_EQ(mlx_clear_cache() || mlx_get_active_memory(&before) || mlx_reset_peak_memory(), 0);
    CHECK_EQ(mlx_closure_apply(out, closure, in) || mlx_eval(*out) || mlx_get_peak_memory(&peak), 0);
    return peak > before ? peak - before : 0;
}

static mlx_vector_array make_inputs(const int *first, int count, const int *others, int ndim)
{
    mlx_vector_array in = mlx_vector_array_new();
    for (int i = 0; i < count; i++) {
        mlx_array made = mlx_array_new(), key = mlx_array_new();
        CHECK_EQ(mlx_random_key(&key, (uint64_t)i) ||
                     mlx_random_normal(&made, i ? others : first, (size_t)ndim, MLX_FLOAT32, 0, 0.25f, key, stream) ||
                     mlx_array_eval(made) || mlx_vector_array_append_value(in, made),
                 0);
        mlx_array_free(made);
        mlx_array_free(key);
    }
    return in;
}

static struct gradient gradient_of(mlx_closure function, int count)
{
    struct gradient gradient = {.function = function, .count = count};
    for (int i = 0; i < count; i++) gradient.argnums[i] = i;
    return gradient;
}

/* The results of the layers but the first input, and a few arrays that are being worked on. */
static void test_activations(void **state)
{
    (void)state;
    mlx_closure function = mlx_closure_new_func_payload(run_layers, NULL, NULL), compiled = mlx_closure_new();
    struct gradient gradient = gradient_of(function, 1 + LAYERS);
    mlx_closure plain = mlx_closure_new_func_payload(run_gradient, &gradient, NULL);
    mlx_vector_array in = make_inputs((const int[]){ROWS, WIDTH}, 1 + LAYERS, (const int[]){WIDTH, WIDTH}, 2);
    mlx_vector_array out = mlx_vector_array_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    size_t peak = peak_of(compiled, in, &out);
    CHECK_GE(peak, (size_t)LAYERS * ACTIVATION);
    CHECK_LE(peak, (size_t)(LAYERS + 5) * ACTIVATION);
    mlx_vector_array_free(out);
    out = mlx_vector_array_new();
    peak = peak_of(plain, in, &out);
    CHECK_LE(peak, (size_t)(2 * LAYERS + 5) * ACTIVATION); /* evaluated depth first, with the cotangents beside */
    mlx_vector_array_free(out);
    mlx_vector_array_free(in);
    mlx_closure_free(compiled);
    mlx_closure_free(plain);
    mlx_closure_free(function);
    expect_no_error();
}

/* BLOCKS blocks of four layers: a checkpoint keeps what goes into a block, and computes the rest again. */
enum { BLOCKS = 6, INSIDE = 4 };

static int run_block(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), weight = mlx_array_new();
    (void)payload;
    int failed = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&weight, in, 1);
    for (int i = 0; i < INSIDE && !failed; i++) failed = mlx_matmul(&x, x, weight, stream) || mlx_tanh(&x, x, stream);
    failed = failed || mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    mlx_array_free(weight);
    return failed;
}

static int run_blocks(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), weight = mlx_array_new();
    int failed = mlx_vector_array_get(&x, in, 0);
    for (size_t i = 1; i <= BLOCKS && !failed; i++) {
        failed = mlx_vector_array_get(&weight, in, i);
        mlx_vector_array both = mlx_vector_array_new_data((const mlx_array[]){x, weight}, 2);
        mlx_vector_array made = mlx_vector_array_new();
        failed = failed || mlx_closure_apply(&made, *(mlx_closure *)payload, both) || mlx_vector_array_get(&x, made, 0);
        mlx_vector_array_free(both);
        mlx_vector_array_free(made);
    }
    failed = failed || mlx_sum(&x, x, false, stream) || mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    mlx_array_free(weight);
    return failed;
}

static void test_checkpoint(void **state)
{
    (void)state;
    size_t peaks[2];
    mlx_closure block = mlx_closure_new_func_payload(run_block, NULL, NULL);
    mlx_closure checkpointed = mlx_closure_new();
    CHECK_EQ(mlx_checkpoint(&checkpointed, block), 0);
    mlx_vector_array in = make_inputs((const int[]){ROWS, WIDTH}, 1 + BLOCKS, (const int[]){WIDTH, WIDTH}, 2);
    for (int i = 0; i < 2; i++) {
        mlx_closure used = i ? checkpointed : block, compiled = mlx_closure_new();
        mlx_closure function = mlx_closure_new_func_payload(run_blocks, &used, NULL);
        struct gradient gradient = gradient_of(function, 1 + BLOCKS);
        mlx_closure derivative = mlx_closure_new_func_payload(run_gradient, &gradient, NULL);
        mlx_vector_array out = mlx_vector_array_new();
        CHECK_EQ(mlx_compile(&compiled, derivative, false), 0);
        peaks[i] = peak_of(compiled, in, &out);
        mlx_vector_array_free(out);
        mlx_closure_free(compiled);
        mlx_closure_free(derivative);
        mlx_closure_free(function);
    }
    CHECK_GE(peaks[0], (size_t)BLOCKS * INSIDE * ACTIVATION);
    CHECK_LE(peaks[1], (size_t)(BLOCKS + INSIDE + 6) * ACTIVATION);
    mlx_vector_array_free(in);
    mlx_closure_free(block);
    mlx_closure_free(checkpointed);
    expect_no_error();
}

/* All scores would be 64 MiB. */
static void test_attention(void **state)
{
    enum { HEADS = 4, LENGTH = 2048, FEATURES = 16, SCORES = HEADS * LENGTH * LENGTH * 4 };
    static const int shape[] = {1, HEADS, LENGTH, FEATURES};
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool is_causal = i;
        mlx_closure function = mlx_closure_new_func_payload(run_attention, &is_causal, NULL);
        mlx_closure compiled = mlx_closure_new();
        struct gradient gradient = gradient_of(function, 3);
        mlx_closure plain = mlx_closure_new_func_payload(run_gradient, &gradient, NULL);
        mlx_vector_array in = make_inputs(shape, 3, shape, 4), out = mlx_vector_array_new();
        CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
        size_t peak = peak_of(compiled, in, &out);
        CHECK_LE(peak, (size_t)SCORES / 2);
        mlx_vector_array_free(out);
        out = mlx_vector_array_new();
        peak = peak_of(plain, in, &out);
        CHECK_LE(peak, (size_t)SCORES * 5 / 2);
        mlx_vector_array_free(out);
        mlx_vector_array_free(in);
        mlx_closure_free(compiled);
        mlx_closure_free(plain);
        mlx_closure_free(function);
    }
    expect_no_error();
}

int main(void)
{
    stream = mlx_default_cpu_stream_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_activations, install_handler),
        cmocka_unit_test_setup(test_checkpoint, install_handler),
        cmocka_unit_test_setup(test_attention, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
