/*
 * test_base_environment.c - the fast way to the environment says what getenv() says, whatever was done to the
 * environment.
 */
#include "cache_support.h"

#include "base/environment.h"

static uint32_t indices[4];
static const char *const names[4] = {"KILN_TEST_E0", "KILN_TEST_E1", "KILN_TEST_E2", "KILN_TARGET"};

static void compare(void)
{
    const struct kiln_environment *environment = kiln__environment();
    CHECK_NOT_NULL(environment);
    for (int i = 0; i < 4; i++) {
        const struct kiln_variable *variable = kiln__environment_variable(environment, indices[i]);
        const char *value = getenv(names[i]);
        CHECK_NOT_NULL(variable);
        CHECK_EQ(variable->size, value ? strlen(value) + 1 : 0);
        if (value) CHECK_STR((const char *)variable->words, value);
        for (uint32_t k = variable->size; k < (variable->size + 7) / 8 * 8; k++)
            CHECK_EQ(((const char *)variable->words)[k], 0);
    }
}
#define compare(...) CHECK_CALL(compare, __VA_ARGS__)

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) indices[i] = kiln__environment_index(names[i]);
    for (int i = 0; i < 4; i++) CHECK_EQ(indices[i], kiln__environment_index(names[i]));
    CHECK_EQ(indices[3], KILN_VARIABLE_TARGET);
    CHECK_TRUE(indices[0] >= KILN_CORE_VARIABLES && indices[0] != indices[1] && indices[1] != indices[2]);
}

static void test_follows(void **state)
{
    test_names(state);
    static char buffer[] = "KILN_TEST_E1=a value of more than sixteen bytes, 1";
    compare();
    setenv("KILN_TEST_E0", "1", 1), compare();
    setenv("KILN_TEST_E0", "", 1), compare();
    putenv(buffer), compare();
    buffer[sizeof buffer - 2] = '2', compare();
    buffer[20] = '\0', compare();
    setenv("KILN_TEST_E2", "12345678", 1), compare(); /* exactly a word, and its NUL */
    unsetenv("KILN_TEST_E0"), compare();
    unsetenv("KILN_TEST_E1"), compare();
    char **all = environ, *none[] = {NULL}, *two[] = {"KILN_TEST_E0=x", "KILN_TEST_E0=y", NULL};
    environ = none, compare();
    environ = two, compare();
    two[0] = "KILN_TEST_E2=z", compare();
    environ = NULL, compare();
    environ = all, compare();
    unsetenv("KILN_TEST_E2"), compare();
}

/* As many entries as before and the same one last: only a look at all pointers sees it. */
static void test_same_count_same_last(void **state)
{
    (void)state;
    setenv("KILN_TEST_FIRST", "1", 1);
    setenv("KILN_TEST_LAST", "1", 1);
    compare();
    unsetenv("KILN_TEST_FIRST");
    unsetenv("KILN_TEST_LAST");
    setenv("KILN_TEST_E0", "new", 1);
    setenv("KILN_TEST_LAST", "1", 1);
    compare();
    unsetenv("KILN_TEST_LAST");
    unsetenv("KILN_TEST_E0");
}

static void test_version(void **state)
{
    (void)state;
    uint64_t version = kiln__environment()->version;
    CHECK_EQ(kiln__environment()->version, version);
    static char target[] = "KILN_TARGET=x86-64";
    putenv(target);
    uint64_t with_target = kiln__environment()->version;
    CHECK_NE(with_target, version);
    CHECK_EQ(kiln__environment()->version, with_target);
    target[12] = 'y'; /* in place: a core variable is looked at in every call */
    CHECK_NE(kiln__environment()->version, with_target);
    unsetenv("KILN_TARGET");
    kiln__environment_set_fast(false);
    version = kiln__environment()->version;
    CHECK_NE(kiln__environment()->version, version);
    compare();
    kiln__environment_set_fast(true);
}

static void *in_a_thread(void *state)
{
    test_follows(state);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) { /* one after another: their copies go with them */
        pthread_t thread;
        pthread_create(&thread, NULL, in_a_thread, NULL);
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_follows), cmocka_unit_test(test_same_count_same_last),
        cmocka_unit_test(test_version), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
