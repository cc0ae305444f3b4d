/*
 * structured_products.h - products of matrices some of whose blocks count as zero, of segments of matrices, and with
 * Hadamard's matrix, which is never written out.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure. Error texts
 * begin with "[name] ".
 */
#ifndef KILN_OPS_CONTRACT_STRUCTURED_PRODUCTS_H
#define KILN_OPS_CONTRACT_STRUCTURED_PRODUCTS_H

#include "graph/node.h"

/* One number for each block of so many rows and columns: false and 0 blank it out. NULL: none is. */
struct kiln_block_masks {
    struct kiln_array *result, *left, *right;
    int block_size; /* 32 or 64 */
};

/* a @ b, of floats. Masks are broadcast to the blocks of what they mask; those that are not bool are factors. */
kiln_status kiln__block_masked_mm(struct kiln_array *a, struct kiln_array *b, struct kiln_block_masks masks,
                                  struct kiln_array **out, kiln_error *err);

/* a (m, k), b (k, n), segments (..., 2): for each pair first, end the product of columns first to end of a and the same
 * rows of b, (..., m, n). A segment that is not inside of k is an error when it is evaluated. */
kiln_status kiln__segmented_mm(struct kiln_array *a, struct kiln_array *b, struct kiln_array *segments,
                               struct kiln_array **out, kiln_error *err);

/*
 * Hadamard's matrix, of 1 and -1, times each row of the last axis, whose size is m * 2^k with m of 1, 12, 20 or 28;
 * then times *scale, or, when that is NULL, over the square root of the size. Integers become float32; 16-bit floats
 * are computed in float32 and rounded once.
 */
kiln_status kiln__hadamard_transform(struct kiln_array *a, const float *scale, struct kiln_array **out,
                                     kiln_error *err);

#endif
