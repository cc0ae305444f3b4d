/*
 * test_trace_push_views_random.c - random chains of operations, reductions and views, above all views that repeat: a
 * broadcast of a broadcast, a reshape of axes that repeat, a slice of either. Compiled gives what the operations give
 * one by one, bit for bit.
 *
 * Every step takes values of rows x columns, of columns or of rows x 1, and gives one of those; on the way it goes
 * through other shapes. Seeds are fixed. KILN_TEST_SEED=n runs that one only, and prints its steps.
 */
#include "trace_support.h"

#include <stdio.h>

#include "run/compiled.h"

enum { INPUTS = 4, PROGRAMS = 400, STEPS = 24, RECENT = 6, CAP = INPUTS + STEPS };

/* ---- a program: values so far, and a source of choices that is the same in each run -------------------------------
 */

struct maker {
    uint64_t state;
    int rows, columns;
    struct kiln_array *values[CAP];
    int count;
};

static uint64_t seed_now;
static int rows_now, columns_now;

static int below(struct maker *maker, int limit)
{
    maker->state = maker->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((maker->state >> 33) % (uint64_t)limit);
}

static struct kiln_array *pick(struct maker *maker)
{
    int recent = maker->count < RECENT ? maker->count : RECENT;
    return maker->values[below(maker, 4) ? maker->count - 1 - below(maker, recent) : below(maker, maker->count)];
}

static struct kiln_array *with(enum kiln_op op, struct kiln_array *a, const int64_t *attrs, size_t count)
{
    return keep(apply(op, &a, 1, attrs, count));
}

#define ATTRS(...) (int64_t[]){__VA_ARGS__}, COUNT(((int64_t[]){__VA_ARGS__}))

/* An operation between two views, so that the first is not merely combined with the second. */
static struct kiln_array *between(struct maker *maker, struct kiln_array *x)
{
    static const enum kiln_op ops[] = {KILN_OP_NEGATIVE, KILN_OP_TANH, KILN_OP_SQUARE, KILN_OP_ABS};
    int which = below(maker, 2 * (int)COUNT(ops));
    return which < (int)COUNT(ops) ? keep(unary(ops[which], x)) : x;
}

