/*
 * isa.h - may this machine run code for a target? Inside the device layer.
 */
#ifndef KILN_DEVICE_ISA_H
#define KILN_DEVICE_ISA_H

#include "device/device.h"

/* KILN_OK, or KILN_INVALID with a text that names what this machine can run. */
kiln_status kiln__target_check_host(const struct kiln_target *target, kiln_error *err);

#endif
