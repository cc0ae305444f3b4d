/*
 * test_mlxc_compile.c - compile through the ABI, with the counters of kiln.h: what a client can rely on, from any
 * thread.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "kiln.h"
#include "mlxc_support.h"

/* ---- counting allocations: malloc of this program stands before the C library's -------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

/* volatile: the compiler knows that malloc reads and writes no variable of the program */
static _Thread_local volatile bool counting_allocations;
static _Thread_local volatile size_t allocations;
static _Thread_local volatile long blocks; /* allocated less freed */

#if COUNTS_ALLOCATIONS
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

void *malloc(size_t size)
{
    allocations += counting_allocations;
    blocks += counting_allocations;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations += counting_allocations;
    blocks += counting_allocations;
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    allocations += counting_allocations;
    blocks += counting_allocations && !block;
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations += counting_allocations;
    blocks += counting_allocations;
    return __libc_memalign(alignment, size);
}

void free(void *block)
{
    blocks -= counting_allocations && block;
    __libc_free(block);
}
#endif

/* ---- functions ------------------------------------------------------------------------------------------------ */

static mlx_stream stream;

static int set_up(void **state)
{
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    mlx_enable_compile();
    return install_handler(state);
}

/* A payload: what the callback does, and how often it ran and was freed. */
struct function {
    int (*body)(struct function *function, mlx_array *out, mlx_array in);
    _Atomic int calls, freed;
    int outputs; /* how often `out` is put into the result */
    bool fails;
    float number;
    mlx_array captured;
};

static int run_function(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct function *function = payload;
    mlx_array x = mlx_array_new(), out = mlx_array_new();
    atomic_fetch_add(&function->calls, 1);
    mlx_vector_array_get(&x, in, 0);
    int code = function->body(function, &out, x);
    if (function->fails) code = 5;
    if (!code) code = mlx_vector_array_set_data(res, NULL, 0);
    for (int i = 0; !code && i < function->outputs; i++) code = mlx_vector_array_append_value(*res, out);
    mlx_array_free(x), mlx_array_free(out);
    return code;
}

static void free_function(void *payload)
{
    atomic_fetch_add(&((struct function *)payload)->freed, 1);
}

static mlx_closure closure_of(struct function *function)
{
    return mlx_closure_new_func_payload(run_function, function, free_function);
}

/* Compiled; the source is freed at once. */
static mlx_closure compile(struct function *function, bool shapeless)
{
    mlx_closure source = closure_of(function), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, source, shapeless), 0);
    mlx_closure_free(source);
    return compiled;
}

static int twice(struct function *function, mlx_array *out, mlx_array in)
{
    (void)function;
    return mlx_add(out, in, in, stream);
}

static int times_number(struct function *function, mlx_array *out, mlx_array in)
{
    mlx_array factor = mlx_array_new_float(function->number);
    int code = mlx_multiply(out, in, factor, stream);
    mlx_array_free(factor);
    return code;
}

static int same(struct function *function, mlx_array *out, mlx_array in)
{
    (void)function;
    return mlx_array_set(out, in);
}

static int plus_captured(struct function *function, mlx_array *out, mlx_array in)
{
    return mlx_add(out, in, function->captured, stream);
}

static kiln_counters counters(void)
{
    kiln_counters now;
    kiln_cache_counters(kiln_cache_default(), &now);
    return now;
}

static size_t active_memory(void)
{
    size_t size = 0;
    mlx_get_active_memory(&size);
    return size;
}

static mlx_array count_from_one(int count)
{
    float values[64];
    for (int i = 0; i < count; i++) values[i] = 1 + (float)i;
    return floats(values, count);
}

/* Applies it to 1, 2, ... and checks that every output is that times `factor`. */
static void expect_times(mlx_closure closure, int count, int outputs, float factor)
{
    mlx_array x = count_from_one(count), got = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    if (mlx_closure_apply(&res, closure, in)) CHECK_FAIL("%s", error_text);
    CHECK_EQ(mlx_vector_array_size(res), outputs);
    for (int k = 0; k < outputs; k++) {
        mlx_vector_array_get(&got, res, (size_t)k);
        CHECK_EQ(mlx_array_eval(got), 0);
        const float *data = mlx_array_data_float32(got);
        for (int i = 0; i < count; i++) CHECK_NEAR(data[i], factor * (1 + (float)i), 0);
    }
    mlx_array_free(x), mlx_array_free(got), mlx_vector_array_free(in), mlx_vector_array_free(res);
}
#define expect_times(...) CHECK_CALL(expect_times, __VA_ARGS__)

