/*
 * test_mlxc_acceptance.c - what compile has to do, numbered as in its acceptance list, through the interface. Lines
 * that other tests hold (test_mlxc_compile*.c, test_mlxc_closure.c, test_run_compiled.c, test_trace_*.c) are not here
 * again.
 */
#include <math.h>
#include <pthread.h>

#include "kiln.h"
#include "support/bodies.h"

/* ---- checks --------------------------------------------------------------------------------------------------- */

/* Plainly and compiled, twice: bit for bit. The inputs are freed. */
static void both_ways(array_function *body, const void *context, mlx_array *in, int count, int outputs,
                      const char *what)
{
    struct numbers got[MAX_OUTPUTS];
    run_both_ways(body, context, in, count, got, outputs, 2, what);
    for (int i = 0; i < outputs; i++) numbers_free(&got[i]);
    for (int i = 0; i < count; i++) mlx_array_free(in[i]);
}
#define both_ways(...) CHECK_CALL(both_ways, __VA_ARGS__)

#define BOTH_WAYS(body, outputs, ...)                                                                                  \
    both_ways((body), NULL, (mlx_array[]){__VA_ARGS__}, (int)(sizeof((mlx_array[]){__VA_ARGS__}) / sizeof(mlx_array)), \
              (outputs), #body)

static void expect_values(mlx_array array, const float *values, int count)
{
    struct numbers got = read_array(array);
    CHECK_EQ(got.size, count);
    for (int i = 0; i < count; i++)
        if (!same_float(to_double(get(&got, i)), (double)values[i]))
            CHECK_FAIL("element %d is %g, expected %g", i, to_double(get(&got, i)), (double)values[i]);
    numbers_free(&got);
}
#define expect_values(...) CHECK_CALL(expect_values, __VA_ARGS__)

/* One output of a compiled function; the caller's. */
static mlx_array call(mlx_closure fun, const mlx_array *in, int count)
{
    mlx_array res;
    apply_compiled(fun, in, count, &res, 1, "a call");
    return res;
}

static void expect_call(mlx_closure fun, const mlx_array *in, int count, const float *values, int size)
{
    mlx_array res = call(fun, in, count);
    expect_values(res, values, size);
    mlx_array_free(res);
}
#define expect_call(...) CHECK_CALL(expect_call, __VA_ARGS__)

static void free_all(mlx_array *arrays, int count)
{
    for (int i = 0; i < count; i++) mlx_array_free(arrays[i]);
}

static uint64_t compiles(void)
{
    kiln_counters now;
    kiln_cache_counters(kiln_cache_default(), &now);
    return now.compiles + now.disk_hits;
}

/* ---- A. calls and signatures ---------------------------------------------------------------------------------- */

BODY(add)
{
    UNUSED;
    give(out, b(mlx_add, in[0], in[1]));
    return done();
}

static void test_1_to_4_calls_shapes_and_dtypes(void **state)
{
    static const mlx_dtype dtypes[][3] = {
        {MLX_FLOAT32, MLX_FLOAT32, MLX_FLOAT32}, {MLX_INT32, MLX_FLOAT32, MLX_FLOAT32},
        {MLX_INT32, MLX_INT32, MLX_INT32},       {MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32},
        {MLX_UINT8, MLX_INT8, MLX_INT16},
    };
    static const int shapes[][2][2] = {{{2, 3}, {2, 3}}, {{1, 3}, {2, 3}}, {{1, 3}, {2, 1}}, {{4, 3}, {1, 1}}};
    (void)state;
    struct traced_call first = {add, NULL, 1, 0}, second = {add, NULL, 1, 0};
    mlx_closure fun = compile_call(&first, false), twin = compile_call(&second, false);
    int want = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            mlx_array in[] = {ones_and_more(dtypes[d][0], 2, shapes[s][0]),
                              ones_and_more(dtypes[d][1], 2, shapes[s][1])};
            mlx_array plain = mlx_array_new(), res[4];
            expect_ok(mlx_add(&plain, in[0], in[1], stream), "add");
            struct numbers expected = read_array(plain);
            for (int i = 0; i < 4; i++) {
                res[i] = call(i < 2 ? fun : twin, in, 2);
                struct numbers got = read_array(res[i]);
                CHECK_EQ(got.dtype, dtypes[d][2]);
                expect_same_bits(&got, &expected, "add");
                numbers_free(&got);
            }
            CHECK_EQ(first.calls, ++want);
            CHECK_EQ(second.calls, want);
            numbers_free(&expected), mlx_array_free(plain), free_all(res, 4), free_all(in, 2);
        }
    mlx_closure_free(fun), mlx_closure_free(twin);
}

