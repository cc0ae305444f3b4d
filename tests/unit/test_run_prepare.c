/*
 * test_run_prepare.c - the kernels of a plan are compiled when the plan is made, side by side, and none that the call
 * does not launch; a compile error is an error of the call that traced.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace_support.h"

#include "cache/cache.h"
#include "cache/kernels/kernel.h"
#include "ops/reductions.h"
#include "run/compiled.h"
#include "run/kernels/launch.h"

/* The most parts that a job of the pool had; the linker puts this before the pool's own. */
static _Atomic int64_t shared_parts;
void __real_kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count);
void __wrap_kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count);

void __wrap_kiln__pool_run(void (*part)(void *ctx, int64_t i), void *ctx, int64_t count)
{
    if (count > shared_parts) shared_parts = count;
    __real_kiln__pool_run(part, ctx, count);
}

/* The kernel of this name can't be compiled; NULL: all can. And the lowest level that a thread compiled for. */
static const char *_Atomic broken;
static _Atomic unsigned lowest_level;
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
    unsigned level = kiln__thread()->in_flight_level;
    if (level < lowest_level) lowest_level = level;
    const char *bad = broken;
    if (bad && strcmp(bad, kernel->name) == 0)
        return kiln__fail(err, KILN_COMPILE_FAILED, "%s: the compiler says no", kernel->name);
    return __real_kiln__kernel_from_text(cache, compiler, kernel, note, out, err);
}

static kiln_counters counters(void)
{
    kiln_counters now;
    kiln_cache_counters(kiln_cache_default(), &now);
    return now;
}

/* Kernels that somebody asked the cache for; variants that a plan or an operation has are found without it. */
static uint64_t asked_for(void)
{
    kiln_counters now = counters();
    return now.compiles + now.disk_hits + now.kernel_hits;
}

static struct kiln_compiled *compile(struct function *function)
{
    struct kiln_compiled *compiled = NULL;
    must_be(kiln__compiled_new("test", call_body, function, NULL, false, &compiled, &err));
    kiln__compiled_use_name(compiled);
    return compiled;
}

/* Not evaluated: the caller's list. */
static void call(struct kiln_compiled *compiled, struct kiln_array *x, struct kiln_output_list *out)
{
    must_be(kiln__compiled_call(compiled, &x, 1, out, &err));
}
#define call(...) CHECK_CALL(call, __VA_ARGS__)

static void expect_lazy(const struct kiln_output_list *out, bool is_lazy)
{
    for (size_t i = 0; i < out->count; i++) CHECK_EQ(!kiln__array_is_ready(out->arrays[i]), is_lazy);
}
#define expect_lazy(...) CHECK_CALL(expect_lazy, __VA_ARGS__)

static void eval_and_release(struct kiln_output_list *out)
{
    for (size_t i = 0; i < out->count; i++) eval(out->arrays[i]);
    kiln__output_list_release(out);
}
#define eval_and_release(...) CHECK_CALL(eval_and_release, __VA_ARGS__)

/* Large enough for plans to be lazy. */
static struct kiln_array *large(void)
{
    return counting(0, SHAPE(256, 256));
}

/* ---- many kernels --------------------------------------------------------------------------------------------- */

enum { OUTPUTS = 15, KERNELS = 2 * OUTPUTS };

/* Another pair, another set of kernels. */
static _Atomic enum kiln_op first_op, second_op;

static void use_kernels_of(enum kiln_op first, enum kiln_op second)
{
    first_op = first;
    second_op = second;
}

/* Another number, another kernel, and no common subexpression. */
static struct kiln_array *chain(struct kiln_array *x, unsigned bits)
{
    struct kiln_array *result = B(MULTIPLY, x, number(1 + (float)bits));
    for (unsigned i = 0; i < 5; i++) result = keep(binary(bits >> i & 1 ? first_op : second_op, result, x));
    return result;
}

/* A kernel before each sum, and one after it; the kernel of the sums is there. */
static size_t many(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    for (unsigned i = 0; i < OUTPUTS; i++)
        out[i] = chain(keep(sum_axis(chain(in[0], 1 + i), 0, false)), 1 + OUTPUTS + i);
    return OUTPUTS;
}

