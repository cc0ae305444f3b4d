/*
 * processes.c - first calls, each in a process of its own and timed inside it: cold in an empty folder, with loading
 * LLVM; further kernels once it is loaded; and the next process, which finds everything in the folder.
 *
 * Floors: opening the compiler's library; compiling a function that does nothing; reading an artifact's file and
 * copying it to memory that is then made executable.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"
#include "child.h"
#include "kiln.h"

enum { LENGTH = 1024, MAX_RUNS = 7 };

/* ---- inside a child ------------------------------------------------------------------------------------------ */

/* Time of the first call of an expression, 0 when it failed. */
static double first_call(enum expression expression)
{
    static float a[LENGTH], b[LENGTH];
    struct compiled compiled;
    fill_inputs(a, b, LENGTH);
    if (!compiled_init(&compiled, expression, a, b, LENGTH)) return 0;
    double start = now_ns();
    bool is_done = compiled_call(&compiled) != NULL;
    double ns = now_ns() - start;
    compiled_release(&compiled);
    return is_done ? ns : 0;
}

static double compile_nothing(void)
{
    static const char text[] = "define void @kernel() {\n  ret void\n}\n";
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "nothing", .text = {text, sizeof text - 1}};
    kiln_function *function = NULL;
    void *executable;
    if (kiln_function_new(kiln_cache_default(), &options, &function, NULL) != KILN_OK) return 0;
    double start = now_ns();
    bool is_done = kiln_get(function, NULL, 0, NULL, &executable, NULL) == KILN_OK;
    double ns = now_ns() - start;
    kiln_function_free(function);
    return is_done ? ns : 0;
}

static double open_compiler(void)
{
    char path[PATH_MAX];
    const char *own = getenv("KILN_PLUGIN");
    Dl_info info;
    if (own && *own)
        snprintf(path, sizeof path, "%s", own);
    else if (dladdr((void *)kiln_cache_open, &info) && strrchr(info.dli_fname, '/'))
        snprintf(path, sizeof path, "%.*s/libkiln-llvm.so", (int)(strrchr(info.dli_fname, '/') - info.dli_fname),
                 info.dli_fname);
    else
        return 0;
    double start = now_ns();
    return dlopen(path, RTLD_NOW | RTLD_LOCAL) ? now_ns() - start : 0;
}

bool processes_phase(const char *phase, double out[3])
{
    if (strcmp(phase, "open") == 0) {
        out[0] = open_compiler();
    } else if (strcmp(phase, "fill") == 0) {
        out[0] = first_call(EXPRESSION_PRODUCT_AND_SUM);
    } else if (strcmp(phase, "cold") == 0) {
        out[0] = first_call(EXPRESSION_PRODUCT_AND_SUM);
        double difference = first_call(EXPRESSION_DIFFERENCE), squares = first_call(EXPRESSION_SQUARES);
        out[1] = difference && squares ? (difference + squares) / 2 : 0;
        out[2] = compile_nothing();
    } else if (strcmp(phase, "next") == 0) {
        out[0] = first_call(EXPRESSION_PRODUCT_AND_SUM);
        out[1] = load_by_hand();
        kiln_counters counters;
        kiln_cache_counters(kiln_cache_default(), &counters);
        out[2] = (double)counters.compiles;
    }
    return out[0] > 0;
}

/* ---- in the parent ------------------------------------------------------------------------------------------- */

struct results {
    struct samples cold, further, open, nothing, next, load;
    bool is_missing, has_compiled_again;
};

static void run_once(struct results *results)
{
    char folder[64];
    double opened[3], cold[3], filled[3], next[3];
    if (!new_folder(folder)) {
        results->is_missing = true;
        return;
    }
    bool is_run = run_child("open", opened) && run_child("cold", cold);
    remove_folder(folder);
    is_run = is_run && new_folder(folder) && run_child("fill", filled) && run_child("next", next);
    remove_folder(folder);
    if (!is_run) {
        results->is_missing = true;
        return;
    }
    sample_add(&results->open, opened[0]);
    sample_add(&results->cold, cold[0]);
    sample_add(&results->further, cold[1]);
    sample_add(&results->nothing, cold[2]);
    sample_add(&results->next, next[0]);
    sample_add(&results->load, next[1]);
    results->has_compiled_again |= next[2] > 0;
}

int bench_processes(struct row *rows, int repeats)
{
    struct results results = {.is_missing = false};
    static const char *const names[] = {"first call, cold, with loading LLVM", "first call, cold, a further kernel",
                                        "first call, next process"};
    if (!is_wanted(names[0]) && !is_wanted(names[1]) && !is_wanted(names[2])) return 0;
    char *before = folder_before();
    for (int i = 0; i < (repeats < MAX_RUNS ? repeats : MAX_RUNS) && !results.is_missing; i++) run_once(&results);
    folder_back(before);
    rows[0] = (struct row){.name = names[0],
                           .floor_name = "opening the compiler",
                           .aim = "40 ms",
                           .ns = sample_median(&results.cold),
                           .floor_ns = sample_median(&results.open)};
    rows[1] = (struct row){.name = names[1],
                           .floor_name = "compiling an empty function",
                           .aim = "12 ms",
                           .ns = sample_median(&results.further),
                           .floor_ns = sample_median(&results.nothing)};
    rows[2] = (struct row){.name = names[2],
                           .floor_name = "file to executable memory",
                           .aim = "0.3 ms",
                           .ns = sample_median(&results.next),
                           .floor_ns = sample_median(&results.load)};
    for (int i = 0; i < 3; i++) rows[i].is_missing = results.is_missing;
    if (results.has_compiled_again) {
        rows[2].is_missing = true;
        snprintf(rows[2].why, sizeof rows[2].why, "the next process compiled again");
    }
    return 3;
}
