/*
 * product_run.h - products by the kernels of codegen/cpu/product.h, on the threads of the pool.
 *
 * With few rows a kernel reads the weight once, in the dtype or codes it has: such a product takes as long as memory
 * takes to bring the weight. With more rows a panel of the weight, as large as a cache, becomes float32 and is
 * multiplied with all rows before the next one; so no product takes memory for a whole weight.
 *
 * Threads share the columns, by bytes of the weight. An element of the result is one thread's, so its bits do not
 * depend on how many there are.
 */
#ifndef KILN_RUN_CPU_PRODUCT_RUN_H
#define KILN_RUN_CPU_PRODUCT_RUN_H

#include "codegen/cpu/product.h"
#include "graph/ops.h"

enum { KILN_PRODUCT_FEW = 16 }; /* rows that are multiplied with the weight as it lies */

/* Where one product of a batch begins, in bytes from the first: of x, and of the parts of the weight. */
struct kiln_place {
    int64_t x, parts[3];
};

/* All borrowed. */
struct kiln_product_run {
    enum kiln_op op; /* whose kernels these are */
    int64_t m, n, k;
    const char *x; /* rows of float32; of bfloat16 where has_bf16; of out_dtype where digits is not 0 */
    int64_t x_row; /* bytes from one to the next, as `row` below */
    char *out;     /* packed */
    enum kiln_dtype out_dtype, weight_dtype;
    struct kiln_weight_part {
        const char *data;
        int64_t row;
    } weight[3]; /* elements or codes, scales, biases */
    bool is_transposed;
    enum kiln_product_codes codes;
    int bits, group_size;
    enum kiln_dtype scale_dtype; /* of scales and biases in memory */
    float factor;                /* of nvfp4 scales */
    const struct kiln_place *places;
    int64_t batches;
    bool has_bf16; /* kiln__product_takes_bf16() */
    int digits;    /* kiln__product_digits() */
};

/* Does the device multiply bfloat16 rows as they are with this weight, which `has_bf16` then says? */
bool kiln__product_takes_bf16(const struct kiln_product_run *run);
/* As how many digits the device multiplies a number of x with these codes, which `digits` then says; 0: as a float. */
int kiln__product_digits(const struct kiln_product_run *run);

/* Are there kernels for x and out of this dtype, and does the thread's device have their instructions? */
bool kiln__product_knows(enum kiln_dtype dtype);
/* Has the device 512-bit vectors, and with them kernels that compute as fast as BLAS does? */
bool kiln__product_has_wide_vectors(void);
/* m, n, k and batches are at least 1. On failure nothing was written. In a dry run kernels are chosen only. */
kiln_status kiln__product_run(const struct kiln_product_run *run, kiln_error *err);

#endif
