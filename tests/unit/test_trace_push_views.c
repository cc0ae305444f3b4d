/*
 * test_trace_push_views.c - views inside chains: which of them become one kernel, that bits stay and memory is that of
 * inputs and outputs, and where a view stays because pushing it would compute something expensive again.
 */
#include "trace_support.h"

#include "run/compiled.h"

enum { NO_LIMIT = 256, ROWS = 96, COLUMNS = 80 };

/* ---- bodies: in[0], in[1]: ROWS x COLUMNS, in[2]: COLUMNS x ROWS, in[3]: COLUMNS ------------------------------- */

#define BODY(name) static size_t name(struct kiln_array *const *in, size_t count, struct kiln_array **out)
#define RETURNS(array)                                                                                                 \
    do {                                                                                                               \
        (void)count;                                                                                                   \
        (void)in;                                                                                                      \
        out[0] = (array);                                                                                              \
        return 1;                                                                                                      \
    } while (0)

static struct kiln_array *turned(struct kiln_array *a)
{
    return keep(transpose(a, (int64_t[]){1, 0}));
}

/* Columns first to end - 1, in steps. */
static struct kiln_array *cut(struct kiln_array *a, int64_t first, int64_t end, int64_t step)
{
    return keep(apply(KILN_OP_SLICE, &a, 1, (int64_t[]){0, first, a->dims[0], end, 1, step}, 6));
}

static struct kiln_array *with_attrs(enum kiln_op op, struct kiln_array *a, const int64_t *attrs, size_t count)
{
    return keep(apply(op, &a, 1, attrs, count));
}

#define ATTRS(...) (int64_t[]){__VA_ARGS__}, COUNT(((int64_t[]){__VA_ARGS__}))

BODY(turned_sum)
{
    RETURNS(B(MULTIPLY, turned(B(ADD, in[0], in[1])), in[2]));
}

/* Expensive, but computed as often as before. */
BODY(turned_chain)
{
    RETURNS(B(DIVIDE, turned(U(EXP, turned(U(TANH, turned(B(ADD, in[0], in[3])))))), in[2]));
}

BODY(halves)
{
    struct kiln_array *x = U(TANH, B(ADD, in[0], in[3]));
    RETURNS(B(MULTIPLY, U(SIGMOID, cut(x, 0, COLUMNS / 2, 1)), cut(x, COLUMNS / 2, COLUMNS, 1)));
}

/* Cut backwards, and again what was cut. */
BODY(cuts)
{
    struct kiln_array *x = cut(cut(U(EXP, in[0]), 30, 1, -3), 1, 9, 2);
    RETURNS(U(NEGATIVE, x));
}

/* (a + b) and its transposition: cheap, so that it is computed twice rather than kept. */
BODY(and_itself)
{
    struct kiln_array *x = B(ADD, cut(in[0], 0, COLUMNS, 1), in[1]);
    x = keep(apply(KILN_OP_SLICE, &x, 1, (int64_t[]){0, 0, COLUMNS, COLUMNS, 1, 1}, 6));
    RETURNS(B(SUBTRACT, x, turned(x)));
}

BODY(expanded)
{
    struct kiln_array *x = with_attrs(KILN_OP_EXPAND_DIMS, B(ADD, in[0], in[3]), ATTRS(1));
    x = with_attrs(KILN_OP_SQUEEZE, B(MULTIPLY, x, x), ATTRS(1));
    RETURNS(B(ADD, x, in[3]));
}

BODY(reshaped)
{
    struct kiln_array *x = with_attrs(KILN_OP_RESHAPE, B(MULTIPLY, in[0], in[3]), ATTRS(ROWS, 2, COLUMNS / 2));
    x = with_attrs(KILN_OP_RESHAPE, U(EXP, x), ATTRS(ROWS / 4, 4, COLUMNS));
    RETURNS(B(ADD, x, in[3]));
}

/* 1 + w is cheap, and computed where it is repeated. */
BODY(repeated_cheap)
{
    RETURNS(B(MULTIPLY, in[0], B(ADD, number(1), in[3])));
}

BODY(sum_of_turned)
{
    RETURNS(keep(sum_axis(turned(B(ADD, in[0], in[1])), 1, false)));
}

BODY(sum_of_all)
{
    struct kiln_array *x = U(SQUARE, B(SUBTRACT, in[0], in[1]));
    RETURNS(keep(sum_axis(with_attrs(KILN_OP_RESHAPE, x, ATTRS(ROWS * COLUMNS)), 0, false)));
}

