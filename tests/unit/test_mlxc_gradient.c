/*
 * test_mlxc_gradient.c - transforms of functions: what is differentiated, how transforms nest and are compiled,
 * functions with rules of their own, and what is refused. Numbers are small enough to be exact.
 */
#include <math.h>
#include <pthread.h>

#include "mlxc_support.h"

static mlx_stream stream;

/* A function of the arrays of `in`, in an array of its own; the number is the payload. */
typedef int body(mlx_array *out, const mlx_array *in, int number);

struct function {
    body *body;
    int count, number;
    int *calls, *freed;
};

static int call(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct function *function = payload;
    mlx_array inputs[3] = {{NULL}}, out = mlx_array_new();
    int code = 0;
    if (function->calls) ++*function->calls;
    for (int i = 0; i < function->count && !code; i++) code = mlx_vector_array_get(&inputs[i], in, (size_t)i);
    if (!code) code = function->body(&out, inputs, function->number);
    if (!code) code = mlx_vector_array_set_value(res, out);
    for (int i = 0; i < function->count; i++) mlx_array_free(inputs[i]);
    mlx_array_free(out);
    return code;
}

static void count_free(void *payload)
{
    ++*((struct function *)payload)->freed;
}

static mlx_closure closure_of(struct function *function)
{
    return mlx_closure_new_func_payload(call, function, function->freed ? count_free : NULL);
}

static mlx_vector_array list_of(const mlx_array *arrays, size_t count)
{
    mlx_vector_array list = mlx_vector_array_new_data(arrays, count);
    for (size_t i = 0; i < count; i++) mlx_array_free(arrays[i]);
    return list;
}

static mlx_vector_array one(float value)
{
    return list_of((mlx_array[]){mlx_array_new_float(value)}, 1);
}

static mlx_vector_array two(float first, float second)
{
    return list_of((mlx_array[]){mlx_array_new_float(first), mlx_array_new_float(second)}, 2);
}

static void expect_item(mlx_vector_array list, size_t i, float expected)
{
    mlx_array array = mlx_array_new();
    float value = 0;
    CHECK_EQ(mlx_vector_array_get(&array, list, i), 0);
    CHECK_EQ(mlx_array_item_float32(&value, array), 0);
    CHECK_EQ(value, expected);
    mlx_array_free(array);
}
#define expect_item(...) CHECK_CALL(expect_item, __VA_ARGS__)

/* Value and gradient of `fun` at x, by its first input; consumes x. */
static void expect_gradient(mlx_closure fun, mlx_vector_array x, float value, float gradient)
{
    mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new();
    mlx_vector_array out = mlx_vector_array_new(), grads = mlx_vector_array_new();
    CHECK_EQ(mlx_value_and_grad(&made, fun, (const int[]){0}, 1), 0);
    CHECK_EQ(mlx_closure_value_and_grad_apply(&out, &grads, made, x), 0);
    expect_item(out, 0, value);
    expect_item(grads, 0, gradient);
    mlx_closure_value_and_grad_free(made);
    mlx_vector_array_free(out);
    mlx_vector_array_free(grads);
    mlx_vector_array_free(x);
}
#define expect_gradient(...) CHECK_CALL(expect_gradient, __VA_ARGS__)

/* ---- functions ----------------------------------------------------------------------------------------------------
 */

static int cube(mlx_array *out, const mlx_array *in, int number)
{
    (void)number;
    return mlx_square(out, in[0], stream) || mlx_multiply(out, *out, in[0], stream);
}

/* x^2 * y, where the square is evaluated on the way. */
static int evaluated(mlx_array *out, const mlx_array *in, int number)
{
    float seen = 0;
    (void)number;
    return mlx_square(out, in[0], stream) || mlx_array_item_float32(&seen, *out) || seen != 9 ||
           mlx_multiply(out, *out, in[1], stream);
}

