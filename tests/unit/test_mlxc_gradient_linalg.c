/*
 * test_mlxc_gradient_linalg.c - derivatives of inverses, triangles, equations, norms and Fourier transforms, against
 * differences (support/derivatives.h); and what is not differentiated says so.
 */
#include "mlxc_support.h"
#include "support/derivatives.h"

#define RUN(name, ...)                                                                                                 \
    static int run_##name(const struct derivative_case *c, mlx_array *out, const mlx_array *in, mlx_stream stream)     \
    {                                                                                                                  \
        (void)c, (void)out, (void)in, (void)stream;                                                                    \
        __VA_ARGS__                                                                                                    \
    }
#define INTS(...)           (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)
#define CASE(run_name, ...) {.name = #run_name, .run = run_##run_name, .low = -1, .high = 1, __VA_ARGS__}

/* With 4 more on the diagonals. */
static int shifted(mlx_array *out, mlx_array a, mlx_stream s)
{
    int n = mlx_array_dim(a, -1);
    mlx_array four = mlx_array_new_float(4), one = mlx_array_new();
    int code = mlx_eye(&one, n, n, 0, mlx_array_dtype(a), s) || mlx_astype(&four, four, mlx_array_dtype(a), s) ||
               mlx_multiply(&one, one, four, s) || mlx_add(out, a, one, s);
    return mlx_array_free(four), mlx_array_free(one), code;
}

static void check_all(const struct derivative_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) check_derivatives(&cases[i]);
    expect_no_error();
}
#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof *(cases))

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

RUN(inv, return shifted(out, in[0], stream) || mlx_linalg_inv(out, *out, stream);)
RUN(tri_inv, return shifted(out, in[0], stream) || mlx_linalg_tri_inv(out, *out, c->number, stream);)
RUN(cholesky, return shifted(out, in[0], stream) || mlx_linalg_cholesky(out, *out, c->number, stream);)
RUN(cholesky_inv, return shifted(out, in[0], stream) || mlx_linalg_cholesky_inv(out, *out, c->number, stream);)
RUN(solve, return shifted(out, in[0], stream) || mlx_linalg_solve(out, *out, in[1], stream);)
RUN(solve_triangular,
    return shifted(out, in[0], stream) || mlx_linalg_solve_triangular(out, *out, in[1], c->number, stream);)
RUN(lu, mlx_vector_array all = mlx_vector_array_new();
    int code = mlx_linalg_lu(&all, in[0], stream) || mlx_vector_array_get(out, all, (size_t)c->number);
    mlx_vector_array_free(all); return code;)
RUN(lu_factor, mlx_array pivots = mlx_array_new(); int code = mlx_linalg_lu_factor(out, &pivots, in[0], stream);
    mlx_array_free(pivots); return code;)
RUN(cross, return mlx_linalg_cross(out, in[0], in[1], -1, stream);)
RUN(norm_l2, return mlx_linalg_norm_l2(out, in[0], NULL, 0, false, stream);)
RUN(norm, return mlx_linalg_norm(out, in[0], c->number, INTS(1), true, stream);)
RUN(norm_matrix, return mlx_linalg_norm(out, in[0], c->number, INTS(0, 1), false, stream);)

