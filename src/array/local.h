/*
 * local.h - what each thread keeps for itself: lists of freed blocks and storage, and its part of the counters.
 *
 * Only the owner touches the lists. The counters are written by the owner (but for `ceiling`, see storage.c) and read
 * by everyone. A thread's part is made on its first allocation, listed until the thread ends, and then merged into the
 * shared one: ten thousand short threads leave nothing behind.
 */
#ifndef KILN_ARRAY_LOCAL_H
#define KILN_ARRAY_LOCAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_storage;

enum {
    KILN_BLOCK_CLASSES = 32, /* multiples of 16 bytes, up to 512 */
    KILN_SMALL_CLASSES = 9   /* storage of 64 bytes to 16 KiB, in powers of two */
};

struct kiln_block_list {
    void *head; /* linked through the first word of each block */
    uint32_t count;
};

struct kiln_storage_list {
    struct kiln_storage *head; /* linked through `payload` */
    uint32_t count;
};

struct kiln_local {
    struct kiln_block_list blocks[KILN_BLOCK_CLASSES];
    struct kiln_storage_list storage[KILN_SMALL_CLASSES];
    _Atomic int64_t active;          /* bytes of small storage made here less those freed here, since the last fold */
    _Atomic int64_t ceiling;         /* highest `active` at an allocation, or none since the last fold or peak reset */
    _Atomic int64_t cached;          /* bytes in the lists of storage */
    _Atomic uint64_t epoch;          /* of the cache when the lists were last valid */
    struct kiln_local *next, **link; /* the registry; guarded by the memory lock */
} __attribute__((aligned(64)));

#define KILN_NO_CEILING INT64_MIN

/* The memory lock guards the registry and everything shared in storage.c. A leaf: nothing is locked while it is held.
 */
void kiln__local_lock(void);
void kiln__local_unlock(void);
struct kiln_local *kiln__local_first(void); /* with the lock held */

extern _Thread_local struct kiln_local *kiln__local_current __attribute__((tls_model("initial-exec")));
struct kiln_local *kiln__local_new(void);

/* This thread's part, or NULL while the thread ends or memory is short: then use the shared path. */
static inline struct kiln_local *kiln__local(void)
{
    struct kiln_local *local = kiln__local_current;
    return __builtin_expect(local != NULL, 1) ? local : kiln__local_new();
}

/* At the end of a thread: give all lists back to the system, and add the counters to the shared ones. */
void kiln__block_drain(struct kiln_local *local);
void kiln__storage_drain(struct kiln_local *local);
void kiln__storage_fold(struct kiln_local *local); /* with the lock held */

#endif
