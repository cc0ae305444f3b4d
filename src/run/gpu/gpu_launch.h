/*
 * gpu_launch.h - launches on the active GPU: entries of the GPUs' backend.
 *
 * A launch finds the schedule that fits the layouts (codegen/gpu/gpu_schedule.h) and its kernel variant, packs the
 * parameters, and returns without waiting.
 */
#ifndef KILN_RUN_GPU_GPU_LAUNCH_H
#define KILN_RUN_GPU_GPU_LAUNCH_H

#include "device/gpu.h"
#include "run/kernels/launch.h"

kiln_launch kiln__gpu_launch_group;
kiln_launch_loop kiln__gpu_launch_loop;
kiln_launch_reduction kiln__gpu_launch_reduction;
kiln_launch_rows kiln__gpu_launch_rows;
bool kiln__gpu_can_launch(const struct kiln_group *group, size_t ndim, int64_t row);
int64_t kiln__gpu_longest_reduction(const struct kiln_loop *loop, int64_t stride);

/*
 * Launches of a plan's step that differ in pointers only: see launch_cache.c. True: launched, with *status, as it was
 * before. Else *keep says whether this launch is one to keep for the next time.
 */
bool kiln__launch_cache_hit(const struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                            struct kiln_array *const *outputs, bool *keep, kiln_status *status, kiln_error *err);
void kiln__launch_cache_put(struct kiln_group_kernels *kernels, const kiln_device *device,
                            const struct kiln_gpu_call *call);
void kiln__launch_cache_clear(struct kiln_group_kernels *kernels);

/*
 * Launches between begin and end are collected, and start at the end: one by one, or as one graph when the same list
 * came before. `replay` is kept by the caller between calls (a plan has one); another thread that uses it meanwhile
 * launches at once. See launch_graph.c.
 */
struct kiln_launch_graph;
struct kiln_launch_graph *kiln__launch_graph_new(void);               /* NULL: out of memory */
void kiln__launch_graph_free(struct kiln_launch_graph *launch_graph); /* NULL is fine */
void kiln__launch_graph_begin(struct kiln_launch_graph *launch_graph, const kiln_device *device);
/* launch: false after a failure, when nothing of the list is to start. */
kiln_status kiln__launch_graph_end(bool launch, kiln_error *err);
/* Starts what was collected and collects no more, before something that is not a launch uses what they make. */
kiln_status kiln__launch_graph_flush(kiln_error *err);
/* Launches now, or adds to the list that this thread collects. */
kiln_status kiln__launch_graph_launch(const struct kiln_gpu *gpu, const struct kiln_gpu_call *call, kiln_error *err);

#endif
