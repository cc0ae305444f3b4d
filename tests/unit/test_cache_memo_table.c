/*
 * test_cache_memo_table.c - the memo table: made once, found by key and never by hash, removed without a visit to
 * other threads. Built a second time with all hashes equal.
 */
#include "cache_support.h"

#include <sched.h>

#include "base/pages.h"
#include "cache/memo/memo_table.h"

struct value {
    uint64_t id;
    _Atomic int alive;
};

static _Atomic unsigned made_count, released_count;

static struct value *value_new(uint64_t id)
{
    struct value *value = calloc(1, sizeof *value);
    value->id = id;
    value->alive = 1;
    made_count++;
    return value;
}

static void value_release(void *value)
{
    ((struct value *)value)->alive = 0;
    released_count++;
    free(value);
}

static void sign(const struct kiln_memo_table *memo, uint64_t id, struct kiln_signature *signature)
{
    kiln__memo_begin(memo, NULL, signature);
    kiln_sign_u64(signature, id);
}

static enum kiln_outcome make(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads, (void)err;
    *value = value_new(*(uint64_t *)context);
    return KILN_DONE;
}

static struct value *look_up(struct kiln_memo_table *memo, uint64_t id)
{
    struct kiln_signature signature;
    sign(memo, id, &signature);
    return kiln__memo_lookup(memo, &signature);
}

static struct value *get_or_make(struct kiln_memo_table *memo, uint64_t id, bool *made)
{
    struct kiln_signature signature;
    void *value = NULL;
    sign(memo, id, &signature);
    CHECK_EQ(kiln__memo_make(memo, &signature, make, &id, &value, made, NULL), KILN_DONE);
    return value;
}

static int set_up(void **state)
{
    struct kiln_memo_table *memo = malloc(sizeof *memo);
    made_count = released_count = 0;
    kiln__memo_init(memo, 63, KILN_LEVEL_CALL, value_release);
    *state = memo;
    return 0;
}

static int tear_down(void **state)
{
    kiln__memo_release(*state);
    CHECK_EQ(made_count, released_count);
    free(*state);
    return 0;
}

/* So much of an entry's size is in use elsewhere that entries, and small tables, stand in blocks. */
enum { ENTRY = sizeof(struct kiln_entry) + 5 * sizeof(uint64_t), OTHERS = (2 << 20) / 128 };
static void *others[OTHERS];

static int set_up_blocks(void **state)
{
    bool in_block;
    for (int i = 0; i < OTHERS; i++) others[i] = kiln__pages_new(ENTRY, &in_block);
    int status = set_up(state);
    get_or_make(*state, 1000000, NULL);
    CHECK_GT(kiln__pages_block_bytes(), 0);
    kiln__memo_clear(*state);
    made_count = released_count = 0;
    return status;
}

static int tear_down_blocks(void **state)
{
    int status = tear_down(state);
    CHECK_EQ(kiln__pages_block_bytes(), 0);
    for (int i = 0; i < OTHERS; i++) kiln__pages_free(others[i], ENTRY, false);
    return status;
}

enum { MANY = 400 };

static void test_many_keys(void **state)
{
    struct kiln_memo_table *memo = *state;
    bool made;
    for (uint64_t id = 0; id < MANY; id++) {
        CHECK_NULL(look_up(memo, id));
        CHECK_EQ(get_or_make(memo, id, &made)->id, id);
        CHECK_TRUE(made);
    }
    for (int round = 0; round < 2; round++)
        for (uint64_t id = 0; id < MANY; id++) CHECK_EQ(look_up(memo, id)->id, id);
    for (uint64_t id = 0; id < MANY; id++) {
        struct kiln_signature signature;
        sign(memo, id, &signature);
        CHECK_EQ(((struct value *)kiln__memo_peek(memo, &signature))->id, id);
        CHECK_EQ(get_or_make(memo, id, &made)->id, id);
        CHECK_FALSE(made);
    }
    CHECK_EQ(made_count, MANY);
}

