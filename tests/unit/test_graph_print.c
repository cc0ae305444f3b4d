/*
 * test_graph_print.c - the text form: names by position, exact constants, shared values once, no recursion.
 */
#include "graph_support.h"

#include "graph/graph_print.h"

static void check_text(struct kiln_array *const *inputs, size_t input_count, struct kiln_array *const *outputs,
                       size_t output_count, const char *expected)
{
    struct kiln_buffer text = {0};
    CHECK_STATUS(kiln__graph_print(inputs, input_count, outputs, output_count, &text, NULL), KILN_OK);
    CHECK_STR((const char *)text.data, expected);
    kiln__buffer_release(&text);
}
#define check_text(...) CHECK_CALL(check_text, __VA_ARGS__)

static void test_expression(void **state)
{
    (void)state;
    float one = 1;
    struct kiln_array *a = shaped(KILN_FLOAT32, 2, 3, END), *b = shaped(KILN_INT32, 3, END), *scalar, *sum, *product,
                      *total;
    CHECK_STATUS(kiln__array_scalar(KILN_FLOAT32, &one, &scalar, NULL), KILN_OK);
    CHECK_STATUS(kiln__binary(KILN_OP_ADD, a, b, &sum, NULL), KILN_OK);
    CHECK_STATUS(kiln__binary(KILN_OP_MULTIPLY, sum, scalar, &product, NULL), KILN_OK);
    CHECK_STATUS(kiln__sum_axis(product, -1, false, &total, NULL), KILN_OK);
    struct kiln_array *inputs[] = {a, b, a}, *outputs[] = {total, sum, a};
    check_text(inputs, 3, outputs, 3,
               "a0: float32(2,3)\n"
               "a1: int32(3)\n"
               "v0: float32(3) = astype(a1) [10]\n"
               "v1: float32(2,3) = add(a0, v0)\n"
               "c0: float32() = 0x3f800000\n"
               "v2: float32(2,3) = multiply(v1, c0)\n"
               "v3: float32(2) = sum(v2) [1, 0]\n"
               "return v3, v1, a0\n");
    /* A lazy input is where the walk ends. */
    struct kiln_array *cut[] = {product};
    check_text(cut, 1, &total, 1, "a0: float32(2,3)\nv0: float32(2) = sum(a0) [1, 0]\nreturn v0\n");
    check_text(NULL, 0, &b, 1, "c0: int32(3)\nreturn c0\n");
    kiln__array_unref(a);
    kiln__array_unref(b);
    kiln__array_unref(scalar);
    kiln__array_unref(sum);
    kiln__array_unref(product);
    kiln__array_unref(total);
}

static void test_long_chain(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    struct kiln_array *array = shaped(KILN_FLOAT32, 4, END);
    for (int i = 0; i < COUNT; i++) {
        struct kiln_array *next;
        CHECK_STATUS(kiln__unary(KILN_OP_EXP, array, &next, NULL), KILN_OK);
        kiln__array_unref(array);
        array = next;
    }
    struct kiln_buffer text = {0};
    CHECK_STATUS(kiln__graph_print(NULL, 0, &array, 1, &text, NULL), KILN_OK);
    size_t lines = 0;
    for (size_t i = 0; i < text.size; i++) lines += text.data[i] == '\n';
    CHECK_EQ(lines, COUNT + 2);
    kiln__buffer_release(&text);
    kiln__array_unref(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expression), cmocka_unit_test(test_long_chain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