/* Applying it fails with one error of apply's own, perhaps after those of the callback. */
static void expect_failure(mlx_closure closure, const char *part)
{
    mlx_array x = count_from_one(4);
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    CHECK_EQ(mlx_closure_apply(&res, closure, in), 1);
    CHECK_NULL(res.ctx);
    CHECK_CONTAINS(error_text, part);
    error_count = 0;
    mlx_array_free(x), mlx_vector_array_free(in);
}

/* ---- failures ------------------------------------------------------------------------------------------------- */

static void test_three_thousand_failures(void **state)
{
    (void)state;
    struct function function = {.body = twice, .outputs = 1, .fails = true};
    mlx_closure compiled = compile(&function, false);
    mlx_array x = count_from_one(4);
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    size_t memory = active_memory();
    kiln_counters before = counters();
    for (int i = 0; i < 3000; i++) {
        if (i == 1000) {
            blocks = 0;
            counting_allocations = true;
        }
        CHECK_EQ(mlx_closure_apply(&res, compiled, in), 1);
        expect_error("mlx_closure returned a non-zero value at ");
    }
    counting_allocations = false;
    CHECK_BETWEEN(blocks + 16, 0, 32); /* some are kept for the next time, and some of those may go */
    CHECK_EQ(active_memory(), memory);
    CHECK_EQ(counters().traces - before.traces, 3000);
    CHECK_EQ(counters().calls - before.calls, 3000);
    function.fails = false;
    expect_times(compiled, 4, 1, 2);
    expect_times(compiled, 4, 1, 2);
    CHECK_EQ(counters().traces - before.traces, 3001);
    CHECK_EQ(counters().front_hits - before.front_hits, 1);
    mlx_array_free(x), mlx_vector_array_free(in), mlx_closure_free(compiled);
    CHECK_EQ(function.freed, 1);
}

static int no_vector(mlx_vector_array *res, const mlx_vector_array in)
{
    (void)res, (void)in;
    return 0;
}

static void test_results_that_are_not_as_usual(void **state)
{
    (void)state;
    struct function none = {.body = twice, .outputs = 0}, many = {.body = twice, .outputs = 20};
    struct function input = {.body = same, .outputs = 2};
    mlx_closure source = mlx_closure_new_func(no_vector), missing = mlx_closure_new();
    mlx_compile(&missing, source, false);
    expect_failure(missing, "expected a non-empty mlx_vector_array");
    mlx_closure_free(source), mlx_closure_free(missing);
    mlx_closure compiled = compile(&none, false);
    for (int i = 0; i < 2; i++) expect_times(compiled, 4, 0, 1);
    mlx_closure_free(compiled);
    compiled = compile(&many, false);
    for (int i = 0; i < 2; i++) expect_times(compiled, 4, 20, 2);
    mlx_closure_free(compiled);
    compiled = compile(&input, false);
    for (int i = 0; i < 2; i++) expect_times(compiled, 4, 2, 1);
    mlx_closure_free(compiled);
    CHECK_EQ(none.calls + many.calls + input.calls, 3);
    expect_no_error();
}

/* ---- inside a trace ------------------------------------------------------------------------------------------- */

static mlx_array escaped;