static void test_all_kernels_are_compiled_with_the_plan(void **state)
{
    (void)state;
    struct function function = {.body = many};
    struct kiln_compiled *compiled = compile(&function);
    struct kiln_array *x = large();
    struct kiln_output_list out;
    kiln_counters before = counters();
    shared_parts = 0;
    lowest_level = KILN_LEVEL_RUNTIME;
    use_kernels_of(KILN_OP_ADD, KILN_OP_MULTIPLY);
    call(compiled, x, &out);
    CHECK_EQ(lowest_level, KILN_LEVEL_CALL); /* on the pool's threads too: none waits for this very plan */
    expect_lazy(&out, true);
    CHECK_EQ(counters().compiles - before.compiles, KERNELS);
    CHECK_EQ(counters().links - before.links, KERNELS);
    CHECK_EQ(shared_parts, KERNELS);
    uint64_t asked = asked_for(), lazy = kiln__lazy_variants();
    eval_and_release(&out);
    CHECK_EQ(asked_for(), asked);
    CHECK_EQ(kiln__lazy_variants(), lazy);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled);
}

/* ---- errors --------------------------------------------------------------------------------------------------- */

static void expect_refused(struct kiln_compiled *compiled, struct kiln_array *x, kiln_status status, const char *part)
{
    struct kiln_output_list out;
    kiln_error err = {.text = ""};
    CHECK_EQ(kiln__compiled_call(compiled, &x, 1, &out, &err), status);
    CHECK_CONTAINS(err.text, part);
    CHECK_EQ(out.count, 0);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

/* The same text and nothing kept, whether the plan would run at once, later, or after its lazy input. */
static void check_refusal(struct kiln_array *x)
{
    struct function function = {.body = many};
    struct kiln_compiled *compiled = compile(&function);
    struct kiln_output_list out;
    kiln_counters before = counters();
    kiln_cache_default()->mode = KILN_MODE_NO_COMPILE;
    expect_refused(compiled, x, KILN_WOULD_COMPILE, "KILN_MODE=no-compile");
    expect_refused(compiled, x, KILN_WOULD_COMPILE, "KILN_MODE=no-compile");
    kiln_cache_default()->mode = KILN_MODE_OFF;
    CHECK_EQ(function.calls, 2); /* no plan was kept */
    CHECK_EQ(counters().compiles, before.compiles);
    call(compiled, x, &out);
    CHECK_EQ(function.calls, 3);
    CHECK_EQ(counters().compiles - before.compiles, KERNELS);
    eval_and_release(&out);
    CHECK_EQ(counters().compiles - before.compiles, KERNELS);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled);
}
#define check_refusal(...) CHECK_CALL(check_refusal, __VA_ARGS__)

static void test_no_compiler_when_it_runs_at_once(void **state)
{
    (void)state;
    use_kernels_of(KILN_OP_SUBTRACT, KILN_OP_MULTIPLY);
    check_refusal(counting(0, SHAPE(4, 3)));
}

static void test_no_compiler_when_it_is_lazy(void **state)
{
    (void)state;
    use_kernels_of(KILN_OP_MAXIMUM, KILN_OP_MULTIPLY);
    check_refusal(large());
}

static void test_no_compiler_when_its_input_is_lazy(void **state)
{
    (void)state;
    struct kiln_array *x = counting(0, SHAPE(4, 3)), *sum = binary(KILN_OP_ADD, x, x);
    eval(sum); /* the kernel of the addition is there */
    kiln__array_unref(sum);
    use_kernels_of(KILN_OP_MINIMUM, KILN_OP_MULTIPLY);
    check_refusal(binary(KILN_OP_ADD, x, x));
    kiln__array_unref(x);
}

/* One of many fails: its error comes, and when it can be compiled, each kernel has been compiled once. */
static void test_one_kernel_fails(void **state)
{
    (void)state;
    struct function function = {.body = many};
    struct kiln_compiled *compiled = compile(&function);
    struct kiln_array *x = large();
    struct kiln_output_list out;
    use_kernels_of(KILN_OP_DIVIDE, KILN_OP_MULTIPLY);
    uint64_t before = counters().compiles;
    broken = "test_7";
    expect_refused(compiled, x, KILN_COMPILE_FAILED, "test_7: the compiler says no");
    broken = NULL;
    CHECK_LT(counters().compiles - before, KERNELS);
    call(compiled, x, &out);
    CHECK_EQ(counters().compiles - before, KERNELS);
    eval_and_release(&out);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled);
}

