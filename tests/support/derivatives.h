/*
 * derivatives.h - derivatives of a function on arrays against central differences in float64, and against each other.
 *
 * A case is a function and what it is called with. check_derivatives() says where a derivative is wrong: vjp against
 * differences, jvp against vjp, a compiled derivative against the plain one bit by bit, and narrower floats against
 * float64.
 */
#ifndef KILN_TESTS_SUPPORT_DERIVATIVES_H
#define KILN_TESTS_SUPPORT_DERIVATIVES_H

#include <math.h>
#include <mlx/c/mlx.h>

#include "support/check.h"

enum { DERIVATIVE_INPUTS = 4, DERIVATIVE_AXES = 4, DERIVATIVE_MOST = 256 };

struct derivative_shape {
    int ndim, dims[DERIVATIVE_AXES];
};

struct derivative_case {
    const char *name;
    /* One output of the inputs, which are of the dtype that is tried. */
    int (*run)(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream);
    int count; /* inputs */
    struct derivative_shape shapes[DERIVATIVE_INPUTS];
    double low, high; /* of the elements; between them no corner */
    int (*unary)(mlx_array *, const mlx_array, const mlx_stream);
    int (*binary)(mlx_array *, const mlx_array, const mlx_array, const mlx_stream);
    int number;           /* for run */
    double tolerance;     /* of float64; 0: 1e-6 */
    bool only_wide;       /* narrower floats are not compared */
    bool is_not_compiled; /* sizes or values matter while it is traced */
};

static mlx_stream derivative_stream;

static inline uint64_t derivative_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

static inline int derivative_size(const struct derivative_shape *shape)
{
    int size = 1;
    for (int i = 0; i < shape->ndim; i++) size *= shape->dims[i];
    return size;
}

static inline void derivative_fill(double *values, int count, double low, double high, uint64_t *state)
{
    for (int i = 0; i < count; i++) {
        double unit = (double)(derivative_random(state) >> 11) / 9007199254740992.0;
        values[i] = (double)(float)(low + (high - low) * unit);
    }
}

static inline mlx_array derivative_array(const double *values, const struct derivative_shape *shape, mlx_dtype dtype)
{
    mlx_array made = mlx_array_new_data(values, shape->dims, shape->ndim, MLX_FLOAT64);
    CHECK_EQ(mlx_astype(&made, made, dtype, derivative_stream), 0);
    return made;
}

static inline void derivative_read(mlx_array array, double *out)
{
    mlx_array wide = mlx_array_new();
    CHECK_EQ(mlx_astype(&wide, array, MLX_FLOAT64, derivative_stream), 0);
    CHECK_EQ(mlx_contiguous(&wide, wide, false, derivative_stream), 0);
    CHECK_EQ(mlx_array_eval(wide), 0);
    int count = (int)mlx_array_size(wide);
    CHECK_LE(count, DERIVATIVE_MOST);
    if (count) memcpy(out, mlx_array_data_float64(wide), (size_t)count * sizeof *out);
    mlx_array_free(wide);
}

static inline int derivative_call(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct derivative_case *c = payload;
    mlx_array inputs[DERIVATIVE_INPUTS] = {{NULL}}, out = mlx_array_new();
    int code = 0;
    for (int i = 0; i < c->count && !code; i++) code = mlx_vector_array_get(&inputs[i], in, (size_t)i);
    if (!code) code = c->run(c, &out, inputs, derivative_stream);
    if (!code) code = mlx_vector_array_set_value(res, out);
    for (int i = 0; i < c->count; i++) mlx_array_free(inputs[i]);
    mlx_array_free(out);
    return code;
}

