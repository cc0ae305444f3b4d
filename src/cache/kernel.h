/*
 * kernel.h - kernels of this process by content key: text in, executable out, compiled at most once.
 *
 * memory -> folders -> compiler; whoever comes second for a key that is being made waits for it. No lock is held while
 * a compiler runs. An executable stays valid until the cache is closed or its device is reset.
 */
#ifndef KILN_CACHE_KERNEL_H
#define KILN_CACHE_KERNEL_H

#include "base/status.h"

/* The executable for `text` on `device`, through `compiler`. `name` is for people. Counts into `cache`. */
kiln_status kiln__kernel_from_text(kiln_cache *cache, const kiln_compiler *compiler, kiln_device *device,
                                   const char *name, kiln_bytes text, void **executable, kiln_error *err);

#endif
