/*
 * test_array_storage.c - counters to the byte, reuse, limits, foreign memory, threads, and allocations per array.
 */
#include <pthread.h>

#include "array/array.h"
#include "support/check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif

static struct kiln_memory now(void)
{
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    return memory;
}

static struct kiln_storage *make(size_t size)
{
    struct kiln_storage *storage = NULL;
    kiln_error err;
    CHECK_OK(kiln__storage_new(size, &storage, &err), &err);
    CHECK_EQ(storage->size, size);
    CHECK_EQ((uintptr_t)storage->data % 64, 0);
    memset(storage->data, 0xa5, size);
    return storage;
}

static int start(void **state)
{
    (void)state;
    kiln__memory_clear_cache();
    kiln__memory_reset_peak();
    struct kiln_memory memory = now();
    CHECK_EQ(memory.active, 0);
    CHECK_EQ(memory.peak, 0);
    CHECK_EQ(memory.cache, 0);
    return 0;
}

static void test_counters(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 64, 65, 1000, 16384, 16385, 100000, 4194304, 9000001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        start(NULL);
        struct kiln_storage *storage = make(sizes[i]);
        CHECK_EQ(now().active, sizes[i]);
        CHECK_EQ(now().peak, sizes[i]);
        CHECK_EQ(now().cache, 0);
        kiln__storage_unref(storage);
        CHECK_EQ(now().active, 0);
        CHECK_EQ(now().peak, sizes[i]);
        CHECK_EQ(now().cache, sizes[i]);
        struct kiln_storage *again = make(sizes[i]);
        CHECK_EQ(again, storage); /* reused */
        CHECK_EQ(now().cache, 0);
        kiln__storage_unref(again);
        kiln__memory_clear_cache();
        CHECK_EQ(now().cache, 0);
    }
}

static void test_peak(void **state)
{
    (void)state;
    struct kiln_storage *small = make(1000), *large = make(100000), *other = make(500);
    CHECK_EQ(now().peak, 101500);
    kiln__storage_unref(small);
    struct kiln_storage *next = make(600);
    CHECK_EQ(now().peak, 101500); /* 101100 now */
    kiln__memory_reset_peak();
    CHECK_EQ(now().peak, 0); /* not the active size */
    kiln__storage_unref(other);
    CHECK_EQ(now().peak, 0); /* rises at allocations only */
    struct kiln_storage *last = make(8);
    CHECK_EQ(now().peak, 100608);
    kiln__storage_unref(large);
    kiln__storage_unref(next);
    CHECK_EQ(now().peak, 100608);
    CHECK_EQ(now().active, 8);
    kiln__storage_unref(last);
}

/* More small storage than a thread keeps uncounted, so that its part is folded in on the way. */
static void test_many_small(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct kiln_storage *all[COUNT];
    size_t sum = 0;
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = make(i);
        sum += i;
        CHECK_EQ(now().active, sum);
        CHECK_EQ(now().peak, sum);
    }
    for (size_t i = 0; i < COUNT; i++) {
        kiln__storage_unref(all[i]);
        sum -= i;
        CHECK_EQ(now().active, sum);
    }
    CHECK_EQ(now().peak, COUNT * (COUNT - 1) / 2);
}

static void test_limits(void **state)
{
    (void)state;
    size_t standard = kiln__memory_set_cache_limit(100000);
    CHECK_GT(standard, 100000);
    kiln__storage_unref(make(64));
    CHECK_EQ(now().cache, 0); /* too low a limit for small storage */
    kiln__storage_unref(make(200000));
    CHECK_EQ(now().cache, 0);
    struct kiln_storage *first = make(60000), *second = make(70000);
    kiln__storage_unref(first);
    kiln__storage_unref(second);
    CHECK_EQ(now().cache, 70000); /* full: it started over */
    CHECK_EQ(kiln__memory_set_cache_limit(0), 100000);
    CHECK_EQ(now().cache, 0);
    kiln__storage_unref(make(60000));
    CHECK_EQ(now().cache, 0);
    CHECK_EQ(kiln__memory_set_cache_limit(standard), 0);

    size_t machine = kiln__memory_set_limit(200000);
    CHECK_EQ(kiln__memory_limit(), 200000);
    kiln__storage_unref(make(100000));
    CHECK_EQ(now().cache, 100000);
    struct kiln_storage *large = make(150000); /* would go over the limit with the cache */
    CHECK_EQ(now().cache, 0);
    CHECK_EQ(now().active, 150000);
    kiln__storage_unref(large);
    CHECK_EQ(kiln__memory_set_limit(machine), 200000);
}

static void test_absurd_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, (size_t)1 << 63, (size_t)1 << 50};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct kiln_storage *storage = NULL;
        kiln_error err = {0};
        char digits[32];
        CHECK_STATUS(kiln__storage_new(sizes[i], &storage, &err), KILN_NO_MEMORY, &err);
        CHECK_NULL(storage);
        snprintf(digits, sizeof digits, "%zu", sizes[i]);
        CHECK_CONTAINS(err.text, digits);
        CHECK_STATUS(kiln__storage_new(sizes[i], &storage, NULL), KILN_NO_MEMORY);
    }
    CHECK_EQ(now().active, 0);
    CHECK_EQ(now().peak, 0);
}

