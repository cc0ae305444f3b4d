/*
 * placement.c - see placement.h.
 */
#include "run/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cache/cache.h"
#include "run/kernels/dry_run.h"

_Thread_local struct kiln_placement kiln__active = {.backend = &kiln__cpu_backend};
static _Atomic(kiln_device *) devices[KILN_MAX_GPUS]; /* of GPUs, found once */

kiln_status kiln__device_at_index(uint32_t device_index, kiln_device **out, kiln_error *err)
{
    struct kiln_gpu *gpu;
    char name[40];
    if (device_index == 0 || device_index > KILN_MAX_GPUS)
        return kiln__fail(err, KILN_INVALID, "there is no GPU %u", device_index - 1);
    *out = atomic_load_explicit(&devices[device_index - 1], memory_order_acquire);
    if (*out) return KILN_OK;
    kiln_status status = kiln__gpu_get(device_index - 1, &gpu, err);
    if (status) return status;
    if (gpu->is_absent)
        snprintf(name, sizeof name, "cuda:%s", gpu->target);
    else
        snprintf(name, sizeof name, "cuda:%u", gpu->index);
    status = kiln_device_find(name, out, err);
    if (!status) atomic_store_explicit(&devices[device_index - 1], *out, memory_order_release);
    return status;
}

kiln_status kiln__output_storage(size_t size, struct kiln_storage **out, kiln_error *err)
{
    kiln_status status = kiln__storage_new_at(kiln__active.device_index, size, out, err);
    if (__builtin_expect(status || kiln_cache_default()->mode != KILN_MODE_COMPILE_ONLY, 1)) return status;
    kiln__log_once("KILN_MODE=compile-only: kernels are compiled and stored, not run; results are zeros");
    if (kiln__active.backend->is_host) memset((*out)->data, 0, size);
    return KILN_OK;
}

kiln_status kiln__output_bytes(size_t size, struct kiln_storage **storage, char **data, kiln_error *err)
{
    if (kiln__dry_run) {
        *storage = NULL;
        *data = KILN_NO_BYTES;
        return KILN_OK;
    }
    kiln_status status = kiln__output_storage(size, storage, err);
    if (!status) *data = (*storage)->data;
    return status;
}

const struct kiln_backend *kiln__backend_of(uint32_t device_index)
{
    return device_index ? &kiln__gpu_backend : &kiln__cpu_backend;
}

static kiln_status enter(uint32_t device_index, struct kiln_placement *out, kiln_error *err)
{
    *out = (struct kiln_placement){.backend = kiln__backend_of(device_index), .device_index = device_index};
    return out->backend->enter(out, err);
}

kiln_status kiln__run_at(uint32_t device_index, struct kiln_placement *before, kiln_error *err)
{
    struct kiln_placement next;
    *before = kiln__active;
    kiln_status status = enter(device_index, &next, err);
    if (!status) kiln__active = next;
    return status;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static struct kiln_gpu_use *use_of(const struct kiln_array *array)
{
    bool is_here = array && array->storage && array->storage->device_index == kiln__active.device_index;
    return is_here ? &array->storage->use : NULL;
}

static bool may_be_written(const struct kiln_array *array)
{
    return atomic_load_explicit(&array->refs, memory_order_acquire) == 1 && kiln__storage_is_exclusive(array->storage);
}

static kiln_status wait_for_inputs(const struct kiln_gpu *gpu, struct kiln_array *const *inputs, size_t count,
                                   kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const struct kiln_gpu_use *use = use_of(inputs[i]);
        if (use)
            status = may_be_written(inputs[i]) ? kiln__gpu_before_write(gpu, use, err)
                                               : kiln__gpu_before_read(gpu, use, err);
    }
    return status;
}

