/*
 * gpu_launch_ordered.h - launches of the kernels of codegen/gpu/gpu_ordered.h, and the rows of packed arrays that they
 * go over.
 */
#ifndef KILN_RUN_GPU_GPU_LAUNCH_ORDERED_H
#define KILN_RUN_GPU_GPU_LAUNCH_ORDERED_H

#include "codegen/gpu/gpu_ordered.h"
#include "graph/node.h"

/* One launch, for an operation whose result has this dtype: the params as the kernel has them, pointers as numbers. */
struct kiln_gpu_ordered {
    enum kiln_op op;
    enum kiln_dtype dtype;
    struct kiln_gpu_ordered_config config;
    int64_t params[KILN_GPU_ORDERED_MAX_PARAMS];
};

/* At the active GPU. */
kiln_status kiln__gpu_launch_ordered(const struct kiln_gpu_ordered *launch, int64_t blocks, kiln_error *err);
/* So that each element of `count` has a thread. */
int64_t kiln__gpu_thread_blocks(int64_t count);

/* The rows of a packed array along an axis: n elements, `inner` apart. */
struct kiln_gpu_rows {
    int64_t rows, n, inner;
};
struct kiln_gpu_rows kiln__gpu_rows_along(const struct kiln_array *array, size_t axis);

/* `in` where its elements are packed, or a packed copy. A reference. */
kiln_status kiln__gpu_take_packed(struct kiln_array *in, struct kiln_array **out, kiln_error *err);

static inline int64_t kiln__gpu_address(const char *data)
{
    return (int64_t)(intptr_t)data;
}

#endif