/* Two tables with the same arguments, in one thread cache: ids keep them apart. */
static void test_two_tables(void **state)
{
    struct kiln_memo_table *memo = *state, other;
    kiln__memo_init(&other, 63, KILN_LEVEL_CALL, value_release);
    CHECK_GT(other.id, memo->id);
    for (uint64_t id = 0; id < 50; id++) {
        get_or_make(memo, id, NULL);
        CHECK_NULL(look_up(&other, id));
        struct kiln_signature signature;
        uint64_t theirs = id + 1000;
        void *value;
        sign(&other, id, &signature);
        CHECK_EQ(kiln__memo_make(&other, &signature, make, &theirs, &value, NULL, NULL), KILN_DONE);
        CHECK_EQ(look_up(memo, id)->id, id);
        CHECK_EQ(look_up(&other, id)->id, theirs);
    }
    kiln__memo_clear(&other);
    for (uint64_t id = 0; id < 50; id++) {
        CHECK_NULL(look_up(&other, id));
        CHECK_EQ(look_up(memo, id)->id, id);
    }
    kiln__memo_release(&other);
}

static void test_clear(void **state)
{
    struct kiln_memo_table *memo = *state;
    for (uint64_t id = 0; id < 20; id++) get_or_make(memo, id, NULL);
    for (uint64_t id = 0; id < 20; id++) look_up(memo, id); /* into the thread cache */
    kiln__memo_clear(memo);
    CHECK_EQ(released_count, 20);
    for (uint64_t id = 0; id < 20; id++) CHECK_NULL(look_up(memo, id));
    get_or_make(memo, 3, NULL);
    CHECK_EQ(look_up(memo, 3)->id, 3);
    kiln__memo_clear(memo);
    kiln__memo_clear(memo);
    CHECK_EQ(released_count, 21);
}

static bool is_odd(const struct kiln_entry *entry, const void *context)
{
    (void)context;
    return ((struct value *)entry->value)->id % 2;
}

static void test_remove(void **state)
{
    struct kiln_memo_table *memo = *state;
    kiln__memo_remove(memo, is_odd, NULL); /* nothing there */
    for (uint64_t id = 0; id < MANY; id++) get_or_make(memo, id, NULL);
    kiln__memo_remove(memo, is_odd, NULL);
    CHECK_EQ(released_count, MANY / 2);
    CHECK_EQ(memo->count, MANY / 2);
    for (uint64_t id = 0; id < MANY; id++) {
        struct kiln_signature signature;
        sign(memo, id, &signature);
        const struct value *value = kiln__memo_peek(memo, &signature);
        CHECK_TRUE(id % 2 ? !value : value->id == id);
    }
    bool made;
    for (uint64_t id = 0; id < MANY; id++) {
        get_or_make(memo, id, &made);
        CHECK_EQ(made, id % 2);
    }
}

/* A value that runs is not released under its user; it is at the next clear. */
static void test_pin(void **state)
{
    struct kiln_memo_table *memo = *state;
    struct kiln_signature signature;
    struct value *value = get_or_make(memo, 1, NULL);
    sign(memo, 1, &signature);
    CHECK_TRUE(kiln__memo_pin(memo, &signature, value));
    kiln__memo_clear(memo);
    CHECK_EQ(value->alive, 1);
    CHECK_EQ(released_count, 0);
    CHECK_FALSE(kiln__memo_pin(memo, &signature, value)); /* too late: look up again */
    kiln__memo_clear(memo);
    CHECK_EQ(released_count, 0);
    kiln__memo_unpin();
    kiln__memo_clear(memo);
    CHECK_EQ(released_count, 1);
}

/* ---- made while cleared --------------------------------------------------------------------------------------- */

struct clearing {
    struct kiln_memo_table *memo;
    uint64_t id;
};

static enum kiln_outcome make_and_clear(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    struct clearing *clearing = context;
    kiln__memo_clear(clearing->memo);
    return make(&clearing->id, value, reads, err);
}

static void test_cleared_while_made(void **state)
{
    struct kiln_memo_table *memo = *state;
    struct clearing clearing = {memo, 5};
    struct kiln_signature signature;
    void *value = NULL;
    sign(memo, 5, &signature);
    CHECK_EQ(kiln__memo_make(memo, &signature, make_and_clear, &clearing, &value, NULL, NULL), KILN_DONE);
    CHECK_EQ(((struct value *)value)->id, 5); /* handed out, not kept */
    CHECK_EQ(released_count, 0);
    CHECK_NULL(look_up(memo, 5));
    kiln__memo_clear(memo);
    CHECK_EQ(released_count, 1);
}

