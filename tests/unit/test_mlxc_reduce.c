/*
 * test_mlxc_reduce.c - reductions of every dtype, over every axis, in every layout, against scalar C.
 *
 * The order is part of the contract: chunks of 1024, in each of them 16 lanes, element i in lane i mod 16, combined in
 * pairs; then the totals of the chunks in the same way. So results are compared exactly, and layouts, compiled
 * functions and batches can't differ from each other either.
 */
#include "support/arrays.h"

typedef int one_axis(mlx_array *res, const mlx_array a, int axis, bool keepdims, const mlx_stream s);
typedef int all_axes(mlx_array *res, const mlx_array a, bool keepdims, const mlx_stream s);
typedef int some_axes(mlx_array *res, const mlx_array a, const int *axes, size_t count, bool keepdims,
                      const mlx_stream s);

enum start { ZERO, ONE, LOWEST, HIGHEST };
enum result { SUMMED, AS_INPUT, TRUTH };

static const struct reduction {
    const char *name;
    one_axis *axis;
    all_axes *all;
    some_axes *axes;
    exact_function *combine;
    enum start start;
    enum result result;
} reductions[] = {
    {"sum", mlx_sum_axis, mlx_sum, mlx_sum_axes, exact_add, ZERO, SUMMED},
    {"prod", mlx_prod_axis, mlx_prod, mlx_prod_axes, exact_multiply, ONE, SUMMED},
    {"min", mlx_min_axis, mlx_min, mlx_min_axes, exact_minimum, HIGHEST, AS_INPUT},
    {"max", mlx_max_axis, mlx_max, mlx_max_axes, exact_maximum, LOWEST, AS_INPUT},
    {"all", mlx_all_axis, mlx_all, mlx_all_axes, exact_and, ONE, TRUTH},
    {"any", mlx_any_axis, mlx_any, mlx_any_axes, exact_or, ZERO, TRUTH},
};

enum { REDUCTIONS = sizeof reductions / sizeof *reductions, SUM = 0, PROD = 1, MAX = 3, LANES = 16, CHUNK = 1024 };

static mlx_dtype result_of(const struct reduction *reduction, mlx_dtype in)
{
    if (reduction->result == TRUTH) return MLX_BOOL;
    if (reduction->result == AS_INPUT || facts[in].size >= 4 || facts[in].kind == IS_FLOAT) return in;
    return facts[in].kind == IS_UNSIGNED ? MLX_UINT32 : MLX_INT32;
}

static mlx_dtype lane_of(mlx_dtype out)
{
    return out == MLX_FLOAT16 || out == MLX_BFLOAT16 ? MLX_FLOAT32 : out;
}

static struct scalar start_of(enum start start, mlx_dtype dtype)
{
    bool highest = start == HIGHEST;
    if (start == ZERO || start == ONE) return scalar_cast(make_bool(start == ONE), dtype);
    if (dtype == MLX_BOOL) return make_bool(highest);
    if (facts[dtype].kind == IS_UNSIGNED) return make_wrapped(highest ? UINT64_MAX : 0, dtype);
    if (facts[dtype].kind == IS_SIGNED) {
        uint64_t top = UINT64_C(1) << (8 * facts[dtype].size - 1);
        return make_wrapped(highest ? top - 1 : top, dtype);
    }
    if (dtype == MLX_FLOAT64) return make_double(highest ? INFINITY : -INFINITY);
    struct scalar x = make_float(highest ? INFINITY : -INFINITY, dtype);
    x.imaginary = x.f;
    return x;
}

static struct scalar reduce_chunk(const struct reduction *reduction, const struct scalar *list, int n, mlx_dtype lane)
{
    struct scalar lanes[LANES];
    for (int k = 0; k < LANES; k++) lanes[k] = start_of(reduction->start, lane);
    for (int i = 0; i < n; i++) lanes[i % LANES] = reduction->combine(lanes[i % LANES], list[i]);
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) lanes[k] = reduction->combine(lanes[k], lanes[k + half]);
    return lanes[0];
}