static int stopped(mlx_array *out, const mlx_array *in, int number)
{
    mlx_array kept = mlx_array_new();
    (void)number;
    int code = mlx_stop_gradient(&kept, in[0], stream) || mlx_multiply(out, kept, in[0], stream);
    mlx_array_free(kept);
    return code;
}

/* Through integers, which cut the gradient: x + float(int(x)) */
static int through_integers(mlx_array *out, const mlx_array *in, int number)
{
    (void)number;
    return mlx_astype(out, in[0], MLX_INT32, stream) || mlx_astype(out, *out, MLX_FLOAT32, stream) ||
           mlx_add(out, *out, in[0], stream);
}

static int ignores(mlx_array *out, const mlx_array *in, int number)
{
    (void)number;
    return mlx_multiply(out, in[1], in[1], stream);
}

static int row(mlx_array *out, const mlx_array *in, int number)
{
    (void)number;
    return mlx_broadcast_to(out, in[0], (const int[]){2}, 1, stream);
}

static int fails(mlx_array *out, const mlx_array *in, int number)
{
    (void)out, (void)in, (void)number;
    return 1;
}

/* x + x + ... */
static int chain(mlx_array *out, const mlx_array *in, int number)
{
    mlx_array half = mlx_array_new_float(0.5f);
    int code = mlx_multiply(out, in[0], half, stream);
    for (int i = 1; i < number && !code; i++) code = mlx_negative(out, *out, stream);
    mlx_array_free(half);
    return code;
}

/* The gradient of the function of `inner` at x, as a function. */
static struct function *inner_function;

static int gradient_of(mlx_array *out, const mlx_array *in, int number)
{
    mlx_closure fun = closure_of(inner_function);
    mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new();
    mlx_vector_array x = mlx_vector_array_new_value(in[0]), values = mlx_vector_array_new();
    mlx_vector_array grads = mlx_vector_array_new();
    int code = mlx_value_and_grad(&made, fun, &number, 1) ||
               mlx_closure_value_and_grad_apply(&values, &grads, made, x) || mlx_vector_array_get(out, grads, 0);
    mlx_closure_value_and_grad_free(made);
    mlx_closure_free(fun);
    mlx_vector_array_free(x);
    mlx_vector_array_free(values);
    mlx_vector_array_free(grads);
    return code;
}

/* A function that calls a closure with its own inputs. */
static mlx_closure called;

static int calls(mlx_array *out, const mlx_array *in, int number)
{
    mlx_vector_array x = mlx_vector_array_new_data(in, (size_t)number), y = mlx_vector_array_new();
    int code = mlx_closure_apply(&y, called, x) || mlx_vector_array_get(out, y, 0);
    mlx_vector_array_free(x);
    mlx_vector_array_free(y);
    return code;
}

/* ---- what is differentiated ---------------------------------------------------------------------------------------
 */

static void test_gradients(void **state)
{
    (void)state;
    struct function functions[] = {
        {cube, 1, 0}, {evaluated, 2, 0}, {stopped, 1, 0}, {through_integers, 1, 0}, {ignores, 2, 0}};
    mlx_closure closures[5];
    for (int i = 0; i < 5; i++) closures[i] = closure_of(&functions[i]);
    expect_gradient(closures[0], one(3), 27, 27);
    expect_gradient(closures[1], two(3, 5), 45, 30);
    expect_gradient(closures[2], one(3), 9, 3);
    expect_gradient(closures[3], one(2.5f), 4.5f, 1);
    expect_gradient(closures[4], two(3, 5), 25, 0);
    for (int i = 0; i < 5; i++) mlx_closure_free(closures[i]);
    expect_no_error();
}

