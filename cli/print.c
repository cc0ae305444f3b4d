/*
 * print.c - how the commands print: JSON, text that is safe for terminals, sizes, times, and the list of counters.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "cli.h"
#include "kiln/config.h"

static struct kiln_buffer json_text;
struct kiln_json json_out = {.out = &json_text};

void json_end(void)
{
    kiln__buffer_append(&json_text, "\n", 1);
    if (json_text.failed) {
        fputs("kiln: out of memory: what --json prints\n", stderr);
        exit(EXIT_WRONG);
    }
    fwrite(json_text.data, 1, json_text.size, stdout);
    kiln__buffer_release(&json_text);
}

const char *setting_value(const char *name)
{
    static kiln_setting_info info;
    info.struct_size = sizeof info;
    return kiln_setting_describe(name, &info, NULL) == KILN_OK ? info.value : "";
}

bool setting_is(const char *name, const char *value)
{
    return strcmp(setting_value(name), value) == 0;
}

static void ignore_line(void *context, kiln_log_kind kind, const char *text)
{
    (void)context, (void)kind, (void)text;
}

void silence_log(void)
{
    kiln_set_log(KILN_LOG_FAULT, ignore_line, NULL, NULL);
}

static bool has_colours(FILE *out)
{
    const char *no = secure_getenv("NO_COLOR"), *terminal = secure_getenv("TERM");
    return !(no && *no) && isatty(fileno(out)) && terminal && *terminal && strcmp(terminal, "dumb");
}

const char *colour(FILE *out, enum colour colour)
{
    static const char *const codes[] = {[PLAIN] = "\033[0m",  [BOLD] = "\033[1m",    [RED] = "\033[1;31m",
                                        [GREEN] = "\033[32m", [YELLOW] = "\033[33m", [DIM] = "\033[2m"};
    return has_colours(out) ? codes[colour] : "";
}

bool is_printable(const void *data, size_t size)
{
    const char *at = data, *end = at + size;
    for (size_t length; at < end; at += length)
        if (!(length = kiln__printable(at, (size_t)(end - at)))) return false;
    return true;
}

/* One character, or \xNN for a byte that can't stand on a line of a terminal. Returns how many bytes it was. */
static size_t print_character(FILE *out, const char *at, size_t size)
{
    size_t length = kiln__printable(at, size);
    if (length) return fwrite(at, 1, length, out);
    fprintf(out, "\\x%02x", (unsigned char)*at);
    return 1;
}

void print_lines(FILE *out, const void *data, size_t size)
{
    const char *at = data, *end = at + size;
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
    const char *at = data, *end = at + size;
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
    if (!unix_s || !localtime_r(&time, &parts) || strftime(buffer, size, "%Y-%m-%d %H:%M", &parts) == 0)
        snprintf(buffer, size, "?");
    return buffer;
}

#define COUNTER(name) {#name, offsetof(kiln_counters, name)}
const struct counter kiln_counter_list[] = {
    COUNTER(calls),
    COUNTER(front_hits),
    COUNTER(process_hits),
    COUNTER(traces),
    COUNTER(kernel_hits),
    COUNTER(disk_hits),
    COUNTER(remote_hits),
    COUNTER(compiles),
    COUNTER(links),
    COUNTER(drifts),
    COUNTER(corrupt),
    COUNTER(cache_faults),
    COUNTER(evictions),
    COUNTER(trace_ns),
    COUNTER(compile_ns),
    COUNTER(link_ns),
    COUNTER(saved_ns),
    COUNTER(linked_bytes),
    COUNTER(linked_images),
    COUNTER(remote_misses),
    COUNTER(remote_puts),
    COUNTER(remote_faults),
    COUNTER(remote_waits),
    COUNTER(refused_signatures),
    COUNTER(remote_bytes_read),
    COUNTER(remote_bytes_written),
    COUNTER(remote_ns),
    COUNTER(bytes_copied),
    COUNTER(tier_calls),
    COUNTER(tier_swaps),
    COUNTER(tier_faults),
    {NULL, 0},
};
#undef COUNTER

void json_counters(const char *key, const kiln_counters *counters)
{
    kiln_counters copy = *counters;
    kiln__json_open(&json_out, key, '{');
    for (const struct counter *at = kiln_counter_list; at->name; at++)
        kiln__json_number(&json_out, at->name, *counter_in(at, &copy));
    kiln__json_close(&json_out, '}');
}
