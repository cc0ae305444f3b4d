/*
 * test_mlxc_index.c - reading and writing through indices and slices, every dtype and layout, against scalar C.
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

static void check(const struct numbers *want, const char *what)
{
    struct numbers got = read_array(res);
    expect_same_values(&got, want, what);
    numbers_free(&got);
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

static struct numbers index_numbers(mlx_dtype dtype, const struct shape *shape, int below, bool negative,
                                    uint64_t *random)
{
    struct numbers out = numbers_new(dtype, shape);
    for (int i = 0; i < out.size; i++) {
        int value = random_below(random, below);
        if (negative && one_in(random, 2)) value -= below;
        put(&out, i, make_wrapped((uint64_t)(int64_t)value, dtype));
    }
    return out;
}

static int index_at(const struct numbers *indices, int at, int size)
{
    struct scalar x = get(indices, at);
    int value = facts[indices->dtype].kind == IS_SIGNED ? (int)x.i : (int)x.u;
    return value < 0 ? value + size : value;
}

static const mlx_dtype index_dtypes[] = {MLX_INT32, MLX_UINT32, MLX_INT64, MLX_UINT8,
                                         MLX_INT8,  MLX_UINT64, MLX_INT16, MLX_UINT16};

enum { INDEX_DTYPES = sizeof index_dtypes / sizeof *index_dtypes };

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

static struct numbers take_reference(const struct numbers *in, const struct numbers *indices, int axis)
{
    struct shape shape = {0, {0}};
    int outer = 1, inner = 1, n = in->shape.dims[axis];
    for (int i = 0; i < in->shape.ndim; i++) {
        if (i < axis) outer *= in->shape.dims[i];
        if (i > axis) inner *= in->shape.dims[i];
        if (i != axis) shape.dims[shape.ndim++] = in->shape.dims[i];
        for (int k = 0; i == axis && k < indices->shape.ndim; k++) shape.dims[shape.ndim++] = indices->shape.dims[k];
    }
    struct numbers out = numbers_new(in->dtype, &shape);
    for (int o = 0; o < outer; o++)
        for (int k = 0; k < indices->size; k++)
            for (int i = 0; i < inner; i++)
                put(&out, (o * indices->size + k) * inner + i, get(in, (o * n + index_at(indices, k, n)) * inner + i));
    return out;
}

struct along {
    int axis;
};

static int call_take(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count;
    return mlx_take_axis(&outputs[0], inputs[0], inputs[1], ((const struct along *)context)->axis, stream);
}

static void takes_along_every_axis(void **state)
{
    uint64_t random = 5;
    struct shape shape = {3, {4, 7, 5}}, places[] = {{0, {0}}, {1, {6}}, {2, {2, 3}}, {1, {0}}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int layout = 0; layout < LAYOUT_COUNT; layout++)
            for (int axis = 0; axis < 3; axis++) {
                mlx_dtype index_dtype = index_dtypes[(dtype + layout + axis) % INDEX_DTYPES];
                struct numbers in = numbers_filled(dtype, &shape, random_value, &random);
                struct numbers at = index_numbers(index_dtype, &places[(layout + axis) % 4], shape.dims[axis],
                                                  facts[index_dtype].kind == IS_SIGNED, &random);
                struct numbers want = take_reference(&in, &at, axis), got;
                mlx_array inputs[2] = {make_array(&in, layout), make_array(&at, (layout + 1) % LAYOUT_COUNT)};
                struct along along = {axis};
                run_both_ways(call_take, &along, inputs, 2, &got, 1, 1, "take");
                expect_same_bits(&got, &want, "take");
                mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
                numbers_free(&in), numbers_free(&at), numbers_free(&want), numbers_free(&got);
            }
}

/* Without an axis from the flattened array; along an axis an index for each element, broadcast outside of it. */
static void takes_flat_and_along(void **state)
{
    uint64_t random = 6;
    struct shape shape = {2, {6, 9}}, few = {2, {1, 4}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct numbers in = numbers_filled(dtype, &shape, random_value, &random), flat = in;
        struct numbers at = index_numbers(MLX_INT32, &few, 54, true, &random);
        flat.shape = (struct shape){1, {54}};
        mlx_array a = make_array(&in, dtype % LAYOUT_COUNT), b = packed_array(&at);
        expect_ok(mlx_take(&res, a, b, stream), "take");
        struct numbers want = take_reference(&flat, &at, 0);
        check(&want, "take of the flat array");
        numbers_free(&want), numbers_free(&at), mlx_array_free(b);

        at = index_numbers(MLX_INT64, &few, 9, true, &random);
        b = packed_array(&at);
        expect_ok(mlx_take_along_axis(&res, a, b, -1, stream), "take_along_axis");
        want = numbers_new(dtype, &(struct shape){2, {6, 4}});
        for (int i = 0; i < 24; i++) put(&want, i, get(&in, i / 4 * 9 + index_at(&at, i % 4, 9)));
        check(&want, "take_along_axis");
        mlx_array_free(a), mlx_array_free(b);
        numbers_free(&want), numbers_free(&at), numbers_free(&in);
    }
}

