/*
 * counters.c - see counters.h. A line is one JSON object with the fields of kiln_counters. Fields we do not know are
 * passed over (a newer library may have more).
 */
#include "counters.h"

#include <stdlib.h>
#include <string.h>

static void add_counter(kiln_counters *counters, const char *name, const char *value)
{
    for (const struct counter *at = kiln_counter_list; at->name; at++)
        if (strcmp(at->name, name) == 0) *counter_in(at, counters) += strtoull(value, NULL, 10);
}

static bool add_field(struct kiln_json_reader *reader, struct kiln_buffer *name, kiln_counters *counters)
{
    struct kiln_buffer unused = {0};
    if (!kiln__json_read_text(reader, name) || !kiln__json_accept(reader, ':')) return false;
    kiln__json_peek(reader);
    const char *value = reader->at;
    bool is_read = kiln__json_skip(reader, &unused);
    if (is_read) add_counter(counters, (const char *)name->data, value);
    kiln__buffer_release(&unused);
    return is_read;
}

static bool add_fields(struct kiln_json_reader *reader, kiln_counters *counters)
{
    struct kiln_buffer name = {0};
    bool is_read = kiln__json_accept(reader, '{');
    if (is_read && !kiln__json_accept(reader, '}')) {
        do is_read = add_field(reader, &name, counters);
        while (is_read && kiln__json_accept(reader, ','));
        is_read = is_read && kiln__json_accept(reader, '}');
    }
    kiln__buffer_release(&name);
    return is_read && !kiln__json_peek(reader);
}

/* All of the line, or, when it is no object, nothing of it. */
static bool add_line(const char *line, kiln_counters *out)
{
    kiln_counters counters = *out;
    struct kiln_json_reader reader = {.text = line, .at = line, .end = line + strlen(line)};
    if (!add_fields(&reader, &counters)) return false;
    *out = counters;
    return true;
}

bool sum_counters(FILE *file, struct counter_sums *out)
{
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, file) >= 0) {
        if (!line[strspn(line, " \t\r\n")]) continue;
        if (add_line(line, &out->counters))
            out->lines++;
        else
            out->bad++;
    }
    free(line);
    return !ferror(file);
}
