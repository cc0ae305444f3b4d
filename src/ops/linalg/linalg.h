/*
 * linalg.h - linear algebra: factorizations, and what is composed of them.
 *
 * Matrices are the last two axes; the others are a batch. Same contract as kiln__apply(): inputs borrowed, *out is the
 * caller's reference, untouched on failure; of several results there are all or none. Error texts begin with "[name] ".
 * float32 and float64 (svd, eigh and eig complex64 too), never promoted from other dtypes.
 */
#ifndef KILN_OPS_LINALG_LINALG_H
#define KILN_OPS_LINALG_LINALG_H

#include "graph/factors.h"
#include "ops/reductions.h" /* struct kiln_axes */

/* The triangle L, or U when `upper`, of a positive definite matrix, of which that triangle is read. Of another matrix
 * the result has numbers, but no meaning, as in the reference. */
kiln_status kiln__cholesky(struct kiln_array *a, bool upper, struct kiln_array **out, kiln_error *err);
/* KILN_WHOLE, or of a triangle, where the other one is not read. A singular matrix is an error when it is evaluated. */
kiln_status kiln__inverse(struct kiln_array *a, enum kiln_triangle triangle, struct kiln_array **out, kiln_error *err);
kiln_status kiln__tri_inv(struct kiln_array *a, bool upper, struct kiln_array **out, kiln_error *err);
/* The inverse of the matrix whose Cholesky triangle is `a`. */
kiln_status kiln__cholesky_inv(struct kiln_array *a, bool upper, struct kiln_array **out, kiln_error *err);
/* The pseudo-inverse: singular values below 10 * max(m, n) * epsilon times the largest one count as 0. */
kiln_status kiln__pinv(struct kiln_array *a, struct kiln_array **out, kiln_error *err);
/* x with a @ x = b; b is a vector when it has one axis. Batches are broadcast with each other. */
kiln_status kiln__solve(struct kiln_array *a, struct kiln_array *b, struct kiln_array **out, kiln_error *err);
kiln_status kiln__solve_triangular(struct kiln_array *a, struct kiln_array *b, bool upper, struct kiln_array **out,
                                   kiln_error *err);
/* Vectors of 2 or 3 along `axis`; the missing element of one is 0. */
kiln_status kiln__cross(struct kiln_array *a, struct kiln_array *b, int axis, struct kiln_array **out, kiln_error *err);

/* How a factorization is made: svd, eigh and eig with vectors or without; eigh with which triangle. */
struct kiln_factoring {
    bool with_vectors, upper;
};

/* `count` results of one factorization of `a`, which is made once for all of them. */
kiln_status kiln__factorize(struct kiln_array *a, struct kiln_factoring how, const enum kiln_factor *wanted,
                            size_t count, struct kiln_array **out, kiln_error *err);
/* eigh and eigvalsh: "U" or "L". The reference gives LAPACK rows for columns, so that "L" reads the upper triangle; so
 * do we. The two only differ where the matrix is not symmetric. */
kiln_status kiln__parse_triangle(const char *name, const char *uplo, bool *upper, kiln_error *err);
kiln_status kiln__eigvals(struct kiln_array *a, struct kiln_array **out, kiln_error *err);
kiln_status kiln__eigvalsh(struct kiln_array *a, const char *uplo, struct kiln_array **out, kiln_error *err);

/* Norms. No axes: of vectors all elements, of matrices the last two axes. `axes.count` is KILN_ALL_AXES where the
 * caller gave none. */
kiln_status kiln__norm_l2(struct kiln_array *a, struct kiln_axes axes, struct kiln_array **out, kiln_error *err);
kiln_status kiln__norm(struct kiln_array *a, double order, struct kiln_axes axes, struct kiln_array **out,
                       kiln_error *err);
kiln_status kiln__norm_matrix(struct kiln_array *a, const char *order, struct kiln_axes axes, struct kiln_array **out,
                              kiln_error *err);

#endif
