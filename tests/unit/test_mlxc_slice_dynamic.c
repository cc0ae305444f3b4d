/*
 * test_mlxc_slice_dynamic.c - slices whose starts are an array: every dtype and layout against scalar C, plain,
 * compiled and shapeless; one plan serves all starts; and what is refused.
 */
#include "support/arrays.h"

static mlx_array res;

static int set_up_result(void **state)
{
    res = mlx_array_new();
    return set_up(state);
}

static int drop_result(void **state)
{
    (void)state;
    return mlx_array_free(res);
}

static const mlx_dtype start_dtypes[] = {MLX_INT32, MLX_UINT32, MLX_INT64, MLX_UINT8,
                                         MLX_INT8,  MLX_UINT64, MLX_INT16, MLX_UINT16};
enum { START_DTYPES = sizeof start_dtypes / sizeof *start_dtypes };

static mlx_array make_starts(mlx_dtype dtype, const int *values, int count)
{
    struct shape shape = {1, {count}};
    struct numbers numbers = numbers_new(dtype, &shape);
    for (int i = 0; i < count; i++) put(&numbers, i, make_wrapped((uint64_t)(int64_t)values[i], dtype));
    mlx_array out = packed_array(&numbers);
    numbers_free(&numbers);
    return out;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* 5 x 6 x 7: a slice of 2 x 6 x 3 at row `row` and column `column`; axes in another order than theirs. */
static const struct shape whole = {3, {5, 6, 7}}, part = {3, {2, 6, 3}};

static int call_slice(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    return mlx_slice_dynamic(&outputs[0], inputs[0], inputs[1], (int[]){-1, 0}, 2, part.dims, 3, stream);
}

static struct numbers slice_reference(const struct numbers *in, int row, int column)
{
    struct numbers out = numbers_new(in->dtype, &part);
    for (int i = 0; i < out.size; i++) {
        int index[MAX_RANK];
        unravel(i, &part, index);
        index[0] += row, index[2] += column;
        put(&out, i, get(in, ravel(index, 3, &whole)));
    }
    return out;
}

static void reads_slices(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
            mlx_dtype start_dtype = start_dtypes[(dtype + layout) % START_DTYPES];
            bool is_signed = facts[start_dtype].kind == IS_SIGNED;
            int row = random_below(&random, 4), column = random_below(&random, 5);
            const int starts[] = {is_signed ? column - 7 : column, row};
            struct numbers in = numbers_filled(dtype, &whole, random_value, &random), got;
            struct numbers want = slice_reference(&in, row, column);
            mlx_array inputs[2] = {make_array(&in, layout), make_starts(start_dtype, starts, 2)};
            run_both_ways(call_slice, NULL, inputs, 2, &got, 1, 2, "slice_dynamic");
            expect_same_bits(&got, &want, "slice_dynamic");
            mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
            numbers_free(&in), numbers_free(&want), numbers_free(&got);
        }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int call_update(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    return mlx_slice_update_dynamic(&outputs[0], inputs[0], inputs[1], inputs[2], (int[]){-1, 0}, 2, stream);
}

static struct numbers update_reference(const struct numbers *in, const struct numbers *update, int row, int column)
{
    struct numbers out = numbers_new(in->dtype, &in->shape);
    memcpy(out.data, in->data, (size_t)(in->size * facts[in->dtype].size));
    for (int i = 0; i < update->size; i++) {
        int index[MAX_RANK];
        unravel(i, &part, index);
        index[0] += row, index[2] += column;
        put(&out, ravel(index, 3, &whole), scalar_cast(get(update, i), in->dtype));
    }
    return out;
}

/* The update has the array's dtype, or now and then another one. */
static void writes_slices(void **state)
{
    uint64_t random = 4;
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
            int row = random_below(&random, 4), column = random_below(&random, 5);
            const int starts[] = {column, row - 5};
            struct numbers in = numbers_filled(dtype, &whole, random_value, &random), got;
            struct numbers update = numbers_filled(layout ? (mlx_dtype)dtype : MLX_UINT8, &part, small_value, &random);
            struct numbers want = update_reference(&in, &update, row, column);
            mlx_array inputs[3] = {make_array(&in, layout), make_array(&update, (layout + 1) % LAYOUT_COUNT),
                                   make_starts(MLX_INT64, starts, 2)};
            run_both_ways(call_update, NULL, inputs, 3, &got, 1, 2, "slice_update_dynamic");
            expect_same_bits(&got, &want, "slice_update_dynamic");
            for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]);
            numbers_free(&in), numbers_free(&update), numbers_free(&want), numbers_free(&got);
        }
}

