/*
 * gpu_cuda_source.c - kernels in CUDA C++: on a GPU with NVIDIA's NVRTC, and on the emulated driver with an emulated
 * NVRTC, for which a source says in the lines "//ll" what it means (tests/emulated/nvrtc.c). Left out without either.
 */
#include <time.h>
#include <unistd.h>

#include "kiln.h"
#include "kiln/compile.h"
#include "unit/mlxc_support.h"

static mlx_stream gpu;

static const char index_text[] = "//ll   %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
                                 "//ll   %k = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
                                 "//ll   %m = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
                                 "//ll   %before = mul i32 %k, %m\n"
                                 "//ll   %own = add i32 %before, %t\n"
                                 "//ll   %i = zext i32 %own to i64\n";

/* out = a * N + b[0] */
static const char weighted[] = "long long i = cooperative_groups::this_grid().thread_rank();\n"
                               "if (i < a_shape[0] * a_shape[1]) out[i] = T(a[i]) * N + b[0];\n"
                               "//ll   %n = mul i64 %p1, %p2\n"
                               "//ll   %inside = icmp slt i64 %i, %n\n"
                               "//ll   br i1 %inside, label %work, label %end\n"
                               "//ll work:\n"
                               "//ll   %a.at = getelementptr float, ptr %p0, i64 %i\n"
                               "//ll   %a = load float, ptr %a.at\n"
                               "//ll   %b = load float, ptr %p3\n"
                               "//ll   %product = fmul float %a, 3.0\n"
                               "//ll   %sum = fadd float %product, %b\n"
                               "//ll   %out.at = getelementptr float, ptr %p4, i64 %i\n"
                               "//ll   store float %sum, ptr %out.at\n"
                               "//ll   br label %end\n"
                               "//ll end:\n"
                               "//ll   ret void\n";

/* first = every element of a column, second = its number; elements from the fourth on stay as they were */
static const char two[] = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                          "if (i < 3) { first[i] = a[i * a_strides[0]]; second[i] = i; }\n"
                          "//ll   %inside = icmp slt i64 %i, 3\n"
                          "//ll   br i1 %inside, label %work, label %end\n"
                          "//ll work:\n"
                          "//ll   %place = mul i64 %i, %p1\n"
                          "//ll   %a.at = getelementptr float, ptr %p0, i64 %place\n"
                          "//ll   %a = load float, ptr %a.at\n"
                          "//ll   %first.at = getelementptr float, ptr %p2, i64 %i\n"
                          "//ll   store float %a, ptr %first.at\n"
                          "//ll   %second.at = getelementptr i32, ptr %p3, i64 %i\n"
                          "//ll   store i32 %own, ptr %second.at\n"
                          "//ll   br label %end\n"
                          "//ll end:\n"
                          "//ll   ret void\n";

