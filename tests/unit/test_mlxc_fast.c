/*
 * test_mlxc_fast.c - layers against their formulas in double precision, and compiled against uncompiled.
 */
#include "support/arrays.h"

enum { BATCH = 2, HEADS = 4, SHARED = 2, QUERIES = 3, KEYS = 5, FEATURES = 8, VALUES = 6 };

static struct numbers filled(int ndim, const int *dims, mlx_dtype dtype, uint64_t *random)
{
    struct shape shape = {ndim, {0}};
    memcpy(shape.dims, dims, (size_t)ndim * sizeof *dims);
    struct numbers out = numbers_new(dtype, &shape);
    for (int i = 0; i < out.size; i++)
        put(&out, i, scalar_cast(make_double((double)(int32_t)(next_random(random) >> 32) * 0x1p-31), dtype));
    return out;
}

static double at(const struct numbers *numbers, int i)
{
    return to_double(get(numbers, i));
}

static void expect_near(const struct numbers *got, const double *want, double tolerance, const char *what)
{
    for (int i = 0; i < got->size; i++)
        if (!(fabs(at(got, i) - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
            CHECK_FAIL("%s: element %d is %.9g, expected %.9g", what, i, at(got, i), want[i]);
}
#define expect_near(...) CHECK_CALL(expect_near, __VA_ARGS__)

static double tolerance_of(mlx_dtype dtype)
{
    return dtype == MLX_BFLOAT16 ? 1e-2 : dtype == MLX_FLOAT16 ? 2e-3 : 2e-6;
}

static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT64};

/* ---- rope ----------------------------------------------------------------------------------------------------------
 */

struct rope_call {
    int dims;
    bool traditional, has_freqs;
    float scale;
};

static int call_rope(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct rope_call *call = context;
    mlx_optional_float base = {.value = 100, .has_value = !call->has_freqs};
    (void)count;
    return mlx_fast_rope_dynamic(&outputs[0], inputs[0], call->dims, call->traditional, base, call->scale, inputs[1],
                                 call->has_freqs ? inputs[2] : (mlx_array){0}, stream);
}

static void turns_positions(void **state)
{
    uint64_t random = 41;
    int dims[4] = {BATCH, HEADS, QUERIES, FEATURES};
    float freqs[4] = {1, 2, 5, 50};
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int how = 0; how < 16; how++) {
            struct rope_call call = {how & 1 ? 8 : 6, how & 2, how & 4, how & 1 ? 1 : 0.5f};
            int half = call.dims / 2, offsets[BATCH] = {3, how & 8 ? 11 : 3}, batch = BATCH;
            struct numbers x = filled(4, dims, dtypes[d], &random), got;
            mlx_array inputs[3] = {make_array(&x, how % LAYOUT_COUNT),
                                   how & 8 ? mlx_array_new_data(offsets, &batch, 1, MLX_INT32) : mlx_array_new_int(3),
                                   mlx_array_new_data(freqs, &half, 1, MLX_FLOAT32)};
            double want[BATCH * HEADS * QUERIES * FEATURES];
            for (int row = 0; row < BATCH * HEADS * QUERIES; row++) {
                double position = (offsets[row / (HEADS * QUERIES)] + row % QUERIES) * (double)call.scale;
                for (int i = 0; i < FEATURES; i++) want[row * FEATURES + i] = at(&x, row * FEATURES + i);
                for (int i = 0; i < half; i++) {
                    double turn = call.has_freqs ? 1 / (double)freqs[i] : pow(100, -(double)i / half);
                    int a = row * FEATURES + (call.traditional ? 2 * i : i), b = a + (call.traditional ? 1 : half);
                    want[a] = at(&x, a) * cos(position * turn) - at(&x, b) * sin(position * turn);
                    want[b] = at(&x, a) * sin(position * turn) + at(&x, b) * cos(position * turn);
                }
            }
            run_both_ways(call_rope, &call, inputs, 3, &got, 1, 2, "rope");
            CHECK_EQ(got.dtype, dtypes[d]);
            expect_near(&got, want, fmax(tolerance_of(dtypes[d]), 4e-6), "rope");
            for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]);
            numbers_free(&x), numbers_free(&got);
        }
}

