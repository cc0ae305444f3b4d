/*
 * test_cache_audit.c - KILN_AUDIT: hits 2, 4, 8, ... are lowered again, and a difference is noticed and counted.
 */
#include "cache_support.h"

#include "cache/audit.h"

static unsigned lowers;

static kiln_status print_payload(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request;
    lowers++;
    int value = *(const int *)payload;
    if (value < 0) {
        snprintf(err->text, sizeof err->text, "negative");
        return KILN_INVALID;
    }
    return kiln_text_printf(text, "first\nsecond %d\n", value);
}

struct counts {
    uint64_t audits, differences;
};

static struct counts count(void)
{
    struct counts counts;
    kiln__audit_counts(&counts.audits, &counts.differences);
    return counts;
}

static void test_turns(void **state)
{
    (void)state;
    static const bool due[17] = {[2] = true, [4] = true, [8] = true, [16] = true};
    for (uint32_t i = 0; i < 17; i++) CHECK_EQ(kiln__audit_is_due(i), due[i]);
}

static void test_off(void **state)
{
    (void)state;
    struct fake fake;
    fake_init(&fake);
    int payload = 1;
    kiln_cache *cache = open_cache("");
    kiln_function *f = new_function(cache, &fake.compiler, "f", print_payload, &payload);
    struct counts before = count();
    for (int i = 0; i < 100; i++) get(f, NO_ARGS);
    CHECK_EQ(count().audits, before.audits);
    CHECK_COUNTERS(cache, .calls = 100, .front_hits = 99, .traces = 1, .compiles = 1, .links = 1);
    kiln_function_free(f);
    kiln_cache_close(cache);
}

static void test_on(void **state)
{
    (void)state;
    struct fake fake;
    fake_init(&fake);
    int payload = 1;
    kiln__audit_set(true);
    kiln_cache *cache = open_cache("");
    kiln_function *f = new_function(cache, &fake.compiler, "f", print_payload, &payload),
                  *g = new_text(cache, &fake.compiler, "g", "fixed");
    struct counts before = count();
    lowers = 0;
    for (int i = 0; i <= 16; i++) CHECK_STR(get(f, ARGS(I64(1)))->text, "first\nsecond 1\n"); /* hits 1 to 16 */
    CHECK_EQ(lowers, 1 + 4);
    CHECK_EQ(count().audits - before.audits, 4);
    CHECK_EQ(count().differences, before.differences);
    CHECK_COUNTERS(cache, .calls = 17, .process_hits = 16, .traces = 5, .compiles = 1, .links = 1);
    payload = 2; /* nobody watches it */
    for (int i = 0; i < 16; i++)
        CHECK_STR(get(f, ARGS(I64(1)))->text, "first\nsecond 1\n"); /* hit 32 finds out, and still gets it */
    CHECK_EQ(count().differences - before.differences, 1);
    payload = -1;
    for (int i = 0; i < 32; i++) get(f, ARGS(I64(1)));
    CHECK_EQ(count().differences - before.differences, 2); /* lowering again failed */
    for (int i = 0; i <= 16; i++) get(g, NO_ARGS);
    CHECK_EQ(count().audits - before.audits, 4 + 2 + 4);
    CHECK_EQ(count().differences - before.differences, 2);
    kiln_function_free(f);
    kiln_function_free(g);
    kiln_cache_close(cache);
    kiln__audit_set(false);
    CHECK_EQ(fake.links, fake.unlinks);
}

/* What is declared is no difference: watched, read by kiln_read(), of the environment, pushed. */
static int watched, read_inside;

static kiln_status print_all(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int value = 0;
    kiln_read(request, "m", "read_inside", &read_inside, sizeof read_inside, &value);
    const char *variable = kiln_request_env(request, "KILN_TEST_A"), *option = kiln_request_option(request, "unroll");
    return kiln_text_printf(text, "%d %d %s %s", watched, value, variable ? variable : "-", option ? option : "-");
}

static void test_declared(void **state)
{
    (void)state;
    struct fake fake;
    fake_init(&fake);
    kiln__audit_set(true);
    kiln_cache *cache = open_cache("");
    kiln_function *f = new_function(cache, &fake.compiler, "f", print_all, NULL);
    struct counts before = count();
    CHECK_STATUS(KILN_WATCH(f, watched), KILN_OK);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    for (int i = 0; i < 200; i++) {
        watched = i / 20 % 2;
        read_inside = i / 50;
        setenv("KILN_TEST_A", i / 10 % 2 ? "x" : "", 1);
        if (i / 5 % 2) kiln_option_push("unroll", "4");
        get(f, NO_ARGS);
        if (i / 5 % 2) kiln_option_pop();
    }
    CHECK_GT(count().audits, before.audits);
    CHECK_EQ(count().differences, before.differences);
    unsetenv("KILN_TEST_A");
    kiln_function_free(f);
    kiln_cache_close(cache);
    kiln__audit_set(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns), cmocka_unit_test(test_off),
                                       cmocka_unit_test(test_on), cmocka_unit_test(test_declared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
