/*
 * storage.h - the bytes behind arrays: counted, reused, reference counted.
 *
 * Storage has a device: 0 is host memory, 1 + n the memory of GPU n (gpu_storage.h). It may have a device copy: the
 * same bytes at another device, copied when an operation there first needs them, and kept as long as the storage lives,
 * since bytes do not change. Active bytes are payload bytes of live storage; freed storage goes to a cache (by size
 * class) until the limit or kiln__memory_clear_cache(). Alignment is 64 bytes. Safe from every thread. Foreign memory
 * is not counted. The memory limit is soft: an allocation that would exceed it, with what the cache holds, empties the
 * cache first; only a size above the machine's memory is refused.
 */
#ifndef KILN_ARRAY_STORAGE_H
#define KILN_ARRAY_STORAGE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "device/gpu_streams.h"

struct kiln_storage {
    _Atomic uint32_t refs;
    uint32_t size_class; /* of our own allocator; UINT32_MAX: foreign memory */
    size_t size;         /* payload bytes */
    char *data;
    void (*free_foreign)(void *); /* foreign memory: called once with `payload` at the last release */
    void *payload;
    _Atomic(struct kiln_storage *) device_copy; /* the same bytes elsewhere; owned. NULL: not asked for yet */
    uint32_t device_index;
    struct kiln_gpu_use use; /* of storage on a GPU */
};

/* KILN_NO_MEMORY (with the size in the text) also when `size` is above the memory of the machine. */
kiln_status kiln__storage_new(size_t size, struct kiln_storage **out, kiln_error *err);
/* The same at a device; storage on a GPU is aligned to 256 bytes. */
kiln_status kiln__storage_new_at(uint32_t device_index, size_t size, struct kiln_storage **out, kiln_error *err);
/* The bytes of `storage` at `device_index`: itself, or its device_copy, copied now if need be. Borrowed: lives as long
 * as `storage`. Waits for what makes the bytes. */
kiln_status kiln__storage_at(struct kiln_storage *storage, uint32_t device_index, struct kiln_storage **out,
                             kiln_error *err);
/* Would kiln__storage_at() copy nothing? */
bool kiln__storage_is_at(struct kiln_storage *storage, uint32_t device_index);
/* Some bytes of a GPU's storage in host memory: the caller's, not a device copy. Waits for what makes them. */
kiln_status kiln__storage_part(const struct kiln_storage *storage, size_t offset, size_t size,
                               struct kiln_storage **out, kiln_error *err);
/* Wraps memory of the caller's; nothing is copied. On failure free_foreign has not been called. Of a GPU's memory the
 * last release waits on the host until nothing here uses it. */
kiln_status kiln__storage_foreign_at(uint32_t device_index, void *data, size_t size, void (*free_foreign)(void *),
                                     void *payload, struct kiln_storage **out, kiln_error *err);
/* The same of the host. */
kiln_status kiln__storage_foreign(void *data, size_t size, void (*free_foreign)(void *), void *payload,
                                  struct kiln_storage **out, kiln_error *err);
void kiln__storage_unref(struct kiln_storage *storage); /* NULL is fine */
/* While held, what this thread frees on GPUs is given to nobody but this thread. */
void kiln__storage_hold(bool hold);

static inline struct kiln_storage *kiln__storage_ref(struct kiln_storage *storage)
{
    atomic_fetch_add_explicit(&storage->refs, 1, memory_order_relaxed);
    return storage;
}

/* May the only one who holds it change its bytes, after kiln__storage_forget_copy()? Not foreign ones, and not bytes
 * whose device copy somebody reads. */
static inline bool kiln__storage_is_exclusive(struct kiln_storage *storage)
{
    if (storage->size_class == UINT32_MAX || atomic_load_explicit(&storage->refs, memory_order_acquire) != 1)
        return false;
    struct kiln_storage *copy = atomic_load_explicit(&storage->device_copy, memory_order_acquire);
    return !copy || (atomic_load_explicit(&copy->refs, memory_order_acquire) == 1 &&
                     !atomic_load_explicit(&copy->device_copy, memory_order_relaxed));
}
/* Before bytes of exclusive storage change: its device copy would become stale. */
void kiln__storage_forget_copy(struct kiln_storage *storage);

struct kiln_memory {
    size_t active, peak, cache;
};

void kiln__memory_get(struct kiln_memory *out);
void kiln__memory_reset_peak(void); /* to 0; it rises at the next allocation */
void kiln__memory_clear_cache(void);
size_t kiln__memory_set_cache_limit(size_t limit); /* returns the previous one */
size_t kiln__memory_limit(void);
size_t kiln__memory_set_limit(size_t limit); /* returns the previous one */

#endif