/* ---- attention
 * ------------------------------------------------------------------------------------------------------- */

enum mask { NO_MASK, CAUSAL, BOOL_MASK, NUMBER_MASK, HEAD_MASK };

struct attention_call {
    enum mask mask;
    bool sinks;
};

static int call_attention(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct attention_call *call = context;
    static const char *const modes[] = {"", "causal", "array", "array", "array"};
    mlx_array none = {0};
    (void)count;
    return mlx_fast_scaled_dot_product_attention(&outputs[0], inputs[0], inputs[1], inputs[2], 0.5f, modes[call->mask],
                                                 call->mask >= BOOL_MASK ? inputs[3] : none,
                                                 call->sinks ? inputs[4] : none, false, stream);
}

/* The mask's value for a score; 1 or 0 for a bool mask. */
static double mask_value(const struct numbers *mask, int head, int query, int key)
{
    int index[4] = {0, head, query, key};
    return at(mask, ravel(index, 4, &mask->shape));
}

static void attention_row(const struct attention_call *call, const struct numbers *n, int batch, int head, int query,
                          double *out)
{
    double scores[KEYS], most = call->sinks ? at(&n[4], head) : -INFINITY, total = 0;
    int shared = batch * SHARED + head / (HEADS / SHARED);
    for (int key = 0; key < KEYS; key++) {
        scores[key] = 0;
        for (int f = 0; f < FEATURES; f++)
            scores[key] += 0.5 * at(&n[0], ((batch * HEADS + head) * QUERIES + query) * FEATURES + f) *
                           at(&n[1], (shared * KEYS + key) * FEATURES + f);
        if (call->mask == CAUSAL && key > query + KEYS - QUERIES) scores[key] = -1e30;
        if (call->mask == BOOL_MASK && mask_value(&n[3], head, query, key) == 0) scores[key] = -1e30;
        if (call->mask >= NUMBER_MASK) scores[key] += mask_value(&n[3], head, query, key);
        most = fmax(most, scores[key]);
    }
    for (int key = 0; key < KEYS; key++) total += scores[key] = exp(scores[key] - most);
    if (call->sinks) total += exp(at(&n[4], head) - most);
    for (int v = 0; v < VALUES; v++) {
        out[v] = 0;
        for (int key = 0; key < KEYS; key++)
            out[v] += scores[key] / total * at(&n[2], (shared * KEYS + key) * VALUES + v);
    }
}

static void attends(void **state)
{
    uint64_t random = 43;
    int q[4] = {BATCH, HEADS, QUERIES, FEATURES}, k[4] = {BATCH, SHARED, KEYS, FEATURES},
        v[4] = {BATCH, SHARED, KEYS, VALUES};
    int plain[2] = {QUERIES, KEYS}, by_head[4] = {1, HEADS, QUERIES, KEYS}, heads = HEADS;
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int how = 0; how < 10; how++) {
            struct attention_call call = {how % 5, how >= 5};
            mlx_dtype dtype = dtypes[d];
            struct numbers n[5] = {filled(4, q, dtype, &random), filled(4, k, dtype, &random),
                                   filled(4, v, dtype, &random),
                                   filled(call.mask == HEAD_MASK ? 4 : 2, call.mask == HEAD_MASK ? by_head : plain,
                                          dtype, &random),
                                   filled(1, &heads, dtype, &random)},
                           got;
            if (call.mask == BOOL_MASK) {
                n[3].dtype = MLX_BOOL;
                for (int i = 0; i < n[3].size; i++) put(&n[3], i, make_bool(i % 3 != 1));
            }
            mlx_array inputs[5];
            double want[BATCH * HEADS * QUERIES * VALUES];
            for (int i = 0; i < 5; i++) inputs[i] = make_array(&n[i], i < 3 ? (how + i) % LAYOUT_COUNT : PACKED);
            for (int row = 0; row < BATCH * HEADS * QUERIES; row++)
                attention_row(&call, n, row / (HEADS * QUERIES), row / QUERIES % HEADS, row % QUERIES,
                              want + row * VALUES);
            run_both_ways(call_attention, &call, inputs, 5, &got, 1, 1, "attention");
            CHECK_EQ(got.dtype, dtype);
            expect_near(&got, want, tolerance_of(dtype), "attention");
            for (int i = 0; i < 5; i++) mlx_array_free(inputs[i]), numbers_free(&n[i]);
            numbers_free(&got);
        }
}

