/*
 * kiln/compile.h - compiled functions of arrays that have a name, on top of the mlx-c interface. Link with libmlxc.so.
 *
 * The function is called once for each signature (dtype and shape of every input; dtype and rank when shapeless), on
 * arrays that have a shape and no elements, and what it does to them is compiled. It must do the same each time: use
 * its arguments and its payload, never the arrays the caller passed; free what it makes; return 0, or anything else to
 * fail. A trace whose arrays are still held somewhere when the function returns fails, and the error says which one.
 *
 * The result is a closure like any other: mlx_closure_apply() calls it, from every thread, mlx_closure_free() drops it.
 * NULL for `res`, `name` or `fun`, an empty closure or array, and an invalid name are errors: the call returns 1 after
 * the error handler was called. The name prefixes every error of its calls ("swiglu: ..."), and KILN_LOG and `kiln ls`
 * show its kernels under it. Each function is also a symbol of libmlxc.so, mlx_kiln_NAME.
 *
 *     static int silu(mlx_array *res, const mlx_array x, void *stream)
 *     {
 *         int failed = mlx_sigmoid(res, x, *(mlx_stream *)stream) || mlx_multiply(res, x, *res, *(mlx_stream *)stream);
 *         return failed;
 *     }
 *     kiln_compile_unary(&fast, "silu", silu, &stream, NULL, true);
 *     kiln_call_unary(&y, fast, x);
 */
#ifndef KILN_COMPILE_H
#define KILN_COMPILE_H

#include <stdbool.h>

#include "mlx/c/array.h"
#include "mlx/c/closure.h"
#include "mlx/c/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KILN_COMPILE_NAME = 48 }; /* characters of a name: letters, digits, '_', '.' and '-' */

/*
 * `shapeless`: the function is called once for all sizes of the same ranks and dtypes. What it asks of arrays follows
 * their sizes: a reshape with -1, slices that count from the end or end beyond it, splits, padding, means, products,
 * zeros_like and all other operations. Numbers that it works out on its own, say from mlx_array_shape(), are those of
 * the first call and stay, as captured arrays do; where one does not fit the sizes of a later call, that call fails and
 * says so. Ranks stay too: squeeze without axes may not change one.
 *
 * Makes a compiled closure and puts it into *res. `dtor` (NULL: none) gets the payload once, when the last reference to
 * the closure goes, on whatever thread that happens; when the call fails it does not run, and the payload stays the
 * caller's. Returns 0, or 1 after the error handler was told. While compilation is disabled (mlx_disable_compile) the
 * closure calls the function each time.
 *
 * The general form: any number of inputs, and of outputs, which it puts into *res; none is fine, as an empty vector.
 */
static inline int kiln_compile(mlx_closure *res, const char *name,
                               int (*fun)(mlx_vector_array *res, const mlx_vector_array inputs, void *payload),
                               void *payload, void (*dtor)(void *), bool shapeless);
/* Functions of one, two and three arrays that make one, in *res, which is empty when they are called. */
static inline int kiln_compile_unary(mlx_closure *res, const char *name,
                                     int (*fun)(mlx_array *res, const mlx_array x, void *payload), void *payload,
                                     void (*dtor)(void *), bool shapeless);
static inline int kiln_compile_binary(mlx_closure *res, const char *name,
                                      int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y, void *payload),
                                      void *payload, void (*dtor)(void *), bool shapeless);
static inline int kiln_compile_ternary(mlx_closure *res, const char *name,
                                       int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y,
                                                  const mlx_array z, void *payload),
                                       void *payload, void (*dtor)(void *), bool shapeless);

/* Calls a closure of one output; *res is as before on failure. */
static inline int kiln_call(mlx_array *res, const mlx_closure fun, const mlx_array *inputs, size_t count);
static inline int kiln_call_unary(mlx_array *res, const mlx_closure fun, const mlx_array x);
static inline int kiln_call_binary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y);
static inline int kiln_call_ternary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y,
                                    const mlx_array z);

/*
 * Calls a closure of any number of outputs, and donates inputs: `donate` has a bool for each input (NULL: none is).
 * With a donated input its handle is given up for good. So where nothing else refers to the array, a function that
 * returns it with a slice updated, as a cache goes through a step of a model, changes it in place and copies nothing;
 * kiln_counters says what was copied, bytes_copied.
 *
 * Other handles, views and lazy or captured arrays keep the values they have: what something else refers to is copied,
 * as it would be without donation, and so is an array that is passed twice. A donated handle keeps its dtype and shape,
 * and is to be freed as before; any other use of it is an error when that is evaluated, until mlx_array_set() or a
 * result gives it a new array. When the call fails it has its array again, unless that was already written over.
 *
 * Results of a call without donation may be lazy. If the handles of its inputs are then freed before the results are
 * evaluated, these are updated in place as well.
 */
