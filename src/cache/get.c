/*
 * get.c - kiln_get(): signs a call of a function and looks it up. A miss goes on in lowering.c.
 *
 * The recipe of a call, and how it is counted, stand in call.h.
 */
#include "base/process/callback.h"
#include "cache/call.h"
#include "cache/function.h"
#include "cache/lowering.h"
#include "cache/memo/epoch.h"

/* Passed by value to what is not inlined, so that it stays in registers on a hit. */
struct call {
    kiln_function *function;
    const kiln_arg *args;
    size_t count;
    kiln_device *device;
    const struct kiln_environment *environment;
};

/* Head, pushed options, arguments, watched values. *watches_at: where the last part starts. */
__attribute__((always_inline)) static inline kiln_status
sign_call(const struct call *call, struct kiln_signature *signature, uint32_t *watches_at, kiln_error *err)
{
    kiln_function *function = call->function;
    kiln_status status = KILN_OK;
    kiln__memo_begin_call(&function->memo, call->device, kiln__options_packed(call->environment), signature);
    kiln__options_sign(signature);
    for (size_t i = 0; i < call->count && !status; i++)
        status = kiln__signature_argument(signature, &call->args[i], i, err);
    *watches_at = signature->count;
    if (!atomic_load_explicit(&function->plain, memory_order_acquire))
        kiln__function_sign(function, call->environment, signature);
    if (__builtin_expect(!status && signature->status, 0))
        status = kiln__function_refuse(function, signature->status, err);
    return status;
}

/* Not inlined: in a loop, gcc 12's null check of a thread's variable looks at flags that the linker's relaxation of the
 * access no longer sets. */
__attribute__((noinline)) static const struct kiln_environment *environment_now(void)
{
    return kiln__environment();
}

/* Signs and looks up once more, after what the function watches has changed. */
static enum kiln_outcome try_again(struct call *call, void **executable, kiln_error *err)
{
    struct kiln_signature signature;
    uint32_t watches_at;
    call->environment = environment_now();
    enum kiln_outcome outcome = kiln__outcome(sign_call(call, &signature, &watches_at, err), err);
    void *found = NULL;
    if (outcome == KILN_FAILED)
        kiln__call_failed(call->function->cache);
    else if ((found = kiln__memo_lookup(&call->function->memo, &signature)))
        *executable = found;
    else
        outcome = kiln__lower_call(call->function, call->device, &signature, watches_at, call->count, executable, err);
    kiln__signature_release(&signature);
    return outcome;
}

/* The look-up gave nothing. */
__attribute__((noinline)) static kiln_status get_slowly(struct call call, const struct kiln_signature *signature,
                                                        uint32_t watches_at, void **executable, kiln_error *err)
{
    enum { MOST_TRIES = 64 };
    kiln_error unread;
    if (!err) err = &unread;
    enum kiln_outcome outcome =
        kiln__lower_call(call.function, call.device, signature, watches_at, call.count, executable, err);
    for (int tries = 1; outcome == KILN_CHANGED && tries < MOST_TRIES; tries++)
        outcome = try_again(&call, executable, err);
    if (outcome != KILN_CHANGED) return kiln__outcome_status(outcome, err);
    kiln__call_failed(call.function->cache);
    struct kiln_definition *definition = kiln__definition_ref(call.function);
    kiln_status status =
        kiln__fail(err, KILN_DRIFTED,
                   "%s: what it watches changed in each of %d tries to lower it; lower() may take the values from its "
                   "request (kiln_request_watched, kiln_request_env), where they do not change",
                   definition->name, MOST_TRIES);
    kiln__definition_unref(definition);
    return status;
}

__attribute__((always_inline)) static inline kiln_status get(kiln_function *function, const kiln_arg *args,
                                                             size_t count, kiln_device *device, void **executable,
                                                             kiln_error *err)
{
    if (__builtin_expect(!function || !executable || count > (args ? KILN_MOST_ARGUMENTS : 0), 0))
        return kiln__fail(err, KILN_INVALID,
                          "kiln_get: needs a function, %zu arguments (at most %u) and a pointer for the executable",
                          count, (unsigned)KILN_MOST_ARGUMENTS);
#ifdef KILN_DEBUG
    if (function->flags & KILN_RECLAIM && !kiln__is_inside())
        kiln__misused(": kiln_get() of a function with KILN_RECLAIM outside of kiln_enter() and kiln_leave()",
                      function->memo.name);
#endif
    const struct kiln_environment *environment = kiln__environment();
    if (!device && !(device = kiln__device_current_in(environment, err))) return KILN_INVALID;
    const struct call call = {function, args, count, device, environment};
    struct kiln_signature signature;
    uint32_t watches_at;
    kiln_status status = sign_call(&call, &signature, &watches_at, err);
    if (__builtin_expect(status == KILN_OK, 1)) {
        void *found = kiln__memo_lookup(&function->memo, &signature);
        if (__builtin_expect(found != NULL, 1))
            *executable = found;
        else
            status = get_slowly(call, &signature, watches_at, executable, err);
    } else {
        kiln__call_failed(function->cache);
    }
    kiln__signature_release(&signature);
    return status;
}

/* Aligned to a cache line: where the linker puts it otherwise changes the time of a hit by 5 %. */
__attribute__((aligned(64))) kiln_status kiln_get(kiln_function *function, const kiln_arg *args, size_t count,
                                                  kiln_device *device, void **executable, kiln_error *err)
{
    kiln_status status = get(function, args, count, device, executable, err);
    if (__builtin_expect(status != KILN_OK, 0)) kiln__go_on_leaving();
    return status;
}

kiln_status kiln_get_values(kiln_function *function, const void *const *values, size_t count, kiln_device *device,
                            void **executable, kiln_error *err)
{
    enum { FEW = 16 };
    if (!function || (count && !values))
        return kiln__fail(err, KILN_INVALID, "kiln_get_values: needs a function and %zu values", count);
    const struct kiln_parameters *parameters = atomic_load_explicit(&function->parameters, memory_order_acquire);
    if (!parameters)
        return kiln__fail(err, KILN_INVALID,
                          "kiln_get_values: the types were not declared; call kiln_function_declare() first");
    if (count != parameters->count)
        return kiln__fail(err, KILN_INVALID, "kiln_get_values: %zu values were given, %zu parameters are declared",
                          count, parameters->count);
    kiln_arg few[FEW], *args = count <= FEW ? few : malloc(count * sizeof *args);
    if (!args) return kiln__no_memory(err, "a list of arguments");
    few[0].type = NULL; /* also when there are none */
    for (size_t i = 0; i < count; i++) args[i] = (kiln_arg){parameters->types[i], values[i]};
    kiln_status status = get(function, args, count, device, executable, err);
    if (args != few) free(args);
    if (status) kiln__go_on_leaving();
    return status;
}
