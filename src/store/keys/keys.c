/*
 * keys.c - making, trusting and revoking keys; see kiln/trust.h.
 *
 * Invariant: a list is read, checked and replaced under one lock, so that nobody's line is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process/callback.h"
#include "kiln/trust.h"
#include "store/keys/key_write.h"
#include "store/keys/trust_library.h"
#include "store/keys/trusted_keys.h"

/* ---- a new key ------------------------------------------------------------------------------------------------- */

static kiln_status make_pair(const char *comment, struct kiln_key_line *secret, struct kiln_key_line *public,
                             kiln_error *err)
{
    const struct kiln_trust_plugin *library;
    kiln_status status = kiln__trust_library(&library, err);
    if (status != KILN_OK) return status;
    *secret = (struct kiln_key_line){.kind = KILN_KEY_SECRET};
    *public = (struct kiln_key_line){.kind = KILN_KEY_PUBLIC};
    strcpy(secret->comment, comment);
    strcpy(public->comment, comment);
    if (library->make_key(secret->key) && library->public_key(secret->key, public->key)) return KILN_OK;
    return kiln__fail(err, KILN_IO, "a key can't be made: the system has no random numbers");
}

static kiln_status create_file(const char *path, mode_t mode, const struct kiln_key_line *line, kiln_error *err)
{
    struct kiln_buffer text = {0};
    kiln__key_line_print(line, &text);
    kiln_status status = text.failed ? kiln__no_memory(err, path)
                                     : kiln__key_file_create(path, mode, (kiln_bytes){text.data, text.size}, err);
    if (text.data) explicit_bzero(text.data, text.size);
    kiln__buffer_release(&text);
    return status;
}

static kiln_status create_both(const char *path, const struct kiln_key_line *secret, const struct kiln_key_line *public,
                               kiln_error *err)
{
    char *public_path;
    if (asprintf(&public_path, "%s.pub", path) < 0) return kiln__no_memory(err, path);
    kiln_status status = create_file(path, 0600, secret, err);
    if (status == KILN_OK) {
        status = create_file(public_path, 0644, public, err);
        if (status != KILN_OK) unlink(path);
    }
    free(public_path);
    return status;
}

kiln_status kiln_key_new(const char *path, const char *comment, char *key, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct kiln_key_line secret, public;
    if (!path || !*path) return kiln__fail(err, KILN_INVALID, "kiln_key_new: needs a path for the key");
    if (!comment) comment = "";
    if (!kiln__key_comment_fits(comment))
        return kiln__fail(err, KILN_INVALID, "a comment has at most %d bytes, which can be printed on one line",
                          KILN_KEY_COMMENT - 1);
    kiln_status status = make_pair(comment, &secret, &public, err);
    if (status == KILN_OK) status = create_both(path, &secret, &public, err);
    if (status == KILN_OK && key) kiln__key_hex(public.key, key);
    explicit_bzero(&secret, sizeof secret);
    return status;
}

/* ---- a list ---------------------------------------------------------------------------------------------------- */

/* The list that is changed, while nobody else does. */
struct list {
    char *path;
    int lock;
    mode_t mode;
    struct kiln_key_lines lines;
    struct kiln_buffer text; /* as it is, then with lines added */
};

static const char heading[] =
    "# Whose artifacts this machine uses: `kiln key` adds lines, docs/trust.md explains them.\n";

static kiln_status read_list(struct list *list, kiln_error *err)
{
    kiln_error error;
    struct stat info;
    enum kiln_outcome outcome = kiln__key_file_read(list->path, KILN_KEYS_LIST, &list->lines, &info, &error);
    list->mode = outcome == KILN_DONE ? info.st_mode & 0755 : 0644;
    if (outcome == KILN_DONE) outcome = kiln__file_read(list->path, SIZE_MAX, &list->text, &error);
    if (outcome == KILN_FAILED && err) *err = error;
    if (outcome == KILN_FAILED) return error.status;
    if (outcome == KILN_MISS) kiln__buffer_append(&list->text, heading, sizeof heading - 1);
    bool ends = list->text.size == 0 || list->text.data[list->text.size - 1] == '\n';
    if (!ends) kiln__buffer_append(&list->text, "\n", 1);
    return KILN_OK;
}

