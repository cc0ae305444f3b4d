/*
 * cmd_export.c - `kiln export`: a folder, or part of it, as one file.
 */
#include <string.h>

#include "cli.h"
#include "kiln/maintain.h"

static void print_report(const char *path, const kiln_export_report *report, bool json)
{
    char raw[32], packed[32];
    if (json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "pack", path);
        kiln__json_number(&json_out, "exported_files", report->exported_files);
        kiln__json_number(&json_out, "exported_bytes", report->exported_bytes);
        kiln__json_number(&json_out, "pack_bytes", report->pack_bytes);
        kiln__json_number(&json_out, "left_out_files", report->left_out_files);
        kiln__json_number(&json_out, "unusable_files", report->unusable_files);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("%s: %llu artifacts, %s in %s", clean(path), (unsigned long long)report->exported_files,
           format_bytes(raw, sizeof raw, report->exported_bytes),
           format_bytes(packed, sizeof packed, report->pack_bytes));
    if (report->left_out_files) printf("; %llu left out", (unsigned long long)report->left_out_files);
    puts("");
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    struct progress progress;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (!options.operand) return usage_error(command, "where to? Name a file that ends in .kilnpack");
    kiln_export_options what = {.struct_size = sizeof what,
                                .folder = options.folder,
                                .function = options.function,
                                .targets = options.target_count ? options.targets : NULL,
                                .is_public = options.is_public,
                                .without_times = options.without_times,
                                .progress = {progress_report, &progress}};
    if (options.used_since && !(what.max_age_s = parse_seconds(options.used_since)))
        return usage_error(command, "--used-since %s: right would be 90s, 15m, 12h, 30d or 8w", options.used_since);
    kiln_export_report report = {0};
    kiln_error err = {0};
    progress_begin(&progress, command);
    kiln_status exported = kiln_export(options.operand, &what, &report, &err);
    progress_end(&progress);
    if (exported != KILN_OK) return failure(command, err.text);
    print_report(options.operand, &report, options.json);
    if (!report.unusable_files) return EXIT_FINE;
    char text[400];
    snprintf(text, sizeof text, "%llu artifacts can't be used and were left out, the first %s",
             (unsigned long long)report.unusable_files, report.problem);
    return failure(command, text);
}

const struct command cmd_export = {
    .name = "export",
    .summary = "a folder as one file, to be shipped",
    .usage = "kiln export OUT.kilnpack [--function NAME] [--target TARGET]... [--used-since TIME] [--public]\n"
             "                   [--no-times] [--folder DIR] [--json]",
    .help =
        "Writes artifacts of a folder into one compressed file, a pack, which caches use where it lies:\n\n"
        "    kiln export kernels.kilnpack --used-since 7d --target x86-64-v3\n"
        "    KILN_CACHE_PATH=/opt/app/kernels.kilnpack ./program\n\n"
        "A machine that has a pack needs no compiler for what is in it. A pack is believed when it belongs to the "
        "program's\n"
        "user or to root and nobody else may write it; of others, entries that are signed by a trusted key. With\n"
        "KILN_SIGN_KEY, artifacts that nobody has signed are signed on the way.\n"
        "The file appears when it is complete, and replaces one of that name.\n"
        "Exit code 1: nothing fits, the pack can't be written, or an artifact of the folder is damaged or not to be\n"
        "trusted; the others are exported then.\n\n"
        "  --function NAME    what was first compiled for it; *, ? and [] as in a shell\n"
        "  --target TARGET    what is for it, or for none: x86-64-v3, sm_90, native; up to 16 of them\n"
        "  --used-since TIME  what was used in the last 90s, 15m, 12h, 30d or 8w; use is noted once an hour\n"
        "  --public           everybody may read the pack; without, its owner only\n"
        "  --no-times         says nowhere when something was made: equal kernels give equal packs, byte for byte\n"
        "  --folder DIR       instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; may be a pack\n"
        "  --json             an object: files and bytes\n",
    .takes = "--function --target --used-since --folder",
    .flags = "--public --no-times",
    .max_operands = 1,
    .run = run,
};
