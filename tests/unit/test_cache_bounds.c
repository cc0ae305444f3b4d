/*
 * test_cache_bounds.c - what a cache keeps in memory is bounded: results by number, executables by bytes.
 */
#include <pthread.h>

#include "cache/cache.h"
#include "cache/function.h"
#include "support/check.h"

static struct {
    int compiles, links, unlinks;
} calls;

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)self, (void)err, (void)text;
    calls.compiles++;
    kiln_bytes argument = kiln_request_arg(request, 0);
    return kiln_artifact_put(out, "number", argument.data, argument.size);
}

/* The executable is a copy of the argument's signature, whose second word is the number. */
static kiln_status link_number(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                               kiln_error *err)
{
    (void)self, (void)device, (void)err;
    kiln_bytes number = kiln_artifact_get(artifact, "number");
    calls.links++;
    *executable = malloc(number.size);
    memcpy(*executable, number.data, number.size);
    return KILN_OK;
}

static void unlink_number(void *self, void *executable)
{
    (void)self;
    calls.unlinks++;
    free(executable);
}

static const kiln_compiler compiler = {sizeof compiler, "numbers", "1", compile, link_number, unlink_number, NULL};

static kiln_function *make(kiln_cache *cache)
{
    const kiln_function_options options = {sizeof options, "number", &compiler, {"text", 4}, NULL, NULL, NULL, 0};
    kiln_function *function;
    kiln_error err;
    CHECK_OK(kiln_function_new(cache, &options, &function, &err), &err);
    return function;
}

static kiln_cache *open_with(uint64_t max_results, uint64_t max_linked_bytes)
{
    const kiln_cache_options options = {
        .struct_size = sizeof options, .folder = "", .max_results = max_results, .max_linked_bytes = max_linked_bytes};
    kiln_cache *cache;
    kiln_error err;
    memset(&calls, 0, sizeof calls);
    CHECK_OK(kiln_cache_open(&options, &cache, &err), &err);
    return cache;
}

static const int64_t *get_on(kiln_function *function, int64_t number, kiln_device *device)
{
    const kiln_arg arg = {&kiln_const_i64, &number};
    void *executable = NULL;
    kiln_error err;
    CHECK_OK(kiln_get(function, &arg, 1, device, &executable, &err), &err);
    CHECK_EQ(((int64_t *)executable)[1], number);
    return executable;
}

static const int64_t *get(kiln_function *function, int64_t number)
{
    return get_on(function, number, NULL);
}

static kiln_counters counters_of(kiln_cache *cache)
{
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    return counters;
}

static void results_are_bounded_and_right(void **state)
{
    (void)state;
    enum { NUMBERS = 100000, LIMIT = 64 };
    kiln_cache *cache = open_with(LIMIT, 0);
    kiln_function *function = make(cache);
    for (int64_t i = 0; i < NUMBERS; i++) {
        get(function, i);
        CHECK_LE(function->memo.count, LIMIT);
    }
    CHECK_LE(cache->artifacts.count, 4096);
    kiln_counters counters = counters_of(cache);
    CHECK_EQ(counters.compiles, NUMBERS);
    CHECK_EQ(counters.evictions, NUMBERS - function->memo.count);
    kiln_function_free(function);
    kiln_cache_close(cache);
    CHECK_EQ(calls.links, calls.unlinks);
}

static void what_is_in_use_stays(void **state)
{
    (void)state;
    enum { LIMIT = 64 };
    kiln_cache *cache = open_with(LIMIT, 0);
    kiln_function *function = make(cache);
    for (int64_t i = 1; i < 1000; i++) { /* number 0 is asked for all the time, mostly through the thread cache */
        get(function, 0);
        get(function, 0);
        get(function, i);
    }
    kiln_counters before = counters_of(cache);
    get(function, 0);
    kiln_counters after = counters_of(cache);
    CHECK_EQ(after.compiles, before.compiles);
    CHECK_EQ(after.links, before.links);
    CHECK_EQ(before.compiles, 1000);
    CHECK_EQ(before.process_hits + before.front_hits, 2 * 999 - 1); /* number 0 was never made again */
    kiln_function_free(function);
    kiln_cache_close(cache);
}

