/*
 * test_mlxc_vmap_gradient.c - vmap of gradients and gradients of vmap: what loops over slices give. And the gradients
 * of operations that are tried nowhere else.
 */
#include "vmap_support.h"

static mlx_array numbers_of(const int *shape, int ndim, int salt)
{
    float numbers[512];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    for (int i = 0; i < size; i++) numbers[i] = (float)((i * 7 + salt * 5 + i / 3) % 9 - 4) / 4;
    return mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32);
}
#define NUMBERS(salt, ...)                                                                                             \
    numbers_of((const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), salt)

/* ---- functions of two arrays ------------------------------------------------------------------------------------- */

static int bend(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_tanh(out, in[0], stream) || mlx_multiply(out, *out, in[1], stream) || mlx_sin(out, *out, stream);
}

static int weigh(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_multiply(out, in[0], in[1], stream) || mlx_softmax_axis(out, *out, 0, true, stream) ||
           mlx_multiply(out, *out, in[0], stream);
}

static int pick(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_argsort_axis(out, in[1], 0, stream) || mlx_take_along_axis(out, in[0], *out, 0, stream) ||
           mlx_cumsum(out, *out, 0, false, true, stream) || mlx_square(out, *out, stream);
}

static int depend(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    mlx_vector_array arrays = mlx_vector_array_new_data(in, 1), others = mlx_vector_array_new_data(in + 1, 1),
                     res = mlx_vector_array_new();
    int code = mlx_depends(&res, arrays, others) || mlx_vector_array_get(out, res, 0) || mlx_square(out, *out, stream);
    return mlx_vector_array_free(arrays), mlx_vector_array_free(others), mlx_vector_array_free(res), code;
}

static int (*const functions[])(const void *, const mlx_array *, mlx_array *) = {bend, weigh, pick, depend};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- gradients --------------------------------------------------------------------------------------------------- */

struct differentiated {
    struct mapped_function inner;
    int which; /* the gradient of this input */
};

/* The gradient of the sum of the result. */
static int gradient(const void *payload, const mlx_array *in, mlx_array *out)
{
    struct differentiated *d = (struct differentiated *)(uintptr_t)payload;
    mlx_closure closure = closure_of(&d->inner);
    mlx_vector_array inputs = mlx_vector_array_new_data(in, 2), values = mlx_vector_array_new(),
                     res[2] = {mlx_vector_array_new(), mlx_vector_array_new()};
    mlx_array value = mlx_array_new(), ones = mlx_array_new();
    int code = mlx_closure_apply(&values, closure, inputs) || mlx_vector_array_get(&value, values, 0) ||
               mlx_ones_like(&ones, value, stream);
    mlx_vector_array cotangents = mlx_vector_array_new_data(&ones, !code);
    code = code || mlx_vjp(&res[0], &res[1], closure, inputs, cotangents) ||
           mlx_vector_array_get(out, res[1], (size_t)d->which);
    mlx_array_free(value), mlx_array_free(ones), mlx_vector_array_free(inputs), mlx_vector_array_free(values);
    mlx_vector_array_free(res[0]), mlx_vector_array_free(res[1]), mlx_vector_array_free(cotangents);
    return mlx_closure_free(closure), code;
}

static void test_vmap_of_gradients(void **state)
{
    (void)state;
    static const int axes[][2] = {{0, 0}, {0, -1}, {-1, 0}};
    for (int f = 0; f < FUNCTIONS; f++)
        for (int which = 0; which < 2; which++)
            for (int a = 0; a < 3; a++) {
                CHECK_CONTEXT("function %d, input %d, axes %d and %d", f, which, axes[a][0], axes[a][1]);
                struct differentiated d = {{functions[f], NULL, 0}, which};
                struct mapped_function outer = {gradient, &d, 0};
                mlx_array in[] = {axes[a][0] ? NUMBERS(0, 5) : NUMBERS(0, 3, 5),
                                  axes[a][1] ? NUMBERS(1, 5) : NUMBERS(1, 3, 5)};
                expect_like_loop(&outer, in, 2, axes[a], 0);
                mlx_array_free(in[0]), mlx_array_free(in[1]);
            }
}

/* vmap of the function, over both inputs. */
static int map_both(const void *payload, const mlx_array *in, mlx_array *out)
{
    struct mapped_function *inner = (struct mapped_function *)(uintptr_t)payload;
    mlx_closure closure = closure_of(inner);
    int code = vmap_one(out, closure, in, 2, (const int[]){0, 0}, 0);
    return mlx_closure_free(closure), code;
}

