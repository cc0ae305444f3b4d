/*
 * test_mlxc_quantize.c - matrices into codes and back, against the formats and the rules for scales in float
 * arithmetic. Plain calls and compiled ones agree.
 */
#include "kiln.h"
#include "support/quantized.h"

/* ---- fp8 --------------------------------------------------------------------------------------------------------- */

static int call_to_fp8(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    return mlx_to_fp8(&outputs[0], inputs[0], stream);
}

static int call_from_fp8(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count;
    return mlx_from_fp8(&outputs[0], inputs[0], *(const mlx_dtype *)context, stream);
}

static void reads_all_of_fp8(void **state)
{
    struct numbers codes = matrix(MLX_UINT8, 1, 256), got;
    (void)state;
    for (int i = 0; i < 256; i++) put_number(&codes, i, i);
    mlx_array array = packed_array(&codes);
    for (size_t d = 0; d < 3; d++) {
        run_both_ways(call_from_fp8, &float_dtypes[d], &array, 1, &got, 1, 1, "from_fp8");
        CHECK_EQ(got.dtype, float_dtypes[d]);
        for (int i = 0; i < 256; i++) {
            double want = e4m3((uint32_t)i);
            bool same = want == at(&got, i) && signbit(want) == signbit(at(&got, i));
            if (!same && !(isnan(want) && isnan(at(&got, i))))
                CHECK_FAIL("%#x reads as %g, not %g", i, at(&got, i), want);
        }
        numbers_free(&got);
    }
    mlx_array_free(array);
    numbers_free(&codes);
}

/* Every number, what is half way between two of them, and what is next to that. */
static void writes_the_nearest_fp8(void **state)
{
    struct numbers values = matrix(MLX_FLOAT32, 126, 8), got;
    (void)state;
    for (int i = 0; i < 126; i++) {
        float low = (float)e4m3((uint32_t)i), high = i < 125 ? (float)e4m3((uint32_t)i + 1) : 464,
              half = (low + high) / 2;
        float chosen[4] = {low, half, nextafterf(half, 0), nextafterf(half, 1000)};
        for (int k = 0; k < 8; k++) put_number(&values, 8 * i + k, k < 4 ? chosen[k] : -chosen[k - 4]);
    }
    mlx_array array = packed_array(&values);
    run_both_ways(call_to_fp8, NULL, &array, 1, &got, 1, 1, "to_fp8");
    CHECK_EQ(got.dtype, MLX_UINT8);
    for (int i = 0; i < got.size; i++)
        if (at(&got, i) != to_small(at(&values, i), 8))
            CHECK_FAIL("%.9g is written as %#x, not %#x", at(&values, i), (int)at(&got, i),
                       to_small(at(&values, i), 8));
    mlx_array_free(array);
    numbers_free(&values), numbers_free(&got);
}

static void writes_what_fp8_has_no_number_for(void **state)
{
    static const struct {
        double value;
        int code;
    } rows[] = {{-0.0, 0x80}, {INFINITY, 0x7e}, {-INFINITY, 0xfe}, {NAN, 0x7f},  {1e30, 0x7e},  {-464.5, 0xfe},
                {1e-30, 0},   {-1e-30, 0x80},   {0x1p-149, 0x0},   {0x1p-10, 0}, {0x1.8p-9, 2}, {448, 0x7e}};
    enum { COUNT = sizeof rows / sizeof *rows };
    struct numbers values = matrix(MLX_FLOAT32, 1, COUNT), got;
    (void)state;
    for (int i = 0; i < COUNT; i++) put_number(&values, i, rows[i].value);
    mlx_array array = packed_array(&values);
    run_both_ways(call_to_fp8, NULL, &array, 1, &got, 1, 1, "to_fp8");
    for (int i = 0; i < COUNT; i++)
        if (at(&got, i) != rows[i].code)
            CHECK_FAIL("%g is written as %#x, not %#x", rows[i].value, (int)at(&got, i), rows[i].code);
    mlx_array_free(array);
    numbers_free(&values), numbers_free(&got);
}

/* ---- dequantize -------------------------------------------------------------------------------------------------- */

static void expect_values(const struct numbers *got, const struct parts *parts, const struct mode *mode)
{
    CHECK_EQ(got->shape.dims[0], ROWS);
    CHECK_EQ(got->shape.dims[1], 256);
    for (int i = 0; i < got->size; i++) {
        double want = value_at(parts, mode, i / 256, i % 256);
        if (at(got, i) != want && !(isnan(want) && isnan(at(got, i))))
            CHECK_FAIL("%s with %d bits: element %d is %.9g, expected %.9g", mode->name, mode->bits, i, at(got, i),
                       want);
    }
}

