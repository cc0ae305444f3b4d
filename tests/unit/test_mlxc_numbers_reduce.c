/*
 * test_mlxc_numbers_reduce.c - sums, matrix products, rms_norm and random bits, plainly and compiled, against scalar C.
 *
 * Small whole numbers make sums and products exact in every dtype, so results must be equal; of other numbers the error
 * is bounded by what the additions can lose.
 */
#include "support/arrays.h"

/* ---- sum_axis -----------------------------------------------------------------------------------------------------
 */

struct sum {
    int axis;
    bool keep;
};

static int call_sum(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct sum *sum = context;
    (void)count;
    return mlx_sum_axis(outputs, inputs[0], sum->axis, sum->keep, stream);
}

static mlx_dtype sum_dtype(mlx_dtype dtype)
{
    if (facts[dtype].kind >= IS_FLOAT || facts[dtype].size == 8) return dtype;
    return facts[dtype].kind == IS_UNSIGNED ? MLX_UINT32 : MLX_INT32;
}

/* Adds into long doubles, or modulo 2^64. */
struct total {
    uint64_t whole;
    long double real, imaginary, size;
};

static void add_to(struct total *total, struct scalar x)
{
    if (is_integer(x.dtype)) {
        total->whole += x.u; /* signed values are sign extended */
        return;
    }
    total->real += wide_value(x);
    total->imaginary += (long double)(x.dtype == MLX_COMPLEX64 ? x.imaginary : 0);
    total->size += fabsl(wide_value(x)) + fabsl((long double)x.imaginary);
}

static bool is_total(struct scalar got, const struct total *total, int count)
{
    if (is_integer(got.dtype)) return got.u == make_wrapped(total->whole, got.dtype).u;
    long double bits = ldexpl(1, facts[got.dtype].size == 2 ? -23 : 1 - facts[got.dtype].precision);
    long double allowed = (count + 2) * bits * total->size;
    if (facts[got.dtype].size == 2)
        allowed += fabsl(total->real) * ldexpl(1, -facts[got.dtype].precision) + ldexpl(1, facts[got.dtype].lowest);
    if (got.dtype == MLX_COMPLEX64 && !(fabsl((long double)got.imaginary - total->imaginary) <= allowed)) return false;
    return fabsl(wide_value(got) - total->real) <= allowed;
}

static struct scalar exact_total(mlx_dtype dtype, const struct total *total)
{
    if (is_integer(dtype)) return make_wrapped(total->whole, dtype);
    if (dtype == MLX_FLOAT64) return make_double((double)total->real);
    struct scalar out = make_float((float)total->real, dtype);
    out.imaginary = (float)total->imaginary;
    return out;
}

/* Values around 1, so that no sum overflows. */
static struct scalar mild_value(mlx_dtype dtype, uint64_t *state)
{
    if (is_integer(dtype)) return random_value(dtype, state);
    float x = (float)random_below(state, 20001) * 1e-4f - 0.7f;
    if (dtype == MLX_FLOAT64) return make_double((double)x + 1e-9);
    struct scalar out = make_float(x, dtype);
    if (dtype == MLX_COMPLEX64) out.imaginary = (float)random_below(state, 1000) * 1e-3f;
    return out;
}

static struct shape summed_shape(const struct shape *shape, int axis, bool keep)
{
    struct shape out = {0, {0}};
    for (int i = 0; i < shape->ndim; i++)
        if (i != axis || keep) out.dims[out.ndim++] = i == axis ? 1 : shape->dims[i];
    return out;
}

