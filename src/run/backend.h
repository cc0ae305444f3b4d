/*
 * backend.h - a kind of device as a table of functions: how kernels are launched there, elements copied, and which
 * operations it has.
 *
 * kiln__run_at() (run/placement.h) chooses the table once, when an operation or a plan starts to run at a device; what
 * follows goes through kiln__active.backend and asks for no device. docs/devices.md says how to add one.
 */
#ifndef KILN_RUN_BACKEND_H
#define KILN_RUN_BACKEND_H

#include "run/kernels/launch.h"
#include "run/ops/operation.h"

struct kiln_placement;

struct kiln_backend {
    bool is_host; /* C code reads and writes its memory */

    /* Makes the device current on this thread, and sets placement->device. */
    kiln_status (*enter)(struct kiln_placement *placement, kiln_error *err);
    /* Returns when all that was started at the entered device is done. */
    kiln_status (*wait)(const struct kiln_placement *placement, kiln_error *err);
    /* Starts the launches that this thread collects, so that a copy may follow them. */
    kiln_status (*flush)(kiln_error *err);
    /* The elements of `array` at `device_index`, a device of this kind. */
    kiln_status (*array_at)(struct kiln_array *array, uint32_t device_index, struct kiln_array **out, kiln_error *err);

    /* Kernels: see run/kernels/launch.h. A loop, and an output of `launch`, has elements. */
    kiln_launch *launch;
    kiln_launch_loop *launch_loop;
    kiln_launch_reduction *launch_reduction;
    kiln_launch_rows *launch_rows;
    /* Can it launch a group over `ndim` axes with rows of `row` elements (0: it has no rows)? Else the host does. */
    bool (*can_launch)(const struct kiln_group *group, size_t ndim, int64_t row);
    /* The longest axis that one launch reduces, for each element of `loop`, whose input elements lie `stride` bytes
     * apart. At least KILN_REDUCE_CHUNK. */
    int64_t (*longest_reduction)(const struct kiln_loop *loop, int64_t stride);
    /* Region 1 of a collapsed loop to region 0, bit by bit: kiln__launch_copy(), or something faster. */
    kiln_status (*copy)(struct kiln_loop *loop, kiln_error *err);

    /* NULL: it lacks the operation, which then runs on the host and is counted. */
    kiln_operation *operations[KILN_OP_COUNT];
    /* Can it run this node, whose operation it has? NULL: all of them. */
    bool (*can_run)(const struct kiln_node *node);
    /* What an operation asks of inputs that the host has, before they are moved. NULL: nothing. */
    kiln_status (*check)(const struct kiln_node *node, kiln_error *err);
};

extern const struct kiln_backend kiln__cpu_backend; /* run/cpu/cpu_backend.c */
extern const struct kiln_backend kiln__gpu_backend; /* run/gpu/gpu_backend.c */

#endif
