/*
 * cmd_run.c - `kiln run -- PROGRAM [ARGS]`: runs a program with a time line and counters, and says what its compiles
 * cost and what the cache saved. `kiln why` and `kiln report` read the time line afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counters.h"
#include "timeline.h"

struct last_run {
    char *timeline, *counters; /* paths */
};

/* Folders above it are made; what another run left is removed. */
static bool make_place(const char *path)
{
    char *folder = strdup(path);
    for (char *slash = folder; folder && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    free(folder);
    return unlink(path) == 0 || errno == ENOENT;
}

/* ---- summary --------------------------------------------------------------------------------------------------- */

static void print_summary(const struct counter_sums *sums, const char *timeline, int exit_code)
{
    char compile[32], saved[32];
    const kiln_counters *c = &sums->counters;
    fprintf(stderr, "\nkiln run: exit code %d, %llu process%s with Kiln\n", exit_code, (unsigned long long)sums->lines,
            sums->lines == 1 ? "" : "es");
    if (!sums->lines) return;
    uint64_t hits = c->front_hits + c->process_hits;
    fprintf(stderr, "  calls      %llu, %.2f%% of them hits\n", (unsigned long long)c->calls,
            100.0 * (double)hits / (double)(c->calls ? c->calls : 1));
    fprintf(stderr, "  traced     %llu times\n  compiled   %llu kernels in %s\n", (unsigned long long)c->traces,
            (unsigned long long)c->compiles, format_ns(compile, sizeof compile, c->compile_ns));
    fprintf(stderr, "  found      %llu from disk, %llu from remotes: %s of compiling saved\n",
            (unsigned long long)c->disk_hits, (unsigned long long)c->remote_hits,
            format_ns(saved, sizeof saved, c->saved_ns));
    if (c->corrupt || c->cache_faults)
        fprintf(stderr, "  faults     %llu damaged entries, %llu others; kiln doctor says more\n",
                (unsigned long long)c->corrupt, (unsigned long long)c->cache_faults);
    fprintf(stderr, "  time line  %s\n             kiln why explains each compile, kiln report draws it\n",
            clean(timeline));
}

static void print_json(const struct counter_sums *sums, const char *timeline, int exit_code)
{
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_signed(&json_out, "exit_code", exit_code);
    kiln__json_number(&json_out, "processes", sums->lines);
    kiln__json_text(&json_out, "timeline", timeline);
    json_counters("counters", &sums->counters);
    kiln__json_close(&json_out, '}');
    json_end();
}

static int run_in(const struct command *command, const struct options *options, const struct last_run *last)
{
    char text[4200];
    if (!make_place(last->timeline) || !make_place(last->counters)) {
        snprintf(text, sizeof text, "%s: %s", last->timeline, strerror(errno));
        return failure(command, text);
    }
    setenv("KILN_TRACE", last->timeline, true);
    setenv("KILN_STATS", last->counters, true);
    int exit_code = run_program(options->operands);
    if (exit_code < 0) {
        snprintf(text, sizeof text, "%s: %s", options->operands[0], strerror(errno));
        return failure(command, text);
    }
    struct counter_sums sums = {0};
    FILE *file = fopen(last->counters, "r");
    if (file) {
        sum_counters(file, &sums);
        fclose(file);
    }
    if (options->json)
        print_json(&sums, last->timeline, exit_code);
    else
        print_summary(&sums, last->timeline, exit_code);
    return exit_code;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (!options.operand_count) return usage_error(command, "which program?");
    struct last_run last = {last_run_path("last-run.json"), last_run_path("last-run.stats")};
    if (last.timeline && last.counters)
        status = run_in(command, &options, &last);
    else
        status = failure(command, "neither XDG_STATE_HOME nor HOME names a folder for the time line");
    free(last.timeline);
    free(last.counters);
    return status;
}

const struct command cmd_run = {
    .name = "run",
    .summary = "run a program, and say what compiling cost and the cache saved",
    .usage = "kiln run [--json] -- PROGRAM [ARGUMENT]...",
    .help =
        "Runs PROGRAM with KILN_TRACE and KILN_STATS, and prints a summary on stderr when it has ended. The time line\n"
        "is kept for `kiln why` and `kiln report` until the next run, in XDG_STATE_HOME/kiln or\n"
        "~/.local/state/kiln.\n"
        "Exit code: that of PROGRAM, 128 and more when a signal ended it; 1 when it could not be started.\n\n"
        "    kiln run -- ./program --steps 10\n\n"
        "  --json  the summary as one object on stdout, behind what PROGRAM prints\n",
    .takes = "",
    .max_operands = MANY_OPERANDS,
    .run = run,
};