/* Every way to look at a value is refused with a text; shapes may be asked for. */
static int looks_at_values(struct function *function, mlx_array *out, mlx_array in)
{
    const char *text = "[eval] Attempting to eval an array during function transformations";
    float value = 7;
    mlx_array first = mlx_array_new();
    mlx_string string = mlx_string_new();
    mlx_vector_array all = mlx_vector_array_new_value(in);
    (void)function;
    CHECK_EQ(mlx_array_size(in), 4);
    CHECK_EQ(mlx_array_dtype(in), MLX_FLOAT32);
    expect_no_error();
    CHECK_EQ(mlx_array_eval(in), 1), expect_error(text);
    CHECK_EQ(mlx_eval(all), 1), expect_error(text);
    CHECK_EQ(mlx_async_eval(all), 1), expect_error(text);
    CHECK_EQ(mlx_array_tostring(&string, in), 1), expect_error(text);
    CHECK_NULL(mlx_array_data_float32(in)), expect_error("[data]");
    mlx_slice(&first, in, (int[]){0}, 1, (int[]){1}, 1, (int[]){1}, 1, stream);
    CHECK_EQ(mlx_array_item_float32(&value, first), 1), expect_error(text);
    CHECK_NEAR(value, 7, 0);
    mlx_array_free(first), mlx_string_free(string), mlx_vector_array_free(all);
    escaped = mlx_array_new();
    mlx_array_set(&escaped, in);
    return mlx_add(out, in, in, stream);
}

static void test_values_of_tracers(void **state)
{
    (void)state;
    struct function function = {.body = looks_at_values, .outputs = 1};
    mlx_closure compiled = compile(&function, false);
    mlx_array out = mlx_array_new();
    expect_times(compiled, 4, 1, 2);
    expect_times(compiled, 4, 1, 2);
    CHECK_EQ(function.calls, 1);
    /* What escaped from the trace has a shape, can be freed, and nothing else. */
    CHECK_EQ(mlx_array_size(escaped), 4);
    CHECK_EQ(mlx_array_eval(escaped), 1), expect_error("[eval]");
    CHECK_EQ(mlx_add(&out, escaped, escaped, stream), 1), expect_error("a trace that has ended");
    mlx_vector_array in = mlx_vector_array_new_value(escaped), res = {NULL};
    CHECK_EQ(mlx_closure_apply(&res, compiled, in), 1), expect_error("a trace that has ended");
    mlx_vector_array_free(in), mlx_array_free(escaped), mlx_closure_free(compiled);
    CHECK_NULL(out.ctx);
}

static void test_the_real_input_is_refused(void **state)
{
    (void)state;
    struct function function = {.body = plus_captured, .outputs = 1};
    mlx_closure compiled = compile(&function, false);
    mlx_array x = count_from_one(4);
    mlx_vector_array in = mlx_vector_array_new_value(x), res = {NULL};
    function.captured = x;
    CHECK_EQ(mlx_closure_apply(&res, compiled, in), 1);
    CHECK_EQ(error_count, 2); /* of the operation, then of apply */
    error_count = 0;
    function.captured = count_from_one(4); /* equal, but another array */
    expect_times(compiled, 4, 1, 2);
    mlx_array_free(function.captured); /* the compiled function keeps it */
    expect_times(compiled, 4, 1, 2);
    mlx_array_free(x), mlx_vector_array_free(in), mlx_closure_free(compiled);
}

static void test_a_captured_lazy_array_is_computed_once(void **state)
{
    (void)state;
    struct function function = {.body = plus_captured, .outputs = 1};
    mlx_closure compiled = compile(&function, false);
    mlx_array base = count_from_one(4);
    bool is_ready = true;
    mlx_add(&function.captured, base, base, stream);
    _mlx_array_is_available(&is_ready, function.captured);
    CHECK_FALSE(is_ready);
    for (int i = 0; i < 3; i++) expect_times(compiled, 4, 1, 3);
    _mlx_array_is_available(&is_ready, function.captured);
    CHECK_TRUE(is_ready);
    mlx_array_free(base), mlx_array_free(function.captured), mlx_closure_free(compiled);
}

/* ---- payloads ------------------------------------------------------------------------------------------------- */

