/*
 * test_mlxc_numbers_layouts.c - the same numbers however they lie: sizes around every vector width, views, repeated
 * axes, ranks 0 to 10, empty arrays. Plainly and compiled, against scalar C.
 */
#include "support/arrays.h"

struct call {
    const struct operation *op;
    bool chain; /* multiply by the second input and add the first once more: a fused kernel when compiled */
};

static int call_chain(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const struct call *call = context;
    (void)input_count;
    int code = call->op->binary(outputs, inputs[0], inputs[1], stream);
    if (call->chain && !code) code = mlx_multiply(outputs, outputs[0], inputs[1], stream);
    if (call->chain && !code) code = mlx_add(outputs, outputs[0], inputs[0], stream);
    return code;
}

static struct scalar expected(const struct call *call, struct scalar a, struct scalar b)
{
    struct scalar value = call->op->exact(a, b);
    return call->chain ? exact_add(exact_multiply(value, b), a) : value;
}

static void check_call(const struct call *call, const struct numbers *inputs, const enum layout *layouts)
{
    char what[160];
    struct numbers got;
    mlx_array arrays[2] = {make_array(&inputs[0], layouts[0]), make_array(&inputs[1], layouts[1])};
    struct shape shape = broadcast(&inputs[0].shape, &inputs[1].shape);
    snprintf(what, sizeof what, "%s%s of %s, %d elements of rank %d, layouts %d and %d", call->op->name,
             call->chain ? " chain" : "", facts[inputs[0].dtype].name, shape_size(&shape), shape.ndim, layouts[0],
             layouts[1]);
    run_both_ways(call_chain, call, arrays, 2, &got, 1, 2, what);
    struct numbers want = numbers_new(inputs[0].dtype, &shape);
    for (int i = 0; i < want.size; i++) {
        int index[MAX_RANK];
        unravel(i, &shape, index);
        put(&want, i,
            expected(call, get(&inputs[0], ravel(index, shape.ndim, &inputs[0].shape)),
                     get(&inputs[1], ravel(index, shape.ndim, &inputs[1].shape))));
    }
    expect_same_values(&got, &want, what);
    mlx_array_free(arrays[0]), mlx_array_free(arrays[1]);
    numbers_free(&got), numbers_free(&want);
}

static const struct operation *find_operation(const char *name)
{
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (strcmp(operations[i].name, name) == 0) return &operations[i];
    CHECK_FAIL("no operation %s", name);
    return NULL;
}

static void check_shapes(mlx_dtype dtype, const struct shape *a, const struct shape *b, bool chain,
                         const enum layout *layouts)
{
    uint64_t seed = 1234567;
    struct call call = {find_operation("subtract"), chain};
    struct numbers inputs[2] = {numbers_filled(dtype, a, random_value, &seed),
                                numbers_filled(dtype, b, random_value, &seed)};
    check_call(&call, inputs, layouts);
    numbers_free(&inputs[0]), numbers_free(&inputs[1]);
}
#define check_shapes(...) CHECK_CALL(check_shapes, __VA_ARGS__)

/* 1 to 67 elements: every remainder of every vector width; one element of the second input, or as many. */
static void test_sizes(void **state)
{
    static const enum layout layouts[][2] = {{PACKED, PACKED}, {REVERSED, PACKED}, {SPREAD, REVERSED}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int size = 1; size <= 67; size++)
            for (size_t l = 0; l < 3; l++) {
                struct shape shape = {1, {size}}, one = {1, {1}};
                check_shapes(dtype, &shape, &shape, size % 2, layouts[l]);
                if (size % 5 == 0)
                    check_shapes(dtype, &shape, &one, true, layouts[l]),
                        check_shapes(dtype, &one, &shape, true, layouts[l]);
            }
}

static void test_every_pair_of_layouts(void **state)
{
    static const struct shape shapes[] = {{2, {7, 5}}, {3, {3, 1, 19}}, {4, {2, 3, 4, 5}}};
    static const mlx_dtype dtypes[] = {MLX_BOOL, MLX_UINT8, MLX_INT64, MLX_FLOAT16, MLX_FLOAT32, MLX_COMPLEX64};
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t s = 0; s < 3; s++)
            for (int a = 0; a < LAYOUT_COUNT; a++)
                for (int b = 0; b < LAYOUT_COUNT; b++)
                    check_shapes(dtypes[d], &shapes[s], &shapes[s], s % 2, (const enum layout[]){a, b});
}