static void dequantizes_every_mode(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int m = 0; m < MODES; m++) {
        const struct mode *mode = &modes[m];
        struct parts parts = random_parts(mode, float_dtypes[m % 3], &random);
        mlx_array inputs[3] = {make_array(&parts.codes, m % LAYOUT_COUNT), make_array(&parts.scales, m / 4), nothing};
        if (is_affine(mode)) inputs[2] = packed_array(&parts.biases);
        struct numbers got;
        run_both_ways(call_dequantize, mode, inputs, part_count(mode), &got, 1, 1, "dequantize");
        CHECK_EQ(got.dtype, is_affine(mode) ? float_dtypes[m % 3] : MLX_FLOAT32);
        expect_values(&got, &parts, mode);
        for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]);
        numbers_free(&got), free_parts(&parts, mode);
    }
}

/* Written out: 2 bits, 0 1 2 3 and again; 3 bits, 0 to 7 and again, over three words. */
static void dequantizes_what_is_written_here(void **state)
{
    static const uint32_t two[2] = {0xe4e4e4e4, 0xe4e4e4e4}, three[3] = {0x88fac688, 0xc688fac6, 0xfac688fa};
    const float scale = 0.5f, bias = -1;
    const int two_dims[2] = {1, 2}, three_dims[2] = {1, 3}, group[2] = {1, 1};
    (void)state;
    for (int bits = 2; bits <= 3; bits++) {
        mlx_array inputs[3] = {bits == 2 ? mlx_array_new_data(two, two_dims, 2, MLX_UINT32)
                                         : mlx_array_new_data(three, three_dims, 2, MLX_UINT32),
                               mlx_array_new_data(&scale, group, 2, MLX_FLOAT32),
                               mlx_array_new_data(&bias, group, 2, MLX_FLOAT32)};
        struct mode mode = {"affine", 32, bits};
        mlx_array res = mlx_array_new();
        expect_ok(call_dequantize(inputs, 3, &res, &mode), "dequantize");
        struct numbers got = read_array(res);
        CHECK_EQ(got.size, 32);
        for (int i = 0; i < 32; i++) CHECK_EQ(at(&got, i), 0.5 * (i % (1 << bits)) - 1);
        for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]);
        mlx_array_free(res), numbers_free(&got);
    }
}

/* Left out: the mode's sizes, and bfloat16 or the dtype of scales and biases. */
static void takes_the_defaults_of_a_mode(void **state)
{
    static const struct mode defaults[] = {{"affine", 64, 4}, {"mxfp4", 32, 4}, {"mxfp8", 32, 8}, {"nvfp4", 16, 4}};
    static const double ends[4] = {15 * 0.25 - 5, -6 * 0x1p-7, NAN, -6 * 1.25};
    const mlx_optional_int unset = {0, false};
    uint64_t random = 5;
    (void)state;
    for (int m = 0; m < 4; m++) {
        const struct mode *mode = &defaults[m];
        struct parts parts = random_parts(mode, MLX_FLOAT16, &random);
        memset(parts.codes.data, 0xff, 4);
        if (m == 3) put_number(&parts.scales, 0, 0x3a);
        mlx_array w = packed_array(&parts.codes), scales = packed_array(&parts.scales), res = mlx_array_new();
        mlx_array biases = is_affine(mode) ? packed_array(&parts.biases) : nothing;
        expect_ok(mlx_dequantize(&res, w, scales, biases, unset, unset, mode->name, nothing,
                                 (mlx_optional_dtype){0, false}, stream),
                  mode->name);
        struct numbers got = read_array(res);
        CHECK_EQ(got.dtype, is_affine(mode) ? MLX_FLOAT16 : MLX_BFLOAT16);
        if (!(at(&got, 0) == ends[m] || (isnan(ends[m]) && isnan(at(&got, 0)))))
            CHECK_FAIL("%s: %g, expected %g", mode->name, at(&got, 0), ends[m]);
        mlx_array_free(w), mlx_array_free(scales), mlx_array_free(biases), mlx_array_free(res);
        numbers_free(&got), free_parts(&parts, mode);
    }
}