/* ---- exactly what the call launches ---------------------------------------------------------------------------- */

static size_t negated_square(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(NEGATIVE, U(SQUARE, in[0]));
    return 1;
}

static const int64_t swapped[] = {1, 0};

/* Every other row: neither packed nor a row of one. */
static struct kiln_array *every_other(struct kiln_array *x)
{
    return apply(KILN_OP_SLICE, &x, 1, (int64_t[]){0, 0, x->dims[0], x->dims[1], 1, 2}, 6);
}

/* A ready input: the variant for its layout, and no other. A later call with another layout compiles a lazy variant. */
static void test_layouts_of_ready_inputs(void **state)
{
    (void)state;
    struct function function = {.body = negated_square};
    struct kiln_compiled *compiled = compile(&function);
    struct kiln_array *whole = counting(0, SHAPE(256, 512)), *x = every_other(whole), *packed = large();
    struct kiln_output_list out;
    eval(x);
    uint64_t before = counters().compiles, lazy = kiln__lazy_variants();
    call(compiled, x, &out);
    expect_lazy(&out, true);
    CHECK_EQ(counters().compiles - before, 1);
    eval_and_release(&out);
    CHECK_EQ(counters().compiles - before, 1);
    CHECK_EQ(kiln__lazy_variants(), lazy);
    call(compiled, packed, &out);
    CHECK_EQ(function.calls, 1);
    CHECK_EQ(counters().compiles - before, 1);
    eval_and_release(&out);
    CHECK_EQ(counters().compiles - before, 2);
    CHECK_EQ(kiln__lazy_variants() - lazy, 1);
    unref_all((struct kiln_array *[]){whole, x, packed}, 3);
    kiln__compiled_unref(compiled);
}

static size_t squared_negation(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = U(SQUARE, U(NEGATIVE, in[0]));
    return 1;
}

/* The layout of a view that was not evaluated is not known: the variant is lazy. */
static void test_layouts_of_lazy_inputs(void **state)
{
    (void)state;
    struct function function = {.body = squared_negation};
    struct kiln_compiled *compiled = compile(&function);
    struct kiln_array *whole = counting(0, SHAPE(256, 512)), *x = every_other(whole);
    struct kiln_output_list out;
    uint64_t before = counters().compiles, lazy = kiln__lazy_variants();
    call(compiled, x, &out);
    CHECK_EQ(counters().compiles, before);
    eval_and_release(&out);
    CHECK_EQ(counters().compiles - before, 1);
    CHECK_EQ(kiln__lazy_variants() - lazy, 1);
    unref_all((struct kiln_array *[]){whole, x}, 2);
    kiln__compiled_unref(compiled);
}

/* One compiled function after the other, nothing evaluated in between: what the first makes is known to be packed. */
static void test_outputs_of_plans_as_inputs(void **state)
{
    (void)state;
    struct function first = {.body = negated_square}, second = {.body = many};
    struct kiln_compiled *one = compile(&first), *two = compile(&second);
    struct kiln_array *x = large();
    struct kiln_output_list middle, out;
    use_kernels_of(KILN_OP_ADD, KILN_OP_SUBTRACT);
    call(one, x, &middle);
    expect_lazy(&middle, true);
    uint64_t before = counters().compiles;
    call(two, middle.arrays[0], &out);
    CHECK_EQ(counters().compiles - before, KERNELS);
    uint64_t asked = asked_for();
    eval_and_release(&out);
    CHECK_EQ(asked_for(), asked);
    kiln__output_list_release(&middle);
    kiln__array_unref(x);
    kiln__compiled_unref(one);
    kiln__compiled_unref(two);
}

/* Every kind of step that launches kernels: along rows and columns, long axes, views that copy, copies, layers,
 * products. */
