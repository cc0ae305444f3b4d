/*
 * test_cache_bytes_threads.c - tickets among the threads of a process, with a folder and without: one thread makes the
 * bytes, the others wait; who abandons, stalls, ends, or asks twice.
 *
 * Bounds that must not matter are a minute; those that must end a wait are short, and so is what the test then waits.
 */
#include "bytes_support.h"

#include "store/claim.h"

struct world {
    char folder[64];
    kiln_cache *cache;
};

static int set_up_folder(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    world->cache = open_cache(world->folder);
    *state = world;
    return 0;
}

static int set_up_memory(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    world->cache = open_cache("");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    if (world->cache) kiln_cache_close(world->cache);
    remove_folder(world->folder);
    free(world);
    return 0;
}

/* ---- askers ----------------------------------------------------------------------------------------------------- */

struct asker {
    kiln_cache *cache;
    uint32_t wait_ms;
    pthread_t thread;
    kiln_status status;
    kiln_store_ticket *ticket;
    _Atomic unsigned has_begun, is_done;
};

static void *ask(void *context)
{
    struct asker *asker = context;
    asker->has_begun = 1;
    asker->status = get_text(asker->cache, "key", asker->wait_ms, "value", &asker->ticket);
    asker->is_done = 1;
    return NULL;
}

static void start(struct asker *asker, kiln_cache *cache, uint32_t wait_ms)
{
    *asker = (struct asker){.cache = cache, .wait_ms = wait_ms};
    CHECK_EQ(pthread_create(&asker->thread, NULL, ask, asker), 0);
    CHECK_TRUE(wait_for(&asker->has_begun, 1));
}

static kiln_status join(struct asker *asker)
{
    pthread_join(asker->thread, NULL);
    return asker->status;
}

/* ---- one makes -------------------------------------------------------------------------------------------------- */

static void test_waiters_get_the_bytes(void **state)
{
    enum { ASKERS = 6 };
    struct world *world = *state;
    struct asker askers[ASKERS];
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    for (unsigned i = 0; i < ASKERS; i++) start(&askers[i], world->cache, PATIENCE_MS);
    sleep_ms(20);
    for (unsigned i = 0; i < ASKERS; i++) CHECK_FALSE(askers[i].is_done);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    for (unsigned i = 0; i < ASKERS; i++) {
        CHECK_OK(join(&askers[i]), NULL);
        CHECK_NULL(askers[i].ticket);
    }
}

struct racer {
    kiln_cache *cache;
    pthread_barrier_t *line;
    _Atomic unsigned *made;
    pthread_t thread;
    bool is_right;
};

static void *race(void *context)
{
    enum { KEYS = 40 };
    struct racer *racer = context;
    char key[16];
    pthread_barrier_wait(racer->line);
    racer->is_right = true;
    for (unsigned i = 0; i < KEYS; i++) {
        kiln_store_ticket *ticket = NULL;
        snprintf(key, sizeof key, "key %u", i);
        kiln_status status = get_text(racer->cache, key, PATIENCE_MS, key, &ticket);
        if (status == KILN_STORE_MISS) {
            atomic_fetch_add(racer->made, 1);
            status = put_text(racer->cache, key, key, ticket);
        }
        racer->is_right &= status == KILN_OK;
    }
    return NULL;
}

/* All at once: each key is made once. */
static void test_race(void **state)
{
    enum { RACERS = 6, KEYS = 40 };
    struct world *world = *state;
    struct racer racers[RACERS];
    pthread_barrier_t line;
    _Atomic unsigned made = 0;
    pthread_barrier_init(&line, NULL, RACERS);
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){.cache = world->cache, .line = &line, .made = &made};
        CHECK_EQ(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        pthread_join(racers[i].thread, NULL);
        CHECK_TRUE(racers[i].is_right);
    }
    CHECK_EQ(made, KEYS);
    pthread_barrier_destroy(&line);
}

/* Two caches of one folder are as two processes. */
static void test_two_caches(void **state)
{
    struct world *world = *state;
    struct asker asker;
    kiln_cache *other = open_cache(world->folder);
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    start(&asker, other, PATIENCE_MS);
    sleep_ms(20);
    CHECK_FALSE(asker.is_done);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(join(&asker), NULL);
    CHECK_COUNTERS(other, .disk_hits = 1);
    kiln_cache_close(other);
}

/* ---- nothing is made -------------------------------------------------------------------------------------------- */

