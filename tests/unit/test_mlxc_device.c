/*
 * test_mlxc_device.c - devices, streams, memory, version: what a client asks before it computes.
 */
#include <pthread.h>

#include "mlxc_support.h"

static void expect_and_free(mlx_string text, const char *expected)
{
    CHECK_STR(mlx_string_data(text), expected);
    mlx_string_free(text);
}
#define expect_and_free(...) CHECK_CALL(expect_and_free, __VA_ARGS__)

static void test_devices(void **state)
{
    mlx_device cpu = mlx_device_new_type(MLX_CPU, 0), gpu = mlx_device_new_type(MLX_GPU, 0), got = mlx_device_new();
    mlx_string text = mlx_string_new();
    mlx_device_type type = MLX_GPU;
    bool available = false;
    int number = -1;
    (void)state;
    CHECK_NULL(got.ctx);
    CHECK_EQ(mlx_get_default_device(&got), 0);
    CHECK_TRUE(mlx_device_equal(got, cpu));
    CHECK_FALSE(mlx_device_equal(got, gpu));
    CHECK_EQ(mlx_device_tostring(&text, got), 0);
    expect_and_free(text, "Device(cpu, 0)");
    CHECK_EQ(mlx_device_get_type(&type, got), 0), CHECK_EQ(type, MLX_CPU);
    CHECK_EQ(mlx_device_get_index(&number, got), 0), CHECK_EQ(number, 0);
    CHECK_EQ(mlx_device_is_available(&available, cpu), 0), CHECK_TRUE(available);
    CHECK_EQ(mlx_device_is_available(&available, gpu), 0), CHECK_FALSE(available);
    CHECK_EQ(mlx_device_count(&number, MLX_CPU), 0), CHECK_EQ(number, 1);
    CHECK_EQ(mlx_device_count(&number, MLX_GPU), 0), CHECK_EQ(number, 0);
    CHECK_EQ(mlx_set_default_device(cpu), 0);
    expect_no_error();
    CHECK_EQ(mlx_set_default_device(gpu), 1), expect_error("Device(gpu, 0)");
    CHECK_EQ(mlx_device_set(&got, gpu), 0);
    CHECK_TRUE(mlx_device_equal(got, gpu));
    CHECK_EQ(mlx_device_set(&got, mlx_device_new()), 1), expect_error("expected a non-empty mlx_device");
    CHECK_NULL(mlx_device_new_type((mlx_device_type)5, 0).ctx), expect_error("type 5");
    mlx_device_free(cpu);
    mlx_device_free(gpu);
    mlx_device_free(got);
}

static void test_device_info(void **state)
{
    mlx_device cpu = mlx_device_new_type(MLX_CPU, 0);
    mlx_device_info info = mlx_device_info_new();
    mlx_vector_string keys = mlx_vector_string_new();
    const char *text = NULL;
    size_t size = 77;
    bool flag = false;
    (void)state;
    CHECK_NULL(info.ctx);
    CHECK_EQ(mlx_device_info_get(&info, cpu), 0);
    CHECK_EQ(mlx_device_info_has_key(&flag, info, "device_name"), 0), CHECK_TRUE(flag);
    CHECK_EQ(mlx_device_info_has_key(&flag, info, "memory_size"), 0), CHECK_FALSE(flag);
    CHECK_EQ(mlx_device_info_is_string(&flag, info, "architecture"), 0), CHECK_TRUE(flag);
    CHECK_EQ(mlx_device_info_get_string(&text, info, "architecture"), 0), CHECK_GT(strlen(text), 0);
    CHECK_EQ(mlx_device_info_get_string(&text, info, "device_name"), 0), CHECK_GT(strlen(text), 0);
    CHECK_EQ(mlx_device_info_get_string(&text, info, "memory_size"), 2);
    CHECK_EQ(mlx_device_info_is_string(&flag, info, "memory_size"), 2);
    CHECK_EQ(mlx_device_info_get_size(&size, info, "memory_size"), 2);
    CHECK_EQ(mlx_device_info_get_size(&size, info, "device_name"), 2);
    CHECK_EQ(size, 77);
    CHECK_EQ(mlx_device_info_get_keys(&keys, info), 0);
    CHECK_EQ(mlx_vector_string_size(keys), 2);
    expect_no_error();
    mlx_vector_string_free(keys);
    mlx_device_info_free(info);
    mlx_device_free(cpu);
}

static void *use_stream(void *stream)
{
    mlx_array a = mlx_array_new_float(2), res = mlx_array_new();
    mlx_add(&res, a, a, *(mlx_stream *)stream);
    float value = 0;
    mlx_array_item_float32(&value, res);
    mlx_array_free(a);
    mlx_array_free(res);
    return (void *)(intptr_t)value;
}

