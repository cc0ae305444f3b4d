/*
 * test_cache_call.c - the recipe of a call: each call is counted once, as what it was. With steps of the test's own,
 * and through kiln_get().
 */
#include "cache_support.h"

#include <sched.h>

#include "cache/call.h"
#include "cache/memo/in_flight.h"

/* ---- a kind of calls ------------------------------------------------------------------------------------------ */

static const int the_value = 1;

/* What the steps of the next call do, and did. */
struct script {
    enum kiln_outcome prepared, made;
    bool is_from_kept;
    struct world *inner;   /* the maker asks for its own key there */
    struct waiter *waiter; /* started by the maker, which goes on when it waits */
    unsigned prepares, explains, makes, audits;
};

struct call {
    struct kiln_call call; /* first */
    struct script *script;
};

struct world {
    kiln_cache *cache;
    struct kiln_memo_table memo;
    struct script script;
};

static enum kiln_outcome end_as(enum kiln_outcome outcome, kiln_error *err)
{
    if (outcome == KILN_FAILED) kiln__fail(err, KILN_LOWER_FAILED, "as the script says");
    return outcome;
}

static enum kiln_outcome prepare(struct kiln_call *call, kiln_error *err)
{
    struct script *script = ((struct call *)call)->script;
    script->prepares++;
    return end_as(script->prepared, err);
}

static void explain(struct kiln_call *call)
{
    ((struct call *)call)->script->explains++;
}

static enum kiln_outcome run(struct world *world, bool is_counted, void **value, kiln_error *err);

/* Another thread that calls with the same key. */
struct waiter {
    struct world *world;
    pthread_t thread;
    enum kiln_outcome outcome;
    void *value;
    kiln_error error;
};

static void *call_and_wait(void *context)
{
    struct waiter *waiter = context;
    waiter->outcome = run(waiter->world, false, &waiter->value, &waiter->error);
    return NULL;
}

static unsigned count_waiters(struct kiln_memo_table *memo)
{
    pthread_mutex_lock(&memo->lock);
    unsigned count = memo->in_flight->waiters;
    pthread_mutex_unlock(&memo->lock);
    return count;
}

static void start_waiter(struct waiter *waiter)
{
    CHECK_EQ(pthread_create(&waiter->thread, NULL, call_and_wait, waiter), 0);
    while (!count_waiters(&waiter->world->memo)) sched_yield();
}

static enum kiln_outcome make(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    struct call *call = context;
    struct script *script = call->script;
    struct world *inner = script->inner;
    script->makes++;
    if (script->waiter) start_waiter(script->waiter);
    if (inner) {
        void *unused;
        kiln_error error = {0};
        CHECK_EQ(run(inner, false, &unused, &error), KILN_FAILED);
        CHECK_STATUS(error.status, KILN_INVALID);
        CHECK_STR(error.text, "scripted: make() asks for the very entry it is making, or nests too deep");
    }
    call->call.is_from_kept = script->is_from_kept;
    *value = (void *)&the_value;
    return end_as(script->made, err);
}

static void audit(struct kiln_call *call, void *value)
{
    CHECK_EQ(value, &the_value);
    ((struct call *)call)->script->audits++;
}

static const struct kiln_call_steps steps = {
    .maker = "make()", .prepare = prepare, .explain = explain, .make = make, .audit = audit};

/* One call with the one key of this world. */
static enum kiln_outcome run(struct world *world, bool is_counted, void **value, kiln_error *err)
{
    struct kiln_signature signature;
    kiln__memo_begin(&world->memo, NULL, &signature);
    *value = kiln__memo_lookup(&world->memo, &signature);
    if (*value) return KILN_DONE;
    struct call call = {.call = {.steps = &steps,
                                 .cache = world->cache,
                                 .memo = &world->memo,
                                 .signature = &signature,
                                 .name = "scripted",
                                 .is_counted = is_counted},
                        .script = &world->script};
    return kiln__call_make(&call.call, value, err);
}

