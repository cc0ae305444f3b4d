/*
 * bridge.c - see bridge.h. The library keeps every rule of threads, so there is no lock, no flag and no list here: only
 * the text of this thread's last error, between the handler and the return of the same call.
 */
#include "bridge.h"

#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h" /* goCall, goRelease */

static _Thread_local char *message;

static void keep_message(const char *text, void *data)
{
    (void)data;
    if (!message) message = strdup(text); /* the first says why; what comes after it says whose call that ends */
}

__attribute__((constructor)) static void install(void)
{
    mlx_set_error_handler(keep_message, NULL, NULL);
}

static char *outcome(int failed)
{
    char *text = message;
    message = NULL;
    if (failed) return text ? text : strdup("failed without a word");
    free(text);
    return NULL;
}

static mlx_stream stream(void)
{
    static _Thread_local mlx_stream own;
    if (!own.ctx) own = mlx_default_cpu_stream_new();
    return own;
}

static int call(mlx_vector_array *res, const mlx_vector_array inputs, void *payload)
{
    return goCall(res, inputs, (uintptr_t)payload);
}

static void release(void *payload)
{
    goRelease((uintptr_t)payload);
}

void bridge_say(const char *text)
{
    keep_message(text, NULL);
}

/* The plain closure holds the function until it is freed, the compiled one from then on. */
char *bridge_compile(mlx_closure *res, uintptr_t function, bool shapeless)
{
    mlx_closure plain = mlx_closure_new_func_payload(call, (void *)function, release);
    int failed = !plain.ctx || mlx_compile(res, plain, shapeless);
    mlx_closure_free(plain);
    return outcome(failed);
}

char *bridge_call(mlx_array *res, mlx_closure function, const mlx_array *inputs, size_t count)
{
    return outcome(kiln_call(res, function, inputs, count));
}

char *bridge_unary(int (*operation)(mlx_array *, const mlx_array, const mlx_stream), mlx_array *res, mlx_array x)
{
    return outcome(operation(res, x, stream()));
}

char *bridge_binary(int (*operation)(mlx_array *, const mlx_array, const mlx_array, const mlx_stream), mlx_array *res,
                    mlx_array x, mlx_array y)
{
    return outcome(operation(res, x, y, stream()));
}

char *bridge_sum(mlx_array *res, mlx_array x)
{
    return outcome(mlx_sum(res, x, false, stream()));
}

char *bridge_evaluate(mlx_array x)
{
    return outcome(mlx_array_eval(x));
}
