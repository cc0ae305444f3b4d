/*
 * test_mlxc_async.c - what mlx_async_eval promises: results that were asked for together are there together, and
 * reading an array whose evaluation is under way waits for it.
 *
 * Races are run many times and counted. Where the order matters, a reader of the test's own holds an evaluation until
 * it is let go.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/arrays.h"

enum { ROUNDS = 200, VOCABULARY = 4096, THREADS = 4 };

static void start(const mlx_array *arrays, size_t count)
{
    mlx_vector_array list = mlx_vector_array_new_data(arrays, count);
    expect_ok(mlx_async_eval(list), "async_eval");
    mlx_vector_array_free(list);
}
#define start(...) CHECK_CALL(start, __VA_ARGS__)

static void free_all(mlx_array *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) mlx_array_free(arrays[i]);
}

/* The last call failed once, with a text that contains `part`. */
static void expect_failure(const char *part, const char *what)
{
    if (error_count != 1 || !strstr(error_text, part))
        CHECK_FAIL("%s: expected one error with \"%s\", got %d: \"%s\"", what, part, error_count, error_text);
    error_count = 0;
    error_text[0] = '\0';
}
#define expect_failure(...) CHECK_CALL(expect_failure, __VA_ARGS__)

/* ---- a token and its probability ----------------------------------------------------------------------------------
 */

/* Logits whose largest is element `best`; the token, and the logarithm of each probability. */
static int draw(const mlx_array *inputs, int count, mlx_array *outputs, const void *unused)
{
    mlx_array total = mlx_array_new();
    (void)count, (void)unused;
    int code = mlx_argmax(&outputs[0], inputs[0], false, stream) || mlx_logsumexp(&total, inputs[0], false, stream) ||
               mlx_subtract(&outputs[1], inputs[0], total, stream);
    mlx_array_free(total);
    return code;
}

static mlx_array make_logits(int best)
{
    static _Thread_local float values[VOCABULARY];
    int count = VOCABULARY;
    memset(values, 0, sizeof values);
    values[best] = 20;
    return mlx_array_new_data(values, &count, 1, MLX_FLOAT32);
}

/* What went wrong, if anything: the token is read first, then the other one without evaluating it. */
static const char *read_drawn(const mlx_array *drawn, int best)
{
    uint32_t token = 0;
    bool is_there = false;
    if (mlx_array_item_uint32(&token, drawn[0])) return "item of the token failed";
    if (token != (uint32_t)best) return "the token is wrong";
    if (_mlx_array_is_available(&is_there, drawn[1]) || !is_there) return "the probability is not there yet";
    const float *logprobs = mlx_array_data_float32(drawn[1]);
    if (!logprobs) return "the data of the probability is NULL";
    return logprobs[best] > -0.001f && logprobs[best] <= 0 && logprobs[!best] < -19 ? NULL : "a probability is wrong";
}

static void report_rounds(int failed, const char *last, const char *what)
{
    if (failed) CHECK_FAIL("%s: %d of %d rounds failed, the last one: %s; %s", what, failed, ROUNDS, last, error_text);
}
#define report_rounds(...) CHECK_CALL(report_rounds, __VA_ARGS__)

static void a_token_then_its_probability(void **state)
{
    const char *last = NULL;
    int failed = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        mlx_array logits = make_logits(round), drawn[2] = {{0}};
        expect_ok(draw(&logits, 1, drawn, NULL), "draw");
        start(drawn, 2);
        const char *found = read_drawn(drawn, round);
        if (found) last = found, failed++;
        error_count = 0;
        mlx_array_free(logits), free_all(drawn, 2);
    }
    report_rounds(failed, last, "item, then data");
}

/* Both outputs are those of one plan. */
static void the_same_compiled(void **state)
{
    struct traced_call call = {draw, NULL, 2, 0};
    mlx_closure compiled = compile_call(&call, false);
    const char *last = NULL;
    int failed = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        mlx_array logits = make_logits(round), drawn[2];
        apply_compiled(compiled, &logits, 1, drawn, 2, "draw");
        start(drawn, 2);
        const char *found = read_drawn(drawn, round);
        if (found) last = found, failed++;
        error_count = 0;
        mlx_array_free(logits), free_all(drawn, 2);
    }
    mlx_closure_free(compiled);
    report_rounds(failed, last, "item, then data, compiled");
}

/* ---- reading at once -----------------------------------------------------------------------------------------------
 */

