/*
 * test_graph_rules.c - dtype and shape of every operation, for every pair of dtypes, and every refusal.
 */
#include <stdio.h>

#include "graph_support.h"

static struct kiln_array *out;
static kiln_error err;

/* ---- element-wise: every operation, every pair of dtypes -------------------------------------------------------- */

static enum kiln_dtype expected_operand(enum kiln_op op, enum kiln_dtype promoted)
{
    uint8_t rule = kiln__ops[op].dtype_rule;
    if (rule == KILN_RULE_LOGIC) return KILN_BOOL;
    if (rule == KILN_RULE_SHIFT && promoted == KILN_BOOL) return KILN_UINT8;
    bool small = kiln__dtypes[promoted].kind < KILN_KIND_FLOAT;
    return rule == KILN_RULE_FLOATING && small ? KILN_FLOAT32 : promoted;
}

static void check_pair(enum kiln_op op, enum kiln_dtype a, enum kiln_dtype b)
{
    const struct kiln_op_info *info = &kiln__ops[op];
    struct kiln_array *left = shaped(a, 2, 1, END), *right = shaped(b, 3, END);
    struct kiln_array *inputs[2] = {left, right};
    enum kiln_dtype promoted = info->arity == 1 ? a : kiln__dtype_promote(a, b);
    enum kiln_dtype operand = expected_operand(op, promoted);
    out = NULL;
    kiln_status status = kiln__apply(op, inputs, (size_t)info->arity, NULL, 0, &out, &err);
    if (!info->lower[kiln__dtypes[operand].kind]) {
        char text[100];
        snprintf(text, sizeof text, "[%s] %s is not supported.", info->name, kiln__dtypes[operand].name);
        CHECK_EQ(status, KILN_INVALID);
        CHECK_STR(err.text, text);
        CHECK_NULL(out);
    } else {
        CHECK_EQ(status, KILN_OK);
        bool is_bool = info->dtype_rule == KILN_RULE_COMPARE || info->dtype_rule == KILN_RULE_LOGIC;
        bool is_real = info->dtype_rule == KILN_RULE_REAL && operand == KILN_COMPLEX64;
        CHECK_EQ(out->dtype, is_bool ? KILN_BOOL : is_real ? KILN_FLOAT32 : operand);
        CHECK_EQ(out->ndim, 2);
        CHECK_EQ(out->dims[0], 2);
        CHECK_EQ(out->dims[1], info->arity == 1 ? 1 : 3);
        for (int i = 0; i < info->arity; i++) {
            struct kiln_array *input = node_of(out)->inputs[i];
            CHECK_EQ(input->dtype, operand);
            if (inputs[i]->dtype == operand)
                CHECK_EQ(input, inputs[i]); /* no needless cast */
            else
                CHECK_EQ(node_of(input)->op, KILN_OP_CAST);
        }
        kiln__array_unref(out);
    }
    kiln__array_unref(left);
    kiln__array_unref(right);
}

static void test_elementwise(void **state)
{
    (void)state;
    for (int op = 0; op < KILN_OP_COUNT; op++) {
        if (kiln__ops[op].kind != KILN_OP_ELEMENTWISE || op == KILN_OP_CAST || op == KILN_OP_SELECT) continue;
        for (int a = 0; a < KILN_DTYPE_COUNT; a++)
            for (int b = 0; b < KILN_DTYPE_COUNT; b++)
                check_pair((enum kiln_op)op, (enum kiln_dtype)a, (enum kiln_dtype)b);
    }
}

