/*
 * test_mlxc_contractions.c - outer, inner and Kronecker products, products over pairs of axes, traces, medians, running
 * logarithms of sums, counts and windows, against values written out. Each is called plainly and compiled; for all
 * sizes: test_mlxc_acceptance_shapeless.c.
 */
#include "support/arrays.h"

#define LIST(...)    ((const int[]){__VA_ARGS__})
#define DIMS(n, ...) ((struct shape){n, {__VA_ARGS__}})
#define VALUES(...)  ((const double[]){__VA_ARGS__})

static mlx_array from_values(mlx_dtype dtype, struct shape shape, const double *values)
{
    struct numbers numbers = numbers_new(dtype, &shape);
    for (int i = 0; i < numbers.size; i++) put(&numbers, i, scalar_cast(make_double(values[i]), dtype));
    mlx_array array = packed_array(&numbers);
    numbers_free(&numbers);
    return array;
}

/* 1, 2, 3, ... */
static mlx_array counting(mlx_dtype dtype, struct shape shape)
{
    double values[256];
    for (int i = 0; i < 256; i++) values[i] = i + 1;
    return from_values(dtype, shape, values);
}

static void expect_numbers(const struct numbers *got, mlx_dtype dtype, struct shape shape, const double *values,
                           double tolerance, const char *what)
{
    if (got->dtype != dtype) CHECK_FAIL("%s is %s, expected %s", what, facts[got->dtype].name, facts[dtype].name);
    if (!same_shapes(&got->shape, &shape)) CHECK_FAIL("%s has another shape, of rank %d", what, got->shape.ndim);
    for (int i = 0; i < got->size; i++) {
        double value = to_double(get(got, i));
        bool is_same = value == values[i] || (isnan(value) && isnan(values[i]));
        if (!is_same && !(fabs(value - values[i]) <= tolerance))
            CHECK_FAIL("%s: element %d is %.17g, expected %.17g", what, i, value, values[i]);
    }
}
#define expect_numbers(...) CHECK_CALL(expect_numbers, __VA_ARGS__)

