/*
 * test_streams.c - work of two streams runs side by side, and in the right order where arrays or memory cross them.
 *
 * On the emulated GPU a stream runs only when somebody waits for it, and then no more of the others than events ask
 * for. So a missing event leaves garbage where a result should be.
 */
#include <pthread.h>

#include "gpu_program.h"

static mlx_stream one, two;

static int set_up_streams(void **state)
{
    const mlx_device device = mlx_device_new_type(MLX_GPU, 0);
    if (!one.ctx) one = mlx_stream_new_device(device);
    if (!two.ctx) two = mlx_stream_new_device(device);
    mlx_device_free(device);
    return set_up(state);
}

/* The chain of gpu_program.h on a stream: x = x - max(x) + 1, three times. */
static mlx_array chain_on(mlx_stream stream, mlx_array x)
{
    mlx_array res = mlx_array_new();
    mlx_stream before = gpu;
    gpu = stream;
    CHECK_EQ(chain(&res, x, NULL), 0);
    gpu = before;
    return res;
}

static mlx_array sum_on(mlx_stream stream, mlx_array a, mlx_array b)
{
    mlx_array res = mlx_array_new();
    CHECK_EQ(mlx_add(&res, a, b, stream), 0);
    return res;
}

/* Begun, and not waited for. */
static void begin(mlx_array array)
{
    mlx_vector_array list = mlx_vector_array_new_value(array);
    CHECK_EQ(mlx_async_eval(list), 0);
    mlx_vector_array_free(list);
}

static void expect_twice_chain(mlx_array twice, int rows, int salt)
{
    mlx_array half = mlx_array_new_float(0.5f), once = mlx_array_new();
    CHECK_EQ(mlx_multiply(&once, twice, half, cpu), 0);
    expect_chain(once, rows, salt);
    mlx_array_free(half), mlx_array_free(once);
}
#define expect_twice_chain(...) CHECK_CALL(expect_twice_chain, __VA_ARGS__)

static void each_stream_gives_its_results(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        mlx_array x = make_rows(3, i), y = make_rows(5, i + 1), a = chain_on(one, x), b = chain_on(two, y);
        begin(a), begin(b);
        expect_chain(b, 5, i + 1);
        expect_chain(a, 3, i);
        mlx_array_free(x), mlx_array_free(y), mlx_array_free(a), mlx_array_free(b);
    }
}

static void a_reader_waits_for_the_writer(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        mlx_array x = make_rows(3, i), made = chain_on(one, x), twice = sum_on(two, made, made);
        mlx_array again = sum_on(gpu, made, made); /* the default stream too */
        begin(made), begin(twice), begin(again);
        expect_twice_chain(twice, 3, i);
        expect_twice_chain(again, 3, i);
        mlx_array_free(x), mlx_array_free(made), mlx_array_free(twice), mlx_array_free(again);
    }
}

static void the_host_waits_for_the_writer(void **state)
{
    (void)state;
    mlx_array x = make_rows(4, 2), made = chain_on(two, x);
    expect_chain(made, 4, 2);
    mlx_array_free(x), mlx_array_free(made);
    x = make_rows(4, 3), made = chain_on(one, x);
    CHECK_EQ(mlx_array_eval(made), 0);
    CHECK_EQ(mlx_synchronize(one), 0);
    expect_chain(made, 4, 3);
    mlx_array_free(x), mlx_array_free(made);
}

/* What stream one made is freed while stream two has yet to read it; stream one makes as much again. */
static void memory_is_not_reused_before_it_was_read(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        mlx_array x = make_rows(6, i), y = make_rows(6, i + 7), made = chain_on(one, x);
        CHECK_EQ(mlx_array_eval(made), 0);
        mlx_array twice = sum_on(two, made, made);
        begin(twice);
        CHECK_EQ(mlx_synchronize(cpu), 0); /* launched, and nothing is waited for on the GPU */
        mlx_array_free(made);
        mlx_array other = chain_on(one, y);
        expect_chain(other, 6, i + 7); /* stream one has run, stream two only as far as it had to */
        expect_twice_chain(twice, 6, i);
        mlx_array_free(x), mlx_array_free(y), mlx_array_free(twice), mlx_array_free(other);
    }
}

/* What stream one makes is freed before it has run; stream two, which runs first, makes as much. */
static void memory_that_another_stream_writes_is_not_taken(void **state)
{
    (void)state;
    mlx_array rows = make_rows(7, 1), others = make_rows(7, 2), x = chain_on(one, rows), y = chain_on(two, others);
    CHECK_EQ(mlx_array_eval(x) || mlx_array_eval(y), 0);
    for (int i = 0; i < 4; i++) {
        mlx_array made = sum_on(one, x, x);
        begin(made);
        CHECK_EQ(mlx_synchronize(cpu), 0);
        mlx_array_free(made);
        mlx_array twice = sum_on(two, y, y);
        begin(twice);
        CHECK_EQ(mlx_synchronize(two) || mlx_synchronize(one), 0);
        expect_twice_chain(twice, 7, 2);
        mlx_array_free(twice);
    }
    mlx_array_free(rows), mlx_array_free(others), mlx_array_free(x), mlx_array_free(y);
}

