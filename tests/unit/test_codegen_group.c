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

static void reductions_are_as_in_golden(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        enum kiln_op op;
        enum kiln_dtype in, out;
        char layout;
    } rows[] = {{"reduction_packed.ll", KILN_OP_SUM, KILN_BFLOAT16, KILN_FLOAT32, 'c'},
                {"reduction_strided.ll", KILN_OP_MAX, KILN_FLOAT32, KILN_FLOAT32, 'v'},
                {"reduction_columns.ll", KILN_OP_SUM, KILN_FLOAT32, KILN_FLOAT32, 'r'}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kiln_buffer text = {0};
        kiln_error err = {0};
        CHECK_OK(kiln__reduction_print(rows[i].op, rows[i].in, rows[i].out, rows[i].layout, &text, &err), &err);
        expect_golden(rows[i].file, &text);
        kiln__buffer_release(&text);
    }
}

static const char multiply[] = "; kiln element-wise kernel\n"
                               "; operand a0: float32, packed\n"
                               "; operand a1: float32, packed\n"
                               "; operation v0: float32 multiply(a0, a1)\n"
                               "; result v0: float32\n";

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
                            d.instrs[0].op = KILN_OP_REMAINDER;
    expect_invalid(&d, "cc", 0, "not defined for complex64");
}

static void streaming_needs_one_element_size(void **state)
{
    (void)state;
    struct description d;
    describe(&d, "; kiln element-wise kernel\n"
                 "; operand a0: float32, packed\n"
                 "; operation v0: float64 astype(a0)\n"
                 "; operation v1: float32 exp(a0)\n"
                 "; result v0: float64\n"
                 "; result v1: float32\n");
    expect_invalid(&d, "c", KILN_GROUP_STREAMING, "one size");
    describe(&d, "; kiln row kernel\n"
                 "; operand a0: float32, packed\n"
                 "; operation v0: float32 sum(a0)\n"
                 "; operation v1: float64 astype(a0)\n"
                 "; operation v2: float32 divide(a0, v0)\n"
                 "; result v0: float32\n"
                 "; result v1: float64\n"
                 "; result v2: float32\n");
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
        cmocka_unit_test(texts_are_as_in_golden), cmocka_unit_test(reductions_are_as_in_golden),
        cmocka_unit_test(bad_groups_are_errors),  cmocka_unit_test(streaming_needs_one_element_size),
        cmocka_unit_test(sums_check_their_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
