/*
 * test_mlxc_compile_named.c - kiln/compile.h: functions with a name, and the rule that a trace's arrays are let go.
 */
#include <stdatomic.h>

#include "kiln/compile.h"
#include "mlxc_support.h"

static mlx_stream stream;
static int freed;

static int set_up(void **state)
{
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    mlx_enable_compile();
    freed = 0;
    return install_handler(state);
}

static void count_free(void *payload)
{
    freed += *(int *)payload;
}

static mlx_array one_two(void)
{
    return floats((float[]){1, 2}, 2);
}

static int calls;

static int twice(mlx_array *res, const mlx_array x, void *payload)
{
    (void)payload;
    calls++;
    return mlx_add(res, x, x, stream);
}

static int minus(mlx_array *res, const mlx_array x, const mlx_array y, void *payload)
{
    (void)payload;
    return mlx_subtract(res, x, y, stream);
}

static int times_minus(mlx_array *res, const mlx_array x, const mlx_array y, const mlx_array z, void *payload)
{
    (void)payload;
    return mlx_multiply(res, x, y, stream) || mlx_subtract(res, *res, z, stream);
}

static int none(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    (void)in, (void)payload;
    return mlx_vector_array_set_data(res, NULL, 0);
}

/* ---- forms ---------------------------------------------------------------------------------------------------- */

static void test_forms(void **state)
{
    int weight = 1;
    (void)state;
    mlx_array x = one_two(), y = floats((float[]){10, 30}, 2), res = mlx_array_new();
    mlx_closure fun = mlx_closure_new();
    calls = 0;
    CHECK_EQ(kiln_compile_unary(&fun, "twice", twice, &weight, count_free, false), 0);
    for (int i = 0; i < 3; i++) CHECK_EQ(kiln_call_unary(&res, fun, x), 0);
    expect_floats(res, (float[]){2, 4}, 2);
    CHECK_EQ(calls, 1);
    CHECK_EQ(freed, 0);
    /* *fun is replaced: the first one goes, and its payload with it. */
    CHECK_EQ(kiln_compile_binary(&fun, "minus", minus, NULL, NULL, false), 0);
    CHECK_EQ(freed, 1);
    CHECK_EQ(kiln_call_binary(&res, fun, y, x), 0);
    expect_floats(res, (float[]){9, 28}, 2);
    CHECK_EQ(kiln_compile_ternary(&fun, "times-minus", times_minus, NULL, NULL, true), 0);
    CHECK_EQ(kiln_call_ternary(&res, fun, x, y, x), 0);
    expect_floats(res, (float[]){9, 58}, 2);
    mlx_closure_free(fun), mlx_array_free(x), mlx_array_free(y), mlx_array_free(res);
    expect_no_error();
}

static void test_no_outputs(void **state)
{
    (void)state;
    mlx_array x = one_two();
    mlx_closure fun = mlx_closure_new();
    mlx_vector_array in = mlx_vector_array_new_data(&x, 1), out = mlx_vector_array_new();
    CHECK_EQ(kiln_compile(&fun, "none", none, NULL, NULL, false), 0);
    CHECK_EQ(mlx_closure_apply(&out, fun, in), 0);
    CHECK_EQ(mlx_vector_array_size(out), 0);
    expect_no_error();
    mlx_vector_array_free(in), mlx_vector_array_free(out), mlx_closure_free(fun), mlx_array_free(x);
}

static void test_bad_arguments(void **state)
{
    static const char *const names[] = {"", "two words", "line\nbreak", "\"",
                                        "a-name-that-is-much-too-long-for-anybody-to-read-to-its-end"};
    int weight = 1;
    (void)state;
    mlx_closure fun = mlx_closure_new();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_EQ(kiln_compile_unary(&fun, names[i], twice, &weight, count_free, false), 1);
        expect_error("expected a name of 1 to 48");
    }
    CHECK_EQ(kiln_compile_unary(&fun, NULL, twice, &weight, count_free, false), 1);
    expect_error("non-NULL pointer for name");
    CHECK_EQ(kiln_compile_unary(&fun, "null", NULL, &weight, count_free, false), 1);
    expect_error("expected a function");
    CHECK_EQ(kiln_compile_unary(NULL, "null", twice, &weight, count_free, false), 1);
    expect_error("non-NULL pointer for res");
    CHECK_NULL(fun.ctx);
    CHECK_EQ(freed, 0);
}

