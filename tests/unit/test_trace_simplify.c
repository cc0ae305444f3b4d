/*
 * test_trace_simplify.c - what is merged, what is dropped, what must stay apart; and that it is linear.
 */
#include "trace_support.h"

static struct kiln_tape *simplified(function_body *body, size_t count, size_t ndim, const int *dims)
{
    struct kiln_tape *tape = tape_of(body, count, ndim, dims);
    must_be(kiln__tape_simplify(tape, &err));
    return tape;
}

#define expect_op(tape, op, expected) CHECK_EQ(count_op((tape), KILN_OP_##op), (expected))

static size_t equal_scalars(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(MULTIPLY, B(ADD, in[0], number(2)), number(2));
    return 1;
}

static size_t other_scalars(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    int32_t two = 2;
    uint32_t nan_bits[2] = {0x7fc00000, 0x7fc00001};
    struct kiln_array *sum = in[0];
    (void)count;
    sum = B(ADD, sum, number(0.0f));
    sum = B(ADD, sum, number(-0.0f));
    sum = B(ADD, sum, number(2));
    sum = B(ADD, sum, keep(from_data(&two, KILN_INT32, 0, NULL)));
    sum = B(ADD, sum, keep(from_data(&nan_bits[0], KILN_FLOAT32, 0, NULL)));
    sum = B(ADD, sum, keep(from_data(&nan_bits[1], KILN_FLOAT32, 0, NULL)));
    out[0] = sum;
    return 1;
}

static void test_scalars_merge_by_bits_and_dtype(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(equal_scalars, 1, SHAPE(3));
    CHECK_EQ(count_live(tape, KILN_VALUE_CONSTANT), 1);
    kiln__tape_free(tape);
    tape = simplified(other_scalars, 1, SHAPE(3));
    CHECK_EQ(count_live(tape, KILN_VALUE_CONSTANT), 6);
    kiln__tape_free(tape);
}

static size_t common(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, U(EXP, in[0]), U(EXP, in[0]));
    return 1;
}

static size_t common_two_levels(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, U(TANH, B(ADD, in[0], number(1))), U(TANH, B(ADD, in[0], number(1))));
    return 1;
}

static size_t log_and_exp(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, U(EXP, in[0]), U(LOG, in[0]));
    return 1;
}

static size_t operands_swapped(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, B(SUBTRACT, in[0], in[1]), B(SUBTRACT, in[1], in[0]));
    return 1;
}

static size_t other_attributes(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = keep(sum_axis(in[0], 0, false));
    out[1] = keep(sum_axis(in[0], 1, false));
    out[2] = keep(sum_axis(in[0], 1, false));
    return 3;
}

static size_t other_casts(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = cast(in[0], KILN_INT32);
    out[1] = cast(in[0], KILN_FLOAT16);
    return 2;
}

static void test_equal_operations_are_shared(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(common, 1, SHAPE(3));
    expect_op(tape, EXP, 1);
    const struct kiln_value *sum = &tape->values[tape->outputs[0]];
    CHECK_EQ(sum->inputs[0], sum->inputs[1]);
    kiln__tape_free(tape);
    tape = simplified(common_two_levels, 1, SHAPE(3));
    expect_op(tape, TANH, 1);
    expect_op(tape, ADD, 2);
    kiln__tape_free(tape);
}

static void test_different_operations_stay_apart(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(log_and_exp, 1, SHAPE(3));
    expect_op(tape, EXP, 1);
    expect_op(tape, LOG, 1);
    kiln__tape_free(tape);
    tape = simplified(operands_swapped, 2, SHAPE(3));
    expect_op(tape, SUBTRACT, 2);
    kiln__tape_free(tape);
    tape = simplified(other_attributes, 1, SHAPE(3, 3));
    expect_op(tape, SUM, 2);
    CHECK_NE(tape->outputs[0], tape->outputs[1]);
    CHECK_EQ(tape->outputs[1], tape->outputs[2]);
    kiln__tape_free(tape);
    tape = simplified(other_casts, 1, SHAPE(3));
    expect_op(tape, CAST, 2);
    kiln__tape_free(tape);
}

static size_t same_casts(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    int64_t shape[] = {2, 3};
    struct kiln_array *x = cast(in[0], KILN_FLOAT32);
    (void)count;
    x = keep(apply(KILN_OP_RESHAPE, &x, 1, shape, 2));
    x = keep(apply(KILN_OP_BROADCAST, &x, 1, shape, 2));
    out[0] = cast(U(EXP, cast(x, KILN_FLOAT32)), KILN_FLOAT32);
    out[1] = cast(in[0], KILN_FLOAT32);
    return 2;
}

