/*
 * test_mlxc_elementwise.c - the element-wise operations that support/scalar.h has no row for, on every dtype, plainly
 * and compiled, against scalar C; and the functions made of several operations.
 *
 * What an operation refuses is refused with a text that names it and leaves the result alone, as are empty handles.
 */
#include "support/arrays.h"

/* ---- references ---------------------------------------------------------------------------------------------------
 */

#define FLOATS(name, whole, on_float, on_double)                                                                       \
    static struct scalar name(struct scalar a, struct scalar b)                                                        \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        if (is_integer(a.dtype)) return whole;                                                                         \
        return a.dtype == MLX_FLOAT64 ? make_double(on_double) : make_float(on_float, a.dtype);                        \
    }

FLOATS(ref_floor, a, floorf(a.f), floor(a.d))
FLOATS(ref_ceil, a, ceilf(a.f), ceil(a.d))
FLOATS(ref_reciprocal, a, 1 / a.f, 1 / a.d)
FLOATS(ref_sign, make_wrapped(facts[a.dtype].kind == IS_SIGNED ? (uint64_t)((a.i > 0) - (a.i < 0)) : a.u != 0, a.dtype),
       (float)((a.f > 0) - (a.f < 0)), (double)((a.d > 0) - (a.d < 0)))

static struct scalar ref_round(struct scalar a, struct scalar b)
{
    (void)b;
    if (is_integer(a.dtype)) return a;
    if (a.dtype == MLX_COMPLEX64) return make_complex(rintf(a.f), rintf(a.imaginary));
    return a.dtype == MLX_FLOAT64 ? make_double(rint(a.d)) : make_float(rintf(a.f), a.dtype);
}

#define TRUTH(name, on_number, on_complex)                                                                             \
    static struct scalar name(struct scalar a, struct scalar b)                                                        \
    {                                                                                                                  \
        double x = to_double(a), y = (double)a.imaginary;                                                              \
        (void)b, (void)y;                                                                                              \
        return make_bool(a.dtype == MLX_COMPLEX64 ? (on_complex) : (on_number));                                       \
    }

TRUTH(ref_isnan, isnan(x), isnan(x) || isnan(y))
TRUTH(ref_isinf, isinf(x), isinf(x) || isinf(y))
TRUTH(ref_isfinite, isfinite(x), isfinite(x) && isfinite(y))
TRUTH(ref_isposinf, isinf(x) && x > 0, isinf(x) && x > 0 && y == 0)
TRUTH(ref_isneginf, isinf(x) && x < 0, isinf(x) && x < 0 && y == 0)

static struct scalar ref_invert(struct scalar a, struct scalar b)
{
    (void)b;
    return a.dtype == MLX_BOOL ? make_bool(!a.u) : make_wrapped(~a.u, a.dtype);
}

static struct scalar ref_real(struct scalar a, struct scalar b)
{
    (void)b;
    return a.dtype == MLX_COMPLEX64 ? make_float(a.f, MLX_FLOAT32) : a;
}

static struct scalar ref_imag(struct scalar a, struct scalar b)
{
    (void)b;
    return a.dtype == MLX_COMPLEX64 ? make_float(a.imaginary, MLX_FLOAT32) : scalar_cast(make_bool(false), a.dtype);
}

static struct scalar ref_conjugate(struct scalar a, struct scalar b)
{
    (void)b;
    return a.dtype == MLX_COMPLEX64 ? make_complex(a.f, -a.imaginary) : a;
}

static struct scalar ref_abs(struct scalar a, struct scalar b)
{
    return a.dtype == MLX_COMPLEX64 ? make_float((float)hypot((double)a.f, (double)a.imaginary), MLX_FLOAT32)
                                    : exact_abs(a, b);
}

/* Integers are cut towards zero; a division by zero gives 0. */
static struct scalar ref_floor_divide(struct scalar a, struct scalar b)
{
    if (a.dtype == MLX_FLOAT64) return make_double(floor(a.d / b.d));
    if (!is_integer(a.dtype)) return make_float(floorf(a.f / b.f), a.dtype);
    if (b.u == 0) return make_wrapped(0, a.dtype);
    if (facts[a.dtype].kind != IS_SIGNED) return make_wrapped(a.u / b.u, a.dtype);
    return make_wrapped(b.i == -1 ? 0 - a.u : (uint64_t)(a.i / b.i), a.dtype);
}

