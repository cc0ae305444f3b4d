/*
 * test_mlxc_convolution.c - convolutions of every kind against sums written here: padding, dilations, groups, flips,
 * transposed; plain, compiled, shapeless, mapped. Numbers are whole, so that sums are exact in any order.
 */
#include "torture/torture.h"
#include "vmap_support.h"

enum { AXES = 3 };

struct convolution {
    int axes, stride[AXES], low[AXES], high[AXES], dilation[AXES], spread[AXES], groups;
    bool flip, is_transposed; /* then high is the output padding */
};

static int run_convolution(const void *payload, const mlx_array *in, mlx_array *out)
{
    const struct convolution *c = payload;
    size_t n = (size_t)c->axes;
    const int *s = c->stride, *p = c->low, *d = c->dilation, *o = c->high;
    if (!c->is_transposed)
        return mlx_conv_general(out, in[0], in[1], s, n, p, n, o, n, d, n, c->spread, n, c->groups, c->flip, stream);
    if (n == 1) return mlx_conv_transpose1d(out, in[0], in[1], s[0], p[0], d[0], o[0], c->groups, stream);
    if (n == 2)
        return mlx_conv_transpose2d(out, in[0], in[1], s[0], s[1], p[0], p[1], d[0], d[1], o[0], o[1], c->groups,
                                    stream);
    return mlx_conv_transpose3d(out, in[0], in[1], s[0], s[1], s[2], p[0], p[1], p[2], d[0], d[1], d[2], o[0], o[1],
                                o[2], c->groups, stream);
}

static mlx_array whole_numbers(const int *shape, int ndim, int salt)
{
    float numbers[8192];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    if (size > 8192) CHECK_FAIL("%d numbers are too many", size);
    for (int i = 0; i < size; i++) numbers[i] = (float)((i * 7 + salt * 5 + i / 3) % 9 - 4);
    return mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32);
}

/* ---- the sums ---------------------------------------------------------------------------------------------------- */

/* The position of the input that place `p` meets with element `k` of the window, or -1: zero. */
static int position(const struct convolution *c, int axis, int p, int k, int size, int width)
{
    if (c->is_transposed) { /* input i reaches place i * stride + k * dilation - padding */
        int from = p + c->low[axis] - k * c->dilation[axis];
        return from >= 0 && from % c->stride[axis] == 0 && from / c->stride[axis] < size ? from / c->stride[axis] : -1;
    }
    (void)width;
    int from = p * c->stride[axis] + k * c->dilation[axis] - c->low[axis];
    return from >= 0 && from % c->spread[axis] == 0 && from / c->spread[axis] < size ? from / c->spread[axis] : -1;
}

static int places(const struct convolution *c, int axis, int size, int width)
{
    int window = (width - 1) * c->dilation[axis] + 1;
    if (c->is_transposed) return (size - 1) * c->stride[axis] + window - 2 * c->low[axis] + c->high[axis];
    int last = (size - 1) * c->spread[axis] + 1 + c->low[axis] + c->high[axis] - window;
    return last < 0 ? 0 : last / c->stride[axis] + 1;
}

static int take_digit(int *rest, int size)
{
    int digit = *rest % size;
    *rest /= size;
    return digit;
}

/* Output channel `o` at `at` of image `b`. */
static double sum_at(const struct convolution *c, mlx_array x, mlx_array w, int b, const int *at, int o)
{
    const int *xs = mlx_array_shape(x), *ws = mlx_array_shape(w);
    const float *xd = mlx_array_data_float32(x), *wd = mlx_array_data_float32(w);
    int n = c->axes, channels = ws[n + 1], group = o / (ws[0] / c->groups), window = 1;
    double total = 0;
    for (int i = 0; i < n; i++) window *= ws[1 + i];
    for (int k = 0; k < window; k++) {
        int rest = k, from = b, of_weight = o, inside[AXES], digits[AXES];
        bool is_inside = true;
        for (int i = n; i-- > 0;) digits[i] = take_digit(&rest, ws[1 + i]);
        for (int i = 0; i < n; i++) {
            inside[i] = position(c, i, at[i], digits[i], xs[1 + i], ws[1 + i]);
            is_inside = is_inside && inside[i] >= 0;
            of_weight = of_weight * ws[1 + i] + (c->flip && !c->is_transposed ? ws[1 + i] - 1 - digits[i] : digits[i]);
        }
        for (int i = 0; i < n; i++) from = from * xs[1 + i] + inside[i];
        for (int ch = 0; ch < channels && is_inside; ch++)
            total += (double)xd[from * xs[n + 1] + group * channels + ch] * (double)wd[of_weight * channels + ch];
    }
    return total;
}