static void test_operations_that_do_nothing_go(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(same_casts, 1, SHAPE(2, 3));
    CHECK_EQ(count_live(tape, KILN_VALUE_NODE), 1);
    CHECK_EQ(tape->values[tape->outputs[0]].op, KILN_OP_EXP);
    CHECK_EQ(tape->outputs[1], 0);
    kiln__tape_free(tape);
}

static size_t unused(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    U(LOG, B(MULTIPLY, in[0], in[1]));
    out[0] = U(EXP, in[0]);
    return 1;
}

/* in[0] of shape (3): a row of it is broadcast to (2, 3), packed, and met by another of that shape. */
static size_t broadcast_before_add(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *wide = keep(apply(KILN_OP_BROADCAST, in, 1, (int64_t[]){2, 3}, 2));
    struct kiln_array *packed = keep(apply(KILN_OP_CONTIGUOUS, &wide, 1, NULL, 0));
    float zeros[6] = {0};
    struct kiln_array *other = keep(from_data(zeros, KILN_FLOAT32, 2, (int[]){2, 3}));
    out[0] = B(ADD, packed, other); /* (2, 3) without them too */
    out[1] = U(EXP, packed);        /* (2, 3) only because of the broadcast; packing goes all the same */
    return 2;
}

static void test_element_wise_operations_broadcast_on_their_own(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(broadcast_before_add, 1, SHAPE(3));
    expect_op(tape, CONTIGUOUS, 0);
    expect_op(tape, BROADCAST, 1);
    const struct kiln_value *sum = &tape->values[tape->outputs[0]], *power = &tape->values[tape->outputs[1]];
    CHECK_EQ(sum->inputs[0], 0);
    CHECK_EQ(tape->values[power->inputs[0]].op, KILN_OP_BROADCAST);
    kiln__tape_free(tape);
}

static void test_unused_results_are_not_recorded(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(unused, 2, SHAPE(3));
    CHECK_EQ(count_live(tape, KILN_VALUE_NODE), 1);
    CHECK_TRUE(tape->values[0].is_live);
    CHECK_FALSE(tape->values[1].is_live);
    kiln__tape_free(tape);
}

static void test_marking_alone_merges_nothing(void **state)
{
    (void)state;
    struct kiln_tape *tape = tape_of(common, 1, SHAPE(3));
    kiln__tape_mark(tape);
    expect_op(tape, EXP, 2);
    kiln__tape_free(tape);
}

/* ---- long tapes: seconds would show anything worse than linear ------------------------------------------------- */

enum { MANY = 100000 };

static size_t long_chain(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < MANY; i++) x = B(ADD, x, in[0]);
    out[0] = x;
    return 1;
}

/* One scalar (and equal copies of it) with 100,000 users. */
static size_t many_users(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *one = number(1), *x = in[0];
    (void)count;
    for (int i = 0; i < MANY; i++) x = B(MULTIPLY, x, i % 2 ? one : number(1));
    out[0] = x;
    return 1;
}

/* 100,000 equal operations on one input, each used once. */
static size_t many_equal(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < MANY; i++) x = B(MAXIMUM, x, U(EXP, in[0]));
    out[0] = x;
    return 1;
}

static void test_long_tapes(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(long_chain, 1, SHAPE(3));
    CHECK_EQ(count_live(tape, KILN_VALUE_NODE), MANY);
    kiln__tape_free(tape);
    tape = simplified(many_users, 1, SHAPE(3));
    CHECK_EQ(count_live(tape, KILN_VALUE_NODE), MANY);
    CHECK_EQ(count_live(tape, KILN_VALUE_CONSTANT), 1);
    kiln__tape_free(tape);
    tape = simplified(many_equal, 1, SHAPE(3));
    expect_op(tape, EXP, 1);
    expect_op(tape, MAXIMUM, MANY);
    kiln__tape_free(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_merge_by_bits_and_dtype),
        cmocka_unit_test(test_equal_operations_are_shared),
        cmocka_unit_test(test_different_operations_stay_apart),
        cmocka_unit_test(test_operations_that_do_nothing_go),
        cmocka_unit_test(test_element_wise_operations_broadcast_on_their_own),
        cmocka_unit_test(test_unused_results_are_not_recorded),
        cmocka_unit_test(test_marking_alone_merges_nothing),
        cmocka_unit_test(test_long_tapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
