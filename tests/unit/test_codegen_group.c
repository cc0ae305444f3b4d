/*
 * test_codegen_group.c - the printed text. A file in tests/golden is its own input: the heading of a kernel describes
 * its group in full, so the test reads the heading, prints that group and compares the whole text. KILN_GOLDEN_UPDATE=1
 * writes the files anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "codegen/group.h"

enum { LIMIT = 32 };

struct description {
    struct kiln_group group;
    uint8_t operands[LIMIT], constants[LIMIT];
    struct kiln_instr instrs[LIMIT];
    uint32_t outputs[LIMIT];
    char letters[LIMIT + 1];
    unsigned flags;
};

static int dtype_named(const char *name)
{
    for (int i = 0; i < KILN_DTYPE_COUNT; i++)
        if (strcmp(kiln__dtypes[i].name, name) == 0) return i;
    fail_msg("no dtype %s", name);
    return 0;
}

static int op_named(const char *name)
{
    for (int i = 0; i < KILN_OP_COUNT; i++)
        if (strcmp(kiln__ops[i].name, name) == 0) return i;
    fail_msg("no operation %s", name);
    return 0;
}

static void read_outputs(struct description *d, const char *line)
{
    for (const char *at = line; (at = strchr(at, 'v')); at++)
        d->outputs[d->group.output_count++] = (uint32_t)atoi(at + 1);
}

static void read_line(struct description *d, const char *line)
{
    char first[32], second[32], letter;
    unsigned value, in[3] = {0};
    if (strncmp(line, "; kiln element-wise", 19) == 0) {
        d->flags = strstr(line, "streaming") ? KILN_GROUP_STREAMING : 0;
    } else if (strncmp(line, "; kiln row kernel", 17) == 0) {
        d->flags = KILN_GROUP_ROWS | (strstr(line, "short") ? KILN_GROUP_SHORT : 0);
    } else if (strncmp(line, "; outputs:", 10) == 0) {
        read_outputs(d, line + 10);
    } else if (sscanf(line, "; v%u: operand %31s %c", &value, first, &letter) == 3) {
        d->letters[d->group.operand_count] = letter;
        d->operands[d->group.operand_count++] = (uint8_t)dtype_named(first);
    } else if (sscanf(line, "; v%u: constant %31s", &value, first) == 2) {
        d->constants[d->group.constant_count++] = (uint8_t)dtype_named(first);
    } else if (sscanf(line, "; v%u: %31s = %31[^(](v%u, v%u, v%u", &value, first, second, &in[0], &in[1], &in[2]) >=
               4) {
        d->instrs[d->group.instr_count++] = (struct kiln_instr){
            .op = (uint16_t)op_named(second), .dtype = (uint8_t)dtype_named(first), .in = {in[0], in[1], in[2]}};
    } else {
        fail_msg("not a heading: %s", line);
    }
}

static void describe(struct description *d, const char *heading)
{
    char line[256];
    memset(d, 0, sizeof *d);
    d->group.operand_dtypes = d->operands;
    d->group.constant_dtypes = d->constants;
    d->group.instrs = d->instrs;
    d->group.outputs = d->outputs;
    for (; *heading == ';'; heading = strchr(heading, '\n') + 1) {
        snprintf(line, sizeof line, "%.*s", (int)(strchr(heading, '\n') - heading), heading);
        read_line(d, line);
    }
}

static void golden_path(char *out, size_t size, const char *name)
{
    const char *slash = strrchr(__FILE__, '/');
    snprintf(out, size, "%.*s/../golden/%s.ll", (int)(slash - __FILE__), __FILE__, name);
}

static void check_golden(const char *name)
{
    char path[512];
    struct kiln_buffer expected = {0}, text = {0};
    struct description d;
    kiln_error err = {0};
    golden_path(path, sizeof path, name);
    if (kiln__file_read(path, 1 << 20, &expected, &err)) fail_msg("%s: %s", path, err.text);
    describe(&d, (const char *)expected.data);
    if (kiln__group_print(&d.group, d.letters, d.flags, &text, &err)) fail_msg("%s: %s", name, err.text);
    if (getenv("KILN_GOLDEN_UPDATE")) {
        assert_int_equal(kiln__file_publish(path, text.data, text.size, &err), KILN_OK);
    } else {
        assert_string_equal((const char *)text.data, (const char *)expected.data);
    }
    kiln__buffer_release(&expected);
    kiln__buffer_release(&text);
}

static void texts_are_as_in_golden(void **state)
{
    (void)state;
    static const char *const names[] = {"fused_f32",          "swiglu_bf16",    "rows_softmax",
                                        "rows_softmax_short", "rows_norm_f16",  "strided_mixed",
                                        "select_constant",    "complex_divide", "streaming_f32"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_golden(names[i]);
}

static const char multiply[] = "; kiln element-wise kernel\n; v0: operand float32 c\n; v1: operand float32 c\n"
                               "; v2: float32 = multiply(v0, v1)\n; outputs: v2\n";

static void expect_invalid(struct description *d, const char *letters, unsigned flags, const char *word)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    assert_int_equal(kiln__group_print(&d->group, letters, flags, &text, &err), KILN_INVALID);
    if (!strstr(err.text, word)) fail_msg("\"%s\" does not say \"%s\"", err.text, word);
    kiln__buffer_release(&text);
}

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
}

static void sums_check_their_input(void **state)
{
    (void)state;
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    assert_int_equal(kiln__reduction_print(KILN_OP_ADD, KILN_FLOAT32, KILN_FLOAT32, 'c', &text, &err), KILN_INVALID);
    assert_int_equal(kiln__reduction_print(KILN_OP_SUM, KILN_FLOAT32, KILN_BOOL, 'c', &text, &err), KILN_INVALID);
    assert_int_equal(kiln__reduction_print(KILN_OP_SUM, KILN_FLOAT32, KILN_FLOAT32, 's', &text, &err), KILN_INVALID);
    assert_int_equal(kiln__reduction_print(KILN_OP_SUM, KILN_COMPLEX64, KILN_FLOAT32, 'c', &text, &err), KILN_INVALID);
    assert_int_equal(kiln__reduction_print(KILN_OP_SUM, 99, KILN_FLOAT32, 'c', &text, &err), KILN_INVALID);
    assert_int_equal(text.size, 0);
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
