/*
 * cmd_prune.c - `kiln prune`: removes artifacts until a folder is within bounds, those not used for longest first.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "kiln/maintain.h"

static int read_bounds(const struct command *command, const struct options *options, kiln_prune_options *out)
{
    bool is_any = options->size || options->files || options->older;
    if (!is_any) kiln_default_bounds(&out->max_bytes, &out->max_files);
    if (options->size && (!kiln_parse_size(options->size, &out->max_bytes) || !out->max_bytes))
        return usage_error(command, "--size %s: right would be 500M, 2G or a number of bytes above 0", options->size);
    if (options->files && (!kiln_parse_size(options->files, &out->max_files) || !out->max_files))
        return usage_error(command, "--files %s: right would be a number above 0", options->files);
    if (options->older && !(out->max_age_s = parse_seconds(options->older)))
        return usage_error(command, "--older %s: right would be 90s, 15m, 12h, 30d or 8w", options->older);
    return EXIT_FINE;
}

static void print_report(const kiln_prune_report *report, bool dry_run, bool json)
{
    char removed[32], kept[32];
    if (json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_number(&json_out, "removed_files", report->removed_files);
        kiln__json_number(&json_out, "removed_bytes", report->removed_bytes);
        kiln__json_number(&json_out, "kept_files", report->kept_files);
        kiln__json_number(&json_out, "kept_bytes", report->kept_bytes);
        kiln__json_number(&json_out, "failed_files", report->failed_files);
        kiln__json_bool(&json_out, "dry_run", dry_run);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("%s %llu files, %s; %s %llu files, %s\n", dry_run ? "would remove" : "removed",
           (unsigned long long)report->removed_files, format_bytes(removed, sizeof removed, report->removed_bytes),
           dry_run ? "would keep" : "kept", (unsigned long long)report->kept_files,
           format_bytes(kept, sizeof kept, report->kept_bytes));
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    struct progress progress;
    kiln_prune_options bounds = {.struct_size = sizeof bounds, .progress = {progress_report, &progress}};
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    status = read_bounds(command, &options, &bounds);
    if (status != EXIT_FINE) return status;
    bounds.dry_run = options.dry_run;
    kiln_prune_report report;
    kiln_error err = {0};
    progress_begin(&progress, command);
    kiln_status pruned = kiln_prune(options.folder, &bounds, &report, &err);
    progress_end(&progress);
    if (pruned != KILN_OK) return failure(command, err.text);
    print_report(&report, options.dry_run, options.json);
    return report.failed_files ? failure(command, report.failure) : EXIT_FINE;
}

const struct command cmd_prune = {
    .name = "prune",
    .summary = "remove what was not used for longest",
    .usage = "kiln prune [--size SIZE] [--files COUNT] [--older TIME] [--dry-run] [--folder DIR] [--json]",
    .help =
        "Removes artifacts until all bounds that are given hold, those not used for longest first. Without any, the\n"
        "bounds are those that caches keep by themselves: KILN_CACHE_SIZE or 5 GiB, and 200,000 files.\n"
        "Programs that use the folder meanwhile compile again what they miss.\n"
        "Exit code 1: a file could not be removed, or the folder can't be read.\n\n"
        "  --size SIZE    keep at most so many bytes: 500M, 2G\n"
        "  --files COUNT  keep at most so many files\n"
        "  --older TIME   remove what was not used for so long: 90s, 15m, 12h, 30d, 8w; use is noted once an hour\n"
        "  --dry-run      remove nothing, say what would be\n"
        "  --folder DIR   instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln\n"
        "  --json         an object: files and bytes, removed and kept\n",
    .takes = "--size --files --older --folder",
    .flags = "--dry-run",
    .run = run,
};
