/*
 * abi_rules.c - closure.h of the ABI: closures of values with gradients, and of rules. See abi_rules.h.
 *
 * A callback gets vectors of its own and empty results, as a plain closure's does; all are freed here.
 */
#include "mlxc/abi_rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---------------------------------------------------------------------------------------------------------
 */

void kiln__rule_unref(struct kiln_rule_closure *rule)
{
    if (!rule || atomic_fetch_sub_explicit(&rule->refs, 1, memory_order_acq_rel) != 1) return;
    if (rule->dtor) rule->dtor(rule->payload);
    free(rule);
}

/* Takes over the reference. */
static int put(void **ctx, struct kiln_rule_closure *rule)
{
    struct kiln_rule_closure **box = *ctx ? *ctx : kiln__box_new(KILN_BOX_SMALL), *old = *ctx && box ? *box : NULL;
    if (!box) {
        kiln__rule_unref(rule);
        return KILN_FAIL_TEXT("out of memory: a handle for a closure");
    }
    *box = rule;
    *ctx = box;
    kiln__rule_unref(old);
    return 0;
}

int kiln__rule_give(void **ctx, const struct kiln_rule_closure *model, const char *type)
{
    kiln_error err;
    if (!model->plain && !model->with_payload && !model->differentiate) {
        kiln__fail(&err, KILN_INVALID, "[%s] expected a function, got NULL", type);
        return KILN_FAIL(&err);
    }
    struct kiln_rule_closure *rule = malloc(sizeof *rule);
    if (!rule) return KILN_FAIL_TEXT("out of memory: a closure");
    memcpy(rule, model, sizeof *rule);
    rule->dtor = NULL; /* if this fails, the payload stays the caller's */
    atomic_init(&rule->refs, 2);
    int code = put(ctx, rule);
    if (!code) rule->dtor = model->dtor;
    kiln__rule_unref(rule);
    return code;
}

static int free_handle(void *ctx)
{
    if (!ctx) return 0;
    kiln__rule_unref(kiln__unwrap_rule(ctx));
    kiln__box_free(KILN_BOX_SMALL, ctx);
    return 0;
}