enum { HOT = -1, HITS = 10 };

/* Of `HITS` calls, so many come from the table of the process, and all others from the thread's own cache. */
static void expect_hits(kiln_cache *cache, kiln_function *function, int64_t number, uint64_t process_hits)
{
    kiln_counters before = counters_of(cache);
    for (int i = 0; i < HITS; i++) get(function, number);
    kiln_counters after = counters_of(cache);
    CHECK_EQ(after.process_hits - before.process_hits, process_hits);
    CHECK_EQ(after.front_hits - before.front_hits, HITS - process_hits);
}
#define expect_hits(...) CHECK_CALL(expect_hits, __VA_ARGS__)

static void *get_another(void *function)
{
    static int64_t next = 1000;
    get(function, next++);
    return NULL;
}

/* Eviction voids the slots of all thread caches; what is used again is in them again after one call. */
static void thread_caches_come_back_after_an_eviction(void **state)
{
    (void)state;
    enum { LIMIT = 64, EVICTIONS = 20 };
    kiln_cache *cache = open_with(LIMIT, 0);
    kiln_function *function = make(cache);
    for (int64_t i = 0; i < LIMIT - 1; i++) get(function, i);
    get(function, HOT);
    expect_hits(cache, function, HOT, 0);
    for (int i = 0; i < EVICTIONS; i++) {
        CHECK_CONTEXT("eviction %d", i);
        uint64_t evictions = counters_of(cache).evictions;
        pthread_t thread;
        while (counters_of(cache).evictions ==
               evictions) { /* by another thread: this one learns of it from the epoch */
            CHECK_EQ(pthread_create(&thread, NULL, get_another, function), 0);
            pthread_join(thread, NULL);
        }
        expect_hits(cache, function, HOT, 1);
        expect_hits(cache, function, HOT, 0);
    }
    CHECK_EQ(counters_of(cache).links, calls.links);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

/* A dropped result is found again by its content: neither compiled nor linked. */
static void dropped_results_come_back(void **state)
{
    (void)state;
    kiln_cache *cache = open_with(8, 0);
    kiln_function *function = make(cache);
    for (int64_t i = 0; i < 20; i++) get(function, i);
    CHECK_GT(counters_of(cache).evictions, 0);
    for (int64_t i = 0; i < 20; i++) get(function, i);
    kiln_counters counters = counters_of(cache);
    CHECK_EQ(counters.compiles, 20);
    CHECK_EQ(counters.links, 20);
    CHECK_EQ(calls.unlinks, 0);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void ask_and_free(kiln_cache *cache)
{
    kiln_function *unrelated = make(cache);
    get(unrelated, 1000000);
    kiln_function_free(unrelated);
}
#define ask_and_free(...) CHECK_CALL(ask_and_free, __VA_ARGS__)

/* What was handed out stays, whatever is evicted and however many other functions go. */
static void dropped_executables_stay(void **state)
{
    (void)state;
    enum { LIMIT = 8, NUMBERS = 200 };
    kiln_cache *cache = open_with(LIMIT, 1);
    kiln_function *function = make(cache);
    const int64_t *executables[NUMBERS];
    for (int64_t i = 0; i < NUMBERS; i++) {
        executables[i] = get(function, i);
        if (i % 16 == 0) ask_and_free(cache);
    }
    for (int64_t i = 0; i < NUMBERS; i++) CHECK_EQ(executables[i][1], i);
    kiln_counters counters = counters_of(cache);
    CHECK_EQ(counters.linked_images, NUMBERS);
    CHECK_EQ(calls.links - calls.unlinks, NUMBERS);
    CHECK_GT(counters.linked_bytes, NUMBERS * sizeof(int64_t));
    kiln_function_trim(function);
    counters = counters_of(cache);
    CHECK_EQ(counters.linked_images, 0);
    CHECK_EQ(counters.linked_bytes, 0);
    CHECK_EQ(calls.links, calls.unlinks);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

/* A watch that is added makes the function miss; what callers have, they keep. */
static void executables_stay_when_a_watch_is_added(void **state)
{
    (void)state;
    static int watched;
    kiln_cache *cache = open_with(0, 0);
    kiln_function *function = make(cache);
    const int64_t *executable = get(function, 5);
    CHECK_STATUS(kiln_watch(function, "here", "watched", &watched, sizeof watched, NULL), KILN_OK);
    ask_and_free(cache);
    CHECK_EQ(calls.unlinks, 1); /* the unrelated one's */
    CHECK_EQ(executable[1], 5);
    get(function, 5); /* its text is fixed, so the watch is part of the content: another executable */
    CHECK_EQ(executable[1], 5);
    CHECK_EQ(counters_of(cache).linked_images, 2);
    kiln_function_free(function);
    CHECK_EQ(calls.unlinks, 3);
    kiln_cache_close(cache);
}

/* A reset drops what a function was given for that device, also what it has forgotten since. */
static void a_reset_drops_forgotten_executables(void **state)
{
    (void)state;
    enum { LIMIT = 8, NUMBERS = 40 };
    kiln_device *first = NULL, *second = NULL;
    CHECK_STATUS(kiln_device_find("cpu:x86-64-v2#1", &first, NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:x86-64-v2#2", &second, NULL), KILN_OK);
    kiln_cache *cache = open_with(LIMIT, 0);
    kiln_function *function = make(cache);
    for (int64_t i = 0; i < NUMBERS; i++) {
        get_on(function, i, first);
        get_on(function, i, second);
    }
    CHECK_EQ(counters_of(cache).linked_images, 2 * NUMBERS);
    kiln_device_reset(first);
    CHECK_EQ(counters_of(cache).linked_images, NUMBERS);
    CHECK_EQ(calls.unlinks, NUMBERS);
    for (int64_t i = 0; i < NUMBERS; i++) get_on(function, i, second);
    CHECK_EQ(counters_of(cache).links, 2 * NUMBERS);
    kiln_device_reset(second);
    CHECK_EQ(counters_of(cache).linked_images, 0);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

/* A program that was built with 0.1 has room for its fields only; one built later finds unknown fields 0. */
static void counters_have_a_size(void **state)
{
    (void)state;
    struct {
        kiln_counters known;
        uint64_t unknown;
    } room;
    kiln_cache *cache = open_with(0, 0);
    kiln_function *function = make(cache);
    get(function, 1);
    memset(&room, 0xee, sizeof room);
    (kiln_cache_counters)(cache, &room.known);
    CHECK_EQ(room.known.links, 1);
    CHECK_EQ(room.known.linked_images, 0xeeeeeeeeeeeeeeeeull);
    kiln_cache_counters_sized(cache, &room.known, sizeof room);
    CHECK_EQ(room.known.linked_images, 1);
    CHECK_EQ(room.unknown, 0);
    memset(&room, 0xee, sizeof room);
    kiln_cache_counters(cache, &room.known);
    CHECK_EQ(room.known.linked_images, 1);
    CHECK_EQ(room.unknown, 0xeeeeeeeeeeeeeeeeull);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

/* The default keeps 1,024: as many signatures in turn never miss again. */
static void the_default_bound(void **state)
{
    (void)state;
    kiln_cache *cache = open_with(0, 0);
    kiln_function *function = make(cache);
    for (int round = 0; round < 3; round++)
        for (int64_t i = 0; i < 1024; i++) get(function, i);
    kiln_counters counters = counters_of(cache);
    CHECK_EQ(counters.compiles, 1024);
    CHECK_EQ(counters.evictions, 0);
    CHECK_EQ(counters.front_hits + counters.process_hits, 2 * 1024);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_bounded_and_right),
        cmocka_unit_test(what_is_in_use_stays),
        cmocka_unit_test(thread_caches_come_back_after_an_eviction),
        cmocka_unit_test(dropped_results_come_back),
        cmocka_unit_test(dropped_executables_stay),
        cmocka_unit_test(executables_stay_when_a_watch_is_added),
        cmocka_unit_test(a_reset_drops_forgotten_executables),
        cmocka_unit_test(counters_have_a_size),
        cmocka_unit_test(the_default_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