/* Slices of 2 x 1 x 3 at two places given by two index arrays. */
static void gathers_slices(void **state)
{
    uint64_t random = 8;
    struct shape shape = {3, {5, 6, 3}}, places = {1, {4}};
    int axes[2] = {0, 1}, sizes[3] = {2, 1, 3};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct numbers in = numbers_filled(dtype, &shape, random_value, &random);
        struct numbers rows = index_numbers(MLX_UINT32, &places, 4, false, &random);
        struct numbers columns = index_numbers(MLX_INT32, &places, 6, true, &random);
        mlx_array a = make_array(&in, dtype % LAYOUT_COUNT), b[2] = {packed_array(&rows), packed_array(&columns)};
        mlx_vector_array list = mlx_vector_array_new_data(b, 2);
        expect_ok(mlx_gather(&res, a, list, axes, 2, sizes, 3, stream), "gather");
        struct numbers want = numbers_new(dtype, &(struct shape){4, {4, 2, 1, 3}});
        for (int i = 0; i < want.size; i++) {
            int p = i / 6, row = index_at(&rows, p, 5) + i % 6 / 3, column = index_at(&columns, p, 6);
            put(&want, i, get(&in, (row * 6 + column) * 3 + i % 3));
        }
        check(&want, "gather");
        mlx_array_free(a), mlx_array_free(b[0]), mlx_array_free(b[1]), mlx_vector_array_free(list);
        numbers_free(&in), numbers_free(&rows), numbers_free(&columns), numbers_free(&want);
    }
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

typedef int scatter_function(mlx_array *out, const mlx_array a, const mlx_vector_array indices, const mlx_array updates,
                             const int *axes, size_t axes_num, const mlx_stream s);
typedef int slice_function(mlx_array *out, const mlx_array src, const mlx_array update, const int *start,
                           size_t start_num, const int *stop, size_t stop_num, const int *strides, size_t strides_num,
                           const mlx_stream s);

static struct scalar second(struct scalar a, struct scalar b)
{
    (void)a;
    return b;
}

static const struct mode {
    scatter_function *scatter;
    slice_function *slice;
    exact_function *merge;
} modes[] = {
    {mlx_scatter, mlx_slice_update, second},
    {mlx_scatter_add, mlx_slice_update_add, exact_add},
    {mlx_scatter_prod, mlx_slice_update_prod, exact_multiply},
    {mlx_scatter_max, mlx_slice_update_max, exact_maximum},
    {mlx_scatter_min, mlx_slice_update_min, exact_minimum},
};

enum { MODES = sizeof modes / sizeof *modes };

static struct numbers copy_numbers(const struct numbers *in)
{
    struct numbers out = numbers_new(in->dtype, &in->shape);
    memcpy(out.data, in->data, (size_t)in->size * (size_t)facts[in->dtype].size);
    return out;
}

/* Rows of 1 x 4, some of them twice: in order. */
static void scatters_in_order(void **state)
{
    uint64_t random = 10;
    struct shape shape = {2, {5, 4}}, places = {1, {7}}, slices = {3, {7, 1, 4}};
    int axis = 0;
    (void)state;
    for (int m = 0; m < MODES; m++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            struct numbers in = numbers_filled(dtype, &shape, small_value, &random);
            struct numbers at = index_numbers(MLX_INT32, &places, 5, true, &random);
            struct numbers updates = numbers_filled(dtype, &slices, random_value, &random), want = copy_numbers(&in);
            mlx_array a = make_array(&in, m % LAYOUT_COUNT), b = packed_array(&at),
                      c = make_array(&updates, dtype % LAYOUT_COUNT);
            mlx_vector_array list = mlx_vector_array_new_value(b);
            expect_ok(modes[m].scatter(&res, a, list, c, &axis, 1, stream), "scatter");
            for (int i = 0; i < updates.size; i++) {
                int to = index_at(&at, i / 4, 5) * 4 + i % 4;
                put(&want, to, modes[m].merge(get(&want, to), get(&updates, i)));
            }
            check(&want, "scatter");
            mlx_array_free(a), mlx_array_free(b), mlx_array_free(c), mlx_vector_array_free(list);
            numbers_free(&in), numbers_free(&at), numbers_free(&updates), numbers_free(&want);
        }
}

