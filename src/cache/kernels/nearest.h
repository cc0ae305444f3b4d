/*
 * nearest.h - for KILN_LOG=miss: against what is stored, why the first compile of a process was needed. Inside the
 * cache layer.
 */
#ifndef KILN_CACHE_KERNELS_NEAREST_H
#define KILN_CACHE_KERNELS_NEAREST_H

#include "cache/kernels/compiling.h"

/* After the first compile of the process, whose artifact is stored by now: names the nearest stored artifact of the
 * same function, and what differs. Reads the whole folder, so it does nothing unless misses are logged. */
void kiln__tell_nearest(const struct kiln_job *job);

#endif
