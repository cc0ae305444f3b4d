/*
 * test_ordered.c - operations in which the order of elements counts, on a GPU: known numbers, errors of the CPU, and
 * one graph for a compiled function of them. tests/gpu/agree_ordered.c compares all dtypes.
 */
#include "gpu_program.h"

enum { COUNT = 2500, PLACES = 16, CALLS = 14 };

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static mlx_array make_numbers(void)
{
    float values[COUNT];
    const int shape[] = {COUNT};
    for (int i = 0; i < COUNT; i++) values[i] = (float)((i * 37) % COUNT);
    return mlx_array_new_data(values, shape, 1, MLX_FLOAT32);
}

/* 37 and COUNT have no common divisor: every number is there once. */
static void rows_are_sorted_and_added_up(void **state)
{
    (void)state;
    mlx_array x = make_numbers(), sorted = mlx_array_new(), places = mlx_array_new(), sums = mlx_array_new();
    uint64_t before = gpu_counters().host_operations;
    CHECK_EQ(mlx_sort_axis(&sorted, x, 0, gpu) || mlx_argsort_axis(&places, x, 0, gpu), 0);
    CHECK_EQ(mlx_cumsum(&sums, sorted, 0, false, true, gpu), 0);
    CHECK_EQ(mlx_array_eval(sorted) || mlx_array_eval(places) || mlx_array_eval(sums), 0);
    const uint32_t *at = mlx_array_data_uint32(places);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(mlx_array_data_float32(sorted)[i], i);
        CHECK_EQ((at[i] * 37) % COUNT, i);
        CHECK_EQ(mlx_array_data_float32(sums)[i], (float)(i * (i + 1) / 2));
    }
    CHECK_EQ(gpu_counters().host_operations, before);
    mlx_array_free(x), mlx_array_free(sorted), mlx_array_free(places), mlx_array_free(sums);
}

/* Zeros, to which 1, 2, 3, ... are added, or of which each takes the place of another. */
static int put(mlx_array *res, mlx_array places, bool adds, mlx_stream s)
{
    float values[COUNT];
    const int shape[] = {COUNT, 1}, whole[] = {PLACES}, axis = 0;
    for (int i = 0; i < COUNT; i++) values[i] = (float)(i + 1);
    mlx_array updates = mlx_array_new_data(values, shape, 2, MLX_FLOAT32), zeros = mlx_array_new();
    mlx_vector_array all = mlx_vector_array_new_value(places);
    int failed = mlx_zeros(&zeros, whole, 1, MLX_FLOAT32, s) ||
                 (adds ? mlx_scatter_add : mlx_scatter)(res, zeros, all, updates, &axis, 1, s) || mlx_array_eval(*res);
    mlx_array_free(updates), mlx_array_free(zeros), mlx_vector_array_free(all);
    return failed;
}

static mlx_array make_places(int last)
{
    int values[COUNT];
    const int shape[] = {COUNT};
    for (int i = 0; i < COUNT; i++) values[i] = i % PLACES;
    values[COUNT - 1] = last;
    return mlx_array_new_data(values, shape, 1, MLX_INT32);
}

static void repeated_places_take_updates_in_order(void **state)
{
    (void)state;
    mlx_array places = make_places((COUNT - 1) % PLACES - PLACES), res = mlx_array_new();
    float sums[PLACES] = {0}, lasts[PLACES];
    for (int i = 0; i < COUNT; i++) sums[i % PLACES] += (float)(i + 1), lasts[i % PLACES] = (float)(i + 1);
    uint64_t before = gpu_counters().host_operations;
    CHECK_EQ(put(&res, places, true, gpu), 0);
    for (int i = 0; i < PLACES; i++) CHECK_EQ(mlx_array_data_float32(res)[i], sums[i]);
    CHECK_EQ(put(&res, places, false, gpu), 0);
    for (int i = 0; i < PLACES; i++) CHECK_EQ(mlx_array_data_float32(res)[i], lasts[i]);
    CHECK_EQ(gpu_counters().host_operations, before);
    mlx_array_free(places), mlx_array_free(res);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static const char too_far[] = "[scatter] Index 16 is out of range for an axis of size 16: expected -16 to 15.";

/* Of indices from the host, and of those that the GPU computed: nothing is written where there is no place. */
static void indices_out_of_range_are_errors(void **state)
{
    (void)state;
    mlx_array places = make_places(PLACES), res = mlx_array_new(), zero = mlx_array_new_int(0), good = make_places(0);
    CHECK_EQ(put(&res, places, true, gpu), 1);
    expect_error(too_far);
    CHECK_EQ(mlx_add(&places, places, zero, gpu) || mlx_array_eval(places), 0);
    CHECK_EQ(put(&res, places, true, gpu), 1);
    expect_error(too_far);
    CHECK_EQ(put(&res, good, true, gpu), 0);
    expect_no_error();
    mlx_array_free(places), mlx_array_free(res), mlx_array_free(zero), mlx_array_free(good);
}

/* ---- compiled ---------------------------------------------------------------------------------------------------- */

/* Sorted, added up from the end, and each sum put back to where its number was, beside a series. */
static int order(mlx_array *res, const mlx_array x, void *unused)
{
    (void)unused;
    mlx_array places = mlx_array_new(), line = mlx_array_new();
    int failed = mlx_argsort_axis(&places, x, 0, gpu) || mlx_sort_axis(res, x, 0, gpu) ||
                 mlx_cumsum(res, *res, 0, true, true, gpu) || mlx_arange(&line, 0, COUNT, 1, MLX_FLOAT32, gpu) ||
                 mlx_put_along_axis(res, line, places, *res, 0, gpu) || mlx_add(res, *res, line, gpu);
    return mlx_array_free(places), mlx_array_free(line), failed;
}

static void compiled_calls_are_replayed(void **state)
{
    (void)state;
    mlx_closure compiled = mlx_closure_new();
    kiln_gpu_counters before = {0};
    mlx_array x = make_numbers();
    CHECK_EQ(kiln_compile_unary(&compiled, "order", order, NULL, NULL, false), 0);
    for (int call = 0; call < CALLS; call++) {
        mlx_array res = mlx_array_new();
        if (call == CALLS / 2) before = gpu_counters();
        CHECK_EQ(kiln_call_unary(&res, compiled, x) || mlx_array_eval(res), 0);
        for (int i = 0; i < COUNT; i++) {
            const int number = (i * 37) % COUNT, sum = COUNT * (COUNT - 1) / 2 - number * (number - 1) / 2;
            CHECK_EQ(mlx_array_data_float32(res)[i], (float)(sum + i));
        }
        mlx_array_free(res);
    }
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.host_operations, before.host_operations);
    CHECK_EQ(now.replays - before.replays, CALLS - CALLS / 2);
    CHECK_EQ(now.launches, before.launches);
    mlx_array_free(x), mlx_closure_free(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(rows_are_sorted_and_added_up, set_up),
                                       cmocka_unit_test_setup(repeated_places_take_updates_in_order, set_up),
                                       cmocka_unit_test_setup(indices_out_of_range_are_errors, set_up),
                                       cmocka_unit_test_setup(compiled_calls_are_replayed, set_up)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
