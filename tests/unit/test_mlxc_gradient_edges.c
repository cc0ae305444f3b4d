/*
 * test_mlxc_gradient_edges.c - gradients at corners: zeros, infinities, NaN, equal elements, places that are read or
 * written twice, empty arrays, complex numbers. What is expected was written down from the reference implementation,
 * but where it says otherwise.
 */
#include <math.h>

#include "mlxc_support.h"

static mlx_stream stream;

enum { MOST = 4 };

struct edge {
    const char *name;
    int (*run)(mlx_array *out, const mlx_array *in);
    int inputs, size;
    float values[2][MOST], gradients[2][MOST];
};

static int run_edge(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct edge *edge = payload;
    mlx_array inputs[2] = {{NULL}}, out = mlx_array_new();
    int failed = 0;
    for (int i = 0; i < edge->inputs; i++) failed = failed || mlx_vector_array_get(&inputs[i], in, (size_t)i);
    failed =
        failed || edge->run(&out, inputs) || mlx_sum(&out, out, false, stream) || mlx_vector_array_set_value(res, out);
    for (int i = 0; i < edge->inputs; i++) mlx_array_free(inputs[i]);
    mlx_array_free(out);
    return failed;
}

static void check_edge(const struct edge *edge)
{
    CHECK_CONTEXT("%s", edge->name);
    mlx_closure fun = mlx_closure_new_func_payload(run_edge, (void *)(uintptr_t)edge, NULL);
    mlx_closure_value_and_grad gradient = mlx_closure_value_and_grad_new();
    mlx_vector_array in = mlx_vector_array_new(), out = mlx_vector_array_new(), grads = mlx_vector_array_new();
    for (int i = 0; i < edge->inputs; i++) {
        mlx_array input = floats(edge->values[i], edge->size);
        CHECK_EQ(mlx_vector_array_append_value(in, input), 0);
        mlx_array_free(input);
    }
    CHECK_EQ(mlx_value_and_grad(&gradient, fun, (const int[]){0, 1}, (size_t)edge->inputs), 0);
    CHECK_EQ(mlx_closure_value_and_grad_apply(&out, &grads, gradient, in), 0);
    for (int i = 0; i < edge->inputs; i++) {
        mlx_array made = mlx_array_new();
        CHECK_EQ(mlx_vector_array_get(&made, grads, (size_t)i) || mlx_array_eval(made), 0);
        CHECK_EQ(mlx_contiguous(&made, made, false, stream) || mlx_array_eval(made), 0);
        CHECK_EQ(mlx_array_size(made), edge->size);
        const float *got = mlx_array_data_float32(made);
        for (int k = 0; k < edge->size; k++) {
            float wanted = edge->gradients[i][k];
            bool is_near = got[k] == wanted || fabsf(got[k] - wanted) <= 1e-6f * fabsf(wanted);
            if (!is_near && !(isnan(got[k]) && isnan(wanted)))
                CHECK_FAIL("gradient %d, element %d is %g, expected %g", i, k, (double)got[k], (double)wanted);
        }
        mlx_array_free(made);
    }
    mlx_closure_value_and_grad_free(gradient);
    mlx_closure_free(fun);
    mlx_vector_array_free(in);
    mlx_vector_array_free(out);
    mlx_vector_array_free(grads);
}
#define check_edge(...) CHECK_CALL(check_edge, __VA_ARGS__)

#define RUN(name, ...)                                                                                                 \
    static int run_##name(mlx_array *out, const mlx_array *in)                                                         \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* *out times 1, 2, 3 ... */
static int weighted(mlx_array *out)
{
    mlx_array weights = mlx_array_new();
    int failed = mlx_arange(&weights, 1, (double)mlx_array_size(*out) + 1, 1, MLX_FLOAT32, stream) ||
                 mlx_multiply(out, *out, weights, stream);
    return mlx_array_free(weights), failed;
}

static int with_indices(mlx_array *indices)
{
    static const int values[] = {1, 1, 0};
    const int count = 3;
    *indices = mlx_array_new_data(values, &count, 1, MLX_INT32);
    return 0;
}

