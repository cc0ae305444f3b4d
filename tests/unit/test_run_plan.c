/*
 * test_run_plan.c - from a tape to steps over slots, and running them at once or as one lazy node.
 */
#include "trace_support.h"

#include "run/plan.h"

static struct kiln_plan *plan_of(function_body *body, size_t count, size_t ndim, const int *dims)
{
    struct kiln_tape *tape = tape_of(body, count, ndim, dims);
    struct kiln_plan *plan = NULL;
    must_be(kiln__tape_simplify(tape, &err));
    must_be(kiln__tape_fuse(tape, 256, &err));
    must_be(kiln__plan_new(tape, NULL, &plan, &err));
    kiln__tape_free(tape);
    return plan;
}

static size_t memory_now(void)
{
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    return memory.active;
}

/* ---- structure ------------------------------------------------------------------------------------------------ */

static size_t chain_sum_chain(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *total = keep(sum_axis(U(SQUARE, U(NEGATIVE, in[0])), 0, true));
    out[0] = U(SQRT, U(ABS, total));
    return 1;
}

static void test_chain_sum_chain_has_three_steps(void **state)
{
    (void)state;
    struct kiln_plan *plan = plan_of(chain_sum_chain, 1, SHAPE(4, 3)); /* not along rows */
    CHECK_EQ(plan->step_count, 3);
    CHECK_NOT_NULL(plan->steps[0].kernels);
    CHECK_NULL(plan->steps[1].kernels);
    CHECK_EQ(plan->steps[1].op, KILN_OP_SUM);
    CHECK_NOT_NULL(plan->steps[2].kernels);
    CHECK_EQ(plan->steps[0].kernels->group.instr_count, 2);
    /* Each intermediate is released by its only reader; inputs and outputs by nobody. */
    CHECK_EQ(plan->steps[0].release_count, 0);
    CHECK_EQ(plan->steps[1].release_count, 1);
    CHECK_EQ(plan->steps[1].releases[0], plan->steps[0].outputs[0]);
    CHECK_EQ(plan->steps[2].release_count, 1);
    CHECK_EQ(plan->work, 12 + 3 + 3);
    kiln__plan_unref(plan);
}

static size_t gelu(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    out[0] = B(MULTIPLY, x, B(DIVIDE, B(ADD, number(1), U(ERF, B(DIVIDE, x, number(1.41421356f)))), number(2)));
    return 1;
}

/* Scalars are arguments of the kernel, by their bits, and take no slot. */
static void test_scalars_take_no_slot(void **state)
{
    (void)state;
    struct kiln_plan *plan = plan_of(gelu, 1, SHAPE(4));
    CHECK_EQ(plan->step_count, 1);
    CHECK_EQ(plan->steps[0].input_count, 1);
    CHECK_EQ(plan->steps[0].kernels->group.constant_count, 3);
    CHECK_EQ(plan->constant_count, 0);
    CHECK_EQ(plan->slot_count, 2);
    kiln__plan_unref(plan);
}

static size_t scalar_elsewhere(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *two = number(2);
    (void)count;
    out[0] = B(MULTIPLY, in[0], two);
    out[1] = two;
    out[2] = keep(apply(KILN_OP_BROADCAST, &two, 1, (int64_t[]){3}, 1));
    return 3;
}

static void test_scalars_that_others_read_take_one(void **state)
{
    (void)state;
    struct kiln_array *x = counting(1, SHAPE(2)), *outputs[3];
    struct kiln_plan *plan = plan_of(scalar_elsewhere, 1, SHAPE(2));
    CHECK_EQ(plan->constant_count, 2);
    must_be(kiln__plan_run(plan, &x, outputs, &err));
    CHECK_NEAR(element_f32(outputs[0], 1), 4, 0);
    CHECK_NEAR(element_f32(outputs[1], 0), 2, 0);
    eval(outputs[2]);
    CHECK_NEAR(element_f32(outputs[2], 2), 2, 0);
    unref_all(outputs, 3);
    kiln__array_unref(x);
    kiln__plan_unref(plan);
}