static void test_5_unevaluated_inputs_twice(void **state)
{
    (void)state;
    struct traced_call traced = {add, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    for (int i = 0; i < 2; i++) {
        mlx_array x = FLOATS(3), in[] = {mlx_array_new(), mlx_array_new()};
        expect_ok(mlx_square(&in[0], x, stream) || mlx_negative(&in[1], in[0], stream) ||
                      mlx_add(&in[1], in[1], x, stream),
                  "lazy inputs");
        expect_call(fun, in, 2, (float[]){1, 2, 3}, 3);
        free_all(in, 2), mlx_array_free(x);
    }
    CHECK_EQ(traced.calls, 1);
    mlx_closure_free(fun);
}

BODY(add_a_new_array)
{
    UNUSED;
    give(out, b(mlx_add, in[0], keep(mlx_array_new_data((float[]){10, 20, 30}, (int[]){3}, 1, MLX_FLOAT32))));
    return done();
}

BODY(nothing_in)
{
    (void)in, UNUSED;
    mlx_array *zeros = next_made();
    if (mlx_zeros(zeros, (int[]){2}, 1, MLX_FLOAT32, stream)) made_code = 1;
    give(&out[0], b(mlx_add, *zeros, number(3)));
    give(&out[1], u(mlx_negative, number(4)));
    return done();
}

static void test_6_and_8_arrays_made_inside_and_no_inputs(void **state)
{
    struct numbers got[2];
    (void)state;
    BOTH_WAYS(add_a_new_array, 1, FLOATS(3));
    run_both_ways(nothing_in, NULL, NULL, 0, got, 2, 3, "no inputs");
    CHECK_TRUE(to_double(get(&got[0], 1)) == 3 && to_double(get(&got[1], 0)) == -4);
    numbers_free(&got[0]), numbers_free(&got[1]);
}

BODY(times_variable)
{
    (void)count;
    give(out, b(mlx_multiply, in[0], number(*(const float *)context)));
    return done();
}

static int square(mlx_array *res, const mlx_array x)
{
    return mlx_multiply(res, x, x, stream);
}

static int square_of_vectors(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new(), y = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || square(&y, x) || mlx_vector_array_set_value(res, y);
    return mlx_array_free(x), mlx_array_free(y), code;
}

static void test_9_to_14_forms_and_captured_variables(void **state)
{
    float variable = 2;
    (void)state;
    mlx_array x = FLOATS(2);
    struct traced_call traced = {times_variable, &variable, 1, 0};
    mlx_closure fun = compile_call(&traced, false), none = mlx_closure_new();
    expect_call(fun, &x, 1, (float[]){2, 4}, 2);
    variable = 10; /* 11: what the trace saw stays */
    expect_call(fun, &x, 1, (float[]){2, 4}, 2);
    mlx_closure again = compile_call(&traced, false); /* 12 */
    expect_call(again, &x, 1, (float[]){10, 20}, 2);
    expect_call(fun, &x, 1, (float[]){2, 4}, 2);
    mlx_closure sources[] = {mlx_closure_new_unary(square), mlx_closure_new_func(square_of_vectors)};
    for (int i = 0; i < 2; i++) { /* 9, 10, 13: the source is freed before the first call */
        expect_ok(mlx_compile(&fun, sources[i], i == 1), "compile");
        mlx_closure_free(sources[i]);
        expect_call(fun, &x, 1, (float[]){1, 4}, 2);
    }
    CHECK_EQ(mlx_compile(&fun, none, false), 1); /* 14 */
    CHECK_EQ(error_count, 1);
    error_count = 0;
    mlx_disable_compile(); /* mlx-c looks at the handle first: an empty one is refused in every mode */
    CHECK_EQ(mlx_compile(&fun, none, false), 1);
    mlx_enable_compile();
    CHECK_EQ(error_count, 1);
    error_count = 0;
    expect_call(fun, &x, 1, (float[]){1, 4}, 2); /* and leaves what was there */
    mlx_closure_free(fun), mlx_closure_free(again), mlx_array_free(x);
}

/* ---- B. captures ---------------------------------------------------------------------------------------------- */

struct captured {
    mlx_array arrays[3];
};

BODY(plus_captured)
{
    const struct captured *captured = context;
    (void)count;
    give(out, b(mlx_add, in[0], captured->arrays[0]));
    return done();
}

static void test_15_to_17_captured_arrays_that_change(void **state)
{
    (void)state;
    struct captured captured = {{mlx_array_new_float(5)}};
    struct traced_call traced = {plus_captured, &captured, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    mlx_array x = FLOATS(2);
    expect_call(fun, &x, 1, (float[]){6, 7}, 2);
    expect_ok(mlx_array_set_float(&captured.arrays[0], 9), "set"); /* rebound */
    expect_call(fun, &x, 1, (float[]){6, 7}, 2);
    expect_ok(mlx_reshape(&captured.arrays[0], captured.arrays[0], (int[]){1, 1, 1}, 3, stream), "reshape");
    expect_call(fun, &x, 1, (float[]){6, 7}, 2);
    mlx_array_free(captured.arrays[0]); /* gone; the plan keeps its own */
    expect_call(fun, &x, 1, (float[]){6, 7}, 2);
    mlx_closure_free(fun), mlx_array_free(x);
    CHECK_EQ(traced.calls, 1);
}

BODY(plus_both_of_a_map)
{
    const mlx_map_string_to_array *map = context;
    mlx_array *first = next_made(), *second = next_made();
    (void)count;
    if (mlx_map_string_to_array_get(first, *map, "first") || mlx_map_string_to_array_get(second, *map, "second"))
        made_code = 1;
    give(out, b(mlx_add, b(mlx_multiply, in[0], *first), *second));
    return done();
}

/* 17: a captured map of arrays, one of which is replaced later. */
static void test_17_a_captured_map(void **state)
{
    (void)state;
    mlx_map_string_to_array map = mlx_map_string_to_array_new();
    mlx_array x = FLOATS(2), ten = mlx_array_new_float(10);
    expect_ok(mlx_map_string_to_array_insert(map, "first", ten) || mlx_map_string_to_array_insert(map, "second", x),
              "insert");
    mlx_array in = COUNTING(MLX_FLOAT32, 2);
    struct traced_call traced = {plus_both_of_a_map, &map, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    expect_call(fun, &in, 1, (float[]){11, 22}, 2);
    expect_ok(mlx_map_string_to_array_insert(map, "first", x), "insert");
    expect_call(fun, &in, 1, (float[]){11, 22}, 2);
    mlx_map_string_to_array_free(map);
    expect_call(fun, &in, 1, (float[]){11, 22}, 2);
    CHECK_EQ(traced.calls, 1);
    free_all((mlx_array[]){x, ten, in}, 3), mlx_closure_free(fun);
}

/* 19: a lazy array that both read; the result of one is the input of the other. */
static void test_19_two_functions_share_what_they_capture(void **state)
{
    (void)state;
    mlx_array ten = mlx_array_new_float(10), x = FLOATS(2), first;
    struct captured captured = {{mlx_array_new()}};
    expect_ok(mlx_negative(&captured.arrays[0], ten, stream), "lazy");
    struct traced_call traced[2] = {{plus_captured, &captured, 1, 0}, {plus_captured, &captured, 1, 0}};
    mlx_closure fun[2] = {compile_call(&traced[0], false), compile_call(&traced[1], false)};
    for (int i = 0; i < 2; i++) {
        first = call(fun[0], &x, 1);
        expect_call(fun[1], &first, 1, (float[]){-19, -18}, 2);
        mlx_array_free(first);
    }
    mlx_closure_free(fun[0]), mlx_closure_free(fun[1]);
    mlx_array_free(captured.arrays[0]), mlx_array_free(ten), mlx_array_free(x);
}

/* 21: the trace leaves one of its arrays in the state, and the next trace finds it there. */
static mlx_array left_behind;

BODY(adds_what_was_left)
{
    UNUSED;
    mlx_array res = left_behind.ctx ? b(mlx_add, in[0], left_behind) : in[0];
    if (made_code) return done();
    give(out, u(mlx_negative, res));
    mlx_array_set(&left_behind, *out);
    return done();
}

static void test_21_state_that_a_trace_changes(void **state)
{
    (void)state;
    struct traced_call traced = {adds_what_was_left, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, false);
    mlx_array two = FLOATS(2), three = FLOATS(3);
    expect_call(fun, &two, 1, (float[]){-1, -2}, 2);
    mlx_vector_array in = mlx_vector_array_new_value(three), out = mlx_vector_array_new();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(mlx_closure_apply(&out, fun, in), 1);
        CHECK_GE(error_count, 1);
        error_count = 0;
    }
    mlx_array_free(left_behind);
    left_behind = mlx_array_new();
    expect_call(fun, &three, 1, (float[]){-1, -2, -3}, 3); /* 127: and then a good call */
    mlx_array_free(left_behind);
    left_behind = mlx_array_new();
    expect_call(fun, &two, 1, (float[]){-1, -2}, 2);
    mlx_vector_array_free(in), mlx_vector_array_free(out), mlx_closure_free(fun), mlx_array_free(two),
        mlx_array_free(three);
}

BODY(sum_of_captured)
{
    const struct captured *captured = context;
    (void)in, (void)count;
    give(out, sum(captured->arrays[0], 0, false));
    return done();
}

static void test_22_captured_and_reduced_without_inputs(void **state)
{
    (void)state;
    struct captured captured = {{FLOATS(10)}};
    struct numbers got;
    run_both_ways(sum_of_captured, &captured, NULL, 0, &got, 1, 3, "a captured array");
    CHECK_EQ(to_double(get(&got, 0)), 55);
    numbers_free(&got), mlx_array_free(captured.arrays[0]);
}

/* ---- C. state ------------------------------------------------------------------------------------------------- */

/* 28: a key goes in, numbers and the next key come out. */
BODY(draw)
{
    mlx_array *next = next_made(), *key = next_made(), *numbers = next_made();
    UNUSED;
    if (mlx_random_split(next, key, in[0], stream) || mlx_random_bits(numbers, (int[]){8}, 1, 4, *key, stream))
        made_code = 1;
    give(&out[0], *numbers), give(&out[1], *next);
    return done();
}

static void test_28_random_state_in_and_out(void **state)
{
    (void)state;
    struct traced_call traced = {draw, NULL, 2, 0};
    mlx_closure fun = compile_call(&traced, false);
    mlx_array key = mlx_array_new();
    struct numbers drawn[2][3];
    for (int run = 0; run < 2; run++) { /* the second run starts from the same key */
        expect_ok(mlx_random_key(&key, 7), "key");
        for (int i = 0; i < 3; i++) {
            mlx_array res[2];
            apply_compiled(fun, &key, 1, res, 2, "draw");
            drawn[run][i] = read_array(res[0]);
            mlx_array_set(&key, res[1]);
            free_all(res, 2);
        }
    }
    for (int i = 0; i < 3; i++) expect_same_bits(&drawn[1][i], &drawn[0][i], "the same key");
    for (int i = 1; i < 3; i++) CHECK_NE(memcmp(drawn[0][i].data, drawn[0][i - 1].data, 32), 0);
    CHECK_EQ(traced.calls, 1);
    for (int i = 0; i < 6; i++) numbers_free(&drawn[i / 3][i % 3]);
    mlx_array_free(key), mlx_closure_free(fun);
}

/* ---- E. outputs ----------------------------------------------------------------------------------------------- */

/* 32, 44: how many outputs there are, and their dtypes, goes by the signature. */
static int outputs_by_dtype(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), y = mlx_array_new();
    (void)payload;
    int code = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_set_data(res, NULL, 0);
    int wanted = mlx_array_dtype(x) == MLX_INT32 ? 0 : mlx_array_dtype(x) == MLX_FLOAT16 ? 2 : 1;
    for (int i = 0; i < wanted; i++) code = code || mlx_add(&y, x, x, stream) || mlx_vector_array_append_value(*res, y);
    return mlx_array_free(x), mlx_array_free(y), code;
}

static void test_32_and_44_outputs_by_signature(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_INT32, MLX_FLOAT16, MLX_FLOAT32};
    static const size_t want[] = {0, 2, 1};
    (void)state;
    mlx_closure plain = mlx_closure_new_func_payload(outputs_by_dtype, NULL, NULL), fun = mlx_closure_new();
    expect_ok(mlx_compile(&fun, plain, false), "compile");
    for (int i = 0; i < 12; i++) {
        mlx_array x = COUNTING(dtypes[i % 3], 2), first = mlx_array_new();
        mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
        expect_ok(mlx_closure_apply(&out, fun, in), "a call");
        CHECK_EQ(mlx_vector_array_size(out), want[i % 3]);
        if (want[i % 3]) {
            mlx_vector_array_get(&first, out, want[i % 3] - 1);
            CHECK_EQ(mlx_array_dtype(first), dtypes[i % 3]);
            expect_values(first, (float[]){2, 4}, 2);
        }
        mlx_vector_array_free(in), mlx_vector_array_free(out), mlx_array_free(x), mlx_array_free(first);
    }
    mlx_closure_free(plain), mlx_closure_free(fun);
}