/* All of rows x columns. */
static struct kiln_array *full(struct maker *maker)
{
    struct kiln_array *x = pick(maker);
    if (x->ndim == 2 && x->dims[1] == maker->columns) return x;
    return with(KILN_OP_BROADCAST, x, ATTRS(maker->rows, maker->columns));
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static struct kiln_array *one_operand(struct maker *maker)
{
    static const enum kiln_op ops[] = {KILN_OP_EXP, KILN_OP_TANH, KILN_OP_NEGATIVE, KILN_OP_SIGMOID, KILN_OP_ABS};
    return keep(unary(ops[below(maker, (int)COUNT(ops))], pick(maker)));
}

static struct kiln_array *two_operands(struct maker *maker)
{
    static const enum kiln_op ops[] = {KILN_OP_ADD, KILN_OP_SUBTRACT, KILN_OP_MULTIPLY, KILN_OP_MAXIMUM};
    struct kiln_array *a = pick(maker), *b = pick(maker);
    return keep(binary(ops[below(maker, (int)COUNT(ops))], a, b));
}

static struct kiln_array *row_total(struct maker *maker)
{
    static const enum kiln_op ops[] = {KILN_OP_SUM, KILN_OP_MAX, KILN_OP_MIN};
    struct kiln_array *x = full(maker);
    if (below(maker, 2)) return with(ops[below(maker, 3)], x, ATTRS(1, 1));
    return with(KILN_OP_EXPAND_DIMS, with(KILN_OP_SUM, x, ATTRS(1, 0)), ATTRS(1));
}

static struct kiln_array *column_total(struct maker *maker)
{
    return with(KILN_OP_SUM, full(maker), ATTRS(0, 0));
}

static struct kiln_array *turned_and_back(struct maker *maker)
{
    struct kiln_array *x = with(KILN_OP_TRANSPOSE, full(maker), ATTRS(1, 0));
    return with(KILN_OP_TRANSPOSE, between(maker, x), ATTRS(1, 0));
}

static struct kiln_array *flipped(struct maker *maker)
{
    struct kiln_array *x = full(maker);
    int64_t rows = maker->rows, columns = maker->columns;
    if (below(maker, 2)) return with(KILN_OP_SLICE, x, ATTRS(rows - 1, 0, -1, columns, -1, 1));
    return with(KILN_OP_SLICE, x, ATTRS(0, columns - 1, rows, -1, 1, -1));
}

/* Two of everything, then one of them. */
static struct kiln_array *repeated_and_cut(struct maker *maker)
{
    int64_t rows = maker->rows, columns = maker->columns, which = below(maker, 2);
    struct kiln_array *x = with(KILN_OP_BROADCAST, pick(maker), ATTRS(2, rows, columns));
    x = with(KILN_OP_SLICE, between(maker, x), ATTRS(which, 0, 0, which + 1, rows, columns, 1, 1, 1));
    return with(KILN_OP_SQUEEZE, between(maker, x), ATTRS(0));
}

/* A row becomes many, and those many matrices. */
static struct kiln_array *broadcast_twice(struct maker *maker)
{
    int64_t rows = maker->rows, columns = maker->columns;
    struct kiln_array *x = pick(maker);
    if (x->ndim == 1) x = with(KILN_OP_BROADCAST, x, ATTRS(1, columns));
    x = between(maker, with(KILN_OP_BROADCAST, x, ATTRS(rows, columns)));
    x = with(KILN_OP_BROADCAST, with(KILN_OP_EXPAND_DIMS, x, ATTRS(1)), ATTRS(rows, 3, columns));
    x = with(KILN_OP_TRANSPOSE, between(maker, x), ATTRS(1, 0, 2));
    x = with(KILN_OP_SLICE, x, ATTRS(2, 0, 0, 3, rows, columns, 1, 1, 1));
    return with(KILN_OP_SQUEEZE, x, ATTRS(0));
}

/* Flat, which axes that repeat can't be without a copy, and back. */
static struct kiln_array *flat_and_back(struct maker *maker)
{
    int64_t rows = maker->rows, columns = maker->columns;
    struct kiln_array *x = pick(maker);
    if (x->ndim < 2 || x->dims[1] == 1) x = with(KILN_OP_BROADCAST, x, ATTRS(rows, columns));
    x = between(maker, with(KILN_OP_RESHAPE, x, ATTRS(rows * columns)));
    return with(KILN_OP_RESHAPE, x, ATTRS(rows, columns));
}

/* The repeated axis is cut in two, the other one joined with a part. */
static struct kiln_array *refolded(struct maker *maker)
{
    int64_t rows = maker->rows, columns = maker->columns;
    struct kiln_array *x = with(KILN_OP_BROADCAST, pick(maker), ATTRS(rows, columns));
    x = between(maker, with(KILN_OP_RESHAPE, x, ATTRS(rows, 2, columns / 2)));
    x = between(maker, with(KILN_OP_RESHAPE, x, ATTRS(rows * 2, columns / 2)));
    if (below(maker, 2)) {
        x = with(KILN_OP_TRANSPOSE, x, ATTRS(1, 0));
        x = with(KILN_OP_TRANSPOSE, between(maker, x), ATTRS(1, 0));
    }
    return with(KILN_OP_RESHAPE, x, ATTRS(rows, columns));
}

/* The sum over an axis that only repeats. */
static struct kiln_array *sum_of_repetitions(struct maker *maker)
{
    int64_t rows = maker->rows, columns = maker->columns;
    struct kiln_array *x = with(KILN_OP_BROADCAST, pick(maker), ATTRS(40, rows, columns));
    x = with(KILN_OP_TRANSPOSE, between(maker, x), ATTRS(1, 2, 0));
    return between(maker, with(KILN_OP_SUM, x, ATTRS(2, 0)));
}

static const struct {
    const char *name;
    struct kiln_array *(*make)(struct maker *maker);
} steps[] = {
    {"one operand", one_operand},
    {"two operands", two_operands},
    {"two operands", two_operands},
    {"row total", row_total},
    {"column total", column_total},
    {"turned and back", turned_and_back},
    {"flipped", flipped},
    {"repeated and cut", repeated_and_cut},
    {"broadcast twice", broadcast_twice},
    {"flat and back", flat_and_back},
    {"refolded", refolded},
    {"sum of repetitions", sum_of_repetitions},
};

static int taken[COUNT(steps)];

static size_t program(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct maker maker = {.state = seed_now, .rows = rows_now, .columns = columns_now};
    for (size_t i = 0; i < count; i++) maker.values[maker.count++] = in[i];
    int length = 3 + below(&maker, STEPS - 3);
    for (int i = 0; i < length; i++) {
        int which = below(&maker, (int)COUNT(steps));
        maker.values[maker.count] = steps[which].make(&maker);
        maker.count++;
        taken[which]++;
        if (getenv("KILN_TEST_SEED")) fprintf(stderr, "  v%d: %s\n", maker.count - 1, steps[which].name);
    }
    out[0] = maker.values[maker.count - 1];
    out[1] = maker.values[INPUTS + below(&maker, maker.count - INPUTS)];
    return 2;
}

/* ---- the same bits ---------------------------------------------------------------------------------------------- */

static struct kiln_array *noise(uint64_t seed, size_t ndim, const int *dims)
{
    struct kiln_array *array = counting(0, ndim, dims);
    for (int64_t i = 0; i < array->size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        float value = (float)(int32_t)(seed >> 32) / 2147483648.0f;
        memcpy(array->data + i * 4, &value, sizeof value);
    }
    return array;
}

/* NaNs are one: which payload an operation hands on is not said. */
static bool is_same(const struct kiln_array *got, const struct kiln_array *want, int64_t i)
{
    float a = element_f32(got, i), b = element_f32(want, i);
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static void expect_same_bits(int output, const struct kiln_array *got, const struct kiln_array *want)
{
    CHECK_EQ(got->ndim, want->ndim);
    CHECK_MEM(got->dims, want->dims, want->ndim * sizeof *want->dims);
    for (int64_t i = 0; i < want->size; i++)
        if (!is_same(got, want, i))
            CHECK_FAIL("seed %d, output %d: element %lld is %.9g, expected %.9g", (int)seed_now, output, (long long)i,
                       (double)element_f32(got, i), (double)element_f32(want, i));
}

static void check_program(void)
{
    struct function function = {.body = program};
    struct kiln_array *inputs[INPUTS] = {noise(1, SHAPE(rows_now, columns_now)), noise(2, SHAPE(rows_now, columns_now)),
                                         noise(3, SHAPE(columns_now)), noise(4, SHAPE(rows_now, 1))};
    struct kiln_array *plain[MOST_OUTPUTS];
    struct kiln_compiled *compiled = NULL;
    struct kiln_output_list out;
    must_be(kiln__compiled_new("views", call_body, &function, NULL, false, &compiled, &err));
    size_t start = scratch_count, count = program(inputs, INPUTS, plain);
    must_be(kiln__compiled_call(compiled, inputs, INPUTS, &out, &err));
    for (size_t k = 0; k < count; k++) {
        eval(plain[k]);
        eval(out.arrays[k]);
        expect_same_bits((int)k, out.arrays[k], plain[k]);
    }
    drop_scratch(start);
    kiln__output_list_release(&out);
    unref_all(inputs, INPUTS);
    kiln__compiled_unref(compiled);
}

static void test_random_chains_of_views(void **state)
{
    static const int sizes[][2] = {{6, 40}, {1, 64}, {3, 2}, {40, 34}, {2, 1030}, {33, 36}, {1, 2}};
    const char *only = getenv("KILN_TEST_SEED");
    (void)state;
    for (int seed = 1; seed <= PROGRAMS; seed++) {
        if (only && atoi(only) != seed) continue;
        seed_now = (uint64_t)seed;
        rows_now = sizes[seed % (int)COUNT(sizes)][0];
        columns_now = sizes[seed % (int)COUNT(sizes)][1];
        check_program();
    }
    for (size_t i = 0; i < COUNT(steps) && !only; i++)
        if (taken[i] < 100) CHECK_FAIL("%s: only %d times", steps[i].name, taken[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_chains_of_views)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