static void test_known_dtypes(void **state)
{
    (void)state;
    struct kiln_array *ints = shaped(KILN_INT32, 4, END), *bf16 = shaped(KILN_BFLOAT16, 4, END);
    struct kiln_array *scalar = shaped(KILN_FLOAT32, END), *bools = shaped(KILN_BOOL, 4, END);
    check_made(kiln__binary(KILN_OP_DIVIDE, ints, ints, &out, &err), KILN_FLOAT32, 4, END);
    check_made(kiln__unary(KILN_OP_EXP, ints, &out, &err), KILN_FLOAT32, 4, END);
    check_made(kiln__binary(KILN_OP_MULTIPLY, bf16, scalar, &out, &err), KILN_FLOAT32, 4, END); /* no weak scalars */
    check_made(kiln__binary(KILN_OP_ADD, bools, bools, &out, &err), KILN_BOOL, 4, END);
    check_made(kiln__binary(KILN_OP_EQUAL, ints, bf16, &out, &err), KILN_BOOL, 4, END);
    check_refused(kiln__unary(KILN_OP_NEGATIVE, bools, &out, &err), "[negative] bool is not supported.");
    kiln__array_unref(ints);
    kiln__array_unref(bf16);
    kiln__array_unref(scalar);
    kiln__array_unref(bools);
}

static void test_select(void **state)
{
    (void)state;
    struct kiln_array *condition = shaped(KILN_INT32, 2, 1, END), *x = shaped(KILN_FLOAT16, 3, END),
                      *y = shaped(KILN_INT8, END);
    struct kiln_array *inputs[] = {condition, x, y};
    CHECK_OK(kiln__apply(KILN_OP_SELECT, inputs, 3, NULL, 0, &out, &err), &err);
    check_array(out, KILN_FLOAT16, 2, 3, END);
    CHECK_EQ(node_of(out)->inputs[0]->dtype, KILN_BOOL);
    CHECK_EQ(node_of(out)->inputs[1], x);
    CHECK_EQ(node_of(out)->inputs[2]->dtype, KILN_FLOAT16);
    kiln__array_unref(out);
    kiln__array_unref(condition);
    kiln__array_unref(x);
    kiln__array_unref(y);
}

static void test_broadcast_errors(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_FLOAT32, 2, 3, END), *b = shaped(KILN_FLOAT32, 4, END),
                      *none = shaped(KILN_FLOAT32, 0, 3, END);
    check_refused(kiln__binary(KILN_OP_ADD, a, b, &out, &err), "[add] Shapes (2,3) and (4) cannot be broadcast.");
    check_refused(kiln__binary(KILN_OP_ADD, a, none, &out, &err), "[add] Shapes (2,3) and (0,3) cannot be broadcast.");
    check_refused(kiln__binary(KILN_OP_ADD, a, NULL, &out, &err), "[add] input 1 is empty.");
    check_refused(kiln__apply(KILN_OP_ADD, &a, 1, NULL, 0, &out, &err), "[add] expected 2 inputs, got 1.");
    check_refused(kiln__apply(KILN_OP_EXP, &a, 1, (int64_t[]){1}, 1, &out, &err),
                  "[exp] expected 0 attributes, got 1.");
    char unknown[64];
    snprintf(unknown, sizeof unknown, "there is no operation with number %d", KILN_OP_COUNT);
    check_refused(kiln__apply((enum kiln_op)KILN_OP_COUNT, &a, 1, NULL, 0, &out, &err), unknown);
    check_refused(kiln__apply(KILN_OP_PLAN, &a, 1, NULL, 0, &out, &err),
                  "[compiled] This operation can't be applied like the others.");
    kiln__array_unref(a);
    kiln__array_unref(b);
    kiln__array_unref(none);
}

/* Two huge shapes whose broadcast can't be counted. */
static void test_huge_broadcast(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_BOOL, 2147483647, 1, 1, END),
                      *b = shaped(KILN_BOOL, 2147483647, 2147483647, END);
    out = NULL;
    CHECK_STATUS(kiln__binary(KILN_OP_ADD, a, b, &out, &err), KILN_NO_MEMORY, &err);
    CHECK_CONTAINS(err.text, "(2147483647,2147483647,2147483647)");
    CHECK_NULL(out);
    kiln__array_unref(a);
    kiln__array_unref(b);
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

