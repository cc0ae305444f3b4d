/*
 * cmd_clear.c - `kiln clear`: removes every artifact of a folder, after asking. Only files that Kiln wrote are removed,
 * and none at all when the folder holds anything that a cache folder does not.
 */
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "kiln/maintain.h"

static bool ask(const char *folder, const kiln_prune_report *report)
{
    char answer[16] = "", size[32];
    fprintf(stderr, "Remove %llu files, %s, from %s? [y/N] ", (unsigned long long)report->removed_files,
            format_bytes(size, sizeof size, report->removed_bytes), folder);
    fflush(stderr);
    if (!fgets(answer, sizeof answer, stdin)) return false;
    return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0 || strcmp(answer, "Y\n") == 0;
}

static void print_report(const char *folder, const kiln_prune_report *report, bool json)
{
    char size[32];
    if (json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "folder", folder);
        kiln__json_number(&json_out, "removed_files", report->removed_files);
        kiln__json_number(&json_out, "removed_bytes", report->removed_bytes);
        kiln__json_number(&json_out, "failed_files", report->failed_files);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("removed %llu files, %s, from %s\n", (unsigned long long)report->removed_files,
           format_bytes(size, sizeof size, report->removed_bytes), folder);
}

static int clear(const struct command *command, const char *folder, bool json)
{
    struct progress progress;
    const kiln_progress watch = {progress_report, &progress};
    kiln_prune_report report;
    kiln_error err = {0};
    progress_begin(&progress, command);
    kiln_status status = kiln_clear(folder, &watch, &report, &err);
    progress_end(&progress);
    if (status != KILN_OK) return failure(command, err.text);
    print_report(folder, &report, json);
    return report.failed_files ? failure(command, report.failure) : EXIT_FINE;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    char folder[4096];
    kiln_prune_report report;
    kiln_error err = {0};
    if (options.folder)
        snprintf(folder, sizeof folder, "%s", options.folder);
    else if (kiln_inspect_default_folder(folder, sizeof folder, &err) != KILN_OK)
        return failure(command, err.text);
    if (kiln_clear_check(folder, &report, &err) != KILN_OK) return failure(command, err.text);
    if (!options.yes && !isatty(STDIN_FILENO))
        return usage_error(command, "nobody can be asked here; --yes removes %llu files from %s without asking",
                           (unsigned long long)report.removed_files, folder);
    if (!options.yes && !ask(folder, &report)) return failure(command, "nothing was removed");
    return clear(command, folder, options.json);
}

const struct command cmd_clear = {
    .name = "clear",
    .summary = "remove every artifact of a folder",
    .usage = "kiln clear [--yes] [--folder DIR] [--json]",
    .help = "Removes every artifact, after asking. The folder itself stays. Only files that Kiln wrote are removed, "
            "and none\n"
            "at all when the folder holds something else: then it is not a cache folder.\n"
            "Exit code 1: it is not a cache folder, a file could not be removed, or the answer was not yes.\n\n"
            "  --yes         do not ask; needed where nobody can answer\n"
            "  --folder DIR  instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln\n"
            "  --json        an object: files and bytes removed\n",
    .takes = "--folder",
    .flags = "--yes",
    .run = run,
};
