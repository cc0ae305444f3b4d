/*
 * test_mlxc_compile_numbers_traps.c - functions that caches and fusers have got wrong before, each with its numbers.
 */
#include "support/arrays.h"

static mlx_array row(const float *values, int count)
{
    return mlx_array_new_data(values, &count, 1, MLX_FLOAT32);
}

static void expect_row(const struct numbers *got, const float *values, int count)
{
    CHECK_EQ(got->dtype, MLX_FLOAT32);
    CHECK_EQ(got->size, count);
    for (int i = 0; i < count; i++)
        if (!same_float((double)get(got, i).f, (double)values[i]))
            CHECK_FAIL("element %d is %g, expected %g", i, (double)get(got, i).f, (double)values[i]);
}
#define expect_row(...) CHECK_CALL(expect_row, __VA_ARGS__)

/* Runs a function of rows of `count` floats both ways; want[o] is what output o must be. */
static void check(array_function *function, const void *context, const float *const *inputs, int input_count,
                  const float *const *want, int output_count, int count)
{
    mlx_array arrays[MAX_INPUTS];
    struct numbers got[MAX_OUTPUTS];
    for (int i = 0; i < input_count; i++) arrays[i] = row(inputs[i], count);
    run_both_ways(function, context, arrays, input_count, got, output_count, 3, "a trap");
    for (int i = 0; i < output_count; i++) expect_row(&got[i], want[i], count), numbers_free(&got[i]);
    for (int i = 0; i < input_count; i++) mlx_array_free(arrays[i]);
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

static const float three[3] = {1, 2, 3}, seven[3] = {7, -5, 0.5f};

/* ---- constants ----------------------------------------------------------------------------------------------------
 */

struct line {
    int factor, term;
};

static int call_line(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct line *line = context;
    mlx_array factor = mlx_array_new_int(line->factor), term = mlx_array_new_int(line->term);
    (void)count;
    int code = mlx_multiply(outputs, inputs[0], factor, stream);
    if (!code) code = mlx_add(outputs, outputs[0], term, stream);
    mlx_array_free(factor), mlx_array_free(term);
    return code;
}

/* x*1+23 and x*12+3: the same digits in another grouping. */
static void test_neighbouring_constants(void **state)
{
    const float first[3] = {24, 25, 26}, second[3] = {15, 27, 39};
    (void)state;
    for (int k = 0; k < 2; k++) {
        check(call_line, &(struct line){1, 23}, (const float *[]){three}, 1, (const float *[]){first}, 1, 3);
        check(call_line, &(struct line){12, 3}, (const float *[]){three}, 1, (const float *[]){second}, 1, 3);
    }
}

struct constant {
    struct scalar value;
    bool as_output;
};

static int call_constant(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct constant *constant = context;
    char bytes[8];
    const int none = 0;
    (void)count;
    scalar_store(bytes, constant->value);
    mlx_array scalar = mlx_array_new_data(bytes, &none, 0, constant->value.dtype), yes = mlx_array_new_bool(true);
    int code =
        constant->as_output ? mlx_array_set(outputs, scalar) : mlx_where(outputs, yes, scalar, inputs[0], stream);
    mlx_array_free(scalar), mlx_array_free(yes);
    return code;
}

/* Every chosen value of every dtype arrives with its exact bits, as an operand and as an output. */
static void test_constants_by_their_bits(void **state)
{
    struct shape one = {1, {3}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct numbers zeros = numbers_new(dtype, &one), got;
        mlx_array array = packed_array(&zeros);
        for (int i = 0; i < chosen_count(dtype); i++)
            for (int k = 0; k < 2; k++) {
                struct constant constant = {chosen(dtype, i), k};
                run_both_ways(call_constant, &constant, &array, 1, &got, 1, 2, "a constant");
                for (int e = 0; e < got.size; e++) CHECK_TRUE(same_scalar(get(&got, e), constant.value));
                CHECK_EQ(got.size, k ? 1 : 3);
                numbers_free(&got);
            }
        mlx_array_free(array);
        numbers_free(&zeros);
    }
}

/* ---- inputs and outputs -------------------------------------------------------------------------------------------
 */

static int call_subtract(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    return mlx_subtract(outputs, inputs[0], inputs[1], stream);
}

static int call_swapped(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    int code = mlx_subtract(&outputs[0], inputs[1], inputs[0], stream);
    if (!code) code = mlx_divide(&outputs[1], inputs[0], inputs[1], stream);
    if (!code) code = mlx_divide(&outputs[2], inputs[1], inputs[0], stream);
    return code;
}

static void test_order_of_operands(void **state)
{
    const float minus[3] = {-6, 7, 2.5f}, swapped[3] = {6, -7, -2.5f};
    const float over[3] = {1.0f / 7, 2.0f / -5, 6}, under[3] = {7, -2.5f, 0.5f / 3};
    (void)state;
    check(call_subtract, NULL, (const float *[]){three, seven}, 2, (const float *[]){minus}, 1, 3);
    check(call_swapped, NULL, (const float *[]){three, seven}, 2, (const float *[]){swapped, over, under}, 3, 3);
}

static void test_one_array_as_two_inputs(void **state)
{
    struct traced_call call = {call_subtract, NULL, 1, 0};
    mlx_closure compiled = compile_call(&call, false);
    mlx_array a = row(three, 3), b = row(seven, 3), pairs[3][2] = {{a, a}, {a, b}, {b, b}}, out;
    const float wants[3][3] = {{0, 0, 0}, {-6, 7, 2.5f}, {0, 0, 0}};
    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3; i++) { /* a trace made with one array twice must not think so for two */
            apply_compiled(compiled, pairs[i], 2, &out, 1, "twice the same");
            struct numbers got = read_array(out);
            expect_row(&got, wants[i], 3);
            numbers_free(&got);
            mlx_array_free(out);
        }
    CHECK_EQ(call.calls, 1);
    mlx_array_free(a), mlx_array_free(b), mlx_closure_free(compiled);
}