/* Level by level; totals replace elements that are done with. */
static struct scalar reduce_list(const struct reduction *reduction, struct scalar *list, int n, mlx_dtype lane)
{
    while (n > CHUNK) {
        int chunks = (n + CHUNK - 1) / CHUNK;
        for (int c = 0; c < chunks; c++) {
            int left = n - c * CHUNK;
            list[c] = reduce_chunk(reduction, list + c * CHUNK, left < CHUNK ? left : CHUNK, lane);
        }
        n = chunks;
    }
    return reduce_chunk(reduction, list, n, lane);
}

/* Elements first, first + step, ... of `in`, in the order of the contract. */
static struct scalar reduce_row(const struct reduction *reduction, const struct numbers *in, int first, int step, int n)
{
    mlx_dtype out = result_of(reduction, in->dtype), lane = lane_of(out);
    struct scalar *list = malloc(((size_t)n + 1) * sizeof *list);
    CHECK_NOT_NULL(list);
    for (int i = 0; i < n; i++) list[i] = scalar_cast(get(in, first + i * step), lane);
    struct scalar total = scalar_cast(reduce_list(reduction, list, n, lane), out);
    free(list);
    return total;
}

static struct numbers reduce_axis(const struct reduction *reduction, const struct numbers *in, int axis, bool keepdims)
{
    struct shape shape = {0, {0}};
    int outer = 1, inner = 1, n = in->shape.dims[axis];
    for (int i = 0; i < in->shape.ndim; i++) {
        if (i < axis) outer *= in->shape.dims[i];
        if (i > axis) inner *= in->shape.dims[i];
        if (i != axis || keepdims) shape.dims[shape.ndim++] = i == axis ? 1 : in->shape.dims[i];
    }
    struct numbers out = numbers_new(result_of(reduction, in->dtype), &shape);
    for (int o = 0; o < outer; o++)
        for (int i = 0; i < inner; i++)
            put(&out, o * inner + i, reduce_row(reduction, in, o * n * inner + i, inner, n));
    return out;
}

