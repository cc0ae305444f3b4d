/*
 * cmd_show.c - `kiln show DIGEST`: one artifact: metadata, the fields of its content key, its sections, and the text it
 * was compiled from. --section writes one section's bytes as they are, so that objdump and others can read them.
 */
#include <string.h>

#include "cli.h"
#include "kiln/inspect.h"

enum { LONGEST_VALUE = 96 }; /* a longer key field, such as the text, is told by its size */

static void print_value(kiln_bytes value)
{
    if (value.size <= LONGEST_VALUE && is_printable(value.data, value.size))
        printf("%.*s\n", (int)value.size, (const char *)value.data);
    else
        printf("(%zu bytes)\n", value.size);
}

static void print_metadata(const kiln_entry_info *info)
{
    char buffer[32];
    printf("digest    %s\nfile      %s\nfunction  %s\ntarget    %s\nentry     %s\n", info->digest, info->path,
           *info->function ? info->function : "-", info->target, info->entry);
    printf("size      %s\n", format_bytes(buffer, sizeof buffer, info->size_bytes));
    printf("compiled  %s", format_time(buffer, sizeof buffer, info->created_unix_s));
    printf(", in %s\n", format_ns(buffer, sizeof buffer, info->compile_ns));
}

static void print_entry(const kiln_entry *entry, const kiln_entry_info *info)
{
    kiln_bytes name, value;
    print_metadata(info);
    puts("\nkey");
    for (size_t i = 0; kiln_entry_key_field(entry, i, &name, &value); i++) {
        printf("  %-18.*s  ", (int)name.size, (const char *)name.data);
        print_value(value);
    }
    puts("\nsections");
    const char *section;
    for (size_t i = 0; (section = kiln_entry_section(entry, i, &value)); i++)
        printf("  %-18s  %zu bytes\n", section, value.size);
    kiln_bytes text = kiln_entry_get(entry, "text");
    if (!text.data) return;
    puts("\ntext");
    fwrite(text.data, 1, text.size, stdout);
    if (text.size && ((const char *)text.data)[text.size - 1] != '\n') puts("");
}

static void print_json_entry(const kiln_entry *entry, const kiln_entry_info *info)
{
    kiln_bytes name, value;
    const char *section;
    printf("{\"digest\":\"%s\",\"path\":", info->digest);
    print_json_text(stdout, info->path);
    fputs(",\"function\":", stdout);
    print_json_text(stdout, info->function);
    fputs(",\"target\":", stdout);
    print_json_text(stdout, info->target);
    fputs(",\"entry\":", stdout);
    print_json_text(stdout, info->entry);
    printf(",\"size_bytes\":%llu,\"compile_ns\":%llu,\"created_unix_s\":%llu,\"key\":[",
           (unsigned long long)info->size_bytes, (unsigned long long)info->compile_ns,
           (unsigned long long)info->created_unix_s);
    for (size_t i = 0; kiln_entry_key_field(entry, i, &name, &value); i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
        print_json_string(stdout, name.data, name.size);
        fputs(",\"value\":", stdout);
        print_json_string(stdout, value.data, value.size);
        fputs("}", stdout);
    }
    fputs("],\"sections\":[", stdout);
    for (size_t i = 0; (section = kiln_entry_section(entry, i, &value)); i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
        print_json_text(stdout, section);
        printf(",\"size_bytes\":%zu}", value.size);
    }
    kiln_bytes text = kiln_entry_get(entry, "text");
    fputs("],\"text\":", stdout);
    if (text.data)
        print_json_string(stdout, text.data, text.size);
    else
        fputs("null", stdout);
    puts("}");
}

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

static int show(const struct command *command, const struct options *options, const kiln_inspector *inspector)
{
    size_t index;
    kiln_entry *entry = NULL;
    kiln_error err = {0};
    if (kiln_inspect_find(inspector, options->operand, &index, &err) != KILN_OK ||
        kiln_entry_open(inspector, index, &entry, &err) != KILN_OK)
        return failure(command, err.text);
    kiln_entry_info info;
    kiln_entry_describe(entry, &info);
    int status = EXIT_FINE;
    if (options->section)
        status = write_section(command, entry, options->section);
    else
        (options->json ? print_json_entry : print_entry)(entry, &info);
    kiln_entry_close(entry);
    return status;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (!options.operand) return usage_error(command, "which artifact? `kiln ls` lists their digests");
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
    .summary = "show one artifact: metadata, key, sections, text",
    .usage = "kiln show DIGEST [--section NAME] [--folder DIR] [--json]",
    .help = "Shows one artifact. DIGEST may be cut, as long as it names one artifact only.\n"
            "Exit code 1: there is no such artifact or section, or it is damaged.\n\n"
            "  --section NAME  write that section's bytes to stdout: kiln show 3f2a --section object > kernel.o\n"
            "  --folder DIR    instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln\n"
            "  --json          one object\n",
    .takes = "--folder --section",
    .max_operands = 1,
    .run = run,
};
