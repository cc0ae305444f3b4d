/*
 * cpu_matmul.h - matrix products of floats by generated kernels (run/cpu/product_run.h): all of 16-bit
 * floats, and of float32 those of few rows, or of some hundred with a transposed weight. Larger ones are BLAS's.
 */
#ifndef KILN_RUN_CPU_CPU_MATMUL_H
#define KILN_RUN_CPU_CPU_MATMUL_H

#include "graph/node.h"

/* Has the matmul `node` a dtype that the kernels know and a target with their instructions, and is BLAS no better? */
bool kiln__cpu_matmul_fits(const struct kiln_node *node, const struct kiln_array *out);
/* Such a node, whose `out` is packed and has storage and elements, with an inner axis that is not empty. */
kiln_status kiln__cpu_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err);

#endif
