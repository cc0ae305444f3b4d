/*
 * test_mlxc_random.c - random numbers: the words every implementation gives, ranges and moments of distributions.
 */
#include "support/arrays.h"

static mlx_array key, res;

static int set_up_key(void **state)
{
    set_up(state);
    key = mlx_array_new(), res = mlx_array_new();
    return mlx_random_key(&key, 42);
}

static int drop_key(void **state)
{
    (void)state;
    return mlx_array_free(key) + mlx_array_free(res);
}

static void known_words(void **state)
{
    static const uint32_t words[4] = {2465931498u, 3679230171u, 255383827u, 267815257u};
    int shape = 4, bytes = 7;
    (void)state;
    struct numbers got = read_array(key);
    CHECK_TRUE(got.dtype == MLX_UINT32 && got.size == 2 && get(&got, 0).u == 0 && get(&got, 1).u == 42);
    numbers_free(&got);
    expect_ok(mlx_random_bits(&res, &shape, 1, 4, key, stream), "bits");
    got = read_array(res);
    for (int i = 0; i < 4; i++) CHECK_EQ(get(&got, i).u, words[i]);
    numbers_free(&got);
    shape = 8; /* four words' bytes in memory order */
    expect_ok(mlx_random_bits(&res, &shape, 1, 2, key, stream), "bits of 2 bytes");
    got = read_array(res);
    CHECK_EQ(got.dtype, MLX_UINT16);
    for (int i = 0; i < 8; i++) CHECK_EQ(get(&got, i).u, words[i / 2] >> 16 * (i % 2) & 0xffff);
    numbers_free(&got);
    expect_ok(mlx_random_bits(&res, &bytes, 1, 1, key, stream), "bits of 1 byte");
    got = read_array(res);
    CHECK_TRUE(got.dtype == MLX_UINT8 && got.size == 7);
    numbers_free(&got);
}

static void known_uniform(void **state)
{
    static const double want[4] = {0.574144, 0.856638, 0.0594612, 0.0623556};
    int shape = 4;
    mlx_array low = mlx_array_new_float(0), high = mlx_array_new_float(1);
    (void)state;
    expect_ok(mlx_random_uniform(&res, low, high, &shape, 1, MLX_FLOAT32, key, stream), "uniform");
    struct numbers got = read_array(res);
    for (int i = 0; i < 4; i++) CHECK_LT(fabs(to_double(get(&got, i)) - want[i]), 1e-6);
    numbers_free(&got), mlx_array_free(low), mlx_array_free(high);
}

/* float32 numbers of the reference, by their bits. */
static void expect_known(const uint32_t *want, int count, int64_t ulps)
{
    struct numbers got = read_array(res);
    CHECK_EQ(got.size, count);
    for (int i = 0; i < count; i++) {
        float number = (float)to_double(get(&got, i));
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        if (llabs((int64_t)bits - (int64_t)want[i]) > ulps)
            CHECK_FAIL("number %d is %08x, the reference's is %08x", i, bits, want[i]);
    }
    numbers_free(&got);
}
#define expect_known(...) CHECK_CALL(expect_known, __VA_ARGS__)

static void known_laplace(void **state)
{
    static const uint32_t plain[] = {0xbef1225d, 0xbe636bfc, 0x3f22557e, 0x3f3aaba9,
                                     0xbf3f0842, 0x3f1009f7, 0x402106be, 0x40a1947b},
                          placed[] = {0xbf002a02, 0xbd9ed58c, 0x3fb06246, 0x3fc511ea,
                                      0xbf77f471, 0x3fa0d546, 0x409278ef, 0x410e249c};
    int shape = 8;
    (void)state;
    expect_ok(mlx_random_laplace(&res, &shape, 1, MLX_FLOAT32, 0, 1, key, stream), "laplace");
    expect_known(plain, 8, 0);
    expect_ok(mlx_random_laplace(&res, &shape, 1, MLX_FLOAT32, 0.3f, 1.7f, key, stream), "laplace elsewhere");
    expect_known(placed, 8, 0);
    mlx_array out = {0};
    expect_refusal(mlx_random_laplace(&out, &shape, 1, MLX_INT32, 0, 1, key, stream), out, "integers");
}

