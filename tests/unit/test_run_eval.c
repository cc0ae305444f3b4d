/*
 * test_run_eval.c - who runs what: long chains, several threads, failures, memory, work behind the caller's back, fork.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/gate.h"
#include "unit/run_support.h"

static struct kiln_array *scalar_f32(float value)
{
    struct kiln_array *array = NULL;
    must_be(kiln__array_scalar(KILN_FLOAT32, &value, &array, &err));
    return array;
}

/* `array` plus one, `length` times; takes over the reference. */
static struct kiln_array *chain(struct kiln_array *array, int length)
{
    struct kiln_array *one = scalar_f32(1);
    for (int i = 0; i < length; i++) {
        struct kiln_array *next = binary(KILN_OP_ADD, array, one);
        kiln__array_unref(array);
        array = next;
    }
    kiln__array_unref(one);
    return array;
}

static void a_chain_of_a_million_nodes(void **state)
{
    (void)state;
    struct kiln_array *array = chain(scalar_f32(0), 1000000);
    eval(array);
    CHECK_NEAR(element_f32(array, 0), 1000000.0f, 0);
    kiln__array_unref(array);
}

static void a_million_nodes_can_be_freed_unevaluated(void **state)
{
    (void)state;
    kiln__array_unref(chain(scalar_f32(0), 1000000));
}

/* x = x + x, 60 times: 60 nodes, and 2^60 paths. */
static void shared_nodes_run_once(void **state)
{
    (void)state;
    struct kiln_array *array = scalar_f32(1);
    for (int i = 0; i < 60; i++) {
        struct kiln_array *next = binary(KILN_OP_ADD, array, array);
        kiln__array_unref(array);
        array = next;
    }
    eval(array);
    CHECK_EQ(element_f32(array, 0), 0x1p60f);
    kiln__array_unref(array);
}

static void evaluating_nothing_and_ready_arrays(void **state)
{
    (void)state;
    kiln_error err;
    struct kiln_array *ready = scalar_f32(3);
    CHECK_OK(kiln__eval(NULL, 0, &err), &err);
    CHECK_OK(kiln__eval(&ready, 1, &err), &err);
    CHECK_OK(kiln__eval_async(NULL, 0, &err), &err);
    kiln__array_unref(ready);
    struct kiln_array *none = NULL;
    CHECK_STATUS(kiln__eval(&none, 1, &err), KILN_INVALID, &err);
}

static void tracers_are_refused(void **state)
{
    (void)state;
    kiln_error err = {.text = ""};
    struct kiln_array *tracer = NULL;
    CHECK_OK(kiln__array_new(KILN_FLOAT32, SHAPE(2), &tracer, &err), &err);
    tracer->trace = 7;
    static const char text[] =
        "[eval] Attempting to eval an array during function transformations like compile is not allowed.";
    CHECK_STATUS(kiln__eval(&tracer, 1, &err), KILN_INVALID, &err);
    CHECK_STR(err.text, text);
    err.text[0] = 0;
    CHECK_STATUS(kiln__eval_async(&tracer, 1, &err), KILN_INVALID, &err);
    CHECK_STR(err.text, text);
    kiln__array_unref(tracer);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static void the_peak_of_a_diamond(void **state)
{
    (void)state;
    struct kiln_memory memory;
    struct kiln_array *a = counting(1, SHAPE(1 << 20)), *b = counting(2, SHAPE(1 << 20));
    struct kiln_array *product = binary(KILN_OP_MULTIPLY, a, b), *sum = binary(KILN_OP_ADD, a, b);
    struct kiln_array *result = binary(KILN_OP_MULTIPLY, product, sum);
    unref_all((struct kiln_array *[]){product, sum}, 2);
    kiln__memory_reset_peak();
    eval(result);
    kiln__memory_get(&memory);
    CHECK_LE(memory.peak, 20971520);
    CHECK_LE(memory.active, 3 * 4194304);
    CHECK_EQ(element_f32(result, 5), (6.0f * 7.0f) * (6.0f + 7.0f));
    unref_all((struct kiln_array *[]){a, b, result}, 3);
    kiln__memory_get(&memory);
    CHECK_EQ(memory.active, 0);
}

static void intermediates_of_a_chain_go_early(void **state)
{
    (void)state;
    struct kiln_memory memory;
    struct kiln_array *array = chain(counting(0, SHAPE(1 << 18)), 100);
    kiln__memory_reset_peak();
    eval(array);
    kiln__memory_get(&memory);
    CHECK_LE(memory.peak, 4u << 20); /* two live arrays of 1 MiB, the constant, and some slack */
    kiln__array_unref(array);
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

static void *eval_thread(void *ctx)
{
    struct kiln_array *array = ctx;
    kiln_error err;
    return (void *)(intptr_t)kiln__eval(&array, 1, &err);
}

static void four_threads_evaluate_one_array(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct kiln_array *array = chain(counting(0, SHAPE(1000)), 100);
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, eval_thread, array), 0);
        for (int i = 0; i < 4; i++) {
            void *status;
            pthread_join(threads[i], &status);
            CHECK_NULL(status);
        }
        for (int i = 0; i < 1000; i++) CHECK_EQ(element_f32(array, i), (float)i + 100.0f);
        kiln__array_unref(array);
    }
}