static void close_list(struct list *list)
{
    if (list->lock >= 0) close(list->lock);
    kiln__key_lines_release(&list->lines);
    kiln__buffer_release(&list->text);
    free(list->path);
}

static kiln_status open_list(struct list *list, kiln_error *err)
{
    *list = (struct list){.path = kiln__own_list(), .lock = -1};
    if (!list->path)
        return kiln__fail(
            err, KILN_INVALID,
            "there is no list of trusted keys: none of KILN_TRUSTED_KEYS, XDG_CONFIG_HOME and HOME is set");
    kiln_status status = kiln__key_folder_lock(list->path, &list->lock, err);
    if (status == KILN_OK) status = read_list(list, err);
    if (status != KILN_OK) close_list(list);
    return status;
}

static const struct kiln_key_line *find_line(const struct list *list, const struct kiln_key_line *line)
{
    for (size_t i = 0; i < list->lines.count; i++) {
        const struct kiln_key_line *at = &list->lines.lines[i];
        if (at->kind == line->kind && memcmp(at->key, line->key, sizeof at->key) == 0) return at;
    }
    return NULL;
}

static kiln_status write_list(const struct list *list, kiln_error *err)
{
    if (list->text.failed) return kiln__no_memory(err, list->path);
    return kiln__key_file_replace(list->path, list->mode, (kiln_bytes){list->text.data, list->text.size}, err);
}

/* Adds those lines that are not there; the file is left alone when there is nothing to add. */
static kiln_status add_lines(const struct kiln_key_lines *lines, kiln_key_change *out, kiln_error *err)
{
    struct list list;
    kiln_status status = open_list(&list, err);
    if (status != KILN_OK) return status;
    *out = (kiln_key_change){0};
    snprintf(out->list, sizeof out->list, "%s", list.path);
    for (size_t i = 0; i < lines->count; i++) {
        bool is_there = find_line(&list, &lines->lines[i]) != NULL;
        *(is_there ? &out->before : &out->added) += 1;
        if (!is_there) kiln__key_line_print(&lines->lines[i], &list.text);
    }
    if (out->added > 0) status = write_list(&list, err);
    close_list(&list);
    return status;
}

/* ---- trust and revoke ------------------------------------------------------------------------------------------ */

static kiln_status read_given(const char *path, struct kiln_key_lines *out, kiln_error *err)
{
    kiln_error error;
    struct stat info;
    enum kiln_outcome outcome = kiln__key_file_read(path, KILN_KEYS_GIVEN, out, &info, &error);
    if (outcome == KILN_MISS) return kiln__fail(err, KILN_IO, "%s is not there", path);
    if (outcome == KILN_FAILED && err) *err = error;
    return kiln__outcome_status(outcome, &error);
}

/* A list that KILN_TRUSTED_KEYS names comes into being here. */
static kiln_status make_list(kiln_error *err)
{
    struct list list;
    kiln_status status = open_list(&list, err);
    if (status != KILN_OK) return status;
    if (access(list.path, F_OK) != 0) status = write_list(&list, err);
    close_list(&list);
    return status;
}

static kiln_status check_not_revoked(const struct kiln_key_lines *lines, kiln_error *err)
{
    for (size_t i = 0; i < lines->count; i++) {
        struct kiln_known_key known;
        kiln_error error;
        kiln_status status = kiln__key_look_up(lines->lines[i].key, &known, &error);
        if (status != KILN_OK && err) *err = error;
        if (status != KILN_OK) return status;
        char hex[KILN_KEY_HEX];
        kiln__key_hex(known.key, hex);
        if (known.is_revoked)
            return kiln__fail(err, KILN_INVALID, "%.8s is revoked by %s; it can be trusted when that line is gone", hex,
                              known.where);
    }
    return KILN_OK;
}

kiln_status kiln_key_trust(const char *path, kiln_key_change *out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct kiln_key_lines lines = {0};
    if (!path || !out)
        return kiln__fail(err, KILN_INVALID, "kiln_key_trust: needs a path and a pointer for the result");
    kiln_status status = read_given(path, &lines, err);
    if (status == KILN_OK) status = make_list(err);
    if (status == KILN_OK) status = check_not_revoked(&lines, err);
    if (status == KILN_OK) status = add_lines(&lines, out, err);
    kiln__key_lines_release(&lines);
    return status;
}

enum { LEAST_DIGITS = 8 };