static void expect_sums(mlx_array got, const struct convolution *c, mlx_array x, mlx_array w)
{
    const int *xs = mlx_array_shape(x), *ws = mlx_array_shape(w);
    int sizes[AXES], n = c->axes;
    mlx_array packed;
    CHECK_EQ(mlx_array_ndim(got), n + 2);
    CHECK_EQ(mlx_array_shape(got)[0], xs[0]);
    CHECK_EQ(mlx_array_shape(got)[n + 1], ws[0]);
    for (int i = 0; i < n; i++) {
        sizes[i] = places(c, i, xs[1 + i], ws[1 + i]);
        CHECK_EQ(mlx_array_shape(got)[1 + i], sizes[i]);
    }
    const float *data = (const float *)(const void *)bytes_of(got, &packed);
    for (int i = 0; i < (int)mlx_array_size(got); i++) {
        int rest = i, at[AXES], o = take_digit(&rest, ws[0]);
        for (int k = n; k-- > 0;) at[k] = take_digit(&rest, sizes[k]);
        double want = sum_at(c, x, w, rest, at, o);
        if ((double)data[i] != want) CHECK_FAIL("element %d is %g, expected %g", i, (double)data[i], want);
    }
    mlx_array_free(packed);
}
#define expect_sums(...) CHECK_CALL(expect_sums, __VA_ARGS__)

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static int between(uint64_t *state, int low, int high)
{
    return low + (int)torture_below(state, (uint64_t)(high - low + 1));
}

/* A convolution whose windows fit, and its shapes. */
static void choose(uint64_t *state, struct convolution *c, int *x, int *w)
{
    *c = (struct convolution){.axes = between(state, 1, AXES),
                              .groups = between(state, 1, 3),
                              .flip = between(state, 0, 1),
                              .is_transposed = between(state, 0, 1)};
    int n = c->axes, most = n == 1 ? 9 : n == 2 ? 5 : 3;
    x[0] = between(state, 1, 2), w[0] = c->groups * between(state, 1, 2);
    w[n + 1] = between(state, 1, 2), x[n + 1] = c->groups * w[n + 1];
    for (int i = 0; i < n; i++) {
        do {
            x[1 + i] = between(state, 1, most), w[1 + i] = between(state, 1, 3);
            c->stride[i] = between(state, 1, 3), c->dilation[i] = between(state, 1, 2);
            c->spread[i] = between(state, 1, 3);
            c->low[i] = between(state, c->is_transposed ? 0 : -1, 3), c->high[i] = between(state, -1, 3);
            if (x[1 + i] == 1 && c->low[i] < 0) c->low[i] = 0;
        } while (places(c, i, x[1 + i], w[1 + i]) < 1);
    }
}

static void check_compiled(struct mapped_function *function, const mlx_array *in, mlx_array want, bool shapeless)
{
    mlx_closure plain = closure_of(function), compiled = mlx_closure_new();
    mlx_vector_array inputs = mlx_vector_array_new_data(in, 2), res = mlx_vector_array_new();
    mlx_array got = mlx_array_new();
    CHECK_EQ(mlx_compile(&compiled, plain, shapeless) || mlx_closure_apply(&res, compiled, inputs) ||
                 mlx_vector_array_get(&got, res, 0),
             0);
    expect_same_arrays(got, want);
    mlx_array_free(got), mlx_vector_array_free(inputs), mlx_vector_array_free(res);
    mlx_closure_free(plain), mlx_closure_free(compiled);
}

