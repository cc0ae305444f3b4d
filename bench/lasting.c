/*
 * lasting.c - a warm call of one compiled function after much else happened to it: thousands of other shapes, thousands
 * of failed traces, another thread that calls it as well. The floor is the same call before, or alone. And calls with
 * shapes that are new, of a function that is traced once and of one that is traced for each.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"

enum { LENGTH = 16, SHAPES = 4000, FAILURES = 3000, CALLS = 2000, THREAD_CALLS = 50000 };

struct call {
    struct compiled compiled;
    int failures;
};

static void call_compiled(void *ctx)
{
    struct call *call = ctx;
    call->failures += !compiled_call(&call->compiled);
}

static bool call_init(struct call *call)
{
    float a[LENGTH], b[LENGTH];
    call->failures = 0;
    fill_inputs(a, b, LENGTH);
    return compiled_init(&call->compiled, EXPRESSION_PRODUCT_AND_SUM, a, b, LENGTH) && compiled_call(&call->compiled);
}

static double time_call(struct call *call, int repeats)
{
    struct work work = {call_compiled, call, 0};
    measure(&work, 1, CALLS, repeats);
    return work.ns;
}

/* ---- many shapes ----------------------------------------------------------------------------------------------- */

static bool call_with_length(const struct compiled *compiled, const float *a, const float *b, int length)
{
    const mlx_array arrays[] = {mlx_array_new_data(a, &length, 1, MLX_FLOAT32),
                                mlx_array_new_data(b, &length, 1, MLX_FLOAT32)};
    struct compiled other = {compiled->closure, mlx_vector_array_new_data(arrays, 2), mlx_vector_array_new()};
    const float *values = compiled_call(&other);
    bool is_right = values && values[length - 1] == (a[length - 1] * b[length - 1]) * (a[length - 1] + b[length - 1]);
    mlx_array_free(arrays[0]);
    mlx_array_free(arrays[1]);
    mlx_vector_array_free(other.inputs);
    mlx_vector_array_free(other.outputs);
    return is_right;
}

static bool see_shapes(struct call *call)
{
    static float a[LENGTH + SHAPES], b[LENGTH + SHAPES];
    bool is_right = true;
    fill_inputs(a, b, LENGTH + SHAPES);
    for (int i = 1; i <= SHAPES && is_right; i++) is_right = call_with_length(&call->compiled, a, b, LENGTH + i);
    return is_right;
}

/* ---- new shapes ------------------------------------------------------------------------------------------------ */

/* Time of a call with a length that no call had before; 0: it failed. */
static double time_new_lengths(bool shapeless)
{
    static float a[LENGTH + SHAPES], b[LENGTH + SHAPES];
    struct compiled compiled;
    fill_inputs(a, b, LENGTH + SHAPES);
    bool is_right = shapeless ? compiled_init_shapeless(&compiled, EXPRESSION_PRODUCT_AND_SUM, a, b, LENGTH)
                              : compiled_init(&compiled, EXPRESSION_PRODUCT_AND_SUM, a, b, LENGTH);
    is_right = is_right && compiled_call(&compiled);
    double start = now_ns();
    for (int i = 1; i <= SHAPES / 8 && is_right; i++) is_right = call_with_length(&compiled, a, b, LENGTH + i);
    double ns = (now_ns() - start) / (SHAPES / 8);
    compiled_release(&compiled);
    return is_right ? ns : 0;
}

static void measure_new_lengths(struct row *row, int repeats)
{
    struct samples traced = {.count = 0}, replayed = {.count = 0};
    bool is_fine = true;
    for (int i = 0; i < repeats && is_fine; i++) {
        double with = time_new_lengths(false), without = time_new_lengths(true);
        is_fine = with > 0 && without > 0;
        sample_add(&traced, with);
        sample_add(&replayed, without);
    }
    row->ns = sample_median(&replayed);
    row->floor_ns = sample_median(&traced);
    if (!is_fine) row_fail(row, "a call failed");
}

/* ---- failed traces --------------------------------------------------------------------------------------------- */

static int fail_after_some_steps(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    (void)res, (void)payload;
    mlx_array a = mlx_array_new(), b = mlx_array_new();
    if (mlx_vector_array_get(&a, in, 0) == 0 && mlx_add(&b, a, a, bench_stream()) == 0)
        mlx_multiply(&b, b, a, bench_stream());
    mlx_array_free(a);
    mlx_array_free(b);
    return 1;
}

static void be_quiet(const char *text, void *data)
{
    (void)text, (void)data;
}

