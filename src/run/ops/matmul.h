/*
 * matmul.h - the operands of a matrix product, made to fit a library's gemm: what devices share.
 */
#ifndef KILN_RUN_OPS_MATMUL_H
#define KILN_RUN_OPS_MATMUL_H

#include "graph/node.h"

struct kiln_matrix {
    struct kiln_array *array;     /* a reference: the input, or a packed copy of it */
    bool is_transposed;           /* as it lies in memory, row-major */
    int lead;                     /* elements from one row in memory to the next */
    int64_t batch[KILN_MAX_NDIM]; /* bytes per batch axis */
};

/* c = a b, where a is m x k and b is k x n. */
struct kiln_product {
    enum kiln_dtype dtype; /* of a */
    struct kiln_matrix a, b;
    int m, n, k;
};

/* The product of the node's inputs in these dtypes; copies are made at the active device. Release also after a failure.
 */
kiln_status kiln__product_init(struct kiln_product *product, const struct kiln_node *node, enum kiln_dtype left,
                               enum kiln_dtype right, kiln_error *err);
/* Makes the rows of a packed, by a copy if need be. On failure `product` is as it was. */
kiln_status kiln__product_pack_rows(struct kiln_product *product, kiln_error *err);
/* One matrix with packed rows, by a copy if need be. matrix->array is to be unreferenced, also after a failure. */
kiln_status kiln__matrix_rows(struct kiln_array *in, enum kiln_dtype dtype, struct kiln_matrix *matrix,
                              kiln_error *err);
void kiln__product_release(struct kiln_product *product);

/*
 * The number of products in the batch of `out`, which is packed. When b is the same matrix for all of them, and the
 * rows of a are evenly spaced, it is one product with more rows.
 */
int64_t kiln__product_merge_batch(struct kiln_product *product, const struct kiln_array *out);

#endif
