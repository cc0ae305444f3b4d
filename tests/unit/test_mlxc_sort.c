/*
 * test_mlxc_sort.c - sorting, places of extremes and running results, every dtype, axis and layout, against scalar C.
 */
#include "support/arrays.h"

typedef int axis_function(mlx_array *out, const mlx_array a, int axis, const mlx_stream s);

static int order_of(struct scalar a, struct scalar b)
{
    if (has_nan(a) || has_nan(b)) return (int)has_nan(a) - (int)has_nan(b);
    return compare(a, b);
}

/* Positions in a packed array of the elements of a row along an axis. */
struct row {
    int first, step, n;
};

static int row_count(const struct shape *shape, int axis)
{
    return shape->dims[axis] ? shape_size(shape) / shape->dims[axis] : 0;
}

static struct row row_at(const struct shape *shape, int axis, int number)
{
    int inner = 1;
    for (int i = axis + 1; i < shape->ndim; i++) inner *= shape->dims[i];
    return (struct row){number / inner * inner * shape->dims[axis] + number % inner, inner, shape->dims[axis]};
}

static void sorted_places(const struct numbers *in, struct row row, int *places)
{
    for (int i = 0; i < row.n; i++) {
        int to = i;
        for (; to > 0; to--) {
            struct scalar before = get(in, row.first + places[to - 1] * row.step),
                          mine = get(in, row.first + i * row.step);
            if (order_of(before, mine) <= 0) break;
            places[to] = places[to - 1];
        }
        places[to] = i;
    }
}

static const struct shape shapes[] = {{1, {1}}, {1, {300}}, {2, {40, 7}}, {2, {3, 120}}, {3, {4, 5, 6}}};

enum { SHAPES = sizeof shapes / sizeof *shapes, LONGEST = 300 };

struct call {
    axis_function *function;
    int axis;
};

static int call_axis(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct call *call = context;
    (void)count;
    return call->function(&outputs[0], inputs[0], call->axis, stream);
}

static void check_sorted(const struct numbers *in, int axis, enum layout layout)
{
    int places[LONGEST];
    mlx_array a = make_array(in, layout);
    struct numbers values = numbers_new(in->dtype, &in->shape), at = numbers_new(MLX_UINT32, &in->shape), got;
    for (int r = 0; r < row_count(&in->shape, axis); r++) {
        struct row row = row_at(&in->shape, axis, r);
        sorted_places(in, row, places);
        for (int i = 0; i < row.n; i++) {
            put(&values, row.first + i * row.step, get(in, row.first + places[i] * row.step));
            put(&at, row.first + i * row.step, make_wrapped((uint64_t)places[i], MLX_UINT32));
        }
    }
    run_both_ways(call_axis, &(struct call){mlx_sort_axis, axis}, &a, 1, &got, 1, 1, "sort");
    expect_same_bits(&got, &values, "sort");
    numbers_free(&got);
    run_both_ways(call_axis, &(struct call){mlx_argsort_axis, axis - in->shape.ndim}, &a, 1, &got, 1, 1, "argsort");
    expect_same_bits(&got, &at, "argsort");
    numbers_free(&got), numbers_free(&values), numbers_free(&at);
    mlx_array_free(a);
}

static void sorts_every_dtype(void **state)
{
    uint64_t random = 31;
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int s = 0; s < SHAPES; s++) {
            struct numbers in = numbers_filled(dtype, &shapes[s], s % 2 ? random_value : small_value, &random);
            for (int axis = 0; axis < shapes[s].ndim; axis++)
                check_sorted(&in, axis, (s + axis + dtype) % LAYOUT_COUNT);
            numbers_free(&in);
        }
}

