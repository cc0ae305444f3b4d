/*
 * test_run_background.c - unfused kernels serve while the fused ones are compiled, and give the same bits. Plans are
 * swapped once; what fails, is freed, cleared, forked or may not compile meanwhile leaves everything usable.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiled_support.h"

#include "cache/cache.h"
#include "cache/kernels/kernel.h"
#include "ops/reductions.h"
#include "run/background.h"

/* Kernels with this name can't be compiled; and while `held` is set, what the background compiles waits. */
static const char *_Atomic broken;
static _Atomic bool is_held;
static _Atomic int waiting;
static pthread_t test_thread;
kiln_status __real_kiln__kernel_from_text(kiln_cache *cache, const kiln_compiler *compiler,
                                          const struct kiln_kernel_text *kernel, const struct kiln_provenance *note,
                                          struct kiln_kernel **out, kiln_error *err);
kiln_status __wrap_kiln__kernel_from_text(kiln_cache *cache, const kiln_compiler *compiler,
                                          const struct kiln_kernel_text *kernel, const struct kiln_provenance *note,
                                          struct kiln_kernel **out, kiln_error *err);

kiln_status __wrap_kiln__kernel_from_text(kiln_cache *cache, const kiln_compiler *compiler,
                                          const struct kiln_kernel_text *kernel, const struct kiln_provenance *note,
                                          struct kiln_kernel **out, kiln_error *err)
{
    const char *bad = broken;
    if (!pthread_equal(pthread_self(), test_thread)) {
        waiting++;
        while (is_held) usleep(100);
        waiting--;
    }
#ifdef KILN_TEST_WRONG_BITS /* the build that must fail: what takes an unfused plan's place computes something else */
    char *wrong = strndup(kernel->text.data, kernel->text.size), *product = strstr(wrong, "fmul");
    struct kiln_kernel_text other = *kernel;
    other.text.data = wrong;
    if (product && !pthread_equal(pthread_self(), test_thread)) memcpy(product, "fadd", 4), kernel = &other;
#endif
    if (bad && strncmp(bad, kernel->name, strlen(bad)) == 0)
        return kiln__fail(err, KILN_COMPILE_FAILED, "%s: the compiler says no", kernel->name);
    return __real_kiln__kernel_from_text(cache, compiler, kernel, note, out, err);
}

static void hold(void)
{
    is_held = true;
}

static void let_go(void)
{
    is_held = false;
    kiln__background_wait();
}

static void until_held(void)
{
    for (int i = 0; i < 100000 && !waiting; i++) usleep(100);
    CHECK_EQ(waiting, 1);
}

static void expect_tier(const kiln_counters *before, uint64_t calls, uint64_t swaps, uint64_t faults)
{
    kiln_counters now = counters();
    CHECK_EQ(now.tier_calls - before->tier_calls, calls);
    CHECK_EQ(now.tier_swaps - before->tier_swaps, swaps);
    CHECK_EQ(now.tier_faults - before->tier_faults, faults);
}
#define expect_tier(...) CHECK_CALL(expect_tier, __VA_ARGS__)

/* ---- functions: each of its own, so that no fused kernel is there from the test before -------------------------- */

/* x*x + n/(x + n), n times over, then a sum along rows: what it is made of is not in the text but for the length. */
static int chain_length;

static size_t chain(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    struct kiln_array *x = in[0];
    (void)count;
    for (int i = 0; i < chain_length; i++)
        x = B(ADD, B(MULTIPLY, x, in[0]), B(DIVIDE, number(3), B(ADD, x, number(7))));
    out[0] = x;
    return 1;
}

static struct kiln_array *input(void)
{
    return counting(1, SHAPE(3, 5));
}

/* What the operations give one by one, so that their kernels are at hand; the caller's. */
static struct kiln_array *plain(struct kiln_array *x)
{
    struct kiln_array *out;
    chain(&x, 1, &out);
    eval(out);
    kiln__array_ref(out);
    drop_scratch(0);
    return out;
}

/* A function that nobody has compiled before. */
static struct kiln_compiled *new_function(struct function *function)
{
    static int next = 1;
    chain_length = next++;
    *function = (struct function){.body = chain};
    return compile(function, false);
}

