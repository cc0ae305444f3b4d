/*
 * tracing.c - see tracing.h. Traces belong to their thread, so their state needs no lock.
 */
#include "graph/tracing.h"

#include <stdlib.h>

_Thread_local struct kiln_tracing kiln__tracing;

bool kiln__tracing_runs(uint64_t id)
{
    if (id == kiln__tracing.id) return true;
    for (size_t i = kiln__tracing.nested_count; i-- > 0;)
        if (kiln__tracing.nested[i].id == id) return true;
    return false;
}

bool kiln__tracing_replaces(const struct kiln_array *array)
{
    for (size_t i = 0; i < kiln__tracing.input_count; i++)
        if (kiln__tracing.inputs[i] == array) return true;
    return false;
}

kiln_status kiln__tracing_keep(struct kiln_array *tracer, kiln_error *err)
{
    struct kiln_tracing *tracing = &kiln__tracing;
    if (tracing->tracer_count == tracing->tracer_cap) {
        size_t cap = tracing->tracer_cap ? tracing->tracer_cap * 2 : 64;
        struct kiln_array **list = realloc(tracing->tracers, cap * sizeof *list);
        if (!list) return kiln__no_memory(err, "a trace");
        tracing->tracers = list;
        tracing->tracer_cap = cap;
    }
    tracing->tracers[tracing->tracer_count++] = kiln__array_ref(tracer);
    return KILN_OK;
}
