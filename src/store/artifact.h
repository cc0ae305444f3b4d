/*
 * artifact.h - the portable result of a compile: named sections and an entry name, as one file.
 *
 * Format: docs/formats/artifact.md. Decoding trusts nothing: every length is checked against the bytes that are
 * there, the checksum covers the whole file, and a file that fails is never used.
 * Reference counted; immutable once it is shared between threads.
 */
#ifndef KILN_STORE_ARTIFACT_H
#define KILN_STORE_ARTIFACT_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "device/device.h"
#include "trust/trust_plugin.h"

enum { KILN_ARTIFACT_MAX_SECTIONS = 16, KILN_ARTIFACT_NAME = 32 };

struct kiln_section {
    char name[KILN_ARTIFACT_NAME];
    const void *data;
    size_t size;
    bool owned; /* malloc'ed; otherwise it points into `mapping` */
};

/* Who vouches for the compared part (store/signing.h); all zero when nobody does. */
struct kiln_signing {
    bool is_signed;
    uint8_t signer[KILN_SIGNER_SIZE];   /* the public key */
    uint8_t bytes[KILN_SIGNATURE_SIZE]; /* Ed25519 */
};

struct kiln_artifact {
    _Atomic uint32_t refs;
    char *entry;               /* entry name, "" at first */
    char *target;              /* resolved target name */
    enum kiln_isa isa;         /* what a CPU needs to run it */
    struct kiln_buffer key;    /* the full structured content key (key/content.h) */
    struct kiln_digest digest; /* of `key` */
    bool has_checksum;         /* decoded, and not changed since: the one that was found right */
    struct kiln_digest checksum;
    size_t section_count;
    struct kiln_section sections[KILN_ARTIFACT_MAX_SECTIONS];
    bool keeps_room;        /* for one more section, "text": while compile() has it */
    kiln_status put_status; /* a put that failed for want of room or memory: the artifact lacks something */
    char refused_name[KILN_ARTIFACT_NAME]; /* the section of that put */
    uint64_t compile_ns;                   /* metadata: no comparison covers what follows */
    uint64_t created_unix_s;
    char *function;              /* metadata: name of the function first compiled for, for people */
    struct kiln_buffer call_key; /* metadata: what it was first compiled for, for `kiln why` and `show` */
    struct kiln_signing signing; /* a decoded one keeps it; what changes the artifact drops it */
    bool is_remote;              /* it came from a remote, or was finished from one that did */
    kiln_bytes mapping;          /* the file it came from, or empty: then it was made by this process */
};

struct kiln_artifact *kiln__artifact_new(void); /* NULL: out of memory */
void kiln__artifact_ref(struct kiln_artifact *artifact);
void kiln__artifact_unref(struct kiln_artifact *artifact); /* NULL is fine */

/* After compile() of `function`: KILN_COMPILE_FAILED when a section found no room, KILN_NO_MEMORY when one no memory.
 */
kiln_status kiln__artifact_check(const struct kiln_artifact *artifact, const char *function, kiln_error *err);

/* Bytes that it keeps in memory, in round numbers: key and sections. */
size_t kiln__artifact_size(const struct kiln_artifact *artifact);

/* A copy of its own, to add sections to, and signed by nobody; NULL: out of memory. */
struct kiln_artifact *kiln__artifact_copy(const struct kiln_artifact *artifact);

/* Appends the file's bytes. Key and payload come out byte-identical for equal input; metadata and signature stand last.
 */
kiln_status kiln__artifact_encode(const struct kiln_artifact *artifact, struct kiln_buffer *out, kiln_error *err);

/*
 * Checks all of `bytes` and makes an artifact whose sections point into them (zero copies). On KILN_OK the artifact
 * owns `bytes` as a mapping when `is_mapping`, otherwise the caller keeps them alive. KILN_INVALID: not an artifact of
 * this format version, truncated, flipped; the text says which.
 */
kiln_status kiln__artifact_decode(kiln_bytes bytes, bool is_mapping, struct kiln_artifact **out, kiln_error *err);

/* The digest at the end of the compared part of its file, which a signature covers. */
kiln_status kiln__artifact_checksum(const struct kiln_artifact *artifact, struct kiln_digest *out, kiln_error *err);

/* `bytes` are a whole artifact of a later format: nothing for this library, and not its to remove. */
bool kiln__artifact_is_newer(kiln_bytes bytes);
/* And of an earlier one: nothing for this library, and nothing is wrong with it. */
bool kiln__artifact_is_earlier(kiln_bytes bytes);

#endif
