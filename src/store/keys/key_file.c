/*
 * key_file.c - see key_file.h. Invariants: a file is believed only after the owner and mode of the very file that was
 * read were right; bytes of a secret key are wiped wherever they were.
 */
#include "store/keys/key_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/format.h"
#include "base/trust.h"

enum { LARGEST_FILE = 1 << 20 };

/* ---- text ---------------------------------------------------------------------------------------------------- */

void kiln__key_hex(const uint8_t key[KILN_SIGNER_SIZE], char out[KILN_KEY_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < KILN_SIGNER_SIZE; i++) {
        *out++ = digits[key[i] >> 4];
        *out++ = digits[key[i] & 15];
    }
    *out = '\0';
}

static int digit_of(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool kiln__key_from_hex(const char *text, size_t size, uint8_t out[KILN_SIGNER_SIZE])
{
    if (size != 2 * KILN_SIGNER_SIZE) return false;
    for (size_t i = 0; i < KILN_SIGNER_SIZE; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_printable(const char *text, size_t size)
{
    for (size_t at = 0, step; at < size; at += step)
        if (!(step = kiln__printable(text + at, size - at))) return false;
    return true;
}

bool kiln__key_comment_fits(const char *comment)
{
    size_t size = strlen(comment);
    return size < KILN_KEY_COMMENT && is_printable(comment, size);
}

/* Words that a line can begin with. */
static const struct word {
    const char *text;
    enum kiln_key_kind kind;
    bool has_version;
} words[] = {{"kiln-secret-key", KILN_KEY_SECRET, true},
             {"kiln-key", KILN_KEY_PUBLIC, true},
             {"revoked", KILN_KEY_REVOKED, false}};

void kiln__key_line_print(const struct kiln_key_line *line, struct kiln_buffer *out)
{
    char hex[KILN_KEY_HEX];
    const struct word *word = &words[line->kind]; /* in the order of the enum */
    kiln__key_hex(line->key, hex);
    kiln__buffer_printf(out, "%s%s %s%s%s\n", word->text, word->has_version ? " 1" : "", hex, *line->comment ? " " : "",
                        line->comment);
    explicit_bzero(hex, sizeof hex);
}

/* What is left of a line. */
struct rest {
    const char *at;
    size_t size;
};

static void skip_blanks(struct rest *rest)
{
    while (rest->size > 0 && *rest->at == ' ') rest->at++, rest->size--;
}

/* The next word; empty at the end. */
static struct rest take_word(struct rest *rest)
{
    skip_blanks(rest);
    struct rest word = {rest->at, 0};
    while (word.size < rest->size && rest->at[word.size] != ' ') word.size++;
    rest->at += word.size, rest->size -= word.size;
    return word;
}

static bool is_word(struct rest word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.at, text, word.size) == 0;
}

static const struct word *find_word(struct rest word)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(word, words[i].text)) return &words[i];
    return NULL;
}

static const char *take_comment(struct rest rest, char out[KILN_KEY_COMMENT])
{
    skip_blanks(&rest);
    while (rest.size > 0 && rest.at[rest.size - 1] == ' ') rest.size--;
    if (rest.size >= KILN_KEY_COMMENT) return "a comment has at most 127 bytes";
    memcpy(out, rest.at, rest.size);
    out[rest.size] = '\0';
    return NULL;
}

/* NULL; or what is wrong with the line. */
static const char *parse_line(struct rest rest, struct kiln_key_line *out)
{
    const struct word *word = find_word(take_word(&rest));
    if (!word) return "a line is 'kiln-key 1 KEY COMMENT', 'revoked KEY' or '# a remark'";
    if (word->has_version && !is_word(take_word(&rest), "1")) return "this version of Kiln knows keys of version 1";
    struct rest key = take_word(&rest);
    if (!kiln__key_from_hex(key.at, key.size, out->key)) return "a key is 64 of the digits 0-9 and a-f";
    out->kind = word->kind;
    return take_comment(rest, out->comment);
}

/* NULL; or why a line of this kind can't stand in such a file. */
static const char *check_kind(enum kiln_key_use use, enum kiln_key_kind kind, size_t count)
{
    if (use == KILN_KEYS_SECRET) {
        if (kind != KILN_KEY_SECRET) return "this is not a secret key; 'kiln key new' makes one";
        return count > 0 ? "a file has one secret key" : NULL;
    }
    if (kind == KILN_KEY_SECRET)
        return "this is a secret key, which stays where it was made; its public half is in the .pub file";
    return use == KILN_KEYS_GIVEN && kind == KILN_KEY_REVOKED ? "a file to be trusted revokes nothing" : NULL;
}

