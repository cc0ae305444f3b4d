/*
 * test_graph_node.c - ownership: a million nodes, shared inputs, plan nodes on two threads; and tracers.
 */
#include <pthread.h>

#include "graph_support.h"

static struct kiln_array *out;
static kiln_error err;

static size_t active_bytes(void)
{
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    return memory.active;
}

static struct kiln_array *ones(int n)
{
    struct kiln_array *array = NULL;
    CHECK_STATUS(kiln__array_alloc(KILN_FLOAT32, 1, &n, &array, NULL), KILN_OK);
    return array;
}

/* On a thread with a small stack, so that recursion would be seen. */
static void *free_chain(void *array)
{
    kiln__array_unref(array);
    return NULL;
}

static void free_on_small_stack(struct kiln_array *array)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    CHECK_EQ(pthread_create(&thread, &attr, free_chain, array), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static void test_million_nodes(void **state)
{
    (void)state;
    struct kiln_array *array = ones(4);
    for (int i = 0; i < 1000000; i++) {
        struct kiln_array *next = NULL;
        CHECK_STATUS(i % 2 ? kiln__unary(KILN_OP_NEGATIVE, array, &next, NULL)
                           : kiln__binary(KILN_OP_ADD, array, array, &next, NULL),
                     KILN_OK);
        kiln__array_unref(array);
        array = next;
    }
    CHECK_EQ(active_bytes(), 16);
    free_on_small_stack(array);
    CHECK_EQ(active_bytes(), 0); /* the leaf went as well */
}

static void test_inputs_are_held(void **state)
{
    (void)state;
    struct kiln_array *a = ones(4), *sum = NULL, *product = NULL;
    CHECK_STATUS(kiln__binary(KILN_OP_ADD, a, a, &sum, NULL), KILN_OK);
    CHECK_STATUS(kiln__binary(KILN_OP_MULTIPLY, a, sum, &product, NULL), KILN_OK);
    CHECK_FALSE(kiln__array_is_ready(sum));
    CHECK_EQ(atomic_load(&a->refs), 4);
    kiln__array_unref(sum);
    CHECK_EQ(atomic_load(&a->refs), 4); /* the product still needs the sum */
    kiln__array_unref(product);
    CHECK_EQ(atomic_load(&a->refs), 1);
    kiln__array_unref(a);
    CHECK_EQ(active_bytes(), 0);
}

static void test_failure_leaves_nothing(void **state)
{
    (void)state;
    struct kiln_array *a = ones(4), *b = ones(3);
    out = NULL;
    CHECK_STATUS(kiln__binary(KILN_OP_ADD, a, b, &out, NULL), KILN_INVALID);
    CHECK_NULL(out);
    CHECK_EQ(atomic_load(&a->refs), 1);
    CHECK_EQ(atomic_load(&b->refs), 1);
    kiln__array_unref(a);
    kiln__array_unref(b);
}

/* ---- plan nodes -------------------------------------------------------------------------------------------------- */

static int plans_freed;

static void count_plan(void *plan)
{
    (void)plan;
    plans_freed++;
}

static struct kiln_node *plan_node(struct kiln_array *input, struct kiln_array **outputs, size_t count)
{
    struct kiln_node *node = NULL;
    CHECK_STATUS(kiln__node_new(KILN_OP_PLAN, &input, 1, NULL, 0, &node, NULL), KILN_OK);
    node->plan = &plans_freed;
    for (size_t i = 0; i < count; i++) outputs[i] = shaped(KILN_FLOAT32, 4, END);
    CHECK_STATUS(kiln__node_set_outputs(node, outputs, count, NULL), KILN_OK);
    return node;
}

static void test_plan_outputs(void **state)
{
    (void)state;
    kiln__node_free_plan = count_plan;
    plans_freed = 0;
    struct kiln_array *input = ones(4), *outputs[3];
    struct kiln_node *node = plan_node(input, outputs, 3);
    CHECK_EQ(atomic_load(&node->refs), 3);
    kiln__array_unref(outputs[1]);
    CHECK_NULL(kiln__node_output(node, 1)); /* freed, and the node knows */
    struct kiln_array *first = kiln__node_output(node, 0);
    CHECK_EQ(first, outputs[0]);
    kiln__array_unref(first);
    struct kiln_array *last = kiln__node_take_output(node, 2);
    CHECK_EQ(last, outputs[2]);
    CHECK_NULL(kiln__node_output(node, 2)); /* forgotten */
    kiln__array_unref(last);
    kiln__array_unref(outputs[2]);
    CHECK_EQ(plans_freed, 0);
    kiln__array_unref(outputs[0]);
    CHECK_EQ(plans_freed, 1);
    CHECK_EQ(atomic_load(&input->refs), 1);
    kiln__array_unref(input);
    kiln__node_free_plan = NULL;
}

static void *free_output(void *array)
{
    kiln__array_unref(array);
    return NULL;
}

/* One thread frees an output while another asks for it: a live reference or none. */
static void test_plan_outputs_race(void **state)
{
    (void)state;
    struct kiln_array *input = ones(4);
    for (int i = 0; i < 2000; i++) {
        struct kiln_array *outputs[2];
        struct kiln_node *node = plan_node(input, outputs, 2);
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, free_output, outputs[1]), 0);
        struct kiln_array *output = kiln__node_output(node, 1);
        if (output) CHECK_EQ(output->size, 4);
        kiln__array_unref(output);
        pthread_join(thread, NULL);
        CHECK_NULL(kiln__node_output(node, 1));
        kiln__array_unref(outputs[0]);
    }
    CHECK_EQ(atomic_load(&input->refs), 1);
    kiln__array_unref(input);
    CHECK_EQ(active_bytes(), 0);
}

/* ---- tracers ----------------------------------------------------------------------------------------------------- */

static void test_tracers(void **state)
{
    (void)state;
    struct kiln_array *plain = ones(4), *tracer = shaped(KILN_INT32, 4, END), *other = shaped(KILN_FLOAT32, 4, END);
    tracer->trace = 7;
    other->trace = 6;
    check_refused(kiln__binary(KILN_OP_ADD, plain, tracer, &out, &err),
                  "[add] Input 1: array belongs to a trace that has ended.");
    begin_trace(7);
    CHECK_OK(kiln__binary(KILN_OP_ADD, plain, tracer, &out, &err), &err);
    CHECK_EQ(out->trace, 7);
    CHECK_EQ(node_of(out)->inputs[1]->trace, 7); /* the cast as well */
    CHECK_FALSE(kiln__array_is_ready(out));
    kiln__array_unref(out);
    check_refused(kiln__binary(KILN_OP_ADD, tracer, other, &out, &err),
                  "[add] Input 1: array belongs to a trace that has ended.");
    CHECK_OK(kiln__unary(KILN_OP_NEGATIVE, plain, &out, &err), &err);
    CHECK_EQ(out->trace, 0);
    kiln__array_unref(out);
    CHECK_EQ(kiln__tracing.tracer_count, 2); /* a sum and a cast */
    end_trace();
    kiln__array_unref(plain);
    kiln__array_unref(tracer);
    kiln__array_unref(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_million_nodes),          cmocka_unit_test(test_inputs_are_held),
        cmocka_unit_test(test_failure_leaves_nothing), cmocka_unit_test(test_plan_outputs),
        cmocka_unit_test(test_plan_outputs_race),      cmocka_unit_test(test_tracers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
