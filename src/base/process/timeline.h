/*
 * timeline.h - what happens in this process and how long it takes, as a file that trace viewers open: KILN_TRACE.
 *
 * An event is a span of time with a kind and some facts: docs/formats/timeline.md. Hits of the thread cache are none,
 * so a warm look-up knows nothing of all this; whatever else is recorded costs a load and a branch while it is off.
 *
 * Events are collected in memory and appended to the file with single writes that end with a line, so that processes
 * may share one. A file that can't be written is told once, and nothing is recorded from then on. A forked child
 * records what it does itself. From every thread.
 */
#ifndef KILN_BASE_PROCESS_TIMELINE_H
#define KILN_BASE_PROCESS_TIMELINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/digest.h"

struct kiln_event {
    const char *kind; /* "compile"; a row of docs/formats/timeline.md */
    const char *name; /* what a viewer shows; NULL: the kind */
    /* Facts; NULL and 0: none. */
    const char *function;
    const char *reason;  /* why it had to happen */
    const char *where;   /* a folder, a remote, a device */
    const char *outcome; /* "miss", "failed" */
    const char *target;
    const struct kiln_digest *digest;
    uint64_t bytes; /* read and written */
    uint64_t count; /* kernels, launches */
};

extern _Atomic bool kiln__timeline_is_on;

/* Begins to record, if KILN_TRACE names a file. Once per process; later calls do nothing. */
void kiln__timeline_start(void);

/* The time at which a span begins; 0: nothing is recorded. */
static inline uint64_t kiln__timeline_begin(void)
{
    return atomic_load_explicit(&kiln__timeline_is_on, memory_order_relaxed) ? kiln__clock_ns() : 0;
}

/* Records the span from `start_ns` until now; nothing where that is 0. */
void kiln__timeline_end(uint64_t start_ns, const struct kiln_event *event);
/* The same with an end that is known, on a line of its own that is called `line`: work of a device. NULL: this
 * thread's. */
void kiln__timeline_span(uint64_t start_ns, uint64_t end_ns, const char *line, const struct kiln_event *event);
/* Writes what was recorded. */
void kiln__timeline_flush(void);

#endif
