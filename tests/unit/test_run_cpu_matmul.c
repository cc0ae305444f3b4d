/*
 * test_run_cpu_matmul.c - products by generated kernels against sums in double precision, for both layouts of the
 * weight: within the bound that codegen/cpu/product.h states; with infinities and NaN where they belong; the same bits
 * on one thread and on all; and without a copy of the weight.
 */
#include <math.h>

#include "device/device.h"
#include "run/cpu/pool.h"
#include "unit/run_support.h"

static const enum kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16};

static uint64_t random_state = 7;

static float random_number(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(random_state >> 32) * 0x1p-31f;
}

static struct kiln_array *as_dtype(struct kiln_array *array, enum kiln_dtype dtype) /* takes over the reference */
{
    struct kiln_array *out = NULL;
    must_be(kiln__astype(array, dtype, &out, &err));
    kiln__array_unref(array);
    eval(out);
    return out;
}
#define as_dtype(...) CHECK_CALL(as_dtype, __VA_ARGS__)

static struct kiln_array *random_array(enum kiln_dtype dtype, int rows, int columns)
{
    struct kiln_array *array = counting(0, SHAPE(rows, columns));
    for (int64_t i = 0; i < array->size; i++) {
        float value = random_number();
        memcpy(array->data + 4 * i, &value, sizeof value);
    }
    return as_dtype(array, dtype);
}
#define random_array(...) CHECK_CALL(random_array, __VA_ARGS__)

/* k x n, in memory as it is or as n x k. */
static struct kiln_array *random_weight(enum kiln_dtype dtype, int k, int n, bool is_transposed)
{
    struct kiln_array *array = random_array(dtype, is_transposed ? n : k, is_transposed ? k : n);
    if (!is_transposed) return array;
    struct kiln_array *out = transpose(array, (int64_t[]){1, 0});
    kiln__array_unref(array);
    eval(out);
    return out;
}
#define random_weight(...) CHECK_CALL(random_weight, __VA_ARGS__)

static struct kiln_array *product(struct kiln_array *a, struct kiln_array *b)
{
    struct kiln_array *out = binary(KILN_OP_MATMUL, a, b);
    eval(out);
    return out;
}
#define product(...) CHECK_CALL(product, __VA_ARGS__)

/* What rounding to the dtype may add, of a value. */
static double rounding(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 ? 0x1p-24 : dtype == KILN_FLOAT16 ? 0x1p-11 : 0x1p-8;
}

static void expect_near(struct kiln_array *x, struct kiln_array *w, struct kiln_array *out)
{
    int k = x->dims[1], n = w->dims[1];
    for (int64_t i = 0; i < out->size; i++) {
        double want = 0, total = 0;
        for (int j = 0; j < k; j++) {
            double term = element_number(x, i / n * k + j) * element_number(w, (int64_t)j * n + i % n);
            want += term, total += fabs(term);
        }
        double bound = (k + 1) * 0x1p-24 * total;
        CHECK_NEAR(element_number(out, i), want, bound + rounding(out->dtype) * (fabs(want) + bound) + 0x1p-24);
    }
}
#define expect_near(...) CHECK_CALL(expect_near, __VA_ARGS__)

static void sums_are_near_those_in_double_precision(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1024, 70}, {2, 100, 33},  {3, 257, 129},  {4, 64, 64},
                                   {5, 31, 200},  {8, 520, 67},  {8, 16, 1},     {13, 1, 40},
                                   {16, 95, 300}, {40, 200, 61}, {65, 1300, 150}};
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t s = 0; s < 2 * COUNT(sizes); s++) {
            const int *size = sizes[s / 2];
            struct kiln_array *x = random_array(dtypes[d], size[0], size[1]);
            struct kiln_array *w = random_weight(dtypes[d], size[1], size[2], s % 2);
            CHECK_CONTEXT("%s, %d x %d x %d, %s", kiln__dtypes[dtypes[d]].name, size[0], size[1], size[2],
                          s % 2 ? "transposed" : "as it is");
            struct kiln_array *out = product(x, w);
            expect_near(x, w, out);
            unref_all((struct kiln_array *[]){x, w, out}, 3);
        }
}

static void set_number(struct kiln_array *array, int64_t i, float value)
{
    memcpy(array->data + 4 * i, &value, sizeof value);
}

/* Each is in one element of x or w, so it reaches one row or column of the result and no other. */
static void infinities_and_nan_stay_where_they_belong(void **state)
{
    (void)state;
    enum { M = 3, K = 37, N = 21 };
    for (int transposed = 0; transposed < 2; transposed++)
        for (int k = 0; k < K; k += 9) {
            struct kiln_array *x = counting(1, SHAPE(M, K)),
                              *plain = counting(1, SHAPE(transposed ? N : K, transposed ? K : N));
            set_number(x, 1 * K + k, INFINITY);
            set_number(plain, transposed ? 5 * K + k : (int64_t)k * N + 5, -INFINITY);
            set_number(plain, transposed ? 20 * K + k : (int64_t)k * N + 20, NAN);
            set_number(plain, transposed ? 7 * K + k : (int64_t)k * N + 7, 0);
            struct kiln_array *w = transposed ? transpose(plain, (int64_t[]){1, 0}) : kiln__array_ref(plain);
            eval(w);
            struct kiln_array *out = product(x, w);
            for (int64_t i = 0; i < M * N; i++) {
                float got = element_f32(out, i);
                int64_t row = i / N, column = i % N;
                if (column == 20 || (row == 1 && column == 7))
                    CHECK_TRUE(isnan(got));
                else if (column == 5)
                    CHECK_TRUE(isinf(got) && got < 0);
                else if (row == 1)
                    CHECK_TRUE(isinf(got) && got > 0);
                else
                    CHECK_TRUE(isfinite(got));
            }
            unref_all((struct kiln_array *[]){x, plain, w, out}, 4);
        }
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int s = 0; s < 4; s++) {
            struct kiln_array *x = random_array(dtypes[d], s < 2 ? 1 : 11, 300);
            struct kiln_array *w = random_weight(dtypes[d], 300, 1001, s % 2);
            struct kiln_array *shared = product(x, w);
            kiln__pool_limit(1);
            struct kiln_array *alone = product(x, w);
            kiln__pool_limit(0);
            CHECK_TRUE(!memcmp(shared->data, alone->data, (size_t)alone->size * kiln__dtype_size(alone->dtype)));
            unref_all((struct kiln_array *[]){x, w, shared, alone}, 4);
        }
}

static void the_weight_is_not_copied(void **state)
{
    (void)state;
    struct kiln_memory before, after;
    if (kiln__device_current(NULL)->target.isa < KILN_ISA_X86_64_V3) skip(); /* BLAS knows no 16-bit floats */
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (int transposed = 0; transposed < 2; transposed++) {
            struct kiln_array *x = random_array(dtypes[d], 2, 512),
                              *w = random_weight(dtypes[d], 512, 2048, transposed);
            kiln__memory_get(&before);
            kiln__memory_reset_peak();
            struct kiln_array *out = product(x, w);
            kiln__memory_get(&after);
            size_t rows = (size_t)(x->size + out->size) * sizeof(float);
            CHECK_TRUE(after.peak <= before.active + rows + 8192);
            unref_all((struct kiln_array *[]){x, w, out}, 3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_near_those_in_double_precision),
        cmocka_unit_test(infinities_and_nan_stay_where_they_belong),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(the_weight_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