/* The divisor's sign. */
static struct scalar ref_remainder(struct scalar a, struct scalar b)
{
    if (a.dtype == MLX_FLOAT64) {
        double rest = fmod(a.d, b.d);
        return make_double(rest != 0 && (rest < 0) != (b.d < 0) ? rest + b.d : rest);
    }
    if (!is_integer(a.dtype)) {
        float rest = fmodf(a.f, b.f);
        return make_float(rest != 0 && (rest < 0) != (b.f < 0) ? rest + b.f : rest, a.dtype);
    }
    if (b.u == 0 || a.dtype == MLX_BOOL) return make_wrapped(0, a.dtype);
    if (facts[a.dtype].kind != IS_SIGNED) return make_wrapped(a.u % b.u, a.dtype);
    int64_t rest = b.i == -1 ? 0 : a.i % b.i;
    return make_wrapped((uint64_t)(rest != 0 && (rest < 0) != (b.i < 0) ? rest + b.i : rest), a.dtype);
}

static struct scalar ref_power(struct scalar a, struct scalar b)
{
    if (a.dtype == MLX_BOOL) return make_bool(a.u || !b.u);
    if (facts[a.dtype].kind == IS_SIGNED && b.i < 0)
        return make_wrapped(a.i == 1 ? 1 : a.i == -1 ? (b.u & 1 ? UINT64_MAX : 1) : 0, a.dtype);
    uint64_t result = 1, base = a.u;
    for (uint64_t exponent = b.u; exponent; exponent /= 2, base *= base)
        if (exponent % 2) result *= base;
    return make_wrapped(result, a.dtype);
}

#define BITS(name, expression)                                                                                         \
    static struct scalar name(struct scalar a, struct scalar b)                                                        \
    {                                                                                                                  \
        return make_wrapped(expression, a.dtype);                                                                      \
    }

BITS(ref_bitwise_and, a.u & b.u)
BITS(ref_bitwise_or, a.u | b.u)
BITS(ref_bitwise_xor, a.u ^ b.u)

/* By the width or more, or by a negative number: all bits are shifted out. */
static bool is_too_far(struct scalar by)
{
    return facts[by.dtype].kind == IS_SIGNED ? by.i < 0 || by.i >= 8 * facts[by.dtype].size
                                             : by.u >= (uint64_t)(8 * facts[by.dtype].size);
}

static struct scalar ref_left_shift(struct scalar a, struct scalar b)
{
    return make_wrapped(is_too_far(b) ? 0 : a.u << b.u, a.dtype);
}

static struct scalar ref_right_shift(struct scalar a, struct scalar b)
{
    if (facts[a.dtype].kind == IS_SIGNED)
        return make_wrapped((uint64_t)(is_too_far(b) ? a.i >> 63 : a.i >> b.i), a.dtype);
    return make_wrapped(is_too_far(b) ? 0 : a.u >> b.u, a.dtype);
}

#define CLOSE_TO(name, expression)                                                                                     \
    static long double near_##name(long double a, long double b)                                                       \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        return expression;                                                                                             \
    }

CLOSE_TO(expm1, expm1l(a))
CLOSE_TO(log1p, log1pl(a))
CLOSE_TO(log2, log2l(a))
CLOSE_TO(log10, log10l(a))
CLOSE_TO(sin, sinl(a))
CLOSE_TO(cos, cosl(a))
CLOSE_TO(tan, tanl(a))
CLOSE_TO(arcsin, asinl(a))
CLOSE_TO(arccos, acosl(a))
CLOSE_TO(arctan, atanl(a))
CLOSE_TO(sinh, sinhl(a))
CLOSE_TO(cosh, coshl(a))
CLOSE_TO(arcsinh, asinhl(a))
CLOSE_TO(arccosh, acoshl(a))
CLOSE_TO(arctanh, atanhl(a))
CLOSE_TO(degrees, a * (180 / acosl(-1)))
CLOSE_TO(radians, a *(acosl(-1) / 180))
CLOSE_TO(arctan2, atan2l(a, b))
CLOSE_TO(power, a == 0 || isinf(a) ? (long double)pow((double)a, (double)b) : powl(a, b)) /* powl errs at 2^63 */

/* ---- the table ----------------------------------------------------------------------------------------------------
 */

enum result { KEEPS, TO_FLOAT, GIVES_BOOL, GIVES_REAL, SHIFTS };

static int round_to_whole(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    return mlx_round(res, a, 0, s);
}

