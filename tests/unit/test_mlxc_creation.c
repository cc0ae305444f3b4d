/*
 * test_mlxc_creation.c - functions that make arrays from numbers compute nothing before somebody evaluates them, and
 * nothing at all for an empty result. What is computed is seen in the bytes that arrays take.
 */
#include "unit/mlxc_support.h"

static mlx_stream stream;

static int set_up(void **state)
{
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    return install_handler(state);
}

static int tear_down(void **state)
{
    (void)state;
    mlx_stream_free(stream);
    return 0;
}

enum { MANY = 100000, SIDE = 400 };

static int make_arange(mlx_array *res)
{
    return mlx_arange(res, 0, MANY, 1, MLX_FLOAT64, stream);
}

static int make_linspace(mlx_array *res)
{
    return mlx_linspace(res, 0, 1, MANY, MLX_FLOAT64, stream);
}

static int make_bartlett(mlx_array *res)
{
    return mlx_bartlett(res, MANY, stream);
}

static int make_blackman(mlx_array *res)
{
    return mlx_blackman(res, MANY, stream);
}

static int make_hamming(mlx_array *res)
{
    return mlx_hamming(res, MANY, stream);
}

static int make_hanning(mlx_array *res)
{
    return mlx_hanning(res, MANY, stream);
}

static int make_eye(mlx_array *res)
{
    return mlx_eye(res, SIDE, SIDE, 0, MLX_FLOAT32, stream);
}

static int make_identity(mlx_array *res)
{
    return mlx_identity(res, SIDE, MLX_FLOAT32, stream);
}

static int make_tri(mlx_array *res)
{
    return mlx_tri(res, SIDE, SIDE, 0, MLX_FLOAT32, stream);
}

static int make_zeros(mlx_array *res)
{
    return mlx_zeros(res, (const int[]){SIDE, SIDE}, 2, MLX_FLOAT32, stream);
}

static int make_ones(mlx_array *res)
{
    return mlx_ones(res, (const int[]){SIDE, SIDE}, 2, MLX_FLOAT32, stream);
}

static const struct {
    const char *name;
    int (*make)(mlx_array *res);
} makers[] = {{"arange", make_arange},     {"linspace", make_linspace}, {"bartlett", make_bartlett},
              {"blackman", make_blackman}, {"hamming", make_hamming},   {"hanning", make_hanning},
              {"eye", make_eye},           {"identity", make_identity}, {"tri", make_tri},
              {"zeros", make_zeros},       {"ones", make_ones}};

static size_t active(void)
{
    size_t bytes = 0;
    CHECK_EQ(mlx_get_active_memory(&bytes), 0);
    return bytes;
}

static size_t peak(void)
{
    size_t bytes = 0;
    CHECK_EQ(mlx_get_peak_memory(&bytes), 0);
    return bytes;
}

/* A few scalars are all that there may be before. */
static void test_nothing_before_eval(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        mlx_array res = mlx_array_new();
        size_t before = active();
        CHECK_EQ(makers[i].make(&res), 0);
        if (active() > before + 1024) CHECK_FAIL("%s takes %zu bytes before eval", makers[i].name, active() - before);
        CHECK_EQ(mlx_array_eval(res), 0);
        CHECK_GE(active(), before + mlx_array_nbytes(res));
        mlx_array_free(res);
    }
}

/* An empty matrix has an axis that is as long as one likes. */
static void test_empty_matrices(void **state)
{
    (void)state;
    enum { LONG = 100000000 };
    for (int way = 0; way < 4; way++) {
        mlx_array res = mlx_array_new();
        int rows = way % 2 ? 0 : LONG, columns = way % 2 ? LONG : 0;
        CHECK_EQ(mlx_reset_peak_memory(), 0);
        size_t before = active();
        int code = way < 2 ? mlx_eye(&res, rows, columns, 0, MLX_FLOAT32, stream)
                           : mlx_tri(&res, rows, columns, 0, MLX_FLOAT32, stream);
        CHECK_EQ(code || mlx_array_eval(res), 0);
        CHECK_EQ(mlx_array_dim(res, 0), rows);
        CHECK_EQ(mlx_array_dim(res, 1), columns);
        if (peak() > before + 1024)
            CHECK_FAIL("%s of %d x %d takes %zu bytes", way < 2 ? "eye" : "tri", rows, columns, peak());
        mlx_array_free(res);
    }
}

static void test_values(void **state)
{
    (void)state;
    mlx_array res = mlx_array_new();
    mlx_arange(&res, 1, 3, 0.5, MLX_FLOAT32, stream), expect_floats(res, (const float[]){1, 1.5f, 2, 2.5f}, 4);
    mlx_linspace(&res, 0, 1, 5, MLX_FLOAT32, stream);
    expect_floats(res, (const float[]){0, 0.25f, 0.5f, 0.75f, 1}, 5);
    mlx_linspace(&res, 3, 7, 1, MLX_FLOAT32, stream), expect_floats(res, (const float[]){3}, 1);
    mlx_bartlett(&res, 5, stream), expect_floats(res, (const float[]){0, 0.5f, 1, 0.5f, 0}, 5);
    mlx_bartlett(&res, 1, stream), expect_floats(res, (const float[]){1}, 1);
    mlx_hanning(&res, 3, stream), expect_floats(res, (const float[]){0, 1, 0}, 3);
    mlx_eye(&res, 2, 3, 1, MLX_FLOAT32, stream), expect_floats(res, (const float[]){0, 1, 0, 0, 0, 1}, 6);
    mlx_tri(&res, 2, 3, 0, MLX_FLOAT32, stream), expect_floats(res, (const float[]){1, 0, 0, 1, 1, 0}, 6);
    expect_no_error();
    mlx_array_free(res);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_before_eval, set_up),
        cmocka_unit_test_setup(test_empty_matrices, set_up),
        cmocka_unit_test_setup(test_values, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
