/*
 * test_run_compiled.c - compiled functions: when they trace, what they count, what they leave behind, on any thread.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "trace_support.h"

#include "ops/layers.h"
#include "run/compiled.h"

/* ---- helpers -------------------------------------------------------------------------------------------------- */

static kiln_counters counters(void)
{
    kiln_counters now;
    kiln_cache_counters(kiln_cache_default(), &now);
    return now;
}

/* What happened since `before`, of the counters that a compiled call moves. */
static void expect_since(const kiln_counters *before, uint64_t front_hits, uint64_t process_hits, uint64_t traces)
{
    kiln_counters now = counters();
    CHECK_EQ(now.traces - before->traces, traces);
    CHECK_EQ(now.process_hits - before->process_hits, process_hits);
    CHECK_EQ(now.front_hits - before->front_hits, front_hits);
    CHECK_EQ(now.calls - before->calls, front_hits + process_hits + traces);
}
#define expect_since(...) CHECK_CALL(expect_since, __VA_ARGS__)

static size_t active_memory(void)
{
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    return memory.active;
}

static struct kiln_compiled *compile(struct function *function, bool shapeless)
{
    struct kiln_compiled *compiled = NULL;
    must_be(kiln__compiled_new("test", call_body, function, NULL, shapeless, &compiled, &err));
    return compiled;
}

/* The only output, evaluated; the caller's. */
static struct kiln_array *call(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count)
{
    struct kiln_output_list out;
    must_be(kiln__compiled_call(compiled, inputs, count, &out, &err));
    CHECK_EQ(out.count, 1);
    struct kiln_array *array = kiln__array_ref(out.arrays[0]);
    kiln__output_list_release(&out);
    eval(array);
    return array;
}

static void expect_refused(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                           const char *part)
{
    struct kiln_output_list out;
    kiln_error err = {.text = ""};
    CHECK_NE(kiln__compiled_call(compiled, inputs, count, &out, &err), KILN_OK);
    CHECK_CONTAINS(err.text, part);
    CHECK_EQ(out.count, 0);
    kiln__output_list_release(&out); /* allowed, and nothing */
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static size_t twice_plus_one(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, B(ADD, in[0], in[0]), number(1));
    return 1;
}

/* Calls it on a fresh array of this shape and checks 2x + 1. */
static void expect_twice_plus_one(struct kiln_compiled *compiled, size_t ndim, const int *dims)
{
    struct kiln_array *x = counting(3, ndim, dims), *got = call(compiled, &x, 1);
    CHECK_EQ(got->size, x->size);
    for (int64_t i = 0; i < x->size; i++) CHECK_NEAR(element_f32(got, i), 2 * (3 + (float)i) + 1, 0);
    kiln__array_unref(x);
    kiln__array_unref(got);
}
#define expect_twice_plus_one(...) CHECK_CALL(expect_twice_plus_one, __VA_ARGS__)

/* ---- signatures ----------------------------------------------------------------------------------------------- */

static void test_traces_once_per_signature(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    kiln_counters before = counters();
    expect_twice_plus_one(compiled, SHAPE(4));
    expect_since(&before, 0, 0, 1);
    for (int i = 0; i < 10; i++) expect_twice_plus_one(compiled, SHAPE(4));
    expect_since(&before, 10, 0, 1);
    expect_twice_plus_one(compiled, SHAPE(5));
    expect_twice_plus_one(compiled, SHAPE(4, 1));
    expect_twice_plus_one(compiled, SHAPE(1, 4));
    expect_twice_plus_one(compiled, 0, NULL);
    expect_twice_plus_one(compiled, SHAPE(0));
    expect_since(&before, 10, 0, 6);
    expect_twice_plus_one(compiled, SHAPE(4, 1));
    expect_since(&before, 11, 0, 6);
    CHECK_EQ(function.calls, 6);
    int16_t number_of_another_type = 5;
    struct kiln_array *x = from_data(&number_of_another_type, KILN_INT16, 0, NULL), *got = call(compiled, &x, 1);
    CHECK_EQ(got->dtype, KILN_FLOAT32);
    CHECK_NEAR(element_f32(got, 0), 11, 0);
    expect_since(&before, 11, 0, 7);
    kiln__array_unref(x);
    kiln__array_unref(got);
    kiln__compiled_unref(compiled);
}

