/*
 * test_mlxc_distributed.c - a group of one process, and names of Metal on a machine that has none.
 */
#include "mlxc_support.h"

static mlx_stream stream;

static int set_up(void **state)
{
    stream = mlx_default_cpu_stream_new();
    return install_handler(state);
}

static int clean_up(void **state)
{
    (void)state;
    return mlx_stream_free(stream);
}

static void test_init(void **state)
{
    mlx_distributed_group group = mlx_distributed_group_new();
    static const char *const known[] = {NULL, "any", "mpi", "nccl", "jaccl", "ring"};
    (void)state;
    CHECK_EQ(mlx_distributed_group_size(group), -1);
    expect_error("expected a non-empty mlx_distributed_group");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK_EQ(mlx_distributed_init(&group, true, known[i]), 1);
        expect_error("is not there");
        CHECK_EQ(mlx_distributed_is_available(known[i]), 0);
    }
    CHECK_NULL(group.ctx);
    CHECK_EQ(mlx_distributed_init(&group, false, "pigeons\n"), 1);
    expect_error("expected the back end");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_EQ(mlx_distributed_init(&group, false, known[i]), 0);
    CHECK_EQ(mlx_distributed_group_size(group), 1);
    CHECK_EQ(mlx_distributed_group_rank(group), 0);
    void *before = group.ctx;
    CHECK_EQ(mlx_distributed_group_split(&group, group, 0, 0), 1);
    expect_error("can't be split");
    CHECK_EQ(group.ctx, before);
    CHECK_EQ(mlx_distributed_group_free(group), 0);
    expect_no_error();
}

static void test_collectives(void **state)
{
    int (*const collectives[])(mlx_array *, const mlx_array, const mlx_distributed_group, const mlx_stream) = {
        mlx_distributed_all_gather, mlx_distributed_all_max, mlx_distributed_all_min, mlx_distributed_all_sum,
        mlx_distributed_sum_scatter};
    const float values[] = {3, -1, 2};
    mlx_distributed_group groups[2] = {{NULL}, {NULL}};
    mlx_array x = floats(values, 3), res = mlx_array_new();
    (void)state;
    CHECK_EQ(mlx_distributed_init(&groups[1], false, NULL), 0);
    for (size_t i = 0; i < 2 * sizeof collectives / sizeof *collectives; i++) {
        CHECK_EQ(collectives[i / 2](&res, x, groups[i % 2], stream), 0);
        expect_floats(res, values, 3);
    }
    void *before = res.ctx;
    const int shape[] = {3};
    CHECK_EQ(mlx_distributed_send(&res, x, 0, groups[1], stream), 1);
    expect_error("nobody to send to");
    CHECK_EQ(mlx_distributed_recv(&res, shape, 1, MLX_FLOAT32, 0, groups[0], stream), 1);
    expect_error("nobody to send to or receive from");
    CHECK_EQ(mlx_distributed_recv_like(&res, x, 1, groups[1], stream), 1);
    expect_error("nobody to send to or receive from");
    CHECK_EQ(res.ctx, before);
    mlx_array_free(x), mlx_array_free(res);
}

static void test_metal(void **state)
{
    bool is_there = true;
    mlx_vector_string names = mlx_vector_string_new_value("x");
    (void)state;
    CHECK_EQ(mlx_metal_is_available(&is_there), 0);
    CHECK_FALSE(is_there);
    CHECK_EQ(mlx_metal_start_capture("/tmp/trace"), 1);
    expect_error("[metal_start_capture] No Metal back-end. The devices of this machine are its CPU");
    CHECK_EQ(mlx_metal_stop_capture(), 1);
    expect_error("[metal_stop_capture] No Metal back-end.");
    mlx_fast_metal_kernel kernel = mlx_fast_metal_kernel_new("k", names, names, "", "", true, false);
    CHECK_NULL(kernel.ctx);
    expect_error("[metal_kernel] No Metal back-end.");
    mlx_fast_metal_kernel_free(kernel);
    mlx_vector_string_free(names);
}

static void test_configuration(void **state)
{
    mlx_fast_metal_kernel_config config = mlx_fast_metal_kernel_config_new();
    const int shape[] = {2, 3}, bad[] = {2, -3};
    (void)state;
    CHECK_EQ(mlx_fast_metal_kernel_config_add_output_arg(config, shape, 2, MLX_FLOAT32), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_add_output_arg(config, NULL, 0, MLX_FLOAT32), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_set_grid(config, 6, 1, 1), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_set_thread_group(config, 6, 1, 1), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_set_init_value(config, 1.5f), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_set_verbose(config, true), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_add_template_arg_dtype(config, "T", MLX_FLOAT16), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_add_template_arg_int(config, "N", -3), 0);
    CHECK_EQ(mlx_fast_metal_kernel_config_add_template_arg_bool(config, "flag", true), 0);
    expect_no_error();
    CHECK_EQ(mlx_fast_metal_kernel_config_add_output_arg(config, bad, 2, MLX_FLOAT32), 1);
    expect_error("negative");
    CHECK_EQ(mlx_fast_metal_kernel_config_add_output_arg(config, shape, 2, (mlx_dtype)99), 1);
    expect_error("the dtype is not one of mlx_dtype");
    CHECK_EQ(mlx_fast_metal_kernel_config_set_grid(config, 0, 1, 1), 1);
    expect_error("three sizes of 1 or more");
    CHECK_EQ(mlx_fast_metal_kernel_config_add_template_arg_int(config, "N", 4), 1);
    expect_error("there is a template argument N already");
    CHECK_EQ(mlx_fast_metal_kernel_config_add_template_arg_int(config, "a b\n", 4), 1);
    expect_error("is no name");
    mlx_fast_metal_kernel_config_free(config);
    mlx_fast_metal_kernel_config_free((mlx_fast_metal_kernel_config){NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_metal),
        cmocka_unit_test(test_configuration),
    };
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
