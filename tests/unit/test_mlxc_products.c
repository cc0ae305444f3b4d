/*
 * test_mlxc_products.c - products of matrices that are quantized, picked by index, or both, against sums in double
 * precision. Plain calls and compiled ones agree, for all sizes too.
 */
#include "support/quantized.h"

/* ---- products ---------------------------------------------------------------------------------------------------- */

struct product {
    struct mode mode;
    bool transpose, left, right; /* left, right: indices are given */
};

/* x, codes, scales, biases or nothing, then left and right indices. */
static int call_product(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct product *p = context;
    int next = is_affine(&p->mode) ? 4 : 3;
    mlx_array biases = is_affine(&p->mode) ? inputs[3] : nothing, left = p->left ? inputs[next++] : nothing;
    mlx_array right = p->right ? inputs[next] : nothing;
    (void)count;
    if (!p->left && !p->right)
        return mlx_quantized_matmul(&outputs[0], inputs[0], inputs[1], inputs[2], biases, p->transpose,
                                    given(p->mode.group_size), given(p->mode.bits), p->mode.name, stream);
    return mlx_gather_qmm(&outputs[0], inputs[0], inputs[1], inputs[2], biases, left, right, p->transpose,
                          given(p->mode.group_size), given(p->mode.bits), p->mode.name, false, stream);
}

static void expect_near(const struct numbers *got, int i, double want, double tolerance)
{
    if (!(fabs(at(got, i) - want) <= tolerance * fmax(1, fabs(want))))
        CHECK_FAIL("element %d is %.9g, expected %.9g", i, at(got, i), want);
}
#define expect_near(...) CHECK_CALL(expect_near, __VA_ARGS__)

/*
 * A sum of k terms is nearer to the exact one than (k + 4) * 2^-24 times the sum of magnitudes, in every mode: codes
 * and small floats become float32 exactly, a weight is rounded once or twice. So it is for few rows, and for many.
 */
static void expect_product(const struct product *p, const struct parts *parts, const struct numbers *x,
                           const struct numbers *got, int rows)
{
    int inner = p->transpose ? 256 : ROWS, outer = p->transpose ? ROWS : 256;
    CHECK_EQ(got->size, rows * outer);
    for (int i = 0; i < got->size; i++) {
        double want = 0, total = 0;
        for (int k = 0; k < inner; k++) {
            int row = p->transpose ? i % outer : k, column = p->transpose ? k : i % outer;
            double term = at(x, i / outer * inner + k) * value_at(parts, &p->mode, row, column);
            if (isnan(term)) term = NAN;
            want += term, total += fabs(term);
        }
        if (!(isnan(want) && isnan(at(got, i)))) expect_near(got, i, want, (inner + 4) * 0x1p-24 * fmax(1, total));
    }
}
#define expect_product(...) CHECK_CALL(expect_product, __VA_ARGS__)

static void multiplies_with_a_quantized_matrix(void **state)
{
    static const int row_counts[] = {1, 2, 5, 8, 11, 40};
    uint64_t random = 31;
    (void)state;
    for (int m = 0; m < MODES; m++)
        for (int transpose = 0; transpose < 2; transpose++) {
            struct product p = {modes[m], transpose, false, false};
            struct parts parts = random_parts(&p.mode, MLX_FLOAT32, &random);
            mlx_array inputs[4] = {nothing, packed_array(&parts.codes), packed_array(&parts.scales), nothing};
            if (is_affine(&p.mode)) inputs[3] = packed_array(&parts.biases);
            for (size_t r = 0; r < sizeof row_counts / sizeof *row_counts; r++) {
                struct numbers x = random_matrix(MLX_FLOAT32, row_counts[r], transpose ? 256 : ROWS, &random), got;
                CHECK_CONTEXT("%s, %d bits, groups of %d, %d rows%s", p.mode.name, p.mode.bits, p.mode.group_size,
                              row_counts[r], transpose ? ", transposed" : "");
                inputs[0] = packed_array(&x);
                run_both_ways(call_product, &p, inputs, 1 + part_count(&p.mode), &got, 1, 1, "quantized_matmul");
                expect_product(&p, &parts, &x, &got, row_counts[r]);
                mlx_array_free(inputs[0]);
                numbers_free(&x), numbers_free(&got);
            }
            for (int i = 1; i < 4; i++) mlx_array_free(inputs[i]);
            free_parts(&parts, &p.mode);
        }
}

