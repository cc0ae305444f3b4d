/*
 * key_file.h - key files as text (docs/formats/keys.md): one key a line.
 *
 *     kiln-secret-key 1 <64 digits> <comment>    a secret key: alone in its file, mode 0600
 *     kiln-key 1 <64 digits> <comment>           its public half, in PATH.pub and in lists of trusted keys
 *     revoked <64 digits> <comment>              in lists: never believed, whatever else is said
 *
 * One line that is none of these makes the whole file useless, because a revocation might be what it was meant to be.
 */
#ifndef KILN_STORE_KEYS_KEY_FILE_H
#define KILN_STORE_KEYS_KEY_FILE_H

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/status.h"
#include "trust/trust_plugin.h"

enum { KILN_KEY_COMMENT = 128, KILN_KEY_HEX = 65 }; /* with the NUL */

enum kiln_key_kind { KILN_KEY_SECRET, KILN_KEY_PUBLIC, KILN_KEY_REVOKED };

struct kiln_key_line {
    enum kiln_key_kind kind;
    unsigned line; /* from 1 */
    uint8_t key[KILN_SIGNER_SIZE];
    char comment[KILN_KEY_COMMENT];
};

struct kiln_key_lines {
    struct kiln_key_line *lines;
    size_t count, cap;
};

/* What a file is read as. */
enum kiln_key_use {
    KILN_KEYS_LIST,   /* who is believed: ours or root's, and nobody else may write it */
    KILN_KEYS_GIVEN,  /* PATH.pub that somebody passes to us: public keys only, at least one; anybody's file */
    KILN_KEYS_SECRET, /* one secret key: ours or root's, and nobody else may read it */
};

/*
 * Reads the whole file; `*info` is what was read. KILN_MISS: there is no such file. KILN_FAILED: others may change it
 * (or read it), it can't be read, or a line is wrong; the text names the file, the line and what would be right. Then
 * `out`, which was empty, is empty. `err` is not NULL.
 */
enum kiln_outcome kiln__key_file_read(const char *path, enum kiln_key_use use, struct kiln_key_lines *out,
                                      struct stat *info, kiln_error *err);
/* Wipes and frees. */
void kiln__key_lines_release(struct kiln_key_lines *lines);

/* Text as it was read for `use`, from a file that is called `path` in messages. */
kiln_status kiln__key_lines_parse(const char *path, enum kiln_key_use use, kiln_bytes text, struct kiln_key_lines *out,
                                  kiln_error *err);
/* Appends one line with its newline. */
void kiln__key_line_print(const struct kiln_key_line *line, struct kiln_buffer *out);

/* A comment is what can be printed on a line, in at most 127 bytes; it may be empty. */
bool kiln__key_comment_fits(const char *comment);

/* 64 lower-case hexadecimal digits, and back; false: `text` is not that. */
void kiln__key_hex(const uint8_t key[KILN_SIGNER_SIZE], char out[KILN_KEY_HEX]);
bool kiln__key_from_hex(const char *text, size_t size, uint8_t out[KILN_SIGNER_SIZE]);

#endif