/* An update that lacks axes is repeated along them, unless they have a start; a scalar start is a start. */
static void updates_are_broadcast(void **state)
{
    float zeros[12] = {0}, ones[4] = {1, 2, 3, 4};
    mlx_array a = mlx_array_new_data(zeros, (int[]){3, 4}, 2, MLX_FLOAT32), one = mlx_array_new_int(1);
    mlx_array row = mlx_array_new_data(ones, (int[]){4}, 1, MLX_FLOAT32), two = mlx_array_new_float(2);
    (void)state;
    expect_ok(mlx_slice_update_dynamic(&res, a, row, one, (int[]){0}, 1, stream), "a row");
    struct numbers got = read_array(res);
    for (int i = 0; i < 12; i++) CHECK_EQ((int)get(&got, i).f, i / 4 == 1 ? i % 4 + 1 : 0);
    numbers_free(&got);
    expect_ok(mlx_slice_update_dynamic(&res, a, two, one, (int[]){1}, 1, stream), "a column from a scalar");
    got = read_array(res);
    for (int i = 0; i < 12; i++) CHECK_EQ((int)get(&got, i).f, i % 4 == 1 ? 2 : 0);
    numbers_free(&got);
    mlx_array none = mlx_array_new_data(zeros, (int[]){0}, 1, MLX_INT32);
    expect_ok(mlx_slice_update_dynamic(&res, a, row, none, NULL, 0, stream), "all rows, without a start");
    got = read_array(res);
    for (int i = 0; i < 12; i++) CHECK_EQ((int)get(&got, i).f, i % 4 + 1);
    numbers_free(&got);
    mlx_array_free(a), mlx_array_free(one), mlx_array_free(row), mlx_array_free(two), mlx_array_free(none);
}

/* ---- one plan for all starts ------------------------------------------------------------------------------------- */

/* x with y + 1 in its row `at`, and that row of what that gives. */
static int write_and_read(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    mlx_array one = mlx_array_new_float(1), sum = mlx_array_new();
    int size[2] = {1, mlx_array_dim(inputs[0], 1)};
    (void)count, (void)context;
    int code = mlx_add(&sum, inputs[1], one, stream) ||
               mlx_slice_update_dynamic(&outputs[0], inputs[0], sum, inputs[2], (int[]){0}, 1, stream) ||
               mlx_slice_dynamic(&outputs[1], outputs[0], inputs[2], (int[]){0}, 1, size, 2, stream);
    mlx_array_free(one), mlx_array_free(sum);
    return code;
}

static void check_rows(mlx_closure compiled, int rows, int at)
{
    float x[64], y[4] = {10, 20, 30, 40};
    for (int i = 0; i < rows * 4; i++) x[i] = (float)i;
    mlx_array inputs[3] = {mlx_array_new_data(x, (int[]){rows, 4}, 2, MLX_FLOAT32),
                           mlx_array_new_data(y, (int[]){4}, 1, MLX_FLOAT32), make_starts(MLX_INT32, &at, 1)};
    mlx_array outputs[2];
    apply_compiled(compiled, inputs, 3, outputs, 2, "write and read");
    struct numbers all = read_array(outputs[0]), row = read_array(outputs[1]);
    for (int i = 0; i < rows * 4; i++) CHECK_EQ((int)get(&all, i).f, i / 4 == at ? (int)y[i % 4] + 1 : i);
    for (int i = 0; i < 4; i++) CHECK_EQ((int)get(&row, i).f, (int)y[i] + 1);
    numbers_free(&all), numbers_free(&row);
    for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]);
    mlx_array_free(outputs[0]), mlx_array_free(outputs[1]);
}