static void test_payloads_are_freed_once(void **state)
{
    (void)state;
    struct function function = {.body = twice, .outputs = 1};
    mlx_closure source = closure_of(&function), compiled = mlx_closure_new(), copy = mlx_closure_new();
    mlx_closure twice_compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, source, false), 0);
    mlx_closure_free(compiled); /* never called, freed first */
    CHECK_EQ(function.freed, 0);
    compiled = mlx_closure_new();
    mlx_compile(&compiled, source, false);
    mlx_closure_set(&copy, compiled);
    mlx_compile(&twice_compiled, compiled, false);
    mlx_closure_free(source);
    mlx_closure_free(compiled);
    expect_times(copy, 4, 1, 2);
    expect_times(twice_compiled, 4, 1, 2);
    mlx_closure_free(copy);
    CHECK_EQ(function.freed, 0);
    expect_times(twice_compiled, 5, 1, 2);
    mlx_closure_free(twice_compiled);
    CHECK_EQ(function.freed, 1);
    /* A creation that fails leaves the payload to its closure. */
    struct function other = {.body = twice, .outputs = 1};
    source = closure_of(&other);
    CHECK_EQ(mlx_compile(NULL, source, false), 1), expect_error("NULL");
    CHECK_EQ(mlx_detail_compile(&compiled, source, 5, false, NULL, 3), 1), expect_error("NULL");
    CHECK_EQ(other.freed, 0);
    mlx_closure_free(source);
    CHECK_EQ(other.freed, 1);
}

/* ---- modes ---------------------------------------------------------------------------------------------------- */

static int exp_twice(struct function *function, mlx_array *out, mlx_array in)
{
    mlx_array a = mlx_array_new(), b = mlx_array_new();
    (void)function;
    mlx_square(&a, in, stream);
    mlx_square(&b, in, stream);
    mlx_add(out, a, b, stream);
    mlx_divide(out, *out, in, stream);
    mlx_array_free(a), mlx_array_free(b);
    return 0;
}

static uint64_t kernels_used(mlx_compile_mode mode)
{
    struct function function = {.body = exp_twice, .outputs = 1};
    kiln_counters before = counters();
    mlx_set_compile_mode(mode);
    mlx_closure compiled = compile(&function, false);
    expect_times(compiled, 4, 1, 2);
    mlx_enable_compile();
    mlx_closure_free(compiled);
    kiln_counters now = counters();
    CHECK_EQ(now.traces - before.traces, mode != MLX_COMPILE_MODE_DISABLED);
    return now.kernel_hits + now.disk_hits + now.compiles - before.kernel_hits - before.disk_hits - before.compiles;
}

static void test_modes(void **state)
{
    (void)state;
    CHECK_EQ(kernels_used(MLX_COMPILE_MODE_ENABLED), 1);
    CHECK_EQ(kernels_used(MLX_COMPILE_MODE_NO_FUSE), 3);     /* one square, shared */
    CHECK_EQ(kernels_used(MLX_COMPILE_MODE_NO_SIMPLIFY), 1); /* another kernel: with two squares */
    kernels_used(MLX_COMPILE_MODE_DISABLED);
    expect_no_error();
}

/* ---- ids and constants ---------------------------------------------------------------------------------------- */

static mlx_closure compile_id(struct function *function, uintptr_t id, const uint64_t *constants, size_t count)
{
    mlx_closure source = closure_of(function), compiled = mlx_closure_new();
    CHECK_EQ(mlx_detail_compile(&compiled, source, id, false, constants, count), 0);
    mlx_closure_free(source);
    return compiled;
}

/* Ten thousand constants under one id: each its own function, found again by its bits, one kernel for all. */
static void test_very_many_constants(void **state)
{
    enum { MANY = 10000 };
    (void)state;
    struct function function = {.body = times_number, .outputs = 1, .number = 1};
    kiln_counters before = {0};
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < MANY; i++) {
            uint64_t constants[2] = {i % 100, i / 100};
            function.number = (float)(1 + i);
            mlx_closure compiled = compile_id(&function, 99, constants, 2);
            expect_times(compiled, 4, 1, (float)(1 + i));
            mlx_closure_free(compiled);
            if (round == 0 && i == 0) before = counters();
        }
    CHECK_EQ(function.calls, MANY);
    CHECK_EQ(function.freed, 2 * MANY);
    CHECK_EQ(counters().traces - before.traces, MANY - 1);
    CHECK_EQ(counters().compiles, before.compiles);
    mlx_detail_compile_erase(98); /* another id: nothing happens */
    mlx_closure compiled = compile_id(&function, 99, (uint64_t[]){0, 0}, 2);
    expect_times(compiled, 4, 1, 1);
    CHECK_EQ(function.calls, MANY);
    mlx_detail_compile_erase(99);
    function.number = 3;
    expect_times(compiled, 4, 1, 3); /* from an empty cache */
    CHECK_EQ(function.calls, MANY + 1);
    mlx_closure_free(compiled);
}

