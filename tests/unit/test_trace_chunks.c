/*
 * test_trace_chunks.c - reductions over rows of several chunks, with what stands before and after them: one kernel, and
 * the bits of operations that run one by one, whatever the length. Chunks have 1024 elements, so lengths lie around
 * multiples of it, and one is so long that there are more than 1024 chunks.
 */
#include "trace_support.h"

#include "codegen/group.h"
#include "run/compiled.h"
#include "run/plan.h"

enum { NO_LIMIT = 256, INPUTS = 4, LONG_ROW = KILN_REDUCE_CHUNK * KILN_REDUCE_CHUNK + 77 };

#define BODY(name) static size_t name(struct kiln_array *const *in, size_t count, struct kiln_array **out)
#define RETURNS(array)                                                                                                 \
    do {                                                                                                               \
        (void)count;                                                                                                   \
        out[0] = (array);                                                                                              \
        return 1;                                                                                                      \
    } while (0)

/* ---- inputs: in[0], in[1]: rows x columns, in[2]: columns, in[3]: rows x 1 -------------------------------------- */

/* Between -1 and 1 with all their bits, so that another order of adding gives another sum. */
static struct kiln_array *noise(uint64_t seed, size_t ndim, const int *dims)
{
    struct kiln_array *array = NULL;
    must_be(kiln__array_alloc(KILN_FLOAT32, ndim, dims, &array, &err));
    for (int64_t i = 0; i < array->size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        float value = (float)(int32_t)(seed >> 32) / 2147483648.0f;
        memcpy(array->data + i * 4, &value, sizeof value);
    }
    return array;
}

static void make_inputs(struct kiln_array **inputs, int rows, int columns)
{
    inputs[0] = noise(1, SHAPE(rows, columns));
    inputs[1] = noise(2, SHAPE(rows, columns));
    inputs[2] = noise(3, SHAPE(columns));
    inputs[3] = noise(4, SHAPE(rows, 1));
}
#define make_inputs(...) CHECK_CALL(make_inputs, __VA_ARGS__)

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

static struct kiln_array *reduced(enum kiln_op op, struct kiln_array *x, bool keeps)
{
    return keep(apply(op, &x, 1, (int64_t[]){x->ndim - 1, keeps}, 2));
}

static struct kiln_array *total(struct kiln_array *x)
{
    return reduced(KILN_OP_SUM, x, true);
}

static struct kiln_array *backwards(struct kiln_array *x)
{
    const int64_t last = x->dims[1] - 1;
    return keep(apply(KILN_OP_SLICE, &x, 1, (int64_t[]){0, last, x->dims[0], -1, 1, -1}, 6));
}

static struct kiln_array *softmax(struct kiln_array *x)
{
    x = U(EXP, B(SUBTRACT, x, reduced(KILN_OP_MAX, x, true)));
    return B(DIVIDE, x, total(x));
}

BODY(sum_of_products)
{
    RETURNS(reduced(KILN_OP_SUM, B(MULTIPLY, in[0], in[1]), false));
}

BODY(scaled_by_its_sum)
{
    RETURNS(B(DIVIDE, in[0], total(in[0])));
}

BODY(softmax_of_a_sum)
{
    RETURNS(softmax(B(ADD, in[0], in[2])));
}

BODY(rms_norm)
{
    struct kiln_array *squares = total(U(SQUARE, in[0]));
    RETURNS(B(MULTIPLY, B(MULTIPLY, in[0], U(RSQRT, B(ADD, squares, number(1e-6f)))), in[2]));
}

BODY(layer_norm)
{
    struct kiln_array *length = number((float)in[0]->dims[1]), *x = in[0];
    x = B(SUBTRACT, x, B(DIVIDE, total(x), length));
    x = B(MULTIPLY, x, U(RSQRT, B(ADD, B(DIVIDE, total(U(SQUARE, x)), length), number(1e-5f))));
    RETURNS(B(ADD, B(MULTIPLY, x, in[2]), in[1]));
}