static void expect(struct world *world, enum kiln_outcome expected)
{
    void *value;
    kiln_error err = {0};
    CHECK_EQ(run(world, false, &value, &err), expected);
    if (expected == KILN_DONE) CHECK_EQ(value, &the_value);
    if (expected == KILN_FAILED) CHECK_STR(err.text, "as the script says");
}
#define expect(...) CHECK_CALL(expect, __VA_ARGS__)

static void release_nothing(void *value)
{
    (void)value;
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    world->cache = open_cache("");
    kiln__memo_init(&world->memo, world->cache->index, KILN_LEVEL_CALL, release_nothing);
    world->memo.keep = release_nothing;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln__memo_release(&world->memo);
    kiln_cache_close(world->cache);
    free(world);
    return 0;
}

/* ---- outcomes ------------------------------------------------------------------------------------------------- */

static void test_made_is_a_miss_then_hits(void **state)
{
    struct world *world = *state;
    expect(world, KILN_DONE);
    CHECK_COUNTERS(world->cache, .calls = 1);
    expect(world, KILN_DONE);
    CHECK_COUNTERS(world->cache, .calls = 2, .front_hits = 1);
    CHECK_EQ(world->script.prepares, 1);
    CHECK_EQ(world->script.explains, 1);
    CHECK_EQ(world->script.makes, 1);
}

static void test_made_from_what_is_kept_is_a_hit(void **state)
{
    struct world *world = *state;
    world->script.is_from_kept = true;
    expect(world, KILN_DONE);
    CHECK_COUNTERS(world->cache, .calls = 1, .process_hits = 1);
}

static void test_a_failure_is_a_miss(void **state)
{
    struct world *world = *state;
    world->script.prepared = KILN_FAILED;
    expect(world, KILN_FAILED);
    CHECK_COUNTERS(world->cache, .calls = 1);
    CHECK_EQ(world->script.explains + world->script.makes, 0);
    world->script.prepared = KILN_DONE;
    world->script.made = KILN_FAILED;
    expect(world, KILN_FAILED);
    world->script.is_from_kept = true; /* failed all the same */
    expect(world, KILN_FAILED);
    CHECK_COUNTERS(world->cache, .calls = 3);
    kiln__call_failed(world->cache);
    CHECK_COUNTERS(world->cache, .calls = 4);
}

static void test_changed_is_no_call_yet(void **state)
{
    struct world *world = *state;
    world->script.prepared = KILN_CHANGED;
    expect(world, KILN_CHANGED);
    world->script.prepared = KILN_DONE;
    world->script.made = KILN_CHANGED;
    expect(world, KILN_CHANGED);
    CHECK_COUNTERS(world->cache, .calls = 0);
    world->script.made = KILN_DONE;
    expect(world, KILN_DONE);
    CHECK_COUNTERS(world->cache, .calls = 1);
}

static void test_recursion_fails_and_both_are_misses(void **state)
{
    struct world *world = *state;
    world->script.inner = world;
    expect(world, KILN_DONE);
    CHECK_COUNTERS(world->cache, .calls = 2);
    CHECK_EQ(world->script.makes, 1);
}

static void test_part_of_another_call_is_not_counted(void **state)
{
    struct world *world = *state;
    void *value;
    kiln_error err;
    world->script.made = KILN_FAILED;
    CHECK_EQ(run(world, true, &value, &err), KILN_FAILED);
    world->script.made = KILN_DONE;
    CHECK_EQ(run(world, true, &value, &err), KILN_DONE);
    CHECK_COUNTERS(world->cache, .calls = 0);
}

static void test_audits_are_hits_of_the_process(void **state)
{
    struct world *world = *state;
    world->memo.audited = true;
    for (int i = 0; i <= 8; i++) expect(world, KILN_DONE); /* hits 2, 4 and 8 are audited */
    CHECK_EQ(world->script.audits, 3);
    CHECK_EQ(world->script.makes, 1);
    CHECK_COUNTERS(world->cache, .calls = 9, .process_hits = 8);
}

