/*
 * abi_device.h - device and stream handles as values.
 */
#ifndef KILN_MLXC_ABI_DEVICE_H
#define KILN_MLXC_ABI_DEVICE_H

#include "mlxc/handle.h"

_Static_assert(sizeof(struct kiln_stream_box) <= KILN_BOX_SMALL_SIZE, "a stream fits a small box");

/* Is there such a device: "cpu" 0, or a GPU. */
bool kiln__device_exists(struct kiln_device_box device);
int kiln__give_device(mlx_device *res, struct kiln_device_box device);
/* Reports through the handler that there is no such device, and which there are; returns 1. */
int kiln__no_device(const char *what, struct kiln_device_box device);
/* "Device(cpu, 0)" */
void kiln__device_print(struct kiln_device_box device, char *text, size_t size);

static inline struct kiln_device_box kiln__unwrap_device(mlx_device handle)
{
    return *(struct kiln_device_box *)handle.ctx;
}

#endif
