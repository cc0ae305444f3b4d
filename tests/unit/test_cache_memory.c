/*
 * test_cache_memory.c - an allocation that fails at any point of a miss: an error, or the right result; never a crash,
 * a leak or an object that can't be used afterwards.
 *
 * The linker wraps the allocators (tests.cmake), so the n-th allocation of the library's archive on this thread fails.
 */
#include "cache_support.h"

static _Thread_local long countdown = -1; /* allocations until one fails; -1: none does */
static _Thread_local bool has_failed;

static bool fails_now(void)
{
    if (countdown < 0 || countdown-- > 0) return false;
    has_failed = true;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *data, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *data, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *data, size_t size)
{
    return fails_now() ? NULL : __real_realloc(data, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

/* The test's own allocations must not fail: linking is part of the test. */
static kiln_status safe_link(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                             kiln_error *err)
{
    long left = countdown;
    countdown = -1;
    kiln_status status = fake_link(self, artifact, device, executable, err);
    countdown = left;
    return status;
}

static int global = 7;

/* One miss with allocation `n` failing, then the same call with none: true when the failure was reached. */
static bool miss_with_failure(long n, const char *folder, bool with_watches)
{
    struct fake fake;
    struct program program = {.text = "add"};
    kiln_error err = {0};
    void *executable = NULL;
    int64_t number = 3;
    const kiln_arg args[] = {{&kiln_const_i64, &number}, {&kiln_const_string, "text"}};
    fake_init(&fake);
    fake.compiler.link = safe_link;
    kiln_cache *cache = open_cache(folder);
    kiln_function *function = new_function(cache, &fake.compiler, "f", program_lower, &program);
    if (with_watches) {
        CHECK_OK(kiln_watch(function, "module", "global", &global, sizeof global, &err), &err);
        CHECK_OK(kiln_watch_env(function, "KILN_TEST_UNSET", &err), &err);
    }

    has_failed = false;
    countdown = n;
    kiln_status status = kiln_get(function, args, 2, NULL, &executable, &err);
    countdown = -1;
    if (status) {
        CHECK_TRUE(has_failed);
        if (status != KILN_NO_MEMORY && status != KILN_LOWER_FAILED) CHECK_STATUS(status, KILN_COMPILE_FAILED, &err);
        CHECK_GT(strlen(err.text), 0);
        CHECK_NULL(executable);
    }
    if (kiln_get(function, args, 2, NULL, &executable, &err))
        CHECK_FAIL("after failing allocation %ld: %s", n, err.text);
    CHECK_STR(((struct image *)executable)->text, "add");
    void *again = NULL;
    CHECK_OK(kiln_get(function, args, 2, NULL, &again, &err), &err);
    CHECK_EQ(again, executable);
    kiln_function_free(function);
    kiln_cache_close(cache);
    CHECK_EQ(fake.links, fake.unlinks);
    return has_failed;
}

static void try_all_points(const char *folder, bool with_watches)
{
    long n = 0;
    while (miss_with_failure(n, folder, with_watches)) n++;
    CHECK_GT(n, 5); /* a miss allocates: the failures were really met */
}
#define try_all_points(...) CHECK_CALL(try_all_points, __VA_ARGS__)

static void in_memory(void **state)
{
    (void)state;
    try_all_points("", false);
}

static void with_watches(void **state)
{
    (void)state;
    try_all_points("", true);
}

/* Each round finds what the last one stored, or stores it: both paths, and the folder's own allocations. */
static void with_a_folder(void **state)
{
    (void)state;
    char folder[64];
    make_folder(folder, sizeof folder);
    try_all_points(folder, true);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_memory),
        cmocka_unit_test(with_watches),
        cmocka_unit_test(with_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