static void puts_along_every_axis(void **state)
{
    uint64_t random = 12;
    struct shape shape = {3, {3, 4, 5}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int axis = 0; axis < 3; axis++)
            for (int add = 0; add < 2; add++) {
                struct shape few = shape;
                few.dims[axis] = 2;
                struct numbers in = numbers_filled(dtype, &shape, small_value, &random), want = copy_numbers(&in);
                struct numbers at = index_numbers(MLX_INT32, &few, shape.dims[axis], true, &random);
                struct numbers values = numbers_filled(dtype, &few, small_value, &random);
                mlx_array a = make_array(&in, axis), b = make_array(&at, TRANSPOSED), c = make_array(&values, SPREAD);
                expect_ok((add ? mlx_scatter_add_axis : mlx_put_along_axis)(&res, a, b, c, axis - 3, stream), "put");
                for (int i = 0; i < values.size; i++) {
                    int index[MAX_RANK];
                    unravel(i, &few, index);
                    index[axis] = index_at(&at, i, shape.dims[axis]);
                    int to = ravel(index, 3, &shape);
                    put(&want, to, add ? exact_add(get(&want, to), get(&values, i)) : get(&values, i));
                }
                check(&want, "put_along_axis");
                mlx_array_free(a), mlx_array_free(b), mlx_array_free(c);
                numbers_free(&in), numbers_free(&at), numbers_free(&values), numbers_free(&want);
            }
}

static int call_slice_update(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    return mlx_slice_update(&outputs[0], inputs[0], inputs[1], (int[]){1, -1}, 2, (int[]){6, -7}, 2, (int[]){2, -3}, 2,
                            stream);
}

/* Rows 1, 3, 5 and columns 5, 2 of 7 x 6; the update is a row that is repeated, of another dtype now and then. */
static void updates_slices(void **state)
{
    uint64_t random = 14;
    struct shape shape = {2, {7, 6}}, few = {1, {2}};
    (void)state;
    for (int m = 0; m < MODES; m++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
                struct numbers in = numbers_filled(dtype, &shape, small_value, &random), want = copy_numbers(&in), got;
                struct numbers update =
                    numbers_filled(layout ? (mlx_dtype)dtype : MLX_UINT8, &few, small_value, &random);
                mlx_array inputs[2] = {make_array(&in, layout), packed_array(&update)};
                for (int i = 0; i < 6; i++) {
                    int to = (1 + i / 2 * 2) * 6 + (i % 2 ? 2 : 5);
                    put(&want, to, modes[m].merge(get(&want, to), scalar_cast(get(&update, i % 2), dtype)));
                }
                expect_ok(modes[m].slice(&res, inputs[0], inputs[1], (int[]){1, -1}, 2, (int[]){6, -7}, 2,
                                         (int[]){2, -3}, 2, stream),
                          "slice_update");
                check(&want, "slice_update");
                if (m == 0) {
                    run_both_ways(call_slice_update, NULL, inputs, 2, &got, 1, 2, "slice_update");
                    expect_same_values(&got, &want, "slice_update");
                    numbers_free(&got);
                }
                mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
                numbers_free(&in), numbers_free(&update), numbers_free(&want);
            }
}

/* The bytes stay where they are while nobody else can see them, and are copied when somebody can. */
static void updates_in_place_when_nobody_looks(void **state)
{
    static float row[1 << 16];
    int shape[2] = {16, 1 << 12}, one[2] = {1, 1 << 12}, start[2] = {3, 0}, stop[2] = {4, 1 << 12}, step[2] = {1, 1};
    mlx_array cache = mlx_array_new(), update = mlx_array_new_data(row, one, 2, MLX_FLOAT32), other = mlx_array_new();
    (void)state;
    expect_ok(mlx_zeros(&cache, shape, 2, MLX_FLOAT32, stream), "zeros");
    expect_ok(mlx_array_eval(cache), "eval");
    const float *data = mlx_array_data_float32(cache);
    for (int i = 0; i < 3; i++) {
        expect_ok(mlx_slice_update(&cache, cache, update, start, 2, stop, 2, step, 2, stream), "slice_update");
        expect_ok(mlx_array_eval(cache), "eval");
        CHECK_EQ(mlx_array_data_float32(cache), data);
    }
    row[0] = 7;
    mlx_array seven = mlx_array_new_data(row, one, 2, MLX_FLOAT32);
    mlx_array_set(&other, cache);
    expect_ok(mlx_slice_update(&cache, cache, seven, start, 2, stop, 2, step, 2, stream), "slice_update");
    expect_ok(mlx_array_eval(cache), "eval");
    CHECK_NE(mlx_array_data_float32(cache), data);
    CHECK_TRUE(mlx_array_data_float32(other)[3 << 12] == 0 && mlx_array_data_float32(cache)[3 << 12] == 7);
    mlx_array_free(cache), mlx_array_free(update), mlx_array_free(other), mlx_array_free(seven);
}

/* ---- what must not work ---------------------------------------------------------------------------------------------
 */

