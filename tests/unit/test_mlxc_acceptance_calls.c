/*
 * test_mlxc_acceptance_calls.c - lines 1 to 51 and 102 to 133 of the acceptance list of compile: signatures, captures,
 * state and outputs of calls, with and without fixed sizes.
 */
#include "acceptance_support.h"

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

BODY(final_only)
{
    UNUSED;
    give(out, b(mlx_add, b(mlx_multiply, in[0], number(2)), number(1)));
    return done();
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
        cmocka_unit_test_setup(test_102_and_103_shapeless_captures, set_up),
        cmocka_unit_test_setup(test_105_and_133_shapeless_broadcasts_and_empty_extents, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