/* The vjp as a function of inputs and cotangent: all cotangents, to be compiled. */
static inline int derivative_vjp(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct derivative_case *c = payload;
    mlx_closure function = mlx_closure_new_func_payload(derivative_call, c, NULL);
    mlx_vector_array primals = mlx_vector_array_new(), cotangent = mlx_vector_array_new();
    mlx_vector_array out = mlx_vector_array_new();
    int code = 0;
    for (int i = 0; i <= c->count && !code; i++) {
        mlx_array input = mlx_array_new();
        code = mlx_vector_array_get(&input, in, (size_t)i) ||
               mlx_vector_array_append_value(i < c->count ? primals : cotangent, input);
        mlx_array_free(input);
    }
    if (!code) code = mlx_vjp(&out, res, function, primals, cotangent);
    mlx_vector_array_free(primals);
    mlx_vector_array_free(cotangent);
    mlx_vector_array_free(out);
    mlx_closure_free(function);
    return code;
}

struct derivative_values {
    double inputs[DERIVATIVE_INPUTS][DERIVATIVE_MOST], tangents[DERIVATIVE_INPUTS][DERIVATIVE_MOST];
    double cotangent[DERIVATIVE_MOST];
    struct derivative_shape out;
};

static inline double derivative_tolerance(const struct derivative_case *c)
{
    return c->tolerance > 0 ? c->tolerance : 1e-6;
}

/* The sum of the outputs times the cotangent, at inputs that differ from `v` in one element. */
static inline double derivative_at(const struct derivative_case *c, const struct derivative_values *v, int input,
                                   int element, double by)
{
    double values[DERIVATIVE_MOST], sum = 0;
    mlx_array in[DERIVATIVE_INPUTS] = {{NULL}}, out = mlx_array_new();
    for (int i = 0; i < c->count; i++) {
        memcpy(values, v->inputs[i], sizeof values);
        if (i == input) values[element] += by;
        in[i] = derivative_array(values, &c->shapes[i], MLX_FLOAT64);
    }
    CHECK_EQ(c->run(c, &out, in, derivative_stream), 0);
    derivative_read(out, values);
    for (int i = 0; i < derivative_size(&v->out); i++) sum += values[i] * v->cotangent[i];
    for (int i = 0; i < c->count; i++) mlx_array_free(in[i]);
    mlx_array_free(out);
    return sum;
}

/* Cotangents of all inputs, in `dtype`; compiled if asked for. */
static inline void derivative_pull(const struct derivative_case *c, const struct derivative_values *v, mlx_dtype dtype,
                                   bool is_compiled, bool shapeless, double out[][DERIVATIVE_MOST])
{
    mlx_closure plain = mlx_closure_new_func_payload(derivative_vjp, (void *)(uintptr_t)c, NULL), used = plain;
    mlx_vector_array in = mlx_vector_array_new(), res = mlx_vector_array_new();
    for (int i = 0; i <= c->count; i++) {
        mlx_array input = i < c->count ? derivative_array(v->inputs[i], &c->shapes[i], dtype)
                                       : derivative_array(v->cotangent, &v->out, dtype);
        CHECK_EQ(mlx_vector_array_append_value(in, input), 0);
        mlx_array_free(input);
    }
    if (is_compiled) {
        used = mlx_closure_new();
        CHECK_EQ(mlx_compile(&used, plain, shapeless), 0);
    }
    CHECK_EQ(mlx_closure_apply(&res, used, in), 0);
    CHECK_EQ(mlx_vector_array_size(res), c->count);
    for (int i = 0; i < c->count; i++) {
        mlx_array gradient = mlx_array_new();
        CHECK_EQ(mlx_vector_array_get(&gradient, res, (size_t)i), 0);
        CHECK_EQ(mlx_array_dtype(gradient), dtype);
        CHECK_EQ(mlx_array_size(gradient), derivative_size(&c->shapes[i]));
        derivative_read(gradient, out[i]);
        mlx_array_free(gradient);
    }
    if (is_compiled) mlx_closure_free(used);
    mlx_closure_free(plain);
    mlx_vector_array_free(in);
    mlx_vector_array_free(res);
}