/* Nobody waited before; the array in the middle was not asked for by itself. */
static void data_waits(void **state)
{
    int missing = 0, wrong = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        mlx_array logits = make_logits(round), middle = mlx_array_new(), end = mlx_array_new();
        expect_ok(mlx_add(&middle, logits, logits, stream) || mlx_cumsum(&end, middle, 0, false, true, stream), "sums");
        start(&end, 1);
        const float *last = mlx_array_data_float32(round % 2 ? end : middle);
        missing += !last;
        wrong += last && last[round % 2 ? VOCABULARY - 1 : round] != 40;
        mlx_array_free(logits), mlx_array_free(middle), mlx_array_free(end);
        error_count = 0;
    }
    if (missing || wrong) CHECK_FAIL("of %d rounds %d had no data, %d wrong data", ROUNDS, missing, wrong);
}

static void strides_and_layout_wait(void **state)
{
    const int shape[] = {64, VOCABULARY / 64};
    int failed = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        bool is_packed = true, is_column = false;
        mlx_array a = make_logits(round), turned = mlx_array_new();
        expect_ok(mlx_exp(&a, a, stream) || mlx_reshape(&a, a, shape, 2, stream), "reshape");
        expect_ok(mlx_transpose(&turned, a, stream), "transpose");
        start(&turned, 1);
        failed += round % 2 ? mlx_array_strides(turned)[0] != 1
                            : _mlx_array_is_row_contiguous(&is_packed, turned) ||
                                  _mlx_array_is_col_contiguous(&is_column, turned) || is_packed || !is_column;
        mlx_array_free(a), mlx_array_free(turned);
        error_count = 0;
    }
    if (failed) CHECK_FAIL("%d of %d rounds: %s", failed, ROUNDS, error_text);
}

/* Two lists that share arrays: the second one begins with what the first one makes. */
static void lists_that_overlap(void **state)
{
    int failed = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        mlx_array x = make_logits(round), all[3] = {{0}};
        expect_ok(mlx_add(&all[0], x, x, stream) || mlx_add(&all[1], all[0], x, stream) ||
                      mlx_add(&all[2], all[1], all[0], stream),
                  "sums");
        start(all, 2);
        start(all + 1, 2);
        for (int i = 0; i < 3; i++) {
            const float *data = mlx_array_data_float32(all[(i + round) % 3]);
            failed += !data || data[round] != (float[]){40, 60, 100}[(i + round) % 3];
        }
        mlx_array_free(x), free_all(all, 3);
        error_count = 0;
    }
    if (failed) CHECK_FAIL("%d of %d reads: %s", failed, 3 * ROUNDS, error_text);
}

/* An array that nobody asked for has no data, and the text says what to do. */
static void nobody_asked(void **state)
{
    mlx_array x = make_logits(1), lazy = mlx_array_new(), other = mlx_array_new();
    (void)state;
    expect_ok(mlx_add(&lazy, x, x, stream) || mlx_negative(&other, x, stream), "sums");
    start(&other, 1);
    CHECK_NULL(mlx_array_data_float32(lazy));
    expect_failure("[data] the array is not evaluated; call mlx_eval", "data of a lazy array");
    mlx_array_free(x), mlx_array_free(lazy), mlx_array_free(other);
}

/* ---- several threads -----------------------------------------------------------------------------------------------
 */

static mlx_array shared_total;
static _Atomic int thread_failures;

/* Each asks for its own list, which begins with an array that all of them share. */
static void *draw_on_a_thread(void *number)
{
    int mine = (int)(intptr_t)number;
    mlx_set_error_handler(remember_error, NULL, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        mlx_array logits = make_logits(mine * ROUNDS + round), drawn[3] = {{0}};
        bool is_wrong = draw(&logits, 1, drawn, NULL) || mlx_add(&drawn[2], drawn[1], shared_total, stream);
        mlx_vector_array list = mlx_vector_array_new_data(drawn, 3);
        is_wrong = is_wrong || mlx_async_eval(list) || read_drawn(drawn, mine * ROUNDS + round);
        const float *sum = is_wrong ? NULL : mlx_array_data_float32(drawn[2]);
        is_wrong = is_wrong || !sum || sum[mine * ROUNDS + round] < 1.999f;
        if (is_wrong) thread_failures++;
        mlx_vector_array_free(list), mlx_array_free(logits), free_all(drawn, 3);
    }
    return NULL;
}