BODY(log_sum_exp)
{
    struct kiln_array *top = reduced(KILN_OP_MAX, in[0], true);
    RETURNS(B(ADD, top, U(LOG, total(U(EXP, B(SUBTRACT, in[0], top))))));
}

/* Totals of 16-bit numbers are kept wider than their elements; bytes are added up as whole numbers. */
BODY(softmax_of_halves)
{
    RETURNS(softmax(cast(B(MULTIPLY, in[0], in[3]), KILN_FLOAT16)));
}

BODY(norm_of_bfloats)
{
    struct kiln_array *x = cast(in[0], KILN_BFLOAT16);
    RETURNS(B(DIVIDE, x, U(SQRT, total(U(SQUARE, x)))));
}

BODY(whole_numbers)
{
    struct kiln_array *x = cast(B(MULTIPLY, in[0], number(100)), KILN_INT8);
    RETURNS(B(SUBTRACT, x, total(x)));
}

/* Every kind of reduction on one row, read again by all elements. */
BODY(all_kinds)
{
    struct kiln_array *near_one = B(ADD, B(MULTIPLY, in[0], number(0.001f)), number(1)), *res = in[1];
    static const enum kiln_op kinds[] = {KILN_OP_SUM, KILN_OP_PROD, KILN_OP_MIN, KILN_OP_MAX};
    for (size_t i = 0; i < COUNT(kinds); i++) res = B(ADD, res, reduced(kinds[i], near_one, true));
    struct kiln_array *small = B(LESS, in[0], number(-0.9999f));
    res = B(ADD, res, cast(reduced(KILN_OP_ANY, small, true), KILN_FLOAT32));
    RETURNS(B(SUBTRACT, res, cast(reduced(KILN_OP_ALL, small, true), KILN_FLOAT32)));
}

/* The row is read from its end. */
BODY(sum_backwards)
{
    struct kiln_array *x = backwards(B(MULTIPLY, in[0], in[2]));
    RETURNS(B(DIVIDE, B(ADD, x, in[1]), total(x)));
}

/* What was reduced is reduced again under another operand: three passes that need each other. */
BODY(thrice)
{
    struct kiln_array *x = in[0];
    for (int i = 0; i < 3; i++) x = B(SUBTRACT, x, B(MULTIPLY, total(B(MULTIPLY, x, in[1])), in[2]));
    RETURNS(x);
}

/* Elements, totals and what is made of them, all wanted. */
BODY(several_outputs)
{
    (void)count;
    out[0] = U(SQUARE, in[0]);
    out[1] = total(out[0]);
    out[2] = B(MULTIPLY, in[1], U(SQRT, out[1]));
    return 3;
}

static const struct {
    const char *name;
    function_body *body;
} bodies[] = {
    {"sum of products", sum_of_products},
    {"scaled by its sum", scaled_by_its_sum},
    {"softmax of a sum", softmax_of_a_sum},
    {"rms norm", rms_norm},
    {"layer norm", layer_norm},
    {"log sum exp", log_sum_exp},
    {"softmax of halves", softmax_of_halves},
    {"norm of bfloats", norm_of_bfloats},
    {"whole numbers", whole_numbers},
    {"all kinds", all_kinds},
    {"sum backwards", sum_backwards},
    {"thrice", thrice},
    {"several outputs", several_outputs},
};

/* ---- one kernel ------------------------------------------------------------------------------------------------- */

