/*
 * test_mlxc_gradient_elementwise.c - derivatives of element-wise functions, against differences
 * (support/derivatives.h).
 */
#include "mlxc_support.h"
#include "support/derivatives.h"

static int run_unary(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)
{
    return c->unary(out, in[0], stream);
}

static int run_binary(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)
{
    return c->binary(out, in[0], in[1], stream);
}

static void test_of_one_array(void **state)
{
    static const struct {
        const char *name;
        int (*run)(mlx_array *, const mlx_array, const mlx_stream);
        double low, high;
    } rows[] = {
        {"abs", mlx_abs, 0.5, 2},
        {"abs of negative", mlx_abs, -2, -0.5},
        {"negative", mlx_negative, -2, 2},
        {"square", mlx_square, -2, 2},
        {"exp", mlx_exp, -2, 2},
        {"log", mlx_log, 0.5, 3},
        {"erf", mlx_erf, -2, 2},
        {"sigmoid", mlx_sigmoid, -4, 4},
        {"tanh", mlx_tanh, -2, 2},
        {"sqrt", mlx_sqrt, 0.5, 3},
        {"rsqrt", mlx_rsqrt, 0.5, 3},
        {"reciprocal", mlx_reciprocal, 0.5, 3},
        {"expm1", mlx_expm1, -2, 2},
        {"log1p", mlx_log1p, -0.5, 2},
        {"log2", mlx_log2, 0.5, 3},
        {"log10", mlx_log10, 0.5, 3},
        {"sin", mlx_sin, -3, 3},
        {"cos", mlx_cos, -3, 3},
        {"tan", mlx_tan, -1, 1},
        {"arcsin", mlx_arcsin, -0.8, 0.8},
        {"arccos", mlx_arccos, -0.8, 0.8},
        {"arctan", mlx_arctan, -2, 2},
        {"sinh", mlx_sinh, -2, 2},
        {"cosh", mlx_cosh, -2, 2},
        {"arcsinh", mlx_arcsinh, -2, 2},
        {"arccosh", mlx_arccosh, 1.5, 3},
        {"arctanh", mlx_arctanh, -0.8, 0.8},
        {"erfinv", mlx_erfinv, -0.8, 0.8},
        {"degrees", mlx_degrees, -2, 2},
        {"radians", mlx_radians, -2, 2},
        {"floor", mlx_floor, 0.2, 0.8},
        {"ceil", mlx_ceil, 0.2, 0.8},
        {"sign", mlx_sign, 0.2, 0.8},
        {"stop_gradient of its own", NULL, 0, 0},
    };
    (void)state;
    for (size_t i = 0; rows[i].run; i++) {
        const struct derivative_case c = {.name = rows[i].name,
                                          .run = run_unary,
                                          .count = 1,
                                          .shapes = {{2, {2, 3}}},
                                          .low = rows[i].low,
                                          .high = rows[i].high,
                                          .unary = rows[i].run};
        check_derivatives(&c);
    }
    expect_no_error();
}

static void test_of_two_arrays(void **state)
{
    static const struct {
        const char *name;
        int (*run)(mlx_array *, const mlx_array, const mlx_array, const mlx_stream);
        double low, high;
    } rows[] = {
        {"add", mlx_add, -2, 2},
        {"subtract", mlx_subtract, -2, 2},
        {"multiply", mlx_multiply, -2, 2},
        {"divide", mlx_divide, 0.5, 2},
        {"maximum", mlx_maximum, -2, 2},
        {"minimum", mlx_minimum, -2, 2},
        {"logaddexp", mlx_logaddexp, -2, 2},
        {"power", mlx_power, 0.5, 2},
        {"arctan2", mlx_arctan2, 0.5, 2},
    };
    static const struct derivative_shape shapes[][2] = {
        {{2, {2, 3}}, {2, {2, 3}}}, {{2, {2, 3}}, {1, {3}}}, {{3, {2, 1, 3}}, {2, {4, 1}}}, {{0, {0}}, {1, {4}}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const struct derivative_case c = {.name = rows[i].name,
                                              .run = run_binary,
                                              .count = 2,
                                              .shapes = {shapes[s][0], shapes[s][1]},
                                              .low = rows[i].low,
                                              .high = rows[i].high,
                                              .binary = rows[i].run};
            check_derivatives(&c);
        }
    expect_no_error();
}

static int run_where(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)
{
    mlx_array condition = mlx_array_new();
    (void)c;
    int code = mlx_less(&condition, in[0], in[1], stream) || mlx_where(out, condition, in[0], in[1], stream);
    mlx_array_free(condition);
    return code;
}

static int run_clip(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)
{
    (void)c;
    return mlx_clip(out, in[0], in[1], in[2], stream);
}

static int run_remainder(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)
{
    mlx_array seven = mlx_array_new_float(7), moved = mlx_array_new();
    (void)c;
    int code = mlx_add(&moved, in[0], seven, stream) || mlx_astype(&moved, moved, mlx_array_dtype(in[0]), stream) ||
               mlx_remainder(out, moved, in[1], stream);
    mlx_array_free(seven);
    mlx_array_free(moved);
    return code;
}

/* Through a narrower float: a cast back has the gradient of a cast. */
static int run_casts(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)
{
    (void)c;
    return mlx_astype(out, in[0], MLX_FLOAT64, stream) || mlx_square(out, *out, stream);
}

static void test_of_more(void **state)
{
    static const struct derivative_case cases[] = {
        {.name = "where", .run = run_where, .count = 2, .shapes = {{2, {2, 3}}, {1, {3}}}, .low = -2, .high = 2},
        {.name = "clip", .run = run_clip, .count = 3, .shapes = {{1, {6}}, {0, {0}}, {1, {6}}}, .low = -2, .high = 2},
        {.name = "remainder",
         .run = run_remainder,
         .count = 2,
         .shapes = {{1, {4}}, {1, {4}}},
         .low = 1.1,
         .high = 1.3},
        {.name = "casts", .run = run_casts, .count = 1, .shapes = {{1, {4}}}, .low = -2, .high = 2, .only_wide = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_derivatives(&cases[i]);
    expect_no_error();
}

int main(void)
{
    derivative_stream = mlx_default_cpu_stream_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_of_one_array, install_handler),
        cmocka_unit_test_setup(test_of_two_arrays, install_handler),
        cmocka_unit_test_setup(test_of_more, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
