/*
 * cmd_ls.c - `kiln ls`: the artifacts of a folder, one per line. A damaged file is listed with what is wrong with it,
 * and makes the exit code 1.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "show.h"

enum { SHORT_DIGEST = 12 };

static void print_row(const kiln_entry *entry, const kiln_entry_info *info)
{
    char size[32], compile[32], created[32];
    const char *signer = signed_by(entry);
    printf("%.*s  %-24.24s  %-16.16s  %10s  %10s  %-16s  %s%s%s\n", SHORT_DIGEST, info->digest,
           *info->function ? clean(info->function) : "-", *info->target ? clean(info->target) : kiln_entry_kind(entry),
           format_bytes(size, sizeof size, info->size_bytes), format_ns(compile, sizeof compile, info->compile_ns),
           format_time(created, sizeof created, info->created_unix_s), *info->entry ? clean(info->entry) : "-",
           *signer ? "  " : "", signer);
}

static void print_json_row(const kiln_entry *entry, const kiln_entry_info *info)
{
    kiln__json_open(&json_out, NULL, '{');
    print_json_metadata(entry, info, false);
    print_json_signer(entry);
    kiln__json_close(&json_out, '}');
}

/* `problem`: "damaged", or "unused" when it is of another format. */
static void print_unread(const char *digest, const char *problem, const char *text, bool json)
{
    if (!json) {
        printf("%.*s  %s: %s\n", SHORT_DIGEST, digest, problem, clean(text));
        return;
    }
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "digest", digest);
    kiln__json_text(&json_out, problem, text);
    kiln__json_close(&json_out, '}');
}

/* False when the artifact is damaged. One that has gone since the folder was read is not listed. */
static bool list_one(const kiln_inspector *inspector, size_t index, bool json)
{
    kiln_entry *entry = NULL;
    kiln_error err = {0};
    kiln_status status = kiln_entry_open(inspector, index, &entry, &err);
    if (status != KILN_OK && kiln_inspect_is_gone(inspector, index)) return true;
    kiln__json_line(&json_out);
    if (status != KILN_OK) {
        bool is_unused = kiln_inspect_is_other_format(inspector, index);
        print_unread(kiln_inspect_digest(inspector, index), is_unused ? "unused" : "damaged", err.text, json);
        return is_unused;
    }
    kiln_entry_info info;
    kiln_entry_describe(entry, &info);
    (json ? print_json_row : print_row)(entry, &info);
    kiln_entry_close(entry);
    return true;
}

/* ---- which, and in which order --------------------------------------------------------------------------------- */

/* What an artifact is sorted by, read once. */
struct row {
    size_t index;
    char *function; /* NULL: the artifact can't be read */
    uint64_t size, created, compile;
};

static int by_function(const void *one, const void *two)
{
    const struct row *a = one, *b = two;
    return strcmp(a->function ? a->function : "", b->function ? b->function : "");
}

/* The largest first. */
#define BY_NUMBER(field)                                                                                               \
    static int by_##field(const void *one, const void *two)                                                            \
    {                                                                                                                  \
        const struct row *a = one, *b = two;                                                                           \
        return (a->field < b->field) - (a->field > b->field);                                                          \
    }
BY_NUMBER(size)
BY_NUMBER(created)
BY_NUMBER(compile)

static const struct order {
    const char *name;
    int (*compare)(const void *one, const void *two);
} orders[] = {
    {"digest", NULL}, {"function", by_function}, {"size", by_size}, {"created", by_created}, {"compile", by_compile}};

struct choice {
    const char *function; /* NULL: all */
    const struct order *order;
    uint64_t limit, since_unix_s; /* 0: all */
};

static int read_choice(const struct command *command, const struct options *options, struct choice *out)
{
    *out = (struct choice){.function = options->function, .order = orders};
    if (options->limit && (!(out->limit = strtoull(options->limit, NULL, 10)) ||
                           strspn(options->limit, "0123456789") != strlen(options->limit)))
        return usage_error(command, "--limit is a number of lines, not '%s'", options->limit);
    uint64_t seconds = options->since ? parse_seconds(options->since) : 0;
    if (options->since && !seconds)
        return usage_error(command, "--since is a time such as 90m, 12h or 7d, not '%s'", options->since);
    if (seconds) out->since_unix_s = (uint64_t)time(NULL) - seconds;
    for (size_t i = 0; options->sort && i < sizeof orders / sizeof *orders; i++)
        if (!strcmp(orders[i].name, options->sort)) return out->order = &orders[i], EXIT_FINE;
    return options->sort ? usage_error(command, "--sort takes digest, function, size, created or compile, not '%s'",
                                       options->sort)
                         : EXIT_FINE;
}

