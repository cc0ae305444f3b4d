/*
 * gpu_params.h - one launch on a GPU: its params, its grid, and the start.
 *
 * Invariant: the params of a launch stand in the order of codegen/gpu/gpu_schedule.h: pointers of outputs and operands,
 * constants, then what the schedule asks for. `struct kiln_gpu_params` is filled in that order and in no other way.
 */
#ifndef KILN_RUN_GPU_GPU_PARAMS_H
#define KILN_RUN_GPU_GPU_PARAMS_H

#include "codegen/gpu/gpu_schedule.h"
#include "run/kernels/launch.h"

struct kiln_gpu_params {
    size_t count;
    bool keep; /* the launch, for the next time: launch_cache.c */
    uint64_t data[];
};

enum {
    KILN_MAX_PARAMS = 4000, /* the driver takes parameters of 32,764 bytes */
    KILN_PARAMS_HEADER = sizeof(struct kiln_gpu_params) / sizeof(uint64_t),
    KILN_GPU_WIDE = 16,              /* bytes of the widest access */
    KILN_GPU_LONGEST = INT32_MAX / 2 /* indices of threads that are rounded up stay below 2^31 */
};

/* No params yet, in a buffer of KILN_PARAMS_HEADER and as many as will come: kiln__params_needed() for a group. */
struct kiln_gpu_params *kiln__params_init(uint64_t *buffer, bool keep);
size_t kiln__params_needed(const struct kiln_group *group, size_t ndim);
void kiln__params_add(struct kiln_gpu_params *params, int64_t value);
void kiln__params_add_pointers(struct kiln_gpu_params *params, const struct kiln_loop *loop);
void kiln__params_add_constants(struct kiln_gpu_params *params, const struct kiln_group *group,
                                const uint64_t *constants);
void kiln__params_add_axes(struct kiln_gpu_params *params, const struct kiln_loop *loop);

struct kiln_gpu_grid {
    int64_t blocks;
    uint32_t threads;    /* of a block */
    size_t shared_bytes; /* of a block */
};
/* Of KILN_GPU_BLOCK threads. */
struct kiln_gpu_grid kiln__full_blocks(int64_t blocks);

static inline int64_t kiln__divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Everything is in `params`. */
kiln_status kiln__gpu_start(struct kiln_group_kernels *kernels, const char *layouts,
                            const struct kiln_gpu_config *config, struct kiln_gpu_grid grid,
                            const struct kiln_gpu_params *params, kiln_error *err);

/* KILN_INVALID: there would be too many params. */
kiln_status kiln__gpu_cannot(const struct kiln_group_kernels *kernels, kiln_error *err);

#endif