/* All 256 scales of mxfp4: powers of two from 2^-127, below the normal numbers, up to infinity. */
static void reads_every_power_of_two(void **state)
{
    struct numbers words = matrix(MLX_UINT32, 256, 4), scales = matrix(MLX_UINT8, 256, 1), got;
    struct mode mode = {"mxfp4", 32, 4};
    (void)state;
    for (int i = 0; i < 256; i++) put_number(&scales, i, i);
    for (int i = 0; i < words.size; i++) put_number(&words, i, 0x22222222);
    mlx_array inputs[2] = {packed_array(&words), packed_array(&scales)};
    run_both_ways(call_dequantize, &mode, inputs, 2, &got, 1, 1, "mxfp4");
    for (int i = 0; i < 256; i++)
        if (at(&got, 32 * i) != (i < 255 ? ldexp(1, i - 127) : INFINITY))
            CHECK_FAIL("scale %d reads as %g", i, at(&got, 32 * i));
    mlx_array_free(inputs[0]), mlx_array_free(inputs[1]);
    numbers_free(&words), numbers_free(&scales), numbers_free(&got);
}

/* How many kernels a compiled call takes. */
static uint64_t kernels_of(array_function *function, const struct mode *mode, const mlx_array *inputs, int count)
{
    struct traced_call call = {function, mode, 1, 0};
    mlx_closure compiled = compile_call(&call, false);
    mlx_array res;
    kiln_counters before, now;
    kiln_cache_counters(kiln_cache_default(), &before);
    apply_compiled(compiled, inputs, count, &res, 1, "compiled");
    expect_ok(mlx_array_eval(res), "eval");
    kiln_cache_counters(kiln_cache_default(), &now);
    mlx_array_free(res), mlx_closure_free(compiled);
    return now.kernel_hits + now.disk_hits + now.compiles - before.kernel_hits - before.disk_hits - before.compiles;
}

/* One for the matrix; a second one for scales that are more than a number. */
static void dequantizes_in_one_kernel(void **state)
{
    uint64_t random = 13;
    (void)state;
    for (int m = 0; m < MODES; m++) {
        const struct mode *mode = &modes[m];
        struct parts parts = random_parts(mode, MLX_FLOAT32, &random);
        mlx_array inputs[3] = {packed_array(&parts.codes), packed_array(&parts.scales), nothing};
        if (is_affine(mode)) inputs[2] = packed_array(&parts.biases);
        uint64_t kernels = kernels_of(call_dequantize, mode, inputs, part_count(mode));
        if (kernels != (is_affine(mode) ? 1 : 2))
            CHECK_FAIL("%s with %d bits takes %d kernels", mode->name, mode->bits, (int)kernels);
        for (int i = 0; i < 3; i++) mlx_array_free(inputs[i]);
        free_parts(&parts, mode);
    }
}

/* ---- quantize ---------------------------------------------------------------------------------------------------- */

/* The rule: of the ends the farther one is a bias, and zero is hit. */
static void affine_scale(const struct numbers *w, int first, const struct mode *mode, float *scale, float *bias)
{
    float low = INFINITY, high = -INFINITY, most = (float)((1 << mode->bits) - 1);
    for (int i = 0; i < mode->group_size; i++) {
        low = fminf(low, (float)at(w, first + i));
        high = fmaxf(high, (float)at(w, first + i));
    }
    float edge = fabsf(low) > fabsf(high) ? low : high, step = fmaxf((high - low) / most, 1e-7f);
    *scale = edge == low && fabsf(low) > fabsf(high) ? step : -step;
    float steps = rintf(edge / *scale);
    *bias = steps != 0 ? edge : 0;
    if (steps != 0) *scale = edge / steps;
}

static void expect_affine(const struct numbers *w, const struct parts *got, const struct mode *mode)
{
    int groups = w->size / mode->group_size, words = got->codes.shape.dims[1], columns = w->shape.dims[1];
    for (int g = 0; g < groups; g++) {
        float scale, bias, most = (float)((1 << mode->bits) - 1);
        affine_scale(w, g * mode->group_size, mode, &scale, &bias);
        if (at(&got->scales, g) != to_double(scalar_cast(make_double(scale), w->dtype)) ||
            at(&got->biases, g) != to_double(scalar_cast(make_double(bias), w->dtype)))
            CHECK_FAIL("%d bits: group %d has scale %g and bias %g, expected %g and %g", mode->bits, g,
                       at(&got->scales, g), at(&got->biases, g), (double)scale, (double)bias);
        for (int i = g * mode->group_size; i < (g + 1) * mode->group_size; i++) {
            float want = fminf(fmaxf(rintf(((float)at(w, i) - bias) / scale), 0), most);
            uint32_t code =
                code_at((const uint32_t *)(void *)got->codes.data + i / columns * words, mode->bits, i % columns);
            if ((float)code != want)
                CHECK_FAIL("%d bits: code %d is %u, expected %g", mode->bits, i, code, (double)want);
        }
    }
}