/* One kernel, whatever the shape: a second signature traces and compiles nothing. */
static void test_another_shape_compiles_nothing(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    expect_twice_plus_one(compiled, SHAPE(4));
    kiln_counters before = counters();
    for (int i = 5; i < 100; i++) expect_twice_plus_one(compiled, SHAPE(i));
    CHECK_EQ(counters().compiles, before.compiles);
    expect_since(&before, 0, 0, 95);
    kiln__compiled_unref(compiled);
}

static void test_shapeless(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, true);
    kiln_counters before = counters();
    for (int i = 0; i < 20; i++) expect_twice_plus_one(compiled, SHAPE(i));
    expect_since(&before, 0, 19, 1); /* what was recorded serves every size */
    for (int i = 0; i < 20; i++) expect_twice_plus_one(compiled, SHAPE(19));
    expect_since(&before, 20, 19, 1);
    expect_twice_plus_one(compiled, SHAPE(2, 2));
    expect_twice_plus_one(compiled, SHAPE(200, 300)); /* above what runs at once */
    expect_since(&before, 20, 20, 2);
    CHECK_EQ(function.calls, 2);
    kiln__compiled_clear(compiled);
    expect_twice_plus_one(compiled, SHAPE(3));
    expect_since(&before, 20, 20, 3);
    kiln__compiled_unref(compiled);
}

/* More sizes than are kept: plans come back without a trace, nothing is counted as lost. */
static void test_shapeless_with_many_sizes(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, true);
    kiln_counters before = counters();
    for (int i = 1; i <= 1500; i++) expect_twice_plus_one(compiled, SHAPE(i));
    for (int i = 1; i <= 1500; i += 100) expect_twice_plus_one(compiled, SHAPE(i));
    CHECK_EQ(function.calls, 1);
    CHECK_EQ(counters().evictions, before.evictions);
    CHECK_EQ(counters().compiles, before.compiles);
    kiln__compiled_unref(compiled);
}

static size_t adds(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, in[0], in[1]);
    return 1;
}

/* Sizes that do not fit each other, asked for ready and lazy inputs; good ones before and after. */
static void test_shapeless_refusals(void **state)
{
    (void)state;
    struct function pair = {.body = adds};
    struct kiln_compiled *adding = compile(&pair, true);
    struct kiln_array *four = counting(0, SHAPE(4)), *five = counting(0, SHAPE(5));
    struct kiln_array *lazy = unary(KILN_OP_ABS, five);
    kiln__array_unref(call(adding, (struct kiln_array *[]){four, four}, 2));
    kiln_counters before = counters();
    expect_refused(adding, (struct kiln_array *[]){four, five}, 2, "[add] Shapes (4) and (5) cannot be broadcast");
    expect_refused(adding, (struct kiln_array *[]){four, lazy}, 2, "was traced with other sizes");
    kiln__array_unref(call(adding, (struct kiln_array *[]){five, lazy}, 2));
    CHECK_EQ(pair.calls, 1);
    CHECK_EQ(counters().traces, before.traces);
    CHECK_EQ(counters().calls - before.calls, 3);
    unref_all((struct kiln_array *[]){four, five, lazy}, 3);
    kiln__compiled_unref(adding);
}

/* ---- nesting -------------------------------------------------------------------------------------------------- */

static struct kiln_compiled *inner;

static struct kiln_array *call_inside(struct kiln_compiled *compiled, struct kiln_array *x)
{
    struct kiln_output_list out;
    must_be(kiln__compiled_call(compiled, &x, 1, &out, &err));
    CHECK_EQ(out.count, 1);
    struct kiln_array *array = keep(kiln__array_ref(out.arrays[0]));
    kiln__output_list_release(&out);
    return array;
}

