/*
 * test_mlxc_closure.c - closures and compile through the ABI: who frees what, when a callback runs, what fails.
 */
#include <pthread.h>

#include "mlxc_support.h"

static mlx_stream stream;
static const float four[4] = {1, 2, 3, 4};

static int set_up(void **state)
{
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    mlx_enable_compile();
    return install_handler(state);
}

/* A payload that counts; `mode` says what the callback does. */
struct probe {
    int calls, freed;
    enum { DOUBLE, FAIL, EMPTY, EVALUATE, TWO_OUTPUTS, DIAMOND } mode;
};

static void free_probe(void *payload)
{
    ((struct probe *)payload)->freed++;
}

static int probe_callback(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct probe *probe = payload;
    mlx_array x = mlx_array_new(), y = mlx_array_new(), outputs[2] = {mlx_array_new(), mlx_array_new()};
    int code = 0;
    probe->calls++;
    if (res->ctx) return 100;
    if (probe->mode == FAIL) return 7;
    if (probe->mode == EMPTY) return 0;
    mlx_vector_array_get(&x, in, 0);
    mlx_vector_array_get(&y, in, mlx_vector_array_size(in) - 1);
    if (probe->mode == EVALUATE && mlx_array_eval(x)) code = 1;
    if (probe->mode == DIAMOND) {
        mlx_multiply(&outputs[0], x, y, stream);
        mlx_add(&outputs[1], x, y, stream);
        mlx_multiply(&outputs[0], outputs[0], outputs[1], stream);
    } else {
        mlx_add(&outputs[0], x, x, stream);
        mlx_multiply(&outputs[1], x, x, stream);
    }
    if (!code) mlx_vector_array_set_data(res, outputs, probe->mode == TWO_OUTPUTS ? 2 : 1);
    /* Like a client that frees whatever it made. */
    mlx_array_free(x), mlx_array_free(y), mlx_array_free(outputs[0]), mlx_array_free(outputs[1]);
    return code;
}

static mlx_closure new_probe(struct probe *probe)
{
    return mlx_closure_new_func_payload(probe_callback, probe, free_probe);
}

/* Applies to one array of `count` floats and checks that the first output is doubled. */
static void expect_doubled(mlx_closure closure, int count)
{
    mlx_array x = floats(four, count), got = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    float doubled[4];
    for (int i = 0; i < 4; i++) doubled[i] = 2 * four[i];
    CHECK_EQ(mlx_closure_apply(&res, closure, in), 0);
    CHECK_EQ(mlx_vector_array_size(in), 1);
    CHECK_EQ(mlx_vector_array_get(&got, res, 0), 0);
    expect_floats(got, doubled, count);
    mlx_array_free(x), mlx_array_free(got);
    mlx_vector_array_free(in), mlx_vector_array_free(res);
}
#define expect_doubled(...) CHECK_CALL(expect_doubled, __VA_ARGS__)

static int plain_negative(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new();
    mlx_vector_array_get(&x, in, 0);
    mlx_negative(&x, x, stream);
    int code = mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    return code;
}

static int unary_plus_one(mlx_array *res, const mlx_array in)
{
    mlx_array one = mlx_array_new_float(1);
    int code = mlx_add(res, in, one, stream);
    mlx_array_free(one);
    return code;
}

static int unary_fails(mlx_array *res, const mlx_array in)
{
    (void)res, (void)in;
    return 1;
}