/* A compiled function that fails each time, called as often as that, beside the measured one and with its inputs. */
static bool fail_traces(struct call *call)
{
    mlx_closure plain = mlx_closure_new_func_payload(fail_after_some_steps, NULL, NULL), failing = mlx_closure_new();
    mlx_vector_array outputs = mlx_vector_array_new();
    bool is_failing = mlx_compile(&failing, plain, false) == 0;
    mlx_set_error_handler(be_quiet, NULL, NULL);
    for (int i = 0; i < FAILURES && is_failing; i++)
        is_failing = mlx_closure_apply(&outputs, failing, call->compiled.inputs) != 0;
    bench_errors();
    mlx_closure_free(plain);
    mlx_closure_free(failing);
    mlx_vector_array_free(outputs);
    return is_failing;
}

static void measure_after(struct row *row, bool (*happen)(struct call *), int repeats)
{
    struct call call;
    if (!call_init(&call)) {
        row_fail(row, "the function failed");
    } else {
        row->floor_ns = time_call(&call, repeats);
        if (!happen(&call)) row_fail(row, "the calls before it went wrong");
        row->ns = time_call(&call, repeats);
        if (call.failures) row_fail(row, "%d calls failed", call.failures);
    }
    compiled_release(&call.compiled);
}

static void measure_shapes(struct row *row, int repeats)
{
    measure_after(row, see_shapes, repeats);
}

static void measure_failures(struct row *row, int repeats)
{
    measure_after(row, fail_traces, repeats);
}

/* ---- two threads ----------------------------------------------------------------------------------------------- */

struct caller {
    pthread_t thread;
    struct call call;
    double ns;
};

/* Of the processor: what threads do to each other shows there, what else the machine does shows less. */
static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *call_often(void *context)
{
    struct caller *caller = context;
    call_compiled(&caller->call); /* fills this thread's front */
    double start = thread_ns();
    for (int i = 0; i < THREAD_CALLS; i++) call_compiled(&caller->call);
    caller->ns = (thread_ns() - start) / THREAD_CALLS;
    return NULL;
}

/* One function; inputs and outputs of its own for each thread. */
static bool caller_init(struct caller *caller, const struct compiled *compiled)
{
    float a[LENGTH], b[LENGTH];
    fill_inputs(a, b, LENGTH);
    caller->call.failures = 0;
    return compiled_init(&caller->call.compiled, EXPRESSION_PRODUCT_AND_SUM, a, b, LENGTH) &&
           mlx_closure_set(&caller->call.compiled.closure, compiled->closure) == 0;
}

/* Time of one call when `threads` call at once; 0: it failed. */
static double time_threads(const struct compiled *compiled, int threads)
{
    struct caller callers[2];
    double ns = 0;
    bool is_fine = true;
    for (int i = 0; i < threads; i++) is_fine = caller_init(&callers[i], compiled) && is_fine;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&callers[i].thread, NULL, call_often, &callers[i]) != 0)
            abort(); /* the first one has begun */
    for (int i = 0; i < threads; i++) {
        pthread_join(callers[i].thread, NULL);
        is_fine = is_fine && callers[i].call.failures == 0;
        ns += callers[i].ns / threads;
        compiled_release(&callers[i].call.compiled);
    }
    return is_fine ? ns : 0;
}

static void measure_threads(struct row *row, int repeats)
{
    struct call call;
    struct samples one = {.count = 0}, two = {.count = 0};
    bool is_fine = call_init(&call);
    for (int i = 0; i < repeats && is_fine; i++) {
        double alone = time_threads(&call.compiled, 1), together = time_threads(&call.compiled, 2);
        is_fine = alone > 0 && together > 0;
        sample_add(&one, alone);
        sample_add(&two, together);
    }
    row->ns = sample_median(&two);
    row->floor_ns = sample_median(&one);
    if (!is_fine) row_fail(row, "a call failed");
    compiled_release(&call.compiled);
}

int bench_lasting(struct row *rows, int repeats)
{
    static const struct {
        const char *name, *floor_name;
        void (*measure)(struct row *, int);
    } kinds[] = {{"warm call after 4,000 shapes", "the same before", measure_shapes},
                 {"shapeless call with a new length", "traced for each", measure_new_lengths},
                 {"warm call after 3,000 failed traces", "the same before", measure_failures},
                 {"warm call, 2 threads on one function", "1 thread", measure_threads}};
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is_wanted(kinds[i].name)) continue;
        rows[count] = (struct row){.name = kinds[i].name, .floor_name = kinds[i].floor_name, .aim = "1.0 of the floor"};
        kinds[i].measure(&rows[count++], repeats);
    }
    return count;
}