kiln_status kiln__stream_begin(struct kiln_stream_work *work, uint32_t stream, struct kiln_array *const *inputs,
                               size_t count, kiln_error *err)
{
    *work = (struct kiln_stream_work){.gpu = NULL};
    if (!kiln__active.device_index || (!stream && !atomic_load(&kiln__gpu_has_streams))) return KILN_OK;
    work->gpu = kiln__active.device->gpu;
    work->before = kiln__gpu_stream_use(stream);
    kiln_status status = wait_for_inputs(work->gpu, inputs, count, err);
    if (status) kiln__gpu_stream_use(work->before);
    return status;
}

void kiln__stream_end(const struct kiln_stream_work *work, struct kiln_array *const *inputs, size_t count,
                      struct kiln_array *const *outputs, size_t output_count)
{
    if (!work->gpu) return;
    for (size_t i = 0; i < count; i++) {
        struct kiln_gpu_use *use = use_of(inputs[i]);
        if (use) kiln__gpu_after_read(use);
    }
    for (size_t i = 0; i < output_count; i++) {
        struct kiln_gpu_use *use = use_of(outputs[i]);
        if (use) kiln__gpu_after_write(work->gpu, use);
    }
    kiln__gpu_stream_use(work->before);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

kiln_status kiln__wait_for_device(uint32_t device_index, kiln_error *err)
{
    struct kiln_placement placement;
    kiln_status status = enter(device_index, &placement, err);
    return status ? status : placement.backend->wait(&placement, err);
}

kiln_status kiln__wait(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    uint64_t waited[KILN_GPU_STREAMS] = {0}; /* a bit per device */
    for (size_t i = 0; i < count; i++) {
        uint32_t device_index = kiln__array_device_index(arrays[i]);
        if (!device_index) continue; /* nothing is to be waited for on the CPU */
        uint32_t stream = kiln__gpu_stream_written(&arrays[i]->storage->use);
        if (waited[stream] >> device_index & 1) continue;
        uint32_t before = kiln__gpu_stream_use(stream);
        kiln_status status = kiln__wait_for_device(device_index, err);
        kiln__gpu_stream_use(before);
        if (status) return status;
        waited[stream] |= (uint64_t)1 << device_index;
    }
    return KILN_OK;
}

static bool must_copy(struct kiln_array *const *arrays, size_t count, uint32_t device_index)
{
    for (size_t i = 0; i < count; i++)
        if (arrays[i]->storage && !kiln__storage_is_at(arrays[i]->storage, device_index)) return true;
    return false;
}

kiln_status kiln__move(struct kiln_moved *out, struct kiln_array *const *arrays, size_t count, uint32_t device_index,
                       kiln_error *err)
{
    bool fits = count <= sizeof out->few / sizeof *out->few;
    kiln_status status = KILN_OK;
    out->count = 0;
    out->from = arrays;
    if (must_copy(arrays, count, device_index)) status = kiln__active.backend->flush(err);
    out->arrays = fits ? out->few : malloc(count * sizeof *arrays);
    if (!out->arrays) {
        out->arrays = out->few;
        return kiln__no_memory(err, "the inputs of an operation");
    }
    for (size_t i = 0; i < count && !status; i++) {
        out->arrays[i] = arrays[i];
        if (!kiln__all_at(&arrays[i], 1, device_index))
            status = kiln__backend_of(device_index)->array_at(arrays[i], device_index, &out->arrays[i], err);
        if (!status) out->count++;
    }
    return status;
}

void kiln__moved_release(struct kiln_moved *moved)
{
    for (size_t i = 0; i < moved->count; i++)
        if (moved->arrays[i] != moved->from[i]) kiln__array_unref(moved->arrays[i]);
    if (moved->arrays != moved->few) free(moved->arrays);
}

bool kiln__all_at(struct kiln_array *const *arrays, size_t count, uint32_t device_index)
{
    for (size_t i = 0; i < count; i++)
        if (arrays[i]->storage && arrays[i]->storage->device_index != device_index) return false;
    return true;
}
