/*
 * gpu_sites.h - what kernels report: a kernel can't fail a call, so one that meets an index out of range stores the
 * index where its site says, and the next read of results finds it and fails in its place.
 *
 * A site is one of the things that can go wrong: an operation and the range of its indices. Sites are found by what
 * they say and are never given back; their records lie in memory that host and GPU both see. Every function may be
 * called from any thread.
 */
#ifndef KILN_DEVICE_GPU_SITES_H
#define KILN_DEVICE_GPU_SITES_H

#include "device/gpu.h"

struct kiln_gpu_site {
    /* The error for `value`. */
    kiln_status (*fail)(const struct kiln_gpu_site *site, int64_t value, kiln_error *err);
    const char *name; /* of an operation; compared by address */
    int64_t size, extent;
    bool is_unsigned;
};

/*
 * The address that a kernel on `gpu` gets: it stores the value 8 bytes behind it, then 1 to it; two threads that do so
 * store values that are both wrong. 0 when the GPU is absent. When there are too many sites, those that come then share
 * one, with size 0.
 */
kiln_status kiln__gpu_site_address(const struct kiln_gpu *gpu, const struct kiln_gpu_site *site, uint64_t *out,
                                   kiln_error *err);

/* After a launch has begun. */
void kiln__gpu_sites_launched(const struct kiln_gpu *gpu);
/* How many launches have begun: asked before the host waits, and passed on afterwards. */
uint64_t kiln__gpu_sites_begun(const struct kiln_gpu *gpu);
/* Those launches are done. The first report that was not fetched yet is the error, and all are dropped then. */
kiln_status kiln__gpu_sites_check(const struct kiln_gpu *gpu, uint64_t begun, kiln_error *err);

#endif