static enum kiln_outcome fail_to_make(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)context, (void)value, (void)reads;
    return kiln__outcome(kiln__fail(err, KILN_LOWER_FAILED, "no"), err);
}

static void test_failure_leaves_nothing(void **state)
{
    struct kiln_memo_table *memo = *state;
    struct kiln_signature signature;
    kiln_error err = {0};
    void *value = &err;
    sign(memo, 5, &signature);
    CHECK_EQ(kiln__memo_make(memo, &signature, fail_to_make, NULL, &value, NULL, &err), KILN_FAILED);
    CHECK_STATUS(err.status, KILN_LOWER_FAILED, &err);
    CHECK_EQ(value, &err);
    CHECK_STR(err.text, "no");
    CHECK_NULL(memo->in_flight);
    CHECK_NULL(look_up(memo, 5));
    CHECK_EQ(get_or_make(memo, 5, NULL)->id, 5);
}

struct nested {
    struct kiln_memo_table *memo;
    enum kiln_outcome outcome;
};

static enum kiln_outcome make_itself(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    struct nested *nested = context;
    struct kiln_signature signature;
    void *inner;
    uint64_t id = 9;
    sign(nested->memo, id, &signature);
    nested->outcome = kiln__memo_make(nested->memo, &signature, make, &id, &inner, NULL, NULL);
    return make(&id, value, reads, err);
}

static void test_recursion(void **state)
{
    struct kiln_memo_table *memo = *state;
    struct nested nested = {memo, KILN_DONE};
    struct kiln_signature signature;
    void *value;
    sign(memo, 9, &signature);
    CHECK_EQ(kiln__memo_make(memo, &signature, make_itself, &nested, &value, NULL, NULL), KILN_DONE);
    CHECK_EQ(nested.outcome, KILN_RECURSIVE);
    CHECK_EQ(made_count, 1);
    sign(memo, 10, &signature); /* another key within it is fine */
    CHECK_EQ(kiln__memo_make(memo, &signature, make_itself, &nested, &value, NULL, NULL), KILN_DONE);
    CHECK_EQ(nested.outcome, KILN_DONE);
}

static void test_nearest(void **state)
{
    struct kiln_memo_table *memo = *state;
    struct kiln_signature signature;
    sign(memo, 7, &signature);
    CHECK_NULL(kiln__memo_nearest(memo, &signature));
    kiln__memo_nearest_done(memo);
    get_or_make(memo, 8, NULL);
    const struct kiln_entry *entry = kiln__memo_nearest(memo, &signature);
    CHECK_NOT_NULL(entry);
    CHECK_EQ(((struct value *)entry->value)->id, 8);
    kiln__memo_nearest_done(memo);
}

/* ---- readers against removers --------------------------------------------------------------------------------- */

struct storm {
    struct kiln_memo_table *memo;
    _Atomic bool stop;
    _Atomic unsigned wrong, runs;
};

/* As a compiled call does it: look up, pin, run, unpin. */
static void *run_values(void *context)
{
    struct storm *storm = context;
    for (uint64_t i = 0; !storm->stop; i++) {
        uint64_t id = i % 7;
        struct kiln_signature signature;
        sign(storm->memo, id, &signature);
        void *value = kiln__memo_lookup(storm->memo, &signature);
        if (!value && kiln__memo_make(storm->memo, &signature, make, &id, &value, NULL, NULL)) storm->wrong++;
        if (kiln__memo_pin(storm->memo, &signature, value)) {
            struct value *running = value;
            if (running->id != id || !running->alive) storm->wrong++;
            sched_yield();
            if (!running->alive) storm->wrong++;
            storm->runs++;
        }
        kiln__memo_unpin();
    }
    return NULL;
}

static void test_readers_against_clear(void **state)
{
    struct storm storm = {.memo = *state};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, run_values, &storm);
    for (int i = 0; i < 400; i++) {
        kiln__memo_clear(storm.memo);
        unsigned runs = storm.runs;
        while (storm.runs < runs + 3) sched_yield();
    }
    storm.stop = true;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(storm.wrong, 0);
    CHECK_GT(released_count, 0);
}

/* Kernels are counted references: what a reader acquired stays though the table let go of it. */
struct counted {
    _Atomic int refs;
    uint64_t id;
};

static void counted_acquire(void *value)
{
    ((struct counted *)value)->refs++;
}