static void count_call(void *payload)
{
    (*(int *)payload)++;
}

static void test_foreign(void **state)
{
    (void)state;
    float values[4] = {1, 2, 3, 4};
    int calls = 0;
    struct kiln_storage *storage = NULL;
    CHECK_STATUS(kiln__storage_foreign(values, sizeof values, count_call, &calls, &storage, NULL), KILN_OK);
    CHECK_EQ(storage->data, values);
    CHECK_EQ(now().active, 0); /* not ours */
    kiln__storage_ref(storage);
    kiln__storage_unref(storage);
    CHECK_EQ(calls, 0);
    kiln__storage_unref(storage);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(kiln__storage_foreign(values, sizeof values, NULL, NULL, &storage, NULL), KILN_OK);
    kiln__storage_unref(storage);
    kiln__storage_unref(NULL);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *free_all(void *list)
{
    struct kiln_storage **all = list;
    for (size_t i = 0; all[i]; i++) kiln__storage_unref(all[i]);
    return NULL;
}

static void in_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, body, arg), 0);
    pthread_join(thread, NULL);
}
#define in_thread(...) CHECK_CALL(in_thread, __VA_ARGS__)

/* Made here, freed there: the sums stay exact, and a thread that ends leaves nothing in the cache. */
static void test_freed_elsewhere(void **state)
{
    (void)state;
    struct kiln_storage *all[101] = {0};
    for (size_t i = 0; i < 100; i++) all[i] = make(100 + i);
    CHECK_EQ(now().active, 14950);
    in_thread(free_all, all);
    CHECK_EQ(now().active, 0);
    CHECK_EQ(now().cache, 0);
    CHECK_EQ(now().peak, 14950);
    struct kiln_storage *again[2] = {make(15000), NULL};
    in_thread(free_all, again);
    CHECK_EQ(now().peak, 15000);
}

static void *make_and_free(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 20000; i++) {
        struct kiln_storage *small = NULL, *large = NULL;
        if (kiln__storage_new(i % 5000, &small, NULL) || kiln__storage_new(20000 + i % 7 * 3000, &large, NULL)) abort();
        small->data[0] = large->data[0] = 1;
        kiln__storage_unref(small);
        kiln__storage_unref(large);
        if (i % 1000 == 0) kiln__memory_clear_cache();
    }
    return NULL;
}

static void test_threads_together(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, make_and_free, NULL), 0);
    for (size_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(now().active, 0);
    CHECK_TRUE(now().peak >= 20000 && now().peak <= 4 * (5000 + 38000));
    kiln__memory_clear_cache();
    CHECK_EQ(now().cache, 0);
}

static pthread_key_t late_key;

static void late(void *value)
{
    /* Runs while the thread ends, before or after the lists were given back. */
    kiln__storage_unref(value);
    kiln__storage_unref(make(200));
}

static void *end_late(void *arg)
{
    (void)arg;
    pthread_setspecific(late_key, make(100));
    return NULL;
}

static void test_use_while_thread_ends(void **state)
{
    (void)state;
    CHECK_EQ(pthread_key_create(&late_key, late), 0); /* younger than ours: its destructor comes after */
    for (int i = 0; i < 100; i++) in_thread(end_late, NULL);
    pthread_key_delete(late_key);
    CHECK_EQ(now().active, 0);
    CHECK_EQ(now().cache, 0);
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

#if COUNTS_ALLOCATIONS
extern void *__libc_malloc(size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
static size_t allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

static void test_no_allocation_when_warm(void **state)
{
    (void)state;
    static const int shapes[][2] = {{4, 4}, {32, 32}, {1, 1}, {300, 300}};
    size_t before = 0;
    for (int round = 0; round < 1000; round++) {
        struct kiln_array *arrays[4];
        if (round == 1) before = allocations;
        for (size_t i = 0; i < 4; i++) kiln__array_alloc(KILN_FLOAT32, 2, shapes[i], &arrays[i], NULL);
        for (size_t i = 0; i < 4; i++) kiln__array_unref(arrays[i]);
    }
    CHECK_EQ(allocations, before);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counters, start),
        cmocka_unit_test_setup(test_peak, start),
        cmocka_unit_test_setup(test_many_small, start),
        cmocka_unit_test_setup(test_limits, start),
        cmocka_unit_test_setup(test_absurd_sizes, start),
        cmocka_unit_test_setup(test_foreign, start),
        cmocka_unit_test_setup(test_freed_elsewhere, start),
        cmocka_unit_test_setup(test_threads_together, start),
        cmocka_unit_test_setup(test_use_while_thread_ends, start),
#if COUNTS_ALLOCATIONS
        cmocka_unit_test(test_no_allocation_when_warm),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
