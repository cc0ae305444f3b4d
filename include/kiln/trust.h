/*
 * kiln/trust.h - keys that sign artifacts, and whom this machine believes, for tools. docs/trust.md has the whole.
 *
 * Files are written under another name and renamed, so that a reader sees the old one or the new one, and whoever
 * changes a list waits for others who do. Functions may be called from any thread. NULL where no comment gives it a
 * meaning is as in kiln.h.
 */
#ifndef KILN_TRUST_H
#define KILN_TRUST_H

#include "kiln/inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KILN_KEY_TEXT = 65 }; /* a public key: 64 hexadecimal digits and a NUL */

/*
 * Makes a key: `path` gets its secret half (mode 0600), `path`.pub its public one (0644), and `key`, which may be NULL,
 * the latter as text. `comment` is for people: up to 127 bytes that can be printed; NULL: none. KILN_INVALID: it can't
 * be one. KILN_IO: one of the files is there already, or can't be written; then neither was.
 */
kiln_status kiln_key_new(const char *path, const char *comment, char *key, kiln_error *err);

/* What was done to a list of trusted keys. */
typedef struct kiln_key_change {
    char list[4096];        /* the file: that of KILN_TRUSTED_KEYS, else kiln/trusted_keys of the user's settings */
    uint64_t added, before; /* lines that were added; keys of which the list said it before */
} kiln_key_change;

/*
 * From now on this machine believes what the keys of the file `path` have signed: they are appended to the list, which
 * is made if need be. KILN_INVALID: the file holds no public keys, or one of them is revoked. KILN_IO: a file can't be
 * read or written, or others may write the list. On failure no key was added.
 */
kiln_status kiln_key_trust(const char *path, kiln_key_change *out, kiln_error *err);

/*
 * From now on what a key has signed is refused, whoever else believes it. `which` is the key, the first 8 or more
 * digits of one that is known here, or a file with public keys. Failures as above; KILN_INVALID also: no key, or
 * several, begin so.
 */
kiln_status kiln_key_revoke(const char *which, kiln_key_change *out, kiln_error *err);

typedef struct kiln_keys kiln_keys; /* the keys that are known on this machine */

typedef struct kiln_key_info {
    char key[KILN_KEY_TEXT];
    bool is_trusted, is_revoked;
    bool signs;          /* KILN_SIGN_KEY: what this machine puts is signed by it */
    const char *comment; /* "" when there is none */
    const char *where;   /* file and line that decide */
} kiln_key_info;         /* borrowed from the list */

/* KILN_IO or KILN_INVALID: a list can't be used, so nobody is believed; the text says why. *out is closed by the
 * caller.
 */
kiln_status kiln_keys_open(kiln_keys **out, kiln_error *err);
void kiln_keys_close(kiln_keys *keys); /* NULL is fine */
size_t kiln_keys_count(const kiln_keys *keys);
/* Of NULL, or an index that is too large, all is "" and false. */
void kiln_keys_describe(const kiln_keys *keys, size_t index, kiln_key_info *out);
/* Why KILN_SIGN_KEY can't be used; "": it can, or is not set. */
const char *kiln_keys_problem(const kiln_keys *keys);

typedef struct kiln_signer {
    char key[KILN_KEY_TEXT]; /* who signed an artifact; "": nobody */
    char comment[128];       /* as this machine's lists have it; "" when they have none */
    bool is_accepted;        /* rightly signed, by a key that is trusted here */
    char problem[512];       /* otherwise what is wrong */
} kiln_signer;

/* Who signed it. Of NULL all is "" and false. */
void kiln_entry_signer(const kiln_entry *entry, kiln_signer *out);

#ifdef __cplusplus
}
#endif
#endif
