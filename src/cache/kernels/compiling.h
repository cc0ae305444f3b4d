/*
 * compiling.h - the artifact for a text: from memory, from a tier, or compiled now. Inside the cache layer.
 *
 * The content key is made once per miss and passed down; an artifact from a tier has been compared with it in full.
 * When compile() depends on more than the content key holds, the artifact's key is longer (manifest.h).
 */
#ifndef KILN_CACHE_KERNELS_COMPILING_H
#define KILN_CACHE_KERNELS_COMPILING_H

#include "cache/kernels/kernel.h"
#include "cache/memo/memo_table.h"

/* Who fills a cache on purpose waits for its remotes to take what was made, at most so long at a time. */
enum { KILN_FILL_MS = 10000 };

/* What a miss passes down to its makers. */
struct kiln_job {
    const kiln_request *request;
    const kiln_compiler *compiler;
    kiln_bytes text;
    kiln_bytes call_key;
    const struct kiln_content_key *base;    /* the content key that the request and the text make */
    const struct kiln_content_key *content; /* the artifact's: `base`, or longer by the values of `set` */
    kiln_bytes set;                         /* of a manifest: what compile() is expected to depend on besides */
    struct kiln_file_looks *looks;          /* from which the files of `set` have their values in `content` */
    struct kiln_artifact *used_once;        /* a reference: made from files that kept changing, and under no key */
    struct kiln_artifact *found;            /* a reference, or NULL: what kiln__job_find() gave; not looked for again */
    uint64_t roots_version;                 /* for which the names in `set` and `content` were made */
    const struct kiln_provenance *provenance; /* instead of a call key; may be NULL */
    bool is_kept;                             /* see struct kiln_kernel */
    bool is_stored; /* set by kiln__job_artifact(): this job found the artifact in a tier; see kiln__job_count() */
};

/* The artifact, compiled at most once. *out is the caller's reference. KILN_CHANGED: more is known now of what
 * compile() depends on; choose another `content`, unless there is `used_once`. */
enum kiln_outcome kiln__job_artifact(struct kiln_job *job, struct kiln_artifact **out, kiln_error *err);
/* A reference to the artifact of this key, in memory or in a tier; NULL: there is none. Waits for nobody. */
struct kiln_artifact *kiln__job_find(const struct kiln_job *job);
/* Compiles now, whatever is stored. */
enum kiln_outcome kiln__job_compile(const struct kiln_job *job, struct kiln_artifact **out, kiln_error *err);

/* Puts a new artifact into the tiers, and names the tool chain there. */
void kiln__job_store(const struct kiln_job *job, const struct kiln_artifact *artifact);
/* Counts a hit of a folder or of a remote, if it was one. For when it is known that the stored artifact could be used.
 */
void kiln__job_count(const struct kiln_job *job, const struct kiln_artifact *artifact);

/* Fills in what an artifact says about itself, without and with the text that was compiled. KILN_NO_MEMORY. */
kiln_status kiln__job_name(const struct kiln_job *job, struct kiln_artifact *artifact);
kiln_status kiln__job_describe(const struct kiln_job *job, struct kiln_artifact *artifact);

/* The value of a memo table, found or made, with the job as the maker's context. `verb`: what making it is, for the
 * error of a job that asks for its own value. KILN_CHANGED as the maker says. */
enum kiln_outcome kiln__job_value(struct kiln_job *job, const char *verb, struct kiln_memo_table *memo,
                                  const struct kiln_signature *signature, kiln_maker *make, void **value, bool *made,
                                  kiln_error *err);

static inline void kiln__sign_digest(struct kiln_signature *signature, const struct kiln_digest *digest)
{
    uint64_t *words = kiln__signature_grow(signature, KILN_DIGEST_SIZE / 8);
    if (words) memcpy(words, digest->bytes, sizeof digest->bytes);
}

#endif
