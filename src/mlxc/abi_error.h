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
__attribute__((cold)) int kiln__mlxc_fail(const char *file, int line, const char *text);
/* "expected a non-empty <type> for <argument> of <function>" */
__attribute__((cold)) int kiln__mlxc_empty(const char *file, int line, const char *type, const char *argument,
                                           const char *function);

#define KILN_FAIL(err)       kiln__mlxc_fail(__FILE__, __LINE__, (err)->text)
#define KILN_FAIL_TEXT(text) kiln__mlxc_fail(__FILE__, __LINE__, (text))

/*
 * Checks of arguments, for functions of the ABI: `if (KILN_NO_ARRAY(a) || KILN_NO_POINTER(res)) return 1;`. Each is
 * true when the argument is missing or wrong, and the handler was told so.
 */
#define KILN_NO_HANDLE(handle, type) (!(handle).ctx && kiln__mlxc_empty(__FILE__, __LINE__, type, #handle, __func__))
#define KILN_NO_ARRAY(a)             KILN_NO_HANDLE(a, "mlx_array")
#define KILN_NO_DEVICE(d)            KILN_NO_HANDLE(d, "mlx_device")
#define KILN_NO_VECTOR(v)            KILN_NO_HANDLE(v, "mlx_vector_array")
#define KILN_NO_CLOSURE(c)           KILN_NO_HANDLE(c, "mlx_closure")

#define KILN_NO_POINTER(pointer) (!(pointer) && KILN_FAIL_TEXT("expected a non-NULL pointer for " #pointer))

/* Also when `count` elements can't fit into memory. */
#define KILN_NO_ELEMENTS(pointer, count)                                                                               \
    (((count) && KILN_NO_POINTER(pointer)) ||                                                                          \
     ((count) > ((size_t)1 << 47) / sizeof *(pointer) &&                                                               \
      KILN_FAIL_TEXT("expected a number of elements for " #count ", not more than memory can hold")))

#endif