/* An update takes over the bytes of what another stream reads. */
static void an_update_waits_for_readers(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        mlx_array x = make_rows(6, i), row = make_rows(1, 40), made = chain_on(one, x);
        CHECK_EQ(mlx_array_eval(made) || mlx_array_eval(row), 0);
        mlx_array twice = sum_on(two, made, made);
        begin(twice);
        CHECK_EQ(mlx_synchronize(cpu), 0);
        CHECK_EQ(mlx_slice_update(&made, made, row, (int[]){1, 0}, 2, (int[]){2, COLUMNS}, 2, (int[]){1, 1}, 2, one),
                 0);
        CHECK_EQ(mlx_array_eval(made), 0);
        const float *data = mlx_array_data_float32(made);
        CHECK_NOT_NULL(data);
        for (int k = 0; k < COLUMNS; k++) CHECK_EQ(data[COLUMNS + k], number_at(k, 40));
        expect_twice_chain(twice, 6, i);
        mlx_array_free(x), mlx_array_free(row), mlx_array_free(made), mlx_array_free(twice);
    }
}

/* A compiled function runs on the stream of its operations, also as a graph that is replayed. */
static void compiled_functions_have_streams(void **state)
{
    (void)state;
    mlx_closure compiled = mlx_closure_new();
    mlx_stream before = gpu;
    gpu = one; /* the stream of chain() */
    CHECK_EQ(kiln_compile_unary(&compiled, "chain", chain, NULL, NULL, false), 0);
    for (int i = 0; i < 12; i++) {
        mlx_array x = make_rows(6, i), y = make_rows(6, i + 3), moved = sum_on(two, x, y), made = mlx_array_new();
        CHECK_EQ(mlx_subtract(&moved, moved, y, two), 0); /* x again, by stream two */
        CHECK_EQ(kiln_call_unary(&made, compiled, moved), 0);
        mlx_array twice = sum_on(two, made, made);
        begin(twice);
        CHECK_EQ(mlx_synchronize(cpu), 0);
        mlx_array_free(made);
        CHECK_EQ(kiln_call_unary(&moved, compiled, y), 0); /* where the result before lay, while it is read */
        expect_chain(moved, 6, i + 3);
        expect_twice_chain(twice, 6, i);
        mlx_array_free(x), mlx_array_free(y), mlx_array_free(moved), mlx_array_free(twice);
    }
    CHECK_GT(gpu_counters().replays, 0);
    gpu = before;
    mlx_closure_free(compiled);
}

/* Two streams that work on arrays of their own need no event. */
static void streams_do_not_wait_for_each_other(void **state)
{
    (void)state;
    mlx_array x = make_rows(3, 1), y = make_rows(3, 2);
    CHECK_EQ(mlx_array_eval(x) || mlx_array_eval(y), 0);
    mlx_array warm = chain_on(one, x), also = chain_on(two, y);
    expect_chain(warm, 3, 1);
    expect_chain(also, 3, 2);
    setenv("KILN_TEST_CUDA_FAIL", "event_record:1+", 1);
    for (int i = 0; i < 3; i++) {
        mlx_array a = chain_on(one, warm), b = chain_on(two, also);
        begin(a), begin(b);
        CHECK_EQ(mlx_synchronize(one) || mlx_synchronize(two), 0);
        mlx_array_free(a), mlx_array_free(b);
    }
    unsetenv("KILN_TEST_CUDA_FAIL");
    mlx_array_free(x), mlx_array_free(y), mlx_array_free(warm), mlx_array_free(also);
}

enum { ROUNDS = 30 };

static void *work_on(void *context)
{
    mlx_stream stream = *(mlx_stream *)context;
    mlx_set_default_stream(stream);
    mlx_stream mine = mlx_stream_new();
    mlx_device device = mlx_device_new_type(MLX_GPU, 0);
    size_t wrong = mlx_get_default_stream(&mine, device) || !mlx_stream_equal(mine, stream);
    for (int i = 0; i < ROUNDS; i++) {
        mlx_array x = make_rows(3, i), res = mlx_array_new(), one_more = mlx_array_new_float(1);
        wrong += mlx_add(&res, x, one_more, mine) != 0;
        wrong += mlx_multiply(&res, res, res, mine) != 0 || mlx_array_eval(res) != 0;
        const float *data = mlx_array_data_float32(res);
        for (int k = 0; data && k < 3 * COLUMNS; k++) wrong += data[k] != (number_at(k, i) + 1) * (number_at(k, i) + 1);
        wrong += !data;
        mlx_array_free(x), mlx_array_free(res), mlx_array_free(one_more);
    }
    mlx_stream_free(mine), mlx_device_free(device);
    return (void *)(uintptr_t)wrong;
}

static void each_thread_has_its_default_stream(void **state)
{
    (void)state;
    pthread_t threads[2];
    void *wrong;
    CHECK_EQ(pthread_create(&threads[0], NULL, work_on, &one), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, work_on, &two), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pthread_join(threads[i], &wrong), 0);
        CHECK_EQ((uintptr_t)wrong, 0);
    }
}

int main(int count, char **words)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_stream_gives_its_results, set_up_streams),
        cmocka_unit_test_setup(a_reader_waits_for_the_writer, set_up_streams),
        cmocka_unit_test_setup(the_host_waits_for_the_writer, set_up_streams),
        cmocka_unit_test_setup(memory_is_not_reused_before_it_was_read, set_up_streams),
        cmocka_unit_test_setup(memory_that_another_stream_writes_is_not_taken, set_up_streams),
        cmocka_unit_test_setup(an_update_waits_for_readers, set_up_streams),
        cmocka_unit_test_setup(compiled_functions_have_streams, set_up_streams),
        cmocka_unit_test_setup(streams_do_not_wait_for_each_other, set_up_streams),
        cmocka_unit_test_setup(each_thread_has_its_default_stream, set_up_streams),
    };
    if (count > 1) cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