static kiln_status apply(enum kiln_op op, struct kiln_array *a, size_t count, const int64_t *attrs)
{
    return kiln__apply(op, &a, 1, attrs, count, &out, &err);
}
#define ATTRS(...)                                                                                                     \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[])                                                    \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void test_cast(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_FLOAT32, 2, 3, END);
    check_made(apply(KILN_OP_CAST, a, ATTRS(KILN_INT8)), KILN_INT8, 2, 3, END);
    check_refused(apply(KILN_OP_CAST, a, ATTRS(14)), "[astype] expected one dtype between 0 and 13, got 14.");
    check_refused(apply(KILN_OP_CAST, a, 0, NULL), "[astype] expected one dtype between 0 and 13, got -1.");
    kiln__array_unref(a);
}

static void test_views(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_INT16, 2, 3, 1, END);
    check_made(apply(KILN_OP_RESHAPE, a, ATTRS(6)), KILN_INT16, 6, END);
    check_refused(apply(KILN_OP_RESHAPE, a, ATTRS(4)), "[reshape] Cannot reshape array of size 6 into shape (4).");
    check_refused(apply(KILN_OP_RESHAPE, a, ATTRS(-1)), "[reshape] Dimension 0 can't be -1.");
    check_made(apply(KILN_OP_BROADCAST, a, ATTRS(5, 2, 3, 4)), KILN_INT16, 5, 2, 3, 4, END);
    check_refused(apply(KILN_OP_BROADCAST, a, ATTRS(3, 1)),
                  "[broadcast_to] Cannot broadcast array of shape (2,3,1) into shape (3,1).");
    check_made(apply(KILN_OP_EXPAND_DIMS, a, ATTRS(3)), KILN_INT16, 2, 3, 1, 1, END);
    check_refused(apply(KILN_OP_EXPAND_DIMS, a, ATTRS(4)),
                  "[expand_dims] Axis 4 is out of range for an array of 4 dimensions.");
    check_made(apply(KILN_OP_SQUEEZE, a, ATTRS(2)), KILN_INT16, 2, 3, END);
    check_refused(apply(KILN_OP_SQUEEZE, a, ATTRS(1)),
                  "[squeeze] Cannot squeeze axis 1 with size 3: it must have size 1.");
    check_made(apply(KILN_OP_TRANSPOSE, a, ATTRS(1, 2, 0)), KILN_INT16, 3, 1, 2, END);
    check_refused(apply(KILN_OP_TRANSPOSE, a, ATTRS(1, 1, 0)), "[transpose] Axis 1 appears twice.");
    check_refused(apply(KILN_OP_TRANSPOSE, a, ATTRS(1, 0)), "[transpose] expected 3 attributes, got 2.");
    check_refused(apply(KILN_OP_TRANSPOSE, a, ATTRS(1, 0, 3)),
                  "[transpose] Axis 3 is out of range for an array of 3 dimensions.");
    check_made(apply(KILN_OP_CONTIGUOUS, a, 0, NULL), KILN_INT16, 2, 3, 1, END);
    kiln__array_unref(a);
}