/*
 * The last query stands beside the last key. Of three queries and two keys the first sees none: it looks at both alike,
 * or with a sink at nothing.
 */
static void attends_to_fewer_keys(void **state)
{
    (void)state;
    const int q[4] = {1, 1, 3, 1}, k[4] = {1, 1, 2, 1}, one[1] = {1};
    static const double want[2][3] = {{15, 10, 15}, {0, 5, 10}}; /* a sink of 0 is one more score like the others */
    for (int sinks = 0; sinks < 2; sinks++) {
        const struct attention_call call = {CAUSAL, sinks};
        const float zeros[3] = {0}, values[2] = {10, 20};
        mlx_array inputs[5] = {
            mlx_array_new_data(zeros, q, 4, MLX_FLOAT32), mlx_array_new_data(zeros, k, 4, MLX_FLOAT32),
            mlx_array_new_data(values, k, 4, MLX_FLOAT32), mlx_array_new_data(zeros, one, 1, MLX_FLOAT32),
            mlx_array_new_data(zeros, one, 1, MLX_FLOAT32)};
        struct numbers got;
        run_both_ways(call_attention, &call, inputs, 5, &got, 1, 1, "attention");
        expect_near(&got, want[sinks], 1e-6, sinks ? "with a sink" : "without sinks");
        for (int i = 0; i < 5; i++) mlx_array_free(inputs[i]);
        numbers_free(&got);
    }
}

/* ---- the others
 * -------------------------------------------------------------------------------------------------------- */

static int call_layer_norm(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)context;
    return mlx_fast_layer_norm(&outputs[0], inputs[0], count > 1 ? inputs[1] : (mlx_array){0},
                               count > 2 ? inputs[2] : (mlx_array){0}, 1e-5f, stream);
}

static void normalises(void **state)
{
    uint64_t random = 45;
    int dims[2] = {3, 40}, row = 40;
    (void)state;
    for (int d = 0; d < 4; d++)
        for (int count = 1; count <= 3; count++) {
            struct numbers n[3] = {filled(2, dims, dtypes[d], &random), filled(1, &row, dtypes[d], &random),
                                   filled(1, &row, dtypes[d], &random)},
                           got;
            mlx_array inputs[3];
            double want[120];
            for (int i = 0; i < 3; i++) inputs[i] = make_array(&n[i], i ? PACKED : TRANSPOSED);
            for (int r = 0; r < 3; r++) {
                double mean = 0, variance = 0;
                for (int i = 0; i < 40; i++) mean += at(&n[0], r * 40 + i) / 40;
                for (int i = 0; i < 40; i++) variance += pow(at(&n[0], r * 40 + i) - mean, 2) / 40;
                for (int i = 0; i < 40; i++) {
                    want[r * 40 + i] = (at(&n[0], r * 40 + i) - mean) / sqrt(variance + 1e-5);
                    if (count > 1) want[r * 40 + i] *= at(&n[1], i);
                    if (count > 2) want[r * 40 + i] += at(&n[2], i);
                }
            }
            run_both_ways(call_layer_norm, NULL, inputs, count, &got, 1, 1, "layer_norm");
            expect_near(&got, want, tolerance_of(dtypes[d]), "layer_norm");
            for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]), numbers_free(&n[i]);
            numbers_free(&got);
        }
}

