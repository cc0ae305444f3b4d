/*
 * step_linalg.h - steps of random programs that factorize a matrix, two by two, far from singular, made of an operand's
 * first elements; and Fourier transforms.
 */
#ifndef KILN_TESTS_SUPPORT_STEP_LINALG_H
#define KILN_TESTS_SUPPORT_STEP_LINALG_H

#include "support/step_products.h"

static bool choose_four(const struct choice *choice, struct step *step)
{
    (void)step;
    return mlx_array_size(choice->in[0]) >= 4;
}

/* Whole numbers up to 4, and 10 more on the diagonal. */
static int run_on_matrix(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    const int flat[] = {-1}, start[] = {0}, stop[] = {4}, by[] = {1}, dims[] = {2, 2};
    mlx_array a = mlx_array_new(), diagonal = mlx_array_new(), ten = mlx_array_new_float(10);
    int code = make_whole(&a, in[0], stream) || mlx_reshape(&a, a, flat, 1, stream) ||
               mlx_slice(&a, a, start, 1, stop, 1, by, 1, stream) || mlx_reshape(&a, a, dims, 2, stream) ||
               mlx_eye(&diagonal, 2, 2, 0, MLX_FLOAT32, stream) || mlx_multiply(&diagonal, diagonal, ten, stream) ||
               mlx_add(&a, a, diagonal, stream) || step->kind->unary(out, a, stream);
    return mlx_array_free(a), mlx_array_free(diagonal), mlx_array_free(ten), code;
}

static int lower_cholesky(mlx_array *out, const mlx_array a, const mlx_stream s)
{
    return mlx_linalg_cholesky(out, a, false, s);
}

/* The second of two results, and the first one, which is dropped. */
static int second_of_qr(mlx_array *out, const mlx_array a, const mlx_stream s)
{
    mlx_array q = mlx_array_new();
    int code = mlx_linalg_qr(&q, out, a, s);
    return mlx_array_free(q), code;
}

static int first_of_lu(mlx_array *out, const mlx_array a, const mlx_stream s)
{
    mlx_array pivots = mlx_array_new();
    int code = mlx_linalg_lu_factor(out, &pivots, a, s);
    return mlx_array_free(pivots), code;
}

static int sum_of_eigh(mlx_array *out, const mlx_array a, const mlx_stream s)
{
    mlx_array values = mlx_array_new(), vectors = mlx_array_new();
    int code = mlx_linalg_eigh(&values, &vectors, a, "L", s) || mlx_add(out, values, vectors, s);
    return mlx_array_free(values), mlx_array_free(vectors), code;
}

static int real_of_eig(mlx_array *out, const mlx_array a, const mlx_stream s)
{
    int code = mlx_linalg_eigvals(out, a, s);
    return code ? code : mlx_real(out, *out, s);
}

static int part_of_svd(mlx_array *out, const mlx_array a, const mlx_stream s)
{
    mlx_vector_array all = mlx_vector_array_new();
    int code = mlx_linalg_svd(&all, a, true, s) || mlx_vector_array_get(out, all, 2);
    return mlx_vector_array_free(all), code;
}

/* Whole numbers, transformed along an axis with a zero more or not, and back. */
static int run_fft(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    int axis = step->numbers[0], n = size_of(in[0], axis) + step->numbers[1];
    mlx_array a = mlx_array_new();
    int code = make_whole(&a, in[0], stream) || mlx_fft_rfft(&a, a, n, axis, MLX_FFT_NORM_ORTHO, stream) ||
               mlx_fft_irfft(out, a, n - step->numbers[1], axis, MLX_FFT_NORM_ORTHO, stream);
    return mlx_array_free(a), code;
}

#endif