BODY(inner_and_final)
{
    UNUSED;
    mlx_array inner = b(mlx_multiply, in[0], number(2));
    give(&out[1], b(mlx_add, inner, number(1)));
    give(&out[0], inner);
    return done();
}

BODY(final_only)
{
    UNUSED;
    give(out, b(mlx_add, b(mlx_multiply, in[0], number(2)), number(1)));
    return done();
}

static void divmod(mlx_array a, mlx_array c, mlx_array both[2])
{
    mlx_vector_array res = mlx_vector_array_new();
    if (mlx_divmod(&res, a, c, stream)) made_code = 1;
    for (size_t i = 0; i < 2; i++) mlx_vector_array_get(&both[i], res, i);
    mlx_vector_array_free(res);
}

BODY(remainder_only)
{
    mlx_array both[2] = {mlx_array_new(), mlx_array_new()};
    UNUSED;
    divmod(in[0], in[1], both);
    keep(both[0]);
    give(out, b(mlx_add, keep(both[1]), number(1)));
    return done();
}

/* 68: four results of two equal calls, stacked in order. */
BODY(divmod_stacked)
{
    mlx_array all[4] = {mlx_array_new(), mlx_array_new(), mlx_array_new(), mlx_array_new()};
    UNUSED;
    divmod(in[0], in[1], all), divmod(in[0], in[1], all + 2);
    mlx_vector_array parts = mlx_vector_array_new_data(all, 4);
    if (mlx_stack(out, parts, stream)) made_code = 1;
    mlx_vector_array_free(parts);
    free_all(all, 4);
    return done();
}

