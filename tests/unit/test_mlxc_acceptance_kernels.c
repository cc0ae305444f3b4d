/*
 * test_mlxc_acceptance_kernels.c - lines 62 to 101 of the acceptance list of compile: what is simplified, fused and
 * shared, and the code that comes of it.
 */
#include "acceptance_support.h"

#include <math.h>

/* ---- G, H. simplified and fused ------------------------------------------------------------------------------- */

BODY(through_copies)
{
    UNUSED;
    mlx_array x = u(mlx_stop_gradient, u(mlx_exp, u(mlx_copy, in[0])));
    give(&out[0], u(mlx_copy, b(mlx_add, x, u(mlx_stop_gradient, u(mlx_abs, x)))));
    give(&out[1], u(mlx_copy, in[0]));
    return done();
}

BODY(logs_and_exps)
{
    UNUSED;
    give(&out[0], b(mlx_add, u(mlx_exp, in[0]), u(mlx_exp, in[0])));
    give(&out[1], b(mlx_add, u(mlx_cos, in[0]), u(mlx_sin, in[0])));
    give(&out[2], b(mlx_subtract, u(mlx_log, in[0]), u(mlx_log2, in[0])));
    return done();
}

BODY(equal_nan)
{
    mlx_array *without = next_made(), *with = next_made();
    UNUSED;
    mlx_array nan = b(mlx_multiply, in[0], number(NAN));
    if (mlx_array_equal(without, nan, nan, false, stream) || mlx_array_equal(with, nan, nan, true, stream))
        made_code = 1;
    give(&out[0], *without), give(&out[1], *with);
    return done();
}

/* 69: one key, three widths; each is used on, so that all of them are steps of one plan. */
BODY(words_of_three_widths)
{
    UNUSED;
    for (int i = 0; i < 3; i++) {
        mlx_array *words = next_made();
        if (mlx_random_bits(words, (int[]){9}, 1, 1 << i, in[0], stream)) made_code = 1;
        give(&out[i], *words);
        give(&out[3 + i], as(*words, MLX_FLOAT32));
    }
    return done();
}

static void test_62_to_71_in_every_mode(void **state)
{
    struct numbers got[2];
    (void)state;
    for (int mode = MLX_COMPILE_MODE_NO_SIMPLIFY; mode <= MLX_COMPILE_MODE_ENABLED; mode++) {
        expect_ok(mlx_set_compile_mode((mlx_compile_mode)mode), "mode");
        BOTH_WAYS(through_copies, 2, FLOATS(2, 3));
        BOTH_WAYS(logs_and_exps, 3, FLOATS(2, 3));
        BOTH_WAYS(divmod_stacked, 1, FLOATS(5), FLOATS(5));
        BOTH_WAYS(words_of_three_widths, 6, COUNTING(MLX_UINT32, 2));
        mlx_array x = FLOATS(3);
        run_both_ways(equal_nan, NULL, &x, 1, got, 2, 2, "equal_nan");
        CHECK_TRUE(!get(&got[0], 0).u && get(&got[1], 0).u);
        numbers_free(&got[0]), numbers_free(&got[1]), mlx_array_free(x);
    }
    mlx_enable_compile();
}

BODY(gelu)
{
    UNUSED;
    mlx_array half =
        b(mlx_divide, b(mlx_add, number(1), u(mlx_erf, b(mlx_divide, in[0], number(1.41421356f)))), number(2));
    give(out, b(mlx_multiply, in[0], half));
    return done();
}

/* 76: equal functions share a kernel, the order of operands makes another. */
BODY(minus_times_again)
{
    return minus_times(in, count, out, context);
}

BODY(minus_swapped_times)
{
    UNUSED;
    give(out, b(mlx_multiply, b(mlx_subtract, in[1], in[0]), in[0]));
    return done();
}

