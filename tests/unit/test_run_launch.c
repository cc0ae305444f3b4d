/*
 * test_run_launch.c - element-wise operations over every layout, against scalar C; large launches; one entry per
 * variant.
 */
#include <pthread.h>
#include <stdlib.h>

#include "run/cpu/pool.h"
#include "run/kernels/launch.h"
#include "unit/run_support.h"

/* ---- arrays of every dtype and layout -------------------------------------------------------------------------- */

/* Elements i % 5 (of a bool: i % 2), as `dtype`. */
static struct kiln_array *small_numbers(enum kiln_dtype dtype, size_t ndim, const int *dims)
{
    struct kiln_array *array = NULL;
    must_be(kiln__array_alloc(dtype, ndim, dims, &array, &err));
    for (int64_t i = 0; i < array->size; i++) {
        float number = (float)(i % (dtype == KILN_BOOL ? 2 : 5));
        uint64_t whole = (uint64_t)number;
        double wide = (double)number;
        uint16_t half = kiln__float_to_half(number), bfloat = kiln__float_to_bfloat(number);
        const void *bytes = &whole; /* little-endian: right for every integer size */
        if (dtype == KILN_FLOAT16) bytes = &half;
        if (dtype == KILN_BFLOAT16) bytes = &bfloat;
        if (dtype == KILN_FLOAT32) bytes = &number;
        if (dtype == KILN_FLOAT64) bytes = &wide;
        memcpy(array->data + i * (int64_t)kiln__dtype_size(dtype), bytes, kiln__dtype_size(dtype));
    }
    return array;
}

static struct kiln_array *cut(struct kiln_array *base, const int *start, const int *stop, const int *step)
{
    struct kiln_array *view = NULL;
    must_be(kiln__slice(base, start, stop, step, base->ndim, &view, &err));
    return view;
}

enum { PACKED, TRANSPOSED, REVERSED, EVERY_SECOND, ROW, COLUMN, SCALAR, LAYOUTS };

/* An array that broadcasts to (4, 6), in one of the layouts above. */
static struct kiln_array *in_layout(enum kiln_dtype dtype, int layout)
{
    struct kiln_array *base, *view;
    switch (layout) {
    case TRANSPOSED:
        base = small_numbers(dtype, SHAPE(6, 4));
        view = transpose(base, (int64_t[]){1, 0});
        break;
    case REVERSED:
        base = small_numbers(dtype, SHAPE(4, 6));
        view = cut(base, (int[]){3, 5}, (int[]){-5, -7}, (int[]){-1, -1});
        break;
    case EVERY_SECOND:
        base = small_numbers(dtype, SHAPE(9, 13));
        view = cut(base, (int[]){1, 1}, (int[]){9, 13}, (int[]){2, 2});
        break;
    case ROW:
        return small_numbers(dtype, SHAPE(6));
    case COLUMN:
        return small_numbers(dtype, SHAPE(4, 1));
    case SCALAR:
        base = small_numbers(dtype, SHAPE(3));
        view = cut(base, (int[]){2}, (int[]){3}, (int[]){1});
        break;
    default:
        return small_numbers(dtype, SHAPE(4, 6));
    }
    kiln__array_unref(base);
    return view;
}

/* The array broadcast to `like`'s shape, ready. */
static struct kiln_array *spread(struct kiln_array *array, const struct kiln_array *like)
{
    struct kiln_array *view = NULL;
    must_be(kiln__broadcast_to(array, like->dims, like->ndim, &view, &err));
    eval(view);
    return view;
}

static void expect_binary(enum kiln_op op, struct kiln_array *a, struct kiln_array *b)
{
    CHECK_ARRAY_CONTEXT(kiln__ops[op].name, a->dtype, a->ndim, a->dims);
    struct kiln_array *result = binary(op, a, b);
    eval(result);
    CHECK_TRUE(result->row_contiguous);
    struct kiln_array *left = spread(a, result), *right = spread(b, result);
    bool is_bool = result->dtype == KILN_BOOL;
    for (int64_t i = 0; i < result->size; i++) {
        double x = element_number(left, i), y = element_number(right, i);
        double sum = is_bool ? (x != 0 || y != 0) : x + y, wanted = op == KILN_OP_ADD ? sum : x * y;
        CHECK_NEAR(element_number(result, i), wanted, 0);
    }
    unref_all((struct kiln_array *[]){result, left, right}, 3);
}
#define expect_binary(...) CHECK_CALL(expect_binary, __VA_ARGS__)

