/*
 * test_run_audit.c - compiled functions under KILN_AUDIT; and kernels of arrays that follow the options of the
 * environment.
 */
#include <pthread.h>

#include "trace_support.h"

#include "base/process/callback.h"
#include "cache/audit.h"
#include "run/compiled.h"
#include "run/trace_audit.h"

static float factor = 2;

static size_t scaled(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(MULTIPLY, in[0], number(factor));
    return 1;
}

static uint64_t differences(uint64_t *audits)
{
    uint64_t count;
    kiln__audit_counts(audits, &count);
    return count;
}

static void call_times(struct kiln_compiled *compiled, int times)
{
    for (int i = 0; i < times; i++) {
        struct kiln_array *x = counting(1, SHAPE(4));
        struct kiln_output_list out;
        must_be(kiln__compiled_call(compiled, &x, 1, &out, &err));
        eval(out.arrays[0]);
        kiln__output_list_release(&out);
        kiln__array_unref(x);
    }
}
#define call_times(...) CHECK_CALL(call_times, __VA_ARGS__)

static void test_audit(void **state)
{
    (void)state;
    struct function function = {.body = scaled};
    struct kiln_compiled *compiled = NULL;
    kiln__audit_set(true);
    must_be(kiln__compiled_new("scaled", call_body, &function, NULL, false, &compiled, &err));
    uint64_t audits, before = differences(&audits), audits_before = audits;
    factor = 2;
    kiln_counters was, is;
    kiln_cache_counters(kiln_cache_default(), &was);
    call_times(compiled, 9); /* hits 1 to 8 */
    kiln_cache_counters(kiln_cache_default(), &is);
    CHECK_EQ(is.calls - was.calls, 9);
    CHECK_EQ(is.process_hits - was.process_hits, 8); /* those that were audited as well */
    CHECK_EQ(is.front_hits, was.front_hits);
    CHECK_EQ(function.calls, 1 + 3);
    CHECK_EQ(differences(&audits), before);
    CHECK_EQ(audits - audits_before, 3);
    factor = 3; /* what a trace captured is fixed; the audit says that it would be captured anew */
    call_times(compiled, 8);
    CHECK_EQ(differences(&audits) - before, 1);
    kiln__compiled_unref(compiled);
    kiln__audit_set(false);
    factor = 2;
}

static size_t scaled_unless_it_leaves(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    if (factor == 0) pthread_exit((void *)&factor);
    return scaled(in, count, out);
}

/* The second hit is audited, and the function leaves: so does the call, and it runs no plan. */
static void *leave_in_an_audit(void *context)
{
    struct kiln_compiled *compiled = context;
    call_times(compiled, 2);
    struct kiln_array *x = counting(1, SHAPE(4));
    struct kiln_output_list out;
    factor = 0;
    kiln_error error;
    kiln_status status = kiln__compiled_call(compiled, &x, 1, &out, &error);
    kiln__array_unref(x);
    if (status == KILN_LOWER_FAILED && kiln__thread_left()) kiln__go_on_leaving();
    return NULL;
}

static void test_a_thread_leaves_in_an_audit(void **state)
{
    (void)state;
    struct function function = {.body = scaled_unless_it_leaves};
    struct kiln_compiled *compiled = NULL;
    pthread_t thread;
    void *got = NULL;
    factor = 2;
    kiln__audit_set(true);
    must_be(kiln__compiled_new("scaled", call_body, &function, NULL, false, &compiled, &err));
    CHECK_EQ(pthread_create(&thread, NULL, leave_in_an_audit, compiled), 0);
    pthread_join(thread, &got);
    CHECK_EQ(got, &factor);
    kiln__compiled_unref(compiled);
    kiln__audit_set(false);
    factor = 2;
}

static void test_options(void **state)
{
    (void)state;
    struct function function = {.body = scaled};
    struct kiln_compiled *compiled = NULL;
    must_be(kiln__compiled_new("scaled", call_body, &function, NULL, false, &compiled, &err));
    static const struct {
        const char *level;
        unsigned makes; /* another kernel: compiled, or found on disk */
    } rows[] = {{"1", 1}, {"1", 0}, {"3", 1}, {"1", 0}, {"3", 0}};
    call_times(compiled, 2);
    for (size_t i = 0; i < COUNT(rows); i++) {
        kiln_counters counters, after;
        kiln_cache_counters(kiln_cache_default(), &counters);
        setenv("KILN_OPT_LEVEL", rows[i].level, 1);
        call_times(compiled, 3);
        kiln_cache_counters(kiln_cache_default(), &after);
        CHECK_EQ(after.links - counters.links, rows[i].makes);
        CHECK_EQ(after.traces, counters.traces);
    }
    unsetenv("KILN_OPT_LEVEL");
    kiln__compiled_unref(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_audit), cmocka_unit_test(test_a_thread_leaves_in_an_audit),
                                       cmocka_unit_test(test_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
