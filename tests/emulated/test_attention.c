/*
 * test_attention.c - attention on a GPU: one or two launches of kernels of ours, against sums in float64, for few and
 * many rows, all kinds of masks, sinks, head sizes and dtypes; the same bits compiled and plain.
 */
#include <float.h>
#include <math.h>

#include "gpu_program.h"

struct attention {
    int batch, heads, shared, queries, keys, features, width;
    const char *mode;          /* "", "causal", "bool", "float" */
    bool has_sinks, is_turned; /* keys and values lie as (batch, keys, heads, features) */
    mlx_dtype dtype;
    int launches;
};

static float number(uint32_t i)
{
    return (float)((int32_t)(i * 2654435761u) >> 8) * 0x1p-22f;
}

static mlx_array make(const int *dims, int ndim, mlx_dtype dtype, uint32_t salt)
{
    size_t size = 1;
    for (int i = 0; i < ndim; i++) size *= (size_t)dims[i];
    float *values = malloc(size * sizeof *values);
    for (size_t i = 0; i < size; i++) values[i] = number((uint32_t)i * 3 + salt);
    mlx_array res = mlx_array_new_data(values, dims, ndim, MLX_FLOAT32);
    free(values);
    CHECK_EQ(mlx_astype(&res, res, dtype, cpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    return res;
}

static float *floats_of(mlx_array a)
{
    mlx_array wide = mlx_array_new();
    CHECK_EQ(mlx_astype(&wide, a, MLX_FLOAT32, cpu), 0);
    CHECK_EQ(mlx_contiguous(&wide, wide, false, cpu), 0);
    CHECK_EQ(mlx_array_eval(wide), 0);
    size_t bytes = mlx_array_nbytes(wide);
    float *copy = malloc(bytes + 1);
    memcpy(copy, mlx_array_data_float32(wide), bytes);
    mlx_array_free(wide);
    return copy;
}

struct inputs {
    mlx_array q, k, v, mask, sinks;
};

static mlx_array make_keys(const struct attention *a, int features, uint32_t salt)
{
    mlx_array res;
    if (!a->is_turned) return make((int[]){a->batch, a->shared, a->keys, features}, 4, a->dtype, salt);
    res = make((int[]){a->batch, a->keys, a->shared, features}, 4, a->dtype, salt);
    CHECK_EQ(mlx_swapaxes(&res, res, 1, 2, gpu), 0);
    return res;
}

/* A bool mask hides all keys of the first query, and every third of the others. */
static mlx_array make_mask(const struct attention *a)
{
    const int dims[] = {a->queries, a->keys};
    if (a->mode[0] == 'f') return make(dims, 2, a->dtype, 77);
    bool *values = malloc((size_t)(a->queries * a->keys));
    for (int i = 0; i < a->queries * a->keys; i++) values[i] = i >= a->keys && i % 3;
    mlx_array res = mlx_array_new_data(values, dims, 2, MLX_BOOL);
    free(values);
    return res;
}

static struct inputs make_inputs(const struct attention *a)
{
    struct inputs in = {.q = make((int[]){a->batch, a->heads, a->queries, a->features}, 4, a->dtype, 1)};
    in.k = make_keys(a, a->features, 2), in.v = make_keys(a, a->width, 3);
    if (a->mode[0] == 'b' || a->mode[0] == 'f') in.mask = make_mask(a);
    if (a->has_sinks) in.sinks = make(&a->heads, 1, MLX_FLOAT32, 9);
    return in;
}

static void inputs_free(struct inputs *in)
{
    mlx_array_free(in->q), mlx_array_free(in->k), mlx_array_free(in->v);
    if (in->mask.ctx) mlx_array_free(in->mask);
    if (in->sinks.ctx) mlx_array_free(in->sinks);
}

static int call(mlx_array *res, const struct attention *a, const struct inputs *in)
{
    const char *mode = a->mode[0] == 'c' ? "causal" : a->mode[0] ? "array" : "";
    return mlx_fast_scaled_dot_product_attention(res, in->q, in->k, in->v, 0.25f, mode, in->mask, in->sinks, false,
                                                 gpu);
}

/* One row in float64: result[0] to before result[width]. */
static void reference(const struct attention *a, float *const part[5], int batch, int head, int query, double *result)
{
    int shared = head / (a->heads / a->shared);
    const float *q = part[0] + ((batch * a->heads + head) * a->queries + query) * a->features;
    const float *k = part[1] + (batch * a->shared + shared) * a->keys * a->features;
    const float *v = part[2] + (batch * a->shared + shared) * a->keys * a->width;
    double scores[512], top = part[4] ? (double)part[4][head] : -DBL_MAX, sum = 0;
    int seen = a->mode[0] == 'c' ? a->keys - a->queries + query + 1 : a->keys;
    for (int j = 0; j < seen; j++) {
        scores[j] = 0;
        for (int i = 0; i < a->features; i++) scores[j] += 0.25 * (double)q[i] * (double)k[j * a->features + i];
        if (a->mode[0] == 'f') scores[j] += (double)part[3][query * a->keys + j];
        if (a->mode[0] == 'b' && part[3][query * a->keys + j] == 0) scores[j] = -FLT_MAX;
        if (scores[j] > top) top = scores[j];
    }
    if (part[4]) sum = exp((double)part[4][head] - top);
    for (int i = 0; i < a->width; i++) result[i] = 0;
    for (int j = 0; j < seen; j++) {
        double weight = exp(scores[j] - top);
        sum += weight;
        for (int i = 0; i < a->width; i++) result[i] += weight * (double)v[j * a->width + i];
    }
    for (int i = 0; i < a->width; i++) result[i] /= sum;
}

static void expect_attention(const struct attention *a, const struct inputs *in, mlx_array got)
{
    float *part[5] = {floats_of(in->q), floats_of(in->k), floats_of(in->v), in->mask.ctx ? floats_of(in->mask) : NULL,
                      in->sinks.ctx ? floats_of(in->sinks) : NULL};
    float *values = floats_of(got), *at = values;
    double unit = a->dtype == MLX_FLOAT32 ? 4e-6 : a->dtype == MLX_FLOAT16 ? 0x1p-10 : 0x1p-7, want[256];
    for (int batch = 0; batch < a->batch; batch++)
        for (int head = 0; head < a->heads; head++)
            for (int query = 0; query < a->queries; query++, at += a->width) {
                reference(a, part, batch, head, query, want);
                for (int i = 0; i < a->width; i++)
                    if (!(fabs((double)at[i] - want[i]) <= unit * (1 + fabs(want[i]))))
                        CHECK_FAIL("batch %d, head %d, query %d, feature %d is %g, not %g", batch, head, query, i,
                                   (double)at[i], want[i]);
            }
    for (int i = 0; i < 5; i++) free(part[i]);
    free(values);
}
#define expect_attention(...) CHECK_CALL(expect_attention, __VA_ARGS__)

static void check(const struct attention *a)
{
    CHECK_CONTEXT("%d x %d heads of %d, %d queries, %d keys, %d and %d features, mask %s, dtype %d", a->batch, a->heads,
                  a->shared, a->queries, a->keys, a->features, a->width, a->mode, (int)a->dtype);
    struct inputs in = make_inputs(a);
    mlx_array got = mlx_array_new();
    kiln_gpu_counters before = gpu_counters();
    CHECK_EQ(call(&got, a, &in), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    CHECK_EQ(gpu_counters().launches - before.launches, a->launches);
    CHECK_EQ(gpu_counters().host_operations, before.host_operations);
    expect_attention(a, &in, got);
    mlx_array_free(got);
    inputs_free(&in);
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

static void values_and_launches(void **state)
{
    static const struct attention list[] = {
        /* few rows, keys in ranges */
        {1, 8, 2, 1, 150, 64, 64, "", false, false, MLX_BFLOAT16, 2},
        {2, 3, 1, 1, 70, 32, 32, "", true, true, MLX_FLOAT32, 2},
        {1, 2, 2, 3, 130, 128, 128, "causal", false, true, MLX_FLOAT16, 2},
        {1, 4, 1, 2, 200, 80, 96, "bool", true, false, MLX_FLOAT32, 2},
        {1, 1, 1, 1, 65, 256, 256, "float", false, false, MLX_BFLOAT16, 2},
        {1, 2, 1, 2, 90, 20, 33, "float", false, false, MLX_FLOAT32, 2},
        /* one range */
        {1, 4, 2, 5, 9, 64, 64, "causal", true, false, MLX_FLOAT32, 1},
        {1, 2, 1, 2, 6, 17, 5, "bool", false, false, MLX_FLOAT16, 1},
        {1, 1, 1, 1, 1, 1, 1, "", false, false, MLX_FLOAT32, 1},
        /* many rows: each warp has its own */
        {16, 16, 8, 9, 9, 64, 64, "causal", true, false, MLX_FLOAT32, 1},
        {64, 2, 2, 17, 6, 40, 24, "bool", false, true, MLX_BFLOAT16, 1},
        /* Many heads of few rows each, so warps share rows, and one launch has all keys. */
        {16, 16, 8, 3, 70, 64, 64, "causal", true, false, MLX_FLOAT32, 1},
        {64, 2, 2, 2, 6, 40, 24, "bool", false, true, MLX_BFLOAT16, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) check(&list[i]);
}

static const struct attention compiled_case = {1, 8, 2, 1, 130, 64, 64, "causal", false, false, MLX_BFLOAT16, 2};

static int apply(mlx_vector_array *res, const mlx_vector_array in)
{
    struct inputs inputs = {mlx_array_new(), mlx_array_new(), mlx_array_new(), {NULL}, {NULL}};
    mlx_array out = mlx_array_new();
    mlx_vector_array_get(&inputs.q, in, 0), mlx_vector_array_get(&inputs.k, in, 1),
        mlx_vector_array_get(&inputs.v, in, 2);
    int code = call(&out, &compiled_case, &inputs) || mlx_vector_array_set_value(res, out);
    inputs_free(&inputs);
    mlx_array_free(out);
    return code;
}

static void compiled_is_plain_and_one_graph(void **state)
{
    (void)state;
    struct inputs in = make_inputs(&compiled_case);
    mlx_closure plain = mlx_closure_new_func(apply), compiled = mlx_closure_new();
    mlx_vector_array args = mlx_vector_array_new_data((mlx_array[]){in.q, in.k, in.v}, 3), res = mlx_vector_array_new();
    mlx_array want = mlx_array_new(), got = mlx_array_new();
    CHECK_EQ(mlx_closure_apply(&res, plain, args), 0);
    CHECK_EQ(mlx_vector_array_get(&want, res, 0), 0);
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(mlx_closure_apply(&res, compiled, args), 0);
        CHECK_EQ(mlx_vector_array_get(&got, res, 0), 0);
        kiln_gpu_counters before = gpu_counters();
        CHECK_EQ(mlx_array_eval(got), 0);
        if (i > 2) CHECK_LE(gpu_counters().launches - before.launches, 0);
        float *a = floats_of(want), *b = floats_of(got);
        CHECK_MEM(a, b, mlx_array_size(got) * sizeof *a);
        free(a), free(b);
    }
    mlx_closure_free(plain), mlx_closure_free(compiled);
    mlx_vector_array_free(args), mlx_vector_array_free(res), mlx_array_free(want), mlx_array_free(got);
    inputs_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_and_launches, set_up),
        cmocka_unit_test_setup(compiled_is_plain_and_one_graph, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
