/*
 * report_data.c - see report.h: a time line and a folder as JSON.
 *
 * The JSON stands inside of a script element: whatever a name holds, "<" is written as an escape (cmd_report.c), so
 * that no text of a program becomes part of the page.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "show.h"
#include "timeline.h"

/* ---- texts, each once ------------------------------------------------------------------------------------------- */

struct texts {
    char **list;
    uint32_t *slots; /* 1 + index; 0: free */
    size_t count, cap, slot_count;
};

static void free_texts(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) free(texts->list[i]);
    free(texts->list);
    free(texts->slots);
}

static uint64_t hash_of(const char *text) /* FNV-1a */
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static uint32_t *find_slot(const struct texts *texts, const char *text)
{
    size_t at = hash_of(text) & (texts->slot_count - 1);
    while (texts->slots[at] && strcmp(texts->list[texts->slots[at] - 1], text)) at = (at + 1) & (texts->slot_count - 1);
    return &texts->slots[at];
}

static bool grow(struct texts *texts)
{
    size_t cap = texts->cap ? texts->cap * 2 : 1024;
    char **list = realloc(texts->list, cap * sizeof *list);
    if (list) texts->list = list;
    uint32_t *slots = calloc(cap * 2, sizeof *slots);
    if (!list || !slots) return free(slots), false;
    free(texts->slots);
    texts->slots = slots;
    texts->slot_count = cap * 2;
    texts->cap = cap;
    for (size_t i = 0; i < texts->count; i++) *find_slot(texts, texts->list[i]) = (uint32_t)i + 1;
    return true;
}

/* Its number; 0, the empty text, also when out of memory. */
static uint32_t number_of(struct texts *texts, const char *text)
{
    if (texts->count == texts->cap && !grow(texts)) return 0;
    uint32_t *slot = find_slot(texts, text);
    if (*slot) return *slot - 1;
    if (!(texts->list[texts->count] = strdup(text))) return 0;
    *slot = (uint32_t)++texts->count;
    return *slot - 1;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* One column each. Times are nanoseconds from the first event. */
enum column { KIND, NAME, FUNCTION, REASON, KEY, WHERE, OUTCOME, PROCESS, THREAD, START, DURATION, BYTES, COLUMNS };
static const char *const column_names[COLUMNS] = {"kind",    "name",    "function", "reason", "key",      "where",
                                                  "outcome", "process", "thread",   "start",  "duration", "bytes"};

struct columns {
    uint64_t *values[COLUMNS];
    size_t count, cap;
};

static bool add_event(struct columns *columns, struct texts *texts, const struct event *event)
{
    if (columns->count == columns->cap) {
        size_t cap = columns->cap ? columns->cap * 2 : 4096;
        for (int i = 0; i < COLUMNS; i++) {
            uint64_t *grown = realloc(columns->values[i], cap * sizeof *grown);
            if (!grown) return false;
            columns->values[i] = grown;
        }
        columns->cap = cap;
    }
    const uint64_t row[COLUMNS] = {number_of(texts, event->kind),
                                   number_of(texts, event->name),
                                   number_of(texts, event->function),
                                   number_of(texts, event->reason),
                                   number_of(texts, event->key),
                                   number_of(texts, event->where),
                                   number_of(texts, event->outcome),
                                   event->process,
                                   event->thread,
                                   event->start_ns,
                                   event->duration_ns,
                                   event->bytes};
    for (int i = 0; i < COLUMNS; i++) columns->values[i][columns->count] = row[i];
    columns->count++;
    return true;
}

/* "M": the name of a process, or of a line that is no thread. */
static void add_name(struct kiln_json *json, const struct event *event)
{
    kiln__json_open(json, NULL, '{');
    kiln__json_number(json, "process", event->process);
    kiln__json_number(json, "thread", event->thread);
    kiln__json_text(json, "name", event->function);
    kiln__json_close(json, '}');
}

static void print_columns(struct kiln_json *json, const struct columns *columns)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < columns->count; i++)
        if (columns->values[START][i] < first) first = columns->values[START][i];
    kiln__json_open(json, "events", '{');
    for (int c = 0; c < COLUMNS; c++) {
        kiln__json_open(json, column_names[c], '[');
        for (size_t i = 0; i < columns->count; i++)
            kiln__json_number(json, NULL, columns->values[c][i] - (c == START ? first : 0));
        kiln__json_close(json, ']');
    }
    kiln__json_close(json, '}');
}

