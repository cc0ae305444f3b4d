/*
 * test_mlxc_memory.c - where bytes are and how long: views share them, nothing stays behind, handles may be freed while
 * they are evaluated, a slice is written in place when nobody else looks, and a chain is as long as memory allows.
 *
 * What is allocated is read from the counters of the library: they count payload bytes, so the numbers are exact.
 */
#include <pthread.h>

#include "support/arrays.h"

#define LIST(...) ((const int[]){__VA_ARGS__})

enum { SIDE = 512, BYTES = SIDE * SIDE * 4 };

static size_t active(void)
{
    size_t bytes = 0;
    expect_ok(mlx_get_active_memory(&bytes), "active memory");
    return bytes;
}

static size_t peak(void)
{
    size_t bytes = 0;
    expect_ok(mlx_get_peak_memory(&bytes), "peak memory");
    return bytes;
}

/* Evaluated, of SIDE x SIDE floats. */
static mlx_array square(void)
{
    mlx_array array = mlx_array_new();
    expect_ok(mlx_arange(&array, 0, SIDE * SIDE, 1, MLX_FLOAT32, stream), "arange");
    expect_ok(mlx_reshape(&array, array, LIST(SIDE, SIDE), 2, stream), "reshape");
    expect_ok(mlx_array_eval(array), "eval");
    return array;
}

/* ---- views --------------------------------------------------------------------------------------------------------
 */

static int take_rows(mlx_array *res, mlx_array a)
{
    return mlx_slice(res, a, LIST(7, 0), 2, LIST(SIDE, SIDE), 2, LIST(3, 1), 2, stream);
}

static int go_back(mlx_array *res, mlx_array a)
{
    return mlx_slice(res, a, LIST(SIDE - 1, 0), 2, LIST(-SIDE - 1, SIDE), 2, LIST(-1, 1), 2, stream);
}

static int turn(mlx_array *res, mlx_array a)
{
    return mlx_transpose(res, a, stream);
}

static int fold(mlx_array *res, mlx_array a)
{
    return mlx_reshape(res, a, LIST(SIDE / 2, 2, SIDE), 3, stream);
}

static int repeat_all(mlx_array *res, mlx_array a)
{
    return mlx_broadcast_to(res, a, LIST(9, SIDE, SIDE), 3, stream);
}

static int add_axis(mlx_array *res, mlx_array a)
{
    return mlx_expand_dims(res, a, 1, stream);
}

static int swap(mlx_array *res, mlx_array a)
{
    return mlx_swapaxes(res, a, 0, 1, stream);
}

static int cast_to_itself(mlx_array *res, mlx_array a)
{
    return mlx_astype(res, a, MLX_FLOAT32, stream);
}

static const struct view {
    const char *name;
    int (*make)(mlx_array *res, mlx_array a);
    int first; /* element of the square that is the first of the view */
} views[] = {
    {"slice", take_rows, 7 * SIDE},  {"reversed slice", go_back, (SIDE - 1) * SIDE},
    {"transpose", turn, 0},          {"reshape", fold, 0},
    {"broadcast_to", repeat_all, 0}, {"expand_dims", add_axis, 0},
    {"swapaxes", swap, 0},           {"astype to itself", cast_to_itself, 0},
};

/* Each points into the square, allocates nothing, and keeps the square's bytes after its handle is gone. */
static void test_views_share_storage(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        size_t before = active();
        mlx_array base = square(), view = mlx_array_new();
        expect_ok(views[i].make(&view, base), views[i].name);
        mlx_reset_peak_memory();
        expect_ok(mlx_array_eval(view), views[i].name);
        const float *data = mlx_array_data_float32(view);
        if (data != mlx_array_data_float32(base) + views[i].first) CHECK_FAIL("%s has bytes of its own", views[i].name);
        if (peak() > before + BYTES) CHECK_FAIL("%s allocated %zu bytes", views[i].name, peak() - before - BYTES);
        mlx_array_free(base);
        CHECK_EQ(active(), before + BYTES);
        CHECK_EQ(data[0], (float)views[i].first);
        mlx_array_free(view);
        CHECK_EQ(active(), before);
    }
}

/* ---- nothing stays ------------------------------------------------------------------------------------------------
 */

static void test_everything_is_released(void **state)
{
    (void)state;
    size_t before = active();
    for (int i = 0; i < 20; i++) {
        mlx_array a = square(), b = mlx_array_new(), c = mlx_array_new();
        expect_ok(mlx_multiply(&b, a, a, stream) || mlx_sum_axis(&c, b, 0, false, stream) ||
                      mlx_add(&b, b, c, stream) || mlx_sort(&c, b, stream),
                  "operations");
        if (i % 2) expect_ok(mlx_array_eval(c), "eval"); /* every second graph is never evaluated */
        mlx_array_free(a), mlx_array_free(b), mlx_array_free(c);
        CHECK_EQ(active(), before);
    }
    size_t cached = 1;
    expect_ok(mlx_clear_cache() || mlx_get_cache_memory(&cached), "clear_cache");
    CHECK_EQ(cached, 0);
}