static void test_plain_closures(void **state)
{
    mlx_closure closure = mlx_closure_new_func(plain_negative);
    mlx_array x = mlx_array_new_float(1), got = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_value(x), res = mlx_vector_array_new_value(x);
    void *box = res.ctx;
    (void)state;
    CHECK_NULL(mlx_closure_new().ctx);
    CHECK_EQ(mlx_closure_apply(&res, closure, in), 0);
    CHECK_EQ(res.ctx, box);
    CHECK_EQ(mlx_vector_array_size(res), 1);
    mlx_vector_array_get(&got, res, 0);
    expect_text(got, "array(-1, dtype=float32)");
    mlx_closure_free(closure);
    /* The result may be the input vector. */
    closure = mlx_closure_new_unary(unary_plus_one);
    CHECK_EQ(mlx_closure_apply(&in, closure, in), 0);
    CHECK_EQ(mlx_closure_apply(&in, closure, in), 0);
    mlx_vector_array_get(&got, in, 0);
    expect_text(got, "array(3, dtype=float32)");
    mlx_vector_array_append_value(in, x);
    expect_no_error();
    CHECK_EQ(mlx_closure_apply(&res, closure, in), 1);
    CHECK_CONTAINS(error_text, "mlx_closure returned a non-zero value");
    mlx_closure_free(closure), mlx_array_free(x), mlx_array_free(got);
    mlx_vector_array_free(in), mlx_vector_array_free(res);
}

static void test_closure_failures(void **state)
{
    struct probe probe = {.mode = FAIL}, empty = {.mode = EMPTY};
    mlx_closure failing = new_probe(&probe), nothing = new_probe(&empty), unary = mlx_closure_new_unary(unary_fails);
    mlx_array x = mlx_array_new_float(1);
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    (void)state;
    CHECK_EQ(mlx_closure_apply(&res, failing, in), 1);
    expect_error("mlx_closure returned a non-zero value at ");
    CHECK_EQ(mlx_closure_apply(&res, unary, in), 1);
    expect_error("mlx_closure returned a non-zero value at ");
    CHECK_EQ(mlx_closure_apply(&res, nothing, in), 1), expect_error("mlx_vector_array");
    CHECK_EQ(mlx_closure_apply(&res, mlx_closure_new(), in), 1), expect_error("expected a non-empty mlx_closure");
    CHECK_EQ(mlx_closure_apply(&res, failing, (mlx_vector_array){NULL}), 1);
    expect_error("expected a non-empty mlx_vector_array");
    CHECK_NULL(res.ctx);
    CHECK_NULL(mlx_closure_new_func(NULL).ctx), expect_error("NULL");
    CHECK_EQ(mlx_compile(&failing, mlx_closure_new(), false), 1), expect_error("expected a non-empty mlx_closure");
    mlx_closure_free(failing), mlx_closure_free(nothing), mlx_closure_free(unary);
    CHECK_EQ(probe.freed, 1);
    mlx_array_free(x), mlx_vector_array_free(in);
}

static mlx_closure own_handle;

/* Frees the handle it is called through: everything it needs lives on until the call is over. */
static int frees_its_handle(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_closure_free(own_handle);
    return probe_callback(res, in, payload);
}

static void test_a_callback_may_free_its_own_handle(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) { /* plain, compiled, compiled under an id */
        struct probe probe = {0};
        mlx_closure plain = mlx_closure_new_func_payload(frees_its_handle, &probe, free_probe);
        own_handle = mlx_closure_new();
        if (kind == 0) CHECK_EQ(mlx_closure_set(&own_handle, plain), 0);
        if (kind == 1) CHECK_EQ(mlx_compile(&own_handle, plain, false), 0);
        if (kind == 2) CHECK_EQ(mlx_detail_compile(&own_handle, plain, 4711, false, NULL, 0), 0);
        mlx_closure_free(plain);
        mlx_array x = floats((float[]){1, 2}, 2);
        mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
        CHECK_EQ(mlx_closure_apply(&out, own_handle, in), 0);
        CHECK_EQ(mlx_vector_array_size(out), 1);
        CHECK_EQ(mlx_eval(out), 0);
        CHECK_EQ(probe.freed, 1);
        mlx_array_free(x);
        mlx_vector_array_free(in);
        mlx_vector_array_free(out);
    }
    CHECK_EQ(mlx_detail_compile_erase(4711), 0);
    expect_no_error();
}