static void check_sum(mlx_dtype dtype, const struct shape *shape, int axis, bool keep, enum layout layout, bool exact)
{
    CHECK_CONTEXT("sum of %s %s, axis %d, layout %d", facts[dtype].name, shape_text(shape).text, axis, layout);
    uint64_t seed = 12;
    char what[128];
    struct numbers input = numbers_filled(dtype, shape, exact ? small_value : mild_value, &seed), got;
    struct sum sum = {keep ? axis - shape->ndim : axis, keep};
    mlx_array array = make_array(&input, layout);
    struct shape out = summed_shape(shape, axis, keep), kept = summed_shape(shape, axis, true);
    snprintf(what, sizeof what, "sum of %s, rank %d, axis %d of %d, layout %d", facts[dtype].name, shape->ndim, axis,
             shape->dims[axis], layout);
    run_both_ways(call_sum, &sum, &array, 1, &got, 1, 2, what);
    CHECK_EQ(got.dtype, sum_dtype(dtype));
    CHECK_TRUE(same_shapes(&got.shape, &out));
    for (int i = 0; i < got.size; i++) {
        struct total total = {0};
        int index[MAX_RANK];
        unravel(i, &kept, index);
        for (index[axis] = 0; index[axis] < shape->dims[axis]; index[axis]++)
            add_to(&total, get(&input, ravel(index, shape->ndim, shape)));
        bool right = exact ? same_scalar(get(&got, i), exact_total(got.dtype, &total))
                           : is_total(get(&got, i), &total, shape->dims[axis]);
        if (!right)
            CHECK_FAIL("%s: element %d is %.17g, expected about %.17Lg or %llu", what, i, to_double(get(&got, i)),
                       total.real, (unsigned long long)total.whole);
    }
    mlx_array_free(array);
    numbers_free(&input), numbers_free(&got);
}
#define check_sum(...) CHECK_CALL(check_sum, __VA_ARGS__)

static void test_sum_axes(void **state)
{
    static const struct shape shapes[] = {{1, {1}},     {1, {33}},       {2, {5, 67}},
                                          {2, {67, 5}}, {3, {3, 1, 40}}, {4, {2, 17, 3, 5}},
                                          {2, {0, 3}},  {2, {3, 0}},     {10, {1, 2, 1, 2, 3, 1, 2, 1, 2, 3}}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int axis = 0; axis < shapes[s].ndim; axis++)
                for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
                    check_sum(dtype, &shapes[s], axis, layout % 2, layout, true);
                    check_sum(dtype, &shapes[s], axis, !(layout % 2), layout, false);
                }
}

/* Every length up to past four blocks, and long ones. */
static void test_sum_lengths(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        for (int n = 1; n <= 67; n++) {
            struct shape shape = {2, {3, n}};
            check_sum(dtype, &shape, 1, false, n % LAYOUT_COUNT, n < 40);
            check_sum(dtype, &shape, 1, false, PACKED, false);
        }
    struct shape tall = {2, {20011, 7}}, wide = {2, {3, 50021}};
    for (int k = 0; k < 2; k++) {
        check_sum(MLX_FLOAT32, k ? &tall : &wide, !k, false, PACKED, false);
        check_sum(MLX_BFLOAT16, k ? &tall : &wide, !k, false, PACKED, false);
        check_sum(MLX_INT32, k ? &tall : &wide, !k, false, TRANSPOSED, false);
    }
}

/* The order of additions depends on the length alone: another layout gives the same bits. */
static void test_sum_bits_do_not_depend_on_layout(void **state)
{
    struct shape shape = {2, {19, 75}};
    struct sum sums[2] = {{0, false}, {1, false}};
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        uint64_t seed = 6;
        struct numbers input = numbers_filled(dtype, &shape, mild_value, &seed);
        for (int axis = 0; axis < 2; axis++) {
            struct numbers first = {0};
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) {
                mlx_array array = make_array(&input, layout);
                struct numbers got;
                run_both_ways(call_sum, &sums[axis], &array, 1, &got, 1, 1, "sum");
                mlx_array_free(array);
                if (layout == PACKED) {
                    first = got;
                    continue;
                }
                expect_same_bits(&got, &first, facts[dtype].name);
                numbers_free(&got);
            }
            numbers_free(&first);
        }
        numbers_free(&input);
    }
}

static void check_special_sum(const float *values, int count, float want)
{
    mlx_array array = mlx_array_new_data(values, &count, 1, MLX_FLOAT32);
    struct sum sum = {0, false};
    struct numbers got;
    run_both_ways(call_sum, &sum, &array, 1, &got, 1, 1, "special sum");
    CHECK_TRUE(same_float((double)get(&got, 0).f, (double)want));
    mlx_array_free(array);
    numbers_free(&got);
}
#define check_special_sum(...) CHECK_CALL(check_special_sum, __VA_ARGS__)

