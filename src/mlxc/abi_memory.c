/*
 * abi_memory.c - memory.h of the ABI: the counters and limits of array/storage.h.
 */
#include <stdatomic.h>

#include "device/gpu.h"
#include "mlxc/handle.h"

#define KILN_COUNTER_FUNCTION(name, field)                                                                             \
    int mlx_get_##name(size_t *res)                                                                                    \
    {                                                                                                                  \
        struct kiln_memory memory;                                                                                     \
        if (KILN_NO_POINTER(res)) return 1;                                                                            \
        kiln__memory_get(&memory);                                                                                     \
        *res = memory.field;                                                                                           \
        return 0;                                                                                                      \
    }

KILN_COUNTER_FUNCTION(active_memory, active)
KILN_COUNTER_FUNCTION(cache_memory, cache)
KILN_COUNTER_FUNCTION(peak_memory, peak)

int mlx_clear_cache(void)
{
    kiln__memory_clear_cache();
    return 0;
}

int mlx_reset_peak_memory(void)
{
    kiln__memory_reset_peak();
    return 0;
}

int mlx_get_memory_limit(size_t *res)
{
    if (KILN_NO_POINTER(res)) return 1;
    *res = kiln__memory_limit();
    return 0;
}

int mlx_set_memory_limit(size_t *res, size_t limit)
{
    if (KILN_NO_POINTER(res)) return 1;
    *res = kiln__memory_set_limit(limit);
    return 0;
}

int mlx_set_cache_limit(size_t *res, size_t limit)
{
    if (KILN_NO_POINTER(res)) return 1;
    *res = kiln__memory_set_cache_limit(limit);
    return 0;
}

/*
 * Wiring memory is a feature of Metal; memory of a CUDA device is always resident. The limit is stored and returned,
 * and one above the maximum is refused, but it has no effect. Without a GPU it is always 0.
 */
static _Atomic size_t wired_limit;

int mlx_set_wired_limit(size_t *res, size_t limit)
{
    kiln_error err;
    struct kiln_gpu *gpu;
    uint32_t device_index = kiln__default_device_index();
    if (KILN_NO_POINTER(res)) return 1;
    if (!kiln__gpu_count()) {
        *res = 0;
        return 0;
    }
    if (kiln__gpu_get(device_index ? device_index - 1 : 0, &gpu, &err)) return KILN_FAIL(&err);
    if (limit > kiln__gpu_working_set(gpu)) {
        _mlx_error(__FILE__, __LINE__,
                   "[set_wired_limit] %zu bytes are more than the maximum, %zu bytes "
                   "(max_recommended_working_set_size of the device)",
                   limit, kiln__gpu_working_set(gpu));
        return 1;
    }
    *res = atomic_exchange(&wired_limit, limit);
    return 0;
}
