/*
 * abi_gradient.c - transforms.h of the ABI: derivatives of closures, and closures with rules of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "mlxc/abi_rules.h"
#include "transform/grad/custom_function.h"

/* ---- vjp, jvp -----------------------------------------------------------------------------------------------------
 */

typedef kiln_status transform_function(struct kiln_array_function function, struct kiln_array_list inputs,
                                       struct kiln_array_list others, struct kiln_derivative *out, kiln_error *err);

static int run_transform(transform_function *transform, mlx_vector_array *res_0, mlx_vector_array *res_1,
                         mlx_closure fun, mlx_vector_array primals, mlx_vector_array others)
{
    kiln_error err;
    struct kiln_derivative made = {0};
    struct kiln_array_list inputs = {0}, given = {0};
    struct kiln_closure *closure = kiln__closure_ref(kiln__unwrap_closure(fun)); /* it may free its own handle */
    kiln_status status = kiln__list_copy(primals, &inputs, &err);
    if (!status) status = kiln__list_copy(others, &given, &err);
    if (!status)
        status = transform((struct kiln_array_function){kiln__closure_callback, closure}, inputs, given, &made, &err);
    kiln__array_list_release(&inputs);
    kiln__array_list_release(&given);
    kiln__closure_unref(closure);
    return status ? KILN_FAIL(&err) : kiln__give_derivative(res_0, res_1, &made);
}

int mlx_vjp(mlx_vector_array *res_0, mlx_vector_array *res_1, const mlx_closure fun, const mlx_vector_array primals,
            const mlx_vector_array cotangents)
{
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_CLOSURE(fun) || KILN_NO_VECTOR(primals) ||
        KILN_NO_VECTOR(cotangents))
        return 1;
    return run_transform(kiln__vjp, res_0, res_1, fun, primals, cotangents);
}

int mlx_jvp(mlx_vector_array *res_0, mlx_vector_array *res_1, const mlx_closure fun, const mlx_vector_array primals,
            const mlx_vector_array tangents)
{
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_CLOSURE(fun) || KILN_NO_VECTOR(primals) ||
        KILN_NO_VECTOR(tangents))
        return 1;
    return run_transform(kiln__jvp, res_0, res_1, fun, primals, tangents);
}

/* ---- value_and_grad -----------------------------------------------------------------------------------------------
 */

struct gradient {
    struct kiln_closure *closure; /* a reference */
    size_t count;
    int argnums[];
};

static void free_gradient(void *payload)
{
    struct gradient *gradient = payload;
    kiln__closure_unref(gradient->closure);
    free(gradient);
}

static kiln_status differentiate(void *payload, struct kiln_array_list inputs, struct kiln_derivative *out,
                                 kiln_error *err)
{
    struct gradient *gradient = payload;
    return kiln__value_and_grad((struct kiln_array_function){kiln__closure_callback, gradient->closure},
                                (struct kiln_argnums){gradient->argnums, gradient->count}, inputs, out, err);
}

int mlx_value_and_grad(mlx_closure_value_and_grad *res, const mlx_closure fun, const int *argnums, size_t argnums_num)
{
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(fun) || KILN_NO_ELEMENTS(argnums, argnums_num)) return 1;
    if (argnums_num == 0) return KILN_FAIL_TEXT("[value_and_grad] expected at least one argument number");
    struct gradient *gradient = malloc(sizeof *gradient + argnums_num * sizeof *argnums);
    if (!gradient) return KILN_FAIL_TEXT("out of memory: a gradient");
    gradient->closure = kiln__closure_ref(kiln__unwrap_closure(fun));
    gradient->count = argnums_num;
    memcpy(gradient->argnums, argnums, argnums_num * sizeof *argnums);
    struct kiln_rule_closure model = {.differentiate = differentiate, .payload = gradient, .dtor = free_gradient};
    int code = kiln__rule_give(&res->ctx, &model, "mlx_closure_value_and_grad");
    if (code) free_gradient(gradient);
    return code;
}

/* ---- functions with rules of their own ----------------------------------------------------------------------------
 */

struct custom {
    struct kiln_closure *closure; /* references; rules may be NULL */
    struct kiln_rule_closure *vjp, *jvp, *vmap;
};

static void free_custom(void *payload)
{
    struct custom *custom = payload;
    kiln__closure_unref(custom->closure);
    kiln__rule_unref(custom->vjp);
    kiln__rule_unref(custom->jvp);
    kiln__rule_unref(custom->vmap);
    free(custom);
}