static void test_several_inputs(void **state)
{
    (void)state;
    struct function function = {evaluated, 2, 0};
    mlx_closure fun = closure_of(&function);
    mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new(), copy = mlx_closure_value_and_grad_new();
    mlx_vector_array x = two(3, 5), out = mlx_vector_array_new(), grads = mlx_vector_array_new();
    CHECK_EQ(mlx_value_and_grad(&made, fun, (const int[]){1, -2}, 2), 0);
    CHECK_EQ(mlx_closure_value_and_grad_set(&copy, made), 0);
    mlx_closure_value_and_grad_free(made);
    mlx_closure_free(fun);
    CHECK_EQ(mlx_closure_value_and_grad_apply(&out, &grads, copy, x), 0);
    CHECK_EQ(mlx_vector_array_size(grads), 2);
    expect_item(grads, 0, 9);
    expect_item(grads, 1, 30);
    mlx_closure_value_and_grad_free(copy);
    mlx_vector_array_free(out);
    mlx_vector_array_free(grads);
    mlx_vector_array_free(x);
    expect_no_error();
}

/* A million operations in a row: no walk is recursive. */
static void test_long_chain(void **state)
{
    (void)state;
    struct function function = {chain, 1, 1000000};
    mlx_closure fun = closure_of(&function);
    mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new();
    mlx_vector_array x = one(3), out = mlx_vector_array_new(), grads = mlx_vector_array_new();
    CHECK_EQ(mlx_value_and_grad(&made, fun, (const int[]){0}, 1), 0);
    CHECK_EQ(mlx_closure_value_and_grad_apply(&out, &grads, made, x), 0);
    expect_item(grads, 0, -0.5f);
    mlx_closure_value_and_grad_free(made);
    mlx_closure_free(fun);
    mlx_vector_array_free(out);
    mlx_vector_array_free(grads);
    mlx_vector_array_free(x);
    expect_no_error();
}

/* ---- transforms of transforms -------------------------------------------------------------------------------------
 */

static void test_nested(void **state)
{
    (void)state;
    struct function base = {cube, 1, 0}, first = {gradient_of, 1, 0};
    inner_function = &base;
    mlx_closure fun = closure_of(&first), compiled = mlx_closure_new(), shapeless = mlx_closure_new();
    expect_gradient(fun, one(3), 27, 18); /* 3 x^2 and 6 x */
    CHECK_EQ(mlx_compile(&compiled, fun, false), 0);
    CHECK_EQ(mlx_compile(&shapeless, fun, true), 0);
    const mlx_closure closures[] = {compiled, shapeless};
    for (int i = 0; i < 2; i++) {
        mlx_vector_array x = one(2), y = mlx_vector_array_new();
        CHECK_EQ(mlx_closure_apply(&y, closures[i], x), 0);
        expect_item(y, 0, 12);
        mlx_vector_array_free(x);
        mlx_vector_array_free(y);
        expect_gradient(closures[i], one(2), 12, 12); /* of a compiled gradient */
    }
    mlx_closure_free(compiled);
    mlx_closure_free(shapeless);
    mlx_closure_free(fun);
    expect_no_error();
}

/* A compiled function inside is part of what is differentiated, also inside of a compiled gradient. */
static void test_compiled_inside(void **state)
{
    (void)state;
    int counted = 0;
    struct function base = {cube, 1, 0, &counted}, outer = {calls, 1, 1}, gradient = {gradient_of, 1, 0};
    mlx_closure fun = closure_of(&base), around = closure_of(&outer);
    called = mlx_closure_new();
    CHECK_EQ(mlx_compile(&called, fun, false), 0);
    expect_gradient(called, one(3), 27, 27);
    CHECK_EQ(counted, 1);
    expect_gradient(around, one(3), 27, 27);
    inner_function = &outer;
    mlx_closure of_gradient = closure_of(&gradient), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, of_gradient, false), 0);
    for (int i = 1; i < 4; i++) {
        mlx_vector_array x = one((float)i), y = mlx_vector_array_new();
        CHECK_EQ(mlx_closure_apply(&y, compiled, x), 0);
        expect_item(y, 0, (float)(3 * i * i));
        mlx_vector_array_free(x);
        mlx_vector_array_free(y);
    }
    CHECK_EQ(counted, 3); /* once for the one trace */
    mlx_closure_free(compiled);
    mlx_closure_free(of_gradient);
    mlx_closure_free(called);
    mlx_closure_free(around);
    mlx_closure_free(fun);
    expect_no_error();
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