/* A softmax is one operation in the loop and its formula in vmap, whose derivative rounds more often. */
static void expect_near_arrays(mlx_array got, mlx_array want)
{
    mlx_array packed[2];
    CHECK_EQ(mlx_array_size(got), mlx_array_size(want));
    const float *a = (const float *)(const void *)bytes_of(got, &packed[0]),
                *b = (const float *)(const void *)bytes_of(want, &packed[1]);
    for (size_t i = 0; i < mlx_array_size(want); i++) CHECK_NEAR(a[i], b[i], 1e-6);
    mlx_array_free(packed[0]), mlx_array_free(packed[1]);
}
#define expect_near_arrays(...) CHECK_CALL(expect_near_arrays, __VA_ARGS__)

/* The gradient of the sum of all slices is the gradients of all slices. */
static void test_gradients_of_vmap(void **state)
{
    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        for (int which = 0; which < 2; which++) {
            CHECK_CONTEXT("function %d, input %d", f, which);
            struct mapped_function inner = {functions[f], NULL, 0};
            struct differentiated whole = {{map_both, &inner, 0}, which}, each = {{functions[f], NULL, 0}, which};
            struct mapped_function loop = {gradient, &each, 0};
            mlx_array in[] = {NUMBERS(0, 3, 5), NUMBERS(1, 3, 5)}, got = mlx_array_new(), want = mlx_array_new();
            mlx_closure closure = closure_of(&loop);
            if (gradient(&whole, in, &got)) CHECK_FAIL("the gradient failed: %s", error_text);
            CHECK_EQ(loop_over(&want, closure, in, 2, (int[]){0, 0}, 0), 0);
            expect_near_arrays(got, want);
            mlx_array_free(in[0]), mlx_array_free(in[1]), mlx_array_free(got), mlx_array_free(want);
            mlx_closure_free(closure);
        }
}

/* ---- products of segments ---------------------------------------------------------------------------------------- */

static int multiply_segments(const void *payload, const mlx_array *in, mlx_array *out)
{
    return mlx_segmented_mm(out, in[0], in[1], *(const mlx_array *)payload, stream) || mlx_square(out, *out, stream);
}

/* The same with zeros instead of what is not in the segment. */
static int multiply_masked(const void *payload, const mlx_array *in, mlx_array *out)
{
    const mlx_array mask = *(const mlx_array *)payload; /* (segments, 1, k) */
    mlx_array left = mlx_array_new();
    int code = mlx_multiply(&left, in[0], mask, stream) || mlx_matmul(out, left, in[1], stream) ||
               mlx_square(out, *out, stream);
    return mlx_array_free(left), code;
}

static void test_gradient_of_segments(void **state)
{
    (void)state;
    const int places[] = {0, 2, 1, 4, 3, 3};
    const float members[] = {1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0};
    mlx_array segments = mlx_array_new_data(places, (int[]){3, 2}, 2, MLX_INT32),
              mask = mlx_array_new_data(members, (int[]){3, 1, 4}, 3, MLX_FLOAT32);
    mlx_array in[] = {NUMBERS(0, 2, 4), NUMBERS(1, 4, 3)};
    for (int which = 0; which < 2; which++) {
        struct differentiated segmented = {{multiply_segments, &segments, 0}, which},
                              masked = {{multiply_masked, &mask, 0}, which};
        mlx_array got = mlx_array_new(), want = mlx_array_new();
        CHECK_EQ(gradient(&segmented, in, &got) || gradient(&masked, in, &want), 0);
        CHECK_EQ(mlx_array_eval(got) || mlx_array_eval(want), 0);
        CHECK_EQ(mlx_array_size(got), mlx_array_size(in[which]));
        for (size_t i = 0; i < mlx_array_size(got); i++) /* quarters: exact */
            CHECK_NEAR(mlx_array_data_float32(got)[i], mlx_array_data_float32(want)[i], 0);
        mlx_array_free(got), mlx_array_free(want);
    }
    mlx_array_free(segments), mlx_array_free(mask), mlx_array_free(in[0]), mlx_array_free(in[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_vmap_of_gradients, install_handler),
        cmocka_unit_test_setup(test_gradients_of_vmap, install_handler),
        cmocka_unit_test_setup(test_gradient_of_segments, install_handler),
    };
    stream = mlx_default_cpu_stream_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mlx_stream_free(stream);
    return failed;
}