static uint32_t count_kernels(function_body *body, int rows, int columns)
{
    struct function function = {.body = body};
    struct kiln_array *inputs[INPUTS];
    struct kiln_tape *tape = NULL;
    uint32_t count = 0;
    make_inputs(inputs, rows, columns);
    must_be(kiln__trace(call_body, &function, inputs, INPUTS, &tape, &err));
    must_be(kiln__tape_simplify(tape, &err));
    must_be(kiln__tape_push_views(tape, &err));
    must_be(kiln__tape_fuse(tape, NO_LIMIT, &err));
    for (uint32_t i = 0; i < tape->group_count; i++) count += tape->groups[i].member_count > 0;
    for (uint32_t i = 0; i < tape->count; i++)
        count += tape->values[i].is_live && tape->values[i].kind == KILN_VALUE_NODE &&
                 tape->values[i].group == KILN_NO_GROUP && kiln__ops[tape->values[i].op].kind != KILN_OP_VIEW;
    kiln__tape_free(tape);
    unref_all(inputs, INPUTS);
    return count;
}

static void test_one_kernel_for_every_length(void **state)
{
    static const int lengths[] = {64, 1024, 1025, 5000};
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++)
        for (size_t k = 0; k < COUNT(lengths); k++) {
            uint32_t kernels = count_kernels(bodies[i].body, 3, lengths[k]);
            if (kernels != 1) CHECK_FAIL("%s over %d: %u kernels", bodies[i].name, lengths[k], kernels);
        }
}

/* ---- the same bits ---------------------------------------------------------------------------------------------- */

static void expect_same_bits(const char *name, int columns, const struct kiln_array *got, const struct kiln_array *want)
{
    size_t bytes = (size_t)want->size * kiln__dtype_size(want->dtype);
    CHECK_EQ(got->dtype, want->dtype);
    CHECK_EQ(got->ndim, want->ndim);
    CHECK_MEM(got->dims, want->dims, want->ndim * sizeof *want->dims);
    if (got->row_contiguous && want->row_contiguous && memcmp(got->data, want->data, bytes) == 0) return;
    for (int64_t i = 0; i < want->size; i++)
        if (memcmp(element(got, i), element(want, i), kiln__dtype_size(want->dtype)) != 0)
            CHECK_FAIL("%s over %d: element %lld is %.9g, expected %.9g", name, columns, (long long)i,
                       element_number(got, i), element_number(want, i));
}

static void check_bits(size_t which, struct kiln_compiled *compiled, int rows, int columns)
{
    struct kiln_array *inputs[INPUTS], *plain[MOST_OUTPUTS];
    struct kiln_output_list out;
    make_inputs(inputs, rows, columns);
    size_t start = scratch_count, count = bodies[which].body(inputs, INPUTS, plain);
    must_be(kiln__compiled_call(compiled, inputs, INPUTS, &out, &err));
    CHECK_EQ(out.count, count);
    for (size_t k = 0; k < count; k++) {
        eval(plain[k]);
        eval(out.arrays[k]);
        expect_same_bits(bodies[which].name, columns, out.arrays[k], plain[k]);
    }
    drop_scratch(start);
    kiln__output_list_release(&out);
    unref_all(inputs, INPUTS);
}
#define check_bits(...) CHECK_CALL(check_bits, __VA_ARGS__)

static struct kiln_compiled *compile(struct function *function, bool shapeless)
{
    struct kiln_compiled *compiled = NULL;
    must_be(kiln__compiled_new("chunks", call_body, function, NULL, shapeless, &compiled, &err));
    return compiled;
}

/* Chunks that are full, one element short and one too many; a last chunk of less than the lanes; many rows and one. */
static void test_bits_for_every_length(void **state)
{
    static const int lengths[] = {32, 1023, 1024, 1025, 1039, 2047, 2048, 2049, 8192, 8193, 20011};
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct function function = {.body = bodies[i].body};
        struct kiln_compiled *compiled = compile(&function, false);
        for (size_t k = 0; k < COUNT(lengths); k++) {
            check_bits(i, compiled, 1, lengths[k]);
            check_bits(i, compiled, 5, lengths[k]);
        }
        kiln__compiled_unref(compiled);
    }
}

/* Chunks of chunks. */
static void test_bits_of_a_very_long_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct function function = {.body = bodies[i].body};
        struct kiln_compiled *compiled = compile(&function, false);
        check_bits(i, compiled, 1, LONG_ROW);
        kiln__compiled_unref(compiled);
    }
}

