/*
 * gpu_product.h - products of few rows on GPUs: the weight is read once, as it lies, in floats or in codes. The kernels
 * are C, codegen/runtime/gpu/product_kernels.c; a text calls one with constants for what stands in the config.
 *
 * params: pointers of the result, x, the weight, its scales, its biases and the global scale (some pointer where there
 * is none), then m, n, k; bytes from one row to the next of x, weight, scales and biases; bytes from one product of a
 * batch to the next of the same; blocks of columns, tiles of rows, split. Blocks: columns fastest, then tiles, then
 * products.
 */
#ifndef KILN_CODEGEN_GPU_GPU_PRODUCT_H
#define KILN_CODEGEN_GPU_GPU_PRODUCT_H

#include "codegen/cpu/product.h"
#include "codegen/gpu/gpu_schedule.h"

enum { KILN_GPU_PRODUCT_POINTERS = 6, KILN_GPU_PRODUCT_PARAMS = KILN_GPU_PRODUCT_POINTERS + 14 };

/* What a kernel's text depends on, besides the dtype of x and the result. */
struct kiln_gpu_product_config {
    bool is_transposed; /* the weight: a row of it is a column of the result */
    bool wide;          /* rows of x and of the weight are whole chunks, aligned to 16 bytes */
    bool has_global;    /* a global scale, of nvfp4 */
    bool is_broad;      /* many columns, so warps have more of them, as kiln__gpu_product_is_broad() says */
    uint8_t rows;       /* computed together, as kiln__gpu_product_rows() says */
    enum kiln_product_codes codes;
    uint8_t bits, group_size;    /* of codes */
    enum kiln_dtype scale_dtype; /* of affine scales and biases */
};

/* The config as `form` of a kiln_gpu_config, and back. */
uint32_t kiln__gpu_product_pack(const struct kiln_gpu_product_config *config);
struct kiln_gpu_product_config kiln__gpu_product_unpack(uint32_t form);

/* Rows that a kernel for `m` rows computes together: 1, 2, 4, 8 or 16. */
uint8_t kiln__gpu_product_rows(const struct kiln_gpu_product_config *config, int64_t m);
/* What a warp does for x, and to begin and end, it does for all its columns. `rows` is set. */
bool kiln__gpu_product_is_broad(const struct kiln_gpu_product_config *config, int64_t n);
/* Elements of the weight that a lane reads at once. */
uint32_t kiln__gpu_product_chunk(const struct kiln_gpu_product_config *config);
/* Warps that share a column's sum: it depends on n and k, so that the order of a sum does too. */
uint32_t kiln__gpu_product_split(const struct kiln_gpu_product_config *config, int64_t n, int64_t k);
/* Columns of a block. */
uint32_t kiln__gpu_product_columns(const struct kiln_gpu_product_config *config, uint32_t split);

/* `dtype` is float32, float16 or bfloat16. */
kiln_status kiln__gpu_product_print(enum kiln_dtype dtype, const struct kiln_gpu_product_config *config,
                                    struct kiln_buffer *text, kiln_error *err);

#endif