static size_t uses_inner(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(NEGATIVE, call_inside(inner, U(NEGATIVE, in[0])));
    return 1;
}

static void test_nested_compile_becomes_part_of_the_outer(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one}, outer_function = {.body = uses_inner};
    inner = compile(&function, false);
    struct kiln_compiled *outer = compile(&outer_function, false);
    struct kiln_array *x = counting(0, SHAPE(7));
    kiln_counters before = counters();
    for (int i = 0; i < 3; i++) {
        struct kiln_array *got = call(outer, &x, 1);
        CHECK_NEAR(element_f32(got, 6), 2 * 6.0f - 1, 0);
        kiln__array_unref(got);
    }
    expect_since(&before, 2, 0, 1);
    CHECK_EQ(function.calls, 1);
    kiln_counters now = counters(); /* one kernel for all of it, from wherever */
    uint64_t kernels =
        now.compiles + now.disk_hits + now.kernel_hits - before.compiles - before.disk_hits - before.kernel_hits;
    CHECK_EQ(kernels, 1);
    kiln__array_unref(x);
    kiln__compiled_unref(outer);
    kiln__compiled_unref(inner);
}

static int depth_left;

/* Plainly: depth_left times 2x + 1. */
static size_t calls_itself(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = B(ADD, B(ADD, in[0], in[0]), number(1));
    (void)count;
    out[0] = depth_left-- > 1 ? call_inside(inner, x) : x;
    return 1;
}

static void test_a_function_that_calls_itself_ends_as_it_would_plainly(void **state)
{
    (void)state;
    struct function function = {.body = calls_itself};
    struct kiln_array *x = counting(0, SHAPE(3));
    kiln_counters before = counters();
    inner = compile(&function, false);
    depth_left = 10;
    struct kiln_array *got = call(inner, &x, 1);
    CHECK_NEAR(element_f32(got, 2), 2 * 1024 + 1023, 0);
    CHECK_EQ(function.calls, 10);
    expect_since(&before, 0, 0, 1);
    kiln__array_unref(got);
    kiln__array_unref(x);
    kiln__compiled_unref(inner);
}

static struct kiln_array *constant;

static size_t inner_on_a_constant(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *made = call_inside(inner, constant);
    eval(made); /* not a tracer: it may be looked at */
    out[0] = B(ADD, in[0], made);
    return 1;
}

static void test_a_compiled_function_on_constants_inside_a_trace(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one}, outer_function = {.body = inner_on_a_constant};
    inner = compile(&function, false);
    struct kiln_compiled *outer = compile(&outer_function, false);
    struct kiln_array *x = counting(0, SHAPE(3));
    constant = counting(10, SHAPE(3));
    for (int i = 0; i < 3; i++) {
        struct kiln_array *got = call(outer, &x, 1);
        CHECK_NEAR(element_f32(got, 2), 2 + 25, 0);
        kiln__array_unref(got);
    }
    CHECK_EQ(function.calls, 1);
    kiln__array_unref(x);
    kiln__array_unref(constant);
    kiln__compiled_unref(outer);
    kiln__compiled_unref(inner);
}

static size_t layer_of_a_constant(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *made = NULL;
    (void)count;
    must_be(kiln__layer_norm(constant, constant, NULL, 1, &made, &err));
    eval(keep(made));
    struct kiln_array *sum = B(ADD, in[0], made);
    out[0] = B(MULTIPLY, sum, in[0]);
    return 1;
}

/* Its kernel is derived from a formula there and then (run/kernels/row_layer_kernels.c): the trace goes on as it was.
 */
