/*
 * timeline.c - see timeline.h.
 */
#include "timeline.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool timeline_open(struct timeline *timeline, const char *path)
{
    *timeline = (struct timeline){.file = fopen(path, "r")};
    return timeline->file;
}

void timeline_close(struct timeline *timeline)
{
    if (timeline->file) fclose(timeline->file);
    free(timeline->line);
    kiln__buffer_release(&timeline->texts);
    kiln__buffer_release(&timeline->unused);
    *timeline = (struct timeline){0};
}

/* ---- one line --------------------------------------------------------------------------------------------------- */

/* A member of an event: its name, where it goes, and how it is written. */
enum member_kind { TEXT, NUMBER, TIME };
static const struct member {
    const char *name;
    enum member_kind kind;
    size_t offset;
} outer[] = {{"name", TEXT, offsetof(struct event, name)},       {"cat", TEXT, offsetof(struct event, kind)},
             {"ph", TEXT, offsetof(struct event, phase)},        {"pid", NUMBER, offsetof(struct event, process)},
             {"tid", NUMBER, offsetof(struct event, thread)},    {"ts", TIME, offsetof(struct event, start_ns)},
             {"dur", TIME, offsetof(struct event, duration_ns)}, {NULL}},
  facts[] = {{"name", TEXT, offsetof(struct event, function)}, /* of a process or a line of its own */
             {"function", TEXT, offsetof(struct event, function)},
             {"reason", TEXT, offsetof(struct event, reason)},
             {"key", TEXT, offsetof(struct event, key)},
             {"where", TEXT, offsetof(struct event, where)},
             {"outcome", TEXT, offsetof(struct event, outcome)},
             {"target", TEXT, offsetof(struct event, target)},
             {"bytes", NUMBER, offsetof(struct event, bytes)},
             {"count", NUMBER, offsetof(struct event, count)},
             {NULL}};

struct reading {
    struct kiln_json_reader reader;
    struct timeline *timeline;
    struct event *event;
};

/* Texts stand behind each other in a buffer that has room for all of them: a text with its NUL is shorter than it was
 * between its quotes, so pointers into it stay. */
static bool read_text(struct reading *r, const struct member *member)
{
    struct kiln_buffer *texts = &r->timeline->texts, *text = &r->timeline->unused;
    if (!kiln__json_read_text(&r->reader, text)) return false;
    const char *copy = (const char *)texts->data + texts->size;
    kiln__buffer_append(texts, text->size ? (const char *)text->data : "",
                        text->size ? strlen((const char *)text->data) + 1 : 1);
    *(const char **)((char *)r->event + member->offset) = copy;
    return true;
}

static bool read_number(struct reading *r, const struct member *member)
{
    kiln__json_peek(&r->reader);
    const char *start = r->reader.at;
    char *end;
    double value = strtod(start, &end);
    if (end == start || end > r->reader.end || !(value >= 0 && value < 1e18)) return false;
    r->reader.at = end;
    *(uint64_t *)((char *)r->event + member->offset) = (uint64_t)(member->kind == TIME ? value * 1000 : value);
    return true;
}

static bool read_members(struct reading *r, const struct member *members);

static bool read_member(struct reading *r, const struct member *members)
{
    char name[16];
    if (!kiln__json_read_text(&r->reader, &r->timeline->unused) || !kiln__json_accept(&r->reader, ':')) return false;
    snprintf(name, sizeof name, "%s", r->timeline->unused.size ? (const char *)r->timeline->unused.data : "");
    if (members == outer && !strcmp(name, "args")) return read_members(r, facts);
    for (const struct member *member = members; member->name; member++)
        if (!strcmp(member->name, name)) return (member->kind == TEXT ? read_text : read_number)(r, member);
    return kiln__json_skip(&r->reader, &r->timeline->unused);
}

static bool read_members(struct reading *r, const struct member *members)
{
    if (!kiln__json_accept(&r->reader, '{')) return false;
    if (kiln__json_accept(&r->reader, '}')) return true;
    do
        if (!read_member(r, members)) return false;
    while (kiln__json_accept(&r->reader, ','));
    return kiln__json_accept(&r->reader, '}');
}

static bool make_room(struct kiln_buffer *texts, size_t size)
{
    kiln__buffer_clear(texts);
    bool has_room = kiln__buffer_grow(texts, size);
    kiln__buffer_clear(texts);
    return has_room;
}

static bool read_line(struct timeline *timeline, const char *line, size_t size, struct event *out)
{
    struct reading r = {.reader = {.text = line, .at = line, .end = line + size}, .timeline = timeline, .event = out};
    *out = (struct event){"", "", "", "", "", "", "", "", ""};
    if (!make_room(&timeline->texts, size + 1) || !read_members(&r, outer)) return false;
    kiln__json_accept(&r.reader, ',');
    return !kiln__json_peek(&r.reader) && *out->phase && *out->name;
}

bool timeline_next(struct timeline *timeline, struct event *out)
{
    ssize_t size;
    while ((size = getline(&timeline->line, &timeline->cap, timeline->file)) >= 0) {
        while (size && strchr(" \t\r\n", timeline->line[size - 1])) timeline->line[--size] = '\0';
        if (!size || !strcmp(timeline->line, "[") || !strcmp(timeline->line, "]")) continue;
        if (read_line(timeline, timeline->line, (size_t)size, out)) return timeline->events++, true;
        timeline->bad_lines++;
    }
    return false;
}

/* ---- the last run ---------------------------------------------------------------------------------------------- */

char *last_run_path(const char *name)
{
    char *path = NULL;
    const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
    int size = state && *state == '/' ? asprintf(&path, "%s/kiln/%s", state, name)
               : home && *home == '/' ? asprintf(&path, "%s/.local/state/kiln/%s", home, name)
                                      : -1;
    return size < 0 ? NULL : path;
}