static const struct row {
    const char *name;
    enum result result;
    unary_function *unary; /* one of the two */
    binary_function *binary;
    exact_function *exact; /* of kinds that have no `close` */
    close_function *close; /* of floats */
    const char *kinds;     /* accepted */
    const char *shown;     /* what the error text calls it */
} rows[] = {
    {"abs", GIVES_REAL, mlx_abs, NULL, ref_abs, NULL, "busfc", "[abs]"},
    {"floor", KEEPS, mlx_floor, NULL, ref_floor, NULL, "busf", "[floor]"},
    {"ceil", KEEPS, mlx_ceil, NULL, ref_ceil, NULL, "busf", "[ceil]"},
    {"round", KEEPS, round_to_whole, NULL, ref_round, NULL, "busfc", "[round]"},
    {"sign", KEEPS, mlx_sign, NULL, ref_sign, NULL, "busf", NULL},
    {"reciprocal", TO_FLOAT, mlx_reciprocal, NULL, ref_reciprocal, NULL, "fc", NULL},
#define CLOSE(name) {#name, TO_FLOAT, mlx_##name, NULL, NULL, near_##name, "fc", "[" #name "]"}
    CLOSE(expm1),
    CLOSE(log1p),
    CLOSE(log2),
    CLOSE(log10),
    CLOSE(sin),
    CLOSE(cos),
    CLOSE(tan),
    CLOSE(arcsin),
    CLOSE(arccos),
    CLOSE(arctan),
    CLOSE(sinh),
    CLOSE(cosh),
    CLOSE(arcsinh),
    CLOSE(arccosh),
    CLOSE(arctanh),
    CLOSE(degrees),
    CLOSE(radians),
    {"isnan", GIVES_BOOL, mlx_isnan, NULL, ref_isnan, NULL, "busfc", NULL},
    {"isinf", GIVES_BOOL, mlx_isinf, NULL, ref_isinf, NULL, "busfc", NULL},
    {"isfinite", GIVES_BOOL, mlx_isfinite, NULL, ref_isfinite, NULL, "busfc", NULL},
    {"isposinf", GIVES_BOOL, mlx_isposinf, NULL, ref_isposinf, NULL, "busfc", NULL},
    {"isneginf", GIVES_BOOL, mlx_isneginf, NULL, ref_isneginf, NULL, "busfc", NULL},
    {"bitwise_invert", KEEPS, mlx_bitwise_invert, NULL, ref_invert, NULL, "bus", "[bitwise_invert]"},
    {"real", GIVES_REAL, mlx_real, NULL, ref_real, NULL, "busfc", NULL},
    {"imag", GIVES_REAL, mlx_imag, NULL, ref_imag, NULL, "busfc", NULL},
    {"conjugate", KEEPS, mlx_conjugate, NULL, ref_conjugate, NULL, "busfc", NULL},
    {"floor_divide", KEEPS, NULL, mlx_floor_divide, ref_floor_divide, NULL, "usf", "[floor_divide]"},
    {"remainder", KEEPS, NULL, mlx_remainder, ref_remainder, NULL, "busf", "[remainder]"},
    {"power", KEEPS, NULL, mlx_power, ref_power, near_power, "busfc", "[power]"},
    {"arctan2", TO_FLOAT, NULL, mlx_arctan2, NULL, near_arctan2, "f", "[arctan2]"},
    {"bitwise_and", KEEPS, NULL, mlx_bitwise_and, ref_bitwise_and, NULL, "bus", "[bitwise_and]"},
    {"bitwise_or", KEEPS, NULL, mlx_bitwise_or, ref_bitwise_or, NULL, "bus", "[bitwise_or]"},
    {"bitwise_xor", KEEPS, NULL, mlx_bitwise_xor, ref_bitwise_xor, NULL, "bus", "[bitwise_xor]"},
    {"left_shift", SHIFTS, NULL, mlx_left_shift, ref_left_shift, NULL, "us", "[left_shift]"},
    {"right_shift", SHIFTS, NULL, mlx_right_shift, ref_right_shift, NULL, "us", "[right_shift]"},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static mlx_dtype operand_of(const struct row *row, mlx_dtype dtype)
{
    if (row->result == SHIFTS && dtype == MLX_BOOL) return MLX_UINT8;
    return row->result == TO_FLOAT && is_integer(dtype) ? MLX_FLOAT32 : dtype;
}

static mlx_dtype result_of(const struct row *row, mlx_dtype operand)
{
    if (row->result == GIVES_BOOL) return MLX_BOOL;
    return row->result == GIVES_REAL && operand == MLX_COMPLEX64 ? MLX_FLOAT32 : operand;
}

static bool accepts(const struct row *row, mlx_dtype operand)
{
    return strchr(row->kinds, "busfc"[facts[operand].kind]) != NULL;
}

/* Within 2 ulp; 16-bit floats within 1. What is too large for the dtype is its first power of two that is. */
static bool is_near(struct scalar got, long double want)
{
    long double beyond = ldexpl(1, facts[got.dtype].beyond);
    if (fabsl(want) > beyond && !isinf(want)) want = copysignl(beyond, want);
    if (isinf(want)) return wide_value(got) == want;
    return is_close(got, want, facts[got.dtype].size == 2 ? 1 : 2, 0);
}

static bool is_right(const struct row *row, struct scalar a, struct scalar b, struct scalar got)
{
    const struct complex_reference *function = complex_reference(row->name);
    if (function && a.dtype == MLX_COMPLEX64)
        return complex_close(function, wide_of(a), wide_of(row->binary ? b : a), got.f, got.imaginary);
    if (row->close && facts[a.dtype].kind == IS_FLOAT) return is_near(got, row->close(wide_value(a), wide_value(b)));
    if (row->exact == ref_abs && a.dtype == MLX_COMPLEX64)
        return is_close(got, hypotl((long double)a.f, (long double)a.imaginary), 1, 0) || isinf(got.f);
    return same_scalar(got, row->exact(a, b));
}

/* ---- one and two inputs -------------------------------------------------------------------------------------------
 */

static int call_row(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct row *row = context;
    (void)count;
    return row->unary ? row->unary(outputs, inputs[0], stream) : row->binary(outputs, inputs[0], inputs[1], stream);
}

static void check_row(const struct row *row, const struct numbers *inputs, enum layout layout)
{
    int count = row->binary ? 2 : 1;
    mlx_array arrays[2] = {{0}};
    struct numbers got;
    mlx_dtype dtype = inputs[0].dtype, operand = operand_of(row, dtype);
    char what[128];
    snprintf(what, sizeof what, "%s of %s", row->name, facts[dtype].name);
    CHECK_CONTEXT("%s %s, layout %d", what, shape_text(&inputs[0].shape).text, layout);
    for (int i = 0; i < count; i++) arrays[i] = make_array(&inputs[i], layout);
    run_both_ways(call_row, row, arrays, count, &got, 1, 1, what);
    for (int i = 0; i < count; i++) mlx_array_free(arrays[i]);
    CHECK_EQ(got.dtype, result_of(row, operand));
    CHECK_TRUE(same_shapes(&got.shape, &inputs[0].shape));
    for (int i = 0; i < got.size; i++) {
        struct scalar a = scalar_cast(get(&inputs[0], i), operand),
                      b = scalar_cast(get(&inputs[count - 1], i), operand);
        if (!is_right(row, a, b, get(&got, i)))
            CHECK_FAIL("%s, layout %d, element %d: (%.17g %+gi, %.17g %+gi) gave %.17g %+gi", what, layout, i,
                       to_double(a), (double)a.imaginary, to_double(b), (double)b.imaginary, to_double(get(&got, i)),
                       (double)get(&got, i).imaginary);
    }
    numbers_free(&got);
}
#define check_row(...) CHECK_CALL(check_row, __VA_ARGS__)

static void check_one_input(const struct row *row, mlx_dtype dtype)
{
    int chosen_ones = chosen_count(dtype);
    struct shape shape = {1, {chosen_ones + 2000}};
    uint64_t seed = 99;
    struct numbers input = numbers_filled(dtype, &shape, random_value, &seed);
    for (int i = 0; i < chosen_ones; i++) put(&input, i, chosen(dtype, i));
    check_row(row, &input, PACKED);
    check_row(row, &input, SPREAD);
    numbers_free(&input);
}

/* Each chosen value with each, then random ones of which the second is small: exponents and shifts that matter. */
static void check_two_inputs(const struct row *row, mlx_dtype dtype)
{
    int n = chosen_count(dtype), size = n * n + 2000;
    struct shape shape = {1, {size}};
    uint64_t seed = 7;
    struct numbers inputs[2] = {numbers_filled(dtype, &shape, random_value, &seed),
                                numbers_filled(dtype, &shape, small_value, &seed)};
    for (int i = 0; i < n * n; i++) put(&inputs[0], i, chosen(dtype, i / n)), put(&inputs[1], i, chosen(dtype, i % n));
    check_row(row, inputs, PACKED);
    check_row(row, inputs, REVERSED);
    numbers_free(&inputs[0]), numbers_free(&inputs[1]);
}

static void test_every_operation_and_dtype(void **state)
{
    (void)state;
    for (int r = 0; r < ROW_COUNT; r++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            if (!accepts(&rows[r], operand_of(&rows[r], dtype))) continue;
            if (rows[r].unary)
                check_one_input(&rows[r], dtype);
            else
                check_two_inputs(&rows[r], dtype);
        }
}

/* |z|, 1 / z and z / |z| of numbers that are easy to check by hand. */
static void test_complex(void **state)
{
    (void)state;
    const float values[] = {3, -4, 0, 0, 0, 2, -5, 12};
    const int shape[] = {4};
    mlx_array z = mlx_array_new_data(values, shape, 1, MLX_COMPLEX64), res = mlx_array_new();
    expect_ok(mlx_abs(&res, z, stream), "abs");
    expect_ok(mlx_array_eval(res), "eval");
    const float sizes[] = {5, 0, 2, 13};
    for (int i = 0; i < 4; i++) CHECK_EQ(mlx_array_data_float32(res)[i], sizes[i]);
    expect_ok(mlx_sign(&res, z, stream), "sign");
    expect_ok(mlx_array_eval(res), "eval");
    const float *parts = (const float *)mlx_array_data_uint8(res);
    const float signs[] = {0.6f, -0.8f, 0, 0, 0, 1, -5 / 13.0f, 12 / 13.0f};
    for (int i = 0; i < 8; i++) CHECK_EQ(parts[i], signs[i]);
    expect_ok(mlx_reciprocal(&res, z, stream), "reciprocal");
    expect_ok(mlx_array_eval(res), "eval");
    parts = (const float *)mlx_array_data_uint8(res);
    CHECK_TRUE(parts[0] == 0.12f && parts[1] == 0.16f && parts[5] == -0.5f);
    mlx_array_free(z), mlx_array_free(res);
}

/* erf undoes it: relative to x, the error of erfinv(x) counts by at most its own size. */
static void test_erfinv(void **state)
{
    (void)state;
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT64};
    enum { COUNT = 4001 };
    struct shape shape = {1, {COUNT + 6}};
    for (int d = 0; d < 2; d++) {
        struct numbers input = numbers_new(dtypes[d], &shape);
        const double edges[] = {1, -1, 0, -0.0, 1.5, NAN};
        for (int i = 0; i < COUNT; i++) put(&input, i, scalar_cast(make_double((i - 2000) / 2000.5), dtypes[d]));
        for (int i = 0; i < 6; i++) put(&input, COUNT + i, scalar_cast(make_double(edges[i]), dtypes[d]));
        mlx_array a = packed_array(&input), res = mlx_array_new();
        expect_ok(mlx_erfinv(&res, a, stream), "erfinv");
        struct numbers got = read_array(res);
        for (int i = 0; i < COUNT; i++) {
            long double x = wide_value(get(&input, i)), back = erfl(wide_value(get(&got, i)));
            if (!(fabsl(back - x) <= fabsl(x) * (d ? 0x1p-51L : 0x1p-23L)))
                CHECK_FAIL("erf(erfinv(%.17Lg)) is %.17Lg", x, back);
        }
        const double want[] = {INFINITY, -INFINITY, 0, -0.0, NAN, NAN};
        for (int i = 0; i < 6; i++) CHECK_TRUE(same_float(to_double(get(&got, COUNT + i)), want[i]));
        mlx_array_free(a), mlx_array_free(res);
        numbers_free(&input), numbers_free(&got);
    }
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

static void expect_text(const char *part)
{
    if (part && !strstr(error_text, part)) CHECK_FAIL("expected \"%s\" in \"%s\"", part, error_text);
}
#define expect_text(...) CHECK_CALL(expect_text, __VA_ARGS__)

static void test_refused_dtypes(void **state)
{
    struct shape shape = {1, {3}};
    int refused = 0;
    (void)state;
    for (int r = 0; r < ROW_COUNT; r++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            const struct row *row = &rows[r];
            if (!row->shown || accepts(row, operand_of(row, dtype)) || dtype == MLX_BOOL) continue;
            struct numbers input = numbers_new(dtype, &shape);
            mlx_array arrays[2] = {packed_array(&input), packed_array(&input)}, res = mlx_array_new();
            int code = call_row(arrays, 2, &res, row);
            expect_text(row->shown);
            expect_refusal(code, res, row->name);
            mlx_array_free(arrays[0]), mlx_array_free(arrays[1]);
            numbers_free(&input);
            refused++;
        }
    CHECK_GT(refused, 30);
}

static void test_empty_handles(void **state)
{
    (void)state;
    mlx_array none = {0}, one = mlx_array_new_float(1), kept = mlx_array_new_int(5);
    mlx_stream no_stream = {0};
    void *box = kept.ctx;
    for (int r = 0; r < ROW_COUNT; r++) {
        const struct row *row = &rows[r];
        int codes[3] = {row->unary ? row->unary(&kept, none, stream) : row->binary(&kept, one, none, stream),
                        row->unary ? row->unary(&kept, one, no_stream) : row->binary(&kept, one, one, no_stream),
                        row->unary ? row->unary(NULL, one, stream) : row->binary(&kept, none, one, stream)};
        CHECK_EQ(codes[0] + codes[1] + codes[2], 3);
        CHECK_EQ(error_count, 3);
        error_count = 0;
    }
    int value = 0;
    CHECK_EQ(mlx_array_item_int32(&value, kept), 0);
    CHECK_TRUE(value == 5 && kept.ctx == box);
    mlx_array_free(one), mlx_array_free(kept);
}

static void test_shapes_that_do_not_fit(void **state)
{
    (void)state;
    struct shape left = {1, {3}}, right = {1, {4}};
    struct numbers a = numbers_new(MLX_INT32, &left), b = numbers_new(MLX_INT32, &right);
    mlx_array x = packed_array(&a), y = packed_array(&b), res = mlx_array_new();
    for (int r = 0; r < ROW_COUNT; r++)
        if (rows[r].binary) {
            int code = rows[r].binary(&res, x, y, stream);
            expect_text("cannot be broadcast");
            expect_text(rows[r].shown);
            expect_refusal(code, res, rows[r].name);
        }
    int code = mlx_isclose(&res, x, y, 1e-5, 1e-8, false, stream);
    expect_text("[isclose]");
    expect_refusal(code, res, "isclose");
    code = mlx_clip(&res, x, y, (mlx_array){0}, stream);
    expect_text("[clip]");
    expect_refusal(code, res, "clip");
    code = mlx_clip(&res, x, (mlx_array){0}, (mlx_array){0}, stream);
    expect_text("[clip]");
    expect_refusal(code, res, "clip without bounds");
    mlx_vector_array both = {0};
    CHECK_EQ(mlx_divmod(&both, x, y, stream), 1);
    expect_text("[divmod]");
    CHECK_NULL(both.ctx);
    mlx_array_free(x), mlx_array_free(y);
    numbers_free(&a), numbers_free(&b);
}

/* ---- made of several operations -----------------------------------------------------------------------------------
 */

static mlx_array doubles(const double *values, int count)
{
    return mlx_array_new_data(values, &count, 1, MLX_FLOAT64);
}

static void expect_doubles(mlx_array array, const double *want, int count, const char *what)
{
    struct numbers got = read_array(array);
    CHECK_EQ(got.size, count);
    for (int i = 0; i < count; i++)
        if (!same_float(to_double(get(&got, i)), want[i]))
            CHECK_FAIL("%s: element %d is %.17g, expected %.17g", what, i, to_double(get(&got, i)), want[i]);
    numbers_free(&got);
}
#define expect_doubles(...) CHECK_CALL(expect_doubles, __VA_ARGS__)

static void test_round_to_decimals(void **state)
{
    (void)state;
    const double values[] = {2.5, 3.5, -2.5, 1.2345, 1234.5, -1.005};
    mlx_array a = doubles(values, 6), res = mlx_array_new();
    expect_ok(mlx_round(&res, a, 0, stream), "round");
    expect_doubles(res, (double[]){2, 4, -2, 1, 1234, -1}, 6, "round");
    expect_ok(mlx_round(&res, a, 2, stream), "round");
    expect_doubles(res, (double[]){2.5, 3.5, -2.5, 1.23, 1234.5, -1.0}, 6, "to hundredths");
    expect_ok(mlx_round(&res, a, -2, stream), "round");
    expect_doubles(res, (double[]){0, 0, -0.0, 0, 1200, -0.0}, 6, "to hundreds");
    const int whole[] = {123, 155, -250, 350}, shape[] = {4};
    mlx_array b = mlx_array_new_data(whole, shape, 1, MLX_INT32);
    expect_ok(mlx_round(&res, b, -1, stream), "round");
    CHECK_EQ(mlx_array_dtype(res), MLX_INT32);
    expect_doubles(res, (double[]){120, 160, -250, 350}, 4, "integers to tens");
    expect_ok(mlx_round(&res, b, 3, stream), "round");
    expect_doubles(res, (double[]){123, 155, -250, 350}, 4, "integers to thousandths");
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(res);
}

static void test_clip(void **state)
{
    (void)state;
    mlx_array a = doubles((double[]){-2, 0.5, NAN, 7}, 4), low = mlx_array_new_float(-1), high = mlx_array_new_float(1);
    mlx_array res = mlx_array_new(), none = {0};
    expect_ok(mlx_clip(&res, a, low, high, stream), "clip");
    expect_doubles(res, (double[]){-1, 0.5, NAN, 1}, 4, "both");
    expect_ok(mlx_clip(&res, a, none, high, stream), "clip");
    expect_doubles(res, (double[]){-2, 0.5, NAN, 1}, 4, "above");
    expect_ok(mlx_clip(&res, a, low, none, stream), "clip");
    expect_doubles(res, (double[]){-1, 0.5, NAN, 7}, 4, "below");
    mlx_array_free(a), mlx_array_free(low), mlx_array_free(high), mlx_array_free(res);
}

static void test_nan_to_num(void **state)
{
    (void)state;
    mlx_optional_float none = {0}, nine = {9, true}, minus = {-9, true};
    mlx_array a = doubles((double[]){NAN, INFINITY, -INFINITY, 3}, 4), res = mlx_array_new();
    expect_ok(mlx_nan_to_num(&res, a, 1.5f, nine, minus, stream), "nan_to_num");
    expect_doubles(res, (double[]){1.5, 9, -9, 3}, 4, "given");
    static const struct {
        mlx_dtype dtype;
        double largest;
    } ends[] = {{MLX_FLOAT64, DBL_MAX}, {MLX_FLOAT32, FLT_MAX}, {MLX_FLOAT16, 65504}, {MLX_BFLOAT16, 0x1.fep127}};
    for (int i = 0; i < 4; i++) {
        mlx_array b = mlx_array_new();
        expect_ok(mlx_astype(&b, a, ends[i].dtype, stream), "astype");
        expect_ok(mlx_nan_to_num(&res, b, 0, none, none, stream), "nan_to_num");
        CHECK_EQ(mlx_array_dtype(res), ends[i].dtype);
        expect_doubles(res, (double[]){0, ends[i].largest, -ends[i].largest, 3}, 4, facts[ends[i].dtype].name);
        mlx_array_free(b);
    }
    mlx_array_free(a), mlx_array_free(res);
}

static bool item(mlx_array array)
{
    bool value = false;
    CHECK_EQ(mlx_array_ndim(array), 0);
    expect_ok(mlx_array_item_bool(&value, array), "item");
    return value;
}

static void test_closeness(void **state)
{
    (void)state;
    mlx_array a = doubles((double[]){1, 1, 1e10, NAN, INFINITY, -INFINITY, INFINITY, 0}, 8);
    mlx_array b = doubles((double[]){1, 1.1, 1.00001e10, NAN, INFINITY, INFINITY, 5, 1e-9}, 8), res = mlx_array_new();
    expect_ok(mlx_isclose(&res, a, b, 1e-5, 1e-8, false, stream), "isclose");
    expect_doubles(res, (double[]){1, 0, 1, 0, 1, 0, 0, 1}, 8, "isclose");
    expect_ok(mlx_isclose(&res, a, b, 0, 0.2, true, stream), "isclose");
    expect_doubles(res, (double[]){1, 1, 0, 1, 1, 0, 0, 1}, 8, "isclose, NaN equal");
    expect_ok(mlx_allclose(&res, a, b, 1e-5, 1e-8, true, stream), "allclose");
    CHECK_FALSE(item(res));
    expect_ok(mlx_allclose(&res, a, a, 0, 0, true, stream), "allclose");
    CHECK_TRUE(item(res));
    expect_ok(mlx_allclose(&res, a, a, 0, 0, false, stream), "allclose");
    CHECK_FALSE(item(res));
    expect_ok(mlx_array_equal(&res, a, a, false, stream), "array_equal");
    CHECK_FALSE(item(res));
    expect_ok(mlx_array_equal(&res, a, a, true, stream), "array_equal");
    CHECK_TRUE(item(res));
    mlx_array one = mlx_array_new_int(1), more = doubles((double[]){1}, 1);
    expect_ok(mlx_array_equal(&res, one, more, false, stream), "array_equal");
    CHECK_FALSE(item(res)); /* other shapes */
    mlx_array ints = mlx_array_new_int(7), sevens = mlx_array_new_float(7);
    expect_ok(mlx_array_equal(&res, ints, sevens, false, stream), "array_equal");
    CHECK_TRUE(item(res)); /* other dtypes */
    mlx_array_free(one), mlx_array_free(more), mlx_array_free(ints), mlx_array_free(sevens);
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(res);
}

/* quotient * divisor + rest is the dividend, also where one of them is negative or the divisor is 0. */
static void test_divmod(void **state)
{
    (void)state;
    const int left[] = {-7, 7, -7, 5, -7, 0}, right[] = {2, -2, -2, 0, 3, -4}, shape[] = {6};
    mlx_array a = mlx_array_new_data(left, shape, 1, MLX_INT32), b = mlx_array_new_data(right, shape, 1, MLX_INT32);
    mlx_array part = mlx_array_new(), whole = mlx_array_new();
    mlx_vector_array res = mlx_vector_array_new();
    expect_ok(mlx_divmod(&res, a, b, stream), "divmod");
    CHECK_EQ(mlx_vector_array_size(res), 2);
    mlx_vector_array_get(&part, res, 0);
    expect_doubles(part, (double[]){-3, -3, 3, 0, -2, 0}, 6, "quotients");
    expect_ok(mlx_multiply(&whole, part, b, stream), "multiply");
    mlx_vector_array_get(&part, res, 1);
    expect_doubles(part, (double[]){-1, 1, -1, 5, -1, 0}, 6, "rests");
    expect_ok(mlx_add(&whole, whole, part, stream), "add");
    expect_doubles(whole, (double[]){-7, 7, -7, 5, -7, 0}, 6, "dividends");
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(part), mlx_array_free(whole);
    mlx_vector_array_free(res);
}

/* Of floats the quotient is floored and the rest has the divisor's sign. */
static void test_divmod_of_floats(void **state)
{
    (void)state;
    mlx_array a = doubles((double[]){-7, 7, 7.5}, 3), b = doubles((double[]){3, -3, 2}, 3), part = mlx_array_new();
    mlx_vector_array res = mlx_vector_array_new();
    expect_ok(mlx_divmod(&res, a, b, stream), "divmod");
    mlx_vector_array_get(&part, res, 0);
    expect_doubles(part, (double[]){-3, -3, 3}, 3, "quotients");
    mlx_vector_array_get(&part, res, 1);
    expect_doubles(part, (double[]){2, -2, 1.5}, 3, "rests");
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(part);
    mlx_vector_array_free(res);
}

static void test_stop_gradient(void **state)
{
    (void)state;
    mlx_array a = mlx_array_new_float(2), res = mlx_array_new();
    expect_ok(mlx_stop_gradient(&res, a, stream), "stop_gradient");
    expect_doubles(res, (double[]){2}, 1, "the same");
    mlx_array_free(a), mlx_array_free(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_operation_and_dtype, set_up),
        cmocka_unit_test_setup(test_complex, set_up),
        cmocka_unit_test_setup(test_erfinv, set_up),
        cmocka_unit_test_setup(test_refused_dtypes, set_up),
        cmocka_unit_test_setup(test_empty_handles, set_up),
        cmocka_unit_test_setup(test_shapes_that_do_not_fit, set_up),
        cmocka_unit_test_setup(test_round_to_decimals, set_up),
        cmocka_unit_test_setup(test_clip, set_up),
        cmocka_unit_test_setup(test_nan_to_num, set_up),
        cmocka_unit_test_setup(test_closeness, set_up),
        cmocka_unit_test_setup(test_divmod, set_up),
        cmocka_unit_test_setup(test_divmod_of_floats, set_up),
        cmocka_unit_test_setup(test_stop_gradient, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
