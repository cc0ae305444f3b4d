/*
 * test_cache_barrier.c - where membarrier() is refused, what is removed is released as exactly as elsewhere; and who
 * waits for a reader sleeps.
 *
 * The program starts itself again behind a filter that refuses the call: before the library is loaded ("before"), or
 * installs the filter itself once the library has registered ("after").
 */
#include "cache_support.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include "cache/memo/memo_table.h"
#include "support/seccomp.h"

/* ---- what is removed is released ------------------------------------------------------------------------------- */

/* Before the function is freed its compiler is still there; afterwards it need not be. */
static void a_freed_function_leaves_nothing(void **state)
{
    (void)state;
    kiln_cache *cache = open_cache("");
    struct fake *fake = malloc(sizeof *fake);
    fake_init(fake);
    kiln_function *function = new_text(cache, &fake->compiler, "f", "text");
    for (int64_t i = 0; i < 10; i++) get_i64(function, i);
    kiln_function_free(function);
    unsigned unlinks = fake->unlinks;
    if (unlinks != 10) CHECK_FAIL("%u of 10 executables were unlinked when their function was freed", unlinks);
    memset(fake, 0xee, sizeof *fake);
    free(fake);
    kiln_cache_close(cache);
}

static _Atomic unsigned released;

static void release_value(void *value)
{
    released++;
    *(int *)value = -1;
    free(value);
}

static enum kiln_outcome make_value(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads, (void)err;
    *value = malloc(sizeof(int));
    *(int *)*value = (int)*(uint64_t *)context;
    return KILN_DONE;
}

static void sign(const struct kiln_memo_table *results, uint64_t id, struct kiln_signature *signature)
{
    kiln__memo_begin(results, NULL, signature);
    kiln_sign_u64(signature, id);
}

static void *make(struct kiln_memo_table *results, uint64_t id)
{
    struct kiln_signature signature;
    void *value = NULL;
    sign(results, id, &signature);
    CHECK_EQ(kiln__memo_make(results, &signature, make_value, &id, &value, NULL, NULL), KILN_DONE);
    return value;
}
#define make(...) CHECK_CALL(make, __VA_ARGS__)

/* Evicted values that nobody pins go at once; one that is pinned goes when it no longer is. */
static void scans_are_exact(void **state)
{
    (void)state;
    struct kiln_memo_table results;
    kiln__memo_init(&results, 63, KILN_LEVEL_CALL, release_value);
    kiln__memo_bound(&results, 8, "values", NULL);
    released = 0;
    struct kiln_signature signature;
    void *pinned = make(&results, 0);
    sign(&results, 0, &signature);
    CHECK_TRUE(kiln__memo_pin(&results, &signature, pinned));
    for (uint64_t id = 1; id < 100; id++) make(&results, id);
    CHECK_EQ(*(int *)pinned, 0);
    CHECK_EQ(released, 100 - results.count - 1);
    kiln__memo_unpin();
    make(&results, 100);
    CHECK_EQ(released, 101 - results.count);
    kiln__memo_clear(&results);
    CHECK_EQ(released, 101);
    kiln__memo_release(&results);
}

struct storm {
    struct kiln_memo_table results;
    _Atomic bool stop;
    _Atomic unsigned wrong, runs;
};

static void *pin_and_run(void *context)
{
    struct storm *storm = context;
    for (uint64_t i = 0; !storm->stop; i++) {
        uint64_t id = i % 7;
        struct kiln_signature signature;
        sign(&storm->results, id, &signature);
        void *value = kiln__memo_lookup(&storm->results, &signature);
        if (!value && kiln__memo_make(&storm->results, &signature, make_value, &id, &value, NULL, NULL)) storm->wrong++;
        if (kiln__memo_pin(&storm->results, &signature, value)) storm->wrong += *(int *)value != (int)id;
        kiln__memo_unpin();
        storm->runs++;
    }
    return NULL;
}

static void pins_hold_against_clear(void **state)
{
    (void)state;
    struct storm storm = {.stop = false};
    kiln__memo_init(&storm.results, 63, KILN_LEVEL_CALL, release_value);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, pin_and_run, &storm);
    for (int i = 0; i < 300; i++) {
        unsigned runs = storm.runs;
        kiln__memo_clear(&storm.results);
        while (storm.runs < runs + 20) usleep(10);
    }
    storm.stop = true;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(storm.wrong, 0);
    kiln__memo_release(&storm.results);
}

/* ---- waiting for a reader -------------------------------------------------------------------------------------- */

static _Atomic unsigned yields, naps;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __real_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);

int __wrap_sched_yield(void)
{
    yields++;
    return __real_sched_yield();
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
    naps++;
    return __real_nanosleep(time, rest);
}

/* As if it was interrupted in the middle of a walk: until the other one sleeps, or yields too often. */
static void *read_for_long(void *context)
{
    struct kiln_thread *thread = kiln__thread();
    atomic_store(&thread->reading, context);
    while (naps < 5 && yields < 1000) usleep(100);
    atomic_store(&thread->reading, NULL);
    return NULL;
}

static void waiting_sleeps_after_a_few_yields(void **state)
{
    (void)state;
    struct kiln_memo_table results;
    kiln__memo_init(&results, 63, KILN_LEVEL_CALL, release_value);
    make(&results, 1);
    pthread_t thread;
    yields = naps = 0;
    pthread_create(&thread, NULL, read_for_long, &results);
    bool seen = false;
    while (!seen)
        for (struct kiln_thread *other = kiln__threads(); other; other = other->next)
            seen |= atomic_load(&other->reading) == &results;
    kiln__memo_clear(&results);
    if (yields > 20 || !naps) CHECK_FAIL("%u yields and %u naps", (unsigned)yields, (unsigned)naps);
    pthread_join(thread, NULL);
    kiln__memo_release(&results);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freed_function_leaves_nothing),
        cmocka_unit_test(scans_are_exact),
        cmocka_unit_test(pins_hold_against_clear),
        cmocka_unit_test(waiting_sleeps_after_a_few_yields),
    };
    (void)argv;
    if (argc > 1) return cmocka_run_group_tests_name("refused before", tests, NULL, NULL);
    int failed = cmocka_run_group_tests_name("allowed", tests, NULL, NULL);
    if (!refuse_membarrier()) CHECK_FAIL("no filter: %s", strerror(errno));
    failed += cmocka_run_group_tests_name("refused after", tests, NULL, NULL);
    if (failed) return failed;
    execl("/proc/self/exe", "test_cache_barrier", "before", (char *)NULL);
    return 1;
}
