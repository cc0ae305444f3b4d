/*
 * test_codegen_gpu_columns.c - reductions along an axis that is not packed, on GPUs, run by the emulator: bit for bit
 * what scalar C gives in the order of the contract. A launch makes one level, so long axes take two.
 */
#include <stdio.h>

#include "gpu_support.h"

#include "support/reduction.h"
#include "support/values.h"

static const enum kiln_op reduction_ops[REDUCTIONS] = {KILN_OP_SUM, KILN_OP_PROD, KILN_OP_MIN,
                                                       KILN_OP_MAX, KILN_OP_ALL,  KILN_OP_ANY};

static gpu_emulator_thread reduction_kernel(int which, uint8_t in, uint8_t out, struct kiln_gpu_config config)
{
    struct kiln_instr instr = {(uint16_t)reduction_ops[which], out, {0}};
    uint32_t output = 1;
    struct kiln_group group = {.operand_count = 1,
                               .instr_count = 1,
                               .output_count = 1,
                               .operand_dtypes = &in,
                               .instrs = &instr,
                               .outputs = &output};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    config.schedule = KILN_GPU_COLUMNS;
    CHECK_OK(kiln__gpu_print(&group, "c", &config, &text, &err), &err);
    return load_gpu_text(&text);
}

/* An array of [outer, n, columns] elements with a column more in memory. */
struct stack {
    char *data;
    int outer, n, columns;
    mlx_dtype dtype;
};

static struct stack make_stack(mlx_dtype dtype, int outer, int n, int columns)
{
    struct stack s = {NULL, outer, n, columns, dtype};
    s.data = calloc((size_t)(outer * n * (columns + 1) + 1), (size_t)facts[dtype].size);
    CHECK_NOT_NULL(s.data);
    return s;
}

static int64_t row_bytes(const struct stack *s)
{
    return (int64_t)(s->columns + 1) * facts[s->dtype].size;
}

static char *element(const struct stack *s, int outer, int i, int column)
{
    return s->data + (outer * s->n + i) * row_bytes(s) + (int64_t)column * facts[s->dtype].size;
}

/* One level of `in` to `out`, which has an element for each chunk. */
static void launch_level(gpu_emulator_thread kernel, const struct stack *in, struct stack *out, int axes)
{
    int blocks = (in->columns + KILN_GPU_COLUMNS_BLOCK - 1) / KILN_GPU_COLUMNS_BLOCK;
    uint64_t words[] = {(uint64_t)(uintptr_t)out->data,
                        (uint64_t)(uintptr_t)in->data,
                        (uint64_t)in->columns,
                        (uint64_t)in->n,
                        (uint64_t)out->n,
                        (uint64_t)row_bytes(in),
                        (uint64_t)row_bytes(out),
                        (uint64_t)blocks,
                        (uint64_t)in->outer,
                        (uint64_t)(row_bytes(out) * out->n),
                        (uint64_t)(row_bytes(in) * in->n)};
    CHECK_TRUE(axes == 1 || in->outer == 1);
    launch_gpu(kernel, (uint32_t)(blocks * out->n * in->outer), words);
}
#define launch_level(...) CHECK_CALL(launch_level, __VA_ARGS__)

static void expect_column(const struct stack *in, const struct stack *out, int which, int outer, int column)
{
    const struct reduction_rule *rule = &reduction_rules[which];
    mlx_dtype lane = reduction_lane(out->dtype);
    struct scalar *list = malloc(((size_t)in->n + 1) * sizeof *list);
    CHECK_NOT_NULL(list);
    for (int i = 0; i < in->n; i++) list[i] = scalar_cast(scalar_load(element(in, outer, i, column), in->dtype), lane);
    struct scalar want = scalar_cast(reduce_list(rule, list, in->n, lane), out->dtype);
    if (!same_scalar(scalar_load(element(out, outer, 0, column), out->dtype), want))
        CHECK_FAIL("%s of %d elements of %s: column %d of %d is wrong", rule->name, in->n, facts[in->dtype].name,
                   column, in->columns);
    free(list);
}

static void check_columns(int which, mlx_dtype dtype, int outer, int n, int columns, struct kiln_gpu_config config,
                          uint64_t *seed)
{
    mlx_dtype result = reduction_result(&reduction_rules[which], dtype);
    int chunks = n ? (n + REDUCTION_CHUNK - 1) / REDUCTION_CHUNK : 1;
    mlx_dtype total = chunks > 1 ? (mlx_dtype)kiln__reduction_total_dtype((enum kiln_dtype)result) : result;
    struct stack in = make_stack(dtype, outer, n, columns), middle = make_stack(total, outer, chunks, columns),
                 out = make_stack(result, outer, 1, columns);
    for (int o = 0; o < outer; o++)
        for (int i = 0; i < n; i++)
            for (int c = 0; c < columns; c++) scalar_store(element(&in, o, i, c), random_value(dtype, seed));
    launch_level(reduction_kernel(which, (uint8_t)dtype, (uint8_t)total, config), &in, chunks > 1 ? &middle : &out,
                 config.axes);
    if (chunks > 1)
        launch_level(reduction_kernel(which, (uint8_t)total, (uint8_t)result, config), &middle, &out, config.axes);
    for (int o = 0; o < outer; o++)
        for (int c = 0; c < columns; c++) expect_column(&in, &out, which, o, c);
    free(in.data), free(middle.data), free(out.data);
}
#define check_columns(...) CHECK_CALL(check_columns, __VA_ARGS__)

static void every_reduction_and_dtype(void **state)
{
    (void)state;
    static const int lengths[] = {1, 7, 9, 16, 17, 63, 64, 65, 130, 1000};
    uint64_t seed = 21;
    for (int which = 0; which < REDUCTIONS; which++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            if (reduction_rules[which].result == TRUTH && dtype == MLX_COMPLEX64) continue;
            int n = lengths[(which * DTYPE_COUNT + dtype) % 10];
            check_columns(which, (mlx_dtype)dtype, 1, n, 35, (struct kiln_gpu_config){0}, &seed);
        }
}

static void every_length(void **state)
{
    (void)state;
    static const int lengths[] = {0, 1, 8, 15, 16, 17, 33, 1023, 1024, 1025, 4096, 5000};
    uint64_t seed = 22;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        bool is_long = i % 2;
        check_columns(REDUCE_SUM, MLX_FLOAT32, is_long ? 2 : 1, lengths[i], is_long ? 1 : 33,
                      (struct kiln_gpu_config){.axes = is_long, .is_long = is_long}, &seed);
        check_columns(REDUCE_SUM, MLX_FLOAT16, 1, lengths[i], 5, (struct kiln_gpu_config){0}, &seed);
    }
}

static void other_groups_are_errors(void **state)
{
    (void)state;
    uint8_t operands[1] = {KILN_FLOAT32};
    struct kiln_instr instrs[2] = {{KILN_OP_SUM, KILN_FLOAT32, {0}}, {KILN_OP_EXP, KILN_FLOAT32, {1}}};
    uint32_t outputs[1] = {2};
    struct kiln_group group = {.operand_count = 1,
                               .instr_count = 2,
                               .output_count = 1,
                               .operand_dtypes = operands,
                               .instrs = instrs,
                               .outputs = outputs};
    struct kiln_gpu_config config = {.schedule = KILN_GPU_COLUMNS};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_STATUS(kiln__gpu_print(&group, "c", &config, &text, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "one instruction, a reduction");
    kiln__buffer_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reduction_and_dtype),
        cmocka_unit_test(every_length),
        cmocka_unit_test(other_groups_are_errors),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
