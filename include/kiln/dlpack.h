/*
 * kiln/dlpack.h - arrays from and to other libraries without a copy, by DLPack. Link with libmlxc.so.
 *
 * The structs are those of DLPack's own header (dlpack.h 1.0), which a program that looks into them includes beside
 * this one: DLManagedTensorVersioned, and the older DLManagedTensor of the functions that end in _old. Every function
 * may be called from any thread and returns 0, or 1 after the error handler was told.
 *
 *     struct DLManagedTensorVersioned *tensor;
 *     kiln_dlpack_export(&tensor, array, false, -1);    to somebody, who calls tensor->deleter(tensor) in the end
 *     kiln_dlpack_import(&array, tensor, -1);           from somebody
 *
 * Streams matter for memory of GPUs only; elsewhere they are ignored. A stream is a handle of the driver (CUstream,
 * cudaStream_t), with 0 and 1 for its default stream and 2 for that of the thread; -1: nobody asks for one.
 */
#ifndef KILN_DLPACK_H
#define KILN_DLPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "mlx/c/array.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;
struct DLManagedTensor;

/*
 * Shows an array, which is evaluated first. Nothing is copied: the tensor has the array's bytes and strides, and keeps
 * them alive until its deleter is called: once, from any thread. Arrays do not change, so the tensor is read-only
 * (DLPACK_FLAG_BITMASK_READ_ONLY), and whoever gets it must not write. With `copy` it has a packed copy on the same
 * device (DLPACK_FLAG_BITMASK_IS_COPIED), which nobody else sees and its consumer may write. An older tensor has no
 * flags; who hands one out has to see to it.
 *
 * On GPU n the device is kDLCUDA n, else kDLCPU. What was queued to make the bytes comes before what `stream` is given
 * from then on; the host waits for nothing. With -1 the consumer has to wait itself, say with mlx_synchronize().
 * When the deleter is called, nothing may read the bytes any more but what was queued on the default stream: Kiln uses
 * their memory again.
 */
static inline int kiln_dlpack_export(struct DLManagedTensorVersioned **res, const mlx_array a, bool copy,
                                     int64_t stream);
static inline int kiln_dlpack_export_old(struct DLManagedTensor **res, const mlx_array a, bool copy, int64_t stream);

/*
 * Makes an array over a tensor's memory; nothing is copied. It takes the tensor: its deleter (NULL: none) is called
 * once, when the last array that shows its bytes is gone, on whatever thread that happens. After a failure the tensor
 * is the caller's as before, and its deleter was not called.
 *
 * From then on the bytes may not change, whether the tensor is read-only or not: results may be computed from them at
 * any time until the deleter is called. Bytes of a bool are 0 or 1.
 *
 * Any strides, negative ones and 0 too, and any byte_offset that is a multiple of the element's size (of complex64: of
 * 4); at most 32 dimensions, each at most 2^31 - 1. Dtypes: bool, signed and unsigned integers of 8 to 64 bits,
 * float16, float32, float64, bfloat16 and complex64, of one lane. Devices: kDLCPU, kDLCUDAHost, which is memory of the
 * host, and kDLCUDA n, GPU n. Version 1 of any minor number. Everything else is refused.
 *
 * What `stream` was given before comes before what reads the array; the host waits for nothing. With -1 the bytes must
 * be there already. Before the deleter of GPU memory is called, the host waits until nothing in Kiln reads it.
 */
static inline int kiln_dlpack_import(mlx_array *res, struct DLManagedTensorVersioned *tensor, int64_t stream);
static inline int kiln_dlpack_import_old(mlx_array *res, struct DLManagedTensor *tensor, int64_t stream);

/* Which device a tensor of the array is on, in DLPack's numbers: what __dlpack_device__() of Python answers. The array
 * is evaluated first. */
static inline int kiln_dlpack_device(int32_t *type, int32_t *id, const mlx_array a);

/* ---- what they call ------------------------------------------------------------------------------------------- */

/* The same functions as symbols, for bindings that cannot compile inline ones (ctypes, cgo, dlsym). */
int mlx_kiln_dlpack_export(struct DLManagedTensorVersioned **res, const mlx_array a, bool copy, int64_t stream);
int mlx_kiln_dlpack_export_old(struct DLManagedTensor **res, const mlx_array a, bool copy, int64_t stream);
int mlx_kiln_dlpack_import(mlx_array *res, struct DLManagedTensorVersioned *tensor, int64_t stream);
int mlx_kiln_dlpack_import_old(mlx_array *res, struct DLManagedTensor *tensor, int64_t stream);
int mlx_kiln_dlpack_device(int32_t *type, int32_t *id, const mlx_array a);

static inline int kiln_dlpack_export(struct DLManagedTensorVersioned **res, const mlx_array a, bool copy,
                                     int64_t stream)
{
    return mlx_kiln_dlpack_export(res, a, copy, stream);
}

static inline int kiln_dlpack_export_old(struct DLManagedTensor **res, const mlx_array a, bool copy, int64_t stream)
{
    return mlx_kiln_dlpack_export_old(res, a, copy, stream);
}

static inline int kiln_dlpack_import(mlx_array *res, struct DLManagedTensorVersioned *tensor, int64_t stream)
{
    return mlx_kiln_dlpack_import(res, tensor, stream);
}

static inline int kiln_dlpack_import_old(mlx_array *res, struct DLManagedTensor *tensor, int64_t stream)
{
    return mlx_kiln_dlpack_import_old(res, tensor, stream);
}

static inline int kiln_dlpack_device(int32_t *type, int32_t *id, const mlx_array a)
{
    return mlx_kiln_dlpack_device(type, id, a);
}

#ifdef __cplusplus
}
#endif
#endif