/* Equal words under another number of constants, another id, shapeless or not: all apart. */
static void test_keys_of_ids_do_not_merge(void **state)
{
    (void)state;
    const struct {
        uintptr_t id;
        bool shapeless;
        size_t count;
        uint64_t constants[3];
    } keys[] = {{1, false, 0, {0}},        {1, true, 0, {0}},          {1, false, 1, {0}},    {1, false, 2, {0, 0}},
                {2, false, 0, {0}},        {1, false, 2, {1, 2}},      {1, false, 2, {2, 1}}, {1, false, 3, {1, 2, 0}},
                {1, false, 1, {1u << 31}}, {1, false, 1, {1ull << 63}}};
    enum { KEYS = sizeof keys / sizeof *keys };
    struct function functions[KEYS];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < KEYS; i++) {
            mlx_closure source, compiled = mlx_closure_new();
            if (round == 0)
                functions[i] = (struct function){.body = times_number, .outputs = 1, .number = (float)(i + 1)};
            source = closure_of(&functions[i]);
            mlx_detail_compile(&compiled, source, keys[i].id, keys[i].shapeless, keys[i].constants, keys[i].count);
            expect_times(compiled, 4, 1, (float)(i + 1));
            CHECK_EQ(functions[i].calls, 1);
            mlx_closure_free(source), mlx_closure_free(compiled);
        }
    mlx_detail_compile_clear_cache();
    expect_no_error();
}

/* ---- lazy inputs ---------------------------------------------------------------------------------------------- */

static void *eval_on_thread(void *array)
{
    CHECK_EQ(mlx_array_eval(*(mlx_array *)array), 0);
    return NULL;
}

static void test_lazy_inputs_stay_lazy(void **state)
{
    (void)state;
    struct function function = {.body = times_number, .outputs = 1, .number = 10};
    mlx_closure compiled = compile(&function, false);
    mlx_array x = count_from_one(4), lazy = mlx_array_new(), got = mlx_array_new();
    mlx_vector_array in, res = {NULL};
    size_t memory = active_memory();
    bool is_ready = true;
    mlx_negative(&lazy, x, stream);
    in = mlx_vector_array_new_value(lazy);
    CHECK_EQ(mlx_closure_apply(&res, compiled, in), 0);
    mlx_vector_array_get(&got, res, 0);
    _mlx_array_is_available(&is_ready, lazy);
    CHECK_FALSE(is_ready);
    _mlx_array_is_available(&is_ready, got);
    CHECK_FALSE(is_ready);
    CHECK_EQ(active_memory(), memory);
    mlx_array_free(x), mlx_array_free(lazy), mlx_vector_array_free(in), mlx_vector_array_free(res);
    mlx_closure_free(compiled);
    pthread_t thread;
    pthread_create(&thread, NULL, eval_on_thread, &got);
    pthread_join(thread, NULL);
    expect_floats(got, (float[]){-10, -20, -30, -40}, 4);
    mlx_array_free(got);
}

/* All handles are freed right after async_eval; nothing is lost and nothing stays. */
static void test_handles_freed_after_async_eval(void **state)
{
    (void)state;
    struct function function = {.body = twice, .outputs = 1};
    mlx_closure compiled = compile(&function, true);
    mlx_array zeros = mlx_array_new(), kept = mlx_array_new();
    size_t memory = active_memory();
    for (int i = 0; i < 50; i++) {
        mlx_vector_array in, res = {NULL};
        mlx_zeros(&zeros, (int[]){70000 + i}, 1, MLX_FLOAT32, stream);
        in = mlx_vector_array_new_value(zeros);
        CHECK_EQ(mlx_closure_apply(&res, compiled, in), 0);
        CHECK_EQ(mlx_async_eval(res), 0);
        if (i == 49) mlx_vector_array_get(&kept, res, 0);
        mlx_vector_array_free(in), mlx_vector_array_free(res);
    }
    CHECK_EQ(mlx_array_eval(kept), 0);
    CHECK_EQ(mlx_array_size(kept), 70049);
    CHECK_NEAR(mlx_array_data_float32(kept)[70048], 0, 0);
    mlx_array_free(kept), mlx_array_free(zeros);
    mlx_synchronize(stream);
    CHECK_EQ(active_memory(), memory);
    CHECK_EQ(function.calls, 1);
    mlx_closure_free(compiled);
}