bool report_timeline(const char *path, struct kiln_json *json, struct progress *progress, struct report_events *out)
{
    struct timeline timeline;
    struct event event;
    struct texts texts = {0};
    struct columns columns = {0};
    if (!timeline_open(&timeline, path)) return false;
    number_of(&texts, "");
    kiln__json_open(json, "names", '[');
    while (timeline_next(&timeline, &event)) {
        if (!strcmp(event.phase, "M"))
            add_name(json, &event);
        else if (!strcmp(event.phase, "X") && !add_event(&columns, &texts, &event))
            break;
        if (timeline.events % 4096 == 0) progress_report(progress, "reading events", timeline.events, 0);
    }
    kiln__json_close(json, ']');
    *out = (struct report_events){columns.count, timeline.bad_lines};
    timeline_close(&timeline);
    print_columns(json, &columns);
    kiln__json_open(json, "texts", '[');
    for (size_t i = 0; i < texts.count; i++) kiln__json_text(json, NULL, texts.list[i]);
    kiln__json_close(json, ']');
    for (int i = 0; i < COLUMNS; i++) free(columns.values[i]);
    free_texts(&texts);
    return true;
}

/* ---- the folder ------------------------------------------------------------------------------------------------- */

/* Facts as pairs; of a kernel's text no more than a page can show. */
static void print_kernel(struct kiln_json *json, const kiln_entry *entry, const kiln_entry_info *info)
{
    enum { MOST_TEXT = 1 << 16 };
    kiln_bytes name, value, rest = kiln_entry_call(entry), text = kiln_entry_get(entry, "text");
    kiln__json_open(json, NULL, '{');
    kiln__json_text(json, "digest", info->digest);
    kiln__json_text(json, "function", info->function);
    kiln__json_text(json, "entry", info->entry);
    kiln__json_number(json, "created", info->created_unix_s);
    kiln__json_open(json, "facts", '[');
    while (next_fact(&rest, &name, &value)) {
        kiln__json_open(json, NULL, '[');
        kiln__json_bytes(json, NULL, name.data, name.size);
        kiln__json_bytes(json, NULL, value.data, value.size);
        kiln__json_close(json, ']');
    }
    kiln__json_close(json, ']');
    if (text.data) kiln__json_bytes(json, "text", text.data, text.size < MOST_TEXT ? text.size : MOST_TEXT);
    kiln__json_close(json, '}');
}

static void print_artifact(struct kiln_json *json, const kiln_entry *entry, const kiln_entry_info *info)
{
    kiln__json_open(json, NULL, '{');
    kiln__json_text(json, "digest", info->digest);
    kiln__json_text(json, "function", info->function);
    kiln__json_text(json, "kind", kiln_entry_kind(entry));
    kiln__json_text(json, "target", info->target);
    kiln__json_number(json, "bytes", info->size_bytes);
    kiln__json_number(json, "created", info->created_unix_s);
    kiln__json_number(json, "compile", info->compile_ns);
    kiln__json_close(json, '}');
}

static void print_entries(const kiln_inspector *inspector, struct kiln_json *json, struct progress *progress,
                          void (*print)(struct kiln_json *json, const kiln_entry *entry, const kiln_entry_info *info),
                          size_t most)
{
    size_t count = kiln_inspect_count(inspector);
    for (size_t i = 0; i < count && i < most; i++) {
        kiln_entry *entry = NULL;
        kiln_entry_info info;
        progress_report(progress, "reading artifacts", i, count);
        if (kiln_entry_open(inspector, i, &entry, NULL) != KILN_OK) continue; /* `kiln verify` reports those */
        kiln_entry_describe(entry, &info);
        print(json, entry, &info);
        kiln_entry_close(entry);
    }
}

void report_folder(const kiln_inspector *inspector, struct kiln_json *json, struct progress *progress)
{
    enum { MOST_KERNELS = 1000 };
    kiln__json_open(json, "folder", '{');
    kiln__json_text(json, "path", kiln_inspect_folder(inspector));
    kiln__json_number(json, "now", (uint64_t)time(NULL));
    kiln__json_open(json, "artifacts", '[');
    print_entries(inspector, json, progress, print_artifact, SIZE_MAX);
    kiln__json_close(json, ']');
    kiln__json_open(json, "kernels", '[');
    print_entries(inspector, json, progress, print_kernel, MOST_KERNELS);
    kiln__json_close(json, ']');
    kiln__json_close(json, '}');
}
