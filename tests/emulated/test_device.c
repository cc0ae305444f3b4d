/*
 * test_device.c - what a GPU says about itself, the limit of wired memory, and whose default a GPU's stream is.
 */
#include <pthread.h>

#include "gpu_program.h"

static mlx_device_info info_of_gpu(void)
{
    mlx_device device = mlx_device_new_type(MLX_GPU, 0);
    mlx_device_info info = mlx_device_info_new();
    CHECK_EQ(mlx_device_info_get(&info, device), 0);
    mlx_device_free(device);
    return info;
}

static size_t size_of(const char *key)
{
    size_t size = 77;
    mlx_device_info info = info_of_gpu();
    int code = mlx_device_info_get_size(&size, info, key);
    if (code) CHECK_FAIL("the GPU does not say its %s: %d", key, code);
    mlx_device_info_free(info);
    return size;
}

/* The keys of CUDA, then those of Metal. */
static void a_gpu_says_what_it_is(void **state)
{
    static const struct {
        const char *key, *text;
    } texts[] = {{"device_name", "Emulated GPU"},
                 {"architecture", "sm_90"},
                 {"uuid", "GPU-00112233-4455-6677-8899-aabbccddeeff"},
                 {"pci_bus_id", "0000:3b:00.0"}};
    static const struct {
        const char *key;
        size_t size;
    } sizes[] = {{"compute_capability_major", 9},
                 {"compute_capability_minor", 0},
                 {"total_memory", (size_t)4 << 30},
                 {"memory_size", (size_t)4 << 30},
                 {"max_buffer_length", (size_t)4 << 30},
                 {"max_recommended_working_set_size", ((size_t)4 << 30) - ((size_t)4 << 30) / 20},
                 {"resource_limit", SIZE_MAX / 2}};
    mlx_device_info info = info_of_gpu();
    mlx_vector_string keys = mlx_vector_string_new();
    size_t count = sizeof texts / sizeof *texts + sizeof sizes / sizeof *sizes + 1;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = NULL;
        bool is_text = false;
        if (mlx_device_info_get_string(&text, info, texts[i].key))
            CHECK_FAIL("the GPU does not say its %s", texts[i].key);
        CHECK_STR(text, texts[i].text);
        CHECK_EQ(mlx_device_info_is_string(&is_text, info, texts[i].key), 0);
        CHECK_TRUE(is_text);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (size_of(sizes[i].key) != sizes[i].size)
            CHECK_FAIL("%s is %zu, expected %zu", sizes[i].key, size_of(sizes[i].key), sizes[i].size);
    CHECK_EQ(mlx_device_info_get_keys(&keys, info), 0);
    CHECK_EQ(mlx_vector_string_size(keys), count);
    expect_no_error();
    mlx_vector_string_free(keys), mlx_device_info_free(info);
}

static void free_memory_is_what_is_free_now(void **state)
{
    enum { ROWS = 1 << 16 };
    mlx_array rows = make_rows(ROWS, 1), res = mlx_array_new();
    (void)state;
    CHECK_EQ(mlx_clear_cache(), 0);
    size_t before = size_of("free_memory");
    CHECK_TRUE(before > 0 && before <= size_of("total_memory"));
    CHECK_EQ(mlx_add(&res, rows, rows, gpu) || mlx_array_eval(res), 0);
    size_t used = (size_t)ROWS * COLUMNS * sizeof(float);
    CHECK_LE(size_of("free_memory"), before - used);
    mlx_array_free(rows), mlx_array_free(res);
    CHECK_EQ(mlx_clear_cache(), 0);
    CHECK_EQ(size_of("free_memory"), before);
    setenv("KILN_TEST_CUDA_FAIL", "memory_info:1", 1);
    mlx_device device = mlx_device_new_type(MLX_GPU, 0);
    mlx_device_info info = mlx_device_info_new();
    CHECK_EQ(mlx_device_info_get(&info, device), 1), expect_error("the memory of the GPU can't be asked for");
    CHECK_NULL(info.ctx);
    mlx_device_free(device);
    expect_no_error();
}