static uint64_t compiles_of(array_function *body, int inputs, mlx_array in)
{
    struct traced_call traced = {body, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    mlx_array both[] = {in, in};
    uint64_t before = compiles();
    mlx_array res = call(fun, both, inputs);
    expect_ok(mlx_array_eval(res), "eval");
    mlx_array_free(res), mlx_closure_free(fun);
    return compiles() - before;
}

static void test_76_79_and_85_kernels_are_shared(void **state)
{
    (void)state;
    mlx_array row = FLOATS(6), square = FLOATS(6, 6), scalar = mlx_array_new_float(3);
    mlx_array whole = COUNTING(MLX_INT32, 6);
    CHECK_EQ(compiles_of(minus_times, 2, row), 1);
    CHECK_EQ(compiles_of(minus_times_again, 2, row), 0);
    CHECK_EQ(compiles_of(minus_swapped_times, 2, row), 1);
    CHECK_EQ(compiles_of(minus_times, 2, square), 0); /* 85 */
    CHECK_EQ(compiles_of(minus_times, 2, whole), 1);  /* 86 */
    CHECK_EQ(compiles_of(gelu, 1, row), 1);           /* 79: one kernel */
    CHECK_LE(compiles_of(gelu, 1, scalar), 1);
    BOTH_WAYS(gelu, 1, FLOATS(5));
    BOTH_WAYS(gelu, 1, mlx_array_new_float(0.5f));
    mlx_array_free(row), mlx_array_free(square), mlx_array_free(scalar), mlx_array_free(whole);
}

/* 81: the divisor is used elsewhere too. */
BODY(division_with_outside_reader)
{
    UNUSED;
    mlx_array divisor = u(mlx_exp, in[1]), quotient = b(mlx_divide, u(mlx_sqrt, in[0]), divisor);
    give(&out[0], quotient);
    give(&out[1], sum(divisor, 0, false));
    return done();
}

BODY(twenty_deep)
{
    mlx_array x = in[0];
    UNUSED;
    for (int i = 0; i < 10; i++) x = b(mlx_add, u(mlx_abs, x), number(1));
    give(out, x);
    return done();
}

BODY(reused_after_its_reduction)
{
    UNUSED;
    mlx_array x = u(mlx_exp, u(mlx_negative, in[0]));
    for (int axis = 0; axis < 2; axis++) x = b(mlx_divide, x, sum(x, axis, true));
    give(out, x);
    return done();
}

/* 87: a row is broadcast, and both the chain and a reduction read it. */
BODY(broadcast_shared_with_a_reduction)
{
    mlx_array *wide = next_made();
    UNUSED;
    if (mlx_broadcast_to(wide, in[1], (int[]){4, 5}, 2, stream)) made_code = 1;
    give(&out[0], b(mlx_add, sum(*wide, 1, true), b(mlx_multiply, in[0], *wide)));
    return done();
}

BODY(twenty_terms)
{
    mlx_array x = in[0];
    UNUSED;
    for (int i = 0; i < 20; i++) x = b(mlx_add, x, b(mlx_multiply, in[0], number((float)i / 7)));
    give(out, x);
    return done();
}

/* 89: 2-d captured, 3-d in. */
BODY(joins_captured)
{
    const struct captured *captured = context;
    (void)count;
    give(out, b(mlx_multiply, b(mlx_add, captured->arrays[0], in[0]), number(2)));
    return done();
}

BODY(broadcast_only)
{
    UNUSED;
    if (mlx_broadcast_to(out, in[0], (int[]){3, 2, 4}, 3, stream)) made_code = 1;
    return done();
}

static void test_81_to_90_shapes_of_chains(void **state)
{
    (void)state;
    BOTH_WAYS(division_with_outside_reader, 2, FLOATS(6), FLOATS(6));
    BOTH_WAYS(twenty_deep, 1, FLOATS(6));
    BOTH_WAYS(reused_after_its_reduction, 1, FLOATS(4, 5));
    BOTH_WAYS(broadcast_shared_with_a_reduction, 1, FLOATS(4, 5), FLOATS(5));
    BOTH_WAYS(twenty_terms, 1, FLOATS(9));
    BOTH_WAYS(broadcast_only, 1, FLOATS(4));
    BOTH_WAYS(broadcast_only, 1, FLOATS(2, 1));
    struct captured captured = {{FLOATS(3, 4)}};
    both_ways(joins_captured, &captured, (mlx_array[]){FLOATS(2, 1, 1)}, 1, 1, "a captured matrix");
    mlx_array_free(captured.arrays[0]);
}

static void test_90_a_broadcast_can_be_printed(void **state)
{
    (void)state;
    struct traced_call traced = {broadcast_only, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    mlx_array x = FLOATS(1), res = call(fun, &x, 1);
    mlx_string text = mlx_string_new();
    expect_ok(mlx_array_tostring(&text, res), "print");
    CHECK_CONTAINS(mlx_string_data(text), "[[1, 1, 1, 1]");
    mlx_string_free(text), mlx_array_free(x), mlx_array_free(res), mlx_closure_free(fun);
}

static void test_91_another_default_stream(void **state)
{
    (void)state;
    mlx_device device = mlx_device_new_type(MLX_CPU, 0);
    mlx_stream was = mlx_stream_new(), other = mlx_stream_new_device(device);
    expect_ok(mlx_get_default_stream(&was, device), "the default stream");
    struct traced_call traced = {twenty_terms, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    mlx_array x = FLOATS(4), first = call(fun, &x, 1);
    expect_ok(mlx_set_default_stream(other), "another stream");
    mlx_array second = call(fun, &x, 1);
    struct numbers a = read_array(first), c = read_array(second);
    expect_same_bits(&c, &a, "on another stream");
    expect_ok(mlx_set_default_stream(was), "the stream as it was");
    numbers_free(&a), numbers_free(&c), free_all((mlx_array[]){x, first, second}, 3);
    mlx_stream_free(other), mlx_stream_free(was), mlx_device_free(device), mlx_closure_free(fun);
}

/* ---- I. code -------------------------------------------------------------------------------------------------- */

BODY(odd_constants)
{
    UNUSED;
    mlx_dtype dtype = mlx_array_dtype(in[0]);
    mlx_array nan = as(number(NAN), dtype), low = as(number(-INFINITY), dtype);
    mlx_array *chosen = next_made(), infinite = u(mlx_isinf, b(mlx_multiply, in[0], low));
    if (mlx_where(chosen, infinite, in[0], nan, stream)) made_code = 1;
    give(&out[0], b(mlx_maximum, in[0], low));
    give(&out[1], b(mlx_add, in[0], nan));
    give(&out[2], *chosen);
    give(&out[3], u(mlx_isinf, low));
    return done();
}

static void test_92_and_93_nan_and_infinity(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT64};
    (void)state;
    for (int i = 0; i < 4; i++) BOTH_WAYS(odd_constants, 4, COUNTING(dtypes[i], 5));
}

BODY(very_long)
{
    mlx_array x = in[0];
    UNUSED;
    for (int i = 0; i < 200; i++) x = b(i % 3 ? mlx_maximum : mlx_logaddexp, x, in[1 + i % 2]);
    give(out, x);
    return done();
}

BODY(small_whole_numbers)
{
    UNUSED;
    mlx_array twice = b(mlx_add, in[0], in[0]);
    give(&out[0], b(mlx_multiply, twice, in[1]));
    give(&out[1], b(mlx_greater, twice, in[1]));
    give(&out[2], u(mlx_abs, b(mlx_maximum, twice, in[1])));
    return done();
}

/* 125: 2^24 + 1 is no float32, 2^53 + 1 no float64. */
BODY(large_odd_numbers)
{
    UNUSED;
    const int64_t odd = (INT64_C(1) << 53) + 1;
    give(&out[0], b(mlx_add, in[0], keep(mlx_array_new_int(16777217))));
    give(&out[1], b(mlx_add, in[0], keep(mlx_array_new_data(&odd, NULL, 0, MLX_INT64))));
    give(&out[2], b(mlx_add, as(in[0], MLX_FLOAT64), keep(mlx_array_new_float64(16777217))));
    return done();
}

static void test_125_large_odd_constants(void **state)
{
    struct numbers got[3];
    (void)state;
    mlx_array zero = mlx_array_new_int(0);
    run_both_ways(large_odd_numbers, NULL, &zero, 1, got, 3, 2, "large odd numbers");
    CHECK_EQ(get(&got[0], 0).i, 16777217);
    CHECK_EQ(get(&got[1], 0).i, (INT64_C(1) << 53) + 1);
    CHECK_EQ(to_double(get(&got[2], 0)), 16777217);
    for (int i = 0; i < 3; i++) numbers_free(&got[i]);
    mlx_array_free(zero);
}

BODY(pi_and_third)
{
    UNUSED;
    mlx_array third = keep(mlx_array_new_float64(1.0 / 3)), pi = keep(mlx_array_new_float64(3.14159265358979323846));
    give(out, b(mlx_subtract, b(mlx_multiply, in[0], third), pi));
    return done();
}

static void test_94_to_97_names_dtypes_and_doubles(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_BOOL,   MLX_INT8,   MLX_INT16, MLX_UINT8, MLX_UINT16,
                                       MLX_UINT32, MLX_UINT64, MLX_INT32, MLX_INT64};
    (void)state;
    BOTH_WAYS(very_long, 1, FLOATS(5), FLOATS(5), FLOATS(5));
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        BOTH_WAYS(small_whole_numbers, 3, COUNTING(dtypes[i], 120), COUNTING(dtypes[i], 120));
    BOTH_WAYS(pi_and_third, 1, COUNTING(MLX_FLOAT64, 50));
}

BODY(sum_of_all)
{
    mlx_array x = in[0];
    (void)context;
    for (int i = 1; i < count; i++) x = b(mlx_add, x, in[i]);
    give(out, b(mlx_multiply, x, number(0.5f)));
    return done();
}

static mlx_array transposed(mlx_array a)
{
    mlx_array res = mlx_array_new();
    expect_ok(mlx_transpose(&res, a, stream), "transpose");
    mlx_array_free(a);
    return res;
}

static void test_98_and_99_ranks_and_many_inputs(void **state)
{
    mlx_array in[20];
    (void)state;
    BOTH_WAYS(gelu, 1, transposed(FLOATS(2, 3, 1, 2, 2, 1, 3, 2, 1, 2)));
    BOTH_WAYS(minus_times, 1, transposed(FLOATS(2, 3, 1, 2, 2, 1, 3, 2, 1, 2)), FLOATS(2, 1, 2, 3, 1, 2, 2, 1, 3, 2));
    for (int i = 0; i < 20; i++) in[i] = i == 7 ? transposed(FLOATS(6, 4)) : FLOATS(4, 6);
    both_ways(sum_of_all, NULL, in, 20, 1, "20 inputs");
    for (int i = 0; i < 8; i++) in[i] = COUNTING(MLX_FLOAT16, 300, 400);
    both_ways(sum_of_all, NULL, in, 8, 1, "8 large inputs");
}

/* 100: read backwards. */
static mlx_array cut(mlx_array a, int ndim, const int *start, const int *stop, const int *step)
{
    mlx_array res = mlx_array_new();
    size_t n = (size_t)ndim;
    expect_ok(mlx_slice(&res, a, start, n, stop, n, step, n, stream), "slice");
    mlx_array_free(a);
    return res;
}

BODY(updates_a_slice)
{
    mlx_array *res = next_made();
    UNUSED;
    if (mlx_slice_update(res, u(mlx_negative, in[0]), in[1], (int[]){9}, 1, (int[]){-11}, 1, (int[]){-1}, 1, stream))
        made_code = 1;
    give(out, b(mlx_add, *res, in[0]));
    return done();
}

static void test_100_negative_strides(void **state)
{
    (void)state;
    BOTH_WAYS(twenty_terms, 1, cut(FLOATS(10), 1, (int[]){9}, (int[]){-11}, (int[]){-1}));
    BOTH_WAYS(twenty_terms, 1, cut(FLOATS(4, 6), 2, (int[]){3, 5}, (int[]){-5, -7}, (int[]){-1, -1}));
    BOTH_WAYS(twenty_terms, 1, cut(FLOATS(7, 6), 2, (int[]){0, 5}, (int[]){7, -7}, (int[]){2, -2}));
    BOTH_WAYS(twenty_terms, 1,
              cut(FLOATS(2, 3, 4, 5), 4, (int[]){1, 0, 3, 4}, (int[]){-3, 3, -5, -6}, (int[]){-1, 1, -1, -2}));
    BOTH_WAYS(updates_a_slice, 1, FLOATS(10), FLOATS(10));
}

/* 101: a large call is lazy; when it runs, nobody but it holds the input. */
static void test_101_an_input_lends_its_storage(void **state)
{
    (void)state;
    struct traced_call traced = {twenty_deep, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    for (int held = 0; held < 2; held++) {
        mlx_array x = FLOATS(300, 400);
        const float *input = mlx_array_data_float32(x);
        mlx_array res = call(fun, &x, 1);
        if (!held) mlx_array_free(x);
        expect_ok(mlx_array_eval(res), "eval");
        CHECK_EQ(mlx_array_data_float32(res) == input, !held);
        if (held) CHECK_EQ(input[1], 2);
        CHECK_EQ(mlx_array_data_float32(res)[1], 12);
        if (held) mlx_array_free(x);
        mlx_array_free(res);
    }
    mlx_closure_free(fun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_62_to_71_in_every_mode, set_up),
        cmocka_unit_test_setup(test_76_79_and_85_kernels_are_shared, set_up),
        cmocka_unit_test_setup(test_81_to_90_shapes_of_chains, set_up),
        cmocka_unit_test_setup(test_90_a_broadcast_can_be_printed, set_up),
        cmocka_unit_test_setup(test_91_another_default_stream, set_up),
        cmocka_unit_test_setup(test_92_and_93_nan_and_infinity, set_up),
        cmocka_unit_test_setup(test_94_to_97_names_dtypes_and_doubles, set_up),
        cmocka_unit_test_setup(test_125_large_odd_constants, set_up),
        cmocka_unit_test_setup(test_98_and_99_ranks_and_many_inputs, set_up),
        cmocka_unit_test_setup(test_100_negative_strides, set_up),
        cmocka_unit_test_setup(test_101_an_input_lends_its_storage, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
