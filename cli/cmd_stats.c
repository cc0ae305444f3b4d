/*
 * cmd_stats.c - `kiln stats`: what a folder holds; or, given a file that KILN_STATS wrote, the sum of its lines.
 * A line of it that is no object is counted and makes the exit code 1.
 */
#include <errno.h>
#include <string.h>

#include "counters.h"
#include "kiln/inspect.h"

/* ---- a folder ------------------------------------------------------------------------------------------------ */

struct folder_sums {
    uint64_t artifacts, other_format, damaged, bytes, compile_ns;
};

static struct folder_sums sum_folder(const kiln_inspector *inspector)
{
    struct folder_sums sums = {0};
    for (size_t i = 0; i < kiln_inspect_count(inspector); i++) {
        kiln_entry *entry = NULL;
        kiln_status status = kiln_entry_open(inspector, i, &entry, NULL);
        if (status != KILN_OK && kiln_inspect_is_gone(inspector, i)) continue;
        sums.bytes += kiln_inspect_size_bytes(inspector, i);
        if (status != KILN_OK) {
            *(kiln_inspect_is_other_format(inspector, i) ? &sums.other_format : &sums.damaged) += 1;
            continue;
        }
        kiln_entry_info info;
        kiln_entry_describe(entry, &info);
        sums.artifacts++;
        sums.compile_ns += info.compile_ns;
        kiln_entry_close(entry);
    }
    return sums;
}

/* A pack's manifest ends with newlines that only fill it up. */
static void print_manifest(const char *manifest)
{
    size_t size = strlen(manifest);
    while (size && manifest[size - 1] == '\n') size--;
    puts("\nmanifest");
    print_lines(stdout, manifest, size);
    puts("");
}

static void print_usage(const kiln_usage *usage)
{
    char buffer[32];
    if (!usage->processes) return;
    printf("used by       %llu processes, %llu calls, %.2f%% of them hits of their own\n",
           (unsigned long long)usage->processes, (unsigned long long)usage->calls,
           100.0 * (double)usage->hits / (double)(usage->calls ? usage->calls : 1));
    uint64_t found = usage->disk_hits + usage->remote_hits, wanted = found + usage->compiles;
    printf("kernels       %llu found here, %llu at remotes, %llu compiled: %.2f%% found, %s of compiling saved\n",
           (unsigned long long)usage->disk_hits, (unsigned long long)usage->remote_hits,
           (unsigned long long)usage->compiles, 100.0 * (double)found / (double)(wanted ? wanted : 1),
           format_ns(buffer, sizeof buffer, usage->saved_ns));
}

static void print_json_usage(const kiln_usage *usage)
{
    kiln__json_open(&json_out, "usage", '{');
    kiln__json_number(&json_out, "processes", usage->processes);
    kiln__json_number(&json_out, "calls", usage->calls);
    kiln__json_number(&json_out, "hits", usage->hits);
    kiln__json_number(&json_out, "compiles", usage->compiles);
    kiln__json_number(&json_out, "disk_hits", usage->disk_hits);
    kiln__json_number(&json_out, "remote_hits", usage->remote_hits);
    kiln__json_number(&json_out, "saved_ns", usage->saved_ns);
    kiln__json_close(&json_out, '}');
}

static void print_folder(const char *folder, const struct folder_sums *sums, const kiln_usage *usage,
                         const char *manifest, bool json)
{
    char buffer[32];
    if (json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "folder", folder);
        kiln__json_number(&json_out, "artifacts", sums->artifacts);
        kiln__json_number(&json_out, "other_format", sums->other_format);
        kiln__json_number(&json_out, "damaged", sums->damaged);
        kiln__json_number(&json_out, "size_bytes", sums->bytes);
        kiln__json_number(&json_out, "compile_ns", sums->compile_ns);
        print_json_usage(usage);
        if (manifest) kiln__json_text(&json_out, "manifest", manifest);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("folder        %s\nartifacts     %llu\n", clean(folder), (unsigned long long)sums->artifacts);
    if (sums->other_format) printf("other format  %llu, not used\n", (unsigned long long)sums->other_format);
    if (sums->damaged) printf("damaged       %llu\n", (unsigned long long)sums->damaged);
    printf("size          %s\n", format_bytes(buffer, sizeof buffer, sums->bytes));
    printf("compile time  %s stored\n", format_ns(buffer, sizeof buffer, sums->compile_ns));
    print_usage(usage);
    if (manifest) print_manifest(manifest);
}

