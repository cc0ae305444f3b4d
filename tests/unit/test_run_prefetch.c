/*
 * test_run_prefetch.c - the kernels of a plan are asked of remotes together: one round trip for all of them.
 *
 * Processes are children, each with a folder and a default cache of its own.
 */
#include "trace_support.h"

#include "remote_support.h"

#include "ops/reductions.h"
#include "run/compiled.h"

enum { OUTPUTS = 15, KERNELS = 2 * OUTPUTS };

/* Another number, another kernel, and no common subexpression. */
static struct kiln_array *chain(struct kiln_array *x, unsigned bits)
{
    struct kiln_array *result = B(MULTIPLY, x, number(1 + (float)bits));
    for (unsigned i = 0; i < 5; i++) result = bits >> i & 1 ? B(ADD, result, x) : B(MULTIPLY, result, x);
    return result;
}

/* A kernel before each sum, and one after it; and one kernel for all sums. */
static size_t many(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    for (unsigned i = 0; i < OUTPUTS; i++)
        out[i] = chain(keep(sum_axis(chain(in[0], 1 + i), 0, false)), 1 + OUTPUTS + i);
    return OUTPUTS;
}

struct tally {
    _Atomic uint64_t compiles, disk_hits, remote_hits, remote_misses, remote_puts, remote_faults, refused_signatures;
};

static char folder[64];
static struct tally *tally; /* of the last child */

static int set_up(void **state)
{
    (void)state;
    make_folder(folder, sizeof folder);
    open_stores();
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_key(folder, 1);
    sign_with(folder, 1);
    trust(folder, "trusted", 1);
    setenv("KILN_REMOTE", "plain://0", 1);
    setenv("KILN_REMOTE_TIMEOUT", "60000", 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    setenv("KILN_REMOTE", "", 1);
    setenv("KILN_SIGN_KEY", "", 1);
    setenv("KILN_TRUSTED_KEYS", "", 1);
    remove_folder(folder);
    munmap(tally, sizeof *tally);
    close_stores();
    return 0;
}

static void run_plan(struct shared *shared, const char *host, unsigned index)
{
    (void)shared, (void)index;
    char own[128];
    struct function function = {.body = many};
    struct kiln_compiled *compiled = NULL;
    struct kiln_output_list out;
    kiln_error error = {0};
    snprintf(own, sizeof own, "%s/%s", folder, host);
    setenv("KILN_CACHE_DIR", own, 1);
    struct kiln_array *x = counting(0, SHAPE(256, 256));
    require(!kiln__compiled_new("test", call_body, &function, NULL, false, &compiled, &error));
    require(!kiln__compiled_call(compiled, &x, 1, &out, &error));
    for (size_t i = 0; i < out.count; i++) eval(out.arrays[i]);
    kiln__output_list_release(&out);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled);
    kiln_cache *cache = kiln_cache_default();
    kiln__store_flush(&cache->store, PATIENCE_MS);
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    *tally = (struct tally){.compiles = counters.compiles,
                            .disk_hits = counters.disk_hits,
                            .remote_hits = counters.remote_hits,
                            .remote_misses = counters.remote_misses,
                            .remote_puts = counters.remote_puts,
                            .remote_faults = counters.remote_faults,
                            .refused_signatures = counters.refused_signatures};
}

static void test_one_question_for_a_plan(void **state)
{
    (void)state;
    end_well(start_child(run_plan, NULL, "a", 0));
    CHECK_GE(tally->compiles, KERNELS);
    CHECK_EQ(tally->remote_faults, 0);
    CHECK_EQ(tally->remote_puts, tally->remote_misses);
    uint64_t kernels = tally->compiles;
    CHECK_EQ(stores[0].together, kernels); /* all of them were asked for at once, and none again */
    unsigned gets = stores[0].gets, entries = stores[0].entries;

    end_well(start_child(run_plan, NULL, "b", 0));
    CHECK_EQ(tally->compiles, 0);
    CHECK_EQ(tally->remote_hits, kernels);
    CHECK_EQ(tally->remote_misses, 0);
    CHECK_EQ(stores[0].gets, gets + 1);
    CHECK_EQ(stores[0].entries, entries + kernels);

    end_well(start_child(run_plan, NULL, "b", 0)); /* from the folder: nobody is asked */
    CHECK_EQ(tally->disk_hits, kernels);
    CHECK_EQ(stores[0].gets, gets + 1);
}

/* One that can't be used is compiled; the others are used. */
static void test_one_bad_entry(void **state)
{
    (void)state;
    end_well(start_child(run_plan, NULL, "a", 0));
    uint64_t kernels = tally->compiles;
    end_well(start_child(run_plan, NULL, "b", 0));
    for (int i = 0, done = 0; i < SLOTS && !done; i++) {
        struct slot *slot = &stores[0].slots[i];
        done = slot->is_there && slot->size > 100;
        if (done) slot->bytes[slot->size / 2] ^= 1;
    }
    unsigned gets = stores[0].gets;
    end_well(start_child(run_plan, NULL, "c", 0));
    CHECK_LE(tally->compiles, 1); /* it may have been the run-time library, which only a compile needs */
    CHECK_EQ(tally->remote_hits + tally->compiles, kernels);
    CHECK_EQ(tally->remote_faults + tally->refused_signatures, tally->compiles); /* the bit may be the signature's */
    CHECK_LE(stores[0].gets, gets + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_question_for_a_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_bad_entry, set_up, tear_down),
    };
    kiln_remote_add(&plain_driver, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
