/*
 * cmd_report.c - `kiln report`: a time line and a folder as one page, which needs nothing from elsewhere.
 *
 * The page is written beside its place and renamed, so that none is ever half-written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "timeline.h"

struct source {
    const char *timeline; /* a path; NULL: the page is about a folder alone */
    const char *folder;
    struct report_events events;
};

/* ---- data ------------------------------------------------------------------------------------------------------ */

static int read_timeline(const struct command *command, struct source *source, struct kiln_json *json,
                         struct progress *progress)
{
    char text[4400];
    if (!source->timeline) return EXIT_FINE;
    kiln__json_text(json, "source", source->timeline);
    if (!report_timeline(source->timeline, json, progress, &source->events)) {
        snprintf(text, sizeof text, "%s: %s", source->timeline, strerror(errno));
        return failure(command, text);
    }
    if (source->events.count) return EXIT_FINE;
    snprintf(text, sizeof text, "%s has no event: is it a file that KILN_TRACE wrote? %llu lines are something else",
             source->timeline, (unsigned long long)source->events.bad_lines);
    return failure(command, text);
}

/* A folder that nobody named and that is not there is an empty part of the page. */
static int read_folder(const struct command *command, const struct source *source, struct kiln_json *json,
                       struct progress *progress)
{
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    if (kiln_inspect_open(source->folder, &inspector, &err) != KILN_OK)
        return source->folder || !source->timeline ? failure(command, err.text) : EXIT_FINE;
    report_folder(inspector, json, progress);
    kiln_inspect_close(inspector);
    return EXIT_FINE;
}

static int read_data(const struct command *command, struct source *source, struct kiln_buffer *data)
{
    struct progress progress;
    struct kiln_json json = {.out = data};
    progress_begin(&progress, command);
    kiln__json_open(&json, NULL, '{');
    kiln__json_text(&json, "version", KILN_VERSION);
    int status = read_timeline(command, source, &json, &progress);
    if (status == EXIT_FINE) status = read_folder(command, source, &json, &progress);
    if (source->timeline) kiln__json_number(&json, "bad_lines", source->events.bad_lines);
    if (status == EXIT_FINE && source->timeline) kiln__json_number(&json, "bandwidth", (uint64_t)report_bandwidth());
    kiln__json_close(&json, '}');
    progress_end(&progress);
    return status == EXIT_FINE && data->failed ? failure(command, "out of memory") : status;
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

static void put(FILE *out, const struct report_part *part)
{
    fwrite(report_part_data(part), 1, part->size, out);
}

/* In a script element no text may end it: "<" stands in strings only, where it may be an escape. */
static void put_data(FILE *out, const struct kiln_buffer *data)
{
    const char *at = (const char *)data->data, *end = at + data->size;
    for (const char *next; at < end; at = next + 1) {
        next = memchr(at, '<', (size_t)(end - at));
        if (!next) next = end;
        fwrite(at, 1, (size_t)(next - at), out);
        if (next < end) fputs("\\u003c", out);
    }
}

static void put_page(FILE *out, const struct kiln_buffer *data)
{
    fputs(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Kiln report</title>\n<style>",
        out);
    put(out, &report_chart_style);
    put(out, &report_style);
    fputs("</style>\n</head>\n", out);
    put(out, &report_body);
    fputs("<script type=\"application/json\" id=\"data\">", out);
    put_data(out, data);
    fputs("</script>\n<script>", out);
    put(out, &report_chart_script);
    fputs("</script>\n<script>", out);
    put(out, &report_script);
    fputs("</script>\n</html>\n", out);
}

static int lost(const struct command *command, const char *path, int error)
{
    char text[4400];
    snprintf(text, sizeof text, "%s: %s; nothing was written", path, strerror(error));
    return failure(command, text);
}

static int write_page(const struct command *command, const char *path, const struct kiln_buffer *data)
{
    char *beside;
    if (!strcmp(path, "-")) return put_page(stdout, data), EXIT_FINE;
    if (asprintf(&beside, "%s.new-%ld", path, (long)getpid()) < 0) return failure(command, "out of memory");
    FILE *out = fopen(beside, "wx");
    int error = out ? 0 : errno;
    if (out) {
        put_page(out, data);
        if (ferror(out) || fflush(out)) error = errno ? errno : EIO;
        if (fclose(out) && !error) error = errno;
        if (!error && rename(beside, path)) error = errno;
        if (error) unlink(beside);
    }
    free(beside);
    return error ? lost(command, path, error) : EXIT_FINE;
}

static int report(const struct command *command, const struct options *options, struct source *source)
{
    const char *path = options->output ? options->output : "kiln-report.html";
    struct kiln_buffer data = {0};
    int status = read_data(command, source, &data);
    if (status == EXIT_FINE) status = write_page(command, path, &data);
    size_t size = data.size;
    kiln__buffer_release(&data);
    if (status != EXIT_FINE || !strcmp(path, "-")) return status;
    if (options->json) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "page", path);
        kiln__json_number(&json_out, "events", source->events.count);
        kiln__json_number(&json_out, "bad_lines", source->events.bad_lines);
        kiln__json_close(&json_out, '}');
        json_end();
    } else {
        char text[32];
        printf("%s: %llu events, %s of data; open it in a browser\n", clean(path),
               (unsigned long long)source->events.count, format_bytes(text, sizeof text, size));
    }
    if (source->events.bad_lines)
        fprintf(stderr, "kiln report: %llu lines of %s are no events and are left out\n",
                (unsigned long long)source->events.bad_lines, clean(source->timeline));
    return source->events.bad_lines ? EXIT_WRONG : EXIT_FINE;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    char *last = options.operand ? NULL : last_run_path("last-run.json");
    bool has_last = last && access(last, R_OK) == 0;
    struct source source = {options.operand ? options.operand : has_last ? last : NULL, options.folder, {0}};
    status = report(command, &options, &source);
    free(last);
    return status;
}

const struct command cmd_report = {
    .name = "report",
    .summary = "a page that shows a run: what was compiled, why, and what it cost",
    .usage = "kiln report [TIMELINE] [--folder DIR] [--output FILE] [--json]",
    .help =
        "Writes one HTML file that needs no network: what was saved and what it cost, a time line by thread, "
        "functions\n"
        "with the cause of each miss, plans drawn as graphs with their kernels, and what is in the folder.\n"
        "TIMELINE is what a program wrote that ran with KILN_TRACE; without it, the last `kiln run`, and where none "
        "was, the\n"
        "page is about the folder alone.\n"
        "Exit code 1: something can't be read or written, and no page was made; or lines of TIMELINE are no events.\n\n"
        "  --folder DIR       instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; may be a pack\n"
        "  -o, --output FILE  instead of kiln-report.html; - is stdout\n"
        "  --json             what was written, as one object\n",
    .takes = "--folder --output -o",
    .max_operands = 1,
    .run = run,
};
