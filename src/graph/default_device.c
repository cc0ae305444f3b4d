/*
 * default_device.c - see default_device.h. The default is read from the environment once, unless it was set before.
 */
#include "graph/default_device.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/log.h"
#include "device/device.h"

_Thread_local uint32_t kiln__chosen_device_index = KILN_NO_DEVICE_INDEX;
static _Atomic uint32_t default_device_index = KILN_NO_DEVICE_INDEX;

static uint32_t place_from_environment(void)
{
    const char *name = kiln__config("KILN_DEVICE");
    kiln_device *device = NULL;
    kiln_error err = {KILN_OK, ""};
    if (!name || !*name) return 0;
    if (kiln_device_find(name, &device, &err)) {
        kiln__log_once("KILN_DEVICE=%.64s%s: %s; using the CPU", name, kiln__config_where("KILN_DEVICE"), err.text);
        return 0;
    }
    return device->gpu ? 1 + device->gpu->index : 0;
}

uint32_t kiln__default_device_index(void)
{
    uint32_t device_index = atomic_load_explicit(&default_device_index, memory_order_relaxed);
    if (device_index != KILN_NO_DEVICE_INDEX) return device_index;
    uint32_t found = place_from_environment();
    atomic_compare_exchange_strong_explicit(&default_device_index, &device_index, found, memory_order_relaxed,
                                            memory_order_relaxed);
    return atomic_load_explicit(&default_device_index, memory_order_relaxed);
}

void kiln__set_default_device_index(uint32_t device_index)
{
    atomic_store_explicit(&default_device_index, device_index, memory_order_relaxed);
}
