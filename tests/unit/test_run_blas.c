/*
 * test_run_blas.c - matrix products in every layout and float dtype, in batches, against three loops in C.
 */
#include "run/cpu/blas.h"
#include "unit/run_support.h"

#ifdef __SANITIZE_THREAD__
/* OpenBLAS has threads of its own and is not instrumented: what it does between them looks like races. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libopenblas";
}
#endif

static struct kiln_array *product(struct kiln_array *a, struct kiln_array *b)
{
    struct kiln_array *out = NULL;
    must_be(kiln__matmul(a, b, &out, &err));
    eval(out);
    return out;
}

/* Elements i % 7 - 3: every product and sum here is exact in every float dtype. */
static struct kiln_array *small(enum kiln_dtype dtype, size_t ndim, const int *dims)
{
    struct kiln_array *array = counting(0, ndim, dims), *out = NULL;
    for (int64_t i = 0; i < array->size; i++) {
        float value = (float)(i % 7 - 3);
        memcpy(array->data + 4 * i, &value, sizeof value);
    }
    must_be(kiln__astype(array, dtype, &out, &err));
    kiln__array_unref(array);
    eval(out);
    return out;
}

/* a: (..., m, k), b: (..., k, n), equal batch dims, or none in b. */
static void expect_product(struct kiln_array *a, struct kiln_array *b)
{
    struct kiln_array *c = product(a, b);
    eval(a);
    eval(b);
    int64_t m = a->dims[a->ndim - 2], k = a->dims[a->ndim - 1], n = b->dims[b->ndim - 1];
    CHECK_EQ(c->dtype, a->dtype);
    CHECK_TRUE(c->row_contiguous);
    for (int64_t i = 0; i < c->size; i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        double wanted = 0;
        for (int64_t j = 0; j < k; j++) {
            double left = element_number(a, batch * m * k + row * k + j);
            wanted += left * element_number(b, (b->ndim > 2 ? batch * k * n : 0) + j * n + column);
        }
        CHECK_NEAR(element_number(c, i), wanted, 0);
    }
    kiln__array_unref(c);
}
#define expect_product(...) CHECK_CALL(expect_product, __VA_ARGS__)

static struct kiln_array *turn(struct kiln_array *array) /* takes over the reference */
{
    struct kiln_array *out = transpose(array, (int64_t[]){1, 0});
    kiln__array_unref(array);
    return out;
}

static struct kiln_array *every_second(enum kiln_dtype dtype, int rows, int columns)
{
    struct kiln_array *base = small(dtype, SHAPE(2 * rows, 2 * columns)), *out = NULL;
    must_be(kiln__slice(base, (int[]){0, 0}, base->dims, (int[]){2, 2}, 2, &out, &err));
    kiln__array_unref(base);
    return out;
}

static struct kiln_array *reversed_rows(enum kiln_dtype dtype, int rows, int columns)
{
    struct kiln_array *base = small(dtype, SHAPE(rows, columns)), *out = NULL;
    must_be(kiln__slice(base, (int[]){rows - 1, 0}, (int[]){-rows - 1, columns}, (int[]){-1, 1}, 2, &out, &err));
    kiln__array_unref(base);
    return out;
}

static struct kiln_array *in_layout(enum kiln_dtype dtype, int layout, int rows, int columns)
{
    switch (layout) {
    case 1:
        return turn(small(dtype, SHAPE(columns, rows)));
    case 2:
        return every_second(dtype, rows, columns);
    case 3:
        return reversed_rows(dtype, rows, columns);
    default:
        return small(dtype, SHAPE(rows, columns));
    }
}

static void every_layout_and_dtype(void **state)
{
    (void)state;
    static const enum kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_FLOAT16, KILN_BFLOAT16};
    static const int sizes[][3] = {{1, 1, 1},  {3, 4, 5},   {1, 8, 2},    {6, 1, 3},    {5, 9, 1},
                                   {2, 27, 7}, {8, 20, 19}, {16, 19, 35}, {1, 25, 300}, {17, 21, 18}};
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        for (size_t s = 0; s < COUNT(sizes) * 16; s++) {
            const int *size = sizes[s / 16];
            struct kiln_array *a = in_layout(dtypes[d], (int)(s % 4), size[0], size[1]);
            struct kiln_array *b = in_layout(dtypes[d], (int)(s / 4 % 4), size[1], size[2]);
            expect_product(a, b);
            unref_all((struct kiln_array *[]){a, b}, 2);
        }
    }
}

static void batches(void **state)
{
    (void)state;
    static const enum kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_BFLOAT16};
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        struct kiln_array *a = small(dtypes[d], SHAPE(2, 3, 4, 5)), *b = small(dtypes[d], SHAPE(2, 3, 5, 6));
        struct kiln_array *shared = small(dtypes[d], SHAPE(5, 6)), *base = small(dtypes[d], SHAPE(2, 4, 3, 5));
        struct kiln_array *swapped = transpose(base, (int64_t[]){0, 2, 1, 3});
        expect_product(a, b);
        expect_product(a, shared);
        expect_product(swapped, b);
        expect_product(swapped, shared);
        unref_all((struct kiln_array *[]){a, b, shared, base, swapped}, 5);
    }
}

static void empty_products(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(2, 0)), *b = counting(0, SHAPE(0, 3)), *c = product(a, b);
    struct kiln_array *flat = counting(0, SHAPE(0, 2)), *d = product(flat, c);
    CHECK_EQ(c->size, 6);
    for (int64_t i = 0; i < 6; i++) CHECK_EQ(element_f32(c, i), 0);
    CHECK_EQ(d->size, 0);
    unref_all((struct kiln_array *[]){a, b, c, flat, d}, 5);
}

static void large_products(void **state)
{
    (void)state;
    struct kiln_array *a = small(KILN_FLOAT32, SHAPE(130, 200)), *b = small(KILN_FLOAT32, SHAPE(200, 150));
    expect_product(a, b);
    unref_all((struct kiln_array *[]){a, b}, 2);
}

static void a_missing_library_names_the_package(void **state)
{
    (void)state;
    struct kiln_blas blas = {0};
    kiln_error err = {.text = ""};
    CHECK_STATUS(kiln__blas_open("libno-such-blas.so.0", &blas, &err), KILN_LINK_FAILED, &err);
    CHECK_CONTAINS(err.text, "libopenblas0-pthread");
    CHECK_STATUS(kiln__blas_open("libc.so.6", &blas, &err), KILN_LINK_FAILED, &err);
    CHECK_CONTAINS(err.text, "cblas_sgemm");
    CHECK_NULL(blas.sgemm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_and_dtype),
        cmocka_unit_test(batches),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(large_products),
        cmocka_unit_test(a_missing_library_names_the_package),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