static kiln_status call_closure(void *payload, struct kiln_array *const *inputs, size_t count,
                                struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    return kiln__closure_callback(((struct custom *)payload)->closure, inputs, count, outputs, output_count, err);
}

static kiln_status call_vjp(void *payload, struct kiln_array_list inputs, struct kiln_array_list cotangents,
                            struct kiln_array_list outputs, struct kiln_array_list *results, kiln_error *err)
{
    return kiln__rule_vjp(((struct custom *)payload)->vjp, inputs, cotangents, outputs, results, err);
}

static kiln_status call_jvp(void *payload, struct kiln_array_list inputs, struct kiln_array_list tangents,
                            const int *argnums, struct kiln_array_list *results, kiln_error *err)
{
    return kiln__rule_jvp(((struct custom *)payload)->jvp, inputs, tangents, argnums, results, err);
}

static kiln_status call_vmap(void *payload, struct kiln_array_list inputs, const int *axes,
                             struct kiln_array_list *results, int **out_axes, kiln_error *err)
{
    return kiln__rule_vmap(((struct custom *)payload)->vmap, inputs, axes, results, out_axes, err);
}

static void drop_function(void *payload)
{
    kiln__custom_unref(payload);
}

/* The callback of the closure that is made: its payload is a struct kiln_custom_function. */
static int run_custom(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input,
                      kiln_error *err)
{
    struct kiln_array_list outputs = {0};
    mlx_vector_array made = {NULL};
    kiln_status status = kiln__custom_call(closure->payload, kiln__vector_data(input), kiln__vector_size(input),
                                           &outputs.arrays, &outputs.count, err);
    if (!status) status = kiln__list_wrap(outputs, &made, err);
    kiln__array_list_release(&outputs);
    if (status) return 1;
    *res = made;
    return 0;
}

static struct kiln_rule_closure *rule_of(void *ctx)
{
    return ctx ? kiln__rule_ref(kiln__unwrap_rule(ctx)) : NULL;
}

static kiln_status new_function(mlx_closure fun, void *vjp, void *jvp, void *vmap, struct kiln_custom_function **out,
                                kiln_error *err)
{
    struct custom *custom = malloc(sizeof *custom);
    if (!custom) return kiln__no_memory(err, "a function");
    *custom = (struct custom){kiln__closure_ref(kiln__unwrap_closure(fun)), rule_of(vjp), rule_of(jvp), rule_of(vmap)};
    const struct kiln_custom_function model = {
        .call = call_closure,
        .rules = {vjp ? call_vjp : NULL, jvp ? call_jvp : NULL, vmap ? call_vmap : NULL},
        .payload = custom,
        .free_payload = free_custom};
    kiln_status status = kiln__custom_new(&model, out, err);
    if (status) free_custom(custom);
    return status;
}

static int give_custom(mlx_closure *res, mlx_closure fun, void *vjp, void *jvp, void *vmap)
{
    kiln_error err;
    struct kiln_custom_function *function = NULL;
    struct kiln_closure *closure = kiln__closure_new();
    if (!closure) return KILN_FAIL_TEXT("out of memory: a closure");
    kiln_status status = new_function(fun, vjp, jvp, vmap, &function, &err);
    if (status) {
        kiln__closure_unref(closure);
        return KILN_FAIL(&err);
    }
    closure->run_own = run_custom;
    closure->payload = function;
    closure->dtor = drop_function;
    return kiln__give_closure(res, closure);
}

int mlx_checkpoint(mlx_closure *res, const mlx_closure fun)
{
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(fun)) return 1;
    return give_custom(res, fun, NULL, NULL, NULL);
}

int mlx_custom_vjp(mlx_closure *res, const mlx_closure fun, const mlx_closure_custom fun_vjp)
{
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(fun) || KILN_NO_HANDLE(fun_vjp, "mlx_closure_custom")) return 1;
    return give_custom(res, fun, fun_vjp.ctx, NULL, NULL);
}

int mlx_custom_function(mlx_closure *res, const mlx_closure fun, const mlx_closure_custom fun_vjp,
                        const mlx_closure_custom_jvp fun_jvp, const mlx_closure_custom_vmap fun_vmap)
{
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(fun)) return 1;
    return give_custom(res, fun, fun_vjp.ctx, fun_jvp.ctx, fun_vmap.ctx);
}
