/*
 * matrices.h - small matrices of complex float64 numbers, with which tests compute what others must come near to.
 */
#ifndef KILN_TESTS_SUPPORT_MATRICES_H
#define KILN_TESTS_SUPPORT_MATRICES_H

#include <complex.h>
#include <float.h>
#include <math.h>

#include "support/arrays.h"

enum { MATRIX_ELEMENTS = 64 * 64 };

struct matrix {
    int rows, columns;
    double complex at[MATRIX_ELEMENTS];
};

static inline double complex number_at(const struct numbers *numbers, int at)
{
    const char *data = numbers->data + (size_t)at * (size_t)facts[numbers->dtype].size;
    if (numbers->dtype == MLX_FLOAT64) return *(const double *)data;
    if (numbers->dtype == MLX_FLOAT32) return *(const float *)data;
    if (numbers->dtype == MLX_UINT32) return *(const uint32_t *)data;
    CHECK_EQ(numbers->dtype, MLX_COMPLEX64);
    return ((const float *)data)[0] + I * ((const float *)data)[1];
}
#define number_at(...) CHECK_CALL(number_at, __VA_ARGS__)

/* Matrix `number` of a batch: its last two axes, or its last one as a column. */
static inline void matrix_of(const struct numbers *numbers, bool is_column, int number, struct matrix *out)
{
    int ndim = numbers->shape.ndim;
    out->columns = is_column ? 1 : numbers->shape.dims[ndim - 1];
    out->rows = numbers->shape.dims[ndim - (is_column ? 1 : 2)];
    int size = out->rows * out->columns;
    CHECK_LE(size, MATRIX_ELEMENTS);
    for (int i = 0; i < size; i++) out->at[i] = number_at(numbers, number * size + i);
}
#define matrix_of(...) CHECK_CALL(matrix_of, __VA_ARGS__)

static inline void matrix_product(const struct matrix *a, const struct matrix *b, struct matrix *out)
{
    CHECK_EQ(a->columns, b->rows);
    out->rows = a->rows, out->columns = b->columns;
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < b->columns; j++) {
            double complex sum = 0;
            for (int k = 0; k < a->columns; k++) sum += a->at[i * a->columns + k] * b->at[k * b->columns + j];
            out->at[i * b->columns + j] = sum;
        }
}
#define matrix_product(...) CHECK_CALL(matrix_product, __VA_ARGS__)

/* Turned, and conjugated. */
static inline void matrix_adjoint(const struct matrix *a, struct matrix *out)
{
    out->rows = a->columns, out->columns = a->rows;
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->columns; j++) out->at[j * a->rows + i] = conj(a->at[i * a->columns + j]);
}

static inline double matrix_largest(const struct matrix *a)
{
    double largest = 0;
    for (int i = 0; i < a->rows * a->columns; i++) largest = fmax(largest, cabs(a->at[i]));
    return largest;
}

static inline void expect_matrix_near(const struct matrix *got, const struct matrix *want, double bound,
                                      const char *what)
{
    CHECK_EQ(got->rows, want->rows);
    CHECK_EQ(got->columns, want->columns);
    for (int i = 0; i < got->rows * got->columns; i++)
        if (!(cabs(got->at[i] - want->at[i]) <= bound))
            CHECK_FAIL("%s: element %d of %d x %d is %g%+gi, expected %g%+gi within %g", what, i, got->rows,
                       got->columns, creal(got->at[i]), cimag(got->at[i]), creal(want->at[i]), cimag(want->at[i]),
                       bound);
}
#define expect_matrix_near(...) CHECK_CALL(expect_matrix_near, __VA_ARGS__)

static inline void identity(int n, struct matrix *out)
{
    out->rows = out->columns = n;
    for (int i = 0; i < n * n; i++) out->at[i] = i % (n + 1) == 0;
}

/* Its columns are of length 1 and orthogonal. */
static inline void expect_orthonormal(const struct matrix *a, double bound, const char *what)
{
    static struct matrix turned, product, one;
    matrix_adjoint(a, &turned);
    matrix_product(&turned, a, &product);
    identity(a->columns, &one);
    expect_matrix_near(&product, &one, bound, what);
}
#define expect_orthonormal(...) CHECK_CALL(expect_orthonormal, __VA_ARGS__)

/* The distance of 1 to the next number of what a dtype computes in. */
static inline double epsilon_of(mlx_dtype dtype)
{
    return dtype == MLX_FLOAT64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

#endif
