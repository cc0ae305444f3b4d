/*
 * test_ops_compose.c - shapes, dtypes and refusals of compositions, and the graphs that they make.
 */
#include <limits.h>

#include "graph_support.h"

#include "array/rng_state.h"
#include "array/threefry.h"
#include "graph/graph_print.h"
#include "ops/layers.h"

static struct kiln_array *out;
static kiln_error err;

static void check_graph(struct kiln_array *const *inputs, size_t count, struct kiln_array *result, const char *expected)
{
    struct kiln_buffer text = {0};
    CHECK_STATUS(kiln__graph_print(inputs, count, &result, 1, &text, NULL), KILN_OK);
    CHECK_STR((const char *)text.data, expected);
    kiln__buffer_release(&text);
}
#define check_graph(...) CHECK_CALL(check_graph, __VA_ARGS__)

#define DIMS(...) (const int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int)

static void test_astype(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_INT32, 2, END);
    CHECK_OK(kiln__astype(a, KILN_INT32, &out, &err), &err);
    CHECK_EQ(out, a);
    kiln__array_unref(out);
    check_made(kiln__astype(a, KILN_FLOAT16, &out, &err), KILN_FLOAT16, 2, END);
    check_refused(kiln__astype(a, (enum kiln_dtype)77, &out, &err),
                  "[astype] expected one dtype between 0 and 13, got 77.");
    check_refused(kiln__astype(NULL, KILN_INT32, &out, &err), "[astype] input 0 is empty.");
    kiln__array_unref(a);
}

static void test_reshape(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_FLOAT32, 2, 6, END), *none = shaped(KILN_FLOAT32, 0, 3, END);
    check_made(kiln__reshape(a, DIMS(3, -1), &out, &err), KILN_FLOAT32, 3, 4, END);
    check_made(kiln__reshape(a, DIMS(-1), &out, &err), KILN_FLOAT32, 12, END);
    CHECK_OK(kiln__reshape(a, DIMS(2, -1), &out, &err), &err);
    CHECK_EQ(out, a); /* the same shape: the same array */
    kiln__array_unref(out);
    check_made(kiln__reshape(none, DIMS(3, -1), &out, &err), KILN_FLOAT32, 3, 0, END);
    check_refused(kiln__reshape(none, DIMS(0, -1), &out, &err),
                  "[reshape] Cannot reshape array of size 0 into shape (0,-1).");
    check_refused(kiln__reshape(a, DIMS(-1, -1), &out, &err), "[reshape] Shape (-1,-1) has more than one -1.");
    check_refused(kiln__reshape(a, DIMS(5, -1), &out, &err),
                  "[reshape] Cannot reshape array of size 12 into shape (5,-1).");
    check_refused(kiln__reshape(a, DIMS(5), &out, &err), "[reshape] Cannot reshape array of size 12 into shape (5).");
    check_refused(kiln__reshape(a, DIMS(-2, -6), &out, &err),
                  "[reshape] Cannot reshape array of size 12 into shape (-2,-6).");
    check_refused(kiln__reshape(NULL, DIMS(5), &out, &err), "[reshape] input is empty.");
    kiln__array_unref(a);
    kiln__array_unref(none);
}

static void test_axes(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_FLOAT32, 2, 1, END);
    check_made(kiln__expand_dims(a, -1, &out, &err), KILN_FLOAT32, 2, 1, 1, END);
    check_made(kiln__expand_dims(a, 0, &out, &err), KILN_FLOAT32, 1, 2, 1, END);
    check_refused(kiln__expand_dims(a, 3, &out, &err),
                  "[expand_dims] Axis 3 is out of range for an array of 3 dimensions.");
    check_made(kiln__squeeze_axis(a, -1, &out, &err), KILN_FLOAT32, 2, END);
    check_refused(kiln__squeeze_axis(a, -3, &out, &err),
                  "[squeeze] Axis -3 is out of range for an array of 2 dimensions.");
    check_refused(kiln__squeeze_axis(a, 0, &out, &err),
                  "[squeeze] Cannot squeeze axis 0 with size 2: it must have size 1.");
    check_made(kiln__sum_axis(a, -2, false, &out, &err), KILN_FLOAT32, 1, END);
    check_refused(kiln__sum_axis(a, 2, false, &out, &err),
                  "[sum] Axis 2 is out of range for an array of 2 dimensions.");
    check_refused(kiln__sum_axis(a, INT_MIN, false, &out, &err),
                  "[sum] Axis -2147483648 is out of range for an array of 2 dimensions.");
    kiln__array_unref(a);
}