static inline int kiln_call_donating(mlx_vector_array *res, const mlx_closure fun, const mlx_array *inputs,
                                     size_t count, const bool *donate);

/* ---- what they call ------------------------------------------------------------------------------------------- */

/* The same functions as symbols, for bindings that cannot compile inline ones (ctypes, cgo, dlsym). */
int mlx_kiln_compile(mlx_closure *res, const char *name,
                     int (*fun)(mlx_vector_array *res, const mlx_vector_array inputs, void *payload), void *payload,
                     void (*dtor)(void *), bool shapeless);
int mlx_kiln_compile_unary(mlx_closure *res, const char *name,
                           int (*fun)(mlx_array *res, const mlx_array x, void *payload), void *payload,
                           void (*dtor)(void *), bool shapeless);
int mlx_kiln_compile_binary(mlx_closure *res, const char *name,
                            int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y, void *payload),
                            void *payload, void (*dtor)(void *), bool shapeless);
int mlx_kiln_compile_ternary(mlx_closure *res, const char *name,
                             int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y, const mlx_array z,
                                        void *payload),
                             void *payload, void (*dtor)(void *), bool shapeless);
int mlx_kiln_call(mlx_array *res, const mlx_closure fun, const mlx_array *inputs, size_t count);
int mlx_kiln_call_unary(mlx_array *res, const mlx_closure fun, const mlx_array x);
int mlx_kiln_call_binary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y);
int mlx_kiln_call_ternary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y,
                          const mlx_array z);
int mlx_kiln_call_donating(mlx_vector_array *res, const mlx_closure fun, const mlx_array *inputs, size_t count,
                           const bool *donate);

/* What the inline functions of 0.1 called: kept for programs built with them. arity 0: the general form. */
int _mlx_kiln_compile(mlx_closure *res, const char *name, int arity, void (*fun)(void), void *payload,
                      void (*dtor)(void *), bool shapeless);

static inline int kiln_compile(mlx_closure *res, const char *name,
                               int (*fun)(mlx_vector_array *res, const mlx_vector_array inputs, void *payload),
                               void *payload, void (*dtor)(void *), bool shapeless)
{
    return mlx_kiln_compile(res, name, fun, payload, dtor, shapeless);
}

static inline int kiln_compile_unary(mlx_closure *res, const char *name,
                                     int (*fun)(mlx_array *res, const mlx_array x, void *payload), void *payload,
                                     void (*dtor)(void *), bool shapeless)
{
    return mlx_kiln_compile_unary(res, name, fun, payload, dtor, shapeless);
}

static inline int kiln_compile_binary(mlx_closure *res, const char *name,
                                      int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y, void *payload),
                                      void *payload, void (*dtor)(void *), bool shapeless)
{
    return mlx_kiln_compile_binary(res, name, fun, payload, dtor, shapeless);
}

static inline int kiln_compile_ternary(mlx_closure *res, const char *name,
                                       int (*fun)(mlx_array *res, const mlx_array x, const mlx_array y,
                                                  const mlx_array z, void *payload),
                                       void *payload, void (*dtor)(void *), bool shapeless)
{
    return mlx_kiln_compile_ternary(res, name, fun, payload, dtor, shapeless);
}

static inline int kiln_call(mlx_array *res, const mlx_closure fun, const mlx_array *inputs, size_t count)
{
    return mlx_kiln_call(res, fun, inputs, count);
}

static inline int kiln_call_unary(mlx_array *res, const mlx_closure fun, const mlx_array x)
{
    return mlx_kiln_call_unary(res, fun, x);
}

static inline int kiln_call_binary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y)
{
    return mlx_kiln_call_binary(res, fun, x, y);
}

static inline int kiln_call_ternary(mlx_array *res, const mlx_closure fun, const mlx_array x, const mlx_array y,
                                    const mlx_array z)
{
    return mlx_kiln_call_ternary(res, fun, x, y, z);
}

static inline int kiln_call_donating(mlx_vector_array *res, const mlx_closure fun, const mlx_array *inputs,
                                     size_t count, const bool *donate)
{
    return mlx_kiln_call_donating(res, fun, inputs, count, donate);
}

#ifdef __cplusplus
}
#endif
#endif