static void known_truncated_normal(void **state)
{
    static const uint32_t around_zero[] = {0x3ea77b8a, 0x3e2f58e6, 0xbed397a8, 0xbeeac408,
                                           0x3eeebce7, 0xbec0fb20, 0xbf645234, 0xbf7db1bb},
                          above[] = {0x3f528350, 0x3f8be924, 0x3f3f9f88, 0x3f39abcb,
                                     0x3fb9f376, 0x3f451e6e, 0x3f0924fa, 0x3f00b84b};
    int shape = 8, other = 3;
    const float ends[] = {1, 2, 3, 4, 5, 6, 7, 8};
    mlx_array low = mlx_array_new_float(-1), high = mlx_array_new_float(1), half = mlx_array_new_float(0.5f),
              each = mlx_array_new_data(ends, &shape, 1, MLX_FLOAT32), out = {0};
    (void)state;
    expect_ok(mlx_random_truncated_normal(&res, low, high, &shape, 1, MLX_FLOAT32, key, stream), "truncated");
    expect_known(around_zero, 8, 8); /* the reference's erf is off by up to 3 ulp at the bounds, ours is not */
    expect_ok(mlx_random_truncated_normal(&res, half, each, &shape, 1, MLX_FLOAT32, key, stream), "truncated above");
    expect_known(above, 8, 8);
    expect_refusal(mlx_random_truncated_normal(&out, low, each, &other, 1, MLX_FLOAT32, key, stream), out, "8 bounds");
    expect_refusal(mlx_random_truncated_normal(&out, low, high, &shape, 1, MLX_INT32, key, stream), out, "integers");
    mlx_array_free(low), mlx_array_free(high), mlx_array_free(half), mlx_array_free(each);
}

static int call_multivariate(const mlx_array *inputs, int count, mlx_array *outputs, const void *shape)
{
    (void)count;
    return mlx_random_multivariate_normal(outputs, inputs[0], inputs[1], shape, shape ? 1 : 0, MLX_FLOAT32, key,
                                          stream);
}

static void known_multivariate_normal(void **state)
{
    static const double want[] = {1.09246, 1.22629, 1.4195, -0.555205, -1.21864, -0.0639633};
    static const uint32_t independent[] = {0x3ebcee27, 0xbeebdd9d, 0xbf5d76c0, 0x3f9aa2a6,
                                           0x3f806472, 0xbf5eed20, 0xbecc0826, 0xbf2ac11b};
    const int two[] = {2, 2}, batch[] = {5, 2}, wide[] = {2, 3};
    int shape = 3;
    mlx_array mean = mlx_array_new(), many = mlx_array_new(), eye = mlx_array_new(), uneven = mlx_array_new(),
              out = {0}, cov = mlx_array_new_data((float[]){2, 0.5f, 0.5f, 1}, two, 2, MLX_FLOAT32),
              one = mlx_array_new_float(0);
    (void)state;
    CHECK_EQ(mlx_zeros(&mean, two, 1, MLX_FLOAT32, stream) || mlx_zeros(&many, batch, 2, MLX_FLOAT32, stream) ||
                 mlx_eye(&eye, 2, 2, 0, MLX_FLOAT32, stream) || mlx_zeros(&uneven, wide, 2, MLX_FLOAT32, stream),
             0);
    expect_ok(call_multivariate((mlx_array[]){mean, cov}, 2, &res, &shape), "multivariate");
    struct numbers got = read_array(res);
    CHECK_TRUE(got.shape.ndim == 2 && got.shape.dims[0] == 3 && got.shape.dims[1] == 2);
    for (int i = 0; i < 6; i++) CHECK_NEAR(to_double(get(&got, i)), want[i], 1e-5);
    numbers_free(&got);
    expect_ok(call_multivariate((mlx_array[]){many, eye}, 2, &res, NULL), "multivariate without a shape");
    got = read_array(res);
    CHECK_TRUE(got.shape.ndim == 2 && got.shape.dims[0] == 5 && got.shape.dims[1] == 2);
    for (int i = 0; i < 8; i++) {
        float number;
        memcpy(&number, &independent[i], sizeof number);
        CHECK_NEAR(to_double(get(&got, i)), number, 1e-6);
    }
    numbers_free(&got);
    run_both_ways(call_multivariate, &shape, (mlx_array[]){mean, cov}, 2, &got, 1, 1, "a covariance");
    numbers_free(&got);
    expect_refusal(call_multivariate((mlx_array[]){one, eye}, 2, &out, NULL), out, "a mean of no dimensions");
    expect_refusal(call_multivariate((mlx_array[]){mean, mean}, 2, &out, NULL), out, "a covariance of one dimension");
    expect_refusal(call_multivariate((mlx_array[]){mean, uneven}, 2, &out, NULL), out,
                   "a covariance that is not square");
    expect_refusal(call_multivariate((mlx_array[]){many, eye}, 2, &out, &shape), out, "5 means for 3 samples");
    expect_refusal(mlx_random_multivariate_normal(&out, mean, cov, &shape, 1, MLX_FLOAT16, key, stream), out,
                   "float16");
    mlx_array_free(mean), mlx_array_free(many), mlx_array_free(eye), mlx_array_free(uneven), mlx_array_free(cov);
    mlx_array_free(one);
}

