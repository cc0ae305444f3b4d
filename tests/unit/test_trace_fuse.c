/*
 * test_trace_fuse.c - which element-wise operations become one kernel.
 */
#include "trace_support.h"

enum { NO_LIMIT = 256 };

static struct kiln_tape *fused_with(function_body *body, size_t count, size_t ndim, const int *dims, uint32_t limit)
{
    struct kiln_tape *tape = tape_of(body, count, ndim, dims);
    must_be(kiln__tape_simplify(tape, &err));
    must_be(kiln__tape_fuse(tape, limit, &err));
    return tape;
}

static struct kiln_tape *fused(function_body *body, size_t count, size_t ndim, const int *dims)
{
    return fused_with(body, count, ndim, dims, NO_LIMIT);
}

/* Every group's root comes after what its members read, and no member but outputs and the root is read from outside. */
static void expect_sound(const struct kiln_tape *tape)
{
    for (uint32_t i = 0; i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        for (uint32_t k = 0; value->is_live && k < value->input_count; k++) {
            const struct kiln_value *input = &tape->values[value->inputs[k]];
            if (input->group == KILN_NO_GROUP || input->group == value->group) continue;
            CHECK_EQ(tape->groups[input->group].root, value->inputs[k]);
            uint32_t reader = value->group == KILN_NO_GROUP ? i : tape->groups[value->group].root;
            CHECK_LT(tape->groups[input->group].root, reader);
        }
    }
}
#define expect_sound(...) CHECK_CALL(expect_sound, __VA_ARGS__)

static void expect_groups(struct kiln_tape *tape, uint32_t groups, uint32_t other_nodes)
{
    uint32_t outside = 0;
    for (uint32_t i = 0; i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        outside += value->is_live && value->kind == KILN_VALUE_NODE && value->group == KILN_NO_GROUP;
    }
    CHECK_EQ(tape->group_count, groups);
    CHECK_EQ(outside, other_nodes);
    expect_sound(tape);
    kiln__tape_free(tape);
}
#define expect_groups(...) CHECK_CALL(expect_groups, __VA_ARGS__)

static size_t unary_chain(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(SQRT, U(ABS, U(TANH, U(NEGATIVE, U(EXP, in[0])))));
    return 1;
}

static size_t gelu(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    out[0] = B(MULTIPLY, x, B(DIVIDE, B(ADD, number(1), U(ERF, B(DIVIDE, x, number(1.41421356f)))), number(2)));
    return 1;
}

static size_t diamond(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(MULTIPLY, B(MULTIPLY, in[0], in[1]), B(ADD, in[0], in[1]));
    return 1;
}

static void test_one_kernel(void **state)
{
    (void)state;
    struct kiln_tape *tape = fused(unary_chain, 1, SHAPE(4));
    CHECK_EQ(tape->groups[0].member_count, 5);
    CHECK_EQ(tape->groups[0].root, tape->outputs[0]);
    expect_groups(tape, 1, 0);
    expect_groups(fused(gelu, 1, SHAPE(4)), 1, 0);
    expect_groups(fused(gelu, 1, 0, NULL), 1, 0);
    expect_groups(fused(diamond, 2, SHAPE(4, 5)), 1, 0);
}

static size_t chain_sum_chain(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *total = keep(sum_axis(U(EXP, U(NEGATIVE, in[0])), 0, true));
    out[0] = U(SQRT, U(ABS, total));
    return 1;
}

/* softmax-like: the numerator is read by the sum and by the division */
static size_t reused_after_sum(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *numerator = U(EXP, U(NEGATIVE, in[0]));
    (void)count;
    out[0] = B(DIVIDE, numerator, keep(sum_axis(numerator, 0, true)));
    return 1;
}

static void test_reductions_part_kernels(void **state)
{
    (void)state;
    expect_groups(fused(chain_sum_chain, 1, SHAPE(4, 3)), 2, 1); /* along the first axis */
    struct kiln_tape *tape = fused(reused_after_sum, 1, SHAPE(4, 3));
    const struct kiln_value *quotient = &tape->values[tape->outputs[0]];
    CHECK_NE(tape->values[quotient->inputs[0]].group, quotient->group);
    expect_groups(tape, 2, 1);
    expect_groups(fused(chain_sum_chain, 1, SHAPE(4)), 1, 0); /* along the last one they do not, */
    expect_groups(fused(reused_after_sum, 1, SHAPE(2)), 1, 0);
    expect_groups(fused(reused_after_sum, 1, SHAPE(1)), 2, 1); /* but for rows of one element */
}

/* The small operand is made once, in a kernel of its own shape, not for every element of the large one. */
static size_t other_shape(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *row = U(EXP, keep(sum_axis(in[0], 0, false)));
    out[0] = B(ADD, in[0], row);
    return 1;
}

static size_t inner_output(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(EXP, in[0]);
    out[1] = U(NEGATIVE, out[0]);
    return 2;
}

static void test_shapes_and_outputs(void **state)
{
    (void)state;
    expect_groups(fused(other_shape, 1, SHAPE(4, 5)), 2, 1);
    expect_groups(fused(inner_output, 1, SHAPE(4)), 1, 0);
    expect_groups(fused_with(unary_chain, 1, SHAPE(4), 1), 5, 0);
    expect_groups(fused_with(unary_chain, 1, SHAPE(4), 2), 3, 0);
}

/* a feeds b's group through a reduction, and b itself: joining a and b would make a group wait for itself */
static size_t crossing(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *a = U(EXP, in[0]), *b = U(TANH, in[1]);
    struct kiln_array *c = B(ADD, a, keep(sum_axis(b, 0, true))), *d = B(ADD, b, keep(sum_axis(a, 0, true)));
    out[0] = B(MULTIPLY, c, d);
    return 1;
}

static void test_no_group_waits_for_itself(void **state)
{
    (void)state;
    expect_groups(fused(crossing, 2, SHAPE(4, 3)), 3, 2);
    expect_groups(fused(crossing, 2, SHAPE(4)), 1, 0);
}

enum { MANY = 100000 };

static size_t long_chain(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < MANY; i++) x = B(ADD, x, in[0]);
    out[0] = x;
    return 1;
}

static size_t many_scalars(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < 1000; i++) x = B(ADD, x, number((float)i));
    out[0] = x;
    return 1;
}

static void test_limits(void **state)
{
    (void)state;
    struct kiln_tape *tape = fused(long_chain, 1, SHAPE(4));
    for (uint32_t i = 0; i < tape->group_count; i++) {
        CHECK_LE(tape->groups[i].member_count, NO_LIMIT);
        CHECK_LE(tape->groups[i].input_bound, 48);
    }
    expect_sound(tape);
    kiln__tape_free(tape);
    tape = fused(many_scalars, 1, SHAPE(4));
    CHECK_TRUE(tape->group_count >= 1000 / 48 && tape->group_count <= 1000 / 40);
    expect_sound(tape);
    kiln__tape_free(tape);
}

/* x appears in every link of the chain: one operand, however often it is read */
static size_t chain_of_200(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < 200; i++) x = B(ADD, x, in[0]);
    out[0] = x;
    return 1;
}

static void test_an_operand_counts_once(void **state)
{
    (void)state;
    expect_groups(fused(chain_of_200, 1, SHAPE(4)), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_kernel),
        cmocka_unit_test(test_reductions_part_kernels),
        cmocka_unit_test(test_shapes_and_outputs),
        cmocka_unit_test(test_no_group_waits_for_itself),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_an_operand_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
