/*
 * test_codegen_gpu_text.c - the printed text of kernels for GPUs and the PTX it becomes; every operation, dtype and
 * schedule gives PTX; and what the PTX of fast kernels must look like.
 */
#include "golden_support.h"

#include "codegen_support.h"

#define TARGET "sm_90"

static void print(const struct description *d, struct kiln_buffer *text)
{
    kiln_error err = {0};
    CHECK_OK(kiln__gpu_print(&d->group, d->layouts, &d->config, text, &err), &err);
}
#define print(...) CHECK_CALL(print, __VA_ARGS__)

static void check_golden(const char *name)
{
    char file[64];
    struct kiln_buffer text = {0}, ptx = {0};
    struct description d;
    snprintf(file, sizeof file, "%s.ll", name);
    describe_golden(&d, file);
    print(&d, &text);
    expect_golden(file, &text);
    compile_text(&text, TARGET, 2, &ptx);
    snprintf(file, sizeof file, "%s.ptx", name);
    expect_golden(file, &ptx);
    kiln__buffer_release(&text);
    kiln__buffer_release(&ptx);
}

static void texts_are_as_in_golden(void **state)
{
    (void)state;
    static const char *const names[] = {
        "gpu_packed_f32", "gpu_packed_bf16",       "gpu_packed_mixed", "gpu_packed_long",   "gpu_strided_wide",
        "gpu_strided",    "gpu_tiled_f32",         "gpu_rows_softmax", "gpu_rows_norm_f32", "gpu_rows_norm_f16",
        "gpu_rows_any",   "gpu_columns_bf16",      "gpu_indexed",      "gpu_indexed_wide",  "gpu_random",
        "gpu_argreduce",  "gpu_argreduce_through", "gpu_placed"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_golden(names[i]);
}

/* ---- every operation ------------------------------------------------------------------------------------------- */

/* A load or store that does not say which memory it means: LLVM has not found it. */
static bool has_generic_access(const char *ptx)
{
    static const char *const places[] = {"global", "param", "shared", "const"};
    for (const char *at = ptx; (at = strstr(at, "\t")); at++) {
        bool known = strncmp(at, "\tld.", 4) != 0 && strncmp(at, "\tst.", 4) != 0;
        for (int i = 0; i < 4; i++) known |= strncmp(at + 4, places[i], strlen(places[i])) == 0;
        if (!known) return true;
    }
    return false;
}

static void compile_form(const struct one_op *one, char layout, struct kiln_gpu_config config)
{
    struct description d = {.group = one->group, .config = config};
    struct kiln_buffer text = {0}, ptx = {0};
    memset(d.layouts, layout, one->group.operand_count);
    print(&d, &text);
    compile_text(&text, TARGET, 2, &ptx);
    if (has_generic_access((const char *)ptx.data)) CHECK_FAIL("%s", (const char *)ptx.data);
    kiln__buffer_release(&text);
    kiln__buffer_release(&ptx);
}
#define compile_form(...) CHECK_CALL(compile_form, __VA_ARGS__)

/* Wide ones for all; the others, which differ in where they find their elements, by turns. */
static void every_operation_gives_ptx(void **state)
{
    (void)state;
    static const struct kiln_gpu_config configs[] = {
        {KILN_GPU_PACKED, 0, false, false}, {KILN_GPU_STRIDED, 2, true, false}, {KILN_GPU_TILED, 3, false, false}};
    struct one_op one;
    for (int op = 0; op < KILN_OP_COUNT; op++)
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            if (!make_one_op(&one, op, dtype, dtype)) continue;
            compile_form(&one, 'c', (struct kiln_gpu_config){KILN_GPU_PACKED, 0, true, false});
            int turn = (op + dtype) % 3;
            compile_form(&one, turn == 2 ? 't' : 'c', configs[turn]);
        }
}

static void compile_reduction(int op, int dtype, struct kiln_gpu_config config)
{
    uint8_t operand = (uint8_t)dtype;
    uint32_t output = 1;
    struct kiln_instr instr = {(uint16_t)op, (uint8_t)dtype, {0}};
    if (op == KILN_OP_ALL || op == KILN_OP_ANY) instr.dtype = KILN_BOOL;
    struct one_op one = {.group = {.operand_count = 1,
                                   .instr_count = 1,
                                   .output_count = 1,
                                   .operand_dtypes = &operand,
                                   .instrs = &instr,
                                   .outputs = &output}};
    compile_form(&one, config.schedule == KILN_GPU_ROWS && dtype % 2 ? 'v' : 'c', config);
}
#define compile_reduction(...) CHECK_CALL(compile_reduction, __VA_ARGS__)

