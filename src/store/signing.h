/*
 * signing.h - who vouches for an artifact: making a signature, and checking one before foreign machine code is used.
 *
 * A signature covers the compared part of the file (docs/formats/artifact.md) and the content key; metadata is for
 * people and is not covered. Who is believed: docs/trust.md. All calls are safe from every thread. `err` may be NULL.
 */
#ifndef KILN_STORE_SIGNING_H
#define KILN_STORE_SIGNING_H

#include "store/artifact.h"

/*
 * Signs with the key of KILN_SIGN_KEY. KILN_DONE: artifact->signing is set. KILN_MISS: no key is set. KILN_FAILED: it
 * can't be used; the text says what would be right. Unless it is KILN_DONE the artifact is as it was. Before the
 * artifact is shared: it is written to.
 */
enum kiln_outcome kiln__artifact_sign(struct kiln_artifact *artifact, kiln_error *err);

/*
 * What a put writes, a reference of the caller's: `artifact` itself when it is signed already or there is no key to
 * sign with; else a signed copy, because others may be reading `artifact`. A key that can't be used is logged once, and
 * nothing is signed.
 */
struct kiln_artifact *kiln__artifact_to_put(const struct kiln_artifact *artifact);

/*
 * KILN_OK: signed by a key that this machine trusts. KILN_INVALID: signed by nobody, wrongly, by an unknown or by a
 * revoked key; the text says which, and the caller counts refused_signatures. KILN_IO and others: it could not be
 * checked; it must not be used either.
 */
kiln_status kiln__artifact_verify(const struct kiln_artifact *artifact, kiln_error *err);

/* Has a key signed it that this machine has revoked since? Then it is not used, wherever it lies; `why` says which. */
bool kiln__artifact_is_revoked(const struct kiln_artifact *artifact, kiln_error *why);

/* Is there any key whose signatures are accepted? Otherwise `why` says so, with the commands that change it. */
bool kiln__trusts_anybody(kiln_error *why);

#endif
