/*
 * test_storage.c - memory of a GPU: an update takes storage over that nobody else holds, and what is freed is kept up
 * to the limit.
 */
#include "gpu_program.h"

static mlx_array zeros(int rows)
{
    mlx_array res = mlx_array_new();
    assert_int_equal(mlx_zeros(&res, (int[]){rows, COLUMNS}, 2, MLX_FLOAT32, gpu), 0);
    assert_int_equal(mlx_array_eval(res), 0);
    return res;
}

/* Launches that writing `update` into the second row of `*x` took. */
static uint64_t launches_of_update(mlx_array *x, mlx_array update)
{
    assert_int_equal(mlx_array_eval(update), 0);
    uint64_t before = gpu_counters().launches;
    assert_int_equal(mlx_slice_update(x, *x, update, (int[]){1, 0}, 2, (int[]){2, COLUMNS}, 2, (int[]){1, 1}, 2, gpu),
                     0);
    assert_int_equal(mlx_array_eval(*x), 0);
    uint64_t launches = gpu_counters().launches - before;
    const float *data = mlx_array_data_float32(*x);
    assert_non_null(data);
    for (int i = 0; i < 3 * COLUMNS; i++) assert_true(data[i] == (i / COLUMNS == 1 ? number_at(i - COLUMNS, 5) : 0));
    return launches;
}

static void an_update_takes_storage_over(void **state)
{
    (void)state;
    mlx_array x = zeros(3), update = make_rows(1, 5), other = mlx_array_new();
    assert_int_equal(launches_of_update(&x, update), 1); /* the update alone */
    mlx_array_free(x);
    x = zeros(3);
    assert_int_equal(mlx_array_set(&other, x), 0);
    assert_int_equal(launches_of_update(&x, update), 2); /* somebody else holds it: a copy first */
    const float *data = mlx_array_data_float32(other);
    assert_non_null(data);
    for (int i = 0; i < 3 * COLUMNS; i++) assert_true(data[i] == 0);
    mlx_array_free(x), mlx_array_free(update), mlx_array_free(other);
}

static size_t cached(void)
{
    size_t bytes = 0;
    assert_int_equal(mlx_get_cache_memory(&bytes), 0);
    return bytes;
}

static void freed_memory_is_kept_up_to_the_limit(void **state)
{
    (void)state;
    const size_t size = 100000 * COLUMNS * sizeof(float);
    size_t limit = 0;
    assert_int_equal(mlx_clear_cache(), 0);
    mlx_array_free(zeros(100000));
    assert_in_range(cached(), size, 2 * size);
    assert_int_equal(mlx_set_cache_limit(&limit, size / 2), 0);
    assert_true(cached() < size);
    mlx_array_free(zeros(100000));
    assert_true(cached() < size);
    assert_int_equal(mlx_set_cache_limit(&limit, limit), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_update_takes_storage_over, set_up),
        cmocka_unit_test_setup(freed_memory_is_kept_up_to_the_limit, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
