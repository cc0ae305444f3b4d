/*
 * test_mlxc_numbers_elementwise.c - every element-wise operation on every dtype, plainly and compiled, against scalar
 * C.
 *
 * Binary operations see each pair of chosen values. Each operation runs on packed memory, on strided memory, and with
 * one element against many; what an operation refuses is refused with a text and leaves the result alone.
 */
#include "support/arrays.h"

static int call_operation(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const struct operation *op = context;
    (void)input_count;
    return op->unary ? op->unary(outputs, inputs[0], stream) : op->binary(outputs, inputs[0], inputs[1], stream);
}

/* One or two inputs, broadcast against each other, both in `layout`. */
static void check_operation(const struct operation *op, const struct numbers *inputs, enum layout layout)
{
    int count = op->binary ? 2 : 1;
    mlx_array arrays[2] = {{0}};
    struct numbers got;
    char what[128];
    snprintf(what, sizeof what, "%s of %s, %s", op->name, facts[inputs[0].dtype].name,
             facts[inputs[count - 1].dtype].name);
    CHECK_CONTEXT("%s %s, layout %d", what, shape_text(&inputs[0].shape).text, layout);
    for (int i = 0; i < count; i++) arrays[i] = make_array(&inputs[i], layout);
    run_both_ways(call_operation, op, arrays, count, &got, 1, 2, what);
    for (int i = 0; i < count; i++) mlx_array_free(arrays[i]);
    mlx_dtype operand = operand_dtype(op, inputs[0].dtype, inputs[count - 1].dtype);
    struct shape shape = count == 2 ? broadcast(&inputs[0].shape, &inputs[1].shape) : inputs[0].shape;
    CHECK_EQ(got.dtype, result_dtype(op, operand));
    CHECK_TRUE(same_shapes(&got.shape, &shape));
    for (int i = 0; i < got.size; i++) {
        int index[MAX_RANK];
        unravel(i, &shape, index);
        struct scalar a = scalar_cast(get(&inputs[0], ravel(index, shape.ndim, &inputs[0].shape)), operand), b = a;
        if (count == 2) b = scalar_cast(get(&inputs[1], ravel(index, shape.ndim, &inputs[1].shape)), operand);
        if (!result_is_right(op, a, b, get(&got, i)))
            CHECK_FAIL("%s, layout %d, element %d: (%.17g %+gi, %.17g %+gi) gave %.17g %+gi", what, layout, i,
                       to_double(a), (double)a.imaginary, to_double(b), (double)b.imaginary, to_double(get(&got, i)),
                       (double)get(&got, i).imaginary);
    }
    numbers_free(&got);
}
#define check_operation(...) CHECK_CALL(check_operation, __VA_ARGS__)

/* ---- one input ----------------------------------------------------------------------------------------------------
 */

static struct numbers chosen_and_random(mlx_dtype dtype, int random_count, uint64_t seed)
{
    int chosen_ones = chosen_count(dtype);
    struct shape shape = {1, {chosen_ones + random_count}};
    struct numbers out = numbers_filled(dtype, &shape, random_value, &seed);
    for (int i = 0; i < chosen_ones; i++) put(&out, i, chosen(dtype, i));
    return out;
}

static void test_one_input(void **state)
{
    (void)state;
    for (int o = 0; o < OPERATION_COUNT; o++) {
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            const struct operation *op = &operations[o];
            if (!op->unary || !is_accepted(op, operand_dtype(op, dtype, dtype))) continue;
            struct numbers input = chosen_and_random(dtype, 3000, 77);
            check_operation(op, &input, PACKED);
            check_operation(op, &input, dtype % 2 ? REVERSED : SPREAD);
            numbers_free(&input);
        }
    }
}

/* All 65536 of them, for the functions that cannot be exact and for rounding. */
static void test_every_short_float(void **state)
{
    struct shape shape = {1, {65536}};
    (void)state;
    for (int o = 0; o < OPERATION_COUNT; o++) {
        const struct operation *op = &operations[o];
        if (!op->unary || !is_accepted(op, MLX_FLOAT16)) continue;
        for (int k = 0; k < 2; k++) {
            struct numbers input = numbers_new(k ? MLX_FLOAT16 : MLX_BFLOAT16, &shape);
            for (int i = 0; i < 65536; i++) memcpy(input.data + 2 * i, &(uint16_t){(uint16_t)i}, 2);
            check_operation(op, &input, PACKED);
            numbers_free(&input);
        }
    }
}

/* Many more floats for the functions that have an error at all. */
static void test_dense_floats(void **state)
{
    static const double ranges[][2] = {{-1, 1}, {-20, 20}, {-110, 92}, {0, 4}, {0.5, 2}, {-750, 715}};
    enum { COUNT = 20000 };
    struct shape shape = {1, {COUNT}};
    uint64_t seed = 4242;
    (void)state;
    for (int o = 0; o < OPERATION_COUNT; o++) {
        const struct operation *op = &operations[o];
        if (!op->close || !op->unary) continue;
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            for (int k = 0; k < 2; k++) {
                struct numbers input = numbers_new(k ? MLX_FLOAT32 : MLX_FLOAT64, &shape);
                for (int i = 0; i < COUNT; i++) {
                    double at = (double)(next_random(&seed) >> 11) * 0x1p-53;
                    double x = ranges[r][0] + (ranges[r][1] - ranges[r][0]) * at;
                    put(&input, i, k ? make_float((float)x, MLX_FLOAT32) : make_double(x));
                }
                check_operation(op, &input, PACKED);
                numbers_free(&input);
            }
        }
    }
}

