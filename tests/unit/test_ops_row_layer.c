/*
 * test_ops_row_layer.c - which layers become one node, what such a node says, and which stay formulas.
 */
#include "graph/default_device.h"
#include "graph/graph_print.h"
#include "graph_support.h"
#include "ops/layers.h"
#include "ops/reductions.h"
#include "ops/row_layer.h"

static struct kiln_array *out;
static kiln_error err;

static void check_graph(struct kiln_array *const *inputs, size_t count, const char *expected)
{
    struct kiln_buffer text = {0};
    CHECK_STATUS(kiln__graph_print(inputs, count, &out, 1, &text, NULL), KILN_OK);
    CHECK_STR((const char *)text.data, expected);
    kiln__buffer_release(&text);
    kiln__array_unref(out);
}
#define check_graph(...) CHECK_CALL(check_graph, __VA_ARGS__)

static kiln_status softmax_over(int axis, struct kiln_array *x)
{
    return kiln__softmax(x, (struct kiln_axes){&axis, 1, false}, &out, &err);
}

static kiln_status logsumexp_over(int axis, struct kiln_array *x, bool keepdims)
{
    return kiln__logsumexp(x, (struct kiln_axes){&axis, 1, keepdims}, &out, &err);
}

/* ---- what a node says ------------------------------------------------------------------------------------------- */

static void test_exponentials(void **state)
{
    (void)state;
    struct kiln_array *x = shaped(KILN_BFLOAT16, 2, 40, END), *ints = shaped(KILN_INT32, 40, END);
    CHECK_STATUS(softmax_over(-1, x), KILN_OK);
    check_graph(&x, 1, "a0: bfloat16(2,40)\nv0: bfloat16(2,40) = softmax(a0)\nreturn v0\n");
    CHECK_STATUS(logsumexp_over(1, x, false), KILN_OK);
    check_graph(&x, 1, "a0: bfloat16(2,40)\nv0: bfloat16(2) = logsumexp(a0)\nreturn v0\n");
    CHECK_STATUS(logsumexp_over(1, x, true), KILN_OK);
    check_graph(&x, 1, "a0: bfloat16(2,40)\nv0: bfloat16(2,1) = logsumexp(a0)\nreturn v0\n");
    CHECK_OK(kiln__softmax(ints, (struct kiln_axes){NULL, KILN_ALL_AXES, false}, &out, &err), &err);
    check_graph(&ints, 1, "a0: int32(40)\nv0: float32(40) = softmax(a0)\nreturn v0\n");
    CHECK_STATUS(logsumexp_over(0, ints, false), KILN_OK);
    check_graph(&ints, 1, "a0: int32(40)\nv0: float32() = logsumexp(a0)\nreturn v0\n");
    kiln__array_unref(x);
    kiln__array_unref(ints);
}

/* 1.0f is 0x3f800000, which is 1065353216. */
static void test_norms(void **state)
{
    (void)state;
    struct kiln_array *x = shaped(KILN_FLOAT16, 2, 40, END), *weight = shaped(KILN_FLOAT32, 40, END);
    struct kiln_array *inputs[] = {x, weight};
    CHECK_OK(kiln__rms_norm(x, NULL, 1, &out, &err), &err);
    check_graph(&x, 1, "a0: float16(2,40)\nv0: float16(2,40) = rms_norm(a0) [1065353216, 0]\nreturn v0\n");
    CHECK_OK(kiln__rms_norm(x, weight, 1, &out, &err), &err);
    check_graph(inputs, 2,
                "a0: float16(2,40)\na1: float32(40)\nv0: float32(2,40) = rms_norm(a0, a1) [1065353216, 1]\n"
                "return v0\n");
    CHECK_OK(kiln__layer_norm(x, NULL, weight, 1, &out, &err), &err);
    check_graph(inputs, 2,
                "a0: float16(2,40)\na1: float32(40)\nv0: float16(2,40) = layer_norm(a0, a1) [1065353216, 2]\n"
                "return v0\n");
    CHECK_OK(kiln__layer_norm(x, weight, weight, 1, &out, &err), &err);
    check_graph(inputs, 2,
                "a0: float16(2,40)\na1: float32(40)\nv0: float32(2,40) = layer_norm(a0, a1, a1) [1065353216, 3]\n"
                "return v0\n");
    kiln__array_unref(x);
    kiln__array_unref(weight);
}

/* ---- which shapes ----------------------------------------------------------------------------------------------- */

static bool is_layer(const int *dims)
{
    struct kiln_array *x = shaped_(KILN_FLOAT32, dims);
    CHECK_STATUS(softmax_over(-1, x), KILN_OK);
    bool is = node_of(out) && node_of(out)->op == KILN_OP_SOFTMAX;
    kiln__array_unref(out);
    kiln__array_unref(x);
    return is;
}
#define IS_LAYER(...) is_layer((const int[]){__VA_ARGS__, END})

