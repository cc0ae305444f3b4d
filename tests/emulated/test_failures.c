/*
 * test_failures.c - every call of the driver fails once: an error with the driver's words, nothing lost, and the next
 * call works. What can be done without the driver's help is done.
 */
#include "gpu_program.h"

static void fail_at(const char *calls)
{
    if (calls)
        setenv("KILN_TEST_CUDA_FAIL", calls, 1);
    else
        unsetenv("KILN_TEST_CUDA_FAIL");
}

static size_t active_memory(void)
{
    size_t bytes = 0;
    mlx_get_active_memory(&bytes);
    return bytes;
}

static void expect_driver_error(const char *what)
{
    char text[200];
    snprintf(text, sizeof text, "%s: the NVIDIA driver says CUDA_ERROR_UNKNOWN (999): unknown error", what);
    expect_error(text);
}
#define expect_driver_error(...) CHECK_CALL(expect_driver_error, __VA_ARGS__)

/* The chain of `rows` is evaluated; 0: it worked. */
static int evaluate(int rows)
{
    mlx_array x = make_rows(rows, 3), res = mlx_array_new();
    int code = chain(&res, x, NULL) || mlx_array_eval(res);
    if (!code) expect_chain(res, rows, 3);
    mlx_array_free(x), mlx_array_free(res);
    return code;
}

static void a_launch_fails(void **state)
{
    (void)state;
    CHECK_EQ(evaluate(10), 0);
    size_t memory = active_memory();
    static const char *const calls[] = {"launch:1", "launch:2", "launch:3"};
    for (int i = 0; i < 3; i++) {
        fail_at(calls[i]);
        CHECK_EQ(evaluate(10), 1);
        expect_driver_error("a kernel can't be launched");
        fail_at(NULL);
        CHECK_EQ(active_memory(), memory);
        CHECK_EQ(evaluate(10), 0);
    }
}

/* An array whose evaluation failed is still what it was. */
static void an_array_is_evaluated_again(void **state)
{
    (void)state;
    mlx_array x = make_rows(10, 4), res = mlx_array_new();
    CHECK_EQ(chain(&res, x, NULL), 0);
    fail_at("launch:2");
    CHECK_EQ(mlx_array_eval(res), 1);
    expect_driver_error("a kernel can't be launched");
    fail_at(NULL);
    expect_chain(res, 10, 4);
    mlx_array_free(x), mlx_array_free(res);
}

static void a_copy_fails(void **state)
{
    (void)state;
    mlx_array x = make_rows(10, 5), res = mlx_array_new();
    CHECK_EQ(chain(&res, x, NULL), 0);
    fail_at("copy_to_device:1");
    CHECK_EQ(mlx_array_eval(res), 1);
    expect_driver_error("a copy to the GPU failed");
    fail_at(NULL);
    CHECK_EQ(mlx_array_eval(res), 0);
    fail_at("copy_to_host:1");
    CHECK_NULL(mlx_array_data_float32(res));
    expect_driver_error("a copy from the GPU failed");
    fail_at(NULL);
    expect_chain(res, 10, 5);
    mlx_array_free(x), mlx_array_free(res);
}

static void waiting_fails(void **state)
{
    (void)state;
    fail_at("stream_wait:1");
    CHECK_EQ(mlx_synchronize(gpu), 1);
    expect_driver_error("work on the GPU failed");
    fail_at(NULL);
    CHECK_EQ(mlx_synchronize(gpu), 0);
}

/* Kernels that no other test has made: x * 2 + number, on the GPU. */
static int evaluate_new(float number)
{
    mlx_array x = make_rows(4, 6), two = mlx_array_new_float(2), other = mlx_array_new_float(number);
    mlx_array res = mlx_array_new();
    int code = mlx_multiply(&res, x, two, gpu) || mlx_power(&res, res, other, gpu) || mlx_array_eval(res);
    if (!code && mlx_array_data_float32(res)[3] != 2 * number_at(3, 6)) CHECK_FAIL("another result");
    mlx_array_free(x), mlx_array_free(two), mlx_array_free(other), mlx_array_free(res);
    return code;
}

