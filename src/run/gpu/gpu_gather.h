/*
 * gpu_gather.h - take, gather and take_along_axis on a GPU: the data stays there, and the indices are checked on the
 * host.
 *
 * An index out of range is an error of the operation, the same that the CPU gives, and a kernel can't raise one. So
 * before the launch the indices are read on the host: as they are where they come from there, else copied, which waits
 * for the work that makes them. Only then does a kernel run that trusts them. Whoever runs these operations calls
 * kiln__indexed_check() each time: a plan does, whether its launches are then replayed or not.
 */
#ifndef KILN_RUN_GPU_GPU_GATHER_H
#define KILN_RUN_GPU_GPU_GATHER_H

#include "graph/node.h"

/* Is input `input` of the operation an array of indices that it reads through? */
bool kiln__reads_through(enum kiln_op op, size_t input);

/*
 * The node's indices, wherever they are, are inside their axes; KILN_INVALID as from kiln__indices_read(). Fine for any
 * other operation.
 */
kiln_status kiln__indexed_check(const struct kiln_node *node, kiln_error *err);

#endif
