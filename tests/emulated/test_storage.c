/*
 * test_storage.c - memory of a GPU: an update takes storage over that nobody else holds, what is freed is kept up to
 * the limit, and of a view no more is copied to the host than it shows.
 */
#include "gpu_program.h"

static mlx_array zeros(int rows)
{
    mlx_array res = mlx_array_new();
    CHECK_EQ(mlx_zeros(&res, (int[]){rows, COLUMNS}, 2, MLX_FLOAT32, gpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    return res;
}

/* Launches that writing `update` into the second row of `*x` took. */
static uint64_t launches_of_update(mlx_array *x, mlx_array update)
{
    CHECK_EQ(mlx_array_eval(update), 0);
    uint64_t before = gpu_counters().launches;
    CHECK_EQ(mlx_slice_update(x, *x, update, (int[]){1, 0}, 2, (int[]){2, COLUMNS}, 2, (int[]){1, 1}, 2, gpu), 0);
    CHECK_EQ(mlx_array_eval(*x), 0);
    uint64_t launches = gpu_counters().launches - before;
    const float *data = mlx_array_data_float32(*x);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < 3 * COLUMNS; i++) CHECK_EQ(data[i], (i / COLUMNS == 1 ? number_at(i - COLUMNS, 5) : 0));
    return launches;
}

static void an_update_takes_storage_over(void **state)
{
    (void)state;
    mlx_array x = zeros(3), update = make_rows(1, 5), other = mlx_array_new();
    CHECK_EQ(launches_of_update(&x, update), 1); /* the update alone */
    CHECK_EQ(launches_of_update(&x, update), 1); /* though the host has read it */
    mlx_array_free(x);
    x = zeros(3);
    CHECK_EQ(mlx_array_set(&other, x), 0);
    CHECK_EQ(launches_of_update(&x, update), 2); /* somebody else holds it: a copy first */
    const float *data = mlx_array_data_float32(other);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < 3 * COLUMNS; i++) CHECK_EQ(data[i], 0);
    mlx_array_free(x), mlx_array_free(update), mlx_array_free(other);
}

/* Rows `first` to before `stop` of x, in steps. */
static mlx_array rows_of(mlx_array x, int first, int stop, int step)
{
    mlx_array res = mlx_array_new();
    int code = mlx_slice(&res, x, (int[]){first, 0}, 2, (int[]){stop, COLUMNS}, 2, (int[]){step, 1}, 2, gpu);
    CHECK_EQ(code || mlx_array_eval(res), 0);
    return res;
}

static void expect_rows(mlx_array view, int first, int rows, int step)
{
    const float *data = mlx_array_data_float32(view);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < COLUMNS; k++)
            CHECK_EQ(data[i * step * COLUMNS + k], number_at((first + i * step) * COLUMNS + k, 3));
    CHECK_EQ(mlx_array_data_float32(view), data);
}
#define expect_rows(...) CHECK_CALL(expect_rows, __VA_ARGS__)

/* Every way to look at it copies the view's rows and what lies between them. */
static void of_a_view_only_that_is_copied(void **state)
{
    (void)state;
    enum { ROWS = 1000, ROW = COLUMNS * sizeof(float) };
    float item = 0;
    mlx_string text = mlx_string_new();
    mlx_array host = make_rows(ROWS, 3), x = mlx_array_new(), one = mlx_array_new();
    CHECK_EQ(mlx_copy(&x, host, gpu) || mlx_contiguous(&x, x, false, gpu) || mlx_array_eval(x), 0);
    mlx_array up = rows_of(x, 990, 992, 1), down = rows_of(x, 500, 494, -2);
    uint64_t before = gpu_counters().bytes_to_host;
    expect_rows(up, 990, 2, 1);
    CHECK_EQ(gpu_counters().bytes_to_host - before, 2 * ROW);
    expect_rows(down, 500, 3, -2);
    CHECK_EQ(gpu_counters().bytes_to_host - before, 7 * ROW);
    mlx_array_free(up), up = rows_of(x, 990, 992, 1);
    CHECK_EQ(mlx_array_tostring(&text, up), 0);
    CHECK_EQ(gpu_counters().bytes_to_host - before, 9 * ROW);
    CHECK_EQ(mlx_slice(&one, x, (int[]){7, 2}, 2, (int[]){8, 3}, 2, (int[]){1, 1}, 2, gpu), 0);
    CHECK_EQ(mlx_array_item_float32(&item, one), 0);
    CHECK_EQ(item, number_at(7 * COLUMNS + 2, 3));
    CHECK_EQ(gpu_counters().bytes_to_host - before, 9 * ROW + sizeof item);
    mlx_array last = rows_of(x, ROWS - 1, ROWS, 1);
    /* Without a kernel for GPUs: */
    CHECK_EQ(mlx_fft_rfft(&one, last, COLUMNS, 1, MLX_FFT_NORM_BACKWARD, gpu) || mlx_array_eval(one), 0);
    CHECK_EQ(gpu_counters().bytes_to_host - before, 10 * ROW + sizeof item);
    mlx_array all = rows_of(x, 1, ROWS, 1); /* nearly everything: the storage is copied, and that is kept */
    expect_rows(all, 1, ROWS - 1, 1);
    mlx_array_free(all), all = rows_of(x, 2, 4, 1);
    expect_rows(all, 2, 2, 1);
    CHECK_EQ(gpu_counters().bytes_to_host - before, (10 + ROWS) * ROW + sizeof item);
    mlx_array_free(last), mlx_array_free(all), mlx_array_free(up), mlx_array_free(down), mlx_array_free(one),
        mlx_array_free(x);
    mlx_array_free(host), mlx_string_free(text);
}

static size_t cached(void)
{
    size_t bytes = 0;
    CHECK_EQ(mlx_get_cache_memory(&bytes), 0);
    return bytes;
}

static void freed_memory_is_kept_up_to_the_limit(void **state)
{
    (void)state;
    const size_t size = 100000 * COLUMNS * sizeof(float);
    size_t limit = 0;
    CHECK_EQ(mlx_clear_cache(), 0);
    mlx_array_free(zeros(100000));
    CHECK_BETWEEN(cached(), size, 2 * size);
    CHECK_EQ(mlx_set_cache_limit(&limit, size / 2), 0);
    CHECK_LT(cached(), size);
    mlx_array_free(zeros(100000));
    CHECK_LT(cached(), size);
    CHECK_EQ(mlx_set_cache_limit(&limit, limit), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_update_takes_storage_over, set_up),
        cmocka_unit_test_setup(of_a_view_only_that_is_copied, set_up),
        cmocka_unit_test_setup(freed_memory_is_kept_up_to_the_limit, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