static void test_a_layer_evaluated_inside_a_trace(void **state)
{
    (void)state;
    static const float ones[40] = {1};
    struct kiln_array *plain = NULL, *x = counting(0, SHAPE(40));
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        struct function function = {.body = layer_of_a_constant};
        struct kiln_compiled *compiled = compile(&function, shapeless);
        struct kiln_array *single = from_data(ones, KILN_FLOAT32, SHAPE(40));
        must_be(kiln__astype(single, shapeless ? KILN_FLOAT16 : KILN_BFLOAT16, &constant, &err));
        eval(constant);
        struct kiln_array *got = call(compiled, &x, 1);
        must_be(kiln__layer_norm(constant, constant, NULL, 1, &plain, &err));
        struct kiln_array *wide = NULL;
        must_be(kiln__astype(plain, KILN_FLOAT32, &wide, &err));
        eval(wide);
        for (int i = 0; i < 40; i++) CHECK_NEAR(element_f32(got, i), ((float)i + element_f32(wide, i)) * (float)i, 0);
        kiln__array_unref(got);
        kiln__array_unref(plain);
        kiln__array_unref(wide);
        kiln__array_unref(single);
        kiln__array_unref(constant);
        kiln__compiled_unref(compiled);
    }
    kiln__array_unref(x);
}

/* The function itself, called on a constant inside its own trace. */
static size_t itself_on_a_constant(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = depth_left-- > 0 ? B(ADD, in[0], call_inside(inner, constant)) : U(SQUARE, in[0]);
    return 1;
}

static void test_a_function_on_a_constant_inside_its_own_trace(void **state)
{
    (void)state;
    struct function function = {.body = itself_on_a_constant};
    struct kiln_array *x = counting(0, SHAPE(3));
    constant = counting(10, SHAPE(3));
    inner = compile(&function, false);
    depth_left = 1;
    struct kiln_array *got = call(inner, &x, 1);
    CHECK_NEAR(element_f32(got, 2), 2 + 144, 0);
    kiln__array_unref(got);
    kiln__array_unref(x);
    kiln__array_unref(constant);
    kiln__compiled_unref(inner);
}

/* ---- failures and captures ------------------------------------------------------------------------------------ */

static void test_a_failing_function_leaves_nothing_and_may_succeed_later(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one, .fails = true};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *x = counting(0, SHAPE(1000));
    size_t memory = active_memory();
    kiln_counters before = counters();
    for (int i = 0; i < 3000; i++) expect_refused(compiled, &x, 1, "the function says no");
    expect_since(&before, 0, 0, 3000);
    CHECK_EQ(active_memory(), memory);
    function.fails = false;
    expect_twice_plus_one(compiled, SHAPE(1000));
    expect_twice_plus_one(compiled, SHAPE(1000));
    expect_since(&before, 1, 0, 3001);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled);
    CHECK_EQ(active_memory(), memory - 4000);
}

static struct kiln_array *captured;

static size_t adds_captured(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, in[0], captured);
    return 1;
}

static void test_a_captured_lazy_array_is_computed_once(void **state)
{
    (void)state;
    struct function function = {.body = adds_captured};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *x = counting(0, SHAPE(3)), *base = counting(10, SHAPE(3));
    captured = unary(KILN_OP_SQUARE, base);
    for (int i = 0; i < 3; i++) {
        struct kiln_array *got = call(compiled, &x, 1);
        CHECK_NEAR(element_f32(got, 1), 1 + 121, 0);
        CHECK_TRUE(kiln__array_is_ready(captured));
        kiln__array_unref(got);
    }
    kiln__array_unref(captured); /* the plan keeps it */
    captured = NULL;
    struct kiln_array *got = call(compiled, &x, 1);
    CHECK_NEAR(element_f32(got, 2), 2 + 144, 0);
    unref_all((struct kiln_array *[]){got, x, base}, 3);
    kiln__compiled_unref(compiled);
}

static struct kiln_array *escaped;

static size_t lets_escape(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    escaped = kiln__array_ref(in[0]);
    out[0] = U(ABS, in[0]);
    return 1;
}

static void test_an_escaped_placeholder_is_refused(void **state)
{
    (void)state;
    struct function function = {.body = lets_escape}, other = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false), *second = compile(&other, false);
    struct kiln_array *x = counting(0, SHAPE(3));
    kiln__array_unref(call(compiled, &x, 1));
    expect_refused(second, &escaped, 1, "belongs to a trace that has ended");
    CHECK_EQ(other.calls, 0);
    kiln__array_unref(escaped);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled);
    kiln__compiled_unref(second);
}

