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
    CHECK_EQ(signature.status, KILN_OK);
    CHECK_LE(signature.count, 64);
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
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", bytes, 10, NULL, NULL), KILN_OK);
    struct key before = sign(&watches);
    CHECK_TRUE(same(before, sign(&watches)));
    bytes[9]++;
    CHECK_FALSE(same(before, sign(&watches)));
    bytes[9]--;
    CHECK_TRUE(same(before, sign(&watches)));
    uint32_t at = 0;
    struct kiln_watched watched = kiln__watched_read(watches.first, before.words, &at);
    CHECK_EQ(watched.size, 10);
    CHECK_MEM(watched.data, bytes, 10);
    CHECK_EQ(at, before.count);
    kiln__watches_release(&watches);
}

static void test_known_watch(void **state)
{
    (void)state;
    struct kiln_watches watches = {0}, copy = {0};
    int x = 1, y = 2;
    kiln_error err = {0};
    CHECK_OK(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &x, sizeof x, NULL, &err), &err);
    struct key one = sign(&watches);
    CHECK_OK(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &x, sizeof x, NULL, &err), &err);
    CHECK_TRUE(same(one, sign(&watches))); /* once is enough */
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &y, sizeof y, NULL, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "x in m");
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "m", "x", &x, 1, NULL, &err), KILN_INVALID, &err);
    CHECK_OK(kiln__watches_add(&watches, KILN_ITEM_MEMORY, "n", "x", &y, sizeof y, NULL, &err), &err);
    CHECK_OK(kiln__watches_copy(&copy, &watches, &err), &err);
    CHECK_TRUE(same(sign(&copy), sign(&watches)));
    kiln__watches_release(&watches);
    CHECK_EQ(sign(&copy).count, 4);
    kiln__watches_release(&copy);
}

static void test_environment(void **state)
{
    (void)state;
    struct kiln_watches watches = {0};
    unsetenv("KILN_TEST_V");
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_ENVIRONMENT, "", "KILN_TEST_V", NULL, 0, NULL, NULL), KILN_OK);
    struct key unset = sign(&watches);
    setenv("KILN_TEST_V", "", 1);
    struct key empty = sign(&watches);
    setenv("KILN_TEST_V", "a", 1);
    struct key a = sign(&watches);
    CHECK_FALSE(same(unset, empty));
    CHECK_FALSE(same(empty, a));
    static char in_place[] = "KILN_TEST_V=b"; /* a putenv buffer can be edited without anybody being told */
    putenv(in_place);
    struct key b = sign(&watches);
    in_place[12] = 'a';
    CHECK_FALSE(same(a, b));
    CHECK_TRUE(same(a, sign(&watches)));
    uint32_t at = 0;
    CHECK_STR(kiln__watched_read(watches.first, a.words, &at).data, "a");
    at = 0;
    CHECK_NULL(kiln__watched_read(watches.first, unset.words, &at).data);
    unsetenv("KILN_TEST_V");
    CHECK_TRUE(same(unset, sign(&watches)));
    kiln__watches_release(&watches);
}