static struct kiln_array *softmax(struct kiln_array *x, bool keeps)
{
    struct kiln_array *top = with_attrs(KILN_OP_MAX, x, ATTRS(1, keeps)), *sum;
    if (!keeps) top = with_attrs(KILN_OP_EXPAND_DIMS, top, ATTRS(1));
    x = U(EXP, B(SUBTRACT, x, top));
    sum = keep(sum_axis(x, 1, keeps));
    if (!keeps) sum = with_attrs(KILN_OP_RESHAPE, sum, ATTRS(x->dims[0], 1));
    return B(DIVIDE, x, sum);
}

BODY(softmax_of_turned)
{
    RETURNS(softmax(turned(B(ADD, in[0], in[1])), true));
}

/* Reductions that drop their axis, which is then put back. */
BODY(softmax_with_axes_put_back)
{
    RETURNS(softmax(B(ADD, in[0], in[1]), false));
}

/* ---- bodies that need more than one kernel --------------------------------------------------------------------- */

/* A view of a result that somebody wants: the packed result, looked at. */
BODY(turned_output)
{
    RETURNS(turned(B(ADD, in[0], in[1])));
}

BODY(repeated_exp)
{
    RETURNS(B(ADD, in[0], U(EXP, in[3])));
}

/* The same, repeated before it is turned. */
BODY(repeated_exp_turned)
{
    struct kiln_array *row = with_attrs(KILN_OP_BROADCAST, U(EXP, in[3]), ATTRS(ROWS, COLUMNS));
    RETURNS(B(ADD, in[2], turned(row)));
}

BODY(exp_and_itself)
{
    struct kiln_array *x = U(EXP, cut(in[2], 0, COLUMNS, 1));
    RETURNS(B(SUBTRACT, x, turned(x)));
}

/* A reshape that the operand of fewer axes can't follow. */
BODY(flattened_with_a_row)
{
    struct kiln_array *x = with_attrs(KILN_OP_RESHAPE, B(ADD, in[0], in[3]), ATTRS(ROWS * COLUMNS));
    RETURNS(U(NEGATIVE, x));
}

/* Both the result and a view of it are wanted. */
BODY(two_outputs)
{
    (void)count;
    out[0] = B(ADD, in[0], in[1]);
    out[1] = B(MULTIPLY, turned(out[0]), in[2]);
    return 2;
}

/* ---- what becomes of them --------------------------------------------------------------------------------------- */

struct expectation {
    const char *name;
    function_body *body;
    uint32_t kernels;
    bool in_place; /* memory for inputs and outputs only */
};

#define ROW(body, kernels, in_place) {#body, body, kernels, in_place}
static const struct expectation expectations[] = {
    ROW(turned_sum, 1, true),
    ROW(turned_chain, 1, true),
    ROW(halves, 1, true),
    ROW(cuts, 1, true),
    ROW(and_itself, 1, true),
    ROW(expanded, 1, true),
    ROW(reshaped, 1, true),
    ROW(repeated_cheap, 1, true),
    ROW(sum_of_turned, 1, true),
    ROW(sum_of_all, 1, true),
    ROW(softmax_of_turned, 1, true),
    ROW(softmax_with_axes_put_back, 1, true),
    ROW(turned_output, 1, true),
    ROW(repeated_exp, 2, false),
    ROW(repeated_exp_turned, 2, false),
    ROW(exp_and_itself, 2, false),
    ROW(flattened_with_a_row, 2, false),
    ROW(two_outputs, 2, true),
};

enum { INPUTS = 4 };

static void make_inputs(struct kiln_array **inputs)
{
    inputs[0] = counting(-900, SHAPE(ROWS, COLUMNS));
    inputs[1] = counting(0.25f, SHAPE(ROWS, COLUMNS));
    inputs[2] = counting(1, SHAPE(COLUMNS, ROWS));
    inputs[3] = counting(-20, SHAPE(COLUMNS));
}
#define make_inputs(...) CHECK_CALL(make_inputs, __VA_ARGS__)

static struct kiln_tape *prepared(function_body *body)
{
    struct function function = {.body = body};
    struct kiln_array *inputs[INPUTS];
    struct kiln_tape *tape = NULL;
    make_inputs(inputs);
    must_be(kiln__trace(call_body, &function, inputs, INPUTS, &tape, &err));
    must_be(kiln__tape_simplify(tape, &err));
    must_be(kiln__tape_push_views(tape, &err));
    must_be(kiln__tape_fuse(tape, NO_LIMIT, &err));
    unref_all(inputs, INPUTS);
    return tape;
}

static uint32_t count_kernels(const struct kiln_tape *tape)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tape->group_count; i++) count += tape->groups[i].member_count > 0;
    for (uint32_t i = 0; i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        count += value->is_live && value->kind == KILN_VALUE_NODE && value->group == KILN_NO_GROUP &&
                 kiln__ops[value->op].kind != KILN_OP_VIEW;
    }
    return count;
}

