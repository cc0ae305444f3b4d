/*
 * process_support.h - for tests with several processes: children with a body, memory they share, a compiler that they
 * count in.
 *
 * A child is forked while the test has one thread, and leaves by _exit() only. What it finds wrong it prints, and exits
 * with 1; cmocka's assertions belong to the parent.
 */
#ifndef TESTS_UNIT_PROCESS_SUPPORT_H
#define TESTS_UNIT_PROCESS_SUPPORT_H

#include "cache_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#define require(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: in a child: not so: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { CHILDREN = 8, PATIENCE_MS = 60000 };

/* ---- what children share -------------------------------------------------------------------------------------- */

struct shared {
    _Atomic unsigned ready, go;          /* a starting line */
    _Atomic unsigned compiles;           /* begun */
    _Atomic unsigned compiling, at_once; /* now, and the most that ever were */
    _Atomic unsigned may_finish;         /* a compile whose text starts with "slow" waits for this */
    _Atomic unsigned done;
    _Atomic unsigned sleep_ms;                                    /* of every compile */
    _Atomic uint64_t compiled, disk_hits, faults, corrupt, links; /* sums of the children's counters */
};

UNUSED static struct shared *share(void)
{
    void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK_NE(memory, MAP_FAILED);
    return memory;
}
#define share(...) CHECK_CALL(share, __VA_ARGS__)

UNUSED static void unshare_memory(struct shared *shared)
{
    munmap(shared, sizeof *shared);
}

UNUSED static void sleep_ms(unsigned ms)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* False when it does not come to pass for a minute. */
UNUSED static bool wait_for(_Atomic unsigned *value, unsigned least)
{
    for (unsigned ms = 0; ms < PATIENCE_MS; ms++) {
        if (atomic_load(value) >= least) return true;
        sleep_ms(1);
    }
    return false;
}

/* ---- a compiler whose work others see --------------------------------------------------------------------------- */

UNUSED static kiln_status shared_compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                         kiln_error *err)
{
    (void)request, (void)err;
    struct shared *shared = self;
    unsigned now = atomic_fetch_add(&shared->compiling, 1) + 1, most = atomic_load(&shared->at_once);
    while (now > most && !atomic_compare_exchange_weak(&shared->at_once, &most, now)) {
    }
    atomic_fetch_add(&shared->compiles, 1);
    if (atomic_load(&shared->sleep_ms)) sleep_ms(atomic_load(&shared->sleep_ms));
    if (text.size >= 4 && !memcmp(text.data, "slow", 4)) require(wait_for(&shared->may_finish, 1));
    atomic_fetch_sub(&shared->compiling, 1);
    return kiln_artifact_put(out, "code", text.data, text.size);
}

UNUSED static kiln_status shared_link(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                      kiln_error *err)
{
    (void)self, (void)device, (void)err;
    kiln_bytes code = kiln_artifact_get(artifact, "code");
    *executable = strndup(code.data, code.size);
    return KILN_OK;
}

UNUSED static void shared_unlink(void *self, void *executable)
{
    (void)self;
    free(executable);
}

UNUSED static kiln_compiler compiler_of(struct shared *shared)
{
    return (kiln_compiler){.struct_size = sizeof(kiln_compiler),
                           .name = "shared",
                           .digest = "1",
                           .compile = shared_compile,
                           .link = shared_link,
                           .unlink = shared_unlink,
                           .self = shared};
}

/* In a child: a cache on `folder`, the texts one after the other, counters added to the shared ones. */
UNUSED static void use_folder(struct shared *shared, const char *folder, const char *const *texts, size_t count)
{
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    const kiln_compiler compiler = compiler_of(shared);
    kiln_cache *cache = NULL;
    kiln_error err = {0};
    require(kiln_cache_open(&options, &cache, &err) == KILN_OK);
    for (size_t i = 0; i < count; i++) {
        const kiln_function_options of = {
            .struct_size = sizeof of, .name = "f", .compiler = &compiler, .text = {texts[i], strlen(texts[i])}};
        kiln_function *function = NULL;
        void *executable = NULL;
        require(kiln_function_new(cache, &of, &function, &err) == KILN_OK);
        kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
        if (status) fprintf(stderr, "%s\n", err.text);
        require(status == KILN_OK);
        require(!strcmp(executable, texts[i]));
        kiln_function_free(function);
    }
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    atomic_fetch_add(&shared->compiled, counters.compiles);
    atomic_fetch_add(&shared->disk_hits, counters.disk_hits);
    atomic_fetch_add(&shared->faults, counters.cache_faults);
    atomic_fetch_add(&shared->corrupt, counters.corrupt);
    atomic_fetch_add(&shared->links, counters.links);
    kiln_cache_close(cache);
}

/* ---- children -------------------------------------------------------------------------------------------------- */

typedef void child_body(struct shared *shared, const char *folder, unsigned index);

UNUSED static pid_t start_child(child_body *body, struct shared *shared, const char *folder, unsigned index)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        alarm(PATIENCE_MS / 1000); /* nobody waits for ever */
        body(shared, folder, index);
        _exit(0);
    }
    return child;
}
#define start_child(...) CHECK_CALL(start_child, __VA_ARGS__)

/* To be called by children: all begin together. */
UNUSED static void line_up(struct shared *shared)
{
    atomic_fetch_add(&shared->ready, 1);
    while (!atomic_load(&shared->go)) sleep_ms(1);
}

UNUSED static void say_go(struct shared *shared, unsigned count)
{
    CHECK_TRUE(wait_for(&shared->ready, count));
    atomic_store(&shared->go, 1);
}
#define say_go(...) CHECK_CALL(say_go, __VA_ARGS__)

UNUSED static int status_of(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

UNUSED static void end_well(pid_t child)
{
    int status = status_of(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        CHECK_FAIL("child %d ended with status %#x", (int)child, (unsigned)status);
}
#define end_well(...) CHECK_CALL(end_well, __VA_ARGS__)

UNUSED static void end_all_well(const pid_t *children, size_t count)
{
    for (size_t i = 0; i < count; i++) end_well(children[i]);
}
#define end_all_well(...) CHECK_CALL(end_all_well, __VA_ARGS__)

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Files below the folder whose names contain `part`; the last one's path goes to `path`, which may be NULL. */
UNUSED static unsigned count_files(const char *folder, const char *part, char path[PATH_MAX])
{
    unsigned count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "CACHEDIR.TAG")) continue;
        char below[PATH_MAX];
        struct stat info;
        snprintf(below, sizeof below, "%s/%s", folder, entry->d_name);
        if (lstat(below, &info) == 0 && S_ISDIR(info.st_mode)) {
            count += count_files(below, part, path);
        } else if (strstr(entry->d_name, part)) {
            count++;
            if (path) snprintf(path, PATH_MAX, "%s", below);
        }
    }
    if (entries) closedir(entries);
    return count;
}

#endif