static void test_special_sums(void **state)
{
    (void)state;
    check_special_sum((float[]){1, NAN, 2}, 3, NAN);
    check_special_sum((float[]){INFINITY, 1, -INFINITY}, 3, NAN);
    check_special_sum((float[]){INFINITY, 1, FLT_MAX}, 3, INFINITY);
    check_special_sum((float[]){0x1p-149f, 0x1p-149f, 0x1p-148f}, 3, 0x1p-147f);
    check_special_sum(NULL, 0, 0);
}

/* ---- matmul -------------------------------------------------------------------------------------------------------
 */

static int call_matmul(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count, (void)context;
    return mlx_matmul(outputs, inputs[0], inputs[1], stream);
}

/* Rank at least 2: a row in front, a column behind. */
static struct shape as_matrix(const struct shape *shape, bool is_left)
{
    if (shape->ndim > 1) return *shape;
    return is_left ? (struct shape){2, {1, shape->dims[0]}} : (struct shape){2, {shape->dims[0], 1}};
}

static struct shape product_shape(const struct shape *a, const struct shape *b)
{
    struct shape batch_a = *a, batch_b = *b;
    batch_a.ndim -= 2, batch_b.ndim -= 2;
    struct shape out = broadcast(&batch_a, &batch_b);
    out.dims[out.ndim++] = a->dims[a->ndim - 2];
    out.dims[out.ndim++] = b->dims[b->ndim - 1];
    return out;
}

static struct total product_element(const struct numbers *a, const struct numbers *b, const struct shape *sa,
                                    const struct shape *sb, const struct shape *out, int at)
{
    struct total total = {0};
    int index[MAX_RANK], left[MAX_RANK], right[MAX_RANK];
    unravel(at, out, index);
    memcpy(left, index, sizeof index), memcpy(right, index, sizeof index);
    for (int k = 0; k < sa->dims[sa->ndim - 1]; k++) {
        left[out->ndim - 1] = k, right[out->ndim - 2] = k;
        struct scalar x = get(a, ravel(left, out->ndim, sa)), y = get(b, ravel(right, out->ndim, sb));
        long double xr = wide_value(x), yr = wide_value(y);
        long double xi = x.dtype == MLX_COMPLEX64 ? (long double)x.imaginary : 0,
                    yi = y.dtype == MLX_COMPLEX64 ? (long double)y.imaginary : 0;
        total.real += xr * yr - xi * yi;
        total.imaginary += xr * yi + xi * yr;
        total.size += (fabsl(xr) + fabsl(xi)) * (fabsl(yr) + fabsl(yi));
    }
    return total;
}

static void check_matmul(mlx_dtype dtype, const struct shape *a, const struct shape *b, enum layout la, enum layout lb,
                         bool exact)
{
    uint64_t seed = 21;
    char what[128];
    struct numbers in[2] = {numbers_filled(dtype, a, exact ? small_value : mild_value, &seed),
                            numbers_filled(dtype, b, exact ? small_value : mild_value, &seed)},
                   got;
    mlx_array arrays[2] = {make_array(&in[0], la), make_array(&in[1], lb)};
    struct shape sa = as_matrix(a, true), sb = as_matrix(b, false), full = product_shape(&sa, &sb), out = full;
    if (b->ndim == 1) out.ndim--;
    if (a->ndim == 1) out.dims[out.ndim - 2 + (b->ndim == 1)] = out.dims[out.ndim - 1], out.ndim--;
    snprintf(what, sizeof what, "matmul of %s, ranks %d and %d, layouts %d and %d", facts[dtype].name, a->ndim, b->ndim,
             la, lb);
    run_both_ways(call_matmul, NULL, arrays, 2, &got, 1, 2, what);
    if (!same_shapes(&got.shape, &out) || got.dtype != dtype) CHECK_FAIL("%s: wrong shape or dtype", what);
    for (int i = 0; i < got.size; i++) {
        struct total total = product_element(&in[0], &in[1], &sa, &sb, &full, i);
        bool right = exact ? same_float(to_double(get(&got, i)), to_double(exact_total(dtype, &total))) ||
                                 (to_double(get(&got, i)) == 0 && total.real == 0)
                           : is_total(get(&got, i), &total, 2 * sa.dims[sa.ndim - 1]);
        if (exact && dtype == MLX_COMPLEX64) right = right && (long double)get(&got, i).imaginary == total.imaginary;
        if (!right)
            CHECK_FAIL("%s: element %d is %.17g, expected %.17Lg", what, i, to_double(get(&got, i)), total.real);
    }
    for (int i = 0; i < 2; i++) mlx_array_free(arrays[i]), numbers_free(&in[i]);
    numbers_free(&got);
}