static void test_matrices(void **state)
{
    static const struct derivative_case cases[] = {
        CASE(inv, .count = 1, .shapes = {{2, {3, 3}}}, .only_wide = true),
        CASE(inv, .count = 1, .shapes = {{3, {2, 2, 2}}}, .only_wide = true),
        CASE(tri_inv, .count = 1, .shapes = {{2, {3, 3}}}, .number = 0, .only_wide = true),
        CASE(tri_inv, .count = 1, .shapes = {{3, {2, 3, 3}}}, .number = 1, .only_wide = true),
        CASE(cholesky, .count = 1, .shapes = {{2, {4, 4}}}, .number = 0, .only_wide = true),
        CASE(cholesky, .count = 1, .shapes = {{3, {2, 3, 3}}}, .number = 1, .only_wide = true),
        CASE(cholesky_inv, .count = 1, .shapes = {{2, {3, 3}}}, .number = 0, .only_wide = true),
        CASE(cholesky_inv, .count = 1, .shapes = {{2, {3, 3}}}, .number = 1, .only_wide = true),
        CASE(solve, .count = 2, .shapes = {{2, {4, 4}}, {2, {4, 2}}}, .only_wide = true),
        CASE(solve, .count = 2, .shapes = {{3, {2, 3, 3}}, {1, {3}}}, .only_wide = true),
        CASE(solve_triangular, .count = 2, .shapes = {{2, {3, 3}}, {2, {3, 2}}}, .number = 0, .only_wide = true),
        CASE(solve_triangular, .count = 2, .shapes = {{2, {3, 3}}, {1, {3}}}, .number = 1, .only_wide = true),
        CASE(lu, .count = 1, .shapes = {{2, {4, 4}}}, .number = 1, .only_wide = true),
        CASE(lu, .count = 1, .shapes = {{3, {3, 2, 2}}}, .number = 2, .only_wide = true),
        CASE(lu_factor, .count = 1, .shapes = {{2, {3, 3}}}, .only_wide = true),
        CASE(cross, .count = 2, .shapes = {{2, {4, 3}}, {2, {4, 3}}}, .only_wide = true),
        CASE(cross, .count = 2, .shapes = {{1, {2}}, {2, {2, 3}}}, .only_wide = true),
        CASE(norm_l2, .count = 1, .shapes = {{2, {2, 3}}}, .only_wide = true),
        CASE(norm, .count = 1, .shapes = {{2, {2, 4}}}, .number = 1, .only_wide = true),
        CASE(norm, .count = 1, .shapes = {{2, {2, 4}}}, .number = 3, .only_wide = true),
        CASE(norm_matrix, .count = 1, .shapes = {{2, {2, 4}}}, .number = 1, .only_wide = true),
    };
    (void)state;
    CHECK_ALL(cases);
}

/* ---- Fourier transforms ------------------------------------------------------------------------------------------ */

/* Real and imaginary parts, both seen: re + 2 im. */
static int seen(mlx_array *out, mlx_stream s)
{
    mlx_array imaginary = mlx_array_new(), two = mlx_array_new_float(2);
    int code = mlx_imag(&imaginary, *out, s) || mlx_multiply(&imaginary, imaginary, two, s) || mlx_real(out, *out, s) ||
               mlx_add(out, *out, imaginary, s);
    return mlx_array_free(imaginary), mlx_array_free(two), code;
}

/* Complex terms of two real inputs. */
static int joined(mlx_array *out, const mlx_array *in, mlx_stream s)
{
    mlx_array i = mlx_array_new_complex(0, 1), left = mlx_array_new();
    int code = mlx_astype(&left, in[0], MLX_COMPLEX64, s) || mlx_astype(out, in[1], MLX_COMPLEX64, s) ||
               mlx_multiply(out, *out, i, s) || mlx_add(out, left, *out, s);
    return mlx_array_free(i), mlx_array_free(left), code;
}

RUN(fft, return joined(out, in, stream) ||
                mlx_fft_fft(out, *out, c->number / 3 + 4, 0, (mlx_fft_norm)(c->number % 3), stream) ||
                seen(out, stream);)
RUN(ifft, return joined(out, in, stream) ||
                 mlx_fft_ifft(out, *out, c->number / 3 + 4, -1, (mlx_fft_norm)(c->number % 3), stream) ||
                 seen(out, stream);)
RUN(rfft,
    return mlx_fft_rfft(out, in[0], c->number / 3 + 4, -1, (mlx_fft_norm)(c->number % 3), stream) || seen(out, stream);)
RUN(irfft, return joined(out, in, stream) ||
                  mlx_fft_irfft(out, *out, c->number / 3 + 4, 0, (mlx_fft_norm)(c->number % 3), stream);)
RUN(rfftn, return mlx_fft_rfftn(out, in[0], INTS(3, 6), INTS(1, 0), MLX_FFT_NORM_ORTHO, stream) || seen(out, stream);)
RUN(irfftn,
    return joined(out, in, stream) || mlx_fft_irfftn(out, *out, INTS(3, 5), INTS(0, 1), MLX_FFT_NORM_FORWARD, stream);)