static void partitions_and_the_largest(void **state)
{
    float values[8] = {3, NAN, -1, 7, 0, 7, -INFINITY, 2};
    int shape[2] = {2, 4}, axis = 1;
    mlx_array a = mlx_array_new_data(values, shape, 2, MLX_FLOAT32), res = mlx_array_new();
    (void)state;
    expect_ok(mlx_argpartition(&res, a, 3, stream), "argpartition");
    struct numbers got = read_array(res);
    for (int i = 0; i < 8; i++) /* the fourth smallest is 2, at place 7 */
        CHECK_TRUE(i == 3 ? get(&got, i).u == 7 : (i < 3) == (values[get(&got, i).u] < 2));
    numbers_free(&got);
    expect_ok(mlx_topk_axis(&res, a, 2, axis, stream), "topk");
    got = read_array(res);
    CHECK_TRUE(got.shape.ndim == 2 && got.shape.dims[1] == 2);
    CHECK_TRUE(get(&got, 0).f == 7 && has_nan(get(&got, 1)) && get(&got, 2).f == 2 && get(&got, 3).f == 7);
    numbers_free(&got), mlx_array_free(res);
    res = mlx_array_new();
    expect_refusal(mlx_partition_axis(&res, a, 4, 1, stream), res, "a kth too large");
    expect_refusal(mlx_argpartition_axis(&res, a, -5, 1, stream), res, "a kth too small");
    expect_refusal(mlx_topk(&res, a, 9, stream), res, "a k too large");
    expect_refusal(mlx_sort_axis(&res, a, 2, stream), res, "an axis too large");
    mlx_array_free(a);
}

/* ---- places of extremes ---------------------------------------------------------------------------------------------
 */

static void finds_extremes(void **state)
{
    uint64_t random = 33;
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int s = 0; s < SHAPES; s++)
            for (int axis = 0; axis < shapes[s].ndim; axis++)
                for (int largest = 0; largest < 2; largest++) {
                    struct numbers in = numbers_filled(dtype, &shapes[s], random_value, &random), got;
                    mlx_array a = make_array(&in, (s + axis) % LAYOUT_COUNT), res = mlx_array_new();
                    expect_ok((largest ? mlx_argmax_axis : mlx_argmin_axis)(&res, a, axis, true, stream), "argmax");
                    got = read_array(res);
                    CHECK_EQ(got.dtype, MLX_UINT32);
                    for (int r = 0; r < got.size; r++) {
                        struct row row = row_at(&in.shape, axis, r);
                        int best = -1;
                        for (int i = 0; i < row.n; i++) {
                            struct scalar x = get(&in, row.first + i * row.step);
                            if (has_nan(x)) {
                                best = i; /* the first NaN is largest and smallest */
                                break;
                            }
                            int order = best < 0 ? 1 : compare(x, get(&in, row.first + best * row.step));
                            if (best < 0 || order == (largest ? 1 : -1)) best = i;
                        }
                        CHECK_EQ(get(&got, r).u, best);
                    }
                    mlx_array_free(a), mlx_array_free(res);
                    numbers_free(&in), numbers_free(&got);
                }
}

/* In the first row, or column, there are a NaN at `place` and one at the end. */
static void check_first_nan(mlx_dtype dtype, int length, int place, int axis, bool largest)
{
    struct shape shape = {2, {axis ? 2 : length, axis ? length : 2}};
    struct numbers in = numbers_new(dtype, &shape);
    int step = axis ? 1 : 2;
    for (int i = 0; i < in.size; i++) put(&in, i, scalar_cast(make_double(i % 7 - 3), dtype));
    put(&in, place * step, scalar_cast(make_double(NAN), dtype));
    put(&in, (length - 1) * step, scalar_cast(make_double(NAN), dtype));
    mlx_array a = make_array(&in, PACKED), res = mlx_array_new();
    expect_ok((largest ? mlx_argmax_axis : mlx_argmin_axis)(&res, a, axis, false, stream), "argmax");
    struct numbers got = read_array(res);
    if ((int)get(&got, 0).u != place)
        CHECK_FAIL("%s of %s along axis %d, %d elements, NaN at %d: %d", largest ? "argmax" : "argmin",
                   facts[dtype].name, axis, length, place, (int)get(&got, 0).u);
    mlx_array_free(a), mlx_array_free(res);
    numbers_free(&in), numbers_free(&got);
}

