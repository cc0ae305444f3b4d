/*
 * lowering.h - what kiln_get() does when its look-up gave nothing: lower() prints a text, which becomes a kernel.
 *
 * Everything after signing reads from the key, so that what is made can't differ from what the key says.
 */
#ifndef KILN_CACHE_LOWERING_H
#define KILN_CACHE_LOWERING_H

#include "cache/function.h"

/*
 * `watches_at`: the word of the key at which the watched values start. Outcomes are those of kiln__call_make(); with
 * KILN_MODE=compile-only the status is KILN_COMPILED, and *executable NULL.
 */
enum kiln_outcome kiln__lower_call(struct kiln_function *function, kiln_device *device,
                                   const struct kiln_signature *signature, uint32_t watches_at, size_t arg_count,
                                   void **executable, kiln_error *err);

#endif
