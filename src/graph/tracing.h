/*
 * tracing.h - the trace that runs on this thread, as far as operations have to know it. The trace layer begins and ends
 * it (trace/trace.c); operations find the trace that their result belongs to, and refuse arrays that may not be used.
 */
#ifndef KILN_GRAPH_TRACING_H
#define KILN_GRAPH_TRACING_H

#include "array/array.h"

/*
 * A function that jumps out of its trace leaves the list of tracers behind, and the next trace of the thread uses it
 * again.
 */
struct kiln_tracing {
    uint64_t id;                      /* 0: none */
    uintptr_t frame;                  /* of what called the function: see base/process/callback.h */
    struct kiln_array *const *inputs; /* of the call, which the function got placeholders for; borrowed */
    size_t input_count;
    struct kiln_array **tracers; /* in the order in which they were made; references */
    size_t tracer_count, tracer_cap;
};

extern _Thread_local struct kiln_tracing kiln__tracing;

/* Was it passed to the function that is traced, which got a placeholder for it? Using it there is a mistake. */
bool kiln__tracing_replaces(const struct kiln_array *array);
/* Takes a reference to a tracer that was just made, for as long as the trace runs. */
kiln_status kiln__tracing_keep(struct kiln_array *tracer, kiln_error *err);

#endif
