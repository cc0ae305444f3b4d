/*
 * test_cache_bounds.c - what a cache keeps in memory is bounded: results by number, executables by bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cache/cache.h"
#include "cache/function.h"

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
    if (kiln_function_new(cache, &options, &function, &err)) fail_msg("%s", err.text);
    return function;
}

static kiln_cache *open_with(uint64_t max_results, uint64_t max_linked_bytes)
{
    const kiln_cache_options options = {
        .struct_size = sizeof options, .folder = "", .max_results = max_results, .max_linked_bytes = max_linked_bytes};
    kiln_cache *cache;
    kiln_error err;
    memset(&calls, 0, sizeof calls);
    if (kiln_cache_open(&options, &cache, &err)) fail_msg("%s", err.text);
    return cache;
}

static void get(kiln_function *function, int64_t number)
{
    const kiln_arg arg = {&kiln_const_i64, &number};
    void *executable = NULL;
    kiln_error err;
    if (kiln_get(function, &arg, 1, NULL, &executable, &err)) fail_msg("%s", err.text);
    assert_int_equal(((int64_t *)executable)[1], number);
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
        assert_true(function->results.count <= LIMIT);
    }
    assert_true(cache->artifacts.count <= 4096);
    kiln_counters counters = counters_of(cache);
    assert_int_equal(counters.compiles, NUMBERS);
    assert_int_equal(counters.evictions, NUMBERS - function->results.count);
    kiln_function_free(function);
    kiln_cache_close(cache);
    assert_int_equal(calls.links, calls.unlinks);
}

static void what_is_in_use_stays(void **state)
{
    (void)state;
    enum { LIMIT = 64 };
    kiln_cache *cache = open_with(LIMIT, 0);
    kiln_function *function = make(cache);
    for (int64_t i = 1; i < 1000; i++) { /* number 0 is asked for all the time, mostly through the front */
        get(function, 0);
        get(function, 0);
        get(function, i);
    }
    kiln_counters before = counters_of(cache);
    get(function, 0);
    kiln_counters after = counters_of(cache);
    assert_int_equal(after.compiles, before.compiles);
    assert_int_equal(after.links, before.links);
    assert_int_equal(before.compiles, 1000);
    assert_int_equal(before.process_hits + before.front_hits, 2 * 999 - 1); /* number 0 was never made again */
    kiln_function_free(function);
    kiln_cache_close(cache);
}

/* A dropped result is found again without a compile: its artifact is still in memory. */
static void dropped_results_come_back(void **state)
{
    (void)state;
    kiln_cache *cache = open_with(8, 0);
    kiln_function *function = make(cache);
    for (int64_t i = 0; i < 20; i++) get(function, i);
    for (int64_t i = 0; i < 20; i++) get(function, i);
    assert_int_equal(counters_of(cache).compiles, 20);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void linked_bytes_are_bounded(void **state)
{
    (void)state;
    enum { LIMIT = 8 };
    kiln_cache *cache = open_with(LIMIT, 1000);
    kiln_function *function = make(cache);
    for (int64_t i = 0; i < 1000; i++) {
        get(function, i);
        assert_true(atomic_load(&cache->linked_bytes) < 2000);
    }
    assert_true(calls.links - calls.unlinks < 80);
    kiln_function_free(function);
    kiln_cache_close(cache);
    assert_int_equal(calls.links, calls.unlinks);
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
    assert_int_equal(counters.compiles, 1024);
    assert_int_equal(counters.evictions, 0);
    assert_int_equal(counters.front_hits + counters.process_hits, 2 * 1024);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_bounded_and_right),
        cmocka_unit_test(what_is_in_use_stays),
        cmocka_unit_test(dropped_results_come_back),
        cmocka_unit_test(linked_bytes_are_bounded),
        cmocka_unit_test(the_default_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