/* Gradients of one function, plain, compiled and twice, on several threads at once. */
static void *differentiate_often(void *payload)
{
    struct function base = {cube, 1, 0};
    mlx_closure fun = closure_of(&base), compiled = *(mlx_closure *)payload;
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        float value = (float)(1 + i % 7), got = 0;
        mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new();
        mlx_vector_array x = one(value), out = mlx_vector_array_new(), grads = mlx_vector_array_new();
        mlx_array gradient = mlx_array_new();
        wrong += mlx_value_and_grad(&made, i % 2 ? fun : compiled, (const int[]){0}, 1) ||
                 mlx_closure_value_and_grad_apply(&out, &grads, made, x) || mlx_vector_array_get(&gradient, grads, 0) ||
                 mlx_array_item_float32(&got, gradient) || got != 3 * value * value;
        mlx_array_free(gradient);
        mlx_closure_value_and_grad_free(made);
        mlx_vector_array_free(x);
        mlx_vector_array_free(out);
        mlx_vector_array_free(grads);
    }
    mlx_closure_free(fun);
    return (void *)(intptr_t)wrong;
}

static void test_threads(void **state)
{
    enum { THREADS = 4 };
    (void)state;
    pthread_t threads[THREADS];
    struct function base = {cube, 1, 0};
    mlx_closure fun = closure_of(&base), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, fun, false), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, differentiate_often, &compiled), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        CHECK_EQ(pthread_join(threads[i], &wrong), 0);
        CHECK_EQ((intptr_t)wrong, 0);
    }
    mlx_closure_free(compiled);
    mlx_closure_free(fun);
    expect_no_error();
}

/* ---- functions with rules of their own ----------------------------------------------------------------------------
 */

/* All but the function itself give numbers that are not its derivatives. */
static int ten_times(mlx_vector_array *res, const mlx_vector_array primals, const mlx_vector_array cotangents,
                     const mlx_vector_array outputs)
{
    mlx_array ten = mlx_array_new_float(10), c = mlx_array_new();
    if (mlx_vector_array_size(primals) != 1 || mlx_vector_array_size(outputs) != 1) return 1;
    int code = mlx_vector_array_get(&c, cotangents, 0) || mlx_multiply(&c, c, ten, stream) ||
               mlx_vector_array_set_value(res, c);
    mlx_array_free(ten);
    mlx_array_free(c);
    return code;
}

static int twenty_times(mlx_vector_array *res, const mlx_vector_array primals, const mlx_vector_array tangents,
                        const int *argnums, size_t count)
{
    mlx_array twenty = mlx_array_new_float(20), t = mlx_array_new();
    if (mlx_vector_array_size(primals) != 1 || count != 1 || argnums[0] != 0) return 1;
    int code = mlx_vector_array_get(&t, tangents, 0) || mlx_multiply(&t, t, twenty, stream) ||
               mlx_vector_array_set_value(res, t);
    mlx_array_free(twenty);
    mlx_array_free(t);
    return code;
}

static int wrong_count(mlx_vector_array *res, const mlx_vector_array primals, const mlx_vector_array cotangents,
                       const mlx_vector_array outputs)
{
    (void)primals, (void)cotangents, (void)outputs;
    *res = mlx_vector_array_new_data(NULL, 0);
    return 0;
}

static int failing_rule(mlx_vector_array *res, const mlx_vector_array primals, const mlx_vector_array cotangents,
                        const mlx_vector_array outputs)
{
    (void)res, (void)primals, (void)cotangents, (void)outputs;
    return 1;
}

