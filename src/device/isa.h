/*
 * isa.h - may this machine run code for a target?
 */
#ifndef KILN_DEVICE_ISA_H
#define KILN_DEVICE_ISA_H

#include "device/device.h"

bool kiln__target_runs_here(const struct kiln_target *target);
/* KILN_OK: it can, or KILN_MODE=compile-only says that nothing is run. KILN_INVALID: the text names what it can run. */
kiln_status kiln__target_check_host(const struct kiln_target *target, kiln_error *err);

#endif
