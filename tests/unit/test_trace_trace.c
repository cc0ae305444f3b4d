/*
 * test_trace_trace.c - what a trace records, and what it refuses without leaving anything behind.
 */
#include "trace_support.h"

static size_t active_memory(void)
{
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    return memory.active;
}

static size_t add_then_exp(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    CHECK_EQ(count, 2);
    CHECK_TRUE(kiln__trace_running());
    out[0] = U(EXP, B(ADD, in[0], in[1]));
    return 1;
}

static void test_records_inputs_before_what_reads_them(void **state)
{
    (void)state;
    struct kiln_tape *tape = tape_of(add_then_exp, 2, SHAPE(2, 3));
    CHECK_EQ(tape->input_count, 2);
    CHECK_EQ(tape->count, 4);
    CHECK_EQ(tape->values[0].kind, KILN_VALUE_INPUT);
    CHECK_EQ(tape->values[1].kind, KILN_VALUE_INPUT);
    CHECK_EQ(tape->values[2].op, KILN_OP_ADD);
    CHECK_EQ(tape->values[2].inputs[0], 0);
    CHECK_EQ(tape->values[2].inputs[1], 1);
    CHECK_EQ(tape->values[3].op, KILN_OP_EXP);
    CHECK_EQ(tape->values[3].ndim, 2);
    CHECK_EQ(tape->values[3].dims[1], 3);
    CHECK_EQ(tape->output_count, 1);
    CHECK_EQ(tape->outputs[0], 3);
    kiln__tape_free(tape);
}

static size_t inputs_back(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = in[1];
    out[1] = in[0];
    out[2] = in[1];
    return 3;
}

static size_t nothing(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)in, (void)count, (void)out;
    return 0;
}

static void test_outputs_may_be_inputs_or_none(void **state)
{
    (void)state;
    struct kiln_tape *tape = tape_of(inputs_back, 2, SHAPE(3));
    CHECK_EQ(tape->count, 2);
    CHECK_EQ(tape->outputs[0], 1);
    CHECK_EQ(tape->outputs[1], 0);
    CHECK_EQ(tape->outputs[2], 1);
    kiln__tape_free(tape);
    tape = tape_of(nothing, 1, SHAPE(3));
    CHECK_EQ(tape->output_count, 0);
    kiln__tape_free(tape);
}

/* ---- what is refused ------------------------------------------------------------------------------------------ */

static struct kiln_array *outside, *escaped;

