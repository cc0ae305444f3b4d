/*
 * test_vmap.c - vmap on a GPU: keys, indices and products of slices, and the operations composed of others, plain and
 * compiled, have the bits of the CPU.
 */
#include "gpu_program.h"

static mlx_stream used; /* the stream of the functions below */

static mlx_array whole_numbers(const int *shape, int ndim, int bound, mlx_dtype dtype)
{
    float numbers[1024];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    for (int i = 0; i < size; i++) numbers[i] = (float)((i * 7 + i / 3) % bound);
    mlx_array plain = mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32), out = mlx_array_new();
    CHECK_EQ(mlx_astype(&out, plain, dtype, cpu) || mlx_array_eval(out), 0);
    mlx_array_free(plain);
    return out;
}

/* ---- functions of three arrays ----------------------------------------------------------------------------------- */

static int draw(mlx_array *out, const mlx_array *in)
{
    return mlx_random_laplace(out, (int[]){2, 3}, 2, MLX_FLOAT32, 0, 1, in[2], used);
}

static int take(mlx_array *out, const mlx_array *in)
{
    return mlx_take_axis(out, in[0], in[1], 0, used);
}

static int reduce(mlx_array *out, const mlx_array *in)
{
    return mlx_softmax_axis(out, in[0], -1, true, used) || mlx_sum_axis(out, *out, 0, false, used);
}

static int convolve(mlx_array *out, const mlx_array *in)
{
    const int image[] = {1, 4, 4}, window[] = {2, 2, 4};
    mlx_array x = mlx_array_new(), w = mlx_array_new();
    int code = mlx_reshape(&x, in[0], image, 3, used) || mlx_reshape(&w, in[0], window, 3, used) ||
               mlx_conv_transpose1d(out, x, w, 2, 1, 1, 1, 1, used);
    return mlx_array_free(x), mlx_array_free(w), code;
}

static int sum_products(mlx_array *out, const mlx_array *in)
{
    mlx_vector_array both = mlx_vector_array_new_data((mlx_array[]){in[0], in[0]}, 2);
    int code = mlx_einsum(out, "ij,kj->k", both, used);
    return mlx_vector_array_free(both), code;
}

static int transform(mlx_array *out, const mlx_array *in)
{
    return mlx_hadamard_transform(out, in[0], (mlx_optional_float){1, true}, used) ||
           mlx_view(out, *out, MLX_UINT16, used);
}

static int multiply_segments(mlx_array *out, const mlx_array *in)
{
    const int places[] = {0, 3, 1, 4};
    mlx_array segments = mlx_array_new_data(places, (int[]){2, 2}, 2, MLX_INT32);
    int code = mlx_segmented_mm(out, in[0], in[0], segments, used);
    return mlx_array_free(segments), code;
}

static int write_masked(mlx_array *out, const mlx_array *in)
{
    mlx_array four = mlx_array_new_float(4), mask = mlx_array_new(), flat = mlx_array_new();
    int code = mlx_greater(&mask, in[0], four, used) || mlx_negative(&flat, in[0], used) ||
               mlx_masked_scatter(out, in[0], mask, flat, used);
    return mlx_array_free(four), mlx_array_free(mask), mlx_array_free(flat), code;
}

static int (*const functions[])(mlx_array *, const mlx_array *) = {
    draw, take, reduce, convolve, sum_products, transform, multiply_segments, write_masked};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- vmap of them ------------------------------------------------------------------------------------------------ */

static int call(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    int (*const *function)(mlx_array *, const mlx_array *) = payload;
    mlx_array inputs[3] = {{NULL}}, out = mlx_array_new();
    for (size_t i = 0; i < 3; i++) mlx_vector_array_get(&inputs[i], in, i);
    int code = (*function)(&out, inputs) || mlx_vector_array_set_value(res, out);
    for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]);
    return mlx_array_free(out), code;
}

/* payload: the function; over the first axis of all inputs. */
static int map(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const int axes[] = {0, 0, 0};
    mlx_closure closure = mlx_closure_new_func_payload(call, payload, NULL);
    mlx_vector_array placeholders = mlx_vector_array_new(), outputs = mlx_vector_array_new();
    int code = mlx_detail_vmap_trace(&placeholders, &outputs, closure, in, axes, 3) ||
               mlx_detail_vmap_replace(res, in, placeholders, outputs, axes, 3, axes, 1);
    mlx_vector_array_free(placeholders), mlx_vector_array_free(outputs), mlx_closure_free(closure);
    return code;
}

static mlx_array apply(mlx_closure closure, mlx_vector_array in, mlx_stream stream)
{
    mlx_vector_array res = mlx_vector_array_new();
    mlx_array out = mlx_array_new();
    used = stream;
    if (mlx_closure_apply(&res, closure, in) || mlx_vector_array_get(&out, res, 0) ||
        mlx_contiguous(&out, out, false, stream) || mlx_array_eval(out))
        CHECK_FAIL("%s", error_text);
    mlx_vector_array_free(res);
    return out;
}

static void expect_same(mlx_array got, mlx_array want)
{
    CHECK_EQ(mlx_array_nbytes(got), mlx_array_nbytes(want));
    CHECK_MEM(mlx_array_data_uint8(got), mlx_array_data_uint8(want), mlx_array_nbytes(want));
    mlx_array_free(got);
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

static void test_the_bits_of_the_cpu(void **state)
{
    (void)state;
    mlx_array in[] = {whole_numbers((int[]){3, 4, 4}, 3, 9, MLX_FLOAT32), whole_numbers((int[]){3, 5}, 2, 4, MLX_INT32),
                      mlx_array_new()},
              key = mlx_array_new();
    CHECK_EQ(mlx_random_key(&key, 5) || mlx_random_split_num(&in[2], key, 3, cpu), 0);
    mlx_vector_array inputs = mlx_vector_array_new_data(in, 3);
    for (int i = 0; i < FUNCTIONS; i++) {
        CHECK_CONTEXT("function %d", i);
        mlx_closure plain = mlx_closure_new_func_payload(map, (void *)(uintptr_t)&functions[i], NULL),
                    compiled = mlx_closure_new();
        CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
        mlx_array want = apply(plain, inputs, cpu);
        expect_same(apply(plain, inputs, gpu), want);
        expect_same(apply(compiled, inputs, gpu), want);
        mlx_array_free(want), mlx_closure_free(plain), mlx_closure_free(compiled);
    }
    for (int i = 0; i < 3; i++) mlx_array_free(in[i]);
    mlx_array_free(key), mlx_vector_array_free(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_the_bits_of_the_cpu, set_up)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