static void every_pair_of_layouts_in_every_dtype(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < KILN_COMPLEX64; dtype++) {
        for (int pair = 0; pair < LAYOUTS * LAYOUTS; pair++) {
            struct kiln_array *a = in_layout((enum kiln_dtype)dtype, pair / LAYOUTS);
            struct kiln_array *b = in_layout((enum kiln_dtype)dtype, pair % LAYOUTS);
            expect_binary(KILN_OP_ADD, a, b);
            if (dtype == KILN_FLOAT32) expect_binary(KILN_OP_MULTIPLY, a, b);
            unref_all((struct kiln_array *[]){a, b}, 2);
        }
    }
}

static void complex_numbers(void **state)
{
    (void)state;
    float data[] = {1, 2, 3, -4, 0.5f, 0, -1, 1};
    struct kiln_array *a = from_data(data, KILN_COMPLEX64, SHAPE(2, 2)), *b = transpose(a, (int64_t[]){1, 0});
    struct kiln_array *product = binary(KILN_OP_MULTIPLY, a, b);
    eval(product);
    float wanted[4][2] = {{-3, 4}, {1.5f, -2}, {1.5f, -2}, {0, -2}};
    for (int64_t i = 0; i < 4; i++) CHECK_MEM(element(product, i), wanted[i], 8);
    unref_all((struct kiln_array *[]){a, b, product}, 3);
}

static void unary_where_cast_and_compare(void **state)
{
    (void)state;
    for (int layout = 0; layout < LAYOUTS; layout++) {
        struct kiln_array *a = in_layout(KILN_FLOAT32, layout), *two = counting(2, 0, NULL);
        struct kiln_array *negative = unary(KILN_OP_NEGATIVE, a), *less = binary(KILN_OP_LESS, a, two);
        struct kiln_array *chosen = apply(KILN_OP_SELECT, (struct kiln_array *[]){less, negative, a}, 3, NULL, 0);
        struct kiln_array *whole = apply(KILN_OP_CAST, &chosen, 1, (int64_t[]){KILN_INT16}, 1);
        eval(whole);
        eval(a);
        CHECK_EQ(whole->dtype, KILN_INT16);
        for (int64_t i = 0; i < whole->size; i++) {
            double x = element_number(a, i);
            CHECK_NEAR(element_number(whole, i), x < 2 ? -x : x, 0);
        }
        unref_all((struct kiln_array *[]){a, two, negative, less, chosen, whole}, 6);
    }
}

