/*
 * abi_error.h - how a function of the ABI reports failure.
 *
 * Every failing call reaches the handler exactly once, on the calling thread, before it returns. No lock is held while
 * the handler runs. The texts end in " at <file>:<line>", of our source.
 */
#ifndef KILN_MLXC_ABI_ERROR_H
#define KILN_MLXC_ABI_ERROR_H

#include "base/status.h"

/* Each returns 1, the code of a failed call, so that a function can end in `return KILN_FAIL(&err)`. */
int kiln__mlxc_fail(const char *file, int line, const char *text);
/* "expected a non-empty <type> for <argument> of <function>" */
int kiln__mlxc_empty(const char *file, int line, const char *type, const char *argument, const char *function);
void kiln__mlxc_not_implemented(const char *name);

#define KILN_FAIL(err)       kiln__mlxc_fail(__FILE__, __LINE__, (err)->text)
#define KILN_FAIL_TEXT(text) kiln__mlxc_fail(__FILE__, __LINE__, (text))

/* Leaves the function, one of the ABI, with `value` when its argument `handle` is empty. */
#define KILN_NEED_OR(handle, type, value)                                                                              \
    do {                                                                                                               \
        if (__builtin_expect(!(handle).ctx, 0)) {                                                                      \
            kiln__mlxc_empty(__FILE__, __LINE__, type, #handle, __func__);                                             \
            return value;                                                                                              \
        }                                                                                                              \
    } while (0)
#define KILN_NEED(handle, type) KILN_NEED_OR(handle, type, 1)

#define KILN_NEED_ARRAY(a)   KILN_NEED(a, "mlx_array")
#define KILN_NEED_DEVICE(d)  KILN_NEED(d, "mlx_device")
#define KILN_NEED_VECTOR(v)  KILN_NEED(v, "mlx_vector_array")
#define KILN_NEED_CLOSURE(c) KILN_NEED(c, "mlx_closure")

/* Also makes the stream's device the place of what the call makes (handle.h). */
#define KILN_NEED_STREAM(s)                                                                                            \
    do {                                                                                                               \
        KILN_NEED(s, "mlx_stream");                                                                                    \
        kiln__use_stream(s);                                                                                           \
    } while (0)

/* Leaves the function with 1 when a pointer of the caller's is NULL. */
#define KILN_NEED_POINTER(pointer)                                                                                     \
    do {                                                                                                               \
        if (__builtin_expect(!(pointer), 0)) return KILN_FAIL_TEXT("expected a non-NULL pointer for " #pointer);       \
    } while (0)

/* Leaves the function with 1 when there can't be `count` elements behind `pointer`. */
#define KILN_NEED_ELEMENTS(pointer, count)                                                                             \
    do {                                                                                                               \
        if (count) KILN_NEED_POINTER(pointer);                                                                         \
        if (__builtin_expect((count) > ((size_t)1 << 47) / sizeof *(pointer), 0))                                      \
            return KILN_FAIL_TEXT("expected a number of elements for " #count ", not more than memory can hold");      \
    } while (0)

/* Leaves the function with 1 and the text in `err`, a kiln_error of the function's, when `call` fails. */
#define KILN_TRY(call)                                                                                                 \
    do {                                                                                                               \
        if (__builtin_expect((call) != KILN_OK, 0)) return KILN_FAIL(&err);                                            \
    } while (0)

#endif
