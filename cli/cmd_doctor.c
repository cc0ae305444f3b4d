/*
 * cmd_doctor.c - `kiln doctor`: is everything here that Kiln needs? One line per check: ok, warn (works, but less well)
 * or fail. What the library would refuse or log is asked of the library itself. Nothing is created or changed, but for
 * one small entry that is put to each remote, where this machine signs.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "kiln/config.h"
#include "kiln/gpu.h"
#include "kiln/inspect.h"
#include "kiln/remote.h"
#include "kiln/trust.h"

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
        static const enum colour colours[] = {GREEN, YELLOW, RED};
        printf("%s%-5s%s %-12s %s\n", colour(stdout, colours[level]), level_names[level], colour(stdout, PLAIN), check,
               clean(text));
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
    if (setting_is("KILN_MODE", "off")) {
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

/* The folders of KILN_CACHE_PATH, one after the other; `*at` is where the next one begins. */
static bool next_folder(const char **at, char *path, size_t size)
{
    *at += strspn(*at, ":");
    size_t length = strcspn(*at, ":");
    snprintf(path, size, "%.*s", (int)(length < size ? length : size - 1), *at);
    *at += length;
    return length > 0;
}

static void check_read_only_folders(struct report *report)
{
    kiln_setting_info info = {.struct_size = sizeof info};
    char path[PATH_MAX];
    kiln_error err = {0};
    if (kiln_setting_describe("KILN_CACHE_PATH", &info, NULL) != KILN_OK) return;
    for (const char *at = info.value; next_folder(&at, path, sizeof path);) {
        if (kiln_inspect_check_read_only(path, &err) == KILN_OK)
            say(report, LEVEL_OK, "read-only", "%s", path);
        else
            say(report, LEVEL_WARN, "read-only", "%s of KILN_CACHE_PATH is not used: %s", path, err.text);
    }
}

static void check_base_pack(struct report *report)
{
    char path[PATH_MAX];
    kiln_error err = {0};
    kiln_setting_info info = {.struct_size = sizeof info};
    kiln_status status = kiln_inspect_base_pack(path, sizeof path, &err);
    kiln_setting_describe("KILN_BASE_PACK", &info, NULL);
    bool is_missing = info.origin == KILN_SETTING_BY_DEFAULT && access(path, F_OK) != 0; /* which is fine */
    if (!*path && status == KILN_OK)
        say(report, LEVEL_OK, "base pack", "none: KILN_BASE_PACK is empty or 0");
    else if (is_missing)
        say(report, LEVEL_OK, "base pack", "none at %s; make base-pack builds one, make install puts it there", path);
    else if (status != KILN_OK)
        say(report, LEVEL_WARN, "base pack", "%s; not used", err.text);
    else
        say(report, LEVEL_OK, "base pack", "%s", path);
}

/* Who is believed, and who signs here. */
static void check_keys(struct report *report)
{
    kiln_keys *keys = NULL;
    kiln_error err = {0};
    char signs[64] = "";
    size_t trusted = 0;
    if (kiln_keys_open(&keys, &err) != KILN_OK) {
        say(report, LEVEL_FAIL, "keys", "%s; nothing from elsewhere is used", err.text);
        return;
    }
    for (size_t i = 0; i < kiln_keys_count(keys); i++) {
        kiln_key_info info;
        kiln_keys_describe(keys, i, &info);
        trusted += info.is_trusted;
        if (info.signs) snprintf(signs, sizeof signs, "; %.8s signs", info.key);
    }
    if (*kiln_keys_problem(keys))
        say(report, LEVEL_FAIL, "keys", "%s; nothing is signed", kiln_keys_problem(keys));
    else if (trusted)
        say(report, LEVEL_OK, "keys", "%zu trusted%s", trusted, signs);
    else
        say(report, LEVEL_OK, "keys", "none is trusted: only what this user and root have stored is used");
    kiln_keys_close(keys);
}

/* What came of reading and writing, as one sentence. */
static void describe_trial(const kiln_remote_trial *trial, char *out, size_t size)
{
    char written[1100] = "nothing is put from here, for KILN_SIGN_KEY is not set", read[1100] = "";
    if (trial->write.status == KILN_OK)
        snprintf(written, sizeof written, "an entry can be put");
    else if (trial->write.status < 0)
        snprintf(written, sizeof written, "nothing can be put: %s", trial->write.text);
    if (trial->read.status == KILN_OK)
        snprintf(read, sizeof read, "an entry was read, signed by a trusted key");
    else if (trial->read.status == KILN_REMOTE_ABSENT)
        snprintf(read, sizeof read, "it can be read, though no doctor has put its entry there yet");
    else
        snprintf(read, sizeof read, "what is read there can't be used: %s", trial->read.text);
    snprintf(out, size, "answers in %.2f ms%s; %s; %s", (double)trial->round_trip_ns / 1e6,
             trial->has_leases ? ", makes hosts wait for each other" : "", read, written);
}

/* Calls work without remotes, so what is wrong with one is a warning. */
static void check_remotes(struct report *report)
{
    kiln_remote_trial trial = {.struct_size = sizeof trial};
    kiln_error err = {0};
    kiln_status status;
    for (size_t i = 0; (status = kiln_remote_try(i, &trial, &err)) != KILN_REMOTE_ABSENT; i++) {
        char text[2048];
        describe_trial(&trial, text, sizeof text);
        if (status)
            say(report, LEVEL_WARN, "remote", "%s is not used: %s", trial.label, err.text);
        else if (!trial.round_trip_ns)
            say(report, LEVEL_WARN, "remote", "%s does not answer: %s", trial.label, trial.read.text);
        else
            say(report, trial.read.status < 0 || trial.write.status < 0 ? LEVEL_WARN : LEVEL_OK, "remote", "%s %s",
                trial.label, text);
    }
}

