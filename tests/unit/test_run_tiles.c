/*
 * test_run_tiles.c - operands that are packed along another axis: same bits as packed ones, by the same kernel.
 */
#include <stdlib.h>

#include "run_support.h"

static uint64_t kernels_asked_for(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    return counters.compiles + counters.disk_hits + counters.kernel_hits;
}

/* Counts through the numbers that the dtype has, with all axes turned round. */
static struct kiln_array *turned(enum kiln_dtype dtype, size_t ndim, const int *dims)
{
    int other[4];
    int64_t order[4];
    for (size_t i = 0; i < ndim; i++) {
        other[i] = dims[ndim - 1 - i];
        order[i] = (int64_t)(ndim - 1 - i);
    }
    struct kiln_array *floats = counting(-50, ndim, other);
    struct kiln_array *numbers = apply(KILN_OP_CAST, &floats, 1, (int64_t[]){dtype}, 1);
    struct kiln_array *view = transpose(numbers, order);
    eval(view);
    kiln__array_unref(floats);
    kiln__array_unref(numbers);
    return view;
}

static struct kiln_array *packed(struct kiln_array *a)
{
    struct kiln_array *copy = unary(KILN_OP_CONTIGUOUS, a);
    eval(copy);
    CHECK_TRUE(copy->row_contiguous);
    return copy;
}

static struct kiln_array *sum(struct kiln_array *a, struct kiln_array *b)
{
    struct kiln_array *result = binary(KILN_OP_ADD, a, b);
    eval(result);
    return result;
}

static void expect_equal(const struct kiln_array *got, const struct kiln_array *want)
{
    size_t item = kiln__dtype_size(want->dtype);
    CHECK_EQ(got->size, want->size);
    for (int64_t i = 0; i < want->size; i++) CHECK_MEM(element(got, i), element(want, i), item);
}
#define expect_equal(...) CHECK_CALL(expect_equal, __VA_ARGS__)

static void check(enum kiln_dtype dtype, size_t ndim, const int *dims)
{
    CHECK_ARRAY_CONTEXT("add", dtype, ndim, dims);
    struct kiln_array *view = turned(dtype, ndim, dims), *copy = packed(view);
    CHECK_FALSE(view->row_contiguous);
    struct kiln_array *want = sum(copy, copy);
    uint64_t before = kernels_asked_for();
    struct kiln_array *both = sum(view, view), *first = sum(view, copy), *second = sum(copy, view);
    CHECK_EQ(kernels_asked_for(), before);
    expect_equal(both, want);
    expect_equal(first, want);
    expect_equal(second, want);
    unref_all((struct kiln_array *[]){view, copy, want, both, first, second}, 6);
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

static void test_same_bits_by_the_same_kernel(void **state)
{
    (void)state;
    static const enum kiln_dtype dtypes[] = {KILN_INT8, KILN_FLOAT16, KILN_FLOAT32, KILN_FLOAT64, KILN_COMPLEX64};
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        check(dtypes[i], SHAPE(64, 64));
        check(dtypes[i], SHAPE(67, 301));
        check(dtypes[i], SHAPE(301, 67));
        check(dtypes[i], SHAPE(600, 500)); /* several parts */
        check(dtypes[i], SHAPE(70, 9, 65));
    }
}

/* What is packed along no axis that is long enough, or is small, is read where it lies. */
static void test_other_layouts(void **state)
{
    (void)state;
    struct kiln_array *whole = counting(1, SHAPE(200, 100));
    struct kiln_array *every_third = apply(KILN_OP_SLICE, &whole, 1, (int64_t[]){0, 0, 200, 100, 1, 3}, 6);
    struct kiln_array *small = turned(KILN_FLOAT32, SHAPE(8, 5)), *view = turned(KILN_FLOAT32, SHAPE(200, 34));
    eval(every_third);
    struct kiln_array *copies[] = {packed(every_third), packed(small), packed(view)};
    struct kiln_array *got[] = {sum(every_third, every_third), sum(small, small), sum(view, every_third)};
    struct kiln_array *want[] = {sum(copies[0], copies[0]), sum(copies[1], copies[1]), sum(copies[2], copies[0])};
    for (size_t i = 0; i < COUNT(got); i++) expect_equal(got[i], want[i]);
    unref_all(copies, COUNT(copies));
    unref_all(got, COUNT(got));
    unref_all(want, COUNT(want));
    unref_all((struct kiln_array *[]){whole, every_third, small, view}, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits_by_the_same_kernel),
        cmocka_unit_test(test_other_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
