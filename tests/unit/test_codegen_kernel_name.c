/*
 * test_codegen_kernel_name.c - what the entries of kernels are called: the operations, the result's dtype, and digits
 * that follow from the rest of the text alone.
 */
#include "codegen_support.h"

#include "base/digest.h"
#include "codegen/gpu/gpu_schedule.h"
#include "codegen/kernel_name.h"

/* The name behind "define void @" or "define ptx_kernel void @". */
static void take_name(const struct kiln_buffer *text, char name[KILN_KERNEL_NAME])
{
    const char *at = strstr((const char *)text->data, "\ndefine ");
    CHECK_NOT_NULL(at);
    at = strchr(at, '@') + 1;
    size_t size = strcspn(at, "(");
    CHECK_TRUE(size < KILN_KERNEL_NAME);
    CHECK_EQ(strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_"), size);
    memcpy(name, at, size), name[size] = 0;
}
#define take_name(...) CHECK_CALL(take_name, __VA_ARGS__)

static void remove_all(struct kiln_buffer *text, const char *name)
{
    char *data = (char *)text->data;
    for (char *at; (at = strstr(data, name));) memmove(at, at + strlen(name), strlen(at + strlen(name)) + 1);
    text->size = strlen(data);
}

/* The name is "kiln_", what is expected, "_" and the digits of the text without the name; `text` is emptied. */
static void expect_name(struct kiln_buffer *text, const char *expected)
{
    char name[KILN_KERNEL_NAME], start[KILN_KERNEL_NAME], digits[KILN_DIGEST_HEX];
    take_name(text, name);
    remove_all(text, name);
    struct kiln_digest digest = kiln__digest(text->data, text->size);
    kiln__digest_hex(&digest, digits);
    CHECK_TRUE(strlen(name) > 8);
    CHECK_MEM(name + strlen(name) - 8, digits, 8);
    snprintf(start, sizeof start, "%.*s", (int)strlen(name) - 9, name);
    CHECK_STR(start, expected);
    CHECK_EQ(name[strlen(start)], '_');
    kiln__buffer_release(text);
}
#define expect_name(...) CHECK_CALL(expect_name, __VA_ARGS__)

static struct kiln_buffer print(const struct kiln_group *group, const char *layouts, unsigned flags)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_OK(kiln__group_print(group, layouts, flags, &text, &err), &err);
    return text;
}
#define print(...) CHECK_CALL(print, __VA_ARGS__)

static struct kiln_buffer print_on_gpu(const struct kiln_group *group, const char *layouts,
                                       struct kiln_gpu_config config)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_OK(kiln__gpu_print(group, layouts, &config, &text, &err), &err);
    return text;
}
#define print_on_gpu(...) CHECK_CALL(print_on_gpu, __VA_ARGS__)

/* ---- chains ------------------------------------------------------------------------------------------------------ */

enum { LONGEST = 400 };

/* A chain over two operands: each operation reads the result before it. */
struct chain {
    struct kiln_group group;
    uint8_t operands[3];
    struct kiln_instr instrs[LONGEST];
    uint32_t output;
};

static void add(struct chain *chain, enum kiln_op op)
{
    uint32_t value = 1 + chain->group.instr_count;
    chain->instrs[chain->group.instr_count++] =
        (struct kiln_instr){.op = (uint16_t)op, .dtype = KILN_FLOAT32, .in = {value, 0, 0}};
    chain->output = value + 1;
}

static void make_chain(struct chain *chain, const enum kiln_op *ops, uint32_t count)
{
    memset(chain, 0, sizeof *chain);
    chain->group = (struct kiln_group){.operand_count = 2,
                                       .output_count = 1,
                                       .operand_dtypes = chain->operands,
                                       .instrs = chain->instrs,
                                       .outputs = &chain->output};
    memset(chain->operands, KILN_FLOAT32, sizeof chain->operands);
    for (uint32_t i = 0; i < count; i++) add(chain, ops[i]);
}

