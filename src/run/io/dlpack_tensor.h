/*
 * dlpack_tensor.h - tensors of DLPack as arrays, and arrays as tensors. The promises are those of
 * include/kiln/dlpack.h.
 */
#ifndef KILN_RUN_IO_DLPACK_TENSOR_H
#define KILN_RUN_IO_DLPACK_TENSOR_H

#include "array/array.h"
#include "key/dlpack.h"

enum { KILN_DLPACK_NO_STREAM = -1 };

/* An array over the tensor's memory. free_tensor(payload) runs when that is not used any more, and not when this fails.
 */
kiln_status kiln__dlpack_import(const struct kiln_dltensor *tensor, int64_t stream, void (*free_tensor)(void *),
                                void *payload, struct kiln_array **out, kiln_error *err);
/* Evaluates the array, or makes a packed copy of it: *out is a reference to what is to be shown, and visible to the
 * stream. */
kiln_status kiln__dlpack_show(struct kiln_array *array, bool copy, int64_t stream, struct kiln_array **out,
                              kiln_error *err);
/* What a tensor says of an array that kiln__dlpack_show() gave; shape and strides go to 2 * ndim `numbers`. */
void kiln__dlpack_describe(const struct kiln_array *array, int64_t *numbers, struct kiln_dltensor *out);

#endif