/* The first NaN is the largest and the smallest, as max and min give it. */
static void finds_the_first_nan(void **state)
{
    (void)state;
    static const mlx_dtype floats[] = {MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32, MLX_FLOAT64, MLX_COMPLEX64};
    static const int lengths[] = {3, 40, 600, 5000}, places[] = {0, 1, 2, 37, 511, 512, 4097};
    for (size_t d = 0; d < sizeof floats / sizeof *floats; d++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (size_t k = 0; k < sizeof places / sizeof *places && places[k] < lengths[l]; k++)
                for (int way = 0; way < 4; way++) check_first_nan(floats[d], lengths[l], places[k], way / 2, way % 2);
}

/* ---- running results ------------------------------------------------------------------------------------------------
 */

typedef int running_function(mlx_array *out, const mlx_array a, int axis, bool reverse, bool inclusive,
                             const mlx_stream s);

static const struct running {
    running_function *function;
    exact_function *step;
    double start;
} runnings[] = {
    {mlx_cumsum, exact_add, 0},
    {mlx_cumprod, exact_multiply, 1},
    {mlx_cummax, exact_maximum, -INFINITY},
    {mlx_cummin, exact_minimum, INFINITY},
};

static struct scalar start_of(double start, mlx_dtype dtype)
{
    if (isfinite(start)) return scalar_cast(make_bool(start == 1), dtype);
    if (dtype == MLX_BOOL) return make_bool(start > 0);
    if (facts[dtype].kind == IS_UNSIGNED) return make_wrapped(start > 0 ? UINT64_MAX : 0, dtype);
    uint64_t top = UINT64_C(1) << (8 * facts[dtype].size - 1);
    if (facts[dtype].kind == IS_SIGNED) return make_wrapped(start > 0 ? top - 1 : top, dtype);
    if (dtype == MLX_FLOAT64) return make_double(start);
    struct scalar x = make_float((float)start, dtype);
    x.imaginary = x.f;
    return x;
}

static void check_running(const struct running *running, const struct numbers *in, int axis, bool reverse,
                          bool inclusive)
{
    mlx_dtype dtype = running->function == mlx_cumsum && in->dtype == MLX_BOOL ? MLX_INT32 : in->dtype;
    mlx_dtype wide = dtype == MLX_FLOAT16 || dtype == MLX_BFLOAT16 ? MLX_FLOAT32 : dtype;
    struct numbers want = numbers_new(dtype, &in->shape), got;
    mlx_array a = make_array(in, axis % LAYOUT_COUNT), res = mlx_array_new();
    for (int r = 0; r < row_count(&in->shape, axis); r++) {
        struct row row = row_at(&in->shape, axis, r);
        struct scalar sum = start_of(running->start, wide);
        for (int i = 0; i < row.n; i++) {
            int at = row.first + (reverse ? row.n - 1 - i : i) * row.step;
            struct scalar before = sum, x = scalar_cast(get(in, at), wide);
            sum = i == 0 && inclusive ? x : running->step(sum, x);
            put(&want, at, scalar_cast(inclusive ? sum : before, dtype));
        }
    }
    expect_ok(running->function(&res, a, axis, reverse, inclusive, stream), "a running result");
    got = read_array(res);
    expect_same_values(&got, &want, "a running result");
    mlx_array_free(a), mlx_array_free(res);
    numbers_free(&got), numbers_free(&want);
}

static void running_results(void **state)
{
    uint64_t random = 35;
    (void)state;
    for (size_t f = 0; f < sizeof runnings / sizeof *runnings; f++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            for (int s = 0; s < SHAPES; s++)
                for (int axis = 0; axis < shapes[s].ndim; axis++)
                    for (int how = 0; how < 4; how++) {
                        struct numbers in =
                            numbers_filled(dtype, &shapes[s], f == 1 ? small_value : random_value, &random);
                        check_running(&runnings[f], &in, axis, how & 1, how & 2);
                        numbers_free(&in);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sorts_every_dtype, set_up), cmocka_unit_test_setup(partitions_and_the_largest, set_up),
        cmocka_unit_test_setup(finds_extremes, set_up),    cmocka_unit_test_setup(finds_the_first_nan, set_up),
        cmocka_unit_test_setup(running_results, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
