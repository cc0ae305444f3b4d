/*
 * product.h - kernels of matrix products on CPUs: x (rows of float32, bfloat16 or digits) times a weight that is read
 * once, as it lies.
 *
 * One ABI for all of them, that of group.h, where
 *
 *     args     out, x, weight, scales, biases, k, the bits of a float32, a factor of nvfp4 scales
 *     strides  for each pointer, in bytes: from one row to the next, and 0
 *     rows     rows of x and out, at least 1 and at most KILN_PRODUCT_ROWS
 *     n        columns of out
 *
 * Rows of x and out are packed along themselves. A row of a transposed weight has the k elements of one column of out;
 * a row of any other has n elements, one for each column.
 *
 * The order of a sum depends on k, the config and the layout of the weight, never on n, rows or threads: with dots,
 * each of `lanes` x `unroll` partial sums takes every such element in turn, and they are added in pairs; without, k in
 * order.
 */
#ifndef KILN_CODEGEN_CPU_PRODUCT_H
#define KILN_CODEGEN_CPU_PRODUCT_H

#include "array/dtype.h"
#include "base/buffer.h"
#include "base/status.h"

enum { KILN_PRODUCT_ROWS = 8 };

/* What codes of a quantized weight stand for: ops/quantize.h has the formats. */
enum kiln_product_codes { KILN_CODES_NONE, KILN_CODES_AFFINE, KILN_CODES_MXFP4, KILN_CODES_MXFP8, KILN_CODES_NVFP4 };

/* What a kernel's text depends on, besides the dtypes of the weight and of the result. */
struct kiln_product_config {
    bool is_transposed; /* the weight */
    bool is_near;       /* the weight lies in a cache: nothing is fetched ahead */
    bool is_expanding;  /* no product: `rows` rows of `n` elements of the weight are stored as floats; x is not read */
    bool has_bf16;      /* x is bfloat16, and AVX-512 BF16 multiplies; the weight is transposed, bfloat16 */
    bool is_splitting;  /* no product: `rows` rows of x, of the weight's dtype, become digits; both ends of digits */
    uint8_t digits;     /* x is 2 or 3 digits (product_digits.c), and AVX-512 VNNI multiplies; 0: it is floats */
    uint8_t rows;       /* 1, 2, 4 or 8: as many or fewer are computed together */
    uint8_t lanes;      /* 8 or 16 floats are a vector */
    enum kiln_product_codes codes;
    uint8_t bits, group_size;    /* of codes */
    enum kiln_dtype scale_dtype; /* of affine scales and biases */
};

/* Bytes of a row of x with k elements, as digits; a multiple of 64, as its place has to be. */
int64_t kiln__product_digits_bytes(const struct kiln_product_config *config, int64_t k);

/* The config as the flags of a variant (run/kernels/launch.h), and back. */
unsigned kiln__product_pack(const struct kiln_product_config *config);
struct kiln_product_config kiln__product_unpack(unsigned flags);

/* `weight` (uint32 for codes) and `out` are float32, float16 or bfloat16. The target has fused multiply-adds and
 * float16 conversions. */
kiln_status kiln__product_print(enum kiln_dtype weight, enum kiln_dtype out, const struct kiln_product_config *config,
                                struct kiln_buffer *text, kiln_error *err);

#endif