/* The operation is accepted; its evaluation names the value. */
static void expect_bad_value(int code, const char *part)
{
    CHECK_EQ(code, 0);
    CHECK_EQ(mlx_array_eval(res), 1);
    if (error_count != 1 || !strstr(error_text, part)) CHECK_FAIL("expected \"%s\", got \"%s\"", part, error_text);
    error_count = 0;
}
#define expect_bad_value(...) CHECK_CALL(expect_bad_value, __VA_ARGS__)

static void values_out_of_range(void **state)
{
    struct shape shape = {2, {3, 4}};
    struct numbers in = numbers_new(MLX_FLOAT32, &shape);
    int bad[] = {0, 3}, low[] = {-4, 0}, count = 2, two[2] = {2, 1}, axis = 0, ndim = 2;
    uint64_t huge = UINT64_MAX;
    float update[8] = {0};
    mlx_array a = packed_array(&in), high = mlx_array_new_data(bad, &count, 1, MLX_INT32),
              below = mlx_array_new_data(low, &count, 1, MLX_INT32),
              square = mlx_array_new_data(bad, two, ndim, MLX_INT32),
              most = mlx_array_new_data(&huge, &count, 0, MLX_UINT64),
              updates = mlx_array_new_data(update, (int[]){2, 1, 4}, 3, MLX_FLOAT32);
    (void)state;
    expect_bad_value(mlx_take_axis(&res, a, high, 0, stream), "Index 3 is out of range");
    expect_bad_value(mlx_take_axis(&res, a, below, 0, stream), "Index -4 is out of range");
    expect_bad_value(mlx_take_axis(&res, a, most, 0, stream), "Index 18446744073709551615 is out of range");
    expect_bad_value(mlx_gather_single(&res, a, high, 0, (int[]){1, 4}, 2, stream), "[gather] Index 3");
    expect_bad_value(mlx_gather_single(&res, a, high, 1, (int[]){3, 2}, 2, stream), "[gather] Index 3");
    expect_bad_value(mlx_take_along_axis(&res, a, square, 0, stream), "[take_along_axis] Index 3");
    expect_bad_value(mlx_scatter_single(&res, a, high, updates, axis, stream), "[scatter] Index 3");
    mlx_array zero = mlx_array_new_float(0);
    expect_bad_value(mlx_put_along_axis(&res, a, square, zero, 0, stream), "[put_along_axis] Index 3");
    mlx_array_free(a), mlx_array_free(high), mlx_array_free(below), mlx_array_free(square), mlx_array_free(most);
    mlx_array_free(updates), mlx_array_free(zero);
    numbers_free(&in);
}

static void shapes_and_dtypes_that_do_not_fit(void **state)
{
    struct shape shape = {2, {3, 4}};
    struct numbers in = numbers_new(MLX_FLOAT32, &shape);
    int zero[3] = {0}, three[1] = {3};
    mlx_array a = packed_array(&in), at = mlx_array_new_data(zero, three, 1, MLX_INT32), empty = {0};
    mlx_array truth = mlx_array_new_bool(true);
    (void)state;
    expect_refusal(mlx_take_axis(&res, a, at, 2, stream), res, "an axis too large");
    expect_refusal(mlx_take_axis(&res, a, a, 0, stream), res, "indices that are floats");
    expect_refusal(mlx_take(&res, a, truth, stream), res, "indices that are bool");
    expect_refusal(mlx_take(&res, a, empty, stream), res, "no indices");
    expect_refusal(mlx_take_along_axis(&res, a, at, 0, stream), res, "another rank");
    expect_refusal(mlx_gather_single(&res, a, at, 0, (int[]){4, 1}, 2, stream), res, "a slice too large");
    expect_refusal(mlx_gather_single(&res, a, at, 0, (int[]){1}, 1, stream), res, "too few sizes");
    expect_refusal(mlx_scatter_single(&res, a, at, a, 0, stream), res, "updates of the wrong rank");
    expect_refusal(mlx_slice_update(&res, a, at, zero, 2, three, 1, zero, 2, stream), res, "too few stops");
    expect_refusal(mlx_slice_update(&res, a, at, zero, 2, (int[]){3, 4}, 2, zero, 2, stream), res, "a stride of 0");
    expect_refusal(mlx_slice_update(&res, a, at, zero, 2, (int[]){3, 4}, 2, (int[]){1, 1}, 2, stream), res,
                   "an update that can't be broadcast");
    mlx_array_free(a), mlx_array_free(at), mlx_array_free(truth);
    numbers_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(takes_along_every_axis, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(takes_flat_and_along, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(gathers_slices, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(scatters_in_order, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(puts_along_every_axis, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(updates_slices, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(updates_in_place_when_nobody_looks, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(values_out_of_range, set_up_result, drop_result),
        cmocka_unit_test_setup_teardown(shapes_and_dtypes_that_do_not_fit, set_up_result, drop_result),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
