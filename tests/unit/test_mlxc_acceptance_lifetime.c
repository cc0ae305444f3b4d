/*
 * test_mlxc_acceptance_lifetime.c - lines 117 to 122 of the acceptance list of compile: lifetime and threads.
 */
#include "acceptance_support.h"

#include <pthread.h>

/* ---- K. lifetime and threads ---------------------------------------------------------------------------------- */

/* 117: the function finds its own compiled closure through its payload. */
struct itself {
    mlx_closure compiled;
    int depth, freed;
};

static int calls_itself(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct itself *itself = payload;
    if (itself->depth++ < 2) return mlx_closure_apply(res, itself->compiled, in);
    return mlx_vector_array_set(res, in);
}

static void count_free(void *payload)
{
    ((struct itself *)payload)->freed++;
}

static void test_117_a_function_that_refers_to_itself(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct itself itself = {mlx_closure_new(), 0, 0};
        mlx_closure plain = mlx_closure_new_func_payload(calls_itself, &itself, count_free);
        expect_ok(mlx_compile(&itself.compiled, plain, false), "compile");
        mlx_closure_free(plain);
        mlx_array x = FLOATS(2);
        expect_call(itself.compiled, &x, 1, (float[]){1, 2}, 2);
        CHECK_EQ(itself.depth, 3);
        mlx_array_free(x), mlx_closure_free(itself.compiled);
        CHECK_EQ(itself.freed, 1);
    }
}

struct job {
    mlx_closure fun;
    bool failed;
};

static void *call_pair(void *argument)
{
    struct job *job = argument;
    mlx_array x = FLOATS(2), res[2];
    apply_compiled(job->fun, &x, 1, res, 2, "on a thread");
    mlx_array_eval(res[0]), mlx_array_eval(res[1]);
    job->failed = error_count || mlx_array_data_float32(res[0])[1] != 4 || mlx_array_data_float32(res[1])[1] != 5;
    mlx_array_free(x), free_all(res, 2);
    return NULL;
}

static void *free_closure(void *argument)
{
    mlx_closure_free(((struct job *)argument)->fun);
    return NULL;
}

static void on_a_thread(void *(*work)(void *), struct job *job)
{
    pthread_t thread;
    job->failed = false;
    CHECK_EQ(pthread_create(&thread, NULL, work, job), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_FALSE(job->failed);
}
#define on_a_thread(...) CHECK_CALL(on_a_thread, __VA_ARGS__)

static void test_120_and_121_three_threads_and_a_fourth_that_frees(void **state)
{
    (void)state;
    struct traced_call traced = {inner_and_final, NULL, 2, 0};
    for (int round = 1; round < 4; round++) {
        struct job job = {compile_call(&traced, false), false};
        for (int i = 0; i < 3; i++) on_a_thread(call_pair, &job);
        CHECK_EQ(traced.calls, round); /* once for each function, on whatever thread it was freed */
        on_a_thread(free_closure, &job);
    }
}

/* 122: each thread makes, calls and frees functions with its own number. */
enum { THREADS = 9, ITERATIONS = 2000 };

static int times_number_of_thread(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), factor = mlx_array_new_float(*(float *)payload);
    int code = mlx_vector_array_get(&x, in, 0) || mlx_multiply(&x, x, factor, stream) ||
               mlx_add(&x, x, factor, stream) || mlx_vector_array_set_value(res, x);
    return mlx_array_free(x), mlx_array_free(factor), code;
}

static bool is_right(mlx_closure fun, mlx_array x, float factor)
{
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    mlx_array res = mlx_array_new();
    bool right = !mlx_closure_apply(&out, fun, in) && !mlx_vector_array_get(&res, out, 0) && !mlx_array_eval(res) &&
                 mlx_array_data_float32(res)[0] == 2 * factor && mlx_array_data_float32(res)[1] == 3 * factor;
    mlx_vector_array_free(in), mlx_vector_array_free(out), mlx_array_free(res);
    return right;
}

static void *make_call_and_free(void *argument)
{
    struct job *job = argument;
    mlx_array x = mlx_array_new_data((float[]){1, 2}, (int[]){2}, 1, MLX_FLOAT32);
    for (int i = 0; i < ITERATIONS && !job->failed; i++) {
        float factor = (float)(i % 50 + 1);
        mlx_closure plain = mlx_closure_new_func_payload(times_number_of_thread, &factor, NULL),
                    fun = mlx_closure_new();
        job->failed = mlx_compile(&fun, plain, i % 2) || !is_right(fun, x, factor) || !is_right(fun, x, factor);
        mlx_closure_free(plain), mlx_closure_free(fun);
    }
    mlx_array_free(x);
    return NULL;
}

static void test_122_nine_threads(void **state)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS] = {{{NULL}, false}};
    (void)state;
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, make_call_and_free, &jobs[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) CHECK_FALSE(jobs[i].failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_117_a_function_that_refers_to_itself, set_up),
        cmocka_unit_test_setup(test_120_and_121_three_threads_and_a_fourth_that_frees, set_up),
        cmocka_unit_test_setup(test_122_nine_threads, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