/* ---- outputs -------------------------------------------------------------------------------------------------- */

static size_t ten_outputs(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    for (int i = 0; i < 10; i++) out[i] = B(ADD, in[0], number((float)i));
    return 10;
}

static size_t no_outputs(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)in, (void)count, (void)out;
    return 0;
}

static void test_many_outputs_and_none(void **state)
{
    (void)state;
    struct function ten = {.body = ten_outputs}, none = {.body = no_outputs};
    struct kiln_compiled *many = compile(&ten, false), *empty = compile(&none, false);
    struct kiln_array *x = counting(0, SHAPE(3)), *lazy = unary(KILN_OP_ABS, x);
    struct kiln_output_list out;
    for (int i = 0; i < 2; i++) {
        must_be(kiln__compiled_call(many, &x, 1, &out, &err));
        CHECK_EQ(out.count, 10);
        for (int k = 0; k < 10; k++) CHECK_NEAR(element_f32(out.arrays[k], 1), 1 + (float)k, 0);
        kiln__output_list_release(&out);
        must_be(kiln__compiled_call(empty, i ? &lazy : &x, 1, &out, &err));
        CHECK_EQ(out.count, 0);
        kiln__output_list_release(&out);
    }
    kiln__array_unref(lazy);
    kiln__array_unref(x);
    kiln__compiled_unref(many);
    kiln__compiled_unref(empty);
}

/* ---- lazy inputs ---------------------------------------------------------------------------------------------- */

static void *eval_on_thread(void *array)
{
    eval(array);
    return NULL;
}

static void test_lazy_inputs_stay_lazy(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *base = counting(0, SHAPE(100)), *lazy = unary(KILN_OP_NEGATIVE, base);
    struct kiln_output_list first, second;
    size_t memory = active_memory();
    must_be(kiln__compiled_call(compiled, &lazy, 1, &first, &err));
    must_be(kiln__compiled_call(compiled, first.arrays, 1, &second, &err)); /* on a lazy output */
    CHECK_FALSE(kiln__array_is_ready(lazy));
    CHECK_FALSE(kiln__array_is_ready(first.arrays[0]));
    CHECK_EQ(active_memory(), memory);
    CHECK_EQ(function.calls, 1);
    struct kiln_array *got = kiln__array_ref(second.arrays[0]);
    kiln__output_list_release(&first);
    kiln__output_list_release(&second);
    kiln__array_unref(lazy);
    kiln__array_unref(base);
    kiln__compiled_unref(compiled); /* the function may be gone before its results are made */
    pthread_t thread;
    pthread_create(&thread, NULL, eval_on_thread, got);
    pthread_join(thread, NULL);
    CHECK_NEAR(element_f32(got, 99), 4 * -99.0f + 3, 0);
    kiln__array_unref(got);
}

static void test_large_calls_are_lazy(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *x = counting(0, SHAPE(KILN_RUN_AT_ONCE / 2 + 1)),
                      *big = counting(0, SHAPE(KILN_RUN_AT_ONCE + 1));
    struct kiln_output_list out;
    must_be(kiln__compiled_call(compiled, &x, 1, &out, &err));
    CHECK_TRUE(kiln__array_is_ready(out.arrays[0]));
    kiln__output_list_release(&out);
    must_be(kiln__compiled_call(compiled, &big, 1, &out, &err));
    CHECK_FALSE(kiln__array_is_ready(out.arrays[0]));
    must_be(kiln__eval_async(out.arrays, 1, &err));
    kiln__output_list_release(&out); /* at once, as clients do */
    kiln__eval_synchronize();
    kiln__array_unref(x);
    kiln__array_unref(big);
    kiln__compiled_unref(compiled);
}