/* What can't be read has no function and no time: it is chosen where neither was asked for. */
static struct row read_row(const kiln_inspector *inspector, size_t index)
{
    kiln_entry *entry = NULL;
    struct row row = {.index = index};
    if (kiln_entry_open(inspector, index, &entry, NULL) != KILN_OK) return row;
    kiln_entry_info info;
    kiln_entry_describe(entry, &info);
    row = (struct row){index, strdup(info.function), info.size_bytes, info.created_unix_s, info.compile_ns};
    kiln_entry_close(entry);
    return row;
}

static bool is_chosen(const struct choice *choice, const struct row *row)
{
    if (choice->function && (!row->function || strcmp(row->function, choice->function))) return false;
    return row->created >= choice->since_unix_s;
}

/* The rows to be listed; NULL: out of memory. */
static struct row *choose(const kiln_inspector *inspector, const struct choice *choice, size_t *count)
{
    size_t all = kiln_inspect_count(inspector);
    struct row *rows = calloc(all + 1, sizeof *rows);
    *count = 0;
    for (size_t i = 0; rows && i < all; i++) {
        rows[*count] = read_row(inspector, i);
        if (is_chosen(choice, &rows[*count]))
            ++*count;
        else
            free(rows[*count].function);
    }
    if (rows && choice->order->compare) qsort(rows, *count, sizeof *rows, choice->order->compare);
    return rows;
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

static int list(const kiln_inspector *inspector, const struct row *rows, size_t count, bool json)
{
    int status = EXIT_FINE;
    if (json)
        kiln__json_open(&json_out, NULL, '[');
    else if (count)
        printf("%s%-*s  %-24s  %-16s  %10s  %10s  %-16s  %s%s\n", colour(stdout, BOLD), SHORT_DIGEST, "digest",
               "function", "target", "size", "compile", "created", "entry", colour(stdout, PLAIN));
    for (size_t i = 0; i < count; i++)
        if (!list_one(inspector, rows[i].index, json)) status = EXIT_WRONG;
    if (json) {
        kiln__json_close(&json_out, ']');
        json_end();
    } else if (!count) {
        printf("no artifacts in %s%s\n", kiln_inspect_folder(inspector),
               kiln_inspect_count(inspector) ? " that were asked for" : "");
    }
    return status;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    struct choice choice;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if ((status = read_choice(command, &options, &choice)) != EXIT_FINE) return status;
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    if (kiln_inspect_open(options.folder, &inspector, &err) != KILN_OK) return failure(command, err.text);
    size_t chosen;
    struct row *rows = choose(inspector, &choice, &chosen);
    size_t listed = choice.limit && choice.limit < chosen ? choice.limit : chosen;
    status = rows ? list(inspector, rows, listed, options.json) : failure(command, "out of memory");
    for (size_t i = 0; i < chosen; i++) free(rows[i].function);
    free(rows);
    kiln_inspect_close(inspector);
    return status;
}

const struct command cmd_ls = {
    .name = "ls",
    .summary = "list the artifacts of a folder",
    .usage = "kiln ls [--function NAME] [--since TIME] [--sort ORDER] [--limit N] [--folder DIR] [--json]",
    .help =
        "Lists the stored artifacts: digest, function, target, size, time its compile took, when, the name of\n"
        "its entry, and who signed it.\n"
        "What programs have stored themselves (kiln_store_put) has its name for a function and 'bytes' for a target.\n"
        "Exit code 1: a file is damaged, or the folder can't be read.\n\n"
        "  --function NAME  those that were first compiled for this function\n"
        "  --since TIME     those that were made since: 90m, 12h, 7d\n"
        "  --sort ORDER     digest, function; size, created or compile, the largest first\n"
        "  --limit N        no more than N lines\n"
        "  --folder DIR     instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; may be a pack\n"
        "  --json           a list of objects\n",
    .takes = "--function --since --sort --limit --folder",
    .run = run,
};
