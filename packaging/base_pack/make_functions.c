/*
 * make_functions.c - compiled functions that everyone writes: activations, gates, residuals, norms, losses. Constants
 * are arguments of kernels, so a function serves all that differ from it in numbers.
 */
#include "maker.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- expressions: what a function makes on its way is held, and freed when it returns ------------------------ */

enum { MOST_HELD = 64 };

struct expression {
    mlx_stream stream;
    mlx_dtype dtype; /* of constants */
    mlx_array held[MOST_HELD];
    int count, failed;
};

static mlx_array hold(struct expression *e, int failed, mlx_array array)
{
    e->failed |= failed || e->count == MOST_HELD;
    if (e->count == MOST_HELD) {
        mlx_array_free(array);
        return e->held[0];
    }
    return e->held[e->count++] = array;
}

/* A number of the function's dtype. It is not cast: under compile-only nothing is computed, so all casts would give the
 * same number, which a kernel has once. */
static mlx_array number(struct expression *e, double value)
{
    float wide = (float)value;
    _Float16 half = (_Float16)value;
    uint32_t bits;
    memcpy(&bits, &wide, sizeof bits);
    uint16_t brain = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    const void *data = e->dtype == MLX_FLOAT16 ? (void *)&half : e->dtype == MLX_BFLOAT16 ? (void *)&brain : &wide;
    return hold(e, 0, mlx_array_new_data(data, NULL, 0, e->dtype));
}

typedef int unary(mlx_array *res, const mlx_array a, const mlx_stream stream);
typedef int binary(mlx_array *res, const mlx_array a, const mlx_array b, const mlx_stream stream);

static mlx_array of(struct expression *e, unary *function, mlx_array a)
{
    mlx_array out = mlx_array_new();
    int failed = function(&out, a, e->stream);
    return hold(e, failed, out);
}

static mlx_array of_two(struct expression *e, binary *function, mlx_array a, mlx_array b)
{
    mlx_array out = mlx_array_new();
    int failed = function(&out, a, b, e->stream);
    return hold(e, failed, out);
}

static mlx_array add(struct expression *e, mlx_array a, mlx_array b)
{
    return of_two(e, mlx_add, a, b);
}

static mlx_array subtract(struct expression *e, mlx_array a, mlx_array b)
{
    return of_two(e, mlx_subtract, a, b);
}

static mlx_array multiply(struct expression *e, mlx_array a, mlx_array b)
{
    return of_two(e, mlx_multiply, a, b);
}

/* ---- functions of x, y and z --------------------------------------------------------------------------------- */

static mlx_array relu(struct expression *e, mlx_array x)
{
    return of_two(e, mlx_maximum, x, number(e, 0));
}

static mlx_array silu(struct expression *e, mlx_array x)
{
    return multiply(e, x, of(e, mlx_sigmoid, x));
}

/* x * (1 + erf(x / sqrt(2))) / 2 */
static mlx_array gelu(struct expression *e, mlx_array x)
{
    mlx_array scaled = of_two(e, mlx_divide, x, number(e, M_SQRT2));
    mlx_array twice = multiply(e, x, add(e, number(e, 1), of(e, mlx_erf, scaled)));
    return of_two(e, mlx_divide, twice, number(e, 2));
}

/* The same with products: 0.5 * (x * (1 + erf(x * sqrt(0.5)))) */
static mlx_array gelu_of_products(struct expression *e, mlx_array x)
{
    mlx_array scaled = multiply(e, x, number(e, M_SQRT1_2));
    return multiply(e, number(e, 0.5), multiply(e, x, add(e, number(e, 1), of(e, mlx_erf, scaled))));
}

/* 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))) */
static mlx_array gelu_of_tanh(struct expression *e, mlx_array x)
{
    mlx_array cube = multiply(e, multiply(e, multiply(e, number(e, 0.044715), x), x), x);
    mlx_array inner = multiply(e, number(e, sqrt(M_2_PI)), add(e, x, cube));
    return multiply(e, multiply(e, number(e, 0.5), x), add(e, number(e, 1), of(e, mlx_tanh, inner)));
}

static mlx_array gelu_of_sigmoid(struct expression *e, mlx_array x)
{
    return multiply(e, x, of(e, mlx_sigmoid, multiply(e, number(e, 1.702), x)));
}

static mlx_array softplus(struct expression *e, mlx_array x)
{
    return of_two(e, mlx_logaddexp, x, number(e, 0));
}

static mlx_array soft_cap(struct expression *e, mlx_array x)
{
    return multiply(e, of(e, mlx_tanh, of_two(e, mlx_divide, x, number(e, 30))), number(e, 30));
}

static mlx_array clamp(struct expression *e, mlx_array x)
{
    return of_two(e, mlx_minimum, of_two(e, mlx_maximum, x, number(e, -1)), number(e, 1));
}

static mlx_array twice_plus_one(struct expression *e, mlx_array x)
{
    return add(e, multiply(e, x, number(e, 2)), number(e, 1));
}

