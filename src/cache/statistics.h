/*
 * statistics.h - exact counters, and the line of JSON that KILN_STATS asks for.
 *
 * Hits are counted per thread (thread_cache.h), everything rarer in the cache itself. Reading sums them. Counts of
 * closed caches are kept for the process's line.
 */
#ifndef KILN_CACHE_STATISTICS_H
#define KILN_CACHE_STATISTICS_H

#include <stdatomic.h>

#include "base/status.h"

/* One row per field of kiln_counters, in its order. */
/* clang-format off */
#define KILN_COUNTERS(ROW)                                                                                             \
    ROW(calls) ROW(front_hits) ROW(process_hits) ROW(traces)                                                           \
    ROW(kernel_hits) ROW(disk_hits) ROW(remote_hits) ROW(compiles) ROW(links)                                          \
    ROW(drifts) ROW(corrupt) ROW(cache_faults) ROW(evictions)                                                          \
    ROW(trace_ns) ROW(compile_ns) ROW(link_ns) ROW(saved_ns)                                                           \
    ROW(linked_bytes) ROW(linked_images)                                                                               \
    ROW(remote_misses) ROW(remote_puts) ROW(remote_faults) ROW(remote_waits) ROW(refused_signatures)                   \
    ROW(remote_bytes_read) ROW(remote_bytes_written) ROW(remote_ns)                                       \
    ROW(bytes_copied) ROW(tier_calls) ROW(tier_swaps) ROW(tier_faults)
/* clang-format on */

/* calls here are those that missed; hits are added when read. */
struct kiln_counts {
#define ROW(field) _Atomic uint64_t field;
    KILN_COUNTERS(ROW)
#undef ROW
};

static inline void kiln__add(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* For what is now in use, as linked_bytes; a count of what has happened only grows. */
static inline void kiln__subtract(_Atomic uint64_t *gauge, uint64_t amount)
{
    atomic_fetch_sub_explicit(gauge, amount, memory_order_relaxed);
}

/* Adds `from` to `to`, field by field. */
void kiln__counters_add(kiln_counters *to, const kiln_counters *from);

/* Where KILN_STATS sends the line; called once per process when the first cache opens. */
void kiln__statistics_at_exit(void);

#endif