/* Axes of size one and missing axes are repeated. */
static void test_broadcasts(void **state)
{
    static const struct shape pairs[][2] = {
        {{0, {0}}, {0, {0}}},
        {{0, {0}}, {2, {3, 17}}},
        {{1, {17}}, {2, {3, 17}}},
        {{2, {3, 1}}, {2, {1, 17}}},
        {{2, {17, 1}}, {2, {17, 33}}},
        {{3, {2, 1, 3}}, {3, {1, 4, 1}}},
        {{3, {1, 1, 1}}, {1, {5}}},
        {{4, {2, 1, 3, 1}}, {3, {5, 1, 7}}},
        {{10, {2, 1, 2, 1, 2, 1, 2, 1, 2, 3}}, {10, {1, 2, 1, 2, 1, 2, 1, 2, 1, 3}}},
        {{10, {2, 1, 2, 1, 2, 2, 1, 2, 1, 5}}, {10, {2, 1, 2, 1, 2, 2, 1, 2, 1, 5}}},
        {{10, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, {0, {0}}},
        {{2, {0, 3}}, {2, {1, 3}}},
        {{2, {3, 0}}, {0, {0}}},
        {{1, {0}}, {1, {0}}},
        {{3, {2, 0, 5}}, {3, {1, 1, 5}}},
    };
    static const mlx_dtype dtypes[] = {MLX_BOOL, MLX_INT8, MLX_UINT16, MLX_FLOAT32, MLX_BFLOAT16, MLX_FLOAT64};
    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int l = 0; l < LAYOUT_COUNT; l++) {
                check_shapes(dtypes[d], &pairs[p][0], &pairs[p][1], l % 2, (const enum layout[]){l, PACKED});
                check_shapes(dtypes[d], &pairs[p][1], &pairs[p][0], l % 2, (const enum layout[]){PACKED, l});
            }
}

/* A view whose stride is 0 as an input of its own, and a result that is one. */
static int call_repeated(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const int dims[3] = {4, 3, 5};
    mlx_array wide = mlx_array_new();
    (void)input_count, (void)context;
    int code = mlx_broadcast_to(&outputs[0], inputs[0], dims, 3, stream);
    if (!code) code = mlx_transpose(&wide, outputs[0], stream);
    if (!code) code = mlx_square(&outputs[1], wide, stream);
    mlx_array_free(wide);
    return code;
}

static void test_repeated_views(void **state)
{
    struct shape column = {2, {3, 1}}, full = {3, {4, 3, 5}}, turned = {3, {5, 3, 4}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        uint64_t seed = 8;
        struct numbers input = numbers_filled(dtype, &column, random_value, &seed), got[2];
        struct numbers want[2] = {numbers_new(dtype, &full), numbers_new(dtype, &turned)};
        mlx_array array = make_array(&input, REVERSED);
        run_both_ways(call_repeated, NULL, &array, 1, got, 2, 2, "a repeated view");
        for (int i = 0; i < 60; i++) put(&want[0], i, get(&input, i / 5 % 3));
        for (int i = 0; i < 60; i++) put(&want[1], i, exact_square(get(&input, i / 4 % 3), get(&input, 0)));
        for (int i = 0; i < 2; i++) {
            expect_same_values(&got[i], &want[i], facts[dtype].name);
            numbers_free(&got[i]), numbers_free(&want[i]);
        }
        mlx_array_free(array);
        numbers_free(&input);
    }
}

/* Large enough for several threads, and once for streaming stores. */
static void test_large(void **state)
{
    static const enum layout layouts[][2] = {{PACKED, PACKED}, {TRANSPOSED, PACKED}, {SPREAD, REVERSED}};
    struct shape shape = {2, {701, 409}}, row = {2, {1, 409}};
    (void)state;
    for (size_t l = 0; l < 3; l++) {
        check_shapes(MLX_FLOAT32, &shape, &shape, true, layouts[l]);
        check_shapes(MLX_BFLOAT16, &shape, &row, true, layouts[l]);
        check_shapes(MLX_INT8, &row, &shape, false, layouts[l]);
    }
    struct shape streamed = {1, {2100001}};
    check_shapes(MLX_FLOAT64, &streamed, &streamed, true, layouts[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sizes, set_up),      cmocka_unit_test_setup(test_every_pair_of_layouts, set_up),
        cmocka_unit_test_setup(test_broadcasts, set_up), cmocka_unit_test_setup(test_repeated_views, set_up),
        cmocka_unit_test_setup(test_large, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