static void test_random_convolutions(void **state)
{
    (void)state;
    uint64_t random = 3;
    int refused = 0;
    for (int round = 0; round < 120; round++) {
        struct convolution c;
        struct mapped_function function = {run_convolution, &c, 0};
        int x[AXES + 2], w[AXES + 2];
        CHECK_CONTEXT("round %d", round);
        choose(&random, &c, x, w);
        mlx_array in[] = {whole_numbers(x, c.axes + 2, 0), whole_numbers(w, c.axes + 2, 1)}, out = mlx_array_new();
        if (run_convolution(&c, in, &out)) { /* of transposed ones, what is cut may be more than there is */
            CHECK_TRUE(c.is_transposed);
            error_count = 0, error_text[0] = '\0';
            refused++;
        } else {
            expect_sums(out, &c, in[0], in[1]);
            if (round % 6 == 0) check_compiled(&function, in, out, round % 4 == 0);
        }
        mlx_array_free(in[0]), mlx_array_free(in[1]), mlx_array_free(out);
    }
    CHECK_LT(refused, 12);
}

static void test_mapped(void **state)
{
    (void)state;
    struct convolution general = {2, {2, 1}, {1, -1}, {2, 0}, {1, 2}, {2, 1}, 2, true, false},
                       transposed = {1, {2}, {1}, {1}, {2}, {1}, 1, false, true};
    struct mapped_function functions[] = {{run_convolution, &general, 0}, {run_convolution, &transposed, 0}};
    mlx_array in[2][2] = {{whole_numbers((int[]){2, 3, 5, 6, 4}, 5, 0), whole_numbers((int[]){4, 2, 2, 2, 3}, 5, 1)},
                          {whole_numbers((int[]){2, 3, 5, 2}, 4, 0), whole_numbers((int[]){4, 3, 2, 3}, 4, 1)}};
    for (int i = 0; i < 2; i++) {
        int ndim = (int)mlx_array_ndim(in[i][0]);
        mlx_array fixed[2] = {mlx_array_new(), mlx_array_new()}, index = mlx_array_new_int(1);
        CHECK_EQ(mlx_take_axis(&fixed[0], in[i][0], index, 1, stream) ||
                     mlx_take_axis(&fixed[1], in[i][1], index, ndim - 1, stream),
                 0);
        expect_like_loop(&functions[i], (mlx_array[]){in[i][0], in[i][1]}, 2, (int[]){1, ndim - 1}, 0);
        expect_like_loop(&functions[i], (mlx_array[]){in[i][0], fixed[1]}, 2, (int[]){1, -1}, 1);
        expect_like_loop(&functions[i], (mlx_array[]){fixed[0], in[i][1]}, 2, (int[]){-1, ndim - 1}, -1);
        for (int k = 0; k < 2; k++) mlx_array_free(in[i][k]), mlx_array_free(fixed[k]);
        mlx_array_free(index);
    }
}

/* Padding and windows of a transposed convolution follow from the weight's size at each call. */
static void test_shapeless(void **state)
{
    (void)state;
    struct convolution c = {1, {2}, {1}, {1}, {2}, {1}, 1, false, true};
    struct mapped_function function = {run_convolution, &c, 0};
    mlx_closure plain = closure_of(&function), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, plain, true), 0);
    for (int i = 1; i < 5; i++) {
        mlx_array in[] = {whole_numbers((int[]){i, 3 + i, 2}, 3, 0), whole_numbers((int[]){3, 6 - i, 2}, 3, 1)};
        mlx_vector_array inputs = mlx_vector_array_new_data(in, 2), res = mlx_vector_array_new();
        mlx_array got = mlx_array_new();
        CHECK_EQ(mlx_closure_apply(&res, compiled, inputs) || mlx_vector_array_get(&got, res, 0), 0);
        expect_sums(got, &c, in[0], in[1]);
        CHECK_EQ(function.calls, 1);
        mlx_array_free(in[0]), mlx_array_free(in[1]), mlx_array_free(got);
        mlx_vector_array_free(inputs), mlx_vector_array_free(res);
    }
    mlx_closure_free(plain), mlx_closure_free(compiled);
}

/* ---- lists and refusals ------------------------------------------------------------------------------------------ */

static void test_lists_of_one_number_and_of_none(void **state)
{
    (void)state;
    struct convolution c = {2, {2, 2}, {1, 1}, {0, 0}, {1, 1}, {1, 1}, 1, false, false};
    mlx_array x = whole_numbers((int[]){1, 5, 6, 2}, 4, 0), w = whole_numbers((int[]){3, 2, 3, 2}, 4, 1),
              out = mlx_array_new();
    CHECK_EQ(mlx_conv_general(&out, x, w, (int[]){2}, 1, (int[]){1}, 1, NULL, 0, NULL, 0, NULL, 0, 1, false, stream),
             0);
    expect_sums(out, &c, x, w);
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(out);
}