/* ---- errors have the name ------------------------------------------------------------------------------------- */

static int fails(mlx_array *res, const mlx_array x, void *payload)
{
    (void)res, (void)x, (void)payload;
    return 7;
}

static int forgets(mlx_array *res, const mlx_array x, void *payload)
{
    (void)res, (void)x, (void)payload;
    return 0;
}

static int gives_nothing(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    (void)res, (void)in, (void)payload;
    return 0;
}

/* Compiled or disabled: one error, with the name in front. */
static void errors_have_the_name(void)
{
    mlx_array x = one_two(), res = mlx_array_new();
    mlx_closure fun = mlx_closure_new();
    kiln_compile_unary(&fun, "failing", fails, NULL, NULL, false);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(kiln_call_unary(&res, fun, x), 1);
        expect_error("failing: mlx_closure returned a non-zero value at ");
    }
    kiln_compile_unary(&fun, "forgetful", forgets, NULL, NULL, false);
    CHECK_EQ(kiln_call_unary(&res, fun, x), 1);
    expect_error("forgetful: the function returned 0 and left its result empty");
    kiln_compile(&fun, "nothing", gives_nothing, NULL, NULL, false);
    CHECK_EQ(kiln_call_unary(&res, fun, x), 1);
    expect_error("nothing: expected a non-empty mlx_vector_array");
    kiln_compile_binary(&fun, "minus", minus, NULL, NULL, false);
    CHECK_EQ(kiln_call_unary(&res, fun, x), 1);
    expect_error("minus: the function takes 2 inputs, got 1");
    CHECK_NULL(res.ctx);
    mlx_closure_free(fun), mlx_array_free(x), mlx_array_free(res);
}
#define errors_have_the_name(...) CHECK_CALL(errors_have_the_name, __VA_ARGS__)

static void test_errors_have_the_name(void **state)
{
    (void)state;
    errors_have_the_name();
    mlx_disable_compile();
    errors_have_the_name();
}

static void test_payload_while_disabled(void **state)
{
    int weight = 1;
    (void)state;
    mlx_array x = one_two(), res = mlx_array_new();
    mlx_closure fun = mlx_closure_new();
    mlx_disable_compile();
    calls = 0;
    CHECK_EQ(kiln_compile_unary(&fun, "twice", twice, &weight, count_free, false), 0);
    mlx_enable_compile();
    for (int i = 0; i < 3; i++) CHECK_EQ(kiln_call_unary(&res, fun, x), 0);
    CHECK_EQ(calls, 3);
    mlx_closure_free(fun), mlx_array_free(x), mlx_array_free(res);
    CHECK_EQ(freed, 1);
}

/* ---- arrays that are held ------------------------------------------------------------------------------------- */

static mlx_array held;

static int holds_its_argument(mlx_array *res, const mlx_array x, void *payload)
{
    (void)payload;
    return mlx_array_set(&held, x) || mlx_add(res, x, x, stream);
}

/* The middle one of three operations. */
static int holds_a_product(mlx_array *res, const mlx_array x, void *payload)
{
    (void)payload;
    int code = mlx_add(res, x, x, stream) || mlx_multiply(&held, *res, x, stream);
    return code || mlx_subtract(res, held, x, stream);
}

static int holds_its_result(mlx_array *res, const mlx_array x, void *payload)
{
    (void)payload;
    return mlx_add(res, x, x, stream) || mlx_array_set(&held, *res);
}