static void keys_split(void **state)
{
    mlx_array first = mlx_array_new(), second = mlx_array_new();
    (void)state;
    expect_ok(mlx_random_split_num(&res, key, 2, stream), "split");
    expect_ok(mlx_random_split(&first, &second, key, stream), "split");
    struct numbers both = read_array(res), a = read_array(first), b = read_array(second);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(get(&a, i).u, get(&both, i).u);
        CHECK_EQ(get(&b, i).u, get(&both, 2 + i).u);
    }
    numbers_free(&both), numbers_free(&a), numbers_free(&b);
    mlx_array_free(first), mlx_array_free(second);
}

/* Mean, variance, and bounds of 20000 numbers. */
static void check_moments(double mean, double variance, double low, double high, const char *what)
{
    struct numbers got = read_array(res);
    double sum = 0, squares = 0;
    for (int i = 0; i < got.size; i++) {
        double x = to_double(get(&got, i));
        if (!(x >= low && x < high)) CHECK_FAIL("%s gave %g", what, x);
        sum += x, squares += (x - mean) * (x - mean);
    }
    if (fabs(sum / got.size - mean) > 0.05 * sqrt(variance)) CHECK_FAIL("%s: mean %g", what, sum / got.size);
    if (fabs(squares / got.size - variance) > 0.08 * variance) CHECK_FAIL("%s: variance %g", what, squares / got.size);
    numbers_free(&got);
}
#define check_moments(...) CHECK_CALL(check_moments, __VA_ARGS__)

static void distributions(void **state)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16};
    int shape[2] = {200, 100};
    mlx_array low = mlx_array_new_int(-3), high = mlx_array_new_int(5), p = mlx_array_new_float(0.25f);
    (void)state;
    for (int d = 0; d < 3; d++) {
        expect_ok(mlx_random_uniform(&res, low, high, shape, 2, dtypes[d], key, stream), "uniform");
        check_moments(1, 64.0 / 12, -3, d ? 5.1 : 5, "uniform");
        expect_ok(mlx_random_normal(&res, shape, 2, dtypes[d], 2, 3, key, stream), "normal");
        check_moments(2, 9, -100, 100, "normal");
        expect_ok(mlx_random_gumbel(&res, shape, 2, dtypes[d], key, stream), "gumbel");
        check_moments(0.5772157, 1.644934, -10, 100, "gumbel");
    }
    expect_ok(mlx_random_randint(&res, low, high, shape, 2, MLX_INT32, key, stream), "randint");
    check_moments(0.5, 63.0 / 12, -3, 5, "randint");
    expect_ok(mlx_random_bernoulli(&res, p, shape, 2, key, stream), "bernoulli");
    check_moments(0.25, 0.1875, 0, 2, "bernoulli");
    mlx_array_free(low), mlx_array_free(high), mlx_array_free(p);
}

