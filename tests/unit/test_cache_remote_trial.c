/*
 * test_cache_remote_trial.c - kiln_remote_try(): what people are told of a remote that works, that nobody may write,
 * that is down, and of one that gives what nobody asked for.
 */
#include "remote_support.h"

struct world {
    char folder[64];
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    open_stores();
    make_key(world->folder, 1);
    make_key(world->folder, 2);
    sign_with(world->folder, 1);
    trust(world->folder, "trusted", 1);
    setenv("KILN_REMOTE", "plain://0", 1);
    setenv("KILN_REMOTE_TIMEOUT", "50", 1);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    setenv("KILN_REMOTE", "", 1);
    setenv("KILN_SIGN_KEY", "", 1);
    setenv("KILN_TRUSTED_KEYS", "", 1);
    remove_folder(world->folder);
    close_stores();
    free(world);
    return 0;
}

static kiln_remote_trial try_remote(size_t index)
{
    kiln_remote_trial trial = {.struct_size = sizeof trial};
    kiln_error err = {0};
    CHECK_OK(kiln_remote_try(index, &trial, &err), &err);
    return trial;
}
#define try_remote(...) CHECK_CALL(try_remote, __VA_ARGS__)

static void test_works(void **state)
{
    (void)state;
    for (unsigned again = 1; again <= 2; again++) {
        kiln_remote_trial trial = try_remote(0);
        CHECK_EQ(trial.read.status, KILN_OK);
        CHECK_EQ(trial.write.status, KILN_OK);
        CHECK_GT(trial.round_trip_ns, 0);
        CHECK_FALSE(trial.has_leases);
        CHECK_STR(trial.label, "plain://0");
        CHECK_EQ(stores[0].puts, again);
        CHECK_EQ(stores[0].closes, again);
        CHECK_EQ(count_stored(&stores[0]), 1);
    }
}

static void test_several(void **state)
{
    (void)state;
    kiln_remote_trial trial = {.struct_size = sizeof trial};
    setenv("KILN_REMOTE", "  plain://1\tleased://0 ", 1);
    CHECK_FALSE(try_remote(0).has_leases);
    CHECK_TRUE(try_remote(1).has_leases);
    CHECK_EQ(stores[0].puts, 1);
    CHECK_EQ(stores[1].puts, 1);
    CHECK_EQ(kiln_remote_try(2, &trial, NULL), KILN_REMOTE_ABSENT);
    setenv("KILN_REMOTE", "", 1);
    CHECK_EQ(kiln_remote_try(0, &trial, NULL), KILN_REMOTE_ABSENT);
}

static void test_only_reads(void **state)
{
    struct world *world = *state;
    sign_with(world->folder, 0);
    kiln_remote_trial trial = try_remote(0);
    CHECK_EQ(trial.read.status, KILN_REMOTE_ABSENT);
    CHECK_EQ(trial.write.status, KILN_REMOTE_ABSENT);
    CHECK_EQ(stores[0].puts, 0);
    sign_with(world->folder, 1);
    CHECK_EQ(try_remote(0).write.status, KILN_OK);
    sign_with(world->folder, 0);
    CHECK_EQ(try_remote(0).read.status, KILN_OK);
}

static void test_signed_by_a_stranger(void **state)
{
    struct world *world = *state;
    sign_with(world->folder, 2); /* one's own key is believed; then it is no more */
    CHECK_EQ(try_remote(0).read.status, KILN_OK);
    sign_with(world->folder, 0);
    kiln_remote_trial trial = try_remote(0);
    CHECK_EQ(trial.read.status, KILN_INVALID);
    CHECK_CONTAINS(trial.read.text, "not trusted");
    CHECK_EQ(stores[0].puts, 1);
}

static void test_is_down(void **state)
{
    (void)state;
    static const struct {
        enum get_fault get;
        enum put_fault put;
        kiln_status read, write;
        const char *read_text, *write_text;
    } cases[] = {
        {GETS_ERROR, PUTS_ERROR, KILN_IO, KILN_IO, "does not answer", "does not take anything"},
        {GETS_STALL, PUTS_STALL, KILN_IO, KILN_IO, "does not answer", "does not take anything"},
        {GETS_WELL, PUTS_ERROR, KILN_REMOTE_ABSENT, KILN_IO, "", "does not take anything"},
        {GETS_NOTHING, PUTS_WELL, KILN_REMOTE_ABSENT, KILN_OK, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(stores[0].slots, 0, sizeof stores[0].slots);
        stores[0].get_fault = cases[i].get;
        stores[0].put_fault = cases[i].put;
        kiln_remote_trial trial = try_remote(0);
        CHECK_EQ(trial.read.status, cases[i].read);
        CHECK_EQ(trial.write.status, cases[i].write);
        CHECK_CONTAINS(trial.read.text, cases[i].read_text);
        CHECK_CONTAINS(trial.write.text, cases[i].write_text);
        CHECK_EQ(trial.round_trip_ns > 0, cases[i].read >= 0);
    }
}

static void test_wrong_answers(void **state)
{
    (void)state;
    static const enum get_fault faults[] = {GETS_EMPTY,   GETS_GARBAGE, GETS_TRUNCATED,
                                            GETS_FLIPPED, GETS_BOMB,    GETS_HUGE};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        stores[0].get_fault = faults[i];
        kiln_remote_trial trial = try_remote(0);
        CHECK_EQ(trial.read.status, KILN_INVALID);
        CHECK_NE(trial.read.text[0], '\0');
        CHECK_EQ(trial.write.status, KILN_OK);
    }
}

static void test_cant_be_used(void **state)
{
    struct world *world = *state;
    kiln_remote_trial trial = {.struct_size = sizeof trial};
    kiln_error err = {0};
    setenv("KILN_REMOTE", "gopher://me:secret@host/x", 1);
    CHECK_EQ(kiln_remote_try(0, &trial, &err), KILN_INVALID);
    CHECK_CONTAINS(err.text, "no driver for gopher://");
    CHECK_STR(trial.label, "gopher://***@host/x");
    setenv("KILN_REMOTE", "plain://0", 1);
    sign_with(world->folder, 0);
    setenv("KILN_TRUSTED_KEYS", "", 1);
    CHECK_EQ(kiln_remote_try(0, &trial, &err), KILN_INVALID);
    CHECK_CONTAINS(err.text, "kiln key trust");
    CHECK_EQ(stores[0].gets + stores[0].puts, 0);
    CHECK_EQ(kiln_remote_try(0, NULL, &err), KILN_INVALID);
    trial.struct_size--;
    CHECK_EQ(kiln_remote_try(0, &trial, &err), KILN_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_works),   TEST(test_several),       TEST(test_only_reads),   TEST(test_signed_by_a_stranger),
        TEST(test_is_down), TEST(test_wrong_answers), TEST(test_cant_be_used),
    };
    kiln_remote_add(&plain_driver, NULL);
    kiln_remote_add(&leased_driver, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
