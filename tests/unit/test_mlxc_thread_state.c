/*
 * test_mlxc_thread_state.c - what both libraries keep of a thread takes one pthread key of the process.
 */
#include <limits.h>
#include <pthread.h>

#include "kiln.h"
#include "support/arrays.h"

static size_t count_free_keys(void)
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    size_t count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0) count++;
    for (size_t i = 0; i < count; i++) pthread_key_delete(keys[i]);
    return count;
}

/* Handles, storage, options, the environment, the thread's record in the cache. */
static void *use_both_libraries(void *unused)
{
    static const float values[] = {1, 2, 3, 4};
    mlx_array array = mlx_array_new_data(values, (const int[]){4}, 1, MLX_FLOAT32);
    expect_ok(mlx_array_eval(array), "eval");
    mlx_array_free(array);
    expect_ok(kiln_option_push("unroll", "2"), "push");
    kiln_device *device = NULL;
    expect_ok(kiln_device_find("cpu", &device, NULL), "cpu");
    kiln_enter();
    kiln_leave();
    return unused;
}

static void test_one_key(void **state)
{
    (void)state;
    pthread_t thread;
    size_t before = count_free_keys();
    CHECK_EQ(pthread_create(&thread, NULL, use_both_libraries, NULL), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(before - count_free_keys(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_key)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
