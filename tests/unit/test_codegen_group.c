/*
 * test_codegen_group.c - the printed text of kernels, and what is refused.
 */
#include "golden_support.h"

#include "codegen/group.h"

static void check_golden(const char *name)
{
    char file[64];
    struct kiln_buffer text = {0};
    struct description d;
    kiln_error err = {0};
    snprintf(file, sizeof file, "%s.ll", name);
    describe_golden(&d, file);
    if (kiln__group_print(&d.group, d.layouts, d.flags, &text, &err)) CHECK_FAIL("%s: %s", name, err.text);
    expect_golden(file, &text);
    kiln__buffer_release(&text);
}

static void texts_are_as_in_golden(void **state)
{
    (void)state;
    static const char *const names[] = {
        "fused_f32",     "swiglu_bf16",     "rows_softmax",   "rows_softmax_short", "rows_norm_f16",
        "strided_mixed", "select_constant", "complex_divide", "streaming_f32",      "rows_softmax_streaming"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_golden(names[i]);
}

static const char multiply[] = "; kiln element-wise kernel\n; v0: operand float32 c\n; v1: operand float32 c\n"
                               "; v2: float32 = multiply(v0, v1)\n; outputs: v2\n";

static void expect_invalid(struct description *d, const char *layouts, unsigned flags, const char *word)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_STATUS(kiln__group_print(&d->group, layouts, flags, &text, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, word);
    kiln__buffer_release(&text);
}
#define expect_invalid(...) CHECK_CALL(expect_invalid, __VA_ARGS__)

static void bad_groups_are_errors(void **state)
{
    (void)state;
    struct description d;
    describe(&d, multiply);
    expect_invalid(&d, "c", 0, "one of c, s, v");
    expect_invalid(&d, "cx", 0, "one of c, s, v");
    expect_invalid(&d, "cv", KILN_GROUP_STREAMING, "packed or scalar");
    describe(&d, multiply), d.instrs[0].in[1] = 2;
    expect_invalid(&d, "cc", 0, "not computed before");
    describe(&d, multiply), d.instrs[0].op = KILN_OP_SUM;
    expect_invalid(&d, "cc", 0, "not element-wise");
    describe(&d, multiply), d.instrs[0].dtype = KILN_INT32;
    expect_invalid(&d, "cc", 0, "wrong dtype");
    describe(&d, multiply), d.operands[0] = KILN_INT32;
    expect_invalid(&d, "cc", 0, "wrong dtype");
    describe(&d, multiply), d.operands[0] = 77;
    expect_invalid(&d, "cc", 0, "dtype 77");
    describe(&d, multiply), d.outputs[0] = 3;
    expect_invalid(&d, "cc", 0, "output 0");
    describe(&d, multiply), d.group.output_count = 0;
    expect_invalid(&d, "cc", 0, "at least one output");
    describe(&d, multiply), d.operands[0] = d.operands[1] = d.instrs[0].dtype = KILN_COMPLEX64,
                            d.instrs[0].op = KILN_OP_LOGADDEXP;
    expect_invalid(&d, "cc", 0, "not defined for complex64");
}

static void streaming_needs_one_element_size(void **state)
{
    (void)state;
    struct description d;
    describe(
        &d, "; kiln element-wise kernel\n; v0: operand float32 c\n; v1: float64 = astype(v0)\n; v2: float32 = exp(v0)\n"
            "; outputs: v1 v2\n");
    expect_invalid(&d, "c", KILN_GROUP_STREAMING, "one size");
    describe(&d, "; kiln row kernel\n; v0: operand float32 c\n; v1: float32 = sum(v0)\n; v2: float64 = astype(v0)\n"
                 "; v3: float32 = divide(v0, v1)\n; outputs: v1 v2 v3\n");
    expect_invalid(&d, "c", KILN_GROUP_ROWS | KILN_GROUP_STREAMING, "one size");
    d.group.output_count = 1;
    expect_invalid(&d, "c", KILN_GROUP_ROWS | KILN_GROUP_STREAMING, "needs an output with elements");
}

static void sums_check_their_input(void **state)
{
    (void)state;
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_STATUS(kiln__reduction_print(KILN_OP_ADD, KILN_FLOAT32, KILN_FLOAT32, 'c', &text, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln__reduction_print(KILN_OP_SUM, KILN_FLOAT32, KILN_BOOL, 'c', &text, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln__reduction_print(KILN_OP_SUM, KILN_FLOAT32, KILN_FLOAT32, 's', &text, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln__reduction_print(KILN_OP_SUM, KILN_COMPLEX64, KILN_FLOAT32, 'c', &text, &err), KILN_INVALID,
                 &err);
    CHECK_STATUS(kiln__reduction_print(KILN_OP_SUM, 99, KILN_FLOAT32, 'c', &text, &err), KILN_INVALID, &err);
    CHECK_EQ(text.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_in_golden),
        cmocka_unit_test(bad_groups_are_errors),
        cmocka_unit_test(streaming_needs_one_element_size),
        cmocka_unit_test(sums_check_their_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
