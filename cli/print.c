/*
 * print.c - how the commands print: JSON strings, sizes, times, and the list of counters.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

/* Length of the valid UTF-8 sequence at `at`, 0 when there is none. Overlong forms and surrogates are not valid. */
static size_t utf8_length(const unsigned char *at, size_t size)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].first_low || at[0] > forms[i].first_high) continue;
        if (forms[i].length == 1) return 1;
        if (size < forms[i].length || at[1] < forms[i].second_low || at[1] > forms[i].second_high) return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((at[k] & 0xc0) != 0x80) return 0;
        return forms[i].length;
    }
    return 0;
}

/* Control characters, those of two bytes too (U+0080 to U+009F), at the start of a valid sequence. */
static bool is_control(const unsigned char *at)
{
    return *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
}

void print_json_string(FILE *out, const void *data, size_t size)
{
    const unsigned char *at = data;
    fputc('"', out);
    while (size > 0) {
        size_t length = utf8_length(at, size);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (is_control(at)) {
            fprintf(out, "\\u%04x", length == 1 ? at[0] : at[1]);
        } else {
            if (*at == '"' || *at == '\\') fputc('\\', out);
            fwrite(at, 1, length, out);
        }
        at += length;
        size -= length;
    }
    fputc('"', out);
}

void print_json_text(FILE *out, const char *text)
{
    print_json_string(out, text, strlen(text));
}

bool is_printable(const void *data, size_t size)
{
    const unsigned char *at = data;
    while (size > 0) {
        size_t length = utf8_length(at, size);
        if (length == 0 || is_control(at)) return false;
        at += length;
        size -= length;
    }
    return true;
}

/* One character, or \xNN for a byte that can't stand on a line of a terminal. Returns how many bytes it was. */
static size_t print_character(FILE *out, const unsigned char *at, size_t size)
{
    size_t length = utf8_length(at, size);
    if (length && !is_control(at)) return fwrite(at, 1, length, out);
    fprintf(out, "\\x%02x", *at);
    return 1;
}

void print_lines(FILE *out, const void *data, size_t size)
{
    const unsigned char *at = data, *end = at + size;
    while (at < end) {
        if (*at == '\n' || *at == '\t')
            fputc(*at++, out);
        else
            at += print_character(out, at, (size_t)(end - at));
    }
}

const char *clean_bytes(const void *data, size_t size)
{
    enum { KEPT = 8 };
    static char *kept[KEPT];
    static unsigned next;
    char **slot = &kept[next++ % KEPT];
    const unsigned char *at = data, *end = at + size;
    size_t length;
    free(*slot);
    *slot = NULL;
    FILE *out = open_memstream(slot, &length);
    if (!out) return "?";
    while (at < end) at += print_character(out, at, (size_t)(end - at));
    fclose(out);
    return *slot ? *slot : "?";
}

const char *clean(const char *text)
{
    return clean_bytes(text, strlen(text));
}

const char *format_bytes(char *buffer, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) value /= 1024, unit++;
    snprintf(buffer, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return buffer;
}

const char *format_ns(char *buffer, size_t size, uint64_t ns)
{
    if (ns >= 1000000000u)
        snprintf(buffer, size, "%.2f s", (double)ns / 1e9);
    else if (ns >= 1000000u)
        snprintf(buffer, size, "%.2f ms", (double)ns / 1e6);
    else if (ns >= 1000u)
        snprintf(buffer, size, "%.2f us", (double)ns / 1e3);
    else
        snprintf(buffer, size, "%llu ns", (unsigned long long)ns);
    return buffer;
}

const char *format_time(char *buffer, size_t size, uint64_t unix_s)
{
    time_t time = (time_t)unix_s;
    struct tm parts;
    if (!localtime_r(&time, &parts) || strftime(buffer, size, "%Y-%m-%d %H:%M", &parts) == 0)
        snprintf(buffer, size, "?");
    return buffer;
}

#define COUNTER(name) {#name, offsetof(kiln_counters, name)}
const struct counter kiln_counter_list[] = {
    COUNTER(calls),     COUNTER(front_hits),   COUNTER(process_hits), COUNTER(traces),        COUNTER(kernel_hits),
    COUNTER(disk_hits), COUNTER(remote_hits),  COUNTER(compiles),     COUNTER(links),         COUNTER(drifts),
    COUNTER(corrupt),   COUNTER(cache_faults), COUNTER(evictions),    COUNTER(trace_ns),      COUNTER(compile_ns),
    COUNTER(link_ns),   COUNTER(saved_ns),     COUNTER(linked_bytes), COUNTER(linked_images), {NULL, 0},
};
#undef COUNTER

void print_json_counters(FILE *out, const kiln_counters *counters)
{
    kiln_counters copy = *counters;
    for (const struct counter *at = kiln_counter_list; at->name; at++)
        fprintf(out, "%s\"%s\":%llu", at == kiln_counter_list ? "{" : ",", at->name,
                (unsigned long long)*counter_in(at, &copy));
    fputs("}", out);
}