/* What Python gives for list(range(n))[start:stop:stride]: how many, and the first. */
static void python_slice(int n, int start, int stop, int stride, int *count, int *first)
{
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? n : n - 1;
    int64_t from = start < 0 ? (int64_t)start + n : start, to = stop < 0 ? (int64_t)stop + n : stop;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    *count = 0;
    *first = (int)from;
    for (int64_t i = from; stride > 0 ? i < to : i > to; i += stride) (*count)++;
}

static void test_slice(void **state)
{
    (void)state;
    static const int positions[] = {INT_MIN, -7, -6, -5, -4, -1, 0, 1, 3, 4, 5, 6, INT_MAX};
    static const int strides[] = {INT_MIN, -3, -1, 1, 2, INT_MAX};
    enum { P = sizeof positions / sizeof *positions };
    for (int n = 0; n <= 5; n += 5) {
        struct kiln_array *a = shaped(KILN_FLOAT32, n, END);
        for (int i = 0; i < P * P * 6; i++) {
            int start = positions[i % P], stop = positions[i / P % P], stride = strides[i / P / P], count, first;
            python_slice(n, start, stop, stride, &count, &first);
            CHECK_OK(kiln__slice(a, &start, &stop, &stride, 1, &out, &err), &err);
            CHECK_EQ(out->dims[0], count);
            if (count) CHECK_EQ(node_of(out)->attrs[0], first);
            kiln__array_unref(out);
        }
        kiln__array_unref(a);
    }
    struct kiln_array *b = shaped(KILN_FLOAT32, 2, 3, END);
    check_made(kiln__slice(b, (int[]){0, 1}, (int[]){2, 3}, (int[]){1, 1}, 2, &out, &err), KILN_FLOAT32, 2, 2, END);
    check_refused(kiln__slice(b, (int[]){0}, (int[]){2}, (int[]){1}, 1, &out, &err),
                  "[slice] Expected 2 starts, stops and strides, one per dimension, got 1.");
    check_refused(kiln__slice(b, (int[]){0, 0}, (int[]){2, 2}, (int[]){1, 0}, 2, &out, &err),
                  "[slice] The stride of axis 1 can't be 0.");
    kiln__array_unref(b);
}

static void test_several(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_FLOAT32, 2, 3, END), *b = shaped(KILN_FLOAT32, 2, 1, END), *empty = NULL;
    struct kiln_array *ab[] = {a, b}, *aa[] = {a, a};
    check_made(kiln__concatenate(ab, 2, -1, &out, &err), KILN_FLOAT32, 2, 4, END);
    check_refused(kiln__concatenate(ab, 2, 0, &out, &err),
                  "[concatenate] Shapes (2,3) and (2,1) differ outside of axis 0.");
    check_refused(kiln__concatenate(ab, 0, 0, &out, &err), "[concatenate] No arrays provided.");
    check_refused(kiln__concatenate(&empty, 1, 0, &out, &err), "[concatenate] input is empty.");
    check_refused(kiln__concatenate(ab, 2, 2, &out, &err),
                  "[concatenate] Axis 2 is out of range for an array of 2 dimensions.");
    check_made(kiln__stack(aa, 2, 0, &out, &err), KILN_FLOAT32, 2, 2, 3, END);
    check_made(kiln__stack(aa, 2, -1, &out, &err), KILN_FLOAT32, 2, 3, 2, END);
    check_refused(kiln__stack(ab, 2, 0, &out, &err),
                  "[stack] All arrays must have the same shape, got (2,3) and (2,1).");
    check_refused(kiln__stack(ab, 0, 0, &out, &err), "[stack] No arrays provided.");
    check_refused(kiln__stack(aa, 2, 3, &out, &err), "[stack] Axis 3 is out of range for an array of 3 dimensions.");
    CHECK_EQ(atomic_load(&a->refs), 1);
    kiln__array_unref(a);
    kiln__array_unref(b);
}

