/*
 * default_device.h - where operations that this thread makes will run: 0 is the CPU, 1 + n is GPU n (array/storage.h).
 *
 * The ABI sets the thread's place from the stream of each call. A thread that was never told uses the default place:
 * that of mlx_set_default_device(), at first the device that KILN_DEVICE names ("cpu" or "cuda:N"), else the CPU.
 */
#ifndef KILN_GRAPH_DEFAULT_DEVICE_H
#define KILN_GRAPH_DEFAULT_DEVICE_H

#include <stdint.h>

enum { KILN_NO_PLACE = UINT32_MAX >> 1 };

extern _Thread_local uint32_t kiln__place_chosen __attribute__((tls_model("initial-exec")));

uint32_t kiln__place_default(void);
void kiln__place_set_default(uint32_t place);

static inline void kiln__place_choose(uint32_t place)
{
    kiln__place_chosen = place;
}

static inline uint32_t kiln__place_current(void)
{
    return kiln__place_chosen != KILN_NO_PLACE ? kiln__place_chosen : kiln__place_default();
}

#endif
