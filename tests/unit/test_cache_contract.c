/*
 * test_cache_contract.c - two sentences of kiln.h that hold for every function: `err` is written only on failure, and
 * after a failure outputs are as before.
 */
#include "cache_support.h"

#include <fcntl.h>

#include "kiln/inspect.h"
#include "kiln/maintain.h"

static kiln_error untouched(void)
{
    kiln_error error = {(kiln_status)99, "as before"};
    return error;
}

/* A call that succeeds has written nothing. */
#define SUCCEEDS(call)                                                                                                 \
    do {                                                                                                               \
        kiln_error err = untouched();                                                                                  \
        if ((call) != KILN_OK) CHECK_FAIL("%s: %s", #call, err.text);                                                  \
        if ((int)err.status != 99 || strcmp(err.text, "as before"))                                                    \
            CHECK_FAIL("%s succeeds, and writes \"%s\"", #call, err.text);                                             \
    } while (0)

/* One that fails has written the status it returns, and a text. */
#define FAILS(call, wanted)                                                                                            \
    do {                                                                                                               \
        kiln_error err = untouched();                                                                                  \
        kiln_status status_ = (call);                                                                                  \
        if (status_ != (wanted)) CHECK_FAIL("%s: %s, not %s", #call, kiln_status_name(status_), #wanted);              \
        if (err.status != status_) CHECK_FAIL("%s returns %s, and writes another status", #call, #wanted);             \
        if (!strcmp(err.text, "as before") || !err.text[0]) CHECK_FAIL("%s fails, and says nothing", #call);           \
    } while (0)

static char sentinel;

static int damage(const char *path, const struct stat *info, int kind, UNUSED struct FTW *walk)
{
    if (kind != FTW_F) return 0;
    int fd = open(path, O_RDWR);
    CHECK_EQ(pwrite(fd, "DAMAGE", 6, info->st_size / 2), 6);
    return close(fd);
}

/* Misses, hits, stored results, damaged files and folders that can't be used: faults of the cache are nobody's error.
 */
static void test_success_writes_no_error(void **state)
{
    char folder[64], file[96];
    struct fake fake;
    void *executable = NULL;
    kiln_device *device = NULL;
    kiln_var *var = NULL;
    static int number = 1;
    (void)state;
    fake_init(&fake);
    make_folder(folder, sizeof folder);
    for (int round = 0; round < 4; round++) { /* cold, from disk, damaged, a folder of which nothing is left */
        kiln_cache *cache = NULL;
        const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
        if (round == 2) nftw(folder, damage, 16, FTW_PHYS);
        SUCCEEDS(kiln_cache_open(&options, &cache, &err));
        if (round == 3) remove_folder(folder);
        kiln_function *function = new_text(cache, &fake.compiler, "f", "text"), *bound = NULL;
        SUCCEEDS(kiln_get(function, NULL, 0, NULL, &executable, &err));
        SUCCEEDS(kiln_get(function, NULL, 0, NULL, &executable, &err));
        SUCCEEDS(kiln_device_find("cpu:native#1", &device, &err));
        SUCCEEDS(kiln_get(function, NULL, 0, device, &executable, &err));
        SUCCEEDS(kiln_function_bind(function, NULL, NULL, &bound, &err));
        SUCCEEDS(kiln_watch(bound, "m", "number", &number, sizeof number, &err));
        SUCCEEDS(kiln_watch_env(bound, "KILN_TEST_CONTRACT", &err));
        SUCCEEDS(kiln_var_new("v", "value", 5, &var, &err));
        SUCCEEDS(kiln_watch_var(bound, var, &err));
        SUCCEEDS(kiln_depends(bound, function, &err));
        SUCCEEDS(kiln_get(bound, NULL, 0, NULL, &executable, &err));
        number++;
        SUCCEEDS(kiln_get(bound, NULL, 0, NULL, &executable, &err)); /* a drift that is followed */
        kiln_function_free(bound);
        kiln_function_free(function);
        kiln_var_free(var);
        kiln_cache_close(cache);
    }
    kiln_cache *cache = NULL;
    make_folder(folder, sizeof folder);
    snprintf(file, sizeof file, "%s/file", folder);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    const kiln_cache_options unusable = {.struct_size = sizeof unusable, .folder = file};
    SUCCEEDS(kiln_cache_open(&unusable, &cache, &err));
    kiln_cache_close(cache);
    remove_folder(folder);
}

static kiln_status lower_badly(void *payload, UNUSED const kiln_request *request, UNUSED kiln_text *text,
                               UNUSED kiln_error *err)
{
    return payload ? KILN_INVALID : KILN_IO; /* without a word */
}

static kiln_status sign_badly(UNUSED kiln_signature *signature, UNUSED const void *value)
{
    return KILN_IO;
}

static void expect_no_executable(kiln_function *function, const kiln_arg *arg, kiln_status wanted)
{
    void *executable = &sentinel;
    FAILS(kiln_get(function, arg, arg ? 1 : 0, NULL, &executable, &err), wanted);
    CHECK_EQ(executable, &sentinel);
}
#define expect_no_executable(...) CHECK_CALL(expect_no_executable, __VA_ARGS__)

static void test_failed_get_leaves_its_output(void **state)
{
    static const kiln_type unsigned_type = {"unsigned", NULL}, bad_type = {"bad", sign_badly};
    const kiln_arg no_type = {NULL, NULL}, no_sign = {&unsigned_type, NULL}, bad_sign = {&bad_type, NULL};
    const kiln_arg no_value = {&kiln_const_i64, NULL}, no_tensor = {&kiln_tensor, NULL};
    const kiln_arg no_list = {&kiln_list, NULL}, no_string = {&kiln_const_string, NULL};
    struct fake fake;
    fake_init(&fake);
    kiln_cache *cache = open_cache("");
    kiln_function *function = new_text(cache, &fake.compiler, "f", "text"), *lowered = NULL;
    (void)state;
    expect_no_executable(function, &no_type, KILN_UNSIGNED);
    expect_no_executable(function, &no_sign, KILN_UNSIGNED);
    expect_no_executable(function, &bad_sign, KILN_UNSIGNED);
    expect_no_executable(function, &no_value, KILN_UNSIGNED);
    expect_no_executable(function, &no_tensor, KILN_UNSIGNED);
    expect_no_executable(function, &no_list, KILN_UNSIGNED);
    expect_no_executable(function, &no_string, KILN_UNSIGNED);
    fake.fails_to_compile = true;
    expect_no_executable(function, NULL, KILN_COMPILE_FAILED);
    fake.fails_to_compile = false;
    fake.fails_to_link = true;
    expect_no_executable(function, NULL, KILN_LINK_FAILED);
    fake.fails_to_link = false;
    void *executable = NULL;
    SUCCEEDS(kiln_get(function, NULL, 0, NULL, &executable, &err)); /* a failure is not remembered */
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "g", .compiler = &fake.compiler, .lower = lower_badly};
    SUCCEEDS(kiln_function_new(cache, &options, &lowered, &err));
    expect_no_executable(lowered, NULL, KILN_LOWER_FAILED);
    kiln_function_free(lowered);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_failures_leave_outputs(void **state)
{
    struct fake fake;
    fake_init(&fake);
    kiln_cache *cache = open_cache("");
    kiln_function *function = new_text(cache, &fake.compiler, "f", "text"), *made = (kiln_function *)&sentinel;
    kiln_device *device = (kiln_device *)&sentinel;
    kiln_var *var = (kiln_var *)&sentinel;
    kiln_inspector *inspector = (kiln_inspector *)&sentinel;
    kiln_warmed warmed = (kiln_warmed)7;
    char path[64] = "as before";
    kiln_function_options bad = {.struct_size = sizeof bad, .name = "f"};
    (void)state;
    FAILS(kiln_function_new(cache, &bad, &made, &err), KILN_INVALID); /* neither text nor lower() */
    CHECK_EQ(made, &sentinel);
    FAILS(kiln_device_find("pdp11", &device, &err), KILN_INVALID);
    CHECK_EQ(device, &sentinel);
    FAILS(kiln_device_find("cpu:pdp11", &device, &err), KILN_INVALID);
    FAILS(kiln_var_new("", NULL, 0, &var, &err), KILN_INVALID);
    CHECK_EQ(var, &sentinel);
    FAILS(kiln_inspect_open("/proc/nowhere", &inspector, &err), KILN_IO);
    CHECK_EQ(inspector, &sentinel);
    FAILS(kiln_inspect_toolchain("/proc/nowhere", path, sizeof path, &err), KILN_IO);
    FAILS(kiln_inspect_default_folder(path, 1, &err), KILN_INVALID);
    CHECK_STR(path, "as before");
    FAILS(kiln_warm(cache, "native", "k", (kiln_bytes){"not IR", 6}, &warmed, &err), KILN_IO); /* no folder */
    FAILS(kiln_warm(cache, "pdp11", "k", (kiln_bytes){"not IR", 6}, &warmed, &err), KILN_IO);
    char folder[64];
    make_folder(folder, sizeof folder);
    kiln_cache *stored = open_cache(folder);
    CHECK_NE(kiln_warm(stored, "native", "k", (kiln_bytes){"not IR", 6}, &warmed, NULL), KILN_OK);
    CHECK_EQ(warmed, 7);
    kiln_cache_close(stored);
    remove_folder(folder);
    FAILS(kiln_function_redefine(function, &bad, &err), KILN_INVALID);
    void *executable = NULL;
    SUCCEEDS(kiln_get(function, NULL, 0, NULL, &executable, &err));
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_most_caches(void **state)
{
    kiln_cache *caches[KILN_MAX_CACHES + 1] = {NULL}, *more = (kiln_cache *)&sentinel;
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = ""};
    (void)state;
    for (int i = 0; i < KILN_MAX_CACHES; i++) SUCCEEDS(kiln_cache_open(&options, &caches[i], &err));
    FAILS(kiln_cache_open(&options, &more, &err), KILN_INVALID);
    CHECK_EQ(more, &sentinel);
    kiln_cache_close(caches[3]);
    SUCCEEDS(kiln_cache_open(&options, &caches[3], &err));
    for (int i = 0; i < KILN_MAX_CACHES; i++) kiln_cache_close(caches[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_success_writes_no_error),
        cmocka_unit_test(test_failed_get_leaves_its_output),
        cmocka_unit_test(test_failures_leave_outputs),
        cmocka_unit_test(test_most_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
