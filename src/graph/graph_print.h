/*
 * graph_print.h - a graph as text, for golden tests and for people.
 *
 * Names are given by position, never by address: the inputs are a0, a1, ..., other ready arrays c0, c1, ... and results
 * of operations v0, v1, ..., in the order in which a walk from the outputs finishes them. Equal graphs give equal text:
 *
 *     a0: float32(2,3)
 *     c0: float32() = 0x3f800000
 *     v0: float32(2,3) = add(a0, c0)
 *     v1: float32(2) = sum(v0) [1, 0]
 *     return v1
 */
#ifndef KILN_GRAPH_GRAPH_PRINT_H
#define KILN_GRAPH_GRAPH_PRINT_H

#include "base/buffer.h"
#include "graph/node.h"

/*
 * Appends to `text`. The walk stops at the inputs, whether they are lazy or not. Nothing may evaluate the arrays
 * meanwhile. On failure `text` holds a part.
 */
kiln_status kiln__graph_print(struct kiln_array *const *inputs, size_t input_count, struct kiln_array *const *outputs,
                              size_t output_count, struct kiln_buffer *text, kiln_error *err);

#endif
