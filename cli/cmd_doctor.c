/*
 * cmd_doctor.c - `kiln doctor`: is everything here that Kiln needs? One line per check: ok, warn (works, but less well)
 * or fail. Nothing is created or changed.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "kiln/gpu.h"
#include "kiln/inspect.h"

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL };

static const char *const level_names[] = {"ok", "warn", "fail"};

struct report {
    bool json;
    int failures;
};

static void __attribute__((format(printf, 4, 5))) say(struct report *report, enum level level, const char *check,
                                                      const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (report->json) {
        kiln__json_line(&json_out);
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "check", check);
        kiln__json_text(&json_out, "level", level_names[level]);
        kiln__json_text(&json_out, "text", text);
        kiln__json_close(&json_out, '}');
    } else {
        printf("%-5s %-12s %s\n", level_names[level], check, text);
    }
    report->failures += level == LEVEL_FAIL;
}

/* ---- the checks ---------------------------------------------------------------------------------------------- */

static void check_target(struct report *report)
{
    kiln_device *device = NULL;
    kiln_error err = {0};
    if (kiln_device_find("cpu", &device, &err) != KILN_OK)
        say(report, LEVEL_FAIL, "target", "%s", err.text);
    else
        say(report, LEVEL_OK, "target", "%s, on %ld cores", kiln_device_target(device), sysconf(_SC_NPROCESSORS_ONLN));
}

static void check_folder(struct report *report)
{
    char path[PATH_MAX];
    kiln_error err = {0};
    const char *mode = getenv("KILN_MODE");
    if (mode && strcmp(mode, "off") == 0) {
        say(report, LEVEL_WARN, "folder", "KILN_MODE=off: nothing is stored");
    } else if (kiln_inspect_default_folder(path, sizeof path, &err) != KILN_OK ||
               kiln_inspect_check_folder(path, &err) != KILN_OK) {
        say(report, LEVEL_FAIL, "folder", "%s; calls work, but nothing is stored", err.text);
    } else if (access(path, F_OK) != 0) {
        say(report, LEVEL_OK, "folder", "%s, made on first use", path);
    } else {
        say(report, LEVEL_OK, "folder", "%s", path);
    }
}

static void check_read_only_folders(struct report *report)
{
    const char *at = secure_getenv("KILN_CACHE_PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.*s", (int)(length < sizeof path ? length : sizeof path - 1), at);
        if (length && access(path, R_OK | X_OK) == 0)
            say(report, LEVEL_OK, "read-only", "%s", path);
        else if (length)
            say(report, LEVEL_WARN, "read-only", "%s of KILN_CACHE_PATH can't be read", path);
        at += length + (at[length] == ':');
    }
}

/* The folder by whose tool chain a cache would look kernels up: the first of KILN_CACHE_PATH, then the default one. */
static bool find_filled_folder(char *path, size_t size)
{
    const char *at = secure_getenv("KILN_CACHE_PATH"), *mode = getenv("KILN_MODE");
    char line[256];
    if (mode && strcmp(mode, "off") == 0) return false;
    while (at && *at) {
        size_t length = strcspn(at, ":");
        snprintf(path, size, "%.*s", (int)(length < size ? length : size - 1), at);
        if (length && kiln_inspect_toolchain(path, line, sizeof line, NULL) == KILN_OK) return true;
        at += length + (at[length] == ':');
    }
    return kiln_inspect_default_folder(path, size, NULL) == KILN_OK &&
           kiln_inspect_toolchain(path, line, sizeof line, NULL) == KILN_OK;
}

static void say_missing(struct report *report, const char *text)
{
    char folder[PATH_MAX];
    if (find_filled_folder(folder, sizeof folder))
        say(report, LEVEL_WARN, "compiler", "%s. Kernels stored in %s can be used, nothing can be compiled", text,
            folder);
    else
        say(report, LEVEL_FAIL, "compiler", "%s. Nothing can be compiled, and no folder was filled where one is", text);
}

/* Asks a libLLVM that the plug-in brings along. */
static bool ask_version(void *plugin, char *out, size_t size)
{
    void (*version)(unsigned *, unsigned *, unsigned *) = NULL;
    unsigned major = 0, minor = 0, patch = 0;
    *(void **)&version = dlsym(plugin, "LLVMGetVersion");
    if (!version) return false;
    version(&major, &minor, &patch);
    snprintf(out, size, "%u.%u.%u", major, minor, patch);
    return true;
}

static void check_plugin(struct report *report)
{
    char path[PATH_MAX], llvm[64];
    kiln_error err = {0};
    if (kiln_inspect_compiler(path, sizeof path, llvm, sizeof llvm, &err) != KILN_OK) {
        say_missing(report, err.text);
        return;
    }
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        say(report, LEVEL_FAIL, "compiler", "%s; stored kernels still run, new ones can't be compiled", dlerror());
    else if (llvm[0])
        say(report, LEVEL_OK, "compiler", "%s, LLVM %s inside", path, llvm);
    else if (ask_version(plugin, llvm, sizeof llvm))
        say(report, LEVEL_OK, "compiler", "%s, LLVM %s", path, llvm);
    else
        say(report, LEVEL_WARN, "compiler", "%s, which does not tell its LLVM version", path);
}

static void check_blas(struct report *report)
{
    void *blas = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (!blas) {
        say(report, LEVEL_WARN, "matrix", "%s; matrix products do not work. apt-get install libopenblas0-pthread",
            dlerror());
        return;
    }
    char *(*config)(void) = NULL;
    *(void **)&config = dlsym(blas, "openblas_get_config");
    say(report, LEVEL_OK, "matrix", "%s", config ? config() : "libopenblas.so.0");
}