static void test_shapes(void **state)
{
    (void)state;
    CHECK_TRUE(IS_LAYER(32));
    CHECK_TRUE(IS_LAYER(100000, 32));
    CHECK_TRUE(IS_LAYER(2)); /* few elements */
    CHECK_TRUE(IS_LAYER(512, 2));
    CHECK_FALSE(IS_LAYER(513, 2)); /* short rows, and many */
    CHECK_FALSE(IS_LAYER(1));
    CHECK_FALSE(IS_LAYER(40, 1));
    CHECK_FALSE(IS_LAYER(0, 40));
    CHECK_FALSE(IS_LAYER(4, 0));
    CHECK_TRUE(IS_LAYER(1 << 16));
    CHECK_FALSE(IS_LAYER((1 << 16) + 1)); /* few long rows */
    CHECK_FALSE(IS_LAYER(31, (1 << 16) + 1));
    CHECK_TRUE(IS_LAYER(2, 16, (1 << 16) + 1));
    CHECK_TRUE(IS_LAYER(32, 1 << 20));
    CHECK_FALSE(IS_LAYER(32, (1 << 20) + 1)); /* longer than rows on a GPU */
    kiln__choose_device_index(1);
    CHECK_TRUE(IS_LAYER(1 << 15, 2));
    CHECK_TRUE(IS_LAYER(1 << 19, 2));
    CHECK_FALSE(IS_LAYER((1 << 19) + 1, 2));
    kiln__choose_device_index(KILN_NO_DEVICE_INDEX);
}

static void test_axes(void **state)
{
    (void)state;
    struct kiln_array *x = shaped(KILN_FLOAT32, 40, 50, END);
    CHECK_STATUS(softmax_over(0, x), KILN_OK);
    CHECK_EQ(node_of(out)->op, KILN_OP_DIVIDE);
    kiln__array_unref(out);
    CHECK_STATUS(logsumexp_over(0, x, true), KILN_OK);
    CHECK_EQ(node_of(out)->op, KILN_OP_SELECT);
    kiln__array_unref(out);
    CHECK_OK(kiln__softmax(x, (struct kiln_axes){NULL, KILN_ALL_AXES, false}, &out, &err), &err);
    CHECK_NE(node_of(out)->op, KILN_OP_SOFTMAX);
    kiln__array_unref(out);
    kiln__array_unref(x);
}

/* ---- traces ----------------------------------------------------------------------------------------------------- */

/* In a trace each is its formula, whichever input belongs to the trace; in one that has ended it is refused. */
static void test_traces(void **state)
{
    (void)state;
    struct kiln_array *x = shaped(KILN_FLOAT32, 40, END), *row = shaped(KILN_FLOAT32, 40, END);
    begin_trace(7);
    x->trace = 7;
    CHECK_STATUS(softmax_over(0, x), KILN_OK);
    CHECK_EQ(node_of(out)->op, KILN_OP_DIVIDE);
    kiln__array_unref(out);
    CHECK_STATUS(logsumexp_over(0, x, true), KILN_OK);
    CHECK_EQ(node_of(out)->op, KILN_OP_SELECT);
    kiln__array_unref(out);
    CHECK_OK(kiln__rms_norm(row, x, 1, &out, &err), &err);
    CHECK_EQ(node_of(out)->op, KILN_OP_MULTIPLY);
    kiln__array_unref(out);
    CHECK_OK(kiln__layer_norm(row, x, row, 1, &out, &err), &err);
    CHECK_EQ(node_of(out)->op, KILN_OP_ADD);
    kiln__array_unref(out);
    CHECK_OK(kiln__layer_norm(row, row, x, 1, &out, &err), &err);
    CHECK_EQ(node_of(out)->op, KILN_OP_ADD);
    kiln__array_unref(out);
    x->trace = 6;
    check_refused(softmax_over(0, x), "[max] Input 0: array belongs to a trace that has ended.");
    end_trace();
    x->trace = 0;
    kiln__array_unref(x);
    kiln__array_unref(row);
}

static void test_only_whole(void **state)
{
    (void)state;
    struct kiln_array *x = shaped(KILN_FLOAT32, 40, END);
    check_refused(kiln__apply(KILN_OP_SOFTMAX, &x, 1, NULL, 0, &out, &err),
                  "[softmax] This operation can't be applied like the others.");
    kiln__array_unref(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exponentials), cmocka_unit_test(test_norms),  cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_axes),         cmocka_unit_test(test_traces), cmocka_unit_test(test_only_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