/* Starts of three axes; then dims, axes and steps. */
static void test_rearrange(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_INT16, 2, 3, 4, END);
    check_made(apply(KILN_OP_REARRANGE, a, ATTRS(1, 0, 3, /**/ 2, 5, /**/ 2, -1, /**/ -3, 0)), KILN_INT16, 2, 5, END);
    check_made(apply(KILN_OP_REARRANGE, a, ATTRS(1, 2, 3)), KILN_INT16, END);
    check_made(apply(KILN_OP_REARRANGE, a, ATTRS(9, 9, 9, /**/ 0, 3, /**/ 7, 7, /**/ 7, 7)), KILN_INT16, 0, 3, END);
    check_refused(apply(KILN_OP_REARRANGE, a, ATTRS(0, 0, 0, 1)),
                  "[rearrange] expected a start for each of 3 axes, then dims, axes and steps; got 4 attributes.");
    check_refused(apply(KILN_OP_REARRANGE, a, ATTRS(0, 3, 0)), "[rearrange] Axis 1 of size 3 has no element 3.");
    check_refused(apply(KILN_OP_REARRANGE, a, ATTRS(0, 1, 0, /**/ 3, /**/ 1, /**/ 1)),
                  "[rearrange] 3 elements from 1 in steps of 1 are not inside axis 1 of size 3.");
    check_refused(apply(KILN_OP_REARRANGE, a, ATTRS(0, 0, 0, /**/ 2, 2, /**/ 1, 1, /**/ 1, 1)),
                  "[rearrange] Axis 1 can't be taken: there are 3, each once, or -1 to repeat.");
    check_refused(apply(KILN_OP_REARRANGE, a, ATTRS(0, 0, 0, /**/ -1, /**/ 0, /**/ 1)),
                  "[rearrange] A dimension can't be -1.");
    kiln__array_unref(a);
}

/* Every start, stop and stride of a short axis: what passes stays inside, and has as many elements as a loop counts. */
static void test_slice(void **state)
{
    (void)state;
    enum { N = 4 };
    struct kiln_array *a = shaped(KILN_FLOAT32, N, END);
    for (int start = -2; start <= N + 1; start++) {
        for (int stop = -2; stop <= N + 1; stop++) {
            for (int stride = -3; stride <= 3; stride++) {
                out = NULL;
                if (apply(KILN_OP_SLICE, a, ATTRS(start, stop, stride))) {
                    CHECK_NULL(out);
                    continue;
                }
                int count = 0;
                for (int i = start; stride > 0 ? i < stop : i > stop; i += stride, count++) CHECK_BETWEEN(i, 0, N - 1);
                CHECK_EQ(out->dims[0], count);
                kiln__array_unref(out);
            }
        }
    }
    check_made(apply(KILN_OP_SLICE, a, ATTRS(3, -1, -2)), KILN_FLOAT32, 2, END);
    check_refused(apply(KILN_OP_SLICE, a, ATTRS(0, 5, 1)),
                  "[slice] Axis 0 of size 4 can't be cut from 0 to 5 in steps of 1.");
    check_refused(apply(KILN_OP_SLICE, a, ATTRS(0, 4, 0)),
                  "[slice] Axis 0 of size 4 can't be cut from 0 to 4 in steps of 0.");
    kiln__array_unref(a);
}

static void test_concatenate(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_INT8, 2, 3, END), *b = shaped(KILN_UINT8, 4, 3, END),
                      *c = shaped(KILN_INT8, 4, 2, END);
    struct kiln_array *ab[] = {a, b}, *ac[] = {a, c};
    CHECK_OK(kiln__apply(KILN_OP_CONCATENATE, ab, 2, (int64_t[]){0}, 1, &out, &err), &err);
    check_array(out, KILN_INT16, 6, 3, END);
    CHECK_EQ(node_of(out)->inputs[0]->dtype, KILN_INT16);
    kiln__array_unref(out);
    check_refused(kiln__apply(KILN_OP_CONCATENATE, ac, 2, (int64_t[]){0}, 1, &out, &err),
                  "[concatenate] Shapes (2,3) and (4,2) differ outside of axis 0.");
    check_refused(kiln__apply(KILN_OP_CONCATENATE, ab, 2, (int64_t[]){2}, 1, &out, &err),
                  "[concatenate] Axis 2 is out of range for an array of 2 dimensions.");
    check_refused(kiln__apply(KILN_OP_CONCATENATE, NULL, 0, (int64_t[]){0}, 1, &out, &err),
                  "[concatenate] No arrays provided.");
    kiln__array_unref(a);
    kiln__array_unref(b);
    kiln__array_unref(c);
}