static void test_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expectations); i++) {
        struct kiln_tape *tape = prepared(expectations[i].body);
        if (count_kernels(tape) != expectations[i].kernels)
            CHECK_FAIL("%s: %u kernels, expected %u", expectations[i].name, count_kernels(tape),
                       expectations[i].kernels);
        kiln__tape_free(tape);
    }
}

static void expect_same_bits(const char *name, const struct kiln_array *got, const struct kiln_array *want)
{
    CHECK_EQ(got->ndim, want->ndim);
    CHECK_MEM(got->dims, want->dims, want->ndim * sizeof *want->dims);
    for (int64_t i = 0; i < want->size; i++)
        if (memcmp(element(got, i), element(want, i), kiln__dtype_size(want->dtype)) != 0)
            CHECK_FAIL("%s: element %lld is %g, expected %g", name, (long long)i, (double)element_f32(got, i),
                       (double)element_f32(want, i));
}

static struct kiln_compiled *compile(struct function *function)
{
    struct kiln_compiled *compiled = NULL;
    must_be(kiln__compiled_new("test", call_body, function, NULL, false, &compiled, &err));
    return compiled;
}

static void test_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expectations); i++) {
        struct function function = {.body = expectations[i].body};
        struct kiln_array *inputs[INPUTS], *plain[MOST_OUTPUTS];
        struct kiln_compiled *compiled = compile(&function);
        struct kiln_output_list out;
        make_inputs(inputs);
        size_t start = scratch_count, count = expectations[i].body(inputs, INPUTS, plain);
        must_be(kiln__compiled_call(compiled, inputs, INPUTS, &out, &err));
        CHECK_EQ(out.count, count);
        for (size_t k = 0; k < count; k++) {
            eval(plain[k]);
            eval(out.arrays[k]);
            expect_same_bits(expectations[i].name, out.arrays[k], plain[k]);
        }
        drop_scratch(start);
        kiln__output_list_release(&out);
        unref_all(inputs, INPUTS);
        kiln__compiled_unref(compiled);
    }
}

static struct kiln_memory memory_now(void)
{
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    return memory;
}

/* The second call, so that nothing is traced: what lies in memory at once is what is there afterwards. */
static void test_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expectations); i++) {
        struct function function = {.body = expectations[i].body};
        struct kiln_array *inputs[INPUTS];
        struct kiln_compiled *compiled = compile(&function);
        struct kiln_output_list out;
        make_inputs(inputs);
        for (int call = 0; call < 2; call++) {
            kiln__memory_reset_peak();
            must_be(kiln__compiled_call(compiled, inputs, INPUTS, &out, &err));
            for (size_t k = 0; k < out.count; k++) eval(out.arrays[k]);
            struct kiln_memory memory = memory_now();
            if (call && expectations[i].in_place && memory.peak != memory.active)
                CHECK_FAIL("%s: %zu bytes at the peak, %zu of inputs and outputs", expectations[i].name, memory.peak,
                           memory.active);
            kiln__output_list_release(&out);
        }
        unref_all(inputs, INPUTS);
        kiln__compiled_unref(compiled);
    }
}

/* ---- growth ----------------------------------------------------------------------------------------------------- */

enum { MANY = 20000 };

BODY(many_turns)
{
    struct kiln_array *x = in[0];
    for (int i = 0; i < MANY; i++) x = turned(U(NEGATIVE, x));
    RETURNS(U(EXP, x));
}

/* Each level is read under two views: copies would double the tape again and again. */
BODY(many_halves)
{
    struct kiln_array *x = in[0];
    for (int i = 0; i < 64; i++) x = B(ADD, cut(x, 0, COLUMNS, 1), turned(turned(cut(x, 0, COLUMNS, 1))));
    for (int i = 0; i < 16; i++) x = B(ADD, cut(x, 1, x->dims[1], 1), cut(x, 0, x->dims[1] - 1, 1));
    RETURNS(x);
}

/* A stencil: each level looks at the one before in three places. */
BODY(stencil)
{
    struct kiln_array *x = U(EXP, in[0]);
    for (int i = 0; i < 12; i++) {
        int64_t end = x->dims[1];
        x = B(ADD, B(ADD, cut(x, 2, end, 1), cut(x, 1, end - 1, 1)), cut(x, 0, end - 2, 1));
    }
    RETURNS(x);
}

static void test_growth(void **state)
{
    (void)state;
    static function_body *const bodies[] = {many_turns, many_halves, stencil};
    static const uint32_t most[] = {MANY + 10, 2000, 500};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct kiln_tape *tape = prepared(bodies[i]);
        CHECK_LE(tape->count, most[i]);
        kiln__tape_free(tape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