static void every_reduction_gives_ptx(void **state)
{
    (void)state;
    for (int op = KILN_OP_SUM; op <= KILN_OP_ANY; op++)
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            bool is_logic = op == KILN_OP_ALL || op == KILN_OP_ANY, is_sum = op == KILN_OP_SUM || op == KILN_OP_PROD;
            if ((is_logic && dtype == KILN_COMPLEX64) || (is_sum && dtype == KILN_BOOL)) continue;
            compile_reduction(op, dtype, (struct kiln_gpu_config){KILN_GPU_ROWS, 1, false, dtype % 3 == 0});
            compile_reduction(op, dtype, (struct kiln_gpu_config){KILN_GPU_COLUMNS, dtype % 3, false, false});
        }
}

/* Elements of each size, through indices of each dtype; as many indices as an array has axes. */
static void every_index_gives_ptx(void **state)
{
    (void)state;
    static const uint8_t sizes[] = {KILN_UINT8, KILN_UINT16, KILN_UINT32, KILN_UINT64, KILN_UINT64};
    for (uint32_t count = 0; count <= 32; count += count < 2 ? 1 : 15) {
        for (int dtype = KILN_UINT8; dtype <= KILN_INT64; dtype++) {
            uint8_t operands[33];
            uint32_t output = 0, turn = (uint32_t)dtype % 5;
            memset(operands, dtype, sizeof operands);
            operands[0] = sizes[turn];
            struct description d = {
                .group = {.operand_count = 1 + count,
                          .output_count = 1,
                          .operand_dtypes = operands,
                          .outputs = &output},
                .config = {turn % 2 ? KILN_GPU_PLACED : KILN_GPU_INDEXED, 1 + turn, turn == 4, dtype % 2}};
            char layouts[34] = "v";
            struct kiln_buffer text = {0}, ptx = {0};
            kiln_error err = {0};
            memset(layouts + 1, 'i', count);
            CHECK_OK(kiln__gpu_print(&d.group, layouts, &d.config, &text, &err), &err);
            compile_text(&text, TARGET, 2, &ptx);
            if (has_generic_access((const char *)ptx.data)) CHECK_FAIL("%s", (const char *)ptx.data);
            kiln__buffer_release(&text);
            kiln__buffer_release(&ptx);
        }
    }
}

/* Places of elements of each dtype, of whole rows and through places. */
static void every_place_gives_ptx(void **state)
{
    (void)state;
    for (int op = KILN_OP_ARGMIN; op <= KILN_OP_ARGMAX; op++)
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            uint8_t operands[] = {(uint8_t)dtype, KILN_UINT32};
            uint32_t output = 2;
            struct kiln_instr instr = {(uint16_t)op, KILN_UINT32, {0}};
            struct description d = {.group = {.operand_count = 2,
                                              .instr_count = 1,
                                              .output_count = 1,
                                              .operand_dtypes = operands,
                                              .instrs = &instr,
                                              .outputs = &output},
                                    .layouts = "vs",
                                    .config = {KILN_GPU_ARGREDUCE, 1 + dtype % 3, false, dtype % 2}};
            struct kiln_buffer text = {0}, ptx = {0};
            if (dtype % 4 < 2) d.layouts[1] = 'i';
            print(&d, &text);
            compile_text(&text, TARGET, 2, &ptx);
            if (has_generic_access((const char *)ptx.data)) CHECK_FAIL("%s", (const char *)ptx.data);
            kiln__buffer_release(&text);
            kiln__buffer_release(&ptx);
        }
}

/* From the first `access` on `count` of them stand in neighbouring lines, each `distance` bytes further on. */
static void expect_accesses(const char *ptx, const char *access, int count, int distance)
{
    const char *line = strstr(ptx, access);
    CHECK_NOT_NULL(line);
    for (int i = 1; i < count; i++) {
        char offset[16];
        snprintf(offset, sizeof offset, "+%d]", distance * i);
        line = strchr(line, '\n') + 1;
        CHECK_MEM(line, access, strlen(access));
        CHECK_EQ(strstr(line, offset), strchr(line, '+'));
    }
}
#define expect_accesses(...) CHECK_CALL(expect_accesses, __VA_ARGS__)

/* Loads of several elements before the first is used; four slots side by side, which ptxas moves by one instruction. */
static void rows_are_read_well(void **state)
{
    (void)state;
    struct description d;
    struct kiln_buffer text = {0}, ptx = {0};
    describe_golden(&d, "gpu_rows_softmax.ll");
    print(&d, &text);
    compile_text(&text, TARGET, 2, &ptx);
    expect_accesses((const char *)ptx.data, "\tld.global.f32", 16, 64);
    expect_accesses((const char *)ptx.data, "\tst.shared.f32", 4, 4);
    CHECK_NULL(strstr((const char *)ptx.data, ".local"));
    kiln__buffer_release(&text);
    kiln__buffer_release(&ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_in_golden),    cmocka_unit_test(every_operation_gives_ptx),
        cmocka_unit_test(every_reduction_gives_ptx), cmocka_unit_test(every_index_gives_ptx),
        cmocka_unit_test(every_place_gives_ptx),     cmocka_unit_test(rows_are_read_well),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
