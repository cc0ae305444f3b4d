/*
 * test_draw.c - random numbers on a GPU: the bits of the CPU for every width, shape and key; keys stay where they
 * are, and calls that draw are replayed.
 */
#include "gpu_program.h"

static mlx_array make_key(uint64_t seed)
{
    mlx_array key = mlx_array_new();
    CHECK_EQ(mlx_random_key(&key, seed), 0);
    return key;
}

static void expect_same(mlx_array want, mlx_array got, const char *what)
{
    CHECK_EQ(mlx_array_eval(want), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    size_t size = mlx_array_nbytes(want);
    CHECK_EQ(mlx_array_dtype(got), mlx_array_dtype(want));
    CHECK_EQ(mlx_array_nbytes(got), size);
    if (size && memcmp(mlx_array_data_uint8(want), mlx_array_data_uint8(got), size) != 0)
        CHECK_FAIL("%s differs from the CPU's", what);
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

/* ---- words ------------------------------------------------------------------------------------------------------ */

static void compare_bits(const int *shape, size_t ndim, int width, mlx_array key)
{
    char what[80];
    mlx_array want = mlx_array_new(), got = mlx_array_new();
    CHECK_EQ(mlx_random_bits(&want, shape, ndim, width, key, cpu), 0);
    CHECK_EQ(mlx_random_bits(&got, shape, ndim, width, key, gpu), 0);
    snprintf(what, sizeof what, "%zu words of %d bytes", mlx_array_size(want), width);
    expect_same(want, got, what);
    mlx_array_free(want), mlx_array_free(got);
}
#define compare_bits(...) CHECK_CALL(compare_bits, __VA_ARGS__)

static void every_width_and_shape(void **state)
{
    (void)state;
    static const int shapes[][3] = {{1, 1, 1},   {0, 4, 2},   {1, 1, 2},   {3, 1, 1},   {2, 3, 5},    {7, 11, 13},
                                    {1, 1, 511}, {512, 1, 1}, {1, 513, 1}, {2, 256, 2}, {3, 31, 1001}};
    uint64_t before = gpu_counters().host_operations;
    for (int width = 1; width <= 4; width *= 2) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            mlx_array key = make_key(i * 977);
            compare_bits(shapes[i], i % 2 ? 3 : 2, width, key);
            mlx_array_free(key);
        }
        mlx_array key = make_key((uint64_t)width << 40);
        compare_bits(NULL, 0, width, key);
        mlx_array_free(key);
    }
    CHECK_EQ(gpu_counters().host_operations, before);
}

/* The words of a view are not side by side, or in the other order, or one word twice. */
static void keys_of_every_layout(void **state)
{
    (void)state;
    const uint32_t words[] = {1, 2, 3, 4, 0xffffffff, 6};
    mlx_array all = mlx_array_new_data(words, (int[]){6}, 1, MLX_UINT32);
    static const int cuts[][3] = {{1, 3, 1}, {0, 6, 5}, {1, 5, 2}, {5, 3, -1}, {4, -7, -3}, {2, 3, 1}};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        mlx_array key = mlx_array_new();
        CHECK_EQ(mlx_slice(&key, all, &cuts[i][0], 1, &cuts[i][1], 1, &cuts[i][2], 1, gpu), 0);
        if (mlx_array_size(key) == 1) CHECK_EQ(mlx_broadcast_to(&key, key, (int[]){2}, 1, gpu), 0);
        compare_bits((int[]){33}, 1, 4, key);
        mlx_array_free(key);
    }
    mlx_array_free(all);
}