BODY(running_sums)
{
    mlx_array x = in[0];
    UNUSED;
    for (int i = 0; i < 5; i++) {
        x = b(mlx_add, x, in[1]);
        give(&out[i], x);
    }
    give(&out[5], sum(x, 0, false));
    return done();
}

/* 64 arrays, added in pairs: the 32 sums are outputs, and so is the last one. */
BODY(tree)
{
    mlx_array sums[64];
    UNUSED;
    memcpy(sums, in, sizeof sums);
    for (int width = 32; width; width /= 2)
        for (int i = 0; i < width; i++) {
            sums[i] = b(mlx_add, sums[2 * i], sums[2 * i + 1]);
            if (width == 32) give(&out[i], sums[i]);
        }
    give(&out[32], sums[0]);
    return done();
}

static void test_46_to_51_outputs(void **state)
{
    (void)state;
    BOTH_WAYS(inner_and_final, 2, FLOATS(3));
    BOTH_WAYS(final_only, 1, FLOATS(3));
    BOTH_WAYS(inner_and_final, 2, FLOATS(3));
    BOTH_WAYS(remainder_only, 1, FLOATS(7), COUNTING(MLX_FLOAT32, 1));
    BOTH_WAYS(remainder_only, 1, COUNTING(MLX_INT32, 7), COUNTING(MLX_INT32, 7));
    BOTH_WAYS(divmod_stacked, 1, FLOATS(7), FLOATS(1));
    BOTH_WAYS(running_sums, 6, FLOATS(4, 5), FLOATS(4, 5));
    mlx_array in[64];
    for (int i = 0; i < 64; i++) in[i] = FLOATS(i % 2 ? 5 : 1);
    both_ways(tree, NULL, in, 64, 33, "a tree of 64");
}

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
BODY(minus_times)
{
    UNUSED;
    give(out, b(mlx_multiply, b(mlx_subtract, in[0], in[1]), in[0]));
    return done();
}

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