/* The folder by whose tool chain a cache would look kernels up: the first of KILN_CACHE_PATH, then the default one. */
static bool find_filled_folder(char *path, size_t size)
{
    kiln_setting_info info = {.struct_size = sizeof info};
    char line[256];
    if (setting_is("KILN_MODE", "off") || kiln_setting_describe("KILN_CACHE_PATH", &info, NULL) != KILN_OK)
        return false;
    for (const char *at = info.value; next_folder(&at, path, size);)
        if (kiln_inspect_toolchain(path, line, sizeof line, NULL) == KILN_OK) return true;
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

/* The version of the libLLVM that the plug-in has opened; "" when it is not told. */
static void ask_version(const char *path, char *out, size_t size)
{
    void (*version)(unsigned *, unsigned *, unsigned *) = NULL;
    unsigned major = 0, minor = 0, patch = 0;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin) *(void **)&version = dlsym(plugin, "LLVMGetVersion");
    *out = '\0';
    if (!version) return;
    version(&major, &minor, &patch);
    snprintf(out, size, "%u.%u.%u", major, minor, patch);
}

/* Compiles a kernel, in memory. What would be read or written besides is set to nothing until the process ends, so this
 * check is the last one. */
static kiln_status try_compiling(kiln_error *err)
{
    static const char *const unwanted[] = {"KILN_AUDIT", "KILN_BASE_PACK", "KILN_CACHE_PATH", "KILN_REMOTE",
                                           "KILN_STATS"};
    static const char text[] = "define i64 @kernel() {\n  ret i64 42\n}\n";
    const kiln_cache_options in_memory = {.struct_size = sizeof in_memory, .folder = ""};
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "doctor", .text = {text, sizeof text - 1}};
    kiln_cache *cache = NULL;
    kiln_function *function = NULL;
    void *kernel = NULL;
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++) setenv(unwanted[i], "", 1);
    kiln_status status = kiln_cache_open(&in_memory, &cache, err);
    if (!status) status = kiln_function_new(cache, &options, &function, err);
    if (!status) status = kiln_get(function, NULL, 0, NULL, &kernel, err);
    kiln_function_free(function);
    kiln_cache_close(cache);
    return status;
}

static void check_compiler(struct report *report)
{
    char path[PATH_MAX], llvm[64];
    kiln_error err = {0};
    if (kiln_inspect_compiler(path, sizeof path, llvm, sizeof llvm, &err) != KILN_OK) {
        say_missing(report, err.text);
        return;
    }
    kiln_status status = setting_is("KILN_MODE", "no-compile") ? KILN_OK : try_compiling(&err);
    if (status == KILN_OK && !llvm[0]) ask_version(path, llvm, sizeof llvm);
    if (status != KILN_OK)
        say(report, LEVEL_FAIL, "compiler", "%s; stored kernels still run, new ones can't be compiled", err.text);
    else
        say(report, LEVEL_OK, "compiler", "%s, LLVM %s", path, llvm[0] ? llvm : "of an unknown version");
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

/* ---- settings ------------------------------------------------------------------------------------------------ */

static void check_setting(struct report *report, const char *name)
{
    kiln_setting_info info = {.struct_size = sizeof info};
    char where[PATH_MAX + 32] = "";
    kiln_error err = {0};
    if (kiln_setting_check(name, &err) != KILN_OK) {
        say(report, LEVEL_WARN, "setting", "%s", err.text);
        return;
    }
    if (kiln_setting_describe(name, &info, NULL) != KILN_OK || info.origin == KILN_SETTING_BY_DEFAULT) return;
    if (info.file) snprintf(where, sizeof where, " (%s:%u)", info.file, info.line);
    say(report, LEVEL_OK, "setting", "%s=%s%s", name, info.value, where);
}

static void check_settings(struct report *report)
{
    const char *name, *problem;
    for (size_t i = 0; (name = kiln_setting_name(i)); i++) check_setting(report, name);
    for (size_t i = 0; (problem = kiln_config_problem(i)); i++) say(report, LEVEL_WARN, "setting", "%s", problem);
}

static bool is_setting(const char *variable, size_t length)
{
    const char *name;
    for (size_t i = 0; (name = kiln_setting_name(i)); i++)
        if (strlen(name) == length && strncmp(name, variable, length) == 0) return true;
    return false;
}

/* Variables that look like settings: what is misspelt is never read. */
static void check_environment(struct report *report)
{
    for (char **at = environ; *at; at++) {
        size_t length = strcspn(*at, "=");
        char name[128];
        kiln_error err = {0};
        if (strncmp(*at, "KILN_", 5) != 0 || is_setting(*at, length)) continue;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), *at);
        kiln_setting_check(name, &err);
        say(report, LEVEL_WARN, "environment", "%s", err.text);
    }
}

static int run(const struct command *command, int count, char **words)
{
    static void (*const checks[])(struct report *) = {
        check_settings, check_environment, check_target, check_folder, check_read_only_folders, check_base_pack,
        check_keys,     check_remotes,     check_blas,   check_gpu,    check_compiler,
    };
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    struct report report = {.json = options.json};
    silence_log();
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
        "Checks the target, the cache folders, the base pack, keys, remotes, the compiler, OpenBLAS, the GPUs, and the "
        "settings that "
        "somebody\n"
        "has set, as a program would: what it would log is a warning here. Each remote of KILN_REMOTE is asked for a "
        "small entry,\n"
        "which is put there before if this machine signs (KILN_SIGN_KEY). kiln config --help lists the settings.\n"
        "Exit code 1: a check failed. Warnings do not count.\n\n"
        "  --json  a list of {check, level, text}\n",
    .takes = "",
    .run = run,
};
