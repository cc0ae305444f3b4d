/*
 * test_trace_acceptance.c - what simplifying and fusing must and must not do, numbered as in the acceptance list of
 * compile (62 to 90): what is left on the tape, and in how many kernels.
 */
#include "ops/elementwise.h"
#include "ops/random.h"
#include "trace_support.h"

static struct kiln_tape *simplified(function_body *body, size_t count, size_t ndim, const int *dims)
{
    struct kiln_tape *tape = tape_of(body, count, ndim, dims);
    must_be(kiln__tape_simplify(tape, &err));
    return tape;
}

/* That many live nodes, of them `op_count` of one operation. */
static void expect_nodes(struct kiln_tape *tape, uint32_t nodes, enum kiln_op op, uint32_t op_count)
{
    CHECK_EQ(count_live(tape, KILN_VALUE_NODE), nodes);
    CHECK_EQ(count_op(tape, op), op_count);
    kiln__tape_free(tape);
}
#define expect_nodes(...) CHECK_CALL(expect_nodes, __VA_ARGS__)

/* ---- G. simplify ---------------------------------------------------------------------------------------------- */

static size_t scalars_under_maximum(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(MAXIMUM, B(ADD, in[0], number(-1)), B(MULTIPLY, in[0], number(-1)));
    out[1] = B(MAXIMUM, B(ADD, in[0], number(-1)), B(MULTIPLY, in[0], number(-1)));
    return 2;
}

static void test_62_equal_scalars_merge_under_maximum(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(scalars_under_maximum, 1, SHAPE(3));
    CHECK_EQ(count_live(tape, KILN_VALUE_CONSTANT), 1);
    CHECK_EQ(tape->outputs[0], tape->outputs[1]);
    expect_nodes(tape, 3, KILN_OP_MAXIMUM, 1);
}

static size_t cos_and_sin(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, U(COS, in[0]), U(SIN, in[0]));
    return 1;
}

static void test_64_cos_and_sin_stay_apart(void **state)
{
    (void)state;
    expect_nodes(simplified(cos_and_sin, 1, SHAPE(3)), 3, KILN_OP_SIN, 1);
}

static void divmod(struct kiln_array *a, struct kiln_array *b, struct kiln_array *out[2])
{
    must_be(kiln__divmod(a, b, out, &err));
    keep(out[0]), keep(out[1]);
}
#define divmod(...) CHECK_CALL(divmod, __VA_ARGS__)

/* Twice, all four results as outputs and in their order. */
static size_t divmod_twice(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    divmod(in[0], in[1], out);
    divmod(in[0], in[1], out + 2);
    return 4;
}

static void test_66_and_68_divmod_twice_is_one_in_order(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(divmod_twice, 2, SHAPE(3));
    CHECK_EQ(tape->outputs[0], tape->outputs[2]);
    CHECK_EQ(tape->outputs[1], tape->outputs[3]);
    CHECK_NE(tape->outputs[0], tape->outputs[1]);
    expect_nodes(tape, 2, KILN_OP_FLOOR_DIVIDE, 1);
}

static size_t divmod_by_equal_scalars(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *both[4];
    (void)count;
    divmod(in[0], number(3), both);
    divmod(in[0], number(3), both + 2);
    out[0] = B(ADD, both[0], both[3]);
    out[1] = B(ADD, both[2], both[1]);
    return 2;
}

static void test_67_divmod_by_equal_scalars_shares_them(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(divmod_by_equal_scalars, 1, SHAPE(3));
    CHECK_EQ(count_live(tape, KILN_VALUE_CONSTANT), 1);
    CHECK_EQ(tape->outputs[0], tape->outputs[1]);
    expect_nodes(tape, 3, KILN_OP_FLOOR_DIVIDE, 1);
}

/* An unused half is not made. */
static size_t one_of_divmod(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *both[2];
    (void)count;
    divmod(in[0], in[1], both);
    out[0] = both[1];
    return 1;
}

static void test_48_one_output_of_two(void **state)
{
    (void)state;
    expect_nodes(simplified(one_of_divmod, 2, SHAPE(3)), 1, KILN_OP_FLOOR_DIVIDE, 0);
}

/* The key is the input, so that the words are made in the function. */
static size_t words_of_two_widths(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    const int dims[] = {4};
    struct kiln_dims shape = {dims, 1};
    struct kiln_array *key = cast(in[0], KILN_UINT32);
    (void)count;
    for (int i = 0; i < 2; i++) {
        must_be(kiln__random_words(shape, i ? 1 : 4, key, &out[i], &err));
        keep(out[i]);
    }
    return 2;
}

static void test_69_random_words_of_two_widths_stay_apart(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(words_of_two_widths, 1, SHAPE(2));
    CHECK_NE(tape->outputs[0], tape->outputs[1]);
    CHECK_EQ(tape->values[tape->outputs[0]].dtype, KILN_UINT32);
    CHECK_EQ(tape->values[tape->outputs[1]].dtype, KILN_UINT8);
    kiln__tape_free(tape);
}

static size_t logs(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(LOG, in[0]);
    out[1] = U(LOG2, in[0]);
    out[2] = U(LOG10, in[0]);
    return 3;
}

static void test_70_logs_of_other_bases_stay_apart(void **state)
{
    (void)state;
    expect_nodes(simplified(logs, 1, SHAPE(3)), 3, KILN_OP_LOG2, 1);
}

static size_t equal_with_and_without_nan(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    for (int i = 0; i < 4; i++) {
        must_be(kiln__array_equal(in[0], in[1], i % 2, &out[i], &err));
        keep(out[i]);
    }
    return 4;
}