/* ---- J. shapeless --------------------------------------------------------------------------------------------- */

/* 102, 103: a captured array and a number of C's, one trace for all sizes of a rank and dtype. */
struct frozen {
    mlx_array array;
    int number;
};

BODY(times_frozen)
{
    const struct frozen *frozen = context;
    (void)count;
    give(out, b(mlx_multiply, b(mlx_add, in[0], frozen->array), keep(mlx_array_new_int(frozen->number))));
    return done();
}

static void test_102_and_103_shapeless_captures(void **state)
{
    (void)state;
    struct frozen frozen = {FLOATS(1), 3};
    struct traced_call traced = {times_frozen, &frozen, 1, 0};
    mlx_closure fun = compile_call(&traced, true);
    for (int size = 1; size < 6; size++) {
        mlx_array x = FLOATS(size);
        expect_call(fun, &x, 1, (float[]){6, 9, 12, 15, 18}, size);
        frozen.number = 100;
        mlx_array_free(x);
    }
    CHECK_EQ(traced.calls, 1);
    frozen.number = 1;
    mlx_array whole = COUNTING(MLX_INT32, 2), matrix = FLOATS(1, 2);
    expect_call(fun, &whole, 1, (float[]){2, 3}, 2);
    CHECK_EQ(traced.calls, 2);
    expect_call(fun, &matrix, 1, (float[]){2, 3}, 2);
    CHECK_EQ(traced.calls, 3);
    mlx_array_free(whole), mlx_array_free(matrix), mlx_array_free(frozen.array), mlx_closure_free(fun);
}