static void test_payload_goes_with_the_last_sharer(void **state)
{
    struct probe probe = {0}, other = {0};
    mlx_closure source = new_probe(&probe), copy = new_probe(&other), compiled = mlx_closure_new();
    void *box = copy.ctx;
    (void)state;
    CHECK_EQ(mlx_closure_set(&copy, source), 0);
    CHECK_EQ(copy.ctx, box);
    CHECK_EQ(other.freed, 1);
    CHECK_EQ(mlx_closure_set(&copy, copy), 0);
    CHECK_EQ(mlx_compile(&compiled, source, false), 0);
    mlx_closure_free(source);
    mlx_closure_free(copy);
    CHECK_EQ(probe.freed, 0);
    expect_doubled(compiled, 4);
    mlx_closure_free(compiled);
    CHECK_EQ(probe.freed, 1);
    expect_no_error();
}

static void test_compiled_traces_once_per_signature(void **state)
{
    struct probe probe = {0};
    mlx_closure closure = new_probe(&probe), compiled = mlx_closure_new();
    (void)state;
    CHECK_EQ(mlx_compile(&compiled, closure, false), 0);
    CHECK_EQ(probe.calls, 0);
    for (int i = 0; i < 3; i++) expect_doubled(compiled, 4);
    CHECK_EQ(probe.calls, 1);
    expect_doubled(compiled, 3);
    CHECK_EQ(probe.calls, 2);
    expect_doubled(compiled, 4);
    CHECK_EQ(probe.calls, 2);
    mlx_detail_compile_clear_cache();
    expect_doubled(compiled, 4);
    CHECK_EQ(probe.calls, 3);
    mlx_closure_free(closure), mlx_closure_free(compiled);
}

static void test_shapeless(void **state)
{
    struct probe probe = {0};
    mlx_closure closure = new_probe(&probe), compiled = mlx_closure_new();
    (void)state;
    CHECK_EQ(mlx_compile(&compiled, closure, true), 0);
    for (int count = 1; count <= 4; count++) expect_doubled(compiled, count);
    CHECK_EQ(probe.calls, 1);
    mlx_closure_free(closure), mlx_closure_free(compiled);
}

static void test_compiled_callback_failures(void **state)
{
    struct probe probe = {.mode = FAIL};
    mlx_closure closure = new_probe(&probe), compiled = mlx_closure_new();
    mlx_array x = floats(four, 4);
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    (void)state;
    CHECK_EQ(mlx_compile(&compiled, closure, false), 0);
    CHECK_EQ(mlx_closure_apply(&res, compiled, in), 1);
    expect_error("mlx_closure returned a non-zero value");
    CHECK_EQ(mlx_closure_apply(&res, compiled, in), 1);
    expect_error("mlx_closure returned a non-zero value");
    CHECK_EQ(probe.calls, 2);
    CHECK_NULL(res.ctx);
    probe.mode = DOUBLE; /* nothing half filled is left behind */
    expect_doubled(compiled, 4);
    CHECK_EQ(probe.calls, 3);
    expect_no_error();
    mlx_closure_free(closure), mlx_closure_free(compiled), mlx_array_free(x), mlx_vector_array_free(in);
}

static void test_evaluating_in_a_trace_is_an_error(void **state)
{
    struct probe probe = {.mode = EVALUATE};
    mlx_closure closure = new_probe(&probe), compiled = mlx_closure_new();
    mlx_array x = floats(four, 4);
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    (void)state;
    CHECK_EQ(mlx_compile(&compiled, closure, false), 0);
    CHECK_EQ(mlx_closure_apply(&res, compiled, in), 1);
    CHECK_EQ(error_count, 2); /* the callback's own, then that of apply */
    CHECK_NULL(res.ctx);
    expect_doubled(closure, 4);
    mlx_closure_free(closure), mlx_closure_free(compiled), mlx_array_free(x), mlx_vector_array_free(in);
}

