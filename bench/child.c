/*
 * child.c - see child.h.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "kiln/inspect.h"

/* ---- processes ----------------------------------------------------------------------------------------------- */

bool child_start(const char *phase, struct child *child)
{
    int ends[2];
    child->output = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *words[] = {"kiln-bench", "--child", (char *)phase, NULL};
    int error = posix_spawn(&child->process, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        child->output = ends[0];
    return !error;
}

bool child_finish(struct child *child, double out[3])
{
    if (child->output < 0) return false;
    FILE *file = fdopen(child->output, "r");
    bool is_read = file && fscanf(file, "%lf %lf %lf", &out[0], &out[1], &out[2]) == 3;
    if (file)
        fclose(file);
    else
        close(child->output);
    int status = 1;
    while (waitpid(child->process, &status, 0) < 0 && errno == EINTR) {
    }
    return is_read && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool run_child(const char *phase, double out[3])
{
    struct child child;
    return child_start(phase, &child) && child_finish(&child, out);
}

/* ---- folders ------------------------------------------------------------------------------------------------- */

bool new_folder(char folder[64])
{
    snprintf(folder, 64, "/tmp/kiln-bench-XXXXXX");
    return mkdtemp(folder) && setenv("KILN_CACHE_DIR", folder, 1) == 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

void remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *folder_before(void)
{
    const char *folder = getenv("KILN_CACHE_DIR");
    return folder ? strdup(folder) : NULL;
}

void folder_back(char *before)
{
    if (before)
        setenv("KILN_CACHE_DIR", before, 1);
    else
        unsetenv("KILN_CACHE_DIR");
    free(before);
}

/* ---- loading by hand ----------------------------------------------------------------------------------------- */

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

/* Every artifact but the run-time library, which a process that only loads does not need. */
double load_by_hand(void)
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
