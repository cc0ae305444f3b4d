/*
 * gpu_storage.h - storage in the memory of GPUs. Inside the array layer; storage.c counts it.
 *
 * Freed storage is kept by size class and reused by the stream that wrote it: a stream runs launches in the order in
 * which they started, so a later one may overwrite what earlier ones have read; for other streams that have read it, it
 * waits (device/gpu_streams.h). When the driver is out of memory, what is kept is freed first.
 */
#ifndef KILN_ARRAY_GPU_STORAGE_H
#define KILN_ARRAY_GPU_STORAGE_H

#include "array/storage.h"

kiln_status kiln__gpu_storage_new(uint32_t device_index, size_t size, struct kiln_storage **out, kiln_error *err);
/* Kept for reuse, unless more than `limit` bytes would be kept in all. */
void kiln__gpu_storage_free(struct kiln_storage *storage, size_t limit);
void kiln__gpu_storage_settle(const struct kiln_storage *storage); /* returns when nothing here uses its bytes */
void kiln__gpu_storage_hold(bool hold, size_t limit);              /* see kiln__storage_hold() */
/* All of its bytes from host memory; some of them to host memory. */
kiln_status kiln__gpu_storage_write(struct kiln_storage *storage, const char *from, kiln_error *err);
kiln_status kiln__gpu_storage_read(const struct kiln_storage *storage, size_t offset, size_t size, char *to,
                                   kiln_error *err);
size_t kiln__gpu_storage_cached(void);
void kiln__gpu_storage_clear(void); /* gives all that is kept back to the driver */

#endif
