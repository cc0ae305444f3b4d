/*
 * gpu_launch_indexed.h - launches that read or write through indices (codegen/gpu/gpu_schedule.h, KILN_GPU_INDEXED and
 * KILN_GPU_PLACED): an operation describes its regions, and what is here chooses accesses and the kernel.
 */
#ifndef KILN_RUN_GPU_GPU_LAUNCH_INDEXED_H
#define KILN_RUN_GPU_GPU_LAUNCH_INDEXED_H

#include "codegen/gpu/gpu_schedule.h"
#include "run/kernels/launch.h"

enum { KILN_INDEXED_MAX = KILN_MAX_NDIM }; /* index arrays: each is about another axis */

/* `loop` goes over the elements that are copied, and its regions are the three below. */
struct kiln_indexed {
    struct kiln_loop loop;
    struct kiln_region regions[2 + KILN_INDEXED_MAX]; /* result, data, indices */
    int64_t sizes[KILN_INDEXED_MAX], steps[KILN_INDEXED_MAX], extents[KILN_INDEXED_MAX];
    uint8_t dtypes[1 + KILN_INDEXED_MAX]; /* of data and indices; the first is filled in by the launch */
    size_t count;                         /* of index arrays */
};

/* The array's first element, and no axes yet. */
void kiln__indexed_region(struct kiln_region *region, const struct kiln_array *array);
/* Axes `first` to before `end` of the array are axes of the loop, from `to` on. */
void kiln__indexed_axes(struct kiln_region *region, size_t to, const struct kiln_array *array, size_t first,
                        size_t end);
/* Index array `i` is about that axis of `array`, of which `extent` elements are read or written from an index on. */
void kiln__indexed_about(struct kiln_indexed *indexed, size_t i, const struct kiln_array *array, size_t axis,
                         int64_t extent);

/* The address that a kernel on the active GPU reports an index to that is none (device/gpu_sites.h); 0 in a dry run.
 * `name` is that of a row of ops.def. */
kiln_status kiln__gpu_index_record(const char *name, bool is_unsigned, int64_t size, int64_t extent, int64_t *out,
                                   kiln_error *err);

/* At the active GPU. Changes `indexed`. */
kiln_status kiln__gpu_launch_indexed(enum kiln_op op, enum kiln_gpu_schedule schedule, struct kiln_indexed *indexed,
                                     kiln_error *err);

#endif
