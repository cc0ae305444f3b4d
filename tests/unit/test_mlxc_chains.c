/*
 * test_mlxc_chains.c - every element-wise operation of ops.def between two multiplies, in every dtype it takes:
 * compiled into one kernel gives bit for bit what the operations give one by one.
 *
 * In the chain op(x * y) * w, a kernel holds in registers what plain calls store in between. An operation whose result
 * is not rounded to a 16-bit dtype there, or whose operand is not, gives other bits. Which NaN a NaN is, is open.
 *
 * KILN_TEST_EVERY=n takes one pair of operation and dtype in n, for the emulated driver.
 */
#include "support/arrays.h"
#include "support/elementwise.h"

/* Around the widths of vectors, and long enough for all chosen values. */
static const int sizes[] = {1, 7, 8, 9, 16, 31, 32, 33, 65, 195};
enum { SIZES = sizeof sizes / sizeof *sizes, OPERANDS = 4 };

struct chain {
    const struct operation *op; /* NULL: the function below */
    int (*run)(mlx_array *res, const mlx_array a, const mlx_array b, mlx_dtype to);
    const char *name;
    mlx_dtype to; /* of a cast */
};

static int run_operation(const struct chain *chain, mlx_array *res, mlx_array a, mlx_array b)
{
    if (!chain->op) return chain->run(res, a, b, chain->to);
    return chain->op->unary ? chain->op->unary(res, a, stream) : chain->op->binary(res, a, b, stream);
}

