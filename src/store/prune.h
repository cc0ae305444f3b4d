/*
 * prune.h - keeps a folder of artifacts within its bounds. Inside the store room.
 *
 * Counting every file on every put would cost more than the put, so the folder is looked at rarely: the sub-folder
 * just written is a sample of the 256 (digests are evenly spread), and only when that sample comes near a bound is
 * everything counted. After each look, an allowance says how much this process may add before the next one.
 * Several processes may prune one folder at once: a file that is already gone is nobody's problem.
 */
#ifndef KILN_STORE_PRUNE_H
#define KILN_STORE_PRUNE_H

#include <pthread.h>
#include <stdint.h>

#define KILN_ARTIFACT_SUFFIX ".kiln"

struct kiln_prune {
    uint64_t max_bytes, max_files;
    pthread_mutex_t lock; /* guards the two below, and lets one thread at a time look at the folder */
    uint64_t bytes_left, files_left;
};

/* 0 is no bound. */
void kiln__prune_init(struct kiln_prune *prune, uint64_t max_bytes, uint64_t max_files);
void kiln__prune_release(struct kiln_prune *prune);

/*
 * `path` of `size_bytes` was written below `folder`. Removes what was not wanted for longest when a bound is passed, a
 * tenth more than needed so that the next put does not begin again; never `path` itself. Returns the artifacts removed.
 */
uint64_t kiln__prune_after_put(struct kiln_prune *prune, const char *folder, const char *path, uint64_t size_bytes);

#endif
