/*
 * gpu_params.c - see gpu_params.h.
 */
#include "run/gpu/gpu_params.h"

#include "run/gpu/gpu_launch.h"
#include "run/kernels/dry_run.h"
#include "run/placement.h"

struct kiln_gpu_params *kiln__params_init(uint64_t *buffer, bool keep)
{
    struct kiln_gpu_params *params = (struct kiln_gpu_params *)buffer;
    params->count = 0;
    params->keep = keep;
    return params;
}

void kiln__params_add(struct kiln_gpu_params *params, int64_t value)
{
    params->data[params->count++] = (uint64_t)value;
}

void kiln__params_add_pointers(struct kiln_gpu_params *params, const struct kiln_loop *loop)
{
    for (size_t i = 0; i < loop->count; i++) kiln__params_add(params, (int64_t)(intptr_t)loop->regions[i].data);
}

void kiln__params_add_constants(struct kiln_gpu_params *params, const struct kiln_group *group,
                                const uint64_t *constants)
{
    for (uint32_t i = 0; i < group->constant_count; i++) params->data[params->count++] = constants[i];
}

void kiln__params_add_axes(struct kiln_gpu_params *params, const struct kiln_loop *loop)
{
    for (size_t axis = 0; axis < loop->ndim; axis++) {
        kiln__params_add(params, loop->dims[axis]);
        for (size_t i = 0; i < loop->count; i++) kiln__params_add(params, loop->regions[i].strides[axis]);
    }
}

size_t kiln__params_needed(const struct kiln_group *group, size_t ndim)
{
    size_t pointers = (size_t)group->output_count + group->operand_count;
    return pointers + group->constant_count + group->operand_count + 8 + (ndim + 1) * (1 + pointers);
}

kiln_status kiln__gpu_cannot(const struct kiln_group_kernels *kernels, kiln_error *err)
{
    return kiln__fail(err, KILN_INVALID, "%s: a kernel of a GPU has at most %d parameters", kernels->name,
                      KILN_MAX_PARAMS);
}

struct kiln_gpu_grid kiln__full_blocks(int64_t blocks)
{
    return (struct kiln_gpu_grid){.blocks = blocks, .threads = KILN_GPU_BLOCK};
}

kiln_status kiln__gpu_start(struct kiln_group_kernels *kernels, const char *layouts,
                            const struct kiln_gpu_config *config, struct kiln_gpu_grid grid,
                            const struct kiln_gpu_params *params, kiln_error *err)
{
    kiln_device *device = kiln__active.device;
    struct kiln_gpu_call call = {.grid = (uint32_t)grid.blocks,
                                 .block = grid.threads,
                                 .shared_bytes = grid.shared_bytes,
                                 .param_count = params->count,
                                 .params = params->data};
    if (grid.blocks > INT32_MAX)
        return kiln__fail(err, KILN_INVALID, "%s: too many elements for one launch", kernels->name);
    kiln_status status = kiln__gpu_variant_get(kernels, device, layouts, config, &call.function, err);
    if (status || kiln__dry_run) return status;
    if (!call.function) return KILN_OK; /* compiled only, also where such a GPU is here */
    if (params->keep) kiln__launch_cache_put(kernels, device, &call);
    return kiln__launch_graph_launch(device->gpu, &call, err);
}