/* For mx the least power of two under which nothing is too large, for nv the nearest e4m3. */
static uint32_t float_scale(double most, const struct mode *mode, double factor)
{
    float request = (float)most / (mode->bits == 8 ? 448.0f : 6.0f);
    int exponent;
    if (mode->group_size == 16) return to_small(request * (float)factor, 8);
    if (request == 0) return 127;
    return (uint32_t)(frexpf(request, &exponent) == 0.5f ? exponent - 1 : exponent) + 127;
}

static void expect_small_floats(const struct numbers *w, const struct parts *got, const struct mode *mode, float global)
{
    int groups = w->size / mode->group_size, words = got->codes.shape.dims[1], columns = w->shape.dims[1];
    float factor = global > 0 ? 448 * 6 / global : 1, back = global > 0 ? global / (448 * 6) : 1;
    for (int g = 0; g < groups; g++) {
        double most = 0;
        for (int i = 0; i < mode->group_size; i++) most = fmax(most, fabs(at(w, g * mode->group_size + i)));
        if (at(&got->scales, g) != float_scale(most, mode, (double)factor))
            CHECK_FAIL("%s: scale %d is %g, expected %u", mode->name, g, at(&got->scales, g),
                       float_scale(most, mode, (double)factor));
        float scale = (float)scale_of(got, mode, g) * back;
        for (int i = g * mode->group_size; i < (g + 1) * mode->group_size; i++) {
            uint32_t want = scale == 0 ? 0 : to_small((float)at(w, i) / scale, mode->bits);
            uint32_t code =
                code_at((const uint32_t *)(void *)got->codes.data + i / columns * words, mode->bits, i % columns);
            if (code != want) CHECK_FAIL("%s: code %d of %g is %u, expected %u", mode->name, i, at(w, i), code, want);
        }
    }
}
#define expect_small_floats(...) CHECK_CALL(expect_small_floats, __VA_ARGS__)

/*
 * How far a number may be from what comes back: half a step of small floats; of integers up to a step, for a number at
 * the nearer end, since the scale was moved; and what rounding of scale and bias moves.
 */
static double slack(const struct numbers *w, const struct parts *parts, const struct mode *mode, int i)
{
    int group = i / mode->group_size;
    double rounding = w->dtype == MLX_BFLOAT16 ? 0x1p-7 : w->dtype == MLX_FLOAT16 ? 0x1p-10 : 0x1p-21;
    if (is_affine(mode)) return fabs(scale_of(parts, mode, group)) * 1.25 + 2 * rounding;
    return fmax(fabs(at(w, i)) / (mode->bits == 8 ? 16 : 4),
                scale_of(parts, mode, group) * (mode->bits == 8 ? 0x1p-9 : 1));
}

static void expect_round_trip(const struct numbers *w, mlx_array *inputs, struct parts *parts, const struct mode *mode)
{
    mlx_array res = mlx_array_new();
    expect_ok(call_dequantize(inputs, part_count(mode), &res, mode), "dequantize");
    struct numbers got = read_array(res);
    for (int i = 0; i < w->size; i++)
        if (fabs(at(&got, i) - at(w, i)) > slack(w, parts, mode, i))
            CHECK_FAIL("%s with %d bits: %g comes back as %g", mode->name, mode->bits, at(w, i), at(&got, i));
    mlx_array_free(res), numbers_free(&got);
}

