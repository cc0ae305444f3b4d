/*
 * test_run_sum.c - sums along every axis, bit for bit the same in every layout, batch and number of threads.
 */
#include "run/cpu/pool.h"
#include "unit/run_support.h"

/* How many parts the pool was last asked to share; the linker puts this before the pool's own. */
static int64_t shared_parts;
void __real_kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count);
void __wrap_kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count);

void __wrap_kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count)
{
    if (count > shared_parts) shared_parts = count;
    __real_kiln__pool_run(part, ctx, count);
}

/* Values of many sizes, so that another order of additions gives other bits. */
static struct kiln_array *uneven(size_t ndim, const int *dims)
{
    struct kiln_array *array = counting(0, ndim, dims);
    uint32_t seed = 12345;
    for (int64_t i = 0; i < array->size; i++) {
        seed = seed * 1664525u + 1013904223u;
        float value = ((float)(seed >> 8) - 8388608.0f) * (seed & 64 ? 1e-3f : 1e-7f);
        memcpy(array->data + 4 * i, &value, sizeof value);
    }
    return array;
}

static struct kiln_array *row_of(struct kiln_array *a, int row)
{
    struct kiln_array *out = NULL;
    must_be(kiln__slice(a, (int[]){row, 0}, (int[]){row + 1, a->dims[1]}, (int[]){1, 1}, 2, &out, &err));
    return out;
}

static void every_axis(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(3, 4, 5));
    static const int64_t strides[3] = {20, 5, 1};
    for (int axis = 0; axis < 3; axis++) {
        struct kiln_array *kept = sum_axis(a, axis, true), *gone = sum_axis(a, axis, false);
        eval(kept);
        eval(gone);
        CHECK_EQ(kept->ndim, 3);
        CHECK_EQ(gone->ndim, 2);
        for (int64_t i = 0; i < kept->size; i++) {
            int64_t rest = i, first = 0;
            for (int k = 2; k >= 0; rest /= kept->dims[k], k--) first += rest % kept->dims[k] * strides[k];
            float wanted = 0;
            for (int64_t k = 0; k < a->dims[axis]; k++) wanted += (float)(first + k * strides[axis]);
            CHECK_EQ(element_f32(kept, i), wanted);
            CHECK_EQ(element_f32(gone, i), wanted);
        }
        unref_all((struct kiln_array *[]){kept, gone}, 2);
    }
    kiln__array_unref(a);
}

static void bits_do_not_depend_on_the_layout(void **state)
{
    (void)state;
    static const int lengths[] = {1, 2, 15, 16, 17, 33, 100, 1000, 4099};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct kiln_array *a = uneven(SHAPE(7, lengths[i])), *turned = transpose(a, (int64_t[]){1, 0});
        struct kiln_array *packed = unary(KILN_OP_CONTIGUOUS, turned);
        struct kiln_array *along = sum_axis(a, 1, false), *across = sum_axis(turned, 0, false),
                          *down = sum_axis(packed, 0, false);
        eval(along);
        eval(across);
        eval(down);
        CHECK_MEM(along->data, across->data, 28);
        CHECK_MEM(along->data, down->data, 28);
        unref_all((struct kiln_array *[]){a, turned, packed, along, across, down}, 6);
    }
}

static void a_row_alone_equals_the_row_in_a_batch(void **state)
{
    (void)state;
    struct kiln_array *a = uneven(SHAPE(3, 777)), *all = sum_axis(a, 1, false);
    eval(all);
    for (int row = 0; row < 3; row++) {
        struct kiln_array *one = row_of(a, row), *sum = sum_axis(one, 1, false);
        eval(sum);
        CHECK_MEM(sum->data, all->data + 4 * row, 4);
        unref_all((struct kiln_array *[]){one, sum}, 2);
    }
    unref_all((struct kiln_array *[]){a, all}, 2);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct kiln_array *a = uneven(SHAPE(513, 1027));
    for (int axis = 0; axis < 2; axis++) {
        struct kiln_array *many = sum_axis(a, axis, false), *alone = sum_axis(a, axis, false);
        eval(many);
        kiln__pool_limit(1);
        eval(alone);
        kiln__pool_limit(0);
        CHECK_MEM(many->data, alone->data, (size_t)many->size * 4);
        unref_all((struct kiln_array *[]){many, alone}, 2);
    }
    kiln__array_unref(a);
}

