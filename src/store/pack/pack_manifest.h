/*
 * pack_manifest.h - what a pack says about itself: lines of text (docs/formats/pack.md).
 */
#ifndef KILN_STORE_PACK_MANIFEST_H
#define KILN_STORE_PACK_MANIFEST_H

#include <time.h>

#include "store/artifact.h"
#include "store/tier.h" /* KILN_TOOLCHAIN_SIZE */

/* What is counted while a pack is filled. All zero: nothing yet. */
struct kiln_tally {
    uint64_t entries, raw_bytes;
    char **facts; /* "function add": one for each entry and fact about it */
    size_t count, cap;
    bool failed;                         /* out of memory */
    char toolchain[KILN_TOOLCHAIN_SIZE]; /* named, or that of the newest kernel of LLVM's; "": there is none */
    uint64_t toolchain_unix_s;           /* of that kernel; UINT64_MAX: named */
};

/* The tool chain is this one, whatever is added. */
void kiln__tally_name(struct kiln_tally *tally, const char *toolchain);
void kiln__tally_add(struct kiln_tally *tally, const struct kiln_artifact *artifact, uint64_t raw_bytes);
void kiln__tally_release(struct kiln_tally *tally);

/* Appends the manifest; without the functions' names where it would have more than `limit` bytes with them. That of
 * some of the entries has at most the bytes of that of all, when both name the same tool chain. */
void kiln__manifest_print(struct kiln_tally *tally, time_t now, size_t limit, struct kiln_buffer *out);

/* False: it names none. */
bool kiln__manifest_toolchain(kiln_bytes manifest, char out[KILN_TOOLCHAIN_SIZE]);

#endif
