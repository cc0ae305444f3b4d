/*
 * test_key_watch.c - watches as they stand in call keys, variables with an epoch, pushed options.
 */
#include "cache_support.h"

#include "key/options.h"
#include "key/watch.h"

struct key {
    uint32_t count;
    uint64_t words[64];
};

static struct key sign(const struct kiln_watches *watches)
{
    struct kiln_signature signature;
    struct key key = {0};
    kiln__signature_init(&signature);
    kiln__watches_sign(watches, kiln__environment(), &signature);
    kiln__options_sign(&signature);
    assert_int_equal(signature.status, KILN_OK);
    assert_true(signature.count <= 64);
    key.count = signature.count;
    memcpy(key.words, signature.words, signature.count * sizeof *key.words);
    kiln__signature_release(&signature);
    return key;
}

static bool same(struct key a, struct key b)
{
    return a.count == b.count && kiln__key_equal(a.words, b.words, a.count);
}

static void test_memory(void **state)
{
    (void)state;
    struct kiln_watches watches = {0};
    char bytes[11] = "0123456789";
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", bytes, 10, NULL, NULL), KILN_OK);
    struct key before = sign(&watches);
    assert_true(same(before, sign(&watches)));
    bytes[9]++;
    assert_false(same(before, sign(&watches)));
    bytes[9]--;
    assert_true(same(before, sign(&watches)));
    uint32_t at = 0;
    struct kiln_watched watched = kiln__watched_read(watches.first, before.words, &at);
    assert_int_equal(watched.size, 10);
    assert_memory_equal(watched.data, bytes, 10);
    assert_int_equal(at, before.count);
    kiln__watches_release(&watches);
}

static void test_known_watch(void **state)
{
    (void)state;
    struct kiln_watches watches = {0}, copy = {0};
    int x = 1, y = 2;
    kiln_error err = {0};
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &x, sizeof x, NULL, &err), KILN_OK);
    struct key one = sign(&watches);
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &x, sizeof x, NULL, &err), KILN_OK);
    assert_true(same(one, sign(&watches))); /* once is enough */
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &y, sizeof y, NULL, &err), KILN_INVALID);
    assert_non_null(strstr(err.text, "x in m"));
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &x, 1, NULL, &err), KILN_INVALID);
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "n", "x", &y, sizeof y, NULL, &err), KILN_OK);
    assert_int_equal(kiln__watches_copy(&copy, &watches, &err), KILN_OK);
    assert_true(same(sign(&copy), sign(&watches)));
    kiln__watches_release(&watches);
    assert_int_equal(sign(&copy).count, 4);
    kiln__watches_release(&copy);
}

static void test_environment(void **state)
{
    (void)state;
    struct kiln_watches watches = {0};
    unsetenv("KILN_TEST_V");
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_V", NULL, 0, NULL, NULL),
                     KILN_OK);
    struct key unset = sign(&watches);
    setenv("KILN_TEST_V", "", 1);
    struct key empty = sign(&watches);
    setenv("KILN_TEST_V", "a", 1);
    struct key a = sign(&watches);
    assert_false(same(unset, empty));
    assert_false(same(empty, a));
    static char in_place[] = "KILN_TEST_V=b"; /* a putenv buffer can be edited without anybody being told */
    putenv(in_place);
    struct key b = sign(&watches);
    in_place[12] = 'a';
    assert_false(same(a, b));
    assert_true(same(a, sign(&watches)));
    uint32_t at = 0;
    assert_string_equal(kiln__watched_read(watches.first, a.words, &at).data, "a");
    at = 0;
    assert_null(kiln__watched_read(watches.first, unset.words, &at).data);
    unsetenv("KILN_TEST_V");
    assert_true(same(unset, sign(&watches)));
    kiln__watches_release(&watches);
}

static void test_variable(void **state)
{
    (void)state;
    struct kiln_watches watches = {0};
    kiln_var *var = NULL, *other = NULL;
    kiln_error err = {0};
    assert_int_equal(kiln_var_new(NULL, "a", 1, &var, &err), KILN_INVALID);
    assert_int_equal(kiln_var_new("", "a", 1, &var, &err), KILN_INVALID);
    assert_int_equal(kiln_var_new("v", NULL, 1, &var, &err), KILN_INVALID);
    assert_int_equal(kiln_var_new("v", "a", 1, NULL, &err), KILN_INVALID);
    assert_int_equal(kiln_var_new("v", "a", SIZE_MAX, &var, &err), KILN_INVALID);
    assert_null(var);
    assert_int_equal(kiln_var_new("v", "a", 1, &var, &err), KILN_OK);
    assert_int_equal(kiln_var_new("v", NULL, 0, &other, &err), KILN_OK);
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var, &err), KILN_OK);
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, other, &err), KILN_INVALID);
    struct key a = sign(&watches);
    kiln_var_set(var, "b", 1);
    assert_false(same(a, sign(&watches)));
    kiln_var_set(var, "a", 1);
    assert_true(same(a, sign(&watches)));
    kiln_var_set(var, "a", 2);
    assert_false(same(a, sign(&watches)));
    kiln_var_set(var, NULL, 0);
    struct key nothing = sign(&watches);
    assert_int_equal(nothing.count, 1);
    const char long_text[] = "much longer than what it had room for at first, and then some";
    for (size_t size = 1; size <= sizeof long_text; size++) {
        kiln_var_set(var, long_text, size);
        struct key key = sign(&watches);
        uint32_t at = 0;
        struct kiln_watched watched = kiln__watched_read(watches.first, key.words, &at);
        assert_int_equal(watched.size, size);
        assert_memory_equal(watched.data, long_text, size);
    }
    kiln_var_set(var, "a", 1); /* nothing of the longer value is left behind it */
    assert_true(same(a, sign(&watches)));
    kiln_var_set(NULL, "a", 1);
    kiln_var_set(var, NULL, 4);
    kiln_var_set(var, "a", SIZE_MAX);
    assert_true(same(a, sign(&watches)));
    kiln__watches_release(&watches);
    kiln_var_free(var);
    kiln_var_free(other);
    kiln_var_free(NULL);
}