/* An array_function of x, y, v, w: op(x * y, v) * w, and op(x, v) alone. */
static int run_chain(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct chain *chain = context;
    (void)count;
    int code = mlx_multiply(&outputs[0], inputs[0], inputs[1], stream);
    if (!code) code = run_operation(chain, &outputs[0], outputs[0], inputs[2]);
    if (!code) code = mlx_multiply(&outputs[0], outputs[0], inputs[3], stream);
    return code ? code : run_operation(chain, &outputs[1], inputs[0], inputs[2]);
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

/* Of y: most leave x as it is. Of w: products with them are inexact, so that a bit more in the other factor shows. */
static const double factors[][8] = {{1, 1, 3, 1, -1, 1.0 / 3, 1, 0.5}, {1.1, 0.7, 3, -1.3, 1.0 / 3, 2.7, 1, 1.9}};

/* x has every chosen value, then random ones; v any; y and w factors, and chosen values now and then. */
static struct scalar operand_value(mlx_dtype dtype, int operand, int i, uint64_t *state)
{
    if (operand == 0) return i < chosen_count(dtype) ? chosen(dtype, i) : random_value(dtype, state);
    if (operand == 2) return random_value(dtype, state);
    if (i % 9 == 8) return chosen(dtype, 7 * i + operand);
    if (is_integer(dtype) && operand == 3) return make_wrapped((uint64_t)(2 * i + 1), dtype);
    return scalar_cast(make_double(factors[operand / 2][i % 8]), dtype);
}

static struct numbers make_operand(mlx_dtype dtype, const struct shape *shape, int operand)
{
    struct numbers numbers = numbers_new(dtype, shape);
    uint64_t state = (uint64_t)(operand + 1);
    for (int i = 0; i < numbers.size; i++) put(&numbers, i, operand_value(dtype, operand, i, &state));
    return numbers;
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

static bool is_nan_element(const struct numbers *numbers, int at)
{
    struct scalar x = get(numbers, at);
    return facts[x.dtype].kind >= IS_FLOAT && isnan(x.dtype == MLX_FLOAT64 ? x.d : (double)x.f);
}

static bool same_bits(const struct numbers *got, const struct numbers *want, int i)
{
    size_t size = (size_t)facts[got->dtype].size, at = (size_t)i * size;
    if (memcmp(got->data + at, want->data + at, size) == 0) return true;
    if (got->dtype == MLX_COMPLEX64) return same_scalar(get(got, i), get(want, i));
    return is_nan_element(got, i) && is_nan_element(want, i);
}

static void expect_same(const struct numbers *got, const struct numbers *want)
{
    CHECK_EQ(got->dtype, want->dtype);
    CHECK_TRUE(same_shapes(&got->shape, &want->shape));
    for (int i = 0; i < got->size; i++) {
        struct scalar a = get(got, i), b = get(want, i);
        if (!same_bits(got, want, i))
            CHECK_FAIL("%s element %d of %d is %.17g, plain %.17g", facts[got->dtype].name, i, got->size, to_double(a),
                       to_double(b));
    }
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

/* `compiled` and plain calls on these operands. */
static void compare_ways(const struct chain *chain, mlx_closure compiled, const mlx_array *inputs)
{
    mlx_array plain[2] = {mlx_array_new(), mlx_array_new()}, results[2];
    expect_ok(run_chain(inputs, OPERANDS, plain, chain), "plain");
    apply_compiled(compiled, inputs, OPERANDS, results, 2, "compiled");
    for (int i = 0; i < 2; i++) {
        CHECK_CONTEXT("%s", i ? "the operation alone" : "op(x * y) * w");
        struct numbers want = read_array(plain[i]), got = read_array(results[i]);
        expect_same(&got, &want);
        numbers_free(&want), numbers_free(&got);
        mlx_array_free(plain[i]), mlx_array_free(results[i]);
    }
}
#define compare_ways(...) CHECK_CALL(compare_ways, __VA_ARGS__)

/* ---- one operation in one dtype -----------------------------------------------------------------------------------
 */

static void check_packed(const struct chain *chain, mlx_closure compiled, mlx_dtype dtype, int size)
{
    CHECK_CONTEXT("packed [%d]", size);
    const struct shape shape = {1, {size}};
    mlx_array inputs[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) {
        struct numbers numbers = make_operand(dtype, &shape, k);
        inputs[k] = make_array(&numbers, PACKED);
        numbers_free(&numbers);
    }
    compare_ways(chain, compiled, inputs);
    for (int k = 0; k < OPERANDS; k++) mlx_array_free(inputs[k]);
}
#define check_packed(...) CHECK_CALL(check_packed, __VA_ARGS__)

/* Operands in different layouts, one of them a row and one a number. */
static void check_strided(const struct chain *chain, mlx_closure compiled, mlx_dtype dtype, int which)
{
    static const struct shape shapes[OPERANDS] = {{2, {9, 15}}, {1, {15}}, {2, {9, 15}}, {0, {0}}};
    CHECK_CONTEXT("strided and broadcast, case %d", which);
    mlx_array inputs[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) {
        int at = (k + which) % OPERANDS;
        struct numbers numbers = make_operand(dtype, &shapes[k == 0 ? 0 : at ? at : OPERANDS - 1], k);
        inputs[k] = make_array(&numbers, (enum layout)((k + 1 + which) % LAYOUT_COUNT));
        numbers_free(&numbers);
    }
    compare_ways(chain, compiled, inputs);
    for (int k = 0; k < OPERANDS; k++) mlx_array_free(inputs[k]);
}
#define check_strided(...) CHECK_CALL(check_strided, __VA_ARGS__)

static int pairs_seen;

static bool is_left_out(void)
{
    const char *every = getenv("KILN_TEST_EVERY");
    return every && pairs_seen++ % atoi(every) != 0;
}

/* Strided operands in one case of three: each needs kernels of its own. */
static void check_chain(const struct chain *chain, mlx_dtype dtype, int which)
{
    if (is_left_out()) return;
    CHECK_CONTEXT("%s %s %s", chain->name, facts[dtype].name, chain->run ? facts[chain->to].name : "");
    struct traced_call call = {run_chain, chain, 2, 0};
    mlx_closure compiled = compile_call(&call, false);
    for (int i = 0; i < SIZES; i++) check_packed(chain, compiled, dtype, sizes[i]);
    if (which % 3 == 0) check_strided(chain, compiled, dtype, which);
    mlx_closure_free(compiled);
}
#define check_chain(...) CHECK_CALL(check_chain, __VA_ARGS__)

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_every_operation(void **state)
{
    (void)state;
    for (int i = 0; i < ELEMENTWISE_COUNT; i++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            const struct chain chain = {.op = &elementwise_rows[i], .name = elementwise_rows[i].name};
            if (is_accepted(chain.op, operand_dtype(chain.op, (mlx_dtype)dtype, (mlx_dtype)dtype)))
                check_chain(&chain, (mlx_dtype)dtype, i + dtype);
        }
}

static int cast_to(mlx_array *res, const mlx_array a, const mlx_array b, mlx_dtype to)
{
    (void)b;
    return mlx_astype(res, a, to, stream);
}

static void test_casts(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int to = 0; to < DTYPE_COUNT; to++)
            check_chain(&(struct chain){.run = cast_to, .name = "astype", .to = (mlx_dtype)to}, (mlx_dtype)dtype,
                        dtype + to);
}

/* The first operand chooses, too: zero, a number or a NaN. */
static int choose(mlx_array *res, const mlx_array a, const mlx_array b, mlx_dtype to)
{
    (void)to;
    return mlx_where(res, a, a, b, stream);
}

static void test_where(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        check_chain(&(struct chain){.run = choose, .name = "where", .to = (mlx_dtype)dtype}, (mlx_dtype)dtype, dtype);
}

/* 67 rows of ops.def and the two above: a row that no test draws from would be missed here. */
static void test_table_is_complete(void **state)
{
    (void)state;
    int rows = 0;
#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex) rows++;
#include "graph/ops.def"
    CHECK_EQ(ELEMENTWISE_COUNT + 2, rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_operation, set_up),
        cmocka_unit_test_setup(test_casts, set_up),
        cmocka_unit_test_setup(test_where, set_up),
        cmocka_unit_test(test_table_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