/* ---- the warm call -------------------------------------------------------------------------------------------- */

static void call_once(mlx_closure compiled, mlx_array x)
{
    mlx_array got = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_data(&x, 1), res = mlx_vector_array_new();
    int code = mlx_closure_apply(&res, compiled, in);
    code |= mlx_vector_array_get(&got, res, 0);
    code |= mlx_array_data_float32(got)[15] != 32;
    mlx_array_free(got), mlx_vector_array_free(in), mlx_vector_array_free(res);
    CHECK_EQ(code, 0);
}
#define call_once(...) CHECK_CALL(call_once, __VA_ARGS__)

static void expect_warm_calls_allocate_nothing(bool shapeless)
{
    struct function function = {.body = twice, .outputs = 1};
    mlx_closure compiled = compile(&function, shapeless);
    mlx_array x = count_from_one(16);
    for (int i = 0; i < 100; i++) call_once(compiled, x);
    kiln_counters before = counters();
    allocations = 0;
    counting_allocations = true;
    for (int i = 0; i < 1000; i++) call_once(compiled, x);
    counting_allocations = false;
    kiln_counters now = counters();
    CHECK_EQ(allocations, 0);
    CHECK_EQ(now.front_hits - before.front_hits, 1000);
    CHECK_EQ(now.calls - before.calls, 1000);
    CHECK_EQ(now.traces + now.links + now.compiles, before.traces + before.links + before.compiles);
    mlx_array_free(x), mlx_closure_free(compiled);
}
#define expect_warm_calls_allocate_nothing(...) CHECK_CALL(expect_warm_calls_allocate_nothing, __VA_ARGS__)

static void test_a_warm_call_allocates_nothing(void **state)
{
    (void)state;
    allocations = 0;
    counting_allocations = true;
    void *volatile block = malloc(1);
    counting_allocations = false;
    free(block);
    CHECK_EQ(allocations, COUNTS_ALLOCATIONS); /* the count can count */
    expect_warm_calls_allocate_nothing(false);
    expect_warm_calls_allocate_nothing(true);
}

/* ---- constants and shapes --------------------------------------------------------------------------------------- */

static void test_constants_are_exact(void **state)
{
    (void)state;
    const float numbers[] = {1.0f / 3, -0.0f, 16777217.0f, 1e-45f, 3.4028235e38f};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct function function = {.body = times_number, .outputs = 1, .number = numbers[i]};
        mlx_closure compiled = compile(&function, false);
        mlx_array one = mlx_array_new_float(1), got = mlx_array_new();
        mlx_vector_array in = mlx_vector_array_new_value(one), res = {NULL};
        CHECK_EQ(mlx_closure_apply(&res, compiled, in), 0);
        mlx_vector_array_get(&got, res, 0);
        mlx_array_eval(got);
        CHECK_MEM(mlx_array_data_float32(got), &numbers[i], sizeof(float));
        mlx_array_free(one), mlx_array_free(got), mlx_vector_array_free(in), mlx_vector_array_free(res);
        mlx_closure_free(compiled);
    }
}

static void test_empty_extents(void **state)
{
    (void)state;
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        struct function function = {.body = twice, .outputs = 1};
        mlx_closure compiled = compile(&function, shapeless);
        expect_times(compiled, 0, 1, 2);
        expect_times(compiled, 3, 1, 2);
        expect_times(compiled, 0, 1, 2);
        CHECK_EQ(function.calls, shapeless ? 1 : 2);
        mlx_closure_free(compiled);
    }
}

/* ---- threads -------------------------------------------------------------------------------------------------- */

enum { THREADS = 8, PLACES = 5 };

static struct {
    pthread_mutex_t lock; /* guards the handle, as a client would */
    mlx_closure closure;
    float factor;
} places[PLACES];

static _Atomic int made_count, freed_count;