static void quantize_and_back(const struct mode *mode, const struct numbers *w, enum layout layout)
{
    CHECK_CONTEXT("%s, groups of %d, %d bits: %s %s", mode->name, mode->group_size, mode->bits, facts[w->dtype].name,
                  shape_text(&w->shape).text);
    mlx_array array = make_array(w, layout);
    struct numbers got[3];
    run_both_ways(call_quantize, mode, &array, 1, got, part_count(mode), 1, "quantize");
    struct parts parts = {got[0], got[1], got[2]};
    CHECK_EQ(parts.codes.dtype, MLX_UINT32);
    CHECK_EQ(parts.codes.shape.dims[1], w->shape.dims[1] * mode->bits / 32);
    CHECK_EQ(parts.scales.dtype, is_affine(mode) ? w->dtype : MLX_UINT8);
    CHECK_EQ(parts.scales.shape.dims[1], w->shape.dims[1] / mode->group_size);
    if (is_affine(mode)) CHECK_EQ(parts.biases.dtype, w->dtype);
    if (is_affine(mode))
        expect_affine(w, &parts, mode);
    else
        expect_small_floats(w, &parts, mode, 0);
    mlx_array back[3] = {packed_array(&parts.codes), packed_array(&parts.scales),
                         is_affine(mode) ? packed_array(&parts.biases) : nothing};
    expect_round_trip(w, back, &parts, mode);
    for (int i = 0; i < 3; i++) mlx_array_free(back[i]);
    mlx_array_free(array), free_parts(&parts, mode);
}
#define quantize_and_back(...) CHECK_CALL(quantize_and_back, __VA_ARGS__)

static void quantizes_every_mode(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int m = 0; m < MODES; m++) {
        struct numbers w = random_matrix(float_dtypes[m % 3], ROWS, 128, &random);
        quantize_and_back(&modes[m], &w, m % LAYOUT_COUNT);
        numbers_free(&w);
    }
}

/* Zeros only, one sign only, one number many times, and exact powers of two, which a logarithm may miss. */
static void quantizes_odd_groups(void **state)
{
    (void)state;
    for (int m = 0; m < MODES; m += m < FIRST_FLOAT_MODE ? 5 : 1) {
        struct numbers w = matrix(MLX_FLOAT32, 8, 128);
        for (int i = 0; i < w.size; i++) {
            static const double tops[8] = {0, 0, 0, 0, 6, 448, 448 * 0x1p-20, 6 * 0x1.000002p10};
            int row = i / 128;
            double rest[4] = {0, 0.01 * (i % 128 + 1), -0.01 * (i % 128 + 1), 0.7};
            put_number(&w, i, row < 4 ? rest[row] : tops[row] / (i % 128 + 1));
        }
        quantize_and_back(&modes[m], &w, PACKED);
        numbers_free(&w);
    }
}

/* Zero comes back as zero, and the largest magnitude as itself. */
static void hits_zero_and_the_farther_end(void **state)
{
    struct numbers w = matrix(MLX_FLOAT32, 1, 64), got[3];
    struct mode mode = {"affine", 64, 4};
    (void)state;
    for (int i = 0; i < 64; i++) put_number(&w, i, i == 9 ? -1.25 : i == 20 ? 0 : 0.01 * i);
    mlx_array array = packed_array(&w), back[3], res = mlx_array_new();
    run_both_ways(call_quantize, &mode, &array, 1, got, 3, 0, "quantize");
    for (int i = 0; i < 3; i++) back[i] = packed_array(&got[i]);
    expect_ok(call_dequantize(back, 3, &res, &mode), "dequantize");
    struct numbers values = read_array(res);
    CHECK_TRUE(at(&values, 9) == -1.25 && fabs(at(&values, 20)) < 1e-7);
    for (int i = 0; i < 3; i++) mlx_array_free(back[i]), numbers_free(&got[i]);
    mlx_array_free(array), mlx_array_free(res), numbers_free(&w), numbers_free(&values);
}

/* Small weights, whose scales nvfp4 alone can't write. */
static void scales_a_whole_matrix(void **state)
{
    uint64_t random = 23;
    struct numbers w = random_matrix(MLX_FLOAT32, ROWS, 64, &random), got[2];
    struct mode mode = {"nvfp4", 16, 4};
    float most = 0;
    (void)state;
    for (int i = 0; i < w.size; i++) put_number(&w, i, at(&w, i) * 1e-6), most = fmaxf(most, fabsf((float)at(&w, i)));
    mlx_array inputs[2] = {packed_array(&w), mlx_array_new_float(most)}, res = mlx_array_new();
    run_both_ways(call_quantize, &mode, inputs, 2, got, 2, 1, "nvfp4 with a global scale");
    struct parts parts = {.codes = got[0], .scales = got[1]};
    expect_small_floats(&w, &parts, &mode, most);
    mlx_array back[3] = {packed_array(&got[0]), packed_array(&got[1]), inputs[1]};
    expect_ok(call_dequantize(back, 3, &res, &mode), "dequantize");
    struct numbers values = read_array(res);
    for (int i = 0; i < w.size; i++)
        if (fabs(at(&values, i) - at(&w, i)) > (double)most / 5)
            CHECK_FAIL("%g comes back as %g", at(&w, i), at(&values, i));
    for (int i = 0; i < 2; i++) mlx_array_free(inputs[i]), mlx_array_free(back[i]), numbers_free(&got[i]);
    mlx_array_free(res), numbers_free(&w), numbers_free(&values);
}

