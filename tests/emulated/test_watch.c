/*
 * test_watch.c - the emulated driver itself: what a driver refuses is refused, and fresh memory is garbage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/cuda.h"
#include "emulated/driver.h"

static const struct kiln_cuda *cuda;

static int enter(void **state)
{
    void *context;
    (void)state;
    return kiln__cuda(&cuda, NULL) || cuda->context_retain(&context, 0) || cuda->context_set(context);
}

static void nothing_works_without_a_context(void **state)
{
    (void)state;
    uint64_t address;
    void *stream;
    assert_int_equal(cuda->context_set(NULL), SUCCESS);
    assert_int_equal(cuda->memory_new(&address, 16), INVALID_CONTEXT);
    assert_int_equal(cuda->stream_new(&stream, 0), INVALID_CONTEXT);
    assert_int_equal(cuda->stream_wait(NULL), INVALID_CONTEXT);
}

static void memory_is_watched(void **state)
{
    (void)state;
    unsigned char bytes[200] = {0};
    uint64_t a, b;
    assert_int_equal(cuda->memory_new(&a, 100), SUCCESS);
    assert_int_equal(cuda->memory_new(&b, 100), SUCCESS);
    assert_int_equal(cuda->copy_to_host(bytes, a, 100), SUCCESS);
    for (int i = 0; i < 100; i++) assert_int_equal(bytes[i], 0xA5);
    assert_int_equal(cuda->copy_to_host(bytes, a + 1, 100), INVALID_VALUE);
    assert_int_equal(cuda->copy_to_device(a - 1, bytes, 10), INVALID_VALUE);
    assert_int_equal(cuda->copy_on_device(a, b, 101, NULL), INVALID_VALUE);
    assert_int_equal(cuda->copy_to_device(b + 50, "the end", 8), SUCCESS);
    assert_int_equal(cuda->copy_on_device(a, b, 100, NULL), SUCCESS); /* queued */
    assert_int_equal(cuda->copy_to_host(bytes, a + 50, 8), SUCCESS);
    assert_string_equal((const char *)bytes, "the end");
    assert_int_equal(cuda->memory_free(a), SUCCESS);
    assert_int_equal(cuda->memory_free(a), INVALID_VALUE);
    assert_int_equal(cuda->copy_to_host(bytes, a, 1), INVALID_VALUE);
    assert_int_equal(cuda->memory_free(b + 16), INVALID_VALUE);
    assert_int_equal(cuda->memory_free(b), SUCCESS);
}

static void captures_are_watched(void **state)
{
    (void)state;
    void *stream, *graph, *replay;
    uint64_t a, b;
    char text[8] = "";
    assert_int_equal(cuda->memory_new(&a, 8), SUCCESS);
    assert_int_equal(cuda->memory_new(&b, 8), SUCCESS);
    assert_int_equal(cuda->copy_to_device(a, "before", 7), SUCCESS);
    assert_int_equal(cuda->capture_begin(NULL, 1), CAPTURE_UNSUPPORTED);
    assert_int_equal(cuda->stream_new(&stream, 1), SUCCESS);
    assert_int_equal(cuda->capture_begin(stream, 1), SUCCESS);
    assert_int_equal(cuda->copy_on_device(b, a, 8, stream), SUCCESS);
    assert_int_equal(cuda->stream_wait(NULL), CAPTURE_UNSUPPORTED);
    assert_int_equal(cuda->capture_end(stream, &graph), SUCCESS);
    assert_int_equal(cuda->graph_instantiate(&replay, graph, 0), SUCCESS);
    assert_int_equal(cuda->graph_free(graph), SUCCESS);
    assert_int_equal(cuda->copy_to_device(a, "after", 6), SUCCESS);
    assert_int_equal(cuda->graph_launch(replay, NULL), SUCCESS);
    assert_int_equal(cuda->copy_to_host(text, b, 6), SUCCESS); /* it ran when it was launched, not when captured */
    assert_string_equal(text, "after");
    assert_int_equal(cuda->graph_exec_free(replay), SUCCESS);
    assert_int_equal(cuda->memory_free(a), SUCCESS);
    assert_int_equal(cuda->memory_free(b), SUCCESS);
}

static void what_is_no_code_is_refused(void **state)
{
    (void)state;
    const int options[] = {KILN_CUDA_ERROR_LOG, KILN_CUDA_ERROR_LOG_SIZE};
    char log[100] = "", text[] = "no PTX";
    void *values[] = {log, (void *)sizeof log}, *link, *image, *module;
    size_t size;
    assert_int_equal(cuda->link_new(2, options, values, &link), SUCCESS);
    assert_int_equal(cuda->link_add(link, KILN_CUDA_INPUT_PTX, text, sizeof text, "it", 0, NULL, NULL), INVALID_PTX);
    assert_string_equal(log, "it is not PTX");
    assert_int_equal(cuda->link_finish(link, &image, &size), INVALID_VALUE);
    assert_int_equal(cuda->link_free(link), SUCCESS);
    assert_int_equal(cuda->module_load(&module, "neither machine code"), INVALID_IMAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_works_without_a_context, enter),
        cmocka_unit_test_setup(memory_is_watched, enter),
        cmocka_unit_test_setup(captures_are_watched, enter),
        cmocka_unit_test_setup(what_is_no_code_is_refused, enter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