/* A key that only the GPU has gives keys and words there; nothing is copied. */
static void keys_stay(void **state)
{
    (void)state;
    mlx_array key = make_key(3), there = mlx_array_new(), zero = mlx_array_new(), left[2], right[2];
    for (int i = 0; i < 2; i++) left[i] = mlx_array_new(), right[i] = mlx_array_new();
    mlx_array want = mlx_array_new(), got = mlx_array_new();
    CHECK_EQ(mlx_subtract(&zero, key, key, gpu) || mlx_add(&there, key, zero, gpu), 0);
    CHECK_EQ(mlx_array_eval(there), 0);
    kiln_gpu_counters before = gpu_counters();
    CHECK_EQ(mlx_random_split(&left[1], &right[1], there, gpu), 0);
    CHECK_EQ(mlx_random_bits(&got, (int[]){1001}, 1, 4, right[1], gpu), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.bytes_to_device, before.bytes_to_device);
    CHECK_EQ(now.bytes_to_host, before.bytes_to_host);
    CHECK_EQ(now.host_operations, before.host_operations);
    CHECK_EQ(now.launches - before.launches, 2);
    CHECK_EQ(mlx_random_split(&left[0], &right[0], key, cpu), 0);
    CHECK_EQ(mlx_random_bits(&want, (int[]){1001}, 1, 4, right[0], cpu), 0);
    expect_same(want, got, "words of a key of the GPU");
    expect_same(left[0], left[1], "the other key");
    for (int i = 0; i < 2; i++) mlx_array_free(left[i]), mlx_array_free(right[i]);
    mlx_array_free(key), mlx_array_free(there), mlx_array_free(zero), mlx_array_free(want), mlx_array_free(got);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static int uniform(mlx_array *res, mlx_dtype dtype, mlx_array key, mlx_stream s)
{
    mlx_array low = mlx_array_new_float(-3), high = mlx_array_new_float(5);
    int code = mlx_random_uniform(res, low, high, (int[]){9, 31}, 2, dtype, key, s);
    mlx_array_free(low), mlx_array_free(high);
    return code;
}

static int normal(mlx_array *res, mlx_dtype dtype, mlx_array key, mlx_stream s)
{
    return mlx_random_normal(res, (int[]){9, 31}, 2, dtype, 1, 2, key, s);
}

static int gumbel(mlx_array *res, mlx_dtype dtype, mlx_array key, mlx_stream s)
{
    return mlx_random_gumbel(res, (int[]){9, 31}, 2, dtype, key, s);
}

static int whole(mlx_array *res, mlx_dtype dtype, mlx_array key, mlx_stream s)
{
    mlx_array low = mlx_array_new_int(-100), high = mlx_array_new_int(100);
    int code = mlx_random_randint(res, low, high, (int[]){9, 31}, 2, MLX_INT16, key, s);
    (void)dtype;
    mlx_array_free(low), mlx_array_free(high);
    return code;
}

static void numbers_agree(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int (*call)(mlx_array *, mlx_dtype, mlx_array, mlx_stream);
    } numbers[] = {{"uniform", uniform}, {"normal", normal}, {"gumbel", gumbel}, {"randint", whole}};
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16};
    uint64_t before = gpu_counters().host_operations;
    for (size_t i = 0; i < 12; i++) {
        mlx_array key = make_key(i), want = mlx_array_new(), got = mlx_array_new();
        CHECK_EQ(numbers[i / 3].call(&want, dtypes[i % 3], key, cpu), 0);
        CHECK_EQ(numbers[i / 3].call(&got, dtypes[i % 3], key, gpu), 0);
        expect_same(want, got, numbers[i / 3].name);
        mlx_array_free(key), mlx_array_free(want), mlx_array_free(got);
    }
    CHECK_EQ(gpu_counters().host_operations, before);
}

/* ---- compiled --------------------------------------------------------------------------------------------------- */

static mlx_stream stream;

static int draw(mlx_array *res, const mlx_array key, void *unused)
{
    (void)unused;
    mlx_array next = mlx_array_new(), now = mlx_array_new();
    int code = mlx_random_split(&next, &now, key, stream) || mlx_random_bits(res, (int[]){77}, 1, 4, now, stream) ||
               mlx_add(res, *res, *res, stream);
    mlx_array_free(next), mlx_array_free(now);
    return code;
}

static void calls_that_draw_are_replayed(void **state)
{
    (void)state;
    mlx_closure compiled = mlx_closure_new();
    CHECK_EQ(kiln_compile_unary(&compiled, "draw", draw, NULL, NULL, false), 0);
    kiln_gpu_counters before = {0};
    for (int i = 0; i < 18; i++) {
        if (i == 8) before = gpu_counters();
        mlx_array key = make_key((uint64_t)i), want = mlx_array_new(), got = mlx_array_new();
        stream = cpu;
        CHECK_EQ(draw(&want, key, NULL), 0);
        stream = gpu;
        CHECK_EQ(kiln_call_unary(&got, compiled, key), 0);
        expect_same(want, got, "what a compiled function draws");
        mlx_array_free(key), mlx_array_free(want), mlx_array_free(got);
    }
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.replays - before.replays, 10);
    CHECK_EQ(now.launches, before.launches);
    CHECK_EQ(now.host_operations, before.host_operations);
    mlx_closure_free(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_width_and_shape, set_up),
        cmocka_unit_test_setup(keys_of_every_layout, set_up),
        cmocka_unit_test_setup(keys_stay, set_up),
        cmocka_unit_test_setup(numbers_agree, set_up),
        cmocka_unit_test_setup(calls_that_draw_are_replayed, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