static void rank_ten(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(2, 1, 3, 2, 1, 2, 3, 1, 2, 2)),
                      *b = counting(5, SHAPE(2, 2, 1, 3, 2, 1, 2, 3, 1, 2));
    struct kiln_array *reversed = transpose(b, (int64_t[]){9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
    expect_binary(KILN_OP_ADD, a, reversed);
    struct kiln_array *other = transpose(a, (int64_t[]){3, 1, 2, 0, 4, 8, 6, 7, 5, 9});
    expect_binary(KILN_OP_ADD, a, other);
    unref_all((struct kiln_array *[]){a, b, reversed, other}, 4);
}

static void empty_and_zero_dimensional(void **state)
{
    (void)state;
    struct kiln_array *empty = counting(0, SHAPE(3, 0, 2)), *row = counting(0, SHAPE(1, 1, 2)),
                      *scalar = counting(4, 0, NULL);
    struct kiln_array *sum = binary(KILN_OP_ADD, empty, row), *twice = binary(KILN_OP_ADD, scalar, scalar);
    eval(sum);
    CHECK_EQ(sum->size, 0);
    CHECK_EQ(sum->dims[1], 0);
    eval(twice);
    CHECK_EQ(twice->ndim, 0);
    CHECK_EQ(element_f32(twice, 0), 8);
    unref_all((struct kiln_array *[]){empty, row, scalar, sum, twice}, 5);
}

/* ---- large launches ------------------------------------------------------------------------------------------ */

static void large_in_every_layout(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(500, 600)), *b = counting(1, SHAPE(600, 500)),
                      *row = counting(0, SHAPE(600));
    struct kiln_array *column = counting(0, SHAPE(500, 1)), *turned = transpose(b, (int64_t[]){1, 0});
    struct kiln_array *two = counting(0, SHAPE(2, 1)), *long_rows = counting(0, SHAPE(2, 150000));
    expect_binary(KILN_OP_ADD, a, a);
    expect_binary(KILN_OP_ADD, a, turned);
    expect_binary(KILN_OP_ADD, turned, row);
    expect_binary(KILN_OP_ADD, row, column);
    expect_binary(KILN_OP_ADD, two, long_rows);
    struct kiln_array *cube = counting(0, SHAPE(70, 40, 50)), *spun = transpose(cube, (int64_t[]){0, 2, 1});
    struct kiln_array *slab = counting(0, SHAPE(50, 40));
    expect_binary(KILN_OP_ADD, spun, slab);
    unref_all((struct kiln_array *[]){a, b, row, column, turned, two, long_rows, cube, spun, slab}, 10);
}

/* Sizes around the borders of parts, lines and vectors, with non-temporal stores. */
static void very_large_with_odd_sizes(void **state)
{
    (void)state;
    static const int sizes[] = {(1 << 20) + 63, 1 << 22, (1 << 22) + 1, (1 << 22) + 63, 5000001};
    struct kiln_array *half = counting(0.5f, 0, NULL);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct kiln_array *a = counting(0, SHAPE(sizes[i])), *sum = binary(KILN_OP_ADD, a, half);
        eval(sum);
        for (int64_t k = 0; k < sizes[i]; k++) {
            if (element_f32(sum, k) != (float)k + 0.5f)
                CHECK_FAIL("element %lld of %d is wrong", (long long)k, sizes[i]);
        }
        unref_all((struct kiln_array *[]){a, sum}, 2);
    }
    kiln__array_unref(half);
}

static void one_thread_gives_the_same_bits(void **state)
{
    (void)state;
    struct kiln_array *a = counting(-1000, SHAPE(123, 1777)), *scale = counting(0.001f, 0, NULL);
    struct kiln_array *x = binary(KILN_OP_MULTIPLY, a, scale), *many = unary(KILN_OP_EXP, x),
                      *alone = unary(KILN_OP_EXP, x);
    eval(many);
    kiln__pool_limit(1);
    eval(alone);
    kiln__pool_limit(0);
    CHECK_MEM(many->data, alone->data, (size_t)many->size * 4);
    unref_all((struct kiln_array *[]){a, scale, x, many, alone}, 5);
}

/* ---- variants ------------------------------------------------------------------------------------------------ */

static size_t count_variants(const struct kiln_group_kernels *kernels)
{
    size_t count = 0;
    for (const struct kiln_variant *v = atomic_load(&kernels->variants); v; v = v->next) count++;
    return count;
}

static void *get_variants(void *ctx)
{
    kiln_kernel_entry entry = NULL;
    kiln_error err;
    kiln_status status = kiln__variant_get(ctx, "cc", 0, &entry, &err);
    if (status == KILN_OK) status = kiln__variant_get(ctx, "cs", 0, &entry, &err);
    return status == KILN_OK ? (void *)(uintptr_t)entry : NULL;
}

static void threads_that_make_one_variant_share_it(void **state)
{
    (void)state;
    struct kiln_group_kernels *kernels = NULL, *again = NULL;
    must_be(kiln__op_kernels(KILN_OP_SUBTRACT, KILN_INT64, KILN_INT64, &kernels, &err));
    must_be(kiln__op_kernels(KILN_OP_SUBTRACT, KILN_INT64, KILN_INT64, &again, &err));
    CHECK_EQ(kernels, again);
    pthread_t threads[4];
    void *entries[4];
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, get_variants, kernels), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], &entries[i]);
    for (int i = 0; i < 4; i++) CHECK_EQ(entries[i], entries[0]);
    CHECK_NOT_NULL(entries[0]);
    CHECK_EQ(count_variants(kernels), 2);
}