/* ---- two inputs ---------------------------------------------------------------------------------------------------
 */

/* Column and row of chosen values, so that each meets each; or the same spread out to two full matrices. */
static void check_all_pairs(const struct operation *op, mlx_dtype dtype)
{
    int n = chosen_count(dtype);
    struct shape full = {2, {n, n}}, one = {0, {0}};
    struct numbers inputs[2] = {numbers_new(dtype, &full), numbers_new(dtype, &full)};
    for (int i = 0; i < n * n; i++) put(&inputs[0], i, chosen(dtype, i / n)), put(&inputs[1], i, chosen(dtype, i % n));
    check_operation(op, inputs, PACKED);
    check_operation(op, inputs, TRANSPOSED);
    for (int k = 0; k < 2; k++) { /* one element against many, on either side */
        struct numbers single = numbers_new(dtype, &one), pair[2] = {inputs[0], inputs[0]};
        put(&single, 0, chosen(dtype, 7));
        pair[k] = single;
        check_operation(op, pair, PACKED);
        numbers_free(&single);
    }
    numbers_free(&inputs[0]), numbers_free(&inputs[1]);
}

static void test_two_inputs(void **state)
{
    (void)state;
    for (int o = 0; o < OPERATION_COUNT; o++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            if (operations[o].binary && is_accepted(&operations[o], operand_dtype(&operations[o], dtype, dtype)))
                check_all_pairs(&operations[o], dtype);
}

/* ---- where --------------------------------------------------------------------------------------------------------
 */

static int call_where(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    (void)input_count, (void)context;
    return mlx_where(outputs, inputs[0], inputs[1], inputs[2], stream);
}

static void check_where(mlx_dtype condition, mlx_dtype dtype, mlx_dtype other, enum layout layout)
{
    struct shape shape = {2, {13, 9}};
    uint64_t seed = 5;
    struct numbers inputs[3] = {numbers_filled(condition, &shape, random_value, &seed),
                                numbers_filled(dtype, &shape, random_value, &seed),
                                numbers_filled(other, &shape, random_value, &seed)};
    struct numbers want = numbers_new(promoted(dtype, other), &shape), got;
    mlx_array arrays[3];
    for (int i = 0; i < 3; i++) arrays[i] = make_array(&inputs[i], layout);
    for (int i = 0; i < 117; i += 3) put(&inputs[0], i, scalar_cast(make_bool(false), condition));
    mlx_array_free(arrays[0]);
    arrays[0] = make_array(&inputs[0], layout);
    run_both_ways(call_where, NULL, arrays, 3, &got, 1, 2, "where");
    for (int i = 0; i < 117; i++)
        put(&want, i, scalar_cast(get(&inputs[is_nonzero(get(&inputs[0], i)) ? 1 : 2], i), want.dtype));
    expect_same_values(&got, &want, facts[dtype].name);
    for (int i = 0; i < 3; i++) mlx_array_free(arrays[i]), numbers_free(&inputs[i]);
    numbers_free(&got), numbers_free(&want);
}
#define check_where(...) CHECK_CALL(check_where, __VA_ARGS__)

static void test_where(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        check_where(MLX_BOOL, dtype, dtype, PACKED);
        check_where(MLX_BOOL, dtype, dtype, TRANSPOSED);
        check_where(dtype, MLX_FLOAT32, MLX_FLOAT32, PACKED);
        check_where(MLX_BOOL, dtype, MLX_INT16, PACKED);
    }
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

static void test_refusals(void **state)
{
    (void)state;
    int refused = 0;
    for (int o = 0; o < OPERATION_COUNT; o++) {
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            const struct operation *op = &operations[o];
            if (is_accepted(op, operand_dtype(op, dtype, dtype))) continue;
            if (op->unary == mlx_abs && dtype == MLX_COMPLEX64) continue; /* float32: see test_mlxc_elementwise.c */
            struct shape shape = {1, {3}};
            struct numbers input = numbers_new(dtype, &shape);
            mlx_array arrays[2] = {packed_array(&input), packed_array(&input)}, res = mlx_array_new();
            expect_refusal(call_operation(arrays, 2, &res, op), res, op->name);
            mlx_array kept = mlx_array_new_int(5);
            CHECK_EQ(call_operation(arrays, 2, &kept, op), 1);
            int value = 0;
            CHECK_EQ(mlx_array_item_int32(&value, kept), 0);
            CHECK_EQ(value, 5);
            error_count = 0;
            mlx_array_free(arrays[0]), mlx_array_free(arrays[1]), mlx_array_free(kept);
            numbers_free(&input);
            refused++;
        }
    }
    CHECK_GT(refused, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_input, set_up),    cmocka_unit_test_setup(test_every_short_float, set_up),
        cmocka_unit_test_setup(test_dense_floats, set_up), cmocka_unit_test_setup(test_two_inputs, set_up),
        cmocka_unit_test_setup(test_where, set_up),        cmocka_unit_test_setup(test_refusals, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
