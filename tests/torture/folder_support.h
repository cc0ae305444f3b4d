/*
 * folder_support.h - for attacks on a folder: folders, commands, a compiler whose artifact is its text, calls.
 */
#ifndef TESTS_TORTURE_FOLDER_SUPPORT_H
#define TESTS_TORTURE_FOLDER_SUPPORT_H

#include "torture/torture.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kiln.h"

#define TORTURE_UNUSED __attribute__((unused))

/* ---- folders --------------------------------------------------------------------------------------------------- */

enum { FOLDER_SIZE = 64 };

TORTURE_UNUSED static void make_folder(char folder[FOLDER_SIZE])
{
    strcpy(folder, "/tmp/kiln-torture-XXXXXX");
    TORTURE_REQUIRE(mkdtemp(folder), "%s", strerror(errno));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path), 0;
}

TORTURE_UNUSED static void remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Each file below `folder`. */
TORTURE_UNUSED static void
each_file(const char *folder, void (*visit)(const char *path, const struct stat *info, void *context), void *context)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[PATH_MAX];
        struct stat info;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (lstat(path, &info) != 0) continue;
        if (S_ISDIR(info.st_mode))
            each_file(path, visit, context);
        else
            visit(path, &info, context);
    }
    if (entries) closedir(entries);
}

/* Files that a writer has while it is at work: whoever finds one when nobody is has found what was left behind. */
static void require_whole(const char *path, const struct stat *info, void *context)
{
    (void)info, (void)context;
    TORTURE_REQUIRE(!strstr(path, ".tmp-") && !strstr(path, ".lock"), "%s was left behind", path);
}

TORTURE_UNUSED static void require_nothing_left(const char *folder)
{
    each_file(folder, require_whole, NULL);
}

TORTURE_UNUSED static void sleep_us(uint64_t us)
{
    nanosleep(&(struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000}, NULL);
}

/* ---- a compiler whose artifact is its text ----------------------------------------------------------------------- */

static kiln_status copy_compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                kiln_error *err)
{
    (void)request, (void)err;
    if (self) sleep_us(*(const unsigned *)self);
    return kiln_artifact_put(out, "code", text.data, text.size);
}

static kiln_status copy_link(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                             kiln_error *err)
{
    (void)self, (void)device, (void)err;
    kiln_bytes code = kiln_artifact_get(artifact, "code");
    return (*executable = strndup(code.data, code.size)) ? KILN_OK : KILN_NO_MEMORY;
}

static void copy_unlink(void *self, void *executable)
{
    (void)self;
    free(executable);
}

/* `sleep_us` may be NULL: how long a compile takes. */
TORTURE_UNUSED static kiln_compiler copy_compiler(unsigned *sleep_us)
{
    return (kiln_compiler){.struct_size = sizeof(kiln_compiler),
                           .name = "copy",
                           .digest = "1",
                           .compile = copy_compile,
                           .link = copy_link,
                           .unlink = copy_unlink,
                           .self = sleep_us};
}

TORTURE_UNUSED static kiln_cache *open_bounded(const char *folder, uint64_t max_bytes, uint64_t max_files)
{
    const kiln_cache_options options = {
        .struct_size = sizeof options, .folder = folder, .max_bytes = max_bytes, .max_files = max_files};
    kiln_cache *cache = NULL;
    TORTURE_REQUIRE(kiln_cache_open(&options, &cache, NULL) == KILN_OK, "%s", folder);
    return cache;
}

/* The executable for a text: a copy of it. The function is freed with the cache's other things. */
TORTURE_UNUSED static void get_text(kiln_cache *cache, const kiln_compiler *compiler, const char *text, size_t size)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "f", .compiler = compiler, .text = {text, size}};
    kiln_function *function = NULL;
    void *executable = NULL;
    kiln_error err = {KILN_OK, ""};
    TORTURE_REQUIRE(kiln_function_new(cache, &options, &function, &err) == KILN_OK, "%s", err.text);
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    TORTURE_REQUIRE(status == KILN_OK, "%s", err.text);
    TORTURE_REQUIRE(strlen(executable) == size && !memcmp(executable, text, size), "another text's result");
    kiln_function_free(function);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Ends with 0, or the round has failed. */
TORTURE_UNUSED static void end_well(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    TORTURE_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d ended with status %#x", (int)child,
                    (unsigned)status);
}

/* Runs `kiln <words>`; its exit code, and what it said on both streams. */
TORTURE_UNUSED static int run_kiln(const char *words, char *said, size_t size)
{
    char line[PATH_MAX + 256];
    snprintf(line, sizeof line, "%s/bin/kiln %s 2>&1", KILN_TEST_BUILD, words);
    FILE *pipe = popen(line, "r");
    TORTURE_REQUIRE(pipe, "%s: %s", line, strerror(errno));
    size_t got = fread(said, 1, size - 1, pipe);
    said[got] = '\0';
    for (char rest[4096]; fread(rest, 1, sizeof rest, pipe) > 0;) {
    }
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