/* ---- large arrays: what is written goes past the caches ------------------------------------------------------- */

enum { MANY_ROWS = 1400, ODD_COLUMNS = 4099 }; /* rows begin anywhere in a cache line */

static void test_bits_of_large_arrays(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct function function = {.body = bodies[i].body};
        struct kiln_compiled *compiled = compile(&function, false);
        check_bits(i, compiled, MANY_ROWS, ODD_COLUMNS);
        kiln__compiled_unref(compiled);
    }
}

/* Does the kernel of a body stream for inputs of this shape? */
static bool streams(function_body *body, int rows, int columns)
{
    struct function function = {.body = body};
    struct kiln_array *inputs[INPUTS], *outputs[MOST_OUTPUTS];
    struct kiln_tape *tape = NULL;
    struct kiln_plan *plan = NULL;
    make_inputs(inputs, rows, columns);
    must_be(kiln__trace(call_body, &function, inputs, INPUTS, &tape, &err));
    must_be(kiln__tape_simplify(tape, &err));
    must_be(kiln__tape_fuse(tape, NO_LIMIT, &err));
    must_be(kiln__plan_new(tape, NULL, &plan, &err));
    must_be(kiln__plan_run(plan, inputs, outputs, &err));
    CHECK_EQ(plan->step_count, 1);
    bool is_streaming = atomic_load(&plan->steps[0].kernels->variants)->flags & KILN_GROUP_STREAMING;
    unref_all(outputs, plan->output_count);
    unref_all(inputs, INPUTS);
    kiln__plan_unref(plan);
    kiln__tape_free(tape);
    return is_streaming;
}

static void test_large_results_stream(void **state)
{
    (void)state;
    CHECK_TRUE(streams(rms_norm, MANY_ROWS, ODD_COLUMNS));
    CHECK_TRUE(streams(several_outputs, MANY_ROWS, ODD_COLUMNS));
    CHECK_TRUE(streams(softmax_of_halves, MANY_ROWS, ODD_COLUMNS));
    CHECK_FALSE(streams(rms_norm, 100, ODD_COLUMNS));              /* others may read it from the caches */
    CHECK_FALSE(streams(rms_norm, MANY_ROWS * 64, 64));            /* short rows */
    CHECK_FALSE(streams(log_sum_exp, 2 * MANY_ROWS, ODD_COLUMNS)); /* one number for each row */
}

/* Traced with a short row, called with long ones. */
static void test_bits_of_a_shapeless_function(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        if (bodies[i].body == layer_norm || bodies[i].body == sum_backwards) continue; /* they ask for the length */
        struct function function = {.body = bodies[i].body};
        struct kiln_compiled *compiled = compile(&function, true);
        check_bits(i, compiled, 2, 40);
        check_bits(i, compiled, 3, 1025);
        check_bits(i, compiled, 1, 5000);
        check_bits(i, compiled, 3, 7);
        CHECK_EQ(function.calls, 1);
        kiln__compiled_unref(compiled);
    }
}

/* The numbers above do tell orders apart: added from left to right they give something else. */
static void test_the_order_of_a_sum_shows(void **state)
{
    (void)state;
    struct kiln_array *x = noise(1, SHAPE(5000)), *sum = sum_axis(x, 0, true);
    float from_the_left = 0;
    for (int i = 0; i < 5000; i++) from_the_left += element_f32(x, i);
    eval(sum);
    CHECK_NE(element_f32(sum, 0), from_the_left);
    kiln__array_unref(sum);
    kiln__array_unref(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_kernel_for_every_length), cmocka_unit_test(test_bits_for_every_length),
        cmocka_unit_test(test_bits_of_a_very_long_row),     cmocka_unit_test(test_bits_of_large_arrays),
        cmocka_unit_test(test_large_results_stream),        cmocka_unit_test(test_bits_of_a_shapeless_function),
        cmocka_unit_test(test_the_order_of_a_sum_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
