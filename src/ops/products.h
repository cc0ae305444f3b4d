/*
 * products.h - products of matrices that are picked by index or quantized.
 *
 * On CPUs each is one operation, which reads codes and picks matrices while it multiplies. On GPUs, in shapeless traces
 * of gather_mm, and for dtypes without such kernels, the steps are separate operations: gather, dequantize, multiply,
 * and the matrices take memory. Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference,
 * untouched on failure. Error texts begin with "[name] ".
 */
#ifndef KILN_OPS_PRODUCTS_H
#define KILN_OPS_PRODUCTS_H

#include "ops/quantize.h"

/*
 * Which matrices are multiplied: numbers of matrices, counted through all axes but the last two, with negative ones
 * from the end. The two arrays are broadcast with each other; NULL takes all matrices in the shape they have.
 */
struct kiln_picks {
    struct kiln_array *left, *right;
};

kiln_status kiln__gather_mm(struct kiln_array *a, struct kiln_array *b, struct kiln_picks picks,
                            struct kiln_array **out, kiln_error *err);

/* x @ w, or x @ w' when `transpose`, with w dequantized. */
kiln_status kiln__quantized_matmul(struct kiln_array *x, const struct kiln_quantized *w, bool transpose,
                                   struct kiln_quantization how, struct kiln_array **out, kiln_error *err);
/* Scales and biases are gathered with the same indices as the codes. */
kiln_status kiln__gather_qmm(struct kiln_array *x, const struct kiln_quantized *w, struct kiln_picks picks,
                             bool transpose, struct kiln_quantization how, struct kiln_array **out, kiln_error *err);
/* x @ w', both quantized: w as it comes, or here when it has no scales; x here. Not for affine. */
kiln_status kiln__qqmm(struct kiln_array *x, const struct kiln_quantized *w, struct kiln_array *x_global_scale,
                       struct kiln_quantization how, struct kiln_array **out, kiln_error *err);

#endif