static void takes_matrices_without_rows(void **state)
{
    struct numbers w = matrix(MLX_FLOAT32, 0, 64);
    mlx_array array = packed_array(&w);
    (void)state;
    for (int m = 1; m < MODES; m += m < FIRST_FLOAT_MODE ? 11 : 1) {
        mlx_array parts[3] = {{0}}, res = mlx_array_new();
        expect_ok(call_quantize(&array, 1, parts, &modes[m]), "quantize");
        expect_ok(call_dequantize(parts, part_count(&modes[m]), &res, &modes[m]), "dequantize");
        expect_ok(mlx_array_eval(res), "eval");
        CHECK_EQ(mlx_array_dim(parts[0], 1), 64 * modes[m].bits / 32);
        CHECK_EQ(mlx_array_dim(res, 0), 0);
        CHECK_EQ(mlx_array_dim(res, 1), 64);
        for (int i = 0; i < 3; i++) mlx_array_free(parts[i]);
        mlx_array_free(res);
    }
    mlx_array_free(array), numbers_free(&w);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void expect_text(int code, mlx_array res, const char *text)
{
    CHECK_CONTAINS(error_text, text);
    expect_refusal(code, res, text);
}
#define expect_text(...) CHECK_CALL(expect_text, __VA_ARGS__)

static void refuses_what_no_mode_has(void **state)
{
    static const struct {
        const char *mode;
        int group_size, bits;
        const char *text;
    } rows[] = {
        {"int8", 64, 4, "mode is \"int8\"; expected \"affine\", \"mxfp4\", \"mxfp8\" or \"nvfp4\"."},
        {"affine", 16, 4, "group_size is 16; mode \"affine\" has groups of 32, 64 or 128 elements."},
        {"affine", 64, 7, "bits is 7; mode \"affine\" has codes of 2, 3, 4, 5, 6 or 8 bits."},
        {"affine", 64, 0, "bits is 0;"},
        {"mxfp4", 64, 4, "group_size is 64; mode \"mxfp4\" has groups of 32 elements."},
        {"mxfp8", 32, 4, "bits is 4; mode \"mxfp8\" has codes of 8 bits."},
        {"nvfp4", 32, 4, "group_size is 32; mode \"nvfp4\" has groups of 16 elements."},
        {NULL, 32, 4, "expected a non-NULL pointer for mode"},
    };
    uint64_t random = 1;
    struct numbers w = random_matrix(MLX_FLOAT32, 2, 64, &random);
    mlx_array array = packed_array(&w), res = mlx_array_new();
    mlx_vector_array parts = {0};
    const mlx_optional_dtype unset = {0, false};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mlx_optional_int size = given(rows[i].group_size), bits = given(rows[i].bits);
        const char *mode = rows[i].mode, *text = rows[i].text;
        expect_text(mlx_quantize(&parts, array, size, bits, mode, nothing, stream), res, text);
        expect_text(mlx_dequantize(&res, array, array, nothing, size, bits, mode, nothing, unset, stream), res, text);
        expect_text(mlx_quantized_matmul(&res, array, array, array, nothing, true, size, bits, mode, stream), res,
                    text);
        expect_text(
            mlx_gather_qmm(&res, array, array, array, nothing, nothing, nothing, true, size, bits, mode, false, stream),
            res, text);
        expect_text(mlx_qqmm(&res, array, array, nothing, size, bits, mode, nothing, nothing, stream), res, text);
        CHECK_NULL(parts.ctx);
    }
    mlx_array_free(array), numbers_free(&w);
}

/* By layout: f floats of (2, 64), 1 floats of (64), i int32 of (2, 64); w codes of (2, 8), s scales of (2, 1), b bytes
 * of (2, 2), t scales of (2, 2), v scales of (1, 1), g a global scale. */
