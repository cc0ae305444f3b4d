/*
 * signing.c - see signing.h.
 *
 * Invariant: what is verified is what was decoded: the checksum that the decoder found right over the very bytes that
 * the artifact's sections point into, and the digest of its key.
 */
#include "store/signing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/keys/trust_library.h"
#include "store/keys/trusted_keys.h"

#ifdef KILN_TEST_WITHOUT_SIGNATURES
enum { CHECKS_SIGNATURES = 0 }; /* tests of refusals must fail in such a build */
#else
enum { CHECKS_SIGNATURES = 1 };
#endif

struct message {
    char purpose[16]; /* "kiln artifact 2" with its NUL */
    struct kiln_digest checksum, key;
};

static kiln_status make_message(const struct kiln_artifact *artifact, struct message *out, kiln_error *err)
{
    static_assert(sizeof *out == 16 + 2 * KILN_DIGEST_SIZE, "no padding is signed");
    *out = (struct message){"kiln artifact 2"};
    out->key = kiln__digest(artifact->key.data, artifact->key.size);
    return kiln__artifact_checksum(artifact, &out->checksum, err);
}

static kiln_status sign_with(const uint8_t secret[KILN_SECRET_SIZE], const uint8_t signer[KILN_SIGNER_SIZE],
                             struct kiln_artifact *artifact, kiln_error *err)
{
    const struct kiln_trust_plugin *library;
    struct message message;
    struct kiln_signing signing = {.is_signed = true};
    kiln_status status = kiln__trust_library(&library, err);
    if (status == KILN_OK) status = make_message(artifact, &message, err);
    if (status != KILN_OK) return status;
    memcpy(signing.signer, signer, sizeof signing.signer);
    if (!library->sign(secret, &message, sizeof message, signing.bytes))
        return kiln__fail(err, KILN_IO, "an artifact can't be signed");
    artifact->signing = signing;
    return KILN_OK;
}

enum kiln_outcome kiln__artifact_sign(struct kiln_artifact *artifact, kiln_error *err)
{
    kiln_error unread;
    uint8_t secret[KILN_SECRET_SIZE], signer[KILN_SIGNER_SIZE];
    if (!err) err = &unread;
    enum kiln_outcome outcome = kiln__signing_key(secret, signer, err);
    if (outcome == KILN_DONE) outcome = kiln__outcome(sign_with(secret, signer, artifact, err), err);
    explicit_bzero(secret, sizeof secret);
    return outcome;
}

struct kiln_artifact *kiln__artifact_to_put(const struct kiln_artifact *artifact)
{
    struct kiln_artifact *same = (struct kiln_artifact *)(uintptr_t)artifact; /* only its reference count changes */
    uint8_t secret[KILN_SECRET_SIZE], signer[KILN_SIGNER_SIZE];
    kiln_error err = {.text = ""};
    enum kiln_outcome outcome = same->signing.is_signed ? KILN_MISS : kiln__signing_key(secret, signer, &err);
    struct kiln_artifact *copy = outcome == KILN_DONE ? kiln__artifact_copy(artifact) : NULL;
    if (copy) outcome = kiln__outcome(sign_with(secret, signer, copy, &err), &err);
    explicit_bzero(secret, sizeof secret);
    if (outcome == KILN_FAILED) kiln__log_once("what is stored is not signed: %s", err.text);
    if (copy && copy->signing.is_signed) return copy;
    kiln__artifact_unref(copy);
    kiln__artifact_ref(same);
    return same;
}

static kiln_status fail_revoked(const struct kiln_known_key *known, kiln_error *err)
{
    char hex[KILN_KEY_HEX];
    kiln__key_hex(known->key, hex);
    return kiln__fail(err, KILN_INVALID, "signed by %.8s, which %s revokes", hex, known->where);
}

bool kiln__artifact_is_revoked(const struct kiln_artifact *artifact, kiln_error *why)
{
    struct kiln_known_key known;
    if (!CHECKS_SIGNATURES || !artifact->signing.is_signed) return false;
    if (!kiln__key_is_revoked(artifact->signing.signer, &known)) return false;
    fail_revoked(&known, why);
    return true;
}

static kiln_status check_signer(const struct kiln_signing *signing, kiln_error *err)
{
    struct kiln_known_key known;
    if (kiln__key_look_up(signing->signer, &known, err) != KILN_OK) return err->status = KILN_IO; /* not its fault */
    if (kiln__key_is_trusted(&known)) return KILN_OK;
    if (known.is_revoked) return fail_revoked(&known, err);
    char hex[KILN_KEY_HEX];
    kiln__key_hex(signing->signer, hex);
    return kiln__fail(err, KILN_INVALID, "signed by %s, which is not trusted here", hex);
}

kiln_status kiln__artifact_verify(const struct kiln_artifact *artifact, kiln_error *err)
{
    kiln_error unread;
    const struct kiln_trust_plugin *library;
    struct message message;
    if (!CHECKS_SIGNATURES) return KILN_OK;
    if (!err) err = &unread;
    if (!artifact->signing.is_signed) return kiln__fail(err, KILN_INVALID, "not signed");
    kiln_status status = check_signer(&artifact->signing, err);
    if (status == KILN_OK) status = kiln__trust_library(&library, err);
    if (status == KILN_OK) status = make_message(artifact, &message, err);
    if (status != KILN_OK) return status;
    if (library->verify(artifact->signing.signer, &message, sizeof message, artifact->signing.bytes)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "wrongly signed: the signature is not of this content and key");
}

/* A key that was meant to sign, and so to be trusted, can't be used: `why` says so. */
static bool own_key_fails(kiln_error *why)
{
    uint8_t secret[KILN_SECRET_SIZE], signer[KILN_SIGNER_SIZE];
    bool fails = kiln__signing_key(secret, signer, why) == KILN_FAILED;
    explicit_bzero(secret, sizeof secret);
    return fails;
}

bool kiln__trusts_anybody(kiln_error *why)
{
    kiln_error unread;
    struct kiln_known_key *keys = NULL;
    size_t count = 0;
    bool is_found = false;
    if (!why) why = &unread;
    if (kiln__keys_all(&keys, &count, why) != KILN_OK) return false;
    for (size_t i = 0; i < count; i++) is_found |= kiln__key_is_trusted(&keys[i]);
    free(keys);
    if (!is_found && !own_key_fails(why))
        kiln__fail(
            why, KILN_INVALID,
            "no key is trusted, so nothing from elsewhere can be believed; run 'kiln key trust PATH.pub' with the "
            "public key of who fills it, or 'kiln key new PATH' for a key of your own and set KILN_SIGN_KEY=PATH");
    return is_found;
}
