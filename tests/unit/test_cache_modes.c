/*
 * test_cache_modes.c - KILN_MODE off, no-compile and compile-only; compile failures, which are reported every time and
 * stored nowhere.
 */
#include "process_support.h"

struct world {
    char folder[64];
    struct fake fake;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    fake_init(&world->fake);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    unsetenv("KILN_MODE");
    remove_folder(world->folder);
    free(world);
    return 0;
}

static kiln_cache *open_in_mode(const struct world *world, const char *mode)
{
    setenv("KILN_MODE", mode, 1);
    kiln_cache *cache = open_cache(world->folder);
    unsetenv("KILN_MODE"); /* it was read when the cache was opened */
    return cache;
}

/* One process's worth of work on the folder in the normal mode. */
static void compile_normally(struct world *world, const char *text)
{
    kiln_cache *cache = open_cache(world->folder);
    kiln_function *function = new_text(cache, &world->fake.compiler, "f", text);
    get(function, NO_ARGS);
    kiln_function_free(function);
    kiln_cache_close(cache);
}
#define compile_normally(...) CHECK_CALL(compile_normally, __VA_ARGS__)

static void test_off(void **state)
{
    struct world *world = *state;
    compile_normally(world, "a");
    kiln_cache *cache = open_in_mode(world, "off");
    kiln_function *function = new_text(cache, &world->fake.compiler, "f", "a"),
                  *other = new_text(cache, &world->fake.compiler, "g", "a");
    struct image *first = get(function, NO_ARGS);
    CHECK_EQ(get(function, NO_ARGS), first); /* alive, and used again */
    CHECK_STR(first->text, "a");
    CHECK_EQ(get(other, NO_ARGS), first); /* the same kernel of this process */
    CHECK_EQ(world->fake.compiles, 2);    /* what the folder has is not used */
    CHECK_EQ(world->fake.unlinks, 1);     /* of compile_normally() */
    kiln_function_free(function);
    CHECK_STR(first->text, "a"); /* the other function uses it still */
    kiln_function_free(other);
    CHECK_EQ(world->fake.unlinks, 2);
    kiln_cache_close(cache);
    CHECK_EQ(count_files(world->folder, "", NULL), 1); /* nothing was written */
}

/* Caches in several modes at once, each as it was opened. */
static void test_off_and_on(void **state)
{
    struct world *world = *state;
    kiln_cache *off = open_in_mode(world, "off"), *on = open_in_mode(world, "normal");
    kiln_function *of_off = new_text(off, &world->fake.compiler, "f", "a"),
                  *of_on = new_text(on, &world->fake.compiler, "f", "a");
    get(of_off, NO_ARGS);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
    get(of_on, NO_ARGS);
    CHECK_EQ(count_files(world->folder, "", NULL), 1);
    get(of_off, NO_ARGS);
    CHECK_EQ(world->fake.compiles, 2);
    kiln_function_free(of_off);
    kiln_function_free(of_on);
    kiln_cache_close(off);
    kiln_cache_close(on);
}

static void test_no_compile(void **state)
{
    struct world *world = *state;
    char digest[65], path[PATH_MAX];
    compile_normally(world, "a");
    kiln_cache *cache = open_in_mode(world, "no-compile");
    kiln_function *stored = new_text(cache, &world->fake.compiler, "f", "a"),
                  *missing = new_text(cache, &world->fake.compiler, "g", "b");
    CHECK_STR(get(stored, NO_ARGS)->text, "a");
    kiln_error err = {0};
    void *executable = NULL;
    CHECK_STATUS(kiln_get(missing, NO_ARGS, NULL, &executable, &err), KILN_WOULD_COMPILE, &err);
    CHECK_CONTAINS(err.text, "KILN_MODE=no-compile");
    const char *key = strstr(err.text, "content key ");
    CHECK_NOT_NULL(key);
    CHECK_EQ(sscanf(key, "content key %64[0-9a-f]", digest), 1);
    CHECK_EQ(strlen(digest), 64);
    CHECK_EQ(world->fake.compiles, 1);
    CHECK_EQ(count_files(world->folder, "", NULL), 1);     /* not even a lock */
    compile_normally(world, "b");                          /* another process makes it ... */
    CHECK_EQ(count_files(world->folder, digest, path), 1); /* ... under the key that was named */
    CHECK_STR(get(missing, NO_ARGS)->text, "b");
    kiln_function_free(stored);
    kiln_function_free(missing);
    kiln_cache_close(cache);
}