static mlx_array sample(char layout)
{
    static const struct {
        char layout;
        mlx_dtype dtype;
        struct shape shape;
    } rows[] = {{'f', MLX_FLOAT32, {2, {2, 64}}}, {'1', MLX_FLOAT32, {1, {64}}},   {'i', MLX_INT32, {2, {2, 64}}},
                {'w', MLX_UINT32, {2, {2, 8}}},   {'s', MLX_FLOAT32, {2, {2, 1}}}, {'b', MLX_UINT8, {2, {2, 2}}},
                {'t', MLX_FLOAT32, {2, {2, 2}}},  {'v', MLX_FLOAT32, {2, {1, 1}}}, {'g', MLX_FLOAT32, {0, {0}}},
                {'o', MLX_FLOAT32, {2, {2, 60}}}, {'u', MLX_UINT32, {1, {8}}},     {'x', MLX_FLOAT32, {1, {1}}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].layout != layout) continue;
        struct numbers zeros = numbers_new(rows[i].dtype, &rows[i].shape);
        mlx_array out = packed_array(&zeros);
        numbers_free(&zeros);
        return out;
    }
    return nothing;
}

static void refuses_arrays_that_do_not_fit(void **state)
{
    enum { QUANTIZE, DEQUANTIZE, MATMUL, GATHER_MM, GATHER_QMM, QQMM, TO, FROM };
    static const struct {
        int function;
        const char *mode, *arrays, *text;
    } rows[] = {
        {QUANTIZE, "affine", "i", "[quantize] int32 is not supported: expected a float type."},
        {QUANTIZE, "affine", "1", "[quantize] The matrix must have at least 2 dimensions, got 1."},
        {QUANTIZE, "affine", "o",
         "[quantize] The last dimension of shape (2,60) must be a multiple of the group size 64."},
        {QUANTIZE, "affine", "fg", "[quantize] mode \"affine\" takes no global scale; \"nvfp4\" does."},
        {QUANTIZE, "nvfp4", "ff", "[quantize] The global scale must be one float32, got float32 of shape (2,64)."},
        {QUANTIZE, "nvfp4", "fi", "[quantize] The global scale must be one float32, got int32 of shape (2,64)."},
        {DEQUANTIZE, "affine", "fss", "[dequantize] The quantized matrix must be uint32, got float32."},
        {DEQUANTIZE, "affine", "ws.", "[dequantize] mode \"affine\" needs biases."},
        {DEQUANTIZE, "affine", "wbs", "[dequantize] Scales and biases must be floats, got uint8 and float32."},
        {DEQUANTIZE, "affine", "wts",
         "[dequantize] Scales of shape (2,2) do not fit a quantized matrix of shape (2,8): there must be one for each "
         "group of 64 elements, which takes 8 words with 4 bits."},
        {DEQUANTIZE, "affine", "wsv", "[dequantize] Biases of shape (1,1) do not fit"},
        {DEQUANTIZE, "affine", "uxx", "[dequantize] The quantized matrix must have at least 2 dimensions, got 1."},
        {DEQUANTIZE, "affine", "wssg", "[dequantize] mode \"affine\" takes no global scale; \"nvfp4\" does."},
        {DEQUANTIZE, "mxfp4", "wbs", "[dequantize] mode \"mxfp4\" takes no biases."},
        {DEQUANTIZE, "mxfp4", "wt.", "[dequantize] Scales of mode \"mxfp4\" must be uint8, got float32."},
        {MATMUL, "affine", "fwsv", "[quantized_matmul] Biases of shape (1,1) do not fit"},
        {MATMUL, "affine", "iws.", "[quantized_matmul] int32 is not supported: expected a float type."},
        {MATMUL, "affine", "fws.", "[quantized_matmul] mode \"affine\" needs biases."},
        {MATMUL, "affine", "owss",
         "[quantized_matmul] The last dimension of x with shape (2,60) must be 64, for a quantized matrix of shape "
         "(2,8) "
         "with 4 bits, transposed."},
        {GATHER_QMM, "affine", "fwss.f", "[gather_qmm] rhs_indices must be integers, got float32."},
        {GATHER_QMM, "affine", "1wssi.", "[gather_qmm] Got an input of 1 dimensions; expected at least 2."},
        {GATHER_MM, NULL, "fff.", "[gather_mm] lhs_indices must be integers, got float32."},
        {GATHER_MM, NULL, "iii.", "[gather_mm] int32 is not supported: expected a float type."},
        {GATHER_MM, NULL, "fg..", "[gather_mm] Got an input of 0 dimensions; expected at least 1."},
        {GATHER_MM, NULL, "ff..", "gather_mm: [matmul] Last dimension of first input with shape (2,64) must match"},
        {QQMM, "affine", "ff.", "[qqmm] mode is \"affine\"; expected \"mxfp4\", \"mxfp8\" or \"nvfp4\"."},
        {QQMM, "mxfp4", "fw.", "[qqmm] w is uint32, so quantized; expected its scales too."},
        {QQMM, "mxfp4", "if.", "[qqmm] int32 is not supported: expected a float type."},
        {TO, NULL, "i", "[to_fp8] int32 is not supported: expected a float type."},
        {FROM, NULL, "f", "[from_fp8] The input must be uint8, got float32."},
    };
    const mlx_optional_int unset = {0, false};
    const mlx_optional_dtype no_dtype = {0, false};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const char *mode = rows[r].mode;
        mlx_array in[6] = {{0}}, res = mlx_array_new();
        mlx_vector_array list = {0};
        int code = 0;
        for (int i = 0; rows[r].arrays[i]; i++) in[i] = sample(rows[r].arrays[i]);
        switch (rows[r].function) {
        case QUANTIZE:
            code = mlx_quantize(&list, in[0], unset, unset, mode, in[1], stream);
            break;
        case DEQUANTIZE:
            code = mlx_dequantize(&res, in[0], in[1], in[2], unset, unset, mode, in[3], no_dtype, stream);
            break;
        case MATMUL:
            code = mlx_quantized_matmul(&res, in[0], in[1], in[2], in[3], true, unset, unset, mode, stream);
            break;
        case GATHER_MM:
            code = mlx_gather_mm(&res, in[0], in[1], in[2], in[3], false, stream);
            break;
        case GATHER_QMM:
            code =
                mlx_gather_qmm(&res, in[0], in[1], in[2], in[3], in[4], in[5], true, unset, unset, mode, false, stream);
            break;
        case QQMM:
            code = mlx_qqmm(&res, in[0], in[1], in[2], unset, unset, mode, nothing, nothing, stream);
            break;
        case TO:
            code = mlx_to_fp8(&res, in[0], stream);
            break;
        default:
            code = mlx_from_fp8(&res, in[0], MLX_FLOAT32, stream);
        }
        expect_text(code, res, rows[r].text);
        CHECK_NULL(list.ctx);
        for (int i = 0; i < 6; i++) mlx_array_free(in[i]);
    }
}

