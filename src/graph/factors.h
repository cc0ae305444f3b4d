/*
 * factors.h - matrix factorizations: one node makes all results of one, packed in one array; operation factor takes one
 * of them out.
 *
 * The packed array has the batch dims of the matrices and one last axis, which holds the results of a matrix one after
 * the other, as LAPACK leaves them. Who evaluates one factor computes all of them once; the packed array goes with the
 * last factor that has not been taken out yet, since each of them is a copy.
 */
#ifndef KILN_GRAPH_FACTORS_H
#define KILN_GRAPH_FACTORS_H

#include <stdbool.h>

#include "array/dtype.h"
#include "graph/ops.h"

enum kiln_factor {
    KILN_FACTOR_Q,            /* of qr */
    KILN_FACTOR_R,            /* upper triangular */
    KILN_FACTOR_SINGULAR,     /* of svd: descending, real */
    KILN_FACTOR_U,            /* left singular vectors, all of them */
    KILN_FACTOR_VT,           /* right ones, as rows */
    KILN_FACTOR_REAL_VALUES,  /* of eigh: ascending, real */
    KILN_FACTOR_REAL_VECTORS, /* as columns */
    KILN_FACTOR_VALUES,       /* of eig: complex64 */
    KILN_FACTOR_VECTORS,      /* as columns */
    KILN_FACTOR_LU,           /* of lu: both triangles in one matrix */
    KILN_FACTOR_LOWER,        /* with ones on its diagonal */
    KILN_FACTOR_UPPER,
    KILN_FACTOR_PIVOTS,      /* uint32: row i was exchanged with row pivots[i], in this order */
    KILN_FACTOR_ORDER,       /* uint32: row i of the triangles' product is row order[i] of the matrix */
    KILN_FACTOR_PERMUTATION, /* uint32, the reverse: row i of the matrix is row permutation[i] of the product */
    KILN_FACTORS
};

/* One of the results, of a matrix of m x n. */
struct kiln_factor_place {
    int64_t offset; /* elements from the start of the matrix's part */
    int rows, columns;
    bool is_vector; /* `rows` elements in one axis */
};

/* The factorization that it is one of. */
enum kiln_op kiln__factor_op(enum kiln_factor factor);
/* Its dtype, where the packed array has `packed`. */
enum kiln_dtype kiln__factor_dtype(enum kiln_factor factor, enum kiln_dtype packed);
struct kiln_factor_place kiln__factor_place(enum kiln_factor factor, int m, int n);
/* Elements of the packed results of one matrix; `with_vectors`: svd, eigh and eig make vectors too. */
int64_t kiln__factors_size(enum kiln_op op, bool with_vectors, int m, int n);

#endif