static void expect_waiter(struct world *world, enum kiln_outcome outcome)
{
    struct waiter waiter = {.world = world};
    world->script.waiter = &waiter;
    world->script.made = outcome;
    expect(world, outcome);
    pthread_join(waiter.thread, NULL);
    CHECK_EQ(waiter.outcome, outcome);
    if (outcome == KILN_DONE) CHECK_EQ(waiter.value, &the_value);
    if (outcome == KILN_FAILED) CHECK_STATUS(waiter.error.status, KILN_LOWER_FAILED);
    CHECK_EQ(world->script.makes, 1);
    world->script.makes = 0;
}
#define expect_waiter(...) CHECK_CALL(expect_waiter, __VA_ARGS__)

static void test_who_waits_counts_what_it_got(void **state)
{
    struct world *world = *state;
    expect_waiter(world, KILN_CHANGED);
    CHECK_COUNTERS(world->cache, .calls = 0);
    expect_waiter(world, KILN_FAILED);
    CHECK_COUNTERS(world->cache, .calls = 2);
    expect_waiter(world, KILN_DONE);
    CHECK_COUNTERS(world->cache, .calls = 4, .process_hits = 1);
}

/* ---- kiln_get() ----------------------------------------------------------------------------------------------- */

static int64_t watched;

struct lowering {
    bool changes_it; /* lower() sets the watched value to 2 */
    kiln_function *asks_for;
    kiln_status told;
};

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    struct lowering *lowering = payload;
    void *executable;
    if (lowering->changes_it) watched = 2;
    if (lowering->asks_for) lowering->told = kiln_get(lowering->asks_for, NO_ARGS, NULL, &executable, NULL);
    return kiln_text_printf(text, "watched %lld", (long long)watched);
}

/* The first try is no call: the second one finds what an earlier call made. */
static void test_get_after_a_change_is_the_hit_it_became(void **state)
{
    struct world *world = *state;
    struct fake fake;
    struct lowering lowering = {0};
    kiln_error err;
    fake_init(&fake);
    kiln_function *f = new_function(world->cache, &fake.compiler, "f", lower, &lowering);
    CHECK_STATUS(kiln_watch(f, "test", "watched", &watched, sizeof watched, &err), KILN_OK);
    watched = 2;
    CHECK_STR(get(f, NO_ARGS)->text, "watched 2");
    watched = 1;
    lowering.changes_it = true;
    CHECK_STR(get(f, NO_ARGS)->text, "watched 2");
    CHECK_COUNTERS(world->cache, .calls = 2, .front_hits = 1, .traces = 2, .compiles = 1, .links = 1, .drifts = 1);
    kiln_function_free(f);
}

static void test_get_of_itself_is_a_miss_each(void **state)
{
    struct world *world = *state;
    struct fake fake;
    struct lowering lowering = {0};
    fake_init(&fake);
    kiln_function *f = new_function(world->cache, &fake.compiler, "f", lower, &lowering);
    lowering.asks_for = f;
    get(f, NO_ARGS);
    CHECK_STATUS(lowering.told, KILN_INVALID);
    CHECK_COUNTERS(world->cache, .calls = 2, .traces = 1, .compiles = 1, .links = 1);
    kiln_function_free(f);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_made_is_a_miss_then_hits),
        WITH_WORLD(test_made_from_what_is_kept_is_a_hit),
        WITH_WORLD(test_a_failure_is_a_miss),
        WITH_WORLD(test_changed_is_no_call_yet),
        WITH_WORLD(test_recursion_fails_and_both_are_misses),
        WITH_WORLD(test_part_of_another_call_is_not_counted),
        WITH_WORLD(test_audits_are_hits_of_the_process),
        WITH_WORLD(test_who_waits_counts_what_it_got),
        WITH_WORLD(test_get_after_a_change_is_the_hit_it_became),
        WITH_WORLD(test_get_of_itself_is_a_miss_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
