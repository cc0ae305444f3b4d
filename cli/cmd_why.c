/*
 * cmd_why.c - `kiln why [A] B`: why are these two artifacts, and not one? In words, from the files alone: the fields of
 * their content keys, the calls they were first compiled for, and the first line in which their texts differ.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "show.h"
#include "why_run.h"

struct pair {
    kiln_entry *was, *is;
    kiln_difference difference;
};

/* Of two that were made within the same second, the file says which was written last. */
static bool is_at_least_as_young(const kiln_entry *entry, const kiln_entry *other)
{
    kiln_entry_info a, b;
    struct stat file = {0}, other_file = {0};
    kiln_entry_describe(entry, &a);
    kiln_entry_describe(other, &b);
    if (a.created_unix_s != b.created_unix_s) return a.created_unix_s > b.created_unix_s;
    if (stat(a.path, &file) || stat(b.path, &other_file)) return true;
    if (file.st_mtim.tv_sec != other_file.st_mtim.tv_sec) return file.st_mtim.tv_sec > other_file.st_mtim.tv_sec;
    return file.st_mtim.tv_nsec >= other_file.st_mtim.tv_nsec;
}

/* The youngest artifact of a function, of those with code if there are some. */
static kiln_status open_youngest(const kiln_inspector *inspector, const char *name, kiln_entry **out, kiln_error *err)
{
    struct shown shown;
    kiln_status status = find_shown(inspector, name, &shown, err);
    size_t youngest = 0;
    for (size_t i = 1; i < shown.count; i++) {
        bool is_younger = is_at_least_as_young(shown.entries[i], shown.entries[youngest]);
        if (is_manifest(shown.entries[youngest]) || (is_younger && !is_manifest(shown.entries[i]))) youngest = i;
    }
    if (status == KILN_OK) {
        *out = shown.entries[youngest];
        shown.entries[youngest] = NULL;
    }
    release_shown(&shown);
    return status;
}

static kiln_status open_entry(const kiln_inspector *inspector, const char *word, kiln_entry **out, kiln_error *err)
{
    size_t index;
    if (strspn(word, "0123456789abcdef") != strlen(word)) return open_youngest(inspector, word, out, err);
    kiln_status status = kiln_inspect_find(inspector, word, &index, err);
    return status == KILN_OK ? kiln_entry_open(inspector, index, out, err) : status;
}

static size_t length_of(const kiln_difference *difference)
{
    return strlen(difference->content) + strlen(difference->call) + strlen(difference->text);
}

/* ---- printing ------------------------------------------------------------------------------------------------ */

static void print_part(const char *title, const char *words)
{
    if (!*words) return;
    printf("%s\n", title);
    for (const char *end; (end = strstr(words, "; ")); words = end + 2)
        printf("  %s\n", clean_bytes(words, (size_t)(end - words)));
    printf("  %s\n", clean(words));
}

static void print_pair(const kiln_entry_info *was, const kiln_entry_info *is, const kiln_difference *difference)
{
    printf("was %.12s  %s\nis  %.12s  %s\n", was->digest, clean(was->function), is->digest, clean(is->function));
    print_part("\nkey", difference->content);
    print_part("\ncall", difference->call);
    if (*difference->text) printf("\ntext\n  %s\n", clean(difference->text));
    if (!length_of(difference)) puts("\nnothing differs");
}

static void print_json(const kiln_entry_info *was, const kiln_entry_info *is, const kiln_difference *difference)
{
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "was", was->digest);
    kiln__json_text(&json_out, "is", is->digest);
    kiln__json_text(&json_out, "key", difference->content);
    kiln__json_text(&json_out, "call", difference->call);
    kiln__json_text(&json_out, "text", difference->text);
    kiln__json_close(&json_out, '}');
    json_end();
}

static int explain(const struct command *command, const struct options *options, const kiln_inspector *inspector,
                   struct pair *pair)
{
    kiln_error err = {0};
    kiln_status status = open_entry(inspector, options->operands[options->operand_count - 1], &pair->is, &err);
    if (status == KILN_OK && options->operand_count == 2) {
        status = open_entry(inspector, options->operands[0], &pair->was, &err);
        if (status == KILN_OK) status = kiln_entry_compare(pair->was, pair->is, &pair->difference, &err);
    } else if (status == KILN_OK) {
        status = kiln_inspect_nearest(inspector, pair->is, &pair->was, &pair->difference, &err);
    }
    if (status != KILN_OK) return failure(command, err.text);
    kiln_entry_info was, is;
    kiln_entry_describe(pair->is, &is);
    if (!pair->was) {
        if (options->json)
            printf("{\"was\":null,\"is\":\"%s\"}\n", is.digest);
        else
            printf("is  %.12s  %s\n\nit is the only artifact of this function here\n", is.digest, clean(is.function));
        return EXIT_FINE;
    }
    kiln_entry_describe(pair->was, &was);
    (options->json ? print_json : print_pair)(&was, &is, &pair->difference);
    return EXIT_FINE;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (!options.operand) return why_last_run(command, options.json);
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    if (kiln_inspect_open(options.folder, &inspector, &err) != KILN_OK) return failure(command, err.text);
    struct pair pair = {0};
    status = explain(command, &options, inspector, &pair);
    kiln_entry_close(pair.was);
    kiln_entry_close(pair.is);
    kiln_difference_release(&pair.difference);
    kiln_inspect_close(inspector);
    return status;
}

const struct command cmd_why = {
    .name = "why",
    .summary = "say why the last run compiled, or what differs between two artifacts",
    .usage = "kiln why [[A] B] [--folder DIR] [--json]",
    .help = "Without A and B: why the functions of the last `kiln run` were traced and compiled, the most expensive "
            "first.\n"
            "With them: says in words why B was compiled although A was there: fields of the key, the calls they were "
            "first "
            "compiled for,\n"
            "and the first line in which their texts differ. Without A: against the nearest artifact of the same "
            "function.\n"
            "A and B are digests, which may be cut as long as they name one artifact only, or functions, for the "
            "youngest artifact of each.\n"
            "While a program runs, KILN_LOG=miss says the "
            "same.\n"
            "Exit code 1: there is no such artifact, or it is damaged.\n\n"
            "  --folder DIR  instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln\n"
            "  --json        one object\n",
    .takes = "--folder",
    .max_operands = 2,
    .run = run,
};