static void test_tile(void **state)
{
    (void)state;
    struct kiln_array *a = shaped(KILN_INT8, 2, 3, END);
    CHECK_OK(kiln__tile(a, (int[]){4, 1}, 2, &out, &err), &err);
    check_graph(&a, 1, out,
                "a0: int8(2,3)\n"
                "v0: int8(1,2,3) = reshape(a0) [1, 2, 3]\n"
                "v1: int8(4,2,3) = broadcast_to(v0) [4, 2, 3]\n"
                "v2: int8(8,3) = reshape(v1) [8, 3]\n"
                "return v2\n");
    kiln__array_unref(out);
    check_made(kiln__tile(a, (int[]){5}, 1, &out, &err), KILN_INT8, 2, 15, END);
    check_made(kiln__tile(a, (int[]){2, 1, 2}, 3, &out, &err), KILN_INT8, 2, 2, 6, END);
    check_made(kiln__tile(a, (int[]){0}, 1, &out, &err), KILN_INT8, 2, 0, END);
    CHECK_OK(kiln__tile(a, (int[]){1, 1}, 2, &out, &err), &err);
    CHECK_EQ(out, a);
    kiln__array_unref(out);
    check_refused(kiln__tile(a, (int[]){-1}, 1, &out, &err), "[tile] Cannot repeat axis 1 of size 3 -1 times.");
    check_refused(kiln__tile(a, (int[]){INT_MAX}, 1, &out, &err),
                  "[tile] Cannot repeat axis 1 of size 3 2147483647 times.");
    kiln__array_unref(a);
}

static void test_full(void **state)
{
    (void)state;
    struct kiln_array *row = shaped(KILN_INT32, 3, END);
    check_made(kiln__full(DIMS(2, 3), KILN_FLOAT32, row, &out, &err), KILN_FLOAT32, 2, 3, END);
    check_refused(kiln__full(DIMS(2, 4), KILN_FLOAT32, row, &out, &err),
                  "[broadcast_to] Cannot broadcast array of shape (3) into shape (2,4).");
    check_made(kiln__zeros(NULL, 0, KILN_COMPLEX64, &out, &err), KILN_COMPLEX64, END);
    check_made(kiln__zeros(DIMS(2, 0), KILN_BOOL, &out, &err), KILN_BOOL, 2, 0, END);
    check_refused(kiln__zeros(DIMS(-2), KILN_BOOL, &out, &err), "[full] shape (-2) has a negative size");
    check_refused(kiln__zeros(DIMS(2), (enum kiln_dtype) - 1, &out, &err), "there is no dtype -1");
    CHECK_STATUS(kiln__zeros(DIMS(INT_MAX, INT_MAX, 9), KILN_BOOL, &out, &err), KILN_NO_MEMORY, &err);
    CHECK_OK(kiln__zeros(DIMS(2), KILN_FLOAT32, &out, &err), &err);
    check_graph(NULL, 0, out,
                "c0: float32() = 0x00000000\n"
                "v0: float32(2) = broadcast_to(c0) [2]\n"
                "v1: float32(2) = contiguous(v0)\n"
                "return v1\n");
    kiln__array_unref(out);
    kiln__array_unref(row);
}

