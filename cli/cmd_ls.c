/*
 * cmd_ls.c - `kiln ls`: the artifacts of a folder, one per line. A damaged file is listed with what is wrong with it,
 * and makes the exit code 1.
 */
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

static int list_all(const kiln_inspector *inspector, bool json)
{
    size_t count = kiln_inspect_count(inspector);
    int status = EXIT_FINE;
    if (json)
        kiln__json_open(&json_out, NULL, '[');
    else if (count)
        printf("%-*s  %-24s  %-16s  %10s  %10s  %-16s  %s\n", SHORT_DIGEST, "digest", "function", "target", "size",
               "compile", "created", "entry");
    for (size_t i = 0; i < count; i++)
        if (!list_one(inspector, i, json)) status = EXIT_WRONG;
    if (json) {
        kiln__json_close(&json_out, ']');
        json_end();
    } else if (!count) {
        printf("no artifacts in %s\n", kiln_inspect_folder(inspector));
    }
    return status;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    if (kiln_inspect_open(options.folder, &inspector, &err) != KILN_OK) return failure(command, err.text);
    status = list_all(inspector, options.json);
    kiln_inspect_close(inspector);
    return status;
}

const struct command cmd_ls = {
    .name = "ls",
    .summary = "list the artifacts of a folder",
    .usage = "kiln ls [--folder DIR] [--json]",
    .help =
        "Lists the stored artifacts: digest, function, target, size, time its compile took, when, the name of\n"
        "its entry, and who signed it.\n"
        "What programs have stored themselves (kiln_store_put) has its name for a function and 'bytes' for a target.\n"
        "Exit code 1: a file is damaged, or the folder can't be read.\n\n"
        "  --folder DIR  instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; may be a pack\n"
        "  --json        a list of objects\n",
    .takes = "--folder",
    .run = run,
};