/* Each thread has its own end of a graph whose beginning all share. */
static void threads_with_overlapping_graphs(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct kiln_array *trunk = chain(counting(0, SHAPE(64)), 50), *ends[4];
        for (int i = 0; i < 4; i++) ends[i] = chain(kiln__array_ref(trunk), 10 * (i + 1));
        kiln__array_unref(trunk);
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, eval_thread, ends[i]), 0);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < 4; i++) CHECK_EQ(element_f32(ends[i], 3), 53.0f + 10.0f * (float)(i + 1));
        unref_all(ends, 4);
    }
}

/* ---- failures ------------------------------------------------------------------------------------------------ */

static atomic_int plan_runs, plan_failures;
static atomic_bool plan_is_held; /* a plan that has begun goes on when this is false */

/* Adds one to the first input for output 0, two for output 1; fails as often as plan_failures says. */
static kiln_status plan_in_the_test(struct kiln_node *node, kiln_error *err)
{
    atomic_fetch_add(&plan_runs, 1);
    while (atomic_load(&plan_is_held)) usleep(100);
    usleep(2000);
    if (atomic_load(&plan_failures) > 0) {
        atomic_fetch_sub(&plan_failures, 1);
        return kiln__fail(err, KILN_COMPILE_FAILED, "the test wants it to fail");
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct kiln_array *output = kiln__node_output(node, i);
        if (!output) continue;
        kiln_status status = kiln__storage_new((size_t)output->size * 4, &output->storage, err);
        if (status != KILN_OK) return status;
        output->data = output->storage->data;
        for (int64_t k = 0; k < output->size; k++) {
            float value = element_f32(node->inputs[0], k) + (float)(i + 1);
            memcpy(output->data + 4 * k, &value, sizeof value);
        }
        kiln__array_unref(output);
    }
    return KILN_OK;
}

/* A plan node over `input` with two outputs. */
static void make_plan(struct kiln_array *input, struct kiln_array *outputs[2])
{
    struct kiln_node *node = NULL;
    kiln__plan_eval = plan_in_the_test;
    for (int i = 0; i < 2; i++) must_be(kiln__array_new(KILN_FLOAT32, input->ndim, input->dims, &outputs[i], &err));
    must_be(kiln__node_new(KILN_OP_PLAN, &input, 1, NULL, 0, &node, &err));
    must_be(kiln__node_set_outputs(node, outputs, 2, &err));
}
#define make_plan(...) CHECK_CALL(make_plan, __VA_ARGS__)

static void a_plan_makes_all_its_outputs(void **state)
{
    (void)state;
    struct kiln_array *input = chain(counting(0, SHAPE(4)), 2), *outputs[2];
    make_plan(input, outputs);
    atomic_store(&plan_runs, 0);
    eval(outputs[1]);
    CHECK_TRUE(kiln__array_is_ready(outputs[0]));
    CHECK_TRUE(element_f32(outputs[0], 1) == 4 && element_f32(outputs[1], 1) == 5);
    CHECK_EQ(atomic_load(&plan_runs), 1);
    unref_all((struct kiln_array *[]){input, outputs[0], outputs[1]}, 3);
}

static void a_plan_with_a_freed_output(void **state)
{
    (void)state;
    struct kiln_array *input = counting(0, SHAPE(4)), *outputs[2];
    make_plan(input, outputs);
    kiln__array_unref(outputs[0]);
    eval(outputs[1]);
    CHECK_EQ(element_f32(outputs[1], 1), 3);
    unref_all((struct kiln_array *[]){input, outputs[1]}, 2);
}