static inline void derivative_push(const struct derivative_case *c, const struct derivative_values *v, double *out)
{
    mlx_closure function = mlx_closure_new_func_payload(derivative_call, (void *)(uintptr_t)c, NULL);
    mlx_vector_array in = mlx_vector_array_new(), tangents = mlx_vector_array_new();
    mlx_vector_array res = mlx_vector_array_new(), dres = mlx_vector_array_new();
    mlx_array tangent = mlx_array_new();
    for (int i = 0; i < c->count; i++) {
        mlx_array one = derivative_array(v->inputs[i], &c->shapes[i], MLX_FLOAT64);
        mlx_array by = derivative_array(v->tangents[i], &c->shapes[i], MLX_FLOAT64);
        CHECK_EQ(mlx_vector_array_append_value(in, one) || mlx_vector_array_append_value(tangents, by), 0);
        mlx_array_free(one);
        mlx_array_free(by);
    }
    CHECK_EQ(mlx_jvp(&res, &dres, function, in, tangents), 0);
    CHECK_EQ(mlx_vector_array_get(&tangent, dres, 0), 0);
    CHECK_EQ(mlx_array_size(tangent), derivative_size(&v->out));
    derivative_read(tangent, out);
    mlx_array_free(tangent);
    mlx_closure_free(function);
    mlx_vector_array_free(in);
    mlx_vector_array_free(tangents);
    mlx_vector_array_free(res);
    mlx_vector_array_free(dres);
}

static inline void derivative_choose(const struct derivative_case *c, struct derivative_values *v)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (const char *letter = c->name; *letter; letter++) state = state * 31 + (unsigned char)*letter;
    mlx_array in[DERIVATIVE_INPUTS] = {{NULL}}, out = mlx_array_new();
    for (int i = 0; i < c->count; i++) {
        int size = derivative_size(&c->shapes[i]);
        CHECK_LE(size, DERIVATIVE_MOST);
        derivative_fill(v->inputs[i], size, c->low, c->high, &state);
        derivative_fill(v->tangents[i], size, -1, 1, &state);
        in[i] = derivative_array(v->inputs[i], &c->shapes[i], MLX_FLOAT64);
    }
    CHECK_EQ(c->run(c, &out, in, derivative_stream), 0);
    v->out.ndim = (int)mlx_array_ndim(out);
    CHECK_LE(v->out.ndim, DERIVATIVE_AXES);
    for (int i = 0; i < v->out.ndim; i++) v->out.dims[i] = mlx_array_dim(out, i);
    derivative_fill(v->cotangent, derivative_size(&v->out), -1, 1, &state);
    for (int i = 0; i < c->count; i++) mlx_array_free(in[i]);
    mlx_array_free(out);
}

static inline bool derivative_near(double a, double b, double scale, double tolerance)
{
    return fabs(a - b) <= tolerance * (1 + scale) || (isnan(a) && isnan(b));
}

static inline double derivative_largest(const double *values, int count)
{
    double largest = 0;
    for (int i = 0; i < count; i++) largest = fmax(largest, fabs(values[i]));
    return largest;
}

static inline void check_differences(const struct derivative_case *c, const struct derivative_values *v,
                                     double gradients[][DERIVATIVE_MOST])
{
    double step = c->tolerance > 1e-5 ? 1e-2 : 1e-5;
    for (int i = 0; i < c->count; i++) {
        int size = derivative_size(&c->shapes[i]);
        double scale = derivative_largest(gradients[i], size);
        for (int k = 0; k < size; k++) {
            double by = (derivative_at(c, v, i, k, step) - derivative_at(c, v, i, k, -step)) / (2 * step);
            if (!derivative_near(gradients[i][k], by, scale, derivative_tolerance(c)))
                CHECK_FAIL("gradient %d, element %d is %.12g, differences give %.12g", i, k, gradients[i][k], by);
        }
    }
}