static void expect_jvp(mlx_closure fun, float x, float value, float tangent)
{
    mlx_vector_array in = one(x), by = one(1), out = mlx_vector_array_new(), dout = mlx_vector_array_new();
    CHECK_EQ(mlx_jvp(&out, &dout, fun, in, by), 0);
    expect_item(out, 0, value);
    expect_item(dout, 0, tangent);
    mlx_vector_array_free(in);
    mlx_vector_array_free(by);
    mlx_vector_array_free(out);
    mlx_vector_array_free(dout);
}
#define expect_jvp(...) CHECK_CALL(expect_jvp, __VA_ARGS__)

static void test_own_rules(void **state)
{
    (void)state;
    int freed = 0;
    struct function base = {cube, 1, 0, NULL, &freed}, outer = {calls, 1, 1};
    mlx_closure fun = closure_of(&base), around = closure_of(&outer), with_vjp = mlx_closure_new();
    mlx_closure with_all = mlx_closure_new(), checkpointed = mlx_closure_new();
    mlx_closure_custom vjp = mlx_closure_custom_new_func(ten_times);
    mlx_closure_custom_jvp jvp = mlx_closure_custom_jvp_new_func(twenty_times);
    CHECK_EQ(mlx_custom_vjp(&with_vjp, fun, vjp), 0);
    CHECK_EQ(mlx_custom_function(&with_all, fun, vjp, jvp, (mlx_closure_custom_vmap){NULL}), 0);
    CHECK_EQ(mlx_checkpoint(&checkpointed, fun), 0);
    mlx_closure_free(fun);
    mlx_closure_custom_free(vjp);
    mlx_closure_custom_jvp_free(jvp);
    CHECK_EQ(freed, 0);
    expect_gradient(with_vjp, one(3), 27, 10);
    expect_jvp(with_vjp, 3, 27, 27); /* its own operations */
    expect_gradient(with_all, one(3), 27, 10);
    expect_jvp(with_all, 3, 27, 20);
    expect_gradient(checkpointed, one(3), 27, 27);
    expect_jvp(checkpointed, 3, 27, 27);
    called = with_all;
    expect_gradient(around, one(3), 27, 10);
    mlx_closure_free(around);
    mlx_closure_free(with_vjp);
    mlx_closure_free(with_all);
    CHECK_EQ(freed, 0);
    mlx_closure_free(checkpointed);
    CHECK_EQ(freed, 1);
    expect_no_error();
}

