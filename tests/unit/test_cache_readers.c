/*
 * test_cache_readers.c - whoever takes entries out of a memo table waits for the readers that may still be looking at
 * them.
 *
 * The window of a reader is a few instructions wide. `acquire` runs inside it, so that a reader can be kept there:
 * until the remover has been seen to wait, or is done. Built again with -DKILN_TEST_WITHOUT_READERS, where nobody
 * waits; there each test must fail.
 */
#include "cache_support.h"

#include <time.h>

#include "cache/memo/memo_table.h"

/* ---- the remover's waiting, counted -------------------------------------------------------------------------------
 */

static _Atomic unsigned naps;

int __real_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
    naps++;
    return __real_nanosleep(time, rest);
}

#ifdef KILN_TEST_WITHOUT_READERS
void __wrap_kiln__wait_for_readers(const void *memo);
void __wrap_kiln__wait_for_readers(const void *memo)
{
    (void)memo;
}
#endif

/* ---- values, and a reader that stays ------------------------------------------------------------------------------
 */

enum { KEY = 7, LIMIT = 8 };

struct world {
    struct kiln_memo_table memo;
    pthread_t reader;
};

static _Atomic bool may_stop_readers, is_inside, is_removed;
static _Atomic unsigned released_inside, released;
static void *_Atomic held; /* what the reader is about to get */

static void release_value(void *value)
{
    released++;
    if (is_inside && value == held) released_inside++;
    /* not freed: without the waiting the reader still looks at it */
}

/* Inside the window: the entry was found, and the reader says so in its record. */
static void stay_inside(void *value)
{
    if (!may_stop_readers) return;
    held = value;
    is_inside = true;
    while (!is_removed && naps < 3) sched_yield();
    is_inside = false;
}

static enum kiln_outcome make_value(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    static int values[1000];
    (void)reads, (void)err;
    *value = &values[*(uint64_t *)context];
    return KILN_DONE;
}

static void sign(const struct kiln_memo_table *memo, uint64_t id, struct kiln_signature *signature)
{
    kiln__memo_begin(memo, NULL, signature);
    kiln_sign_u64(signature, id);
}

static void make(struct kiln_memo_table *memo, uint64_t id)
{
    struct kiln_signature signature;
    void *value = NULL;
    sign(memo, id, &signature);
    CHECK_EQ(kiln__memo_make(memo, &signature, make_value, &id, &value, NULL, NULL), KILN_DONE);
}
#define make(...) CHECK_CALL(make, __VA_ARGS__)

static void *read_key(void *context)
{
    struct world *world = context;
    struct kiln_signature signature;
    sign(&world->memo, KEY, &signature);
    return kiln__memo_peek(&world->memo, &signature);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    kiln__memo_init(&world->memo, 63, KILN_LEVEL_CALL, release_value);
    world->memo.acquire = stay_inside;
    may_stop_readers = is_inside = is_removed = false;
    released = released_inside = naps = 0;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    may_stop_readers = false;
    kiln__memo_release(&world->memo);
    free(world);
    return 0;
}

/* Runs `remove` while a reader is inside: nothing it may see goes before it has left. */
static void expect_wait(struct world *world, void (*remove)(struct kiln_memo_table *memo))
{
    may_stop_readers = true;
    CHECK_EQ(pthread_create(&world->reader, NULL, read_key, world), 0);
    while (!is_inside) sched_yield();
    may_stop_readers = false; /* the others pass */
    remove(&world->memo);
    is_removed = true;
    void *got = NULL;
    pthread_join(world->reader, &got);
    CHECK_NOT_NULL(got);
    CHECK_EQ(released_inside, 0);
    CHECK_GE(naps, 3);
}
#define expect_wait(...) CHECK_CALL(expect_wait, __VA_ARGS__)

/* ---- ways to take an entry out ------------------------------------------------------------------------------------
 */

static bool is_key(const struct kiln_entry *entry, const void *context)
{
    return entry->key[entry->count - 1] == *(const uint64_t *)context;
}

static void remove_matching(struct kiln_memo_table *memo)
{
    CHECK_EQ(kiln__memo_remove(memo, is_key, &(uint64_t){KEY}), 1);
    CHECK_EQ(released, 1);
}

static void test_removed(void **state)
{
    struct world *world = *state;
    make(&world->memo, KEY);
    make(&world->memo, KEY + 1);
    expect_wait(world, remove_matching);
}

static void remove_of_device(struct kiln_memo_table *memo)
{
    kiln__removed_drop(kiln__memo_take_device(memo, 0, NULL));
    CHECK_EQ(released, 1);
}

static void test_taken_with_its_device(void **state)
{
    struct world *world = *state;
    make(&world->memo, KEY);
    expect_wait(world, remove_of_device);
}

/* The one that is read is the oldest and not marked as recent before it was handed out, so that it goes first. */
static void evict(struct kiln_memo_table *memo)
{
    make(memo, KEY + LIMIT + 1);
    CHECK_EQ(released, 1);
}

static void test_evicted(void **state)
{
    struct world *world = *state;
    kiln__memo_bound(&world->memo, LIMIT, "values", NULL);
    for (uint64_t id = KEY; id < KEY + LIMIT; id++) make(&world->memo, id);
    expect_wait(world, evict);
}

static void clear(struct kiln_memo_table *memo)
{
    kiln__memo_clear(memo);
    CHECK_EQ(released, 1);
}

static void test_cleared(void **state)
{
    struct world *world = *state;
    make(&world->memo, KEY);
    expect_wait(world, clear);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_with_its_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_evicted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cleared, set_up, tear_down),
    };
    if (count > 1) cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