static mlx_fast_cuda_kernel make_kernel(const char *name, const char *inputs, const char *outputs, const char *source,
                                        bool ensure_row_contiguous)
{
    char text[4096], in[200], out[200];
    mlx_vector_string names[2] = {mlx_vector_string_new(), mlx_vector_string_new()};
    char *rest;
    snprintf(text, sizeof text, "%s%s", index_text, source);
    snprintf(in, sizeof in, "%s", inputs), snprintf(out, sizeof out, "%s", outputs);
    for (char *word = strtok_r(in, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        mlx_vector_string_append_value(names[0], word);
    for (char *word = strtok_r(out, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        mlx_vector_string_append_value(names[1], word);
    mlx_fast_cuda_kernel kernel =
        mlx_fast_cuda_kernel_new(name, names[0], names[1], text, "", ensure_row_contiguous, 0);
    mlx_vector_string_free(names[0]), mlx_vector_string_free(names[1]);
    return kernel;
}

static mlx_fast_cuda_kernel_config make_config(int rows, int columns)
{
    mlx_fast_cuda_kernel_config config = mlx_fast_cuda_kernel_config_new();
    const int shape[] = {rows, columns};
    mlx_fast_cuda_kernel_config_add_output_arg(config, shape, 2, MLX_FLOAT32);
    mlx_fast_cuda_kernel_config_set_grid(config, rows * columns, 1, 1);
    mlx_fast_cuda_kernel_config_set_thread_group(config, 32, 1, 1);
    mlx_fast_cuda_kernel_config_add_template_arg_int(config, "N", 3);
    mlx_fast_cuda_kernel_config_add_template_arg_dtype(config, "T", MLX_FLOAT32);
    return config;
}

static mlx_array counted(int rows, int columns)
{
    float values[400];
    const int shape[] = {rows, columns};
    for (int i = 0; i < rows * columns; i++) values[i] = (float)i;
    return mlx_array_new_data(values, shape, 2, MLX_FLOAT32);
}

static uint64_t compiles(void)
{
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    return counters.compiles;
}

struct weighting {
    mlx_fast_cuda_kernel kernel;
    mlx_fast_cuda_kernel_config config;
    mlx_array b;
};

static int weigh(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct weighting *weighting = payload;
    mlx_array a = {0};
    mlx_vector_array arguments = mlx_vector_array_new();
    int code = mlx_vector_array_get(&a, in, 0) || mlx_vector_array_append_value(arguments, a) ||
               mlx_vector_array_append_value(arguments, weighting->b) ||
               mlx_fast_cuda_kernel_apply(res, weighting->kernel, arguments, weighting->config, gpu);
    mlx_array_free(a), mlx_vector_array_free(arguments);
    return code;
}

/* Of a lazy and transposed array, 3 a + 0.5. */
static void expect_weighted(mlx_closure closure, int rows, int columns)
{
    mlx_array a = counted(columns, rows), out = {0};
    mlx_vector_array outs = {0};
    CHECK_EQ(mlx_transpose(&a, a, gpu), 0);
    mlx_vector_array in = mlx_vector_array_new_value(a);
    CHECK_EQ(mlx_closure_apply(&outs, closure, in), 0);
    expect_no_error();
    CHECK_EQ(mlx_vector_array_get(&out, outs, 0), 0);
    CHECK_EQ(mlx_array_eval(out), 0);
    expect_no_error();
    const float *data = mlx_array_data_float32(out);
    for (int i = 0; i < rows * columns; i++) CHECK_EQ(data[i], 3.0f * (float)(i % columns * rows + i / columns) + 0.5f);
    mlx_array_free(a), mlx_array_free(out), mlx_vector_array_free(in), mlx_vector_array_free(outs);
}
#define expect_weighted(...) CHECK_CALL(expect_weighted, __VA_ARGS__)

static void test_once(void **state)
{
    (void)state;
    struct weighting weighting = {make_kernel("weighted", "a b", "out", weighted, true), make_config(7, 11),
                                  mlx_array_new_float(0.5f)};
    mlx_closure plain = mlx_closure_new_func_payload(weigh, &weighting, NULL), compiled = {0};
    expect_no_error();
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    expect_weighted(plain, 7, 11);
    uint64_t before = compiles();
    expect_weighted(plain, 7, 11);
    expect_weighted(compiled, 7, 11);
    expect_weighted(compiled, 7, 11);
    mlx_fast_cuda_kernel_config_free(weighting.config);
    weighting.config = make_config(20, 5); /* other sizes: the same kernel */
    expect_weighted(plain, 20, 5);
    CHECK_EQ(compiles(), before);
    /* a value that no folder knows */
    mlx_fast_cuda_kernel_config_add_template_arg_int(weighting.config, "M", (int)time(NULL) ^ (int)getpid() << 12);
    expect_weighted(plain, 20, 5);
    CHECK_EQ(compiles(), before + 1);
    mlx_closure_free(plain), mlx_closure_free(compiled), mlx_array_free(weighting.b);
    mlx_fast_cuda_kernel_free(weighting.kernel), mlx_fast_cuda_kernel_config_free(weighting.config);
}

static void test_outputs(void **state)
{
    const int shape[] = {5};
    const float first[] = {1, 5, 9, -1, -1};
    (void)state;
    mlx_fast_cuda_kernel kernel = make_kernel("two", "a", "first second", two, false);
    mlx_fast_cuda_kernel_config config = mlx_fast_cuda_kernel_config_new();
    mlx_fast_cuda_kernel_config_add_output_arg(config, shape, 1, MLX_FLOAT32);
    mlx_fast_cuda_kernel_config_add_output_arg(config, shape, 1, MLX_INT32);
    mlx_fast_cuda_kernel_config_set_grid(config, 5, 1, 1);
    mlx_fast_cuda_kernel_config_set_thread_group(config, 2, 1, 1);
    mlx_fast_cuda_kernel_config_set_init_value(config, -1);
    mlx_array a = counted(4, 4), column = {0}, out = {0};
    const int start[] = {0, 1}, stop[] = {4, 2}, step[] = {1, 1};
    CHECK_EQ(mlx_slice(&column, a, start, 2, stop, 2, step, 2, gpu), 0);
    CHECK_EQ(mlx_squeeze(&column, column, gpu), 0); /* every fourth element */
    mlx_vector_array in = mlx_vector_array_new_value(column), outs = {0};
    CHECK_EQ(mlx_fast_cuda_kernel_apply(&outs, kernel, in, config, gpu), 0);
    expect_no_error();
    CHECK_EQ(mlx_vector_array_size(outs), 2);
    CHECK_EQ(mlx_vector_array_get(&out, outs, 0), 0);
    expect_floats(out, first, 5);
    CHECK_EQ(mlx_vector_array_get(&out, outs, 1), 0);
    expect_text(out, "array([0, 1, 2, -1, -1], dtype=int32)");
    mlx_array_free(a), mlx_array_free(column), mlx_array_free(out), mlx_vector_array_free(in),
        mlx_vector_array_free(outs);
    mlx_fast_cuda_kernel_free(kernel), mlx_fast_cuda_kernel_config_free(config);
}

static void expect_refused(mlx_fast_cuda_kernel kernel, mlx_array a, mlx_fast_cuda_kernel_config config,
                           mlx_stream stream, const char *part)
{
    mlx_vector_array in = mlx_vector_array_new_value(a), outs = {0};
    CHECK_EQ(mlx_fast_cuda_kernel_apply(&outs, kernel, in, config, stream), 1);
    expect_error(part);
    CHECK_NULL(outs.ctx);
    mlx_vector_array_free(in);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void test_refusals(void **state)
{
    (void)state;
    mlx_array a = counted(2, 2);
    mlx_stream cpu = mlx_default_cpu_stream_new();
    mlx_fast_cuda_kernel wrong = make_kernel("wrong", "a", "out", "\n#error as the source wants\n", true),
                         right = make_kernel("weighted", "a b", "out", weighted, true);
    mlx_fast_cuda_kernel_config config = make_config(2, 2), empty = mlx_fast_cuda_kernel_config_new();
    expect_refused(wrong, a, config, gpu, "as the source wants");
    expect_refused(wrong, a, config, gpu, "[cuda_kernel] wrong: NVRTC refuses the kernel"); /* not remembered */
    expect_refused(wrong, a, config, cpu, "call it with that GPU's stream");
    expect_refused(right, a, config, gpu, "weighted takes 2 arrays, got 1");
    expect_refused(wrong, a, empty, gpu, "wrong gives 1 arrays, and the configuration has 0");
    mlx_fast_cuda_kernel_config_set_thread_group(config, 64, 64, 1);
    expect_refused(wrong, a, config, gpu, "at most 1024 threads, not 64 x 64 x 1");
    CHECK_NULL(make_kernel("no name", "a", "out", two, true).ctx);
    expect_error("\"no name\" is no name for a kernel");
    CHECK_NULL(make_kernel("f", "a a", "out", two, true).ctx);
    expect_error("two arrays have the name a");
    CHECK_NULL(make_kernel("f", "a", "a", two, true).ctx);
    expect_error("two arrays have the name a");
    CHECK_NULL(make_kernel("f", "a", "", two, true).ctx);
    expect_error("expected an output");
    mlx_array_free(a), mlx_stream_free(cpu);
    mlx_fast_cuda_kernel_free(wrong), mlx_fast_cuda_kernel_free(right);
    mlx_fast_cuda_kernel_config_free(config), mlx_fast_cuda_kernel_config_free(empty);
}

static int set_up(void **state)
{
    gpu = mlx_default_gpu_stream_new();
    return install_handler(state);
}

static int tear_down(void **state)
{
    (void)state;
    return mlx_stream_free(gpu);
}

/* Is there all that it takes? */
static bool can_run(void)
{
    const int shape[] = {3};
    mlx_array a = mlx_array_new_data((const float[]){1, 2, 3}, shape, 1, MLX_FLOAT32);
    mlx_fast_cuda_kernel kernel = make_kernel("two", "a", "first second", two, false);
    mlx_fast_cuda_kernel_config config = make_config(1, 3);
    mlx_vector_array in = mlx_vector_array_new_value(a), outs = {0};
    mlx_fast_cuda_kernel_config_add_output_arg(config, shape, 1, MLX_INT32);
    bool can = mlx_fast_cuda_kernel_apply(&outs, kernel, in, config, gpu) == 0;
    if (!can) printf("left out: %s\n", error_text);
    mlx_fast_cuda_kernel_free(kernel), mlx_fast_cuda_kernel_config_free(config);
    mlx_array_free(a), mlx_vector_array_free(in), mlx_vector_array_free(outs);
    return can;
}

/* With an argument only what compiles the same each time, for tests/process/cuda_source.sh. */
int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_refusals),
    };
    (void)words;
    set_up(NULL);
    if (!can_run()) return 0;
    return count > 1 ? _cmocka_run_group_tests("outputs", tests, 1, set_up, tear_down)
                     : cmocka_run_group_tests(tests, set_up, tear_down);
}