/* Rows of 64: an output of the first pass over a row, outputs of a later pass, and the input read again there. */
static size_t rows_in_passes(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *squares = U(SQUARE, in[0]), *total = keep(sum_axis(squares, 1, true));
    out[0] = squares;
    out[1] = B(DIVIDE, squares, total);
    out[2] = B(SUBTRACT, in[0], total);
    out[3] = B(ADD, out[1], in[0]);
    return 4;
}

/* The input is the call's own and may lend its storage to an output: no pass may then find it overwritten. */
static void test_storage_of_an_input_is_taken_after_its_last_use(void **state)
{
    (void)state;
    struct function function = {.body = rows_in_passes};
    for (int columns = 8; columns <= 4096; columns *= 8) {
        struct kiln_compiled *compiled = compile(&function, false);
        struct kiln_array *base = counting(1, SHAPE(3, columns)), *x = unary(KILN_OP_NEGATIVE, base), *plain[4];
        struct kiln_array *lazy = unary(KILN_OP_NEGATIVE, base);
        struct kiln_output_list out;
        must_be(kiln__compiled_call(compiled, &lazy, 1, &out, &err));
        kiln__array_unref(lazy);
        eval(out.arrays[0]);
        size_t start = scratch_count;
        rows_in_passes(&x, 1, plain);
        for (int i = 0; i < 4; i++) {
            eval(plain[i]);
            CHECK_MEM(out.arrays[i]->data, plain[i]->data, (size_t)plain[i]->size * 4);
        }
        drop_scratch(start);
        kiln__output_list_release(&out);
        kiln__array_unref(x);
        kiln__array_unref(base);
        kiln__compiled_unref(compiled);
    }
}

/* Outputs that are freed while another thread makes them ready, one after the other: we begin at the other end. */
static void test_outputs_freed_during_evaluation(void **state)
{
    (void)state;
    struct function function = {.body = ten_outputs};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *base = counting(0, SHAPE(16));
    size_t memory = active_memory();
    for (int i = 0; i < 3000; i++) {
        struct kiln_array *lazy = unary(KILN_OP_ABS, base);
        struct kiln_output_list out;
        must_be(kiln__compiled_call(compiled, &lazy, 1, &out, &err));
        CHECK_FALSE(kiln__array_is_ready(out.arrays[0]));
        must_be(kiln__eval_async(out.arrays, 1, &err));
        if (i % 3) /* at times, before it begins */
            while (!kiln__array_is_ready(out.arrays[0])) sched_yield();
        while (out.count > 0) kiln__array_unref(out.arrays[--out.count]);
        kiln__output_list_release(&out);
        kiln__array_unref(lazy);
    }
    kiln__eval_synchronize();
    CHECK_EQ(active_memory(), memory);
    kiln__array_unref(base);
    kiln__compiled_unref(compiled);
}

/* ---- constants ------------------------------------------------------------------------------------------------ */

static float constant_value;

static size_t multiplies(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(MULTIPLY, in[0], number(constant_value));
    return 1;
}

/* Bits of a constant reach the kernel as they are; other constants use the same kernel. */
static void test_constants_are_exact_and_share_a_kernel(void **state)
{
    (void)state;
    const float values[] = {1.0f / 3, 0.70710678f, -0.0f, 16777217.0f, 1e-45f, 3.4028235e38f, 0.1f};
    uint64_t compiles = 0;
    for (size_t i = 0; i < COUNT(values); i++) {
        struct function function = {.body = multiplies};
        struct kiln_compiled *compiled = compile(&function, false);
        struct kiln_array *x = counting(1, SHAPE(1)), *got;
        constant_value = values[i];
        got = call(compiled, &x, 1);
        CHECK_MEM(got->data, &values[i], sizeof values[i]);
        if (i == 0) compiles = counters().compiles;
        kiln__array_unref(x);
        kiln__array_unref(got);
        kiln__compiled_unref(compiled);
    }
    CHECK_EQ(counters().compiles, compiles);
}

/* x*1+23 and x*12+3: what a careless kernel name would merge. */
static size_t one_and_23(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, B(MULTIPLY, in[0], number(1)), number(23));
    return 1;
}