static void test_matmul(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32, MLX_FLOAT64, MLX_COMPLEX64};
    static const struct shape pairs[][2] = {
        {{1, {1}}, {1, {1}}},
        {{1, {9}}, {1, {9}}},
        {{2, {3, 4}}, {2, {4, 5}}},
        {{2, {1, 7}}, {2, {7, 1}}},
        {{1, {4}}, {2, {4, 5}}},
        {{2, {5, 4}}, {1, {4}}},
        {{3, {2, 3, 4}}, {2, {4, 5}}},
        {{2, {3, 4}}, {3, {2, 4, 5}}},
        {{3, {2, 3, 4}}, {1, {4}}},
        {{1, {4}}, {3, {2, 4, 3}}},
        {{4, {2, 1, 3, 4}}, {3, {5, 4, 2}}},
        {{4, {2, 3, 2, 3}}, {4, {2, 3, 3, 4}}},
        {{2, {17, 33}}, {2, {33, 19}}},
        {{2, {3, 0}}, {2, {0, 4}}},
        {{2, {0, 3}}, {2, {3, 4}}},
        {{3, {0, 2, 3}}, {2, {3, 2}}},
        {{3, {3, 2, 0}}, {3, {3, 0, 2}}},
        {{1, {0}}, {1, {0}}},
        {{8, {2, 1, 1, 2, 1, 1, 2, 3}}, {8, {1, 1, 2, 1, 1, 2, 3, 2}}},
    };
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            for (int la = 0; la < LAYOUT_COUNT; la++)
                for (int lb = 0; lb < LAYOUT_COUNT; lb++)
                    check_matmul(dtypes[d], &pairs[p][0], &pairs[p][1], la, lb, (la + lb) % 2);
}

static void test_matmul_refusals(void **state)
{
    struct shape shape = {2, {2, 2}}, scalar = {0, {0}};
    mlx_array res = mlx_array_new();
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct numbers numbers = numbers_new(dtype, &shape), one = numbers_new(dtype, &scalar);
        mlx_array array = packed_array(&numbers), single = packed_array(&one);
        if (is_integer(dtype)) expect_refusal(mlx_matmul(&res, array, array, stream), res, facts[dtype].name);
        expect_refusal(mlx_matmul(&res, array, single, stream), res, "matmul with a scalar");
        mlx_array_free(array), mlx_array_free(single);
        numbers_free(&numbers), numbers_free(&one);
    }
}

/* ---- rms_norm -----------------------------------------------------------------------------------------------------
 */

struct norm {
    float eps;
    bool weighted;
};

static int call_rms_norm(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct norm *norm = context;
    (void)count;
    return mlx_fast_rms_norm(outputs, inputs[0], norm->weighted ? inputs[1] : mlx_array_empty, norm->eps, stream);
}

