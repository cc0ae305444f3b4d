/*
 * trust_plugin.h - the table through which libkiln opens libkiln-trust.so: Ed25519, and nothing else.
 *
 * The library is the only part that has libsodium, inside of it. It keeps no state. Every call may come from any
 * thread, several at once. A secret key is the 32 bytes from which Ed25519 derives everything else.
 */
#ifndef KILN_TRUST_TRUST_PLUGIN_H
#define KILN_TRUST_TRUST_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KILN_TRUST_VERSION = 1, KILN_SECRET_SIZE = 32, KILN_SIGNER_SIZE = 32, KILN_SIGNATURE_SIZE = 64 };
#define KILN_TRUST_LIBRARY "libkiln-trust.so"
#define KILN_TRUST_SYMBOL  "kiln_trust_plugin" /* const struct kiln_trust_plugin kiln_trust_plugin */

struct kiln_trust_plugin {
    uint32_t version;
    /* A new secret key, from the system's random numbers. False: there are none. */
    bool (*make_key)(uint8_t secret[KILN_SECRET_SIZE]);
    /* The public half. */
    bool (*public_key)(const uint8_t secret[KILN_SECRET_SIZE], uint8_t signer[KILN_SIGNER_SIZE]);
    bool (*sign)(const uint8_t secret[KILN_SECRET_SIZE], const void *message, size_t size,
                 uint8_t signature[KILN_SIGNATURE_SIZE]);
    /* Did the owner of `signer` sign this very message? */
    bool (*verify)(const uint8_t signer[KILN_SIGNER_SIZE], const void *message, size_t size,
                   const uint8_t signature[KILN_SIGNATURE_SIZE]);
};

#endif
