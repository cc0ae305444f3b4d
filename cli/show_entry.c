/*
 * show_entry.c - one artifact in full: metadata, what it was first compiled for, key, sections, text.
 */
#include <string.h>

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
    size_t line = size + (end != NULL);
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

static void print_metadata(const kiln_entry_info *info)
{
    char buffer[32];
    printf("digest    %s\nfile      %s\nfunction  %s\ntarget    %s\nentry     %s\n", info->digest, clean(info->path),
           *info->function ? clean(info->function) : "-", clean(info->target), clean(info->entry));
    printf("size      %s\n", format_bytes(buffer, sizeof buffer, info->size_bytes));
    printf("compiled  %s", format_time(buffer, sizeof buffer, info->created_unix_s));
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
    print_metadata(&info);
    if (rest.size) puts("\nfirst compiled for");
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
    print_text(entry);
}

/* {"name":...,"value":...}, after a comma unless it is the first. */
static void print_json_pair(size_t i, kiln_bytes name, kiln_bytes value)
{
    fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
    print_json_string(stdout, name.data, name.size);
    fputs(",\"value\":", stdout);
    print_json_string(stdout, value.data, value.size);
    fputs("}", stdout);
}

static void print_json_metadata(const kiln_entry_info *info)
{
    printf("{\"digest\":\"%s\",\"path\":", info->digest);
    print_json_text(stdout, info->path);
    fputs(",\"function\":", stdout);
    print_json_text(stdout, info->function);
    fputs(",\"target\":", stdout);
    print_json_text(stdout, info->target);
    fputs(",\"entry\":", stdout);
    print_json_text(stdout, info->entry);
    printf(",\"size_bytes\":%llu,\"compile_ns\":%llu,\"created_unix_s\":%llu", (unsigned long long)info->size_bytes,
           (unsigned long long)info->compile_ns, (unsigned long long)info->created_unix_s);
}

void print_json_entry(const kiln_entry *entry)
{
    kiln_entry_info info;
    kiln_bytes name, value, rest = kiln_entry_call(entry);
    const char *section;
    kiln_entry_describe(entry, &info);
    print_json_metadata(&info);
    fputs(",\"call\":[", stdout);
    for (size_t i = 0; next_fact(&rest, &name, &value); i++) print_json_pair(i, name, value);
    fputs("],\"key\":[", stdout);
    for (size_t i = 0; kiln_entry_key_field(entry, i, &name, &value); i++) print_json_pair(i, name, value);
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
    fputs("}", stdout);
}
