/*
 * handle.h - from handles to objects and back.
 *
 * unwrap: the object stays the handle's. give: the reference passes to the handle; an existing box stays and its old
 * content is released last, so that a result may be one of the inputs. Giving consumes the reference also on failure.
 */
#ifndef KILN_MLXC_HANDLE_H
#define KILN_MLXC_HANDLE_H

#include "array/array.h"
#include "graph/default_device.h"
#include "mlx/c/mlx.h"
#include "mlxc/abi_error.h"
#include "mlxc/box.h"

struct kiln_array_box {
    struct kiln_array *array; /* never NULL */
};

struct kiln_device_box {
    mlx_device_type type;
    int index;
};

struct kiln_stream_box {
    struct kiln_device_box device;
    int index;      /* unique in the process */
    uint32_t queue; /* of a GPU: device/gpu_streams.h; 0: its default one */
};

/* 0: the CPU; 1 + n: GPU n. */
static inline uint32_t kiln__device_index(struct kiln_device_box device)
{
    return device.type == MLX_GPU ? 1 + (uint32_t)device.index : 0;
}

/* What the calling function makes is computed on the device of its stream, and there by the stream's own queue. */
static inline void kiln__use_stream(mlx_stream handle)
{
    const struct kiln_stream_box *stream = handle.ctx;
    kiln__choose_device_index(kiln__device_index(stream->device) | stream->queue << KILN_STREAM_SHIFT);
}

/* The handle must not be empty. */
static inline struct kiln_array *kiln__unwrap(mlx_array handle)
{
    return ((struct kiln_array_box *)handle.ctx)->array;
}

/* NULL for an empty handle: a parameter that may be absent. */
static inline struct kiln_array *kiln__unwrap_optional(mlx_array handle)
{
    return handle.ctx ? kiln__unwrap(handle) : NULL;
}

/* Puts the reference into *res; the return value is that of an ABI function. */
int kiln__give(mlx_array *res, struct kiln_array *array);
/* A new handle; ctx NULL, and the handler was called, when out of memory. */
mlx_array kiln__wrap(struct kiln_array *array);

/* Copies `size` bytes of text into *str. */
int kiln__give_text(mlx_string *str, const char *text, size_t size);

/* KILN_NO_POINTER() and its like (abi_error.h) for a stream, which also chooses its device for what the call makes. */
#define KILN_NO_STREAM(s) (KILN_NO_HANDLE(s, "mlx_stream") || (kiln__use_stream(s), false))
/* ... and for a dtype; the error begins with "[name] ". */
#define KILN_NO_DTYPE(name, dtype)                                                                                     \
    (!kiln__dtype_is_valid((int)(dtype)) && KILN_FAIL_TEXT("[" name "] the dtype is not one of mlx_dtype (0 to 13)"))

/* Ends a function of the ABI: `call` fills `out` or fails with `err`, both of this macro. */
#define KILN_RETURN_RESULT(res, call)                                                                                  \
    do {                                                                                                               \
        kiln_error err;                                                                                                \
        struct kiln_array *out = NULL;                                                                                 \
        if (KILN_NO_POINTER(res)) return 1;                                                                            \
        return (call) ? KILN_FAIL(&err) : kiln__give(res, out);                                                        \
    } while (0)

#endif
