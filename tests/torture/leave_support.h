/*
 * leave_support.h - what the attacks on leaving share: texts for the LLVM compiler that take a while, a compiler of the
 * client's own, folders, and a child process whose end is judged.
 */
#ifndef TESTS_TORTURE_LEAVE_SUPPORT_H
#define TESTS_TORTURE_LEAVE_SUPPORT_H

#include "torture/torture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "torture/text_compiler.h"

/* A sanitizer's own allocator has locks that fork leaves taken: a child of several threads can't allocate there. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { UNDER_SANITIZER = 1 };
#else
enum { UNDER_SANITIZER = 0 };
#endif

static inline void sleep_us(uint64_t us)
{
    nanosleep(&(struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000}, NULL);
}

static inline double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* LLVM IR of an exponential, then `steps` products and sums, over the elements of one operand; the argument's bytes
 * make it unique. */
static inline kiln_status lower_to_ir(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)err;
    unsigned steps = *(const unsigned *)payload;
    kiln_bytes argument = kiln_request_arg(request, 0);
    unsigned number = 0;
    for (size_t i = 0; i < argument.size; i++) number = number * 131 + ((const unsigned char *)argument.data)[i];
    kiln_text_printf(text, "declare float @kiln_exp_f32(float)\n"
                           "define void @kernel(ptr %%args, ptr %%strides, i64 %%rows, i64 %%n) {\nentry:\n"
                           "  %%out = load ptr, ptr %%args\n  br label %%loop\nloop:\n"
                           "  %%i = phi i64 [0, %%entry], [%%next, %%loop]\n"
                           "  %%at = getelementptr float, ptr %%out, i64 %%i\n  %%in = load float, ptr %%at\n"
                           "  %%v0 = call float @kiln_exp_f32(float %%in)\n");
    for (unsigned i = 0; i < steps; i++)
        kiln_text_printf(text, "  %%m%u = fmul float %%v%u, %u.0\n  %%v%u = fadd float %%m%u, %%v%u\n", i, i,
                         number % 65536 + i, i + 1, i, i / 2);
    return kiln_text_printf(text,
                            "  store float %%v%u, ptr %%at\n  %%next = add i64 %%i, 1\n"
                            "  %%more = icmp ult i64 %%next, %%n\n  br i1 %%more, label %%loop, label %%done\n"
                            "done:\n  ret void\n}\n; %u\n",
                            steps, number);
}

static inline kiln_status get_value(kiln_function *function, int64_t value, void **executable, kiln_error *err)
{
    kiln_arg argument = {&kiln_const_i64, &value};
    return kiln_get(function, &argument, 1, NULL, executable, err);
}

static inline kiln_cache *open_folder(const char *folder)
{
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    kiln_cache *cache = NULL;
    TORTURE_REQUIRE(kiln_cache_open(&options, &cache, NULL) == KILN_OK, "open %s", folder);
    return cache;
}

static inline void make_folder(char *out, size_t size)
{
    snprintf(out, size, "/tmp/kiln-torture-XXXXXX");
    TORTURE_REQUIRE(mkdtemp(out) != NULL, "mkdtemp: %s", strerror(errno));
}

static inline int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static inline void remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static unsigned locks_found;

static inline int count_lock(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    locks_found += strstr(path, ".lock") != NULL;
    return 0;
}

/* Lock files that stand below a folder. */
static inline unsigned count_locks(const char *folder)
{
    locks_found = 0;
    nftw(folder, count_lock, 16, FTW_PHYS);
    return locks_found;
}

/* Waits for a child of this process; one that does not end within `seconds` is killed and was hanging. */
static inline int end_of(pid_t child, double seconds, const char *what)
{
    double end = seconds_now() + seconds * (UNDER_SANITIZER ? 5 : 1);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (seconds_now() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            TORTURE_REQUIRE(false, "%s: hangs after %.0f s", what, seconds);
        }
        sleep_us(500);
    }
    TORTURE_REQUIRE(!WIFSIGNALED(status), "%s: ended by signal %d (%s)", what, WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status);
}

#endif
