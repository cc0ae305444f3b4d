/*
 * test_cache_keys.c - a process in which other libraries have taken every thread-specific key before Kiln was loaded:
 * calls work on all threads, LLVM compiles, and what those libraries keep under their keys is left alone.
 */
#include <limits.h>
#include <pthread.h>

#include "kiln.h"
#include "support/check.h"

/* What threads without a key leave behind. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:kiln__environment_read\nleak:kiln__buffer_printf\n";
}

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static size_t key_count;
static _Atomic unsigned strange_values;
static char own_data[] = "what another library keeps";

static void check_at_end(void *value)
{
    if (value != own_data) strange_values++;
}

/* Before the constructors of the library. */
__attribute__((constructor(101))) static void take_all_keys(void)
{
    while (key_count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[key_count], check_at_end) == 0) key_count++;
}

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    kiln_bytes argument = kiln_request_arg(request, 0);
    kiln_text_printf(text, "define void @kernel(ptr %%a, ptr %%s, i64 %%r, i64 %%n) {\n  ret void\n}\n;");
    for (size_t i = 0; i < argument.size; i++) kiln_text_printf(text, " %u", ((const unsigned char *)argument.data)[i]);
    return KILN_OK;
}

struct caller {
    kiln_function *function;
    int64_t first;
    kiln_error error;
};

static void *call(void *context)
{
    struct caller *caller = context;
    void *executable = NULL;
    for (size_t i = 0; i < key_count; i++) pthread_setspecific(keys[i], own_data);
    kiln_option_push("unroll", "2");
    for (int64_t value = caller->first; value < caller->first + 3 && !caller->error.status; value++) {
        const kiln_arg argument = {&kiln_const_i64, &value};
        caller->error.status = kiln_get(caller->function, &argument, 1, NULL, &executable, &caller->error);
        if (!*kiln_why()) caller->error.status = KILN_INVALID;
    }
    kiln_option_pop();
    for (size_t i = 0; i < key_count; i++)
        if (pthread_getspecific(keys[i]) != own_data) strange_values++;
    return NULL;
}

static void test_no_key_is_free(void **state)
{
    enum { THREADS = 4 };
    (void)state;
    pthread_t threads[THREADS];
    struct caller callers[THREADS];
    kiln_cache *cache = NULL;
    kiln_function *function = NULL;
    const kiln_cache_options in_memory = {.struct_size = sizeof in_memory, .folder = ""};
    const kiln_function_options options = {.struct_size = sizeof options, .name = "f", .lower = lower};
    CHECK_GT(key_count, 900);
    CHECK_STATUS(kiln_cache_open(&in_memory, &cache, NULL), KILN_OK);
    CHECK_STATUS(kiln_function_new(cache, &options, &function, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_env(function, "KILN_TEST_NOT_THERE", NULL), KILN_OK);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < THREADS; i++) {
            callers[i] = (struct caller){.function = function, .first = 100 * i + 10 * round};
            CHECK_EQ(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            CHECK_STR(callers[i].error.text, "");
            CHECK_EQ(callers[i].error.status, KILN_OK);
        }
    }
    CHECK_EQ(strange_values, 0);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_key_is_free)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
