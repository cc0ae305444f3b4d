/*
 * ed25519.c - libkiln-trust.so: Ed25519 of libsodium behind the table of trust_plugin.h.
 *
 * Invariant: a secret key that was expanded here is wiped before the call returns.
 */
#include <assert.h>
#include <sodium.h>

#include "trust/trust_plugin.h"

static_assert(crypto_sign_SEEDBYTES == KILN_SECRET_SIZE, "a secret key is libsodium's seed");
static_assert(crypto_sign_PUBLICKEYBYTES == KILN_SIGNER_SIZE, "sizes");
static_assert(crypto_sign_BYTES == KILN_SIGNATURE_SIZE, "sizes");

/* libsodium wants it before anything else; later calls only look. */
static bool is_ready(void)
{
    return sodium_init() >= 0;
}

static bool make_key(uint8_t secret[KILN_SECRET_SIZE])
{
    if (!is_ready()) return false;
    randombytes_buf(secret, KILN_SECRET_SIZE);
    return true;
}

static bool public_key(const uint8_t secret[KILN_SECRET_SIZE], uint8_t signer[KILN_SIGNER_SIZE])
{
    uint8_t expanded[crypto_sign_SECRETKEYBYTES];
    bool is_made = is_ready() && crypto_sign_seed_keypair(signer, expanded, secret) == 0;
    sodium_memzero(expanded, sizeof expanded);
    return is_made;
}

static bool sign(const uint8_t secret[KILN_SECRET_SIZE], const void *message, size_t size,
                 uint8_t signature[KILN_SIGNATURE_SIZE])
{
    uint8_t signer[KILN_SIGNER_SIZE], expanded[crypto_sign_SECRETKEYBYTES];
    bool is_signed = is_ready() && crypto_sign_seed_keypair(signer, expanded, secret) == 0 &&
                     crypto_sign_detached(signature, NULL, message, size, expanded) == 0;
    sodium_memzero(expanded, sizeof expanded);
    return is_signed;
}

static bool verify(const uint8_t signer[KILN_SIGNER_SIZE], const void *message, size_t size,
                   const uint8_t signature[KILN_SIGNATURE_SIZE])
{
    return is_ready() && crypto_sign_verify_detached(signature, message, size, signer) == 0;
}

extern const struct kiln_trust_plugin kiln_trust_plugin;
const struct kiln_trust_plugin kiln_trust_plugin = {KILN_TRUST_VERSION, make_key, public_key, sign, verify};
