/*
 * test_mlxc_vmap_linalg.c - linear algebra and Fourier transforms under vmap: the bits of the loop over slices.
 */
#include "vmap_support.h"

#define RUN(name, ...)                                                                                                 \
    static int name(const void *payload, const mlx_array *in, mlx_array *out)                                          \
    {                                                                                                                  \
        (void)payload;                                                                                                 \
        __VA_ARGS__                                                                                                    \
    }
#define INTS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

RUN(inverse, return mlx_linalg_inv(out, in[0], stream);)
RUN(upper_inverse, return mlx_linalg_tri_inv(out, in[0], true, stream);)
RUN(cholesky, return mlx_linalg_cholesky(out, in[0], false, stream);)
RUN(pseudo_inverse, return mlx_linalg_pinv(out, in[0], stream);)
RUN(equations, return mlx_linalg_solve(out, in[0], in[1], stream);)
RUN(cross, return mlx_linalg_cross(out, in[0], in[1], -1, stream);)
RUN(nuclear, return mlx_linalg_norm_matrix(out, in[0], "nuc", NULL, 0, true, stream);)
RUN(triangle, mlx_array q = mlx_array_new(); int code = mlx_linalg_qr(&q, out, in[0], stream); mlx_array_free(q);
    return code;)
RUN(orthogonal, mlx_array r = mlx_array_new(); int code = mlx_linalg_qr(out, &r, in[0], stream); mlx_array_free(r);
    return code;)
RUN(eigenvectors, mlx_array w = mlx_array_new(); int code = mlx_linalg_eigh(&w, out, in[0], "U", stream);
    mlx_array_free(w); return code;)
RUN(eigenvalues, return mlx_linalg_eigvals(out, in[0], stream);)
RUN(order, mlx_vector_array all = mlx_vector_array_new();
    int code = mlx_linalg_lu(&all, in[0], stream) || mlx_vector_array_get(out, all, 0); mlx_vector_array_free(all);
    return code;)
RUN(fft_first, return mlx_fft_fft(out, in[0], 5, 0, MLX_FFT_NORM_ORTHO, stream);)
RUN(rfft_last, return mlx_fft_rfft(out, in[0], 3, -1, MLX_FFT_NORM_BACKWARD, stream);)
RUN(irfft_all, return mlx_fft_irfftn(out, in[0], INTS(4, 5), INTS(1, 0), MLX_FFT_NORM_FORWARD, stream);)
RUN(shift, return mlx_fft_fftshift(out, in[0], INTS(0, 1), stream);)

static const struct {
    const char *name;
    int (*call)(const void *payload, const mlx_array *in, mlx_array *out);
    int count, ndim[2], shapes[2][3]; /* of slices */
} cases[] = {
    {"inv", inverse, 1, {2}, {{3, 3}}},
    {"tri_inv", upper_inverse, 1, {3}, {{2, 3, 3}}},
    {"cholesky", cholesky, 1, {2}, {{3, 3}}},
    {"pinv", pseudo_inverse, 1, {2}, {{3, 4}}},
    {"solve", equations, 2, {2, 2}, {{3, 3}, {3, 2}}},
    {"solve for a vector", equations, 2, {2, 1}, {{3, 3}, {3}}},
    {"cross", cross, 2, {2, 1}, {{4, 3}, {3}}},
    {"norm", nuclear, 1, {2}, {{3, 4}}},
    {"qr", orthogonal, 1, {2}, {{4, 3}}},
    {"r of qr", triangle, 1, {2}, {{3, 4}}},
    {"eigh", eigenvectors, 1, {2}, {{3, 3}}},
    {"eigvals", eigenvalues, 1, {2}, {{3, 3}}},
    {"lu", order, 1, {2}, {{4, 3}}},
    {"fft", fft_first, 1, {2}, {{4, 3}}},
    {"rfft", rfft_last, 1, {2}, {{4, 3}}},
    {"irfftn", irfft_all, 1, {2}, {{4, 3}}},
    {"fftshift", shift, 1, {2}, {{4, 3}}},
};

/* Elements that differ, and are largest on the diagonal of the last two axes. */
static mlx_array make_input(int c, int input, bool is_mapped, bool at_end, int *axis)
{
    int shape[4], ndim = 0, own = cases[c].ndim[input], rows = 0, columns = 0;
    float values[400];
    *axis = !is_mapped ? -1 : at_end ? own : 0;
    for (int i = 0; i <= own; i++) {
        if (i == *axis) shape[ndim++] = 3;
        if (i < own) shape[ndim++] = cases[c].shapes[input][i];
    }
    mlx_array out = mlx_array_new();
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    rows = own > 1 ? cases[c].shapes[input][own - 2] : 1, columns = cases[c].shapes[input][own - 1];
    for (int i = 0; i < size; i++)
        values[i] = (float)(i * 37 % 101) / 101 + (i % (rows * columns) / columns == i % columns ? 3 : 0);
    if (!is_mapped || !at_end) return mlx_array_new_data(values, shape, ndim, MLX_FLOAT32);
    /* the same with the mapped axis in front, moved */
    int front[4] = {3};
    for (int i = 0; i < own; i++) front[i + 1] = cases[c].shapes[input][i];
    mlx_array base = mlx_array_new_data(values, front, ndim, MLX_FLOAT32);
    CHECK_EQ(mlx_moveaxis(&out, base, 0, own, stream), 0);
    return mlx_array_free(base), out;
}

static void check_case(int c, unsigned mapped, bool at_end)
{
    struct mapped_function function = {cases[c].call, NULL, 0};
    mlx_array in[2];
    int axes[2];
    CHECK_CONTEXT("%s, mapped inputs %u, %s", cases[c].name, mapped, at_end ? "last axis" : "first axis");
    for (int i = 0; i < cases[c].count; i++) in[i] = make_input(c, i, mapped >> i & 1, at_end, &axes[i]);
    expect_like_loop(&function, in, cases[c].count, axes, 0);
    for (int i = 0; i < cases[c].count; i++) mlx_array_free(in[i]);
}

static void test_like_a_loop(void **state)
{
    (void)state;
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++)
        for (unsigned mapped = 1; mapped < 1u << cases[c].count; mapped++)
            check_case(c, mapped, false), check_case(c, mapped, true);
}

int main(void)
{
    stream = mlx_default_cpu_stream_new();
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_like_a_loop, install_handler)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
