/*
 * bytes_artifact.h - the bytes of others as an artifact: one section, for any machine. Inside the cache layer.
 */
#ifndef KILN_CACHE_BYTES_BYTES_ARTIFACT_H
#define KILN_CACHE_BYTES_BYTES_ARTIFACT_H

#include "key/content.h"
#include "store/artifact.h"

/* What is said about it besides. */
struct kiln_bytes_facts {
    const char *name, *about; /* for people; may be NULL */
    uint64_t made_ns;         /* what making it took; 0: not known */
};

/* Signed, where KILN_SIGN_KEY is set. All is copied; NULL: out of memory. */
struct kiln_artifact *kiln__bytes_artifact(const struct kiln_content_key *key, kiln_bytes value,
                                           const struct kiln_bytes_facts *facts);
/* data NULL: it is no such artifact. */
kiln_bytes kiln__bytes_of(const struct kiln_artifact *artifact);

#endif