static void a_failure_is_reported_and_tried_again(void **state)
{
    (void)state;
    kiln_error err = {.text = ""};
    struct kiln_array *input = counting(0, SHAPE(4)), *outputs[2];
    make_plan(input, outputs);
    struct kiln_array *end = chain(kiln__array_ref(outputs[0]), 3);
    atomic_store(&plan_failures, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(kiln__eval(&end, 1, &err), KILN_COMPILE_FAILED, &err);
        CHECK_STR(err.text, "the test wants it to fail");
        CHECK_EQ(err.status, KILN_COMPILE_FAILED);
        CHECK_FALSE(kiln__array_is_ready(end));
    }
    eval(end);
    CHECK_EQ(element_f32(end, 2), 6);
    unref_all((struct kiln_array *[]){input, outputs[0], outputs[1], end}, 4);
}

static void *failing_thread(void *ctx)
{
    struct kiln_array *array = ctx;
    kiln_error err = {.text = ""};
    kiln_status status = kiln__eval(&array, 1, &err);
    return status == KILN_OK || strcmp(err.text, "the test wants it to fail") == 0 ? (void *)(intptr_t)(status - 1)
                                                                                   : NULL;
}

static void everyone_who_waits_gets_the_error(void **state)
{
    (void)state;
    struct kiln_array *input = counting(0, SHAPE(4)), *outputs[2];
    make_plan(input, outputs);
    atomic_store(&plan_failures, 1000);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, failing_thread, outputs[i % 2]), 0);
    for (int i = 0; i < 4; i++) {
        void *status;
        pthread_join(threads[i], &status);
        CHECK_EQ((intptr_t)status, KILN_COMPILE_FAILED - 1);
    }
    atomic_store(&plan_failures, 0);
    eval(outputs[0]);
    unref_all((struct kiln_array *[]){input, outputs[0], outputs[1]}, 3);
}

static void out_of_memory_is_an_error_and_leaves_the_graph(void **state)
{
    (void)state;
    kiln_error err = {.text = ""};
    struct kiln_array *one = scalar_f32(1), *large = NULL, *result;
    CHECK_OK(kiln__broadcast_to(one, (int[]){1 << 30, 1 << 20}, 2, &large, &err), &err);
    result = binary(KILN_OP_ADD, large, one);
    CHECK_STATUS(kiln__eval(&result, 1, &err), KILN_NO_MEMORY, &err);
    CHECK_FALSE(kiln__array_is_ready(result));
    CHECK_STATUS(kiln__eval(&result, 1, &err), KILN_NO_MEMORY, &err);
    unref_all((struct kiln_array *[]){one, large, result}, 3);
}

/* ---- behind the caller's back ---------------------------------------------------------------------------------- */

static void async_then_eval(void **state)
{
    (void)state;
    kiln_error err;
    struct kiln_array *array = chain(counting(0, SHAPE(1000)), 200);
    CHECK_OK(kiln__eval_async(&array, 1, &err), &err);
    eval(array);
    CHECK_EQ(element_f32(array, 7), 207);
    kiln__array_unref(array);
}

static void async_then_free(void **state)
{
    (void)state;
    kiln_error err;
    struct kiln_memory memory;
    for (int i = 0; i < 20; i++) {
        struct kiln_array *array = chain(counting(0, SHAPE(1000)), 50);
        CHECK_OK(kiln__eval_async(&array, 1, &err), &err);
        kiln__array_unref(array);
    }
    kiln__eval_synchronize();
    kiln__memory_get(&memory);
    CHECK_EQ(memory.active, 0);
}

static void an_error_of_async_surfaces_at_eval(void **state)
{
    (void)state;
    kiln_error err = {.text = ""};
    struct kiln_array *input = counting(0, SHAPE(4)), *outputs[2];
    make_plan(input, outputs);
    atomic_store(&plan_failures, 2);
    CHECK_OK(kiln__eval_async(outputs, 2, &err), &err);
    kiln__eval_synchronize();
    CHECK_FALSE(kiln__array_is_ready(outputs[0]));
    CHECK_STATUS(kiln__eval(outputs, 2, &err), KILN_COMPILE_FAILED, &err);
    CHECK_STR(err.text, "the test wants it to fail");
    atomic_store(&plan_failures, 0);
    unref_all((struct kiln_array *[]){input, outputs[0], outputs[1]}, 3);
}

/* ---- fork ---------------------------------------------------------------------------------------------------- */

static int child_works(struct kiln_array *lazy)
{
    alarm(60);
    atomic_store(&plan_is_held, false);
    kiln_error err;
    struct kiln_array *mine = chain(counting(0, SHAPE(10)), 5);
    if (kiln__eval_async(&mine, 1, &err) != KILN_OK) return 1;
    kiln__eval_synchronize();
    if (!kiln__array_is_ready(mine) || element_f32(mine, 2) != 7) return 2;
    if (kiln__eval(&lazy, 1, &err) != KILN_OK) return 3;
    return element_f32(lazy, 1) == 2 ? 0 : 4;
}

