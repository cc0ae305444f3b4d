/*
 * test_watch.c - the emulated driver itself: what a driver refuses is refused, and fresh memory is garbage.
 */
#include "device/cuda.h"
#include "emulated/driver.h"
#include "support/check.h"

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
    CHECK_EQ(cuda->context_set(NULL), SUCCESS);
    CHECK_EQ(cuda->memory_new(&address, 16), INVALID_CONTEXT);
    CHECK_EQ(cuda->stream_new(&stream, 0), INVALID_CONTEXT);
    CHECK_EQ(cuda->stream_wait(NULL), INVALID_CONTEXT);
}

static void memory_is_watched(void **state)
{
    (void)state;
    unsigned char bytes[200] = {0};
    uint64_t a, b;
    CHECK_EQ(cuda->memory_new(&a, 100), SUCCESS);
    CHECK_EQ(cuda->memory_new(&b, 100), SUCCESS);
    CHECK_EQ(cuda->copy_to_host(bytes, a, 100), SUCCESS);
    for (int i = 0; i < 100; i++) CHECK_EQ(bytes[i], 0xA5);
    CHECK_EQ(cuda->copy_to_host(bytes, a + 1, 100), INVALID_VALUE);
    CHECK_EQ(cuda->copy_to_device(a - 1, bytes, 10), INVALID_VALUE);
    CHECK_EQ(cuda->copy_on_device(a, b, 101, NULL), INVALID_VALUE);
    CHECK_EQ(cuda->copy_to_device(b + 50, "the end", 8), SUCCESS);
    CHECK_EQ(cuda->copy_on_device(a, b, 100, NULL), SUCCESS); /* queued */
    CHECK_EQ(cuda->copy_to_host(bytes, a + 50, 8), SUCCESS);
    CHECK_STR((const char *)bytes, "the end");
    CHECK_EQ(cuda->memory_free(a), SUCCESS);
    CHECK_EQ(cuda->memory_free(a), INVALID_VALUE);
    CHECK_EQ(cuda->copy_to_host(bytes, a, 1), INVALID_VALUE);
    CHECK_EQ(cuda->memory_free(b + 16), INVALID_VALUE);
    CHECK_EQ(cuda->memory_free(b), SUCCESS);
}

static void captures_are_watched(void **state)
{
    (void)state;
    void *stream, *graph, *replay;
    uint64_t a, b;
    char text[8] = "";
    CHECK_EQ(cuda->memory_new(&a, 8), SUCCESS);
    CHECK_EQ(cuda->memory_new(&b, 8), SUCCESS);
    CHECK_EQ(cuda->copy_to_device(a, "before", 7), SUCCESS);
    CHECK_EQ(cuda->capture_begin(NULL, 1), CAPTURE_UNSUPPORTED);
    CHECK_EQ(cuda->stream_new(&stream, 1), SUCCESS);
    CHECK_EQ(cuda->capture_begin(stream, 1), SUCCESS);
    CHECK_EQ(cuda->copy_on_device(b, a, 8, stream), SUCCESS);
    CHECK_EQ(cuda->stream_wait(NULL), CAPTURE_UNSUPPORTED);
    CHECK_EQ(cuda->capture_end(stream, &graph), SUCCESS);
    CHECK_EQ(cuda->graph_instantiate(&replay, graph, 0), SUCCESS);
    CHECK_EQ(cuda->graph_free(graph), SUCCESS);
    CHECK_EQ(cuda->copy_to_device(a, "after", 6), SUCCESS);
    CHECK_EQ(cuda->graph_launch(replay, NULL), SUCCESS);
    CHECK_EQ(cuda->copy_to_host(text, b, 6), SUCCESS); /* it ran when it was launched, not when captured */
    CHECK_STR(text, "after");
    CHECK_EQ(cuda->graph_exec_free(replay), SUCCESS);
    CHECK_EQ(cuda->memory_free(a), SUCCESS);
    CHECK_EQ(cuda->memory_free(b), SUCCESS);
}

static void what_is_no_code_is_refused(void **state)
{
    (void)state;
    const int options[] = {KILN_CUDA_ERROR_LOG, KILN_CUDA_ERROR_LOG_SIZE};
    char log[100] = "", text[] = "no PTX";
    void *values[] = {log, (void *)sizeof log}, *link, *image, *module;
    size_t size;
    CHECK_EQ(cuda->link_new(2, options, values, &link), SUCCESS);
    CHECK_EQ(cuda->link_add(link, KILN_CUDA_INPUT_PTX, text, sizeof text, "it", 0, NULL, NULL), INVALID_PTX);
    CHECK_STR(log, "it is not PTX");
    CHECK_EQ(cuda->link_finish(link, &image, &size), INVALID_VALUE);
    CHECK_EQ(cuda->link_free(link), SUCCESS);
    CHECK_EQ(cuda->module_load(&module, "neither machine code"), INVALID_IMAGE);
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