RUN(maximum, return mlx_maximum(out, in[0], in[1], stream);)
RUN(minimum, return mlx_minimum(out, in[0], in[1], stream);)
RUN(max, return mlx_max(out, in[0], false, stream);)
RUN(min, return mlx_min(out, in[0], false, stream);)
RUN(sort, return mlx_sort(out, in[0], stream) || weighted(out);)
RUN(abs, return mlx_abs(out, in[0], stream);)
RUN(sqrt, return mlx_sqrt(out, in[0], stream);)
RUN(power, return mlx_power(out, in[0], in[1], stream);)
RUN(prod, return mlx_prod(out, in[0], false, stream);)
RUN(logsumexp, return mlx_logsumexp(out, in[0], false, stream);)
RUN(divide, return mlx_divide(out, in[0], in[1], stream);)
RUN(log, return mlx_log(out, in[0], stream);)
RUN(cumprod, return mlx_cumprod(out, in[0], 0, false, true, stream);)
RUN(cummax, return mlx_cummax(out, in[0], 0, false, true, stream) || weighted(out);)
RUN(remainder, return mlx_remainder(out, in[0], in[1], stream);)
RUN(arctan2, return mlx_arctan2(out, in[0], in[1], stream);)
RUN(logaddexp, return mlx_logaddexp(out, in[0], in[1], stream);)
RUN(std, return mlx_std(out, in[0], false, 0, stream);)
RUN(sigmoid, return mlx_sigmoid(out, in[0], stream);)
RUN(sum, return mlx_sum(out, in[0], false, stream);)
RUN(argsort, return mlx_argsort(out, in[0], stream) || mlx_astype(out, *out, MLX_FLOAT32, stream);)
RUN(clip, mlx_array zero = mlx_array_new_float(0), one = mlx_array_new_float(1);
    int failed = mlx_clip(out, in[0], zero, one, stream); return mlx_array_free(zero), mlx_array_free(one), failed;)
RUN(log_where, mlx_array zero = mlx_array_new_float(0), is_more = mlx_array_new();
    int failed = mlx_greater(&is_more, in[0], zero, stream) || mlx_log(out, in[0], stream) ||
                 mlx_where(out, is_more, *out, zero, stream);
    return mlx_array_free(zero), mlx_array_free(is_more), failed;)
RUN(take, mlx_array indices; int failed = with_indices(&indices) || mlx_take(out, in[0], indices, stream);
    return mlx_array_free(indices), failed;)
RUN(scatter_max, mlx_array indices, updates = mlx_array_new();
    int failed = with_indices(&indices) || mlx_expand_dims(&updates, in[1], 1, stream) ||
                 mlx_scatter_max_single(out, in[0], indices, updates, 0, stream);
    return mlx_array_free(indices), mlx_array_free(updates), failed;)