/* The parent's worker runs the plan while the process forks; the child has no such thread and runs it itself. */
static void a_forked_child_evaluates(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    CHECK_SKIP(); /* it does not follow threads into a child */
#endif
    kiln_error err;
    struct kiln_array *first = chain(scalar_f32(0), 1);
    eval(first); /* the kernel is known before the fork */
    kiln__array_unref(first);
    struct kiln_array *input = counting(0, SHAPE(4)), *outputs[2];
    make_plan(input, outputs);
    atomic_store(&plan_runs, 0);
    atomic_store(&plan_is_held, true);
    CHECK_OK(kiln__eval_async(outputs, 1, &err), &err);
    while (atomic_load(&plan_runs) == 0) usleep(100);
    pid_t child = fork();
    if (child == 0) _exit(child_works(outputs[0]));
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    atomic_store(&plan_is_held, false);
    CHECK_EQ(status, 0);
    eval(outputs[0]);
    unref_all((struct kiln_array *[]){input, outputs[0], outputs[1]}, 3);
}

static _Atomic bool may_go_on;

/* A plan that has begun to write over its input, and is not done. */
static kiln_status overwrite_slowly(struct kiln_node *node, kiln_error *err)
{
    (void)node;
    kiln__eval_overwrites();
    atomic_fetch_add(&plan_runs, 1);
    while (!atomic_load(&may_go_on)) usleep(100);
    return kiln__fail(err, KILN_INVALID, "the test ends here");
}

static int child_is_refused(struct kiln_array *lazy)
{
    kiln_error err = {.text = ""};
    alarm(60);
    atomic_store(&may_go_on, true);
    if (kiln__eval(&lazy, 1, &err) != KILN_INVALID || !strstr(err.text, "was forked")) return 1;
    return kiln__eval(&lazy, 1, &err) == KILN_INVALID && strstr(err.text, "was forked") ? 0 : 2; /* for good */
}

/* What fork could not wait for is refused in the child: running it again would read what it has written. */
static void a_child_does_not_run_what_overwrites_its_input(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    CHECK_SKIP(); /* it does not follow threads into a child */
#endif
    kiln_error err;
    kiln_status (*plan_eval)(struct kiln_node *, kiln_error *) = kiln__plan_eval;
    struct kiln_array *input = counting(0, SHAPE(4)), *outputs[2];
    make_plan(input, outputs);
    kiln__plan_eval = overwrite_slowly;
    atomic_store(&plan_runs, 0);
    kiln__fork_set_patience(20);
    CHECK_OK(kiln__eval_async(outputs, 1, &err), &err);
    while (atomic_load(&plan_runs) == 0) usleep(100);
    pid_t child = fork();
    if (child == 0) _exit(child_is_refused(outputs[0]));
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    atomic_store(&may_go_on, true);
    kiln__eval_synchronize();
    kiln__plan_eval = plan_eval;
    kiln__fork_set_patience(0);
    CHECK_EQ(status, 0);
    unref_all((struct kiln_array *[]){input, outputs[0], outputs[1]}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_a_million_nodes),
        cmocka_unit_test(a_million_nodes_can_be_freed_unevaluated),
        cmocka_unit_test(shared_nodes_run_once),
        cmocka_unit_test(evaluating_nothing_and_ready_arrays),
        cmocka_unit_test(tracers_are_refused),
        cmocka_unit_test(the_peak_of_a_diamond),
        cmocka_unit_test(intermediates_of_a_chain_go_early),
        cmocka_unit_test(four_threads_evaluate_one_array),
        cmocka_unit_test(threads_with_overlapping_graphs),
        cmocka_unit_test(a_plan_makes_all_its_outputs),
        cmocka_unit_test(a_plan_with_a_freed_output),
        cmocka_unit_test(a_failure_is_reported_and_tried_again),
        cmocka_unit_test(everyone_who_waits_gets_the_error),
        cmocka_unit_test(out_of_memory_is_an_error_and_leaves_the_graph),
        cmocka_unit_test(async_then_eval),
        cmocka_unit_test(async_then_free),
        cmocka_unit_test(an_error_of_async_surfaces_at_eval),
        cmocka_unit_test(a_forked_child_evaluates),
        cmocka_unit_test(a_child_does_not_run_what_overwrites_its_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
