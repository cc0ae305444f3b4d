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

/* Names files as compilers do: one that is there, and places that are not. */
static kiln_status compile_with_files(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                      kiln_error *err)
{
    static const char *const files[] = {"/proc/version", "/etc/../nowhere/scale.h", "nowhere/scale.h", "/proc/version"};
    kiln_status worst = KILN_OK;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kiln_status status = kiln_request_depends_file(request, files[i]);
        if (status) worst = status;
    }
    CHECK_TRUE(!worst || (worst == KILN_NO_MEMORY && has_failed));
    return fake_compile(self, request, text, out, err); /* which succeeds: what failed is remembered */
}

static kiln_status lower_with_files(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    kiln_request_depends_file(request, "/proc/version");
    kiln_request_depends_file(request, "/nowhere/scale.h");
    return program_lower(payload, request, text, err);
}

static int global = 7;
static bool with_named_files;

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
    if (with_named_files) fake.compiler.compile = compile_with_files;
    kiln_cache *cache = open_cache(folder);
    kiln_function *function =
        new_function(cache, &fake.compiler, "f", with_named_files ? lower_with_files : program_lower, &program);
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

static void with_files(void **state)
{
    char folder[64];
    with_named_files = true;
    in_memory(state);
    with_a_folder(state);
    make_folder(folder, sizeof folder);
    for (long n = 0, reached = 1; reached; n++) { /* nothing is stored when it begins */
        reached = miss_with_failure(n, folder, true);
        remove_folder(folder);
        CHECK_EQ(mkdir(folder, 0700), 0);
    }
    remove_folder(folder);
    with_named_files = false;
}

/* ---- bytes of others --------------------------------------------------------------------------------------------- */

/* A value is right whatever failed; its status otherwise. */
static kiln_status look(kiln_cache *cache, kiln_bytes key, kiln_store_ticket **ticket)
{
    kiln_store_value value = {{NULL, 0}, NULL};
    kiln_status status = kiln_store_get(cache, key, NULL, &value, ticket, NULL);
    CHECK_EQ(status == KILN_OK, value.owner != NULL);
    if (status == KILN_OK) CHECK_EQ(value.bytes.size, 5);
    if (status == KILN_OK) CHECK_MEM(value.bytes.data, "value", 5);
    kiln_store_release(&value);
    return status;
}
#define look(...) CHECK_CALL(look, __VA_ARGS__)

/* A get, a put and a get with allocation `n` failing, then again with none: true when the failure was reached. */
static bool store_with_failure(long n, const char *folder)
{
    char text[32];
    const kiln_store_options options = {.struct_size = sizeof options, .name = "name", .about = "about\tit\n"};
    const kiln_bytes value = {"value", 5};
    kiln_cache *cache = open_cache(folder);
    const kiln_bytes key = {text, (size_t)snprintf(text, sizeof text, "key %ld", n)};
    kiln_store_ticket *ticket = NULL;
    has_failed = false;
    countdown = n;
    kiln_status asked = look(cache, key, &ticket), put = KILN_OK, found = KILN_OK;
    if (asked == KILN_STORE_MISS) put = kiln_store_put(cache, key, value, &options, ticket, NULL);
    if (!put) found = look(cache, key, NULL);
    countdown = -1;
    CHECK_TRUE(asked == KILN_STORE_MISS || (has_failed && asked == KILN_NO_MEMORY));
    CHECK_TRUE(!put || (has_failed && put == KILN_NO_MEMORY));
    CHECK_TRUE(!found || has_failed);
    ticket = NULL;
    kiln_status again = look(cache, key, &ticket);
    CHECK_EQ(again, asked == KILN_STORE_MISS && !put ? KILN_OK : again);
    if (again) CHECK_EQ(again, KILN_STORE_MISS); /* nobody holds what failed */
    if (again) CHECK_OK(kiln_store_put(cache, key, value, NULL, ticket, NULL), NULL);
    CHECK_OK(look(cache, key, NULL), NULL);
    kiln_cache_close(cache);
    return has_failed;
}

static void bytes_of_others(void **state)
{
    (void)state;
    char folder[64];
    make_folder(folder, sizeof folder);
    const char *const folders[] = {"", folder};
    for (int i = 0; i < 2; i++) {
        long n = 0;
        while (store_with_failure(n, folders[i])) n++;
        CHECK_GT(n, 10);
    }
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_memory),  cmocka_unit_test(with_watches),    cmocka_unit_test(with_a_folder),
        cmocka_unit_test(with_files), cmocka_unit_test(bytes_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
