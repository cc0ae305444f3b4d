/*
 * tracing.h - the traces that run on this thread, as far as operations have to know them. The trace layer begins and
 * ends them (trace/trace.c); operations find the trace that their result belongs to, and refuse arrays that may not be
 * used.
 *
 * One function is compiled at a time. Inside of it and outside, transforms nest: vmap inside of vmap, of a compiled
 * function, of a gradient. A trace that began later has a larger id, so what is computed from arrays of several running
 * traces belongs to the one with the largest id, the innermost.
 */
#ifndef KILN_GRAPH_TRACING_H
#define KILN_GRAPH_TRACING_H

#include "array/array.h"

enum {
    KILN_NESTED_TRACES = 64
}; /* each thread has room for them, of which there is little where the library is opened late (dlopen) */

struct kiln_nested_trace {
    uint64_t id;
    uintptr_t frame;
};

/*
 * Kept small: a program that opens the library at run time has some 500 bytes for all thread-local state.
 *
 * A function that jumps out of its trace leaves the list of tracers behind, and the next trace of the thread uses it
 * again.
 */
struct kiln_tracing {
    uint64_t id;                      /* of the function that is compiled; 0: none */
    uintptr_t frame;                  /* of what called the function: see base/process/callback.h */
    struct kiln_array *const *inputs; /* of the call, which the function got placeholders for; borrowed */
    size_t input_count;
    struct kiln_array **tracers; /* in the order in which they were made; references */
    size_t tracer_count, tracer_cap;
    bool has_gradients; /* a transform ran inside: its operations are to run in the order in which they were made */
    struct kiln_nested_trace *nested; /* KILN_NESTED_TRACES of transforms, innermost last; NULL while there is none */
    size_t nested_count;
};

extern _Thread_local struct kiln_tracing kiln__tracing;

/* Does a trace with this id run on this thread? */
bool kiln__tracing_runs(uint64_t id);
/* Was it passed to the function that is traced, which got a placeholder for it? Using it there is a mistake. */
bool kiln__tracing_replaces(const struct kiln_array *array);
/* Takes a reference to a tracer that was just made, for as long as the trace runs. */
kiln_status kiln__tracing_keep(struct kiln_array *tracer, kiln_error *err);

#endif