static const struct shape shapes[] = {
    {1, {1}}, {1, {15}}, {1, {100}}, {2, {3, 5}}, {2, {37, 4}}, {2, {2, 600}}, {3, {5, 17, 33}}, {4, {2, 3, 1, 7}},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

struct one_call {
    const struct reduction *reduction;
    int axis;
    bool keepdims;
};

static int call_one(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const struct one_call *call = context;
    (void)input_count;
    return call->reduction->axis(&outputs[0], inputs[0], call->axis, call->keepdims, stream);
}

static void check_axis(const struct reduction *reduction, const struct numbers *in, int axis, enum layout layout)
{
    char what[128];
    struct one_call call = {reduction, axis - (layout % 2) * in->shape.ndim, layout == PACKED};
    snprintf(what, sizeof what, "%s of %s, axis %d, layout %d", reduction->name, facts[in->dtype].name, axis, layout);
    mlx_array a = make_array(in, layout);
    struct numbers got, want = reduce_axis(reduction, in, axis, call.keepdims);
    run_both_ways(call_one, &call, &a, 1, &got, 1, layout == TRANSPOSED, what);
    expect_same_values(&got, &want, what);
    mlx_array_free(a);
    numbers_free(&got), numbers_free(&want);
}
#define check_axis(...) CHECK_CALL(check_axis, __VA_ARGS__)

static void every_dtype_axis_and_layout(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int r = 0; r < REDUCTIONS; r++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            for (int s = 0; s < SHAPES; s++) {
                value_source *source = r == 1 || s % 2 ? small_value : random_value;
                struct numbers in = numbers_filled(dtype, &shapes[s], source, &random);
                for (int axis = 0; axis < in.shape.ndim; axis++)
                    for (int layout = 0; layout < LAYOUT_COUNT; layout++) check_axis(&reductions[r], &in, axis, layout);
                numbers_free(&in);
            }
}

/* Over all axes, and over (0, 2): as over one axis with their elements, the last fastest. */
static void several_axes(void **state)
{
    uint64_t random = 9;
    struct shape shape = {3, {4, 6, 5}};
    (void)state;
    for (int r = 0; r < REDUCTIONS; r++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            struct numbers in = numbers_filled(dtype, &shape, small_value, &random), flat = in, moved;
            flat.shape = (struct shape){1, {120}};
            struct shape apart = {2, {6, 20}};
            moved = numbers_new(dtype, &apart);
            for (int i = 0; i < 120; i++) {
                int index[3];
                unravel(i, &shape, index);
                put(&moved, index[1] * 20 + index[0] * 5 + index[2], get(&in, i));
            }
            mlx_array a = make_array(&in, r % 2 ? TRANSPOSED : PACKED), res = mlx_array_new();
            struct numbers want = reduce_axis(&reductions[r], &flat, 0, false), got;
            expect_ok(reductions[r].all(&res, a, false, stream), reductions[r].name);
            got = read_array(res);
            expect_same_values(&got, &want, reductions[r].name);
            numbers_free(&got), numbers_free(&want);

            expect_ok(reductions[r].axes(&res, a, (int[]){-1, 0}, 2, true, stream), reductions[r].name);
            want = reduce_axis(&reductions[r], &moved, 1, false);
            want.shape = (struct shape){3, {1, 6, 1}};
            got = read_array(res);
            expect_same_values(&got, &want, reductions[r].name);
            numbers_free(&got), numbers_free(&want), numbers_free(&in), numbers_free(&moved);
            mlx_array_free(a), mlx_array_free(res);
        }
}

/* Large enough for threads and stripes: a row in a batch is the row alone, and the columns are the rows of the
 * transpose. */
static void size_and_batch_change_nothing(void **state)
{
    uint64_t random = 3;
    struct shape shape = {2, {700, 1100}};
    (void)state;
    for (int dtype = MLX_FLOAT16; dtype < DTYPE_COUNT; dtype++) {
        struct numbers in = numbers_filled(dtype, &shape, random_value, &random);
        for (int axis = 0; axis < 2; axis++) {
            struct numbers want = reduce_axis(&reductions[0], &in, axis, false), got;
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
                mlx_array a = make_array(&in, layout), res = mlx_array_new();
                expect_ok(mlx_sum_axis(&res, a, axis, false, stream), "sum");
                got = read_array(res);
                expect_same_values(&got, &want, "a large sum");
                mlx_array_free(a), mlx_array_free(res);
                numbers_free(&got);
            }
            numbers_free(&want);
        }
        numbers_free(&in);
    }
}

/* ---- long rows ----------------------------------------------------------------------------------------------------
 */

/* Numbers of many sizes, all finite, whose sum is another one in another order. */
static struct scalar uneven_value(mlx_dtype dtype, uint64_t *state)
{
    float scale = one_in(state, 2) ? 0x1p-8f : 0x1p-14f;
    if (is_integer(dtype)) return random_value(dtype, state);
    double value = (double)((float)(random_below(state, 4096) - 2048) * scale);
    if (dtype == MLX_FLOAT64) return make_double(value / 3);
    struct scalar x = make_float((float)value, dtype);
    if (dtype == MLX_COMPLEX64) x.imaginary = (float)(random_below(state, 4096) - 2048) * scale;
    return x;
}

/* So near to 1 that products of thousands are neither zero nor infinite. */
static struct scalar value_near_one(mlx_dtype dtype, uint64_t *state)
{
    if (is_integer(dtype)) return make_wrapped((uint64_t)(2 * random_below(state, 1000) + 1), dtype);
    double value = 1 + (random_below(state, 256) - 127.5) / 2048;
    if (dtype == MLX_FLOAT64) return make_double(value + 0x1p-40);
    struct scalar x = make_float((float)value, dtype);
    if (dtype == MLX_COMPLEX64) x.imaginary = (float)(random_below(state, 256) - 128) * 0x1p-14f;
    return x;
}

