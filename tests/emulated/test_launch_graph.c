/*
 * test_launch_graph.c - calls of a compiled function with several kernels: replayed as a graph, with other params when
 * arrays have moved, launched one by one where the driver has no graph, and right in each case.
 */
#include <pthread.h>

#include "gpu_program.h"

static mlx_closure compile_chain(void)
{
    mlx_closure compiled = mlx_closure_new();
    CHECK_EQ(kiln_compile_unary(&compiled, "chain", chain, NULL, NULL, false), 0);
    return compiled;
}

static mlx_array call(mlx_closure compiled, mlx_array x)
{
    mlx_array res = mlx_array_new();
    CHECK_EQ(kiln_call_unary(&res, compiled, x), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    return res;
}

static void repeated_calls_are_replayed(void **state)
{
    (void)state;
    mlx_closure compiled = compile_chain();
    mlx_array x = make_rows(20, 1);
    for (int i = 0; i < 8; i++) { /* until buffers are reused in turn, and each list came twice */
        mlx_array res = call(compiled, x);
        mlx_array_free(res);
    }
    kiln_gpu_counters before = gpu_counters();
    for (int i = 0; i < 10; i++) {
        mlx_array res = call(compiled, x);
        expect_chain(res, 20, 1);
        mlx_array_free(res);
    }
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.replays - before.replays, 10);
    CHECK_EQ(now.launches, before.launches);
    mlx_array_free(x), mlx_closure_free(compiled);
}

/* Results are kept, so each call has its output elsewhere, and inputs lie elsewhere too. */
static void arrays_that_move_are_found(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    mlx_closure compiled = compile_chain();
    mlx_array inputs[COUNT], results[COUNT];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            inputs[i] = make_rows(20, i + round);
            results[i] = call(compiled, inputs[i]);
        }
        for (int i = 0; i < COUNT; i++) expect_chain(results[i], 20, i + round);
        for (int i = 0; i < COUNT; i++)
            mlx_array_free(inputs[(i * 5) % COUNT]), mlx_array_free(results[(i * 7) % COUNT]);
    }
    mlx_closure_free(compiled);
}

/* Every call has its arrays elsewhere: the graphs that were made get other params, and none is made for that. */
static void graphs_are_brought_up_to_date(void **state)
{
    (void)state;
    enum { COUNT = 40, FIRST = 10 };
    mlx_closure compiled = compile_chain();
    mlx_array inputs[COUNT], results[COUNT];
    kiln_gpu_counters before = {0}, now;
    for (int i = 0; i < COUNT; i++) {
        if (i == FIRST) before = gpu_counters();
        inputs[i] = make_rows(20, i);
        results[i] = call(compiled, inputs[i]);
    }
    now = gpu_counters();
    CHECK_EQ(now.launches - before.launches, 0);
    CHECK_EQ(now.replays - before.replays, COUNT - FIRST);
    CHECK_EQ(now.graphs - before.graphs, 0);
    CHECK_GE(now.graph_updates - before.graph_updates, COUNT - FIRST);
    for (int i = 0; i < COUNT; i++) {
        expect_chain(results[i], 20, i);
        mlx_array_free(inputs[i]), mlx_array_free(results[i]);
    }
    mlx_closure_free(compiled);
}

/* A driver that changes no graph, or some launches of one: those of the list start one by one. */
static void a_graph_that_cannot_be_changed(void **state)
{
    (void)state;
    static const char *const failures[] = {"graph_exec_set:1+", "graph_exec_set:3", "capture_info:1+",
                                           "capture_info:2"};
    enum { COUNT = 12 };
    for (size_t k = 0; k < sizeof failures / sizeof *failures; k++) {
        mlx_closure compiled = compile_chain();
        mlx_array inputs[COUNT], results[COUNT];
        setenv("KILN_TEST_CUDA_FAIL", failures[k], 1);
        for (int i = 0; i < COUNT; i++) {
            inputs[i] = make_rows(20, i);
            results[i] = call(compiled, inputs[i]);
        }
        unsetenv("KILN_TEST_CUDA_FAIL");
        for (int i = 0; i < COUNT; i++) {
            expect_chain(results[i], 20, i);
            mlx_array_free(inputs[i]), mlx_array_free(results[i]);
        }
        mlx_closure_free(compiled);
    }
}

static void other_sizes_have_other_plans(void **state)
{
    (void)state;
    mlx_closure compiled = compile_chain();
    for (int round = 0; round < 5; round++) {
        for (int rows = 3; rows < 600; rows = rows * 3 + 1) {
            mlx_array x = make_rows(rows, round), res = call(compiled, x);
            expect_chain(res, rows, round);
            mlx_array_free(x), mlx_array_free(res);
        }
    }
    mlx_closure_free(compiled);
}

/* The memory that replays use is given back and made anew: a graph of before must not run on it. */
static void buffers_given_back_end_replays(void **state)
{
    (void)state;
    mlx_closure compiled = compile_chain();
    mlx_array x = make_rows(20, 2);
    for (int round = 0; round < 4; round++) {
        mlx_array large = mlx_array_new();
        for (int i = 0; i < 5; i++) {
            mlx_array res = call(compiled, x);
            expect_chain(res, 20, 2);
            mlx_array_free(res);
        }
        CHECK_EQ(mlx_clear_cache(), 0);
        mlx_zeros(&large, (int[]){100 << round}, 1, MLX_FLOAT32, gpu); /* takes addresses that were free */
        CHECK_EQ(mlx_array_eval(large), 0);
        mlx_array_free(large);
    }
    mlx_array_free(x), mlx_closure_free(compiled);
}

static mlx_closure shared;

static void *call_often(void *salt)
{
    int number = (int)(intptr_t)salt;
    mlx_array x = make_rows(30, number);
    for (int i = 0; i < 30; i++) {
        mlx_array res = call(shared, x);
        expect_chain(res, 30, number);
        mlx_array_free(res);
    }
    mlx_array_free(x);
    return NULL;
}

static void threads_share_a_plan(void **state)
{
    (void)state;
    pthread_t threads[4];
    shared = compile_chain();
    for (intptr_t i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, call_often, (void *)i), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    mlx_closure_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(repeated_calls_are_replayed, set_up),
        cmocka_unit_test_setup(arrays_that_move_are_found, set_up),
        cmocka_unit_test_setup(graphs_are_brought_up_to_date, set_up),
        cmocka_unit_test_setup(a_graph_that_cannot_be_changed, set_up),
        cmocka_unit_test_setup(other_sizes_have_other_plans, set_up),
        cmocka_unit_test_setup(buffers_given_back_end_replays, set_up),
        cmocka_unit_test_setup(threads_share_a_plan, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