/* More than the recommended size is refused, says how much is not, and leaves the limit and the result as they were. */
static void the_wired_limit_has_a_maximum(void **state)
{
    size_t most = size_of("max_recommended_working_set_size"), previous = 77;
    char text[40];
    (void)state;
    snprintf(text, sizeof text, "maximum, %zu bytes", most);
    CHECK_EQ(mlx_set_wired_limit(&previous, most), 0);
    CHECK_EQ(previous, 0);
    previous = 77;
    CHECK_EQ(mlx_set_wired_limit(&previous, most + 1), 1), expect_error(text);
    CHECK_EQ(mlx_set_wired_limit(&previous, SIZE_MAX), 1), expect_error(text);
    CHECK_EQ(previous, 77);
    CHECK_EQ(mlx_set_wired_limit(&previous, 5), 0);
    CHECK_EQ(previous, most);
    CHECK_EQ(mlx_set_wired_limit(&previous, 0), 0);
    CHECK_EQ(previous, 5);
    mlx_array rows = make_rows(3, 1), res = mlx_array_new(); /* and everything works as before */
    CHECK_EQ(chain(&res, rows, NULL), 0);
    expect_chain(res, 3, 1);
    mlx_array_free(rows), mlx_array_free(res);
    expect_no_error();
}

/* ---- streams ------------------------------------------------------------------------------------------------------
 */

struct indices {
    int of_cpu, of_gpu;
};

static struct indices defaults(void)
{
    struct indices out = {-1, -1};
    mlx_stream of_cpu = mlx_default_cpu_stream_new(), of_gpu = mlx_default_gpu_stream_new();
    mlx_stream_get_index(&out.of_cpu, of_cpu), mlx_stream_get_index(&out.of_gpu, of_gpu);
    mlx_stream_free(of_cpu), mlx_stream_free(of_gpu);
    return out;
}

static void *look(void *found)
{
    *(struct indices *)found = defaults();
    return NULL;
}

static struct indices defaults_of_another_thread(void)
{
    struct indices found = {-1, -1};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, look, &found), 0);
    pthread_join(thread, NULL);
    return found;
}

/* Setting a GPU's stream changes neither the CPU's nor another thread's; the default device stays where it was. */
static void a_thread_sets_its_own_default(void **state)
{
    mlx_device device = mlx_device_new_type(MLX_GPU, 0), chosen = mlx_device_new();
    mlx_stream made = mlx_stream_new_device(device);
    mlx_device_type type = MLX_GPU;
    int index = -1;
    struct indices before = defaults();
    (void)state;
    CHECK_EQ(mlx_stream_get_index(&index, made), 0);
    CHECK_NE(index, before.of_gpu);
    CHECK_EQ(mlx_set_default_stream(made), 0);
    CHECK_EQ(defaults().of_gpu, index);
    CHECK_EQ(defaults().of_cpu, before.of_cpu);
    struct indices elsewhere = defaults_of_another_thread();
    if (elsewhere.of_gpu != before.of_gpu || elsewhere.of_cpu != before.of_cpu)
        CHECK_FAIL("another thread has GPU stream %d and CPU stream %d, expected %d and %d", elsewhere.of_gpu,
                   elsewhere.of_cpu, before.of_gpu, before.of_cpu);
    CHECK_EQ(mlx_get_default_device(&chosen), 0);
    CHECK_EQ(mlx_device_get_type(&type, chosen), 0);
    CHECK_EQ(type, MLX_CPU);
    CHECK_EQ(mlx_set_default_stream(gpu), 0);
    CHECK_EQ(defaults().of_gpu, before.of_gpu);
    expect_no_error();
    mlx_stream_free(made), mlx_device_free(device), mlx_device_free(chosen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_gpu_says_what_it_is, set_up),
        cmocka_unit_test_setup(free_memory_is_what_is_free_now, set_up),
        cmocka_unit_test_setup(the_wired_limit_has_a_maximum, set_up),
        cmocka_unit_test_setup(a_thread_sets_its_own_default, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