static mlx_array softmax(struct expression *e, mlx_array x)
{
    mlx_array out = mlx_array_new();
    int failed = mlx_softmax_axis(&out, x, -1, false, e->stream);
    return hold(e, failed, out);
}

static mlx_array log_softmax(struct expression *e, mlx_array x)
{
    mlx_array total = mlx_array_new();
    int failed = mlx_logsumexp_axis(&total, x, -1, true, e->stream);
    return subtract(e, x, hold(e, failed, total));
}

static mlx_array swiglu(struct expression *e, mlx_array x, mlx_array y)
{
    return multiply(e, silu(e, x), y);
}

static mlx_array geglu(struct expression *e, mlx_array x, mlx_array y)
{
    return multiply(e, gelu_of_tanh(e, x), y);
}

static mlx_array product_and_sum(struct expression *e, mlx_array x, mlx_array y)
{
    return multiply(e, multiply(e, x, y), add(e, x, y));
}

static mlx_array sum_of_squares(struct expression *e, mlx_array x, mlx_array y)
{
    return add(e, multiply(e, x, x), multiply(e, y, y));
}

static mlx_array softmax_of_product(struct expression *e, mlx_array x, mlx_array y)
{
    return softmax(e, multiply(e, x, y));
}

static mlx_array square_error(struct expression *e, mlx_array x, mlx_array y)
{
    mlx_array out = mlx_array_new();
    int failed = mlx_mean(&out, of(e, mlx_square, subtract(e, x, y)), false, e->stream);
    return hold(e, failed, out);
}

static mlx_array gelu_of_sum(struct expression *e, mlx_array x, mlx_array y)
{
    return gelu(e, add(e, x, y));
}

static mlx_array relu_of_sum(struct expression *e, mlx_array x, mlx_array y)
{
    return relu(e, add(e, x, y));
}

static mlx_array rms_norm(struct expression *e, mlx_array x, mlx_array weight)
{
    mlx_array out = mlx_array_new();
    int failed = mlx_fast_rms_norm(&out, x, weight, 1e-5f, e->stream);
    return hold(e, failed, out);
}

static mlx_array scaled_sum(struct expression *e, mlx_array x, mlx_array y, mlx_array z)
{
    return add(e, multiply(e, x, y), z);
}

static mlx_array mix(struct expression *e, mlx_array x, mlx_array y, mlx_array z)
{
    return add(e, x, multiply(e, z, subtract(e, y, x)));
}

static mlx_array layer_norm(struct expression *e, mlx_array x, mlx_array weight, mlx_array bias)
{
    mlx_array out = mlx_array_new();
    int failed = mlx_fast_layer_norm(&out, x, weight, bias, 1e-5f, e->stream);
    return hold(e, failed, out);
}

static mlx_array norm_of_sum(struct expression *e, mlx_array x, mlx_array y, mlx_array weight)
{
    return rms_norm(e, add(e, x, y), weight);
}

/* Of heads: (batch, heads, positions, n). */

static mlx_array rope(struct expression *e, mlx_array x)
{
    const mlx_optional_float base = {10000, true};
    const mlx_array none = {NULL};
    mlx_array out = mlx_array_new();
    int failed = mlx_fast_rope(&out, x, COLUMNS, false, base, 1, 0, none, e->stream);
    return hold(e, failed, out);
}

static mlx_array attention(struct expression *e, mlx_array queries, mlx_array keys, mlx_array values)
{
    const mlx_array none = {NULL};
    mlx_array out = mlx_array_new();
    int failed =
        mlx_fast_scaled_dot_product_attention(&out, queries, keys, values, 0.125f, "", none, none, false, e->stream);
    return hold(e, failed, out);
}

struct function {
    const char *name;
    mlx_array (*of_x)(struct expression *e, mlx_array x);
    mlx_array (*of_xy)(struct expression *e, mlx_array x, mlx_array y);
    mlx_array (*of_xyz)(struct expression *e, mlx_array x, mlx_array y, mlx_array z);
    enum layout layouts[2]; /* of y and z; x is packed */
    bool has_heads;         /* all are; positions of x: many, and one */
    bool is_in_short_form;
};