static void test_variable(void **state)
{
    (void)state;
    struct kiln_watches watches = {0};
    kiln_var *var = NULL, *other = NULL;
    kiln_error err = {0};
    CHECK_STATUS(kiln_var_new(NULL, "a", 1, &var, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_var_new("", "a", 1, &var, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_var_new("v", NULL, 1, &var, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_var_new("v", "a", 1, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_var_new("v", "a", SIZE_MAX, &var, &err), KILN_INVALID, &err);
    CHECK_NULL(var);
    CHECK_OK(kiln_var_new("v", "a", 1, &var, &err), &err);
    CHECK_OK(kiln_var_new("v", NULL, 0, &other, &err), &err);
    CHECK_OK(kiln__watches_add(&watches, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var, &err), &err);
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, other, &err), KILN_INVALID, &err);
    struct key a = sign(&watches);
    kiln_var_set(var, "b", 1);
    CHECK_FALSE(same(a, sign(&watches)));
    kiln_var_set(var, "a", 1);
    CHECK_TRUE(same(a, sign(&watches)));
    kiln_var_set(var, "a", 2);
    CHECK_FALSE(same(a, sign(&watches)));
    kiln_var_set(var, NULL, 0);
    struct key nothing = sign(&watches);
    CHECK_EQ(nothing.count, 1);
    const char long_text[] = "much longer than what it had room for at first, and then some";
    for (size_t size = 1; size <= sizeof long_text; size++) {
        kiln_var_set(var, long_text, size);
        struct key key = sign(&watches);
        uint32_t at = 0;
        struct kiln_watched watched = kiln__watched_read(watches.first, key.words, &at);
        CHECK_EQ(watched.size, size);
        CHECK_MEM(watched.data, long_text, size);
    }
    kiln_var_set(var, "a", 1); /* nothing of the longer value is left behind it */
    CHECK_TRUE(same(a, sign(&watches)));
    kiln_var_set(NULL, "a", 1);
    kiln_var_set(var, NULL, 4);
    kiln_var_set(var, "a", SIZE_MAX);
    CHECK_TRUE(same(a, sign(&watches)));
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
    CHECK_STATUS(kiln_var_new("v", NULL, 0, &var, NULL), KILN_OK);
    CHECK_STATUS(kiln__watches_add(&watches, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var, NULL), KILN_OK);
    stop = false;
    pthread_create(&setter, NULL, set_and_set, var);
    for (int round = 0; round < 20000; round++) {
        struct key key = sign(&watches);
        uint32_t at = 0;
        struct kiln_watched watched = kiln__watched_read(watches.first, key.words, &at);
        const char *bytes = watched.data;
        CHECK_EQ(at, key.count);
        for (size_t i = 0; i < watched.size; i++) CHECK_EQ(bytes[i], watched.size == 200 ? 7 : 3);
        CHECK_TRUE(watched.size == 0 || watched.size == 96 || watched.size == 200);
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
    CHECK_EQ(plain.count, 0);
    CHECK_STATUS(kiln_option_push("a", "1"), KILN_OK);
    struct key a1 = sign(&none);
    CHECK_STATUS(kiln_option_push("b", "2"), KILN_OK);
    struct key a1b2 = sign(&none);
    CHECK_STATUS(kiln_option_push("a", "3"), KILN_OK);
    struct key a3b2 = sign(&none);
    struct kiln_options options = {0};
    kiln__options_take(&options, a3b2.words, a3b2.count);
    CHECK_EQ(options.pushed_count, a3b2.count);
    CHECK_STR(kiln__options_find(&options, "a"), "3");
    CHECK_STR(kiln__options_find(&options, "b"), "2");
    CHECK_NULL(kiln__options_find(&options, "c"));
    CHECK_FALSE(same(plain, a1) || same(a1, a1b2) || same(a1b2, a3b2));
    kiln_option_pop();
    CHECK_TRUE(same(a1b2, sign(&none)));
    pthread_t thread;
    bool right = false;
    pthread_create(&thread, NULL, sees_no_options, &right);
    pthread_join(thread, NULL);
    CHECK_TRUE(right);
    kiln_option_pop();
    kiln_option_pop();
    CHECK_EQ(sign(&none).count, 0);
    kiln_option_pop(); /* one too many is harmless */
    CHECK_STATUS(kiln_option_push("b", "2"), KILN_OK);
    CHECK_STATUS(kiln_option_push("a", "1"), KILN_OK);
    CHECK_TRUE(same(a1b2, sign(&none))); /* the order of pushing does not matter */
    kiln_option_pop();
    kiln_option_pop();
    CHECK_STATUS(kiln_option_push(NULL, "1"), KILN_INVALID);
    CHECK_STATUS(kiln_option_push("", "1"), KILN_INVALID);
    CHECK_STATUS(kiln_option_push("a", NULL), KILN_INVALID);
    CHECK_EQ(sign(&none).count, 0);
    kiln_option_push("ab", "c"); /* neighbours do not merge */
    struct key ab = sign(&none);
    kiln_option_pop();
    kiln_option_push("a", "bc");
    CHECK_FALSE(same(ab, sign(&none)));
    kiln_option_pop();
}

static void test_options_of_the_environment(void **state)
{
    (void)state;
    setenv("KILN_OPT_LEVEL", "3", 1);
    setenv("KILN_FAST_MATH", "1", 1);
    struct kiln_options options = kiln__options_from_settings();
    CHECK_EQ(options.opt_level, 3);
    CHECK_TRUE(options.fast_math);
    CHECK_FALSE(options.lines);
    setenv("KILN_LINES", "1", 1);
    CHECK_TRUE(kiln__options_from_settings().lines);
    CHECK_TRUE(kiln__options_unpack(kiln__options_packed(kiln__environment())).lines);
    unsetenv("KILN_LINES");
    CHECK_FALSE(kiln__options_unpack(kiln__options_packed(kiln__environment())).lines);
    static const char *const wrong[] = {"4", "-1", "22", "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("KILN_OPT_LEVEL", wrong[i], 1);
        CHECK_EQ(kiln__options_from_settings().opt_level, 2);
    }
    unsetenv("KILN_OPT_LEVEL");
    setenv("KILN_FAST_MATH", "", 1);
    options = kiln__options_from_settings();
    CHECK_EQ(options.opt_level, 2);
    CHECK_FALSE(options.fast_math);
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