struct captured {
    mlx_array array;
};

static int call_captured(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct captured *captured = context;
    (void)count;
    int code = mlx_multiply(&outputs[0], inputs[0], captured->array, stream);
    if (!code) code = mlx_add(&outputs[0], outputs[0], captured->array, stream);
    if (!code) code = mlx_array_set(&outputs[1], captured->array);
    return code;
}

/* Ready, and still lazy when the trace sees it. */
static void test_captured_arrays(void **state)
{
    const float want[3] = {14, -15, 2}, lazy_want[3] = {28, -30, 4}, doubled[3] = {14, -10, 1};
    struct captured ready = {row(seven, 3)}, lazy = {mlx_array_new()};
    (void)state;
    expect_ok(mlx_add(&lazy.array, ready.array, ready.array, stream), "add");
    check(call_captured, &ready, (const float *[]){three}, 1, (const float *[]){want, seven}, 2, 3);
    check(call_captured, &lazy, (const float *[]){three}, 1, (const float *[]){lazy_want, doubled}, 2, 3);
    mlx_array_free(ready.array), mlx_array_free(lazy.array);
}

static int call_nothing(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)inputs, (void)count, (void)outputs, (void)context;
    return 0;
}

static int call_inputs_as_outputs(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    int code = mlx_array_set(&outputs[0], inputs[1]);
    if (!code) code = mlx_add(&outputs[1], inputs[0], inputs[1], stream);
    if (!code) code = mlx_array_set(&outputs[2], inputs[0]);
    if (!code) code = mlx_add(&outputs[3], inputs[0], inputs[1], stream);
    if (!code) code = mlx_array_set(&outputs[4], outputs[1]);
    return code;
}

static void test_outputs(void **state)
{
    const float sum[3] = {8, -3, 3.5f};
    (void)state;
    check(call_nothing, NULL, (const float *[]){three}, 1, NULL, 0, 3);
    check(call_inputs_as_outputs, NULL, (const float *[]){three, seven}, 2,
          (const float *[]){seven, sum, three, sum, sum}, 5, 3);
}

/* An output that is the input as it lies: a view stays what it was. */
static void test_view_as_output(void **state)
{
    struct shape shape = {2, {3, 4}};
    uint64_t seed = 2;
    struct numbers numbers = numbers_filled(MLX_INT32, &shape, random_value, &seed), got[5];
    (void)state;
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        mlx_array array = make_array(&numbers, layout), pair[2] = {array, array};
        run_both_ways(call_inputs_as_outputs, NULL, pair, 2, got, 5, 3, "views");
        expect_same_bits(&got[0], &numbers, "a view");
        for (int i = 0; i < 5; i++) numbers_free(&got[i]);
        mlx_array_free(array);
    }
    numbers_free(&numbers);
}

/* ---- groups -------------------------------------------------------------------------------------------------------
 */

