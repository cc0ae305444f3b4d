/*
 * test_codegen_compile.c - kernels compile into objects that need nothing from outside (the plug-in refuses others):
 * every operation, dtype and layout for x86-64-v2 and v4, a third of them for v3; every pair of dtypes of a cast for
 * every level, and of a sum for one level, each with one layout. Loops become vector code.
 */
#include <stdio.h>

#include "codegen_support.h"

static const char *const targets[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
enum { TARGETS = sizeof targets / sizeof targets[0], LEVEL_3 = 2 };

static void compile_variant(struct one_op *one, char layout, unsigned flags, const char *target)
{
    struct kiln_buffer text = {0}, object = {0};
    kiln_error err = {0};
    char layouts[4] = {layout, layout, layout, 0};
    layouts[one->group.operand_count] = 0;
    CHECK_OK(kiln__group_print(&one->group, layouts, flags, &text, &err), &err);
    compile_text(&text, target, 2, &object);
    CHECK_GT(object.size, 0);
    kiln__buffer_release(&text);
    kiln__buffer_release(&object);
}
#define compile_variant(...) CHECK_CALL(compile_variant, __VA_ARGS__)

/* Levels 2 and 4 for all, level 3 for a third: the whole takes long. All operands have the same layout here;
 * test_codegen_results.c mixes them. Casts have a test of their own. */
static void every_op_dtype_and_layout(void **state)
{
    (void)state;
    struct one_op one;
    int count = 0;
    for (int op = 0; op < KILN_OP_COUNT; op++)
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            if (!make_one_op(&one, op, dtype, dtype)) continue;
            if (op == KILN_OP_CAST) continue;
            for (const char *layout = "csv"; *layout; layout++)
                for (int t = 1; t < TARGETS; t++) {
                    if (t == LEVEL_3 && (op + dtype + *layout) % 3) continue;
                    compile_variant(&one, *layout, 0, targets[t]);
                    count++;
                }
        }
    print_message("%d kernels\n", count);
    CHECK_GT(count, 500);
}

static void every_cast(void **state)
{
    (void)state;
    struct one_op one;
    for (int from = 0; from < KILN_DTYPE_COUNT; from++)
        for (int to = 0; to < KILN_DTYPE_COUNT; to++)
            for (int t = 0; t < TARGETS; t++) {
                CHECK_TRUE(make_one_op(&one, KILN_OP_CAST, from, to));
                compile_variant(&one, "csv"[(from + to) % 3], 0, targets[t]);
            }
}

static void every_dtype_streams(void **state)
{
    (void)state;
    struct one_op one;
    for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++)
        for (int t = 0; t < TARGETS; t++) {
            CHECK_TRUE(make_one_op(&one, KILN_OP_ADD, dtype, dtype));
            compile_variant(&one, 'c', KILN_GROUP_STREAMING, targets[t]);
        }
}

static void every_sum(void **state)
{
    (void)state;
    for (int in = 0; in < KILN_DTYPE_COUNT; in++)
        for (int out = 1; out < KILN_DTYPE_COUNT; out++) {
            if (in == KILN_COMPLEX64 && out != KILN_COMPLEX64) continue;
            struct kiln_buffer text = {0}, object = {0};
            kiln_error err = {0};
            CHECK_OK(kiln__reduction_print(KILN_OP_SUM, in, out, (in + out) % 2 ? 'c' : 'v', &text, &err), &err);
            compile_text(&text, targets[(in + out) / 2 % TARGETS], 2, &object);
            kiln__buffer_release(&text);
            kiln__buffer_release(&object);
        }
}