/* Of CPUs. Else a matrix is dequantized first, to the dtype of the result and in memory, and picked ones are copied. */
static void need_kernels_that_read_codes(void)
{
    const char *target = getenv("KILN_TARGET");
    mlx_device device = mlx_device_new();
    mlx_device_type type = MLX_CPU;
    mlx_stream_get_device(&device, stream);
    mlx_device_get_type(&type, device);
    mlx_device_free(device);
    bool is_old = (target && strcmp(target, "x86-64-v2") <= 0) || !__builtin_cpu_supports("x86-64-v3");
    if (type == MLX_GPU || is_old) skip();
}

/*
 * The same with bfloat16, whose numbers processors may multiply as digits: in a sum of products with codes a weight
 * then counts with |largest code * scale| + |bias|, before the result is rounded.
 */
static void multiplies_bfloat16_with_codes(void **state)
{
    static const int row_counts[] = {1, 2, 4, 8, 13, 30};
    static const struct mode narrow_modes[] = {
        {"affine", 32, 4}, {"affine", 64, 4}, {"affine", 128, 4}, {"affine", 64, 8}, {"mxfp4", 32, 4}};
    uint64_t random = 41;
    (void)state;
    need_kernels_that_read_codes();
    for (size_t m = 0; m < sizeof narrow_modes / sizeof *narrow_modes; m++) {
        struct product p = {narrow_modes[m], true, false, false};
        struct parts parts = random_parts(&p.mode, is_affine(&p.mode) ? MLX_BFLOAT16 : MLX_FLOAT32, &random);
        mlx_array inputs[4] = {nothing, packed_array(&parts.codes), packed_array(&parts.scales), nothing};
        if (is_affine(&p.mode)) inputs[3] = packed_array(&parts.biases);
        for (size_t r = 0; r < sizeof row_counts / sizeof *row_counts; r++) {
            struct numbers x = random_matrix(MLX_BFLOAT16, row_counts[r], 256, &random), got;
            CHECK_CONTEXT("%s, %d bits, groups of %d, %d rows", p.mode.name, p.mode.bits, p.mode.group_size,
                          row_counts[r]);
            inputs[0] = packed_array(&x);
            run_both_ways(call_product, &p, inputs, 1 + part_count(&p.mode), &got, 1, 1, "quantized_matmul");
            CHECK_EQ(got.size, row_counts[r] * ROWS);
            for (int i = 0; i < got.size; i++) {
                double want = 0, total = 0;
                for (int k = 0; k < 256; k++) {
                    int group = i % ROWS * (256 / p.mode.group_size) + k / p.mode.group_size;
                    double term = at(&x, i / ROWS * 256 + k) * exact_value_at(&parts, &p.mode, i % ROWS, k);
                    want += term, total += fabs(term);
                    if (is_affine(&p.mode))
                        total += fabs(at(&x, i / ROWS * 256 + k)) *
                                 (fabs(255 * at(&parts.scales, group)) + fabs(at(&parts.biases, group)));
                }
                if (isnan(want) && isnan(at(&got, i))) continue;
                if (!(fabs(at(&got, i) - want) <= 0x1p-8 * fabs(want) + 260 * 0x1p-24 * total))
                    CHECK_FAIL("element %d is %.9g, expected %.9g", i, at(&got, i), want);
            }
            mlx_array_free(inputs[0]);
            numbers_free(&x), numbers_free(&got);
        }
        for (int i = 1; i < 4; i++) mlx_array_free(inputs[i]);
        free_parts(&parts, &p.mode);
    }
}

/* ---- digits ------------------------------------------------------------------------------------------------------ */

/* Numbers from 2^-20 to 1 beside each other, a group of zeros, one of tiny numbers. */
static struct numbers mixed_matrix(mlx_dtype dtype, int rows, int inner, int group_size, uint64_t *random)
{
    struct numbers x = matrix(dtype, rows, inner);
    for (int i = 0; i < rows * inner; i++) {
        int group = i % inner / group_size + i / inner;
        double sign = next_random(random) & 1 ? -1 : 1, size = 1 + (double)(next_random(random) >> 44) * 0x1p-20;
        int exponent = group % 4 == 1 ? -14 : -(int)(next_random(random) % 21);
        put_number(&x, i, group % 4 == 2 ? 0 : sign * ldexp(size, dtype == MLX_FLOAT16 ? exponent / 2 : exponent));
    }
    return x;
}