static void multiplies_and_adds(void **state)
{
    uint64_t random = 47;
    int c[1] = {4}, a[2] = {3, 5}, b[2] = {5, 4};
    (void)state;
    for (int d = 0; d < 4; d++) {
        struct numbers n[3] = {filled(1, c, dtypes[d], &random), filled(2, a, dtypes[d], &random),
                               filled(2, b, dtypes[d], &random)},
                       got;
        mlx_array inputs[3], res = mlx_array_new();
        double want[12] = {0};
        for (int i = 0; i < 3; i++) inputs[i] = packed_array(&n[i]);
        for (int i = 0; i < 12; i++) {
            for (int k = 0; k < 5; k++) want[i] += 2 * at(&n[1], i / 4 * 5 + k) * at(&n[2], k * 4 + i % 4);
            want[i] += 0.5 * at(&n[0], i % 4);
        }
        expect_ok(mlx_addmm(&res, inputs[0], inputs[1], inputs[2], 2, 0.5f, stream), "addmm");
        got = read_array(res);
        expect_near(&got, want, 2 * tolerance_of(dtypes[d]), "addmm");
        for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]), numbers_free(&n[i]);
        numbers_free(&got), mlx_array_free(res);
    }
}

static void convolves(void **state)
{
    enum { LENGTH = 11, CHANNELS = 4, OUTPUTS = 6, WIDTH = 3 };
    uint64_t random = 49;
    (void)state;
    for (int how = 0; how < 16; how++) {
        int stride = how & 1 ? 2 : 1, padding = how & 2 ? 2 : 0, dilation = how & 4 ? 2 : 1, groups = how & 8 ? 2 : 1;
        int in_dims[3] = {BATCH, LENGTH, CHANNELS}, w_dims[3] = {OUTPUTS, WIDTH, CHANNELS / groups};
        int length = (LENGTH + 2 * padding - dilation * (WIDTH - 1) - 1) / stride + 1;
        struct numbers x = filled(3, in_dims, MLX_FLOAT32, &random), w = filled(3, w_dims, MLX_FLOAT32, &random), got;
        mlx_array a = make_array(&x, how % LAYOUT_COUNT), b = packed_array(&w), res = mlx_array_new();
        double want[BATCH * (LENGTH + 4) * OUTPUTS] = {0};
        for (int i = 0; i < BATCH * length * OUTPUTS; i++) {
            int o = i % OUTPUTS, place = i / OUTPUTS % length, batch = i / OUTPUTS / length,
                group = o / (OUTPUTS / groups);
            for (int k = 0; k < WIDTH; k++) {
                int from = place * stride + k * dilation - padding;
                for (int c = 0; from >= 0 && from < LENGTH && c < CHANNELS / groups; c++)
                    want[i] += at(&x, (batch * LENGTH + from) * CHANNELS + group * (CHANNELS / groups) + c) *
                               at(&w, (o * WIDTH + k) * (CHANNELS / groups) + c);
            }
        }
        expect_ok(mlx_conv1d(&res, a, b, stride, padding, dilation, groups, stream), "conv1d");
        got = read_array(res);
        CHECK_TRUE(got.shape.ndim == 3 && got.shape.dims[1] == length && got.shape.dims[2] == OUTPUTS);
        expect_near(&got, want, 2e-6, "conv1d");
        mlx_array_free(a), mlx_array_free(b), mlx_array_free(res);
        numbers_free(&x), numbers_free(&w), numbers_free(&got);
    }
}

enum { DEPTH = 3, HEIGHT = 5, BREADTH = 6, IN = 4, OUT = 6 };

