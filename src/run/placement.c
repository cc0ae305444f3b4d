/*
 * placement.c - see placement.h.
 */
#include "run/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cache/cache.h"
#include "run/gpu/gpu_launch.h"

enum { MAX_PLACES = 63 }; /* places are bits of a word */

_Thread_local uint32_t kiln__here;
static _Atomic(kiln_device *) devices[MAX_PLACES]; /* of GPUs, found once */

kiln_status kiln__place_device(uint32_t place, kiln_device **out, kiln_error *err)
{
    struct kiln_gpu *gpu;
    char name[40];
    if (place == 0 || place > MAX_PLACES) return kiln__fail(err, KILN_INVALID, "there is no GPU %u", place - 1);
    *out = atomic_load_explicit(&devices[place - 1], memory_order_acquire);
    if (*out) return KILN_OK;
    kiln_status status = kiln__gpu_get(place - 1, &gpu, err);
    if (status) return status;
    if (gpu->is_absent)
        snprintf(name, sizeof name, "cuda:%s", gpu->target);
    else
        snprintf(name, sizeof name, "cuda:%u", gpu->index);
    status = kiln_device_find(name, out, err);
    if (!status) atomic_store_explicit(&devices[place - 1], *out, memory_order_release);
    return status;
}

kiln_status kiln__output_storage(size_t size, struct kiln_storage **out, kiln_error *err)
{
    kiln_status status = kiln__storage_new_at(kiln__here, size, out, err);
    if (__builtin_expect(status || kiln_cache_default()->mode != KILN_MODE_COMPILE_ONLY, 1)) return status;
    kiln__log_once("KILN_MODE=compile-only: kernels are compiled and stored, not run; results are zeros");
    if (!kiln__here) memset((*out)->data, 0, size);
    return KILN_OK;
}

kiln_status kiln__run_at(uint32_t place, uint32_t *before, kiln_error *err)
{
    kiln_device *device;
    *before = kiln__here;
    if (place) {
        kiln_status status = kiln__place_device(place, &device, err);
        if (!status) status = kiln__gpu_enter(device->gpu, err);
        if (status) return status;
    }
    kiln__here = place;
    return KILN_OK;
}

kiln_status kiln__wait_place(uint32_t place, kiln_error *err)
{
    kiln_device *device;
    if (!place) return KILN_OK;
    kiln_status status = kiln__place_device(place, &device, err);
    if (!status) status = kiln__gpu_enter(device->gpu, err);
    return status ? status : kiln__gpu_wait(device->gpu, err);
}

kiln_status kiln__wait(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    uint64_t waited = 1; /* a bit per place; nothing is to be waited for on the CPU */
    for (size_t i = 0; i < count; i++) {
        uint32_t place = kiln__array_place(arrays[i]);
        if (waited >> place & 1) continue;
        kiln_status status = kiln__wait_place(place, err);
        if (status) return status;
        waited |= (uint64_t)1 << place;
    }
    return KILN_OK;
}

static bool must_copy(struct kiln_array *const *arrays, size_t count, uint32_t place)
{
    for (size_t i = 0; i < count; i++)
        if (arrays[i]->storage && !kiln__storage_is_at(arrays[i]->storage, place)) return true;
    return false;
}

kiln_status kiln__move(struct kiln_moved *out, struct kiln_array *const *arrays, size_t count, uint32_t place,
                       kiln_error *err)
{
    bool fits = count <= sizeof out->few / sizeof *out->few;
    kiln_status status = KILN_OK;
    out->count = 0;
    out->from = arrays;
    if (must_copy(arrays, count, place)) status = kiln__replay_flush(err);
    out->arrays = fits ? out->few : malloc(count * sizeof *arrays);
    if (!out->arrays) {
        out->arrays = out->few;
        return kiln__no_memory(err, "the inputs of an operation");
    }
    for (size_t i = 0; i < count && !status; i++) {
        out->arrays[i] = arrays[i];
        if (!kiln__all_at(&arrays[i], 1, place))
            status = place ? kiln__array_at(arrays[i], place, &out->arrays[i], err)
                           : kiln__array_fetch(arrays[i], &out->arrays[i], err);
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

bool kiln__all_at(struct kiln_array *const *arrays, size_t count, uint32_t place)
{
    for (size_t i = 0; i < count; i++)
        if (arrays[i]->storage && arrays[i]->storage->place != place) return false;
    return true;
}