/*
 * A number may be rounded to 2^-22 of the largest in its group of codes, to 2^-14 where it has 16 bits; beside that
 * sums are as near as (k + 4) * 2^-24 of their magnitudes, and the result is rounded once.
 */
static void expect_digits(const struct parts *parts, const struct mode *mode, const struct numbers *x,
                          const struct numbers *got, int inner)
{
    double digit = x->dtype == MLX_FLOAT32 ? 0x1p-22 : 0x1p-14, codes = (1 << mode->bits) - 1;
    double rounding = x->dtype == MLX_FLOAT32 ? 0x1p-24 : x->dtype == MLX_FLOAT16 ? 0x1p-11 : 0x1p-8;
    for (int i = 0; i < got->size; i++) {
        double want = 0, bound = 0;
        for (int start = 0; start < inner; start += mode->group_size) {
            int group = (i % ROWS * inner + start) / mode->group_size;
            double weight = fabs(codes * at(&parts->scales, group)) + fabs(at(&parts->biases, group)), most = 0;
            for (int k = start; k < start + mode->group_size; k++) {
                double here = at(x, i / ROWS * inner + k), w = exact_value_at(parts, mode, i % ROWS, k);
                want += here * w, most = fmax(most, fabs(here));
                bound += (inner + 4) * 0x1p-24 * fabs(here) * weight;
            }
            for (int k = start; k < start + mode->group_size; k++)
                bound += digit * most * fabs(exact_value_at(parts, mode, i % ROWS, k));
        }
        if (!(fabs(at(got, i) - want) <= bound + rounding * (fabs(want) + bound) + 0x1p-24))
            CHECK_FAIL("element %d is %.9g, expected %.9g within %.3g", i, at(got, i), want, bound);
    }
}
#define expect_digits(...) CHECK_CALL(expect_digits, __VA_ARGS__)

/* Rows of codes end inside of what is read together; columns, too. */
static void multiplies_numbers_of_all_sizes_with_codes(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16};
    static const int group_sizes[] = {32, 64, 128}, group_counts[] = {1, 3, 4, 17}, row_counts[] = {1, 2, 3, 8, 16};
    uint64_t random = 77;
    (void)state;
    need_kernels_that_read_codes();
    for (int i = 0; i < 3 * 2 * 3 * 4; i++) {
        struct product p = {{"affine", group_sizes[i / 2 % 3], i % 2 ? 8 : 4}, true, false, false};
        mlx_dtype dtype = dtypes[i / 6 % 3];
        int groups = group_counts[i / 18], inner = groups * p.mode.group_size, words = inner * p.mode.bits / 32;
        int rows = row_counts[i % 5];
        struct parts parts = {matrix(MLX_UINT32, ROWS, words), matrix(dtype, ROWS, groups),
                              matrix(dtype, ROWS, groups)};
        for (int w = 0; w < ROWS * words; w++) put_number(&parts.codes, w, (double)(next_random(&random) >> 32));
        for (int g = 0; g < ROWS * groups; g++) {
            put_number(&parts.scales, g, ldexp(1 + g % 7, -6));
            put_number(&parts.biases, g, -(double)(g % 5) / 8);
        }
        struct numbers x = mixed_matrix(dtype, rows, inner, p.mode.group_size, &random), got;
        mlx_array inputs[] = {packed_array(&x), packed_array(&parts.codes), packed_array(&parts.scales),
                              packed_array(&parts.biases)};
        CHECK_CONTEXT("dtype %d, %d bits, groups of %d, k = %d, %d rows", (int)dtype, p.mode.bits, p.mode.group_size,
                      inner, rows);
        run_both_ways(call_product, &p, inputs, 4, &got, 1, 1, "quantized_matmul");
        CHECK_EQ(got.size, rows * ROWS);
        expect_digits(&parts, &p.mode, &x, &got, inner);
        for (int a = 0; a < 4; a++) mlx_array_free(inputs[a]);
        numbers_free(&x), numbers_free(&got), free_parts(&parts, &p.mode);
    }
}

