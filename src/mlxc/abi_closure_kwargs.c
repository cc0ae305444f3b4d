/*
 * abi_closure_kwargs.c - closures that take named arrays besides the listed ones. Counted like plain closures: the
 * payload's dtor runs when the last handle goes.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "mlxc/abi_closure.h"

struct kwargs_closure {
    _Atomic uint32_t refs;
    int (*plain)(mlx_vector_array *, const mlx_vector_array, const mlx_map_string_to_array);
    int (*with_payload)(mlx_vector_array *, const mlx_vector_array, const mlx_map_string_to_array, void *);
    void *payload;
    void (*dtor)(void *);
};

/* A handle's ctx is a box that points to the closure, so that set can replace it. */
static struct kwargs_closure *unwrap(mlx_closure_kwargs handle)
{
    return *(struct kwargs_closure **)handle.ctx;
}

static void unref(struct kwargs_closure *closure)
{
    if (atomic_fetch_sub_explicit(&closure->refs, 1, memory_order_acq_rel) != 1) return;
    if (closure->dtor) closure->dtor(closure->payload);
    free(closure);
}

static mlx_closure_kwargs new_closure(struct kwargs_closure model)
{
    mlx_closure_kwargs made = {NULL};
    bool has_function = model.plain || model.with_payload;
    struct kwargs_closure *closure = has_function ? malloc(sizeof *closure) : NULL;
    struct kwargs_closure **box = closure ? kiln__box_new(KILN_BOX_SMALL) : NULL;
    if (!box) {
        free(closure);
        KILN_FAIL_TEXT(has_function ? "out of memory: a closure" : "[closure_kwargs] expected a function, got NULL");
        return made;
    }
    *closure = model;
    atomic_init(&closure->refs, 1);
    *box = closure;
    made.ctx = box;
    return made;
}

mlx_closure_kwargs mlx_closure_kwargs_new(void)
{
    return (mlx_closure_kwargs){NULL};
}

int mlx_closure_kwargs_free(mlx_closure_kwargs cls)
{
    if (!cls.ctx) return 0;
    unref(unwrap(cls));
    kiln__box_free(KILN_BOX_SMALL, cls.ctx);
    return 0;
}

mlx_closure_kwargs mlx_closure_kwargs_new_func(int (*fun)(mlx_vector_array *, const mlx_vector_array,
                                                          const mlx_map_string_to_array))
{
    return new_closure((struct kwargs_closure){.plain = fun});
}

mlx_closure_kwargs mlx_closure_kwargs_new_func_payload(int (*fun)(mlx_vector_array *, const mlx_vector_array,
                                                                  const mlx_map_string_to_array, void *),
                                                       void *payload, void (*dtor)(void *))
{
    return new_closure((struct kwargs_closure){.with_payload = fun, .payload = payload, .dtor = dtor});
}

int mlx_closure_kwargs_set(mlx_closure_kwargs *cls, const mlx_closure_kwargs src)
{
    if (KILN_NO_POINTER(cls) || KILN_NO_HANDLE(src, "mlx_closure_kwargs")) return 1;
    struct kwargs_closure **box = cls->ctx ? cls->ctx : kiln__box_new(KILN_BOX_SMALL), *old;
    if (!box) return KILN_FAIL_TEXT("out of memory: a handle for a closure");
    old = cls->ctx ? *box : NULL;
    *box = unwrap(src);
    atomic_fetch_add_explicit(&(*box)->refs, 1, memory_order_relaxed);
    cls->ctx = box;
    if (old) unref(old);
    return 0;
}

kiln_status kiln__closure_kwargs_run(mlx_closure_kwargs cls, mlx_vector_array listed, mlx_map_string_to_array named,
                                     mlx_vector_array *res, kiln_error *err)
{
    struct kwargs_closure *closure = unwrap(cls); /* a reference is held, as the callback may free `cls` */
    atomic_fetch_add_explicit(&closure->refs, 1, memory_order_relaxed);
    int code = closure->plain ? closure->plain(res, listed, named)
                              : closure->with_payload(res, listed, named, closure->payload);
    unref(closure);
    if (code) return kiln__fail(err, KILN_LOWER_FAILED, "mlx_closure returned a non-zero value");
    if (res->ctx) return KILN_OK;
    return kiln__fail(err, KILN_LOWER_FAILED, "expected a non-empty mlx_vector_array from an mlx_closure_kwargs");
}

int mlx_closure_kwargs_apply(mlx_vector_array *res, mlx_closure_kwargs cls, const mlx_vector_array input_0,
                             const mlx_map_string_to_array input_1)
{
    kiln_error err;
    mlx_vector_array made = {NULL};
    if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(cls, "mlx_closure_kwargs") || KILN_NO_VECTOR(input_0) ||
        KILN_NO_HANDLE(input_1, "mlx_map_string_to_array"))
        return 1;
    int code = kiln__closure_kwargs_run(cls, input_0, input_1, &made, &err) == KILN_OK ? mlx_vector_array_set(res, made)
                                                                                       : KILN_FAIL(&err);
    mlx_vector_array_free(made);
    return code;
}