static void test_two_outputs(void **state)
{
    struct probe probe = {.mode = TWO_OUTPUTS};
    mlx_closure closure = new_probe(&probe), compiled = mlx_closure_new();
    mlx_array x = floats(four, 4), got = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_value(x), res = mlx_vector_array_new();
    (void)state;
    CHECK_EQ(mlx_compile(&compiled, closure, false), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(mlx_closure_apply(&res, compiled, in), 0);
        CHECK_EQ(mlx_vector_array_size(res), 2);
        mlx_vector_array_get(&got, res, 1);
        expect_floats(got, (float[]){1, 4, 9, 16}, 4);
    }
    mlx_closure_free(closure), mlx_closure_free(compiled), mlx_array_free(x), mlx_array_free(got);
    mlx_vector_array_free(in), mlx_vector_array_free(res);
    expect_no_error();
}

/* Whether compile is on counts when a closure is compiled, not when it is applied. */
static void test_disabled(void **state)
{
    struct probe probe = {0};
    mlx_closure closure = new_probe(&probe), plain = mlx_closure_new(), compiled = mlx_closure_new();
    (void)state;
    CHECK_EQ(mlx_disable_compile(), 0);
    CHECK_EQ(mlx_compile(&plain, closure, false), 0);
    CHECK_EQ(mlx_set_compile_mode(MLX_COMPILE_MODE_ENABLED), 0);
    CHECK_EQ(mlx_compile(&compiled, closure, false), 0);
    CHECK_EQ(mlx_disable_compile(), 0);
    for (int i = 0; i < 3; i++) expect_doubled(plain, 4);
    CHECK_EQ(probe.calls, 3);
    for (int i = 0; i < 3; i++) expect_doubled(compiled, 4);
    CHECK_EQ(probe.calls, 4);
    CHECK_EQ(mlx_set_compile_mode((mlx_compile_mode)4), 1), expect_error("mlx_compile_mode");
    mlx_closure_free(closure), mlx_closure_free(plain), mlx_closure_free(compiled);
    CHECK_EQ(probe.freed, 1);
}

static mlx_closure inner;

static int call_inner(mlx_vector_array *res, const mlx_vector_array in)
{
    return mlx_closure_apply(res, inner, in);
}

static void test_nested_compile_inlines(void **state)
{
    struct probe probe = {0};
    mlx_closure closure = new_probe(&probe), outer = mlx_closure_new_func(call_inner), compiled = mlx_closure_new();
    (void)state;
    inner = mlx_closure_new();
    CHECK_EQ(mlx_compile(&inner, closure, false), 0);
    CHECK_EQ(mlx_compile(&compiled, outer, false), 0);
    for (int i = 0; i < 3; i++) expect_doubled(compiled, 4);
    CHECK_EQ(probe.calls, 1);
    mlx_closure_free(closure), mlx_closure_free(outer), mlx_closure_free(compiled), mlx_closure_free(inner);
    CHECK_EQ(probe.freed, 1);
    expect_no_error();
}

/* Closures made under one id and equal constants share traces; payloads belong to the closures. */
static void test_shared_by_id(void **state)
{
    struct probe first = {0}, second = {0}, third = {0};
    const uint64_t constants[2] = {1, 2}, other[2] = {1, 3};
    mlx_closure closure = new_probe(&first), compiled = mlx_closure_new();
    (void)state;
    CHECK_EQ(mlx_detail_compile(&compiled, closure, 77, false, constants, 2), 0);
    expect_doubled(compiled, 4);
    mlx_closure_free(closure);
    closure = new_probe(&second);
    CHECK_EQ(mlx_detail_compile(&compiled, closure, 77, false, constants, 2), 0);
    CHECK_EQ(first.freed, 1);
    expect_doubled(compiled, 4);
    CHECK_EQ(second.calls, 0);
    expect_doubled(compiled, 2);
    CHECK_EQ(second.calls, 1);
    CHECK_EQ(mlx_detail_compile(&compiled, closure, 77, false, other, 2), 0);
    expect_doubled(compiled, 4);
    CHECK_EQ(second.calls, 2);
    mlx_closure_free(closure);
    CHECK_EQ(mlx_detail_compile_erase(77), 0);
    closure = new_probe(&third);
    CHECK_EQ(mlx_detail_compile(&compiled, closure, 77, false, constants, 2), 0);
    CHECK_EQ(second.freed, 1);
    expect_doubled(compiled, 4);
    CHECK_EQ(third.calls, 1);
    mlx_closure_free(closure), mlx_closure_free(compiled);
    CHECK_EQ(third.freed, 1);
    mlx_detail_compile_erase(77);
    CHECK_EQ(mlx_detail_compile(&compiled, mlx_closure_new(), 1, false, NULL, 0), 1);
    expect_error("expected a non-empty mlx_closure");
}

