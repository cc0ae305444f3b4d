/*
 * cmd_show.c - `kiln show DIGEST | FUNCTION`: one artifact, or the plan and the kernels of a function. --section writes
 * one section's bytes as they are, so that objdump and others can read them.
 */
#include <string.h>

#include "show.h"

enum { SURE_DIGITS = 8 }; /* a word of at least so many hexadecimal digits is a digest first, a shorter one a name */

static int write_section(const struct command *command, const kiln_entry *entry, const char *name)
{
    kiln_bytes bytes = kiln_entry_get(entry, name);
    if (bytes.data) {
        fwrite(bytes.data, 1, bytes.size, stdout);
        return EXIT_FINE;
    }
    char text[512];
    int length = snprintf(text, sizeof text, "there is no section '%s'; there are", name);
    const char *section;
    for (size_t i = 0; (section = kiln_entry_section(entry, i, &bytes)); i++)
        if (length > 0 && (size_t)length < sizeof text)
            length += snprintf(text + length, sizeof text - (size_t)length, " %s", section);
    return failure(command, text);
}

static int show_entry(const struct command *command, const struct options *options, const kiln_entry *entry)
{
    if (options->section) return write_section(command, entry, options->section);
    (options->json ? print_json_entry : print_entry)(entry);
    if (options->json) json_end();
    return EXIT_FINE;
}

static int show_function(const struct command *command, const struct options *options, const struct shown *shown)
{
    if (options->section && shown->own > 1) {
        char text[160];
        snprintf(text, sizeof text, "'%.64s' has %zu artifacts; give the digest of one", options->operand, shown->own);
        return failure(command, text);
    }
    if (options->section) return write_section(command, shown->entries[0], options->section);
    (options->json ? print_json_shown : print_shown)(shown, options->operand);
    return EXIT_FINE;
}

static kiln_status open_digest(const kiln_inspector *inspector, const char *prefix, kiln_entry **out, kiln_error *err)
{
    size_t index;
    kiln_status status = kiln_inspect_find(inspector, prefix, &index, err);
    return status == KILN_OK ? kiln_entry_open(inspector, index, out, err) : status;
}

static bool is_digits(const char *word)
{
    return strspn(word, "0123456789abcdef") == strlen(word);
}

/* by_digest: NULL when the word can't be a digest. */
static int not_found(const struct command *command, const kiln_error *by_digest, const kiln_error *by_name)
{
    char text[sizeof by_digest->text + 80];
    if (!by_digest) return failure(command, by_name->text);
    snprintf(text, sizeof text, "%s; none was first compiled for a function of that name", by_digest->text);
    return failure(command, text);
}

/* "add" may be the name of a function or the beginning of a digest, see SURE_DIGITS. */
static int show(const struct command *command, const struct options *options, const kiln_inspector *inspector)
{
    kiln_entry *entry = NULL;
    struct shown shown = {0};
    kiln_error by_name = {0}, by_digest = {0};
    const char *word = options->operand;
    bool is_sure = is_digits(word) && strlen(word) >= SURE_DIGITS;
    bool found = is_sure && open_digest(inspector, word, &entry, &by_digest) == KILN_OK;
    if (!found && find_shown(inspector, word, &shown, &by_name) == KILN_OK) {
        found = true;
        add_shared(inspector, word, &shown);
    }
    if (!found && !is_sure && is_digits(word)) found = open_digest(inspector, word, &entry, &by_digest) == KILN_OK;
    if (!found) return not_found(command, is_digits(word) ? &by_digest : NULL, &by_name);
    int status = entry ? show_entry(command, options, entry) : show_function(command, options, &shown);
    kiln_entry_close(entry);
    release_shown(&shown);
    return status;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (!options.operand) return usage_error(command, "which artifact? `kiln ls` lists their digests and functions");
    if (options.json && options.section)
        return usage_error(command, "--section writes bytes as they are, so --json can't be given with it");
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    if (kiln_inspect_open(options.folder, &inspector, &err) != KILN_OK) return failure(command, err.text);
    status = show(command, &options, inspector);
    kiln_inspect_close(inspector);
    return status;
}

const struct command cmd_show = {
    .name = "show",
    .summary = "show one artifact, or the plan and kernels of a function",
    .usage = "kiln show DIGEST|FUNCTION [--section NAME] [--folder DIR] [--json]",
    .help =
        "Shows one artifact: metadata, what it was first compiled for, key, sections, text. DIGEST may be cut, as\n"
        "long as it names one artifact only. Of what a program has stored itself (kiln_store_put) it shows what the\n"
        "program said about it, the key and the size; FUNCTION is its name, and --section bytes writes it.\n"
        "Of a compiled function of arrays it shows the plan: what the function takes and gives, each step with\n"
        "the bytes that it reads and writes, for the shapes that were traced, and each kernel with the operations\n"
        "that it fused and its text. A kernel that functions share has the name of the first; its mark, in\n"
        "brackets, says which steps run it.\n"
        "Exit code 1: there is no such artifact or section, or it is damaged.\n\n"
        "  --section NAME  write that section's bytes to stdout: kiln show 3f2a --section object > kernel.o\n"
        "  --folder DIR    instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; may be a pack\n"
        "  --json          one object\n",
    .takes = "--folder --section",
    .max_operands = 1,
    .run = run,
};