/* A machine without a GPU is fine. */
static void check_gpu(struct report *report)
{
    kiln_error err = {0};
    kiln_gpu_info info = {.struct_size = sizeof info};
    unsigned count = kiln_gpu_count();
    if (count == 0 && kiln_gpu_describe(0, &info, &err) != KILN_OK) say(report, LEVEL_OK, "gpu", "none: %s", err.text);
    for (unsigned i = 0; i < count; i++) {
        if (kiln_gpu_describe(i, &info, &err) != KILN_OK)
            say(report, LEVEL_WARN, "gpu", "cuda:%u: %s", i, err.text);
        else
            say(report, LEVEL_OK, "gpu", "cuda:%u: %s, %s, %llu MiB, CUDA %d.%d", i, info.name, info.target,
                (unsigned long long)(info.size_bytes >> 20), info.driver_version / 1000,
                info.driver_version % 1000 / 10);
    }
}

/* ---- environment --------------------------------------------------------------------------------------------- */

static const struct variable {
    const char *name;
    const char *allowed; /* values separated by spaces; NULL: any */
} variables[] = {
    {"KILN_AUDIT", NULL},
    {"KILN_CACHE_DIR", NULL},
    {"KILN_CACHE_PATH", NULL},
    {"KILN_CACHE_SIZE", NULL},
    {"KILN_DEVICE", NULL},
    {"KILN_DRIFT", "error"},
    {"KILN_FAST_MATH", "0 1"},
    {"KILN_GPU_TARGET", "sm_70 sm_75 sm_80 sm_86 sm_89 sm_90"},
    {"KILN_LOG", NULL},
    {"KILN_MODE", "normal off no-compile compile-only"},
    {"KILN_OPT_LEVEL", "0 1 2 3"},
    {"KILN_PLUGIN", NULL},
    {"KILN_STATS", NULL},
    {"KILN_TARGET", NULL},
};

static const struct variable *find_variable(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strlen(variables[i].name) == length && strncmp(variables[i].name, text, length) == 0) return &variables[i];
    return NULL;
}

static bool is_allowed(const char *allowed, const char *value)
{
    size_t length = strlen(value);
    while (*allowed) {
        size_t word = strcspn(allowed, " ");
        if (word == length && strncmp(allowed, value, length) == 0) return true;
        allowed += word + (allowed[word] == ' ');
    }
    return false;
}

static void check_environment(struct report *report)
{
    int set = 0;
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, "KILN_", 5) != 0) continue;
        size_t length = strcspn(*at, "=");
        const struct variable *variable = find_variable(*at, length);
        const char *value = (*at)[length] ? *at + length + 1 : "";
        set++;
        if (!variable)
            say(report, LEVEL_WARN, "environment", "%s: Kiln has no such variable", *at);
        else if (variable->allowed && *value && !is_allowed(variable->allowed, value))
            say(report, LEVEL_WARN, "environment", "%s: may be one of %s", *at, variable->allowed);
        else
            say(report, LEVEL_OK, "environment", "%s", *at);
    }
    if (!set) say(report, LEVEL_OK, "environment", "no KILN_ variable is set");
}

static int run(const struct command *command, int count, char **words)
{
    static void (*const checks[])(struct report *) = {
        check_target, check_folder, check_read_only_folders, check_plugin, check_blas, check_gpu, check_environment,
    };
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    struct report report = {.json = options.json};
    if (options.json) kiln__json_open(&json_out, NULL, '[');
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) checks[i](&report);
    if (options.json) {
        kiln__json_close(&json_out, ']');
        json_end();
    }
    return report.failures ? EXIT_WRONG : EXIT_FINE;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "check what Kiln needs on this machine",
    .usage = "kiln doctor [--json]",
    .help =
        "Checks the target, the cache folder, the LLVM plug-in, OpenBLAS, the GPUs and the KILN_ variables that are "
        "set.\n"
        "Exit code 1: a check failed. Warnings do not count.\n\n"
        "  --json  a list of {check, level, text}\n\n"
        "Variables of the environment:\n\n"
        "  KILN_CACHE_DIR   the folder that is read and written\n"
        "  KILN_CACHE_PATH  folders that are read first, separated by colons, at most 64\n"
        "  KILN_CACHE_SIZE  bound of the folder, 500M or 5G for example\n"
        "  KILN_MODE        normal, off (no folder), no-compile (a miss is an error), compile-only (fill the folder)\n"
        "  KILN_TARGET      what \"cpu\" compiles for: native, x86-64-v3, znver4, ...\n"
        "  KILN_DEVICE      default device of arrays: cpu, cuda:0\n"
        "  KILN_GPU_TARGET  with compile-only: a GPU that is not here, sm_90 for example\n"
        "  KILN_OPT_LEVEL   0 to 3\n"
        "  KILN_FAST_MATH   1 allows what is not exact\n"
        "  KILN_STATS       1, or a file: counters when the process ends\n"
        "  KILN_LOG         miss, fault or all: a line for each\n"
        "  KILN_AUDIT       1, or a file: hits are lowered again and compared\n"
        "  KILN_DRIFT       error: a function that reads what is in no key fails\n"
        "  KILN_PLUGIN      the compiler's library\n\n"
        "A program that runs with other rights than those of who starts it (set-user-id, capabilities) does not read\n"
        "those that name files or code.\n",
    .takes = "",
    .run = run,
};
