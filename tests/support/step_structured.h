/*
 * step_structured.h - steps of random programs: other dtypes of the same bytes, dependencies, products of segments.
 */
#ifndef KILN_TESTS_SUPPORT_STEP_STRUCTURED_H
#define KILN_TESTS_SUPPORT_STEP_STRUCTURED_H

#include "support/step_products.h"

/* As bytes and back: half the bytes of each element exchanged on the way would be seen. */
static int run_view(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    static const mlx_dtype words[] = {[1] = MLX_UINT8, [2] = MLX_UINT16, [4] = MLX_UINT32, [8] = MLX_UINT64};
    (void)step;
    return mlx_view(out, in[0], words[mlx_array_itemsize(in[0])], stream) ||
           (axes_of(in[0]) && mlx_view(out, *out, MLX_UINT8, stream));
}

static int run_depends(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_vector_array arrays = mlx_vector_array_new_data(in, 1), others = mlx_vector_array_new_data(in + 1, 1),
                     res = mlx_vector_array_new();
    (void)step, (void)stream;
    int code = mlx_depends(&res, arrays, others) || mlx_vector_array_get(out, res, 0);
    return mlx_vector_array_free(arrays), mlx_vector_array_free(others), mlx_vector_array_free(res), code;
}

/* Three segments, one of them empty, of rows of 32 times a matrix of 32 rows and 4 columns. */
static int run_segmented_mm(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    const int places[] = {0, 5, 5, DEPTH, 7, 7}, shape[] = {3, 2}, matrix[] = {DEPTH, 4};
    mlx_array x = mlx_array_new(), key = mlx_array_new(), weights = mlx_array_new(),
              segments = mlx_array_new_data(places, shape, 2, MLX_INT32);
    int code = make_rows(&x, in[0], stream) || mlx_random_key(&key, step->seed) ||
               mlx_random_bits(&weights, matrix, 2, 1, key, stream) ||
               mlx_astype(&weights, weights, MLX_FLOAT32, stream) ||
               mlx_segmented_mm(out, x, weights, segments, stream);
    return mlx_array_free(x), mlx_array_free(key), mlx_array_free(weights), mlx_array_free(segments), code;
}

#endif
