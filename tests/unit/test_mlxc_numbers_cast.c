/*
 * test_mlxc_numbers_cast.c - astype between every two dtypes, and what promotion does to mixed inputs, plainly and
 * compiled.
 *
 * A cast that cannot keep the value has one defined result: integers wrap, floats that do not fit saturate, NaN becomes
 * 0.
 */
#include "support/arrays.h"

struct cast {
    mlx_dtype to;
};

static int call_astype(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    (void)input_count;
    return mlx_astype(outputs, inputs[0], ((const struct cast *)context)->to, stream);
}

static struct numbers chosen_and_random(mlx_dtype dtype, int random_count)
{
    uint64_t seed = 99;
    int chosen_ones = chosen_count(dtype);
    struct shape shape = {1, {chosen_ones + random_count}};
    struct numbers out = numbers_filled(dtype, &shape, random_value, &seed);
    for (int i = 0; i < chosen_ones; i++) put(&out, i, chosen(dtype, i));
    return out;
}

static void check_cast(const struct numbers *input, mlx_dtype to, enum layout layout)
{
    char what[128];
    struct numbers got, want = numbers_new(to, &input->shape);
    mlx_array array = make_array(input, layout);
    snprintf(what, sizeof what, "%s to %s, layout %d", facts[input->dtype].name, facts[to].name, layout);
    run_both_ways(call_astype, &(struct cast){to}, &array, 1, &got, 1, 2, what);
    for (int i = 0; i < input->size; i++) put(&want, i, scalar_cast(get(input, i), to));
    expect_same_values(&got, &want, what);
    mlx_array_free(array);
    numbers_free(&got), numbers_free(&want);
}
#define check_cast(...) CHECK_CALL(check_cast, __VA_ARGS__)

static void test_all_casts(void **state)
{
    (void)state;
    for (int from = 0; from < DTYPE_COUNT; from++) {
        struct numbers input = chosen_and_random(from, 1000);
        for (int to = 0; to < DTYPE_COUNT; to++) {
            check_cast(&input, to, PACKED);
            check_cast(&input, to, (from + to) % 2 ? REVERSED : SPREAD);
        }
        numbers_free(&input);
    }
}

/* Every 16-bit float widened and rounded back: nothing changes but the bits of NaN. */
static void test_every_short_float(void **state)
{
    static const mlx_dtype shorts[2] = {MLX_FLOAT16, MLX_BFLOAT16};
    static const mlx_dtype others[] = {MLX_FLOAT32, MLX_FLOAT64, MLX_FLOAT16, MLX_BFLOAT16, MLX_INT8, MLX_UINT64};
    struct shape shape = {1, {65536}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct numbers input = numbers_new(shorts[k], &shape);
        for (int i = 0; i < 65536; i++) memcpy(input.data + 2 * i, &(uint16_t){(uint16_t)i}, 2);
        for (size_t t = 0; t < sizeof others / sizeof *others; t++) check_cast(&input, others[t], PACKED);
        numbers_free(&input);
    }
}

/* Floats around each boundary between two neighbours of a 16-bit type: halfway, and one step to either side of it. */
static void test_rounding_of_halfway_floats(void **state)
{
    static const mlx_dtype shorts[2] = {MLX_FLOAT16, MLX_BFLOAT16};
    struct shape shape = {1, {3 * 65536}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct numbers input = numbers_new(MLX_FLOAT32, &shape);
        for (int i = 0; i < 65536; i++) {
            uint16_t bits[2] = {(uint16_t)i, (uint16_t)(i + 1)};
            float low = scalar_load(&bits[0], shorts[k]).f, high = scalar_load(&bits[1], shorts[k]).f;
            float middle = low + (high - low) / 2;
            put(&input, 3 * i, make_float(nextafterf(middle, low), MLX_FLOAT32));
            put(&input, 3 * i + 1, make_float(middle, MLX_FLOAT32));
            put(&input, 3 * i + 2, make_float(nextafterf(middle, high), MLX_FLOAT32));
        }
        check_cast(&input, shorts[k], PACKED);
        numbers_free(&input);
    }
}

/* ---- mixed dtypes -------------------------------------------------------------------------------------------------
 */

static int call_binary(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    (void)input_count;
    return ((const struct operation *)context)->binary(outputs, inputs[0], inputs[1], stream);
}

static void check_mixed(const struct operation *op, mlx_dtype a, mlx_dtype b)
{
    char what[128];
    struct shape shape = {1, {400}};
    uint64_t seed = 31;
    struct numbers inputs[2] = {numbers_filled(a, &shape, random_value, &seed),
                                numbers_filled(b, &shape, random_value, &seed)},
                   got;
    mlx_array arrays[2] = {packed_array(&inputs[0]), packed_array(&inputs[1])};
    mlx_dtype operand = operand_dtype(op, a, b);
    snprintf(what, sizeof what, "%s of %s and %s", op->name, facts[a].name, facts[b].name);
    run_both_ways(call_binary, op, arrays, 2, &got, 1, 2, what);
    CHECK_EQ(got.dtype, result_dtype(op, operand));
    for (int i = 0; i < got.size; i++)
        if (!result_is_right(op, scalar_cast(get(&inputs[0], i), operand), scalar_cast(get(&inputs[1], i), operand),
                             get(&got, i)))
            CHECK_FAIL("%s: element %d is wrong", what, i);
    for (int i = 0; i < 2; i++) mlx_array_free(arrays[i]), numbers_free(&inputs[i]);
    numbers_free(&got);
}

static void test_mixed_dtypes(void **state)
{
    static const char *const names[] = {"subtract", "greater_equal", "divide", "logical_and"};
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (int o = 0; o < OPERATION_COUNT; o++)
            for (int a = 0; a < DTYPE_COUNT && strcmp(operations[o].name, names[n]) == 0; a++)
                for (int b = 0; b < DTYPE_COUNT; b++)
                    if (n < 2 || (a + b) % 3 == 0) check_mixed(&operations[o], a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_casts, set_up),
        cmocka_unit_test_setup(test_every_short_float, set_up),
        cmocka_unit_test_setup(test_rounding_of_halfway_floats, set_up),
        cmocka_unit_test_setup(test_mixed_dtypes, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