/* Of those who wait one gets a ticket, and the others wait for that one. */
static void test_abandoned(void **state)
{
    enum { ASKERS = 3 };
    struct world *world = *state;
    struct asker askers[ASKERS];
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    for (unsigned i = 0; i < ASKERS; i++) start(&askers[i], world->cache, PATIENCE_MS);
    sleep_ms(20);
    kiln_store_abandon(ticket);
    unsigned holders = 0, holder = 0;
    for (unsigned ms = 0; ms < PATIENCE_MS && !holders; ms++, sleep_ms(1))
        for (unsigned i = 0; i < ASKERS; i++)
            if (askers[i].is_done) holders++, holder = i;
    CHECK_EQ(holders, 1);
    CHECK_EQ(join(&askers[holder]), KILN_STORE_MISS);
    CHECK_OK(put_text(world->cache, "key", "value", askers[holder].ticket), NULL);
    for (unsigned i = 0; i < ASKERS; i++)
        if (i != holder) CHECK_OK(join(&askers[i]), NULL);
}

/* Who puts without a ticket serves those who wait for one. */
static void test_put_by_another(void **state)
{
    struct world *world = *state;
    struct asker asker;
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    start(&asker, world->cache, PATIENCE_MS);
    sleep_ms(20);
    CHECK_OK(put_text(world->cache, "key", "value", NULL), NULL);
    CHECK_OK(join(&asker), NULL);
    CHECK_OK(put_text(world->cache, "key", "later", ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "later", NULL), NULL);
}

/* ---- bounds ----------------------------------------------------------------------------------------------------- */

static void test_bounded_wait(void **state)
{
    struct world *world = *state;
    struct asker asker;
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    start(&asker, world->cache, 50);
    CHECK_EQ(join(&asker), KILN_STORE_BUSY);
    CHECK_NULL(asker.ticket);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
}

static void *ask_without_waiting(void *context)
{
    const kiln_store_options options = {
        .struct_size = sizeof options, .wait_ms = FOREVER_MS, .flags = KILN_STORE_NO_WAIT};
    struct asker *asker = context;
    kiln_store_value value;
    asker->status = kiln_store_get(asker->cache, bytes_of("key"), &options, &value, &asker->ticket, NULL);
    return NULL;
}

static void test_no_wait(void **state)
{
    struct world *world = *state;
    struct asker asker = {.cache = world->cache};
    ask_without_waiting(&asker); /* nobody has it */
    CHECK_EQ(asker.status, KILN_STORE_MISS);
    struct asker other = {.cache = world->cache};
    CHECK_EQ(pthread_create(&other.thread, NULL, ask_without_waiting, &other), 0);
    CHECK_EQ(join(&other), KILN_STORE_BUSY);
    kiln_store_abandon(asker.ticket);
}

/* The bound of who waits longer, and not that of who came first, ends its wait. */
static void test_bounds_of_several(void **state)
{
    struct world *world = *state;
    struct asker impatient, patient;
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    start(&impatient, world->cache, 50);
    start(&patient, world->cache, PATIENCE_MS);
    CHECK_EQ(join(&impatient), KILN_STORE_BUSY);
    CHECK_FALSE(patient.is_done);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(join(&patient), NULL);
}

/* A holder that does nothing: another goes on, soon; what it puts late is stored, and ends nobody's ticket. */
static void test_deadline(void **state)
{
    struct world *world = *state;
    struct asker first, second;
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 100);
    start(&first, world->cache, PATIENCE_MS);
    CHECK_EQ(join(&first), KILN_STORE_MISS);
    CHECK_NOT_NULL(first.ticket);
    kiln_store_abandon(ticket); /* that it is over changes nothing for the others */
    start(&second, world->cache, 50);
    CHECK_EQ(join(&second), KILN_STORE_BUSY);
    CHECK_OK(put_text(world->cache, "key", "value", first.ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "value", NULL), NULL);
}

static void test_late_put(void **state)
{
    struct world *world = *state;
    struct asker first, second;
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 50);
    start(&first, world->cache, PATIENCE_MS);
    CHECK_EQ(join(&first), KILN_STORE_MISS);
    start(&second, world->cache, PATIENCE_MS);
    sleep_ms(20);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(join(&second), NULL); /* it is as good as any */
    CHECK_OK(put_text(world->cache, "key", "another", first.ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", 1, "another", NULL), NULL);
}

/* Nobody waits, and the holder asks again once it is late. */
static void test_deadline_of_our_own(void **state)
{
    struct world *world = *state;
    kiln_store_ticket *late = take_ticket(world->cache, "key", 20);
    sleep_ms(40);
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    kiln_store_abandon(late);
    CHECK_EQ(get_text(world->cache, "key", FOREVER_MS, NULL, &late), KILN_STORE_BUSY);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
}

/* ---- who holds what --------------------------------------------------------------------------------------------- */

static void test_asked_twice(void **state)
{
    struct world *world = *state;
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0), *again = ticket;
    CHECK_EQ(get_text(world->cache, "key", FOREVER_MS, NULL, &again), KILN_STORE_BUSY);
    CHECK_NULL(again);
    CHECK_OK(put_text(world->cache, "key", "value", ticket), NULL);
    CHECK_OK(get_text(world->cache, "key", PATIENCE_MS, "value", &again), NULL);
}