static size_t several(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *sum = B(ADD, in[0], in[1]);
    out[0] = U(NEGATIVE, sum);
    out[1] = sum;
    out[2] = in[0];
    out[3] = sum;
    return 4;
}

static void expect_several(struct kiln_array **outputs)
{
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(element_f32(outputs[0], i), -(float)(1 + i + 10 + i), 0);
        CHECK_NEAR(element_f32(outputs[1], i), (float)(1 + i + 10 + i), 0);
        CHECK_NEAR(element_f32(outputs[2], i), (float)(1 + i), 0);
        CHECK_NEAR(element_f32(outputs[3], i), (float)(1 + i + 10 + i), 0);
    }
}
#define expect_several(...) CHECK_CALL(expect_several, __VA_ARGS__)

static void test_outputs_inside_a_group_and_inputs_as_outputs(void **state)
{
    (void)state;
    struct kiln_array *inputs[2] = {counting(1, SHAPE(3)), counting(10, SHAPE(3))}, *outputs[4];
    struct kiln_plan *plan = plan_of(several, 2, SHAPE(3));
    CHECK_EQ(plan->step_count, 1);
    CHECK_EQ(plan->steps[0].output_count, 2);
    must_be(kiln__plan_run(plan, inputs, outputs, &err));
    expect_several(outputs);
    CHECK_EQ(outputs[2], inputs[0]);
    CHECK_EQ(outputs[1], outputs[3]);
    unref_all(outputs, 4);
    must_be(kiln__plan_defer(plan, inputs, outputs, &err));
    eval(outputs[3]); /* one evaluation makes all of them */
    for (int i = 0; i < 4; i++) CHECK_TRUE(kiln__array_is_ready(outputs[i]));
    expect_several(outputs);
    unref_all(outputs, 4);
    unref_all(inputs, 2);
    kiln__plan_unref(plan);
}

/* ---- lazy ----------------------------------------------------------------------------------------------------- */

static void test_deferring_evaluates_nothing(void **state)
{
    (void)state;
    struct kiln_array *base[2] = {counting(1, SHAPE(3)), counting(10, SHAPE(3))}, *outputs[4];
    struct kiln_array *lazy[2] = {unary(KILN_OP_ABS, base[0]), unary(KILN_OP_ABS, base[1])};
    struct kiln_plan *plan = plan_of(several, 2, SHAPE(3));
    size_t before = memory_now();
    must_be(kiln__plan_defer(plan, lazy, outputs, &err));
    CHECK_EQ(plan->refs, 2); /* the node's, so the plan may be forgotten */
    kiln__plan_unref(plan);
    CHECK_EQ(memory_now(), before);
    CHECK_FALSE(kiln__array_is_ready(lazy[0]));
    CHECK_FALSE(kiln__array_is_ready(outputs[0]));
    unref_all(lazy, 2);
    unref_all(base, 2);
    kiln__array_unref(outputs[1]); /* an output that nobody wants any more */
    eval(outputs[0]);
    CHECK_NEAR(element_f32(outputs[0], 0), -11, 0);
    CHECK_NEAR(element_f32(outputs[3], 0), 11, 0);
    kiln__array_unref(outputs[0]);
    kiln__array_unref(outputs[2]);
    kiln__array_unref(outputs[3]);
}

static size_t nothing(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)in, (void)count, (void)out;
    return 0;
}

static void test_no_outputs(void **state)
{
    (void)state;
    struct kiln_array *x = counting(1, SHAPE(3)), *lazy = unary(KILN_OP_EXP, x);
    struct kiln_plan *plan = plan_of(nothing, 1, SHAPE(3));
    must_be(kiln__plan_run(plan, &x, NULL, &err));
    must_be(kiln__plan_defer(plan, &lazy, NULL, &err));
    kiln__array_unref(lazy);
    kiln__array_unref(x);
    kiln__plan_unref(plan);
}