static void test_71_equal_and_equal_nan_stay_apart(void **state)
{
    (void)state;
    struct kiln_tape *tape = simplified(equal_with_and_without_nan, 2, SHAPE(3));
    CHECK_NE(tape->outputs[0], tape->outputs[1]);
    CHECK_EQ(tape->outputs[0], tape->outputs[2]);
    CHECK_EQ(tape->outputs[1], tape->outputs[3]);
    kiln__tape_free(tape);
}

/* What is made of constants alone is no part of the tape, however it is made: its value is, once. */
static size_t constants_alone(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *four = B(MULTIPLY, number(2), U(ABS, number(-2)));
    (void)count;
    out[0] = B(ADD, B(ADD, in[0], four), U(SQRT, B(MULTIPLY, four, number(4))));
    return 1;
}

static void test_constants_are_folded(void **state)
{
    (void)state;
    struct kiln_tape *tape = tape_of(constants_alone, 1, SHAPE(3));
    for (uint32_t i = 0; i < tape->count; i++)
        if (tape->values[i].array) eval(tape->values[i].array); /* as a compiled function does */
    must_be(kiln__tape_simplify(tape, &err));
    CHECK_EQ(count_live(tape, KILN_VALUE_CONSTANT), 1); /* 4 and the root of 16 */
    expect_nodes(tape, 2, KILN_OP_ADD, 2);
}

/* ---- H. fusion ------------------------------------------------------------------------------------------------ */

static struct kiln_tape *fused(function_body *body, size_t count, size_t ndim, const int *dims)
{
    struct kiln_tape *tape = simplified(body, count, ndim, dims);
    must_be(kiln__tape_fuse(tape, 256, &err));
    return tape;
}

/* One kernel that holds every node that is left. */
static void expect_one_kernel(function_body *body, size_t count, size_t ndim, const int *dims, uint32_t members)
{
    struct kiln_tape *tape = fused(body, count, ndim, dims);
    CHECK_EQ(tape->group_count, 1);
    CHECK_EQ(tape->groups[0].member_count, members);
    CHECK_EQ(count_live(tape, KILN_VALUE_NODE), members);
    kiln__tape_free(tape);
}
#define expect_one_kernel(...) CHECK_CALL(expect_one_kernel, __VA_ARGS__)

static size_t lone_binary(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, in[0], in[1]);
    return 1;
}

static void test_77_a_lone_binary(void **state)
{
    (void)state;
    expect_one_kernel(lone_binary, 2, SHAPE(3), 1);
}

static size_t binary_into_unary(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(ABS, B(SUBTRACT, in[1], in[0]));
    return 1;
}

static size_t binary_into_binary(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(DIVIDE, B(SUBTRACT, in[1], in[0]), in[2]);
    return 1;
}

/* What a value of the tape reads, in order. */
static void test_78_binary_into_unary_and_binary(void **state)
{
    (void)state;
    expect_one_kernel(binary_into_unary, 2, SHAPE(3), 2);
    expect_one_kernel(binary_into_binary, 3, SHAPE(3), 2);
    struct kiln_tape *tape = fused(binary_into_binary, 3, SHAPE(3));
    const struct kiln_value *quotient = &tape->values[tape->outputs[0]];
    const struct kiln_value *difference = &tape->values[quotient->inputs[0]];
    CHECK_EQ(quotient->inputs[1], 2);
    CHECK_EQ(difference->inputs[0], 1);
    CHECK_EQ(difference->inputs[1], 0);
    kiln__tape_free(tape);
}

static size_t twenty_deep(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < 10; i++) x = B(ADD, U(ABS, x), number(1));
    out[0] = x;
    return 1;
}

static void test_83_twenty_deep(void **state)
{
    (void)state;
    expect_one_kernel(twenty_deep, 1, SHAPE(3), 20);
}

/* 46: an inner result and the final one; 50: running sums, of which the last is read by a reduction as well. */
static size_t inner_and_final(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[1] = U(EXP, in[0]);
    out[0] = B(ADD, out[1], in[0]);
    return 2;
}

static size_t running_sums(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < 4; i++) out[i] = x = B(ADD, x, in[1]);
    out[4] = keep(sum_axis(x, 1, true));
    return 5;
}

static void test_46_and_50_outputs_of_one_kernel(void **state)
{
    (void)state;
    expect_one_kernel(inner_and_final, 1, SHAPE(3), 2);
    struct kiln_tape *tape = fused(running_sums, 2, SHAPE(3, 4));
    uint32_t group = tape->values[tape->outputs[0]].group;
    for (int i = 0; i < 4; i++) CHECK_EQ(tape->values[tape->outputs[i]].group, group);
    kiln__tape_free(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_46_and_50_outputs_of_one_kernel),
        cmocka_unit_test(test_48_one_output_of_two),
        cmocka_unit_test(test_62_equal_scalars_merge_under_maximum),
        cmocka_unit_test(test_64_cos_and_sin_stay_apart),
        cmocka_unit_test(test_66_and_68_divmod_twice_is_one_in_order),
        cmocka_unit_test(test_67_divmod_by_equal_scalars_shares_them),
        cmocka_unit_test(test_69_random_words_of_two_widths_stay_apart),
        cmocka_unit_test(test_70_logs_of_other_bases_stay_apart),
        cmocka_unit_test(test_71_equal_and_equal_nan_stay_apart),
        cmocka_unit_test(test_constants_are_folded),
        cmocka_unit_test(test_77_a_lone_binary),
        cmocka_unit_test(test_78_binary_into_unary_and_binary),
        cmocka_unit_test(test_83_twenty_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