static void test_matmul(void **state)
{
    (void)state;
    struct kiln_array *vector = shaped(KILN_FLOAT32, 3, END), *matrix = shaped(KILN_FLOAT32, 2, 3, END);
    struct kiln_array *batch = shaped(KILN_FLOAT32, 5, 3, 4, END), *batches = shaped(KILN_FLOAT32, 7, 1, 2, 3, END);
    struct kiln_array *scalar = shaped(KILN_FLOAT32, END), *ints = shaped(KILN_INT32, 3, END),
                      *other = shaped(KILN_FLOAT32, 4, 3, 4, END);
    check_made(kiln__matmul(vector, vector, &out, &err), KILN_FLOAT32, END);
    check_made(kiln__matmul(matrix, vector, &out, &err), KILN_FLOAT32, 2, END);
    check_made(kiln__matmul(vector, batch, &out, &err), KILN_FLOAT32, 5, 4, END);
    check_made(kiln__matmul(matrix, batch, &out, &err), KILN_FLOAT32, 5, 2, 4, END);
    check_made(kiln__matmul(batches, batch, &out, &err), KILN_FLOAT32, 7, 5, 2, 4, END);
    check_made(kiln__matmul(batches, vector, &out, &err), KILN_FLOAT32, 7, 1, 2, END);
    check_refused(kiln__matmul(scalar, matrix, &out, &err),
                  "[matmul] Got a 0-dimensional input. Inputs must have at least one dimension.");
    check_refused(
        kiln__matmul(matrix, matrix, &out, &err),
        "[matmul] Last dimension of first input with shape (2,3) must match second to last dimension of second "
        "input with shape (2,3).");
    check_refused(
        kiln__matmul(batch, other, &out, &err),
        "[matmul] Last dimension of first input with shape (5,3,4) must match second to last dimension of second "
        "input with shape (4,3,4).");
    check_refused(kiln__matmul(ints, ints, &out, &err),
                  "[matmul] Only floating point and complex types are supported, but int32 and int32 give int32.");
    check_refused(kiln__matmul(NULL, ints, &out, &err), "[matmul] input is empty.");
    struct kiln_array *three = shaped(KILN_FLOAT32, 3, 2, 3, END);
    check_refused(kiln__matmul(three, batch, &out, &err),
                  "[matmul] Batch dimensions of shapes (3,2,3) and (5,3,4) cannot be broadcast.");
    CHECK_OK(kiln__matmul(vector, batch, &out, &err), &err);
    struct kiln_array *inputs[] = {vector, batch};
    check_graph(inputs, 2, out,
                "a0: float32(3)\n"
                "a1: float32(5,3,4)\n"
                "v0: float32(1,3) = expand_dims(a0) [0]\n"
                "v1: float32(5,1,3) = broadcast_to(v0) [5, 1, 3]\n"
                "v2: float32(5,1,4) = matmul(v1, a1)\n"
                "v3: float32(5,4) = squeeze(v2) [1]\n"
                "return v3\n");
    kiln__array_unref(out);
    struct kiln_array *all[] = {vector, matrix, batch, batches, scalar, ints, other, three};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_EQ(atomic_load(&all[i]->refs), 1); /* nothing was kept */
        kiln__array_unref(all[i]);
    }
}