static void test_compile_only(void **state)
{
    struct world *world = *state;
    kiln_cache *cache = open_in_mode(world, "compile-only");
    kiln_function *function = new_text(cache, &world->fake.compiler, "f", "a");
    for (int i = 0; i < 2; i++) {
        kiln_error err = {0};
        void *executable = &err;
        CHECK_STATUS(kiln_get(function, NO_ARGS, NULL, &executable, &err), KILN_COMPILED, &err);
        CHECK_NULL(executable);
        CHECK_CONTAINS(err.text, "compile-only");
        CHECK_STATUS(kiln_get(function, NO_ARGS, NULL, &executable, NULL), KILN_COMPILED);
    }
    CHECK_STR(kiln_status_name(KILN_COMPILED), "KILN_COMPILED");
    CHECK_EQ(world->fake.compiles, 1);
    CHECK_EQ(world->fake.links, 0);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 1);
    kiln_function_free(function);
    kiln_cache_close(cache);
    kiln_cache *runs = open_in_mode(world, "no-compile");
    function = new_text(runs, &world->fake.compiler, "f", "a");
    CHECK_STR(get(function, NO_ARGS)->text, "a");
    kiln_function_free(function);
    kiln_cache_close(runs);
    CHECK_EQ(world->fake.compiles, 1);
}

/* Failures stay failures in compile-only, and what is stored already is not compiled again. */
static void test_compile_only_of_what_fails_and_what_is_there(void **state)
{
    struct world *world = *state;
    compile_normally(world, "a");
    kiln_cache *cache = open_in_mode(world, "compile-only");
    kiln_function *stored = new_text(cache, &world->fake.compiler, "f", "a"),
                  *wrong = new_text(cache, &world->fake.compiler, "g", "b");
    void *executable = NULL;
    CHECK_STATUS(kiln_get(stored, NO_ARGS, NULL, &executable, NULL), KILN_COMPILED);
    CHECK_EQ(world->fake.compiles, 1);
    world->fake.fails_to_compile = true;
    get_fails(wrong, NO_ARGS, KILN_COMPILE_FAILED, "no such instruction");
    kiln_function_free(stored);
    kiln_function_free(wrong);
    kiln_cache_close(cache);
}

static void test_unknown_mode_is_normal(void **state)
{
    struct world *world = *state;
    kiln_cache *cache = open_in_mode(world, "sideways");
    kiln_function *function = new_text(cache, &world->fake.compiler, "f", "a");
    CHECK_STR(get(function, NO_ARGS)->text, "a");
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 1);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_failures_are_not_stored(void **state)
{
    struct world *world = *state;
    kiln_cache *cache = open_cache(world->folder);
    kiln_function *function = new_text(cache, &world->fake.compiler, "f", "a");
    world->fake.fails_to_compile = true;
    for (unsigned i = 1; i <= 3; i++) {
        get_fails(function, NO_ARGS, KILN_COMPILE_FAILED, "no such instruction");
        CHECK_EQ(world->fake.compiles, i);
        CHECK_EQ(count_files(world->folder, "", NULL), 0); /* neither an entry nor a lock */
    }
    world->fake.fails_to_compile = false; /* the cause is gone */
    CHECK_STR(get(function, NO_ARGS)->text, "a");
    CHECK_EQ(count_files(world->folder, "", NULL), 1);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_off_and_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_compile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compile_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compile_only_of_what_fails_and_what_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_mode_is_normal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failures_are_not_stored, set_up, tear_down),
    };
    unsetenv("KILN_MODE");
    unsetenv("KILN_CACHE_PATH");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