static size_t twelve_and_3(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, B(MULTIPLY, in[0], number(12)), number(3));
    return 1;
}

static void test_neighbouring_constants_do_not_merge(void **state)
{
    (void)state;
    struct function first = {.body = one_and_23}, second = {.body = twelve_and_3};
    struct kiln_compiled *one = compile(&first, false), *twelve = compile(&second, false);
    struct kiln_array *x = counting(5, SHAPE(1)), *got = call(one, &x, 1), *other = call(twelve, &x, 1);
    CHECK_NEAR(element_f32(got, 0), 28, 0);
    CHECK_NEAR(element_f32(other, 0), 63, 0);
    unref_all((struct kiln_array *[]){x, got, other}, 3);
    kiln__compiled_unref(one);
    kiln__compiled_unref(twelve);
}

/* Equal total shapes split otherwise are other signatures. */
static void test_signatures_do_not_merge(void **state)
{
    (void)state;
    struct function function = {.body = adds};
    struct kiln_compiled *compiled = compile(&function, false);
    const int shapes[][2][2] = {{{1, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 1}, {2, 2}}, {{2, 2}, {1, 1}}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct kiln_array *inputs[2] = {counting(0, 2, shapes[i][0]), counting(0, 2, shapes[i][1])};
        struct kiln_array *got = call(compiled, inputs, 2);
        CHECK_EQ(got->dims[0], 2);
        CHECK_EQ(got->dims[1], 2);
        CHECK_EQ(function.calls, (int)i + 1);
        unref_all(inputs, 2);
        kiln__array_unref(got);
    }
    kiln__compiled_unref(compiled);
}

enum { SHAPES = 10000, KEPT = 1024 };

/* What is written to stderr from now on, in a file; the other one gives it back as text and ends that. */
static FILE *stderr_text;
static int stderr_before;

static void catch_stderr(void)
{
    stderr_text = tmpfile();
    CHECK_NOT_NULL(stderr_text);
    stderr_before = dup(STDERR_FILENO);
    dup2(fileno(stderr_text), STDERR_FILENO);
}

static const char *caught_stderr(void)
{
    static char text[8192];
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    rewind(stderr_text);
    text[fread(text, 1, sizeof text - 1, stderr_text)] = '\0';
    fclose(stderr_text);
    return text;
}

/*
 * Ten thousand shapes, twice: all right, one kernel, and no more plans than are kept, so each is traced again when its
 * turn comes. One line says so. Clearing gives the memory back.
 */
static void test_very_many_signatures(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    expect_twice_plus_one(compiled, SHAPE(3));
    size_t memory = active_memory();
    kiln_counters before = counters();
    catch_stderr();
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < SHAPES; i++) {
            int dims[3] = {1 + i % 2, 1 + i / 2 % 50, 1 + i / 100};
            struct kiln_array *x = NULL, *got;
            must_be(kiln__array_alloc(KILN_FLOAT32, 3, dims, &x, &err));
            memset(x->data, 0, (size_t)x->size * 4);
            got = call(compiled, &x, 1);
            CHECK_NEAR(element_f32(got, x->size - 1), 1, 0);
            kiln__array_unref(x);
            kiln__array_unref(got);
        }
    const char *said = caught_stderr(), *line = strstr(said, "kiln: test has more than 1024 signatures in use");
    if (!line || strchr(line, '\n') != said + strlen(said) - 1) CHECK_FAIL("expected one line, got: %s", said);
    kiln_counters now = counters();
    CHECK_EQ(now.traces - before.traces, 2 * SHAPES);
    CHECK_BETWEEN(now.evictions - before.evictions, 2 * SHAPES - KEPT, 2 * SHAPES);
    CHECK_EQ(now.calls - before.calls, 2 * SHAPES);
    CHECK_EQ(now.compiles, before.compiles);
    CHECK_EQ(active_memory(), memory);
    kiln__compiled_clear(compiled);
    expect_twice_plus_one(compiled, SHAPE(3));
    CHECK_EQ(counters().traces - now.traces, 1);
    kiln__compiled_unref(compiled);
}