/* ---- handles that go while their evaluation runs ------------------------------------------------------------------
 */

enum { THREADS = 4, ROUNDS = 40 };

static pthread_barrier_t barrier;

struct shared {
    mlx_array handles[THREADS]; /* of one lazy array, one for each thread */
    bool evaluates[THREADS];
    float last[THREADS];
};

struct worker {
    struct shared *shared;
    int number;
};

/* All at once: half evaluate and read, half free theirs. */
static void *work(void *data)
{
    struct worker *worker = data;
    struct shared *shared = worker->shared;
    int number = worker->number;
    pthread_barrier_wait(&barrier);
    if (shared->evaluates[number] && !mlx_array_eval(shared->handles[number]))
        shared->last[number] = mlx_array_data_float32(shared->handles[number])[SIDE * SIDE - 1];
    mlx_array_free(shared->handles[number]);
    return NULL;
}

static void run_round(int round)
{
    struct shared shared = {0};
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    mlx_array a = square(), lazy = mlx_array_new();
    expect_ok(mlx_add(&lazy, a, a, stream), "add");
    for (int i = 0; i < 6; i++)
        expect_ok(mlx_subtract(&lazy, lazy, a, stream) || mlx_add(&lazy, lazy, a, stream), "add");
    for (int i = 0; i < THREADS; i++) {
        expect_ok(mlx_array_set(&shared.handles[i], lazy), "set");
        shared.evaluates[i] = (i + round) % 2;
        workers[i] = (struct worker){&shared, i};
    }
    mlx_array_free(a), mlx_array_free(lazy);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (shared.evaluates[i]) CHECK_EQ(shared.last[i], 2.0f * (SIDE * SIDE - 1));
}

static void test_freed_while_evaluated(void **state)
{
    (void)state;
    size_t before = active();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int round = 0; round < ROUNDS; round++) run_round(round);
    pthread_barrier_destroy(&barrier);
    CHECK_EQ(active(), before);
}

/* Handles of inputs and results go right after the work was started; nobody waits for it. */
static void test_freed_after_async_eval(void **state)
{
    (void)state;
    size_t before = active();
    for (int i = 0; i < ROUNDS; i++) {
        mlx_array a = square(), b = mlx_array_new();
        expect_ok(mlx_multiply(&b, a, a, stream) || mlx_sort(&b, b, stream), "operations");
        mlx_vector_array list = mlx_vector_array_new_value(b);
        expect_ok(mlx_async_eval(list), "async_eval");
        mlx_array_free(a), mlx_array_free(b), mlx_vector_array_free(list);
    }
    expect_ok(mlx_synchronize(stream), "synchronize");
    CHECK_EQ(active(), before);
}

/* ---- slice_update -------------------------------------------------------------------------------------------------
 */

/* A row of zeros into row `row`; the peak over what is there before the evaluation. */
static size_t growth_of_update(mlx_array *array, int row)
{
    mlx_array zeros = mlx_array_new();
    expect_ok(mlx_zeros(&zeros, LIST(1, SIDE), 2, MLX_FLOAT32, stream) || mlx_array_eval(zeros), "zeros");
    expect_ok(mlx_slice_update(array, *array, zeros, LIST(row, 0), 2, LIST(row + 1, SIDE), 2, LIST(1, 1), 2, stream),
              "slice_update");
    mlx_reset_peak_memory();
    size_t before = active();
    expect_ok(mlx_array_eval(*array), "eval");
    size_t most = peak();
    mlx_array_free(zeros);
    return most > before ? most - before : 0;
}

static void test_update_in_place(void **state)
{
    (void)state;
    size_t before = active();
    mlx_array array = square(), other = mlx_array_new();
    for (int row = 0; row < 8; row++)
        if (growth_of_update(&array, row) >= BYTES) CHECK_FAIL("row %d was written into a copy", row);
    expect_ok(mlx_array_set(&other, array), "set");
    CHECK_GE(growth_of_update(&array, 8), BYTES); /* somebody else looks: a copy */
    CHECK_EQ(mlx_array_data_float32(other)[8 * SIDE + 1], 8 * SIDE + 1);
    CHECK_EQ(mlx_array_data_float32(array)[8 * SIDE + 1], 0);
    mlx_array_free(other);
    other = mlx_array_new();
    expect_ok(mlx_transpose(&other, array, stream) || mlx_array_eval(other), "transpose");
    CHECK_GE(growth_of_update(&array, 9), BYTES); /* a view looks, too */
    CHECK_EQ(mlx_array_data_float32(other)[9 * SIDE + 1], 9 * SIDE + 1);
    mlx_array_free(other);
    CHECK_LT(growth_of_update(&array, 10), BYTES); /* nobody any more */
    mlx_array_free(array);
    CHECK_EQ(active(), before);
}