static size_t steps_of_all_kinds(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *x = in[0], *turned = keep(transpose(x, swapped)), *both[2] = {turned, x};
    struct kiln_array *flat = keep(apply(KILN_OP_RESHAPE, &turned, 1, (int64_t[]){256 * 256}, 1));
    struct kiln_array *thin = keep(every_other(x));
    out[0] = keep(sum_axis(U(EXP, x), 1, true));
    out[1] = keep(sum_axis(U(EXP, x), 0, true));
    out[2] = keep(sum_axis(flat, 0, false));
    out[3] = U(EXP, keep(apply(KILN_OP_RESHAPE, &thin, 1, (int64_t[]){128 * 256}, 1)));
    out[4] = U(EXP, keep(apply(KILN_OP_CONTIGUOUS, &thin, 1, NULL, 0)));
    out[5] = U(EXP, keep(apply(KILN_OP_CONCATENATE, both, 2, (int64_t[]){0}, 1)));
    struct kiln_array *soft = NULL;
    must_be(kiln__softmax(turned, (struct kiln_axes){(int[]){1}, 1}, &soft, &err));
    out[6] = U(EXP, keep(soft));
    out[7] = B(MULTIPLY, B(ADD, x, turned), U(EXP, turned));
    out[8] = U(EXP, keep(apply(KILN_OP_SORT, &x, 1, (int64_t[]){1}, 1)));
    out[9] = keep(apply(KILN_OP_MAX, &turned, 1, (int64_t[]){1, 0}, 2));
    struct kiln_array *two_rows = NULL;
    must_be(kiln__slice(x, (int[]){0, 0}, (int[]){2, 256}, (int[]){1, 1}, 2, &two_rows, &err));
    struct kiln_array *narrow = keep(apply(KILN_OP_CAST, &x, 1, (int64_t[]){KILN_BFLOAT16}, 1));
    out[10] = U(EXP, B(MATMUL, keep(two_rows), x));
    out[11] = U(EXP, B(MATMUL, two_rows, turned));
    out[12] = U(EXP, B(MATMUL, x, x));
    out[13] = U(EXP, B(MATMUL, narrow, narrow));
    return 14;
}

static void test_steps_of_all_kinds(void **state)
{
    (void)state;
    struct function function = {.body = steps_of_all_kinds};
    struct kiln_compiled *compiled = compile(&function);
    struct kiln_array *x = large();
    struct kiln_output_list out;
    struct kiln_memory before, after;
    kiln__memory_get(&before);
    call(compiled, x, &out);
    kiln__memory_get(&after);
    expect_lazy(&out, true);
    CHECK_EQ(after.active, before.active); /* a dry run makes no storage */
    CHECK_EQ(after.peak, before.peak);
    uint64_t asked = asked_for(), lazy = kiln__lazy_variants();
    for (size_t i = 0; i < out.count; i++) {
        eval(out.arrays[i]);
        if (asked_for() != asked) CHECK_FAIL("output %zu needed a kernel that was not there", i);
    }
    CHECK_EQ(kiln__lazy_variants(), lazy);
    kiln__output_list_release(&out);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled);
}

/* ---- threads -------------------------------------------------------------------------------------------------- */

enum { THREADS = 6 };

struct racer {
    pthread_t thread;
    pthread_barrier_t *start;
    struct kiln_compiled *compiled;
    struct kiln_array *x;
};

static void *race(void *context)
{
    struct racer *racer = context;
    struct kiln_output_list out;
    pthread_barrier_wait(racer->start);
    call(racer->compiled, racer->x, &out);
    eval_and_release(&out);
    return NULL;
}