static void test_corners(void **state)
{
    static const struct edge edges[] = {
        {"maximum", run_maximum, 2, 3, {{1, 2, NAN}, {1, 3, 1}}, {{0, 0, 0}, {1, 1, 0}}},
        {"minimum", run_minimum, 2, 3, {{1, 2, NAN}, {1, 3, 1}}, {{0, 1, 0}, {1, 0, 0}}},
        {"max", run_max, 1, 3, {{1, 3, 3}}, {{0, 0.5f, 0.5f}}},
        {"min", run_min, 1, 3, {{1, 1, 3}}, {{0.5f, 0.5f, 0}}},
        {"sort", run_sort, 1, 3, {{2, 1, 2}}, {{2, 1, 3}}},
        {"argsort", run_argsort, 1, 3, {{2, 1, 2}}, {{0, 0, 0}}},
        {"abs", run_abs, 1, 3, {{0, -0.0f, INFINITY}}, {{0, 0, 1}}},
        {"sqrt", run_sqrt, 1, 2, {{0, 4}}, {{INFINITY, 0.25f}}},
        {"power",
         run_power,
         2,
         4,
         {{0, 0, 2, -2}, {0, 2, 0, 2}},
         {{NAN, 0, 0, -4}, {-INFINITY, 0, 0.6931471824645996f, NAN}}},
        {"prod, one zero", run_prod, 1, 3, {{0, 3, 4}}, {{12, 0, 0}}},
        {"prod, two zeros", run_prod, 1, 3, {{0, 0, 4}}, {{0, 0, 0}}},
        {"logsumexp", run_logsumexp, 1, 2, {{-INFINITY, 0}}, {{0, 1}}},
        {"divide", run_divide, 2, 2, {{1, 0}, {0, 0}}, {{INFINITY, INFINITY}, {-INFINITY, NAN}}},
        {"log", run_log, 1, 1, {{0}}, {{INFINITY}}},
        {"clip", run_clip, 1, 4, {{-1, 0, 0.5f, 1}}, {{0, 0, 1, 0}}},
        {"log behind where", run_log_where, 1, 2, {{0, 1}}, {{NAN, 1}}},
        {"take", run_take, 1, 3, {{1, 2, 3}}, {{1, 2, 0}}},
        {"scatter_max", run_scatter_max, 2, 3, {{1, 2, 3}, {5, 5, 0}}, {{1, 0, 1}, {1, 1, 0}}},
        {"cumprod", run_cumprod, 1, 3, {{2, 0, 3}}, {{1, 8, 0}}},
        {"remainder", run_remainder, 2, 1, {{5.5f}, {2}}, {{1}, {-2}}},
        {"arctan2", run_arctan2, 2, 1, {{0}, {0}}, {{NAN}, {NAN}}},
        {"logaddexp", run_logaddexp, 2, 1, {{-INFINITY}, {-INFINITY}}, {{NAN}, {NAN}}},
        {"std", run_std, 1, 2, {{1, 1}}, {{NAN, NAN}}},
        {"sigmoid", run_sigmoid, 1, 2, {{INFINITY, -INFINITY}}, {{0, 0}}},
        {"sum of nothing", run_sum, 1, 0, {{0}}, {{0}}},
        /* the reference has no gradient; the first of equal elements counts */
        {"cummax", run_cummax, 1, 3, {{2, 2, 1}}, {{6, 0, 0}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) check_edge(&edges[i]);
    expect_no_error();
}

/* ---- complex numbers ----------------------------------------------------------------------------------------------
 */

struct complex_edge {
    const char *name;
    int (*run)(mlx_array *out, const mlx_array *in);
    bool is_real; /* the result */
    float cotangent[2], gradient[2];
};

RUN(times, return mlx_multiply(out, in[0], in[1], stream);)
RUN(matrices, static const int shape[] = {1, 1}; mlx_array other = mlx_array_new();
    int failed = mlx_reshape(out, in[0], shape, 2, stream) || mlx_reshape(&other, in[1], shape, 2, stream) ||
                 mlx_matmul(out, *out, other, stream) || mlx_squeeze(out, *out, stream);
    return mlx_array_free(other), failed;)
RUN(prod_of_two, mlx_vector_array both = mlx_vector_array_new_data(in, 2);
    int failed = mlx_stack(out, both, stream) || mlx_prod(out, *out, false, stream);
    return mlx_vector_array_free(both), failed;)
RUN(over, return mlx_divide(out, in[0], in[1], stream);)
RUN(square, return mlx_square(out, in[0], stream);)
RUN(real, return mlx_real(out, in[0], stream);)
RUN(imag, return mlx_imag(out, in[0], stream);)
RUN(conjugate, return mlx_conjugate(out, in[0], stream);)

static int run_complex(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array inputs[2] = {{NULL}, mlx_array_new_complex(3, -1)}, out = mlx_array_new();
    int failed = mlx_vector_array_get(&inputs[0], in, 0) || ((const struct complex_edge *)payload)->run(&out, inputs) ||
                 mlx_vector_array_set_value(res, out);
    return mlx_array_free(inputs[0]), mlx_array_free(inputs[1]), mlx_array_free(out), failed;
}

/* At 1 + 2i; the second operand is 3 - i. The gradient of a square is that of a product, which in the reference
 * differs. */
static void test_complex(void **state)
{
    static const struct complex_edge edges[] = {
        {"multiply", run_times, false, {1, 1}, {2, 4}},
        {"matmul", run_matrices, false, {1, 1}, {2, 4}},
        {"prod", run_prod_of_two, false, {1, 1}, {2, 4}},
        {"divide", run_over, false, {1, 1}, {0.4f, 0.2f}},
        {"square", run_square, false, {1, 1}, {6, -2}},
        {"abs", run_abs, true, {2, 0}, {0.8944272f, 1.7888544f}},
        {"real", run_real, true, {2, 0}, {2, 0}},
        {"imag", run_imag, true, {2, 0}, {0, 2}},
        {"conjugate", run_conjugate, false, {1, 1}, {1, -1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        CHECK_CONTEXT("%s", edges[i].name);
        mlx_closure fun = mlx_closure_new_func_payload(run_complex, (void *)(uintptr_t)&edges[i], NULL);
        mlx_array z = mlx_array_new_complex(1, 2),
                  c = edges[i].is_real ? mlx_array_new_float(edges[i].cotangent[0]) : mlx_array_new_complex(1, 1);
        mlx_array made = mlx_array_new(), part[2] = {mlx_array_new(), mlx_array_new()};
        mlx_vector_array in = mlx_vector_array_new_value(z), by = mlx_vector_array_new_value(c);
        mlx_vector_array out = mlx_vector_array_new(), grads = mlx_vector_array_new();
        float got[2] = {0};
        CHECK_EQ(mlx_vjp(&out, &grads, fun, in, by) || mlx_vector_array_get(&made, grads, 0), 0);
        CHECK_EQ(mlx_real(&part[0], made, stream) || mlx_imag(&part[1], made, stream), 0);
        for (int k = 0; k < 2; k++) {
            CHECK_EQ(mlx_array_item_float32(&got[k], part[k]), 0);
            if (fabsf(got[k] - edges[i].gradient[k]) > 1e-6f)
                CHECK_FAIL("part %d is %g, expected %g", k, (double)got[k], (double)edges[i].gradient[k]);
            mlx_array_free(part[k]);
        }
        mlx_closure_free(fun);
        mlx_array_free(z), mlx_array_free(c), mlx_array_free(made);
        mlx_vector_array_free(in), mlx_vector_array_free(by), mlx_vector_array_free(out), mlx_vector_array_free(grads);
    }
    expect_no_error();
}

int main(void)
{
    stream = mlx_default_cpu_stream_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_corners, install_handler),
        cmocka_unit_test_setup(test_complex, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