/* y is used by its group and by a sum outside of it, and is an output as well. */
static int call_inside_and_outside(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    mlx_array total = mlx_array_new();
    (void)count, (void)context;
    int code = mlx_multiply(&outputs[0], inputs[0], inputs[1], stream);
    if (!code) code = mlx_sum_axis(&total, outputs[0], 0, true, stream);
    if (!code) code = mlx_add(&outputs[1], outputs[0], inputs[0], stream);
    if (!code) code = mlx_subtract(&outputs[1], outputs[1], total, stream);
    mlx_array_free(total);
    return code;
}

static int call_diamond(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    mlx_array product = mlx_array_new(), sum = mlx_array_new();
    (void)count, (void)context;
    int code = mlx_multiply(&product, inputs[0], inputs[1], stream);
    if (!code) code = mlx_add(&sum, inputs[0], inputs[1], stream);
    if (!code) code = mlx_multiply(outputs, product, sum, stream);
    if (!code) code = mlx_subtract(outputs, outputs[0], product, stream);
    mlx_array_free(product), mlx_array_free(sum);
    return code;
}

/* a feeds a sum that feeds what meets a again: one group around it would have to wait for itself. */
static int call_sum_between(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    mlx_array a = mlx_array_new(), total = mlx_array_new();
    (void)count, (void)context;
    int code = mlx_square(&a, inputs[0], stream);
    if (!code) code = mlx_add(&a, a, inputs[1], stream);
    if (!code) code = mlx_sum_axis(&total, a, -1, false, stream); /* a chain into a sum */
    if (!code) code = mlx_multiply(&total, total, total, stream); /* a sum into a chain */
    if (!code) code = mlx_subtract(&outputs[0], a, total, stream);
    if (!code) code = mlx_broadcast_to(&outputs[1], total, (const int[]){3}, 1, stream);
    mlx_array_free(a), mlx_array_free(total);
    return code;
}

static void test_groups(void **state)
{
    const float product[3] = {7, -10, 1.5f}, rest[3] = {9.5f, -6.5f, 6};
    const float diamond[3] = {49, 40, 3.75f}, total[3] = {272.25f, 272.25f, 272.25f},
                less[3] = {-264.25f, -273.25f, -262.75f};
    (void)state;
    check(call_inside_and_outside, NULL, (const float *[]){three, seven}, 2, (const float *[]){product, rest}, 2, 3);
    check(call_diamond, NULL, (const float *[]){three, seven}, 2, (const float *[]){diamond}, 1, 3);
    check(call_sum_between, NULL, (const float *[]){three, seven}, 2, (const float *[]){less, total}, 2, 3);
}

/* A chain of 300 additions: longer than one kernel takes. */
static int call_long_chain(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    int code = mlx_array_set(outputs, inputs[0]);
    for (int i = 0; i < 300 && !code; i++) code = mlx_add(outputs, outputs[0], inputs[1], stream);
    return code;
}

/* 64 inputs into one result, each read twice. */
static int call_wide(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)context;
    int code = mlx_array_set(outputs, inputs[0]);
    for (int i = 1; i < count && !code; i++) code = mlx_subtract(outputs, outputs[0], inputs[i], stream);
    for (int i = count; i-- > 0 && !code;) code = mlx_maximum(outputs, outputs[0], inputs[i], stream);
    return code;
}

static void test_large_groups(void **state)
{
    const float want[3] = {2101, -1498, 153};
    const float *inputs[64];
    (void)state;
    check(call_long_chain, NULL, (const float *[]){three, seven}, 2, (const float *[]){want}, 1, 3);
    for (int i = 0; i < 64; i++) inputs[i] = i % 2 ? three : seven;
    check(call_wide, NULL, inputs, 64, (const float *[]){(const float[3]){7, 86, 3}}, 1, 3);
}

/* Matrix products take part: whole numbers, so exact. */
static int call_layer(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    int code = mlx_add(outputs, inputs[0], inputs[0], stream);
    if (!code) code = mlx_matmul(outputs, outputs[0], inputs[1], stream);
    if (!code) code = mlx_subtract(outputs, outputs[0], inputs[0], stream);
    return code;
}

static void test_product_in_a_chain(void **state)
{
    struct shape shape = {2, {4, 4}};
    uint64_t seed = 9;
    struct numbers in[2] = {numbers_filled(MLX_FLOAT32, &shape, small_value, &seed),
                            numbers_filled(MLX_FLOAT32, &shape, small_value, &seed)},
                   got;
    mlx_array arrays[2] = {make_array(&in[0], REVERSED), make_array(&in[1], TRANSPOSED)};
    (void)state;
    run_both_ways(call_layer, NULL, arrays, 2, &got, 1, 3, "a layer");
    for (int i = 0; i < 16; i++) {
        float want = -get(&in[0], i).f;
        for (int k = 0; k < 4; k++) want += 2 * get(&in[0], i / 4 * 4 + k).f * get(&in[1], k * 4 + i % 4).f;
        CHECK_EQ(get(&got, i).f, want);
    }
    for (int i = 0; i < 2; i++) mlx_array_free(arrays[i]), numbers_free(&in[i]);
    numbers_free(&got);
}