/* The error is given for that call; the next one asks the driver again. */
static void linking_fails(void **state)
{
    (void)state;
    static const char *const calls[] = {"link_new:1+", "link_add:1+", "link_finish:1+", "module_load:1",
                                        "module_function:1"};
    static const char *const texts[] = {"PTX is refused", "PTX is refused", "PTX is refused",
                                        "machine code can't be loaded", "machine code can't be loaded"};
    for (int i = 0; i < 5; i++) {
        fail_at(calls[i]);
        CHECK_EQ(evaluate_new(1), 1);
        expect_driver_error(texts[i]);
    }
    fail_at(NULL);
    CHECK_EQ(evaluate_new(1), 0);
}

static void graphs_fail(void **state)
{
    (void)state;
    static const char *const calls[] = {"stream_new:1+", "capture_begin:1+", "capture_end:1+", "graph_instantiate:1+"};
    mlx_closure compiled = mlx_closure_new();
    mlx_array x = make_rows(12, 7), res = mlx_array_new();
    CHECK_EQ(kiln_compile_unary(&compiled, "chain", chain, NULL, NULL, false), 0);
    uint64_t replays = gpu_counters().replays;
    for (int i = 0; i < 4; i++) { /* without graphs kernels are launched one by one */
        fail_at(calls[i]);
        for (int k = 0; k < 5; k++) {
            CHECK_EQ(kiln_call_unary(&res, compiled, x), 0);
            expect_chain(res, 12, 7);
        }
    }
    CHECK_EQ(gpu_counters().replays, replays);
    fail_at(NULL);
    for (int k = 0; k < 9; k++) CHECK_EQ(kiln_call_unary(&res, compiled, x), 0);
    CHECK_GT(gpu_counters().replays, replays);
    fail_at("graph_launch:1");
    CHECK_EQ(kiln_call_unary(&res, compiled, x) || mlx_array_eval(res), 1);
    expect_driver_error("launches can't be replayed");
    fail_at(NULL);
    CHECK_EQ(kiln_call_unary(&res, compiled, x), 0);
    expect_chain(res, 12, 7);
    mlx_array_free(x), mlx_array_free(res), mlx_closure_free(compiled);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int evaluate_ones(int count, mlx_array *res)
{
    return mlx_ones(res, &count, 1, MLX_FLOAT32, gpu) || mlx_array_eval(*res);
}

static void memory_runs_out(void **state)
{
    (void)state;
    mlx_array res = mlx_array_new();
    mlx_clear_cache();
    size_t memory = active_memory();
    setenv("KILN_TEST_CUDA_MEMORY", "3000000", 1);
    CHECK_EQ(evaluate_ones(1000000, &res), 1);
    expect_error("cannot allocate 4194304 bytes on Emulated GPU, which has ");
    mlx_array_free(res);
    CHECK_EQ(active_memory(), memory);
    res = mlx_array_new();
    CHECK_EQ(evaluate_ones(100000, &res), 0);
    CHECK_EQ(mlx_array_data_float32(res)[99999], 1);
    mlx_array_free(res);
}

/* What was freed is kept for the next array of that size; when memory runs out it goes back to the driver. */
static void kept_buffers_make_room(void **state)
{
    (void)state;
    mlx_array res = mlx_array_new();
    size_t cached = 0;
    mlx_clear_cache();
    setenv("KILN_TEST_CUDA_MEMORY", "3000000", 1);
    CHECK_EQ(evaluate_ones(500000, &res), 0);
    mlx_array_free(res);
    mlx_get_cache_memory(&cached);
    CHECK_GE(cached, 2000000);
    res = mlx_array_new();
    CHECK_EQ(evaluate_ones(400000, &res), 0); /* of another size class, and there is no room for both */
    CHECK_EQ(mlx_array_data_float32(res)[399999], 1);
    mlx_array_free(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_launch_fails, set_up),  cmocka_unit_test_setup(an_array_is_evaluated_again, set_up),
        cmocka_unit_test_setup(a_copy_fails, set_up),    cmocka_unit_test_setup(waiting_fails, set_up),
        cmocka_unit_test_setup(linking_fails, set_up),   cmocka_unit_test_setup(graphs_fail, set_up),
        cmocka_unit_test_setup(memory_runs_out, set_up), cmocka_unit_test_setup(kept_buffers_make_room, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
