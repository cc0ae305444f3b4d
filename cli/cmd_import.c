/*
 * cmd_import.c - `kiln import`: the artifacts of a pack into a folder.
 */
#include "cli.h"
#include "kiln/maintain.h"

static void print_report(const kiln_import_report *report, bool json)
{
    char size[32];
    if (json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_number(&json_out, "imported_files", report->imported_files);
        kiln__json_number(&json_out, "imported_bytes", report->imported_bytes);
        kiln__json_number(&json_out, "there_files", report->there_files);
        kiln__json_number(&json_out, "unused_files", report->unused_files);
        kiln__json_number(&json_out, "evicted_files", report->evicted_files);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("imported %llu artifacts, %s; %llu were there", (unsigned long long)report->imported_files,
           format_bytes(size, sizeof size, report->imported_bytes), (unsigned long long)report->there_files);
    if (report->unused_files) printf("; %llu of another format, not used", (unsigned long long)report->unused_files);
    if (report->evicted_files)
        printf("; %llu were removed, the folder is at its bounds", (unsigned long long)report->evicted_files);
    puts("");
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    struct progress progress;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (!options.operand) return usage_error(command, "which pack?");
    const kiln_import_options how = {
        .struct_size = sizeof how, .folder = options.folder, .progress = {progress_report, &progress}};
    kiln_import_report report = {0};
    kiln_error err = {0};
    progress_begin(&progress, command);
    kiln_status imported = kiln_import(options.operand, &how, &report, &err);
    progress_end(&progress);
    if (imported != KILN_OK) return failure(command, err.text);
    print_report(&report, options.json);
    return EXIT_FINE;
}

const struct command cmd_import = {
    .name = "import",
    .summary = "put the artifacts of a pack into a folder",
    .usage = "kiln import FILE.kilnpack [--folder DIR] [--json]",
    .help =
        "Puts what `kiln export` wrote into a folder. First all of it is checked: index, checksums, keys, and\n"
        "signatures where the pack belongs to others or others may write it. If anything is wrong, nothing is put.\n"
        "Then artifacts appear one after the other, each as a whole; running it again goes on where it was stopped.\n"
        "The folder names the pack's tool chain then, so it serves machines without a compiler.\n"
        "A pack can also be used as it is: KILN_CACHE_PATH=FILE.kilnpack.\n"
        "Exit code 1: the pack is damaged, not trusted or can't be read, or the folder can't be written.\n\n"
        "  --folder DIR  instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln\n"
        "  --json        an object: files and bytes\n",
    .takes = "--folder",
    .max_operands = 1,
    .run = run,
};