/* ---- NaN ----------------------------------------------------------------------------------------------------------
 */

/* LLVM makes x - y of x + (-y), which gives another NaN; what is stored does not show it. */
static int call_nan_chain(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    mlx_array minus = mlx_array_new();
    (void)count, (void)context;
    int code = mlx_negative(&minus, inputs[1], stream);
    if (!code) code = mlx_add(&outputs[0], inputs[0], minus, stream);
    if (!code) code = mlx_multiply(&outputs[1], minus, inputs[0], stream);
    if (!code) code = mlx_negative(&outputs[1], outputs[1], stream);
    if (!code) code = mlx_maximum(&outputs[2], minus, inputs[0], stream);
    mlx_array_free(minus);
    return code;
}

static void test_one_nan(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32, MLX_FLOAT64, MLX_COMPLEX64};
    struct shape shape = {1, {19}};
    (void)state;
    for (size_t d = 0; d < 5; d++) {
        uint64_t seed = 11;
        struct numbers in[2] = {numbers_filled(dtypes[d], &shape, random_value, &seed),
                                numbers_filled(dtypes[d], &shape, random_value, &seed)},
                       got[3];
        int size = facts[dtypes[d]].size;
        for (int i = 0; i < 19; i++) { /* a NaN with the sign set and a payload in one of them, or in both */
            if (i % 3 != 1) memset(in[0].data + i * size, 0xff, (size_t)size);
            if (i % 3 != 0) memset(in[1].data + i * size, 0x7f, (size_t)size), in[1].data[i * size + size - 2] = -1;
        }
        mlx_array arrays[2] = {packed_array(&in[0]), packed_array(&in[1])};
        struct numbers want = numbers_new(dtypes[d], &shape);
        put(&want, 0, dtypes[d] == MLX_FLOAT64 ? make_double((double)NAN) : make_float(NAN, dtypes[d]));
        run_both_ways(call_nan_chain, NULL, arrays, 2, got, 3, 2, facts[dtypes[d]].name);
        for (int o = 0; o < 3; o++)
            for (int i = 0; i < 19 && dtypes[d] != MLX_COMPLEX64; i++) /* complex: it is enough that both ways agree */
                CHECK_MEM(got[o].data + i * size, want.data, (size_t)size);
        for (int i = 0; i < 2; i++) mlx_array_free(arrays[i]), numbers_free(&in[i]);
        for (int o = 0; o < 3; o++) numbers_free(&got[o]);
        numbers_free(&want);
    }
}

/* ---- a row alone and in a batch -----------------------------------------------------------------------------------
 */

static int call_row_work(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    int code = mlx_sigmoid(&outputs[0], inputs[0], stream);
    if (!code) code = mlx_multiply(&outputs[0], outputs[0], inputs[0], stream);
    if (!code) code = mlx_sum_axis(&outputs[1], outputs[0], -1, true, stream);
    if (!code) code = mlx_fast_rms_norm(&outputs[2], inputs[0], mlx_array_empty, 1e-6f, stream);
    return code;
}

static struct scalar mild_value(mlx_dtype dtype, uint64_t *state)
{
    return scalar_cast(make_float((float)random_below(state, 20001) * 3e-4f - 3, MLX_FLOAT32), dtype);
}

static void test_row_alone_and_in_a_batch(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32, MLX_FLOAT64};
    (void)state;
    for (size_t d = 0; d < 4; d++)
        for (int n = 1; n < 130; n = n * 2 + 1) {
            struct shape batch = {2, {3, n}}, single = {2, {1, n}};
            uint64_t seed = 40;
            struct numbers rows = numbers_filled(dtypes[d], &batch, mild_value, &seed), all[3], one[3];
            mlx_array array = packed_array(&rows);
            run_both_ways(call_row_work, NULL, &array, 1, all, 3, 2, "a batch");
            mlx_array_free(array);
            for (int r = 0; r < 3; r++) {
                int size = facts[dtypes[d]].size;
                array = mlx_array_new_data(rows.data + r * n * size, single.dims, 2, dtypes[d]);
                run_both_ways(call_row_work, NULL, &array, 1, one, 3, 2, "a row");
                mlx_array_free(array);
                for (int o = 0; o < 3; o++) {
                    CHECK_MEM(one[o].data, all[o].data + r * one[o].size * size, (size_t)(one[o].size * size));
                    numbers_free(&one[o]);
                }
            }
            for (int o = 0; o < 3; o++) numbers_free(&all[o]);
            numbers_free(&rows);
        }
}

