/*
 * processes.c - first calls, each in a process of its own and timed inside it: cold in an empty folder, with loading
 * LLVM; further kernels once it is loaded; and the next process, which finds everything in the folder.
 *
 * Floors: opening the compiler's library; compiling a function that does nothing; reading an artifact's file and
 * copying it to memory that is then made executable.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arrays.h"
#include "bench.h"
#include "kiln.h"
#include "kiln/inspect.h"

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

static bool make_executable(const char *path)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0) return false;
    size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    void *code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(file);
    if (bytes == MAP_FAILED || code == MAP_FAILED) return false;
    memcpy(code, bytes, size);
    return mprotect(code, size, PROT_READ | PROT_EXEC) == 0 && munmap(bytes, size) == 0;
}

/* Every artifact of the folder but the run-time library, which a process that only loads does not need. */
static double load_by_hand(void)
{
    kiln_inspector *inspector = NULL;
    double ns = 0;
    if (kiln_inspect_open(NULL, &inspector, NULL) != KILN_OK) return 0;
    for (size_t i = 0; i < kiln_inspect_count(inspector); i++) {
        kiln_entry *entry = NULL;
        if (kiln_entry_open(inspector, i, &entry, NULL) != KILN_OK) continue;
        kiln_entry_info info;
        kiln_entry_describe(entry, &info);
        double start = now_ns();
        if (kiln_entry_get(entry, "object").data && make_executable(info.path)) ns += now_ns() - start;
        kiln_entry_close(entry);
    }
    kiln_inspect_close(inspector);
    return ns;
}

int bench_child(const char *phase)
{
    double first = 0, second = 0, third = 0;
    if (strcmp(phase, "open") == 0) {
        first = open_compiler();
    } else if (strcmp(phase, "fill") == 0) {
        first = first_call(EXPRESSION_PRODUCT_AND_SUM);
    } else if (strcmp(phase, "cold") == 0) {
        first = first_call(EXPRESSION_PRODUCT_AND_SUM);
        double difference = first_call(EXPRESSION_DIFFERENCE), squares = first_call(EXPRESSION_SQUARES);
        second = difference && squares ? (difference + squares) / 2 : 0;
        third = compile_nothing();
    } else if (strcmp(phase, "next") == 0) {
        first = first_call(EXPRESSION_PRODUCT_AND_SUM);
        second = load_by_hand();
        kiln_counters counters;
        kiln_cache_counters(kiln_cache_default(), &counters);
        third = (double)counters.compiles;
    }
    printf("%.0f %.0f %.0f\n", first, second, third);
    return first > 0 ? 0 : 1;
}

/* ---- in the parent ------------------------------------------------------------------------------------------- */

static bool run_child(const char *phase, double out[3])
{
    int ends[2];
    pid_t process;
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *words[] = {"kiln-bench", "--child", (char *)phase, NULL};
    int error = posix_spawn(&process, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *file = error ? NULL : fdopen(ends[0], "r");
    bool is_read = file && fscanf(file, "%lf %lf %lf", &out[0], &out[1], &out[2]) == 3;
    if (file)
        fclose(file);
    else
        close(ends[0]);
    int status = 1;
    while (!error && waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return is_read && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static bool new_folder(char folder[64])
{
    snprintf(folder, 64, "/tmp/kiln-bench-XXXXXX");
    return mkdtemp(folder) && setenv("KILN_CACHE_DIR", folder, 1) == 0;
}

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
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    is_run = is_run && new_folder(folder) && run_child("fill", filled) && run_child("next", next);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
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
    char *before = getenv("KILN_CACHE_DIR") ? strdup(getenv("KILN_CACHE_DIR")) : NULL;
    for (int i = 0; i < (repeats < MAX_RUNS ? repeats : MAX_RUNS) && !results.is_missing; i++) run_once(&results);
    if (before)
        setenv("KILN_CACHE_DIR", before, 1);
    else
        unsetenv("KILN_CACHE_DIR");
    free(before);
    rows[0] = (struct row){.name = "first call, cold, with loading LLVM",
                           .floor_name = "opening the compiler",
                           .aim = "40 ms",
                           .ns = sample_median(&results.cold),
                           .floor_ns = sample_median(&results.open)};
    rows[1] = (struct row){.name = "first call, cold, a further kernel",
                           .floor_name = "compiling an empty function",
                           .aim = "12 ms",
                           .ns = sample_median(&results.further),
                           .floor_ns = sample_median(&results.nothing)};
    rows[2] = (struct row){.name = "first call, next process",
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