/* Freed before it was evaluated: nothing ran, nothing stays. */
static void test_outputs_freed_unevaluated(void **state)
{
    (void)state;
    struct kiln_array *inputs[2] = {counting(1, SHAPE(1000)), counting(10, SHAPE(1000))}, *outputs[4];
    struct kiln_plan *plan = plan_of(several, 2, SHAPE(1000));
    size_t before = memory_now();
    must_be(kiln__plan_defer(plan, inputs, outputs, &err));
    unref_all(outputs, 4);
    CHECK_EQ(plan->refs, 1);
    CHECK_EQ(memory_now(), before);
    unref_all(inputs, 2);
    kiln__plan_unref(plan);
}

/* ---- size ----------------------------------------------------------------------------------------------------- */

enum { PARTS = 1 << 20 };

static size_t join_many(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array **parts = malloc(PARTS * sizeof *parts);
    (void)count;
    for (int i = 0; i < PARTS; i++) parts[i] = in[0];
    out[0] = keep(apply(KILN_OP_CONCATENATE, parts, PARTS, (int64_t[]){0}, 1));
    free(parts);
    return 1;
}

/* An operation with a million inputs does not lie on the stack. */
static void test_an_operation_with_very_many_inputs(void **state)
{
    (void)state;
    struct kiln_plan *plan = plan_of(join_many, 1, SHAPE(1));
    struct kiln_array *x = counting(3, SHAPE(1)), *output;
    must_be(kiln__plan_run(plan, &x, &output, &err));
    CHECK_EQ(output->size, PARTS);
    CHECK_NEAR(element_f32(output, PARTS - 1), 3, 0);
    kiln__array_unref(output);
    kiln__array_unref(x);
    kiln__plan_unref(plan);
}

static size_t huge_views(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    const int64_t side = 2147483647;
    struct kiln_array *flag = cast(in[0], KILN_BOOL);
    (void)count;
    flag = keep(apply(KILN_OP_RESHAPE, &flag, 1, (int64_t[]){1, 1}, 2));
    for (int i = 0; i < 3; i++) {
        int64_t dims[3] = {1 + (i == 2), side, side};
        out[i] = keep(apply(KILN_OP_BROADCAST, &flag, 1, dims, 3));
    }
    out[3] = keep(apply(KILN_OP_BROADCAST, &in[1], 1, (int64_t[]){side, side, side, 0}, 4));
    return 4;
}

/* Views may be larger than anything that could be made; counting their elements must not overflow. */
static void test_work_is_counted_without_overflow(void **state)
{
    (void)state;
    struct function function = {.body = huge_views};
    struct kiln_array *inputs[2] = {counting(1, SHAPE(1)), counting(1, SHAPE(0))}, *outputs[4];
    struct kiln_tape *tape = NULL;
    struct kiln_plan *plan = NULL;
    must_be(kiln__trace(call_body, &function, inputs, 2, &tape, &err));
    must_be(kiln__tape_simplify(tape, &err));
    must_be(kiln__tape_fuse(tape, 256, &err));
    must_be(kiln__plan_new(tape, NULL, &plan, &err));
    kiln__tape_free(tape);
    CHECK_EQ(plan->work, INT64_MAX);
    must_be(kiln__plan_run(plan, inputs, outputs, &err));
    CHECK_EQ(outputs[0]->size, (int64_t)2147483647 * 2147483647);
    unref_all(outputs, 4);
    unref_all(inputs, 2);
    kiln__plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_sum_chain_has_three_steps),
        cmocka_unit_test(test_scalars_take_no_slot),
        cmocka_unit_test(test_scalars_that_others_read_take_one),
        cmocka_unit_test(test_outputs_inside_a_group_and_inputs_as_outputs),
        cmocka_unit_test(test_deferring_evaluates_nothing),
        cmocka_unit_test(test_no_outputs),
        cmocka_unit_test(test_outputs_freed_unevaluated),
        cmocka_unit_test(test_an_operation_with_very_many_inputs),
        cmocka_unit_test(test_work_is_counted_without_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
