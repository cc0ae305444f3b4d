/*
 * timeline.h - reading what KILN_TRACE wrote (docs/formats/timeline.md), event by event.
 *
 * The file may be another program's: every line is checked, and a line that is no event is counted and passed over.
 */
#ifndef KILN_CLI_TIMELINE_H
#define KILN_CLI_TIMELINE_H

#include "cli.h"

/* Texts are valid until the next event. "" and 0: the event does not say. */
struct event {
    const char *name, *kind, *phase; /* phase: "X" a span, "M" a name of a process or a line */
    const char *function, *reason, *key, *where, *outcome, *target;
    uint64_t process, thread, start_ns, duration_ns, bytes, count;
};

struct timeline {
    FILE *file;
    char *line;
    size_t cap;
    uint64_t events, bad_lines;
    struct kiln_buffer texts, unused;
};

/* False: errno says why. */
bool timeline_open(struct timeline *timeline, const char *path);
/* False: no more events. */
bool timeline_next(struct timeline *timeline, struct event *out);
void timeline_close(struct timeline *timeline);

/* Where `kiln run` leaves the time line of the last run, and its counters: in memory of the caller's. NULL: no home. */
char *last_run_path(const char *name);

#endif
