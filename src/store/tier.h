/*
 * tier.h - where artifacts are kept: memory, a folder, read-only folders, packs; a chain of tiers is a tier.
 *
 * get: KILN_DONE and an artifact whose full key equals `key` (the caller's reference); KILN_MISS; or KILN_FAILED, which
 * a caller counts as a fault and treats as a miss. A damaged or misplaced entry is a failure with status KILN_INVALID:
 * it is put aside, never returned. One for another machine is a miss and stays. put: KILN_OK, or a failure that leaves
 * no half entry. `err` is never NULL. All calls are safe from every thread, and from several processes on one folder.
 */
#ifndef KILN_STORE_TIER_H
#define KILN_STORE_TIER_H

#include "store/artifact.h"
#include "store/lock.h"

struct kiln_tier;

enum { KILN_TOOLCHAIN_SIZE = 160 }; /* of the line that names a tool chain, with its NUL */

/* What the tier did, counted by the cache that owns it. */
struct kiln_tier_events {
    _Atomic uint64_t corrupt, faults, evictions, refused_signatures;
};

struct kiln_tier_methods {
    enum kiln_outcome (*get)(struct kiln_tier *tier, const struct kiln_digest *digest, kiln_bytes key,
                             struct kiln_artifact **out, kiln_error *err);
    kiln_status (*put)(struct kiln_tier *tier, const struct kiln_artifact *artifact, kiln_error *err);
    void (*free)(struct kiln_tier *tier);
    /* kiln__lock_take() for an artifact; NULL: nobody else can put into this tier. */
    enum kiln_outcome (*lock)(struct kiln_tier *tier, const struct kiln_digest *digest, uint64_t until_ns,
                              struct kiln_lock **out, kiln_error *err);
    /* Which tool chain made the kernels here: a line of text, without its end, for machines that have no compiler.
     * KILN_MISS: the tier names none, or what it says is no such line. Both NULL: nobody else can read this tier. */
    enum kiln_outcome (*toolchain)(struct kiln_tier *tier, char out[KILN_TOOLCHAIN_SIZE], kiln_error *err);
    kiln_status (*set_toolchain)(struct kiln_tier *tier, const char *line, kiln_error *err);
    /* The entry from which `artifact` came can't be used, though nothing was wrong with its bytes: counted and put
     * aside as a damaged one. False: the tier does not hold it (any more). NULL: it never does. */
    bool (*discard)(struct kiln_tier *tier, const struct kiln_artifact *artifact);
};

struct kiln_tier {
    const struct kiln_tier_methods *methods;
    struct kiln_tier_events *events; /* borrowed; outlives the tier */
    const char *label;               /* for people: the folder's path, "memory" */
    bool writable;
    struct kiln_tier *next; /* in a chain */
    bool is_foreign;        /* others own it or may write it: each artifact is used if it is signed */
};

/*
 * A folder of files named by their key's digest. Created when missing and `writable`, with modes as KILN_CACHE_UMASK
 * says. KILN_IO when it can't be used: not a folder; or others own it or may write it, and it is to be written, or no
 * key is trusted here that could have signed what is in it; the text says which. `path` is copied.
 */
kiln_status kiln__tier_folder(const char *path, bool writable, uint64_t max_bytes, uint64_t max_files,
                              struct kiln_tier_events *events, struct kiln_tier **out, kiln_error *err);
/* A table in memory, with bounds as a folder's: what is looked up least is dropped, and counted. */
kiln_status kiln__tier_memory(uint64_t max_bytes, uint64_t max_files, struct kiln_tier_events *events,
                              struct kiln_tier **out, kiln_error *err);

/*
 * A pack: one file of artifacts (docs/formats/pack.md), read in place and never written. It is opened for each get, and
 * not before; one that has gone by then is a miss. `path` is copied. KILN_IO: an empty path, or there is no such file,
 * unless it `may_be_missing`: then nobody looks.
 */
kiln_status kiln__tier_pack(const char *path, bool may_be_missing, struct kiln_tier_events *events,
                            struct kiln_tier **out, kiln_error *err);

/* What stands in KILN_CACHE_PATH and in the options of a cache: a pack by its name, or a folder. */
kiln_status kiln__tier_read_only(const char *path, struct kiln_tier_events *events, struct kiln_tier **out,
                                 kiln_error *err);

/* For a get: may this artifact, which was stored at `path`, be given to who asked for `key`, on this machine?
 * KILN_DONE; KILN_MISS: another machine could use it; KILN_FAILED with KILN_INVALID: it holds another key. */
enum kiln_outcome kiln__tier_check(const char *path, const struct kiln_artifact *artifact,
                                   const struct kiln_digest *digest, kiln_bytes key, kiln_error *err);
/* And may it be believed? Where owner and mode vouch for it (`is_ours`), unless a key has signed it that was revoked
 * since; otherwise if a key has signed it that is trusted here. KILN_MISS: no; counted and logged once. `path` is for
 * people. */
enum kiln_outcome kiln__tier_check_origin(struct kiln_tier *tier, const char *path, bool is_ours,
                                          const struct kiln_artifact *artifact);
/* What names a tool chain is a line of printable text; it has at most KILN_TOOLCHAIN_SIZE bytes with its newline. */
bool kiln__is_toolchain_line(kiln_bytes line);

/*
 * The artifact with this key in the first tier that has it, the caller's reference; NULL: none has. One for which
 * `is_wanted` (NULL: any) is true is preferred to those in earlier tiers. Faults are counted in each tier's events,
 * logged once, and skipped.
 */
struct kiln_artifact *kiln__chain_find(struct kiln_tier *first, const struct kiln_digest *digest, kiln_bytes key,
                                       bool (*is_wanted)(const struct kiln_artifact *artifact, const void *context),
                                       const void *context);
/* See discard: all tiers that hold the entry put it aside. */
void kiln__chain_discard(struct kiln_tier *first, const struct kiln_artifact *artifact);
/* Puts into the last writable tier. KILN_MISS: there is none. KILN_FAILED: a fault, which is counted and logged once;
 * `err` may be NULL. */
enum kiln_outcome kiln__chain_put(struct kiln_tier *first, const struct kiln_artifact *artifact, kiln_error *err);
/*
 * Before making an artifact: waits while another process makes it, until `until_ns` (see kiln__lock_take), and takes
 * the lock that makes others wait, in *out, which is to be released after the put. KILN_DONE: it may be there now, look
 * again. KILN_MISS: without a lock, another process has it. KILN_FAILED: there is no lock to be had; a fault is counted
 * and skipped.
 */
enum kiln_outcome kiln__chain_lock(struct kiln_tier *first, const struct kiln_digest *digest, uint64_t until_ns,
                                   struct kiln_lock **out);
/* Which tool chain made what is in the first tier that names one; those that are foreign are asked last. False: none
 * does. Faults as in kiln__chain_find(). */
bool kiln__chain_toolchain(struct kiln_tier *first, char out[KILN_TOOLCHAIN_SIZE]);
/* Names it in the tier that puts go to; a fault is counted and logged once. */
void kiln__chain_set_toolchain(struct kiln_tier *first, const char *line);
void kiln__chain_free(struct kiln_tier *first);

#endif
