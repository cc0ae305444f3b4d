/*
 * default_device.h - where operations that this thread makes will run: 0 is the CPU, 1 + n is GPU n (array/storage.h).
 *
 * The ABI sets the thread's device, and its stream there, from the stream of each call. A thread without one uses the
 * default device: that of mlx_set_default_device(), at first the device that KILN_DEVICE names ("cpu" or "cuda:N"),
 * else the CPU.
 */
#ifndef KILN_GRAPH_DEFAULT_DEVICE_H
#define KILN_GRAPH_DEFAULT_DEVICE_H

#include <stdint.h>

enum { KILN_NO_DEVICE_INDEX = UINT32_MAX >> 1 };

extern _Thread_local uint32_t kiln__chosen_device_index __attribute__((tls_model("initial-exec")));

uint32_t kiln__default_device_index(void);
void kiln__set_default_device_index(uint32_t device_index);

/* Stands above a device index when a stream of that device is chosen, which is not its default one
 * (device/gpu_streams.h). */
enum { KILN_STREAM_SHIFT = 16 };

static inline void kiln__choose_device_index(uint32_t device_index)
{
    kiln__chosen_device_index = device_index;
}

static inline uint32_t kiln__current_device_index(void)
{
    uint32_t chosen = kiln__chosen_device_index;
    return chosen != KILN_NO_DEVICE_INDEX ? chosen & ((1u << KILN_STREAM_SHIFT) - 1) : kiln__default_device_index();
}

static inline uint32_t kiln__current_stream(void)
{
    uint32_t chosen = kiln__chosen_device_index;
    return chosen != KILN_NO_DEVICE_INDEX ? chosen >> KILN_STREAM_SHIFT : 0;
}

#endif