static void test_streams(void **state)
{
    mlx_device cpu = mlx_device_new_type(MLX_CPU, 0), gpu = mlx_device_new_type(MLX_GPU, 0), device = mlx_device_new();
    mlx_stream first = mlx_default_cpu_stream_new(), second = mlx_default_cpu_stream_new(), got = mlx_stream_new();
    mlx_string text = mlx_string_new();
    int index = -1;
    (void)state;
    CHECK_NULL(got.ctx);
    CHECK_NE(first.ctx, second.ctx);
    CHECK_TRUE(mlx_stream_equal(first, second));
    CHECK_EQ(mlx_get_default_stream(&got, cpu), 0);
    CHECK_TRUE(mlx_stream_equal(first, got));
    CHECK_EQ(mlx_stream_tostring(&text, got), 0);
    expect_and_free(text, "Stream(Device(cpu, 0), 0)");
    mlx_stream made = mlx_stream_new_device(cpu);
    CHECK_FALSE(mlx_stream_equal(first, made));
    CHECK_EQ(mlx_stream_get_index(&index, made), 0), CHECK_GT(index, 0);
    CHECK_EQ(mlx_stream_get_device(&device, made), 0);
    CHECK_TRUE(mlx_device_equal(device, cpu));
    CHECK_EQ(mlx_set_default_stream(made), 0);
    CHECK_EQ(mlx_get_default_stream(&got, cpu), 0);
    CHECK_TRUE(mlx_stream_equal(got, made));
    CHECK_EQ(mlx_set_default_stream(first), 0);
    CHECK_EQ(mlx_stream_set(&got, first), 0);
    CHECK_EQ(mlx_synchronize(made), 0);
    expect_no_error();
    CHECK_NULL(mlx_stream_new_device(gpu).ctx), expect_error("Device(gpu, 0)");
    CHECK_EQ(mlx_get_default_stream(&got, gpu), 1), expect_error("Device(gpu, 0)");
    CHECK_EQ(mlx_synchronize(mlx_stream_new()), 1), expect_error("expected a non-empty mlx_stream");
    mlx_stream_free(first), mlx_stream_free(second), mlx_stream_free(got), mlx_stream_free(made);
    mlx_device_free(cpu), mlx_device_free(gpu), mlx_device_free(device);
}

/* ---- whose default a stream is ------------------------------------------------------------------------------------
 */

static int index_of(mlx_stream stream)
{
    int index = -1;
    mlx_stream_get_index(&index, stream);
    mlx_stream_free(stream);
    return index;
}

static int default_index(void)
{
    mlx_device cpu = mlx_device_new_type(MLX_CPU, 0);
    mlx_stream got = mlx_stream_new();
    mlx_get_default_stream(&got, cpu);
    mlx_device_free(cpu);
    return index_of(got);
}

struct turn {
    mlx_stream set; /* NULL: the thread sets none */
    pthread_barrier_t *all_set;
    int before, after, of_cpu, of_gpu, sum;
};

static void *take_turn(void *context)
{
    struct turn *turn = context;
    turn->before = default_index();
    if (turn->set.ctx) mlx_set_default_stream(turn->set);
    pthread_barrier_wait(turn->all_set);
    turn->after = default_index();
    turn->of_cpu = index_of(mlx_default_cpu_stream_new());
    turn->of_gpu = index_of(mlx_default_gpu_stream_new()); /* without a GPU this is the CPU's */
    if (turn->set.ctx) turn->sum = (int)(intptr_t)use_stream(&turn->set);
    return NULL;
}

static void expect_turn(const char *who, const struct turn *turn, int before, int after)
{
    if (turn->before != before || turn->after != after || turn->of_cpu != after || turn->of_gpu != after)
        CHECK_FAIL("%s: default stream %d, then %d, CPU's %d, GPU's %d; expected %d, then %d", who, turn->before,
                   turn->after, turn->of_cpu, turn->of_gpu, before, after);
}
#define expect_turn(...) CHECK_CALL(expect_turn, __VA_ARGS__)

