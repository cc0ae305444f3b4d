/*
 * test_run_compiled_threads.c - compiled functions on several threads: traced once, errors for all who wait, used and
 * freed anywhere.
 */
#include "compiled_support.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* ---- threads -------------------------------------------------------------------------------------------------- */

enum { THREADS = 8 };

static pthread_barrier_t barrier;
static struct kiln_compiled *shared_function;

static void run_threads(void *(*body)(void *), int count)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (intptr_t i = 0; i < count; i++) CHECK_EQ(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}
#define run_threads(...) CHECK_CALL(run_threads, __VA_ARGS__)

static size_t slow_twice_plus_one(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    usleep(20000);
    return twice_plus_one(in, count, out);
}

static void *first_call(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 10; i++) expect_twice_plus_one(shared_function, SHAPE(16));
    return NULL;
}

static void expect_one_trace(void *(*body)(void *), bool shapeless)
{
    struct function function = {.body = slow_twice_plus_one};
    shared_function = compile(&function, shapeless);
    kiln_counters before = counters();
    run_threads(body, THREADS);
    kiln_counters now = counters();
    CHECK_EQ(function.calls, 1);
    CHECK_EQ(now.traces - before.traces, 1);
    CHECK_EQ(now.calls - before.calls, THREADS * 10);
    CHECK_EQ(now.front_hits + now.process_hits - before.front_hits - before.process_hits, THREADS * 10 - 1);
    kiln__compiled_unref(shared_function);
}
#define expect_one_trace(...) CHECK_CALL(expect_one_trace, __VA_ARGS__)

static void test_first_calls_at_once_trace_once(void **state)
{
    (void)state;
    expect_one_trace(first_call, false);
}

static void *first_call_of_a_size(void *id)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 10; i++) expect_twice_plus_one(shared_function, SHAPE(1 + (int)(intptr_t)id + i % 3));
    return NULL;
}

/* Each with sizes of its own: they wait for one record. */
static void test_first_calls_at_once_of_a_shapeless_function(void **state)
{
    (void)state;
    expect_one_trace(first_call_of_a_size, true);
}

static void *failing_first_call(void *unused)
{
    (void)unused;
    struct kiln_array *x = counting(0, SHAPE(16));
    pthread_barrier_wait(&barrier);
    expect_refused(shared_function, &x, 1, "the function says no");
    kiln__array_unref(x);
    return NULL;
}

/* Those that wait for a trace that fails get its error. Who comes late, after it failed, traces; not all do each time.
 */
static void test_waiters_get_the_error(void **state)
{
    (void)state;
    struct function function = {.body = slow_twice_plus_one, .fails = true};
    shared_function = compile(&function, false);
    int rounds = 0;
    for (int calls = THREADS; calls == THREADS && rounds < 50; rounds++) {
        function.calls = 0;
        run_threads(failing_first_call, THREADS);
        calls = function.calls;
        CHECK_BETWEEN(calls, 1, THREADS);
    }
    CHECK_LT(rounds, 50);
    function.fails = false;
    expect_twice_plus_one(shared_function, SHAPE(16));
    kiln__compiled_unref(shared_function);
}

static atomic_bool tracing, may_finish;

static size_t held_trace(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    atomic_store(&tracing, true);
    while (!atomic_load(&may_finish)) usleep(100);
    return twice_plus_one(in, count, out);
}

static void *call_held(void *unused)
{
    (void)unused;
    expect_twice_plus_one(shared_function, SHAPE(16));
    return NULL;
}

/* While one function's trace hangs, others hit, trace and are freed, and other shapes of the same function as well. */
static void test_a_slow_trace_delays_nobody_else(void **state)
{
    (void)state;
    struct function held = {.body = held_trace}, function = {.body = twice_plus_one};
    struct kiln_compiled *other = compile(&function, false);
    pthread_t thread;
    shared_function = compile(&held, false);
    expect_twice_plus_one(other, SHAPE(4));
    atomic_store(&tracing, false);
    atomic_store(&may_finish, false);
    pthread_create(&thread, NULL, call_held, NULL);
    while (!atomic_load(&tracing)) sched_yield();
    for (int i = 0; i < 1000; i++) expect_twice_plus_one(other, SHAPE(4));
    expect_twice_plus_one(other, SHAPE(5));
    kiln__compiled_clear(other);
    expect_twice_plus_one(other, SHAPE(5));
    kiln__compiled_unref(other);
    atomic_store(&may_finish, true);
    pthread_join(thread, NULL);
    kiln__compiled_unref(shared_function);
}

static atomic_int working;

static void *call_until_cleared(void *id)
{
    pthread_barrier_wait(&barrier);
    if ((intptr_t)id == 0) {
        kiln_error err = {.text = ""};
        for (int i = 0; i < 300 || atomic_load(&working) > 0; i++) {
            if (i % 2)
                CHECK_OK(kiln__compiled_clear_all(&err), &err);
            else
                kiln__compiled_clear(shared_function);
            sched_yield();
        }
        return NULL;
    }
    for (int i = 0; i < 300; i++) expect_twice_plus_one(shared_function, SHAPE(1 + i % 5));
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void test_clearing_while_others_call(void **state)
{
    (void)state;
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        struct function function = {.body = twice_plus_one};
        shared_function = compile(&function, shapeless);
        atomic_store(&working, 3);
        run_threads(call_until_cleared, 4);
        kiln__compiled_unref(shared_function);
    }
}