/* Sizes of the last three axes but channels; areas have a depth of 1. Windows are 2 deep, 3 high and 2 wide. */
struct space {
    bool is_deep;
    int stride[3], padding[3], dilation[3], groups;
};

static int call_space(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct space *how = context;
    const int *s = how->stride, *p = how->padding, *d = how->dilation;
    (void)count;
    if (how->is_deep)
        return mlx_conv3d(outputs, inputs[0], inputs[1], s[0], s[1], s[2], p[0], p[1], p[2], d[0], d[1], d[2],
                          how->groups, stream);
    return mlx_conv2d(outputs, inputs[0], inputs[1], s[1], s[2], p[1], p[2], d[1], d[2], how->groups, stream);
}

/* One element of the result: `o` at `place`. */
static double convolved_at(const struct numbers *x, const struct numbers *w, const struct space *how, const int *sizes,
                           const int *window, int batch, const int *place, int o)
{
    int channels = IN / how->groups, group = o / (OUT / how->groups), k[3], from[3];
    double sum = 0;
    for (int i = 0; i < window[0] * window[1] * window[2]; i++) {
        bool is_inside = true;
        unravel(i, &(struct shape){3, {window[0], window[1], window[2]}}, k);
        for (int axis = 0; axis < 3; axis++) {
            from[axis] = place[axis] * how->stride[axis] + k[axis] * how->dilation[axis] - how->padding[axis];
            is_inside &= from[axis] >= 0 && from[axis] < sizes[axis];
        }
        int at_input = ((batch * sizes[0] + from[0]) * sizes[1] + from[1]) * sizes[2] + from[2];
        for (int c = 0; is_inside && c < channels; c++)
            sum += at(x, at_input * IN + group * channels + c) *
                   at(w, (o * window[0] * window[1] * window[2] + i) * channels + c);
    }
    return sum;
}

/* Small whole numbers, so that sums are exact. */
static struct numbers whole(int ndim, const int *dims, uint64_t *random)
{
    struct numbers out = filled(ndim, dims, MLX_FLOAT32, random);
    for (int i = 0; i < out.size; i++) put(&out, i, scalar_cast(make_double(floor(8 * at(&out, i))), MLX_FLOAT32));
    return out;
}

static void convolves_areas_and_spaces(void **state)
{
    uint64_t random = 53;
    (void)state;
    for (int how = 0; how < 32; how++) {
        struct space space = {how & 1, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, how & 16 ? 2 : 1};
        int deep = space.is_deep, sizes[3] = {deep ? DEPTH : 1, HEIGHT, BREADTH}, window[3] = {deep ? 2 : 1, 3, 2};
        int x_dims[5] = {BATCH, sizes[0], sizes[1], sizes[2], IN}, places[3], place[3];
        int w_dims[5] = {OUT, window[0], window[1], window[2], IN / space.groups};
        if (how & 2) space.stride[1] = 2, space.stride[2] = 3;
        if (how & 4) space.padding[0] = deep, space.padding[1] = 2, space.padding[2] = 1;
        if (how & 8) space.dilation[1] = 2, space.dilation[2] = 3;
        for (int i = 0; i < 3; i++)
            places[i] =
                (sizes[i] + 2 * space.padding[i] - space.dilation[i] * (window[i] - 1) - 1) / space.stride[i] + 1;
        if (!deep) x_dims[1] = BATCH, w_dims[1] = OUT; /* the axis before them is not there */
        struct numbers x = whole(4 + deep, x_dims + !deep, &random), w = whole(4 + deep, w_dims + !deep, &random), got;
        mlx_array inputs[2] = {make_array(&x, how % LAYOUT_COUNT), packed_array(&w)};
        run_both_ways(call_space, &space, inputs, 2, &got, 1, 1, "a convolution");
        CHECK_EQ(got.shape.ndim, 4 + deep);
        CHECK_EQ(got.size, BATCH * places[0] * places[1] * places[2] * OUT);
        for (int i = 0; i < got.size; i++) {
            unravel(i / OUT % (places[0] * places[1] * places[2]),
                    &(struct shape){3, {places[0], places[1], places[2]}}, place);
            int batch = i / OUT / (places[0] * places[1] * places[2]);
            double want = convolved_at(&x, &w, &space, sizes, window, batch, place, i % OUT);
            if (at(&got, i) != want) CHECK_FAIL("how %d: element %d is %g, expected %g", how, i, at(&got, i), want);
        }
        mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
        numbers_free(&x), numbers_free(&w), numbers_free(&got);
    }
}