/* Short rows and many: others are one node, see test_ops_row_layer.c. */
static void test_rms_norm(void **state)
{
    (void)state;
    struct kiln_array *x = shaped(KILN_BFLOAT16, 600, 4, END), *weight = shaped(KILN_FLOAT32, 4, END);
    struct kiln_array *inputs[] = {x, weight};
    CHECK_OK(kiln__rms_norm(x, weight, 1, &out, &err), &err);
    check_graph(inputs, 2, out,
                "a0: bfloat16(600,4)\n"
                "a1: float32(4)\n"
                "v0: float32(600,4) = astype(a0) [10]\n"
                "v1: float32(600,4) = multiply(v0, v0)\n"
                "v2: float32(600,1) = sum(v1) [1, 1]\n"
                "c0: float32() = 0x3e800000\n"
                "v3: float32(600,1) = multiply(v2, c0)\n"
                "c1: float32() = 0x3f800000\n"
                "v4: float32(600,1) = add(v3, c1)\n"
                "v5: float32(600,1) = rsqrt(v4)\n"
                "v6: float32(600,4) = multiply(v0, v5)\n"
                "v7: float32(600,4) = multiply(v6, a1)\n"
                "return v7\n");
    kiln__array_unref(out);
    check_made(kiln__rms_norm(x, NULL, 1e-5f, &out, &err), KILN_BFLOAT16, 600, 4, END);
    struct kiln_array *ints = shaped(KILN_INT32, 4, END), *scalar = shaped(KILN_FLOAT32, END),
                      *three = shaped(KILN_FLOAT32, 3, END);
    check_refused(kiln__rms_norm(ints, NULL, 1, &out, &err),
                  "[rms_norm] int32 is not supported: expected a float type.");
    check_refused(kiln__rms_norm(scalar, NULL, 1, &out, &err),
                  "[rms_norm] Input must have at least 1 dimension, got 0.");
    check_refused(kiln__rms_norm(x, three, 1, &out, &err),
                  "[rms_norm] Weight must have shape (4), as the last dimension of the input, got (3).");
    check_refused(kiln__rms_norm(NULL, NULL, 1, &out, &err), "[rms_norm] input is empty.");
    kiln__array_unref(x);
    kiln__array_unref(weight);
    kiln__array_unref(ints);
    kiln__array_unref(scalar);
    kiln__array_unref(three);
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static void test_key(void **state)
{
    (void)state;
    CHECK_OK(kiln__random_key(42, &out, &err), &err);
    check_array(out, KILN_UINT32, 2, END);
    CHECK_MEM(out->data, ((uint32_t[]){0, 42}), 8);
    kiln__array_unref(out);
    CHECK_OK(kiln__random_key(UINT64_C(0x123456789), &out, &err), &err);
    CHECK_MEM(out->data, ((uint32_t[]){1, 0x23456789}), 8);
    kiln__array_unref(out);
}

static void test_sequence(void **state)
{
    (void)state;
    uint32_t first[2], second[2], again[2], words[4];
    kiln__rng_state_next(first);
    kiln__rng_state_next(second);
    CHECK_NE(memcmp(first, second, sizeof first), 0);
    kiln__random_seed(42);
    kiln__rng_state_next(first);
    CHECK_MEM(first, ((uint32_t[]){255383827u, 267815257u}), 8); /* the second half of the split */
    kiln__rng_state_next(second);
    kiln__threefry_fill((uint32_t[]){2465931498u, 3679230171u}, words, 4);
    CHECK_MEM(second, words + 2, 8);
    kiln__random_seed(42);
    kiln__rng_state_next(again);
    CHECK_MEM(again, first, sizeof first);
}

static void test_bits(void **state)
{
    (void)state;
    struct kiln_array *key = shaped(KILN_UINT32, 2, END);
    check_made(kiln__random_bits(DIMS(2, 3), key, &out, &err), KILN_UINT32, 2, 3, END);
    kiln__random_seed(42);
    CHECK_OK(kiln__random_bits(DIMS(5), NULL, &out, &err), &err);
    CHECK_MEM(node_of(out)->inputs[0]->data, ((uint32_t[]){255383827u, 267815257u}), 8);
    kiln__array_unref(out);
    kiln__array_unref(key);
}

static void test_bernoulli(void **state)
{
    (void)state;
    struct kiln_array *key = shaped(KILN_UINT32, 2, END), *p = shaped(KILN_FLOAT16, 3, END),
                      *ints = shaped(KILN_INT32, END);
    struct kiln_array *inputs[] = {key, p};
    CHECK_OK(kiln__random_bernoulli(p, DIMS(2, 3), key, &out, &err), &err);
    check_graph(inputs, 2, out,
                "a0: uint32(2)\n"
                "a1: float16(3)\n"
                "v0: uint32(2,3) = random_bits(a0) [2, 3]\n"
                "v1: float32(2,3) = astype(v0) [10]\n"
                "v2: float32(3) = astype(a1) [10]\n"
                "c0: float32() = 0x4f800001\n"
                "v3: float32(3) = multiply(v2, c0)\n"
                "v4: bool(2,3) = less(v1, v3)\n"
                "return v4\n");
    kiln__array_unref(out);
    check_refused(kiln__random_bernoulli(ints, DIMS(2), key, &out, &err),
                  "[bernoulli] Probability p must be a float type, got int32.");
    check_refused(kiln__random_bernoulli(p, DIMS(2), key, &out, &err),
                  "[bernoulli] Shape (3) of p cannot be broadcast to (2).");
    check_refused(kiln__random_bernoulli(p, DIMS(1), key, &out, &err),
                  "[bernoulli] Shape (3) of p cannot be broadcast to (1).");
    kiln__array_unref(key);
    kiln__array_unref(p);
    kiln__array_unref(ints);
}

static void test_memory(void **state)
{
    (void)state;
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    CHECK_EQ(memory.active, 0); /* every test above gave back what it made */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_astype),    cmocka_unit_test(test_reshape),  cmocka_unit_test(test_axes),
        cmocka_unit_test(test_slice),     cmocka_unit_test(test_several),  cmocka_unit_test(test_tile),
        cmocka_unit_test(test_full),      cmocka_unit_test(test_matmul),   cmocka_unit_test(test_rms_norm),
        cmocka_unit_test(test_key),       cmocka_unit_test(test_sequence), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_bernoulli), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