/* Handed over between two threads: made here, used there, freed here, other functions made in between. */
static struct kiln_compiled *handed;
static float expected, constant_value;

static size_t adds_constant(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, in[0], number(constant_value));
    return 1;
}

static void *user(void *rounds)
{
    for (intptr_t i = 0; i < (intptr_t)rounds; i++) {
        pthread_barrier_wait(&barrier);
        struct kiln_array *x = counting(0, SHAPE(4)), *got = call(handed, &x, 1);
        CHECK_NEAR(element_f32(got, 0), expected, 0);
        kiln__array_unref(x);
        kiln__array_unref(got);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void test_made_here_used_there_freed_here(void **state)
{
    (void)state;
    enum { ROUNDS = 200 };
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, user, (void *)(intptr_t)ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        struct function function = {.body = adds_constant}, between = {.body = twice_plus_one};
        struct kiln_compiled *other = compile(&between, false);
        handed = compile(&function, false);
        constant_value = expected = (float)i;
        if (i % 3 == 0) expect_twice_plus_one(other, SHAPE(4));
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        CHECK_EQ(function.calls, 1);
        kiln__compiled_unref(handed);
        kiln__compiled_unref(other);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
}

/* ---- a stress of everything at once --------------------------------------------------------------------------- */

enum { PLACES = 6, STEPS = 2000 };

/* A variable holds a function that multiplies by `factor`; threads take references, call, and replace functions. */
struct scale {
    _Atomic int refs;
    float factor;
    struct kiln_compiled *compiled;
};

static struct {
    pthread_mutex_t lock;
    struct scale *scale;
} places[PLACES];

static _Atomic int payloads_made, payloads_freed;

static kiln_status scale_callback(void *payload, struct kiln_array *const *inputs, size_t count,
                                  struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    struct kiln_array *factor = NULL, *out = NULL;
    (void)count;
    kiln_status status = kiln__array_scalar(KILN_FLOAT32, payload, &factor, err);
    if (!status) status = kiln__binary(KILN_OP_MULTIPLY, inputs[0], factor, &out, err);
    kiln__array_unref(factor);
    if (status) return status;
    *outputs = malloc(sizeof **outputs);
    (*outputs)[0] = out;
    *output_count = 1;
    return KILN_OK;
}

static void free_factor(void *payload)
{
    atomic_fetch_add(&payloads_freed, 1);
    free(payload);
}

static struct scale *scale_new(float factor)
{
    struct scale *scale = calloc(1, sizeof *scale);
    float *payload = malloc(sizeof *payload);
    *payload = factor;
    scale->refs = 1;
    scale->factor = factor;
    atomic_fetch_add(&payloads_made, 1);
    must_be(kiln__compiled_new("scale", scale_callback, payload, free_factor, factor > 500, &scale->compiled, &err));
    return scale;
}

static void scale_unref(struct scale *scale)
{
    if (atomic_fetch_sub(&scale->refs, 1) != 1) return;
    kiln__compiled_unref(scale->compiled);
    free(scale);
}

static void use_scale(const struct scale *scale, unsigned random)
{
    struct kiln_array *x = counting(1, SHAPE(1 + (int)(random % 7))), *lazy = unary(KILN_OP_NEGATIVE, x);
    bool is_lazy = random % 5 == 0;
    struct kiln_array *got = call(scale->compiled, is_lazy ? &lazy : &x, 1);
    for (int64_t i = 0; i < got->size; i++)
        CHECK_NEAR(element_f32(got, i), (is_lazy ? -1 : 1) * scale->factor * (1 + (float)i), 0);
    unref_all((struct kiln_array *[]){x, lazy, got}, 3);
}

static void *stress(void *id)
{
    unsigned random = (unsigned)(intptr_t)id * 7919 + 17;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < STEPS; i++) {
        random = random * 1103515245 + 12345;
        unsigned device_index = random >> 16 & 0xff, what = random >> 24 & 0x3f;
        device_index %= PLACES;
        struct scale *made = what < 8 ? scale_new((float)(1 + (random >> 8) % 1000)) : NULL;
        pthread_mutex_lock(&places[device_index].lock);
        struct scale *old = places[device_index].scale;
        if (made)
            places[device_index].scale = made;
        else
            atomic_fetch_add(&old->refs, 1);
        pthread_mutex_unlock(&places[device_index].lock);
        if (what == 9) kiln__compiled_clear(old->compiled);
        use_scale(old, random >> 10);
        scale_unref(old);
    }
    return NULL;
}

static void test_stress(void **state)
{
    (void)state;
    for (int i = 0; i < PLACES; i++) {
        pthread_mutex_init(&places[i].lock, NULL);
        places[i].scale = scale_new((float)(i + 1));
    }
    run_threads(stress, THREADS);
    for (int i = 0; i < PLACES; i++) scale_unref(places[i].scale);
    CHECK_EQ(payloads_made, payloads_freed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_calls_at_once_trace_once),
        cmocka_unit_test(test_first_calls_at_once_of_a_shapeless_function),
        cmocka_unit_test(test_waiters_get_the_error),
        cmocka_unit_test(test_a_slow_trace_delays_nobody_else),
        cmocka_unit_test(test_clearing_while_others_call),
        cmocka_unit_test(test_made_here_used_there_freed_here),
        cmocka_unit_test(test_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