static void several_threads(void **state)
{
    pthread_t threads[THREADS];
    mlx_array one = mlx_array_new_float(1);
    (void)state;
    shared_total = mlx_array_new();
    expect_ok(mlx_add(&shared_total, one, one, stream), "add");
    mlx_array_free(one);
    for (intptr_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, draw_on_a_thread, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    mlx_array_free(shared_total);
    if (thread_failures) CHECK_FAIL("%d of %d rounds failed", thread_failures, THREADS * ROUNDS);
}

/* ---- failures ------------------------------------------------------------------------------------------------------
 */

/* An index out of range is noticed when it is evaluated: item and data say so; what was asked for with it is there. */
static void a_failure_among_others(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        mlx_array x = make_logits(1), index = mlx_array_new_int(VOCABULARY), all[3] = {{0}};
        float value;
        expect_ok(mlx_take(&all[0], x, index, stream) || mlx_negative(&all[1], all[0], stream) ||
                      mlx_negative(&all[2], x, stream),
                  "operations");
        start(all, 3);
        CHECK_NULL(mlx_array_data_float32(all[1]));
        expect_failure("out of range", "data of what needs it");
        CHECK_NULL(mlx_array_data_float32(all[0]));
        expect_failure("out of range", "data of what failed");
        CHECK_EQ(mlx_array_item_float32(&value, all[0]), 1);
        expect_failure("out of range", "item of what failed");
        CHECK_EQ(mlx_array_item_float32(&value, all[1]), 1);
        expect_failure("out of range", "item of what needs it");
        const float *data = mlx_array_data_float32(all[2]);
        expect_ok(!data || data[1] != -20, "what does not need it");
        mlx_array_free(x), mlx_array_free(index), free_all(all, 3);
    }
}

/* ---- an evaluation that is held ------------------------------------------------------------------------------------
 */

static char file[1024];
static size_t file_size, file_at;
static _Atomic int reads_begun, reads_done;
static _Atomic bool is_held;

static bool is_fine(void *unused)
{
    (void)unused;
    return true;
}

static size_t tell(void *unused)
{
    (void)unused;
    return file_at;
}

static void seek(void *unused, int64_t offset, int whence)
{
    (void)unused;
    file_at = (size_t)offset + (whence == SEEK_END ? file_size : whence == SEEK_CUR ? file_at : 0);
}

static void read_next(void *unused, char *data, size_t n)
{
    (void)unused;
    memcpy(data, file + file_at, n);
    file_at += n;
}

/* The data of an array, when it is evaluated: not before the test lets go. */
static void read_held(void *unused, char *data, size_t n, size_t offset)
{
    (void)unused;
    reads_begun++;
    while (is_held) usleep(100);
    memcpy(data, file + offset, n);
    reads_done++;
}

static mlx_array load_held(void)
{
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    static const mlx_io_vtable table = {is_fine, is_fine, tell, seek, read_next, read_held, NULL, NULL, NULL};
    const float seven = 7;
    mlx_map_string_to_array arrays = {0};
    mlx_map_string_to_string texts = {0};
    mlx_array loaded = mlx_array_new();
    memset(file, 0, sizeof file);
    file[0] = sizeof header - 1;
    memcpy(file + 8, header, sizeof header - 1);
    memcpy(file + 8 + sizeof header - 1, &seven, sizeof seven);
    file_size = 8 + sizeof header - 1 + sizeof seven;
    file_at = 0;
    reads_begun = reads_done = 0;
    is_held = true;
    mlx_io_reader reader = mlx_io_reader_new(NULL, table);
    expect_ok(mlx_load_safetensors_reader(&arrays, &texts, reader, stream), "load");
    expect_ok(mlx_map_string_to_array_get(&loaded, arrays, "a"), "get");
    mlx_map_string_to_array_free(arrays), mlx_map_string_to_string_free(texts), mlx_io_reader_free(reader);
    return loaded;
}

struct waiting {
    mlx_array array;
    _Atomic bool begins;
    bool reads_data, was_done, is_right;
    float wanted;
};

static void *wait_for_array(void *context)
{
    struct waiting *waiting = context;
    float value = 0;
    mlx_set_error_handler(remember_error, NULL, NULL);
    waiting->begins = true;
    if (waiting->reads_data) {
        const float *data = mlx_array_data_float32(waiting->array);
        value = data ? *data : 0;
    } else {
        mlx_array_item_float32(&value, waiting->array);
    }
    waiting->was_done = reads_done == 1;
    waiting->is_right = value == waiting->wanted;
    return NULL;
}

static void let_go_when_waiting(struct waiting *waiting, int count)
{
    pthread_t threads[4];
    while (!reads_begun) usleep(100);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, wait_for_array, &waiting[i]), 0);
        while (!waiting[i].begins) usleep(100);
    }
    usleep(20000); /* who does not wait is done by then, and is found out */
    is_held = false;
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++) {
        if (!waiting[i].was_done) CHECK_FAIL("waiter %d did not wait", i);
        if (!waiting[i].is_right) CHECK_FAIL("waiter %d got a wrong value", i);
    }
}
#define let_go_when_waiting(...) CHECK_CALL(let_go_when_waiting, __VA_ARGS__)

/* The first of the list is soon ready; who waits for it waits for the others, since they were asked for together. */
static void together(void **state)
{
    mlx_array one = mlx_array_new_float(1), list[3] = {{0}};
    (void)state;
    list[1] = load_held();
    expect_ok(mlx_add(&list[0], one, one, stream) || mlx_add(&list[2], list[1], one, stream), "add");
    start(list, 3);
    struct waiting waiting[] = {{.array = list[0], .wanted = 2},
                                {.array = list[1], .wanted = 7},
                                {.array = list[2], .reads_data = true, .wanted = 8}};
    let_go_when_waiting(waiting, 3);
    mlx_array_free(one), free_all(list, 3);
}