static void one_trace_for_all_starts(void **state)
{
    (void)state;
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        struct traced_call call = {write_and_read, NULL, 2, 0};
        mlx_closure compiled = compile_call(&call, shapeless);
        for (int rows = 3; rows < 16; rows = shapeless ? rows * 2 : 99)
            for (int at = 0; at < rows; at++) check_rows(compiled, rows, at);
        CHECK_EQ(call.calls, 1);
        mlx_closure_free(compiled);
    }
}

/* ---- what must not work ------------------------------------------------------------------------------------------ */

static void expect_bad_value(int code, const char *text)
{
    CHECK_EQ(code, 0);
    CHECK_EQ(mlx_array_eval(res), 1);
    if (error_count != 1 || !strstr(error_text, text)) CHECK_FAIL("expected \"%s\", got \"%s\"", text, error_text);
    error_count = 0;
}
#define expect_bad_value(...) CHECK_CALL(expect_bad_value, __VA_ARGS__)

/* Each start may leave as many elements as the slice has. */
static void starts_out_of_range(void **state)
{
    float values[12] = {0};
    uint64_t huge = UINT64_MAX;
    mlx_array a = mlx_array_new_data(values, (int[]){3, 4}, 2, MLX_FLOAT32);
    mlx_array two = mlx_array_new_data(values, (int[]){2, 4}, 2, MLX_FLOAT32);
    mlx_array high = mlx_array_new_int(2), low = mlx_array_new_int(-4), end = mlx_array_new_int(-1);
    mlx_array most = mlx_array_new_data(&huge, NULL, 0, MLX_UINT64);
    const int axis = 0, size[] = {2, 4};
    (void)state;
    expect_bad_value(mlx_slice_dynamic(&res, a, high, &axis, 1, size, 2, stream),
                     "[slice_dynamic] Index 2 is out of range for an axis of size 3: expected -3 to 1");
    expect_bad_value(mlx_slice_dynamic(&res, a, low, &axis, 1, size, 2, stream), "[slice_dynamic] Index -4");
    expect_bad_value(mlx_slice_dynamic(&res, a, end, &axis, 1, size, 2, stream), "[slice_dynamic] Index -1");
    expect_bad_value(mlx_slice_dynamic(&res, a, most, &axis, 1, size, 2, stream), "Index 18446744073709551615");
    expect_bad_value(mlx_slice_update_dynamic(&res, a, two, high, &axis, 1, stream),
                     "[slice_update_dynamic] Index 2 is out of range for an axis of size 3: expected -3 to 1");
    expect_bad_value(mlx_slice_update_dynamic(&res, a, two, low, &axis, 1, stream), "[slice_update_dynamic] Index -4");
    mlx_array_free(a), mlx_array_free(two), mlx_array_free(high), mlx_array_free(low), mlx_array_free(end);
    mlx_array_free(most);
}