/* The larger of two elements, reduced along the last axis: one kernel when compiled. */
static int call_chain(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const struct one_call *call = context;
    mlx_array larger = mlx_array_new();
    (void)input_count;
    int code = mlx_maximum(&larger, inputs[0], inputs[1], stream);
    if (!code) code = call->reduction->axis(&outputs[0], larger, call->axis, call->keepdims, stream);
    mlx_array_free(larger);
    return code;
}

static void check_chain(const struct reduction *reduction, const struct numbers *in, const struct numbers *other,
                        enum layout layout)
{
    char what[128];
    struct one_call call = {reduction, -1, layout % 2 == 0};
    snprintf(what, sizeof what, "%s of a chain of %s, %d elements, layout %d", reduction->name, facts[in->dtype].name,
             in->shape.dims[1], layout);
    struct numbers larger = numbers_new(in->dtype, &in->shape), got;
    for (int i = 0; i < in->size; i++) put(&larger, i, exact_maximum(get(in, i), get(other, i)));
    struct numbers want = reduce_axis(reduction, &larger, 1, call.keepdims);
    mlx_array inputs[2] = {make_array(in, layout), make_array(other, PACKED)};
    run_both_ways(call_chain, &call, inputs, 2, &got, 1, 1, what);
    expect_same_values(&got, &want, what);
    mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
    numbers_free(&larger), numbers_free(&got), numbers_free(&want);
}

static void check_length(const struct reduction *reduction, mlx_dtype dtype, int rows, int n, value_source *source)
{
    uint64_t random = (uint64_t)n;
    struct shape shape = {2, {rows, n}};
    struct numbers in = numbers_filled(dtype, &shape, source, &random),
                   other = numbers_filled(dtype, &shape, source, &random);
    for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
        check_axis(reduction, &in, 1, layout);
        check_chain(reduction, &in, &other, layout);
    }
    numbers_free(&in), numbers_free(&other);
}
#define check_length(...) CHECK_CALL(check_length, __VA_ARGS__)

static void lengths_around_the_levels(void **state)
{
    static const int lengths[] = {1, 15, 16, 17, 1023, 1024, 1025, 2048, 5000};
    (void)state;
    for (int r = 0; r < REDUCTIONS; r++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
                check_length(&reductions[r], dtype, 3, lengths[i], r == PROD ? value_near_one : uneven_value);
            check_length(&reductions[r], dtype, 2, 1100, random_value);
        }
}

/* Two levels are full with 2^20 elements; one more needs a third. */
static void lengths_around_the_third_level(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        check_length(&reductions[SUM], MLX_FLOAT32, 1, (1 << 20) + more, uneven_value);
        check_length(&reductions[MAX], MLX_FLOAT32, 1, (1 << 20) + more, uneven_value);
    }
}

/* Columns of a batch, of which there are few or many, and rows that are broadcast. */
static void long_axes_of_many_shapes(void **state)
{
    static const struct shape long_shapes[] = {{2, {3000, 2}}, {2, {1030, 2100}}, {3, {3, 2500, 5}}, {3, {2, 7, 1500}}};
    uint64_t random = 5;
    (void)state;
    for (size_t s = 0; s < sizeof long_shapes / sizeof *long_shapes; s++) {
        struct numbers in = numbers_filled(s % 2 ? MLX_FLOAT16 : MLX_FLOAT32, &long_shapes[s], uneven_value, &random);
        for (int axis = 0; axis < in.shape.ndim; axis++)
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) check_axis(&reductions[SUM], &in, axis, layout);
        numbers_free(&in);
    }
    struct shape shape = {1, {4}}, wide = {2, {4, 3000}};
    struct numbers row = numbers_filled(MLX_FLOAT32, &shape, uneven_value, &random),
                   all = numbers_new(MLX_FLOAT32, &wide);
    for (int i = 0; i < all.size; i++) put(&all, i, get(&row, i / 3000));
    mlx_array a = packed_array(&row), res = mlx_array_new();
    struct numbers want = reduce_axis(&reductions[SUM], &all, 1, false), got;
    expect_ok(mlx_broadcast_to(&res, a, (int[]){3000, 4}, 2, stream), "a broadcast");
    expect_ok(mlx_sum_axis(&res, res, 0, false, stream), "a sum");
    got = read_array(res);
    expect_same_values(&got, &want, "the sum of one row many times");
    mlx_array_free(a), mlx_array_free(res);
    numbers_free(&row), numbers_free(&all), numbers_free(&want), numbers_free(&got);
}