static void expect_chain(const enum kiln_op *ops, uint32_t count, const char *expected)
{
    struct chain chain;
    make_chain(&chain, ops, count);
    struct kiln_buffer text = print(&chain.group, "cc", 0);
    expect_name(&text, expected);
}
#define expect_chain(...) CHECK_CALL(expect_chain, __VA_ARGS__)

static void names_say_what_is_computed(void **state)
{
    (void)state;
    expect_chain((enum kiln_op[]){KILN_OP_MULTIPLY, KILN_OP_ADD}, 2, "kiln_mul_add_f32");
    expect_chain((enum kiln_op[]){KILN_OP_SUBTRACT, KILN_OP_DIVIDE, KILN_OP_NEGATIVE, KILN_OP_POWER}, 4,
                 "kiln_sub_div_neg_pow_f32");
    expect_chain((enum kiln_op[]){KILN_OP_SQUARE}, 1, "kiln_square_f32");
}

/* 40 characters of operations stay as they are; with one more they are shortened. */
static void long_chains_are_shortened(void **state)
{
    (void)state;
    enum kiln_op ops[LONGEST] = {KILN_OP_MULTIPLY, KILN_OP_ADD,  KILN_OP_EXP, KILN_OP_SIGMOID,
                                 KILN_OP_SQUARE,   KILN_OP_SQRT, KILN_OP_SIN, KILN_OP_DIVIDE};
    expect_chain(ops, 8, "kiln_mul_add_exp_sigmoid_square_sqrt_sin_div_f32");
    ops[7] = KILN_OP_RECIPROCAL;
    expect_chain(ops, 8, "kiln_mul_add_exp_sigmoid_3_more_reciprocal_f32");
    ops[7] = KILN_OP_DIVIDE, ops[6] = KILN_OP_TANH;
    expect_chain(ops, 8, "kiln_mul_add_exp_sigmoid_square_sqrt_tanh_div_f32");
    ops[6] = KILN_OP_SIGMOID;
    expect_chain(ops, 8, "kiln_mul_add_exp_sigmoid_square_2_more_div_f32");
    for (int i = 0; i < LONGEST; i++) ops[i] = i % 2 ? KILN_OP_MULTIPLY : KILN_OP_ADD;
    expect_chain(ops, 50, "kiln_add_mul_add_mul_add_mul_add_42_more_mul_f32");
    expect_chain(ops, LONGEST, "kiln_add_mul_add_mul_add_mul_add_392_more_mul_f32");
}

/* ---- what a name follows from ------------------------------------------------------------------------------------ */

static void expect_equal(struct kiln_buffer a, struct kiln_buffer b, bool equal)
{
    char one[KILN_KERNEL_NAME], other[KILN_KERNEL_NAME];
    take_name(&a, one);
    take_name(&b, other);
    CHECK_EQ(strcmp(one, other) == 0, equal);
    CHECK_EQ(strcmp((const char *)a.data, (const char *)b.data) == 0, equal);
    kiln__buffer_release(&a);
    kiln__buffer_release(&b);
}
#define expect_equal(...) CHECK_CALL(expect_equal, __VA_ARGS__)

static void equal_bodies_have_equal_names(void **state)
{
    (void)state;
    static const enum kiln_op ops[] = {KILN_OP_MULTIPLY, KILN_OP_ADD};
    struct chain a, b;
    make_chain(&a, ops, 2), make_chain(&b, ops, 2);
    expect_equal(print(&a.group, "cc", 0), print(&b.group, "cc", 0), true);
    expect_equal(print(&a.group, "cc", 0), print(&b.group, "cs", 0), false);
    expect_equal(print(&a.group, "cc", 0), print(&b.group, "cc", KILN_GROUP_STREAMING), false);
    const struct kiln_gpu_config packed = {.schedule = KILN_GPU_PACKED},
                                 wide = {.schedule = KILN_GPU_PACKED, .wide = true};
    expect_equal(print_on_gpu(&a.group, "cc", packed), print_on_gpu(&b.group, "cc", packed), true);
    expect_equal(print_on_gpu(&a.group, "cc", packed), print_on_gpu(&b.group, "cc", wide), false);
    expect_equal(print_on_gpu(&a.group, "cc", packed), print(&b.group, "cc", 0), false);
    b.instrs[1].in[1] = 1; /* the same operations of other values */
    expect_equal(print(&a.group, "cc", 0), print(&b.group, "cc", 0), false);
}

