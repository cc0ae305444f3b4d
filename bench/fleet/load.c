/*
 * load.c - the same through Kiln: processes that ask for keys of their own, each with a folder of its own.
 *
 *     kiln-fleet-load put|get FOLDER PROCESSES KEYS
 *
 * The remote is that of KILN_REMOTE. `put`: nothing is there yet; a compiler that does nothing makes each entry, which
 * goes to the remote in the background; the clock stops when the last one is there. `get`: new folders, and every entry
 * must come from the remote. What did not go as it should is said on stderr, with status 1.
 *
 * A time of `put` is that of a call, which does not wait for the remote.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet.h"
#include "kiln.h"

enum {
    MAX_PROCESSES = 64,
    /* A kernel's artifact has 12 KiB, of which zstd leaves about a third: docs/scale.md has where that comes from. */
    CODE_SIZE = 12 << 10,
    RANDOM_SIZE = 3 << 10,
    IN_FLIGHT = 64 /* puts that a process may be ahead of the remote: fewer than Kiln's queue takes */
};

struct results {
    atomic_bool is_started;
    atomic_int ready;
    struct {
        double end_ns;
        uint64_t bytes;
        bool is_fine;
    } processes[MAX_PROCESSES];
    double ns[]; /* of every call */
};

/* ---- a compiler that makes bytes of a kernel's size ----------------------------------------------------------------
 */

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)self, (void)request, (void)err;
    static const char line[] = "  %12 = fmul <16 x float> %10, %11\n";
    char code[CODE_SIZE];
    uint64_t state = 0;
    memcpy(&state, (const char *)text.data + text.size - sizeof state, sizeof state);
    for (size_t i = 0; i < RANDOM_SIZE; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        code[i] = (char)(state >> 56);
    }
    for (size_t i = RANDOM_SIZE; i < sizeof code; i++) code[i] = line[i % (sizeof line - 1)];
    return kiln_artifact_put(out, "code", code, sizeof code);
}

static kiln_status link_code(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                             kiln_error *err)
{
    (void)device, (void)err;
    *executable = self;
    return kiln_artifact_get(artifact, "code").size == CODE_SIZE ? KILN_OK : KILN_LINK_FAILED;
}

static void unlink_code(void *self, void *executable)
{
    (void)self, (void)executable;
}

static kiln_compiler compiler = {.struct_size = sizeof compiler,
                                 .name = "fleet",
                                 .digest = "1",
                                 .compile = compile,
                                 .link = link_code,
                                 .unlink = unlink_code,
                                 .self = &compiler};

/* ---- one process ------------------------------------------------------------------------------------------------ */

/* The clock runs for kiln_get alone. */
static double ask(kiln_cache *cache, int process, int key)
{
    char text[64];
    int size = snprintf(text, sizeof text, "process %d, key %08d", process, key);
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "entry", .compiler = &compiler, .text = {text, (size_t)size}};
    kiln_function *function = NULL;
    void *executable;
    kiln_error err;
    kiln_status status = kiln_function_new(cache, &options, &function, &err);
    double start = now_ns();
    if (status == KILN_OK) status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    double ns = now_ns() - start;
    kiln_function_free(function);
    if (status == KILN_OK) return ns;
    fprintf(stderr, "kiln-fleet-load: %s\n", err.text);
    return 0;
}

static kiln_counters counted(kiln_cache *cache)
{
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    return counters;
}

/* Until the remote has all but `ahead` of `made` entries, or has failed. */
static void wait_for_puts(kiln_cache *cache, uint64_t made, uint64_t ahead)
{
    for (;;) {
        kiln_counters counters = counted(cache);
        if (counters.remote_puts + ahead >= made || counters.remote_faults) return;
        usleep(200);
    }
}

static void run(struct results *results, const char *folder, int process, int keys, bool is_put)
{
    char path[512];
    kiln_cache *cache = NULL;
    snprintf(path, sizeof path, "%s/%d", folder, process);
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = path};
    bool is_fine = kiln_cache_open(&options, &cache, NULL) == KILN_OK;
    atomic_fetch_add(&results->ready, 1);
    while (!atomic_load(&results->is_started)) usleep(100);
    for (int key = 0; is_fine && key < keys; key++) {
        double ns = ask(cache, process, key);
        results->ns[process * keys + key] = ns;
        is_fine = ns > 0;
        if (is_put) wait_for_puts(cache, (uint64_t)key + 1, IN_FLIGHT);
    }
    if (is_put && cache) wait_for_puts(cache, (uint64_t)keys, 0);
    kiln_counters counters = cache ? counted(cache) : (kiln_counters){.calls = 0};
    results->processes[process].end_ns = now_ns();
    results->processes[process].bytes = counters.remote_bytes_read + counters.remote_bytes_written;
    uint64_t moved = is_put ? counters.remote_puts : counters.remote_hits;
    if (moved != (uint64_t)keys)
        fprintf(stderr,
                "kiln-fleet-load: %llu of %d entries went over the remote, with %llu faults and %llu compiles\n",
                (unsigned long long)moved, keys, (unsigned long long)counters.remote_faults,
                (unsigned long long)counters.compiles);
    results->processes[process].is_fine = is_fine && moved == (uint64_t)keys;
    kiln_cache_close(cache);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static bool run_all(struct results *results, const char *folder, int processes, int keys, bool is_put)
{
    int started = 0;
    for (; started < processes; started++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child > 0) continue;
        run(results, folder, started, keys, is_put);
        exit(results->processes[started].is_fine ? 0 : 1);
    }
    while (atomic_load(&results->ready) < started) usleep(100);
    double start = now_ns(), end = start, bytes = 0;
    atomic_store(&results->is_started, true);
    bool is_fine = started == processes;
    for (int status, i = 0; i < started; i++) is_fine &= wait(&status) > 0 && status == 0;
    for (int i = 0; i < started; i++) {
        if (results->processes[i].end_ns > end) end = results->processes[i].end_ns;
        bytes += (double)results->processes[i].bytes;
    }
    if (is_fine) print_times(results->ns, (size_t)processes * (size_t)keys, end - start, bytes);
    return is_fine;
}

int main(int argc, char **argv)
{
    int processes = argc == 5 ? atoi(argv[3]) : 0, keys = argc == 5 ? atoi(argv[4]) : 0;
    if (processes < 1 || processes > MAX_PROCESSES || keys < 1 || keys > 1000000) {
        fprintf(stderr, "use: kiln-fleet-load put|get FOLDER PROCESSES KEYS\n");
        return 2;
    }
    struct results *results = mmap(NULL, sizeof *results + (size_t)processes * (size_t)keys * sizeof *results->ns,
                                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED) return 1;
    return run_all(results, argv[2], processes, keys, strcmp(argv[1], "put") == 0) ? 0 : 1;
}
