/*
 * backend.c - launches, see run/kernels/launch.h: what is the same for every device, then the active one's function.
 */
#include "run/backend.h"

#include "run/placement.h"

static kiln_status check_arguments(const struct kiln_group *group, kiln_error *err)
{
    size_t count = (size_t)group->output_count + group->operand_count + group->constant_count;
    if (__builtin_expect(count <= KILN_LAUNCH_MAX_ARGS, 1)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "a kernel has %zu arguments, at most %d work", count, KILN_LAUNCH_MAX_ARGS);
}

kiln_status kiln__launch(struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                         const uint64_t *constants, struct kiln_array *const *outputs, kiln_error *err)
{
    kiln_status status = check_arguments(&kernels->group, err);
    if (status || outputs[0]->size == 0) return status;
    return kiln__active.backend->launch(kernels, operands, constants, outputs, err);
}

kiln_status kiln__launch_loop(struct kiln_group_kernels *kernels, struct kiln_loop *loop, const uint64_t *constants,
                              kiln_error *err)
{
    kiln_status status = check_arguments(&kernels->group, err);
    if (status || kiln__loop_size(loop) == 0) return status;
    return kiln__active.backend->launch_loop(kernels, loop, constants, err);
}

kiln_status kiln__launch_reduction(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                                   int64_t stride, kiln_error *err)
{
    if (kiln__loop_size(loop) == 0) return KILN_OK;
    return kiln__active.backend->launch_reduction(kernels, loop, n, stride, err);
}

kiln_status kiln__launch_rows(struct kiln_group_kernels *kernels, const int32_t *dims, size_t ndim,
                              struct kiln_array *const *operands, const uint64_t *constants,
                              struct kiln_array *const *outputs, kiln_error *err)
{
    kiln_status status = check_arguments(&kernels->group, err);
    return status ? status : kiln__active.backend->launch_rows(kernels, dims, ndim, operands, constants, outputs, err);
}