static void *put_it(void *context)
{
    struct asker *asker = context;
    asker->status = put_text(asker->cache, "key", "value", asker->ticket);
    return NULL;
}

/* It is got on a thread that ends, and put by another. */
static void test_ended_elsewhere(void **state)
{
    struct world *world = *state;
    struct asker first, second, putting = {.cache = world->cache};
    start(&first, world->cache, PATIENCE_MS);
    CHECK_EQ(join(&first), KILN_STORE_MISS);
    start(&second, world->cache, PATIENCE_MS);
    sleep_ms(20);
    CHECK_FALSE(second.is_done); /* it stays when its thread ends */
    putting.ticket = first.ticket;
    CHECK_EQ(pthread_create(&putting.thread, NULL, put_it, &putting), 0);
    CHECK_OK(join(&putting), NULL);
    CHECK_OK(join(&second), NULL);
}

/* A ticket is no claim of its thread: it may be ended anywhere, and who holds one may wait for another. */
static void test_holder_waits(void **state)
{
    struct world *world = *state;
    struct asker asker, putting = {.cache = world->cache};
    kiln_store_ticket *ticket = take_ticket(world->cache, "another key", 0);
    CHECK_NULL(kiln__claim());
    start(&asker, world->cache, PATIENCE_MS);
    CHECK_EQ(join(&asker), KILN_STORE_MISS);
    putting.ticket = asker.ticket;
    CHECK_EQ(pthread_create(&putting.thread, NULL, put_it, &putting), 0);
    CHECK_OK(get_text(world->cache, "key", PATIENCE_MS, "value", &asker.ticket), NULL);
    CHECK_OK(join(&putting), NULL);
    CHECK_OK(put_text(world->cache, "another key", "value", ticket), NULL);
}

static void *hold_and_ask(void *context)
{
    struct asker *asker = context;
    kiln_store_ticket *mine = NULL, *other = NULL;
    const char *first = asker->wait_ms ? "a" : "b", *second = asker->wait_ms ? "b" : "a";
    asker->status = get_text(asker->cache, first, PATIENCE_MS, NULL, &mine);
    asker->has_begun = 1;
    while (!asker->is_done) sleep_ms(1);
    kiln_status status = get_text(asker->cache, second, 200, NULL, &other);
    if (asker->status == KILN_STORE_MISS) asker->status = status;
    kiln_store_abandon(mine);
    kiln_store_abandon(other);
    return NULL;
}

/* Two holders that wait for one another: their bounds end that. */
static void test_circle(void **state)
{
    struct world *world = *state;
    struct asker askers[2] = {{.cache = world->cache, .wait_ms = 1}, {.cache = world->cache}};
    for (int i = 0; i < 2; i++) pthread_create(&askers[i].thread, NULL, hold_and_ask, &askers[i]);
    for (int i = 0; i < 2; i++) CHECK_TRUE(wait_for(&askers[i].has_begun, 1));
    for (int i = 0; i < 2; i++) askers[i].is_done = 1;
    kiln_status first = join(&askers[0]), second = join(&askers[1]);
    CHECK_TRUE(first == KILN_STORE_BUSY || second == KILN_STORE_BUSY);
    CHECK_TRUE(first > 0 && second > 0);
}

/* What is left when a cache is closed makes nobody wait, and can still be ended, by a put into another cache too. */
static void test_closed(void **state)
{
    struct world *world = *state;
    kiln_store_ticket *first = take_ticket(world->cache, "key", 0), *second = take_ticket(world->cache, "other", 0);
    kiln_cache_close(world->cache);
    CHECK_EQ(count_files(world->folder, ".lock", NULL), 0);
    world->cache = open_cache(world->folder);
    kiln_store_ticket *ticket = take_ticket(world->cache, "key", 0);
    kiln_store_abandon(first);
    CHECK_OK(put_text(world->cache, "other", "value", second), NULL);
    CHECK_OK(get_text(world->cache, "other", 1, "value", NULL), NULL);
    kiln_store_abandon(ticket);
}

#define BOTH(test)                                                                                                     \
    {#test " (folder)", test, set_up_folder, tear_down, NULL},                                                         \
    {                                                                                                                  \
        #test " (memory)", test, set_up_memory, tear_down, NULL                                                        \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_waiters_get_the_bytes),
        BOTH(test_race),
        cmocka_unit_test_setup_teardown(test_two_caches, set_up_folder, tear_down),
        BOTH(test_abandoned),
        BOTH(test_put_by_another),
        BOTH(test_bounded_wait),
        BOTH(test_no_wait),
        BOTH(test_bounds_of_several),
        BOTH(test_deadline),
        BOTH(test_late_put),
        BOTH(test_deadline_of_our_own),
        BOTH(test_asked_twice),
        BOTH(test_ended_elsewhere),
        BOTH(test_holder_waits),
        BOTH(test_circle),
        cmocka_unit_test_setup_teardown(test_closed, set_up_folder, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