static void test_sum(void **state)
{
    (void)state;
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        enum kiln_dtype dtype = (enum kiln_dtype)i, expected = dtype;
        if (dtype == KILN_BOOL || dtype == KILN_INT8 || dtype == KILN_INT16) expected = KILN_INT32;
        if (dtype == KILN_UINT8 || dtype == KILN_UINT16) expected = KILN_UINT32;
        struct kiln_array *a = shaped(dtype, 2, 3, END);
        check_made(apply(KILN_OP_SUM, a, ATTRS(0, 0)), expected, 3, END);
        check_made(apply(KILN_OP_SUM, a, ATTRS(1, 1)), expected, 2, 1, END);
        CHECK_STATUS(apply(KILN_OP_SUM, a, ATTRS(1, 1)), KILN_OK);
        CHECK_EQ(node_of(out)->inputs[0], a); /* the kernel converts */
        kiln__array_unref(out);
        check_refused(apply(KILN_OP_SUM, a, ATTRS(2, 0)), "[sum] Axis 2 is out of range for an array of 2 dimensions.");
        kiln__array_unref(a);
    }
}

static void test_matmul(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_FLOAT32, 5, 2, 3, END), *b = shaped(KILN_FLOAT16, 5, 3, 4, END);
    struct kiln_array *c = shaped(KILN_FLOAT32, 3, 4, END), *ints = shaped(KILN_INT32, 3, 3, END),
                      *bad = shaped(KILN_FLOAT32, 5, 2, 3, END);
    check_made(kiln__binary(KILN_OP_MATMUL, a, b, &out, &err), KILN_FLOAT32, 5, 2, 4, END);
    check_refused(kiln__binary(KILN_OP_MATMUL, a, c, &out, &err),
                  "[matmul] Shapes (5,2,3) and (3,4) must have equal ranks of at least 2 and equal batch dimensions.");
    check_refused(kiln__binary(KILN_OP_MATMUL, a, bad, &out, &err),
                  "[matmul] The last dimension of the first input with shape (5,2,3) must match the second to last "
                  "dimension of the second input with shape (5,2,3).");
    struct kiln_array *complex = shaped(KILN_COMPLEX64, 3, 3, END);
    check_made(kiln__binary(KILN_OP_MATMUL, complex, ints, &out, &err), KILN_COMPLEX64, 3, 3, END);
    kiln__array_unref(complex);
    check_refused(kiln__binary(KILN_OP_MATMUL, ints, ints, &out, &err),
                  "[matmul] Only floating point and complex types are supported, but int32 and int32 give int32.");
    kiln__array_unref(a);
    kiln__array_unref(b);
    kiln__array_unref(c);
    kiln__array_unref(ints);
    kiln__array_unref(bad);
}

static void test_random_bits(void **state)
{
    (void)state;
    struct kiln_array *key = shaped(KILN_UINT32, 2, END), *long_key = shaped(KILN_UINT32, 3, END),
                      *ints = shaped(KILN_INT32, 2, END);
    check_made(apply(KILN_OP_RANDOM_BITS, key, ATTRS(3, 4)), KILN_UINT32, 3, 4, END);
    check_made(apply(KILN_OP_RANDOM_BITS, key, 0, NULL), KILN_UINT32, END);
    check_refused(apply(KILN_OP_RANDOM_BITS, long_key, ATTRS(3)),
                  "[random_bits] Expected a key of shape (2), got (3).");
    check_refused(apply(KILN_OP_RANDOM_BITS, ints, ATTRS(3)),
                  "[random_bits] Expected a key of type uint32, got int32.");
    check_refused(apply(KILN_OP_RANDOM_BITS, key, ATTRS(-3)), "[random_bits] Dimension 0 can't be -3.");
    kiln__array_unref(key);
    kiln__array_unref(long_key);
    kiln__array_unref(ints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_known_dtypes),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_broadcast_errors),
        cmocka_unit_test(test_huge_broadcast),
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_rearrange),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_concatenate),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_random_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