static void check_rms_norm(mlx_dtype dtype, mlx_dtype weight_dtype, const struct shape *shape, bool weighted,
                           enum layout layout)
{
    uint64_t seed = 14;
    char what[128];
    int n = shape->dims[shape->ndim - 1];
    struct shape row = {1, {n}};
    struct norm norm = {1e-5f, weighted};
    struct numbers in[2] = {numbers_filled(dtype, shape, mild_value, &seed),
                            numbers_filled(weight_dtype, &row, mild_value, &seed)},
                   got;
    mlx_array arrays[2] = {make_array(&in[0], layout), make_array(&in[1], layout)};
    mlx_dtype result = weighted ? promoted(dtype, weight_dtype) : dtype;
    snprintf(what, sizeof what, "rms_norm of %s and %s, layout %d", facts[dtype].name,
             weighted ? facts[weight_dtype].name : "nothing", layout);
    run_both_ways(call_rms_norm, &norm, arrays, 2, &got, 1, 2, what);
    CHECK_EQ(got.dtype, result);
    CHECK_TRUE(same_shapes(&got.shape, shape));
    for (int i = 0; i < got.size; i++) {
        long double squares = 0;
        for (int k = 0; k < n; k++)
            squares += wide_value(get(&in[0], i / n * n + k)) * wide_value(get(&in[0], i / n * n + k));
        long double want = wide_value(get(&in[0], i)) / sqrtl(squares / n + (long double)norm.eps);
        if (weighted) want *= wide_value(get(&in[1], i % n));
        long double each = fmaxl(ldexpl(1, 1 - facts[result].precision), (n + 8) * 0x1p-24L); /* computed in float32 */
        if (!(fabsl(wide_value(get(&got, i)) - want) <= 2 * each * fabsl(want) + ldexpl(1, facts[result].lowest)))
            CHECK_FAIL("%s: element %d is %.17g, expected %.17Lg", what, i, to_double(get(&got, i)), want);
    }
    for (int i = 0; i < 2; i++) mlx_array_free(arrays[i]), numbers_free(&in[i]);
    numbers_free(&got);
}

static void test_rms_norm(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32, MLX_FLOAT64};
    static const struct shape shapes[] = {{1, {1}}, {1, {67}}, {2, {5, 32}}, {3, {2, 3, 19}}, {2, {0, 8}}, {2, {3, 1}}};
    (void)state;
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < 4; b++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                for (int layout = 0; layout < LAYOUT_COUNT; layout++)
                    if (a == b || s == 2)
                        check_rms_norm(dtypes[a], dtypes[b], &shapes[s], layout % 2 || a != b, layout);
}

static void test_rms_norm_refusals(void **state)
{
    struct shape shape = {2, {3, 4}}, row = {1, {4}}, wrong = {1, {3}}, scalar = {0, {0}};
    mlx_array res = mlx_array_new();
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct numbers x = numbers_new(dtype, &shape), w = numbers_new(dtype, &row), v = numbers_new(dtype, &wrong),
                       one = numbers_new(dtype, &scalar);
        mlx_array ax = packed_array(&x), aw = packed_array(&w), av = packed_array(&v), a1 = packed_array(&one);
        if (facts[dtype].kind != IS_FLOAT)
            expect_refusal(mlx_fast_rms_norm(&res, ax, aw, 1e-5f, stream), res, facts[dtype].name);
        expect_refusal(mlx_fast_rms_norm(&res, ax, av, 1e-5f, stream), res, "a wrong weight");
        expect_refusal(mlx_fast_rms_norm(&res, a1, aw, 1e-5f, stream), res, "a scalar");
        mlx_array_free(ax), mlx_array_free(aw), mlx_array_free(av), mlx_array_free(a1);
        numbers_free(&x), numbers_free(&w), numbers_free(&v), numbers_free(&one);
    }
}

/* ---- random_bernoulli ---------------------------------------------------------------------------------------------
 */

/* Threefry with 20 rounds on two words, as published. */
static void threefry(const uint32_t key[2], uint32_t x[2])
{
    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda};
    x[0] += keys[0], x[1] += keys[1];
    for (int group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            int turn = turns[group % 2][i];
            x[0] += x[1];
            x[1] = (x[1] << turn | x[1] >> (32 - turn)) ^ x[0];
        }
        x[0] += keys[(group + 1) % 3];
        x[1] += keys[(group + 2) % 3] + (uint32_t)group + 1;
    }
}

/* Word `at` of `count`: counters run through the first and the second half together; an odd middle has its own. */
static uint32_t random_word(const uint32_t key[2], uint32_t at, uint32_t count)
{
    uint32_t half = count / 2, odd = count % 2;
    bool is_second = at >= half + odd, is_middle = odd && at == half;
    uint32_t first = is_second ? at - half - odd : at;
    uint32_t x[2] = {first, is_middle ? 0 : first + half + odd};
    threefry(key, x);
    return x[is_second];
}

struct draw {
    struct shape shape;
};

