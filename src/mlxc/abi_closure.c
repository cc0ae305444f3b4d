/*
 * abi_closure.c - closure.h of the ABI: plain closures.
 *
 * A callback gets a vector of its own and an empty result; both are freed here after the outputs were taken out. The
 * payload's dtor runs when the last reference goes, whoever holds it.
 */
#include "mlxc/abi_closure.h"

#include <stdlib.h>

#include "run/compiled.h"

struct kiln_closure *kiln__closure_new(void)
{
    struct kiln_closure *closure = calloc(1, sizeof *closure);
    if (closure) atomic_init(&closure->refs, 1);
    return closure;
}

void kiln__closure_unref(struct kiln_closure *closure)
{
    while (closure && atomic_fetch_sub_explicit(&closure->refs, 1, memory_order_acq_rel) == 1) {
        struct kiln_closure *source = closure->source;
        if (closure->compiled) kiln__compiled_unref(closure->compiled);
        if (closure->dtor) closure->dtor(closure->payload);
        free(closure->name);
        free(closure);
        closure = source;
    }
}

int kiln__give_closure(mlx_closure *res, struct kiln_closure *closure)
{
    struct kiln_closure **box = res->ctx;
    if (box) {
        struct kiln_closure *old = *box;
        *box = closure;
        kiln__closure_unref(old);
        return 0;
    }
    box = kiln__box_new(KILN_BOX_SMALL);
    if (!box) {
        kiln__closure_unref(closure);
        return KILN_FAIL_TEXT("out of memory: a handle for a closure");
    }
    *box = closure;
    res->ctx = box;
    return 0;
}

/* ---- callbacks ------------------------------------------------------------------------------------------------ */

static int run_plain(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input)
{
    return closure->function.plain(res, input);
}

int kiln__closure_run_payload(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input)
{
    return closure->function.with_payload(res, input, closure->payload);
}

static int run_unary(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input)
{
    mlx_array argument = {NULL}, result = {NULL};
    if (mlx_vector_array_size(input) != 1) return KILN_FAIL_TEXT("[closure] a unary closure takes exactly 1 input");
    int code = mlx_vector_array_get(&argument, input, 0);
    if (!code) code = closure->function.unary(&result, argument);
    if (!code) code = mlx_vector_array_set_value(res, result);
    mlx_array_free(argument);
    mlx_array_free(result);
    return code;
}

/* When the function leaves its result empty, *res stays empty, and run_callback() reports it. */
int kiln__closure_run_arrays(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input)
{
    mlx_array in[3] = {{NULL}}, out = {NULL};
    int code = 0;
    for (uint32_t i = 0; i < closure->arity && !code; i++) code = mlx_vector_array_get(&in[i], input, i);
    if (!code && closure->arity == 1) code = closure->function.one(&out, in[0], closure->payload);
    if (!code && closure->arity == 2) code = closure->function.two(&out, in[0], in[1], closure->payload);
    if (!code && closure->arity == 3) code = closure->function.three(&out, in[0], in[1], in[2], closure->payload);
    if (!code && out.ctx) code = mlx_vector_array_set_value(res, out);
    for (uint32_t i = 0; i < closure->arity; i++) mlx_array_free(in[i]);
    mlx_array_free(out);
    return code;
}

static kiln_status run_callback(const struct kiln_closure *closure, struct kiln_array *const *inputs, size_t count,
                                mlx_vector_array *res, kiln_error *err)
{
    mlx_vector_array input = {NULL};
    if (closure->arity && count != closure->arity)
        return kiln__fail(err, KILN_INVALID, "the function takes %u input%s, got %zu", closure->arity,
                          closure->arity == 1 ? "" : "s", count);
    for (size_t i = 0; i < count; i++) kiln__array_ref(inputs[i]);
    if (kiln__give_arrays(&input, inputs, count)) return kiln__no_memory(err, "the inputs of a closure");
    int code = closure->run ? closure->run(closure, res, input) : closure->run_own(closure, res, input, err);
    mlx_vector_array_free(input);
    if (code && closure->run_own) return err ? err->status : KILN_LOWER_FAILED;
    if (code) return kiln__fail(err, KILN_LOWER_FAILED, "mlx_closure returned a non-zero value");
    if (!res->ctx && closure->arity)
        return kiln__fail(err, KILN_LOWER_FAILED, "the function returned 0 and left its result empty");
    if (!res->ctx)
        return kiln__fail(err, KILN_LOWER_FAILED, "expected a non-empty mlx_vector_array from an mlx_closure");
    return KILN_OK;
}

