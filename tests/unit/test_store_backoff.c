/*
 * test_store_backoff.c - pauses of a remote that fails: how long, who tries next, what is told.
 */
#include "store/remotes/backoff.h"

#include "support/check.h"

static const uint64_t second = 1000000000ull;

/* 1 s, 2 s, ... 60 s; nobody tries before a pause is over, one does then. */
static void test_growing_pauses(void **state)
{
    (void)state;
    static const unsigned pauses_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    struct kiln_backoff backoff;
    uint64_t now = 5 * second;
    kiln__backoff_init(&backoff);
    CHECK_TRUE(kiln__backoff_may_try(&backoff, now));
    CHECK_TRUE(kiln__backoff_may_try(&backoff, now)); /* while it works, everybody may */
    for (size_t i = 0; i < sizeof pauses_s / sizeof *pauses_s; i++) {
        CHECK_CONTEXT("pause %zu", i);
        CHECK_EQ(kiln__backoff_failed(&backoff, now), i == 0);
        now += pauses_s[i] * second - 1;
        CHECK_FALSE(kiln__backoff_may_try(&backoff, now));
        now++;
        CHECK_TRUE(kiln__backoff_may_try(&backoff, now));
        CHECK_FALSE(kiln__backoff_may_try(&backoff, now)); /* one is trying */
    }
    CHECK_TRUE(kiln__backoff_worked(&backoff));
    CHECK_FALSE(kiln__backoff_worked(&backoff));
    CHECK_TRUE(kiln__backoff_may_try(&backoff, now));
    CHECK_TRUE(kiln__backoff_failed(&backoff, now)); /* from the beginning */
    CHECK_TRUE(kiln__backoff_may_try(&backoff, now + second));
    kiln__backoff_release(&backoff);
}

/* Eight calls that were under way when it went down are one failure. */
static void test_failures_at_once(void **state)
{
    (void)state;
    struct kiln_backoff backoff;
    kiln__backoff_init(&backoff);
    for (int i = 0; i < 8; i++) CHECK_EQ(kiln__backoff_failed(&backoff, second), i == 0);
    CHECK_TRUE(kiln__backoff_may_try(&backoff, 2 * second));
    kiln__backoff_release(&backoff);
}

/* Who tries and never says how it went, because the process was leaving, does not keep others from it for ever. */
static void test_silent_try(void **state)
{
    (void)state;
    struct kiln_backoff backoff;
    kiln__backoff_init(&backoff);
    kiln__backoff_failed(&backoff, second);
    CHECK_TRUE(kiln__backoff_may_try(&backoff, 2 * second));
    CHECK_FALSE(kiln__backoff_may_try(&backoff, 3 * second - 1));
    CHECK_TRUE(kiln__backoff_may_try(&backoff, 3 * second));
    kiln__backoff_release(&backoff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing_pauses),
        cmocka_unit_test(test_failures_at_once),
        cmocka_unit_test(test_silent_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