/* Where they stand: in their row, and in no other. */
static void keeps_infinities_and_nan_in_their_rows(void **state)
{
    const double bad[] = {INFINITY, -INFINITY, NAN};
    uint64_t random = 5;
    (void)state;
    need_kernels_that_read_codes();
    for (int i = 0; i < 6; i++) {
        struct product p = {{"affine", 64, i % 2 ? 8 : 4}, true, false, false};
        struct parts parts = random_parts(&p.mode, MLX_FLOAT32, &random);
        struct numbers x = random_matrix(MLX_FLOAT32, 3, 256, &random), got;
        put_number(&x, 256 + 77, bad[i / 2]);
        for (int w = 0; w < parts.codes.size / ROWS; w++) put_number(&parts.codes, w, 0); /* a column of zeros */
        for (int g = 0; g < parts.biases.size; g++) put_number(&parts.biases, g, 0);
        mlx_array inputs[] = {packed_array(&x), packed_array(&parts.codes), packed_array(&parts.scales),
                              packed_array(&parts.biases)};
        run_both_ways(call_product, &p, inputs, 4, &got, 1, 1, "quantized_matmul");
        for (int k = 0; k < 3 * ROWS; k++) CHECK_EQ(isfinite(at(&got, k)) != 0, k / ROWS != 1);
        for (int a = 0; a < 4; a++) mlx_array_free(inputs[a]);
        numbers_free(&x), numbers_free(&got), free_parts(&parts, &p.mode);
    }
}

/* Codes of 4 bits in groups of 64: `matrices` matrices of 512 x 512 elements, all alike. */
enum { SIDE = 512 };

static void make_weights(int matrices, mlx_array *inputs)
{
    const int words[] = {matrices, SIDE, SIDE / 8}, groups[] = {matrices, SIDE, SIDE / 64};
    int size = matrices * SIDE * SIDE / 8;
    uint32_t *codes = malloc((size_t)size * sizeof *codes);
    float *scales = malloc((size_t)size * sizeof *scales);
    for (int i = 0; i < size; i++) codes[i] = 0x76543210u * (uint32_t)(i + 1), scales[i] = 0.25f;
    inputs[1] = mlx_array_new_data(codes, words + (matrices == 1), 3 - (matrices == 1), MLX_UINT32);
    inputs[2] = mlx_array_new_data(scales, groups + (matrices == 1), 3 - (matrices == 1), MLX_FLOAT32);
    inputs[3] = mlx_array_new_data(scales, groups + (matrices == 1), 3 - (matrices == 1), MLX_FLOAT32);
    free(codes), free(scales);
}

/* Inputs and output, and x once more as packed float32: neither a matrix in floats, nor picked matrices. */
static void takes_no_memory_for_matrices(void **state)
{
    static const int row_counts[] = {1, 8, 64};
    (void)state;
    need_kernels_that_read_codes();
    for (int gathered = 0; gathered < 2; gathered++)
        for (size_t r = 0; r < 3; r++) {
            enum { PICKS = 32 };
            struct product p = {{"affine", 64, 4}, true, false, gathered};
            int rows = row_counts[r], picked[PICKS], count = gathered ? PICKS : 1;
            const int dims[] = {1, rows, SIDE};
            mlx_array inputs[5], res = mlx_array_new();
            float *x = calloc((size_t)rows * SIDE, sizeof *x);
            for (int i = 0; i < PICKS; i++) picked[i] = i * i % 4;
            inputs[0] = mlx_array_new_data(x, dims, 3, MLX_FLOAT32);
            make_weights(gathered ? 4 : 1, inputs);
            inputs[4] = mlx_array_new_data(picked, (int[]){PICKS}, 1, MLX_INT32);
            size_t before, peak, own = (size_t)rows * SIDE * sizeof *x * (size_t)(count + 1);
            mlx_get_active_memory(&before);
            mlx_reset_peak_memory();
            expect_ok(call_product(inputs, 5, &res, &p) || mlx_array_eval(res), "product");
            mlx_get_peak_memory(&peak);
            CHECK_EQ(mlx_array_size(res), (size_t)count * (size_t)rows * SIDE);
            CHECK_TRUE(peak <= before + own + 16384);
            for (int i = 0; i < 5; i++) mlx_array_free(inputs[i]);
            mlx_array_free(res);
            free(x);
        }
}

