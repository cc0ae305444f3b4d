/*
 * cache.h - a cache: tiers, kernels and artifacts of this process, counters.
 */
#ifndef KILN_CACHE_CACHE_H
#define KILN_CACHE_CACHE_H

#include "cache/bytes/ticket_table.h"
#include "cache/kernels/manifest.h"
#include "cache/memo/memo_table.h"
#include "cache/statistics.h"
#include "store/ticket.h"

enum kiln_mode { KILN_MODE_NORMAL, KILN_MODE_OFF, KILN_MODE_NO_COMPILE, KILN_MODE_COMPILE_ONLY };

struct kiln_cache {
    uint32_t index; /* of the hit counters in every thread's record */
    enum kiln_mode mode;
    struct kiln_store store;
    char toolchain[KILN_TOOLCHAIN_SIZE]; /* as folders or the library name it; "" where a plug-in was on opening */
    struct kiln_tier_events events;
    struct kiln_counts counts;
    kiln_counters at_open; /* what the hit counters of this index held when the cache was opened */
    uint64_t max_results, max_linked_bytes;
    _Atomic uint64_t unused_bytes[2]; /* of kernels that only the table refers to; [true]: of arrays */
    struct kiln_memo_table kernels;   /* (content key, device) -> struct kiln_kernel */
    struct kiln_memo_table artifacts; /* content key -> struct kiln_artifact */
    struct kiln_memo_table runtimes;  /* target -> the run-time library prepared for it, as an artifact */
    struct kiln_manifests manifests;
    struct kiln_tier *memory;         /* the bytes of others that no folder took */
    struct kiln_ticket_table tickets; /* for them */
    pthread_mutex_t functions_lock;   /* guards the list; taken before any lock of a function or of a memo table */
    struct kiln_function *functions;  /* all that are not freed */
    struct kiln_cache *next;          /* open caches */
};

enum { KILN_MAX_SEARCH_PATH = 64 }; /* folders of KILN_CACHE_PATH: each miss looks into all of them */

/* The caches that are open. They stay while this thread is unlinking (unlinking.h). */
size_t kiln__caches(struct kiln_cache *out[KILN_MAX_CACHES]);
/* The folder that the cache writes to; NULL: none. Borrowed. */
const char *kiln__cache_written_folder(const struct kiln_cache *cache);
void kiln__tell_usage_of_all(void); /* when the process ends: store/usage.h */

/* What enters content keys as the compiler's digest: its own, or, where LLVM's plug-in is not installed, the tool chain
 * that filled the folders, or that was built with this library. Borrowed. */
const char *kiln__cache_toolchain(const kiln_cache *cache, const kiln_compiler *compiler);
/* Lets the folder that is written name that tool chain of LLVM's, so that it can be used where no compiler is. */
void kiln__cache_name_toolchain(const kiln_cache *cache);

/* Sum over open and closed caches of the process. */
void kiln__process_counters(kiln_counters *out);

#endif
