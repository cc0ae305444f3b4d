/*
 * memory.c - memory.h of the ABI: the counters and limits of array/storage.h.
 */
#include "mlxc/handle.h"

#define KILN_COUNTER_FUNCTION(name, field)                                                                             \
    int mlx_get_##name(size_t *res)                                                                                    \
    {                                                                                                                  \
        struct kiln_memory memory;                                                                                     \
        KILN_NEED_POINTER(res);                                                                                        \
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
    KILN_NEED_POINTER(res);
    *res = kiln__memory_limit();
    return 0;
}

int mlx_set_memory_limit(size_t *res, size_t limit)
{
    KILN_NEED_POINTER(res);
    *res = kiln__memory_set_limit(limit);
    return 0;
}

int mlx_set_cache_limit(size_t *res, size_t limit)
{
    KILN_NEED_POINTER(res);
    *res = kiln__memory_set_cache_limit(limit);
    return 0;
}

/* Wired memory is a matter of Metal; elsewhere there is none, and its limit is always 0. */
int mlx_set_wired_limit(size_t *res, size_t limit)
{
    (void)limit;
    KILN_NEED_POINTER(res);
    *res = 0;
    return 0;
}
