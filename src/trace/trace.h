/*
 * trace.h - tracing: calls a function on placeholders and records what it computes as a tape.
 *
 * While a trace runs on a thread, operations on its placeholders make tracers: lazy arrays that belong to the trace and
 * are never evaluated. One function is compiled per thread at a time (a compiled function that is called inside a trace
 * is inlined); traces of transforms nest. Trace ids are never reused, so a tracer that outlives its trace is
 * recognised, and refused.
 */
#ifndef KILN_TRACE_TRACE_H
#define KILN_TRACE_TRACE_H

#include "trace/tape.h"

/*
 * A function on arrays. On success *outputs is a malloc'ed list of references, the caller's to release and free. Runs
 * synchronously on the thread that calls; inputs are borrowed for the call.
 */
typedef kiln_status (*kiln_callback)(void *payload, struct kiln_array *const *inputs, size_t count,
                                     struct kiln_array ***outputs, size_t *output_count, kiln_error *err);

bool kiln__trace_running(void); /* on this thread, of any kind */

/*
 * Calls `callback` once on placeholders like `inputs` and records what it did. A failing callback, a NULL output, an
 * input array captured instead of its placeholder: an error, and nothing is left behind.
 */
kiln_status kiln__trace(kiln_callback callback, void *payload, struct kiln_array *const *inputs, size_t count,
                        struct kiln_tape **out, kiln_error *err);

/* A function and how it is traced; kiln__trace() has zero for all but the first two. */
struct kiln_traced {
    kiln_callback callback;
    void *payload;
    /*
     * Borrowed by the tape. With a name, an array of the trace that is still held somewhere when the callback returns
     * fails it too. Otherwise such an array stays the holder's to free, and using it is an error.
     */
    const char *name;
    bool shapeless;        /* the tape has deferred operations (graph/deferred.h), to be replayed, never to be run */
    bool may_use_its_call; /* captured arrays may be among the call's inputs */
};

kiln_status kiln__trace_function(const struct kiln_traced *function, struct kiln_array *const *inputs, size_t count,
                                 struct kiln_tape **out, kiln_error *err);

/*
 * For transforms: calls `callback` on `placeholders`, inside of whatever runs. Those of them whose trace is
 * KILN_NEXT_TRACE, arrays without bytes and node, become placeholders of a trace of its own; others are passed as they
 * are. What is computed from a placeholder has its trace id and, unlike the tracers of a compiled function, keeps its
 * node for as long as somebody holds it: the transform walks from the outputs back to the placeholders.
 */
#define KILN_NEXT_TRACE UINT64_MAX
kiln_status kiln__trace_nested(kiln_callback callback, void *payload, struct kiln_array *const *placeholders,
                               size_t count, struct kiln_array ***outputs, size_t *output_count, kiln_error *err);

/*
 * The tape of a function for `inputs`, made from the tape of its shapeless trace for inputs of the same dtypes and
 * ranks. The function is not called. A size that a recorded operation does not accept is an error.
 */
kiln_status kiln__tape_replay(const struct kiln_tape *record, struct kiln_array *const *inputs, size_t count,
                              struct kiln_tape **out, kiln_error *err);

/* Applies the operations of a tape as it was recorded to `inputs`, as many as it has: lazy arrays, or tracers inside of
 * a trace. *outputs is a malloc'ed list of references. */
kiln_status kiln__tape_apply(const struct kiln_tape *record, struct kiln_array *const *inputs, size_t count,
                             struct kiln_array ***outputs, size_t *output_count, kiln_error *err);

#endif