/* 105, 133: traced on one pair of shapes, called on others. */
static void test_105_and_133_shapeless_broadcasts_and_empty_extents(void **state)
{
    static const int shapes[][2][2] = {{{2, 3}, {2, 3}}, {{1, 3}, {2, 3}}, {{2, 3}, {2, 1}}, {{1, 3}, {2, 1}},
                                       {{0, 3}, {1, 3}}, {{1, 1}, {4, 0}}, {{5, 1}, {1, 1}}, {{0, 1}, {1, 0}}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    (void)state;
    for (int first = 0; first < SHAPES; first++) {
        struct traced_call traced = {minus_times, NULL, 1, 0};
        mlx_closure fun = compile_call(&traced, true);
        for (int i = 0; i < SHAPES; i++) {
            const int(*pair)[2] = shapes[(first + i) % SHAPES];
            mlx_array in[] = {ones_and_more(MLX_FLOAT32, 2, pair[0]), ones_and_more(MLX_FLOAT32, 2, pair[1])};
            mlx_array plain = mlx_array_new(), res = call(fun, in, 2);
            expect_ok(minus_times(in, 2, &plain, NULL), "plainly");
            struct numbers want = read_array(plain), got = read_array(res);
            expect_same_bits(&got, &want, "shapeless");
            numbers_free(&want), numbers_free(&got), free_all(in, 2), mlx_array_free(plain), mlx_array_free(res);
        }
        CHECK_EQ(traced.calls, 1);
        mlx_closure_free(fun);
    }
}

/* ---- K. lifetime and threads ---------------------------------------------------------------------------------- */

/* 117: the function finds its own compiled closure through its payload. */
struct itself {
    mlx_closure compiled;
    int depth, freed;
};

static int calls_itself(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct itself *itself = payload;
    if (itself->depth++ < 2) return mlx_closure_apply(res, itself->compiled, in);
    return mlx_vector_array_set(res, in);
}

static void count_free(void *payload)
{
    ((struct itself *)payload)->freed++;
}

static void test_117_a_function_that_refers_to_itself(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct itself itself = {mlx_closure_new(), 0, 0};
        mlx_closure plain = mlx_closure_new_func_payload(calls_itself, &itself, count_free);
        expect_ok(mlx_compile(&itself.compiled, plain, false), "compile");
        mlx_closure_free(plain);
        mlx_array x = FLOATS(2);
        expect_call(itself.compiled, &x, 1, (float[]){1, 2}, 2);
        CHECK_EQ(itself.depth, 3);
        mlx_array_free(x), mlx_closure_free(itself.compiled);
        CHECK_EQ(itself.freed, 1);
    }
}

struct job {
    mlx_closure fun;
    bool failed;
};

static void *call_pair(void *argument)
{
    struct job *job = argument;
    mlx_array x = FLOATS(2), res[2];
    apply_compiled(job->fun, &x, 1, res, 2, "on a thread");
    mlx_array_eval(res[0]), mlx_array_eval(res[1]);
    job->failed = error_count || mlx_array_data_float32(res[0])[1] != 4 || mlx_array_data_float32(res[1])[1] != 5;
    mlx_array_free(x), free_all(res, 2);
    return NULL;
}