/* Two functions with the same kernels, each called by several threads at once: every kernel is compiled once. */
static void test_threads_that_race(void **state)
{
    (void)state;
    struct function functions[2] = {{.body = many}, {.body = many}};
    struct kiln_compiled *compiled[2] = {compile(&functions[0]), compile(&functions[1])};
    struct kiln_array *x = large();
    struct racer racers[THREADS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    use_kernels_of(KILN_OP_ADD, KILN_OP_MINIMUM);
    uint64_t before = counters().compiles, lazy = kiln__lazy_variants();
    for (int i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){.start = &start, .compiled = compiled[i % 2], .x = x};
        CHECK_EQ(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(racers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    CHECK_EQ(counters().compiles - before, KERNELS);
    CHECK_EQ(functions[0].calls, 1);
    CHECK_EQ(functions[1].calls, 1);
    CHECK_EQ(kiln__lazy_variants(), lazy);
    kiln__array_unref(x);
    kiln__compiled_unref(compiled[0]);
    kiln__compiled_unref(compiled[1]);
}

static void *call_and_eval(void *context)
{
    struct racer *racer = context;
    struct kiln_output_list out;
    call(racer->compiled, racer->x, &out);
    eval_and_release(&out);
    return NULL;
}

/* The child makes the plan itself, with threads of its own; the parent's goes on. */
static void test_fork_while_kernels_are_compiled(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    CHECK_SKIP(); /* it does not follow threads into a child */
#endif
    struct function function = {.body = many};
    struct racer racer = {.compiled = compile(&function), .x = large()};
    uint64_t before = counters().compiles;
    int status = -1;
    use_kernels_of(KILN_OP_SUBTRACT, KILN_OP_MAXIMUM);
    CHECK_EQ(pthread_create(&racer.thread, NULL, call_and_eval, &racer), 0);
    while (counters().compiles - before < 3) sched_yield();
    pid_t child = fork();
    if (child == 0) {
        call_and_eval(&racer);
        _exit(counters().compiles - before >= KERNELS ? 0 : 1); /* more, when some were made and not kept yet */
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    pthread_join(racer.thread, NULL);
    CHECK_EQ(counters().compiles - before, KERNELS);
    kiln__array_unref(racer.x);
    kiln__compiled_unref(racer.compiled);
}

/* ---- inside of a compiler ------------------------------------------------------------------------------------- */

static kiln_status compile_with_arrays(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                       kiln_error *err)
{
    (void)request, (void)err;
    struct kiln_output_list list;
    struct kiln_array *x = counting(0, SHAPE(4, 3));
    call(self, x, &list);
    eval_and_release(&list);
    kiln__array_unref(x);
    return kiln_artifact_put(out, "text", text.data, text.size);
}

static kiln_status link_nothing(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                kiln_error *err)
{
    (void)artifact, (void)device, (void)err;
    *executable = self;
    return KILN_OK;
}

/* Who makes a kernel waits for no other kernel, and lets nobody wait for it: nothing goes to the pool. */
static void test_inside_of_a_compiler(void **state)
{
    (void)state;
    struct function function = {.body = many};
    struct kiln_compiled *compiled = compile(&function);
    const kiln_compiler compiler = {.struct_size = sizeof compiler,
                                    .name = "arrays",
                                    .digest = "1",
                                    .self = compiled,
                                    .compile = compile_with_arrays,
                                    .link = link_nothing};
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "outer", .compiler = &compiler, .text = {"text", 4}};
    kiln_function *outer = NULL;
    void *executable = NULL;
    use_kernels_of(KILN_OP_ADD, KILN_OP_MAXIMUM);
    must_be(kiln_function_new(kiln_cache_default(), &options, &outer, &err));
    uint64_t before = counters().compiles;
    shared_parts = 0;
    must_be(kiln_get(outer, NULL, 0, NULL, &executable, &err));
    CHECK_EQ(executable, compiled);
    CHECK_EQ(counters().compiles - before, KERNELS + 1);
    CHECK_EQ(shared_parts, 0);
    kiln_function_free(outer);
    kiln__compiled_unref(compiled);
}

/* Uncompiled operations are lazy, whoever uses them. */
static int make_the_kernel_of_sums(void **state)
{
    (void)state;
    struct kiln_array *x = large(), *sum = sum_axis(x, 0, false);
    eval(sum);
    kiln__array_unref(sum);
    kiln__array_unref(x);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kernels_are_compiled_with_the_plan),
        cmocka_unit_test(test_no_compiler_when_it_runs_at_once),
        cmocka_unit_test(test_no_compiler_when_it_is_lazy),
        cmocka_unit_test(test_no_compiler_when_its_input_is_lazy),
        cmocka_unit_test(test_one_kernel_fails),
        cmocka_unit_test(test_layouts_of_ready_inputs),
        cmocka_unit_test(test_layouts_of_lazy_inputs),
        cmocka_unit_test(test_outputs_of_plans_as_inputs),
        cmocka_unit_test(test_steps_of_all_kinds),
        cmocka_unit_test(test_threads_that_race),
        cmocka_unit_test(test_fork_while_kernels_are_compiled),
        cmocka_unit_test(test_inside_of_a_compiler),
    };
    setenv("KILN_MODE", "off", 1); /* no folder: every kernel is compiled here */
    return cmocka_run_group_tests(tests, make_the_kernel_of_sums, NULL);
}