/* ---- modes --------------------------------------------------------------------------------------------------------
 */

/* Without simplification, and without fusion: the same bits. */
static void test_modes(void **state)
{
    static const mlx_compile_mode modes[] = {MLX_COMPILE_MODE_NO_SIMPLIFY, MLX_COMPILE_MODE_NO_FUSE,
                                             MLX_COMPILE_MODE_DISABLED, MLX_COMPILE_MODE_ENABLED};
    mlx_array arrays[2] = {row(three, 3), row(seven, 3)};
    (void)state;
    for (size_t m = 0; m < 4; m++) {
        struct traced_call call = {call_sum_between, NULL, 2, 0};
        mlx_array out[2];
        expect_ok(mlx_set_compile_mode(modes[m]), "mode");
        mlx_closure compiled = compile_call(&call, false);
        for (int run = 0; run < 2; run++) {
            apply_compiled(compiled, arrays, 2, out, 2, "a mode");
            struct numbers got = read_array(out[0]);
            expect_row(&got, (const float[3]){-264.25f, -273.25f, -262.75f}, 3);
            numbers_free(&got);
            mlx_array_free(out[0]), mlx_array_free(out[1]);
        }
        mlx_closure_free(compiled);
    }
    mlx_array_free(arrays[0]), mlx_array_free(arrays[1]);
}

/* A shapeless function sees (1) where it was traced with (3): the shape of a constant counts as well. */
struct wide_constant {
    int ndim;
};

static int call_wide_constant(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const int dims[2] = {1, 1};
    const float value = 2;
    (void)count;
    mlx_array constant = mlx_array_new_data(&value, dims, ((const struct wide_constant *)context)->ndim, MLX_FLOAT32);
    int code = mlx_multiply(outputs, inputs[0], constant, stream);
    if (!code) code = mlx_add(outputs, outputs[0], inputs[1], stream);
    mlx_array_free(constant);
    return code;
}

static void test_shapeless_shapes(void **state)
{
    static const int sizes[][2] = {{3, 3}, {1, 3}, {3, 1}, {1, 1}, {0, 1}, {5, 5}};
    (void)state;
    for (int ndim = 0; ndim <= 2; ndim++) {
        struct wide_constant constant = {ndim};
        struct traced_call call = {call_wide_constant, &constant, 1, 0};
        mlx_closure compiled = compile_call(&call, true);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const float values[5] = {1, 2, 3, 4, 5};
            mlx_array in[2] = {row(values, sizes[s][0]), row(values, sizes[s][1])}, plain = mlx_array_new(), out;
            expect_ok(call_wide_constant(in, 2, &plain, &constant), "plainly");
            apply_compiled(compiled, in, 2, &out, 1, "shapeless");
            struct numbers want = read_array(plain), got = read_array(out);
            expect_same_bits(&got, &want, "shapeless");
            numbers_free(&want), numbers_free(&got);
            mlx_array_free(in[0]), mlx_array_free(in[1]), mlx_array_free(plain), mlx_array_free(out);
        }
        CHECK_EQ(call.calls, 1);
        mlx_closure_free(compiled);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_neighbouring_constants, set_up),
        cmocka_unit_test_setup(test_constants_by_their_bits, set_up),
        cmocka_unit_test_setup(test_order_of_operands, set_up),
        cmocka_unit_test_setup(test_one_array_as_two_inputs, set_up),
        cmocka_unit_test_setup(test_captured_arrays, set_up),
        cmocka_unit_test_setup(test_outputs, set_up),
        cmocka_unit_test_setup(test_view_as_output, set_up),
        cmocka_unit_test_setup(test_groups, set_up),
        cmocka_unit_test_setup(test_large_groups, set_up),
        cmocka_unit_test_setup(test_product_in_a_chain, set_up),
        cmocka_unit_test_setup(test_one_nan, set_up),
        cmocka_unit_test_setup(test_row_alone_and_in_a_batch, set_up),
        cmocka_unit_test_setup(test_modes, set_up),
        cmocka_unit_test_setup(test_shapeless_shapes, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
