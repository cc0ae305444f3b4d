/*
 * vmap.h - vectorisation: a function of arrays becomes one that is applied to each slice of them along an axis.
 *
 * In two halves, as the ABI has them. The first calls the function on placeholders without the mapped axes. The second
 * walks the graph that the function made, from its outputs back to the placeholders, and applies each operation to
 * arrays that have the mapped axis in front, by the rules of vmap_rules.c. Rules are made of ordinary operations, so
 * what results is a graph like any other: lazy, for any device, part of the trace that runs.
 *
 * Error texts begin with "[vmap] ". After a failure nothing is left behind.
 */
#ifndef KILN_TRANSFORM_VMAP_VMAP_H
#define KILN_TRANSFORM_VMAP_VMAP_H

#include "trace/trace.h"

/* The axis of an input that is not mapped: the function gets the array itself. Lower axes count from the end. */
enum { KILN_NOT_MAPPED = -1 };

/*
 * Calls the function. `placeholders` has room for `count` arrays and gets references: a placeholder for each mapped
 * input, the others themselves. *outputs is a malloc'ed list of references. All of them are the caller's.
 */
kiln_status kiln__vmap_trace(kiln_callback callback, void *payload, struct kiln_array *const *inputs,
                             const int *in_axes, size_t count, struct kiln_array **placeholders,
                             struct kiln_array ***outputs, size_t *output_count, kiln_error *err);

struct kiln_vmap_half {
    struct kiln_array *const *inputs, *const *placeholders; /* as many as axes */
    const int *in_axes;
    size_t input_count;
    struct kiln_array *const *outputs;
    const int *out_axes; /* negative ones count from the end */
    size_t output_count;
};

/* `out` has room for the outputs and gets references: what the outputs of the trace are for the real inputs. */
kiln_status kiln__vmap_replace(const struct kiln_vmap_half *half, struct kiln_array **out, kiln_error *err);

#endif