static void empty_axes_and_arrays(void **state)
{
    struct shape shape = {2, {0, 3}}, none = {0, {0}};
    struct numbers in = numbers_new(MLX_FLOAT32, &shape), one = numbers_new(MLX_BOOL, &none), got;
    mlx_array a = packed_array(&in), b = packed_array(&one), res = mlx_array_new();
    (void)state;
    expect_ok(mlx_sum_axis(&res, a, 0, false, stream), "an empty sum");
    got = read_array(res);
    CHECK_EQ(got.size, 3);
    for (int i = 0; i < 3; i++) CHECK_TRUE(same_scalar(get(&got, i), make_float(0, MLX_FLOAT32)));
    numbers_free(&got);
    expect_ok(mlx_prod(&res, a, false, stream), "an empty product");
    got = read_array(res);
    CHECK_TRUE(same_scalar(get(&got, 0), make_float(1, MLX_FLOAT32)));
    numbers_free(&got);
    expect_ok(mlx_sum(&res, b, true, stream), "the sum of a scalar");
    CHECK_EQ(mlx_array_dtype(res), one.dtype); /* over no axes nothing is summed */
    CHECK_EQ(mlx_array_ndim(res), 0);
    mlx_array_free(res);
    res = mlx_array_new();
    expect_refusal(mlx_max_axis(&res, a, 0, false, stream), res, "max of nothing");
    expect_refusal(mlx_min(&res, a, false, stream), res, "min of nothing");
    expect_refusal(mlx_argmax_axis(&res, a, 0, false, stream), res, "argmax of nothing");
    mlx_array_free(a), mlx_array_free(b);
    numbers_free(&in), numbers_free(&one);
}

static void bad_input_is_refused(void **state)
{
    struct shape shape = {2, {2, 3}};
    struct numbers in = numbers_new(MLX_FLOAT32, &shape);
    mlx_array a = packed_array(&in), res = mlx_array_new(), empty = {0};
    (void)state;
    for (int r = 0; r < REDUCTIONS; r++) {
        expect_refusal(reductions[r].axis(&res, a, 2, false, stream), res, "an axis too large");
        expect_refusal(reductions[r].axis(&res, a, -3, false, stream), res, "an axis too small");
        expect_refusal(reductions[r].axes(&res, a, (int[]){0, -2}, 2, false, stream), res, "an axis twice");
        expect_refusal(reductions[r].axes(&res, a, NULL, 2, false, stream), res, "no axes");
        expect_refusal(reductions[r].all(&res, empty, false, stream), res, "no array");
        expect_refusal(reductions[r].all(&res, a, false, (mlx_stream){0}), res, "no stream");
    }
    mlx_array_free(a);
    numbers_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_dtype_axis_and_layout, set_up),
        cmocka_unit_test_setup(several_axes, set_up),
        cmocka_unit_test_setup(size_and_batch_change_nothing, set_up),
        cmocka_unit_test_setup(lengths_around_the_levels, set_up),
        cmocka_unit_test_setup(lengths_around_the_third_level, set_up),
        cmocka_unit_test_setup(long_axes_of_many_shapes, set_up),
        cmocka_unit_test_setup(empty_axes_and_arrays, set_up),
        cmocka_unit_test_setup(bad_input_is_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