/* Each thread sees what it set itself, or the process's; also a thread that begins after others have set theirs. */
static void test_default_streams_are_the_threads_own(void **state)
{
    enum { THREADS = 5 };
    mlx_device cpu = mlx_device_new_type(MLX_CPU, 0);
    mlx_stream first = mlx_default_cpu_stream_new(), mine = mlx_stream_new_device(cpu);
    mlx_stream made[THREADS] = {{0}};
    struct turn turns[THREADS], late = {.set = first};
    pthread_barrier_t all_set;
    pthread_t threads[THREADS], last;
    (void)state;
    CHECK_EQ(mlx_set_default_stream(mine), 0);
    pthread_barrier_init(&all_set, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (i % 2 == 0) made[i] = mlx_stream_new_device(cpu);
        turns[i] = (struct turn){.set = made[i], .all_set = &all_set};
        CHECK_EQ(pthread_create(&threads[i], NULL, take_turn, &turns[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all_set);
    for (int i = 0; i < THREADS; i++) {
        int wanted = 0;
        if (made[i].ctx) mlx_stream_get_index(&wanted, made[i]);
        expect_turn(made[i].ctx ? "a thread that sets its own" : "a thread that sets none", &turns[i], 0, wanted);
        if (made[i].ctx) CHECK_EQ(turns[i].sum, 4), mlx_stream_free(made[i]);
    }
    int index = -1;
    mlx_stream_get_index(&index, mine);
    CHECK_EQ(default_index(), index); /* nobody else changed ours */
    pthread_barrier_init(&all_set, NULL, 1);
    late.all_set = &all_set;
    CHECK_EQ(pthread_create(&last, NULL, take_turn, &late), 0);
    pthread_join(last, NULL);
    pthread_barrier_destroy(&all_set);
    expect_turn("a thread that sets the process's", &late, 0, 0);
    CHECK_EQ(mlx_set_default_stream(first), 0);
    CHECK_EQ(default_index(), 0);
    CHECK_EQ(error_count, 0);
    mlx_stream_free(first), mlx_stream_free(mine), mlx_device_free(cpu);
}

/* A program that insists on the GPU's stream gets one that works, on any thread. */
static void test_gpu_stream_is_usable(void **state)
{
    mlx_stream stream = mlx_default_gpu_stream_new();
    pthread_t thread;
    void *result;
    (void)state;
    CHECK_NOT_NULL(stream.ctx);
    CHECK_EQ((intptr_t)use_stream(&stream), 4);
    CHECK_EQ(pthread_create(&thread, NULL, use_stream, &stream), 0);
    pthread_join(thread, &result);
    CHECK_EQ((intptr_t)result, 4);
    mlx_stream_free(stream);
    expect_no_error();
}

static void test_memory(void **state)
{
    static float values[1 << 18];
    size_t before, active, peak, limit, previous;
    (void)state;
    CHECK_EQ(mlx_clear_cache(), 0);
    CHECK_EQ(mlx_get_active_memory(&before), 0);
    mlx_array array = floats(values, 1 << 18);
    CHECK_EQ(mlx_get_active_memory(&active), 0);
    CHECK_EQ(active - before, sizeof values);
    CHECK_EQ(mlx_reset_peak_memory(), 0);
    CHECK_EQ(mlx_get_peak_memory(&peak), 0);
    CHECK_EQ(peak, 0);
    mlx_array_free(array);
    CHECK_EQ(mlx_get_active_memory(&active), 0);
    CHECK_EQ(active, before);
    CHECK_EQ(mlx_get_cache_memory(&active), 0);
    CHECK_GE(active, sizeof values);
    CHECK_EQ(mlx_clear_cache(), 0);
    CHECK_EQ(mlx_get_cache_memory(&active), 0);
    CHECK_EQ(active, 0);
    CHECK_EQ(mlx_get_memory_limit(&limit), 0);
    CHECK_EQ(mlx_set_memory_limit(&previous, limit), 0);
    CHECK_EQ(previous, limit);
    CHECK_EQ(mlx_set_cache_limit(&limit, 1 << 20), 0);
    CHECK_EQ(mlx_set_cache_limit(&previous, limit), 0);
    CHECK_EQ(previous, 1 << 20);
    CHECK_EQ(mlx_set_wired_limit(&previous, 1 << 20), 0);
    CHECK_EQ(previous, 0);
    CHECK_EQ(mlx_set_wired_limit(&previous, 0), 0);
    CHECK_EQ(previous, 0);
    expect_no_error();
}

static void test_what_is_there(void **state)
{
    mlx_string text = mlx_string_new();
    bool metal = true, cuda = true;
    (void)state;
    CHECK_EQ(mlx_version(&text), 0);
    expect_and_free(text, "0.32.2");
    CHECK_EQ(mlx_metal_is_available(&metal), 0), CHECK_FALSE(metal);
    CHECK_EQ(mlx_cuda_is_available(&cuda), 0), CHECK_FALSE(cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_devices, install_handler),
        cmocka_unit_test_setup(test_device_info, install_handler),
        cmocka_unit_test_setup(test_streams, install_handler),
        cmocka_unit_test_setup(test_default_streams_are_the_threads_own, install_handler),
        cmocka_unit_test_setup(test_gpu_stream_is_usable, install_handler),
        cmocka_unit_test_setup(test_memory, install_handler),
        cmocka_unit_test_setup(test_what_is_there, install_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