/* Without a key: another sequence each time, the same after the same seed. */
static void seeds(void **state)
{
    int shape = 3;
    struct numbers got[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0) expect_ok(mlx_random_seed(7), "seed");
        expect_ok(mlx_random_bits(&res, &shape, 1, 4, (mlx_array){0}, stream), "bits");
        got[i] = read_array(res);
    }
    expect_same_bits(&got[0], &got[2], "after the seed");
    expect_same_bits(&got[1], &got[3], "the second after the seed");
    CHECK_NE(get(&got[0], 0).u, get(&got[1], 0).u);
    for (int i = 0; i < 4; i++) numbers_free(&got[i]);
}

static void categories(void **state)
{
    float logits[6] = {0, -INFINITY, 1, 3, 0, -INFINITY};
    int shape[2] = {2, 3}, many[2] = {500, 2}, counts[2][3] = {{0}};
    mlx_array a = mlx_array_new_data(logits, shape, 2, MLX_FLOAT32);
    (void)state;
    expect_ok(mlx_random_categorical(&res, a, -1, key, stream), "categorical");
    CHECK_TRUE(mlx_array_ndim(res) == 1 && mlx_array_dim(res, 0) == 2 && mlx_array_dtype(res) == MLX_UINT32);
    expect_ok(mlx_random_categorical_shape(&res, a, 1, many, 2, key, stream), "categorical");
    struct numbers got = read_array(res);
    CHECK_TRUE(got.shape.ndim == 2 && got.shape.dims[0] == 500);
    for (int i = 0; i < 1000; i++) counts[i % 2][get(&got, i).u]++;
    CHECK_TRUE(counts[0][1] == 0 && counts[1][2] == 0);
    CHECK_TRUE(abs(counts[0][2] - 366) < 60 && abs(counts[1][0] - 476) < 40);
    numbers_free(&got);
    expect_ok(mlx_random_categorical_num_samples(&res, a, 1, 7, key, stream), "categorical");
    CHECK_TRUE(mlx_array_ndim(res) == 2 && mlx_array_dim(res, 0) == 2 && mlx_array_dim(res, 1) == 7);
    mlx_array_free(a);
}

static void permutations(void **state)
{
    bool seen[50] = {false};
    (void)state;
    expect_ok(mlx_random_permutation_arange(&res, 50, key, stream), "permutation");
    struct numbers got = read_array(res);
    for (int i = 0; i < 50; i++) seen[get(&got, i).u] = true;
    for (int i = 0; i < 50; i++) CHECK_TRUE(seen[i]);
    numbers_free(&got);
}

static void bad_input_is_refused(void **state)
{
    int shape = 4, negative = -1;
    mlx_array none = {0}, one = mlx_array_new_float(1), out = {0};
    (void)state;
    expect_refusal(mlx_random_bits(&out, &shape, 1, 3, key, stream), out, "a width of 3");
    expect_refusal(mlx_random_bits(&out, &negative, 1, 4, key, stream), out, "a negative size");
    expect_refusal(mlx_random_bits(&out, &shape, 1, 4, one, stream), out, "a key that is none");
    expect_refusal(mlx_random_uniform(&out, one, one, &shape, 1, MLX_INT32, key, stream), out, "uniform integers");
    expect_refusal(mlx_random_uniform(&out, none, one, &shape, 1, MLX_FLOAT32, key, stream), out, "no bound");
    expect_refusal(mlx_random_categorical(&out, one, 0, key, stream), out, "an axis too large");
    expect_refusal(mlx_random_split_num(&out, key, -1, stream), out, "fewer than no keys");
    mlx_array_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(known_words, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(known_uniform, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(known_laplace, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(known_truncated_normal, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(known_multivariate_normal, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(keys_split, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(distributions, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(seeds, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(categories, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(permutations, set_up_key, drop_key),
        cmocka_unit_test_setup_teardown(bad_input_is_refused, set_up_key, drop_key),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