/* Promoted as all of them; in the other modes the dtype of x. */
static void gives_products_the_right_dtype(void **state)
{
    static const struct {
        struct mode mode;
        mlx_dtype x, scales, want;
    } rows[] = {{{"affine", 64, 4}, MLX_BFLOAT16, MLX_BFLOAT16, MLX_BFLOAT16},
                {{"affine", 64, 4}, MLX_FLOAT32, MLX_BFLOAT16, MLX_FLOAT32},
                {{"affine", 64, 4}, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32},
                {{"mxfp4", 32, 4}, MLX_FLOAT16, MLX_UINT8, MLX_FLOAT16}};
    uint64_t random = 3;
    (void)state;
    for (int r = 0; r < 4; r++) {
        struct product p = {rows[r].mode, true, false, false};
        struct parts parts = random_parts(&p.mode, rows[r].scales == MLX_UINT8 ? MLX_FLOAT32 : rows[r].scales, &random);
        struct numbers x = random_matrix(rows[r].x, 2, 256, &random);
        mlx_array inputs[4] = {packed_array(&x), packed_array(&parts.codes), packed_array(&parts.scales), nothing};
        mlx_array res = mlx_array_new();
        if (is_affine(&p.mode)) inputs[3] = packed_array(&parts.biases);
        expect_ok(call_product(inputs, 4, &res, &p), "quantized_matmul");
        CHECK_EQ(mlx_array_dtype(res), rows[r].want);
        for (int i = 0; i < 4; i++) mlx_array_free(inputs[i]);
        mlx_array_free(res), numbers_free(&x), free_parts(&parts, &p.mode);
    }
}

/* Of two rows on the left and three matrices on the right: which are given, and the pairs that are multiplied. */
static const struct picks {
    int left[4], left_count, right[4], right_dims[2], right_ndim;
    int count, pairs[4][2];
} picks[] = {
    {{1, 0, -1}, 3, {0}, {0}, 0, 3, {{1, 0}, {0, 1}, {1, 2}}},
    {{0}, 0, {2, 0, -3, 1}, {2, 2}, 2, 4, {{0, 2}, {1, 0}, {0, 0}, {1, 1}}},
    {{1, 0, 1, -1}, 4, {2, 0, -3, 1}, {4}, 1, 4, {{1, 2}, {0, 0}, {1, 0}, {1, 1}}},
};

/* Adds the indices that are given to the inputs; how many there are then. */
static int add_picks(const struct picks *pick, mlx_array *inputs, int count)
{
    if (pick->left_count) inputs[count++] = mlx_array_new_data(pick->left, &pick->left_count, 1, MLX_INT32);
    if (pick->right_ndim)
        inputs[count++] = mlx_array_new_data(pick->right, pick->right_dims, pick->right_ndim, MLX_INT32);
    return count;
}

static void make_stack(struct numbers *numbers)
{
    numbers->shape = (struct shape){3, {numbers->shape.dims[0], 1, numbers->shape.dims[1]}};
}

static void multiplies_with_picked_quantized_matrices(void **state)
{
    uint64_t random = 37;
    (void)state;
    for (int which = 0; which < 3; which++)
        for (int m = 1; m < MODES; m += 11) {
            const struct picks *pick = &picks[which];
            struct product p = {modes[m], true, pick->left_count, pick->right_ndim};
            struct parts parts = random_parts(&p.mode, MLX_FLOAT32, &random), stacks = parts;
            struct numbers x = random_matrix(MLX_FLOAT32, 2, 256, &random), rows = x, got;
            make_stack(&rows), make_stack(&stacks.codes), make_stack(&stacks.scales), make_stack(&stacks.biases);
            mlx_array inputs[6] = {packed_array(&rows), packed_array(&stacks.codes), packed_array(&stacks.scales)};
            if (is_affine(&p.mode)) inputs[3] = packed_array(&stacks.biases);
            int count = add_picks(pick, inputs, 1 + part_count(&p.mode));
            run_both_ways(call_product, &p, inputs, count, &got, 1, 1, "gather_qmm");
            CHECK_EQ(got.size, pick->count);
            CHECK_EQ(got.shape.ndim, 2 + (pick->right_ndim ? pick->right_ndim : 1));
            for (int i = 0; i < got.size; i++) {
                double want = 0, total = 0;
                for (int k = 0; k < 256; k++) {
                    double term = at(&x, pick->pairs[i][0] * 256 + k) * value_at(&parts, &p.mode, pick->pairs[i][1], k);
                    want += term, total += fabs(term);
                }
                expect_near(&got, i, want, 1e-5 * fmax(1, total));
            }
            for (int i = 0; i < count; i++) mlx_array_free(inputs[i]);
            numbers_free(&x), numbers_free(&got), free_parts(&parts, &p.mode);
        }
}

