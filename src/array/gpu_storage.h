/*
 * gpu_storage.h - storage in the memory of GPUs. Inside the array layer; storage.c counts it.
 *
 * Freed storage is kept by size class and given out again: work on one GPU runs in one order, so what is launched later
 * may overwrite what earlier work has read. When the GPU is out of memory, what is kept goes back first.
 */
#ifndef KILN_ARRAY_GPU_STORAGE_H
#define KILN_ARRAY_GPU_STORAGE_H

#include "array/storage.h"

kiln_status kiln__gpu_storage_new(uint32_t device_index, size_t size, struct kiln_storage **out, kiln_error *err);
/* Kept, unless that would be more than `limit` bytes in all. */
void kiln__gpu_storage_free(struct kiln_storage *storage, size_t limit);
void kiln__gpu_storage_hold(bool hold, size_t limit); /* see kiln__storage_hold() */
/* All of its bytes from host memory; some of them to host memory. */
kiln_status kiln__gpu_storage_write(struct kiln_storage *storage, const char *from, kiln_error *err);
kiln_status kiln__gpu_storage_read(const struct kiln_storage *storage, size_t offset, size_t size, char *to,
                                   kiln_error *err);
size_t kiln__gpu_storage_cached(void);
void kiln__gpu_storage_clear(void); /* gives back what is kept */

#endif
