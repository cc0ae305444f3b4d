/*
 * test_run_compiled_nesting.c - what a function may do while it is traced: call compiled functions, capture arrays,
 * fail.
 */
#include "compiled_support.h"

#include "ops/layers.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_compile_becomes_part_of_the_outer),
        cmocka_unit_test(test_a_function_that_calls_itself_ends_as_it_would_plainly),
        cmocka_unit_test(test_a_compiled_function_on_constants_inside_a_trace),
        cmocka_unit_test(test_a_layer_evaluated_inside_a_trace),
        cmocka_unit_test(test_a_function_on_a_constant_inside_its_own_trace),
        cmocka_unit_test(test_a_failing_function_leaves_nothing_and_may_succeed_later),
        cmocka_unit_test(test_a_captured_lazy_array_is_computed_once),
        cmocka_unit_test(test_an_escaped_placeholder_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
