/*
 * gpu_product_run.h - products by the kernels of codegen/gpu/gpu_product.h, on the active GPU.
 *
 * With few rows a weight is read once, in the dtype or codes it has: such a product takes as long as memory takes to
 * bring it. It is a launch like others, so it can be part of a plan's graph. With more rows cuBLAS is faster; where
 * there is none, these kernels multiply any number of rows.
 */
#ifndef KILN_RUN_GPU_GPU_PRODUCT_RUN_H
#define KILN_RUN_GPU_GPU_PRODUCT_RUN_H

#include "codegen/gpu/gpu_product.h"
#include "graph/ops.h"

/* All borrowed; rows and steps in bytes. `batches` products, whose operands are `step` apart; results are packed. */
struct kiln_gpu_product_run {
    enum kiln_op op; /* whose kernels these are */
    enum kiln_dtype dtype;
    int64_t m, n, k, batches;
    char *out;
    struct kiln_gpu_operand {
        const char *data;
        int64_t row, step;
    } x, weight[3]; /* elements or codes, scales, biases */
    const char *global_scale;
    struct kiln_gpu_product_config config; /* but for rows, wide and is_broad */
};

/* Are there kernels for x and out of this dtype? */
bool kiln__gpu_product_knows(enum kiln_dtype dtype);
/* And do they multiply `rows` rows, which are all that one weight is multiplied with? */
bool kiln__gpu_product_takes(enum kiln_dtype dtype, int64_t rows);
/* m, n, k and batches are at least 1. */
kiln_status kiln__gpu_product_run(const struct kiln_gpu_product_run *run, kiln_error *err);

#endif