static void test_own_rules_that_fail(void **state)
{
    (void)state;
    int freed = 0;
    struct function base = {cube, 1, 0, NULL, &freed};
    mlx_closure fun = closure_of(&base), made = mlx_closure_new();
    static const struct {
        int (*rule)(mlx_vector_array *, const mlx_vector_array, const mlx_vector_array, const mlx_vector_array);
        const char *text;
    } rows[] = {{wrong_count, "vjp gave 0 arrays; expected 1"}, {failing_rule, "non-zero value"}};
    for (int i = 0; i < 2; i++) {
        mlx_closure_custom rule = mlx_closure_custom_new_func(rows[i].rule);
        mlx_vector_array x = one(3), c = one(1), out = mlx_vector_array_new(), grads = mlx_vector_array_new();
        CHECK_EQ(mlx_custom_vjp(&made, fun, rule), 0);
        CHECK_EQ(mlx_vjp(&out, &grads, made, x, c), 1);
        expect_error(rows[i].text);
        mlx_closure_custom_free(rule);
        mlx_vector_array_free(x);
        mlx_vector_array_free(c);
        mlx_vector_array_free(out);
        mlx_vector_array_free(grads);
    }
    mlx_closure_free(fun);
    mlx_closure_free(made);
    CHECK_EQ(freed, 1);
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

static void refuse_gradient(body *run, mlx_vector_array x, const int *argnums, size_t count, const char *text)
{
    int freed = 0;
    struct function function = {run, 2, 0, NULL, &freed};
    mlx_closure fun = closure_of(&function);
    mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new();
    mlx_vector_array out = mlx_vector_array_new(), grads = mlx_vector_array_new();
    int code = mlx_value_and_grad(&made, fun, argnums, count);
    if (!code) code = mlx_closure_value_and_grad_apply(&out, &grads, made, x);
    CHECK_EQ(code, 1);
    expect_error(text);
    CHECK_EQ(mlx_vector_array_size(out), 0);
    CHECK_EQ(mlx_vector_array_size(grads), 0);
    mlx_vector_array_free(out);
    mlx_vector_array_free(grads);
    mlx_closure_value_and_grad_free(made);
    mlx_closure_free(fun);
    mlx_vector_array_free(x);
    CHECK_EQ(freed, 1);
}
#define refuse_gradient(...) CHECK_CALL(refuse_gradient, __VA_ARGS__)

static void test_refusals(void **state)
{
    (void)state;
    static const int first[] = {0}, third[] = {2}, twice[] = {0, -2};
    mlx_array integer = mlx_array_new_int(3);
    refuse_gradient(ignores, two(3, 5), first, 0, "at least one argument number");
    refuse_gradient(ignores, two(3, 5), third, 1, "Argument number 2 is none of a function with 2");
    refuse_gradient(ignores, two(3, 5), twice, 2, "Argument number -2 is repeated");
    refuse_gradient(ignores, list_of((mlx_array[]){integer, mlx_array_new_float(1)}, 2), first, 1,
                    "Argument 0 is int32");
    refuse_gradient(row, two(3, 5), first, 1, "must be a scalar, an array of shape (), but has shape (2)");
    refuse_gradient(fails, two(3, 5), first, 1, "mlx_closure returned a non-zero value");
}

static void test_refused_products(void **state)
{
    (void)state;
    struct function base = {cube, 1, 0};
    mlx_closure fun = closure_of(&base);
    mlx_vector_array x = one(3), both = two(1, 1), out = mlx_vector_array_new(), grads = mlx_vector_array_new();
    mlx_vector_array wide = list_of((mlx_array[]){floats((const float[]){1, 2}, 2)}, 1);
    CHECK_EQ(mlx_vjp(&out, &grads, fun, x, both), 1);
    expect_error("[vjp] The function has 1 outputs, but there are 2 cotangents");
    CHECK_EQ(mlx_vjp(&out, &grads, fun, x, wide), 1);
    expect_error("[vjp] A cotangent of shape (2) does not fit output 0 of shape ()");
    CHECK_EQ(mlx_jvp(&out, &grads, fun, x, both), 1);
    expect_error("[jvp] There are 1 inputs, but 2 tangents");
    CHECK_EQ(mlx_jvp(&out, &grads, fun, x, wide), 1);
    expect_error("[jvp] A tangent of shape (2) does not fit input 0 of shape ()");
    CHECK_EQ(mlx_vjp(&out, &grads, (mlx_closure){NULL}, x, both), 1);
    expect_error("expected a non-empty mlx_closure");
    CHECK_EQ(mlx_vjp(NULL, &grads, fun, x, both), 1);
    expect_error("res_0");
    CHECK_EQ(mlx_vector_array_size(out), 0);
    CHECK_EQ(mlx_vector_array_size(grads), 0);
    mlx_vector_array_free(out);
    mlx_vector_array_free(grads);
    mlx_closure_free(fun);
    mlx_vector_array_free(x);
    mlx_vector_array_free(both);
    mlx_vector_array_free(wide);
}

int main(void)
{
    stream = mlx_default_cpu_stream_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_gradients, install_handler),
        cmocka_unit_test_setup(test_several_inputs, install_handler),
        cmocka_unit_test_setup(test_long_chain, install_handler),
        cmocka_unit_test_setup(test_nested, install_handler),
        cmocka_unit_test_setup(test_compiled_inside, install_handler),
        cmocka_unit_test_setup(test_threads, install_handler),
        cmocka_unit_test_setup(test_own_rules, install_handler),
        cmocka_unit_test_setup(test_own_rules_that_fail, install_handler),
        cmocka_unit_test_setup(test_refusals, install_handler),
        cmocka_unit_test_setup(test_refused_products, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
