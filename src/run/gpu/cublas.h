/*
 * cublas.h - matrix products on a GPU, through cuBLAS, which is opened when the first one is asked for.
 */
#ifndef KILN_RUN_GPU_CUBLAS_H
#define KILN_RUN_GPU_CUBLAS_H

#include "array/dtype.h"
#include "base/status.h"

/* `count` products of row-major matrices, c = a b; a is m x k, b is k x n, c packed. Steps in elements, from one
 * product to the next. */
struct kiln_gpu_product {
    enum kiln_dtype dtype;
    bool a_is_transposed, b_is_transposed; /* as they lie in memory */
    int m, n, k, a_lead, b_lead;
    int64_t a_step, b_step;
    int count;
    const char *a, *b;
    char *c;
};

/* False: no cuBLAS here, or it does not know the dtype. */
bool kiln__cublas_can(enum kiln_dtype dtype);
/* On the active GPU; does not wait. 16-bit floats accumulate in float32 and are rounded once. */
kiln_status kiln__cublas_multiply(const struct kiln_gpu_product *product, kiln_error *err);

#endif