/* The plan that is used all the time stays, however many others come and go. */
static void test_the_least_recently_used_plan_goes(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    expect_twice_plus_one(compiled, SHAPE(1, 1, 1));
    for (int i = 0; i < 3 * KEPT; i++) {
        expect_twice_plus_one(compiled, SHAPE(i % 64 + 1, i / 64 + 1));
        if (i % 100 == 0) expect_twice_plus_one(compiled, SHAPE(1, 1, 1));
    }
    CHECK_EQ(function.calls, 3 * KEPT + 1);
    expect_twice_plus_one(compiled, SHAPE(1, 1)); /* the first of the others has gone */
    CHECK_EQ(function.calls, 3 * KEPT + 2);
    expect_twice_plus_one(compiled, SHAPE(1, 1, 1));
    CHECK_EQ(function.calls, 3 * KEPT + 2);
    kiln__compiled_unref(compiled);
}

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

static void test_first_calls_at_once_trace_once(void **state)
{
    (void)state;
    struct function function = {.body = slow_twice_plus_one};
    shared_function = compile(&function, false);
    kiln_counters before = counters();
    run_threads(first_call, THREADS);
    kiln_counters now = counters();
    CHECK_EQ(function.calls, 1);
    CHECK_EQ(now.traces - before.traces, 1);
    CHECK_EQ(now.calls - before.calls, THREADS * 10);
    CHECK_EQ(now.front_hits + now.process_hits - before.front_hits - before.process_hits, THREADS * 10 - 1);
    kiln__compiled_unref(shared_function);
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
    struct function function = {.body = slow_twice_plus_one};
    shared_function = compile(&function, true);
    kiln_counters before = counters();
    run_threads(first_call_of_a_size, THREADS);
    kiln_counters now = counters();
    CHECK_EQ(function.calls, 1);
    CHECK_EQ(now.traces - before.traces, 1);
    CHECK_EQ(now.calls - before.calls, THREADS * 10);
    CHECK_EQ(now.front_hits + now.process_hits - before.front_hits - before.process_hits, THREADS * 10 - 1);
    kiln__compiled_unref(shared_function);
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
static float expected;

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
        cmocka_unit_test(test_traces_once_per_signature),
        cmocka_unit_test(test_another_shape_compiles_nothing),
        cmocka_unit_test(test_shapeless),
        cmocka_unit_test(test_shapeless_with_many_sizes),
        cmocka_unit_test(test_shapeless_refusals),
        cmocka_unit_test(test_nested_compile_becomes_part_of_the_outer),
        cmocka_unit_test(test_a_function_that_calls_itself_ends_as_it_would_plainly),
        cmocka_unit_test(test_a_compiled_function_on_constants_inside_a_trace),
        cmocka_unit_test(test_a_layer_evaluated_inside_a_trace),
        cmocka_unit_test(test_a_function_on_a_constant_inside_its_own_trace),
        cmocka_unit_test(test_a_failing_function_leaves_nothing_and_may_succeed_later),
        cmocka_unit_test(test_a_captured_lazy_array_is_computed_once),
        cmocka_unit_test(test_an_escaped_placeholder_is_refused),
        cmocka_unit_test(test_many_outputs_and_none),
        cmocka_unit_test(test_lazy_inputs_stay_lazy),
        cmocka_unit_test(test_large_calls_are_lazy),
        cmocka_unit_test(test_storage_of_an_input_is_taken_after_its_last_use),
        cmocka_unit_test(test_outputs_freed_during_evaluation),
        cmocka_unit_test(test_constants_are_exact_and_share_a_kernel),
        cmocka_unit_test(test_neighbouring_constants_do_not_merge),
        cmocka_unit_test(test_signatures_do_not_merge),
        cmocka_unit_test(test_very_many_signatures),
        cmocka_unit_test(test_the_least_recently_used_plan_goes),
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