static void *apply_on_thread(void *closure)
{
    for (int i = 0; i < 50; i++) expect_doubled(*(mlx_closure *)closure, 1 + i % 4);
    return NULL;
}

static void test_any_thread(void **state)
{
    struct probe probe = {0};
    mlx_closure closure = new_probe(&probe), compiled = mlx_closure_new();
    pthread_t threads[4];
    (void)state;
    CHECK_EQ(mlx_compile(&compiled, closure, false), 0);
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, apply_on_thread, &compiled), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(probe.calls, 4); /* once per signature, whoever came first */
    mlx_closure_free(closure), mlx_closure_free(compiled);
}

static size_t peak_of(mlx_closure closure, mlx_vector_array in)
{
    mlx_vector_array res = {NULL};
    size_t peak;
    mlx_reset_peak_memory();
    CHECK_EQ(mlx_closure_apply(&res, closure, in), 0);
    CHECK_EQ(mlx_eval(res), 0);
    mlx_get_peak_memory(&peak);
    mlx_vector_array_free(res);
    return peak;
}

/* The diamond (a*b)*(a+b) on 4 MB arrays: two inputs and one output, against two intermediates more. */
static void test_compiled_peak_is_lower(void **state)
{
#ifdef mlx_default_cpu_stream_new
    CHECK_SKIP(); /* on a GPU the inputs are there twice */
#endif
    enum { COUNT = 1 << 20 };
    struct probe probe = {.mode = DIAMOND};
    float *values = calloc(COUNT, sizeof *values);
    mlx_array inputs[2] = {floats(values, COUNT), floats(values, COUNT)};
    mlx_vector_array in = mlx_vector_array_new_data(inputs, 2);
    mlx_closure closure = new_probe(&probe), compiled = mlx_closure_new();
    size_t base;
    (void)state;
    CHECK_EQ(mlx_compile(&compiled, closure, false), 0);
    mlx_get_active_memory(&base);
    base -= 2 * COUNT * sizeof(float); /* what other tests hold */
    CHECK_EQ(peak_of(compiled, in) - base, 12582912);
    CHECK_GT(peak_of(closure, in) - base, 12582912);
    mlx_closure_free(closure), mlx_closure_free(compiled), mlx_vector_array_free(in);
    mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_plain_closures, set_up),
        cmocka_unit_test_setup(test_closure_failures, set_up),
        cmocka_unit_test_setup(test_a_callback_may_free_its_own_handle, set_up),
        cmocka_unit_test_setup(test_payload_goes_with_the_last_sharer, set_up),
        cmocka_unit_test_setup(test_compiled_traces_once_per_signature, set_up),
        cmocka_unit_test_setup(test_shapeless, set_up),
        cmocka_unit_test_setup(test_compiled_callback_failures, set_up),
        cmocka_unit_test_setup(test_evaluating_in_a_trace_is_an_error, set_up),
        cmocka_unit_test_setup(test_two_outputs, set_up),
        cmocka_unit_test_setup(test_disabled, set_up),
        cmocka_unit_test_setup(test_nested_compile_inlines, set_up),
        cmocka_unit_test_setup(test_shared_by_id, set_up),
        cmocka_unit_test_setup(test_any_thread, set_up),
        cmocka_unit_test_setup(test_compiled_peak_is_lower, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
