/*
 * prune.h - keeps a folder of artifacts within its bounds. Inside the store layer.
 *
 * Counting every file on every put would cost more than the put, so writers keep a ledger (ledger.h), and count when it
 * says that a bound may be passed. Several processes may prune one folder at once: a file that is already gone is
 * nobody's problem. A folder has at most its bound and what is being put: one artifact per writer.
 */
#ifndef KILN_STORE_PRUNE_H
#define KILN_STORE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "kiln/maintain.h"

#define KILN_ARTIFACT_SUFFIX ".kiln"
#define KILN_ASIDE_SUFFIX    ".bad"      /* what was put aside: no longer than the above */
#define KILN_TOOLCHAIN_FILE  "toolchain" /* in the folder itself: which tool chain made what is in it */

#define KILN_TAG_FILE "CACHEDIR.TAG" /* there too: backups pass the folder over (bford.info/cachedir) */

struct kiln_bounds {
    uint64_t bytes, files; /* UINT64_MAX: none */
};

/*
 * `path` of `size_bytes` was written below `folder`. Removes the temporary files of writers that have ended and, when a
 * bound is exceeded, the least recently used artifacts, a tenth more than needed so that not every put has to prune;
 * never `path` itself. Returns the number of artifacts removed.
 */
uint64_t kiln__prune_after_put(const struct kiln_bounds *bounds, const char *folder, const char *path,
                               uint64_t size_bytes);

/* What is to stay: at most so much, and nothing used before `used_since`. */
struct kiln_prune_keep {
    uint64_t bytes, files;
    int64_t used_since; /* seconds as of time(); INT64_MIN: no matter when */
    bool dry_run;
};

/* Looks at everything below `folder` and removes what is not to stay. KILN_NO_MEMORY: nothing was removed. */
kiln_status kiln__prune_now(const char *folder, const struct kiln_prune_keep *keep, const kiln_progress *progress,
                            kiln_prune_report *report, kiln_error *err);

/* A temporary file or a lock that nobody will come back for: unchanged for long, or of a process that has ended. */
bool kiln__is_left_over(const char *name, const struct stat *info, time_t now);

/* Is there nothing in the folder but what Kiln makes there? False also where it can't be read. */
bool kiln__holds_ours_only(const char *folder);

/* "00" to "ff": the sub-folders that hold artifacts. */
bool kiln__is_sub_folder_name(const char *name);

#endif