/* Calls it plainly and compiled; frees the inputs. */
static void check(array_function *call, const void *context, const mlx_array *inputs, int count, mlx_dtype dtype,
                  struct shape shape, const double *values, double tolerance, const char *what)
{
    struct numbers got;
    run_both_ways(call, context, inputs, count, &got, 1, 2, what);
    expect_numbers(&got, dtype, shape, values, tolerance, what);
    numbers_free(&got);
    for (int i = 0; i < count; i++) mlx_array_free(inputs[i]);
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

#define CALL(name, call)                                                                                               \
    static int name(const mlx_array *in, int count, mlx_array *out, const void *context)                               \
    {                                                                                                                  \
        (void)count, (void)context;                                                                                    \
        return call;                                                                                                   \
    }

#define CHECK2(call, a, b, dtype, shape, ...)                                                                          \
    check(call, NULL, ((mlx_array[]){a, b}), 2, dtype, shape, VALUES(__VA_ARGS__), 0, #call)
#define CHECK1(call, a, dtype, shape, ...)                                                                             \
    check(call, NULL, ((mlx_array[]){a}), 1, dtype, shape, VALUES(__VA_ARGS__), 0, #call)

/* ---- products ---------------------------------------------------------------------------------------------------- */

CALL(outer, mlx_outer(out, in[0], in[1], stream))
CALL(inner, mlx_inner(out, in[0], in[1], stream))
CALL(kron, mlx_kron(out, in[0], in[1], stream))

static void multiplies_every_element_with_every_other(void **state)
{
    (void)state;
    CHECK2(outer, counting(MLX_FLOAT32, DIMS(1, 2)), counting(MLX_FLOAT32, DIMS(1, 3)), MLX_FLOAT32, DIMS(2, 2, 3), 1,
           2, 3, 2, 4, 6);
    CHECK2(outer, counting(MLX_INT32, DIMS(2, 1, 2)), counting(MLX_INT8, DIMS(2, 2, 1)), MLX_INT32, DIMS(2, 2, 2), 1, 2,
           2, 4);
    CHECK2(outer, counting(MLX_FLOAT32, DIMS(0)), counting(MLX_FLOAT32, DIMS(0)), MLX_FLOAT32, DIMS(2, 1, 1), 1);
    CHECK2(outer, counting(MLX_FLOAT32, DIMS(1, 0)), counting(MLX_FLOAT32, DIMS(1, 3)), MLX_FLOAT32, DIMS(2, 0, 3), 0);
    CHECK2(kron, from_values(MLX_INT32, DIMS(2, 2, 2), VALUES(1, 2, 3, 4)),
           from_values(MLX_INT32, DIMS(2, 2, 2), VALUES(0, 5, 6, 7)), MLX_INT32, DIMS(2, 4, 4), 0, 5, 0, 10, 6, 7, 12,
           14, 0, 15, 0, 20, 18, 21, 24, 28);
    CHECK2(kron, counting(MLX_FLOAT32, DIMS(1, 2)), counting(MLX_FLOAT32, DIMS(2, 2, 2)), MLX_FLOAT32, DIMS(2, 2, 4), 1,
           2, 2, 4, 3, 4, 6, 8);
    CHECK2(kron, counting(MLX_FLOAT32, DIMS(1, 2)), counting(MLX_FLOAT16, DIMS(0)), MLX_FLOAT32, DIMS(1, 2), 1, 2);
}

CALL(tensordot_0, mlx_tensordot_axis(out, in[0], in[1], 0, stream))
CALL(tensordot_1, mlx_tensordot_axis(out, in[0], in[1], 1, stream))
CALL(tensordot_2, mlx_tensordot_axis(out, in[0], in[1], 2, stream))
CALL(tensordot_crossed, mlx_tensordot(out, in[0], in[1], LIST(0, 2), 2, LIST(-1, 0), 2, stream))
CALL(tensordot_none, mlx_tensordot(out, in[0], in[1], NULL, 0, NULL, 0, stream))

static void sums_over_pairs_of_axes(void **state)
{
    double crossed[3 * 2] = {0};
    (void)state;
    CHECK2(inner, counting(MLX_FLOAT32, DIMS(1, 3)), counting(MLX_FLOAT32, DIMS(1, 3)), MLX_FLOAT32, DIMS(0), 14);
    CHECK2(inner, counting(MLX_FLOAT32, DIMS(2, 2, 2)), counting(MLX_FLOAT32, DIMS(2, 3, 2)), MLX_FLOAT32,
           DIMS(2, 2, 3), 5, 11, 17, 11, 25, 39);
    CHECK2(inner, counting(MLX_INT32, DIMS(0)), counting(MLX_INT32, DIMS(1, 2)), MLX_INT32, DIMS(1, 2), 1, 2);
    CHECK2(tensordot_1, counting(MLX_FLOAT32, DIMS(2, 2, 3)), counting(MLX_FLOAT32, DIMS(2, 3, 2)), MLX_FLOAT32,
           DIMS(2, 2, 2), 22, 28, 49, 64);
    CHECK2(tensordot_2, counting(MLX_FLOAT32, DIMS(2, 2, 3)), counting(MLX_FLOAT32, DIMS(3, 2, 3, 2)), MLX_FLOAT32,
           DIMS(1, 2), 161, 182);
    CHECK2(tensordot_0, counting(MLX_FLOAT32, DIMS(1, 2)), counting(MLX_FLOAT32, DIMS(1, 2)), MLX_FLOAT32,
           DIMS(2, 2, 2), 1, 2, 2, 4);
    CHECK2(tensordot_none, counting(MLX_FLOAT32, DIMS(1, 2)), counting(MLX_FLOAT32, DIMS(0)), MLX_FLOAT32, DIMS(1, 2),
           1, 2);
    CHECK2(tensordot_1, counting(MLX_FLOAT32, DIMS(2, 2, 0)), counting(MLX_FLOAT32, DIMS(2, 0, 1)), MLX_FLOAT32,
           DIMS(2, 2, 1), 0, 0);
    for (int i = 0; i < 3 * 2; i++) /* a[k][i][l] b[l][j][k] */
        for (int k = 0; k < 2; k++)
            for (int l = 0; l < 4; l++)
                crossed[i] += (double)((k * 3 + i / 2) * 4 + l + 1) * ((l * 2 + i % 2) * 2 + k + 1);
    check(tensordot_crossed, NULL,
          ((mlx_array[]){counting(MLX_FLOAT32, DIMS(3, 2, 3, 4)), counting(MLX_FLOAT32, DIMS(3, 4, 2, 2))}), 2,
          MLX_FLOAT32, DIMS(2, 3, 2), crossed, 0, "tensordot_crossed");
}

CALL(trace_first, mlx_trace(out, in[0], 0, 0, 1, MLX_FLOAT32, stream))
CALL(trace_above, mlx_trace(out, in[0], 1, -2, -1, MLX_INT32, stream))
CALL(trace_small, mlx_trace(out, in[0], 0, 0, 1, MLX_INT8, stream))

static void sums_diagonals(void **state)
{
    (void)state;
    CHECK1(trace_first, counting(MLX_FLOAT32, DIMS(2, 3, 3)), MLX_FLOAT32, DIMS(0), 15);
    CHECK1(trace_first, counting(MLX_INT32, DIMS(3, 2, 2, 2)), MLX_FLOAT32, DIMS(1, 2), 8, 10);
    CHECK1(trace_above, counting(MLX_FLOAT32, DIMS(3, 2, 2, 3)), MLX_INT32, DIMS(1, 2), 8, 20);
    CHECK1(trace_small, counting(MLX_INT32, DIMS(2, 3, 3)), MLX_INT8, DIMS(0), 15);
}

/* ---- medians, running results, counts ---------------------------------------------------------------------------- */

struct median {
    const int *axes;
    size_t count;
    bool keepdims;
};

static int median(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    const struct median *how = context;
    (void)count;
    return mlx_median(out, in[0], how->axes, how->count, how->keepdims, stream);
}

#define MEDIAN(axes, axes_count, keepdims, a, dtype, shape, ...)                                                       \
    check(median, (&(struct median){axes, axes_count, keepdims}), ((mlx_array[]){a}), 1, dtype, shape,                 \
          VALUES(__VA_ARGS__), 0, "median")

static void finds_medians(void **state)
{
    static const double mixed[] = {9, 2, 7, -4, 5, 1, 3, 8, 6, 0, 4, 2};
    (void)state;
    MEDIAN(LIST(1), 1, false, from_values(MLX_FLOAT32, DIMS(2, 3, 4), mixed), MLX_FLOAT32, DIMS(1, 3), 4.5, 4, 3);
    MEDIAN(LIST(0), 1, true, from_values(MLX_FLOAT32, DIMS(2, 3, 4), mixed), MLX_FLOAT32, DIMS(2, 1, 4), 6, 1, 4, 2);
    MEDIAN(LIST(-1, 0), 2, false, from_values(MLX_INT32, DIMS(3, 2, 2, 3), mixed), MLX_FLOAT32, DIMS(1, 2), 6.5, 1.5);
    MEDIAN(LIST(0, 2), 2, true, from_values(MLX_INT32, DIMS(3, 2, 2, 3), mixed), MLX_FLOAT32, DIMS(3, 1, 2, 1), 6.5,
           1.5);
    MEDIAN(NULL, 0, false, from_values(MLX_INT32, DIMS(1, 2), mixed), MLX_FLOAT32, DIMS(1, 2), 9, 2);
    MEDIAN(LIST(0), 1, false, from_values(MLX_FLOAT16, DIMS(1, 2), VALUES(60000, 50016)), MLX_FLOAT16, DIMS(0), 55008);
    MEDIAN(LIST(1), 1, false, from_values(MLX_FLOAT32, DIMS(2, 2, 3), VALUES(1, NAN, 2, 3, INFINITY, -INFINITY)),
           MLX_FLOAT32, DIMS(1, 2), NAN, 3);
    MEDIAN(LIST(1), 1, false, counting(MLX_FLOAT32, DIMS(2, 0, 2)), MLX_FLOAT32, DIMS(1, 0), 0);
}

struct running {
    int axis;
    bool reverse, inclusive;
};

static int running(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    const struct running *how = context;
    (void)count;
    return mlx_logcumsumexp(out, in[0], how->axis, how->reverse, how->inclusive, stream);
}

#define RUNNING(axis, reverse, inclusive, a, dtype, shape, tolerance, ...)                                             \
    check(running, (&(struct running){axis, reverse, inclusive}), ((mlx_array[]){a}), 1, dtype, shape,                 \
          VALUES(__VA_ARGS__), tolerance, "logcumsumexp")

/* A large element neither hides small ones before it nor overflows. */
static void adds_up_exponentials(void **state)
{
    const double two = log(2), three = log(3), four = log(4), none = -INFINITY;
    (void)state;
    RUNNING(0, false, true, from_values(MLX_FLOAT32, DIMS(1, 4), VALUES(0, 0, 0, 0)), MLX_FLOAT32, DIMS(1, 4), 1e-6, 0,
            two, three, four);
    RUNNING(0, true, true, from_values(MLX_FLOAT32, DIMS(1, 3), VALUES(0, 0, 0)), MLX_FLOAT32, DIMS(1, 3), 1e-6, three,
            two, 0);
    RUNNING(-1, false, false, from_values(MLX_FLOAT32, DIMS(2, 2, 3), VALUES(0, 0, 0, 1, 1, 1)), MLX_FLOAT32,
            DIMS(2, 2, 3), 1e-6, none, 0, two, none, 1, 1 + two);
    RUNNING(0, true, false, from_values(MLX_INT32, DIMS(2, 3, 1), VALUES(0, 0, 0)), MLX_FLOAT32, DIMS(2, 3, 1), 1e-6,
            two, 0, none);
    RUNNING(0, false, true, from_values(MLX_FLOAT32, DIMS(1, 4), VALUES(-500, -500, 0, 800)), MLX_FLOAT32, DIMS(1, 4),
            1e-4, -500, -500 + two, 0, 800);
    RUNNING(0, false, true, from_values(MLX_FLOAT32, DIMS(1, 4), VALUES(none, none, INFINITY, 1)), MLX_FLOAT32,
            DIMS(1, 4), 0, none, none, INFINITY, INFINITY);
    RUNNING(0, false, true, from_values(MLX_FLOAT16, DIMS(1, 2), VALUES(0, 0)), MLX_FLOAT16, DIMS(1, 2), 1e-3, 0, two);
    RUNNING(0, false, false, counting(MLX_FLOAT32, DIMS(2, 0, 2)), MLX_FLOAT32, DIMS(2, 0, 2), 0, 0);
}

CALL(count_two, mlx_number_of_elements(out, in[0], LIST(0, -1), 2, false, MLX_INT32, stream))
CALL(count_inverse, mlx_number_of_elements(out, in[0], LIST(2), 1, true, MLX_FLOAT32, stream))
CALL(count_none, mlx_number_of_elements(out, in[0], NULL, 0, false, MLX_INT64, stream))

static void counts_elements(void **state)
{
    (void)state;
    CHECK1(count_two, counting(MLX_FLOAT32, DIMS(3, 2, 3, 4)), MLX_INT32, DIMS(0), 8);
    CHECK1(count_inverse, counting(MLX_FLOAT32, DIMS(3, 2, 3, 4)), MLX_FLOAT32, DIMS(0), 0.25);
    CHECK1(count_none, counting(MLX_FLOAT32, DIMS(1, 2)), MLX_INT64, DIMS(0), 1);
    mlx_array one = mlx_array_new_int(1), wide = mlx_array_new(), res = mlx_array_new();
    expect_ok(mlx_broadcast_to(&wide, one, LIST(16777217), 1, stream), "broadcast_to");
    expect_ok(mlx_number_of_elements(&res, wide, LIST(0), 1, false, MLX_UINT32, stream), "number_of_elements");
    struct numbers got = read_array(res);
    expect_numbers(&got, MLX_UINT32, DIMS(0), VALUES(16777217), 0, "more than a float32 can count");
    numbers_free(&got), mlx_array_free(one), mlx_array_free(wide), mlx_array_free(res);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

typedef int window_function(mlx_array *res, int M, const mlx_stream s);

static void makes_windows(void **state)
{
    static const struct {
        window_function *call;
        double five[5], four[2]; /* four has the first half */
    } rows[] = {{mlx_bartlett, {0, 0.5, 1, 0.5, 0}, {0, 2.0 / 3}},
                {mlx_blackman, {0, 0.34, 1, 0.34, 0}, {0, 0.63}},
                {mlx_hamming, {0.08, 0.54, 1, 0.54, 0.08}, {0.08, 0.77}},
                {mlx_hanning, {0, 0.5, 1, 0.5, 0}, {0, 0.75}}};
    (void)state;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 5; c++) {
            int count = LIST(-1, 0, 1, 4, 5)[c];
            mlx_array res = mlx_array_new();
            double want[5] = {1, 0, 0, 0, 0};
            for (int i = 0; i < count && count >= 4; i++)
                want[i] = (double)(float)(count == 5 ? rows[r].five[i] : rows[r].four[i < 2 ? i : 3 - i]);
            expect_ok(rows[r].call(&res, count, stream), "a window");
            struct numbers got = read_array(res);
            expect_numbers(&got, MLX_FLOAT32, DIMS(1, count < 0 ? 0 : count), want, 0, "a window");
            numbers_free(&got), mlx_array_free(res);
        }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void expect_text(int code, mlx_array res, const char *text)
{
    CHECK_CONTAINS(error_text, text);
    expect_refusal(code, res, text);
}
#define expect_text(...) CHECK_CALL(expect_text, __VA_ARGS__)

static void refuses_what_does_not_fit(void **state)
{
    mlx_array line = counting(MLX_FLOAT32, DIMS(1, 3)), matrix = counting(MLX_FLOAT32, DIMS(2, 2, 4));
    mlx_array whole = counting(MLX_INT32, DIMS(1, 3)), none = counting(MLX_FLOAT32, DIMS(2, 0, 2));
    mlx_array one = mlx_array_new_int(1), wide = mlx_array_new();
    mlx_array res = {0};
    (void)state;
    expect_text(mlx_inner(&res, line, matrix, stream), res,
                "[inner] The last dimensions of shapes (3) and (2,4) must be the same.");
    expect_text(mlx_inner(&res, whole, whole, stream), res, "tensordot: [matmul]");
    expect_text(mlx_tensordot_axis(&res, line, matrix, 2, stream), res,
                "[tensordot] Can't sum over 2 axes of arrays of 1 and 2 dimensions: expected 0 to 1.");
    expect_text(mlx_tensordot_axis(&res, line, matrix, -1, stream), res, "[tensordot] Can't sum over -1 axes");
    expect_text(mlx_tensordot_axis(&res, line, matrix, 1, stream), res,
                "[tensordot] Axis 0 of shape (3) and axis 0 of shape (2,4) must have the same size.");
    expect_text(mlx_tensordot(&res, line, matrix, LIST(0), 1, LIST(0, 1), 2, stream), res,
                "[tensordot] Expected as many axes of a as of b, got 1 and 2.");
    expect_text(mlx_tensordot(&res, matrix, matrix, LIST(0, -2), 2, LIST(0, 1), 2, stream), res,
                "[tensordot] Axis -2 appears twice.");
    expect_text(mlx_tensordot(&res, line, matrix, LIST(1), 1, LIST(0), 1, stream), res, "[tensordot] Axis 1");
    expect_text(mlx_tensordot(&res, line, matrix, NULL, 1, LIST(0), 1, stream), res, "axes_a");
    expect_text(mlx_trace(&res, line, 0, 0, 1, MLX_FLOAT32, stream), res, "trace: [diagonal]");
    expect_text(mlx_trace(&res, matrix, 0, 0, 1, (mlx_dtype)14, stream), res, "[trace] the dtype is not one of");
    expect_text(mlx_median(&res, none, LIST(0), 1, false, stream), res, "[median] There is no median of 0 elements");
    expect_text(mlx_median(&res, line, LIST(0, 0), 2, false, stream), res, "[median] Axis 0 appears twice.");
    expect_text(mlx_number_of_elements(&res, line, LIST(1), 1, false, MLX_INT32, stream), res,
                "[number_of_elements] Axis 1 is out of range");
    expect_text(mlx_number_of_elements(&res, line, LIST(0), 1, false, (mlx_dtype)-1, stream), res,
                "[number_of_elements] the dtype is not one of");
    expect_ok(mlx_broadcast_to(&wide, one, LIST(65536), 1, stream), "broadcast_to");
    expect_text(mlx_kron(&res, wide, wide, stream), res, "[kron] Axis 0 would have 65536 times 65536 elements");
    mlx_array_free(line), mlx_array_free(matrix), mlx_array_free(whole), mlx_array_free(none);
    mlx_array_free(one), mlx_array_free(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(multiplies_every_element_with_every_other, set_up),
        cmocka_unit_test_setup(sums_over_pairs_of_axes, set_up),
        cmocka_unit_test_setup(sums_diagonals, set_up),
        cmocka_unit_test_setup(finds_medians, set_up),
        cmocka_unit_test_setup(adds_up_exponentials, set_up),
        cmocka_unit_test_setup(counts_elements, set_up),
        cmocka_unit_test_setup(makes_windows, set_up),
        cmocka_unit_test_setup(refuses_what_does_not_fit, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
