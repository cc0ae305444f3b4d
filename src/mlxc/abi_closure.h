/*
 * abi_closure.h - what a closure handle refers to: a function of the caller's, or a compiled one.
 *
 * Counted and immutable, so that closures may be shared and applied from every thread. A compiled closure keeps the
 * closure it was made from, and with it the payload.
 */
#ifndef KILN_MLXC_ABI_CLOSURE_H
#define KILN_MLXC_ABI_CLOSURE_H

#include <stdatomic.h>

#include "mlxc/abi_vector.h"

struct kiln_closure {
    _Atomic uint32_t refs;
    /* Runs the callback on vectors of the library's. NULL: a compiled closure, or one of the library's own. */
    int (*run)(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input);
    /* The same of the library's own: a failure, which is not 0, has filled `err`. NULL: another. */
    int (*run_own)(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input, kiln_error *err);
    union {
        int (*plain)(mlx_vector_array *, const mlx_vector_array);
        int (*with_payload)(mlx_vector_array *, const mlx_vector_array, void *);
        int (*unary)(mlx_array *, const mlx_array);
        int (*one)(mlx_array *, const mlx_array, void *); /* of kiln/compile.h, as the next two */
        int (*two)(mlx_array *, const mlx_array, const mlx_array, void *);
        int (*three)(mlx_array *, const mlx_array, const mlx_array, const mlx_array, void *);
    } function;
    uint32_t arity; /* of `one`, `two` and `three`; else 0 */
    char *name;     /* prefixes errors; malloc'ed, or NULL */
    void *payload;
    void (*dtor)(void *);
    struct kiln_compiled *compiled; /* a reference; NULL unless compiled */
    struct kiln_closure *source;    /* a reference, for closures that share `compiled`: what a trace of theirs calls */
};

static inline struct kiln_closure *kiln__unwrap_closure(mlx_closure handle)
{
    return *(struct kiln_closure **)handle.ctx;
}

static inline struct kiln_closure *kiln__closure_ref(struct kiln_closure *closure)
{
    atomic_fetch_add_explicit(&closure->refs, 1, memory_order_relaxed);
    return closure;
}

/* Runs `one`, `two` or `three`: those whose arity is not 0. */
int kiln__closure_run_arrays(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input);
int kiln__closure_run_payload(const struct kiln_closure *closure, mlx_vector_array *res, mlx_vector_array input);

/* A zeroed closure with one reference; NULL when out of memory. */
struct kiln_closure *kiln__closure_new(void);
void kiln__closure_unref(struct kiln_closure *closure); /* NULL is fine */
/* Puts the reference into *res; consumed also on failure. */
int kiln__give_closure(mlx_closure *res, struct kiln_closure *closure);

/*
 * Runs any closure on borrowed arrays; *res must be empty, and is the caller's to free afterwards, on success and on
 * failure. The text of a failure is in `err`; the handler was not called for it.
 */
kiln_status kiln__closure_run(struct kiln_closure *closure, struct kiln_array *const *inputs, size_t count,
                              mlx_vector_array *res, kiln_error *err);
/* The same where inputs are donated, a bool for each (NULL: none), as by kiln__compiled_call_donating(). */
kiln_status kiln__closure_run_donating(struct kiln_closure *closure, struct kiln_array *const *inputs, size_t count,
                                       const bool *donated, mlx_vector_array *res, kiln_error *err);

/* abi_compile.c: a kiln_callback (trace/trace.h) whose payload is a closure; NULL: that of the shared function that is
 * being applied. */
kiln_status kiln__closure_callback(void *payload, struct kiln_array *const *inputs, size_t count,
                                   struct kiln_array ***outputs, size_t *output_count, kiln_error *err);

/* Moves the arrays of `made` into *res, whose box is kept. */
int kiln__give_outputs(mlx_vector_array *res, mlx_vector_array *made);

/* abi_compile.c: the same for a compiled closure. */
kiln_status kiln__closure_run_compiled(struct kiln_closure *closure, struct kiln_array *const *inputs, size_t count,
                                       const bool *donated, mlx_vector_array *res, kiln_error *err);

/* abi_closure_kwargs.c: runs a closure that takes named arrays too. As kiln__closure_run(). */
kiln_status kiln__closure_kwargs_run(mlx_closure_kwargs cls, mlx_vector_array listed, mlx_map_string_to_array named,
                                     mlx_vector_array *res, kiln_error *err);

/* abi_compile.c: the arrays of `res` as a malloc'ed list of references. */
kiln_status kiln__take_outputs(mlx_vector_array res, struct kiln_array ***outputs, size_t *output_count,
                               kiln_error *err);

#endif