static void *evaluate(void *array)
{
    mlx_array_eval(*(mlx_array *)array);
    return NULL;
}

/* Another thread is inside mlx_array_eval. */
static void data_waits_for_another_thread(void **state)
{
    mlx_array one = mlx_array_new_float(1), held = load_held(), sum = mlx_array_new();
    pthread_t thread;
    (void)state;
    expect_ok(mlx_add(&sum, held, one, stream), "add");
    CHECK_EQ(pthread_create(&thread, NULL, evaluate, &sum), 0);
    struct waiting waiting[] = {{.array = held, .reads_data = true, .wanted = 7},
                                {.array = sum, .reads_data = true, .wanted = 8}};
    let_go_when_waiting(waiting, 2);
    pthread_join(thread, NULL);
    mlx_array_free(one), mlx_array_free(held), mlx_array_free(sum);
}

/* What is asked for later is not waited for. */
static void a_later_list_is_not_waited_for(void **state)
{
    mlx_array one = mlx_array_new_float(1), sum = mlx_array_new(), held = load_held();
    float value = 0;
    (void)state;
    expect_ok(mlx_add(&sum, one, one, stream), "add");
    start(&sum, 1);
    start(&held, 1);
    expect_ok(mlx_array_item_float32(&value, sum), "item");
    CHECK_EQ(value, 2);
    CHECK_NOT_NULL(mlx_array_data_float32(sum));
    CHECK_EQ(reads_done, 0);
    is_held = false;
    expect_ok(mlx_synchronize(stream), "synchronize");
    CHECK_EQ(reads_done, 1);
    mlx_array_free(one), mlx_array_free(sum), mlx_array_free(held);
}

/* Handles go at once, also those of the list; another handle of the same array is read later. */
static void freed_handles(void **state)
{
    int failed = 0;
    size_t before = 0, after = 0;
    (void)state;
    expect_ok(mlx_synchronize(stream) || mlx_get_active_memory(&before), "memory");
    for (int round = 0; round < ROUNDS; round++) {
        mlx_array logits = make_logits(round), drawn[2] = {{0}}, kept = mlx_array_new();
        expect_ok(draw(&logits, 1, drawn, NULL) || mlx_array_set(&kept, drawn[1]), "draw");
        start(drawn, 2);
        mlx_array_free(logits), free_all(drawn, 2);
        const float *data = round % 2 ? mlx_array_data_float32(kept) : NULL;
        failed += round % 2 && (!data || data[round] < -0.001f);
        mlx_array_free(kept);
        error_count = 0;
    }
    expect_ok(mlx_synchronize(stream) || mlx_get_active_memory(&after), "memory");
    if (failed) CHECK_FAIL("%d of %d rounds failed: %s", failed, ROUNDS / 2, error_text);
    CHECK_EQ(after, before);
}

static _Atomic unsigned managed_freed;

/* Runs on the worker, when the evaluation lets go of the array. */
static void synchronize_and_free(void *data)
{
    mlx_synchronize(stream);
    free(data);
    managed_freed++;
}

static void a_destructor_that_synchronizes(void **state)
{
    (void)state;
    alarm(120); /* the worker would wait for itself */
    for (int round = 0; round < ROUNDS; round++) {
        float *data = calloc(4, sizeof *data);
        mlx_array in = mlx_array_new_data_managed(data, (int[]){4}, 1, MLX_FLOAT32, synchronize_and_free);
        mlx_array out = mlx_array_new();
        expect_ok(mlx_add(&out, in, in, stream), "add");
        mlx_array_free(in);
        start(&out, 1);
        mlx_array_free(out);
    }
    expect_ok(mlx_synchronize(stream), "synchronize");
    alarm(0);
    CHECK_EQ(managed_freed, ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_token_then_its_probability, set_up),
        cmocka_unit_test_setup(the_same_compiled, set_up),
        cmocka_unit_test_setup(data_waits, set_up),
        cmocka_unit_test_setup(strides_and_layout_wait, set_up),
        cmocka_unit_test_setup(lists_that_overlap, set_up),
        cmocka_unit_test_setup(nobody_asked, set_up),
        cmocka_unit_test_setup(several_threads, set_up),
        cmocka_unit_test_setup(a_failure_among_others, set_up),
        cmocka_unit_test_setup(together, set_up),
        cmocka_unit_test_setup(data_waits_for_another_thread, set_up),
        cmocka_unit_test_setup(a_later_list_is_not_waited_for, set_up),
        cmocka_unit_test_setup(freed_handles, set_up),
        cmocka_unit_test_setup(a_destructor_that_synchronizes, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