static void what_does_not_fit(void **state)
{
    float values[20] = {0};
    mlx_array a = mlx_array_new_data(values, (int[]){3, 4}, 2, MLX_FLOAT32), one = mlx_array_new_int(1);
    mlx_array row = mlx_array_new_data(values, (int[]){5}, 1, MLX_FLOAT32), truth = mlx_array_new_bool(true);
    mlx_array cube = mlx_array_new_data(values, (int[]){1, 1, 1}, 3, MLX_FLOAT32), empty = {0};
    mlx_array flat = mlx_array_new_data(values, (int[]){1, 1}, 2, MLX_INT32),
              two = make_starts(MLX_INT32, (int[2]){0}, 2);
    const int axis = 0, beyond = 2, twice[] = {1, -1}, size[] = {1, 4}, large[] = {4, 4}, negative[] = {-1, 4};
    (void)state;
    expect_refusal(mlx_slice_dynamic(&res, a, one, &axis, 1, size, 1, stream), res, "too few sizes");
    expect_refusal(mlx_slice_dynamic(&res, a, one, &axis, 1, large, 2, stream), res, "a slice too large");
    expect_refusal(mlx_slice_dynamic(&res, a, one, &axis, 1, negative, 2, stream), res, "a negative size");
    expect_refusal(mlx_slice_dynamic(&res, a, one, &beyond, 1, size, 2, stream), res, "an axis too large");
    expect_refusal(mlx_slice_dynamic(&res, a, two, twice, 2, size, 2, stream), res, "an axis twice");
    expect_refusal(mlx_slice_dynamic(&res, a, two, &axis, 1, size, 2, stream), res, "more starts than axes");
    expect_refusal(mlx_slice_dynamic(&res, a, one, twice, 2, size, 2, stream), res, "more axes than starts");
    expect_refusal(mlx_slice_dynamic(&res, a, flat, &axis, 1, size, 2, stream), res, "starts of two axes");
    expect_refusal(mlx_slice_dynamic(&res, a, truth, &axis, 1, size, 2, stream), res, "starts that are bool");
    expect_refusal(mlx_slice_dynamic(&res, a, a, &axis, 1, size, 2, stream), res, "starts that are floats");
    expect_refusal(mlx_slice_dynamic(&res, a, one, NULL, 1, size, 2, stream), res, "no axes");
    expect_refusal(mlx_slice_dynamic(&res, a, empty, &axis, 1, size, 2, stream), res, "no starts");
    expect_refusal(mlx_slice_update_dynamic(&res, a, row, one, &axis, 1, stream), res, "an update too long");
    expect_refusal(mlx_slice_update_dynamic(&res, a, cube, one, &axis, 1, stream), res, "an update of more axes");
    expect_refusal(mlx_slice_update_dynamic(&res, a, one, two, &axis, 1, stream), res, "more starts than axes");
    expect_refusal(mlx_slice_update_dynamic(&res, a, one, truth, &axis, 1, stream), res, "starts that are bool");
    expect_refusal(mlx_slice_update_dynamic(&res, a, empty, one, &axis, 1, stream), res, "no update");
    mlx_array_free(a), mlx_array_free(one), mlx_array_free(row), mlx_array_free(truth), mlx_array_free(cube);
    mlx_array_free(flat), mlx_array_free(two);
}

/* The numbers of a shapeless function stay: a size that does not fit later is the operation's error. */
static int first_three(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    return mlx_slice_dynamic(&outputs[0], inputs[0], inputs[1], (int[]){0}, 1, (int[]){3}, 1, stream);
}

static void a_size_that_does_not_fit_later(void **state)
{
    struct traced_call call = {first_three, NULL, 1, 0};
    mlx_closure compiled = compile_call(&call, true);
    float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    (void)state;
    for (int length = 8; length > 1; length -= 3) {
        mlx_array inputs[2] = {mlx_array_new_data(values, &length, 1, MLX_FLOAT32), mlx_array_new_int(length - 3)};
        mlx_vector_array in = mlx_vector_array_new_data(inputs, 2), out = mlx_vector_array_new();
        int code = mlx_closure_apply(&out, compiled, in);
        CHECK_EQ(code, length < 3);
        if (code && !strstr(error_text, "[slice_dynamic] A slice of 3 does not fit axis 0 of size 2"))
            CHECK_FAIL("got \"%s\"", error_text);
        mlx_vector_array_free(in), mlx_vector_array_free(out), mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
    }
    error_count = 0;
    mlx_closure_free(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_slices, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(writes_slices, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(updates_are_broadcast, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(one_trace_for_all_starts, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(starts_out_of_range, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(what_does_not_fit, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(a_size_that_does_not_fit_later, set_up_result, drop_result),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
