/*
 * show_entry.c - one artifact in full: metadata, what it was first compiled for, key, sections, text; or what a program
 * has stored itself.
 */
#include <string.h>

#include "kiln/trust.h"
#include "show.h"

enum { LONGEST_VALUE = 96 }; /* a longer key field, such as the text, is told by its size */

bool next_fact(kiln_bytes *rest, kiln_bytes *name, kiln_bytes *value)
{
    const char *start = rest->data, *end = rest->size ? memchr(start, '\n', rest->size) : NULL;
    size_t size = end ? (size_t)(end - start) : rest->size;
    if (rest->size == 0) return false;
    const char *tab = memchr(start, '\t', size);
    size_t name_size = tab ? (size_t)(tab - start) : size, skip = tab ? name_size + 1 : size;
    *name = (kiln_bytes){start, name_size};
    *value = (kiln_bytes){start + skip, size - skip};
    size_t line = size + !!end;
    *rest = (kiln_bytes){start + line, rest->size - line};
    return true;
}

bool fact_is(kiln_bytes name, const char *word)
{
    return name.size == strlen(word) && memcmp(name.data, word, name.size) == 0;
}

static void print_value(kiln_bytes value, size_t longest)
{
    if (value.size <= longest && is_printable(value.data, value.size))
        printf("%.*s\n", (int)value.size, (const char *)value.data);
    else
        printf("(%zu bytes)\n", value.size);
}

const char *signed_by(const kiln_entry *entry)
{
    static char text[1024];
    kiln_signer signer;
    kiln_entry_signer(entry, &signer);
    text[0] = '\0';
    if (*signer.key)
        snprintf(text, sizeof text, "signed by %.8s%s%s%s%s%s", signer.key, *signer.comment ? " " : "",
                 clean(signer.comment), signer.is_accepted ? "" : " (", clean(signer.problem),
                 signer.is_accepted ? "" : ")");
    return text;
}

void print_json_signer(const kiln_entry *entry)
{
    kiln_signer signer;
    kiln_entry_signer(entry, &signer);
    if (!*signer.key) return;
    kiln__json_text(&json_out, "signer", signer.key);
    kiln__json_text(&json_out, "signer_comment", signer.comment);
    kiln__json_text(&json_out, "signature", signer.is_accepted ? "accepted" : signer.problem);
}

static bool is_bytes(const kiln_entry *entry)
{
    return strcmp(kiln_entry_kind(entry), "bytes") == 0;
}

static void print_metadata(const kiln_entry *entry, const kiln_entry_info *info)
{
    char buffer[32];
    bool bytes = is_bytes(entry);
    printf("digest    %s\nfile      %s\nkind      %s\n%s  %s\n", info->digest, clean(info->path),
           kiln_entry_kind(entry), bytes ? "name    " : "function", *info->function ? clean(info->function) : "-");
    if (!bytes) printf("target    %s\nentry     %s\n", clean(info->target), clean(info->entry));
    printf("size      %s\n", format_bytes(buffer, sizeof buffer, info->size_bytes));
    printf("%s  %s", bytes ? "made    " : "compiled", format_time(buffer, sizeof buffer, info->created_unix_s));
    printf(", in %s\n", format_ns(buffer, sizeof buffer, info->compile_ns));
}

void print_text(const kiln_entry *entry)
{
    kiln_bytes text = kiln_entry_get(entry, "text");
    if (!text.data) return;
    puts("\ntext");
    print_lines(stdout, text.data, text.size);
    if (text.size && ((const char *)text.data)[text.size - 1] != '\n') puts("");
}

void print_entry(const kiln_entry *entry)
{
    kiln_entry_info info;
    kiln_bytes name, value, rest = kiln_entry_call(entry);
    const char *section;
    kiln_entry_describe(entry, &info);
    print_metadata(entry, &info);
    if (*signed_by(entry)) printf("%s\n", signed_by(entry));
    if (rest.size) puts(is_bytes(entry) ? "\nabout" : "\nfirst compiled for");
    while (next_fact(&rest, &name, &value)) {
        printf("  %-18s  ", clean_bytes(name.data, name.size));
        print_value(value, SIZE_MAX);
    }
    puts("\nkey");
    for (size_t i = 0; kiln_entry_key_field(entry, i, &name, &value); i++) {
        printf("  %-18s  ", clean_bytes(name.data, name.size));
        print_value(value, LONGEST_VALUE);
    }
    puts("\nsections");
    for (size_t i = 0; (section = kiln_entry_section(entry, i, &value)); i++)
        printf("  %-18s  %zu bytes\n", clean(section), value.size);
    if (is_manifest(entry)) print_names(entry);
    print_text(entry);
}

static void print_json_pair(kiln_bytes name, kiln_bytes value)
{
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_bytes(&json_out, "name", name.data, name.size);
    kiln__json_bytes(&json_out, "value", value.data, value.size);
    kiln__json_close(&json_out, '}');
}

void print_json_metadata(const kiln_entry *entry, const kiln_entry_info *info, bool with_path)
{
    kiln__json_text(&json_out, "digest", info->digest);
    if (with_path) kiln__json_text(&json_out, "path", info->path);
    kiln__json_text(&json_out, "function", info->function);
    kiln__json_text(&json_out, "target", info->target);
    kiln__json_text(&json_out, "entry", info->entry);
    kiln__json_number(&json_out, "size_bytes", info->size_bytes);
    kiln__json_number(&json_out, "compile_ns", info->compile_ns);
    kiln__json_number(&json_out, "created_unix_s", info->created_unix_s);
    kiln__json_text(&json_out, "kind", kiln_entry_kind(entry));
}

static void print_json_sections(const kiln_entry *entry)
{
    kiln_bytes value;
    const char *section;
    kiln__json_open(&json_out, "sections", '[');
    for (size_t i = 0; (section = kiln_entry_section(entry, i, &value)); i++) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "name", section);
        kiln__json_number(&json_out, "size_bytes", value.size);
        kiln__json_close(&json_out, '}');
    }
    kiln__json_close(&json_out, ']');
}

void print_json_entry(const kiln_entry *entry)
{
    kiln_entry_info info;
    kiln_bytes name, value, rest = kiln_entry_call(entry);
    kiln_entry_describe(entry, &info);
    kiln__json_open(&json_out, NULL, '{');
    print_json_metadata(entry, &info, true);
    print_json_signer(entry);
    kiln__json_open(&json_out, "call", '[');
    while (next_fact(&rest, &name, &value)) print_json_pair(name, value);
    kiln__json_close(&json_out, ']');
    kiln__json_open(&json_out, "key", '[');
    for (size_t i = 0; kiln_entry_key_field(entry, i, &name, &value); i++) print_json_pair(name, value);
    kiln__json_close(&json_out, ']');
    print_json_sections(entry);
    kiln_bytes text = kiln_entry_get(entry, "text");
    if (text.data)
        kiln__json_bytes(&json_out, "text", text.data, text.size);
    else
        kiln__json_null(&json_out, "text");
    kiln__json_close(&json_out, '}');
}
