/*
 * cmd_config.c - `kiln config`: what each setting is, and who says so. Results on stdout, what is wrong on stderr.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "kiln/config.h"

static const char *const origins[] = {
    [KILN_SETTING_BY_DEFAULT] = "default",
    [KILN_SETTING_BY_ENVIRONMENT] = "environment",
    [KILN_SETTING_BY_FILE] = "file",
};

/* ---- settings ------------------------------------------------------------------------------------------------ */

static void print_setting(const char *name, const kiln_setting_info *info)
{
    const char *value = *info->value ? clean(info->value) : info->origin == KILN_SETTING_BY_DEFAULT ? "-" : "(empty)";
    if (info->file)
        printf("%-20s %-40s %s:%u\n", name, value, clean(info->file), info->line);
    else
        printf("%-20s %-40s %s\n", name, value, origins[info->origin]);
}

static void json_setting(const char *name, const kiln_setting_info *info, const char *wrong)
{
    kiln__json_line(&json_out);
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "name", name);
    kiln__json_text(&json_out, "value", info->value);
    kiln__json_text(&json_out, "origin", origins[info->origin]);
    if (info->file) {
        kiln__json_text(&json_out, "file", info->file);
        kiln__json_number(&json_out, "line", info->line);
    }
    if (wrong) kiln__json_text(&json_out, "problem", wrong);
    kiln__json_text(&json_out, "help", info->help);
    kiln__json_close(&json_out, '}');
}

/* False: the library can't use what was set. */
static bool show_setting(const struct command *command, const char *name, bool json)
{
    kiln_setting_info info = {.struct_size = sizeof info};
    kiln_error err = {0}, wrong = {0};
    if (kiln_setting_describe(name, &info, &err) != KILN_OK) {
        failure(command, err.text);
        return false;
    }
    bool is_wrong = kiln_setting_check(name, &wrong) != KILN_OK;
    if (is_wrong) failure(command, wrong.text);
    if (json)
        json_setting(name, &info, is_wrong ? wrong.text : NULL);
    else
        print_setting(name, &info);
    return !is_wrong;
}

static bool show_settings(const struct command *command, bool json)
{
    bool is_fine = true;
    const char *name;
    if (json) kiln__json_open(&json_out, "settings", '[');
    for (size_t i = 0; (name = kiln_setting_name(i)); i++) is_fine &= show_setting(command, name, json);
    if (json) kiln__json_close(&json_out, ']');
    return is_fine;
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static void show_files(bool json)
{
    char path[PATH_MAX];
    if (json)
        kiln__json_open(&json_out, "files", '[');
    else
        printf("\n");
    for (unsigned i = 0; i < 2; i++) {
        if (kiln_config_file(i, path, sizeof path, NULL) != KILN_OK) continue;
        if (json)
            kiln__json_text(&json_out, NULL, path);
        else
            printf("%-20s %s%s\n", i ? "" : "files", clean(path), access(path, F_OK) == 0 ? "" : " (not there)");
    }
    if (json) kiln__json_close(&json_out, ']');
}

static bool show_problems(const struct command *command, bool json)
{
    const char *problem;
    size_t count = 0;
    if (json) kiln__json_open(&json_out, "problems", '[');
    for (; (problem = kiln_config_problem(count)); count++) {
        failure(command, problem);
        if (json) kiln__json_text(&json_out, NULL, problem);
    }
    if (json) kiln__json_close(&json_out, ']');
    return count == 0;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    silence_log();
    if (options.json) kiln__json_open(&json_out, NULL, '{');
    bool is_fine = show_settings(command, options.json);
    show_files(options.json);
    is_fine &= show_problems(command, options.json);
    if (options.json) {
        kiln__json_close(&json_out, '}');
        json_end();
    }
    return is_fine ? EXIT_FINE : EXIT_WRONG;
}

const struct command cmd_config = {
    .name = "config",
    .summary = "what each setting is, and where its value comes from",
    .usage = "kiln config [--json]",
    .help =
        "Prints each setting, the value that counts, and who says so: the environment, a line of a file, or nobody.\n"
        "The variable goes before $XDG_CONFIG_HOME/kiln/config (~/.config/kiln/config), which goes before\n"
        "/etc/kiln/config. Lines of a file are `name = value`, with the variable's name in lower case and without "
        "KILN_:\n"
        "cache_size = 20G. Names and passwords inside of URLs are shown as ***.\n"
        "Exit code 1: a file or a value is wrong; what is wrong is said on stderr.\n\n"
        "  --json  {settings: [{name, value, origin, file, line, problem, help}], files, problems}\n\n"
        "Settings:\n\n"
        "  KILN_AUDIT           1, or a file: hits are lowered again and compared\n"
        "  KILN_BASE_PACK       a pack that is read behind the folder; empty or 0: none\n"
        "  KILN_CACHE_DIR       the folder that is read and written; empty: none, memory only\n"
        "  KILN_CACHE_PATH      folders and packs that are read first, separated by colons, at most 64\n"
        "  KILN_CACHE_SIZE      bound of the folder, 500M or 5G for example\n"
        "  KILN_CACHE_UMASK     who may not read what is stored, as umask(1) says it: 022 lets everybody read\n"
        "  KILN_DEVICE          default device of arrays: cpu, cuda:0\n"
        "  KILN_DRIFT           error: a function whose watched values changed fails\n"
        "  KILN_FAST_MATH       1 allows what is not exact\n"
        "  KILN_GPU_TARGET      with compile-only: a GPU that is not here, sm_90 for example\n"
        "  KILN_LINES           1: kernels of CPUs have line tables, for debuggers and profilers\n"
        "  KILN_LOG             a line for each: miss, fault or all\n"
        "  KILN_MODE            normal, off (no folder), no-compile (a miss is an error), compile-only (fill the "
        "folder)\n"
        "  KILN_OPT_LEVEL       how much the compiler optimises, 0 to 3\n"
        "  KILN_PERF            who is told the names of kernels: map (perf, by /tmp/perf-PID.map), gdb\n"
        "  KILN_PLUGIN          the compiler's library\n"
        "  KILN_REDIS_PASSWORD_FILE\n"
        "                       file whose first line is the password of redis:// remotes that have none in their URL\n"
        "  KILN_REMOTE          caches elsewhere, separated by spaces: https://host/prefix, s3://bucket/prefix,\n"
        "                       redis://host:port/0\n"
        "  KILN_REMOTE_CA       file of the certificates that https is checked with\n"
        "  KILN_REMOTE_TIMEOUT  the longest a call waits for a remote, in milliseconds\n"
        "  KILN_REMOTE_TTL      after how many seconds without a use Redis drops an entry\n"
        "  KILN_S3_ENDPOINT     the server of s3:// remotes, https://host:port\n"
        "  KILN_SIGN_KEY        secret key that signs what is put, made by kiln key new\n"
        "  KILN_STATS           1, or a file: counters when the process ends\n"
        "  KILN_TARGET          what cpu compiles for: native, x86-64-v3, znver4, ...\n"
        "  KILN_TIER            0: a call waits for the compiler even where unfused kernels could run meanwhile\n"
        "  KILN_TRACE           file for a time line of what happens, which kiln report and trace viewers read\n"
        "  KILN_TRUSTED_KEYS    file of the keys whose signatures are believed\n\n"
        "A program that runs with other rights than those of who starts it (set-user-id, capabilities) reads neither "
        "the\n"
        "files nor those variables that name files, servers or code.\n",
    .takes = "",
    .run = run,
};