static void refuses_results_that_are_no_floats(void **state)
{
    mlx_array w = sample('w'), s = sample('s'), b = sample('b'), res = mlx_array_new();
    const mlx_optional_int unset = {0, false};
    (void)state;
    expect_text(
        mlx_dequantize(&res, w, s, s, unset, unset, "affine", nothing, (mlx_optional_dtype){MLX_INT32, true}, stream),
        res, "[dequantize] int32 is not supported: expected a float type.");
    expect_text(mlx_dequantize(&res, w, s, s, unset, unset, "affine", nothing, (mlx_optional_dtype){99, true}, stream),
                res, "[dequantize] the dtype is not one of mlx_dtype (0 to 13)");
    expect_text(mlx_from_fp8(&res, b, MLX_INT32, stream), res, "[from_fp8] int32 is not supported");
    expect_text(mlx_from_fp8(&res, b, (mlx_dtype)99, stream), res, "[from_fp8] the dtype is not one of");
    mlx_array_free(w), mlx_array_free(s), mlx_array_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reads_all_of_fp8, set_up),
        cmocka_unit_test_setup(writes_the_nearest_fp8, set_up),
        cmocka_unit_test_setup(writes_what_fp8_has_no_number_for, set_up),
        cmocka_unit_test_setup(dequantizes_every_mode, set_up),
        cmocka_unit_test_setup(dequantizes_what_is_written_here, set_up),
        cmocka_unit_test_setup(takes_the_defaults_of_a_mode, set_up),
        cmocka_unit_test_setup(reads_every_power_of_two, set_up),
        cmocka_unit_test_setup(dequantizes_in_one_kernel, set_up),
        cmocka_unit_test_setup(quantizes_every_mode, set_up),
        cmocka_unit_test_setup(quantizes_odd_groups, set_up),
        cmocka_unit_test_setup(hits_zero_and_the_farther_end, set_up),
        cmocka_unit_test_setup(scales_a_whole_matrix, set_up),
        cmocka_unit_test_setup(takes_matrices_without_rows, set_up),
        cmocka_unit_test_setup(refuses_what_no_mode_has, set_up),
        cmocka_unit_test_setup(refuses_arrays_that_do_not_fit, set_up),
        cmocka_unit_test_setup(refuses_results_that_are_no_floats, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