/* The same of floats: 32 picks of 4 matrices of a megabyte. */
static void picks_matrices_without_copies(void **state)
{
    (void)state;
    need_kernels_that_read_codes();
    enum { PICKS = 32 };
    int picked[PICKS];
    const int rows[] = {1, 1, SIDE}, list[] = {4, SIDE, SIDE};
    float *data = calloc(4 * SIDE * SIDE, sizeof *data);
    for (int i = 0; i < PICKS; i++) picked[i] = i * i % 4 - 4;
    for (int i = 0; i < SIDE; i++) data[i] = (float)(i % 7);
    for (int i = 0; i < 4; i++) data[(size_t)i * SIDE * SIDE] = (float)(i + 1);
    mlx_array x = mlx_array_new_data(data, rows, 3, MLX_FLOAT32), w = mlx_array_new_data(data, list, 3, MLX_FLOAT32);
    mlx_array right = mlx_array_new_data(picked, (int[]){PICKS}, 1, MLX_INT32), res = mlx_array_new();
    size_t before, peak;
    mlx_get_active_memory(&before);
    mlx_reset_peak_memory();
    expect_ok(mlx_gather_mm(&res, x, w, nothing, right, false, stream) || mlx_array_eval(res), "gather_mm");
    mlx_get_peak_memory(&peak);
    CHECK_TRUE(peak <= before + PICKS * SIDE * sizeof *data + 16384);
    for (int i = 0; i < PICKS; i++) CHECK_NEAR(mlx_array_data_float32(res)[i * SIDE], picked[i] + 5, 0);
    mlx_array_free(x), mlx_array_free(w), mlx_array_free(right), mlx_array_free(res);
    free(data);
}

static int call_gather_mm(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct picks *pick = context;
    int next = 2;
    mlx_array left = pick && pick->left_count ? inputs[next++] : nothing;
    mlx_array right = pick && pick->right_ndim ? inputs[next] : nothing;
    (void)count;
    return mlx_gather_mm(&outputs[0], inputs[0], inputs[1], left, right, false, stream);
}

static void multiplies_picked_matrices(void **state)
{
    uint64_t random = 41;
    (void)state;
    need_kernels_that_read_codes();
    for (int which = 0; which < 3; which++) {
        const struct picks *pick = &picks[which];
        struct numbers a = random_matrix(MLX_FLOAT32, 2, 4 * 5, &random),
                       b = random_matrix(MLX_FLOAT32, 3, 5 * 2, &random);
        a.shape = (struct shape){3, {2, 4, 5}}, b.shape = (struct shape){3, {3, 5, 2}};
        mlx_array inputs[4] = {packed_array(&a), make_array(&b, SPREAD)};
        int count = add_picks(pick, inputs, 2);
        struct numbers got;
        run_both_ways(call_gather_mm, pick, inputs, count, &got, 1, 1, "gather_mm");
        CHECK_EQ(got.size, pick->count * 8);
        for (int i = 0; i < got.size; i++) {
            const int *pair = pick->pairs[i / 8];
            double want = 0;
            for (int k = 0; k < 5; k++)
                want += at(&a, pair[0] * 20 + i % 8 / 2 * 5 + k) * at(&b, pair[1] * 10 + k * 2 + i % 2);
            expect_near(&got, i, want, 1e-6);
        }
        for (int i = 0; i < count; i++) mlx_array_free(inputs[i]);
        numbers_free(&a), numbers_free(&b), numbers_free(&got);
    }
}