static void a_device_reset_makes_a_new_entry(void **state)
{
    (void)state;
    kiln_device *device = NULL;
    must_be(kiln_device_find("cpu", &device, &err));
    struct kiln_array *a = counting(1, SHAPE(10)), *before = binary(KILN_OP_MAXIMUM, a, a),
                      *after = binary(KILN_OP_MAXIMUM, a, a);
    struct kiln_group_kernels *kernels = NULL;
    eval(before);
    kiln_device_reset(device);
    eval(after);
    must_be(kiln__op_kernels(KILN_OP_MAXIMUM, KILN_FLOAT32, KILN_FLOAT32, &kernels, &err));
    CHECK_EQ(count_variants(kernels), 2);
    CHECK_EQ(element_f32(after, 3), 4);
    unref_all((struct kiln_array *[]){a, before, after}, 3);
}

/* A group of a plan: two outputs, a constant, an operand in two layouts. */
static void a_group_with_two_outputs_and_a_constant(void **state)
{
    (void)state;
    struct kiln_group_kernels kernels = {.name = "two_outputs"};
    kernels.group = (struct kiln_group){.operand_count = 1, .constant_count = 1, .instr_count = 2, .output_count = 2};
    kernels.group.operand_dtypes = calloc(1, 1);
    kernels.group.constant_dtypes = calloc(1, 1);
    kernels.group.instrs = calloc(2, sizeof *kernels.group.instrs);
    kernels.group.outputs = calloc(2, sizeof *kernels.group.outputs);
    kernels.group.operand_dtypes[0] = kernels.group.constant_dtypes[0] = KILN_FLOAT32;
    kernels.group.instrs[0] = (struct kiln_instr){KILN_OP_MULTIPLY, KILN_FLOAT32, {0, 1}};
    kernels.group.instrs[1] = (struct kiln_instr){KILN_OP_GREATER, KILN_BOOL, {2, 0}};
    kernels.group.outputs[0] = 2;
    kernels.group.outputs[1] = 3;
    float three = 3;
    uint32_t bits;
    memcpy(&bits, &three, sizeof bits);
    uint64_t constant = bits;
    struct kiln_array *base = counting(-3, SHAPE(2, 3)), *operands[2] = {base, transpose(base, (int64_t[]){1, 0})};
    eval(operands[1]);
    for (int i = 0; i < 2; i++) {
        struct kiln_array *outputs[2] = {NULL, NULL};
        must_be(kiln__array_alloc(KILN_FLOAT32, 2, operands[i]->dims, &outputs[0], &err));
        must_be(kiln__array_alloc(KILN_BOOL, 2, operands[i]->dims, &outputs[1], &err));
        must_be(kiln__launch(&kernels, &operands[i], &constant, outputs, &err));
        for (int64_t k = 0; k < 6; k++) {
            float x = element_f32(operands[i], k);
            CHECK_EQ(element_f32(outputs[0], k), 3 * x);
            CHECK_EQ(*(const uint8_t *)element(outputs[1], k), 3 * x > x);
        }
        unref_all(outputs, 2);
    }
    CHECK_EQ(count_variants(&kernels), 2);
    kiln__group_kernels_release(&kernels);
    unref_all(operands, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_layouts_in_every_dtype),
        cmocka_unit_test(complex_numbers),
        cmocka_unit_test(unary_where_cast_and_compare),
        cmocka_unit_test(rank_ten),
        cmocka_unit_test(empty_and_zero_dimensional),
        cmocka_unit_test(large_in_every_layout),
        cmocka_unit_test(very_large_with_odd_sizes),
        cmocka_unit_test(one_thread_gives_the_same_bits),
        cmocka_unit_test(threads_that_make_one_variant_share_it),
        cmocka_unit_test(a_device_reset_makes_a_new_entry),
        cmocka_unit_test(a_group_with_two_outputs_and_a_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
