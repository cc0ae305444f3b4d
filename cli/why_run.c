/*
 * why_run.c - `kiln why` without arguments: why the last `kiln run` traced, lowered and compiled what it did.
 *
 * A call that missed says what in its key is new; traces and compiles that follow on the same thread, until the call
 * ends, are its cost. Equal reasons are one line.
 */
#include "why_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline.h"

struct cause {
    char *function, *reason;
    uint64_t calls, ns;
    uint64_t start_ns, last_ns; /* of the last call: a call that holds it is the same one */
};

struct story {
    struct cause *causes;
    size_t count;
    uint64_t compiles, compile_ns, found;
};

static struct cause *cause_of(struct story *story, const struct event *event)
{
    for (size_t i = 0; i < story->count; i++)
        if (!strcmp(story->causes[i].function, event->function) && !strcmp(story->causes[i].reason, event->reason))
            return &story->causes[i];
    struct cause *grown = realloc(story->causes, (story->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    story->causes = grown;
    grown[story->count] = (struct cause){.function = strdup(event->function), .reason = strdup(event->reason)};
    return &grown[story->count++];
}

/* An event is written when it ends, so what is inside of a call comes before it. */
static void add_call(struct cause *cause, const struct event *event)
{
    bool holds_last = cause->calls && event->start_ns <= cause->start_ns;
    if (holds_last) cause->calls--, cause->ns -= cause->last_ns;
    cause->calls++;
    cause->ns += cause->last_ns = event->duration_ns;
    cause->start_ns = event->start_ns;
}

static void read_story(struct timeline *timeline, struct story *story)
{
    struct event event;
    while (timeline_next(timeline, &event)) {
        story->found += !strcmp(event.kind, "read") && !strcmp(event.outcome, "found");
        if (!strcmp(event.kind, "compile")) story->compiles++, story->compile_ns += event.duration_ns;
        if (strcmp(event.kind, "call") || strcmp(event.outcome, "made") || !*event.reason) continue;
        struct cause *cause = cause_of(story, &event);
        if (cause) add_call(cause, &event);
    }
}

/* The reason begins with the function's name, as kiln_why() says it. */
static const char *words_of(const struct cause *cause)
{
    size_t size = strlen(cause->function);
    bool is_named = !strncmp(cause->reason, cause->function, size) && !strncmp(cause->reason + size, ": ", 2);
    return is_named ? cause->reason + size + 2 : cause->reason;
}

static int by_time(const void *one, const void *two)
{
    const struct cause *a = one, *b = two;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static void print_story(const struct story *story, const char *path)
{
    char time[32];
    printf("the last run: %s\n%llu kernels compiled in %s, %llu found in folders\n", clean(path),
           (unsigned long long)story->compiles, format_ns(time, sizeof time, story->compile_ns),
           (unsigned long long)story->found);
    if (!story->count) puts("no call missed");
    for (size_t i = 0; i < story->count; i++) {
        const struct cause *cause = &story->causes[i];
        printf("\n%s: %s\n  %llu call%s, %s\n", clean(cause->function), clean(words_of(cause)),
               (unsigned long long)cause->calls, cause->calls == 1 ? "" : "s", format_ns(time, sizeof time, cause->ns));
    }
}

static void print_json(const struct story *story, const char *path)
{
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "timeline", path);
    kiln__json_number(&json_out, "compiles", story->compiles);
    kiln__json_number(&json_out, "compile_ns", story->compile_ns);
    kiln__json_number(&json_out, "found", story->found);
    kiln__json_open(&json_out, "misses", '[');
    for (size_t i = 0; i < story->count; i++) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_text(&json_out, "function", story->causes[i].function);
        kiln__json_text(&json_out, "reason", words_of(&story->causes[i]));
        kiln__json_number(&json_out, "calls", story->causes[i].calls);
        kiln__json_number(&json_out, "ns", story->causes[i].ns);
        kiln__json_close(&json_out, '}');
    }
    kiln__json_close(&json_out, ']');
    kiln__json_close(&json_out, '}');
    json_end();
}

static int tell(const struct command *command, const char *path, bool json)
{
    char text[4200];
    struct timeline timeline;
    struct story story = {0};
    if (!timeline_open(&timeline, path)) {
        if (errno == ENOENT)
            return usage_error(command,
                               "which artifact? `kiln ls` lists their digests; or run a program with `kiln run` first");
        snprintf(text, sizeof text, "%s: %s", path, strerror(errno));
        return failure(command, text);
    }
    read_story(&timeline, &story);
    qsort(story.causes, story.count, sizeof *story.causes, by_time);
    (json ? print_json : print_story)(&story, path);
    int status = timeline.bad_lines ? EXIT_WRONG : EXIT_FINE;
    if (timeline.bad_lines)
        fprintf(stderr, "kiln why: %llu lines of %s are no events\n", (unsigned long long)timeline.bad_lines,
                clean(path));
    for (size_t i = 0; i < story.count; i++) free(story.causes[i].function), free(story.causes[i].reason);
    free(story.causes);
    timeline_close(&timeline);
    return status;
}

int why_last_run(const struct command *command, bool json)
{
    char *path = last_run_path("last-run.json");
    if (!path) return failure(command, "neither XDG_STATE_HOME nor HOME names the folder of the last run");
    int status = tell(command, path, json);
    free(path);
    return status;
}
