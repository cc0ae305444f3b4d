/*
 * trusted_keys.h - which keys this machine believes, and the one it signs with (docs/trust.md).
 *
 * Lists: the file of KILN_TRUSTED_KEYS; when that is not set, $XDG_CONFIG_HOME/kiln/trusted_keys (else
 * ~/.config/kiln/trusted_keys) and /etc/kiln/trusted_keys. What any of the three revokes is revoked. The public half of
 * KILN_SIGN_KEY is trusted too. Files are read again when they have changed; otherwise a look costs a stat() each. A
 * list that can't be used makes everybody a stranger until it is put right, because it might revoke a key.
 * All calls are safe from every thread. `err` is not NULL.
 */
#ifndef KILN_STORE_KEYS_TRUSTED_KEYS_H
#define KILN_STORE_KEYS_TRUSTED_KEYS_H

#include "store/keys/key_file.h"

struct kiln_known_key {
    uint8_t key[KILN_SIGNER_SIZE];
    bool is_listed, is_revoked;
    bool signs; /* the public half of KILN_SIGN_KEY */
    char comment[KILN_KEY_COMMENT];
    char where[512]; /* "FILE:LINE" that decides: the one that revokes it, or lists it */
};

static inline bool kiln__key_is_trusted(const struct kiln_known_key *key)
{
    return (key->is_listed || key->signs) && !key->is_revoked;
}

/* What is known of one key. KILN_OK also of a stranger. Otherwise a list can't be used; the text says why. */
kiln_status kiln__key_look_up(const uint8_t key[KILN_SIGNER_SIZE], struct kiln_known_key *out, kiln_error *err);

/* Does a list revoke it? False also where a list can't be used. Opens no library. */
bool kiln__key_is_revoked(const uint8_t key[KILN_SIGNER_SIZE], struct kiln_known_key *out);

/* All keys that are known, in the order of the files, each once; freed by the caller. */
kiln_status kiln__keys_all(struct kiln_known_key **out, size_t *count, kiln_error *err);

/* KILN_MISS: KILN_SIGN_KEY is not set. KILN_FAILED: it can't be used, or is revoked. The caller wipes `secret`. */
enum kiln_outcome kiln__signing_key(uint8_t secret[KILN_SECRET_SIZE], uint8_t signer[KILN_SIGNER_SIZE],
                                    kiln_error *err);

/* The list that `kiln key trust` appends to: that of KILN_TRUSTED_KEYS, else the user's. In memory of its own; NULL:
 * none of the variables says where, or out of memory. */
char *kiln__own_list(void);

#endif