static void *free_closure(void *argument)
{
    mlx_closure_free(((struct job *)argument)->fun);
    return NULL;
}

static void on_a_thread(void *(*work)(void *), struct job *job)
{
    pthread_t thread;
    job->failed = false;
    CHECK_EQ(pthread_create(&thread, NULL, work, job), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_FALSE(job->failed);
}
#define on_a_thread(...) CHECK_CALL(on_a_thread, __VA_ARGS__)

static void test_120_and_121_three_threads_and_a_fourth_that_frees(void **state)
{
    (void)state;
    struct traced_call traced = {inner_and_final, NULL, 2, 0};
    for (int round = 1; round < 4; round++) {
        struct job job = {compile_call(&traced, false), false};
        for (int i = 0; i < 3; i++) on_a_thread(call_pair, &job);
        CHECK_EQ(traced.calls, round); /* once for each function, on whatever thread it was freed */
        on_a_thread(free_closure, &job);
    }
}

/* 122: each thread makes, calls and frees functions with its own number. */
enum { THREADS = 9, ITERATIONS = 2000 };

static int times_number_of_thread(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), factor = mlx_array_new_float(*(float *)payload);
    int code = mlx_vector_array_get(&x, in, 0) || mlx_multiply(&x, x, factor, stream) ||
               mlx_add(&x, x, factor, stream) || mlx_vector_array_set_value(res, x);
    return mlx_array_free(x), mlx_array_free(factor), code;
}

static bool is_right(mlx_closure fun, mlx_array x, float factor)
{
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    mlx_array res = mlx_array_new();
    bool right = !mlx_closure_apply(&out, fun, in) && !mlx_vector_array_get(&res, out, 0) && !mlx_array_eval(res) &&
                 mlx_array_data_float32(res)[0] == 2 * factor && mlx_array_data_float32(res)[1] == 3 * factor;
    mlx_vector_array_free(in), mlx_vector_array_free(out), mlx_array_free(res);
    return right;
}

static void *make_call_and_free(void *argument)
{
    struct job *job = argument;
    mlx_array x = mlx_array_new_data((float[]){1, 2}, (int[]){2}, 1, MLX_FLOAT32);
    for (int i = 0; i < ITERATIONS && !job->failed; i++) {
        float factor = (float)(i % 50 + 1);
        mlx_closure plain = mlx_closure_new_func_payload(times_number_of_thread, &factor, NULL),
                    fun = mlx_closure_new();
        job->failed = mlx_compile(&fun, plain, i % 2) || !is_right(fun, x, factor) || !is_right(fun, x, factor);
        mlx_closure_free(plain), mlx_closure_free(fun);
    }
    mlx_array_free(x);
    return NULL;
}

static void test_122_nine_threads(void **state)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS] = {{{NULL}, false}};
    (void)state;
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, make_call_and_free, &jobs[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) CHECK_FALSE(jobs[i].failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_1_to_4_calls_shapes_and_dtypes, set_up),
        cmocka_unit_test_setup(test_5_unevaluated_inputs_twice, set_up),
        cmocka_unit_test_setup(test_6_and_8_arrays_made_inside_and_no_inputs, set_up),
        cmocka_unit_test_setup(test_9_to_14_forms_and_captured_variables, set_up),
        cmocka_unit_test_setup(test_15_to_17_captured_arrays_that_change, set_up),
        cmocka_unit_test_setup(test_17_a_captured_map, set_up),
        cmocka_unit_test_setup(test_19_two_functions_share_what_they_capture, set_up),
        cmocka_unit_test_setup(test_21_state_that_a_trace_changes, set_up),
        cmocka_unit_test_setup(test_22_captured_and_reduced_without_inputs, set_up),
        cmocka_unit_test_setup(test_28_random_state_in_and_out, set_up),
        cmocka_unit_test_setup(test_32_and_44_outputs_by_signature, set_up),
        cmocka_unit_test_setup(test_46_to_51_outputs, set_up),
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
        cmocka_unit_test_setup(test_102_and_103_shapeless_captures, set_up),
        cmocka_unit_test_setup(test_105_and_133_shapeless_broadcasts_and_empty_extents, set_up),
        cmocka_unit_test_setup(test_117_a_function_that_refers_to_itself, set_up),
        cmocka_unit_test_setup(test_120_and_121_three_threads_and_a_fourth_that_frees, set_up),
        cmocka_unit_test_setup(test_122_nine_threads, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
