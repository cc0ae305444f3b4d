/*
 * drift.h - the watched values inside of call keys: found again there, and compared with those of earlier misses.
 *
 * A function's baseline is the watched part of the key of its first miss. A miss whose values differ from the baseline
 * is a drift: it is counted, and its values become the baseline; or, of a strict function, it is refused.
 */
#ifndef KILN_CACHE_DRIFT_H
#define KILN_CACHE_DRIFT_H

#include "cache/function.h"

/* Values of a function's watches, in the order in which they are signed. */
struct kiln_values {
    struct kiln_watched *data; /* malloc'ed; points into the key */
    size_t count;
};

/* Finds the values in the watched part of a key. KILN_CHANGED: the function watches other things than when the key was
 * signed. KILN_FAILED: out of memory. */
enum kiln_outcome kiln__values_find(struct kiln_function *function, const uint64_t *words, uint32_t count,
                                    struct kiln_values *out, kiln_error *err);

/* On a miss: `now` are the values in `words`. KILN_DRIFTED: they may not differ from the baseline, and do. */
kiln_status kiln__drift_check(struct kiln_function *function, const uint64_t *words, uint32_t count,
                              const struct kiln_values *now, kiln_error *err);

#endif
