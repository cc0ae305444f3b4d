/*
 * test_trace_shapeless.c - what a shapeless trace keeps, and the tapes that a replay makes of it for other sizes.
 */
#include "trace_support.h"

#include "graph/deferred.h"
#include "ops/reductions.h"
#include "ops/shapes.h"
#include "run/eval.h"

/* The record of a body on one float32 input. */
static struct kiln_tape *record_of(function_body *body, size_t ndim, const int *dims)
{
    struct function function = {.body = body};
    const struct kiln_traced traced = {.callback = call_body, .payload = &function, .shapeless = true};
    struct kiln_array *input = counting(1, ndim, dims);
    struct kiln_tape *record = NULL;
    must_be(kiln__trace_function(&traced, &input, 1, &record, &err));
    CHECK_EQ(function.calls, 1);
    CHECK_FALSE(kiln__records_deferred);
    kiln__array_unref(input);
    return record;
}

static struct kiln_tape *replay(const struct kiln_tape *record, size_t ndim, const int *dims)
{
    struct kiln_array *input = counting(1, ndim, dims);
    struct kiln_tape *tape = NULL;
    must_be(kiln__tape_replay(record, &input, 1, &tape, &err));
    must_be(kiln__tape_simplify(tape, &err));
    kiln__array_unref(input);
    return tape;
}

static const struct kiln_value *output_of(const struct kiln_tape *tape)
{
    return &tape->values[tape->outputs[0]];
}

static void expect_dims(const struct kiln_value *value, size_t ndim, const int *dims)
{
    CHECK_EQ(value->ndim, ndim);
    for (size_t i = 0; i < ndim; i++) CHECK_EQ(value->dims[i], dims[i]);
}
#define expect_dims(...) CHECK_CALL(expect_dims, __VA_ARGS__)

static struct kiln_array *mean_last(struct kiln_array *a)
{
    struct kiln_array *mean = NULL;
    must_be(kiln__mean(a, (struct kiln_axes){(int[]){-1}, 1, true}, &mean, &err));
    return keep(mean);
}

static size_t centred(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(SUBTRACT, in[0], mean_last(in[0]));
    return 1;
}

/* A mean is one value of the record; of a replay it is a sum, divided by the size at hand. */
static void test_formulas(void **state)
{
    (void)state;
    struct kiln_tape *record = record_of(centred, SHAPE(2, 3));
    CHECK_EQ(record->count, 3);
    CHECK_EQ(record->values[1].op, KILN_OP_DEFERRED);
    CHECK_STR(kiln__operation_name(KILN_OP_DEFERRED, record->values[1].attrs), "mean");
    for (int n = 1; n < 40; n += 6) {
        struct kiln_tape *tape = replay(record, SHAPE(5, n));
        CHECK_EQ(count_op(tape, KILN_OP_DEFERRED), 0);
        CHECK_EQ(count_op(tape, KILN_OP_SUM), 1);
        bool divides = false;
        for (uint32_t i = 0; i < tape->count; i++)
            if (kiln__value_is_scalar(&tape->values[i]))
                divides |= *(const float *)(const void *)tape->values[i].array->data == (float)n;
        CHECK_TRUE(divides);
        expect_dims(output_of(tape), SHAPE(5, n));
        kiln__tape_free(tape);
    }
    kiln__tape_free(record);
}

static size_t flattened(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *flat = NULL;
    (void)count;
    must_be(kiln__flatten(in[0], 0, -1, &flat, &err));
    out[0] = keep(flat);
    return 1;
}

/* A reshape to the same shape is nothing there, and something elsewhere. */
static void test_what_is_nothing_at_one_size(void **state)
{
    (void)state;
    struct kiln_tape *record = record_of(flattened, SHAPE(4));
    CHECK_EQ(record->count, 2);
    kiln__tape_free(record);
    record = record_of(flattened, SHAPE(1, 1));
    struct kiln_tape *tape = replay(record, SHAPE(2, 3));
    expect_dims(output_of(tape), SHAPE(6));
    kiln__tape_free(tape);
    kiln__tape_free(record);
}

static size_t doubled(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *two = NULL;
    (void)count;
    must_be(kiln__reshape(in[0], (int[]){2, 2}, 2, &two, &err));
    out[0] = U(NEGATIVE, keep(two));
    return 1;
}

static size_t squeezed(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *rest = NULL;
    (void)count;
    must_be(kiln__squeeze_all(in[0], &rest, &err));
    out[0] = keep(rest);
    return 1;
}

static void expect_refusal(const struct kiln_tape *record, size_t ndim, const int *dims, const char *text)
{
    struct kiln_array *input = counting(1, ndim, dims);
    struct kiln_tape *tape = NULL;
    kiln_error error = {.text = ""};
    CHECK_STATUS(kiln__tape_replay(record, &input, 1, &tape, &error), KILN_INVALID, &error);
    CHECK_NULL(tape);
    CHECK_CONTAINS(error.text, text);
    CHECK_FALSE(kiln__trace_running());
    kiln__array_unref(input);
}
#define expect_refusal(...) CHECK_CALL(expect_refusal, __VA_ARGS__)

static void test_refusals(void **state)
{
    (void)state;
    struct kiln_tape *record = record_of(doubled, SHAPE(4));
    expect_refusal(record, SHAPE(5), "[reshape] Cannot reshape array of size 5 into shape (2,2).");
    expect_refusal(record, SHAPE(5), "was traced with other sizes");
    kiln__tape_free(record);
    record = record_of(squeezed, SHAPE(1, 4));
    expect_refusal(record, SHAPE(2, 4), "[squeeze_all] The result had 1 dimensions");
    kiln__tape_free(record);
}

/* Outside of the trace, and on arrays that are not part of it, nothing is kept. */
static size_t uses_others(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *other = keep(counting(1, SHAPE(2, 2))), *flat = NULL;
    (void)count;
    must_be(kiln__flatten(other, 0, -1, &flat, &err));
    CHECK_EQ(atomic_load(&flat->node)->op, KILN_OP_RESHAPE);
    must_be(kiln__eval(&flat, 1, &err));
    out[0] = B(ADD, in[0], keep(flat));
    return 1;
}

static void test_other_arrays(void **state)
{
    (void)state;
    struct kiln_tape *record = record_of(uses_others, SHAPE(4)), *tape = replay(record, SHAPE(1));
    expect_dims(output_of(tape), SHAPE(4));
    kiln__tape_free(tape);
    kiln__tape_free(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_what_is_nothing_at_one_size),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_other_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