/* ---- every kind of kernel ---------------------------------------------------------------------------------------- */

static void expect_reduction(enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out, char layout,
                             const char *expected)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_OK(kiln__reduction_print(op, in, out, layout, &text, &err), &err);
    expect_name(&text, expected);
}
#define expect_reduction(...) CHECK_CALL(expect_reduction, __VA_ARGS__)

static void reductions_have_names(void **state)
{
    (void)state;
    expect_reduction(KILN_OP_SUM, KILN_BFLOAT16, KILN_BFLOAT16, 'c', "kiln_sum_bf16");
    expect_reduction(KILN_OP_SUM, KILN_BFLOAT16, KILN_FLOAT32, 'v', "kiln_sum_f32");
    expect_reduction(KILN_OP_MAX, KILN_INT8, KILN_INT8, 'r', "kiln_max_i8");
    expect_reduction(KILN_OP_ANY, KILN_INT8, KILN_BOOL, 'r', "kiln_any_b1");
}

static void what_moves_elements_has_a_name(void **state)
{
    (void)state;
    uint8_t operands[] = {KILN_UINT32, KILN_INT64};
    uint32_t output = 0;
    struct kiln_group group = {.operand_count = 2, .output_count = 1, .operand_dtypes = operands, .outputs = &output};
    struct kiln_buffer text =
        print_on_gpu(&group, "vi", (struct kiln_gpu_config){.schedule = KILN_GPU_INDEXED, .axes = 1});
    expect_name(&text, "kiln_gather_u32");
    struct one_op one;
    CHECK_TRUE(make_one_op(&one, KILN_OP_CAST, KILN_UINT16, KILN_UINT16));
    text = print(&one.group, "v", 0);
    expect_name(&text, "kiln_copy_u16");
    CHECK_TRUE(make_one_op(&one, KILN_OP_CAST, KILN_UINT16, KILN_FLOAT64));
    text = print(&one.group, "c", 0);
    expect_name(&text, "kiln_astype_f64");
}

/* Any operation, of any dtype: a name of its own, which is as long as names may be at most. */
static void every_operation_has_a_name(void **state)
{
    (void)state;
    struct one_op one;
    for (int op = 0; op < KILN_OP_COUNT; op++)
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            char name[KILN_KERNEL_NAME];
            if (!make_one_op(&one, op, dtype, dtype)) continue;
            struct kiln_buffer text = print(&one.group, &"ccc"[3 - one.group.operand_count], 0);
            take_name(&text, name);
            CHECK_CONTAINS(name, kiln__dtypes[one.instr.dtype].abbr);
            kiln__buffer_release(&text);
        }
}

/* ---- linking ----------------------------------------------------------------------------------------------------- */

static void the_object_has_the_name(void **state)
{
    (void)state;
    struct chain chain;
    char name[KILN_KERNEL_NAME];
    make_chain(&chain, (enum kiln_op[]){KILN_OP_MULTIPLY, KILN_OP_ADD}, 2);
    struct kiln_buffer text = print(&chain.group, "cc", 0);
    take_name(&text, name);
    kernel_entry entry = load_text(&text, "x86-64-v2");
    CHECK_STR((const char *)compiled_entry.data, name);
    float result[2], x[] = {2, 3}, y[] = {4, 5};
    const uint64_t args[] = {(uintptr_t)result, (uintptr_t)x, (uintptr_t)y};
    entry(args, (const int64_t[6]){0, 4, 0, 4, 0, 4}, 1, 2);
    CHECK_EQ(result[0], 4 * 2 + 2);
    CHECK_EQ(result[1], 5 * 3 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_is_computed),     cmocka_unit_test(long_chains_are_shortened),
        cmocka_unit_test(equal_bodies_have_equal_names),  cmocka_unit_test(reductions_have_names),
        cmocka_unit_test(what_moves_elements_has_a_name), cmocka_unit_test(every_operation_has_a_name),
        cmocka_unit_test(the_object_has_the_name),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