static void counted_release(void *value)
{
    if (--((struct counted *)value)->refs == 0) {
        released_count++;
        free(value);
    }
}

static enum kiln_outcome make_counted(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads, (void)err;
    struct counted *counted = calloc(1, sizeof *counted);
    counted->refs = 1;
    counted->id = *(uint64_t *)context;
    made_count++;
    *value = counted;
    return KILN_DONE;
}

static void *use_counted(void *context)
{
    struct storm *storm = context;
    for (uint64_t i = 0; !storm->stop; i++) {
        uint64_t id = i % 5;
        struct kiln_signature signature;
        sign(storm->memo, id, &signature);
        void *value = kiln__memo_peek(storm->memo, &signature);
        if (!value && kiln__memo_make(storm->memo, &signature, make_counted, &id, &value, NULL, NULL)) storm->wrong++;
        if (((struct counted *)value)->id != id) storm->wrong++;
        counted_release(value);
        storm->runs++;
    }
    return NULL;
}

static bool is_everything(const struct kiln_entry *entry, const void *context)
{
    (void)entry, (void)context;
    return true;
}

static bool is_nothing(const struct kiln_entry *entry, const void *context)
{
    (void)entry, (void)context;
    return false;
}

static void test_readers_against_remove(void **state)
{
    (void)state;
    struct kiln_memo_table memo;
    kiln__memo_init(&memo, 63, KILN_LEVEL_KERNEL, counted_release);
    memo.acquire = counted_acquire;
    struct storm storm = {.memo = &memo};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, use_counted, &storm);
    for (int i = 0; i < 400; i++) {
        kiln__memo_remove(&memo, i % 2 ? is_everything : is_nothing, NULL);
        unsigned runs = storm.runs;
        while (storm.runs < runs + 3) sched_yield();
    }
    storm.stop = true;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(storm.wrong, 0);
    kiln__memo_release(&memo);
}

/* ---- through kiln_get ----------------------------------------------------------------------------------------- */

static void test_functions(void **state)
{
    (void)state;
    kiln_cache *cache = open_cache("");
    struct fake fake;
    fake_init(&fake);
    kiln_function *functions[20];
    enum { ARGUMENTS = 20 };
    char text[20][16];
    for (int i = 0; i < 20; i++) {
        snprintf(text[i], sizeof text[i], "text %d", i);
        functions[i] = new_text(cache, &fake.compiler, "f", text[i]);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 20; i++)
            for (int64_t argument = 0; argument < ARGUMENTS; argument++)
                CHECK_STR(get_i64(functions[i], argument)->text, text[i]);
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    CHECK_EQ(counters.calls, 3 * 20 * ARGUMENTS);
    CHECK_EQ(counters.front_hits + counters.process_hits, 2 * 20 * ARGUMENTS);
    CHECK_EQ(counters.compiles, 20 * ARGUMENTS);
    CHECK_EQ(counters.links, 20 * ARGUMENTS);
    for (int i = 0; i < 20; i++) kiln_function_free(functions[i]);
    kiln_cache_close(cache);
    CHECK_EQ(fake.unlinks, fake.links);
}

#ifdef KILN_TEST_EQUAL_HASHES
static void test_hashes_are_equal(void **state)
{
    (void)state;
    CHECK_EQ(kiln__hash("a", 1), kiln__hash("b", 1));
}
#endif

#define WITH_RESULTS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#define IN_BLOCKS(test) {#test " in blocks", test, set_up_blocks, tear_down_blocks, NULL}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RESULTS(test_many_keys),
        WITH_RESULTS(test_two_tables),
        WITH_RESULTS(test_clear),
        WITH_RESULTS(test_remove),
        WITH_RESULTS(test_pin),
        WITH_RESULTS(test_cleared_while_made),
        WITH_RESULTS(test_failure_leaves_nothing),
        WITH_RESULTS(test_recursion),
        WITH_RESULTS(test_nearest),
        WITH_RESULTS(test_readers_against_clear),
        WITH_RESULTS(test_readers_against_remove),
        IN_BLOCKS(test_many_keys),
        IN_BLOCKS(test_remove),
        IN_BLOCKS(test_readers_against_clear),
        cmocka_unit_test(test_functions),
#ifdef KILN_TEST_EQUAL_HASHES
        cmocka_unit_test(test_hashes_are_equal),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