/* ---- outputs of kernels -------------------------------------------------------------------------------------------
 */

/* A kernel whose output may lie where x does: exp(x), or that divided by its rows' sums. */
static int grow(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const bool *with_rows = payload;
    mlx_array x = mlx_array_new(), total = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || mlx_exp(&x, x, stream);
    if (!code && *with_rows) code = mlx_sum_axis(&total, x, -1, true, stream) || mlx_divide(&x, x, total, stream);
    if (!code) code = mlx_vector_array_set_value(res, x);
    mlx_array_free(x), mlx_array_free(total);
    return code;
}

/* The peak of a call whose input is not there yet and nobody else's, or held. */
static size_t growth_of_call(bool with_rows, bool is_held)
{
    mlx_array ready = square(), x = mlx_array_new(), res = mlx_array_new(), yes = mlx_array_new_bool(true);
    mlx_closure plain = mlx_closure_new_func_payload(grow, &with_rows, NULL), compiled = mlx_closure_new();
    mlx_vector_array out = mlx_vector_array_new();
    expect_ok(mlx_where(&x, yes, ready, ready, stream) || mlx_compile(&compiled, plain, false), "compile");
    mlx_vector_array in = mlx_vector_array_new_value(x);
    if (!is_held) mlx_array_free(x);
    expect_ok(mlx_closure_apply(&out, compiled, in) || mlx_vector_array_get(&res, out, 0), "call");
    mlx_vector_array_free(in), mlx_vector_array_free(out);
    mlx_reset_peak_memory();
    size_t before = active();
    expect_ok(mlx_array_eval(res), "eval");
    size_t growth = peak() - before;
    if (is_held) mlx_array_free(x);
    mlx_array_free(ready), mlx_array_free(res), mlx_array_free(yes);
    mlx_closure_free(plain), mlx_closure_free(compiled);
    return growth;
}

static void test_outputs_take_what_nobody_reads(void **state)
{
    (void)state;
    size_t before = active();
    for (int with_rows = 0; with_rows < 2; with_rows++) {
        CHECK_LT(growth_of_call(with_rows, false), 2 * BYTES);
        CHECK_GE(growth_of_call(with_rows, true), 2 * BYTES);
    }
    CHECK_EQ(active(), before);
}

/* ---- a long chain -------------------------------------------------------------------------------------------------
 */

enum { LINKS = 1000000 };

static mlx_array chain(void)
{
    float values[4] = {0, 1, 2, 3};
    int count = 4;
    mlx_array one = mlx_array_new_float(1), x = mlx_array_new_data(values, &count, 1, MLX_FLOAT32);
    for (int i = 0; i < LINKS; i++)
        if (i % 2 ? mlx_negative(&x, x, stream) : mlx_add(&x, x, one, stream)) CHECK_FAIL("link %d: %s", i, error_text);
    mlx_array_free(one);
    return x;
}

/* -(x + 1), half a million times: x. On a thread with a small stack: nothing recurses along the chain. */
static void *evaluate_chain(void *unused)
{
    mlx_array x = chain();
    bool right = !mlx_array_eval(x);
    for (int i = 0; right && i < 4; i++) right = mlx_array_data_float32(x)[i] == (float)i;
    mlx_array_free(x);
    mlx_array_free(chain()); /* and one that is never evaluated */
    return right ? unused : NULL;
}

static void test_a_million_operations(void **state)
{
    pthread_attr_t small;
    pthread_t thread;
    void *result;
    size_t before = active();
    int good;
    (void)state;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    CHECK_EQ(pthread_create(&thread, &small, evaluate_chain, &good), 0);
    pthread_join(thread, &result);
    pthread_attr_destroy(&small);
    CHECK_EQ(result, &good);
    CHECK_EQ(active(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_views_share_storage, set_up),
        cmocka_unit_test_setup(test_everything_is_released, set_up),
        cmocka_unit_test_setup(test_freed_while_evaluated, set_up),
        cmocka_unit_test_setup(test_freed_after_async_eval, set_up),
        cmocka_unit_test_setup(test_update_in_place, set_up),
        cmocka_unit_test_setup(test_outputs_take_what_nobody_reads, set_up),
        cmocka_unit_test_setup(test_a_million_operations, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