/* Without indices it is matmul, also of vectors; one matrix is number 0. */
static void picks_nothing_or_the_only_one(void **state)
{
    static const float row[3] = {1, 2, 3}, square[9] = {1, 0, 0, 0, 2, 0, 0, 0, 4};
    const int three = 3, dims[2] = {3, 3}, zeros[2] = {0, 0}, two = 2;
    mlx_array a = mlx_array_new_data(row, &three, 1, MLX_FLOAT32), b = mlx_array_new_data(square, dims, 2, MLX_FLOAT32);
    mlx_array indices = mlx_array_new_data(zeros, &two, 1, MLX_INT32), res = mlx_array_new();
    (void)state;
    for (int picked = 0; picked < 2; picked++) {
        expect_ok(mlx_gather_mm(&res, a, b, nothing, picked ? indices : nothing, true, stream), "gather_mm");
        struct numbers got = read_array(res);
        CHECK_EQ(got.shape.ndim, 1 + picked);
        for (int i = 0; i < got.size; i++) CHECK_EQ(at(&got, i), (double)row[i % 3] * (1 << i % 3));
        numbers_free(&got);
    }
    expect_ok(mlx_gather_mm(&res, a, a, nothing, nothing, false, stream), "gather_mm");
    CHECK_EQ(mlx_array_ndim(res), 0);
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(indices), mlx_array_free(res);
}

/* x, then w as floats, or as codes and scales. */
static int call_qqmm(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct mode *mode = context;
    return mlx_qqmm(&outputs[0], inputs[0], inputs[1], count > 2 ? inputs[2] : nothing, given(mode->group_size),
                    given(mode->bits), mode->name, nothing, nothing, stream);
}

/* What is left of a matrix after it was quantized, as the caller's. */
static mlx_array coarse(mlx_array a, const struct mode *mode, mlx_array *parts)
{
    mlx_array res = mlx_array_new();
    expect_ok(call_quantize(&a, 1, parts, mode), "quantize");
    expect_ok(call_dequantize(parts, 2, &res, mode), "dequantize");
    return res;
}

static void multiplies_two_quantized_matrices(void **state)
{
    uint64_t random = 43;
    (void)state;
    for (int m = FIRST_FLOAT_MODE; m < MODES; m++) {
        const struct mode *mode = &modes[m];
        struct numbers x = random_matrix(MLX_FLOAT32, 2, 64, &random),
                       w = random_matrix(MLX_FLOAT32, ROWS, 64, &random);
        struct numbers from_floats, from_codes;
        mlx_array inputs[2] = {packed_array(&x), packed_array(&w)}, parts[2][2] = {{{0}}};
        mlx_array x_array = coarse(inputs[0], mode, parts[0]), w_array = coarse(inputs[1], mode, parts[1]);
        mlx_array quantized[3] = {inputs[0], parts[1][0], parts[1][1]};
        run_both_ways(call_qqmm, mode, inputs, 2, &from_floats, 1, 1, "qqmm");
        run_both_ways(call_qqmm, mode, quantized, 3, &from_codes, 1, 1, "qqmm");
        expect_same_bits(&from_codes, &from_floats, "qqmm");
        struct numbers left = read_array(x_array), right = read_array(w_array);
        for (int i = 0; i < 2 * ROWS; i++) {
            double want = 0;
            for (int k = 0; k < 64; k++) want += at(&left, i / ROWS * 64 + k) * at(&right, i % ROWS * 64 + k);
            expect_near(&from_floats, i, want, 1e-5);
        }
        for (int i = 0; i < 2; i++) mlx_array_free(inputs[i]), mlx_array_free(parts[0][i]), mlx_array_free(parts[1][i]);
        mlx_array_free(x_array), mlx_array_free(w_array), numbers_free(&x), numbers_free(&w);
        numbers_free(&from_floats), numbers_free(&from_codes), numbers_free(&left), numbers_free(&right);
    }
}

/* ---- any size ---------------------------------------------------------------------------------------------------- */