static int folder_stats(const struct command *command, const struct options *options)
{
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    if (kiln_inspect_open(options->folder, &inspector, &err) != KILN_OK) return failure(command, err.text);
    struct folder_sums sums = sum_folder(inspector);
    kiln_usage usage = {.struct_size = sizeof usage};
    kiln_inspect_usage(inspector, &usage);
    print_folder(kiln_inspect_folder(inspector), &sums, &usage, kiln_inspect_manifest(inspector), options->json);
    kiln_inspect_close(inspector);
    return sums.damaged ? EXIT_WRONG : EXIT_FINE;
}

/* ---- a file of KILN_STATS ------------------------------------------------------------------------------------ */

static void print_sums(const struct counter_sums *sums, bool json)
{
    kiln_counters copy = sums->counters;
    char buffer[32];
    if (json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_number(&json_out, "processes", sums->lines);
        kiln__json_number(&json_out, "bad_lines", sums->bad);
        json_counters("counters", &sums->counters);
        kiln__json_close(&json_out, '}');
        json_end();
        return;
    }
    printf("processes     %llu\n", (unsigned long long)sums->lines);
    if (sums->bad) printf("bad lines     %llu\n", (unsigned long long)sums->bad);
    for (const struct counter *at = kiln_counter_list; at->name; at++) {
        uint64_t value = *counter_in(at, &copy);
        bool is_time = strlen(at->name) > 3 && strcmp(at->name + strlen(at->name) - 3, "_ns") == 0;
        if (is_time)
            printf("%-12.*s  %s\n", (int)strlen(at->name) - 3, at->name, format_ns(buffer, sizeof buffer, value));
        else
            printf("%-12s  %llu\n", at->name, (unsigned long long)value);
    }
}

static int file_stats(const struct command *command, const struct options *options)
{
    char text[512];
    FILE *file = fopen(options->operand, "r");
    if (!file) {
        snprintf(text, sizeof text, "%s: %s", options->operand, strerror(errno));
        return failure(command, text);
    }
    struct counter_sums sums = {0};
    bool is_lost = !sum_counters(file, &sums);
    fclose(file);
    if (is_lost) {
        snprintf(text, sizeof text, "%s can't be read; give a file that KILN_STATS wrote, or --folder DIR",
                 options->operand);
        return failure(command, text);
    }
    print_sums(&sums, options->json);
    return sums.bad ? EXIT_WRONG : EXIT_FINE;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (options.operand && options.folder) return usage_error(command, "give a file or --folder, not both");
    return options.operand ? file_stats(command, &options) : folder_stats(command, &options);
}

const struct command cmd_stats = {
    .name = "stats",
    .summary = "what a folder holds, or the sum of a KILN_STATS file",
    .usage = "kiln stats [FILE | --folder DIR] [--json]",
    .help =
        "Without FILE: the number of artifacts in the folder, their size, the compile time they hold, and what "
        "processes\n"
        "got from it: how many of their calls were hits, and how many kernels they found instead of compiling them.\n"
        "With FILE, which programs run with KILN_STATS=FILE have written: the sum of their counters.\n"
        "Exit code 1: a damaged artifact, a bad line, or nothing to read.\n\n"
        "  --folder DIR  instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; may be a pack\n"
        "  --json        one object\n",
    .takes = "--folder",
    .max_operands = 1,
    .run = run,
};
