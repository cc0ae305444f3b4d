/*
 * cpu_backend.c - the CPU as a backend. It has every operation, since the others hand it what they lack.
 */
#include "run/backend.h"
#include "run/cpu/cpu_launch.h"

static kiln_status enter(struct kiln_placement *placement, kiln_error *err)
{
    (void)placement, (void)err;
    return KILN_OK;
}

/* Every launch has ended when it returns. */
static kiln_status wait(const struct kiln_placement *placement, kiln_error *err)
{
    (void)placement, (void)err;
    return KILN_OK;
}

static kiln_status flush(kiln_error *err)
{
    (void)err;
    return KILN_OK;
}

static kiln_status array_at(struct kiln_array *array, uint32_t device_index, struct kiln_array **out, kiln_error *err)
{
    (void)device_index;
    return kiln__array_fetch(array, out, err);
}

static bool can_launch(const struct kiln_group *group, size_t ndim, int64_t row)
{
    (void)group, (void)ndim, (void)row;
    return true;
}

static int64_t longest_reduction(const struct kiln_loop *loop, int64_t stride)
{
    (void)loop, (void)stride;
    return KILN_REDUCE_CHUNK;
}

const struct kiln_backend kiln__cpu_backend = {
    .is_host = true,
    .enter = enter,
    .wait = wait,
    .flush = flush,
    .array_at = array_at,
    .launch = kiln__cpu_launch_group,
    .launch_loop = kiln__cpu_launch_loop,
    .launch_reduction = kiln__cpu_launch_reduction,
    .launch_rows = kiln__cpu_launch_rows,
    .can_launch = can_launch,
    .longest_reduction = longest_reduction,
    .copy = kiln__cpu_copy,
    .operations =
        {
#define KILN_ELEMENTWISE(ID, ...)                                      [KILN_OP_##ID] = kiln__run_elementwise,
#define KILN_OPERATION(ID, name, arity, kind, dtypes, shape, run, gpu) [KILN_OP_##ID] = kiln__##run,
#include "graph/ops.def"
        },
};