static void expect_refused(function_body *body, struct kiln_array *input, const char *part)
{
    struct function function = {.body = body};
    struct kiln_tape *tape = NULL;
    kiln_error err = {.text = ""};
    CHECK_STATUS(kiln__trace(call_body, &function, &input, 1, &tape, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, part);
    CHECK_NULL(tape);
    CHECK_FALSE(kiln__trace_running());
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static size_t null_output(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = in[0];
    out[1] = NULL;
    return 2;
}

static size_t returns_outside(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count, (void)in;
    out[0] = outside;
    return 1;
}

static size_t escapes(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(EXP, in[0]);
    escaped = kiln__array_ref(out[0]);
    return 1;
}

static void test_refuses_a_missing_output_and_the_real_input(void **state)
{
    (void)state;
    struct kiln_array *x = counting(0, SHAPE(4));
    expect_refused(null_output, x, "Output 1 of the function is empty");
    outside = x;
    expect_refused(returns_outside, x, "uses input 0 directly");
    kiln__array_unref(x);
}

/* Made of the real input inside the function: as wrong as using it as it is, and found at once. */
static size_t exp_of_outside(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *made = NULL;
    kiln_error err = {.text = ""};
    (void)count;
    CHECK_STATUS(kiln__apply(KILN_OP_EXP, &outside, 1, NULL, 0, &made, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "[exp] Input 0");
    CHECK_CONTAINS(err.text, "use the argument");
    CHECK_NULL(made);
    out[0] = in[0];
    return 1;
}

static void test_refuses_what_is_made_of_the_real_input(void **state)
{
    (void)state;
    struct function function = {.body = exp_of_outside};
    struct kiln_tape *tape = NULL;
    outside = counting(0, SHAPE(4));
    must_be(kiln__trace(call_body, &function, &outside, 1, &tape, &err));
    kiln__tape_free(tape);
    kiln__array_unref(unary(KILN_OP_EXP, outside)); /* fine again when the trace has ended */
    kiln__array_unref(outside);
}

/* A tracer that outlives its trace can be asked for its shape and freed; nothing else. */
static void test_a_tracer_outlives_its_trace(void **state)
{
    (void)state;
    struct kiln_array *x = counting(0, SHAPE(4)), *made = NULL;
    kiln_error err = {.text = ""};
    kiln__tape_free(tape_of(escapes, 1, SHAPE(4)));
    CHECK_EQ(escaped->size, 4);
    CHECK_STATUS(kiln__apply(KILN_OP_EXP, &escaped, 1, NULL, 0, &made, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "trace that has ended");
    CHECK_STATUS(kiln__eval(&escaped, 1, &err), KILN_INVALID, &err);
    outside = escaped;
    expect_refused(returns_outside, x, "trace that has ended");
    kiln__array_unref(escaped);
    kiln__array_unref(x);
}

static void test_a_failing_function_leaves_nothing(void **state)
{
    (void)state;
    struct function function = {.body = add_then_exp, .fails = true};
    struct kiln_array *inputs[2] = {counting(0, SHAPE(1000)), counting(0, SHAPE(1000))};
    size_t before = active_memory();
    for (int i = 0; i < 3000; i++) {
        struct kiln_tape *tape = NULL;
        kiln_error err = {.text = ""};
        CHECK_STATUS(kiln__trace(call_body, &function, inputs, 2, &tape, &err), KILN_LOWER_FAILED, &err);
        CHECK_STR(err.text, "the function says no");
    }
    CHECK_EQ(active_memory(), before);
    CHECK_EQ(function.calls, 3000);
    unref_all(inputs, 2);
}

/* Placeholders have a shape and no bytes. */
static void test_placeholders_take_no_memory(void **state)
{
    (void)state;
    struct function function = {.body = inputs_back};
    struct kiln_array *inputs[2] = {counting(0, SHAPE(100000)), counting(0, SHAPE(100000))};
    struct kiln_tape *tape = NULL;
    size_t before = active_memory();
    must_be(kiln__trace(call_body, &function, inputs, 2, &tape, &err));
    CHECK_EQ(active_memory(), before);
    kiln__tape_free(tape);
    unref_all(inputs, 2);
}

static struct kiln_array *captured;

static size_t captures(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, B(MULTIPLY, in[0], captured), captured);
    return 1;
}

static void test_captured_arrays_are_held_once_each(void **state)
{
    (void)state;
    captured = counting(5, SHAPE(4));
    struct kiln_tape *tape = tape_of(captures, 1, SHAPE(4));
    CHECK_EQ(captured->refs, 2);
    CHECK_EQ(tape->count, 4);
    CHECK_EQ(tape->values[1].kind, KILN_VALUE_CONSTANT);
    CHECK_EQ(tape->values[1].array, captured);
    CHECK_FALSE(kiln__value_is_scalar(&tape->values[1]));
    kiln__tape_free(tape);
    CHECK_EQ(captured->refs, 1);
    kiln__array_unref(captured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_inputs_before_what_reads_them),
        cmocka_unit_test(test_outputs_may_be_inputs_or_none),
        cmocka_unit_test(test_refuses_a_missing_output_and_the_real_input),
        cmocka_unit_test(test_refuses_what_is_made_of_the_real_input),
        cmocka_unit_test(test_a_tracer_outlives_its_trace),
        cmocka_unit_test(test_a_failing_function_leaves_nothing),
        cmocka_unit_test(test_placeholders_take_no_memory),
        cmocka_unit_test(test_captured_arrays_are_held_once_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
