/*
 * launch_cache.c - a launch that differs from an earlier one in its pointers only.
 *
 * A step of a plan always meets the same shapes. When its arrays are packed and begin at 16 bytes too, then schedule,
 * kernel, grid and params are those of the first such launch, but for the pointers, which stand in front. So that
 * launch is kept with the step's kernels, and the layouts are not looked at again.
 *
 * Kept launches are a list like that of variants: an entry never changes, and goes with the kernels. A device that was
 * reset, or other options, match none of them and add theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "key/options.h"
#include "run/gpu/gpu_launch.h"
#include "run/placement.h"

struct kiln_gpu_known {
    struct kiln_gpu_known *next;
    const struct kiln_device *device;
    uint32_t generation, options;
    struct kiln_gpu_call call; /* its params are those below */
    uint64_t params[];
};

enum { ALIGNMENT = 16 };

static bool is_plain(const struct kiln_array *array)
{
    return array->row_contiguous && (uintptr_t)array->data % ALIGNMENT == 0;
}

static bool are_plain(const struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                      struct kiln_array *const *outputs)
{
    bool plain = kernels->plan;
    for (uint32_t i = 0; i < kernels->group.operand_count && plain; i++) plain = is_plain(operands[i]);
    for (uint32_t i = 0; i < kernels->group.output_count && plain; i++) plain = is_plain(outputs[i]);
    return plain;
}

static uint32_t generation_of(const kiln_device *device)
{
    return atomic_load_explicit(&device->generation, memory_order_relaxed);
}

static const struct kiln_gpu_known *find(const struct kiln_group_kernels *kernels, const kiln_device *device)
{
    const struct kiln_gpu_known *known = atomic_load_explicit(&kernels->known, memory_order_acquire);
    if (!known) return NULL;
    uint32_t generation = generation_of(device), options = kiln__options_packed(kiln__environment());
    while (known && (known->device != device || known->generation != generation || known->options != options))
        known = known->next;
    return known;
}

static kiln_status launch(const struct kiln_gpu_known *known, const struct kiln_group *group,
                          struct kiln_array *const *operands, struct kiln_array *const *outputs, kiln_error *err)
{
    struct kiln_gpu_call call = known->call;
    uint64_t params[call.param_count], *next = params;
    memcpy(params, known->params, sizeof params);
    for (uint32_t i = 0; i < group->output_count; i++) *next++ = (uintptr_t)outputs[i]->data;
    for (uint32_t i = 0; i < group->operand_count; i++) *next++ = (uintptr_t)operands[i]->data;
    call.params = params;
    return kiln__launch_graph_launch(known->device->gpu, &call, err);
}

bool kiln__launch_cache_hit(const struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                            struct kiln_array *const *outputs, bool *keep, kiln_status *status, kiln_error *err)
{
    *keep = are_plain(kernels, operands, outputs);
    if (!*keep) return false;
    const struct kiln_gpu_known *known = find(kernels, kiln__active.device);
    if (known) *status = launch(known, &kernels->group, operands, outputs, err);
    return known;
}

/* Without memory for it the next launch looks again. Two threads may both add theirs; either is right. */
void kiln__launch_cache_put(struct kiln_group_kernels *kernels, const kiln_device *device,
                            const struct kiln_gpu_call *call)
{
    size_t size = call->param_count * sizeof *call->params;
    struct kiln_gpu_known *mine = malloc(sizeof *mine + size);
    if (!mine) return;
    *mine = (struct kiln_gpu_known){.next = atomic_load_explicit(&kernels->known, memory_order_acquire),
                                    .device = device,
                                    .generation = generation_of(device),
                                    .options = kiln__options_packed(kiln__environment()),
                                    .call = *call};
    memcpy(mine->params, call->params, size);
    mine->call.params = mine->params;
    while (!atomic_compare_exchange_weak_explicit(&kernels->known, &mine->next, mine, memory_order_acq_rel,
                                                  memory_order_acquire)) {
    }
}

void kiln__launch_cache_clear(struct kiln_group_kernels *kernels)
{
    struct kiln_gpu_known *known = atomic_exchange_explicit(&kernels->known, NULL, memory_order_acq_rel), *next;
    for (; known; known = next) {
        next = known->next;
        free(known);
    }
}