static int call_bernoulli(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct draw *draw = context;
    (void)count;
    return mlx_random_bernoulli(outputs, inputs[0], draw->shape.dims, (size_t)draw->shape.ndim, inputs[1], stream);
}

static void check_bernoulli(mlx_dtype dtype, const struct shape *p_shape, const struct shape *shape, uint64_t seed)
{
    uint64_t state = seed + 1;
    struct draw draw = {*shape};
    struct numbers p = numbers_new(dtype, p_shape), got;
    for (int i = 0; i < p.size; i++)
        put(&p, i, scalar_cast(make_double((double)random_below(&state, 101) / 100), dtype));
    mlx_array arrays[2] = {packed_array(&p), mlx_array_new()};
    expect_ok(mlx_random_key(&arrays[1], seed), "key");
    run_both_ways(call_bernoulli, &draw, arrays, 2, &got, 1, 2, "bernoulli");
    CHECK_EQ(got.dtype, MLX_BOOL);
    CHECK_TRUE(same_shapes(&got.shape, shape));
    const uint32_t key[2] = {(uint32_t)(seed >> 32), (uint32_t)seed};
    for (int i = 0; i < got.size; i++) {
        int index[MAX_RANK];
        unravel(i, shape, index);
        float threshold = to_float(get(&p, ravel(index, shape->ndim, p_shape))) * nextafterf(0x1p32f, INFINITY);
        bool want = (float)random_word(key, (uint32_t)i, (uint32_t)got.size) < threshold;
        if (get(&got, i).u != want)
            CHECK_FAIL("bernoulli of %s, seed %llu, element %d is wrong", facts[dtype].name, (unsigned long long)seed,
                       i);
    }
    mlx_array_free(arrays[0]), mlx_array_free(arrays[1]);
    numbers_free(&p), numbers_free(&got);
}
#define check_bernoulli(...) CHECK_CALL(check_bernoulli, __VA_ARGS__)

static void test_bernoulli(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32, MLX_FLOAT64};
    static const struct shape shapes[] = {{0, {0}},    {1, {1}},       {1, {4}},   {1, {67}},
                                          {2, {5, 7}}, {3, {4, 3, 2}}, {2, {0, 3}}};
    static const uint32_t known[4] = {2465931498u, 3679230171u, 255383827u, 267815257u};
    const uint32_t key[2] = {0, 42};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) CHECK_EQ(random_word(key, i, 4), known[i]);
    for (size_t d = 0; d < 4; d++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            struct shape one = {0, {0}};
            check_bernoulli(dtypes[d], &one, &shapes[s], 42);
            check_bernoulli(dtypes[d], &shapes[s], &shapes[s], UINT64_C(0x123456789abcdef));
        }
}

static void test_bernoulli_refusals(void **state)
{
    struct shape shape = {1, {3}};
    const int dims[1] = {4};
    mlx_array res = mlx_array_new(), key = mlx_array_new();
    (void)state;
    expect_ok(mlx_random_key(&key, 1), "key");
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct numbers p = numbers_new(dtype, &shape);
        mlx_array array = packed_array(&p);
        if (facts[dtype].kind != IS_FLOAT)
            expect_refusal(mlx_random_bernoulli(&res, array, shape.dims, 1, key, stream), res, facts[dtype].name);
        expect_refusal(mlx_random_bernoulli(&res, array, dims, 1, key, stream), res, "another shape");
        expect_refusal(mlx_random_bernoulli(&res, key, dims, 1, array, stream), res, "a wrong key");
        mlx_array_free(array);
        numbers_free(&p);
    }
    mlx_array_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sum_axes, set_up),
        cmocka_unit_test_setup(test_sum_lengths, set_up),
        cmocka_unit_test_setup(test_sum_bits_do_not_depend_on_layout, set_up),
        cmocka_unit_test_setup(test_special_sums, set_up),
        cmocka_unit_test_setup(test_matmul, set_up),
        cmocka_unit_test_setup(test_matmul_refusals, set_up),
        cmocka_unit_test_setup(test_rms_norm, set_up),
        cmocka_unit_test_setup(test_rms_norm_refusals, set_up),
        cmocka_unit_test_setup(test_bernoulli, set_up),
        cmocka_unit_test_setup(test_bernoulli_refusals, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