static inline void check_products(const struct derivative_case *c, const struct derivative_values *v,
                                  double gradients[][DERIVATIVE_MOST])
{
    double pushed[DERIVATIVE_MOST], left = 0, right = 0, scale = 0;
    derivative_push(c, v, pushed);
    for (int i = 0; i < derivative_size(&v->out); i++) {
        left += pushed[i] * v->cotangent[i];
        scale += fabs(pushed[i] * v->cotangent[i]);
    }
    for (int i = 0; i < c->count; i++)
        for (int k = 0; k < derivative_size(&c->shapes[i]); k++) right += gradients[i][k] * v->tangents[i][k];
    double tolerance = c->tolerance > 1e-5 ? c->tolerance : 1e-10;
    if (!derivative_near(left, right, scale, tolerance))
        CHECK_FAIL("jvp times cotangent is %.15g, vjp times tangent %.15g", left, right);
}

static inline void check_same_bits(const struct derivative_case *c, double one[][DERIVATIVE_MOST],
                                   double other[][DERIVATIVE_MOST], const char *what)
{
    for (int i = 0; i < c->count; i++)
        for (int k = 0; k < derivative_size(&c->shapes[i]); k++)
            if (memcmp(&one[i][k], &other[i][k], sizeof one[i][k]) != 0)
                CHECK_FAIL("%s gives %.17g for element %d of gradient %d, not %.17g", what, other[i][k], k, i,
                           one[i][k]);
}

/* Inputs are rounded to the narrow dtype first, so that both differentiate at the same place. */
static inline void check_narrow(const struct derivative_case *c, const struct derivative_values *v, mlx_dtype dtype,
                                double tolerance)
{
    static double wide[DERIVATIVE_INPUTS][DERIVATIVE_MOST], narrow[DERIVATIVE_INPUTS][DERIVATIVE_MOST];
    static struct derivative_values rounded;
    rounded = *v;
    for (int i = 0; i < c->count; i++) {
        mlx_array array = derivative_array(v->inputs[i], &c->shapes[i], dtype);
        derivative_read(array, rounded.inputs[i]);
        mlx_array_free(array);
    }
    mlx_array cotangent = derivative_array(v->cotangent, &v->out, dtype);
    derivative_read(cotangent, rounded.cotangent);
    mlx_array_free(cotangent);
    derivative_pull(c, &rounded, MLX_FLOAT64, false, false, wide);
    derivative_pull(c, &rounded, dtype, false, false, narrow);
    for (int i = 0; i < c->count; i++) {
        int size = derivative_size(&c->shapes[i]);
        double scale = derivative_largest(wide[i], size);
        for (int k = 0; k < size; k++)
            if (!derivative_near(wide[i][k], narrow[i][k], scale, tolerance))
                CHECK_FAIL("gradient %d, element %d is %.9g, in float64 %.9g", i, k, narrow[i][k], wide[i][k]);
    }
}

static inline void check_derivatives(const struct derivative_case *c)
{
    static double plain[DERIVATIVE_INPUTS][DERIVATIVE_MOST], compiled[DERIVATIVE_INPUTS][DERIVATIVE_MOST];
    static struct derivative_values v;
    static const struct {
        mlx_dtype dtype;
        const char *name;
        double tolerance;
    } narrow[] = {{MLX_FLOAT32, "float32", 3e-5}, {MLX_FLOAT16, "float16", 2e-2}, {MLX_BFLOAT16, "bfloat16", 1.5e-1}};
    CHECK_CONTEXT("%s", c->name);
    derivative_choose(c, &v);
    derivative_pull(c, &v, MLX_FLOAT64, false, false, plain);
    check_differences(c, &v, plain);
    check_products(c, &v, plain);
    if (!c->is_not_compiled) {
        derivative_pull(c, &v, MLX_FLOAT64, true, false, compiled);
        check_same_bits(c, plain, compiled, "compiled");
        derivative_pull(c, &v, MLX_FLOAT64, true, true, compiled);
        check_same_bits(c, plain, compiled, "shapeless");
    }
    for (int i = 0; i < 3 && !c->only_wide; i++) {
        CHECK_CONTEXT("%s", narrow[i].name);
        check_narrow(c, &v, narrow[i].dtype, narrow[i].tolerance);
    }
}
#define check_derivatives(...) CHECK_CALL(check_derivatives, __VA_ARGS__)

#endif