static bool add_line(struct kiln_key_lines *lines, const struct kiln_key_line *line)
{
    if (lines->count == lines->cap) {
        size_t cap = lines->cap ? 2 * lines->cap : 8;
        struct kiln_key_line *grown = realloc(lines->lines, cap * sizeof *grown); /* one secret key never grows */
        if (!grown) return false;
        lines->lines = grown, lines->cap = cap;
    }
    lines->lines[lines->count++] = *line;
    return true;
}

static kiln_status fail_line(kiln_error *err, const char *path, unsigned number, const char *problem)
{
    return kiln__fail(err, KILN_INVALID, "%s:%u: %s", path, number, problem);
}

static kiln_status add_text(const char *path, enum kiln_key_use use, struct rest text, unsigned number,
                            struct kiln_key_lines *out, kiln_error *err)
{
    struct kiln_key_line line = {.line = number};
    struct rest seen = text;
    skip_blanks(&seen);
    if (seen.size == 0 || *seen.at == '#') return KILN_OK;
    if (!is_printable(text.at, text.size))
        return fail_line(err, path, number,
                         "there is a character in it that can't be printed; words are separated by spaces");
    const char *problem = parse_line(text, &line);
    if (!problem) problem = check_kind(use, line.kind, out->count);
    kiln_status status = KILN_OK;
    if (problem)
        status = fail_line(err, path, number, problem);
    else if (!add_line(out, &line))
        status = kiln__no_memory(err, path);
    explicit_bzero(&line, sizeof line);
    return status;
}

void kiln__key_lines_release(struct kiln_key_lines *lines)
{
    if (lines->lines) explicit_bzero(lines->lines, lines->cap * sizeof *lines->lines);
    free(lines->lines);
    *lines = (struct kiln_key_lines){0};
}

kiln_status kiln__key_lines_parse(const char *path, enum kiln_key_use use, kiln_bytes text, struct kiln_key_lines *out,
                                  kiln_error *err)
{
    const char *at = text.data, *end = at + text.size;
    kiln_status status = KILN_OK;
    for (unsigned number = 1; at < end && status == KILN_OK; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        status = add_text(path, use, (struct rest){at, size}, number, out, err);
        at += size + 1;
    }
    if (status == KILN_OK && out->count == 0 && use != KILN_KEYS_LIST)
        status = kiln__fail(err, KILN_INVALID, "%s: there is no key in it", path);
    if (status != KILN_OK) kiln__key_lines_release(out);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static kiln_status check_owner(const char *path, enum kiln_key_use use, const struct stat *info, kiln_error *err)
{
    unsigned mode = (unsigned)info->st_mode & 07777;
    if (use == KILN_KEYS_GIVEN) return KILN_OK;
    if (!kiln__user_is_trusted(info->st_uid, true))
        return kiln__fail(err, KILN_IO, "%s belongs to user %u; it must belong to user %u or root", path,
                          (unsigned)info->st_uid, (unsigned)geteuid());
    if (use == KILN_KEYS_SECRET && (mode & 077))
        return kiln__fail(err, KILN_IO, "%s has mode %03o, so others can read this secret key; run: chmod 600 %s", path,
                          mode, path);
    if (mode & 022)
        return kiln__fail(err, KILN_IO, "%s has mode %03o, so others can say who is trusted; run: chmod go-w %s", path,
                          mode, path);
    return KILN_OK;
}

static kiln_status read_checked(const char *path, enum kiln_key_use use, const struct kiln_file *file,
                                struct kiln_key_lines *out, kiln_error *err)
{
    kiln_status status = check_owner(path, use, &file->info, err);
    if (status != KILN_OK) return status;
    return kiln__key_lines_parse(path, use, file->bytes, out, err);
}

enum kiln_outcome kiln__key_file_read(const char *path, enum kiln_key_use use, struct kiln_key_lines *out,
                                      struct stat *info, kiln_error *err)
{
    struct kiln_file file;
    enum kiln_outcome outcome = kiln__file_open_bounded(path, LARGEST_FILE, &file, err);
    if (outcome != KILN_DONE) return outcome;
    *info = file.info;
    kiln_status status = read_checked(path, use, &file, out, err);
    if (file.bytes.size > 0) explicit_bzero((void *)(uintptr_t)file.bytes.data, file.bytes.size);
    kiln__file_unmap(file.bytes);
    kiln__file_close(&file);
    return kiln__outcome(status, err);
}