static void free_shared_function(void *payload)
{
    atomic_fetch_add(&freed_count, 1);
    free(payload);
}

static mlx_closure new_shared_function(float factor)
{
    struct function *function = calloc(1, sizeof *function);
    mlx_closure compiled = mlx_closure_new();
    function->body = times_number;
    function->outputs = 1;
    function->number = factor;
    atomic_fetch_add(&made_count, 1);
    mlx_closure source = mlx_closure_new_func_payload(run_function, function, free_shared_function);
    CHECK_EQ(mlx_compile(&compiled, source, (int)factor % 2), 0);
    mlx_closure_free(source);
    return compiled;
}

static void *make_share_call_free(void *id)
{
    unsigned random = (unsigned)(intptr_t)id * 104729 + 1;
    for (int i = 0; i < 1000; i++) {
        random = random * 1103515245 + 12345;
        unsigned place = (random >> 16) % PLACES, what = (random >> 24) % 64;
        mlx_closure mine = mlx_closure_new();
        pthread_mutex_lock(&places[place].lock);
        float factor = places[place].factor;
        mlx_closure_set(&mine, places[place].closure);
        if (what < 6) { /* replaced by one whose result differs */
            mlx_closure_free(places[place].closure);
            places[place].factor = (float)(1 + (random >> 8) % 997);
            places[place].closure = new_shared_function(places[place].factor);
        }
        pthread_mutex_unlock(&places[place].lock);
        if (what == 7) mlx_detail_compile_clear_cache();
        expect_times(mine, 1 + (int)(random >> 12) % 6, 1, factor);
        mlx_closure_free(mine);
    }
    return NULL;
}

static void test_threads_make_share_call_and_free(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < PLACES; i++) {
        pthread_mutex_init(&places[i].lock, NULL);
        places[i].factor = (float)(i + 1);
        places[i].closure = new_shared_function(places[i].factor);
    }
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, make_share_call_free, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < PLACES; i++) mlx_closure_free(places[i].closure);
    CHECK_EQ(made_count, freed_count);
}

static struct function by_id[4];

static void *call_by_id(void *which)
{
    intptr_t id = (intptr_t)which;
    for (int i = 0; i < 300; i++) {
        mlx_closure compiled = compile_id(&by_id[id], (uintptr_t)id, (uint64_t[]){7}, 1);
        expect_times(compiled, 1 + i % 4, 1, by_id[id].number);
        if (id == 0 && i % 3 == 0) mlx_detail_compile_clear_cache();
        if (id == 1 && i % 3 == 0) mlx_detail_compile_erase(2);
        mlx_closure_free(compiled);
    }
    return NULL;
}

static void test_erasing_while_others_call(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        by_id[i] = (struct function){.body = times_number, .outputs = 1, .number = (float)(i + 2)};
    for (intptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_by_id, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) CHECK_EQ(by_id[i].freed, 300);
    mlx_detail_compile_clear_cache();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_three_thousand_failures, set_up),
        cmocka_unit_test_setup(test_results_that_are_not_as_usual, set_up),
        cmocka_unit_test_setup(test_values_of_tracers, set_up),
        cmocka_unit_test_setup(test_the_real_input_is_refused, set_up),
        cmocka_unit_test_setup(test_a_captured_lazy_array_is_computed_once, set_up),
        cmocka_unit_test_setup(test_payloads_are_freed_once, set_up),
        cmocka_unit_test_setup(test_modes, set_up),
        cmocka_unit_test_setup(test_very_many_constants, set_up),
        cmocka_unit_test_setup(test_keys_of_ids_do_not_merge, set_up),
        cmocka_unit_test_setup(test_lazy_inputs_stay_lazy, set_up),
        cmocka_unit_test_setup(test_handles_freed_after_async_eval, set_up),
        cmocka_unit_test_setup(test_a_warm_call_allocates_nothing, set_up),
        cmocka_unit_test_setup(test_constants_are_exact, set_up),
        cmocka_unit_test_setup(test_empty_extents, set_up),
        cmocka_unit_test_setup(test_threads_make_share_call_and_free, set_up),
        cmocka_unit_test_setup(test_erasing_while_others_call, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