static void expect_same_bits(struct kiln_array *got, struct kiln_array *expected)
{
    CHECK_EQ(got->size, expected->size);
    CHECK_EQ(memcmp(got->data, expected->data, (size_t)got->size * sizeof(float)), 0);
}
#define expect_same_bits(...) CHECK_CALL(expect_same_bits, __VA_ARGS__)

static void call_and_expect(struct kiln_compiled *compiled, struct kiln_array *x, struct kiln_array *expected)
{
    struct kiln_array *got = call(compiled, &x, 1);
    expect_same_bits(got, expected);
    kiln__array_unref(got);
}
#define call_and_expect(...) CHECK_CALL(call_and_expect, __VA_ARGS__)

/* ---- the way it goes -------------------------------------------------------------------------------------------- */

static void test_unfused_kernels_serve_and_are_swapped(void **state)
{
    (void)state;
    struct function function;
    struct kiln_compiled *compiled = new_function(&function);
    struct kiln_array *x = input(), *expected = plain(x);
    kiln_counters before = counters();
    hold();
    for (int i = 0; i < 3; i++) call_and_expect(compiled, x, expected);
    expect_tier(&before, 3, 0, 0);
    CHECK_EQ(counters().traces - before.traces, 1);
    CHECK_EQ(counters().compiles - before.compiles, 0);
    let_go();
    expect_tier(&before, 3, 1, 0);
    CHECK_EQ(counters().compiles - before.compiles, 1);
    for (int i = 0; i < 3; i++) call_and_expect(compiled, x, expected);
    expect_tier(&before, 3, 1, 0);
    CHECK_EQ(counters().traces - before.traces, 1);
    CHECK_EQ(counters().front_hits - before.front_hits, 4); /* two and two: the first one after the swap is looked up */
    CHECK_EQ(function.calls, 1);
    kiln__compiled_unref(compiled);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

static void test_without_tier_a_call_waits(void **state)
{
    (void)state;
    struct function function;
    struct kiln_compiled *compiled = new_function(&function);
    struct kiln_array *x = input(), *expected = plain(x);
    kiln_counters before = counters();
    setenv("KILN_TIER", "0", 1);
    call_and_expect(compiled, x, expected);
    setenv("KILN_TIER", "1", 1);
    CHECK_EQ(counters().compiles - before.compiles, 1);
    expect_tier(&before, 0, 0, 0);
    kiln__compiled_unref(compiled);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

/* One operation's kernel is not at hand: the call waits, and compiles the fused one alone. */
static size_t rare(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, B(ARCTAN2, in[0], in[0]), in[0]);
    return 1;
}

static void test_what_is_not_at_hand_is_waited_for(void **state)
{
    (void)state;
    struct function function = {.body = rare};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *x = input();
    kiln_counters before = counters();
    kiln__array_unref(call(compiled, &x, 1));
    CHECK_EQ(counters().compiles - before.compiles, 1);
    expect_tier(&before, 0, 0, 0);
    kiln__compiled_unref(compiled);
    kiln__array_unref(x);
}

/* Another function with the same kernels finds them: there is nothing to serve with. */
static void test_fused_kernels_that_are_at_hand_serve_at_once(void **state)
{
    (void)state;
    struct function function, again = {.body = chain};
    struct kiln_compiled *compiled = new_function(&function), *other = compile(&again, false);
    struct kiln_array *x = input(), *expected = plain(x);
    call_and_expect(compiled, x, expected);
    kiln__background_wait();
    kiln_counters before = counters();
    call_and_expect(other, x, expected);
    expect_tier(&before, 0, 0, 0);
    CHECK_EQ(counters().compiles - before.compiles, 0);
    kiln__compiled_unref(compiled);
    kiln__compiled_unref(other);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

/* Lazy results that were asked for before the swap and are computed after it. */
static void test_lazy_results_keep_their_plan(void **state)
{
    (void)state;
    struct function function;
    struct kiln_compiled *compiled = new_function(&function);
    struct kiln_array *x = counting(1, SHAPE(256, 256)), *expected = plain(x);
    struct kiln_output_list out;
    must_be(kiln__compiled_call(compiled, &x, 1, &out, &err));
    kiln__background_wait();
    kiln__compiled_unref(compiled);
    eval(out.arrays[0]);
    expect_same_bits(out.arrays[0], expected);
    kiln__output_list_release(&out);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static void test_a_compile_error_is_counted_once(void **state)
{
    (void)state;
    struct function function;
    struct kiln_compiled *compiled = new_function(&function);
    struct kiln_array *x = input(), *expected = plain(x);
    kiln_counters before = counters();
    broken = "fused_";
    call_and_expect(compiled, x, expected);
    kiln__background_wait();
    for (int i = 0; i < 3; i++) call_and_expect(compiled, x, expected);
    kiln__background_wait();
    broken = NULL;
    expect_tier(&before, 4, 0, 1);
    CHECK_EQ(counters().traces - before.traces, 1);
    kiln__compiled_unref(compiled);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

/* ---- what happens meanwhile -------------------------------------------------------------------------------------- */

static int freed;

static void note_freed(void *payload)
{
    (void)payload;
    freed++;
}

static void test_freeing_a_function_waits_for_nobody(void **state)
{
    (void)state;
    struct function function;
    struct kiln_compiled *first = new_function(&function), *compiled = NULL;
    must_be(kiln__compiled_new("test", call_body, &function, note_freed, false, &compiled, &err));
    struct kiln_array *x = input(), *expected = plain(x);
    kiln_counters before = counters();
    hold();
    call_and_expect(compiled, x, expected);
    until_held();
    freed = 0;
    kiln__compiled_unref(compiled);
    CHECK_EQ(freed, 1);
    let_go();
    expect_tier(&before, 1, 0, 0);
    kiln__compiled_unref(first);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

static void test_a_function_that_is_freed_before_its_turn_is_not_compiled(void **state)
{
    (void)state;
    struct function function, later;
    struct kiln_compiled *compiled = new_function(&function);
    struct kiln_array *x = input(), *expected = plain(x);
    kiln_counters before = counters();
    hold();
    call_and_expect(compiled, x, expected);
    until_held();
    struct kiln_compiled *other = new_function(&later);
    kiln__array_unref(call(other, &x, 1));
    kiln__compiled_unref(other);
    let_go();
    CHECK_EQ(counters().compiles - before.compiles, 1);
    expect_tier(&before, 2, 1, 0);
    kiln__compiled_unref(compiled);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

static void test_clearing_meanwhile(void **state)
{
    (void)state;
    struct function function;
    struct kiln_compiled *compiled = new_function(&function);
    struct kiln_array *x = input(), *expected = plain(x);
    kiln_counters before = counters();
    hold();
    call_and_expect(compiled, x, expected);
    until_held();
    kiln__compiled_clear(compiled);
    let_go();
    expect_tier(&before, 1, 0, 0); /* nothing to swap */
    call_and_expect(compiled, x, expected);
    expect_tier(&before, 1, 0, 0); /* its kernels are there by now */
    CHECK_EQ(counters().traces - before.traces, 2);
    CHECK_EQ(counters().compiles - before.compiles, 1);
    kiln__compiled_unref(compiled);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

enum { THREADS = 4, CALLS = 400 };

struct caller {
    pthread_t thread;
    struct kiln_compiled *compiled;
    struct kiln_array *x, *expected;
    int wrong;
};

static void *call_on(void *context)
{
    struct caller *caller = context;
    for (int i = 0; i < CALLS; i++) {
        struct kiln_output_list out;
        kiln_error error;
        if (kiln__compiled_call(caller->compiled, &caller->x, 1, &out, &error)) return caller->wrong++, NULL;
        if (kiln__eval(out.arrays, 1, &error)) return caller->wrong++, NULL;
        caller->wrong += memcmp(out.arrays[0]->data, caller->expected->data, 15 * sizeof(float)) != 0;
        kiln__output_list_release(&out);
    }
    return NULL;
}

static void test_threads_call_while_plans_are_swapped(void **state)
{
    (void)state;
    for (int round = 0; round < 6; round++) {
        struct function function;
        struct kiln_compiled *compiled = new_function(&function);
        struct kiln_array *x = input(), *expected = plain(x);
        struct caller callers[THREADS];
        kiln_counters before = counters();
        for (int i = 0; i < THREADS; i++) {
            callers[i] = (struct caller){.compiled = compiled, .x = x, .expected = expected};
            CHECK_EQ(pthread_create(&callers[i].thread, NULL, call_on, &callers[i]), 0);
        }
        if (round & 1) kiln__compiled_clear(compiled);
        kiln__background_wait();
        for (int i = 0; i < THREADS; i++) {
            pthread_join(callers[i].thread, NULL);
            CHECK_EQ(callers[i].wrong, 0);
        }
        kiln__background_wait();
        CHECK_LE(counters().tier_swaps - before.tier_swaps, 1 + (round & 1));
        kiln__compiled_unref(compiled);
        kiln__array_unref(x);
        kiln__array_unref(expected);
    }
}

/* The child has no thread of the parent's; its next call starts one. */
static int in_child(struct kiln_compiled *compiled, struct kiln_array *x, const struct kiln_array *expected)
{
    struct caller caller = {.compiled = compiled, .x = x, .expected = (struct kiln_array *)(uintptr_t)expected};
    kiln_counters before = counters();
    test_thread = pthread_self();
    is_held = false;
    call_on(&caller);
    kiln__background_wait();
    if (counters().tier_swaps - before.tier_swaps != 1) return 2;
    uint64_t calls = counters().tier_calls;
    call_on(&caller);
    return caller.wrong ? 3 : counters().tier_calls == calls ? 0 : 4;
}

static void test_fork_while_it_is_compiled(void **state)
{
    (void)state;
    struct function function;
    struct kiln_compiled *compiled = new_function(&function);
    struct kiln_array *x = input(), *expected = plain(x);
    int status = 0;
    hold();
    call_and_expect(compiled, x, expected);
    until_held();
    pid_t child = fork();
    if (child == 0) _exit(in_child(compiled, x, expected));
    let_go();
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    kiln__compiled_unref(compiled);
    kiln__array_unref(x);
    kiln__array_unref(expected);
}

/* ---- exit -------------------------------------------------------------------------------------------------------- */

static void *hurry(void *unused)
{
    (void)unused;
    kiln__background_wait();
    return NULL;
}

/* With the compiler at whatever it does after that time. */
static void leave_after(struct kiln_compiled *compiled, struct kiln_array *x, unsigned us)
{
    pthread_t thread;
    struct kiln_output_list out;
    kiln_error error;
    test_thread = pthread_self();
    if (kiln__compiled_call(compiled, &x, 1, &out, &error) || pthread_create(&thread, NULL, hurry, NULL)) _exit(1);
    usleep(us);
    exit(7);
}

static void test_exit_while_it_is_compiled(void **state)
{
    (void)state;
    for (unsigned us = 0; us < 20000; us = us * 2 + 300) {
        struct function function;
        struct kiln_compiled *compiled = new_function(&function);
        struct kiln_array *x = input(), *expected = plain(x);
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) leave_after(compiled, x, us);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_TRUE(WIFEXITED(status));
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks then, and has a status of its own */
        CHECK_EQ(WEXITSTATUS(status), 7);
#endif
        kiln__compiled_unref(compiled);
        kiln__array_unref(x);
        kiln__array_unref(expected);
    }
}

int main(int count, char **words)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unfused_kernels_serve_and_are_swapped),
        cmocka_unit_test(test_without_tier_a_call_waits),
        cmocka_unit_test(test_what_is_not_at_hand_is_waited_for),
        cmocka_unit_test(test_fused_kernels_that_are_at_hand_serve_at_once),
        cmocka_unit_test(test_lazy_results_keep_their_plan),
        cmocka_unit_test(test_a_compile_error_is_counted_once),
        cmocka_unit_test(test_freeing_a_function_waits_for_nobody),
        cmocka_unit_test(test_a_function_that_is_freed_before_its_turn_is_not_compiled),
        cmocka_unit_test(test_clearing_meanwhile),
        cmocka_unit_test(test_threads_call_while_plans_are_swapped),
        cmocka_unit_test(test_fork_while_it_is_compiled),
        cmocka_unit_test(test_exit_while_it_is_compiled),
    };
    setenv("KILN_CACHE_DIR", "", 1);
    setenv("KILN_TIER", "1", 1);
    test_thread = pthread_self();
    if (count > 1) cmocka_set_test_filter(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
