/*
 * cold.c - many that want one kernel at once, and hits while another key is being compiled.
 *
 * Floors: one thread or process that wants it alone; the same hits while nobody compiles. In each case exactly one
 * compile must have happened, or the row says how many. And a function that nobody has called before, whose operations
 * the base pack has: its floor is the same first call when it waits for the compiler.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"
#include "child.h"
#include "fake.h"

enum { CROWD = 8, CALLS = 2000, MAX_RUNS = 7 };
static const double compile_ns = 20e6, long_compile_ns = 200e6;

/* ---- threads ------------------------------------------------------------------------------------------------- */

struct waiter {
    pthread_t thread;
    kiln_function *function;
    pthread_barrier_t *start;
    kiln_status status;
};

static void *want(void *context)
{
    struct waiter *waiter = context;
    void *executable;
    pthread_barrier_wait(waiter->start);
    waiter->status = kiln_get(waiter->function, NULL, 0, NULL, &executable, NULL);
    return NULL;
}

/* From the moment all start until the last one has it; 0: it failed. */
static double time_crowd(int threads, int *compiles)
{
    struct fake fake;
    struct waiter waiters[CROWD];
    pthread_barrier_t start;
    kiln_cache *cache = NULL;
    const kiln_cache_options memory_only = {.struct_size = sizeof memory_only, .folder = ""};
    fake_init(&fake);
    fake.busy_ns = compile_ns;
    kiln_function *function =
        kiln_cache_open(&memory_only, &cache, NULL) == KILN_OK ? fake_function(cache, &fake, NULL) : NULL;
    bool is_fine = function && pthread_barrier_init(&start, NULL, (unsigned)threads + 1) == 0;
    if (!is_fine) return 0;
    for (int i = 0; i < threads; i++) {
        waiters[i] = (struct waiter){.function = function, .start = &start};
        if (pthread_create(&waiters[i].thread, NULL, want, &waiters[i]) != 0) abort(); /* the others wait for it */
    }
    pthread_barrier_wait(&start);
    double from = now_ns();
    for (int i = 0; i < threads; i++) {
        pthread_join(waiters[i].thread, NULL);
        is_fine &= waiters[i].status == KILN_OK;
    }
    double ns = now_ns() - from;
    *compiles = atomic_load(&fake.compiles);
    pthread_barrier_destroy(&start);
    kiln_function_free(function);
    kiln_cache_close(cache);
    return is_fine ? ns : 0;
}

static void measure_threads(struct row *row, int repeats)
{
    struct samples all = {.count = 0}, one = {.count = 0};
    for (int i = 0; i < repeats && !row->is_missing; i++) {
        int compiles = 0, alone_compiles = 0;
        double alone = time_crowd(1, &alone_compiles), together = time_crowd(CROWD, &compiles);
        if (!alone || !together) row_fail(row, "a thread got nothing");
        if (compiles != 1) row_fail(row, "%d compiles of one key", compiles);
        sample_add(&one, alone);
        sample_add(&all, together);
    }
    row->ns = sample_median(&all);
    row->floor_ns = sample_median(&one);
}

/* ---- processes ----------------------------------------------------------------------------------------------- */

/* From the function to its first result; then how often unfused kernels served. */
static bool call_first(double out[3])
{
    enum { LENGTH = 16 };
    float a[LENGTH], b[LENGTH];
    struct compiled compiled;
    kiln_counters counters;
    fill_inputs(a, b, LENGTH);
    double start = now_ns();
    bool is_fine = compiled_init(&compiled, EXPRESSION_DIFFERENCE, a, b, LENGTH) && compiled_call(&compiled);
    out[0] = now_ns() - start;
    kiln_cache_counters(kiln_cache_default(), &counters);
    out[1] = (double)counters.tier_calls;
    return is_fine;
}

bool cold_phase(const char *phase, double out[3])
{
    if (strcmp(phase, "first call") == 0) return call_first(out);
    static const char text[] = "define i64 @kernel(i64 %x) {\n  %y = mul i64 %x, 3\n  ret i64 %y\n}\n";
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "triple", .text = {text, sizeof text - 1}};
    kiln_function *function = NULL;
    kiln_counters counters;
    void *executable;
    if (strcmp(phase, "crowd") != 0) return false;
    double start = now_ns();
    if (kiln_function_new(kiln_cache_default(), &options, &function, NULL) != KILN_OK ||
        kiln_get(function, NULL, 0, NULL, &executable, NULL) != KILN_OK)
        return false;
    out[0] = now_ns() - start;
    kiln_cache_counters(kiln_cache_default(), &counters);
    out[1] = (double)counters.compiles;
    kiln_function_free(function);
    return true;
}

/* From the start of the first process to the end of the last, in an empty folder; 0: one failed. */
static double time_processes(int count, double *compiles)
{
    char folder[64];
    struct child children[CROWD];
    double out[3];
    bool is_fine = new_folder(folder);
    *compiles = 0;
    if (!is_fine) return 0;
    double start = now_ns();
    for (int i = 0; i < count; i++) is_fine &= child_start("crowd", &children[i]);
    for (int i = 0; i < count; i++) {
        is_fine &= child_finish(&children[i], out);
        *compiles += out[1];
    }
    double ns = now_ns() - start;
    remove_folder(folder);
    return is_fine ? ns : 0;
}