static void bad_input_is_refused(void **state)
{
    uint64_t random = 51;
    int dims[4] = {1, 2, 3, 4}, other[4] = {1, 3, 3, 4};
    struct numbers x = filled(4, dims, MLX_FLOAT32, &random), y = filled(4, other, MLX_FLOAT32, &random);
    mlx_array a = packed_array(&x), b = packed_array(&y), none = {0}, res = {0}, one = mlx_array_new_float(1);
    mlx_optional_float base = {.value = 100, .has_value = true}, no_base = {.has_value = false};
    (void)state;
    expect_refusal(mlx_fast_rope(&res, a, 3, false, base, 1, 0, none, stream), res, "odd dims");
    expect_refusal(mlx_fast_rope(&res, a, 6, false, base, 1, 0, none, stream), res, "dims above the last axis");
    expect_refusal(mlx_fast_rope(&res, a, 4, false, no_base, 1, 0, none, stream), res, "neither base nor freqs");
    expect_refusal(mlx_fast_rope_dynamic(&res, a, 4, false, base, 1, one, none, stream), res, "a float as offset");
#define ATTEND(k, mode, mask, fused)                                                                                   \
    mlx_fast_scaled_dot_product_attention(&res, a, k, k, 1, mode, mask, none, fused, stream)
    expect_refusal(ATTEND(b, "", none, false), res, "heads that do not divide");
    expect_refusal(ATTEND(a, "some", none, false), res, "an unknown mode");
    expect_refusal(ATTEND(a, "array", none, false), res, "no mask");
    expect_refusal(ATTEND(a, "causal", a, false), res, "a mask too many");
    expect_refusal(ATTEND(a, "", none, true), res, "force_fused");
    expect_refusal(ATTEND(one, "", none, false), res, "a wrong rank");
    expect_refusal(mlx_fast_layer_norm(&res, a, b, none, 0, stream), res, "a weight of the wrong shape");
    expect_refusal(mlx_conv1d(&res, a, b, 1, 0, 1, 1, stream), res, "a wrong rank");
    expect_refusal(mlx_conv2d(&res, a, b, 1, 0, 0, 0, 1, 1, 1, stream), res, "a stride of 0");
    expect_refusal(mlx_conv2d(&res, a, b, 1, 1, 0, 0, 1, 1, 3, stream), res, "groups that do not divide");
    expect_refusal(mlx_conv2d(&res, a, b, 1, 1, 0, 0, 1, 1, 1, stream), res, "a window that is too large");
    expect_refusal(mlx_conv3d(&res, a, b, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, stream), res, "a wrong rank");
    expect_refusal(mlx_addmm(&res, a, none, b, 1, 1, stream), res, "no array");
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(one);
    numbers_free(&x), numbers_free(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(turns_positions, set_up),
        cmocka_unit_test_setup(attends, set_up),
        cmocka_unit_test_setup(attends_to_fewer_keys, set_up),
        cmocka_unit_test_setup(normalises, set_up),
        cmocka_unit_test_setup(multiplies_and_adds, set_up),
        cmocka_unit_test_setup(convolves, set_up),
        cmocka_unit_test_setup(convolves_areas_and_spaces, set_up),
        cmocka_unit_test_setup(bad_input_is_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