static void expect_refusal(const struct convolution *c, mlx_array x, mlx_array w, const char *text)
{
    mlx_array out = mlx_array_new();
    CHECK_EQ(run_convolution(c, (mlx_array[]){x, w}, &out), 1);
    expect_error(text);
    CHECK_NULL(out.ctx);
}
#define expect_refusal(...) CHECK_CALL(expect_refusal, __VA_ARGS__)

#define GENERAL(...)                                                                                                   \
    &(struct convolution)                                                                                              \
    {                                                                                                                  \
        1, __VA_ARGS__, false, false                                                                                   \
    }
#define TRANSPOSED(...)                                                                                                \
    &(struct convolution)                                                                                              \
    {                                                                                                                  \
        1, __VA_ARGS__, false, true                                                                                    \
    }

static void test_refusals(void **state)
{
    (void)state;
    mlx_array x = whole_numbers((int[]){1, 5, 2}, 3, 0), w = whole_numbers((int[]){1, 3, 2}, 3, 1);
    mlx_array flat = whole_numbers((int[]){5, 2}, 2, 0), other = whole_numbers((int[]){1, 3, 1}, 3, 0),
              out = mlx_array_new();
    expect_refusal(GENERAL({0}, {0}, {0}, {1}, {1}, 1), x, w, "[conv_general] stride 0, dilation 1");
    expect_refusal(GENERAL({1}, {0}, {0}, {0}, {1}, 1), x, w, "[conv_general] stride 1, dilation 0");
    expect_refusal(GENERAL({1}, {0}, {0}, {1}, {0}, 1), x, w, "[conv_general] input dilation 0");
    expect_refusal(GENERAL({1}, {0}, {0}, {1}, {1}, 0), x, w, "groups 0 must be at least 1");
    expect_refusal(GENERAL({1}, {0}, {0}, {1}, {1}, 3), x, w, "does not fit an input of shape (1,5,2) with 3 groups");
    expect_refusal(GENERAL({1}, {0}, {0}, {1}, {1}, 1), x, other, "does not fit an input of shape");
    expect_refusal(GENERAL({1}, {0}, {0}, {1}, {1}, 1), flat, w, "[conv_general] Expected an input of 3 to 5");
    expect_refusal(GENERAL({1}, {0}, {0}, {1}, {1}, 1), x, flat, "[conv_general] Expected an input and a weight of 3");
    expect_refusal(GENERAL({1}, {-2}, {-1}, {1}, {1}, 1), x, w,
                   "A window of 3 does not fit a padded input of length 2");
    expect_refusal(GENERAL({1}, {-6}, {9}, {1}, {1}, 1), x, w, "Padding -6 and 9 does not fit an input of length 5");
    expect_refusal(GENERAL({1}, {2147483647}, {-2147483647 - 1}, {1}, {1}, 1), x, w, "less far apart than 2^31");
    expect_refusal(GENERAL({1}, {0}, {0}, {1}, {2147483647}, 1), x, w, "of length 8589934589");
    expect_refusal(TRANSPOSED({0}, {0}, {0}, {1}, {1}, 1), x, w, "[conv_transpose1d] stride 0");
    expect_refusal(TRANSPOSED({1}, {4}, {0}, {1}, {1}, 1), x, w, "[conv_transpose1d] A window of 3 does not fit");
    CHECK_EQ(mlx_conv_general(&out, x, w, (int[]){1, 2}, 2, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 1, false, stream), 1);
    expect_error("[conv_general] Expected one stride for each of 1 dimensions, or one for all, got 2.");
    CHECK_EQ(mlx_conv_general(&out, x, w, NULL, 1, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 1, false, stream), 1);
    expect_error("expected a non-NULL pointer for stride");
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(flat), mlx_array_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_random_convolutions, install_handler),
        cmocka_unit_test_setup(test_mapped, install_handler),
        cmocka_unit_test_setup(test_shapeless, install_handler),
        cmocka_unit_test_setup(test_lists_of_one_number_and_of_none, install_handler),
        cmocka_unit_test_setup(test_refusals, install_handler),
    };
    stream = mlx_default_cpu_stream_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mlx_stream_free(stream);
    return failed;
}