static void measure_processes(struct row *row, int repeats)
{
    struct samples all = {.count = 0}, one = {.count = 0};
    char *before = folder_before();
    for (int i = 0; i < repeats && i < MAX_RUNS && !row->is_missing; i++) {
        double compiles, alone_compiles, alone = time_processes(1, &alone_compiles),
                                         together = time_processes(CROWD, &compiles);
        if (!alone || !together)
            row_fail(row, "a process failed");
        else if (compiles != 1)
            row_fail(row, "%.0f compiles of one key", compiles);
        sample_add(&one, alone);
        sample_add(&all, together);
    }
    folder_back(before);
    row->ns = sample_median(&all);
    row->floor_ns = sample_median(&one);
}

/* ---- a new function, with the base pack -------------------------------------------------------------------------- */

static bool time_first_call(const char *tier, double out[3])
{
    char folder[64];
    bool is_fine = new_folder(folder) && setenv("KILN_TIER", tier, 1) == 0 && run_child("first call", out);
    remove_folder(folder);
    return is_fine;
}

static void measure_first_call(struct row *row, int repeats)
{
    struct samples first = {.count = 0}, waiting = {.count = 0};
    char *before = folder_before();
    unsetenv("KILN_BASE_PACK"); /* the one beside the library */
    for (int i = 0; i < repeats && !row->is_missing; i++) {
        double out[3], waited[3];
        if (!time_first_call("1", out) || !time_first_call("0", waited))
            row_fail(row, "a process failed");
        else if (out[1] < 1)
            row_fail(row, "there is no base pack; make base-pack");
        sample_add(&first, out[0]);
        sample_add(&waiting, waited[0]);
    }
    setenv("KILN_BASE_PACK", "", 1);
    setenv("KILN_TIER", "0", 1);
    folder_back(before);
    row->ns = sample_median(&first);
    row->floor_ns = sample_median(&waiting);
}

/* ---- hits meanwhile ------------------------------------------------------------------------------------------ */

struct compiling {
    kiln_function *function;
    _Atomic bool is_over;
    int64_t next; /* each compile is of another key */
};

/* Compiles one key after the other until it is told to stop. */
static void *compile_on(void *context)
{
    struct compiling *compiling = context;
    void *executable;
    while (!atomic_load(&compiling->is_over)) {
        const kiln_arg arg = {&kiln_const_i64, &compiling->next};
        kiln_get(compiling->function, &arg, 1, NULL, &executable, NULL);
        compiling->next++;
    }
    return NULL;
}

struct hits {
    kiln_function *function;
    kiln_status status;
};

static void hit(void *ctx)
{
    struct hits *hits = ctx;
    void *executable;
    hits->status |= kiln_get(hits->function, NULL, 0, NULL, &executable, NULL);
}

/* Half the samples with nobody compiling, half with one thread that always is; samples are short against a compile. */
static double median_hit(struct hits *hits, int repeats)
{
    struct work work = {hit, hits, 0};
    measure(&work, 1, CALLS, repeats);
    return work.ns;
}

static void measure_hits(struct row *row, int repeats)
{
    struct fake quick, slow;
    kiln_cache *cache = NULL;
    kiln_error err = {0};
    const kiln_cache_options memory_only = {.struct_size = sizeof memory_only, .folder = ""};
    static const char text[] = "slow";
    fake_init(&quick);
    fake_init(&slow);
    slow.busy_ns = long_compile_ns;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "slow", .compiler = &slow.compiler, .text = {text, sizeof text - 1}};
    struct hits hits = {0};
    struct compiling compiling = {.next = 0};
    pthread_t thread;
    if (kiln_cache_open(&memory_only, &cache, &err) != KILN_OK ||
        !(hits.function = fake_function(cache, &quick, &err)) ||
        kiln_function_new(cache, &options, &compiling.function, &err) != KILN_OK) {
        row_fail(row, "%s", err.text);
        return;
    }
    row->floor_ns = median_hit(&hits, repeats);
    if (pthread_create(&thread, NULL, compile_on, &compiling) != 0) abort();
    while (!atomic_load(&slow.compiles)) {
    }
    row->ns = median_hit(&hits, repeats);
    bool was_compiling = atomic_load(&slow.compiles) >= 1;
    atomic_store(&compiling.is_over, true);
    pthread_join(thread, NULL);
    if (hits.status != KILN_OK || !was_compiling) row_fail(row, "a hit failed, or nobody compiled");
    kiln_function_free(hits.function);
    kiln_function_free(compiling.function);
    kiln_cache_close(cache);
}

int bench_cold(struct row *rows, int repeats)
{
    static const struct {
        const char *name, *floor, *aim;
        void (*measure)(struct row *, int);
    } kinds[] = {{"8 threads cold on one key, 20 ms compile", "1 thread", "1.0 of the floor", measure_threads},
                 {"8 processes cold on one key, with LLVM", "1 process", "one compile", measure_processes},
                 {"first call of a new function, base pack", "waits for LLVM", "1 ms", measure_first_call},
                 {"hit during a 200 ms compile", "nobody compiles", "1.0 of the floor", measure_hits}};
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is_wanted(kinds[i].name)) continue;
        rows[count] = (struct row){.name = kinds[i].name, .floor_name = kinds[i].floor, .aim = kinds[i].aim};
        kinds[i].measure(&rows[count++], repeats);
    }
    return count;
}