static const struct function functions[] = {
    {"gelu", .of_x = gelu},
    {"gelu", .of_x = gelu_of_products, .is_in_short_form = true},
    {"gelu", .of_x = gelu_of_tanh},
    {"gelu", .of_x = gelu_of_sigmoid},
    {"relu", .of_x = relu},
    {"silu", .of_x = silu},
    {"softplus", .of_x = softplus},
    {"soft_cap", .of_x = soft_cap},
    {"clamp", .of_x = clamp},
    {"twice_plus_one", .of_x = twice_plus_one},
    {"softmax", .of_x = softmax},
    {"log_softmax", .of_x = log_softmax},
    {"swiglu", .of_xy = swiglu, .is_in_short_form = true},
    {"geglu", .of_xy = geglu},
    {"product_and_sum", .of_xy = product_and_sum, .is_in_short_form = true},
    {"sum_of_squares", .of_xy = sum_of_squares},
    {"sum_of_squares", .of_xy = sum_of_squares, .layouts = {SCALAR}, .is_in_short_form = true},
    {"softmax_of_product", .of_xy = softmax_of_product},
    {"square_error", .of_xy = square_error},
    {"gelu_of_sum", .of_xy = gelu_of_sum, .layouts = {ROW}},
    {"relu_of_sum", .of_xy = relu_of_sum, .layouts = {ROW}},
    {"rms_norm", .of_xy = rms_norm, .layouts = {ROW}},
    {"scaled_sum", .of_xyz = scaled_sum},
    {"scaled_sum", .of_xyz = scaled_sum, .layouts = {SCALAR, SCALAR}},
    {"scaled_sum", .of_xyz = scaled_sum, .layouts = {SCALAR, PACKED}},
    {"scaled_sum", .of_xyz = scaled_sum, .layouts = {ROW, ROW}},
    {"mix", .of_xyz = mix, .layouts = {PACKED, SCALAR}},
    {"layer_norm", .of_xyz = layer_norm, .layouts = {ROW, ROW}},
    {"norm_of_sum", .of_xyz = norm_of_sum, .layouts = {PACKED, ROW}},
    {"rope", .of_x = rope, .has_heads = true},
    {"attention", .of_xyz = attention, .has_heads = true},
};

/* ---- calls ---------------------------------------------------------------------------------------------------- */

static mlx_stream stream;

static mlx_array apply(const struct function *function, struct expression *e, const mlx_array *in)
{
    if (function->of_x) return function->of_x(e, in[0]);
    return function->of_xy ? function->of_xy(e, in[0], in[1]) : function->of_xyz(e, in[0], in[1], in[2]);
}

static int callback(mlx_vector_array *res, const mlx_vector_array inputs, void *payload)
{
    struct expression e = {.stream = stream};
    mlx_array in[3];
    size_t count = mlx_vector_array_size(inputs);
    for (size_t i = 0; i < 3; i++) {
        in[i] = mlx_array_new();
        if (i < count) e.failed |= mlx_vector_array_get(&in[i], inputs, i);
    }
    e.dtype = mlx_array_dtype(in[0]);
    mlx_array out = apply(payload, &e, in);
    int failed = e.failed || mlx_vector_array_set_value(res, out);
    for (int i = 0; i < e.count; i++) mlx_array_free(e.held[i]);
    for (size_t i = 0; i < 3; i++) mlx_array_free(in[i]);
    return failed;
}

static void call(struct maker *maker, const struct function *function, const mlx_array *in, size_t count)
{
    mlx_closure plain = mlx_closure_new_func_payload(callback, (void *)function, NULL), compiled = mlx_closure_new();
    mlx_vector_array inputs = mlx_vector_array_new_data(in, count), outputs = mlx_vector_array_new();
    mlx_array result = mlx_array_new();
    int failed = mlx_compile(&compiled, plain, false) || mlx_closure_apply(&outputs, compiled, inputs) ||
                 mlx_vector_array_get(&result, outputs, 0);
    maker_take(maker, function->name, failed, result);
    mlx_vector_array_free(outputs);
    mlx_vector_array_free(inputs);
    mlx_closure_free(compiled);
    mlx_closure_free(plain);
}

static size_t count_of(const struct function *function)
{
    return function->of_x ? 1 : function->of_xy ? 2 : 3;
}

static void call_with_heads(struct maker *maker, const struct function *function, mlx_dtype dtype)
{
    mlx_array many = maker_array(dtype, (int[]){1, 4, ROWS, COLUMNS}, 4);
    mlx_array one = maker_array(dtype, (int[]){1, 4, 1, COLUMNS}, 4);
    const mlx_array prompt[] = {many, many, many}, token[] = {one, many, many};
    call(maker, function, prompt, count_of(function));
    call(maker, function, token, count_of(function));
    mlx_array_free(many);
    mlx_array_free(one);
}

static void call_function(struct maker *maker, const struct function *function, mlx_dtype dtype)
{
    size_t count = count_of(function);
    const enum layout *layouts = function->layouts;
    if (function->has_heads) {
        call_with_heads(maker, function, dtype);
        return;
    }
    const mlx_array small[] = {maker_operand(maker, dtype, PACKED), maker_operand(maker, dtype, layouts[0]),
                               maker_operand(maker, dtype, layouts[1])};
    call(maker, function, small, count);
    bool has_rows = layouts[0] == ROW || layouts[1] == ROW;
    if (has_rows || !maker->has_large) return;
    const mlx_array large[] = {maker_operand(maker, dtype, LARGE),
                               maker_operand(maker, dtype, layouts[0] == SCALAR ? SCALAR : LARGE),
                               maker_operand(maker, dtype, layouts[1] == SCALAR ? SCALAR : LARGE)};
    call(maker, function, large, count);
}

void make_functions(struct maker *maker)
{
    stream = maker->stream;
    for (size_t d = 0; d < maker_dtype_count(maker); d++) {
        if (!is_float(maker_dtypes[d])) continue;
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            if (!maker->is_short || functions[i].is_in_short_form) call_function(maker, &functions[i], maker_dtypes[d]);
    }
}