/* Quantized, back, and multiplied; the indices pick rows that are matrices of one row. */
static int call_all(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct mode *mode = context;
    struct product p = {*mode, true, false, true};
    mlx_array parts[4] = {inputs[0], {0}, {0}, {0}};
    mlx_array gathered[5] = {inputs[0], {0}, {0}, {0}, {0}};
    (void)count;
    int code = call_quantize(inputs, 1, parts + 1, mode);
    if (!code) code = call_dequantize(parts + 1, part_count(mode), &outputs[0], mode);
    p.right = false;
    if (!code) code = call_product(parts, 4, &outputs[1], &p);
    p.right = true;
    memcpy(gathered, parts, sizeof parts);
    gathered[1 + part_count(mode)] = inputs[1];
    if (!code) code = call_product(gathered, 5, &outputs[2], &p);
    for (int i = 1; i < 4; i++) mlx_array_free(parts[i]);
    return code;
}

static void expect_all(struct traced_call *call, mlx_closure compiled, int rows, int columns, uint64_t *random)
{
    const int indices[3] = {0, 0, 0}, count = rows;
    struct numbers x = random_matrix(MLX_FLOAT32, rows, columns, random);
    mlx_array inputs[2] = {packed_array(&x), mlx_array_new_data(indices, &count, 1, MLX_INT32)};
    mlx_array plain[3] = {{0}}, results[3];
    expect_ok(call_all(inputs, 2, plain, call->context), "plain");
    apply_compiled(compiled, inputs, 2, results, 3, "shapeless");
    for (int i = 0; i < 3; i++) {
        struct numbers want = read_array(plain[i]), got = read_array(results[i]);
        expect_same_bits(&got, &want, "shapeless");
        numbers_free(&want), numbers_free(&got), mlx_array_free(plain[i]), mlx_array_free(results[i]);
    }
    mlx_array_free(inputs[0]), mlx_array_free(inputs[1]), numbers_free(&x);
}
#define expect_all(...) CHECK_CALL(expect_all, __VA_ARGS__)

static void traces_once_for_all_sizes(void **state)
{
    uint64_t random = 47;
    (void)state;
    for (int m = 1; m < MODES; m += m < FIRST_FLOAT_MODE ? 11 : 2) {
        struct traced_call call = {call_all, &modes[m], 3, 0};
        mlx_closure compiled = compile_call(&call, true);
        expect_all(&call, compiled, 2, 128, &random);
        expect_all(&call, compiled, 3, 384, &random);
        expect_all(&call, compiled, 1, 256, &random);
        CHECK_EQ(call.calls, 1);
        struct numbers x = random_matrix(MLX_FLOAT32, 2, 100, &random);
        int zero = 0, one = 1;
        mlx_array in[2] = {packed_array(&x), mlx_array_new_data(&zero, &one, 1, MLX_INT32)};
        mlx_vector_array args = mlx_vector_array_new_data(in, 2), res = mlx_vector_array_new();
        CHECK_EQ(mlx_closure_apply(&res, compiled, args), 1);
        CHECK_CONTAINS(error_text, "must be a multiple of the group size");
        error_count = 0;
        mlx_vector_array_free(args), mlx_vector_array_free(res), mlx_array_free(in[0]), mlx_array_free(in[1]);
        mlx_closure_free(compiled), numbers_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(multiplies_with_a_quantized_matrix, set_up),
        cmocka_unit_test_setup(multiplies_bfloat16_with_codes, set_up),
        cmocka_unit_test_setup(multiplies_numbers_of_all_sizes_with_codes, set_up),
        cmocka_unit_test_setup(keeps_infinities_and_nan_in_their_rows, set_up),
        cmocka_unit_test_setup(takes_no_memory_for_matrices, set_up),
        cmocka_unit_test_setup(picks_matrices_without_copies, set_up),
        cmocka_unit_test_setup(gives_products_the_right_dtype, set_up),
        cmocka_unit_test_setup(multiplies_with_picked_quantized_matrices, set_up),
        cmocka_unit_test_setup(multiplies_picked_matrices, set_up),
        cmocka_unit_test_setup(picks_nothing_or_the_only_one, set_up),
        cmocka_unit_test_setup(multiplies_two_quantized_matrices, set_up),
        cmocka_unit_test_setup(traces_once_for_all_sizes, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