static void refused(int (*body)(mlx_array *, const mlx_array, void *), const char *text)
{
    mlx_array x = one_two(), res = mlx_array_new(), other = mlx_array_new();
    mlx_closure fun = mlx_closure_new();
    kiln_compile_unary(&fun, "keeper", body, NULL, NULL, false);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(kiln_call_unary(&res, fun, x), 1);
        expect_error(text);
    }
    /* What it holds has a shape; using it is an error; freeing it is fine. */
    CHECK_EQ(mlx_array_size(held), 2);
    CHECK_EQ(mlx_add(&other, held, held, stream), 1);
    expect_error("belongs to a trace that has ended");
    CHECK_EQ(mlx_array_eval(held), 1);
    error_count = 0;
    mlx_array_free(held);
    held = mlx_array_new();
    mlx_closure_free(fun), mlx_array_free(x), mlx_array_free(res), mlx_array_free(other);
}
#define refused(...) CHECK_CALL(refused, __VA_ARGS__)

static void test_held_arrays_are_named(void **state)
{
    (void)state;
    refused(holds_its_argument,
            "keeper: [compile] The function returned and still holds 1 of its trace's arrays, first "
            "argument 0, float32 of shape (2)");
    refused(holds_a_product, "first the result of multiply, operation 1, float32 of shape (2)");
    refused(holds_its_result, "first the result of add, operation 0, float32 of shape (2)");
}

/* A closure of mlx_compile may hold them: what counts there is that they are not used. */
static int run_holder(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), out = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || holds_a_product(&out, x, payload);
    if (!code) code = mlx_vector_array_set_value(res, out);
    mlx_array_free(x), mlx_array_free(out);
    return code;
}

static void test_unnamed_functions_may_hold(void **state)
{
    (void)state;
    mlx_array x = one_two(), res = mlx_array_new();
    mlx_closure fun = mlx_closure_new(), plain = mlx_closure_new_func_payload(run_holder, NULL, NULL);
    CHECK_EQ(mlx_compile(&fun, plain, false), 0);
    CHECK_EQ(kiln_call_unary(&res, fun, x), 0);
    expect_floats(res, (float[]){1, 6}, 2);
    CHECK_EQ(mlx_array_size(held), 2);
    mlx_array_free(held);
    held = mlx_array_new();
    mlx_closure_free(fun), mlx_closure_free(plain), mlx_array_free(x), mlx_array_free(res);
    expect_no_error();
}

/* Held by a function inside: the outer one's trace is what fails. */
static int calls_keeper(mlx_array *res, const mlx_array x, void *payload)
{
    return kiln_call_unary(res, *(mlx_closure *)payload, x);
}

static void test_nested(void **state)
{
    (void)state;
    mlx_array x = one_two(), res = mlx_array_new();
    mlx_closure inner = mlx_closure_new(), outer = mlx_closure_new();
    kiln_compile_unary(&inner, "inner", holds_a_product, NULL, NULL, false);
    kiln_compile_unary(&outer, "outer", calls_keeper, &inner, NULL, false);
    CHECK_EQ(kiln_call_unary(&res, outer, x), 1);
    expect_error("outer: [compile] The function returned and still holds 1");
    mlx_array_free(held);
    held = mlx_array_new();
    kiln_compile_unary(&inner, "inner", fails, NULL, NULL, false);
    CHECK_EQ(kiln_call_unary(&res, outer, x), 1);
    CHECK_EQ(error_count, 2); /* the call inside, and the one outside */
    CHECK_CONTAINS(error_text, "outer: mlx_closure returned a non-zero value");
    error_count = 0;
    mlx_closure_free(inner), mlx_closure_free(outer), mlx_array_free(x), mlx_array_free(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_forms, set_up),
        cmocka_unit_test_setup(test_no_outputs, set_up),
        cmocka_unit_test_setup(test_bad_arguments, set_up),
        cmocka_unit_test_setup(test_errors_have_the_name, set_up),
        cmocka_unit_test_setup(test_payload_while_disabled, set_up),
        cmocka_unit_test_setup(test_held_arrays_are_named, set_up),
        cmocka_unit_test_setup(test_unnamed_functions_may_hold, set_up),
        cmocka_unit_test_setup(test_nested, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
