/*
 * gpu_gather.h - take, gather, take_along_axis and slices whose starts are an array, on a GPU: the data stays there.
 *
 * An index out of range is an error of the operation, the same that the CPU gives, and a kernel can't raise one.
 * Indices that are on the host are checked there before the launch. Whoever runs these operations calls
 * kiln__indexed_check() each time: a plan does, whether its launches are then replayed or not. Of indices that are on
 * the GPU alone the kernel reports those that are out of range (device/gpu_sites.h), and nobody waits for them.
 */
#ifndef KILN_RUN_GPU_GPU_GATHER_H
#define KILN_RUN_GPU_GPU_GATHER_H

#include "graph/node.h"

/* Is input `input` of the operation an array of indices that it reads through? */
bool kiln__reads_through(enum kiln_op op, size_t input);

/*
 * The node's indices that are on the host are inside their axes; KILN_INVALID as from kiln__indices_read(). Fine for
 * any other operation.
 */
kiln_status kiln__indexed_check(const struct kiln_node *node, kiln_error *err);

#endif