/* What the rules make of them, in each layout. */
static void every_reduction(void **state)
{
    static const uint16_t ops[] = {KILN_OP_PROD, KILN_OP_MIN, KILN_OP_MAX, KILN_OP_ALL, KILN_OP_ANY, KILN_OP_SUM};
    (void)state;
    for (int op = 0; op < 6; op++)
        for (int in = 0; in < KILN_DTYPE_COUNT; in++)
            for (int layout = 0; layout < 3; layout++) {
                bool gives_truth = ops[op] == KILN_OP_ALL || ops[op] == KILN_OP_ANY;
                bool sums = ops[op] == KILN_OP_PROD || ops[op] == KILN_OP_SUM;
                int out = gives_truth ? KILN_BOOL : sums && in == KILN_BOOL ? KILN_INT32 : in;
                if (gives_truth && in == KILN_COMPLEX64) continue;
                struct kiln_buffer text = {0}, object = {0};
                kiln_error err = {0};
                CHECK_OK(kiln__reduction_print(ops[op], in, out, "cvr"[layout], &text, &err), &err);
                compile_text(&text, targets[(op + in + layout) % TARGETS], 2, &object);
                kiln__buffer_release(&text);
                kiln__buffer_release(&object);
            }
}

/* ---- vector code --------------------------------------------------------------------------------------------------
 */

static bool disassembly_has(const struct kiln_buffer *object, const char *word)
{
    char path[] = "/tmp/kiln-test-XXXXXX", command[256], line[512];
    int file = mkstemp(path);
    CHECK_GE(file, 0);
    FILE *stream = fdopen(file, "w");
    CHECK_EQ(fwrite(object->data, 1, object->size, stream), object->size);
    fclose(stream);
    snprintf(command, sizeof command, "llvm-objdump-19 -d %s", path);
    FILE *pipe = popen(command, "r");
    bool found = false;
    while (pipe && fgets(line, sizeof line, pipe)) found |= strstr(line, word) != NULL;
    if (pipe) pclose(pipe);
    remove(path);
    return found;
}

static void loops_become_vectors(void **state)
{
    (void)state;
    if (system("llvm-objdump-19 --version >/dev/null 2>&1") != 0) {
        print_message("llvm-objdump-19 is missing: the machine code was not looked at\n");
        CHECK_SKIP();
    }
    static const struct {
        enum kiln_op op;
        const char *word;
    } expected[] = {{KILN_OP_MULTIPLY, "vmulps"}, {KILN_OP_EXP, "vmulps"},       {KILN_OP_LOG, "vdivps"},
                    {KILN_OP_ERF, "vmulps"},      {KILN_OP_SIGMOID, "vdivps"},   {KILN_OP_TANH, "vdivps"},
                    {KILN_OP_SQRT, "vsqrtps"},    {KILN_OP_LOGADDEXP, "vdivps"}, {KILN_OP_MAXIMUM, "ymm"},
                    {KILN_OP_SIN, "vmulpd"},      {KILN_OP_TAN, "vdivpd"},       {KILN_OP_EXPM1, "vmulpd"},
                    {KILN_OP_LOG1P, "vdivpd"},    {KILN_OP_ARCTAN2, "vdivpd"},   {KILN_OP_ERFINV, "vsqrtpd"},
                    {KILN_OP_POWER, "vmulpd"},    {KILN_OP_REMAINDER, "vdivpd"}, {KILN_OP_FLOOR, "vroundps"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            struct one_op one;
            struct kiln_buffer text = {0}, object = {0};
            make_one_op(&one, expected[i].op, narrow ? KILN_FLOAT16 : KILN_FLOAT32, KILN_FLOAT32);
            CHECK_STATUS(kiln__group_print(&one.group, one.group.operand_count == 2 ? "cc" : "c", 0, &text, NULL),
                         KILN_OK);
            compile_text(&text, "x86-64-v3", 2, &object);
            CHECK_TRUE(disassembly_has(&object, expected[i].word) && disassembly_has(&object, "ymm"));
            kiln__buffer_clear(&object);
            compile_text(&text, "x86-64-v3", 0, &object);
            CHECK_FALSE(disassembly_has(&object, "ymm"));
            kiln__buffer_release(&object);
            kiln__buffer_release(&text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_dtype_and_layout), cmocka_unit_test(every_cast),
        cmocka_unit_test(every_dtype_streams),       cmocka_unit_test(every_sum),
        cmocka_unit_test(every_reduction),           cmocka_unit_test(loops_become_vectors),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
