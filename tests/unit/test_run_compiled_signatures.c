/*
 * test_run_compiled_signatures.c - when compiled functions trace: once per signature, with constants as part of a plan,
 * and again for a plan that was evicted.
 */
#include "compiled_support.h"

#include <stdio.h>
#include <unistd.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traces_once_per_signature),
        cmocka_unit_test(test_another_shape_compiles_nothing),
        cmocka_unit_test(test_shapeless),
        cmocka_unit_test(test_shapeless_with_many_sizes),
        cmocka_unit_test(test_shapeless_refusals),
        cmocka_unit_test(test_constants_are_exact_and_share_a_kernel),
        cmocka_unit_test(test_neighbouring_constants_do_not_merge),
        cmocka_unit_test(test_signatures_do_not_merge),
        cmocka_unit_test(test_very_many_signatures),
        cmocka_unit_test(test_the_least_recently_used_plan_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