RUN(fftshift, return mlx_fft_fftshift(out, in[0], INTS(0, 1), stream);)

static void test_transforms(void **state)
{
    static const struct derivative_case cases[] = {
        CASE(fft, .count = 2, .shapes = {{2, {5, 2}}, {2, {5, 2}}}, .number = 3, .tolerance = 1e-4, .only_wide = true),
        CASE(fft, .count = 2, .shapes = {{1, {4}}, {1, {4}}}, .number = 1, .tolerance = 1e-4, .only_wide = true),
        CASE(fft, .count = 2, .shapes = {{1, {3}}, {1, {3}}}, .number = 5, .tolerance = 1e-4, .only_wide = true),
        CASE(ifft, .count = 2, .shapes = {{1, {4}}, {1, {4}}}, .number = 0, .tolerance = 1e-4, .only_wide = true),
        CASE(ifft, .count = 2, .shapes = {{2, {2, 7}}, {2, {2, 7}}}, .number = 5, .tolerance = 1e-4, .only_wide = true),
        CASE(rfft, .count = 1, .shapes = {{1, {4}}}, .number = 0, .tolerance = 1e-4, .only_wide = true),
        CASE(rfft, .count = 1, .shapes = {{2, {2, 5}}}, .number = 4, .tolerance = 1e-4, .only_wide = true),
        CASE(rfft, .count = 1, .shapes = {{2, {2, 9}}}, .number = 8, .tolerance = 1e-4, .only_wide = true),
        CASE(irfft, .count = 2, .shapes = {{1, {3}}, {1, {3}}}, .number = 0, .tolerance = 1e-4, .only_wide = true),
        CASE(irfft, .count = 2, .shapes = {{2, {3, 2}}, {2, {3, 2}}}, .number = 4, .tolerance = 1e-4,
             .only_wide = true),
        CASE(irfft, .count = 2, .shapes = {{1, {2}}, {1, {2}}}, .number = 8, .tolerance = 1e-4, .only_wide = true),
        CASE(rfftn, .count = 1, .shapes = {{2, {6, 3}}}, .tolerance = 1e-4, .only_wide = true),
        CASE(irfftn, .count = 2, .shapes = {{2, {3, 3}}, {2, {3, 3}}}, .tolerance = 1e-4, .only_wide = true),
        CASE(fftshift, .count = 1, .shapes = {{2, {3, 4}}}, .only_wide = true),
    };
    (void)state;
    CHECK_ALL(cases);
}

/* ---- what has no gradient ---------------------------------------------------------------------------------------- */

static int call_eigvalsh(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array a = mlx_array_new(), out = mlx_array_new();
    (void)payload;
    int code = mlx_vector_array_get(&a, in, 0) || mlx_linalg_eigvalsh(&out, a, "L", derivative_stream) ||
               mlx_vector_array_set_value(res, out);
    return mlx_array_free(a), mlx_array_free(out), code;
}

static void test_refusals(void **state)
{
    (void)state;
    mlx_closure function = mlx_closure_new_func_payload(call_eigvalsh, NULL, NULL);
    mlx_array a = mlx_array_new_data((float[]){2, 1, 1, 3}, (int[]){2, 2}, 2, MLX_FLOAT32);
    mlx_array c = mlx_array_new_data((float[]){1, 1}, (int[]){2}, 1, MLX_FLOAT32);
    mlx_vector_array in = mlx_vector_array_new_value(a), cotangents = mlx_vector_array_new_value(c);
    mlx_vector_array out = mlx_vector_array_new(), gradients = mlx_vector_array_new();
    CHECK_EQ(mlx_vjp(&out, &gradients, function, in, cotangents), 1);
    expect_error("differentiated");
    CHECK_EQ(mlx_vector_array_size(gradients), 0);
    mlx_closure_free(function), mlx_array_free(a), mlx_array_free(c), mlx_vector_array_free(in);
    mlx_vector_array_free(cotangents), mlx_vector_array_free(out), mlx_vector_array_free(gradients);
}

int main(void)
{
    derivative_stream = mlx_default_cpu_stream_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_matrices, install_handler),
        cmocka_unit_test_setup(test_transforms, install_handler),
        cmocka_unit_test_setup(test_refusals, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