/* new, free, new_func, new_func_payload and set of a kind of handle; `parameters` are those of its function. */
#define PARAMETERS(...) __VA_ARGS__
#define KILN_RULE_FUNCTIONS(type, parameters)                                                                          \
    type type##_new(void)                                                                                              \
    {                                                                                                                  \
        return (type){NULL};                                                                                           \
    }                                                                                                                  \
    int type##_free(type cls)                                                                                          \
    {                                                                                                                  \
        return free_handle(cls.ctx);                                                                                   \
    }                                                                                                                  \
    type type##_new_func(int (*fun)(parameters))                                                                       \
    {                                                                                                                  \
        type made = {NULL};                                                                                            \
        kiln__rule_give(&made.ctx, &(struct kiln_rule_closure){.plain = (void (*)(void))fun}, #type);                  \
        return made;                                                                                                   \
    }                                                                                                                  \
    type type##_new_func_payload(int (*fun)(parameters, void *), void *payload, void (*dtor)(void *))                  \
    {                                                                                                                  \
        type made = {NULL};                                                                                            \
        struct kiln_rule_closure model = {.with_payload = (void (*)(void))fun, .payload = payload, .dtor = dtor};      \
        kiln__rule_give(&made.ctx, &model, #type);                                                                     \
        return made;                                                                                                   \
    }                                                                                                                  \
    int type##_set(type *cls, const type src)                                                                          \
    {                                                                                                                  \
        if (KILN_NO_POINTER(cls) || KILN_NO_HANDLE(src, #type)) return 1;                                              \
        return put(&cls->ctx, kiln__rule_ref(kiln__unwrap_rule(src.ctx)));                                             \
    }                                                                                                                  \
    typedef int type##_plain(parameters);                                                                              \
    typedef int type##_with_payload(parameters, void *);

KILN_RULE_FUNCTIONS(mlx_closure_value_and_grad,
                    PARAMETERS(mlx_vector_array *, mlx_vector_array *, const mlx_vector_array))
KILN_RULE_FUNCTIONS(mlx_closure_custom, PARAMETERS(mlx_vector_array *, const mlx_vector_array, const mlx_vector_array,
                                                   const mlx_vector_array))
KILN_RULE_FUNCTIONS(mlx_closure_custom_jvp,
                    PARAMETERS(mlx_vector_array *, const mlx_vector_array, const mlx_vector_array, const int *, size_t))
KILN_RULE_FUNCTIONS(mlx_closure_custom_vmap,
                    PARAMETERS(mlx_vector_array *, mlx_vector_int *, const mlx_vector_array, const int *, size_t))

/* Calls the function of `rule`, of a kind of handle. */
#define KILN_CALL_RULE(rule, type, ...)                                                                                \
    ((rule)->plain ? ((type##_plain *)(rule)->plain)(__VA_ARGS__)                                                      \
                   : ((type##_with_payload *)(rule)->with_payload)(__VA_ARGS__, (rule)->payload))

/* ---- lists --------------------------------------------------------------------------------------------------------
 */

kiln_status kiln__list_copy(mlx_vector_array vector, struct kiln_array_list *out, kiln_error *err)
{
    struct kiln_array *const *arrays = kiln__vector_data(vector);
    size_t count = kiln__vector_size(vector);
    struct kiln_array **list = malloc((count + 1) * sizeof *list);
    if (!list) return kiln__no_memory(err, "a list of arrays");
    for (size_t i = 0; i < count; i++) list[i] = kiln__array_ref(arrays[i]);
    *out = (struct kiln_array_list){list, count};
    return KILN_OK;
}

kiln_status kiln__list_wrap(struct kiln_array_list list, mlx_vector_array *out, kiln_error *err)
{
    for (size_t i = 0; i < list.count; i++) kiln__array_ref(list.arrays[i]);
    return kiln__give_arrays(out, list.arrays, list.count) ? kiln__no_memory(err, "a list of arrays") : KILN_OK;
}

int kiln__give_derivative(mlx_vector_array *res_0, mlx_vector_array *res_1, struct kiln_derivative *made)
{
    kiln_error err;
    mlx_vector_array first = {NULL}, second = {NULL};
    kiln_status status = kiln__list_wrap(made->outputs, &first, &err);
    if (!status) status = kiln__list_wrap(made->results, &second, &err);
    kiln__derivative_release(made);
    int code = status ? KILN_FAIL(&err) : kiln__give_outputs(res_0, &first);
    if (!code) code = kiln__give_outputs(res_1, &second);
    mlx_vector_array_free(first);
    mlx_vector_array_free(second);
    return code;
}

/* What a callback returned and put into its result, as a list. */
static kiln_status take_results(int code, mlx_vector_array res, struct kiln_array_list *results, kiln_error *err)
{
    if (code) return kiln__fail(err, KILN_LOWER_FAILED, "mlx_closure returned a non-zero value");
    if (!res.ctx)
        return kiln__fail(err, KILN_LOWER_FAILED, "expected a non-empty mlx_vector_array from an mlx_closure");
    return kiln__list_copy(res, results, err);
}

/* ---- rules --------------------------------------------------------------------------------------------------------
 */

kiln_status kiln__rule_vjp(const struct kiln_rule_closure *rule, struct kiln_array_list inputs,
                           struct kiln_array_list cotangents, struct kiln_array_list outputs,
                           struct kiln_array_list *results, kiln_error *err)
{
    mlx_vector_array in[3] = {{NULL}}, res = {NULL};
    kiln_status status = kiln__list_wrap(inputs, &in[0], err);
    if (!status) status = kiln__list_wrap(cotangents, &in[1], err);
    if (!status) status = kiln__list_wrap(outputs, &in[2], err);
    if (!status)
        status = take_results(KILN_CALL_RULE(rule, mlx_closure_custom, &res, in[0], in[1], in[2]), res, results, err);
    for (int i = 0; i < 3; i++) mlx_vector_array_free(in[i]);
    mlx_vector_array_free(res);
    return status;
}

kiln_status kiln__rule_jvp(const struct kiln_rule_closure *rule, struct kiln_array_list inputs,
                           struct kiln_array_list tangents, const int *argnums, struct kiln_array_list *results,
                           kiln_error *err)
{
    mlx_vector_array in[2] = {{NULL}}, res = {NULL};
    kiln_status status = kiln__list_wrap(inputs, &in[0], err);
    if (!status) status = kiln__list_wrap(tangents, &in[1], err);
    if (!status)
        status = take_results(KILN_CALL_RULE(rule, mlx_closure_custom_jvp, &res, in[0], in[1], argnums, tangents.count),
                              res, results, err);
    for (int i = 0; i < 2; i++) mlx_vector_array_free(in[i]);
    mlx_vector_array_free(res);
    return status;
}

/* An axis for each output. */
static kiln_status take_axes(mlx_vector_int axes, size_t count, int **out, kiln_error *err)
{
    size_t given = axes.ctx ? mlx_vector_int_size(axes) : 0;
    if (given != count)
        return kiln__fail(err, KILN_INVALID, "[custom_function] vmap gave %zu arrays and %zu axes.", count, given);
    int *list = malloc((count + 1) * sizeof *list);
    if (!list) return kiln__no_memory(err, "axes");
    for (size_t i = 0; i < count; i++) mlx_vector_int_get(&list[i], axes, i);
    *out = list;
    return KILN_OK;
}

kiln_status kiln__rule_vmap(const struct kiln_rule_closure *rule, struct kiln_array_list inputs, const int *axes,
                            struct kiln_array_list *results, int **out_axes, kiln_error *err)
{
    mlx_vector_array in = {NULL}, res = {NULL};
    mlx_vector_int given = {NULL};
    kiln_status status = kiln__list_wrap(inputs, &in, err);
    if (!status)
        status = take_results(KILN_CALL_RULE(rule, mlx_closure_custom_vmap, &res, &given, in, axes, inputs.count), res,
                              results, err);
    if (!status) {
        status = take_axes(given, results->count, out_axes, err);
        if (status) kiln__array_list_release(results);
    }
    mlx_vector_array_free(in);
    mlx_vector_array_free(res);
    mlx_vector_int_free(given);
    return status;
}

/* ---- applying a closure -------------------------------------------------------------------------------------------
 */

static int give_list(mlx_vector_array *res, kiln_status status, struct kiln_array_list *made, kiln_error *err)
{
    mlx_vector_array vector = {NULL};
    if (!status) status = kiln__list_wrap(*made, &vector, err);
    kiln__array_list_release(made);
    int code = status ? KILN_FAIL(err) : kiln__give_outputs(res, &vector);
    mlx_vector_array_free(vector);
    return code;
}

static kiln_status run_value_and_grad(const struct kiln_rule_closure *rule, mlx_vector_array input,
                                      struct kiln_derivative *out, kiln_error *err)
{
    struct kiln_array_list inputs = {0};
    mlx_vector_array in = {NULL}, res[2] = {{NULL}};
    kiln_status status = kiln__list_copy(input, &inputs, err);
    if (!status && rule->differentiate) {
        status = rule->differentiate(rule->payload, inputs, out, err);
    } else if (!status) {
        status = kiln__list_wrap(inputs, &in, err);
        int code = status ? 1 : KILN_CALL_RULE(rule, mlx_closure_value_and_grad, &res[0], &res[1], in);
        if (!status) status = take_results(code, res[0], &out->outputs, err);
        if (!status) status = take_results(code, res[1], &out->results, err);
        if (status) kiln__derivative_release(out);
    }
    kiln__array_list_release(&inputs);
    mlx_vector_array_free(in);
    for (int i = 0; i < 2; i++) mlx_vector_array_free(res[i]);
    return status;
}

int mlx_closure_value_and_grad_apply(mlx_vector_array *res_0, mlx_vector_array *res_1, mlx_closure_value_and_grad cls,
                                     const mlx_vector_array input)
{
    kiln_error err;
    struct kiln_derivative made = {0};
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_HANDLE(cls, "mlx_closure_value_and_grad") ||
        KILN_NO_VECTOR(input))
        return 1;
    struct kiln_rule_closure *rule = kiln__rule_ref(kiln__unwrap_rule(cls.ctx)); /* the callback may free `cls` */
    int code =
        run_value_and_grad(rule, input, &made, &err) ? KILN_FAIL(&err) : kiln__give_derivative(res_0, res_1, &made);
    kiln__rule_unref(rule);
    return code;
}

int mlx_closure_custom_apply(mlx_vector_array *res, mlx_closure_custom cls, const mlx_vector_array input_0,
                             const mlx_vector_array input_1, const mlx_vector_array input_2)
{
    kiln_error err;
    struct kiln_array_list lists[3] = {{0}}, made = {0};
    if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(cls, "mlx_closure_custom") || KILN_NO_VECTOR(input_0) ||
        KILN_NO_VECTOR(input_1) || KILN_NO_VECTOR(input_2))
        return 1;
    struct kiln_rule_closure *rule = kiln__rule_ref(kiln__unwrap_rule(cls.ctx));
    kiln_status status = kiln__list_copy(input_0, &lists[0], &err);
    if (!status) status = kiln__list_copy(input_1, &lists[1], &err);
    if (!status) status = kiln__list_copy(input_2, &lists[2], &err);
    if (!status) status = kiln__rule_vjp(rule, lists[0], lists[1], lists[2], &made, &err);
    for (int i = 0; i < 3; i++) kiln__array_list_release(&lists[i]);
    kiln__rule_unref(rule);
    return give_list(res, status, &made, &err);
}

/* A list of numbers that a callback gets as many of as there are arrays in `list`. */
static kiln_status check_numbers(const char *type, struct kiln_array_list list, size_t count, kiln_error *err)
{
    if (list.count == count) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] Expected a number for each of %zu arrays, got %zu.", type, list.count,
                      count);
}

int mlx_closure_custom_jvp_apply(mlx_vector_array *res, mlx_closure_custom_jvp cls, const mlx_vector_array input_0,
                                 const mlx_vector_array input_1, const int *input_2, size_t input_2_num)
{
    kiln_error err;
    struct kiln_array_list lists[2] = {{0}}, made = {0};
    if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(cls, "mlx_closure_custom_jvp") || KILN_NO_VECTOR(input_0) ||
        KILN_NO_VECTOR(input_1) || KILN_NO_ELEMENTS(input_2, input_2_num))
        return 1;
    struct kiln_rule_closure *rule = kiln__rule_ref(kiln__unwrap_rule(cls.ctx));
    kiln_status status = kiln__list_copy(input_0, &lists[0], &err);
    if (!status) status = kiln__list_copy(input_1, &lists[1], &err);
    if (!status) status = check_numbers("mlx_closure_custom_jvp", lists[1], input_2_num, &err);
    if (!status) status = kiln__rule_jvp(rule, lists[0], lists[1], input_2, &made, &err);
    for (int i = 0; i < 2; i++) kiln__array_list_release(&lists[i]);
    kiln__rule_unref(rule);
    return give_list(res, status, &made, &err);
}

static int give_axes(mlx_vector_int *res, const int *axes, size_t count)
{
    return res->ctx ? mlx_vector_int_set_data(res, (int *)(uintptr_t)axes, count)
                    : !(*res = mlx_vector_int_new_data((int *)(uintptr_t)axes, count)).ctx;
}

int mlx_closure_custom_vmap_apply(mlx_vector_array *res_0, mlx_vector_int *res_1, mlx_closure_custom_vmap cls,
                                  const mlx_vector_array input_0, const int *input_1, size_t input_1_num)
{
    kiln_error err;
    struct kiln_array_list inputs = {0}, made = {0};
    int *axes = NULL;
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_HANDLE(cls, "mlx_closure_custom_vmap") ||
        KILN_NO_VECTOR(input_0) || KILN_NO_ELEMENTS(input_1, input_1_num))
        return 1;
    struct kiln_rule_closure *rule = kiln__rule_ref(kiln__unwrap_rule(cls.ctx));
    kiln_status status = kiln__list_copy(input_0, &inputs, &err);
    if (!status) status = check_numbers("mlx_closure_custom_vmap", inputs, input_1_num, &err);
    if (!status) status = kiln__rule_vmap(rule, inputs, input_1, &made, &axes, &err);
    size_t count = made.count;
    kiln__array_list_release(&inputs);
    kiln__rule_unref(rule);
    int code = give_list(res_0, status, &made, &err);
    if (!code) code = give_axes(res_1, axes, count);
    free(axes);
    return code;
}