static bool is_digits(const char *text)
{
    size_t size = strlen(text);
    return size >= LEAST_DIGITS && size < KILN_KEY_HEX && strspn(text, "0123456789abcdef") == size;
}

/* The one known key that begins so. */
static kiln_status find_known(const char *digits, struct kiln_key_line *out, kiln_error *err)
{
    struct kiln_known_key *keys;
    kiln_error error;
    size_t count, matches = 0;
    kiln_status status = kiln__keys_all(&keys, &count, &error);
    if (status != KILN_OK && err) *err = error;
    if (status != KILN_OK) return status;
    for (size_t i = 0; i < count; i++) {
        char hex[KILN_KEY_HEX];
        kiln__key_hex(keys[i].key, hex);
        if (strncmp(hex, digits, strlen(digits)) != 0 || matches++ > 0) continue;
        memcpy(out->key, keys[i].key, sizeof out->key);
        strcpy(out->comment, keys[i].comment);
    }
    free(keys);
    if (matches == 1) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "%zu of the keys that are known here begin with %s; give all 64 digits, or a file", matches,
                      digits);
}

/* What is to be revoked, as lines that do so. */
static kiln_status find_revoked(const char *which, struct kiln_key_lines *out, kiln_error *err)
{
    if (!is_digits(which)) return read_given(which, out, err);
    struct kiln_key_line *line = calloc(1, sizeof *line);
    if (!line) return kiln__no_memory(err, "a key");
    *out = (struct kiln_key_lines){line, 1, 1};
    if (kiln__key_from_hex(which, strlen(which), line->key)) {
        struct kiln_key_line known = {0};
        if (find_known(which, &known, NULL) == KILN_OK) strcpy(line->comment, known.comment);
        return KILN_OK;
    }
    return find_known(which, line, err);
}

kiln_status kiln_key_revoke(const char *which, kiln_key_change *out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct kiln_key_lines lines = {0};
    if (!which || !out)
        return kiln__fail(err, KILN_INVALID, "kiln_key_revoke: needs a key or a file, and a pointer for the result");
    kiln_status status = find_revoked(which, &lines, err);
    for (size_t i = 0; i < lines.count; i++) lines.lines[i].kind = KILN_KEY_REVOKED;
    if (status == KILN_OK) status = add_lines(&lines, out, err);
    kiln__key_lines_release(&lines);
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

struct kiln_keys {
    struct kiln_known_key *keys;
    size_t count;
    kiln_error problem; /* of the key that signs */
};

static void find_problem(kiln_error *out)
{
    uint8_t secret[KILN_SECRET_SIZE], signer[KILN_SIGNER_SIZE];
    if (kiln__signing_key(secret, signer, out) != KILN_FAILED) out->text[0] = '\0';
    explicit_bzero(secret, sizeof secret);
}

kiln_status kiln_keys_open(kiln_keys **out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (!out) return kiln__fail(err, KILN_INVALID, "kiln_keys_open: needs a pointer for the result");
    kiln_error error;
    kiln_keys *keys = calloc(1, sizeof *keys);
    if (!keys) return kiln__no_memory(err, "a list of keys");
    kiln_status status = kiln__keys_all(&keys->keys, &keys->count, &error);
    if (status != KILN_OK) {
        free(keys);
        if (err) *err = error;
        return status;
    }
    find_problem(&keys->problem);
    *out = keys;
    return KILN_OK;
}

void kiln_keys_close(kiln_keys *keys)
{
    if (!keys) return;
    free(keys->keys);
    free(keys);
}

size_t kiln_keys_count(const kiln_keys *keys)
{
    return keys ? keys->count : 0;
}

void kiln_keys_describe(const kiln_keys *keys, size_t index, kiln_key_info *out)
{
    if (!out) return;
    *out = (kiln_key_info){.comment = "", .where = ""};
    if (index >= kiln_keys_count(keys)) return;
    const struct kiln_known_key *known = &keys->keys[index];
    kiln__key_hex(known->key, out->key);
    out->is_trusted = kiln__key_is_trusted(known);
    out->is_revoked = known->is_revoked;
    out->signs = known->signs;
    out->comment = known->comment;
    out->where = known->where;
}

const char *kiln_keys_problem(const kiln_keys *keys)
{
    return keys ? keys->problem.text : "";
}