kiln_status kiln__closure_run_donating(struct kiln_closure *closure, struct kiln_array *const *inputs, size_t count,
                                       const bool *donated, mlx_vector_array *res, kiln_error *err)
{
    kiln_status status = closure->compiled ? kiln__closure_run_compiled(closure, inputs, count, donated, res, err)
                                           : run_callback(closure, inputs, count, res, err);
    return status && closure->name ? kiln__fail_as(err, status, closure->name) : status;
}

kiln_status kiln__closure_run(struct kiln_closure *closure, struct kiln_array *const *inputs, size_t count,
                              mlx_vector_array *res, kiln_error *err)
{
    return kiln__closure_run_donating(closure, inputs, count, NULL, res, err);
}

/* ---- the ABI -------------------------------------------------------------------------------------------------- */

mlx_closure mlx_closure_new(void)
{
    return (mlx_closure){NULL};
}

int mlx_closure_free(mlx_closure cls)
{
    if (!cls.ctx) return 0;
    kiln__closure_unref(kiln__unwrap_closure(cls));
    kiln__box_free(KILN_BOX_SMALL, cls.ctx);
    return 0;
}

int mlx_closure_set(mlx_closure *cls, const mlx_closure src)
{
    if (KILN_NO_POINTER(cls) || KILN_NO_CLOSURE(src)) return 1;
    return kiln__give_closure(cls, kiln__closure_ref(kiln__unwrap_closure(src)));
}

/* A handle to a copy of `model`; when there is none, the payload stays the caller's. */
static mlx_closure new_closure(struct kiln_closure model, bool has_function)
{
    mlx_closure made = {NULL};
    struct kiln_closure *closure = has_function ? kiln__closure_new() : NULL;
    struct kiln_closure **box = closure ? kiln__box_new(KILN_BOX_SMALL) : NULL;
    if (!box) {
        free(closure);
        KILN_FAIL_TEXT(has_function ? "out of memory: a closure" : "[closure] expected a function, got NULL");
        return made;
    }
    closure->run = model.run;
    closure->function = model.function;
    closure->payload = model.payload;
    closure->dtor = model.dtor;
    *box = closure;
    made.ctx = box;
    return made;
}

mlx_closure mlx_closure_new_func(int (*fun)(mlx_vector_array *, const mlx_vector_array))
{
    return new_closure((struct kiln_closure){.run = run_plain, .function.plain = fun}, fun);
}

mlx_closure mlx_closure_new_func_payload(int (*fun)(mlx_vector_array *, const mlx_vector_array, void *), void *payload,
                                         void (*dtor)(void *))
{
    struct kiln_closure model = {
        .run = kiln__closure_run_payload, .function.with_payload = fun, .payload = payload, .dtor = dtor};
    return new_closure(model, fun);
}

mlx_closure mlx_closure_new_unary(int (*fun)(mlx_array *, const mlx_array))
{
    return new_closure((struct kiln_closure){.run = run_unary, .function.unary = fun}, fun);
}

int kiln__give_outputs(mlx_vector_array *res, mlx_vector_array *made)
{
    if (res->ctx) return mlx_vector_array_set(res, *made);
    *res = *made;
    made->ctx = NULL;
    return 0;
}

int mlx_closure_apply(mlx_vector_array *res, mlx_closure cls, const mlx_vector_array input)
{
    kiln_error err;
    mlx_vector_array made = {NULL};
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(cls) || KILN_NO_VECTOR(input)) return 1;
    /* The callback may free `cls`, so a reference is held; a compiled closure holds one itself while it traces. */
    struct kiln_closure *closure = kiln__unwrap_closure(cls);
    bool held = !closure->compiled;
    if (held) kiln__closure_ref(closure);
    struct kiln_array *const *arrays = kiln__vector_data(input);
    size_t count = kiln__vector_size(input);
    int code = kiln__closure_run(closure, arrays, count, &made, &err) == KILN_OK ? kiln__give_outputs(res, &made)
                                                                                 : KILN_FAIL(&err);
    mlx_vector_array_free(made);
    if (held) kiln__closure_unref(closure);
    return code;
}