static void one_long_row_uses_all_threads(void **state)
{
    (void)state;
    struct kiln_array *a = uneven(SHAPE(1 << 20)), *column = NULL;
    must_be(kiln__reshape(a, (int[]){1 << 20, 1}, 2, &column, &err));
    struct kiln_array *sums[] = {sum_axis(a, 0, false), sum_axis(column, 0, false)};
    for (int i = 0; i < 2; i++) {
        shared_parts = 0;
        eval(sums[i]);
        CHECK_TRUE(kiln__pool_width() == 1 || shared_parts >= kiln__pool_width());
    }
    unref_all((struct kiln_array *[]){a, column, sums[0], sums[1]}, 4);
}

static void sums_of_nothing_are_zero(void **state)
{
    (void)state;
    struct kiln_array *a = counting(0, SHAPE(3, 0)), *rows = sum_axis(a, 1, false), *columns = sum_axis(a, 0, false);
    eval(rows);
    eval(columns);
    CHECK_EQ(rows->size, 3);
    CHECK_MEM(rows->data, ((float[]){0, 0, 0}), 12);
    CHECK_EQ(columns->size, 0);
    unref_all((struct kiln_array *[]){a, rows, columns}, 3);
}

static void broadcast_and_reversed_inputs(void **state)
{
    (void)state;
    struct kiln_array *a = counting(1, SHAPE(4)), *wide = NULL, *back = NULL;
    must_be(kiln__broadcast_to(a, (int[]){5, 4}, 2, &wide, &err));
    must_be(kiln__slice(a, (int[]){3}, (int[]){-5}, (int[]){-1}, 1, &back, &err));
    struct kiln_array *columns = sum_axis(wide, 0, false), *rows = sum_axis(wide, 1, false),
                      *all = sum_axis(back, 0, false);
    eval(columns);
    eval(rows);
    eval(all);
    CHECK_MEM(columns->data, ((float[]){5, 10, 15, 20}), 16);
    CHECK_MEM(rows->data, ((float[]){10, 10, 10, 10, 10}), 20);
    CHECK_EQ(element_f32(all, 0), 10);
    unref_all((struct kiln_array *[]){a, wide, back, columns, rows, all}, 6);
}

static void every_dtype(void **state)
{
    (void)state;
    static const uint8_t sums[] = {
        [KILN_BOOL] = KILN_INT32,       [KILN_UINT8] = KILN_UINT32,    [KILN_UINT16] = KILN_UINT32,
        [KILN_UINT32] = KILN_UINT32,    [KILN_UINT64] = KILN_UINT64,   [KILN_INT8] = KILN_INT32,
        [KILN_INT16] = KILN_INT32,      [KILN_INT32] = KILN_INT32,     [KILN_INT64] = KILN_INT64,
        [KILN_FLOAT16] = KILN_FLOAT16,  [KILN_FLOAT32] = KILN_FLOAT32, [KILN_FLOAT64] = KILN_FLOAT64,
        [KILN_BFLOAT16] = KILN_BFLOAT16};
    struct kiln_array *numbers = counting(0, SHAPE(2, 20)), *big = counting(0, SHAPE(3, 100)), *bytes = NULL;
    for (int dtype = 0; dtype < KILN_COMPLEX64; dtype++) {
        struct kiln_array *a = apply(KILN_OP_CAST, &numbers, 1, (int64_t[]){dtype}, 1), *sum = sum_axis(a, 0, false);
        eval(sum);
        CHECK_EQ(sum->dtype, sums[dtype]);
        for (int64_t i = 0; i < 20; i++) {
            double wanted = dtype == KILN_BOOL ? (i > 0) + 1.0 : (double)(2 * i + 20);
            CHECK_NEAR(element_number(sum, i), wanted, 0);
        }
        unref_all((struct kiln_array *[]){a, sum}, 2);
    }
    must_be(kiln__astype(big, KILN_UINT8, &bytes, &err)); /* the sum does not fit the input's dtype */
    struct kiln_array *sum = sum_axis(bytes, 1, false);
    eval(sum);
    CHECK_NEAR(element_number(sum, 0), 4950, 0);
    CHECK_NEAR(element_number(sum, 1), 14950, 0);
    unref_all((struct kiln_array *[]){numbers, big, bytes, sum}, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_axis),
        cmocka_unit_test(bits_do_not_depend_on_the_layout),
        cmocka_unit_test(a_row_alone_equals_the_row_in_a_batch),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(one_long_row_uses_all_threads),
        cmocka_unit_test(sums_of_nothing_are_zero),
        cmocka_unit_test(broadcast_and_reversed_inputs),
        cmocka_unit_test(every_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