/* A setter alternates between two values of different sizes; no key holds half of each. */
static _Atomic bool stop;

static void *set_and_set(void *var)
{
    char sevens[200], threes[96];
    memset(sevens, 7, sizeof sevens);
    memset(threes, 3, sizeof threes);
    while (!stop) {
        kiln_var_set(var, sevens, sizeof sevens);
        kiln_var_set(var, threes, sizeof threes);
    }
    return NULL;
}

static void test_no_torn_value(void **state)
{
    (void)state;
    struct kiln_watches watches = {0};
    kiln_var *var = NULL;
    pthread_t setter;
    assert_int_equal(kiln_var_new("v", NULL, 0, &var, NULL), KILN_OK);
    assert_int_equal(kiln__watches_add(&watches, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var, NULL), KILN_OK);
    stop = false;
    pthread_create(&setter, NULL, set_and_set, var);
    for (int round = 0; round < 20000; round++) {
        struct key key = sign(&watches);
        uint32_t at = 0;
        struct kiln_watched watched = kiln__watched_read(watches.first, key.words, &at);
        const char *bytes = watched.data;
        assert_int_equal(at, key.count);
        for (size_t i = 0; i < watched.size; i++) assert_int_equal(bytes[i], watched.size == 200 ? 7 : 3);
        assert_true(watched.size == 0 || watched.size == 96 || watched.size == 200);
    }
    stop = true;
    pthread_join(setter, NULL);
    kiln__watches_release(&watches);
    kiln_var_free(var);
}

static void *sees_no_options(void *out)
{
    const struct kiln_watches none = {0};
    *(bool *)out =
        sign(&none).count == 0 && kiln_option_push("left", "behind") == KILN_OK; /* freed when the thread ends */
    return NULL;
}

static void test_options(void **state)
{
    (void)state;
    const struct kiln_watches none = {0};
    struct key plain = sign(&none);
    assert_int_equal(plain.count, 0);
    assert_int_equal(kiln_option_push("a", "1"), KILN_OK);
    struct key a1 = sign(&none);
    assert_int_equal(kiln_option_push("b", "2"), KILN_OK);
    struct key a1b2 = sign(&none);
    assert_int_equal(kiln_option_push("a", "3"), KILN_OK);
    struct key a3b2 = sign(&none);
    struct kiln_options options = {0};
    kiln__options_take(&options, a3b2.words, a3b2.count);
    assert_int_equal(options.pushed_count, a3b2.count);
    assert_string_equal(kiln__options_find(&options, "a"), "3");
    assert_string_equal(kiln__options_find(&options, "b"), "2");
    assert_null(kiln__options_find(&options, "c"));
    assert_false(same(plain, a1) || same(a1, a1b2) || same(a1b2, a3b2));
    kiln_option_pop();
    assert_true(same(a1b2, sign(&none)));
    pthread_t thread;
    bool right = false;
    pthread_create(&thread, NULL, sees_no_options, &right);
    pthread_join(thread, NULL);
    assert_true(right);
    kiln_option_pop();
    kiln_option_pop();
    assert_int_equal(sign(&none).count, 0);
    kiln_option_pop(); /* one too many is harmless */
    assert_int_equal(kiln_option_push("b", "2"), KILN_OK);
    assert_int_equal(kiln_option_push("a", "1"), KILN_OK);
    assert_true(same(a1b2, sign(&none))); /* the order of pushing does not matter */
    kiln_option_pop();
    kiln_option_pop();
    assert_int_equal(kiln_option_push(NULL, "1"), KILN_INVALID);
    assert_int_equal(kiln_option_push("", "1"), KILN_INVALID);
    assert_int_equal(kiln_option_push("a", NULL), KILN_INVALID);
    assert_int_equal(sign(&none).count, 0);
    kiln_option_push("ab", "c"); /* neighbours do not merge */
    struct key ab = sign(&none);
    kiln_option_pop();
    kiln_option_push("a", "bc");
    assert_false(same(ab, sign(&none)));
    kiln_option_pop();
}

static void test_options_of_the_environment(void **state)
{
    (void)state;
    setenv("KILN_OPT_LEVEL", "3", 1);
    setenv("KILN_FAST_MATH", "1", 1);
    struct kiln_options options = kiln__options_from_environment();
    assert_int_equal(options.opt_level, 3);
    assert_true(options.fast_math);
    static const char *const wrong[] = {"4", "-1", "22", "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("KILN_OPT_LEVEL", wrong[i], 1);
        assert_int_equal(kiln__options_from_environment().opt_level, 2);
    }
    unsetenv("KILN_OPT_LEVEL");
    setenv("KILN_FAST_MATH", "", 1);
    options = kiln__options_from_environment();
    assert_int_equal(options.opt_level, 2);
    assert_false(options.fast_math);
    unsetenv("KILN_FAST_MATH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_known_watch),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_variable),
        cmocka_unit_test(test_no_torn_value),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_options_of_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
