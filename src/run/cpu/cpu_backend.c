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
#include "run/portable_operations.def"
            [KILN_OP_ARGMIN] = kiln__run_argreduce,
            [KILN_OP_ARGMAX] = kiln__run_argreduce,
            [KILN_OP_CUMSUM] = kiln__run_cumulative,
            [KILN_OP_CUMPROD] = kiln__run_cumulative,
            [KILN_OP_CUMMAX] = kiln__run_cumulative,
            [KILN_OP_CUMMIN] = kiln__run_cumulative,
            [KILN_OP_TAKE] = kiln__run_take,
            [KILN_OP_GATHER] = kiln__run_gather,
            [KILN_OP_TAKE_ALONG] = kiln__run_take_along,
            [KILN_OP_SCATTER] = kiln__run_scatter,
            [KILN_OP_PUT_ALONG] = kiln__run_put_along,
            [KILN_OP_SORT] = kiln__run_sort,
            [KILN_OP_ARGSORT] = kiln__run_sort,
            [KILN_OP_LOAD] = kiln__run_load,
            [KILN_OP_SERIES] = kiln__run_series,
            [KILN_OP_MATMUL] = kiln__run_matmul,
            [KILN_OP_RANDOM_BITS] = kiln__run_random_bits,
        },
};
